//! The bounds by which more than one crate judges a generator and its machine, so that the generator, its
//! results and the checks of the machine say the same.

use crate::time::Nanos;

/// The share of time from which a shard's work is the generator's limit: its own work may make an open loop
/// late, and the rate of a closed loop is that of the generator.
pub const BUSY: f64 = 0.7;
/// The share of time in which others may run on a core of the generator or of the system without being named.
pub const OTHERS_UNNOTICED: f64 = 0.02;
/// The lateness that is always allowed: below it the generator's cannot be told from the machine's.
pub const LATENESS_UNNOTICED: Nanos = Nanos::from_micros(100);
/// The share of a CPU that a machine may lose to others before it is disturbed: a system that fills the CPU is
/// slowed by as much.
pub const LOSS_ALLOWED: f64 = 0.01;
/// The share of TCP's segments that may be sent again: each delays a response, so more of them show in a p99.9.
pub const RETRANSMITS_UNNOTICED: f64 = 0.001;

/// Returns true if a figure is uncertain between two bounds that the generator's lateness leaves: they are
/// more than a tenth apart, and by more than is always allowed.
pub fn is_uncertain(lower: Nanos, upper: Nanos) -> bool {
    (lower / 10).max(LATENESS_UNNOTICED) < upper.saturating_sub(lower)
}

//! A noisy neighbour under the control of an experiment: it takes CPU time from the system beside it
//! in short bursts, and serves nothing but its health and its metrics.
//!
//! Its noise follows the clock of the machine and a seed, not its own start: as with any neighbour, a
//! restart of the system does not begin the noise anew.

pub mod command;

pub mod bursts;
pub mod site;

pub mod metrics;

/// A process of this application.
pub type Process = crate::kit::process::Process<metrics::Metrics>;

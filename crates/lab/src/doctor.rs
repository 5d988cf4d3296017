//! The checks of this machine: pure functions over its files at two moments.
//!
//! Nothing here reads a file or a clock: `read` makes a [`Look`] of the machine, or of a folder with
//! recorded files, and the checks judge it. A file that is missing, as many are on virtual
//! machines, makes a check *unknown* and never good. Counters are judged by their growth since the
//! look before; those of a recorded folder by their growth since the machine began.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use results::doctor::Severity::{Error, Info, Warning};
use results::doctor::{Doctor, Fingerprint};

use crate::spec::{Cpus, SUT};
use found::{Found, Row, Terms};
use seen::Seen;

pub use disturbance::ticks;
pub use look::{Files, Look};

pub mod fix;
pub mod found;
pub mod nic;
pub mod pin;
pub mod read;

mod cpu;
mod disturbance;
mod limits;
mod look;
mod memory;
mod platform;
mod seen;
mod softirqs;
pub mod store;
mod traffic;

#[cfg(test)]
mod tests;

/// The check of the time that the hypervisor took.
pub const STEAL: &str = "local.steal";
/// The check of what other processes used of the CPUs of the roles.
pub const FOREIGN: &str = "local.foreign";

/// The experiment's demands on the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    /// The CPUs of each role that has any. Without roles all CPUs are judged.
    pub roles: BTreeMap<String, Cpus>,
    /// The processes of the experiment, beside the runner and those that it started.
    pub own: BTreeSet<u32>,
    /// The key-value stores of the experiment.
    pub stores: Vec<store::Store>,
    /// A folder in which random reads are measured.
    pub storage: Option<PathBuf>,
    pub terms: Terms,
}

impl Demands {
    /// Returns the CPUs of the roles in ascending order; all CPUs if no role has any.
    pub fn cpus(&self, files: &Files) -> Vec<u32> {
        let of_roles: BTreeSet<u32> =
            self.roles.values().flat_map(|cpus| cpus.0.iter().copied()).collect();
        match of_roles.is_empty() {
            true => files.online().0,
            false => of_roles.into_iter().collect(),
        }
    }
}

/// The moment of a look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moment {
    /// No load runs.
    Before,
    /// A load has just ended, which itself used the machine.
    After,
}

type Check = fn(&Seen<'_>) -> Found;

const fn row(
    id: &'static str,
    name: &'static str,
    severity: results::doctor::Severity,
    check: Check,
) -> Row<Check> {
    Row { id, name, words: &[], severity, check }
}

/// The checks in the order of the method, which numbers them from 1.
const TABLE: [Row<Check>; 32] = [
    row("local.cpu", "CPU model", Info, cpu::model),
    row("local.governor", "governor", Warning, cpu::governor),
    row("local.turbo", "turbo", Warning, cpu::turbo),
    row("local.frequency", "frequency", Warning, cpu::frequency),
    row("local.thermal", "thermal throttling", Error, cpu::thermal),
    row("local.smt", "shared cores", Error, cpu::smt),
    row("local.isolation", "isolated CPUs", Info, cpu::isolation),
    row("local.numa", "NUMA nodes", Warning, cpu::numa),
    row("local.interrupts", "interrupts", Warning, disturbance::interrupts),
    row("local.huge_pages", "huge pages, KSM", Warning, memory::huge_pages),
    row("local.swap", "swap", Error, memory::swap),
    row(STEAL, "steal", Error, disturbance::steal),
    row("local.pressure", "CPU pressure", Error, disturbance::pressure),
    row(FOREIGN, "foreign load", Error, disturbance::foreign),
    row("local.spin", "spin probe", Error, disturbance::spin),
    row("local.clock", "clock source", Warning, platform::clock),
    row("local.virtual", "virtualized", Warning, platform::virtualized),
    row("local.cgroup", "own control group", Error, limits::cgroup),
    row("local.throttling", "throttling", Error, limits::throttling),
    row("local.limits", "files and ports", Error, limits::of_system),
    row("local.network", "retransmits, overflows", Warning, traffic::network),
    row("local.disk", "disk", Warning, traffic::disk),
    row("local.noise", "kernel settings", Info, platform::noise),
    row("local.battery", "battery", Error, platform::battery),
    row("local.kernel_log", "kernel log", Error, platform::kernel_log),
    row("local.binaries", "binaries", Info, platform::binaries),
    row("local.ntp", "time of day", Info, platform::ntp),
    row("local.softirqs", "soft interrupts", Warning, softirqs::placement),
    row("local.queues", "network queues", Info, softirqs::queues),
    row("local.store_memory", "memory of stores", Error, store::memory),
    row("local.store_pages", "pages of stores", Warning, store::huge_pages),
    row("local.store_disk", "disk of stores", Warning, store::disk),
];

/// Judges a look by the one before it.
pub fn diagnose(before: Option<&Look>, now: &Look, moment: Moment, wanted: &Demands) -> Doctor {
    let seen = Seen { before, now, moment, wanted };
    let (checks, mut values) = found::conclude(&TABLE, &wanted.terms, |check| check(&seen));
    let roles = wanted.roles.iter();
    values.extend(roles.map(|(role, cpus)| (format!("CPUs of role {role}"), cpus.to_string())));
    Doctor::new(checks, Fingerprint::new(values, None))
}

/// Returns the names that a spec may allow or require.
pub fn words() -> Vec<&'static str> {
    found::words(&TABLE)
}

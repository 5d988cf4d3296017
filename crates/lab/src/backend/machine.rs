//! The counters of a machine while a load was made, as they were read: what its CPUs did, and for
//! whom. The figures of each second are computed later.

use std::collections::BTreeMap;

use super::Samples;

/// The counters of the CPUs that matter.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Roles with the CPUs that they share with no other: `sut`, or `load, sut` if they share some.
    pub roles: BTreeMap<String, Shared>,
    pub cpus: BTreeMap<u32, CpuTimes>,
    /// The time in which something waited for a CPU of the machine, in nanoseconds.
    pub pressure: Samples,
}

/// Roles that share CPUs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shared {
    pub names: Vec<String>,
    pub cpus: Vec<u32>,
    /// The CPU time of each of our own processes on them that is no component, in nanoseconds: the
    /// generators, one after the other, and the runner.
    pub own: Vec<Samples>,
}

/// The times of a CPU, in nanoseconds. The kernel counts them in ticks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// It ran processes; interrupts are not included.
    pub busy: Samples,
    /// The hypervisor ran another guest while something wanted to run here.
    pub stolen: Samples,
}

//! The use of resources by a component while a load was made, as it was read: figures at points of
//! the backend's clock. The figures of each second are computed later.

use std::collections::BTreeMap;

use measure::{Instant, Nanos};

use crate::statistics::Reading;

#[cfg(test)]
mod tests;

/// A figure at points of the backend's clock, in time order.
pub type Samples = Vec<(Instant, u64)>;

/// The figures of one component. A figure that could not be read has no samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consumed {
    /// The step of the spec that it is an instance or a replica of.
    pub step: String,
    pub role: String,
    /// The error of the times of its samples: zero on the machine whose clock is the backend's.
    pub clock_error: Nanos,
    /// The longest time between two readings that come by themselves; zero where a load begins and
    /// ends with one.
    pub read_every: Nanos,
    /// The CPUs of its role.
    pub of_role: f64,
    /// Its own CPU limit, if one is enforced.
    pub cpu_limit: Option<f64>,
    pub memory_limit: Option<u64>,
    pub open_files_limit: Option<u64>,
    /// CPU time, in nanoseconds.
    pub cpu: Samples,
    pub threads: BTreeMap<i32, Thread>,
    /// The counters of each CPU limit that may stop a part of it.
    pub quotas: Vec<Quota>,
    pub memory: Samples,
    pub memory_failures: Samples,
    /// On its listening port.
    pub connections: Samples,
    pub unread_connections: Samples,
    pub unread_bytes: Samples,
    pub accept_backlog: Samples,
    /// Its self-reported statistics, if it reports any.
    pub statistics: Vec<Reading>,
}

impl Consumed {
    /// The most CPUs that it may use.
    pub fn most(&self) -> f64 {
        self.cpu_limit.map_or(self.of_role, |limit| limit.min(self.of_role))
    }

    /// Returns the CPUs that it used in a measurement: in all of it, or between its first and its last
    /// reading, where readings come by themselves. `None` if these are less than a half of it.
    pub fn cpu_in(&self, (begin, end): (Instant, Instant)) -> Option<f64> {
        let (&(first, _), &(last, _)) = (self.cpu.first()?, self.cpu.last()?);
        let missed = |from: Instant, to: Instant| from < to && to - from < self.read_every;
        let from = if missed(begin, first) { first } else { begin };
        let to = if missed(last, end) { last } else { end };
        let is_enough = from < to && (end - begin) / 2 <= to - from;
        if is_enough { cpu_between(&self.cpu, from, to) } else { None }
    }
}

/// The kernel's counters of a CPU limit that is enforced on one control group.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quota {
    /// The time that it stopped the group, in nanoseconds, added up over CPUs.
    pub time: Samples,
    /// The CPU time that the group used, in nanoseconds.
    pub ran: Samples,
    /// The number of its periods in which it stopped the group.
    pub stopped: Samples,
    /// The number of all its periods.
    pub periods: Samples,
}

/// The scheduler's counters of one thread, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    pub cpu: Samples,
    /// The time that it was ready to run and did not run.
    pub waited: Samples,
}

/// Returns the CPU that a component used between two points of the host's clock, in CPUs; `None` if
/// it was not watched over all of it.
pub(crate) fn cpu_between(samples: &Samples, from: Instant, to: Instant) -> Option<f64> {
    let used = at(samples, to)? - at(samples, from)?;
    (from < to).then(|| used.max(0.0) / (to - from).0 as f64)
}

/// Returns the figure at a point between two samples, by linear interpolation.
pub(crate) fn at(samples: &Samples, point: Instant) -> Option<f64> {
    let next = samples.partition_point(|&(time, _)| time < point);
    let &(time, value) = samples.get(next)?;
    if time == point {
        return Some(value as f64);
    }
    let &(earlier, before) = samples.get(next.checked_sub(1)?)?;
    let share = (point - earlier).0 as f64 / (time - earlier).0 as f64;
    Some(before as f64 + share * (value as f64 - before as f64))
}

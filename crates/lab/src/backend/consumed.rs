//! What was seen of a component while a load was made, as it was read: figures at points of the
//! host's clock. What they were in each second is worked out afterwards.

use std::collections::BTreeMap;

use measure::Instant;

use crate::statistics::Reading;

/// A figure at points of the host's clock, in their order.
pub type Samples = Vec<(Instant, u64)>;

/// One component, watched. What could not be read has no samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consumed {
    /// The step of the spec that it is an instance or a replica of.
    pub step: String,
    pub role: String,
    /// The CPUs of its role.
    pub of_role: f64,
    /// Its own CPU limit, if one is kept.
    pub cpu_limit: Option<f64>,
    pub memory_limit: Option<u64>,
    pub open_files_limit: Option<u64>,
    /// CPU time, in nanoseconds.
    pub cpu: Samples,
    pub threads: BTreeMap<i32, Thread>,
    /// How long its CPU limit held it, in nanoseconds, and in how many periods.
    pub throttled: Samples,
    pub throttled_periods: Samples,
    pub memory: Samples,
    pub memory_failures: Samples,
    /// On its listening port.
    pub connections: Samples,
    pub unread_connections: Samples,
    pub unread_bytes: Samples,
    pub accept_backlog: Samples,
    /// What it says of itself, if it reports statistics.
    pub statistics: Vec<Reading>,
}

impl Consumed {
    /// The CPUs that it may use at most.
    pub fn most(&self) -> f64 {
        self.cpu_limit.map_or(self.of_role, |limit| limit.min(self.of_role))
    }
}

/// The scheduler's counters of one thread, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    pub cpu: Samples,
    /// How long it could have run and did not.
    pub waited: Samples,
}

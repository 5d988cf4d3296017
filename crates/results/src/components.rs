//! The resources that each component used, second by second: `components.json` in a trial's folder.
//!
//! The runner reads these from the kernel and from files while a trial measures; it sends no
//! request to the system. A series that was never measured is absent, and a second that was not
//! measured is null.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Version 2 (2026-11) has the mean number of `outstanding` requests, not the highest, and a `throttled`
/// share that is never a sum over CPUs or containers.
pub const SCHEMA: &str = "benchwright.components/2";
pub(crate) const SCHEMA_1: &str = "benchwright.components/1";

/// The share of an interval for which a limit must have stopped a component to count as reached: a limit is
/// enforced in periods, and bursts reach it long before the mean does.
pub const THROTTLED: f64 = 0.1;
/// The share of a role's CPUs from which the use of others counts: it is the difference of two counters of
/// ticks, of which one is sampled, so less may be chance.
pub const FOREIGN: f64 = 0.1;
/// The share of a second of a CPU from which what the hypervisor took counts. The kernel counts ticks of 10 ms, and may
/// be one off at each end: one or two of them may be an error of counting.
pub const STOLEN: f64 = 0.03;

/// The name of all roles together, where they share CPUs.
pub const TOGETHER: &str = "machine";

/// The file's name in the folder of a trial.
pub const FILE: &str = "components.json";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Components {
    pub schema: String,
    /// The length of every interval; the last one ends with the measurement.
    pub interval_s: f64,
    /// The number of CPUs of each role, which its components share.
    pub roles: BTreeMap<String, f64>,
    /// The requests that the generator waited for, on average; up to version 1 the highest number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outstanding: Series<f64>,
    pub components: BTreeMap<String, Component>,
    /// The speed of each CPU of the system under test, by its number; absent if it was not measured.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub speed: BTreeMap<u32, Speed>,
    /// The disturbance of the machine; absent if it was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
    /// The events of the place in the measurement, such as the death of a replica, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
    /// The answers of other monitors for the time of the measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitors: Vec<Monitored>,
}

/// The answer of a monitor to one query.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Monitored {
    pub name: String,
    pub query: String,
    /// The distance of its values in seconds.
    pub every_s: f64,
    pub series: Vec<MonitoredSeries>,
    /// Why there are no values, or why they cannot be trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// A series of a monitor.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct MonitoredSeries {
    pub labels: BTreeMap<String, String>,
    /// Seconds since the begin of the measurement, and the value.
    pub values: Vec<(f64, f64)>,
}

impl Monitored {
    /// Returns the mean of each series over the measurement, by its name: `cpu`, or of several
    /// `cpu namespace=a`.
    pub fn means(&self) -> impl Iterator<Item = (String, f64)> {
        self.series.iter().map(|series| {
            let labels = series.labels.iter();
            let labels: String = labels.map(|(name, value)| format!(" {name}={value}")).collect();
            let sum: f64 = series.values.iter().map(|(_, value)| value).sum();
            (format!("{}{labels}", self.name), sum / series.values.len() as f64)
        })
    }
}

/// An event, with the part of the measurement in which it happened.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Event {
    /// In seconds from the begin of the measurement.
    pub from_s: f64,
    pub to_s: f64,
    pub text: String,
}

/// The times of short fixed pieces of work on one CPU: the longer they take, the slower it is.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Speed {
    /// The share of the CPU that this measurement itself used.
    pub cpu_share: f64,
    /// The median time of each piece of work in nanoseconds, by its name.
    pub work_ns: BTreeMap<String, Series<f64>>,
}

/// The disturbance of the machine on which the components and the generator ran.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Machine {
    /// The share of the interval in which something on the machine, ours or not, waited for a CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pressure: Series<f64>,
    /// The roles with CPUs of their own; [`TOGETHER`] is all of them on all CPUs, if they share some.
    pub roles: BTreeMap<String, Disturbance>,
}

impl Machine {
    /// Returns the largest share of all roles and intervals.
    pub fn most(&self, of: fn(&Disturbance) -> &Series<f64>) -> Option<f64> {
        let shares = self.roles.values().flat_map(of).copied().flatten();
        shares.max_by(f64::total_cmp)
    }
}

/// The CPU time that others took from a role.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Disturbance {
    /// The share of the interval that the hypervisor took of the CPU of which it took most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stolen: Series<f64>,
    /// The share of the role's CPUs that other processes of this machine used. The kernel counts it in
    /// ticks: below a tenth it may be chance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign: Series<f64>,
}

/// A value for each interval of the measurement.
pub type Series<T> = Vec<Option<T>>;

/// One process, by its name: `store`, `geo-2`, `geo.1`, `geo-2.1`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Component {
    /// The step of the spec of which this is an instance or a replica: the service.
    pub step: String,
    pub role: String,
    /// The most CPUs that it may use: those of its role, or its own limit if that is less.
    pub cpus: f64,
    /// Its own CPU limit, where one is enforced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_bytes: Option<u64>,
    /// The limit of open files, including connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_files_limit: Option<u64>,
    /// CPUs used; 1.0 is one CPU.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu: Series<f64>,
    /// CPUs used by its busiest thread: near 1.0 a service of one thread is saturated, no matter
    /// how many CPUs it may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub busiest_thread: Series<f64>,
    /// Runnable threads that waited for a CPU, on average.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_queue: Series<f64>,
    /// The share of the interval in which its CPU limit stopped it, at most, or the part of it (one container of a
    /// pod) that a limit stopped most. Up to version 1 a sum over CPUs and containers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Series<f64>,
    /// The number of the limit's periods in which that happened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled_periods: Series<u64>,
    /// Its memory, without the part of the page cache that can be dropped, where a limit counts it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_bytes: Series<u64>,
    /// The number of times that it was refused memory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory_failures: Series<u64>,
    /// Connections established on its listening port.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Series<u64>,
    /// The connections among them that have unread bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_connections: Series<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_bytes: Series<u64>,
    /// Connections that it has not accepted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept_backlog: Series<u64>,
    /// The calls begun, by its self-reported statistics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Series<u64>,
    /// The requests in it on average, by its self-reported statistics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_service: Series<f64>,
    /// The part of them that waited for the services and stores that it called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_others: Series<f64>,
    /// The requests queued in it: those in progress by its own statistics, and its share of those
    /// that are unread in sockets.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "standing")]
    pub queued: Series<f64>,
    /// The calls rejected because a bound was reached, by its self-reported statistics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Series<u64>,
}

impl Component {
    /// The requests that it delays itself, in this interval: Little's law over its own statistics.
    pub fn held(&self, interval: usize) -> Option<f64> {
        let inside = self.in_service.get(interval).copied().flatten()?;
        let elsewhere = self.in_others.get(interval).copied().flatten()?;
        Some((inside - elsewhere).max(0.0))
    }
}

/// The mean of the measured values; `None` if there are none.
pub fn mean(values: impl IntoIterator<Item = Option<f64>>) -> Option<f64> {
    let measured = values.into_iter().flatten();
    let (sum, n) = measured.fold((0.0, 0u32), |(sum, n), value| (sum + value, n + 1));
    (0 < n).then(|| sum / f64::from(n))
}

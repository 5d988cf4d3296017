//! A whole load on this machine: one shard per core, its phases, and everything merged.

use ::measure::series::Series;
use ::measure::{Balance, Histogram, Instant, Nanos};
use net::Address;
use net::host::Segments;

use crate::driver::Fault;
use crate::observe::{Group, Interval, Part, Window};
use crate::shard::{Ended, Failures, Unopened};

pub use self::plan::{Plan, Pool};
pub use self::run::{Begin, measure, measure_from};
pub use crate::watch::Taken;

mod merge;
mod plan;
mod run;

/// The figures of a load on this machine.
#[derive(Debug)]
pub struct Measurement {
    pub parts: Vec<Part>,
    /// The figures by label.
    pub labels: Vec<Group>,
    /// The figures by segment of the load's shape.
    pub segments: Vec<Group>,
    /// The arrivals and answers over time, from the beginning of the measurement.
    pub balance: Balance,
    /// The same of sessions, if requests belong to some.
    pub sessions: Balance,
    /// The intervals of the measurement.
    pub series: Series<Interval>,
    /// The figures of the drain.
    pub drained: Interval,
    pub hiccups: Histogram,
    /// The worst hiccup of each interval.
    pub hiccup_series: Vec<(Nanos, Nanos)>,
    /// The CPU time that others took from the shards in each interval.
    pub taken_series: Vec<(Nanos, Taken)>,
    /// The times that received bytes waited in the kernel during the window. Present with kernel timestamps.
    pub receive_delay: Option<Histogram>,
    /// The delays with which the kernel woke sleeping shards in the window.
    pub wake_up_delay: Histogram,
    /// The beginning of the load, before its warm-up.
    pub start: Instant,
    pub window: Window,
    /// The end of the load, after its drain.
    pub end: Instant,
    pub ended: Ended,
    /// True if it ended before all requests that were due could be counted.
    pub is_behind: bool,
    /// True if it was interrupted: the window or the drain is shorter than asked.
    pub partial: bool,
    pub connections_asked: u64,
    pub connections_reached: u64,
    /// The time that it took to open them, before the load began.
    pub opening: Nanos,
    /// The failures of connections before and during the load.
    pub connecting_failed: Failures,
    /// The addresses that failed, of targets with several, with the number of attempts.
    pub refused: Vec<(Address, u64)>,
    pub machine: Machine,
}

impl Measurement {
    /// Returns the intervals, each with its beginning after that of the measurement and its true length. The
    /// last one ends with the measurement. The drain is one interval more, if a request ended in it.
    pub fn intervals(&self) -> impl Iterator<Item = (Nanos, Nanos, &Interval)> {
        let measured = self.window.length();
        let of_the_window = self.series.iter().map(move |(begin, interval)| {
            (begin, self.series.interval().min(measured.saturating_sub(begin)), interval)
        });
        let drained = &self.drained;
        let of_the_drain = (!drained.is_empty())
            .then(|| (measured, self.end.saturating_since(self.window.end), drained));
        of_the_window.chain(of_the_drain)
    }
}

/// The state of the generator and its machine during the load.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The CPUs that the shards are pinned to, as the kernel reports.
    pub cpus: Vec<u32>,
    /// CPU time of the whole process, from the first connection to the end of the drain.
    pub cpu: Nanos,
    /// The busiest shard's share of the window outside waiting.
    pub busy_share: f64,
    /// The share of the window that the busiest script's shard spent in scripts.
    pub script_share: f64,
    /// The largest share of the window in which a shard spun on the clock.
    pub spin_share: f64,
    pub turn_max: Nanos,
    /// The share of the window in which the hypervisor ran others on our CPUs.
    pub steal_share: Option<f64>,
    /// The share of the window in which a CPU quota stopped us.
    pub throttled_share: Option<f64>,
    /// The largest share of the window in which a shard was runnable but did not run.
    pub run_queue_wait_share: Option<f64>,
    /// The segments that TCP sent in the window, of the whole host.
    pub segments: Option<Segments>,
    /// The smallest known number of free local ports for connections from one of our addresses to one of
    /// a target's.
    pub free_ports: Option<u64>,
}

/// The reason why there is no measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// No connection to this target could be opened.
    Unreachable { target: usize, why: Option<Unopened> },
    /// The workload failed.
    Fault(Fault),
    /// The machine refused a resource.
    Machine(String),
    /// Interrupted before anything was measured.
    Interrupted,
}

/// A measurement with the drivers and watchers that took part.
#[derive(Debug)]
pub struct Measured<D, O> {
    pub measurement: Measurement,
    /// One for each pool.
    pub drivers: Vec<D>,
    /// One for each shard.
    pub watchers: Vec<O>,
}

//! The plan of a load: everything that is decided before it runs.

use ::measure::estimate::Enough;
use ::measure::pace::{Portion, Segment};
use ::measure::{Instant, Nanos};
use net::{Endpoint, Interface, Timer};

use crate::driver::Arrivals;
use crate::network::Network;
use crate::observe::{Of, Window};
use crate::pacing::{Offered, Pacing};
use crate::shard::{Limits, Numbers};

/// The part of the measurement that a load which is overloaded from the beginning is measured for, and the most.
const OVERLOAD_PARTS: u64 = 10;
const OVERLOAD_LONGEST: Nanos = Nanos::SECOND;

/// A load, with all that is decided before it runs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub targets: u32,
    /// The part of the load that this generator makes. The pacing, the number of requests and the seed are
    /// those of the whole load; all else is this generator's own.
    pub part: Portion,
    /// The number of connections of the parts before this one.
    pub connections_before: u32,
    /// The pools of each target one after the other, the same number for each. Shards take them in turn.
    pub pools: Vec<Pool>,
    pub pacing: Pacing,
    /// The kind of the arrivals of an open loop if the requests belong to sessions.
    pub arrivals: Option<Arrivals>,
    /// The number of requests after which the load ends.
    pub requests: Option<u64>,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    pub limits: Limits,
    pub slo: Option<Nanos>,
    /// The numbers of requests over a limit that each end the load early; none if it runs for its whole
    /// time. They count the requests of this generator.
    pub enough: Vec<Enough>,
    pub interval: Nanos,
    pub network: Network,
    pub timer: Timer,
    /// TCP's congestion control; the system's if absent.
    pub congestion_control: Option<String>,
    /// True if the kernel records when bytes arrive, to know how long answers waited for us: epoll only.
    pub kernel_timestamps: bool,
    /// The CPU of each shard; `None` where the kernel chooses.
    pub cpus: Vec<Option<u32>>,
    pub seed: u64,
}

/// A connection pool: one workload's part of a target.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The addresses that its connections take in turn.
    pub endpoints: Vec<Endpoint>,
    pub connections: usize,
}

impl Plan {
    /// Returns a whole load of one target, made by one shard through epoll, without a warm-up and without waiting for
    /// the last responses. Where another load differs, it says so by `Plan { .., ..Plan::whole(..) }`.
    pub fn whole(pools: Vec<Pool>, pacing: Pacing, measure: Nanos) -> Plan {
        Plan {
            targets: 1,
            part: Portion::WHOLE,
            connections_before: 0,
            pools,
            pacing,
            arrivals: None,
            requests: None,
            warm_up: Nanos::ZERO,
            measure,
            drain: Nanos::ZERO,
            limits: Limits::default(),
            slo: None,
            enough: Vec::new(),
            interval: Nanos::SECOND,
            network: Network { interface: Interface::Epoll, why: String::new() },
            timer: Timer::default(),
            congestion_control: None,
            kernel_timestamps: false,
            cpus: vec![None],
            seed: 1,
        }
    }

    /// Returns the end of each segment of the load's shape, after the beginning of the measurement. Empty for
    /// a shape of one segment.
    pub(super) fn segment_ends(&self) -> Vec<Nanos> {
        let ends: Vec<Nanos> = self
            .segments()
            .iter()
            .map(|segment| segment.end.unwrap_or(self.measure).min(self.measure))
            .collect();
        if ends.len() < 2 { Vec::new() } else { ends }
    }

    /// Returns the segments of the load's shape, from the beginning of the measurement.
    pub fn segments(&self) -> Vec<Segment> {
        match &self.pacing {
            Pacing::Open { load: Offered::Drawn { shape, .. }, .. } => shape.segments().collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the number of pools of each target.
    pub fn pools_of_each(&self) -> u32 {
        self.pools.len() as u32 / self.targets
    }

    pub fn connections(&self) -> usize {
        self.pools.iter().map(|pool| pool.connections).sum()
    }

    pub(super) fn of(&self, pool: usize) -> Of {
        let pool = pool as u32;
        Of { pool, target: pool / self.pools_of_each() }
    }

    /// Returns how a closed loop numbers the requests of a pool. Several targets in turn are one sequence.
    pub(super) fn numbers(&self, pool: usize) -> Numbers {
        let pools = self.pools.len() as u64;
        let pool = pool as u64;
        let requests = self.requests.map(|n| self.part.share(n));
        let quota = requests.map(|n| n / pools + u64::from(pool < n % pools));
        let step = pools * u64::from(self.part.of());
        Numbers { first: self.part.number(pool), step, quota }
    }

    /// Returns the window of a load that begins at `start`.
    pub(super) fn window(&self, start: Instant) -> Window {
        let begin = start + self.warm_up;
        Window { start: begin, end: begin + self.measure }
    }

    /// Returns the time from which a full backlog ends the load. An overload that began in the warm-up
    /// is measured for a moment, too: what was dropped, and how busy the generator was meanwhile.
    pub(super) fn overload(&self, window: Window) -> Instant {
        window.start + (self.measure / OVERLOAD_PARTS).min(OVERLOAD_LONGEST)
    }
}

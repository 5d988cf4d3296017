//! The load of `benchwright ycsb load` and `run` against servers: YCSB's operations by the engine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use load::Measurement;
use load::driver::resp::{Login, Resp, Terms};
use load::measurement::{Failure, Plan, Pool, measure};
use load::pacing::{Offered, Pacing, Sharing};
use load::shard::Limits;
use measure::pace::{Distribution, Shape, Think};
use measure::{Nanos, Rate};
use net::{Endpoint, cores};
use ycsb::redis::Redis;
use ycsb::stream::{Shared, Stream};
use ycsb::workload::{Part, Workload};

/// The operations of a client, and the servers that they are for.
#[derive(Clone, Debug)]
pub struct Client {
    pub workload: Arc<Workload>,
    pub phase: Phase,
    /// The operations that are outstanding, at most.
    pub threads: u32,
    /// Open loop: the operations that begin in a second.
    pub rate: Option<Rate>,
    /// The longest time of the operations.
    pub longest: Option<Nanos>,
    pub shards: Option<u32>,
    pub seed: u64,
    /// True if inserts that fail do not end the load.
    pub keeps_going: bool,
    /// The longest time of an operation, and of the attempt to connect.
    pub timeout: Nanos,
    pub servers: Servers,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    Load,
    Run,
}

#[derive(Clone, Debug)]
pub enum Servers {
    Redis { server: Endpoint, login: Login },
}

/// The time of a client that only a number of operations ends.
const LONGEST: Nanos = Nanos::from_secs(30 * 24 * 3600);

/// Sends the operations, and returns what became of them by label: see [`ycsb::redis::label`].
pub fn run(client: &Client, stop: &AtomicBool) -> Result<Measurement, Failure> {
    let plan = client.plan();
    let watchers = vec![(); plan.cpus.len()];
    match &client.servers {
        Servers::Redis { login, .. } => {
            let terms = Terms { pipeline: 1, login: login.clone() };
            let drivers = redis(&plan.pools, &client.streams(plan.pools.len()), &terms);
            Ok(measure(&plan, drivers, watchers, None, stop)?.measurement)
        }
    }
}

/// The streams of the pools.
pub(crate) struct Streams {
    pub(crate) workload: Arc<Workload>,
    pub(crate) phase: Phase,
    pub(crate) seed: u64,
    pub(crate) keeps_going: bool,
    pub(crate) of: u32,
    pub(crate) shared: Arc<Shared>,
}

impl Streams {
    /// Makes the stream of the pool with this number.
    fn stream(&self, number: u32) -> Stream {
        let part = Part { number, of: self.of };
        match self.phase {
            Phase::Load => Stream::load(&self.workload, part, self.seed),
            Phase::Run => Stream::run(&self.workload, part, self.seed, &self.shared),
        }
    }
}

/// Makes the driver of each pool.
pub(crate) fn redis(pools: &[Pool], streams: &Streams, terms: &Terms) -> Vec<Resp<Redis>> {
    let stops_on_failure = streams.phase == Phase::Load && !streams.keeps_going;
    let driver = |(number, pool): (u32, &Pool)| {
        let binding = Redis::new(streams.stream(number), stops_on_failure);
        Resp::new(pool.connections, terms.clone(), binding)
    };
    (0..).zip(pools).map(driver).collect()
}

impl Client {
    /// The operations of the client; `None` if only time ends them.
    fn operations(&self) -> Option<u64> {
        let Workload { insert_count, operation_count, client, .. } = *self.workload;
        match self.phase {
            Phase::Load => {
                let share = client.share(insert_count);
                Some(share.end - share.start)
            }
            Phase::Run => (operation_count != 0).then_some(operation_count),
        }
    }

    fn streams(&self, pools: usize) -> Streams {
        let mut workload = Arc::clone(&self.workload);
        if self.phase == Phase::Run {
            // The engine counts the operations of all pools together.
            Arc::make_mut(&mut workload).operation_count = 0;
        }
        Streams {
            shared: Arc::new(Shared::new(&workload)),
            workload,
            phase: self.phase,
            seed: self.seed,
            keeps_going: self.keeps_going,
            of: pools as u32,
        }
    }

    fn plan(&self) -> Plan {
        let threads = self.threads as usize;
        let shards = self.shards.map_or_else(|| cores::allowed().len(), |shards| shards as usize);
        let shards = shards.clamp(1, threads);
        let Servers::Redis { server, .. } = &self.servers;
        let pool = |shard| Pool {
            endpoints: vec![server.clone()],
            // Each outstanding operation has a connection of its own, as a thread of the original has.
            connections: threads / shards + usize::from(shard < threads % shards),
        };
        let pacing = match self.rate {
            None => Pacing::Closed { think: Think::NONE },
            Some(rate) => {
                let (shape, distribution) = (Shape::constant(rate), Distribution::Constant);
                let load = Offered::Drawn { shape, distribution };
                Pacing::Open { load, sharing: Sharing::InTurn }
            }
        };
        let pools = (0..shards).map(pool).collect();
        let whole = Plan::whole(pools, pacing, self.longest.unwrap_or(LONGEST));
        Plan {
            requests: self.operations(),
            drain: self.timeout,
            limits: Limits {
                timeout: self.timeout,
                connect_timeout: self.timeout,
                ..Limits::default()
            },
            cpus: vec![None; shards],
            seed: self.seed,
            ..whole
        }
    }
}

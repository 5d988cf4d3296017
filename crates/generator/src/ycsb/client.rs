//! The load of `benchwright ycsb load` and `run` against servers: YCSB's operations by the engine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use load::driver::kv::shared;
use load::driver::resp::{self, Login, Resp};
use load::measurement::{Failure, Plan, Pool, measure};
use load::observe::{Completion, Observer, StepCompletion, Window};
use load::pacing::{Offered, Pacing, Sharing};
use load::shard::Limits;
use load::{Driver, Measurement, Outcome};
use measure::pace::{Distribution, Shape, Think};
use measure::{Instant, Nanos, Rate};
use net::{Endpoint, cores};
use ycsb::binding;
use ycsb::kv::{Keys, Kv};
use ycsb::measurements::{Ended, Measurements, Terms};
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
    /// The form of the measurements.
    pub terms: Terms,
}

/// The operations that have ended.
#[derive(Debug)]
pub struct Done {
    pub measurements: Measurements,
    pub measurement: Measurement,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Phase {
    Load,
    Run,
}

#[derive(Clone, Debug)]
pub enum Servers {
    Redis {
        server: Endpoint,
        login: Login,
    },
    Kv {
        /// The hash space is divided between them evenly, in this order.
        servers: Vec<Endpoint>,
        keys: Keys,
        linger: Nanos,
    },
}

/// The time of a client that only a number of operations ends.
const LONGEST: Nanos = Nanos::from_secs(30 * 24 * 3600);

/// Sends the operations, and returns what became of them.
pub fn run(client: &Client, stop: &AtomicBool) -> Result<Done, Failure> {
    let plan = client.plan();
    let streams = client.streams(plan.pools.len());
    match &client.servers {
        Servers::Redis { login, .. } => {
            // Each outstanding operation has a connection of its own, as a thread of the original has.
            let terms = resp::Terms { pipeline: 1, login: login.clone() };
            client.measure(&plan, redis(&plan.pools, &streams, &terms), stop)
        }
        Servers::Kv { servers, keys, linger } => {
            let (servers, linger) = (servers.len() as u16, *linger);
            let of = plan.pools.len();
            let terms = (0..of).map(|shard| shared::Terms {
                outstanding: part(client.threads as usize, shard, of),
                linger,
                servers,
            });
            let terms: Vec<_> = terms.collect();
            client.measure(&plan, kv(&plan.pools, &streams, *keys, &terms), stop)
        }
    }
}

/// Returns the share of the part with this number, of so many.
fn part(all: usize, number: usize, of: usize) -> usize {
    all / of + usize::from(number < all % of)
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

impl Streams {
    /// True if an insert that fails ends its stream.
    fn stops_on_failure(&self) -> bool {
        self.phase == Phase::Load && !self.keeps_going
    }
}

/// Makes the driver of each pool, for Redis.
pub(crate) fn redis(pools: &[Pool], streams: &Streams, terms: &resp::Terms) -> Vec<Resp<Redis>> {
    let driver = |(number, pool): (u32, &Pool)| {
        let binding = Redis::new(streams.stream(number), streams.stops_on_failure());
        Resp::new(pool.connections, terms.clone(), binding)
    };
    (0..).zip(pools).map(driver).collect()
}

/// Makes the driver of each pool, for the key-value store; each has terms of its own.
pub(crate) fn kv(
    pools: &[Pool],
    streams: &Streams,
    keys: Keys,
    terms: &[shared::Terms],
) -> Vec<shared::Shared<Kv>> {
    let driver = |((number, pool), terms): ((u32, &Pool), &shared::Terms)| {
        let stream = streams.stream(number);
        let binding = Kv::new(stream, keys, terms.servers, streams.stops_on_failure());
        shared::Shared::new(pool.connections, *terms, binding)
    };
    (0..).zip(pools).zip(terms).map(driver).collect()
}

/// Records what becomes of each operation of a shard.
#[derive(Debug)]
struct Recorder {
    start: Instant,
    measurements: Measurements,
}

impl Observer for Recorder {
    fn begin(&mut self, start: Instant, _window: Window) {
        self.start = start;
    }

    fn step_completed(&mut self, step: &StepCompletion) {
        let &StepCompletion { intended, label, begun, done, outcome, .. } = step;
        let Some(name) = binding::name(label) else { return };
        self.measurements.record(&Ended {
            name,
            status: binding::status(name, outcome, ""),
            end: done - self.start,
            service: done - begun,
            response: done - intended,
        });
    }

    fn completed(&mut self, completion: &Completion) {
        let &Completion { intended, label, start, done, outcome, why, .. } = completion;
        // What was not begun when the load ended is no operation of it.
        let is_left = outcome == Outcome::Unfinished && start.is_none();
        let Some(name) = binding::name(label).filter(|_| !is_left) else { return };
        self.measurements.operations += 1;
        self.measurements.record(&Ended {
            name,
            status: binding::status(name, outcome, why),
            end: done - self.start,
            // What was never sent took as long as it waited.
            service: done - start.map_or(intended, |start| start.sent),
            response: done - intended,
        });
    }
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

    fn measure<D: Driver + Send>(
        &self,
        plan: &Plan,
        drivers: Vec<D>,
        stop: &AtomicBool,
    ) -> Result<Done, Failure> {
        let recorder =
            |_| Recorder { start: Instant(0), measurements: Measurements::new(self.terms.clone()) };
        let watchers = plan.cpus.iter().map(recorder).collect();
        let measured = measure(plan, drivers, watchers, None, stop)?;
        let mut measurements = Measurements::new(self.terms.clone());
        measured.watchers.iter().for_each(|shard| measurements.add(&shard.measurements));
        Ok(Done { measurements, measurement: measured.measurement })
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
        let pool = |shard| match &self.servers {
            Servers::Redis { server, .. } => {
                Pool { endpoints: vec![server.clone()], connections: part(threads, shard, shards) }
            }
            Servers::Kv { servers, .. } => {
                Pool { endpoints: servers.clone(), connections: servers.len() }
            }
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

//! The load of `benchwright ycsb load` and `run` against servers: YCSB's operations by the engine.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread;
use std::time::Duration;

pub use load::driver::kv::PATIENCE;
use load::driver::kv::shared;
use load::driver::resp::{self, Login, Resp};
use load::measurement::{Failure, Measured, Plan, Pool, measure};
use load::observe::{Completion, Observer, Of, Start, StepCompletion, Window};
use load::pacing::{Offered, Pacing, Sharing};
use load::shard::{Ended as LoadEnded, Limits};
use load::{Driver, Outcome};
use measure::pace::{Distribution, Shape, Think};
use measure::quantity::counted;
use measure::{Instant, Nanos, Rate};
use net::{Address, Endpoint, clock, cores};
use wire::kv::{SLICES, Token};
use ycsb::binding;
use ycsb::drive::Ran;
use ycsb::kv::{self, Keys, Kv};
use ycsb::measurements::{Ended, Measurements, Name, Status};
use ycsb::redis::Redis;
use ycsb::settings::{Phase, Retries, Settings};
use ycsb::status::State;
use ycsb::stream::{Shared, Stream};
use ycsb::workload::{Part, Workload};

/// The operations of a client, and the servers that they are for.
#[derive(Clone, Debug)]
pub struct Client {
    pub workload: Arc<Workload>,
    pub settings: Settings,
    pub servers: Servers,
    /// The longest time of an operation, and of an attempt to connect.
    pub timeout: Nanos,
    /// The number of shards; as many as this process may use CPUs if absent.
    pub shards: Option<u32>,
    pub seed: u64,
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
        form: kv::Settings,
        /// The token of the servers, if they want one.
        token: Option<Token>,
    },
}

/// Returns why the keys cannot be divided between these servers of a key-value store.
pub fn undividable<T: PartialEq>(servers: &[T]) -> Option<String> {
    if usize::from(SLICES) < servers.len() {
        let (count, most) = (counted(servers.len() as u64), counted(SLICES.into()));
        return Some(format!("names {count} servers, and keys are divided between at most {most}"));
    }
    let has_twins = (1..servers.len()).any(|at| servers[..at].contains(&servers[at]));
    let twins = "names a server twice; the servers divide the keys between them: name each once";
    has_twins.then(|| twins.to_owned())
}

/// The operations of a client that have ended.
#[derive(Debug)]
pub struct Done {
    pub ran: Ran,
    /// True if more operations waited than the backlog has room for: the target's rate is too high.
    pub is_overloaded: bool,
    /// The attempts to insert that failed and were repeated.
    pub retried: u64,
    /// The reason of a failure, beyond its status.
    pub why: Option<&'static str>,
    /// The servers that left an operation without an answer, or could not be reached for one, by their places in the
    /// list.
    pub failed_servers: Vec<usize>,
    /// True if the run was given up: no server gave an answer for the time of [`PATIENCE`].
    pub is_given_up: bool,
}

impl From<Ran> for Done {
    /// The end of a run without servers.
    fn from(ran: Ran) -> Done {
        Done {
            ran,
            is_overloaded: false,
            retried: 0,
            why: None,
            failed_servers: Vec::new(),
            is_given_up: false,
        }
    }
}

/// The time of a client that only a number of operations ends.
const LONGEST: Nanos = Nanos::from_secs(30 * 24 * 3600);
/// The longest wait for the last answers of a run that time ends: a server that hangs must not make it much longer.
const DRAIN: Nanos = Nanos::from_secs(2);

/// Sends the operations, and returns what became of them. `tell` gets the state at the interval of status lines.
pub fn run(
    client: &Client,
    stop: &AtomicBool,
    tell: &mut (dyn FnMut(State) + Send),
) -> Result<Done, Failure> {
    let plan = client.plan();
    let streams = client.streams(plan.pools.len());
    match &client.servers {
        Servers::Redis { login, .. } => {
            // The outstanding operations of a shard share a connection. The original has one for each of them, which
            // costs both sides as many system calls.
            let of = plan.pools.len();
            let pipeline = |shard| part(client.settings.threads as usize, shard, of);
            let terms = (0..of)
                .map(|shard| resp::Terms { pipeline: pipeline(shard), login: login.clone() });
            let drivers = of_redis(&plan.pools, &streams, &terms.collect::<Vec<_>>());
            client.measure(&plan, drivers, stop, tell)
        }
        Servers::Kv { servers, form, token } => {
            let of = plan.pools.len();
            let terms = (0..of).map(|shard| {
                let outstanding = part(client.settings.threads as usize, shard, of);
                let (users, servers) = (Some(outstanding), servers.len() as u16);
                shared::Terms { outstanding, users, linger: form.linger, servers }
            });
            let terms: Vec<_> = terms.collect();
            let drivers = of_kv(&plan.pools, &streams, form.keys, &terms, token.as_ref());
            client.measure(&plan, drivers, stop, tell)
        }
    }
}

/// Returns the share of the part with this number, of so many.
fn part(all: usize, number: usize, of: usize) -> usize {
    all / of + usize::from(number < all % of)
}

/// The streams of the pools of a load.
pub(crate) struct Streams {
    workload: Arc<Workload>,
    phase: Phase,
    seed: u64,
    /// True if an insert that fails ends its stream.
    stops_on_failure: bool,
    /// The inserts of a load that fail are repeated.
    retries: Option<Retries>,
    pools: u32,
    shared: Arc<Shared>,
}

impl Streams {
    /// Makes the streams of a run of any length: the engine counts the operations of all pools together.
    pub(crate) fn run(workload: &Arc<Workload>, seed: u64, pools: usize) -> Streams {
        let mut workload = Arc::clone(workload);
        Arc::make_mut(&mut workload).operation_count = 0;
        let shared = Arc::new(Shared::new(&workload));
        let (phase, stops_on_failure) = (Phase::Run, false);
        let (pools, retries) = (pools as u32, None);
        Streams { workload, phase, seed, stops_on_failure, retries, pools, shared }
    }

    /// The seed of the pauses of a pool, which are no part of what is drawn for its operations.
    fn retry_seed(&self, number: u32) -> u64 {
        self.seed ^ (u64::from(number) + 1) << 32
    }

    /// Makes the stream of the pool with this number.
    fn stream(&self, number: u32) -> Stream {
        let part = Part { number, of: self.pools };
        match self.phase {
            Phase::Load => Stream::load(&self.workload, part, self.seed),
            Phase::Run => Stream::run(&self.workload, part, self.seed, &self.shared),
        }
    }
}

/// Makes the driver of each pool, for Redis.
pub(crate) fn of_redis(
    pools: &[Pool],
    streams: &Streams,
    terms: &[resp::Terms],
) -> Vec<Resp<Redis>> {
    let driver = |((number, pool), terms): ((u32, &Pool), &resp::Terms)| {
        let binding = Redis::new(streams.stream(number), streams.stops_on_failure);
        let binding = match streams.retries {
            Some(retries) => binding.with_retries(retries, streams.retry_seed(number)),
            None => binding,
        };
        Resp::new(pool.connections, terms.clone(), binding)
    };
    (0..).zip(pools).zip(terms).map(driver).collect()
}

/// Makes the driver of each pool, for the key-value store; each has terms of its own.
pub(crate) fn of_kv(
    pools: &[Pool],
    streams: &Streams,
    keys: Keys,
    terms: &[shared::Terms],
    token: Option<&Token>,
) -> Vec<shared::Shared<Kv>> {
    let driver = |((number, pool), terms): ((u32, &Pool), &shared::Terms)| {
        let stream = streams.stream(number);
        let binding = Kv::new(stream, keys, terms.servers, streams.stops_on_failure);
        let binding = match streams.retries {
            Some(retries) => binding.with_retries(retries, streams.retry_seed(number)),
            None => binding,
        };
        shared::Shared::new(pool.connections, *terms, binding).with_token(token.cloned())
    };
    (0..).zip(pools).zip(terms).map(driver).collect()
}

impl Client {
    fn streams(&self, pools: usize) -> Streams {
        let streams = Streams::run(&self.workload, self.seed, pools);
        let Settings { phase, retries, .. } = &self.settings;
        let stops_on_failure = *phase == Phase::Load && !retries.goes_on;
        let is_repeated = *phase == Phase::Load && retries.limit != 0;
        let retries = is_repeated.then_some(*retries);
        Streams { phase: *phase, stops_on_failure, retries, ..streams }
    }

    fn plan(&self) -> Plan {
        let Settings { operations, longest, threads, target, .. } = self.settings;
        let threads = threads as usize;
        let shards = self.shards.map_or_else(|| cores::allowed().len(), |shards| shards as usize);
        let shards = shards.clamp(1, threads);
        let pool = |_| {
            let endpoints = match &self.servers {
                Servers::Redis { server, .. } => vec![server.clone()],
                Servers::Kv { servers, .. } => servers.clone(),
            };
            Pool { connections: endpoints.len(), endpoints }
        };
        let pacing = match target {
            None => Pacing::Closed { think: Think::NONE },
            Some(target) => {
                let rate = Rate::per_second(target.into());
                let shape = Shape::constant(rate.expect("a target is above 0"));
                let load = Offered::Drawn { shape, distribution: Distribution::Constant };
                Pacing::Open { load, sharing: Sharing::InTurn }
            }
        };
        let pools = (0..shards).map(pool).collect();
        let (timeout, connect_timeout) = (self.timeout, self.timeout);
        Plan {
            requests: operations,
            drain: self.timeout.min(DRAIN),
            limits: Limits { timeout, connect_timeout, leaves_backlog: true, ..Limits::default() },
            cpus: vec![None; shards],
            seed: self.seed,
            ..Plan::whole(pools, pacing, longest.unwrap_or(LONGEST))
        }
    }

    /// The time of a run that ended at this time, with its last answer before. If time ends it, the wait for answers
    /// that did not come does not count: the throughput would depend on the way in which a server fails.
    fn run_time(&self, start: Instant, end: Instant, answered: Instant) -> Nanos {
        let planned = start + self.settings.longest.unwrap_or(LONGEST);
        end.min(planned.max(answered)) - start
    }

    fn measure<D: Driver + Send>(
        &self,
        plan: &Plan,
        drivers: Vec<D>,
        stop: &AtomicBool,
        tell: &mut (dyn FnMut(State) + Send),
    ) -> Result<Done, Failure> {
        let Settings { terms, status, operations, .. } = &self.settings;
        let new = |_| Arc::new(Mutex::new(Measurements::new(terms.clone())));
        let shards: Vec<Recorded> = plan.cpus.iter().map(new).collect();
        let sum = || {
            let mut sum = Measurements::new(terms.clone());
            shards.iter().for_each(|shard| sum.add(&lock(shard)));
            sum
        };
        let state = |elapsed| {
            let measurements = sum();
            let left = |all: u64| all.saturating_sub(measurements.operations);
            State { elapsed, remaining: operations.map(left), measurements }
        };
        let ends = Arc::new(Ends::default());
        let endpoints = &plan.pools[0].endpoints;
        let watcher = |shard: &Recorded| {
            Recorder::new(Arc::clone(shard), Arc::clone(&ends), endpoints.len(), stop)
        };
        let watchers = shards.iter().map(watcher).collect();
        let (over, is_over) = mpsc::channel::<()>();
        let meanwhile = &mut *tell;
        let measured = thread::scope(|scope| {
            if let Some(interval) = *status {
                let state = &state;
                let interval = Duration::from_nanos(interval.0);
                let begun = clock::now();
                scope.spawn(move || {
                    while is_over.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                        meanwhile(state(clock::now() - begun));
                    }
                });
            }
            let measured = measure(plan, drivers, watchers, None, stop);
            drop(over);
            measured
        })?;
        let Measured { measurement, watchers, .. } = measured;
        let answered = watchers.iter().map(|watcher| watcher.answered).max();
        let answered = answered.expect("a load has a shard");
        let run_time = self.run_time(measurement.start, measurement.end, answered);
        if status.is_some() {
            tell(state(run_time));
        }
        let is_overloaded = measurement.ended == LoadEnded::Overloaded;
        let is_given_up = ends.is_given_up.load(Ordering::Relaxed);
        let is_interrupted = measurement.partial && !is_given_up;
        let measurements = sum();
        let unfinished = ends.unfinished.load(Ordering::Relaxed);
        let late = Nanos(ends.late.load(Ordering::Relaxed));
        let retried = ends.retried.load(Ordering::Relaxed);
        let why = ends.why.get().copied();
        let has_unreached = watchers.iter().any(|watcher| watcher.has_unreached);
        let failed = (0..).zip(endpoints).filter(|(server, endpoint)| {
            // Of an operation that was never sent nobody knows more than that a server was not reached.
            let is_refused = |(address, _): &(Address, u64)| *address == endpoint.address;
            watchers.iter().any(|watcher| watcher.failed[*server])
                || has_unreached && measurement.refused.iter().any(is_refused)
        });
        let failed_servers = failed.map(|(server, _)| server).collect();
        let ran = Ran { run_time, measurements, is_interrupted, unfinished, late };
        Ok(Done { ran, is_overloaded, retried, why, failed_servers, is_given_up })
    }
}

/// The measurements of a shard. Nobody else wants them meanwhile, except for a status line.
type Recorded = Arc<Mutex<Measurements>>;

fn lock(shard: &Recorded) -> MutexGuard<'_, Measurements> {
    shard.lock().expect("no thread panics while it records")
}

/// The ends of operations, beyond their figures.
#[derive(Debug, Default)]
struct Ends {
    unfinished: AtomicU64,
    /// In nanoseconds.
    late: AtomicU64,
    retried: AtomicU64,
    why: OnceLock<&'static str>,
    /// The time of about the last answer, in nanoseconds: no earlier than [`SOON`] before it.
    answered: AtomicU64,
    /// The time since which operations have waited for an answer in vain, unless the last answer is after it; 0 if none
    /// has.
    silent: AtomicU64,
    is_given_up: AtomicBool,
}

/// The precision of the last answer. With a finer one the shards would write to the same memory for every operation.
const SOON: Nanos = Nanos::from_millis(100);

impl Ends {
    fn answered(&self, now: Instant) {
        if Instant(self.answered.load(Ordering::Relaxed)) + SOON <= now {
            self.answered.store(now.0, Ordering::Relaxed);
        }
    }

    /// Notes that an operation has waited for an answer in vain, and returns true if there was none for too long.
    fn is_hopeless(&self, since: Instant, now: Instant) -> bool {
        let answered = self.answered.load(Ordering::Relaxed);
        let mut silent = self.silent.load(Ordering::Relaxed);
        if silent == 0 || silent < answered {
            silent = since.0.max(answered);
            self.silent.store(silent, Ordering::Relaxed);
        }
        // The time of the last answer is known no better.
        Instant(silent) + PATIENCE <= now + SOON
    }
}

/// Records what becomes of each operation of a shard.
#[derive(Debug)]
struct Recorder<'a> {
    start: Instant,
    into: Recorded,
    ends: Arc<Ends>,
    /// Ends the run, as Ctrl-C does.
    stop: &'a AtomicBool,
    /// The time of the last answer.
    answered: Instant,
    /// True for the servers that left an operation without an answer.
    failed: Vec<bool>,
    /// True if the server of an operation could not be reached.
    has_unreached: bool,
}

impl<'a> Recorder<'a> {
    fn new(into: Recorded, ends: Arc<Ends>, servers: usize, stop: &'a AtomicBool) -> Recorder<'a> {
        let (start, failed) = (Instant(0), vec![false; servers]);
        Recorder { start, into, ends, stop, answered: start, failed, has_unreached: false }
    }

    /// Notes that an operation has no answer.
    fn note_unanswered(&mut self, start: Option<Start>) {
        let servers = self.failed.len();
        match start {
            // The connections of a shard lead to the servers in their order.
            Some(start) => self.failed[start.connection.0 as usize % servers] = true,
            None if servers == 1 => self.failed[0] = true,
            None => self.has_unreached = true,
        }
    }
}

impl Observer for Recorder<'_> {
    fn begin(&mut self, start: Instant, _window: Window) {
        (self.start, self.answered) = (start, start);
    }

    fn step_completed(&mut self, step: &StepCompletion) {
        let &StepCompletion { intended, label, begun, done, outcome, .. } = step;
        let Some(name) = binding::name(label) else { return };
        if name == Name::Insert {
            // An insert has no other parts.
            self.ends.retried.fetch_add(1, Ordering::Relaxed);
        }
        lock(&self.into).record(&Ended {
            name,
            status: binding::status(name, outcome, ""),
            end: done - self.start,
            service: done - begun,
            response: done - intended,
        });
    }

    fn closed(&mut self, _of: Of, now: Instant, took: Nanos) {
        lock(&self.into).record(&Ended {
            name: Name::Cleanup,
            status: Status::Ok,
            end: now - self.start,
            service: took,
            response: took,
        });
    }

    fn completed(&mut self, completion: &Completion) {
        let &Completion { intended, label, start, done, outcome, why, .. } = completion;
        if outcome == Outcome::Unfinished {
            self.ends.unfinished.fetch_add(1, Ordering::Relaxed);
            if start.is_none() {
                self.ends.late.fetch_max((done - intended).0, Ordering::Relaxed);
            } else if !self.stop.load(Ordering::Relaxed) {
                self.note_unanswered(start);
            }
            return;
        }
        if !why.is_empty() {
            // The first one, as the user has to begin somewhere.
            let _ = self.ends.why.set(why);
        }
        if outcome.is_answer() {
            self.answered = done;
            self.ends.answered(done);
        } else if outcome != Outcome::Dropped {
            self.note_unanswered(start);
            if self.ends.is_hopeless(start.map_or(done, |start| start.sent), done) {
                self.ends.is_given_up.store(true, Ordering::Relaxed);
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        let Some(name) = binding::name(label) else { return };
        let mut measurements = lock(&self.into);
        measurements.operations += 1;
        measurements.record(&Ended {
            name,
            status: binding::status(name, outcome, why),
            end: done - self.start,
            // What was never sent took as long as it waited.
            service: done - start.map_or(intended, |start| start.sent),
            response: done - intended,
        });
    }
}

#[cfg(test)]
mod tests;

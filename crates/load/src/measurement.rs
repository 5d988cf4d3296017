//! A whole load on this machine: one shard per core, its phases, and everything merged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Barrier, Mutex};
use std::thread;

use ::measure::series::Series;
use ::measure::{Balance, Histogram, Instant, Nanos, Random};
use net::host::{self, Segments};
use net::process::Thread;
use net::{Endpoint, Sockets, Timer, Waited, clock, cores, process};

use crate::driver::{Driver, Fault};
use crate::hiccup::{self, Hiccups};
use crate::network::Network;
use crate::observe::{Group, Interval, Live, Observer, Of, Part, Recorded, Recorder, Window};
use crate::pacing::{self, Dealt, Offered, Pacing, Segment};
use crate::shard::{Ended, Failures, Limits, Numbers, Schedule, Shard, Unopened};
use crate::source::{Source, Streams};
use crate::watch::{self, Seen, Watched};

pub use crate::watch::Taken;

/// What to do; everything that is not decided while it runs.
#[derive(Clone, Debug)]
pub struct Plan {
    pub targets: u32,
    /// Of each target one after the other, the same number of each. Shards take them in turn.
    pub pools: Vec<Pool>,
    pub pacing: Pacing,
    /// Ends the load when so many requests have been started and answered.
    pub requests: Option<u64>,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    pub limits: Limits,
    pub slo: Option<Nanos>,
    pub interval: Nanos,
    pub network: Network,
    pub timer: Timer,
    /// TCP's congestion control; `None` leaves it to the system.
    pub congestion_control: Option<String>,
    /// Has the kernel stamp what is received, to tell how long answers waited for us: by epoll only.
    pub kernel_timestamps: bool,
    /// The CPU of each shard; `None` leaves it to the kernel.
    pub cpus: Vec<Option<u32>>,
    pub seed: u64,
}

/// One workload's part of a target: with connections of its own.
#[derive(Clone, Debug)]
pub struct Pool {
    /// Taken by its connections in turn.
    pub endpoints: Vec<Endpoint>,
    pub connections: usize,
}

impl Plan {
    /// When each segment of the load's shape ends, after the measurement began; none of a shape that
    /// is one segment.
    fn segment_ends(&self) -> Vec<Nanos> {
        let ends: Vec<Nanos> = self
            .segments()
            .iter()
            .map(|segment| segment.end.unwrap_or(self.measure).min(self.measure))
            .collect();
        if ends.len() < 2 { Vec::new() } else { ends }
    }

    /// The segments of the load's shape, from the beginning of the measurement.
    pub fn segments(&self) -> Vec<Segment> {
        match &self.pacing {
            Pacing::Open { load: Offered::Drawn { shape, .. }, .. } => shape.segments().collect(),
            _ => Vec::new(),
        }
    }

    /// Pools of each target.
    pub fn pools_of_each(&self) -> u32 {
        self.pools.len() as u32 / self.targets
    }

    pub fn connections(&self) -> usize {
        self.pools.iter().map(|pool| pool.connections).sum()
    }

    fn of(&self, pool: usize) -> Of {
        let pool = pool as u32;
        Of { pool, target: pool / self.pools_of_each() }
    }

    /// How a closed loop numbers the requests of a pool. Several targets in turn are one sequence.
    fn numbers(&self, pool: usize) -> Numbers {
        let pools = self.pools.len() as u64;
        let pool = pool as u64;
        let quota = self.requests.map(|n| n / pools + u64::from(pool < n % pools));
        Numbers { first: pool, step: pools, quota }
    }
}

/// What happened.
#[derive(Debug)]
pub struct Measurement {
    pub parts: Vec<Part>,
    /// By label.
    pub labels: Vec<Group>,
    /// By segment of the load's shape.
    pub segments: Vec<Group>,
    /// Arrivals and answers over time, from the beginning of the measurement.
    pub balance: Balance,
    /// Of the measurement.
    pub series: Series<Interval>,
    /// What happened in the drain.
    pub drained: Interval,
    pub hiccups: Histogram,
    /// The worst hiccup of each interval.
    pub hiccup_series: Vec<(Nanos, Nanos)>,
    /// What was taken from the shards in each interval.
    pub taken_series: Vec<(Nanos, Taken)>,
    /// How long what was read in the window had lain in the kernel, where it was asked.
    pub receive_delay: Option<Histogram>,
    /// How much later than asked the kernel woke shards that slept in the window.
    pub wake_up_delay: Histogram,
    /// When the load began, when it was measured, and when it was over.
    pub start: Instant,
    pub window: Window,
    pub end: Instant,
    pub ended: Ended,
    /// It was interrupted: the window is shorter than asked.
    pub partial: bool,
    pub connections_asked: u64,
    pub connections_reached: u64,
    /// How long it took to open them, before the load began.
    pub opening: Nanos,
    /// What went wrong with connections, before and during the load.
    pub connecting_failed: Failures,
    pub machine: Machine,
}

impl Measurement {
    /// The intervals, each with its beginning after that of the measurement and its true length: the
    /// last one ends with the measurement. The drain is one interval more, if anything ended in it.
    pub fn intervals(&self) -> impl Iterator<Item = (Nanos, Nanos, &Interval)> {
        let measured = self.window.length();
        let of_the_window = self.series.iter().map(move |(begin, interval)| {
            (begin, self.series.interval().min(measured.saturating_sub(begin)), interval)
        });
        let drained = &self.drained;
        let of_the_drain = (0 < drained.completed + drained.failed)
            .then(|| (measured, self.end.saturating_since(self.window.end), drained));
        of_the_window.chain(of_the_drain)
    }
}

/// What the generator and its machine did meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// The CPUs that shards are pinned to, as the kernel confirms.
    pub cpus: Vec<u32>,
    /// CPU time of the whole process, from the first connection to the end of the drain.
    pub cpu: Nanos,
    /// The busiest shard's share of the window outside waiting.
    pub busy_share: f64,
    /// The share of the window that the busiest script's shard spent in scripts.
    pub script_share: f64,
    /// The share of the window in which the shard that did it most watched the clock.
    pub spin_share: f64,
    pub turn_max: Nanos,
    /// The shares of the window, warm-up and drain left out, in which the hypervisor ran somebody else
    /// on our CPUs, and in which a CPU quota kept us from running.
    pub steal_share: Option<f64>,
    pub throttled_share: Option<f64>,
    /// The most delayed shard's share of the window in which it was runnable but did not run.
    pub run_queue_wait_share: Option<f64>,
    /// What the whole host's TCP sent in the window.
    pub segments: Option<Segments>,
    /// The fewest local ports that were free, as far as we know, for connections from one of our
    /// addresses to one of a target's.
    pub free_ports: Option<u64>,
}

/// Why there is no measurement.
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

/// A measurement, and what it was made with.
#[derive(Debug)]
pub struct Measured<D, O> {
    pub measurement: Measurement,
    /// By pool.
    pub drivers: Vec<D>,
    /// By shard.
    pub watchers: Vec<O>,
}

/// Runs a load. Each pool has a driver, each shard a watcher beside our own recorder. `stop` ends
/// the load early.
pub fn measure<D: Driver + Send, O: Observer + Send>(
    plan: &Plan,
    drivers: Vec<D>,
    watchers: Vec<O>,
    live: Option<SyncSender<Live>>,
    stop: &AtomicBool,
) -> Result<Measured<D, O>, Failure> {
    let shards = plan.cpus.len();
    assert!(0 < shards && !plan.pools.is_empty(), "a load has a shard and a pool");
    assert_eq!(drivers.len(), plan.pools.len(), "a pool has a driver");
    assert_eq!(watchers.len(), shards, "a shard has a watcher");
    let hub = Hub::new(plan, stop);
    let cpu_before = clock::process_cpu();
    let mut hands: Vec<Vec<(usize, D)>> = (0..shards).map(|_| Vec::new()).collect();
    for (pool, driver) in drivers.into_iter().enumerate() {
        hands[pool % shards].push((pool, driver));
    }
    let (ended, meters) = thread::scope(|scope| {
        let meter =
            scope.spawn(|| hiccup::meter(plan.cpus[0], &hub.window, plan.interval, &hub.done));
        let watch =
            scope.spawn(|| watch::watch(&hub.watched, &hub.window, plan.interval, &hub.done));
        let threads: Vec<_> = (0u32..)
            .zip(hands.into_iter().zip(watchers))
            .map(|(index, (drivers, watcher))| {
                let (hub, live) = (&hub, live.clone());
                scope.spawn(move || hub.shard(index, drivers, watcher, live))
            })
            .collect();
        let ended: Vec<_> = threads.into_iter().map(join).collect();
        hub.done.store(true, Ordering::Relaxed);
        (ended, (join(meter), join(watch)))
    });
    let cpu = clock::process_cpu().saturating_sub(cpu_before);
    if let Some(failure) = lock(&hub.failure).take() {
        return Err(failure);
    }
    let start = lock(&hub.begin).expect("the shards have met");
    let mut shards = Vec::new();
    let mut watchers = Vec::new();
    let mut drivers: Vec<(usize, D)> = Vec::new();
    for shard in ended {
        let (shard, watcher, hand) = shard.expect("who fails says so");
        shards.push(shard);
        watchers.push(watcher);
        drivers.extend(hand);
    }
    drivers.sort_by_key(|&(pool, _)| pool);
    let drivers = drivers.into_iter().map(|(_, driver)| driver).collect();
    let interrupted = stop.load(Ordering::Relaxed);
    let measurement = merge(plan, start, shards, meters, cpu, interrupted);
    Ok(Measured { measurement, drivers, watchers })
}

/// A panic in a thread is a panic of the measurement.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// What the shards share: only before and after the load.
struct Hub<'a> {
    plan: &'a Plan,
    barrier: Barrier,
    begin: Mutex<Option<Instant>>,
    failure: Mutex<Option<Failure>>,
    window: Mutex<Option<Window>>,
    /// The threads of the shards that are ready.
    watched: Mutex<Vec<Watched>>,
    done: AtomicBool,
    /// Ends the load on all shards: what one measures after another one failed is worth nothing.
    halt: AtomicBool,
    stop: &'a AtomicBool,
}

/// One shard at its end.
struct Ending {
    recorded: Recorded,
    end: Instant,
    ended: Ended,
    connections: (usize, usize),
    opening: Nanos,
    failures: Failures,
    receive_delay: Option<Histogram>,
    waited: Waited,
    cpu: Option<u32>,
}

/// The drivers of a shard with the numbers of their pools.
type Hand<D> = Vec<(usize, D)>;

impl<'a> Hub<'a> {
    fn new(plan: &'a Plan, stop: &'a AtomicBool) -> Hub<'a> {
        Hub {
            plan,
            barrier: Barrier::new(plan.cpus.len()),
            begin: Mutex::new(None),
            failure: Mutex::new(None),
            window: Mutex::new(None),
            watched: Mutex::default(),
            done: AtomicBool::new(false),
            halt: AtomicBool::new(false),
            stop,
        }
    }

    /// A shard's thread: get ready, wait for the others, generate load.
    fn shard<D: Driver, O: Observer>(
        &self,
        index: u32,
        drivers: Hand<D>,
        watcher: O,
        live: Option<SyncSender<Live>>,
    ) -> Option<(Ending, O, Hand<D>)> {
        let mut ready = match self.prepare(index, drivers, watcher, live) {
            Ok(ready) => Some(ready),
            Err(failure) => {
                lock(&self.failure).get_or_insert(failure);
                None
            }
        };
        // Whoever failed comes to the barrier as well, or the others would wait for ever.
        let start = self.meet();
        if lock(&self.failure).is_some() {
            return None;
        }
        let ready = ready.take().expect("who is not ready has said so");
        match self.generate(index, ready, start) {
            Ok(ended) => Some(ended),
            Err(fault) => {
                lock(&self.failure).get_or_insert(Failure::Fault(fault));
                self.halt.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Pins the thread and opens its connections.
    fn prepare<D: Driver, O: Observer>(
        &self,
        index: u32,
        drivers: Hand<D>,
        watcher: O,
        live: Option<SyncSender<Live>>,
    ) -> Result<Ready<'_, D, O>, Failure> {
        let plan = self.plan;
        // Before the thread is pinned: what the recorder leaves to another one is not to be done here.
        let recorder = Recorder::new(plan.targets as usize, plan.interval, live)
            .with_slo(plan.slo)
            .with_segments(&plan.segment_ends());
        clock::precise_timers();
        // What a script opens outlives the shard.
        if drivers.iter().all(|(_, driver)| !driver.is_scripted()) {
            process::own_files();
        }
        if let Some(cpu) = plan.cpus[index as usize] {
            cores::pin(cpu)
                .map_err(|e| Failure::Machine(format!("pinning a shard to CPU {cpu}: {e}")))?;
        }
        let io = Sockets::new(plan.network.interface, plan.timer).map_err(Failure::Machine)?;
        let io = io.with_congestion_control(plan.congestion_control.clone());
        let io = match plan.kernel_timestamps {
            false => io,
            true => io.with_kernel_timestamps().map_err(Failure::Machine)?,
        };
        lock(&self.watched).push(Watched::current(cores::allowed()));
        let stop = [self.stop, &self.halt];
        let mut shard = Shard::new(io, (recorder, watcher), plan.limits, stop);
        let pools: Vec<usize> = drivers.iter().map(|&(pool, _)| pool).collect();
        for (pool, driver) in drivers {
            let Pool { endpoints, connections } = plan.pools[pool].clone();
            shard.add_pool(plan.of(pool), driver, (endpoints, connections), plan.numbers(pool));
        }
        let asked = pools.iter().map(|&pool| plan.pools[pool].connections).sum();
        let begun = clock::now();
        let deadline = begun + plan.limits.connect_timeout + self.opening(asked);
        let reached = shard.connect(deadline).map_err(Failure::Fault)?;
        match shard.unreachable() {
            Some(_) if self.stop.load(Ordering::Relaxed) => Err(Failure::Interrupted),
            Some((target, why)) => Err(Failure::Unreachable { target, why }),
            None => {
                let opening = clock::now() - begun;
                Ok(Ready { shard, pools, asked, reached, opening })
            }
        }
    }

    /// How long the attempts to connect are meant to be spread over.
    fn opening(&self, connections: usize) -> Nanos {
        self.plan.limits.open_gap * connections as u64
    }

    /// Waits until every shard is ready, and agrees on a beginning.
    fn meet(&self) -> Instant {
        if self.barrier.wait().is_leader() {
            let start = clock::now() + Nanos::from_millis(2);
            *lock(&self.begin) = Some(start);
            *lock(&self.window) = Some(window(self.plan, start));
        }
        self.barrier.wait();
        lock(&self.begin).expect("the leader has set it")
    }

    fn generate<D: Driver, O: Observer>(
        &self,
        index: u32,
        ready: Ready<'_, D, O>,
        start: Instant,
    ) -> Result<(Ending, O, Hand<D>), Fault> {
        let Ready { shard: mut engine, pools, asked, reached, opening } = ready;
        let plan = self.plan;
        let window = window(plan, start);
        let mut source = self.source(index, start, window.end);
        engine.observer().begin(start, window);
        engine.io().count_receive_delays(window.start, window.end);
        engine.io().count_waits(window.start, window.end);
        let cpus = cores::allowed();
        let schedule = Schedule { start, end: window.end, drain: plan.drain };
        let (end, ended) = engine.run(&mut source, schedule)?;
        if ended == Ended::Overloaded {
            self.halt.store(true, Ordering::Relaxed);
        }
        let thread = Thread::current();
        for watched in lock(&self.watched).iter_mut().filter(|watched| watched.thread == thread) {
            watched.waited = thread.run_queue_wait();
        }
        engine.observer().end(end);
        let failures = engine.failures();
        let receive_delay = engine.io().receive_delays().cloned();
        let waited = engine.io().waited().clone();
        let ((recorder, watcher), drivers) = engine.into_parts();
        let ending = Ending {
            recorded: recorder.finish(end),
            end,
            ended,
            connections: (asked, reached),
            opening,
            failures,
            receive_delay,
            waited,
            cpu: plan.cpus[index as usize].and(cpus.first().copied()),
        };
        Ok((ending, watcher, pools.into_iter().zip(drivers).collect()))
    }

    fn source(&self, index: u32, start: Instant, end: Instant) -> Source {
        let plan = self.plan;
        match &plan.pacing {
            &Pacing::Closed { think } => {
                Source::Closed { think, random: Random::part(plan.seed, u64::from(index)) }
            }
            Pacing::Open { load, sharing } => {
                let load = load.after_warm_up(plan.warm_up);
                let shards = plan.cpus.len() as u32;
                let (targets, pools) = (plan.targets, plan.pools_of_each());
                let dealt = Dealt { targets, pools, shards, shard: index };
                let streams = pacing::arrivals(&load, *sharing, dealt, plan.seed, (start, end));
                let most = plan.requests.map(|most| most.div_ceil(streams.len() as u64));
                Source::Open(Streams::new(streams, shards, most))
            }
        }
    }
}

/// A shard with its connections open.
struct Ready<'a, D, O> {
    shard: Shard<'a, Sockets, D, (Recorder, O)>,
    pools: Vec<usize>,
    asked: usize,
    reached: usize,
    opening: Nanos,
}

fn window(plan: &Plan, start: Instant) -> Window {
    let begin = start + plan.warm_up;
    Window { start: begin, end: begin + plan.measure }
}

/// What the busiest of our routes leaves of the ports, if all that closed connections hold is on it.
fn free_ports(plan: &Plan, seen: &Seen) -> Option<u64> {
    let pools = plan.pools.iter().map(|pool| (&pool.endpoints[..], pool.connections));
    let most = host::ports_needed(pools).into_values().max()? as u64;
    Some(host::local_ports()?.saturating_sub(most + seen.waiting_ports?))
}

fn merge(
    plan: &Plan,
    start: Instant,
    shards: Vec<Ending>,
    (hiccups, seen): (Hiccups, Seen),
    cpu: Nanos,
    interrupted: bool,
) -> Measurement {
    let end = shards.iter().map(|shard| shard.end).max().expect("a load has a shard");
    let ended = shards.iter().map(|shard| shard.ended).max().expect("a load has a shard");
    let planned = window(plan, start);
    let window = Window { start: planned.start, end: planned.end.min(end).max(planned.start) };
    let share = |part: Nanos, whole: Nanos| match whole {
        Nanos::ZERO => 0.0,
        whole => part.as_secs_f64() / whole.as_secs_f64(),
    };
    let cpus = shards.iter().filter_map(|shard| shard.cpu).collect();
    let connections = |figure: fn(&Ending) -> usize| shards.iter().map(figure).sum::<usize>();
    let (asked, reached) = (connections(|s| s.connections.0), connections(|s| s.connections.1));
    let opening = shards.iter().map(|shard| shard.opening).max().unwrap_or_default();

    let mut connecting_failed = Failures::default();
    shards.iter().for_each(|shard| connecting_failed.add(shard.failures));
    let receive_delay = shards.iter().filter_map(|s| s.receive_delay.clone()).reduce(|a, b| {
        let mut sum = a;
        sum.add(&b);
        sum
    });

    let mut wake_up_delay = Histogram::new();
    shards.iter().for_each(|shard| wake_up_delay.add(&shard.waited.wake_up_delay));
    let spun = shards.iter().map(|shard| shard.waited.spun).max().unwrap_or_default();

    let mut each = shards.into_iter().map(|shard| shard.recorded);
    let mut recorded = each.next().expect("a load has a shard");
    each.for_each(|other| recorded.add(other));
    let length = window.length();
    Measurement {
        hiccups: hiccups.overshoot,
        hiccup_series: hiccups.worst.iter().map(|(at, worst)| (at, worst.0)).collect(),
        taken_series: seen.taken.iter().map(|(at, taken)| (at, *taken)).collect(),
        receive_delay,
        wake_up_delay,
        start,
        window,
        end,
        ended,
        partial: interrupted && window.end < planned.end,
        connections_asked: asked as u64,
        connections_reached: reached as u64,
        opening,
        connecting_failed,
        machine: Machine {
            cpus,
            cpu,
            busy_share: 1.0 - share(recorded.waited, length).min(1.0),
            script_share: share(recorded.scripted, length).min(1.0),
            spin_share: share(spun, length).min(1.0),
            turn_max: recorded.turn_max,
            steal_share: seen.whole.steal,
            throttled_share: seen.whole.throttled,
            run_queue_wait_share: seen.whole.run_queue_wait,
            segments: seen.segments,
            free_ports: free_ports(plan, &seen),
        },
        parts: recorded.parts,
        labels: recorded.labels,
        segments: recorded.segments,
        balance: recorded.balance,
        series: recorded.series,
        drained: recorded.drained,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds a lock of the hub")
}

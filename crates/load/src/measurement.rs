//! A whole load on this machine: one shard per core, its phases, and everything merged.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Barrier, Mutex};
use std::thread;

use ::measure::series::Series;
use ::measure::{Instant, Nanos};
use net::{Closed, Epoll, Timer, clock, cores, process};

use crate::driver::{Driver, Fault};
use crate::hiccup::{self, Hiccups};
use crate::observe::{Interval, Live, Part, Recorded, Recorder, Window};
use crate::pacing::{self, Pacing, ShardOf};
use crate::shard::{Limits, Schedule, Shard, Source};

/// What to do; everything that is not decided while it runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The addresses of each target.
    pub targets: Vec<Vec<SocketAddr>>,
    /// Of each target.
    pub connections: usize,
    pub pacing: Pacing,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    pub connect_timeout: Nanos,
    pub limits: Limits,
    pub slo: Option<Nanos>,
    pub interval: Nanos,
    pub timer: Timer,
    /// The CPU of each shard; `None` leaves it to the kernel.
    pub cpus: Vec<Option<u32>>,
    pub seed: u64,
}

/// What happened.
#[derive(Debug)]
pub struct Measurement {
    pub parts: Vec<Part>,
    pub series: Series<Interval>,
    pub hiccups: ::measure::Histogram,
    /// The worst hiccup of each interval.
    pub hiccup_series: Vec<(Nanos, Nanos)>,
    /// When the load began, when it was measured, and when it was over.
    pub start: Instant,
    pub window: Window,
    pub end: Instant,
    /// It was interrupted: the window is shorter than asked.
    pub partial: bool,
    pub connections_asked: u64,
    pub connections_reached: u64,
    pub machine: Machine,
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
    pub turn_max: Nanos,
    pub steal_share: Option<f64>,
    pub throttled_share: Option<f64>,
    /// The most delayed shard's share of the load in which it was runnable but did not run.
    pub run_queue_wait_share: Option<f64>,
}

/// Why there is no measurement.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// No connection to this target could be opened.
    Unreachable { target: usize, why: Option<Closed> },
    /// The workload failed.
    Fault(Fault),
    /// The machine refused a resource.
    Machine(String),
    /// Interrupted before anything was measured.
    Interrupted,
}

/// Runs a load. `driver` makes the driver of one target on one shard; it is called on that shard's
/// own thread. `stop` ends the load early.
pub fn measure<D: Driver>(
    plan: &Plan,
    driver: impl Fn(ShardOf, usize, usize) -> Result<D, Fault> + Sync,
    live: Option<SyncSender<Live>>,
    stop: &AtomicBool,
) -> Result<Measurement, Failure> {
    let shards = plan.cpus.len() as u32;
    assert!(0 < shards && !plan.targets.is_empty(), "a load has a shard and a target");
    let hub = Hub::new(plan, stop);
    let cpu_before = clock::process_cpu();
    let (ended, hiccups) = thread::scope(|scope| {
        let meter =
            scope.spawn(|| hiccup::meter(plan.cpus[0], &hub.window, plan.interval, &hub.done));
        let threads: Vec<_> = (0..shards)
            .map(|index| {
                let (hub, driver, live) = (&hub, &driver, live.clone());
                scope.spawn(move || hub.shard(ShardOf { index, shards }, driver, live))
            })
            .collect();
        let ended: Vec<_> = threads.into_iter().map(join).collect();
        hub.done.store(true, Ordering::Relaxed);
        (ended, join(meter))
    });
    let cpu = clock::process_cpu().saturating_sub(cpu_before);
    if let Some(failure) = lock(&hub.failure).take() {
        return Err(failure);
    }
    let start = lock(&hub.begin).expect("the shards have met");
    let ended = ended.into_iter().map(|shard| shard.expect("who fails says so")).collect();
    Ok(merge(plan, start, ended, hiccups, cpu))
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
    done: AtomicBool,
    stop: &'a AtomicBool,
}

/// One shard at its end.
struct Ended {
    recorded: Recorded,
    end: Instant,
    connections: (usize, usize),
    cpu: Option<u32>,
    steal: Option<Nanos>,
    throttled: Option<Nanos>,
    run_queue_wait: Option<Nanos>,
}

impl<'a> Hub<'a> {
    fn new(plan: &'a Plan, stop: &'a AtomicBool) -> Hub<'a> {
        Hub {
            plan,
            barrier: Barrier::new(plan.cpus.len()),
            begin: Mutex::new(None),
            failure: Mutex::new(None),
            window: Mutex::new(None),
            done: AtomicBool::new(false),
            stop,
        }
    }

    /// A shard's thread: get ready, wait for the others, generate load.
    fn shard<D: Driver>(
        &self,
        shard: ShardOf,
        driver: &(impl Fn(ShardOf, usize, usize) -> Result<D, Fault> + Sync),
        live: Option<SyncSender<Live>>,
    ) -> Option<Ended> {
        let mut ready = match self.prepare(shard, driver, live) {
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
        match self.generate(shard, ready, start) {
            Ok(ended) => Some(ended),
            Err(fault) => {
                lock(&self.failure).get_or_insert(Failure::Fault(fault));
                // What the others measure meanwhile is worth nothing.
                self.stop.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    /// Pins the thread, makes its drivers and opens its connections.
    fn prepare<D: Driver>(
        &self,
        shard: ShardOf,
        driver: &impl Fn(ShardOf, usize, usize) -> Result<D, Fault>,
        live: Option<SyncSender<Live>>,
    ) -> Result<Ready<'a, D>, Failure> {
        let plan = self.plan;
        clock::precise_timers();
        if let Some(cpu) = plan.cpus[shard.index as usize] {
            cores::pin(cpu)
                .map_err(|e| Failure::Machine(format!("pinning a shard to CPU {cpu}: {e}")))?;
        }
        let io = Epoll::new(plan.timer).map_err(|e| {
            Failure::Machine(format!("waiting with epoll_pwait2 (Linux 5.11): {e}"))
        })?;
        let recorder = Recorder::new(plan.targets.len(), plan.interval, live).with_slo(plan.slo);
        let mut ready =
            Ready { shard: Shard::new(io, recorder, plan.limits, self.stop), asked: 0, reached: 0 };
        for (target, addresses) in plan.targets.iter().enumerate() {
            let seats = share(plan.connections, shard);
            let driver = driver(shard, target, seats).map_err(Failure::Fault)?;
            ready.shard.add_target(driver, addresses.clone(), seats);
            ready.asked += seats;
        }
        ready.reached = ready.shard.connect(clock::now() + plan.connect_timeout);
        match ready.shard.unreachable() {
            Some(_) if self.stop.load(Ordering::Relaxed) => Err(Failure::Interrupted),
            Some((target, why)) => Err(Failure::Unreachable { target, why }),
            None => Ok(ready),
        }
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

    fn generate<D: Driver>(
        &self,
        shard: ShardOf,
        ready: Ready<'a, D>,
        start: Instant,
    ) -> Result<Ended, Fault> {
        let Ready { shard: mut engine, asked, reached } = ready;
        let plan = self.plan;
        let window = window(plan, start);
        let mut source = match plan.pacing {
            Pacing::Closed { think } => Source::Closed { think },
            Pacing::Open { rate, law, sharing } => {
                let targets = plan.targets.len() as u32;
                let span = (start, window.end);
                Source::Open(pacing::arrivals(
                    (rate, law, sharing),
                    targets,
                    shard,
                    plan.seed,
                    span,
                ))
            }
        };
        engine.observer().begin(start, window);
        let cpus = cores::allowed();
        let before = (process::stolen(&cpus), process::throttled(), process::run_queue_wait());
        let schedule = Schedule { start, end: window.end, drained: window.end + plan.drain };
        let end = engine.run(&mut source, schedule)?;
        let since = |now: Option<Nanos>, then: Option<Nanos>| Some(now?.saturating_sub(then?));
        let (_, recorder) = engine.into_parts();
        Ok(Ended {
            recorded: recorder.finish(end),
            end,
            connections: (asked, reached),
            cpu: plan.cpus[shard.index as usize].and(cpus.first().copied()),
            steal: since(process::stolen(&cpus), before.0),
            throttled: since(process::throttled(), before.1),
            run_queue_wait: since(process::run_queue_wait(), before.2),
        })
    }
}

/// A shard with its connections open.
struct Ready<'a, D> {
    shard: Shard<'a, Epoll, D, Recorder>,
    asked: usize,
    reached: usize,
}

fn window(plan: &Plan, start: Instant) -> Window {
    let begin = start + plan.warm_up;
    Window { start: begin, end: begin + plan.measure }
}

/// How many of `connections` fall to this shard.
fn share(connections: usize, shard: ShardOf) -> usize {
    let (shards, index) = (shard.shards as usize, shard.index as usize);
    connections / shards + usize::from(index < connections % shards)
}

fn merge(
    plan: &Plan,
    start: Instant,
    ended: Vec<Ended>,
    hiccups: Hiccups,
    cpu: Nanos,
) -> Measurement {
    let end = ended.iter().map(|shard| shard.end).max().expect("a load has a shard");
    let planned = window(plan, start);
    let window = Window { start: planned.start, end: planned.end.min(end).max(planned.start) };
    let share = |part: Nanos, whole: Nanos| match whole {
        Nanos::ZERO => 0.0,
        whole => part.as_secs_f64() / whole.as_secs_f64(),
    };
    let whole = end - start;
    let most = |figure: fn(&Ended) -> Option<Nanos>| {
        let longest = ended.iter().filter_map(figure).max();
        longest.map(|longest| share(longest, whole).min(1.0))
    };
    let least_waited = ended.iter().map(|shard| shard.recorded.waited).min();
    let machine = Machine {
        cpus: ended.iter().filter_map(|shard| shard.cpu).collect(),
        cpu,
        busy_share: 1.0 - share(least_waited.unwrap_or_default(), window.length()).min(1.0),
        turn_max: ended.iter().map(|shard| shard.recorded.turn_max).max().unwrap_or_default(),
        steal_share: most(|shard| shard.steal),
        throttled_share: most(|shard| shard.throttled),
        run_queue_wait_share: most(|shard| shard.run_queue_wait),
    };
    let connections = |figure: fn(&Ended) -> usize| ended.iter().map(figure).sum::<usize>() as u64;
    let (asked, reached) = (connections(|e| e.connections.0), connections(|e| e.connections.1));

    let mut shards = ended.into_iter().map(|shard| shard.recorded);
    let Recorded { mut parts, mut series, .. } = shards.next().expect("a load has a shard");
    for shard in shards {
        for (into, part) in parts.iter_mut().zip(&shard.parts) {
            into.add(part);
        }
        series.add(shard.series);
    }
    Measurement {
        parts,
        series,
        hiccups: hiccups.overshoot,
        hiccup_series: hiccups.worst.iter().map(|(at, worst)| (at, worst.0)).collect(),
        start,
        window,
        end,
        partial: window.end < planned.end,
        connections_asked: asked,
        connections_reached: reached,
        machine,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds a lock of the hub")
}

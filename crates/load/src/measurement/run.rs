//! The run of a load: the shards' threads get ready, begin at the same time, and end together.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex};
use std::thread;

use ::measure::{Instant, Nanos, Random};
use net::process::Thread;
use net::{Sockets, clock, cores, process};
use scopeguard::defer_on_unwind;

use super::merge::{Ending, merge};
use super::{Failure, Measured, Plan, Pool};
use crate::curtail::{Counter, Curtailment};
use crate::driver::{Driver, Fault};
use crate::hiccup;
use crate::observe::{Live, Observer, Recorder, Window};
use crate::pacing::{self, Dealt, Pacing};
use crate::shard::{Ended, Schedule, Shard};
use crate::source::{Source, Streams};
use crate::watch::{self, Watched};

#[cfg(test)]
mod tests;

/// The time that the shards have to reach the beginning of a load that begins at once.
const AT_ONCE: Nanos = Nanos::from_millis(2);

/// Returns the time at which a load begins. It is called once all connections are open, and may wait.
pub type Begin<'a> = &'a (dyn Fn() -> Result<Instant, Failure> + Sync);

/// Runs a load, which begins once its connections are open. Each pool has a driver, and each shard has a
/// watcher beside our own recorder. `stop` ends the load early.
pub fn measure<D: Driver + Send, O: Observer + Send>(
    plan: &Plan,
    drivers: Vec<D>,
    watchers: Vec<O>,
    live: Option<SyncSender<Live>>,
    stop: &AtomicBool,
) -> Result<Measured<D, O>, Failure> {
    measure_from(plan, drivers, watchers, live, stop, &|| Ok(clock::now() + AT_ONCE))
}

/// Runs a load like [`measure`], but it begins when `begin` says so.
pub fn measure_from<D: Driver + Send, O: Observer + Send>(
    plan: &Plan,
    drivers: Vec<D>,
    watchers: Vec<O>,
    live: Option<SyncSender<Live>>,
    stop: &AtomicBool,
    begin: Begin<'_>,
) -> Result<Measured<D, O>, Failure> {
    let shards = plan.cpus.len();
    assert!(0 < shards && !plan.pools.is_empty(), "a load has a shard and a pool");
    assert_eq!(drivers.len(), plan.pools.len(), "a pool has a driver");
    assert_eq!(watchers.len(), shards, "a shard has a watcher");
    let hub = Hub::new(plan, stop, begin);
    let cpu_before = clock::process_cpu();
    let mut hands: Vec<Vec<(usize, D)>> = (0..shards).map(|_| Vec::new()).collect();
    for (pool, driver) in drivers.into_iter().enumerate() {
        hands[pool % shards].push((pool, driver));
    }
    let (ended, meters) = thread::scope(|scope| {
        // Whatever ends this closure early, no thread goes on: the scope waits for all of them.
        let abandon = scopeguard::guard((), |()| hub.abandon());
        let meter =
            spawn(scope, || hiccup::meter(plan.cpus[0], &hub.window, plan.interval, &hub.done))?;
        let watch =
            spawn(scope, || watch::watch(&hub.watched, &hub.window, plan.interval, &hub.done))?;
        let threads: Result<Vec<_>, Failure> = (0u32..)
            .zip(hands.into_iter().zip(watchers))
            .map(|(index, (drivers, watcher))| {
                let (hub, live) = (&hub, live.clone());
                spawn(scope, move || hub.shard(index, drivers, watcher, live))
            })
            .collect();
        let ended: Vec<_> = threads?.into_iter().map(join).collect();
        drop(abandon);
        Ok((ended, (join(meter), join(watch))))
    })?;
    let cpu = clock::process_cpu().saturating_sub(cpu_before);
    if let Some(failure) = lock(&hub.failure).take() {
        return Err(failure);
    }
    let start = lock(&hub.begin).expect("the shards have met");
    let mut shards = Vec::new();
    let mut watchers = Vec::new();
    let mut drivers: Vec<(usize, D)> = Vec::new();
    for shard in ended {
        let (shard, watcher, hand) = shard.expect("a shard that fails records its failure");
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

/// Starts a thread; the machine may allow no further one.
fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<thread::ScopedJoinHandle<'scope, T>, Failure> {
    let spawned = thread::Builder::new().spawn_scoped(scope, work);
    spawned.map_err(|error| {
        Failure::Machine(format!(
            "starting a thread: {error}; raise the limit of processes (`ulimit -u`, or `pids.max` of the \
             control group)"
        ))
    })
}

/// A panic in a thread is a panic of the measurement.
fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The state that the shards share before and after the load.
struct Hub<'a> {
    plan: &'a Plan,
    /// The shards that are ready, or have failed.
    met: AtomicUsize,
    begin: Mutex<Option<Instant>>,
    /// Wakes the shards that wait for the beginning.
    changed: Condvar,
    failure: Mutex<Option<Failure>>,
    window: Mutex<Option<Window>>,
    /// The threads of the shards that are ready.
    watched: Mutex<Vec<Watched>>,
    done: AtomicBool,
    /// Ends the load on all shards: after one has failed, what the others measure is not used.
    halt: AtomicBool,
    stop: &'a AtomicBool,
    curtailment: Curtailment,
    when: Begin<'a>,
}

/// The drivers of a shard with the numbers of their pools.
type Hand<D> = Vec<(usize, D)>;

impl<'a> Hub<'a> {
    fn new(plan: &'a Plan, stop: &'a AtomicBool, when: Begin<'a>) -> Hub<'a> {
        Hub {
            plan,
            met: AtomicUsize::new(0),
            begin: Mutex::new(None),
            changed: Condvar::new(),
            failure: Mutex::new(None),
            window: Mutex::new(None),
            watched: Mutex::default(),
            done: AtomicBool::new(false),
            halt: AtomicBool::new(false),
            stop,
            curtailment: Curtailment::of(&plan.enough),
            when,
        }
    }

    /// Runs a shard's thread: prepares, waits for the others, generates load.
    fn shard<D: Driver, O: Observer>(
        &self,
        index: u32,
        drivers: Hand<D>,
        watcher: O,
        live: Option<SyncSender<Live>>,
    ) -> Option<(Ending, O, Hand<D>)> {
        defer_on_unwind! { self.abandon() }
        let mut ready = match self.prepare(index, drivers, watcher, live) {
            Ok(ready) => Some(ready),
            Err(failure) => {
                lock(&self.failure).get_or_insert(failure);
                None
            }
        };
        // A shard that failed meets the others too, or they would wait for ever.
        let start = self.meet()?;
        if lock(&self.failure).is_some() {
            return None;
        }
        let ready = ready.take().expect("a shard that is not ready has recorded its failure");
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
        // Before the thread is pinned, so that the recorder's interval writer runs on other CPUs.
        let recorder = Recorder::new(plan.targets as usize, plan.interval, live)
            .with_slo(plan.slo)
            .with_segments(&plan.segment_ends());
        clock::precise_timers();
        // Files that a script opens outlive the shard.
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
        let observer = ((recorder, self.curtailment.counter()), watcher);
        let shard = Shard::new(io, observer, plan.limits, stop);
        let mut shard = shard.until(self.curtailment.missed());
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

    /// Returns the time over which the attempts to connect are spread.
    fn opening(&self, connections: usize) -> Nanos {
        self.plan.limits.open_gap * connections as u64
    }

    /// Waits until every shard is ready, and agrees on a beginning; `None` if there will be none.
    fn meet(&self) -> Option<Instant> {
        if self.met.fetch_add(1, Ordering::AcqRel) + 1 == self.plan.cpus.len() {
            let has_failed = lock(&self.failure).is_some();
            let start = if has_failed { Ok(clock::now()) } else { (self.when)() };
            let start = start.unwrap_or_else(|failure| {
                lock(&self.failure).get_or_insert(failure);
                clock::now()
            });
            *lock(&self.window) = Some(self.plan.window(start));
            *lock(&self.begin) = Some(start);
            self.changed.notify_all();
        }
        let waits =
            |begin: &mut Option<Instant>| begin.is_none() && !self.halt.load(Ordering::Relaxed);
        *self.changed.wait_while(lock(&self.begin), waits).expect("see `lock`")
    }

    /// Ends all threads, such as after one has panicked: those that wait for it would wait for ever.
    fn abandon(&self) {
        // With the lock, so that a shard that is about to wait sees it.
        let _begin = lock(&self.begin);
        self.halt.store(true, Ordering::Relaxed);
        self.done.store(true, Ordering::Relaxed);
        self.changed.notify_all();
    }

    fn generate<D: Driver, O: Observer>(
        &self,
        index: u32,
        ready: Ready<'_, D, O>,
        start: Instant,
    ) -> Result<(Ending, O, Hand<D>), Fault> {
        let Ready { shard: mut engine, pools, asked, reached, opening } = ready;
        let plan = self.plan;
        let window = plan.window(start);
        let mut source = self.source(index, start, window.end);
        engine.observer().begin(start, window);
        engine.io().count_receive_delays(window.start, window.end);
        engine.io().count_waits(window.start, window.end);
        let cpus = cores::allowed();
        let overload = plan.overload(window);
        let schedule = Schedule { start, overload, end: window.end, drain: plan.drain };
        let (end, ended) = engine.run(&mut source, schedule)?;
        if ended == Ended::Overloaded {
            self.halt.store(true, Ordering::Relaxed);
        }
        let thread = Thread::current();
        for watched in lock(&self.watched).iter_mut().filter(|watched| watched.thread == thread) {
            watched.waited = thread.run_queue_wait();
        }
        engine.observer().end(end);
        engine.close();
        let refused = engine.refused();
        let (failures, is_behind) = (engine.failures(), engine.is_behind());
        let receive_delay = engine.io().receive_delays().cloned();
        let waited = engine.io().waited().clone();
        let (((recorder, _), watcher), drivers) = engine.into_parts();
        let ending = Ending {
            recorded: recorder.finish(end),
            end,
            ended,
            is_behind,
            connections: (asked, reached),
            opening,
            failures,
            refused,
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
                let number = plan.part.number(u64::from(index));
                Source::Closed { think, random: Random::part(plan.seed, number) }
            }
            Pacing::Open { load, sharing } => {
                let load = load.after_warm_up(plan.warm_up);
                let shards = plan.cpus.len() as u32;
                let (targets, pools) = (plan.targets, plan.pools_of_each());
                let part = plan.part;
                let dealt = Dealt { targets, part, pools, shards, shard: index };
                let streams = pacing::arrivals(&load, *sharing, dealt, plan.seed, (start, end));
                let most = plan.requests.map(|most| most.div_ceil(streams.len() as u64));
                Source::Open(Streams::new(streams, shards, most))
            }
        }
    }
}

/// A shard with its connections open.
struct Ready<'a, D, O> {
    shard: Shard<'a, Sockets, D, ((Recorder, Counter<'a>), O)>,
    pools: Vec<usize>,
    asked: usize,
    reached: usize,
    opening: Nanos,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds a lock of the hub")
}

//! The CPU time that the machine takes from the generator, for each interval.
//!
//! A separate thread asks the kernel, so that no shard does this while it measures.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::series::{Merge, Series};
use ::measure::{Instant, Nanos};
use net::host::{self, Segments};
use net::process::{Quota, Thread};
use net::{clock, process};

use crate::observe::Window;

#[cfg(test)]
mod tests;

/// The longest time until the end is noticed.
const NAP: Nanos = Nanos::from_millis(50);

/// A shard's thread, and the CPUs that it may run on.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    pub(crate) thread: Thread,
    pub(crate) cpus: Vec<u32>,
    /// Its run queue wait when it ended: afterwards the kernel no longer reports it.
    pub(crate) waited: Option<Nanos>,
}

impl Watched {
    /// The calling thread.
    pub(crate) fn current(cpus: Vec<u32>) -> Watched {
        Watched { thread: Thread::current(), cpus, waited: None }
    }

    fn run_queue_wait(&self) -> Option<Nanos> {
        self.waited.or_else(|| self.thread.run_queue_wait())
    }
}

/// The shares of a time that were taken from the shard that suffered most. `None` for what the
/// kernel does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Taken {
    /// The shard was runnable, but another thread ran.
    pub run_queue_wait: Option<f64>,
    /// The hypervisor ran another guest on the CPU of its CPUs that lost most.
    pub steal: Option<f64>,
    /// The CPU quota that did it most kept the process from running; at most.
    pub throttled: Option<f64>,
}

impl Merge for Taken {
    fn merge(&mut self, other: Taken) {
        let worst = |a: Option<f64>, b| [a, b].into_iter().flatten().reduce(f64::max);
        self.run_queue_wait = worst(self.run_queue_wait, other.run_queue_wait);
        self.steal = worst(self.steal, other.steal);
        self.throttled = worst(self.throttled, other.throttled);
    }
}

/// The observations inside the window.
#[derive(Debug)]
pub(crate) struct Observations {
    pub(crate) taken: Series<Taken>,
    /// The shares over the whole window, or over the part of it that the load covered.
    pub(crate) whole: Taken,
    /// The TCP segments that the host sent meanwhile.
    pub(crate) segments: Option<Segments>,
    /// The largest number of local ports held by closed connections, at the end of an interval.
    pub(crate) waiting_ports: Option<u64>,
}

/// Reads the counters of the shards at the beginning of the window, at the end of each interval and
/// at the end of the window, or at the end of the load if that is earlier. If it did not run in the
/// window, the shares are those of the time since its last run.
pub(crate) fn watch(
    shards: &Mutex<Vec<Watched>>,
    window: &Mutex<Option<Window>>,
    interval: Nanos,
    done: &AtomicBool,
) -> Observations {
    let look =
        |now| Reading::take(&shards.lock().expect("no thread panics while it holds it"), now);
    let mut watch: Option<Watch> = None;
    let mut before = None;
    while !done.load(Ordering::Relaxed) {
        let now = clock::now();
        let window = *window.lock().expect("no thread panics while it holds the window");
        let next = match (&mut watch, window) {
            (None, None) => Instant::NEVER,
            (None, Some(window)) if now < window.start => {
                before = Some(look(now));
                window.start
            }
            (None, Some(window)) => watch.insert(Watch::begin(window, interval, look(now))).next,
            (Some(watch), _) => {
                if watch.next <= now {
                    watch.add(look(now));
                }
                watch.next
            }
        };
        clock::sleep_until((now + NAP).min(next.max(now)));
    }
    let mut seen = match watch {
        None => Observations::new(Instant(0), interval),
        Some(mut watch) => {
            if watch.next != Instant::NEVER {
                watch.add(look(clock::now()));
            }
            watch.seen
        }
    };
    let now = clock::now();
    let window = *window.lock().expect("no thread panics while it holds the window");
    // A CPU quota can keep this thread, too, from running in the whole window.
    if seen.taken.iter().next().is_none()
        && window.is_some_and(|window| window.start < now)
        && let Some(before) = before
    {
        seen.whole = look(now).taken_since(&before);
    }
    seen
}

/// A watch that is running.
struct Watch {
    seen: Observations,
    first: Reading,
    last: Reading,
    /// The time of the next reading.
    next: Instant,
    end: Instant,
    interval: Nanos,
}

impl Watch {
    fn begin(window: Window, interval: Nanos, first: Reading) -> Watch {
        let Window { start, end } = window;
        let seen = Observations::new(start, interval);
        let at = first.at;
        let mut watch = Watch { seen, last: first.clone(), first, next: start, end, interval };
        watch.go_on_from(at);
        watch
    }

    /// Sets the time of the next reading: the first end of an interval after this one.
    fn go_on_from(&mut self, at: Instant) {
        while self.next <= at && self.next < self.end {
            self.next = (self.next + self.interval).min(self.end);
        }
        if self.end <= at {
            self.next = Instant::NEVER;
        }
    }

    fn add(&mut self, now: Reading) {
        self.go_on_from(now.at);
        self.seen.add(&self.last, &now);
        self.seen.whole = now.taken_since(&self.first);
        self.last = now;
    }
}

impl Observations {
    fn new(start: Instant, interval: Nanos) -> Observations {
        let taken = Series::new(start, interval);
        Observations { taken, whole: Taken::default(), segments: None, waiting_ports: None }
    }

    fn add(&mut self, last: &Reading, now: &Reading) {
        self.taken.at(last.at).merge(now.taken_since(last));
        if let Some((now, last)) = now.segments.zip(last.segments) {
            let sum = self.segments.get_or_insert_default();
            sum.sent += now.sent.saturating_sub(last.sent);
            sum.retransmitted += now.retransmitted.saturating_sub(last.retransmitted);
        }
        self.waiting_ports = self.waiting_ports.max(last.waiting_ports).max(now.waiting_ports);
    }
}

/// The kernel's counters at one time.
#[derive(Clone, Debug, Default)]
struct Reading {
    at: Instant,
    /// The run queue wait of each shard.
    run_queue_wait: Vec<Option<Nanos>>,
    /// The steal of each CPU of each shard.
    steal: Vec<Option<Nanos>>,
    quotas: Vec<Quota>,
    segments: Option<Segments>,
    waiting_ports: Option<u64>,
}

impl Reading {
    fn take(shards: &[Watched], at: Instant) -> Reading {
        Reading {
            at,
            run_queue_wait: shards.iter().map(Watched::run_queue_wait).collect(),
            steal: shards.iter().flat_map(|shard| process::stolen(&shard.cpus)).collect(),
            quotas: process::quotas(),
            segments: host::segments(),
            waiting_ports: host::waiting_ports(),
        }
    }

    fn taken_since(&self, last: &Reading) -> Taken {
        let length = self.at - last.at;
        let share = |now: Option<Nanos>, then: Option<Nanos>| {
            if length == Nanos::ZERO {
                return None;
            }
            Some((now?.saturating_sub(then?).0 as f64 / length.0 as f64).min(1.0))
        };
        let quotas = self.quotas.iter().zip(&last.quotas);
        let stopped = quotas.map(|(now, then)| now.share_since(then, length));
        let most = |now: &[Option<Nanos>], then: &[Option<Nanos>]| {
            let shares = now.iter().zip(then).filter_map(|(now, then)| share(*now, *then));
            shares.reduce(f64::max)
        };
        Taken {
            run_queue_wait: most(&self.run_queue_wait, &last.run_queue_wait),
            steal: most(&self.steal, &last.steal),
            throttled: stopped.reduce(f64::max).filter(|_| length != Nanos::ZERO),
        }
    }
}

//! The hiccup meter: how punctual this machine lets an idle thread be.
//!
//! A thread sleeps a millisecond at a time and notes how much longer it took. What delays it would
//! have delayed a request as well, and is neither our fault nor the target's.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::series::{Merge, Series};
use ::measure::{Histogram, Instant, Nanos};
use net::cores::Urgency;
use net::{clock, cores};

use crate::observe::Window;

const NAP: Nanos = Nanos::from_millis(1);

#[derive(Debug)]
pub(crate) struct Hiccups {
    pub(crate) overshoot: Histogram,
    pub(crate) worst: Series<Worst>,
}

/// The longest overshoot of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worst(pub(crate) Nanos);

impl Merge for Worst {
    fn merge(&mut self, later: Worst) {
        self.0 = self.0.max(later.0);
    }
}

/// Naps until `done`; what overlaps the window counts. On the given CPU if it may run there before
/// all others, since else it would measure our own shard.
pub(crate) fn meter(
    cpu: Option<u32>,
    window: &Mutex<Option<Window>>,
    interval: Nanos,
    done: &AtomicBool,
) -> Hiccups {
    clock::precise_timers();
    if cores::urgent() == Urgency::RealTime
        && let Some(cpu) = cpu
    {
        // Staying unpinned is no failure: it measures the machine all the same.
        let _ = cores::pin(cpu);
    }
    let mut hiccups: Option<Hiccups> = None;
    let mut before = clock::now();
    while !done.load(Ordering::Relaxed) {
        clock::sleep_until(before + NAP);
        let now = clock::now();
        let window = *window.lock().expect("no thread panics while it holds the window");
        if let Some(window) = window.filter(|window| window.contains(before)) {
            let hiccups = hiccups.get_or_insert_with(|| Hiccups::new(window.start, interval));
            let overshoot = now.saturating_since(before + NAP);
            hiccups.overshoot.record(overshoot);
            hiccups.worst.at(before).merge(Worst(overshoot));
        }
        before = now;
    }
    hiccups.unwrap_or_else(|| Hiccups::new(before, interval))
}

impl Hiccups {
    fn new(start: Instant, interval: Nanos) -> Hiccups {
        Hiccups { overshoot: Histogram::new(), worst: Series::new(start, interval) }
    }
}

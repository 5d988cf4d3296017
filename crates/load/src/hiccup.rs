//! The hiccup meter: how punctual this machine lets an idle thread be.
//!
//! A thread sleeps a millisecond at a time and notes how much longer it took. What delays it would
//! have delayed a request as well, and is neither our fault nor the target's.
//!
//! A pause hides the naps that would have ended in it. Each of them is noted too, with what was left of
//! the pause when it would have ended: a pause of 20 ms counts 20 times, as 20 ms, 19 ms and so on. So
//! the distribution is one over time, not over naps: what a request would have waited for the machine
//! whose time comes at any moment.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::series::{Merge, Series};
use ::measure::{Histogram, Instant, Nanos};
use net::cores::Urgency;
use net::{clock, cores};

use crate::observe::Window;

const NAP: Nanos = Nanos::from_millis(1);

#[cfg(test)]
mod tests;

#[derive(Debug)]
pub(crate) struct Hiccups {
    /// How much too late a thread was woken, once for each millisecond of the window.
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

/// Naps until `done`; each nap counts that was to end in the window. On the given CPU if it may run there before
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
        if let Some(window) = *window.lock().expect("no thread panics while it holds the window") {
            let hiccups = hiccups.get_or_insert_with(|| Hiccups::new(window.start, interval));
            hiccups.note(window, before + NAP, now);
        }
        before = now;
    }
    hiccups.unwrap_or_else(|| Hiccups::new(before, interval))
}

impl Hiccups {
    /// A nap that was to end at `due` ended at `now`, and with it those that it hid.
    fn note(&mut self, window: Window, due: Instant, now: Instant) {
        let mut due = due;
        loop {
            if window.contains(due) {
                let overshoot = now.saturating_since(due);
                self.overshoot.record(overshoot);
                self.worst.at(due).merge(Worst(overshoot));
            }
            due = due + NAP;
            if now < due || window.end <= due {
                return;
            }
        }
    }

    fn new(start: Instant, interval: Nanos) -> Hiccups {
        Hiccups { overshoot: Histogram::new(), worst: Series::new(start, interval) }
    }
}

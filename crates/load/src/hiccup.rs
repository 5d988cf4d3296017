//! The hiccup meter: measures how late this machine wakes an idle thread.
//!
//! A thread sleeps for a millisecond at a time and records how much longer it took. Whatever delays
//! it would have delayed a request as well, and is caused neither by the generator nor by the
//! target.
//!
//! A pause hides the naps that would have ended during it. Each of them is recorded too, with the
//! rest of the pause at the time when it would have ended: a pause of 20 ms counts 20 times, as 20
//! ms, 19 ms and so on. So the distribution is one over time, not over naps: the time that a
//! request due at a random moment would have waited for the machine.

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
    /// The delay with which the thread was woken, once for each millisecond of the window.
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

/// Naps until `done`; each nap counts that was due to end in the window. Runs on the given CPU if
/// it has real-time priority there, since otherwise it would measure our own shard.
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
        // Staying unpinned is not an error: it still measures the machine.
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
    /// Records a nap that was due to end at `due` and ended at `now`, and the naps that it hid.
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

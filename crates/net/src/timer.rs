//! Waiting for a point in time: punctuality against CPU.

use std::str::FromStr;

use measure::{Histogram, Instant, Nanos};

use crate::clock;
use crate::rivals::Rivals;
use crate::wake_up::{self, WakeUps};

#[cfg(test)]
mod tests;

/// A way to wait for a point in time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Timer {
    /// The kernel's timer alone: as late as the machine wakes a thread, for nearly no CPU.
    Sleep,
    /// Sleep until shortly before, then watch the clock: late by under a microsecond. It begins to
    /// watch earlier by the delay with which this machine has lately woken it, at least 60 µs.
    #[default]
    Hybrid,
    /// Watch the clock all the time: as punctual, for a whole CPU.
    Spin,
}

impl Timer {
    pub fn name(self) -> &'static str {
        match self {
            Timer::Sleep => "sleep",
            Timer::Hybrid => "hybrid",
            Timer::Spin => "spin",
        }
    }
}

impl FromStr for Timer {
    type Err = String;

    fn from_str(text: &str) -> Result<Timer, String> {
        match text {
            "sleep" => Ok(Timer::Sleep),
            "hybrid" => Ok(Timer::Hybrid),
            "spin" => Ok(Timer::Spin),
            _ => Err(format!(
                "`{text}` is not a valid timer; there are `hybrid`, `sleep` and `spin`"
            )),
        }
    }
}

/// The measurements of the waits in the time that counts.
#[derive(Clone, Debug, Default)]
pub struct Waited {
    /// The delays with which the kernel woke the thread, of all sleeps that lasted their full time.
    pub wake_up_delay: Histogram,
    /// The time that the thread has watched the clock.
    pub spun: Nanos,
}

/// A source of events that can be polled.
pub(crate) trait Poll {
    /// Polls, and sleeps for at most `longest` until there are events.
    fn poll(&mut self, longest: Nanos);

    /// True if the last poll found events.
    fn has_found(&self) -> bool;

    fn waits(&mut self) -> &mut Waits;
}

/// Waits for the first events, but never past `until`, and returns the time.
pub(crate) fn wait(io: &mut impl Poll, until: Instant) -> Instant {
    let begun = clock::now();
    let margin = io.waits().margin(begun);
    let sleep = until.saturating_since(begun).saturating_sub(margin);
    io.poll(sleep);
    let woke = clock::now();
    let asked = begun + sleep;
    if Nanos::ZERO < sleep && asked <= woke {
        io.waits().woke(asked, woke);
    }
    let mut now = woke;
    // A signal may end the sleep early; the caller reads the clock anyway.
    if until.saturating_since(woke) <= margin {
        while !io.has_found() && now < until {
            io.poll(Nanos::ZERO);
            now = clock::now();
        }
        io.waits().spun(woke, now);
    }
    if until <= now {
        io.waits().start(now);
    }
    now
}

/// The wake-up delays that a thread has learned from its waits, and the measurements to report.
#[derive(Debug)]
pub(crate) struct Waits {
    timer: Timer,
    wake_ups: WakeUps,
    rivals: Rivals,
    /// Counts only what begins from the first until the second time.
    counted: (Instant, Instant),
    waited: Waited,
}

impl Waits {
    pub(crate) fn new(timer: Timer) -> Waits {
        Waits {
            timer,
            wake_ups: WakeUps::new(),
            rivals: Rivals::default(),
            counted: (Instant::NEVER, Instant::NEVER),
            waited: Waited::default(),
        }
    }

    pub(crate) fn count(&mut self, start: Instant, end: Instant) {
        self.counted = (start, end);
    }

    pub(crate) fn waited(&self) -> &Waited {
        &self.waited
    }

    /// The time by which a sleep has to end early.
    fn margin(&mut self, now: Instant) -> Nanos {
        match self.timer {
            Timer::Sleep => Nanos::ZERO,
            Timer::Hybrid if self.rivals.are_there(now) => wake_up::LEAST,
            Timer::Hybrid => self.wake_ups.margin(),
            Timer::Spin => Nanos(u64::MAX),
        }
    }

    fn woke(&mut self, asked: Instant, woke: Instant) {
        self.wake_ups.woke(asked, woke);
        if self.counts(asked) {
            self.waited.wake_up_delay.record(woke - asked);
        }
    }

    fn spun(&mut self, begun: Instant, ended: Instant) {
        if self.counts(begun) {
            self.waited.spun += ended - begun;
        }
    }

    fn start(&mut self, now: Instant) {
        self.wake_ups.start(now);
    }

    fn counts(&self, at: Instant) -> bool {
        self.counted.0 <= at && at < self.counted.1
    }
}

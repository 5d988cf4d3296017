//! Waiting for a point in time: punctuality against CPU.

use std::str::FromStr;

use measure::{Instant, Nanos};

use crate::clock;

/// How long before its time a hybrid wait stops sleeping and watches the clock: the kernel wakes a
/// sleeper 20–60 µs late.
const WAKE_UP: Nanos = Nanos::from_micros(60);

/// How to wait for a point in time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Timer {
    /// The kernel's timer alone: late by some 50 µs, nearly no CPU.
    Sleep,
    /// Sleep until shortly before, then watch the clock: late by under a microsecond, for up to
    /// 60 µs of CPU a wait.
    #[default]
    Hybrid,
    /// Only watch the clock: as punctual, for a whole CPU.
    Spin,
}

/// What can be asked for events.
pub(crate) trait Poll {
    /// Asks, and sleeps for at most so long unless there are some.
    fn poll(&mut self, longest: Nanos);

    /// Whether there were any.
    fn has_found(&self) -> bool;
}

impl Timer {
    pub fn name(self) -> &'static str {
        match self {
            Timer::Sleep => "sleep",
            Timer::Hybrid => "hybrid",
            Timer::Spin => "spin",
        }
    }

    /// Waits for the first events, but never past `until`, and returns the time.
    pub(crate) fn wait(self, io: &mut impl Poll, until: Instant) -> Instant {
        let left = until.saturating_since(clock::now());
        io.poll(match self {
            Timer::Sleep => left,
            Timer::Hybrid => left.saturating_sub(WAKE_UP),
            Timer::Spin => Nanos::ZERO,
        });
        let now = clock::now();
        // A signal may end the sleep early; whoever asked for it looks at the clock anyway.
        match self {
            Timer::Hybrid if until.saturating_since(now) <= WAKE_UP => watch_clock(io, now, until),
            Timer::Spin => watch_clock(io, now, until),
            _ => now,
        }
    }
}

/// Spins until an event or the given time.
fn watch_clock(io: &mut impl Poll, now: Instant, until: Instant) -> Instant {
    let mut now = now;
    while !io.has_found() && now < until {
        io.poll(Nanos::ZERO);
        now = clock::now();
    }
    now
}

impl FromStr for Timer {
    type Err = String;

    fn from_str(text: &str) -> Result<Timer, String> {
        match text {
            "sleep" => Ok(Timer::Sleep),
            "hybrid" => Ok(Timer::Hybrid),
            "spin" => Ok(Timer::Spin),
            _ => Err(format!("`{text}` is no timer; there are `hybrid`, `sleep` and `spin`")),
        }
    }
}

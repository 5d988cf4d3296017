//! Samples of a script thread's rate, from which the line `Req/Sec` is computed.

use measure::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// The sampling interval of wrk, and of wrk2 if a run is too short for its calibration.
pub const INTERVAL: Nanos = Nanos::from_millis(100);

/// Divides a script thread's time into intervals and reports the rate of each.
///
/// The originals sample when a timer of their loop happens to fire. Here an interval ends on time,
/// so that samples do not depend on how often the loop turns.
#[derive(Clone, Debug)]
pub struct Sampler {
    interval: Nanos,
    idle: Idle,
    /// The beginning of the current sample.
    since: Instant,
    due: Instant,
    answers: u64,
}

/// The handling of an interval without an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Idle {
    /// wrk: no sample; the next one includes its time.
    Joined,
    /// wrk2: a sample of zero.
    Zero,
}

impl Sampler {
    pub fn new(start: Instant, interval: Nanos, idle: Idle) -> Sampler {
        assert!(Nanos::from_millis(1) <= interval, "rates are counted by whole milliseconds");
        Sampler { interval, idle, since: start, due: start + interval, answers: 0 }
    }

    /// Records a turn of the loop at `now` with `answers`. Calls `sample` with the rate, in whole
    /// requests/s, of each interval that has ended by then; the answers belong to the current
    /// interval.
    pub fn turn(&mut self, now: Instant, answers: u64, mut sample: impl FnMut(u64)) {
        while self.due <= now {
            if 0 < self.answers || self.idle == Idle::Zero {
                sample(self.rate());
                self.since = self.due;
                self.answers = 0;
            }
            self.due = self.due + self.interval;
        }
        self.answers += answers;
    }

    /// The rate, with the originals' order of operations, since the result is rounded down.
    fn rate(&self) -> u64 {
        let elapsed_ms = (self.due - self.since).0 / 1_000_000;
        (self.answers as f64 / elapsed_ms as f64 * 1000.0) as u64
    }
}

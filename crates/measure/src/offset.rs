//! The offset between two clocks, estimated from questions over the network, with its uncertainty.
//!
//! Another clock's time was read at some moment between a question and its answer: the quicker the
//! answer, the less is unknown. Two clocks also drift apart, so they are compared before and after a
//! measurement.

use crate::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// A question to another clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Reading {
    /// The time of the question, by the own clock.
    pub asked: Instant,
    /// The answer.
    pub its: Instant,
    /// The time at which the answer arrived, by the own clock.
    pub answered: Instant,
}

impl Reading {
    fn round_trip(&self) -> Nanos {
        self.answered.saturating_since(self.asked)
    }
}

/// The difference of another clock from the own one.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Offset {
    /// Its time less the own time, in nanoseconds.
    pub ahead_ns: i64,
    /// The most by which that may be wrong.
    pub error: Nanos,
}

impl Offset {
    /// The offset of a clock from itself.
    pub const NONE: Offset = Offset { ahead_ns: 0, error: Nanos::ZERO };

    /// Returns the offset by the quickest of several answers: it may be wrong by half of the round
    /// trip. `None` without an answer.
    pub fn by(readings: &[Reading]) -> Option<Offset> {
        let quickest = readings.iter().min_by_key(|reading| reading.round_trip())?;
        let round_trip = quickest.round_trip();
        let middle = i128::from(quickest.asked.0) + i128::from(round_trip.0 / 2);
        // The half of an odd round trip is not a whole number of nanoseconds.
        let error = Nanos(round_trip.0.div_ceil(2));
        Some(Offset { ahead_ns: clamped(i128::from(quickest.its.0) - middle), error })
    }

    /// Returns the offset at any time between two estimates: their middle. What they differ by may
    /// be drift, and is added to the error.
    pub fn between(before: Offset, after: Offset) -> Offset {
        let (before_ns, after_ns) = (i128::from(before.ahead_ns), i128::from(after.ahead_ns));
        let drift = Nanos(u64::try_from((after_ns - before_ns).abs()).unwrap_or(u64::MAX));
        let ahead_ns = clamped(i128::midpoint(before_ns, after_ns));
        Offset { ahead_ns, error: before.error.max(after.error) + drift }
    }

    /// Returns the offset of a third clock, which differs from the other one by `next`.
    pub fn then(self, next: Offset) -> Offset {
        Offset {
            ahead_ns: self.ahead_ns.saturating_add(next.ahead_ns),
            error: self.error + next.error,
        }
    }

    /// Returns the offset of the own clock from the other one.
    pub fn reversed(self) -> Offset {
        Offset { ahead_ns: self.ahead_ns.saturating_neg(), error: self.error }
    }

    /// Returns a time of the other clock by the own one.
    pub fn own_time(self, its: Instant) -> Instant {
        Instant(its.0.saturating_add_signed(self.ahead_ns.saturating_neg()))
    }
}

fn clamped(ns: i128) -> i64 {
    ns.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

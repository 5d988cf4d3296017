//! The balance of arrivals and responses over time, which shows whether the target keeps up.
//!
//! In a stationary system, as many requests are answered in a given time as arrive in it, however
//! long each of them takes. In a saturated system fewer are answered for as long as the load lasts,
//! so the number of waiting requests grows. At the beginning of a load it grows in both cases,
//! until the first responses come; therefore the second half of the measurement decides.

use crate::time::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// The number of time slices. When a load is longer than all of them, neighbours are merged, so
/// that at least half of them are in use.
const SLICES: usize = 128;
/// The initial length of a slice: 2¹⁷ ns are 131 µs.
const SHORTEST: u32 = 17;

/// The share of arrivals that must be answered: below it the target is saturated.
pub const KEEPS_UP: f64 = 0.97;
/// The number of standard deviations of the waiting requests that count as random variation.
const RANDOM_VARIATION: f64 = 2.0;
/// The share of arrivals above which random variation makes a verdict impossible.
const HIDDEN: f64 = 0.1;

/// The number of arrivals and responses in one slice of time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Slice {
    arrived: u64,
    answered: u64,
}

/// The arrivals by intended time and the responses by arrival time, of all targets, in a fixed
/// size.
#[derive(Clone, Debug)]
pub struct Balance {
    start: Instant,
    /// The length of a slice is two to this power, in nanoseconds.
    shift: u32,
    before: Slice,
    slices: [Slice; SLICES],
    last_arrival: Option<Instant>,
}

impl Balance {
    /// Creates a balance with time slices from `start` on; everything earlier is counted together.
    pub fn new(start: Instant) -> Balance {
        Balance {
            start,
            shift: SHORTEST,
            before: Slice::default(),
            slices: [Slice::default(); SLICES],
            last_arrival: None,
        }
    }

    /// Counts a request that was intended at this time.
    #[inline]
    pub fn arrived(&mut self, intended: Instant) {
        self.slice(intended).arrived += 1;
        self.last_arrival = self.last_arrival.max(Some(intended));
    }

    /// Counts a request that the target ended at this time, with a response or without one.
    #[inline]
    pub fn answered(&mut self, done: Instant) {
        self.slice(done).answered += 1;
    }

    /// Adds the counts of another shard with the same start.
    pub fn add(&mut self, mut other: Balance) {
        assert_eq!(self.start, other.start, "balances are merged over shards, not over time");
        while self.shift < other.shift {
            self.coarsen();
        }
        while other.shift < self.shift {
            other.coarsen();
        }
        self.before.add(other.before);
        for (slice, other) in self.slices.iter_mut().zip(other.slices) {
            slice.add(other);
        }
        self.last_arrival = self.last_arrival.max(other.last_arrival);
    }

    /// Returns true if the target answered less than 97 % of the arrivals: in the second half of
    /// the time of arrivals, by more than random variation explains, and in each half of that half.
    /// `None` if this is unknown: nothing was answered in the first half, so that the load is too
    /// short for the response time; or there were too few requests; or the rate of arrivals
    /// rose, which leaves more requests unanswered in a system that keeps up, too.
    pub fn is_saturated(&self) -> Option<bool> {
        // A slice that the arrivals fill only partly is left out.
        let slices = (self.last_arrival?.saturating_since(self.start).0 >> self.shift) as usize;
        let quarter = slices / 4;
        let begin = sum(&self.slices[..slices - 2 * quarter]);
        let third = sum(&self.slices[slices - 2 * quarter..slices - quarter]);
        let fourth = sum(&self.slices[slices - quarter..slices]);
        if quarter == 0 || self.before.answered + begin.answered == 0 {
            return None;
        }
        let half = third.and(fourth);
        let waiting_before = self.before.and(begin).unanswered();
        let waiting_after = waiting_before + half.unanswered();
        // The number of waiting requests has at least the variance of a Poisson variable.
        let variation =
            RANDOM_VARIATION * (waiting_before.max(0.0) + waiting_after.max(0.0)).sqrt();
        let arrived = half.arrived as f64;
        let beyond_random_variation = (1.0 - KEEPS_UP) * arrived + variation < half.unanswered();
        let lasting = [third, fourth]
            .iter()
            .all(|part| (part.answered as f64) < KEEPS_UP * part.arrived as f64);
        let rise = fourth.arrived as f64 - third.arrived as f64;
        let rises =
            (1.0 - KEEPS_UP) * third.arrived as f64 + RANDOM_VARIATION * arrived.sqrt() < rise;
        match () {
            () if beyond_random_variation && lasting && rises => None,
            () if beyond_random_variation && lasting => Some(true),
            () if HIDDEN * arrived < variation => None,
            () => Some(false),
        }
    }

    #[inline]
    fn slice(&mut self, at: Instant) -> &mut Slice {
        if at < self.start {
            return &mut self.before;
        }
        let Nanos(since) = at - self.start;
        while SLICES <= (since >> self.shift) as usize {
            self.coarsen();
        }
        &mut self.slices[(since >> self.shift) as usize]
    }

    fn coarsen(&mut self) {
        for index in 0..SLICES {
            self.slices[index] = match 2 * index {
                pair if pair < SLICES => self.slices[pair].and(self.slices[pair + 1]),
                _ => Slice::default(),
            };
        }
        self.shift += 1;
    }
}

impl Slice {
    fn add(&mut self, other: Slice) {
        *self = self.and(other);
    }

    fn and(self, other: Slice) -> Slice {
        Slice { arrived: self.arrived + other.arrived, answered: self.answered + other.answered }
    }

    fn unanswered(self) -> f64 {
        self.arrived as f64 - self.answered as f64
    }
}

fn sum(slices: &[Slice]) -> Slice {
    slices.iter().fold(Slice::default(), |sum, slice| sum.and(*slice))
}

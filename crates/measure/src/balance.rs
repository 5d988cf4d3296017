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
/// The share of the sessions of the first half that must have ended in it: with fewer of them, those in progress are
/// still younger than a session becomes.
const ENDED: f64 = 0.25;
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
        let over_time = self.over_time().filter(|over_time| 0 < over_time.before.answered)?;
        let arrived = over_time.half().arrived as f64;
        match () {
            () if over_time.grows_beyond(arrived) && over_time.rises() => None,
            () if over_time.grows_beyond(arrived) => Some(true),
            () if HIDDEN * arrived < over_time.variation() => None,
            () => Some(false),
        }
    }

    /// Returns true if the target did not keep up with sessions: this is the balance of their requests, and `sessions`
    /// that of the sessions. The later requests of a session come due only after the responses before them, so a
    /// saturated target has few of them to answer, and answers most: what shows it are the sessions in progress. They
    /// grow in number while sessions are younger than they become, too, as think times are a part of them. But then
    /// the requests that wait grow no more than the rate of requests does. `None` if this is unknown: the sessions
    /// still grew in number, so that not all requests that belong to the rate were due yet, or there are too few.
    pub fn is_saturated_by(&self, sessions: &Balance) -> Option<bool> {
        let of_requests = self.is_saturated();
        let (Some(requests), Some(begun)) = (self.over_time(), sessions.over_time()) else {
            return None;
        };
        let began = begun.half().arrived as f64;
        let have_ended = ENDED * begun.before.arrived as f64 <= begun.before.answered as f64;
        let grow = of_requests == Some(true)
            || begun.grows_beyond(began) && have_ended && requests.grows_beyond(began);
        let half = requests.half();
        let explained = requests.rise_of_waiting() + requests.variation();
        let wait = grow && explained + (1.0 - KEEPS_UP) * began < half.unanswered();
        match () {
            () if wait => Some(true),
            () if sessions.is_saturated() != Some(false) => None,
            () => of_requests.filter(|is_saturated| !is_saturated),
        }
    }

    /// Returns true if those in progress still grew in number in the second half of the time of arrivals, or none had
    /// ended before it, and too many had arrived for this to be chance.
    pub fn still_fills(&self) -> bool {
        self.over_time().is_some_and(|over_time| {
            let none_ended = over_time.before.answered == 0
                && RANDOM_VARIATION * RANDOM_VARIATION < over_time.before.arrived as f64;
            none_ended || over_time.grows_beyond(over_time.half().arrived as f64)
        })
    }

    /// Returns the numbers that arrived and that were answered from the start on.
    pub fn counts(&self) -> (u64, u64) {
        let Slice { arrived, answered } = sum(&self.slices);
        (arrived, answered)
    }

    /// Returns the counts of the time of arrivals; `None` if this is too short to be divided.
    fn over_time(&self) -> Option<OverTime> {
        // A slice that the arrivals fill only partly is left out.
        let slices = (self.last_arrival?.saturating_since(self.start).0 >> self.shift) as usize;
        let quarter = slices / 4;
        (0 < quarter).then(|| OverTime {
            before: self.before.and(sum(&self.slices[..slices - 2 * quarter])),
            second: sum(&self.slices[slices - 3 * quarter..slices - 2 * quarter]),
            third: sum(&self.slices[slices - 2 * quarter..slices - quarter]),
            fourth: sum(&self.slices[slices - quarter..slices]),
        })
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

/// The counts of the time of arrivals: up to its half, with what was before it, and of its quarters.
#[derive(Clone, Copy, Debug)]
struct OverTime {
    before: Slice,
    /// A part of `before`.
    second: Slice,
    third: Slice,
    fourth: Slice,
}

impl OverTime {
    fn half(self) -> Slice {
        self.third.and(self.fourth)
    }

    /// Returns the random variation of the number that waits: it has at least the variance of a Poisson variable.
    fn variation(self) -> f64 {
        let waiting_before = self.before.unanswered();
        let waiting_after = waiting_before + self.half().unanswered();
        RANDOM_VARIATION * (waiting_before.max(0.0) + waiting_after.max(0.0)).sqrt()
    }

    /// Returns true if the number that waits grew in the second half by more than 3 % of `arrived` in this half and
    /// more than random variation explains, and in each half of that half by more than its part of the 3 %.
    fn grows_beyond(self, arrived: f64) -> bool {
        let half = self.half();
        let share = (1.0 - KEEPS_UP) * arrived / (half.arrived as f64).max(1.0);
        let grows = |part: &Slice| share * (part.arrived as f64) < part.unanswered();
        share * half.arrived as f64 + self.variation() < half.unanswered()
            && [self.third, self.fourth].iter().all(grows)
    }

    /// Returns by how much the number that waits rose in the second half if each waited as long as before, and only
    /// the rate of arrivals rose.
    fn rise_of_waiting(self) -> f64 {
        let rise = self.fourth.arrived as f64 / (self.second.arrived as f64).max(1.0) - 1.0;
        self.before.unanswered().max(0.0) * rise.max(0.0)
    }

    /// Returns true if more arrived in the fourth quarter than in the third, by more than chance.
    fn rises(self) -> bool {
        let (third, fourth) = (self.third.arrived as f64, self.fourth.arrived as f64);
        let variation = RANDOM_VARIATION * (third + fourth).sqrt();
        (1.0 - KEEPS_UP) * third + variation < fourth - third
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

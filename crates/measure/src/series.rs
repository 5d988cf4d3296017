//! Statistics for each interval of a run, in bounded memory however long the run lasts.

use crate::histogram::Histogram;
use crate::time::{Instant, Nanos};

#[cfg(test)]
mod tests;

/// The maximum number of separate intervals. When it is reached, neighbours are merged and the
/// interval doubles, so an hour at one second is kept in full and a week at a lower resolution.
const MOST_INTERVALS: usize = 4096;

/// A type whose values for neighbouring intervals can be merged.
pub trait Merge {
    fn merge(&mut self, later: Self);
}

/// A series of one `T` per interval since `start`.
#[derive(Clone, Debug)]
pub struct Series<T> {
    start: Instant,
    interval: Nanos,
    intervals: Vec<T>,
}

impl<T: Merge + Default> Series<T> {
    pub fn new(start: Instant, interval: Nanos) -> Series<T> {
        assert!(Nanos::ZERO < interval, "an interval has a length");
        Series { start, interval, intervals: Vec::new() }
    }

    pub fn start(&self) -> Instant {
        self.start
    }

    pub fn interval(&self) -> Nanos {
        self.interval
    }

    /// Returns the interval that contains `at`; times before the start belong to the first.
    pub fn at(&mut self, at: Instant) -> &mut T {
        let mut index = self.index(at);
        while MOST_INTERVALS <= index {
            self.coarsen();
            index = self.index(at);
        }
        if self.intervals.len() <= index {
            self.intervals.resize_with(index + 1, T::default);
        }
        &mut self.intervals[index]
    }

    /// Adds another part's series with the same start, interval by interval.
    pub fn add(&mut self, mut other: Series<T>) {
        assert_eq!(self.start, other.start, "series are merged over parts, not over time");
        while self.interval < other.interval {
            self.coarsen();
        }
        while other.interval < self.interval {
            other.coarsen();
        }
        assert_eq!(self.interval, other.interval, "intervals differ by powers of two only");
        for (index, part) in other.intervals.into_iter().enumerate() {
            if self.intervals.len() <= index {
                self.intervals.push(T::default());
            }
            self.intervals[index].merge(part);
        }
    }

    /// Returns each interval with its beginning, relative to the start of the series.
    pub fn iter(&self) -> impl Iterator<Item = (Nanos, &T)> {
        (0u64..).zip(&self.intervals).map(|(index, value)| (self.interval * index, value))
    }

    fn index(&self, at: Instant) -> usize {
        (at.saturating_since(self.start).0 / self.interval.0) as usize
    }

    fn coarsen(&mut self) {
        let mut fine = std::mem::take(&mut self.intervals).into_iter();
        while let Some(mut first) = fine.next() {
            if let Some(second) = fine.next() {
                first.merge(second);
            }
            self.intervals.push(first);
        }
        self.interval = self.interval * 2;
    }
}

/// A histogram in a compact form: only its non-empty buckets.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Sparse {
    buckets: Vec<(Nanos, u64)>,
}

impl Sparse {
    pub fn of(histogram: &Histogram) -> Sparse {
        Sparse { buckets: histogram.buckets().collect() }
    }

    pub fn add_to(&self, histogram: &mut Histogram) {
        for &(value, count) in &self.buckets {
            histogram.record_n(value, count);
        }
    }
}

impl Merge for Sparse {
    fn merge(&mut self, later: Sparse) {
        self.buckets.extend(later.buckets);
        self.buckets.sort_unstable();
        self.buckets.dedup_by(|from, into| {
            let same = from.0 == into.0;
            if same {
                into.1 += from.1;
            }
            same
        });
    }
}

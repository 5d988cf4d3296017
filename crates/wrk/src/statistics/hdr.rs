//! wrk2's statistics: an HdrHistogram from a microsecond to a day with three digits, evaluated like
//! the version in wrk2, which differs from today's libraries.
//!
//! Its percentiles round the rank to the nearest (today's take the next higher), its mean and
//! deviation place every value in the middle of its bucket, and its maximum is the bucket's lowest
//! value.

use hdrhistogram::Histogram;

use super::{Row, Table};

#[cfg(test)]
mod tests;

/// A day in µs. Longer values count as a day; wrk2 drops them.
const HIGHEST: u64 = 24 * 60 * 60 * 1_000_000;
const DIGITS: u8 = 3;
/// The number of levels that the spectrum shows from any level half-way to 1.
const TICKS: f64 = 5.0;

/// The shape that results from bounds and digits, as the last line of the spectrum states it.
pub const BUCKETS: u32 = 27;
pub const SUB_BUCKETS: u32 = 2048;

/// A histogram of whole values, µs or requests/s.
#[derive(Clone, Debug)]
pub struct Hdr {
    counts: Histogram<u64>,
    /// The highest value as recorded, not rounded to its bucket.
    highest: u64,
}

/// A line of the spectrum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The highest value of the bucket that reaches the level.
    pub value: u64,
    /// The level, from 0 to 1; the last is 1.
    pub level: f64,
    /// The number of values in that bucket and below.
    pub count: u64,
}

impl Default for Hdr {
    fn default() -> Hdr {
        Hdr::new()
    }
}

impl From<&Table> for Hdr {
    fn from(table: &Table) -> Hdr {
        let mut hdr = Hdr::new();
        table.iter().for_each(|(value, count)| hdr.record_n(value, count));
        hdr
    }
}

impl Hdr {
    pub fn new() -> Hdr {
        let counts = Histogram::new_with_bounds(1, HIGHEST, DIGITS);
        Hdr { counts: counts.expect("the bounds are constants"), highest: 0 }
    }

    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    pub fn record_n(&mut self, value: u64, count: u64) {
        self.counts.saturating_record_n(value, count);
        self.highest = self.highest.max(value);
    }

    pub fn add(&mut self, other: &Hdr) {
        self.counts.add(&other.counts).expect("all have the same bounds");
        self.highest = self.highest.max(other.highest);
    }

    pub fn clear(&mut self) {
        self.counts.reset();
        self.highest = 0;
    }

    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The largest value that was recorded, exactly; zero if there is none.
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The lowest value of the highest non-empty bucket; zero if there is none.
    pub fn max(&self) -> u64 {
        self.buckets().last().map_or(0, |bucket| bucket.lowest)
    }

    /// The lowest value of the lowest non-empty bucket; zero if there is none.
    pub fn min(&self) -> u64 {
        self.buckets().next().map_or(0, |bucket| bucket.lowest)
    }

    /// The mean; zero if nothing was recorded.
    pub fn mean(&self) -> f64 {
        let sum = |bucket: Bucket| u128::from(bucket.middle) * u128::from(bucket.count);
        let sum: u128 = self.buckets().map(sum).sum();
        self.share(sum as f64)
    }

    /// The standard deviation of the population (÷ n); zero if nothing was recorded.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        let square = |bucket: Bucket| (bucket.middle as f64 - mean).powi(2) * bucket.count as f64;
        self.share(self.buckets().map(square).sum::<f64>()).sqrt()
    }

    /// The share of values within one deviation of the mean, in %.
    ///
    /// It counts buckets from mean − deviation up to the one after mean + deviation, both rounded
    /// down: wrk2 finds its bounds like this.
    pub fn within(&self) -> f64 {
        let (mean, deviation) = (self.mean(), self.deviation());
        let (lower, upper) = ((mean - deviation) as u64, (mean + deviation) as u64);
        let inside = |bucket: &Bucket| lower <= bucket.lowest && bucket.lowest <= upper + 1;
        let count: u64 = self.buckets().filter(inside).map(|bucket| bucket.count).sum();
        self.share(100.0 * count as f64)
    }

    /// The highest value of the bucket that contains the value of that rank, rounded to the
    /// nearest; zero if nothing was recorded.
    pub fn percentile(&self, percent: f64) -> u64 {
        let rank = percent.min(100.0) / 100.0 * self.count() as f64 + 0.5;
        self.at_rank(rank as u64)
    }

    /// The highest value of the bucket that contains the `rank`-th value, counted from one; zero if
    /// nothing was recorded.
    pub fn at_rank(&self, rank: u64) -> u64 {
        let rank = rank.max(1);
        let mut total = 0;
        let mut buckets = self.buckets();
        let found = buckets.find(|bucket| {
            total += bucket.count;
            rank <= total
        });
        found.map_or(0, |bucket| bucket.highest)
    }

    /// The row of the results, with the given third column.
    pub fn row(&self, high: u64) -> Row {
        Row {
            mean: self.mean().into(),
            deviation: self.deviation().into(),
            high: high.into(),
            within: self.within().into(),
        }
    }

    /// The percentile spectrum. Levels become denser towards 1: there are five from any level to
    /// half-way to 1. Each bucket gets a line for every level that it reaches, but the last bucket
    /// only one, and one for level 1.
    pub fn spectrum(&self) -> Vec<Level> {
        let mut levels = Vec::new();
        let (mut percent, mut total, mut value) = (0.0, 0, 0);
        for bucket in self.buckets() {
            total += bucket.count;
            value = bucket.highest;
            while percent <= 100.0 * total as f64 / self.count() as f64 {
                levels.push(Level { value, level: percent / 100.0, count: total });
                percent += step(percent);
                if total == self.count() {
                    break;
                }
            }
        }
        levels.push(Level { value, level: 1.0, count: total });
        levels
    }

    /// Returns `x` divided by the number of recorded values; zero if there are none.
    fn share(&self, x: f64) -> f64 {
        if self.counts.is_empty() { 0.0 } else { x / self.count() as f64 }
    }

    /// The values that occur, ascending, each as the highest value of its bucket with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.buckets().map(|bucket| (bucket.highest, bucket.count))
    }

    /// The non-empty buckets, ascending.
    fn buckets(&self) -> impl Iterator<Item = Bucket> {
        self.counts.iter_recorded().map(|step| {
            let highest = step.value_iterated_to();
            Bucket {
                lowest: self.counts.lowest_equivalent(highest),
                middle: self.counts.median_equivalent(highest),
                highest,
                count: step.count_since_last_iteration(),
            }
        })
    }
}

/// A range of values that the histogram does not distinguish, and their count.
struct Bucket {
    lowest: u64,
    middle: u64,
    highest: u64,
    count: u64,
}

/// The distance from a level to the next, both in %.
fn step(percent: f64) -> f64 {
    let halvings = ((100.0 / (100.0 - percent)).ln() / 2f64.ln()) as i32 + 1;
    100.0 / (TICKS * 2f64.powi(halvings))
}

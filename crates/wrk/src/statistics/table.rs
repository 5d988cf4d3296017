//! wrk's statistics: a count for every whole value, without rounding.

use std::collections::BTreeMap;
use std::iter;

use measure::Nanos;

use crate::extended::Extended;

use super::Row;

#[cfg(test)]
mod tests;

/// The number of values in a page. Their counts take 4 KiB, which are allocated only where needed.
const PAGE: u64 = 512;
/// The largest value in pages: a table for an hour's timeout would be very large, so above this
/// values are stored one by one.
const LARGEST: u64 = 60_000_000;

/// A count for each value. Values above the limit, the timeout in µs, are rare: they are counted
/// one by one. wrk drops them as if slow answers had never come.
#[derive(Clone, Debug)]
pub struct Table {
    limit: u64,
    pages: BTreeMap<u64, Box<[u64; PAGE as usize]>>,
    beyond: BTreeMap<u64, u64>,
    count: u64,
}

/// The interval that wrk expects between two requests of a connection, in µs: the run divided by
/// what each connection completed, both rounded down. Zero if that is not possible.
///
/// The answers of a pipelined batch count one by one, so batches seem late by their number of
/// answers.
pub fn expected_interval(run: Nanos, completed: u64, connections: u64) -> u64 {
    let each = completed.checked_div(connections).unwrap_or_default();
    (run.0 / 1000).checked_div(each).unwrap_or_default()
}

impl Table {
    /// Creates an empty table; `limit` is the largest value that is back-filled.
    pub fn new(limit: u64) -> Table {
        Table {
            limit: limit.min(LARGEST),
            pages: BTreeMap::new(),
            beyond: BTreeMap::new(),
            count: 0,
        }
    }

    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    pub fn record_n(&mut self, value: u64, count: u64) {
        if count == 0 {
            return;
        }
        self.count += count;
        if self.limit < value {
            *self.beyond.entry(value).or_default() += count;
            return;
        }
        let page = self.pages.entry(value / PAGE).or_insert_with(|| Box::new([0; PAGE as usize]));
        page[(value % PAGE) as usize] += count;
    }

    /// Adds everything in `other`, with any limit.
    pub fn add(&mut self, other: &Table) {
        for (value, count) in other.iter() {
            self.record_n(value, count);
        }
    }

    /// Adds the requests that a closed loop did not send while it waited, as wrk does: for a value
    /// n above twice the interval e expected between two requests, also n − e, n − 2e, … as long as
    /// they exceed e.
    ///
    /// Values above the limit are skipped, since wrk never recorded them. If the added values are
    /// below all others wrk counts them but omits them from its sums, and prints percentiles of
    /// `0.00us` (this happens with several requests a batch); here they are values like any other.
    pub fn back_fill(&mut self, expected: u64) {
        if expected == 0 {
            return;
        }
        let earlier = |value: &u64| value.checked_sub(expected).filter(|&value| expected < value);
        let known: Vec<(u64, u64)> = self.iter().filter(|&(n, _)| n <= self.limit).collect();
        for (value, count) in known {
            for missing in iter::successors(earlier(&value), earlier) {
                self.record_n(missing, count);
            }
        }
    }

    /// The values that occurred, ascending, each with its count.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        let paged = self.pages.iter().flat_map(|(number, page)| (number * PAGE..).zip(**page));
        let beyond = self.beyond.iter().map(|(&value, &count)| (value, count));
        paged.filter(|&(_, count)| 0 < count).chain(beyond)
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The smallest value; `None` if nothing was recorded.
    pub fn min(&self) -> Option<u64> {
        self.iter().next().map(|(value, _)| value)
    }

    /// The largest value; `None` if nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        self.iter().last().map(|(value, _)| value)
    }

    /// The mean; zero if nothing was recorded.
    pub fn mean(&self) -> Extended {
        let sum: u128 = self.iter().map(|(value, n)| u128::from(value) * u128::from(n)).sum();
        let sum = u64::try_from(sum).map_or_else(|_| Extended::from(sum as f64), Extended::from);
        sum / Extended::from(self.count)
    }

    /// The standard deviation of a sample (n − 1); zero for fewer than two values.
    pub fn deviation(&self) -> Extended {
        if self.count < 2 {
            return Extended::ZERO;
        }
        let mean = self.mean().to_f64();
        let squares: f64 =
            self.iter().map(|(value, n)| (value as f64 - mean).powi(2) * n as f64).sum();
        Extended::from((squares / (self.count - 1) as f64).sqrt())
    }

    /// The share of values inside mean ± deviation, both ends included, in %.
    pub fn within(&self) -> Extended {
        let (mean, deviation) = (self.mean().to_f64(), self.deviation().to_f64());
        let inside = mean - deviation..=mean + deviation;
        let values = self.iter().filter(|&(value, _)| inside.contains(&(value as f64)));
        let count: u64 = values.map(|(_, n)| n).sum();
        Extended::from(count) / Extended::from(self.count) * Extended::from(100)
    }

    /// The value whose rank is `percent` of the count plus a half, rounded: one more than the
    /// nearest rank if that is whole. Zero if nothing was recorded.
    ///
    /// At 100 it is the maximum; wrk looks beyond the last value there, and returns zero.
    pub fn percentile(&self, percent: f64) -> u64 {
        let share = Extended::from(percent) / Extended::from(100);
        let rank = ((share * Extended::from(self.count)).to_f64() + 0.5).round() as u64;
        let mut total = 0;
        let mut values = self.iter();
        let found = values.find(|&(_, count)| {
            total += count;
            rank.min(self.count) <= total
        });
        found.map_or(0, |(value, _)| value)
    }

    /// The number of different values.
    pub fn distinct(&self) -> usize {
        self.iter().count()
    }

    /// The `index`-th different value from zero, ascending, with its count.
    pub fn nth(&self, index: usize) -> Option<(u64, u64)> {
        self.iter().nth(index)
    }

    /// The row of the results, with the maximum.
    pub fn row(&self) -> Row {
        Row {
            mean: self.mean(),
            deviation: self.deviation(),
            high: Extended::from(self.max().unwrap_or_default()),
            within: self.within(),
        }
    }
}

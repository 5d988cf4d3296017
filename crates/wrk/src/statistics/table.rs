//! wrk's statistics: a count for every whole value, so that nothing is rounded.

use std::collections::BTreeMap;
use std::iter;

use measure::Nanos;

use crate::extended::Extended;

use super::Row;

#[cfg(test)]
mod tests;

/// Values of a page lie side by side: 4 KiB where anything was recorded at all.
const PAGE: u64 = 512;
/// A table for an hour's timeout would be as large as its slowest answers; from here on single
/// values are kept.
const LARGEST: u64 = 60_000_000;

/// A count for each value. Values above the limit, the timeout in µs, are rare: they are counted
/// one by one, where wrk drops them as if slow answers had never come.
#[derive(Clone, Debug)]
pub struct Table {
    limit: u64,
    pages: BTreeMap<u64, Box<[u64; PAGE as usize]>>,
    beyond: BTreeMap<u64, u64>,
    count: u64,
}

/// The interval that wrk expects between two requests of a connection, in µs: the run over what each
/// connection completed, both cut. Zero if that is nothing.
///
/// Answers of a pipelined batch count one by one, so that batches seem late by what they hold.
pub fn expected_interval(run: Nanos, completed: u64, connections: u64) -> u64 {
    let each = completed.checked_div(connections).unwrap_or_default();
    (run.0 / 1000).checked_div(each).unwrap_or_default()
}

impl Table {
    /// `limit` is the largest value that is back-filled.
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

    /// Adds all that `other` holds, whatever its limit is.
    pub fn add(&mut self, other: &Table) {
        for (value, count) in other.iter() {
            self.record_n(value, count);
        }
    }

    /// Adds what a closed loop did not send while it waited, as wrk does: for a value n above twice
    /// the interval expected between two requests, also n − e, n − 2e, … as long as they exceed e.
    ///
    /// Values above the limit are passed over, since wrk never knew them. Where the added ones lie
    /// below all others wrk counts them but leaves them out of its sums, and prints percentiles of
    /// `0.00us` (several requests a batch do it); here they are values like any other.
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

    /// `None` if nothing was recorded.
    pub fn min(&self) -> Option<u64> {
        self.iter().next().map(|(value, _)| value)
    }

    /// `None` if nothing was recorded.
    pub fn max(&self) -> Option<u64> {
        self.iter().last().map(|(value, _)| value)
    }

    /// Zero if nothing was recorded.
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

    /// The value whose rank is `percent` of all plus a half, rounded: one further up than the
    /// nearest rank where that is whole. Zero if nothing was recorded.
    ///
    /// At 100 it is the maximum; wrk looks beyond the last value there, and says zero.
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

    /// How many different values there are.
    pub fn distinct(&self) -> usize {
        self.iter().count()
    }

    /// The `index`-th different value from zero, ascending, and its count.
    pub fn nth(&self, index: usize) -> Option<(u64, u64)> {
        self.iter().nth(index)
    }

    /// The line of the results, with the maximum.
    pub fn row(&self) -> Row {
        Row {
            mean: self.mean(),
            deviation: self.deviation(),
            high: Extended::from(self.max().unwrap_or_default()),
            within: self.within(),
        }
    }
}

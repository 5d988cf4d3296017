//! Histograms of durations, with a known error and a fixed size.

use hdrhistogram::Histogram as Hdr;

use crate::time::Nanos;

#[cfg(test)]
mod tests;

/// The shortest and the longest duration that are distinguished: a nanosecond and an hour.
const LOWEST: u64 = 1;
const HIGHEST: u64 = 3_600_000_000_000;
/// The number of significant digits: a reported value is within 0.1 % of a recorded one.
const DIGITS: u8 = 3;

/// A quantile's level, in (0, 1].
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Quantile(f64);

impl Quantile {
    pub const P50: Quantile = Quantile(0.50);
    pub const P75: Quantile = Quantile(0.75);
    pub const P90: Quantile = Quantile(0.90);
    pub const P95: Quantile = Quantile(0.95);
    pub const P99: Quantile = Quantile(0.99);
    pub const P999: Quantile = Quantile(0.999);
    pub const P9999: Quantile = Quantile(0.9999);
    pub const P99999: Quantile = Quantile(0.99999);

    /// Creates a quantile; `None` unless `level` lies in (0, 1].
    pub fn new(level: f64) -> Option<Quantile> {
        (0.0 < level && level <= 1.0).then_some(Quantile(level))
    }

    pub fn level(self) -> f64 {
        self.0
    }

    /// Returns the name of the percentile: `p99`, `p99.9`.
    pub fn name(self) -> String {
        format!("p{}", (self.0 * 1e8).round() / 1e6)
    }
}

/// A high-dynamic-range histogram of durations up to an hour, with three digits, in 270 kB.
///
/// Longer durations count as an hour and are counted by [`clamped`](Histogram::clamped), so that no
/// slow request is ever dropped.
#[derive(Clone, Debug)]
pub struct Histogram {
    hdr: Hdr<u64>,
    clamped: u64,
    sum_ns: u128,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    pub fn new() -> Histogram {
        let hdr = Hdr::new_with_bounds(LOWEST, HIGHEST, DIGITS).expect("the bounds are constants");
        Histogram { hdr, clamped: 0, sum_ns: 0 }
    }

    /// Rebuilds a histogram from stored buckets; the mean is computed from the buckets.
    pub fn from_hdr(stored: &Hdr<u64>) -> Histogram {
        let mut histogram = Histogram::new();
        for step in stored.iter_recorded() {
            histogram.record_n(Nanos(step.value_iterated_to()), step.count_since_last_iteration());
        }
        histogram
    }

    #[inline]
    pub fn record(&mut self, length: Nanos) {
        self.record_n(length, 1);
    }

    #[inline]
    pub fn record_n(&mut self, length: Nanos, count: u64) {
        self.clamped += if HIGHEST < length.0 { count } else { 0 };
        self.sum_ns += u128::from(length.0) * u128::from(count);
        self.hdr.saturating_record_n(length.0.min(HIGHEST), count);
    }

    /// Adds all values of `other`. Associative and exact: merging loses nothing.
    pub fn add(&mut self, other: &Histogram) {
        self.hdr.add(&other.hdr).expect("all histograms have the same bounds");
        self.clamped += other.clamped;
        self.sum_ns += other.sum_ns;
    }

    /// Takes off the values of `other`, which were recorded in this one, too; `None` if they were not.
    pub fn less(&self, other: &Histogram) -> Option<Histogram> {
        let mut rest = self.clone();
        rest.hdr.subtract(&other.hdr).ok()?;
        rest.clamped = self.clamped.checked_sub(other.clamped)?;
        rest.sum_ns = self.sum_ns.saturating_sub(other.sum_ns);
        Some(rest)
    }

    pub fn clear(&mut self) {
        self.hdr.reset();
        self.clamped = 0;
        self.sum_ns = 0;
    }

    pub fn count(&self) -> u64 {
        self.hdr.len()
    }

    pub fn is_empty(&self) -> bool {
        self.hdr.is_empty()
    }

    /// Returns how many recorded durations were longer than an hour and count as one hour.
    pub fn clamped(&self) -> u64 {
        self.clamped
    }

    /// Returns the smallest recorded value at or below which at least this share of all values
    /// lies, to within 0.1 %. `None` if nothing was recorded.
    pub fn quantile(&self, quantile: Quantile) -> Option<Nanos> {
        (!self.is_empty()).then(|| {
            Nanos(self.hdr.value_at_quantile(quantile.0).min(self.hdr.max()).max(self.hdr.min()))
        })
    }

    pub fn min(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.hdr.min()))
    }

    pub fn max(&self) -> Option<Nanos> {
        (!self.is_empty()).then(|| Nanos(self.hdr.max()))
    }

    /// Returns the exact mean of the recorded values (not of the buckets).
    pub fn mean(&self) -> Option<Nanos> {
        let count = u128::from(self.count());
        (0 < count).then(|| Nanos((self.sum_ns / count) as u64))
    }

    /// Returns the number of values above `limit`.
    pub fn count_above(&self, limit: Nanos) -> u64 {
        match limit.0 < HIGHEST {
            true => self.count() - self.hdr.count_between(0, limit.0),
            false => 0,
        }
    }

    /// Returns the non-empty buckets in ascending order: highest equivalent value and count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, u64)> + '_ {
        self.hdr
            .iter_recorded()
            .map(|step| (Nanos(step.value_iterated_to()), step.count_since_last_iteration()))
    }

    /// Returns the underlying library's histogram, for its file formats.
    pub fn as_hdr(&self) -> &Hdr<u64> {
        &self.hdr
    }
}

//! The times of requests as another load generator prints them: percentiles without a histogram.

use measure::{Nanos, Quantile};
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// The difference up to which two levels are the same.
const SAME: f64 = 1e-9;

/// Printed times of requests. A share of requests follows from them only between two bounds.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Printed {
    pub since: Since,
    /// The number of answers in these times.
    pub count: u64,
    /// The answers that are missing in these times, since each took longer than `timeout_ns`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u64,
    /// The longest time that is not left out; absent if none is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// In the order of their levels.
    pub percentiles: Vec<Percentile>,
}

/// The moment from which a generator counts the time of a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// Its start by the load's schedule: the response time.
    Intended,
    /// Its sending: the service time. In a closed loop without think time this is the response
    /// time, too.
    Sent,
}

/// One printed percentile.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Percentile {
    /// In (0, 1): 0.99 is the p99.
    pub level: f64,
    pub time_ns: u64,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Printed {
    /// Returns the time of a percentile, if it was printed.
    pub fn quantile_ns(&self, quantile: Quantile) -> Option<u64> {
        let is_it = |one: &&Percentile| (one.level - quantile.level()).abs() < SAME;
        self.percentiles.iter().find(is_it).map(|one| one.time_ns)
    }

    /// Returns the fewest and the most answers that took longer than `max`, by the percentiles on
    /// both sides of it. The missing answers are among them.
    pub fn over(&self, max: Nanos) -> (u64, u64) {
        let levels = self.percentiles.iter().map(|one| (one.level, one.time_ns));
        let levels = levels.chain(self.max_ns.map(|max_ns| (1.0, max_ns)));
        let (mut within, mut beyond) = (0.0_f64, 1.0_f64);
        for (level, time_ns) in levels {
            match time_ns <= max.0 {
                true => within = within.max(level),
                false => beyond = beyond.min(level),
            }
        }
        let above = |level: f64| ((1.0 - level) * self.count as f64 + 1e-6) as u64;
        // A longest time beyond the limit is that of one answer at least.
        let is_some_over = u64::from(self.max_ns.is_some_and(|longest| max.0 < longest));
        let least = above(beyond).max(is_some_over);
        let is_missing_over = self.timeout_ns.is_some_and(|timeout| max.0 <= timeout);
        let missing_over = if is_missing_over { self.missing } else { 0 };
        (least + missing_over, above(within).max(least) + self.missing)
    }
}

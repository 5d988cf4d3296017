//! The figures that a generator prints about one load as text: percentiles, and no distribution.

use std::collections::BTreeMap;

use measure::Nanos;
use results::foreign::{Distribution, Facts, Quantiles};
use results::printed::{Percentile, Printed, Since};

/// The figures that a generator printed about one load.
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// The requests that were answered, with any status.
    pub answered: u64,
    /// The part of them whose status is a failure.
    pub refused: u64,
    /// The requests without an answer, by their outcome.
    pub unanswered: BTreeMap<String, u64>,
    /// The answers by status, if it prints them.
    pub statuses: BTreeMap<String, u64>,
    pub length: Option<Nanos>,
    /// The answered requests per second, as printed.
    pub per_s: Option<f64>,
    /// The connections of a closed loop that never rests; absent if it prints no number, or if it rests.
    pub connections: Option<u64>,
    /// Absent if it prints no times.
    pub times: Option<Printed>,
    pub findings: Vec<String>,
    /// The ways in which its figures differ from those of our generator.
    pub warnings: Vec<String>,
}

impl Figures {
    /// Returns the same as the facts of a file.
    pub(crate) fn facts(&self) -> Facts {
        let unanswered = self.unanswered.values().fold(0_u64, |sum, n| sum.saturating_add(*n));
        let length = self.length.map(Nanos::as_secs_f64).filter(|s| 0.0 < *s);
        let quantiles = |printed: &Printed| Quantiles {
            count: Some(printed.count),
            mean_ns: printed.mean_ns,
            min_ns: None,
            max_ns: printed.max_ns,
            percentiles: printed.percentiles.clone(),
        };
        let times = self.times.as_ref().filter(|printed| {
            !printed.percentiles.is_empty() || printed.mean_ns.is_some() || printed.max_ns.is_some()
        });
        Facts {
            since: self.times.as_ref().map(|printed| printed.since),
            measured_s: length,
            requests: Some(self.answered.saturating_add(unanswered)),
            failed: Some(self.refused.saturating_add(unanswered)),
            unanswered: Some(unanswered),
            completed_per_s: self.per_s.or(length.map(|s| self.answered as f64 / s)),
            statuses: self.statuses.clone(),
            times: times.map(quantiles).map(Distribution::Quantiles),
            ..Facts::default()
        }
    }
}

/// Returns a time with its unit as these tools print it: `612.00us`, `1.02s`, `1.10m`.
pub fn time(text: &str) -> Option<Nanos> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(digits);
    let scale = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        _ => return None,
    };
    Some(Nanos::from_secs_f64(number.parse::<f64>().ok()? * scale))
}

/// Returns a percentile from its level in percent, without the error of the division.
pub fn percentile(percent: f64, time: Nanos) -> Percentile {
    Percentile { level: (percent * 1e7).round() / 1e9, time_ns: time.0 }
}

/// Returns the percentiles in the order of their levels, each level once.
pub fn ascending(mut percentiles: Vec<Percentile>) -> Vec<Percentile> {
    percentiles.sort_by(|a, b| a.level.total_cmp(&b.level));
    percentiles.dedup_by(|a, b| a.level == b.level);
    percentiles
}

/// The warning about a closed loop that hides what slow answers cost.
pub fn closed_loop(tool: &str) -> String {
    format!(
        "{tool} is a closed loop: it sends less while answers are slow, and its percentiles leave \
         out what would have waited (coordinated omission)"
    )
}

/// The refusal of a file with the texts of several runs, whose figures do not belong together.
pub(crate) fn several(tool: &str, runs: usize) -> String {
    format!("it has the texts of {runs} runs of {tool}: write each of them into a file of its own")
}

/// Returns printed times without any figure.
pub fn no_times(since: Since, count: u64) -> Printed {
    Printed {
        since,
        count,
        missing: 0,
        timeout_ns: None,
        mean_ns: None,
        max_ns: None,
        percentiles: Vec::new(),
    }
}

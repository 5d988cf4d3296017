//! The spread of equal trials and searches: how far they lie apart, and how much of that chance explains. It is
//! computed in `repetitions`.

use measure::Nanos;
use measure::estimate::{self, Support};
use measure::quantity::{counted, grouped};
use serde::{Deserialize, Serialize};

use crate::analysis::{Figures, Warning};
use crate::metric::Metric;

pub const SCHEMA: &str = "benchwright.reproducibility/1";

/// Equal trials: of one search, in one combination of levels, at one load; or equal searches.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Reproduced {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The load of all targets; absent for a load without a rate, and for searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_s: Option<f64>,
    /// The valid trials by their numbers; of a search the trial of its result, if it has one.
    pub trials: Vec<u32>,
    pub metrics: Vec<OfMetric>,
    pub warnings: Vec<Warning>,
}

/// One figure over equal trials: a percentile in nanoseconds, or a rate per second.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct OfMetric {
    pub metric: Metric,
    #[serde(flatten)]
    pub figures: Figures,
    /// The judgement on the target of the spec, if it has one for this metric.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Judged>,
    /// The length that a trial needs for this percentile; absent if it has that. Without it the figures
    /// support no conclusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Needs>,
}

/// A trial that is long enough for a percentile: ten requests lie beyond it.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Needs {
    pub requests: u64,
    /// The length of such a trial at the load of these; absent without a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

impl Needs {
    /// Returns what a percentile needs beyond trials of so many requests; `None` if they are enough.
    pub(crate) fn of(
        metric: Metric,
        requests: Option<u64>,
        asked_per_s: Option<f64>,
    ) -> Option<Needs> {
        let (level, requests) = (metric.level()?, requests?);
        let is_unsupported = estimate::support(requests, level) == Support::Unsupported;
        let requests = estimate::needed(level);
        let time = |per_s: f64| Nanos::from_secs_f64(requests as f64 / per_s).0;
        is_unsupported.then(|| Needs { requests, time_ns: asked_per_s.map(time) })
    }

    /// `needs 200 s at 500/s`
    pub fn in_words(&self) -> String {
        let requests = self.requests as f64;
        match (self.time_ns.map(Nanos), self.time_in_words()) {
            (Some(time), Some(words)) => {
                let rate = Metric::Completed.written(requests / time.as_secs_f64());
                format!("needs {words} at {rate}")
            }
            (..) => format!("needs {} requests", grouped(requests)),
        }
    }

    /// Returns the length as one that a spec can ask for, in whole seconds unless it is shorter: `17 s`.
    pub(crate) fn time_in_words(&self) -> Option<String> {
        let time = Nanos(self.time_ns?);
        Some(match time < Nanos::SECOND {
            true => time.to_string(),
            false => format!("{} s", counted(time.0.div_ceil(Nanos::SECOND.0))),
        })
    }
}

/// The RSD that a spec wants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Target {
    pub metric: Metric,
    /// As a share: 0.01 is one per cent.
    pub rsd: f64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Judged {
    pub rsd: f64,
    pub verdict: Verdict,
}

/// The judgement of an RSD by its interval.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval is within the target: only this shows it.
    Met,
    /// The whole interval is beyond the target.
    Missed,
    /// More trials are needed.
    Undecided,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Met => "met",
            Verdict::Missed => "missed",
            Verdict::Undecided => "undecided",
        }
    }
}

/// The output of `benchwright reproducibility --json`.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Document {
    pub schema: String,
    pub reproducibility: Vec<Reproduced>,
}

impl Reproduced {
    /// Returns the combination of levels, the search and the load in words; empty if there is only
    /// one of each and the load has no rate.
    pub fn label(&self) -> String {
        let load = self.asked_per_s.map(|rate| Metric::Completed.written(rate));
        let parts = [&self.cell, &self.search, &load];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" · ")
    }

    /// Returns the label before a colon; nothing if it is empty.
    pub fn of_what(&self) -> String {
        let label = self.label();
        if label.is_empty() { label } else { label + ": " }
    }
}

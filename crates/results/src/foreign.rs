//! The figures in the file of any load generator, with what they support: what `benchwright analyse --json`
//! prints of a file. A figure that the file does not have is absent.

use std::collections::BTreeMap;

use measure::{Nanos, Quantile};
use serde::{Deserialize, Serialize};

use crate::failing::Tally;
use crate::metric::{Metric, MetricOf};
use crate::printed::{Percentile, Since};
use crate::times::Times;

#[cfg(test)]
mod tests;

pub const SCHEMA: &str = "benchwright.foreign/1";

/// The difference up to which two levels are the same.
const SAME: f64 = 1e-9;

/// One file, or several parts of one load together.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Foreign {
    pub schema: String,
    /// The name of the file, as the user wrote it.
    pub file: String,
    /// The name of its format: `k6-json`.
    pub format: String,
    /// The tool that measured, with its version if the file has it.
    pub tool: String,
    #[serde(flatten)]
    pub facts: Facts,
    /// The conclusions that these figures support, in words.
    pub supports: Vec<String>,
    /// Those that they do not support, with the reasons.
    pub limits: Vec<Limit>,
}

/// The figures of a file.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Facts {
    /// The moment from which the time of a request counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    #[serde(default, rename = "loop", skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Loop>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_s: Option<f64>,
    /// The requests that were sent, answered or not; of our own loads all that were due, since each has a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Those of them that the tool calls failed, answered or not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    /// Those of them without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unanswered: Option<u64>,
    /// Those of them that had no response when the load ended, and whose waits until then are among the times:
    /// lower bounds. They are no failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
    /// The checks that a script made of the answers. They are no requests: one answer may have several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checks: Option<Checks>,
    /// True if the failures are within the share that the load declared as an objective; absent if it declared
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_met: Option<bool>,
    /// The requests, or the iterations, that the tool should have begun and did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_sent: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_s: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_per_s: Option<f64>,
    /// The rate of the requests that ended well; of our own loads within their objectives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goodput_per_s: Option<f64>,
    /// The answers by status.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, u64>,
    /// The figures by what the tool calls its requests: a label, a name or a group.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, OfLabel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Distribution>,
    /// The step in which the file has times, if it is coarser than a microsecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_ns: Option<u64>,
}

/// The checks of a load.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Checks {
    pub made: u64,
    pub failed: u64,
}

impl Checks {
    /// Returns the checks by their end, as of requests.
    pub fn tally(self) -> Tally {
        Tally { requests: self.made, failed: self.failed, unfinished: 0 }
    }
}

/// The requests with one label, as in [`Facts`].
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OfLabel {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub times: Option<Distribution>,
}

impl OfLabel {
    /// Returns true if so many of the requests failed that the figures are not those of a working service.
    pub fn is_failing(&self) -> bool {
        let counts = self.requests.zip(self.failed);
        let tally = counts.map(|(requests, failed)| Tally { requests, failed, unfinished: 0 });
        tally.is_some_and(Tally::is_failing)
    }
}

/// The rule by which requests start.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loop {
    /// By a clock.
    Open,
    /// By the answers to earlier requests.
    Closed,
}

/// The times of requests as a file has them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "known_as", rename_all = "snake_case")]
pub enum Distribution {
    /// The time of each request, or a histogram of all: any share and any percentile follows from it.
    Histogram(Box<Times>),
    /// Some percentiles: nothing follows about what lies between them.
    Quantiles(Quantiles),
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Quantiles {
    /// The number of requests in these times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// In the order of their levels.
    pub percentiles: Vec<Percentile>,
}

/// A conclusion that figures do not support, or a fact that weakens them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Limit {
    pub code: Code,
    pub text: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// So many requests failed that the figures are not those of a working service.
    Failing,
    /// Counts of the file contradict each other.
    Contradiction,
    /// The waits of requests that had no response yet are among the times.
    LowerBounds,
    /// The loop is closed and its times count from sending: nothing follows about response times under
    /// overload.
    ClosedLoop,
    /// The times of an open loop count from sending: they are lower bounds of response times.
    FromSending,
    /// Nothing says by which rule requests started.
    LoopUnknown,
    /// Nothing says from which moment times count.
    SinceUnknown,
    /// There are only some percentiles: no other one, no share beyond a limit and no merge follows.
    OnlyQuantiles,
    /// A percentile rests on too few requests.
    FewRequests,
    /// The number of requests is unknown, so nothing says what a percentile rests on.
    CountUnknown,
    /// The times are too coarse for what they show.
    CoarseTimes,
    /// Requests that belong to the load are missing in the times.
    LeftOut,
    /// The tool could not begin all that it should have.
    NotSent,
    /// Failed requests are among the times.
    FailuresAmongTimes,
    /// The completed rate is unknown.
    RateUnknown,
    /// The system, or the tool, did not keep up with the rate that was asked for.
    Behind,
    /// Nothing says whether the generator was late, lost requests or was disturbed.
    GeneratorUnknown,
    /// The generator says itself that its figures are not valid.
    NotValid,
    /// The file ends in the middle, or has lines that cannot be read.
    Incomplete,
    /// Something that is special to one tool.
    OfTool,
}

impl Distribution {
    /// Returns the time of a percentile; `None` if it is not known.
    pub fn quantile_ns(&self, quantile: Quantile) -> Option<u64> {
        match self {
            Distribution::Histogram(times) => times.histogram()?.quantile(quantile).map(|ns| ns.0),
            Distribution::Quantiles(quantiles) => {
                let is_it = |one: &&Percentile| (one.level - quantile.level()).abs() < SAME;
                quantiles.percentiles.iter().find(is_it).map(|one| one.time_ns)
            }
        }
    }

    /// Returns the number of requests in these times.
    pub fn count(&self) -> Option<u64> {
        match self {
            Distribution::Histogram(times) => Some(times.count),
            Distribution::Quantiles(quantiles) => quantiles.count,
        }
    }
}

impl Facts {
    /// Returns the time of a percentile; `None` if the file does not have it.
    pub fn quantile_ns(&self, quantile: Quantile) -> Option<u64> {
        self.times.as_ref()?.quantile_ns(quantile)
    }

    /// Returns the number of requests in the times.
    pub fn count(&self) -> Option<u64> {
        self.times.as_ref()?.count()
    }

    pub fn mean(&self) -> Option<Nanos> {
        match self.times.as_ref()? {
            Distribution::Histogram(times) => Some(Nanos(times.mean_ns)),
            Distribution::Quantiles(quantiles) => quantiles.mean_ns.map(Nanos),
        }
    }

    pub fn max(&self) -> Option<Nanos> {
        match self.times.as_ref()? {
            Distribution::Histogram(times) => Some(Nanos(times.max_ns)),
            Distribution::Quantiles(quantiles) => quantiles.max_ns.map(Nanos),
        }
    }

    /// Returns the requests without an answer that had their time for it.
    pub fn given_up(&self) -> Option<u64> {
        Some(self.unanswered?.saturating_sub(self.unfinished.unwrap_or(0)))
    }

    /// Returns the requests by their end; `None` if the file does not say how many failed.
    pub fn tally(&self) -> Option<Tally> {
        let (requests, failed) = (self.requests?, self.failed?);
        Some(Tally { requests, failed, unfinished: self.unfinished.unwrap_or(0) })
    }

    /// Returns true if so many requests or checks failed that the figures are not those of a working service.
    pub fn is_failing(&self) -> bool {
        self.is_mostly_failing()
            || [self.tally(), self.checks.map(Checks::tally)]
                .into_iter()
                .flatten()
                .any(Tally::is_failing)
    }

    /// Returns true if fewer requests succeeded than a load must have, or fewer than half of the checks.
    pub fn is_mostly_failing(&self) -> bool {
        self.are_requests_mostly_failing()
            || self.checks.is_some_and(|checks| checks.tally().is_mostly_failing())
    }

    /// Returns true if fewer requests succeeded than a load must have: half of them, unless it declared a share of
    /// failures.
    pub fn are_requests_mostly_failing(&self) -> bool {
        match self.failures_met {
            Some(is_met) => !is_met,
            None => self.tally().is_some_and(Tally::is_mostly_failing),
        }
    }

    /// Returns the figure of a metric: nanoseconds or a rate per second; `None` if the file does not have it.
    pub fn figure(&self, metric: Metric) -> Option<f64> {
        match metric {
            Metric::Completed => self.completed_per_s,
            Metric::Goodput => self.goodput_per_s,
            _ => self.quantile_ns(metric.quantile()?).map(|ns| ns as f64),
        }
    }

    /// Returns a figure of all requests, or of those with a label, of which a file has percentiles alone.
    pub fn wanted(&self, wanted: &MetricOf) -> Option<f64> {
        match &wanted.label {
            None => self.figure(wanted.metric),
            Some(label) => {
                let times = self.labels.get(label)?.times.as_ref()?;
                times.quantile_ns(wanted.metric.quantile()?).map(|ns| ns as f64)
            }
        }
    }

    /// Returns the number of requests that such a figure rests on.
    pub fn count_of(&self, wanted: &MetricOf) -> Option<u64> {
        match &wanted.label {
            None => self.count(),
            Some(label) => self.labels.get(label)?.times.as_ref()?.count(),
        }
    }
}

/// Several files, each of a trial of the same.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Several {
    pub schema: String,
    pub files: Vec<Foreign>,
    /// The trials together; absent if their figures do not mean the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<crate::analysis::Analysis>,
}

pub const SCHEMA_OF_SEVERAL: &str = "benchwright.foreign-several/1";

impl Loop {
    pub fn word(self) -> &'static str {
        match self {
            Loop::Open => "open",
            Loop::Closed => "closed",
        }
    }
}

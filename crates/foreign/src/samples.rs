//! Requests that a file has one by one.

use std::collections::BTreeMap;

use measure::{Histogram, Nanos};
use results::Times;
use results::foreign::{Code, Distribution, Facts, Limit, OfLabel};

/// The most statuses that are told apart.
const MOST_STATUSES: usize = 50;
/// The most labels that are told apart: each has a histogram.
pub(crate) const MOST_LABELS: usize = 50;
/// The longest label, in characters.
const LONGEST_LABEL: usize = 200;
/// The name of those beyond.
const OTHERS: &str = "others";

/// The requests so far.
#[derive(Debug, Default)]
pub(crate) struct Samples {
    pub(crate) histogram: Histogram,
    pub(crate) failed: u64,
    pub(crate) unanswered: u64,
    pub(crate) statuses: BTreeMap<String, u64>,
    labels: BTreeMap<String, Labelled>,
    /// The first and the last moment, in seconds.
    span: Option<(f64, f64)>,
}

/// The requests with one label so far.
#[derive(Debug, Default)]
struct Labelled {
    histogram: Histogram,
    failed: u64,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Ended {
    Well,
    /// With an answer that the tool calls a failure.
    Badly,
    Unanswered,
}

impl Samples {
    pub(crate) fn add(&mut self, time: Nanos, ended: Ended) {
        self.histogram.record(time);
        self.failed += u64::from(ended != Ended::Well);
        self.unanswered += u64::from(ended == Ended::Unanswered);
    }

    /// Adds a request that the tool calls so.
    pub(crate) fn add_labelled(&mut self, label: &str, time: Nanos, ended: Ended) {
        self.add(time, ended);
        let label = label_of(label);
        let is_known = self.labels.contains_key(&label) || self.labels.len() < MOST_LABELS;
        let label = if is_known { label } else { OTHERS.to_owned() };
        let of_label = self.labels.entry(label).or_default();
        of_label.histogram.record(time);
        of_label.failed += u64::from(ended != Ended::Well);
    }

    pub(crate) fn status(&mut self, status: &str) {
        count(&mut self.statuses, status, 1);
    }

    /// Notes that something began or ended at a moment.
    pub(crate) fn at(&mut self, seconds: f64) {
        if !seconds.is_finite() {
            return;
        }
        let (first, last) = self.span.unwrap_or((seconds, seconds));
        self.span = Some((first.min(seconds), last.max(seconds)));
    }

    /// Returns the figures of all, if there are any.
    pub(crate) fn facts(self) -> Result<Facts, String> {
        let Some(times) = Times::of(&self.histogram) else {
            return Err("it has no request".to_owned());
        };
        let requests = times.count;
        let measured_s = self.span.map(|(first, last)| last - first).filter(|s| 0.0 < *s);
        let answered = requests - self.unanswered;
        Ok(Facts {
            measured_s,
            requests: Some(requests),
            failed: Some(self.failed),
            unanswered: Some(self.unanswered),
            completed_per_s: measured_s.map(|s| answered as f64 / s),
            statuses: self.statuses,
            labels: self.labels.into_iter().map(|(name, of)| (name, of.facts())).collect(),
            times: Some(Distribution::Histogram(Box::new(times))),
            ..Facts::default()
        })
    }
}

impl Labelled {
    fn facts(self) -> OfLabel {
        let times = Times::of(&self.histogram);
        OfLabel {
            requests: times.as_ref().map(|times| times.count),
            failed: Some(self.failed),
            times: times.map(|times| Distribution::Histogram(Box::new(times))),
        }
    }
}

/// Returns the name of requests as it may be printed.
pub(crate) fn label_of(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect()
}

/// Adds to the count of a status. Beyond a number of different ones, all others are one.
pub(crate) fn count(statuses: &mut BTreeMap<String, u64>, status: &str, number: u64) {
    let status: String = status.chars().take(40).collect();
    let is_known = statuses.contains_key(&status) || statuses.len() < MOST_STATUSES;
    let status = if is_known { status } else { OTHERS.to_owned() };
    let total = statuses.entry(status).or_default();
    *total = total.saturating_add(number);
}

/// The limit of a file whose last line cannot be read: it was cut off, or is being written.
pub(crate) fn cut_off(line: u64) -> Limit {
    Limit {
        code: Code::Incomplete,
        text: format!("the file ends in the middle of line {line}: what follows is missing"),
    }
}

pub(crate) fn of_tool(text: impl Into<String>) -> Limit {
    Limit { code: Code::OfTool, text: text.into() }
}

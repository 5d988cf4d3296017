//! Requests that a file has one by one.

use std::collections::BTreeMap;

use measure::{Histogram, Nanos};
use results::foreign::{Code, Distribution, Facts, Limit, OfLabel};
use results::{Times, names, secrets};

/// The most statuses that are told apart.
const MOST_STATUSES: usize = 50;
/// The most labels that are told apart: each has a histogram.
pub(crate) const MOST_LABELS: usize = 50;
/// The longest label, in characters.
const LONGEST_LABEL: usize = 200;
/// The most names whose labels are kept, and the longest one of them.
const MOST_NAMES: usize = 1_000;
const LONGEST_NAME: usize = 4_096;
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
    /// The labels of the names so far: most requests have the name of an earlier one.
    names: BTreeMap<String, String>,
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
    pub(crate) fn add_labelled(&mut self, name: &str, time: Nanos, ended: Ended) {
        self.add(time, ended);
        let label = self.label(name);
        let of_label = self.labels.entry(label).or_default();
        of_label.histogram.record(time);
        of_label.failed += u64::from(ended != Ended::Well);
    }

    /// Returns the label of requests that the tool calls so.
    fn label(&mut self, name: &str) -> String {
        if let Some(label) = self.names.get(name) {
            return label.clone();
        }
        let label = label_of(name);
        let is_known = self.labels.contains_key(&label) || self.labels.len() < MOST_LABELS;
        let label = if is_known { label } else { OTHERS.to_owned() };
        if self.names.len() < MOST_NAMES && name.len() <= LONGEST_NAME {
            self.names.insert(name.to_owned(), label.clone());
        }
        label
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

/// Returns the name of requests, or another text of a file, as it may be printed: without secrets, such as those of a
/// URL, and of a long one both ends.
pub(crate) fn label_of(name: &str) -> String {
    let printable: String = name.chars().filter(|c| !c.is_control()).collect();
    // Before it is cut: half of a URL is not recognised as one with a password.
    both_ends(&secrets::without_plain(&printable), LONGEST_LABEL / 2, LONGEST_LABEL)
}

/// Returns a text of at most so many characters: of a longer one the first `begin`, and as many of its last ones as
/// there is room for. Names of requests are told apart by either.
pub fn both_ends(text: &str, begin: usize, room: usize) -> String {
    let length = text.chars().count();
    if length <= room {
        return text.to_owned();
    }
    let end = text.chars().skip(length - (room - begin - 1));
    text.chars().take(begin).chain(['…']).chain(end).collect()
}

/// Returns figures by the labels of their names, as many as are told apart. Names with the same label are numbered:
/// figures that a tool computed cannot be merged.
pub(crate) fn labelled(
    named: impl Iterator<Item = (String, OfLabel)>,
) -> BTreeMap<String, OfLabel> {
    let mut labels: BTreeMap<String, OfLabel> = BTreeMap::new();
    for (name, of) in named.take(MOST_LABELS) {
        let label = label_of(&name);
        let numbered = |number| format!("{label} ({number})");
        let free = names::free(label.clone(), numbered, |label| !labels.contains_key(label));
        labels.insert(free, of);
    }
    labels
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

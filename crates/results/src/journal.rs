//! The journal: one line for every attempted trial, appended and synced before the next begins.

use std::collections::BTreeMap;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use crate::events::Events;
use crate::failing::{self, Tally};
use crate::failure::Failure;
use crate::little::Little;
use crate::load::{Load, Pacing};
use crate::sessions::Arrivals;
use crate::slo;
use crate::times::Times;
use crate::transport::Habit;

#[cfg(test)]
mod tests;

/// One attempted trial.
///
/// A search is a pure function of the entries before it, so they contain everything that it needs.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Entry {
    /// Numbered from 1 in the order of attempts; also the name of the trial's folder.
    pub trial: u32,
    /// The key of what was measured: a hash of the resolved configuration, the binaries and the
    /// tool. Entries of different keys are never mixed.
    pub key: String,
    pub purpose: Purpose,
    /// The combination of levels, in an experiment with factors: `replicas=2, hardening=pinned`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The name of the search, if the experiment names several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The number of the strand (one search in one cell, made once), from 1 in the order of the
    /// plan; absent in a plan of one strand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strand: Option<u32>,
    /// The number of the block, from 1, if the order is in blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
    /// The requested rate of all targets together, as in the load's document; absent for a closed
    /// loop, and for a shape or a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_s: Option<f64>,
    /// The requested rate of each target, which a search varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_target_per_s: Option<f64>,
    /// The reason of the search for this trial; absent in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The bounds of the capacity that the search knew when it chose this load; absent in a sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    pub repetition: u32,
    /// 1, or more if earlier attempts of the same trial were invalid or aborted.
    pub attempt: u32,
    /// The wait for a calm machine before this attempt, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<Waited>,
    /// The length of the warm-up until steady, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmed_up_ns: Option<u64>,
    pub seed: u64,
    pub status: Status,
    /// The reasons why the trial is not valid; empty if it is.
    pub reasons: Vec<String>,
    /// The speed of the machine relative to the trials before, if this alone is why the trial is not
    /// valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_machine: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed: Option<Observed>,
    /// The judgement on each objective of the spec, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<slo::Judged>,
    pub findings: Vec<String>,
    pub warnings: Vec<String>,
    /// The disturbances of the machine while it measured, in words, as its generator and the checks after
    /// the load saw them: the one judgement that every word about a trial follows. A valid trial may have
    /// some, if its generator had none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<String>,
    /// The hash of what the checks of the machines found after the load, if there were any: it is
    /// the same for two trials in the same environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// SHA-256 of each file in the trial's folder, by name.
    pub files: BTreeMap<String, String>,
    /// The files among them that cannot be read any more, each with the reason. They are looked for whenever
    /// the journal is read, and are no part of it.
    #[serde(skip)]
    pub unread: Vec<String>,
}

#[cfg(test)]
impl Entry {
    /// An aborted trial, for tests.
    pub(crate) fn aborted(trial: u32) -> Entry {
        Entry {
            trial,
            key: "k".into(),
            purpose: Purpose::Trial,
            cell: None,
            search: None,
            strand: None,
            block: None,
            asked_per_s: Some(200.0),
            asked_per_target_per_s: Some(100.0),
            why: None,
            bounds: None,
            repetition: 1,
            attempt: 1,
            waited: None,
            warmed_up_ns: None,
            seed: 1,
            status: Status::Aborted,
            reasons: Vec::new(),
            slow_machine: None,
            observed: None,
            slo: Vec::new(),
            findings: Vec::new(),
            warnings: Vec::new(),
            disturbed: Vec::new(),
            fingerprint: None,
            files: BTreeMap::new(),
            unread: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A short closed loop that shows the sweep where to begin; never a result.
    Probe,
    Trial,
}

/// The reason of a search for a trial.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The load is new.
    Explore,
    /// The trial before it, at the same load, had too few requests for a verdict: both are judged
    /// together.
    Extend,
    /// The trials of this load do not decide yet.
    Confirm,
    /// The load is a bound of the answer, which needs more trials.
    Validate,
    /// The capacity seems to be at the edge of the range, which was not tried.
    Edge,
}

impl From<measure::search::Why> for Why {
    fn from(why: measure::search::Why) -> Why {
        match why {
            measure::search::Why::Explore => Why::Explore,
            measure::search::Why::Confirm => Why::Confirm,
            measure::search::Why::Validate => Why::Validate,
            measure::search::Why::Edge => Why::Edge,
        }
    }
}

/// The known bounds of a capacity, as requested rates of all targets together.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Bounds {
    /// The highest load that met the SLO, below the upper bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lower: Option<f64>,
    /// The lowest load that missed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper: Option<f64>,
}

/// A wait for a calm machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Waited {
    pub waited_ns: u64,
    /// True if the machine was calm in the end.
    pub calm: bool,
    /// The same with its figures, in words.
    pub text: String,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The generator was punctual and lost nothing, and its machine was undisturbed. If another
    /// generator made the load, nothing of this is known, and nothing speaks against it.
    Valid,
    /// The load was late or disturbed, which can only slow things down, but the question was
    /// answered ([`evidence`](crate::evidence)): mostly, the SLO was met nevertheless. Its times are
    /// upper bounds and its rates lower ones. A search uses it; trials whose figures are asked for
    /// are repeated instead.
    Bounded,
    /// The trial was measured, but cannot be trusted; it is kept, listed and repeated.
    Invalid,
    /// The trial did not end: the system under test died in it.
    Aborted,
}

impl Entry {
    /// Notes the files that cannot be read: what nobody can check any more is no evidence.
    pub(crate) fn distrust(&mut self, unread: Vec<String>) {
        if !unread.is_empty() && self.status.answers() {
            self.status = Status::Invalid;
        }
        self.reasons.extend(unread.iter().cloned());
        self.unread = unread;
    }

    /// Returns true if the trial is valid, although something disturbed the machine.
    pub fn is_valid_but_disturbed(&self) -> bool {
        self.status == Status::Valid && !self.disturbed.is_empty()
    }

    /// Returns true if the trial is valid, although the machine was slow in it: no other repetition was allowed.
    pub fn is_valid_but_slow(&self) -> bool {
        let is_slow = |warning: &String| warning.starts_with(SLOW_MACHINE);
        self.status == Status::Valid && self.warnings.iter().any(is_slow)
    }
}

/// The beginning of the reason, or of the warning, of a trial in a slow machine.
pub const SLOW_MACHINE: &str = "slow machine: ";

/// The most trials whose files that cannot be read are named.
const MOST_NAMED: usize = 10;

/// Returns the files that cannot be read of each trial, in words: `trial 1: load.json cannot be read: …`.
pub fn unread(journal: &[Entry]) -> Vec<String> {
    let mut lines = Vec::new();
    let trials = || journal.iter().filter(|entry| !entry.unread.is_empty());
    for entry in trials().take(MOST_NAMED) {
        lines.push(format!("trial {}: {}", entry.trial, entry.unread.join("; ")));
    }
    let further = trials().skip(MOST_NAMED).count();
    if 0 < further {
        lines.push(format!("{further} further trials have files that cannot be read"));
    }
    lines
}

impl Status {
    /// Returns the name in the journal.
    pub fn name(self) -> &'static str {
        match self {
            Status::Valid => "valid",
            Status::Bounded => "bounded",
            Status::Invalid => "invalid",
            Status::Aborted => "aborted",
        }
    }

    /// True if the trial is evidence about the system.
    pub fn answers(self) -> bool {
        matches!(self, Status::Valid | Status::Bounded)
    }
}

/// The figures of the requests with one label in a trial.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct OfLabel {
    pub label: String,
    /// The requests that were answered, well or not, and those that failed.
    pub completed: u64,
    pub failed: u64,
    /// Percentiles of the response time; absent without a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
}

impl OfLabel {
    /// Returns true if so many of these requests failed that the figures are not those of a working service.
    pub fn is_failing(&self) -> bool {
        // A request without an answer failed, and is not completed.
        let requests = self.completed.max(self.failed);
        Tally { requests, failed: self.failed, unfinished: 0 }.is_failing()
    }

    /// Returns the figures by label of a load.
    pub fn all(load: &Load) -> Vec<OfLabel> {
        let labels = load.labels.iter().map(|(label, group)| {
            let times = group.response_time.as_ref();
            OfLabel {
                label: label.clone(),
                completed: group.completed,
                failed: group.failed,
                p50_ns: times.map(|times| times.p50_ns),
                p99_ns: times.map(|times| times.p99_ns),
            }
        });
        labels.collect()
    }
}

/// The figures of a trial that a search and a reader need; the rest is in its folder.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Observed {
    /// The name of somebody else's generator that made the load; absent if the engine made it.
    /// Nothing is known then of lateness and hiccups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<String>,
    /// Sums over all targets, per second of the measurement.
    pub offered_per_s: f64,
    pub completed_per_s: f64,
    /// The completed rate, but at most the offered one: a backlog of the warm-up is not counted.
    pub sustained_per_s: f64,
    pub goodput_per_s: f64,
    /// The successes inside the measurement, whatever their response times: a response that refuses a
    /// request completes it, but is none. Absent up to version 2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub succeeded_per_s: Option<f64>,
    /// The operations that were answered inside the measurement, where a request carries several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations_per_s: Option<f64>,
    /// The length of a measurement that ended early, since its SLO was missed whatever followed; absent
    /// if it had its whole time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_after_ns: Option<u64>,
    pub requests: u64,
    /// The requests that ended badly.
    pub failures: u64,
    /// The requests that had no response when the load ended. Absent if that is not known: of another
    /// generator, and up to version 2, when `failures` contained them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfinished: Option<u64>,
    /// True if only unfinished requests miss the SLO, and nothing else kept the trial from its answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rests_on_unfinished: bool,
    /// True if the load was asked for in sessions per second: each of them is several requests, of which the other
    /// rates are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sessions: bool,
    /// The sessions per second that the successful requests are, if an open loop of them is asked for in sessions: of a
    /// probe, what the search begins with. Absent in earlier results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_per_s: Option<f64>,
    /// The failures by reason and by requests, the most frequent first. Absent without any, and in earlier
    /// results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<Failure>,
    /// The figures by label, if requests have labels. Absent in earlier results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<OfLabel>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hiccup_p99_ns: Option<u64>,
    /// The delivery of the events; absent if no receiver noted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The figures of Little's law; absent if the requests in progress or their times are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub little: Option<Little>,
    /// The use of the connections; absent of closed loops, and of other generators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<Connections>,
    /// The habits of the server that make its responses slow beneath its code. Absent without any, and in earlier
    /// results.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transport: Vec<Habit>,
    /// True if every SLO of the spec was met; absent if it states none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slo_met: Option<bool>,
    /// The completed rate no longer followed the offered load.
    pub saturated: bool,
    /// True if the load is not valid since the generator could not open all of its connections.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lacks_connections: bool,
    /// The time that opening the connections took before the load, where it was half a second or more: no plan of
    /// the time counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening_ns: Option<u64>,
    /// True if the generator's own work limited the load: the system can complete more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generator_bound: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_answer: Option<f64>,
    /// Bytes received for each operation, where a request carries several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_operation: Option<f64>,
    /// CPUs used by each component during the measurement (1.0 is one CPU), by name.
    pub cpu: BTreeMap<String, f64>,
    /// The number of components whose use is not known, since too few of their counters were read in
    /// the measurement: the sum of the others is not that of the system.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cpu_unknown: u32,
    /// The mean of each series that another monitor had for the measurement, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub monitored: BTreeMap<String, f64>,
    /// The mean time of each short fixed piece of work that was timed on the CPUs of the system under
    /// test, by its name: the longer it takes, the slower the machine. Empty if none was timed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub work_ns: BTreeMap<String, f64>,
    /// The largest share of the CPUs of a role that other processes used in a second; absent if the
    /// machine was not watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foreign_most: Option<f64>,
    /// The largest share of a CPU that the hypervisor took in a second; absent if the machine was not
    /// watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen_most: Option<f64>,
    /// The first saturated resource, in words with its figures; absent if the system followed its
    /// load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// The same in parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

impl Arrivals {
    /// Returns the kind of the loads of these trials.
    pub fn of<'a>(journal: impl IntoIterator<Item = &'a Entry>) -> Arrivals {
        let mut observed = journal.into_iter().filter_map(|entry| entry.observed.as_ref());
        let is_one = |of: &Observed| of.sessions || of.sessions_per_s.is_some();
        Arrivals::are_sessions(observed.any(is_one))
    }
}

impl Observed {
    /// Returns the requests by their end, as far as that is known.
    fn tally(&self) -> Tally {
        let unfinished = self.unfinished.unwrap_or_default();
        Tally { requests: self.requests, failed: self.failures, unfinished }
    }

    /// Returns the figures of a label.
    pub fn of_label(&self, label: &str) -> Option<&OfLabel> {
        self.labels.iter().find(|of| of.label == label)
    }

    /// Returns true if so many requests failed that the completed rate is not one of a working system,
    /// or if none succeeded.
    pub fn is_failing(&self) -> bool {
        self.tally().is_failing()
    }

    /// Returns true if most of the requests failed: then the figures are those of the failures.
    pub fn is_mostly_failing(&self) -> bool {
        self.knows_failures() && self.tally().is_mostly_failing()
    }

    /// Returns true if the figures are those of a working service: not too many requests failed, neither by themselves
    /// nor for an objective on failures.
    pub fn shows_working_service(&self, slos: &[slo::Slo]) -> bool {
        let Tally { requests, failed, .. } = self.tally();
        let misses = |slo: &slo::Slo| {
            matches!(slo, slo::Slo::Failures { .. }) && slo.is_missed_by(failed, requests)
        };
        !self.knows_failures() || !self.is_failing() && !slos.iter().any(misses)
    }

    /// Returns true if the system did not keep up with its load. What fails most requests completes little at any
    /// rate.
    pub fn shows_saturation(&self) -> bool {
        self.saturated && !self.is_mostly_failing()
    }

    /// Returns true if no request had a response when the load ended.
    pub fn has_no_response(&self) -> bool {
        0 < self.requests && self.unfinished == Some(self.requests)
    }

    /// Returns true if only a longer wait for the responses could give the trial an answer, and no calmer machine.
    pub fn needs_longer_drain(&self) -> bool {
        self.has_no_response() || self.rests_on_unfinished
    }

    /// Returns false up to version 2, when the failures contained the requests that did not end.
    fn knows_failures(&self) -> bool {
        self.unfinished.is_some() || self.generator.is_some()
    }

    /// Returns true if the service answered every request wrongly, which no calmer machine changes.
    pub fn is_all_wrong(&self) -> bool {
        self.tally().is_all_wrong(&self.failing)
    }

    /// Returns the share of the requests that ended which failed in a way that no lower load is likely to change: they
    /// were answered wrongly and not refused, or nothing listened.
    pub fn share_at_any_load(&self) -> f64 {
        self.tally().share_at_any_load(&self.failing)
    }

    /// Returns true if most requests failed so: no calmer machine is likely to change that either.
    pub fn mostly_fails_at_any_load(&self) -> bool {
        failing::are_most(self.share_at_any_load())
    }

    /// Returns true if the requests that failed so in equal trials are enough to miss an objective on all requests.
    pub fn miss_at_any_load(equal: &[&Observed], slos: &[slo::Slo]) -> bool {
        let over: u64 = equal.iter().map(|trial| failing::at_any_load(&trial.failing)).sum();
        let of: u64 = equal.iter().map(|trial| trial.requests).sum();
        let misses = |slo: &slo::Slo| slo.label().is_none() && slo.is_missed_by(over, of);
        0 < over && slos.iter().any(misses)
    }

    /// Returns the share of failures of the requests that ended.
    pub fn failed_share(&self) -> f64 {
        self.tally().failed_share()
    }

    /// Describes the failures; `None` if there are none.
    pub fn failures_in_words(&self) -> Option<String> {
        self.tally().in_words(&self.failing)
    }

    /// Describes the failures, if there are so many that the figures are not those of a working system.
    pub fn failing_in_words(&self) -> Option<String> {
        self.failures_in_words().filter(|_| self.is_failing())
    }

    /// Returns the sustained rate, if it is that of a working system: a rate of failures is no throughput.
    pub fn throughput_per_s(&self) -> Option<f64> {
        (!self.knows_failures() || !self.is_failing()).then_some(self.sustained_per_s)
    }
}

#[cfg(test)]
impl Observed {
    /// A trial in which nothing happened, for tests.
    pub(crate) fn nothing() -> Observed {
        let nothing = r#"{"offered_per_s": 0, "completed_per_s": 0, "sustained_per_s": 0,
            "goodput_per_s": 0, "requests": 0, "failures": 0, "saturated": false, "cpu": {}}"#;
        serde_json::from_str(nothing).expect("it has the required fields")
    }

    /// The figures of a system that follows its load, for tests.
    pub(crate) fn example(rate: f64, requests: u64) -> Observed {
        Observed {
            offered_per_s: rate,
            completed_per_s: rate,
            sustained_per_s: rate,
            goodput_per_s: rate,
            ended_after_ns: None,
            requests,
            ..Observed::nothing()
        }
    }
}

/// The mean times of the requests of an open loop at its connections.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Connections {
    /// For a connection with a free slot.
    pub waited_ns: u64,
    /// From sending to the end.
    pub service_ns: u64,
}

impl Connections {
    /// Returns the times of a load; `None` if it did not measure them.
    pub fn of(load: &Load) -> Option<Connections> {
        let mean = |times: &Option<Times>| Some(times.as_ref()?.mean_ns);
        let times = (mean(&load.total.backlog_delay), mean(&load.total.service_time));
        match (&load.pacing, times) {
            (Pacing::Open { .. }, (Some(waited_ns), Some(service_ns))) => {
                Some(Connections { waited_ns, service_ns })
            }
            _ => None,
        }
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The delivery of a trial's events, from the intended start of each.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Delivery {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p50_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p999_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999_ns: Option<u64>,
    /// The shortest time that a lost event had waited: a percentile of so much or more is a lower bound.
    /// Up to version 2 lost events are not in the percentiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_from_ns: Option<u64>,
    pub lost: u64,
    pub duplicated: u64,
    pub reordered: u64,
    /// The period of the timer that the times show; absent if they show none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timer_ns: Option<u64>,
}

impl Delivery {
    /// Returns a figure with `≥` before it if it is a lower bound.
    pub fn written(&self, ns: u64) -> String {
        written(ns, self.at_least_from_ns)
    }

    /// Returns the figures of a load's events.
    pub fn of(events: &Events) -> Delivery {
        let time = |of: fn(&Times) -> u64| events.delivery_time.as_ref().map(of);
        Delivery {
            p50_ns: time(|times| times.p50_ns),
            p90_ns: time(|times| times.p90_ns),
            p99_ns: time(|times| times.p99_ns),
            p999_ns: time(|times| times.p999_ns),
            p9999_ns: time(|times| times.p9999_ns),
            at_least_from_ns: events.at_least_from().map(|from| from.0),
            lost: events.lost,
            duplicated: events.duplicated,
            reordered: events.reordered,
            timer_ns: events.timer().map(|timer| timer.nominal().0),
        }
    }
}

/// Writes a delivery time, with `≥` before it if lost events make it a lower bound.
pub fn written(ns: u64, at_least_from_ns: Option<u64>) -> String {
    let is_at_least = at_least_from_ns.is_some_and(|from| from <= ns);
    format!("{}{}", if is_at_least { "≥ " } else { "" }, Nanos(ns))
}

/// The resource that was saturated first in a trial.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Limit {
    /// A component, or `role sut`: all components of a role together.
    pub component: String,
    /// `CPU`, `CPU limit`, `thread`, `memory`, `connections`, `refusals` or `requests`.
    pub resource: String,
    /// The interval of the measurement in which it began.
    pub since: u32,
}

/// `geo-1.1 (thread)`
impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.component, self.resource)
    }
}

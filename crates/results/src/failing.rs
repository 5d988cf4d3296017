//! The failures of a load: which requests failed, why, and how many of how many. Every output says this before
//! anything about lateness or noise, from which no wrong response comes, and takes the words from here.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use measure::Share;
use measure::quantity::{counted, requests};

use crate::failure::{Failure, STATUS};
use crate::load::{Counts, Group, Load, Pacing, Part, UNFINISHED};
use crate::slo::{Judged, Slo};
use crate::times::Times;

#[cfg(test)]
mod tests;

/// The share of successes under which a load with objectives fails, unless one on failures declares another share.
const SUCCESSES: f64 = 0.5;
/// The share of failures above which a system fell short, however fast it failed the requests.
const NOTICED: f64 = 0.03;
/// The most kinds of failures that are kept, and that a sentence lists.
const MOST_KEPT: usize = 100;
const MOST_LISTED: usize = 3;

/// The outcome of requests whose connection was reset, and of those whose connection was closed in order before the
/// response was complete.
const RESET: &str = "reset";

/// Returns the name of an outcome for a list of outcomes that people read.
pub fn outcome_in_words(name: &str) -> &str {
    if name == RESET { "cut off" } else { name }
}

/// Returns `404`, or ``check `status=200` not met``.
fn in_short(outcome: &str, reason: Option<&str>) -> String {
    match (outcome, reason) {
        // Only a check refuses these.
        (STATUS, Some(status)) if status < "400" => format!("unexpected status {status}"),
        (STATUS, Some(status)) => status.to_owned(),
        (STATUS, None) => "a status of failure".to_owned(),
        ("check", Some(rule)) => format!("check `{rule}` not met"),
        ("capture", Some(why)) => format!("nothing captured ({why})"),
        (outcome, reason) => {
            let what = match outcome {
                "check" => "a check not met",
                "capture" => "nothing captured",
                "connect" => "no connection",
                RESET => "connection closed before the whole response",
                "write" => "connection lost while sending",
                "malformed" => "malformed response",
                "dropped" => "not sent (the backlog was full)",
                other => other,
            };
            match reason {
                Some(reason) => format!("{what} ({reason})"),
                None => what.to_owned(),
            }
        }
    }
}

/// Requests that are counted together.
struct Requests<'a> {
    label: Option<&'a str>,
    to: Option<&'a str>,
    all: u64,
    outcomes: BTreeMap<&'a str, u64>,
    reasons: BTreeMap<String, u64>,
}

impl<'a> Requests<'a> {
    fn of_part(part: &'a Part, to: Option<&'a str>) -> Requests<'a> {
        let (outcomes, reasons) = (borrowed(&part.outcomes), part.reasons.clone());
        Requests { label: None, to, all: part.counts.intended, outcomes, reasons }
    }

    /// Adds the statuses as reasons where only the answers are counted by status: by other generators, and in
    /// earlier documents.
    fn with_statuses(mut self, statuses: &BTreeMap<String, u64>) -> Requests<'a> {
        let are_known = self.reasons.keys().any(|reason| reason.starts_with(STATUS));
        let bad = || statuses.iter().filter(|(status, _)| "400" <= status.as_str());
        let is_all =
            Some(bad().map(|(_, count)| count).sum()) == self.outcomes.get(STATUS).copied();
        if !are_known && is_all {
            let reasons = bad().map(|(status, count)| (format!("{STATUS}: {status}"), *count));
            self.reasons.extend(reasons);
        }
        self
    }

    fn of_group(group: &'a Group, label: &'a str) -> Requests<'a> {
        let all = group.outcomes.values().sum();
        let (outcomes, reasons) = (borrowed(&group.outcomes), group.reasons.clone());
        Requests { label: Some(label), to: None, all, outcomes, reasons }
    }

    fn remove(&mut self, other: &Requests<'a>) {
        self.all = self.all.saturating_sub(other.all);
        for (name, count) in &other.outcomes {
            self.outcomes.entry(name).and_modify(|all| *all = all.saturating_sub(*count));
        }
        for (name, count) in &other.reasons {
            self.reasons.entry(name.clone()).and_modify(|all| *all = all.saturating_sub(*count));
        }
    }

    fn failure(&self, outcome: &str, reason: Option<&str>, count: u64) -> Failure {
        let requests = if self.all == 1 { "request" } else { "requests" };
        let which = match (self.label, self.to) {
            (Some(label), _) => format!(" `{label}`"),
            (None, Some(to)) => format!(" to {to}"),
            (None, None) => String::new(),
        };
        let (what, all) = (in_short(outcome, reason), counted(self.all));
        Failure {
            text: format!("{what} for {} of {all} {requests}{which}", counted(count)),
            outcome: outcome.to_owned(),
            reason: reason.map(str::to_owned),
            label: self.label.map(str::to_owned),
            to: self.to.map(str::to_owned),
            count,
            of: self.all,
        }
    }

    fn failures(&self) -> impl Iterator<Item = Failure> {
        let failed = self.outcomes.iter().filter(|(name, _)| !matches!(**name, "ok" | UNFINISHED));
        failed.flat_map(|(outcome, &all)| {
            let reasons = self.reasons.iter().filter_map(|(text, &count)| {
                let (of, reason) = text.split_once(": ")?;
                (of == *outcome).then_some((Some(reason), count))
            });
            let reasons: Vec<_> = reasons.collect();
            let explained: u64 = reasons.iter().map(|(_, count)| count).sum();
            let rest = (None, all.saturating_sub(explained));
            let known = reasons.into_iter().chain([rest]).filter(|(_, count)| 0 < *count);
            known.map(|(reason, count)| self.failure(outcome, reason, count))
        })
    }
}

fn borrowed(counts: &BTreeMap<String, u64>) -> BTreeMap<&str, u64> {
    counts.iter().map(|(name, count)| (name.as_str(), *count)).collect()
}

/// Returns the failures of a load, the most frequent first.
pub fn of(load: &Load) -> Vec<Failure> {
    let mut failures = Vec::new();
    if load.labels.is_empty() {
        for target in &load.targets {
            let to = target.path.as_ref().unwrap_or(&target.url);
            let requests = Requests::of_part(&target.part, Some(to));
            failures.extend(requests.with_statuses(&target.part.statuses).failures());
        }
    } else {
        let mut others = Requests::of_part(&load.total, None);
        for (label, group) in &load.labels {
            let requests = Requests::of_group(group, label);
            failures.extend(requests.failures());
            others.remove(&requests);
        }
        failures.extend(others.failures());
    }
    failures.sort_by_key(|failure| Reverse(failure.count));
    failures.truncate(MOST_KEPT);
    failures
}

/// Returns why requests of a group failed, the most frequent reason first: `404 for 5; timeout for 3`; `None` if
/// none did.
pub fn of_group_in_words(group: &Group) -> Option<String> {
    let mut failures: Vec<Failure> = Requests::of_group(group, "").failures().collect();
    failures.sort_by_key(|failure| Reverse(failure.count));
    let further = failures.len().saturating_sub(MOST_LISTED);
    let in_words = |failure: &Failure| {
        let what = in_short(&failure.outcome, failure.reason.as_deref());
        format!("{what} for {}", counted(failure.count))
    };
    let more = match further {
        0 => None,
        1 => Some("one more kind of failure".to_owned()),
        n => Some(format!("{n} more kinds of failures")),
    };
    let words: Vec<String> = failures.iter().take(MOST_LISTED).map(in_words).chain(more).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The requests of a load by their end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tally {
    pub requests: u64,
    pub failed: u64,
    pub unfinished: u64,
}

impl Tally {
    pub fn of(counts: &Counts) -> Tally {
        let Counts { intended: requests, failed, unfinished, .. } = *counts;
        Tally { requests, failed, unfinished }
    }

    fn ended(self) -> u64 {
        self.requests.saturating_sub(self.unfinished)
    }

    /// Returns the share of failures of the requests that ended.
    pub fn failed_share(self) -> f64 {
        self.failed as f64 / self.ended().max(1) as f64
    }

    /// Returns the share of the requests that ended which failed in a way that no lower load is likely to change.
    pub fn share_at_any_load(self, failures: &[Failure]) -> f64 {
        at_any_load(failures) as f64 / self.ended().max(1) as f64
    }

    /// A request that did not end may still succeed.
    fn has_no_success(self) -> bool {
        0 < self.failed && self.ended() <= self.failed
    }

    /// Returns true if so many requests failed that the figures are not those of a working system, or if
    /// none succeeded.
    pub fn is_failing(self) -> bool {
        is_failing(self.failed_share()) || self.has_no_success()
    }

    /// Returns true if most of the requests that ended failed, or if none succeeded.
    pub fn is_mostly_failing(self) -> bool {
        are_most(self.failed_share()) || self.has_no_success()
    }

    /// Returns true if no request succeeded, and each of these failures is a wrong response.
    pub fn is_all_wrong(self, failures: &[Failure]) -> bool {
        let listed: u64 = failures.iter().map(|failure| failure.count).sum();
        self.has_no_success()
            && 0 < self.failed
            && listed == self.failed
            && failures.iter().all(Failure::is_wrong_response)
    }

    /// Describes these failures in a sentence, the most frequent first; `None` if there are none. They are
    /// unknown if the results are older than the list.
    pub fn in_words(self, failures: &[Failure]) -> Option<String> {
        let all = counted(self.requests);
        let texts = failures.iter().map(|failure| failure.text.clone());
        let listed: Vec<String> = texts.take(MOST_LISTED).collect();
        match failures.len() - listed.len() {
            0 if !listed.is_empty() => Some(listed.join("; ")),
            0 if 0 < self.failed => {
                Some(format!("{} of {all} requests failed", counted(self.failed)))
            }
            0 => None,
            1 => Some(listed.join("; ") + "; and one more kind of failure"),
            n => Some(format!("{}; and {n} more kinds of failures", listed.join("; "))),
        }
    }
}

/// Returns true for a share of failures with which fewer requests succeeded than a load must have.
pub fn are_most(failed_share: f64) -> bool {
    1.0 - SUCCESSES < failed_share
}

/// Returns true for a share of failures with which a system fell short.
pub fn is_failing(failed_share: f64) -> bool {
    NOTICED < failed_share
}

/// Returns the number of requests that failed in a way that no lower load is likely to change.
pub(crate) fn at_any_load(failures: &[Failure]) -> u64 {
    failures.iter().filter(|failure| failure.is_of_any_load()).map(|failure| failure.count).sum()
}

/// Returns true if a lower load cannot change that these requests failed: the service did not refuse them.
pub fn are_of_any_load(failures: &[Failure]) -> bool {
    !failures.iter().any(Failure::is_refusal)
}

/// Describes the failures of a load; `None` if there are none.
pub fn of_load_in_words(load: &Load) -> Option<String> {
    Tally::of(&load.total.counts).in_words(&of(load))
}

/// Returns true if fewer requests succeeded than a load must have: then the answer is no. That is a service that
/// fails, unless objectives ask for something else; they allow half of the requests to fail, or the share that an
/// objective on failures declares.
pub fn is_missed(load: &Load, objectives: &[Judged]) -> bool {
    match declared(objectives) {
        Some(is_met) => !is_met,
        None if objectives.is_empty() => is_noticed(load),
        None => is_mostly(load),
    }
}

/// Returns true if most of the requests that ended failed, or if none succeeded.
pub fn is_mostly(load: &Load) -> bool {
    Tally::of(&load.total.counts).is_mostly_failing()
}

/// Returns true if the target was not there for a part of the load, and requests failed or had no response for that.
/// A closed loop asks for nothing meanwhile, so few of its requests fail.
pub fn is_gone(load: &Load) -> bool {
    let Tally { requests, failed, unfinished } = Tally::of(&load.total.counts);
    let lost = failed + unfinished;
    let is_felt = match load.pacing {
        Pacing::Open { .. } => is_failing(lost as f64 / requests.max(1) as f64),
        Pacing::Closed { .. } => 0 < lost,
    };
    refused_share(load).is_some() && is_felt
}

fn refused_share(load: &Load) -> Option<f64> {
    load.connections.as_ref()?.refused_share
}

/// Returns true if all objectives on failures are met; `None` if there are none.
pub fn declared(objectives: &[Judged]) -> Option<bool> {
    let declares = |judged: &&Judged| matches!(judged.slo, Slo::Failures { .. });
    let met = objectives.iter().filter(declares).map(|judged| judged.met);
    met.reduce(|all, met| all && met)
}

/// Returns the sentence on a load that fails, with the remedy; `None` if it does not fail, or if an objective
/// says so.
pub fn missed_in_words(load: &Load, objectives: &[Judged]) -> Option<String> {
    let Counts { ok, intended, .. } = load.total.counts;
    let declares = |judged: &Judged| matches!(judged.slo, Slo::Failures { .. });
    let succeeded = format!("{} of {} succeeded", counted(ok), requests(intended));
    match refused_share(load).filter(|_| is_gone(load)) {
        _ if objectives.iter().any(declares) => None,
        Some(share) if is_no(load, objectives) => Some(format!(
            "the target took no connections for {:.0} % of the time, and {succeeded}; see why it ended",
            100.0 * share
        )),
        _ if !is_missed(load, objectives) => None,
        _ => {
            // Only a share that the same load would keep.
            let percent = (100.0 * (1.0 - ok as f64 / intended as f64)).ceil();
            let allows = match percent < 100.0 {
                true => format!(", or allow so many by --slo 'failures<={percent}%'"),
                false => String::new(),
            };
            let why = match is_mostly(load) {
                true => "fewer than half".to_owned(),
                false => format!("and more than {} failed", Share(NOTICED)),
            };
            Some(format!(
                "{succeeded}, {why}; see what was asked and what the service answers{allows}"
            ))
        }
    }
}

/// Returns true if the answer of a load is no, if it has one.
pub(crate) fn is_no(load: &Load, objectives: &[Judged]) -> bool {
    is_missed(load, objectives) || objectives.iter().any(|judged| !judged.met)
}

/// Returns true if the answer of a load is no, and stands however late the generator was:
///
/// - the target refused connections;
/// - or so many requests were answered wrongly that an objective is missed by them alone, or without objectives that
///   the service fails;
/// - or most requests were, or all that were answered, and the objectives do not allow that.
///
/// If the system may have been slowed, this is without the requests that it may have answered so for that.
pub fn is_certain(load: &Load, objectives: &[Judged], may_be_slowed: bool) -> bool {
    let tally = Tally::of(&load.total.counts);
    let failures = of(load);
    let count = |stands: &dyn Fn(&&Failure) -> bool| -> u64 {
        failures.iter().filter(stands).map(|failure| failure.count).sum()
    };
    let is_wrong_at_any_speed = |it: &Failure| {
        it.is_wrong_response() && !(may_be_slowed && (it.is_refusal() || it.may_be_of_slowness()))
    };
    let wrong = count(&|it| it.is_wrong_response() && !(may_be_slowed && it.is_refusal()));
    let wrong_at_any_speed = count(&|it| is_wrong_at_any_speed(it));
    let miss = |judged: &Judged| {
        let label = judged.slo.label();
        let is_own = |it: &Failure| label.is_none() || it.label.as_deref() == label;
        let over = count(&|it| is_own(it) && is_wrong_at_any_speed(it));
        !judged.met && judged.slo.is_missed_by(over, judged.of)
    };
    // Requests that did not end may have been slowed.
    let are_most = |count: u64| (1.0 - SUCCESSES) * (tally.requests as f64) < count as f64;
    let are_noticed = objectives.is_empty()
        && is_failing(wrong_at_any_speed as f64 / tally.requests.max(1) as f64);
    let is_known =
        are_most(wrong) || tally.is_all_wrong(&failures) && are_most(tally.failed) || are_noticed;
    // The figures of a closed loop are those of the rest.
    let is_open = matches!(load.pacing, Pacing::Open { .. });
    is_open && is_gone(load) && is_no(load, objectives)
        || is_missed(load, objectives) && is_known
        || objectives.iter().any(miss)
}

/// Returns true if so many requests failed that the figures are not those of a working service, or if it was not
/// there.
pub fn is_noticed(load: &Load) -> bool {
    Tally::of(&load.total.counts).is_failing() || is_gone(load)
}

/// Returns true if most requests had no response when the load ended.
pub fn is_mostly_waits(load: &Load) -> bool {
    let Tally { requests, unfinished, .. } = Tally::of(&load.total.counts);
    requests < 2 * unfinished
}

/// Returns the word for a valid load. Validity is that of the generator and its machine alone, so the word
/// says more where requests failed, or most of them never ended.
pub fn valid_in_words(load: &Load) -> &'static str {
    match () {
        () if is_noticed(load) => VALID_OF_FAILING,
        () if is_mostly_waits(load) => "valid measurement of waits: most requests had no response",
        () => "valid",
    }
}

/// The word for a valid load or trial in which requests failed.
pub const VALID_OF_FAILING: &str = "valid measurement of a failing service";

/// Describes whose times these are, if most of them are not those of successes: a failure may be fast, and the wait
/// of a request that had no response ended with the load.
pub fn of_times_in_words(part: &Part) -> Option<String> {
    let count = |times: &Option<Times>| times.as_ref().map_or(0, |times| times.count);
    let (failed, all) = (count(&part.failed_response_time), count(&part.response_time));
    let unfinished = count(&part.unfinished_response_time);
    let are_most = |count: u64| all < 2 * count;
    let numbers = [failed, all, unfinished].map(counted);
    let [failed_in_words, all_in_words, unfinished_in_words] = &numbers;
    match () {
        () if are_most(failed) => Some(format!(
            "mostly times of failures: {failed_in_words} of {all_in_words} requests failed"
        )),
        () if are_most(unfinished) => Some(format!(
            "mostly waits without a response: {unfinished_in_words} of {all_in_words} requests had none when the \
             load ended, so these times are lower bounds"
        )),
        () if are_most(failed + unfinished) => Some(format!(
            "mostly times of failures and waits without a response: {failed_in_words} of {all_in_words} requests \
             failed, and {unfinished_in_words} had no response when the load ended, so these times are lower bounds"
        )),
        () => None,
    }
}

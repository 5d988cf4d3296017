//! The answer of a run: the document that `benchwright run --json` prints, kept as `answer.json`.
//!
//! The two differ in one field: a kept answer names its report relative to its own folder, so that
//! it stays correct if the folder is moved.

use std::collections::{BTreeMap, BTreeSet};

use measure::estimate::{self, CONFIDENCE};
use measure::quantity::grouped;
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use crate::at_load::{self, Conclusion};
use crate::comparison::Comparison;
use crate::failing;
use crate::found::{Found, Spread};
use crate::journal::{self, Entry, Purpose, Status};
use crate::metric::Metric;
use crate::reproducibility::Reproduced;
use crate::scaling::Scaling;
use crate::sessions::Arrivals;
use crate::shell;
use crate::transport::Habit;

pub(crate) mod earlier;
#[cfg(test)]
mod tests;
pub mod unlike;

/// Version 3 (2026-11): a result of a search that is only a bound says so, a spread of results has bounds
/// where one of them has, and an interval belongs to repeated searches alone (that of one search is of its
/// estimate).
pub const SCHEMA: &str = "benchwright.run/3";

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Answer {
    pub schema: String,
    pub experiment: String,
    pub verdict: Verdict,
    /// The verdict in a sentence.
    pub summary: String,
    /// The highest rate that the system sustained with any response time: the rate that it
    /// completed, but never more than it was offered. Null if there are several searches: each has
    /// its own.
    pub maximum_throughput: Option<Maximum>,
    /// The highest offered load that met every SLO; null if none did or the spec states none, and
    /// if there are several searches.
    pub capacity: Option<Capacity>,
    /// The component that limited the system at the maximum, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// The stop rule that ended the search, or the reason why it ended without one.
    pub stopped_by: String,
    /// The words that follow `benchwright resume DIRECTORY` so that a run without an answer goes on, mostly
    /// none. Absent if it has an answer, and if no further trial would bring one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// Every combination of levels, in the order of the plan; absent without factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<Level>,
    /// Every strand, in the order of the plan.
    #[serde(default)]
    pub searches: Vec<Search>,
    /// The spread of equal trials and of equal searches, as far as there are at least three.
    #[serde(default)]
    pub reproducibility: Vec<Reproduced>,
    /// The equal trials of all levels side by side, one for each search and load, if the spec asks for
    /// a spread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between_levels: Vec<Analysis>,
    /// The two arms that the spec compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
    /// The growth over the levels of the factor that the spec names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scaling: Vec<Scaling>,
    /// Absent in earlier answers.
    #[serde(default)]
    pub validity: Validity,
    pub trials: Vec<Entry>,
    /// The path of the report: as printed, relative to the working directory of the command; as
    /// kept, relative to the results directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<String>,
}

impl Answer {
    /// Returns the command with which a run in this directory goes on, if it has no answer and can find one.
    pub fn go_on(&self, directory: &str) -> Option<String> {
        self.resume.as_ref().map(|words| shell::resume(directory, words))
    }

    /// Returns true if the answer counts a trial of which a file cannot be read any more.
    pub fn counts_unread(&self, journal: &[Entry]) -> bool {
        let unread = journal.iter().filter(|entry| !entry.unread.is_empty());
        let unread: BTreeSet<u32> = unread.map(|entry| entry.trial).collect();
        self.trials.iter().any(|kept| kept.status.answers() && unread.contains(&kept.trial))
    }

    /// Returns the same without what it concluded, for a run whose evidence is not there any more.
    pub fn without_evidence(self, journal: &[Entry]) -> Answer {
        let why = [journal::unread(journal), self.unlike(journal).in_words()].concat().join("; ");
        self.without_conclusions(why, journal)
    }

    /// Returns the same with the trials alone, for a run of which nothing can be concluded for this reason.
    pub fn without_conclusions(self, why: String, journal: &[Entry]) -> Answer {
        Answer {
            verdict: Verdict::NoAnswer,
            summary: format!("no trustworthy answer: {why}"),
            maximum_throughput: None,
            capacity: None,
            limited_by: None,
            stopped_by: why,
            levels: Vec::new(),
            searches: Vec::new(),
            reproducibility: Vec::new(),
            between_levels: Vec::new(),
            comparison: None,
            scaling: Vec::new(),
            validity: Validity::of(journal),
            trials: journal.to_vec(),
            ..self
        }
    }

    /// Returns the trials on which the results of the searches rest: those at the loads of their maxima and
    /// capacities, and at the lowest load above each capacity that missed the SLO.
    pub fn rests_on(&self, journal: &[Entry]) -> BTreeSet<u32> {
        let (mut wanted, found) = (BTreeSet::new(), self.found_in());
        for trials in at_load::by_strand(journal).into_values() {
            let mut loads = at_load::by_load(trials);
            loads.sort_by_key(|load| load.attempts[0].configuration());
            let of = |trial: u32| loads.iter().position(|load| load.has(trial));
            let is_missed = |at: &usize| loads[*at].conclusion() == Some(Conclusion::Missed);
            for (maximum, capacity) in &found {
                let (maximum, capacity) = (maximum.and_then(of), capacity.and_then(of));
                let above = capacity.and_then(|at| (at + 1..loads.len()).find(is_missed));
                let each = [maximum, capacity, above].into_iter().flatten();
                wanted.extend(each.flat_map(|at| &loads[at].attempts).map(|entry| entry.trial));
            }
        }
        wanted
    }

    /// Returns the trials of the maximum and of the capacity of each search.
    fn found_in(&self) -> Vec<(Option<u32>, Option<u32>)> {
        let searches = self.searches.iter().filter(|search| !search.fixed);
        let each = searches.map(|search| {
            let [maximum, capacity] = [Metric::MaximumThroughput, Metric::Capacity];
            (search.trial_of(maximum), search.trial_of(capacity))
        });
        let maximum = self.maximum_throughput.as_ref().map(|maximum| maximum.trial);
        let capacity = self.capacity.as_ref().map(|capacity| capacity.trial);
        // Answers of earlier versions have no searches.
        let only = self.searches.is_empty().then_some((maximum, capacity));
        each.chain(only).collect()
    }

    /// Returns true if no load was searched: the given ones show no maximum and no capacity of the system.
    pub fn is_given(&self) -> bool {
        !self.searches.is_empty() && self.searches.iter().all(|search| search.fixed)
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The question was answered: exit 0.
    Answered,
    /// The answer is no, since the service failed, an SLO was never met, or the target of a spread was
    /// missed: exit 1.
    No,
    /// A trustworthy answer was not found: exit 3.
    NoAnswer,
    /// The run was interrupted; its finished trials are in the journal: exit 130.
    Interrupted,
    /// The run has not ended, or was killed: the answer is based on the trials so far. Never
    /// written into a directory.
    Open,
}

/// The numbers of a run's trials by their validity; probes are not counted.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Validity {
    pub trials: u32,
    /// The valid ones, with those that were disturbed or in a slow machine.
    pub valid: u32,
    /// The valid ones of which others used the CPUs of the system.
    pub valid_but_disturbed: u32,
    /// The valid ones in a slow machine, which no further repetition was allowed for.
    pub valid_but_slow: u32,
    pub bounded: u32,
    pub invalid: u32,
    pub aborted: u32,
}

impl Validity {
    /// Returns the numbers of a journal.
    pub fn of(journal: &[Entry]) -> Validity {
        let trials = || journal.iter().filter(|entry| entry.purpose == Purpose::Trial);
        let count = |is: &dyn Fn(&Entry) -> bool| trials().filter(|entry| is(entry)).count() as u32;
        let of = |status: Status| count(&|entry| entry.status == status);
        Validity {
            trials: count(&|_| true),
            valid: of(Status::Valid),
            valid_but_disturbed: count(&Entry::is_valid_but_disturbed),
            valid_but_slow: count(&Entry::is_valid_but_slow),
            bounded: of(Status::Bounded),
            invalid: of(Status::Invalid),
            aborted: of(Status::Aborted),
        }
    }
}

/// One combination of levels, with the results of its searches together.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Level {
    /// `replicas=2, hardening=pinned`, as in the journal.
    pub cell: String,
    /// The level of each factor.
    pub levels: BTreeMap<String, String>,
    /// One for each search of the experiment.
    pub searches: Vec<Repeated>,
}

/// The results of one search in one cell, over its repetitions.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Repeated {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub maximum_throughput_per_s: Option<Spread>,
    pub capacity_per_s: Option<Spread>,
}

impl Repeated {
    /// Returns the results of equal searches; `None` if there is none.
    pub fn of(equal: &[&Search]) -> Option<Repeated> {
        let spread = |metric: Metric| {
            let made = equal.iter().filter(|search| search.is_made());
            Spread::of(&made.map(|search| search.found(metric)).collect::<Vec<Found>>())
        };
        Some(Repeated {
            name: equal.first()?.name.clone(),
            maximum_throughput_per_s: spread(Metric::MaximumThroughput),
            capacity_per_s: spread(Metric::Capacity),
        })
    }
}

/// One strand: one search in one cell, made once.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Search {
    /// The number of the strand, as in the journal.
    pub strand: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The number among equal searches, from 1.
    pub repetition: u32,
    pub verdict: Verdict,
    /// True if the load was given and not searched: its maximum and its capacity are those of this load
    /// alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed: bool,
    /// True if its loads are sessions per second, each of which is several requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sessions: bool,
    pub maximum_throughput: Option<Maximum>,
    pub capacity: Option<Capacity>,
    /// The bounds of the capacity, as offered rates of all targets: the highest load that met the SLO,
    /// and the lowest above it that missed it. A sweep has an upper one once it has ended.
    #[serde(default)]
    pub lower: Option<f64>,
    #[serde(default)]
    pub upper: Option<f64>,
    /// The 95 % interval of the capacity over this search and its repetitions, if there are three or more: a
    /// t interval of the logarithms, widened to their median if that lies beyond it. Absent if one of them found only
    /// a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The capacity estimated from all trials of this search, which looks for the capacity from both
    /// sides; absent unless the search found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<Estimate>,
    /// The same at the usual speed of the machine; absent where the speed was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_usual_speed: Option<Estimate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<String>,
    /// True if the load's own connections were its limit: the system may do more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub connections_bound: bool,
    /// True if the search ended with its range, and not by a rule: what lies beyond is unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended_with_range: bool,
    pub stopped_by: String,
    /// The number of its attempted trials.
    pub trials: u32,
}

impl Search {
    /// A strand of which nothing is known yet.
    pub fn of_strand(strand: u32) -> Search {
        Search {
            strand,
            name: None,
            cell: None,
            repetition: 1,
            verdict: Verdict::Open,
            fixed: false,
            sessions: false,
            maximum_throughput: None,
            capacity: None,
            lower: None,
            upper: None,
            interval: None,
            estimate: None,
            at_usual_speed: None,
            limited_by: None,
            connections_bound: false,
            ended_with_range: false,
            stopped_by: "not ended".to_owned(),
            trials: 0,
        }
    }

    /// Returns the kind of its loads.
    pub fn arrivals(&self) -> Arrivals {
        Arrivals::are_sessions(self.sessions)
    }

    /// Returns what the search knows of the capacity or of the maximum throughput.
    pub fn found(&self, metric: Metric) -> Found {
        let capacity = self.capacity.as_ref().map(|found| (found.rate_per_s, found.at_least));
        let maximum =
            self.maximum_throughput.as_ref().map(|found| (found.rate_per_s, found.at_least));
        match metric {
            Metric::Capacity => result(capacity, self.upper),
            Metric::MaximumThroughput => result(maximum, None),
            _ => Found::between(None, None),
        }
    }

    /// Returns the trial in which the capacity or the maximum throughput was seen.
    pub fn trial_of(&self, metric: Metric) -> Option<u32> {
        match metric {
            Metric::Capacity => self.capacity.as_ref().map(|capacity| capacity.trial),
            Metric::MaximumThroughput => self.maximum_throughput.as_ref().map(|max| max.trial),
            _ => None,
        }
    }

    /// Returns true if it has a result, even an unknown one. A search that an interrupted run never came to
    /// has none, and this says nothing about the system.
    pub fn is_made(&self) -> bool {
        0 < self.trials || !matches!(self.verdict, Verdict::Interrupted | Verdict::Open)
    }

    /// Returns true if the search found no more than a lower bound, since its range ended.
    pub fn is_cut_off(&self) -> bool {
        let result = self.capacity.as_ref().map(|capacity| capacity.at_least);
        let result = result.or(self.maximum_throughput.as_ref().map(|maximum| maximum.at_least));
        self.ended_with_range && result == Some(true)
    }

    /// Returns true if the search found its capacity: it ended by its own rule, with a load that met the SLO
    /// and a higher one that missed it. It is the only place of this rule.
    pub fn is_enclosed(&self) -> bool {
        self.verdict == Verdict::Answered && !self.fixed && self.upper.is_some()
    }
}

fn result(figure: Option<(f64, bool)>, at_most: Option<f64>) -> Found {
    match figure {
        Some((per_s, false)) => Found::Exact(per_s),
        figure => Found::between(figure.map(|(per_s, _)| per_s), at_most),
    }
}

/// Adds the interval of the capacity over searches that were made at least three times, if each of them
/// found it.
pub fn add_intervals(searches: &mut [Search]) {
    let of = |search: &Search| (search.cell.clone(), search.name.clone());
    let mut equal: BTreeMap<_, Vec<Option<f64>>> = BTreeMap::new();
    for search in searches.iter().filter(|search| search.is_made()) {
        equal.entry(of(search)).or_default().push(search.found(Metric::Capacity).exact());
    }
    for search in searches {
        let found = equal.get(&of(search)).and_then(|found| found.iter().copied().collect());
        search.interval = found.and_then(|found: Vec<f64>| around_median(&found));
    }
}

/// Returns the interval with the median, which is the figure that is shown: of results in two groups the mean, around
/// which the interval lies, is between these.
fn around_median(found: &[f64]) -> Option<(f64, f64)> {
    let (low, high) = estimate::interval(found, CONFIDENCE)?;
    let median = estimate::median(found)?;
    Some((low.min(median), high.max(median)))
}

/// A capacity estimated from all trials of a search.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Estimate {
    /// The offered rate that half of the trials meet, summed over all targets.
    pub rate_per_s: f64,
    /// The interval that contains it with a probability of 95 %.
    pub interval: (f64, f64),
    /// The share by which the load at which a trial begins to fail differs between trials (standard
    /// deviation).
    pub noise: f64,
    /// The exponent with which it follows the speed of the machine; absent if that is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slope: Option<f64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Maximum {
    /// The sustained rate, summed over all targets.
    pub rate_per_s: f64,
    /// True if the search shows no limit of the system, so that the maximum may be higher: it ended without
    /// an answer, or the system kept up with every load.
    #[serde(default)]
    pub at_least: bool,
    pub offered_per_s: f64,
    pub trial: u32,
    /// True if it was found by loads of sessions: both rates are of requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sessions: bool,
}

impl Maximum {
    /// Returns `994/s`, or `at least 994/s`; beside loads of sessions `994 requests/s`.
    pub fn rate_in_words(&self) -> String {
        result(Some((self.rate_per_s, self.at_least)), None)
            .in_words(|rate| self.arrivals().requests_in_words(rate))
    }

    /// Returns what was offered, with its unit.
    pub fn offered_in_words(&self) -> String {
        self.arrivals().requests_in_words(self.offered_per_s)
    }

    /// Returns the kind of the loads that found it.
    pub fn arrivals(&self) -> Arrivals {
        Arrivals::are_sessions(self.sessions)
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Capacity {
    /// The offered rate, summed over all targets.
    pub rate_per_s: f64,
    /// True if the capacity may be higher: the search ended without an answer, or no higher load missed the
    /// SLO.
    #[serde(default)]
    pub at_least: bool,
    pub completed_per_s: f64,
    pub trial: u32,
    /// The SLO in words: `p99 ≤ 100 ms and failures ≤ 0.1 %`.
    pub slo: String,
    /// The lowest higher load that missed the SLO, if one was tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_at_per_s: Option<f64>,
    /// The highest lower load that missed the SLO, if one did: then the capacity is in doubt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missed_below_per_s: Option<f64>,
    /// True if the capacity is in doubt, since a lower load missed the SLO, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_doubt: bool,
    /// True if its loads are sessions per second, each of which is several requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sessions: bool,
}

impl Capacity {
    /// Returns what it says without the loads that missed the SLO.
    pub fn found(&self) -> Found {
        result(Some((self.rate_per_s, self.at_least)), None)
    }

    /// Returns `300/s`, or `at least 300/s`.
    pub fn rate_in_words(&self) -> String {
        self.found().in_words(|rate| self.load_in_words(rate))
    }

    /// Returns what its search knows of it, `at least 43.8/s and at most 68.4/s`, and the loads beside it that missed
    /// the SLO, as far as this does not name them: a load that missed it is an upper bound, or missed it. Answers of
    /// earlier versions have no searches.
    pub fn known_in_words(&self, search: Option<&Search>) -> (String, String) {
        let known = search.map_or(self.found(), |search| search.found(Metric::Capacity));
        let is_bound = matches!(known, Found::Bounds { at_most: Some(_), .. });
        let missed_at_per_s = self.missed_at_per_s.filter(|_| !is_bound);
        let beside = Capacity { missed_at_per_s, ..self.clone() }.missed_in_words();
        (known.in_words(|per_s| self.load_in_words(per_s)), beside)
    }

    /// Returns a load with its unit: `300/s`, or `300 sessions/s`.
    pub fn load_in_words(&self, rate: f64) -> String {
        self.arrivals().load_in_words(rate)
    }

    /// Returns the kind of its loads.
    pub fn arrivals(&self) -> Arrivals {
        Arrivals::are_sessions(self.sessions)
    }

    /// Returns the loads beside it that missed the SLO: `; missed at 6,516/s; in doubt: 3,000/s below it
    /// missed too`. Empty if none did.
    pub fn missed_in_words(&self) -> String {
        let above =
            self.missed_at_per_s.map(|at| format!("; missed at {}", self.load_in_words(at)));
        let below = self.missed_below_per_s;
        let below =
            below.map(|at| format!("; in doubt: {} below it missed too", self.load_in_words(at)));
        [above, below].into_iter().flatten().collect()
    }
}

/// The most trials that are listed by their numbers.
pub(crate) const MOST_LISTED: usize = 12;

/// Names trials by their numbers, so many of them at most: `trial 5`, `trials 5, 6 and 7`, `trials 5, 6 and 4 more`.
pub fn trials_in_words(numbers: &[u32], most: usize) -> String {
    let mut listed: Vec<String> = numbers.iter().take(most).map(u32::to_string).collect();
    let further = numbers.len() - listed.len();
    if 0 < further {
        listed.push(format!("{further} more"));
    }
    match listed.split_last() {
        Some((last, before)) if !before.is_empty() => {
            format!("trials {} and {last}", before.join(", "))
        }
        Some((only, _)) => format!("trial {only}"),
        None => "no trial".to_owned(),
    }
}

/// Returns the failures of the trial in which most requests failed, if they are so many that its figures are not
/// those of a working system: `404 for 213 of 213 requests to /fast/ (trial 1, and 2 other trials fail)`.
pub fn failing_in_words<'a>(journal: impl Iterator<Item = &'a Entry>) -> Option<String> {
    let failing = |entry: &'a Entry| {
        let observed = entry.observed.as_ref()?;
        Some((observed.failed_share(), entry.trial, observed.failing_in_words()?))
    };
    let failing: Vec<(f64, u32, String)> = journal.filter_map(failing).collect();
    // Of equals the first.
    let (_, trial, words) = failing.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let others = match failing.len() {
        1 => String::new(),
        2 => ", and one other trial fails".to_owned(),
        n => format!(", and {} other trials fail", n - 1),
    };
    Some(format!("{words} (trial {trial}{others})"))
}

/// Returns the strands in which the service fails: so many requests failed in each of their trials that none has
/// figures of a working system.
pub fn failing_strands<'a>(journal: impl IntoIterator<Item = &'a Entry>) -> BTreeSet<u32> {
    let mut strands: BTreeMap<u32, bool> = BTreeMap::new();
    for entry in journal {
        if let Some(observed) = &entry.observed {
            *strands.entry(entry.strand.unwrap_or(1)).or_insert(true) &= observed.is_failing();
        }
    }
    strands.into_iter().filter_map(|(strand, is_failing)| is_failing.then_some(strand)).collect()
}

/// Returns what makes the figures of a run those of something else than the service, with the number of trials that
/// show it, and the remedy: habits of its server, a rate limiter and disturbances; and before each the subject of the
/// line.
pub fn habits_in_words(journal: &[Entry]) -> Vec<(&'static str, String)> {
    let in_words = |habit: Habit| Some((habit.about(), habit_in_words(journal, habit)?));
    let habits = Habit::ALL.into_iter().filter_map(in_words);
    let limiter = limiter_in_words(journal).map(|text| ("rate limit", text));
    let disturbed = disturbed_in_words(journal)
        .map(|text| ("disturbed", format!("{text}; measure again once the machine is quiet")));
    habits.chain(limiter).chain(disturbed).collect()
}

/// Returns what disturbed most trials of a run, and what that means for its answer: `3 of 4 trials were disturbed (trial
/// 4: pid 9 cc used 89.5 % of CPU 0), which only slows a system down: …`; `None` if it was not most of them.
pub fn disturbed_in_words(journal: &[Entry]) -> Option<String> {
    let trials = || journal.iter().filter(|entry| entry.purpose == Purpose::Trial);
    let disturbed = || trials().filter(|entry| !entry.disturbed.is_empty());
    let (count, all) = (disturbed().count(), trials().count());
    let last = disturbed().next_back().filter(|_| all < 2 * count)?;
    Some(format!(
        "{count} of {all} trials were disturbed (trial {}: {}), which only slows a system down: on a quiet machine it \
         probably does better",
        last.trial,
        last.disturbed.join("; ")
    ))
}

/// Returns the same of one habit; `None` if no trial shows it.
pub fn habit_in_words(journal: &[Entry], habit: Habit) -> Option<String> {
    let trials = journal.iter().filter(|entry| entry.purpose == Purpose::Trial);
    let observed: Vec<_> = trials.filter_map(|entry| entry.observed.as_ref()).collect();
    let shown = observed.iter().filter(|observed| observed.transport.contains(&habit)).count();
    let (what, remedy) = habit.in_words();
    (0 < shown).then(|| format!("{what} in {shown} of {} trials: {remedy}", observed.len()))
}

/// Returns what a rate limiter means for the bounds that a search found; `None` if none refused a notable share of the
/// requests of any trial. A limiter that saves up for bursts lets a short trial pass at a rate above its own.
fn limiter_in_words(journal: &[Entry]) -> Option<String> {
    let limited = journal.iter().filter_map(|entry| {
        let observed = entry.observed.as_ref()?;
        let refused = observed.failing.iter().filter(|failure| failure.is_of_limiter());
        let refused: u64 = refused.map(|failure| failure.count).sum();
        let share = refused as f64 / observed.requests.max(1) as f64;
        failing::is_failing(share).then_some((entry.trial, observed.succeeded_per_s))
    });
    let limited: Vec<(u32, Option<f64>)> = limited.collect();
    let numbers: Vec<u32> = limited.iter().map(|(trial, _)| *trial).collect();
    // Each of these trials spent what the limiter had saved up, the longest least of it.
    let least = limited.iter().filter_map(|(_, per_s)| *per_s).reduce(f64::min);
    let least = least.map_or(String::new(), |per_s| {
        format!(", and where it did as few as {}/s succeeded", grouped(per_s))
    });
    (!limited.is_empty()).then(|| {
        format!(
            "a rate limiter refused requests with 429 ({}){least}: a load above its rate that met the SLO may \
             have lived on what it had saved up in a pause; measure each load for longer (phases.measure.time, \
             --duration)",
            trials_in_words(&numbers, MOST_LISTED)
        )
    })
}

/// Returns how many trials were valid, with the numbers of the others: `15 of 18 trials valid; valid, but
/// disturbed: trial 3; valid, but in a slow machine: trial 4; slowed, but usable: trial 9; not valid: trials 12 and 13`.
pub fn validity_in_words<'a>(journal: impl Iterator<Item = &'a Entry> + Clone) -> String {
    let trials = journal.filter(|entry| entry.purpose == Purpose::Trial);
    let valid = trials.clone().filter(|entry| entry.status == Status::Valid).count();
    let mut text = format!("{valid} of {} trials valid", trials.clone().count());
    type Is = fn(&Entry) -> bool;
    let others: [(Is, &str); 5] = [
        (Entry::is_valid_but_disturbed, "valid, but disturbed"),
        (Entry::is_valid_but_slow, "valid, but in a slow machine"),
        (|entry| entry.status == Status::Bounded, "slowed, but usable"),
        (|entry| entry.status == Status::Invalid, "not valid"),
        (|entry| entry.status == Status::Aborted, "aborted"),
    ];
    for (is, what) in others {
        let all = trials.clone().filter(|entry| is(entry)).map(|entry| entry.trial);
        let numbers: Vec<u32> = all.collect();
        if !numbers.is_empty() {
            text += &format!("; {what}: {}", trials_in_words(&numbers, MOST_LISTED));
        }
    }
    text
}

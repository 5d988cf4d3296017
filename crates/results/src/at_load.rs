//! Equal trials, and what they say together.
//!
//! This is the only place that concludes something from several trials at one load. A search, its answer,
//! the explanation, the terminal and the report take their words from it, so no two of them can contradict
//! each other.

use std::collections::BTreeMap;

use measure::quantity::{counted, requests};
use measure::{Rate, estimate};

use crate::journal::{Entry, Observed, Purpose};
use crate::slo::{self, Judged, Slo};

#[cfg(test)]
mod tests;

/// The most trials that are judged together, if each alone has too few requests near the limit for a
/// verdict.
const MOST_TOGETHER: usize = 3;

/// The mark of equal trials: they measured one search at one combination of levels with one load.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Configuration<'a> {
    pub cell: Option<&'a str>,
    pub search: Option<&'a str>,
    pub purpose: Purpose,
    /// The bits of the load, which are ordered as positive numbers are.
    load: Option<u64>,
}

impl Configuration<'_> {
    /// Returns what trials of several levels have in common.
    pub fn at_any_level(self) -> Self {
        Configuration { cell: None, ..self }
    }

    /// Returns the requested rate of each target; `None` of a closed loop, a shape and a trace.
    pub fn load(self) -> Option<f64> {
        self.load.map(f64::from_bits)
    }
}

impl Entry {
    pub fn configuration(&self) -> Configuration<'_> {
        Configuration {
            cell: self.cell.as_deref(),
            search: self.search.as_deref(),
            purpose: self.purpose,
            load: self.asked_per_target_per_s.or(self.asked_per_s).map(f64::to_bits),
        }
    }

    /// Returns the figures of a trial that is evidence about the system, even if only as a bound.
    pub fn evidence(&self) -> Option<&Observed> {
        let is_evidence = self.purpose == Purpose::Trial && self.status.answers();
        self.observed.as_ref().filter(|_| is_evidence)
    }
}

/// Returns the trials that are evidence about the system, with their figures.
pub fn evidence<'a>(
    journal: impl IntoIterator<Item = &'a Entry>,
) -> impl Iterator<Item = (&'a Entry, &'a Observed)> {
    journal.into_iter().filter_map(|entry| Some((entry, entry.evidence()?)))
}

/// The judgement of trials by the SLO.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Conclusion {
    Met,
    Missed,
    /// There are too few requests for a verdict: the next trial at this load is judged together with these. Without any
    /// request of an objective there is none however many they are.
    Open,
}

/// One trial, or some that are judged as one long load.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement<'a> {
    pub trials: Vec<&'a Entry>,
    pub conclusion: Conclusion,
}

impl<'a> Judgement<'a> {
    fn of(trials: Vec<&'a Entry>) -> Judgement<'a> {
        let is_met = |met: bool| if met { Conclusion::Met } else { Conclusion::Missed };
        let each: Vec<&[Judged]> = trials.iter().map(|entry| &entry.slo[..]).collect();
        let conclusion = match &trials[..] {
            _ if slo::unmeasured(&each).is_some() => Conclusion::Open,
            // Only a search for a capacity puts a load to the test again. Up to version 1 there are no figures.
            [only] if only.why.is_none() || only.slo.is_empty() => {
                is_met(only.observed.as_ref().and_then(|of| of.slo_met) == Some(true))
            }
            several => {
                let pooled = slo::pooled(&each);
                let is_open = pooled.verdict == slo::Verdict::Undecided;
                match is_open && several.len() < MOST_TOGETHER {
                    true => Conclusion::Open,
                    false => is_met(pooled.met),
                }
            }
        };
        Judgement { trials, conclusion }
    }

    /// Returns the objective of which these have no request, if nothing else keeps them from meeting the SLO.
    fn unmeasured(&self) -> Option<Slo> {
        let each: Vec<&[Judged]> = self.trials.iter().map(|entry| &entry.slo[..]).collect();
        slo::unmeasured(&each)
    }

    /// Returns true if the next trial at this load is judged together with these.
    fn is_to_be_extended(&self) -> bool {
        let is_of_search = self.trials[0].why.is_some();
        self.conclusion == Conclusion::Open && is_of_search && self.trials.len() < MOST_TOGETHER
    }

    /// Returns what decided: `trial 3: p99 ≤ 100 ms is met: …`, or of several `trials 3 and 4 together: …`.
    fn in_words(&self) -> Option<String> {
        if let [only] = &self.trials[..] {
            let mut missed = only.slo.iter().filter(|judged| !judged.met);
            // One without a request is not missed.
            let missed = missed.clone().find(|judged| 0 < judged.of).or(missed.next());
            let judged = missed.or(only.slo.first())?;
            return Some(format!("trial {}: {}", only.trial, judged.text));
        }
        let numbers: Vec<String> = self.trials.iter().map(|one| one.trial.to_string()).collect();
        let (last, before) = numbers.split_last()?;
        let each: Vec<&[Judged]> = self.trials.iter().map(|entry| &entry.slo[..]).collect();
        let sums = slo::sums(&each);
        let mut missed = sums.iter().filter(|sum| !sum.met);
        let missed = missed.clone().find(|sum| 0 < sum.of).or(missed.next()).or(sums.first())?;
        let together = format!("trials {} and {last} together: {}", before.join(", "), missed.slo);
        if missed.of == 0 {
            return Some(format!("{together} is undecided: no request was measured"));
        }
        let word = if missed.met { "is met" } else { "is missed" };
        let (over, of) = (counted(missed.over), requests(missed.of));
        Some(format!("{together} {word}: {over} of {of} over"))
    }
}

/// Returns the judgements on the trials of one search, in the order of the last trial of each. Without an SLO
/// there are none.
pub fn judgements<'a>(journal: impl IntoIterator<Item = &'a Entry>) -> Vec<Judgement<'a>> {
    let mut judgements: Vec<Judgement<'a>> = Vec::new();
    for (entry, observed) in evidence(journal) {
        if observed.slo_met.is_none() {
            continue;
        }
        let extends = |open: &Judgement<'_>| {
            open.is_to_be_extended() && open.trials[0].configuration() == entry.configuration()
        };
        let open = judgements.iter().rposition(extends).map(|place| judgements.remove(place));
        let trials = open.map_or(Vec::new(), |open| open.trials);
        judgements.push(Judgement::of([trials, vec![entry]].concat()));
    }
    judgements
}

/// Returns the conclusion from each trial of a run, which is that of the trials with which it is judged. A trial
/// that is no evidence has none.
pub fn conclusions<'a>(journal: impl IntoIterator<Item = &'a Entry>) -> BTreeMap<u32, Conclusion> {
    let judgements = by_strand(journal).into_values().flat_map(judgements);
    let each = judgements.flat_map(|Judgement { trials, conclusion }| {
        trials.into_iter().map(move |entry| (entry.trial, conclusion))
    });
    each.collect()
}

/// Returns the trials of each strand: one search, made once.
pub fn by_strand<'a>(
    journal: impl IntoIterator<Item = &'a Entry>,
) -> BTreeMap<Option<u32>, Vec<&'a Entry>> {
    let mut strands: BTreeMap<_, Vec<&Entry>> = BTreeMap::new();
    for entry in journal {
        strands.entry(entry.strand).or_default().push(entry);
    }
    strands
}

/// The trials of one search at one load.
#[derive(Clone, Debug, PartialEq)]
pub struct AtLoad<'a> {
    /// Every attempt, in order.
    pub attempts: Vec<&'a Entry>,
}

/// Returns the loads of one search, each once, in the order in which they were tried.
pub fn by_load<'a>(journal: impl IntoIterator<Item = &'a Entry>) -> Vec<AtLoad<'a>> {
    let mut places = BTreeMap::new();
    let mut loads: Vec<AtLoad<'_>> = Vec::new();
    for entry in journal.into_iter().filter(|entry| entry.purpose == Purpose::Trial) {
        let place = *places.entry(entry.configuration()).or_insert(loads.len());
        match loads.get_mut(place) {
            Some(load) => load.attempts.push(entry),
            None => loads.push(AtLoad { attempts: vec![entry] }),
        }
    }
    loads
}

/// Returns the attempts of one search with this purpose at this load of each target; `None` is one without a rate.
pub fn at<'a>(
    journal: impl IntoIterator<Item = &'a Entry>,
    purpose: Purpose,
    load: Option<Rate>,
) -> AtLoad<'a> {
    let load = load.map(Rate::as_per_second);
    let is_here = |entry: &&Entry| entry.purpose == purpose && entry.configuration().load() == load;
    AtLoad { attempts: journal.into_iter().filter(is_here).collect() }
}

impl<'a> AtLoad<'a> {
    /// Returns the load of all targets: what was asked for, or of a load without a rate what was offered.
    pub fn rate_per_s(&self) -> Option<f64> {
        let (entry, observed) = self.evidence().next()?;
        Some(entry.asked_per_s.unwrap_or(observed.offered_per_s))
    }

    /// Returns true if this is the load of all targets; up to version 2 that was what a trial was offered.
    pub fn is_of(&self, rate_per_s: f64) -> bool {
        let mut evidence = self.evidence();
        evidence.any(|(entry, observed)| {
            entry.asked_per_s == Some(rate_per_s) || observed.offered_per_s == rate_per_s
        })
    }

    /// Returns the trials that are evidence about the system.
    pub fn evidence(&self) -> impl Iterator<Item = (&'a Entry, &'a Observed)> {
        evidence(self.attempts.iter().copied())
    }

    /// Returns the judgements on the trials, in the order of the last trial of each. Without an SLO there are none.
    pub fn judgements(&self) -> Vec<Judgement<'a>> {
        judgements(self.attempts.iter().copied())
    }

    /// Returns what the majority of the judgements says; `None` without an SLO, and before the first trial that is
    /// evidence.
    pub fn conclusion(&self) -> Option<Conclusion> {
        majority(&self.judgements())
    }

    /// Returns the median of the rates that the trials sustained, summed over all targets. A trial in which the
    /// service failed sustained nothing.
    pub fn sustained_per_s(&self) -> Option<f64> {
        let sustained = self.evidence().map(|(_, of)| of.throughput_per_s().unwrap_or(0.0));
        estimate::median(&sustained.collect::<Vec<f64>>())
    }

    /// Returns the trial that stands for the load: the first of those that say what all of them say.
    pub fn representative(&self) -> Option<(&'a Entry, &'a Observed)> {
        let judgements = self.judgements();
        let conclusion = majority(&judgements);
        match judgements.into_iter().find(|of| Some(of.conclusion) == conclusion) {
            Some(agreeing) => evidence(agreeing.trials).next(),
            None => self.evidence().next(),
        }
    }

    /// Returns true if this trial is one of them.
    pub fn has(&self, trial: u32) -> bool {
        self.attempts.iter().any(|entry| entry.trial == trial)
    }

    /// Returns the objective of which no request was measured, with the trials that had none, if that leaves the load
    /// without a verdict and no further trial is judged together with them.
    pub fn unmeasured(&self) -> Option<(Slo, Vec<u32>)> {
        let judgements = self.judgements();
        let is_open = majority(&judgements) == Some(Conclusion::Open);
        if !is_open || judgements.iter().any(Judgement::is_to_be_extended) {
            return None;
        }
        let slo = judgements.iter().find_map(Judgement::unmeasured)?;
        let lacking = judgements.iter().filter(|one| one.unmeasured() == Some(slo));
        let trials = lacking.flat_map(|one| one.trials.iter().map(|entry| entry.trial));
        Some((slo, trials.collect()))
    }

    /// Returns why all trials together cannot decide an objective, however fast the answers were.
    pub fn too_few_in_words(&self) -> Option<String> {
        let each: Vec<&[Judged]> = self.evidence().map(|(entry, _)| &entry.slo[..]).collect();
        slo::too_few_in_words(&each)
    }

    /// Describes the judgements: `1 of 2 trials met it (trial 3: …; trial 4: …)`. One that is open counts neither way.
    pub fn in_words(&self, most: usize) -> String {
        let judgements = self.judgements();
        let is_decided = |one: &&Judgement<'_>| one.conclusion != Conclusion::Open;
        let (met, missed) = counts(&judgements);
        let is_together = judgements.iter().filter(is_decided).any(|one| 1 < one.trials.len());
        let what = match (is_together, met + missed) {
            (false, 1) => "trial",
            (false, _) => "trials",
            (true, 1) => "judgement",
            (true, _) => "judgements",
        };
        let each: Vec<String> = judgements.iter().filter_map(Judgement::in_words).collect();
        let each = listed(&each, most);
        match met + missed {
            0 => format!("there are too few requests for a verdict yet ({each})"),
            of => format!("{met} of {of} {what} met it ({each})"),
        }
    }
}

/// Returns the numbers of judgements by which the SLO was met and missed; those that are open are neither.
fn counts(judgements: &[Judgement<'_>]) -> (usize, usize) {
    let count = |wanted| judgements.iter().filter(|one| one.conclusion == wanted).count();
    (count(Conclusion::Met), count(Conclusion::Missed))
}

fn majority(judgements: &[Judgement<'_>]) -> Option<Conclusion> {
    match counts(judgements) {
        (0, 0) => judgements.first().map(|_| Conclusion::Open),
        (met, missed) if missed < met => Some(Conclusion::Met),
        _ => Some(Conclusion::Missed),
    }
}

/// Joins sentences, at most so many of them.
pub fn listed(all: &[String], most: usize) -> String {
    let further = all.len().saturating_sub(most);
    let mut text = all[..all.len() - further].join("; ");
    if 0 < further {
        text += &format!("; and {further} more");
    }
    text
}

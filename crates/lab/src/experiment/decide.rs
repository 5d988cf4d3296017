//! The next step, from the journal alone: a pure function, so that a run is resumed by reading it.

use measure::{Nanos, Random, Rate, estimate};
use results::journal::{Entry, Observed, Purpose, Status};

use crate::answer::Ending;
use crate::search::{self, Next, Point};
use crate::spec::{BackendKind, Resolved, Start};
use crate::trial;

#[cfg(test)]
mod tests;

/// The most repetitions of an aborted trial.
const MOST_REPEATS_OF_ABORTED: u32 = 2;

/// The most probes if none of them is valid. A disturbance only slows a probe down, so the fastest
/// is the best estimate.
const MOST_PROBES: usize = 3;

/// The longest wait for a calm machine before one attempt.
const LONGEST_WAIT: Nanos = Nanos::from_secs(60);

#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Run(Attempt),
    End(Ending),
}

/// One attempt at a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    pub purpose: Purpose,
    /// The rate of each target; `None` is a closed loop.
    pub asked: Option<Rate>,
    pub repetition: u32,
    /// The number of the attempt: 1, or more if earlier attempts at the same trial gave no answer.
    pub attempt: u32,
    /// The longest wait for a calm machine; `None` begins at once.
    pub await_calm: Option<Nanos>,
}

pub fn decide(resolved: &Resolved, journal: &[Entry]) -> Decision {
    let spec = &resolved.spec;
    let Some(search) = &spec.search else {
        let asked = spec.load.rate.map(|rate| *rate);
        let points = points(resolved, journal);
        return match points.is_empty() {
            true => attempt(resolved, journal, Purpose::Trial, asked),
            false => Decision::End(Ending::Answered("the load was measured".to_owned())),
        };
    };
    let probed = match search.start {
        Start::At(_) => None,
        Start::Probe(_) => match probe(resolved, journal) {
            Ok(probed) => Some(probed),
            Err(decision) => return decision,
        },
    };
    let points = points(resolved, journal);
    if let Some(asked) = unfinished(resolved, journal) {
        return attempt(resolved, journal, Purpose::Trial, Some(asked));
    }
    match search::next(search, probed, &points) {
        Next::Load(asked) => attempt(resolved, journal, Purpose::Trial, Some(asked)),
        Next::Stopped(rule) => Decision::End(Ending::Answered(rule)),
        Next::Ended { answered: true, why } => Decision::End(Ending::Answered(why)),
        Next::Ended { answered: false, why } => no_answer(why),
    }
}

/// Returns the loads whose repetitions are complete, in the order in which they were tried.
pub fn points(resolved: &Resolved, journal: &[Entry]) -> Vec<Point> {
    loads(journal)
        .into_iter()
        .filter_map(|asked| {
            let answering: Vec<&Observed> = answering(journal, asked).collect();
            if (answering.len() as u32) < resolved.spec.repeat.trials.0 {
                return None;
            }
            let sustained: Vec<f64> = answering.iter().map(|o| o.sustained_per_s).collect();
            let met = answering.iter().filter(|o| o.slo_met == Some(true)).count();
            let stated = answering.iter().any(|o| o.slo_met.is_some());
            Some(Point {
                // A closed loop has no rate; its only point is never compared.
                asked: asked.unwrap_or_else(|| Rate::per_second(1.0).expect("one is positive")),
                sustained_per_s: estimate::median(&sustained)?,
                slo_met: stated.then(|| answering.len() < 2 * met),
            })
        })
        .collect()
}

/// Returns the loads tried, each once, in order.
fn loads(journal: &[Entry]) -> Vec<Option<Rate>> {
    let mut loads = Vec::new();
    for entry in journal.iter().filter(|entry| entry.purpose == Purpose::Trial) {
        let asked = asked(entry);
        if !loads.contains(&asked) {
            loads.push(asked);
        }
    }
    loads
}

fn asked(entry: &Entry) -> Option<Rate> {
    entry.asked_per_target_per_s.and_then(Rate::per_second)
}

/// Returns the trials at a load whose results describe the system.
fn answering(journal: &[Entry], load: Option<Rate>) -> impl Iterator<Item = &Observed> {
    journal
        .iter()
        .filter(|entry| entry.purpose == Purpose::Trial && entry.status.answers())
        .filter(move |entry| asked(entry) == load)
        .filter_map(|entry| entry.observed.as_ref())
}

/// Returns the load that still lacks a repetition, if any.
fn unfinished(resolved: &Resolved, journal: &[Entry]) -> Option<Rate> {
    let wanted = resolved.spec.repeat.trials.0;
    let lacks = |load: &Option<Rate>| (answering(journal, *load).count() as u32) < wanted;
    loads(journal).into_iter().find(lacks).flatten()
}

/// Returns what the closed loop completed on each target, or the step that is needed to know it.
fn probe(resolved: &Resolved, journal: &[Entry]) -> Result<Rate, Decision> {
    let probes = || journal.iter().filter(|entry| entry.purpose == Purpose::Probe);
    let measured: Vec<f64> =
        probes().filter_map(|entry| Some(entry.observed.as_ref()?.completed_per_s)).collect();
    let is_known = probes().any(|entry| entry.status == Status::Valid);
    if !is_known && measured.len() < MOST_PROBES {
        match attempt(resolved, journal, Purpose::Probe, None) {
            // The probes that were measured are used, although none is valid.
            Decision::End(_) if !measured.is_empty() => {}
            next => return Err(next),
        }
    }
    let fastest = measured.into_iter().fold(0.0, f64::max);
    Rate::per_second(fastest / f64::from(targets(resolved)))
        .ok_or_else(|| no_answer("the probe completed nothing".to_owned()))
}

pub(crate) fn targets(resolved: &Resolved) -> u32 {
    match resolved.spec.where_.backend {
        BackendKind::External => resolved.spec.sut.endpoint.0.len() as u32,
        BackendKind::Local | BackendKind::Simulated => resolved.spec.sut.instances.0,
    }
}

/// Returns the next attempt at this load, unless the budget is used up.
fn attempt(
    resolved: &Resolved,
    journal: &[Entry],
    purpose: Purpose,
    load: Option<Rate>,
) -> Decision {
    let budget = &resolved.spec.budget;
    let here = |entry: &&Entry| entry.purpose == purpose && asked(entry) == load;
    let answered = journal.iter().filter(here).filter(|e| e.status.answers()).count() as u32;
    let repetition = answered + 1;
    let failed: Vec<&Entry> =
        journal.iter().filter(here).filter(|entry| entry.repetition == repetition).collect();
    let count = |status| failed.iter().filter(|entry| entry.status == status).count() as u32;
    let (aborted, invalid) = (count(Status::Aborted), count(Status::Invalid));
    let last_reason = || {
        let reasons = failed.last().map(|entry| entry.reasons.join("\n  "));
        reasons.unwrap_or_default()
    };
    if MOST_REPEATS_OF_ABORTED < aborted {
        return no_answer(format!("a trial was aborted {aborted} times: {}", last_reason()));
    }
    if budget.invalid_attempts < invalid {
        return no_answer(format!("a trial was not valid {invalid} times: {}", last_reason()));
    }
    let counted = |entry: &&Entry| entry.status != Status::Invalid;
    let trials = journal.iter().filter(|entry| entry.purpose == Purpose::Trial);
    let trials = trials.filter(counted).count() as u32;
    if purpose == Purpose::Trial && budget.trials.0 <= trials {
        return no_answer(match resolved.spec.search.as_ref().map(|s| s.stop.is_empty()) {
            Some(false) => format!("no stop rule fired in the {trials} trials allowed"),
            _ => format!("the {trials} trials allowed were not enough"),
        });
    }
    let length = |entry: &Entry| trial::planned_length(resolved, entry.purpose);
    let next = trial::planned_length(resolved, purpose);
    let spent: Nanos = journal.iter().filter(counted).map(length).sum();
    if let Some(time) = budget.time.filter(|time| **time < spent + next) {
        return no_answer(format!("no stop rule fired in the {} allowed", *time));
    }
    let repeats_invalid = failed.last().is_some_and(|entry| entry.status == Status::Invalid);
    let await_calm = match repeats_invalid {
        false => None,
        true => {
            let allowed = trial::disturbance_allowed(resolved);
            let left = allowed.saturating_sub(lost(resolved, journal));
            if left < next {
                return no_answer(format!(
                    "disturbances used up the {} that budget.disturbance allows: {}",
                    allowed.in_words(),
                    last_reason()
                ));
            }
            Some(left.saturating_sub(next).min(LONGEST_WAIT))
        }
    };
    let attempt = failed.len() as u32 + 1;
    Decision::Run(Attempt { purpose, asked: load, repetition, attempt, await_calm })
}

/// Returns the time lost to disturbances: invalid trials, and waiting for a calm machine.
fn lost(resolved: &Resolved, journal: &[Entry]) -> Nanos {
    let waited = journal.iter().filter_map(|entry| entry.waited.as_ref());
    let waited: Nanos = waited.map(|waited| Nanos(waited.waited_ns)).sum();
    let invalid = journal.iter().filter(|entry| entry.status == Status::Invalid);
    let repeated: Nanos = invalid.map(|e| trial::planned_length(resolved, e.purpose)).sum();
    waited + repeated
}

fn no_answer(why: String) -> Decision {
    Decision::End(Ending::NoAnswer(why))
}

/// Returns a trial's own seed, from the seed of the run, the load, the repetition and the attempt.
pub fn seed_of(seed: u64, asked: Option<Rate>, repetition: u32, attempt: u32) -> u64 {
    let load = asked.map_or(0, |rate| rate.as_per_second().to_bits());
    let counted = u64::from(repetition) << 32 | u64::from(attempt);
    let of_load = Random::part(seed, load).next_u64();
    // 53 bits: a JSON number that every reader keeps exactly.
    Random::part(of_load, counted).next_u64() >> 11
}

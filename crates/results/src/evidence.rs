//! The rule that decides what a trial is evidence of, if its generator was late or its machine was
//! disturbed. It is the only place of this rule: all searches, fixed loads and `load --slo` follow it.
//!
//! Lateness and disturbance can only slow a system down. So a verdict that is the same at both
//! bounds stands:
//!
//! - An SLO that was met although the trial was slowed is met. This answers the question about one
//!   load. It is no evidence in a search for a capacity, where the misses of such trials do not
//!   count: near the capacity a trial meets its SLO or misses it by chance, so passes alone would
//!   raise the answer.
//! - An SLO that was missed stays missed only if nothing but the generator was slow, and only if it
//!   is missed although every request is forgiven the *longest* lateness of the load. A request's
//!   own lateness is not enough: a punctual request behind a burst of late ones waits for them. If
//!   the whole load is delayed by its longest lateness, no answer of a system comes later than the
//!   real one, so what is still over is over without lateness, too. What disturbs a machine, or
//!   runs on the generator's CPU, slows the system under test as well; then no miss is evidence.
//! - A completed rate is a lower bound: it is evidence only if the system kept up with its load. A
//!   plateau may be that of the generator.
//! - A closed loop that its generator limited completed less than the system can: its rate is a lower
//!   bound, which is enough for a probe. Its response times contain the generator's own work, so an SLO
//!   stays missed only if failures miss it.
//! - An open loop that completed less than it offered while its generator worked all the time is judged in the same
//!   way: it read the responses late, and nobody knows what the system would have completed.
//! - Failures come before noise. The target refused connections, or answered so many requests wrongly that an
//!   objective is missed by them alone, or without objectives that the service fails: no late generator does that.
//!   A timeout or a reset is no answer, and may come from a disturbance. If the machine was disturbed, so may what a
//!   slowed server answers (5xx, 408, 429); of most requests only refusals (429, 503) may, unless nothing was answered
//!   well.
//! - An SLO that only unfinished requests miss is open, however well the generator did.
//! - The figures of a slowed trial are bounds; they are in no average and no comparison.

use measure::Nanos;
use measure::bounds::{BUSY, OTHERS_UNNOTICED};

use crate::failing;
use crate::load::{Gate, GateName, Generator, Load, Part};
use crate::slo::{Judged, Outcome, Verdict};
use crate::times::Times;

#[cfg(test)]
mod tests;

/// The fitness of a generator and its machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fitness {
    Valid,
    /// The generator's own work made it late, and nothing else was slowed.
    LateByItself,
    /// The generator was so busy that it limited the load, and nothing else was slowed.
    Busy,
    /// The machine was disturbed, or something unknown made the generator late: the system under test
    /// may have been slowed, too.
    Slowed,
    /// Requests were lost, or the reason is unknown.
    Lost,
}

/// The verdict on the SLO at both bounds of the response time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AtBounds {
    /// It is met at the upper bound, so at both.
    Met,
    /// It is missed at the lower bound, so at both.
    Missed,
    Between,
}

/// The use that is made of a trial.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Question {
    /// The verdict on the SLO at one load.
    Verdict,
    /// The verdict, if there is an SLO, and the completed rate, as in a sweep for the maximum
    /// throughput.
    VerdictAndRate,
    /// The verdicts at many loads, which together enclose the capacity.
    Capacity,
    /// The same and the completed rate, as in a sweep for the capacity.
    CapacityAndRate,
    /// A lower bound of the completed rate, as in a probe.
    LowerBound,
    /// The figures themselves.
    Figures,
}

/// The part of a trial that may be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Evidence {
    /// All of its figures.
    Whole,
    /// The answer to its question; its times are upper bounds and its rates lower ones.
    Answer,
    /// Nothing: the trial has to be repeated.
    Nothing,
}

/// Returns the part of a trial that may be used. Without an SLO there is no verdict.
pub fn of(
    fitness: Fitness,
    verdict: Option<AtBounds>,
    kept_up: bool,
    question: Question,
) -> Evidence {
    let of_verdict = match (fitness, verdict) {
        (Fitness::Valid, _) => return Evidence::Whole,
        (Fitness::Lost, _) | (_, Some(AtBounds::Between)) => false,
        (Fitness::Slowed, Some(AtBounds::Missed)) => false,
        (Fitness::LateByItself | Fitness::Busy, Some(AtBounds::Met | AtBounds::Missed)) => true,
        (Fitness::Slowed, Some(AtBounds::Met)) => !question.asks_for_capacity(),
        (Fitness::LateByItself | Fitness::Slowed | Fitness::Busy, None) => {
            question == Question::VerdictAndRate
        }
    };
    let answers = match question {
        Question::Verdict | Question::Capacity => of_verdict,
        Question::VerdictAndRate | Question::CapacityAndRate => of_verdict && kept_up,
        Question::LowerBound => fitness == Fitness::Busy,
        Question::Figures => false,
    };
    if answers { Evidence::Answer } else { Evidence::Nothing }
}

/// Returns the part of a load that may be used, with the reason in words if the load is not valid.
pub fn of_load(
    load: &Load,
    outcome: Option<&Outcome>,
    question: Question,
) -> (Evidence, Option<String>) {
    let fitness = Fitness::of(load);
    let verdict = outcome.map(|outcome| match fitness {
        Fitness::Busy => at_bounds_of_failures(outcome, &load.total),
        Fitness::Valid | Fitness::LateByItself | Fitness::Slowed | Fitness::Lost => {
            at_bounds(outcome, &load.total)
        }
    });
    let asks_for_verdict = !matches!(question, Question::Figures | Question::LowerBound);
    // No wait brings an answer of a target that is not there any more.
    let may_be_answered = !failing::is_gone(load);
    if asks_for_verdict
        && may_be_answered
        && outcome.is_some_and(|outcome| outcome.rests_on_unfinished(&load.total))
    {
        let text = "only unfinished requests miss the SLO, and these may still be answered: wait longer for them \
                    (phases.drain, --drain)";
        return (Evidence::Nothing, Some(text.to_owned()));
    }
    let evidence = of(fitness, verdict, load.saturated == Some(false), question);
    let objectives = outcome.map_or(&[][..], |outcome| &outcome.objectives);
    // A generator that is late alone makes no server slow enough to refuse requests.
    let may_be_slowed = !load.validity.is_refused_only_by(&[GateName::Late, GateName::Busy]);
    if evidence == Evidence::Nothing && failing::is_certain(load, objectives, may_be_slowed) {
        let text = match failing::is_gone(load) {
            true => GONE,
            false => {
                "the failures decide: neither lateness nor a disturbance makes a response wrong"
            }
        };
        return (Evidence::Answer, Some(text.to_owned()));
    }
    let text = match (evidence, fitness, verdict) {
        (Evidence::Answer, Fitness::Busy, _) if question == Question::LowerBound => {
            Some("the rate is a lower bound: the system can complete more")
        }
        (Evidence::Whole, ..) | (_, Fitness::Lost, _) | (_, _, None) => None,
        (Evidence::Answer, Fitness::Busy, Some(AtBounds::Missed)) => {
            Some("the failures decide: they miss the SLO, however busy the generator was")
        }
        (Evidence::Answer, _, Some(AtBounds::Missed)) => Some(
            "the lower bound decides: the SLO is missed even without the generator's longest \
             lateness",
        ),
        (Evidence::Answer, ..) => {
            Some("the upper bound decides: the SLO is met although the trial was slowed")
        }
        (_, Fitness::Busy, Some(AtBounds::Between)) => {
            Some("no bound decides: the SLO may be met without the generator's own work")
        }
        (_, Fitness::Slowed, Some(AtBounds::Missed | AtBounds::Between)) => {
            Some("no bound decides: what slowed the trial may be why the SLO was missed")
        }
        (_, Fitness::Slowed, Some(AtBounds::Met)) if question.asks_for_capacity() => {
            Some("the SLO was met, but slowed trials count neither way in a search for a capacity")
        }
        (_, Fitness::LateByItself, Some(AtBounds::Between)) => {
            Some("no bound decides: the SLO may be met without the generator's lateness")
        }
        (..) => None,
    };
    (evidence, text.map(str::to_owned))
}

/// The words for a target that was not there.
const GONE: &str =
    "the target decides: neither lateness nor a disturbance makes it refuse connections";

/// The outcomes of failed requests that a punctual generator might have avoided.
const MAY_BE_LATE: [&str; 2] = ["timeout", "dropped"];

/// Returns the verdict at both bounds of the response time.
pub fn at_bounds(outcome: &Outcome, part: &Part) -> AtBounds {
    bounded(outcome, |judged| is_missed_without_lateness(judged, part))
}

/// Returns the verdict if a missed limit of a response time says nothing, and only failures do.
fn at_bounds_of_failures(outcome: &Outcome, part: &Part) -> AtBounds {
    bounded(outcome, |judged| is_missed_by_failures(judged, part))
}

fn bounded(outcome: &Outcome, is_missed: impl Fn(&Judged) -> bool) -> AtBounds {
    match outcome.met {
        true => AtBounds::Met,
        false if outcome.objectives.iter().any(&is_missed) => AtBounds::Missed,
        false => AtBounds::Between,
    }
}

/// Returns true if the objective is missed although every request is forgiven the longest lateness
/// of the load: then no lateness is the cause.
fn is_missed_without_lateness(judged: &Judged, part: &Part) -> bool {
    let slo = &judged.slo;
    if slo.label().is_some() {
        // Counted without the longest lateness already.
        return slo.is_missed_by(judged.over_at_least, judged.of);
    }
    let Some(max) = slo.response_time() else { return is_missed_by_failures(judged, part) };
    let longest = part.lateness.as_ref().map_or(0, |times| times.max_ns);
    let times = part.response_time.as_ref().and_then(Times::histogram);
    let over = times.map_or(0, |times| times.count_above(Nanos(max.0.saturating_add(longest))));
    slo.is_missed_by(over, part.counts.intended)
}

/// Returns true if failures that no lateness causes are enough to miss the objective: every one of them
/// is over.
fn is_missed_by_failures(judged: &Judged, part: &Part) -> bool {
    // Which failures of a label lateness may have caused is not known here.
    if judged.slo.label().is_some() {
        return false;
    }
    let late = MAY_BE_LATE.iter().filter_map(|name| part.outcomes.get(*name));
    let over = part.counts.failed.saturating_sub(late.sum());
    judged.slo.is_missed_by(over, part.counts.intended)
}

impl Outcome {
    /// Returns true if objectives are missed, but only since requests were unfinished: these may still have met
    /// them.
    pub fn rests_on_unfinished(&self, part: &Part) -> bool {
        let rests = |judged: &Judged| {
            let over = judged.over.saturating_sub(part.counts.unfinished);
            let is_of_all = judged.slo.label().is_none();
            is_of_all
                && judged.verdict == Verdict::Undecided
                && over as f64 <= judged.slo.most_over(judged.of)
        };
        let mut missed = self.objectives.iter().filter(|judged| !judged.met).peekable();
        missed.peek().is_some() && missed.all(rests)
    }
}

impl Load {
    /// Returns the part of the load that may be used for its question, with the reason in words if it is not valid:
    /// that on its SLO, or without one that on its figures.
    pub fn evidence(&self) -> (Evidence, Option<String>) {
        let question = if self.slo.is_some() { Question::Verdict } else { Question::Figures };
        let objectives = self.slo.as_ref().map_or(&[][..], |slo| &slo.objectives);
        match of_load(self, self.slo.as_ref(), question) {
            // Of a closed loop this is the answer, although its figures are those of the rest.
            (Evidence::Nothing, _)
                if failing::is_gone(self) && failing::is_no(self, objectives) =>
            {
                (Evidence::Answer, Some(GONE.to_owned()))
            }
            found => found,
        }
    }

    /// Returns the reason for which a load that is not valid still has an answer, yes or no; `None` if it is valid or
    /// has none.
    pub fn answers_even_so(&self) -> Option<String> {
        let (Evidence::Answer, why) = self.evidence() else { return None };
        if !self.slo.as_ref().is_some_and(|slo| slo.met) || !self.validity.is_only_slowed() {
            return why;
        }
        let words = |gate: &Gate| match gate.name {
            GateName::Late => "lateness",
            GateName::Disturbed => "a disturbed machine",
            GateName::Lost | GateName::Busy => "a busy generator",
        };
        let failed = self.validity.gates.iter().filter(|gate| !gate.passed);
        let what = failed.map(words).collect::<Vec<_>>().join(" and ");
        Some(format!("{what} can only make responses slower, so the SLO is met even so"))
    }
}

impl Question {
    /// Returns true if the answer is the load up to which the SLO is met.
    fn asks_for_capacity(self) -> bool {
        matches!(self, Question::Capacity | Question::CapacityAndRate)
    }
}

impl Fitness {
    pub fn of(load: &Load) -> Fitness {
        let validity = &load.validity;
        if validity.valid {
            return Fitness::Valid;
        }
        if !validity.is_only_slowed() {
            return Fitness::Lost;
        }
        let is_late_by_itself =
            validity.is_refused_only_by(&[GateName::Late]) && is_own_work(&load.generator);
        match () {
            () if validity.is_refused_only_by(&[GateName::Busy]) => Fitness::Busy,
            () if is_late_by_itself && load.generator.generator_bound == Some(true) => {
                Fitness::Busy
            }
            () if is_late_by_itself => Fitness::LateByItself,
            () => Fitness::Slowed,
        }
    }
}

/// Returns true if a generator had its CPUs, and its work filled them.
fn is_own_work(generator: &Generator) -> bool {
    generator.busy_share.is_some_and(|busy| BUSY <= busy)
        && generator.run_queue_wait_share.is_some_and(|others| others <= OTHERS_UNNOTICED)
}

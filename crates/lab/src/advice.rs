//! Advice: what to change in an experiment so that it decides sooner or more surely.
//!
//! Each rule looks at a finished run and states its figures; a rule that has nothing to say is silent.

use measure::estimate::CONFIDENCE;
use measure::quantity::requests;
use measure::{Nanos, Rate, spread};
use results::answer::{self, Search, disturbed_in_words, failing_in_words, failing_strands};
use results::at_load::{self, Judgement};
use results::comparison::Verdict;
use results::explanation::{Advice, Code};
use results::journal::{Purpose, Status};
use results::{Answer, analysis, reproducibility, slo};

use crate::answer::met_nowhere_in_words;
use crate::past::Past;
use crate::plan::CORRECT;
use crate::spec::{BackendKind, Resolved, Spec, Start};

#[cfg(test)]
mod tests;

/// A larger share of trials that are not valid costs too much time.
const TOO_MANY_INVALID: f64 = 0.2;
/// The number of searches whose interval says something.
const SEARCHES: u32 = 5;

/// Returns what to change, the most important first.
pub fn of(past: &Past, answer: &Answer) -> Vec<Advice> {
    let spec = &past.resolved.spec;
    let rules = [
        failing(answer),
        not_pinned(spec),
        disturbed(answer, &past.name),
        of_budget(answer, &past.name),
        of_bounds(&past.resolved, answer),
        too_few_requests(spec, answer),
        of_warnings(spec, answer),
        of_comparison(spec, answer),
        of_targets(spec, answer),
        searched_once(spec, answer),
    ];
    let mut advice: Vec<Advice> = rules.into_iter().flatten().collect();
    advice.dedup();
    advice
}

fn advice(code: Code, text: String, change: Option<String>) -> Advice {
    Advice { code, text, change }
}

/// A service that fails at every load: no other change helps before that is mended.
fn failing(answer: &Answer) -> Vec<Advice> {
    let mut ends = answer.searches.iter().map(|search| &search.stopped_by);
    let text = match failing_strands(&answer.trials).is_empty() {
        // A few failures may be more than the SLO allows.
        true => ends.find(|why| why.contains(CORRECT)).cloned(),
        false => failing_in_words(answer.trials.iter()).map(|failures| {
            format!(
                "{failures}. First change the service, or the requests that it gets (`workload`)"
            )
        }),
    };
    text.into_iter().map(|text| advice(Code::Failing, text, None)).collect()
}

fn not_pinned(spec: &Spec) -> Vec<Advice> {
    let roles = &spec.where_.roles;
    let has_cpus =
        |role: &Option<crate::spec::Role>| role.as_ref().is_some_and(|role| role.cpus.is_some());
    if spec.where_.backend != BackendKind::Local || (has_cpus(&roles.sut) && has_cpus(&roles.load))
    {
        return Vec::new();
    }
    let text =
        "the system and the load may run on the same CPUs, and disturb each other".to_owned();
    let change = "where.roles={sut: {cpus: 0}, load: {cpus: 1}}".to_owned();
    vec![advice(Code::NotPinned, text, Some(change))]
}

/// A machine on which other programs ran: a quiet one comes before more time.
fn disturbed(answer: &Answer, directory: &str) -> Vec<Advice> {
    let what = disturbed_in_words(&answer.trials).or_else(|| invalid_in_words(answer));
    let remedy = match answer.go_on(directory) {
        Some(command) => format!("Go on once the machine is quiet: {command}"),
        None => "Run it on a quieter machine, or once this one is quiet".to_owned(),
    };
    let text = what.map(|what| format!("{what}. {remedy}"));
    text.into_iter().map(|text| advice(Code::Disturbed, text, None)).collect()
}

/// Returns how many trials were not valid, if these cost too much time.
fn invalid_in_words(answer: &Answer) -> Option<String> {
    let trials = answer.trials.iter().filter(|entry| entry.purpose == Purpose::Trial);
    let mut invalid = trials.clone().filter(|entry| entry.status == Status::Invalid);
    let (count, of) = (invalid.clone().count(), trials.count());
    let last = invalid.next_back().and_then(|entry| entry.reasons.first());
    let last = last.map(|reason| format!(", the last by: {}", reason.trim_end_matches('.')));
    let last = last.unwrap_or_default();
    let are_too_many = TOO_MANY_INVALID * (of as f64) < count as f64;
    are_too_many.then(|| format!("{count} of {of} trials were not valid{last}"))
}

/// Judgements that one trial could not decide for lack of requests.
fn too_few_requests(spec: &Spec, answer: &Answer) -> Vec<Advice> {
    let is_undecided = |judged: &&slo::Judged| {
        judged.verdict == slo::Verdict::Undecided && judged.over == judged.over_at_least
    };
    let strands = at_load::by_strand(&answer.trials).into_values();
    let judgements: Vec<Judgement<'_>> = strands.flat_map(at_load::judgements).collect();
    let first = judgements.iter().map(|judgement| judgement.trials[0]);
    let undecided: Vec<&slo::Judged> =
        first.filter_map(|entry| entry.slo.iter().find(is_undecided)).collect();
    let (count, of) = (undecided.len(), judgements.len());
    if count * 3 <= of {
        return Vec::new();
    }
    // The one that needs most.
    let factor = |judged: &slo::Judged| judged.needed() as f64 / judged.of.max(1) as f64;
    let most = undecided.into_iter().max_by(|a, b| factor(a).total_cmp(&factor(b)));
    let Some(most) = most else { return Vec::new() };
    let text = format!(
        "in {count} of {of} judgements by the SLO, one trial has too few requests to decide at 95 %, as {} with {}: \
         a longer measurement costs less than repeated trials",
        most.slo,
        requests(most.of)
    );
    let times = self::times(spec, factor(most).ceil().max(2.0) as u64);
    vec![advice(Code::TooFewRequests, text, Some(times))]
}

fn times(spec: &Spec, factor: u64) -> String {
    let longer = spec.phases.measure.time.0.0.saturating_mul(factor);
    format!("phases.measure.time={}", Nanos(longer).written())
}

fn of_warnings(spec: &Spec, answer: &Answer) -> Vec<Advice> {
    let mut found = Vec::new();
    let warnings = answer.reproducibility.iter().flat_map(|reproduced| &reproduced.warnings);
    for warning in warnings.filter(|warning| warning.metric.as_deref() != Some("p99.9")) {
        let known = |code: Code| found.iter().any(|advice: &Advice| advice.code == code);
        match warning.code {
            analysis::Code::Trend if !known(Code::Trend) => {
                let longer = Nanos((spec.phases.warm_up.fixed.0.0 * 3).max(Nanos::SECOND.0));
                let change = format!("phases.warm_up.fixed={}", longer.written());
                found.push(advice(Code::Trend, warning.text.clone(), Some(change)));
            }
            analysis::Code::NearFloor if !known(Code::NearFloor) => {
                found.push(advice(Code::NearFloor, warning.text.clone(), Some(times(spec, 4))));
            }
            _ => {}
        }
    }
    found
}

fn of_comparison(spec: &Spec, answer: &Answer) -> Vec<Advice> {
    let Some(comparison) = &answer.comparison else { return Vec::new() };
    let mut found = Vec::new();
    if comparison.metrics.iter().any(|compared| !compared.interleaved) {
        let text =
            "the arms ran one after the other: a drift of the machine looks like a difference";
        let change = "repeat.order={blocks: 4}".to_owned();
        found.push(advice(Code::NotInterleaved, text.to_owned(), Some(change)));
    }
    let undecided = comparison.metrics.iter().filter(|of| of.verdict == Verdict::Undecided);
    let most = undecided.filter_map(|of| Some((of.more_blocks_needed?, of)));
    if let Some((more, compared)) = most.max_by_key(|(more, _)| *more) {
        let text = format!(
            "the comparison of {} is undecided after {} blocks: about {more} more decide it, if effect and \
             noise stay as they are",
            compared.metric, compared.blocks
        );
        let grown = f64::from(more) / compared.blocks.max(1) as f64 + 1.0;
        let repeated = |now: u32| (f64::from(now) * grown).ceil() as u32;
        let change = match compared.metric.is_of_search() {
            true => format!("repeat.searches={}", repeated(spec.repeat.searches.0)),
            false => format!("repeat.trials={}", repeated(spec.repeat.trials.0)),
        };
        found.push(advice(Code::MoreBlocks, text, Some(change)));
    }
    found
}

/// The number of trials from which the whole interval of an RSD would lie within its target.
fn of_targets(spec: &Spec, answer: &Answer) -> Vec<Advice> {
    const MOST: usize = 200;
    let metrics = answer.reproducibility.iter().flat_map(|reproduced| &reproduced.metrics);
    let undecided = metrics.filter_map(|of| {
        let judged = of.target.filter(|t| t.verdict == reproducibility::Verdict::Undecided)?;
        let rsd = of.figures.rsd.filter(|rsd| *rsd < judged.rsd)?;
        let enough = |n: &usize| {
            spread::rsd_interval(rsd, *n, CONFIDENCE).is_some_and(|(_, high)| high <= judged.rsd)
        };
        Some((of, judged.rsd, (of.figures.n + 1..=MOST).find(enough)?))
    });
    let Some((of, target, needed)) = undecided.max_by_key(|(_, _, needed)| *needed) else {
        return Vec::new();
    };
    let text = format!(
        "the RSD of {} is {:.2} % with {} trials, but its interval reaches beyond the target of {}: with an \
         equal RSD {needed} trials show it",
        of.metric,
        100.0 * of.figures.rsd.unwrap_or_default(),
        of.figures.n,
        measure::Share(target)
    );
    let change = match of.metric.is_of_search() {
        true => format!("repeat.searches={needed}"),
        false => format!("repeat.trials={}", needed.max(spec.repeat.trials.0 as usize)),
    };
    vec![advice(Code::MoreTrials, text, Some(change))]
}

/// A run that only needs a larger budget.
fn of_budget(answer: &Answer, directory: &str) -> Vec<Advice> {
    let larger = answer.resume.as_ref().filter(|words| !words.is_empty());
    let Some((words, command)) = larger.zip(answer.go_on(directory)) else { return Vec::new() };
    let change = match &words[..] {
        [_, only] => Some(only.clone()),
        _ => None,
    };
    let text =
        format!("the budget ended the run before its answer. Go on with a larger one: {command}");
    vec![advice(Code::Budget, text, change)]
}

/// Searches that found only a bound: how far it repeats is not the next question.
fn of_bounds(resolved: &Resolved, found: &Answer) -> Vec<Advice> {
    let spec = &resolved.spec;
    let searches = || found.searches.iter().filter(|search| !search.fixed);
    let one = |code, text: String, change| vec![advice(code, text, change)];
    if searches().any(|search| search.connections_bound) {
        let text =
            "the connections of the load were its limit: with more of them the system may do more";
        let change = spec.load.connections.written(4);
        return one(Code::FewConnections, text.to_owned(), Some(change));
    }
    if let Some(text) = searches().find_map(met_nowhere_in_words) {
        return one(Code::NotEnclosed, text, below(resolved, found));
    }
    // With a larger budget it goes on in its range.
    if found.resume.is_some() {
        return Vec::new();
    }
    // A search for the maximum does not enclose a capacity.
    let is_open = |search: &&Search| {
        let capacity = search.capacity.as_ref().filter(|capacity| capacity.at_least);
        capacity.is_some() && search.upper.is_none() && search.maximum_throughput.is_none()
    };
    if let Some(search) = searches().find(is_open) {
        let lower = search.lower.unwrap_or_default();
        let text = format!(
            "no load above the capacity of {} was seen to miss the SLO: search higher",
            search.arrivals().load_in_words(lower)
        );
        return one(Code::NotEnclosed, text, ranging(spec, (1.0, 4.0)));
    }
    // One that has an answer kept up with its whole range.
    let mut observed = found.trials.iter().filter_map(|entry| entry.observed.as_ref());
    let is_saturated = observed.any(|observed| observed.saturated);
    let keeps_up = |search: &Search| {
        search.verdict == answer::Verdict::Answered
            && !is_saturated
            && search.maximum_throughput.as_ref().is_some_and(|maximum| maximum.at_least)
    };
    if searches().any(keeps_up) {
        let text = "the system kept up with every load of the range: search higher for its maximum";
        return one(Code::NotEnclosed, text.to_owned(), ranging(spec, (1.0, 4.0)));
    }
    Vec::new()
}

fn searched_once(spec: &Spec, found: &Answer) -> Vec<Advice> {
    let is_exact = |search: &Search| search.capacity.as_ref().is_some_and(|of| !of.at_least);
    let is_found = found.searches.iter().any(|search| !search.fixed && is_exact(search));
    if !is_found || spec.repeat.searches.0 != 1 {
        return Vec::new();
    }
    let text = "the capacity was searched for once: how far it repeats is not known".to_owned();
    let change = format!("repeat={{searches: {SEARCHES}, order: interleaved}}");
    vec![advice(Code::SearchedOnce, text, Some(change))]
}

/// The change that searches below a range in which no load met the SLO: from a quarter of its begin, or from half of
/// what the system completed if that is less.
fn below(resolved: &Resolved, found: &Answer) -> Option<String> {
    let search = resolved.spec.search.as_ref()?;
    let (Start::At(from), Some(to)) = (search.start, search.to) else { return None };
    let targets = f64::from(resolved.targets());
    let observed = found.trials.iter().filter_map(|entry| entry.observed.as_ref());
    let completed = observed.map(|of| of.sustained_per_s / targets).fold(0.0, f64::max);
    let half = Some(completed / 2.0).filter(|half| 0.0 < *half).unwrap_or(f64::INFINITY);
    let low = Rate::rounded(half.min(from.as_per_second() / 4.0));
    Some(format!("search.range=[{}/s, {}/s]", low.as_per_second(), to.as_per_second()))
}

/// The change that searches in a range whose ends are so many times those of the only search, if that has a range.
fn ranging(spec: &Spec, times: (f64, f64)) -> Option<String> {
    let search = spec.search.as_ref()?;
    let (Start::At(from), Some(to)) = (search.start, search.to) else { return None };
    let (from, to) = (times.0 * from.as_per_second(), times.1 * to.as_per_second());
    Some(format!("search.range=[{from}/s, {to}/s]"))
}

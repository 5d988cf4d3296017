//! Why a run, or one of its trials, has its verdict: in sentences, each with its figures.

use std::collections::BTreeMap;

use measure::Nanos;
use measure::quantity::{counted, grouped, p_in_words};
use results::analysis::Trend;
use results::answer::{Maximum, Search, failing_in_words, habits_in_words, trials_in_words};
use results::at_load::{self, AtLoad, listed};
use results::comparison::Verdict;
use results::explanation::Sentence;
use results::failing::VALID_OF_FAILING;
use results::journal::{self, Entry, Observed, OfLabel, Purpose, Status, Why};
use results::reproducibility::{self, OfMetric, Reproduced};
use results::sessions::Arrivals;
use results::{Answer, Found, Metric};

use crate::Error;
use crate::answer::estimated_in_words;
use crate::comparison::{in_words, is_censored};

#[cfg(test)]
mod tests;

/// The most trials that a sentence lists.
const MOST_LISTED: usize = 3;

/// Explains the answer of a run.
pub fn of_run(answer: &Answer) -> Vec<Sentence> {
    let failures = failing_in_words(answer.trials.iter());
    let failures = failures.filter(|words| !answer.summary.starts_with(words));
    let mut sentences: Vec<Sentence> =
        failures.into_iter().map(|text| sentence("failures", text)).collect();
    sentences.push(sentence("verdict", answer.summary.clone()));
    for search in &answer.searches {
        let label = [&search.cell, &search.name];
        let mut label: Vec<String> = label.into_iter().flatten().cloned().collect();
        if 1 < search.repetition {
            label.push(search.repetition.to_string());
        }
        let label = match label.is_empty() {
            true => String::new(),
            false => format!("{}: ", label.join(" · ")),
        };
        let own = |entry: &&Entry| entry.strand.is_none_or(|strand| strand == search.strand);
        let trials: Vec<&Entry> = answer.trials.iter().filter(own).collect();
        for found in of_search(search, &trials) {
            sentences.push(Sentence { text: format!("{label}{}", found.text), ..found });
        }
    }
    sentences.extend(
        answer.limited_by.iter().map(|limit| {
            sentence("limit", format!("the first resource that was used up: {limit}"))
        }),
    );
    let habits = habits_in_words(&answer.trials).into_iter();
    sentences.extend(habits.map(|(about, text)| sentence(about, text)));
    sentences.push(sentence("validity", results::answer::validity_in_words(answer.trials.iter())));
    sentences.extend(of_others(&answer.trials));
    let unread = journal::unread(&answer.trials).into_iter();
    sentences.extend(unread.map(|text| sentence("unread", text)));
    sentences.extend(unusable(&answer.trials));
    if let Some(comparison) = &answer.comparison {
        for compared in &comparison.metrics {
            let rule = match compared.verdict {
                Verdict::Worse if compared.refused.is_some() => {
                    "where more trials of B fail than chance explains, B is worse"
                }
                _ if compared.refused.is_some() => {
                    "an arm is not judged by those of its trials that work"
                }
                _ if is_censored(compared) => {
                    "a search that found only a bound counts with both ends of what it leaves open, and \
                     only what holds at both decides"
                }
                Verdict::Better | Verdict::Worse => {
                    "the interval excludes 0 % and the change is beyond the margin"
                }
                Verdict::Equivalent => "the whole interval is within the margin",
                Verdict::Undecided => {
                    "the interval neither excludes 0 % with a change beyond the margin, nor is it within it"
                }
            };
            let margin = measure::Share(comparison.margin);
            let text = format!("{}. Rule: {rule} ({margin})", in_words(compared));
            sentences.push(sentence("comparison", text));
        }
    }
    for reproduced in &answer.reproducibility {
        for of in &reproduced.metrics {
            sentences.extend(apart(reproduced, of));
            let (Some(judged), Some((low, high))) = (of.target, of.figures.rsd_interval) else {
                continue;
            };
            let percent = |share: f64| format!("{:.2} %", 100.0 * share);
            let rule = match judged.verdict {
                reproducibility::Verdict::Met => "the whole interval is within the target",
                reproducibility::Verdict::Missed => "the whole interval is beyond the target",
                reproducibility::Verdict::Undecided => "the target is inside the interval",
            };
            let text = format!(
                "{}the RSD of {} is {} … {} with {} trials, the target {}: {rule}",
                reproduced.of_what(),
                of.metric,
                percent(low),
                percent(high),
                of.figures.n,
                percent(judged.rsd)
            );
            sentences.push(sentence("reproducibility", text));
        }
    }
    sentences
}

/// Returns the trials whose load other generators made, whose validity is known only in part.
fn of_others(trials: &[Entry]) -> Vec<Sentence> {
    let mut made: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for entry in trials {
        let tool = entry.observed.as_ref().and_then(|observed| observed.generator.as_deref());
        let numbers = tool.map(|tool| made.entry(tool).or_default());
        numbers.into_iter().for_each(|numbers| numbers.push(entry.trial.to_string()));
    }
    let text = |(tool, numbers): (&str, Vec<String>)| {
        let trials = if numbers.len() == 1 { "trial" } else { "trials" };
        let text = format!(
            "{tool} made the load of {trials} {}: if it was late, lost requests or paused is unknown",
            listed(&numbers, MOST_LISTED).replace("; ", ", ")
        );
        sentence("validity", text)
    };
    made.into_iter().map(text).collect()
}

/// Returns the trend of equal trials, if chance hardly gives it, and the trials that lie apart.
fn apart(reproduced: &Reproduced, of: &OfMetric) -> Vec<Sentence> {
    let (of_what, metric, figures) = (reproduced.of_what(), of.metric, &of.figures);
    let trend = figures.trend.filter(|trend| trend.is_significant());
    let trend = trend.zip(figures.slope_in_words()).map(|(trend, slope)| {
        let Trend { s, of, p } = trend;
        let text = format!(
            "{of_what}{metric} changes by {slope} from trial to trial (S = {s} of {of}, {}): a \
             warm-up, or a drift",
            p_in_words(p)
        );
        sentence("trend", text)
    });
    let outliers = figures.outliers.iter().map(|outlier| {
        let (value, apart) = (metric.written(outlier.value), outlier.in_words());
        sentence("outlier", format!("{of_what}{metric} {value} lies apart, and counts; {apart}"))
    });
    trend.into_iter().chain(outliers).collect()
}

/// Explains one attempted trial.
///
/// # Errors
///
/// If the run has no such trial.
pub fn of_trial(answer: &Answer, number: u32) -> Result<Vec<Sentence>, Error> {
    let entry = answer.trials.iter().find(|entry| entry.trial == number).ok_or_else(|| {
        Error::Question(match answer.trials.len() {
            0 => anyhow::anyhow!(
                "trial {number} does not exist: the run has no trials ({}); leave the number out to \
                 explain the run",
                answer.stopped_by
            ),
            most => anyhow::anyhow!("there is no trial {number}: the run has 1 to {most}"),
        })
    })?;
    let observed = entry.observed.as_ref();
    let failures = observed.and_then(Observed::failures_in_words);
    let failures = failures.map(|text| sentence("failures", text));
    let mut sentences: Vec<Sentence> = failures.into_iter().collect();
    sentences.push(sentence("purpose", purpose(entry)));
    if let Some(waited) = &entry.waited {
        sentences.push(sentence("wait", format!("before it: {}", waited.text)));
    }
    let foreign = entry.observed.as_ref().and_then(|observed| observed.generator.as_ref());
    let of_foreign = foreign.map(|tool| {
        format!(
            "valid as far as it is known: nothing speaks against it, but {tool} does not tell if it \
             was punctual, lost nothing and was undisturbed"
        )
    });
    let is_failing = observed.is_some_and(Observed::is_failing);
    let status = match entry.status {
        Status::Valid if is_failing && of_foreign.is_none() => &format!(
            "{VALID_OF_FAILING}: the generator was punctual and lost nothing, and {}",
            match entry.disturbed.is_empty() {
                true => "its machine was undisturbed",
                false => "others used the CPUs of the system",
            }
        ),
        Status::Valid if of_foreign.is_some() => of_foreign.as_deref().unwrap_or_default(),
        Status::Valid if entry.is_valid_but_disturbed() => {
            "valid, but disturbed: the generator was punctual and lost nothing, and others used the CPUs of \
             the system"
        }
        Status::Valid => {
            "valid: the generator was punctual and lost nothing, and its machine was undisturbed"
        }
        Status::Bounded => {
            "usable: it was slowed down, but that cannot change its answer; its times are upper bounds, \
             and it is in no average and no comparison"
        }
        Status::Invalid if observed.is_some_and(Observed::is_all_wrong) => {
            "not valid: its times say nothing about the system; but no calmer machine would change that \
             the service answered all requests wrongly"
        }
        Status::Invalid if !entry.unread.is_empty() => {
            "not valid: a file of it cannot be read any more, or the journal contradicts it, so nobody can check \
             what it says; `benchwright resume` measures it again"
        }
        Status::Invalid => {
            "not valid: it says nothing about the system, and is repeated while the budget allows"
        }
        Status::Aborted => "aborted: the system ended in it",
    };
    sentences.push(sentence("validity", status.to_owned()));
    let unread = journal::unread(std::slice::from_ref(entry)).into_iter();
    sentences.extend(unread.map(|text| sentence("unread", text)));
    let reasons = entry.reasons.iter().filter(|reason| !entry.unread.contains(reason));
    sentences.extend(reasons.map(|reason| sentence("reason", reason.clone())));
    sentences.extend(entry.disturbed.iter().map(|what| sentence("disturbed", what.clone())));
    if let Some(observed) = &entry.observed {
        let rate = |rate: f64| Arrivals::of([entry]).requests_in_words(rate);
        let (offered, completed) = (observed.offered_per_s, observed.completed_per_s);
        sentences.push(sentence(
            "load",
            format!("{} offered, {} completed", rate(offered), rate(completed)),
        ));
        sentences.extend(observed.labels.iter().map(|of| sentence("label", of_label(of))));
        sentences.extend(observed.little.map(|little| sentence("little", little.in_words())));
        if observed.shows_saturation() {
            let text = "saturated: the completed rate no longer followed the offered one";
            sentences.push(sentence("saturation", text.to_owned()));
        }
        sentences.extend(observed.limited_by.iter().map(|l| sentence("limit", l.clone())));
    }
    sentences.extend(entry.slo.iter().map(|judged| sentence("slo", judged.text.clone())));
    sentences.extend(entry.findings.iter().map(|finding| sentence("finding", finding.clone())));
    sentences.extend(entry.warnings.iter().map(|warning| sentence("warning", warning.clone())));
    Ok(sentences)
}

/// Describes the requests with one label: `login: 1,000 completed, 3 failed, p50 1.2 ms, p99 8.0 ms`.
fn of_label(of: &OfLabel) -> String {
    let OfLabel { label, completed, failed, p50_ns, p99_ns } = of;
    let time = |name: &str, ns: &Option<u64>| {
        ns.map_or(String::new(), |ns| format!(", {name} {}", Nanos(ns)))
    };
    let (p50, p99) = (time("p50", p50_ns), time("p99", p99_ns));
    format!("{label}: {} completed, {} failed{p50}{p99}", counted(*completed), counted(*failed))
}

fn sentence(about: &str, text: String) -> Sentence {
    Sentence { about: about.to_owned(), text }
}

fn purpose(entry: &Entry) -> String {
    let load = match (entry.purpose, entry.asked_per_s) {
        (Purpose::Probe, _) => "a closed loop that shows where to begin".to_owned(),
        (Purpose::Trial, Some(rate)) => {
            format!("{} asked", Arrivals::of([entry]).load_in_words(rate))
        }
        (Purpose::Trial, None) => "a load without a rate".to_owned(),
    };
    let why = match entry.why {
        None => "",
        Some(Why::Explore) => ": a new load",
        Some(Why::Extend) => {
            ": the trial before it at the same load had too few requests for a verdict; both are judged together"
        }
        Some(Why::Confirm) => ": the trials at this load did not decide yet",
        Some(Why::Validate) => ": the load is a bound of the answer, which needs more trials",
        Some(Why::Edge) => ": the edge of the range was not tried yet",
    };
    let attempt = match entry.attempt {
        1 => String::new(),
        n => format!("; attempt {n}, since the one before gave no answer"),
    };
    format!("{load}, repetition {}{why}{attempt}", entry.repetition)
}

fn of_search(search: &Search, trials: &[&Entry]) -> Vec<Sentence> {
    let mut sentences = match search.fixed {
        true => of_given(search, trials),
        false => of_searched(search, trials),
    };
    let trials = if search.trials == 1 { "1 trial" } else { &format!("{} trials", search.trials) };
    let end = format!("{}, after {trials}", search.stopped_by.trim_end_matches('.'));
    sentences.push(sentence("end", end));
    sentences
}

/// Explains what was searched.
fn of_searched(search: &Search, trials: &[&Entry]) -> Vec<Sentence> {
    let mut sentences = Vec::new();
    if let Some(capacity) = &search.capacity {
        let loads = at_load::by_load(trials.iter().copied());
        let rate = capacity.load_in_words(capacity.rate_per_s);
        let mut text = format!("{rate} is the highest load with {}", capacity.slo);
        if let Some(met) = loads.iter().find(|load| load.has(capacity.trial)) {
            text += &format!(": {}", met.in_words(MOST_LISTED));
        }
        if let Some(rate) = capacity.missed_at_per_s {
            let is_here = |load: &&AtLoad<'_>| load.is_of(rate);
            let missed = loads.iter().find(is_here).map(|load| load.in_words(MOST_LISTED));
            let missed = missed.unwrap_or("it was missed".into());
            text += &format!("; at {} {missed}", capacity.load_in_words(rate));
        }
        if let Some(rate) = capacity.missed_below_per_s {
            let rate = capacity.load_in_words(rate);
            text += &format!("; in doubt: {rate} below it missed too");
        }
        let known = search.found(Metric::Capacity);
        match (capacity.at_least, known) {
            (true, Found::Bounds { at_most: Some(_), .. }) => {
                let known = known.in_words(|per_s| search.arrivals().load_in_words(per_s));
                text += &format!(
                    "; the search ended before these bounds were near enough and confirmed, so the capacity is {known}"
                );
            }
            (true, _) => text += "; the capacity may be higher, since no load above it is a bound",
            (false, _) => {}
        }
        sentences.push(sentence("capacity", text));
    }
    if let Some((found, words)) = search.estimate.zip(estimated_in_words(search)) {
        let noise = measure::Share((1e3 * found.noise).round() / 1e3);
        let text = format!(
            "{words}; the load at which a trial begins to fail differs by {noise} between trials"
        );
        sentences.push(sentence("estimate", text));
    }
    if let Some((low, high)) = search.interval {
        let text = format!(
            "repeated searches: 95 % interval {} … {}, a t interval of the logarithms",
            grouped(low),
            search.arrivals().load_in_words(high)
        );
        sentences.push(sentence("interval", text));
    }
    if let Some(maximum) = &search.maximum_throughput {
        sentences.push(sentence("maximum throughput", of_maximum(maximum, trials)));
    }
    sentences
}

/// Explains a load that was given: it was not searched, so it shows no capacity and no maximum.
fn of_given(search: &Search, trials: &[&Entry]) -> Vec<Sentence> {
    let loads = at_load::by_load(trials.iter().copied());
    let judged = loads.iter().filter(|load| !load.judgements().is_empty());
    let slo = judged.map(|load| sentence("slo", load.in_words(MOST_LISTED)));
    let sustained = search.maximum_throughput.as_ref().map(|maximum| {
        let rate = maximum.arrivals().requests_in_words(maximum.rate_per_s);
        let offered = maximum.offered_in_words();
        let text = format!("{rate} of {offered} offered, as in trial {}", maximum.trial);
        sentence("sustained", text)
    });
    slo.chain(sustained).collect()
}

fn of_maximum(maximum: &Maximum, trials: &[&Entry]) -> String {
    let rate = |rate: f64| maximum.arrivals().requests_in_words(rate);
    let asked = |trial: u32| trials.iter().find(|entry| entry.trial == trial)?.asked_per_s;
    let of_maximum = asked(maximum.trial);
    let above: Vec<String> = (trials.iter())
        .filter(|entry| of_maximum < entry.asked_per_s)
        .filter_map(|entry| Some((entry.trial, entry.evidence()?)))
        .map(|(trial, o)| {
            let (offered, sustained) = (rate(o.offered_per_s), rate(o.sustained_per_s));
            format!("{offered} → {sustained} (trial {trial})")
        })
        .collect();
    let text = format!(
        "{} sustained of {} offered in trial {}",
        rate(maximum.rate_per_s),
        rate(maximum.offered_per_s),
        maximum.trial
    );
    let open = if maximum.at_least { "; the true maximum may be higher" } else { "" };
    match above.is_empty() {
        true if maximum.at_least => {
            format!("{text}; no higher load was tried, so the true maximum may be higher")
        }
        true => format!("{text}; the system did not keep up with this load"),
        false => {
            format!("{text}; higher loads brought no more: {}{open}", listed(&above, MOST_LISTED))
        }
    }
}

/// Returns the reasons of the trials that gave no answer, each reason once.
fn unusable(trials: &[Entry]) -> Vec<Sentence> {
    let mut reasons: Vec<(String, Vec<u32>)> = Vec::new();
    let is_unusable = |entry: &&Entry| !entry.status.answers() && entry.unread.is_empty();
    for entry in trials.iter().filter(is_unusable) {
        let Some(reason) = entry.reasons.first() else { continue };
        // Up to its figures a reason is the same.
        let kind = reason.split(':').next().unwrap_or(reason).to_owned();
        match reasons.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, numbers)) => numbers.push(entry.trial),
            None => reasons.push((kind, vec![entry.trial])),
        }
    }
    let text = |(kind, numbers): (String, Vec<u32>)| {
        sentence("not valid", format!("{kind}: {}", trials_in_words(&numbers, MOST_LISTED)))
    };
    reasons.into_iter().map(text).collect()
}

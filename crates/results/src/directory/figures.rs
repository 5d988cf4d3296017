//! Compares an entry of the journal with the load that its trial measured. The digest of `load.json` says that it was
//! not changed, and what is concluded follows from the entry alone: so its figures must be those of the load.

use std::collections::BTreeMap;

use measure::quantity::{counted, grouped};
use measure::{Nanos, Quantile};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::events::Events;
use crate::journal::{Delivery, Entry, Observed};
use crate::load::{Generator, Group, Load, Pacing, Part, SCHEMA};
use crate::slo::{Outcome, Slo, Verdict};
use crate::times::Times;
use crate::{bounds, verdict};

/// The relative difference up to which two rates are the same: one of version 1 is computed.
const SAME: f64 = 1e-9;

/// Fails if the journal has another figure or another verdict of a trial than its load. Figures that one of the two
/// does not have are not compared: an older version did not keep them.
pub(super) fn check(entry: &Entry, document: &[u8]) -> Result<(), String> {
    let Some(observed) = &entry.observed else { return Ok(()) };
    let unreadable = |error: String| format!("load.json cannot be read: {error}");
    let load = read(document).map_err(|error| unreadable(error.to_string()))?;
    bounds::check(document).map_err(unreadable)?;
    let difference = times(observed, &load)
        .or_else(|| counts(observed, &load))
        .or_else(|| rates(observed, &load))
        .or_else(|| labels(observed, &load))
        .or_else(|| delivery(observed, &load))
        .or_else(|| verdicts(entry, observed, &load));
    difference.map_or(Ok(()), Err)
}

/// The parts of a load from which the compared figures follow. The others are long, and are skipped.
#[derive(Deserialize)]
struct Document {
    schema: String,
    #[serde(default)]
    foreign: Option<String>,
    pacing: Pacing,
    #[serde(flatten)]
    total: Part,
    #[serde(default)]
    events: Option<Events>,
    #[serde(default)]
    labels: BTreeMap<String, Group>,
    #[serde(default)]
    saturated: Option<bool>,
    generator: Generator,
    #[serde(default)]
    slo: Option<Outcome>,
    #[serde(default, rename = "series")]
    _series: IgnoredAny,
    #[serde(default, rename = "segments")]
    _segments: IgnoredAny,
    #[serde(default, rename = "targets")]
    _targets: IgnoredAny,
}

/// Reads these parts as they were written: the failures of an older version contain the unfinished requests, as those
/// in its journal do.
fn read(document: &[u8]) -> serde_json::Result<Load> {
    let read: Document = serde_json::from_slice(document)?;
    let Document { schema, foreign, pacing, total, events, labels, saturated, .. } = read;
    let (generator, slo) = (read.generator, read.slo);
    Ok(Load {
        schema,
        foreign,
        pacing,
        total,
        events,
        labels,
        saturated,
        generator,
        slo,
        ..Load::empty("")
    })
}

fn times(observed: &Observed, load: &Load) -> Option<String> {
    let times = load.total.response_time.as_ref();
    let printed = load.printed_response_times();
    let quantile = |of: fn(&Times) -> u64, level: Quantile| {
        times.map(of).or_else(|| printed.and_then(|printed| printed.quantile_ns(level)))
    };
    let max_ns = times.map(|times| times.max_ns);
    let p99 = |times: &Option<Times>| times.as_ref().map(|times| times.p99_ns);
    let all = [
        ("p50", observed.p50_ns, quantile(|times| times.p50_ns, Quantile::P50)),
        ("p90", observed.p90_ns, quantile(|times| times.p90_ns, Quantile::P90)),
        ("p99", observed.p99_ns, quantile(|times| times.p99_ns, Quantile::P99)),
        ("p999", observed.p999_ns, quantile(|times| times.p999_ns, Quantile::P999)),
        ("max", observed.max_ns, max_ns.or_else(|| printed.and_then(|printed| printed.max_ns))),
        ("lateness p99", observed.lateness_p99_ns, p99(&load.total.lateness)),
        ("hiccups p99", observed.hiccup_p99_ns, p99(&load.generator.hiccup)),
    ];
    all.into_iter().find_map(|(name, journal, load)| time(name, journal, load))
}

fn counts(observed: &Observed, load: &Load) -> Option<String> {
    let counts = &load.total.counts;
    // Another generator does not say it.
    let unfinished = load.foreign.is_none().then_some(counts.unfinished);
    count("requests", Some(observed.requests), Some(counts.intended))
        .or_else(|| count("failures", Some(observed.failures), Some(counts.failed)))
        .or_else(|| count("unfinished", observed.unfinished, unfinished))
}

fn rates(observed: &Observed, load: &Load) -> Option<String> {
    let rates = &load.total.rates_per_s;
    let sustained = rates.sustained.unwrap_or(rates.completed.min(rates.offered));
    let operations = load.total.operations.as_ref().map(|all| all.completed_per_s);
    let all = [
        ("offered", Some(observed.offered_per_s), Some(rates.offered)),
        ("completed", Some(observed.completed_per_s), Some(rates.completed)),
        ("sustained", Some(observed.sustained_per_s), Some(sustained)),
        ("goodput", Some(observed.goodput_per_s), Some(rates.goodput)),
        ("succeeded", observed.succeeded_per_s, rates.succeeded),
        ("operations", observed.operations_per_s, operations),
    ];
    let rate = |(name, journal, load): (&str, Option<f64>, Option<f64>)| {
        let is_same = |a: f64, b: f64| (a - b).abs() <= SAME * a.abs().max(b.abs());
        journal.zip(load).filter(|&(journal, load)| !is_same(journal, load))?;
        differ(
            name,
            [journal, load],
            |rate| format!("{}/s", grouped(rate)),
            |rate| rate.to_string(),
        )
    };
    all.into_iter().find_map(rate)
}

fn labels(observed: &Observed, load: &Load) -> Option<String> {
    observed.labels.iter().find_map(|of| {
        let group = load.labels.get(&of.label)?;
        let times = group.response_time.as_ref();
        let named = |figure: &str| format!("{}.{figure}", of.label);
        time(&named("p50"), of.p50_ns, times.map(|times| times.p50_ns))
            .or_else(|| time(&named("p99"), of.p99_ns, times.map(|times| times.p99_ns)))
            .or_else(|| count(&named("completed"), Some(of.completed), Some(group.completed)))
            .or_else(|| count(&named("failures"), Some(of.failed), Some(group.failed)))
    })
}

fn delivery(observed: &Observed, load: &Load) -> Option<String> {
    let journal = observed.delivery.as_ref()?;
    let load = Delivery::of(load.events.as_ref()?);
    let times = [
        ("delivery p50", journal.p50_ns, load.p50_ns),
        ("delivery p90", journal.p90_ns, load.p90_ns),
        ("delivery p99", journal.p99_ns, load.p99_ns),
        ("delivery p999", journal.p999_ns, load.p999_ns),
        ("delivery p9999", journal.p9999_ns, load.p9999_ns),
    ];
    let counts = [
        ("lost events", journal.lost, load.lost),
        ("duplicated events", journal.duplicated, load.duplicated),
        ("reordered events", journal.reordered, load.reordered),
    ];
    let of_times = times.into_iter().find_map(|(name, journal, load)| time(name, journal, load));
    let of_count = |(name, journal, load)| count(name, Some(journal), Some(load));
    of_times.or_else(|| counts.into_iter().find_map(of_count))
}

fn verdicts(entry: &Entry, observed: &Observed, load: &Load) -> Option<String> {
    let is_saturated = |is: bool| if is { "saturated" } else { "not saturated" };
    let saturated = [Some(observed.saturated), load.saturated];
    let outcome = outcome(entry, load);
    let objectives = outcome.as_ref().map_or(&[][..], |outcome| &outcome.objectives);
    let of_slo = || {
        entry.slo.iter().zip(objectives).find_map(|(journal, load)| {
            let slo = journal.slo;
            let over = |figure: &str| format!("requests {figure} {slo}:");
            let verdicts = [journal.verdict, load.verdict].map(|verdict| Some(name(verdict)));
            words(&slo.to_string(), [journal.met, load.met].map(|met| Some(is_met(met))))
                .or_else(|| words(&format!("{slo}:"), verdicts))
                .or_else(|| count(&over("over"), Some(journal.over), Some(load.over)))
                .or_else(|| {
                    let least = (journal.over_at_least, load.over_at_least);
                    count(&over("certainly over"), Some(least.0), Some(least.1))
                })
                .or_else(|| count(&over("for"), Some(journal.of), Some(load.of)))
                .or_else(|| {
                    time(&format!("reached for {slo}:"), journal.reached_ns, load.reached_ns)
                })
        })
    };
    let met = [observed.slo_met, outcome.as_ref().map(|outcome| outcome.met)];
    words("the target", saturated.map(|is| is.map(is_saturated)))
        .or_else(of_slo)
        .or_else(|| words("the SLO", met.map(|met| met.map(is_met))))
}

/// Returns the judgement of the load by the objectives of the entry. An older version judged by rules of its own: what
/// is not in its document is not known.
fn outcome(entry: &Entry, load: &Load) -> Option<Outcome> {
    let slos: Vec<Slo> = entry.slo.iter().map(|judged| judged.slo).collect();
    if slos.is_empty() {
        return load.slo.clone();
    }
    if load.schema == SCHEMA {
        return verdict::known(&slos, load);
    }
    let is_of_these = |own: &Outcome| own.objectives.iter().map(|one| &one.slo).eq(&slos);
    load.slo.clone().filter(is_of_these)
}

fn is_met(met: bool) -> &'static str {
    if met { "met" } else { "missed" }
}

fn name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Fail => "fail",
        Verdict::Undecided => "undecided",
    }
}

fn time(name: &str, journal: Option<u64>, load: Option<u64>) -> Option<String> {
    differ(name, [journal, load], |ns| Nanos(ns).to_string(), |ns| format!("{ns} ns"))
}

fn count(name: &str, journal: Option<u64>, load: Option<u64>) -> Option<String> {
    differ(name, [journal, load], counted, |count| count.to_string())
}

fn words(name: &str, both: [Option<&str>; 2]) -> Option<String> {
    differ(name, both, str::to_owned, str::to_owned)
}

/// Returns the sentence of a difference, if there is one: with the exact figures if the rounded ones are the same.
fn differ<T: Copy + PartialEq>(
    name: &str,
    [journal, load]: [Option<T>; 2],
    rounded: impl Fn(T) -> String,
    exact: impl Fn(T) -> String,
) -> Option<String> {
    let (journal, load) = journal.zip(load).filter(|(journal, load)| journal != load)?;
    let shown = [rounded(journal), rounded(load)];
    let [journal, load] = if shown[0] == shown[1] { [exact(journal), exact(load)] } else { shown };
    Some(format!("the journal has {name} {journal}, load.json {load}"))
}

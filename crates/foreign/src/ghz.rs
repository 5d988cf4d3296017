//! The JSON of ghz, with a list of all calls that may be long.

use std::collections::BTreeMap;
use std::fmt;
use std::io::BufRead;

use measure::Nanos;
use measure::quantity::counted;
use results::foreign::{Code, Distribution, Facts, Limit, Loop, Quantiles};
use results::printed::Since;
use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::json::{ascending, number, percentile, wrong};
use crate::samples::{self, Ended, Samples, of_tool};
use crate::{Format, Found, Unit, time};

pub(crate) const JSON: Format = Format {
    name: "ghz",
    what: "ghz --format json HOST",
    asks: &[],
    is: |head| head.has_keys(&["count", "rps", "fastest", "slowest"]),
    read: |input, _| read(input),
};

/// Times in nanoseconds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    count: u64,
    total: u64,
    average: f64,
    fastest: f64,
    slowest: f64,
    rps: f64,
    #[serde(default)]
    options: Option<Map<String, Value>>,
    #[serde(default)]
    status_code_distribution: Option<BTreeMap<String, u64>>,
    #[serde(default)]
    latency_distribution: Option<Vec<Percentile>>,
    #[serde(default)]
    details: Calls,
}

#[derive(Deserialize)]
struct Percentile {
    percentage: f64,
    latency: f64,
}

/// It keeps the times of so many calls.
const MOST_CALLS: u64 = 1_000_000;

/// The calls, of which each is counted and forgotten.
#[derive(Default)]
struct Calls(Samples);

#[derive(Deserialize)]
struct Call {
    latency: u64,
    #[serde(default)]
    status: String,
}

impl<'de> Deserialize<'de> for Calls {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Calls, D::Error> {
        deserializer.deserialize_any(Counting)
    }
}

struct Counting;

impl<'de> Visitor<'de> for Counting {
    type Value = Calls;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of calls")
    }

    fn visit_unit<E>(self) -> Result<Calls, E> {
        Ok(Calls::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut calls: A) -> Result<Calls, A::Error> {
        let mut samples = Samples::default();
        while let Some(call) = calls.next_element::<Call>()? {
            let latency =
                time(call.latency as f64, Unit::Nanoseconds).unwrap_or(Nanos(u64::MAX >> 1));
            let is_well = call.status == "OK" || call.status.is_empty();
            samples.add(latency, if is_well { Ended::Well } else { Ended::Badly });
            samples.status(if call.status.is_empty() { "unknown" } else { &call.status });
        }
        Ok(Calls(samples))
    }
}

fn read(input: &mut dyn BufRead) -> Result<Found, String> {
    let document: Document = serde_json::from_reader(input).map_err(|error| wrong(&error))?;
    let ok = |codes: &BTreeMap<String, u64>| codes.get("OK").copied().unwrap_or(0);
    let failed = document.status_code_distribution.as_ref();
    let failed = failed.map(|codes| document.count.saturating_sub(ok(codes)));
    // Before version 0.70 it is `qps`. A schedule has a rate that changes.
    let of_options = |key| number(document.options.as_ref()?, key).filter(|rate| 0.0 < *rate);
    let rate = of_options("rps").or_else(|| of_options("qps"));
    let schedule = document.options.as_ref().and_then(|options| options.get("load-schedule"));
    let is_scheduled = schedule.is_some_and(|name| name == "step" || name == "line");
    let asked = rate.filter(|_| !is_scheduled);
    let is_open = rate.is_some() || is_scheduled;
    let measured_s = Some(Nanos(document.total).as_secs_f64()).filter(|s| 0.0 < *s);
    let mut limits = vec![of_tool(
        "ghz does not tell a call without an answer from one that was refused: both are failed calls",
    )];
    if is_open {
        limits.push(of_tool(
            "ghz sends with as many workers as -c says: once all of them wait for answers, it is a closed loop \
             unless it ran with --async",
        ));
    }
    if MOST_CALLS < document.count {
        limits.push(Limit {
            code: Code::LeftOut,
            text: format!(
                "ghz keeps the times of its first {} calls, and counted {}: its percentiles are of the beginning of \
                 the load",
                counted(MOST_CALLS),
                counted(document.count)
            ),
        });
    }
    let mut statuses = BTreeMap::new();
    for (code, number) in document.status_code_distribution.iter().flatten() {
        samples::count(&mut statuses, code, *number);
    }
    let Calls(samples) = document.details;
    let of_calls = samples.facts().ok();
    let facts = match of_calls {
        Some(facts) => facts,
        None => {
            let counts_errors = document.options.as_ref().map(|options| {
                options.get("count-errors").and_then(Value::as_bool).unwrap_or(false)
            });
            // Its percentiles are of the calls that went well, and its mean of all calls.
            let left_out = failed.filter(|_| counts_errors != Some(true)).unwrap_or(0);
            if counts_errors.is_none() && 0 < left_out {
                limits.push(of_tool(
                    "ghz leaves failed calls out of its percentiles unless it ran with --count-errors, which the \
                     file does not say",
                ));
            }
            let ns = |number: f64| time(number, Unit::Nanoseconds).map(|time| time.0);
            let one =
                |one: Percentile| percentile(one.percentage, time(one.latency, Unit::Nanoseconds)?);
            let percentiles = document.latency_distribution.into_iter().flatten().filter_map(one);
            let times = Quantiles {
                count: Some(document.count.saturating_sub(left_out).min(MOST_CALLS)),
                mean_ns: ns(document.average).filter(|_| left_out == 0),
                min_ns: ns(document.fastest),
                max_ns: ns(document.slowest),
                percentiles: ascending(percentiles.collect()),
            };
            Facts { times: Some(Distribution::Quantiles(times)), ..Facts::default() }
        }
    };
    let facts = Facts {
        since: Some(Since::Sent),
        pacing: document.options.is_some().then_some(match is_open {
            true => Loop::Open,
            false => Loop::Closed,
        }),
        asked_per_s: asked,
        measured_s,
        requests: Some(document.count),
        failed: failed.or(facts.failed),
        unanswered: None,
        completed_per_s: Some(document.rps).filter(|rate| 0.0 < *rate && *rate < 1e12),
        // Its list may be shorter than what it counted.
        statuses: if statuses.is_empty() { facts.statuses } else { statuses },
        ..facts
    };
    Ok(Found { tool: "ghz".to_owned(), facts, limits, ..Found::default() })
}

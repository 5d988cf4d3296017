//! The summary of k6, and its lines of `--out json`.
//!
//! A request's time is that from sending to the last byte: neither the wait for a free VU nor connecting is
//! in it. Which executor started the requests is not in these files; only those that start iterations by a
//! clock drop some.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

use measure::civil;
use results::foreign::{Checks, Code, Distribution, Facts, Limit, Loop, OfLabel, Quantiles};
use results::lines::Lines;
use results::printed::Since;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json::{count, number, percentiles, quantiles, refuse_negative, whole, wrong};
use crate::samples::{Ended, Samples, cut_off, labelled, of_tool};
use crate::{Format, Found, Unit, document, time};

pub(crate) const SUMMARY: Format = Format {
    name: "k6",
    what: "k6 run --summary-export=FILE, or the data of handleSummary() as JSON",
    asks: &[],
    is: |head| {
        let text = head.text();
        let has_metrics = head.has_keys(&["metrics"]) || head.has_keys(&["results"]);
        let is_of_k6 =
            ["http_req_duration", "iteration_duration", "grpc_req_duration", "root_group"];
        (has_metrics || head.has_keys(&["root_group"]))
            && is_of_k6.iter().any(|key| text.contains(key))
    },
    read: |input, _| summary(input),
};

pub(crate) const LINES: Format = Format {
    name: "k6-json",
    what: "k6 run --out json=FILE",
    asks: &[],
    is: |head| {
        let is_line = head.has_keys(&["type", "data", "metric"]);
        is_line && ["\"Metric\"", "\"Point\""].iter().any(|kind| head.first_line().contains(kind))
    },
    read: |input, _| lines(input),
};

/// The durations of requests, the usual one first.
const DURATIONS: [&str; 2] = ["http_req_duration", "grpc_req_duration"];

fn summary(input: &mut dyn BufRead) -> Result<Found, String> {
    let document: Value =
        serde_json::from_slice(&document(input)?).map_err(|error| wrong(&error))?;
    for (name, metric) in metrics(&document) {
        refuse_negative(name, metric)?;
    }
    let metric = |name: &str| values(&document, name);
    let requests = metric("http_reqs");
    // A threshold makes k6 print a metric without a sample, with zeros.
    let is_measured =
        |map: &&Map<String, Value>| requests.is_some() || number(map, "max") != Some(0.0);
    let duration = DURATIONS.iter().find_map(|name| metric(name).filter(is_measured));
    let duration = duration.ok_or("it has no times of http_req_duration or grpc_req_duration")?;
    let count_of = |map: Option<&Map<String, Value>>, key| map.and_then(|map| count(map, key));
    let dropped = count_of(metric("dropped_iterations"), "count").filter(|count| 0 < *count);
    let sent = count_of(requests, "count").or(count(duration, "count"));
    let rate = requests.and_then(|requests| number(requests, "rate")).filter(|rate| 0.0 < *rate);
    // A value of `true` is a failed request.
    let failed = metric("http_req_failed");
    let failed = count_of(failed, "passes").or_else(|| count_of(failed, "matches"));
    let times = Quantiles { count: sent, ..times(duration) };
    let by_rate = sent.zip(rate).map(|(sent, rate)| sent as f64 / rate);
    let stated = || document.pointer("/config/duration")?.as_f64();
    let measured_s = by_rate.or_else(stated).filter(|s| 0.0 < *s && s.is_finite());
    let facts = Facts {
        since: Some(Since::Sent),
        pacing: dropped.map(|_| Loop::Open),
        measured_s,
        requests: sent,
        failed,
        checks: checks(&document),
        not_sent: dropped,
        completed_per_s: rate.or_else(|| Some(sent? as f64 / measured_s?)),
        labels: labels(&document),
        times: Some(Distribution::Quantiles(times)),
        ..Facts::default()
    };
    let mut limits = vec![of_tool(
        "k6's rate is that of the whole run, with ramps, and counts requests without an answer; its percentiles \
         are of the whole run, too",
    )];
    limits.extend(without_executor(dropped));
    Ok(Found { tool: "k6".to_owned(), facts, limits, ..Found::default() })
}

/// Returns the checks of the script; `None` if it has none. The newest summary counts them apart from its metrics.
fn checks(document: &Value) -> Option<Checks> {
    let usual = || {
        let checks = values(document, "checks")?;
        let (passed, failed) = (count(checks, "passes")?, count(checks, "fails")?);
        Some(Checks { made: passed.saturating_add(failed), failed })
    };
    let newest = || {
        let all = document.pointer("/results/checks/metrics")?.as_array()?;
        let failed =
            all.iter().find(|one| one.get("name").is_some_and(|it| it == "checks_failed"))?;
        let values = failed.get("values")?.as_object()?;
        let (made, failed) = (count(values, "total")?, count(values, "matches")?);
        Some(Checks { made: made.max(failed), failed })
    };
    usual().or_else(newest).filter(|checks| 0 < checks.made)
}

/// Returns the times of a metric, without their number.
fn times(metric: &Map<String, Value>) -> Quantiles {
    let level = |name: &str| match name {
        "med" => Some(50.0),
        _ => name.strip_prefix('p')?.trim_matches(['(', ')']).parse().ok(),
    };
    Quantiles {
        percentiles: percentiles(metric, Unit::Milliseconds, level),
        ..quantiles(metric, ["avg", "min", "max"], Unit::Milliseconds)
    }
}

/// Returns the figures by label: those of the durations of which a threshold of the script named tags, such as
/// `http_req_duration{name:login}`. The number of requests is known if one named them, too: `http_reqs{name:login}`.
fn labels(document: &Value) -> BTreeMap<String, OfLabel> {
    let one = |(name, metric): (&str, &Map<String, Value>)| {
        let (duration, tags) = name.strip_suffix('}')?.split_once('{')?;
        let label = of_tags(tags).filter(|_| DURATIONS.contains(&duration))?.to_owned();
        let of = |metric: &str| values(document, &format!("{metric}{{{tags}}}"));
        let times = times(metric);
        let requests = of("http_reqs").and_then(|requests| count(requests, "count"));
        let requests = requests.or(count(metric, "count"));
        let times = Quantiles { count: requests, ..times };
        let failed = of("http_req_failed");
        let failed = failed.and_then(|failed| count(failed, "passes").or(count(failed, "matches")));
        Some((label, OfLabel { requests, failed, times: Some(Distribution::Quantiles(times)) }))
    };
    labelled(metrics(document).into_iter().filter_map(one))
}

/// Returns the label of requests with these tags: the name or the group if it is the only one. k6 itself adds
/// `expected_response:true`, which is the total without failures.
fn of_tags(tags: &str) -> Option<&str> {
    let alone = |tag: &str| tags.strip_prefix(tag).filter(|value| !value.contains([',', '{']));
    let label = alone("name:").or(alone("group:").map(|group| group.trim_start_matches(':')));
    Some(label.unwrap_or(tags))
        .filter(|label| !label.is_empty() && *label != "expected_response:true")
}

/// Returns the figures of a metric.
fn values<'a>(document: &'a Value, name: &str) -> Option<&'a Map<String, Value>> {
    metrics(document).into_iter().find_map(|(known, metric)| (known == name).then_some(metric))
}

/// Returns all metrics with their names. Older summaries have the figures in the metric itself, and the newest has a
/// list.
fn metrics(document: &Value) -> Vec<(&str, &Map<String, Value>)> {
    let metrics = document.get("metrics").or_else(|| document.get("results")?.get("metrics"));
    let named: Vec<(&str, &Value)> = match metrics {
        Some(Value::Array(all)) => {
            all.iter().filter_map(|one| Some((one.get("name")?.as_str()?, one))).collect()
        }
        Some(Value::Object(all)) => all.iter().map(|(name, one)| (name.as_str(), one)).collect(),
        _ => Vec::new(),
    };
    let figures =
        |(name, one)| Some((name, Value::as_object(Value::get(one, "values").unwrap_or(one))?));
    named.into_iter().filter_map(figures).collect()
}

fn without_executor(dropped: Option<u64>) -> Option<Limit> {
    dropped.is_none().then(|| {
        of_tool(
            "k6's executors with a rate (constant-arrival-rate, ramping-arrival-rate) are open loops, all others \
             closed ones; the file does not say which one it was",
        )
    })
}

/// One line. Most of them are of other metrics, so texts are not copied.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    metric: Cow<'a, str>,
    #[serde(borrow, default)]
    data: Data<'a>,
}

#[derive(Default, Deserialize)]
struct Data<'a> {
    #[serde(borrow, default)]
    time: Cow<'a, str>,
    #[serde(default)]
    value: f64,
    #[serde(borrow, default)]
    tags: Option<Tags<'a>>,
}

#[derive(Default, Deserialize)]
struct Tags<'a> {
    #[serde(borrow, default)]
    status: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    expected_response: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    group: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    name: Option<Cow<'a, str>>,
}

fn lines(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut lines = Lines::of(input);
    let (mut samples, mut beside, mut limits) = (Samples::default(), Beside::default(), Vec::new());
    while let Some(line) = lines.next_bytes()? {
        let read = serde_json::from_slice::<Line<'_>>(line);
        match read.map(|line| take(&line, &mut samples, &mut beside)) {
            Ok(taken) => taken?,
            Err(_) if !lines.is_ended => {
                limits.push(cut_off(lines.number));
                break;
            }
            Err(error) => {
                return Err(format!("line {} is not one of k6: {}", lines.number, wrong(&error)));
            }
        }
    }
    let facts = samples.facts().map_err(|_| "it has no point of http_req_duration".to_owned())?;
    let dropped = Some(beside.dropped).filter(|dropped| 0 < *dropped);
    let facts = Facts {
        since: Some(Since::Sent),
        pacing: dropped.map(|_| Loop::Open),
        checks: Some(beside.checks).filter(|checks| 0 < checks.made),
        not_sent: dropped,
        ..facts
    };
    limits.extend(without_executor(dropped));
    Ok(Found { tool: "k6".to_owned(), facts, limits, ..Found::default() })
}

/// The counts of what has no time.
#[derive(Default)]
struct Beside {
    /// The iterations that were not begun.
    dropped: u64,
    checks: Checks,
}

/// Adds what a line says.
fn take(line: &Line<'_>, samples: &mut Samples, beside: &mut Beside) -> Result<(), String> {
    if line.kind != "Point" {
        return Ok(());
    }
    match &*line.metric {
        "dropped_iterations" => {
            let number = whole(line.data.value).unwrap_or(0);
            beside.dropped = beside.dropped.saturating_add(number);
        }
        "checks" => {
            beside.checks.made += 1;
            beside.checks.failed += u64::from(line.data.value == 0.0);
        }
        _ => {}
    }
    if !DURATIONS.contains(&&*line.metric) {
        return Ok(());
    }
    let length = time(line.data.value, Unit::Milliseconds)
        .ok_or_else(|| format!("a time of {} ms cannot be", line.data.value))?;
    let none = Tags::default();
    let tags = line.data.tags.as_ref().unwrap_or(&none);
    let status = tags.status.as_deref();
    let is_http = line.metric == DURATIONS[0];
    let is_refused = match (tags.expected_response.as_deref(), status) {
        (Some(expected), _) => expected == "false",
        (None, Some(status)) if is_http => status.parse::<u32>().is_ok_and(|code| 400 <= code),
        // The code of gRPC for success.
        (None, Some(status)) => status != "0",
        (None, None) => false,
    };
    let ended = match status {
        Some("0") if is_http => Ended::Unanswered,
        _ if is_refused => Ended::Badly,
        _ => Ended::Well,
    };
    match label(tags) {
        Some(label) => samples.add_labelled(label, length, ended),
        None => samples.add(length, ended),
    }
    if let Some(status) = status.filter(|status| *status != "0" || !is_http) {
        samples.status(status);
    }
    // A point has the time at which the request ended.
    if let Some(end) = civil::seconds(&line.data.time) {
        samples.at(end);
        samples.at(end - length.as_secs_f64());
    }
    Ok(())
}

/// Returns the group of a request, `::checkout::pay`, without its beginning; outside of groups its name, which is
/// its URL unless the script gives another one.
fn label<'a>(tags: &'a Tags<'_>) -> Option<&'a str> {
    let group = tags.group.as_deref().map(|group| group.trim_start_matches(':'));
    group.filter(|group| !group.is_empty()).or(tags.name.as_deref())
}

/// The limit of figures of which iterations are missing that were never begun.
pub(crate) fn not_sent(count: &str) -> Limit {
    Limit {
        code: Code::NotSent,
        text: format!(
            "{count} iterations or requests were not begun when they were due, and have no time at all: the \
             worst of the load is missing in every percentile"
        ),
    }
}

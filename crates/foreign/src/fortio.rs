//! The JSON of fortio, which it prints with `-json -`.

use std::collections::BTreeMap;
use std::io::BufRead;

use measure::Nanos;
use results::foreign::Loop;
use results::printed::{Printed, Since};
use results::secrets;
use serde::Deserialize;

use crate::printed::{Figures, ascending, closed_loop, no_times, percentile};
use crate::samples::{label_of, of_tool};
use crate::{Format, Found};

pub(crate) const JSON: Format = Format {
    name: "fortio",
    what: "fortio load -json FILE URL",
    asks: &[],
    is: |head| head.has_keys(&["RequestedQPS", "ActualQPS"]),
    read: |input, _| file(input),
};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    /// True if the run did not even begin: the figures are placeholders then.
    #[serde(rename = "error", default)]
    error: bool,
    #[serde(default)]
    run_type: Option<String>,
    #[serde(rename = "ActualQPS")]
    actual_qps: f64,
    /// `max` for a closed loop that never rests.
    #[serde(rename = "RequestedQPS", default)]
    requested_qps: Option<String>,
    #[serde(default)]
    num_threads: Option<u64>,
    #[serde(default)]
    version: Option<String>,
    /// In nanoseconds.
    actual_duration: f64,
    duration_histogram: Durations,
    /// Requests by status; -1 is a request without an answer. Of other protocols than HTTP a word:
    /// one of [`SUCCESSES`], of [`REFUSALS`], or of a failure without an answer.
    #[serde(default)]
    ret_codes: Option<BTreeMap<String, u64>>,
}

/// The codes of good answers by gRPC, and by TCP and UDP.
const SUCCESSES: [&str; 2] = ["SERVING", "OK"];
/// The codes of other answers by gRPC.
const REFUSALS: [&str; 3] = ["UNKNOWN", "NOT_SERVING", "SERVICE_UNKNOWN"];

/// Returns the word for a code of gRPC: fortio before 1.2 writes the number.
fn word(code: String) -> String {
    let word = match code.as_str() {
        "0" => "UNKNOWN",
        "1" => "SERVING",
        "2" => "NOT_SERVING",
        "3" => "SERVICE_UNKNOWN",
        _ => return code,
    };
    word.to_owned()
}

/// Returns true if fortio itself calls this code a success.
fn is_success(code: &str) -> bool {
    let is_good = |code| matches!(code, 200..300 | 418);
    SUCCESSES.contains(&code) || code.parse::<u32>().is_ok_and(is_good)
}

/// Times in seconds.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Durations {
    count: u64,
    max: f64,
    avg: f64,
    #[serde(default)]
    percentiles: Option<Vec<Percentile>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Percentile {
    percentile: f64,
    value: f64,
}

pub fn read(text: &str, is_open: bool) -> Result<Figures, String> {
    Ok(figures(document(text)?, is_open))
}

fn document(text: &str) -> Result<Document, String> {
    // Other lines may come before it and after it.
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let json = json.ok_or("it printed no JSON; add `-json -` to its command")?;
    let document: Document = serde_json::from_str(json).map_err(|error| {
        // The message of the parser can contain a value.
        secrets::without_plain(&format!(
            "its JSON cannot be read: {error}; fortio is run with `-json -`"
        ))
    })?;
    match document.error {
        true => Err("fortio says that this run failed before its first request".to_owned()),
        false => Ok(document),
    }
}

fn figures(document: Document, is_open: bool) -> Figures {
    let Document {
        error: _,
        run_type,
        actual_qps,
        requested_qps,
        num_threads,
        actual_duration,
        duration_histogram,
        ret_codes,
        version: _,
    } = document;
    let is_grpc = run_type.is_some_and(|name| name.contains("GRPC"));
    let codes = ret_codes.into_iter().flatten();
    let codes = codes.map(|(code, n)| (if is_grpc { word(code) } else { code }, n));
    let is_status = |code: &str| {
        SUCCESSES.contains(&code)
            || REFUSALS.contains(&code)
            || code.parse::<u32>().is_ok_and(|code| 100 <= code)
    };
    let (statuses, others): (BTreeMap<String, u64>, BTreeMap<String, u64>) =
        codes.partition(|(code, _)| is_status(code));
    let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
    let answered = sum(&mut statuses.values().copied());
    let unanswered = sum(&mut others.values().copied());
    let Durations { count, max, avg, percentiles } = duration_histogram;
    let ns = |seconds: f64| Nanos::from_secs_f64(seconds).0;
    let percentiles = percentiles.unwrap_or_default().into_iter();
    let printed = |p: Percentile| percentile(p.percentile, Nanos::from_secs_f64(p.value));
    let percentiles = percentiles.map(printed).filter(|one| 0.0 < one.level && one.level < 1.0);
    let times = Printed {
        mean_ns: Some(ns(avg)),
        max_ns: Some(ns(max)),
        percentiles: ascending(percentiles.collect()),
        ..no_times(Since::Sent, count)
    };
    let open = "fortio counts a time from sending: a request that waits for a connection is not seen \
                (coordinated omission), and its times are lower bounds of the response times";
    Figures {
        answered,
        refused: sum(&mut statuses.iter().filter(|(code, _)| !is_success(code)).map(|(_, n)| *n)),
        unanswered: BTreeMap::from([("error".to_owned(), unanswered)]),
        statuses,
        length: Some(Nanos(actual_duration.max(0.0) as u64)),
        // It counts the requests without an answer as well.
        per_s: (unanswered == 0).then_some(actual_qps),
        connections: num_threads.filter(|_| requested_qps.as_deref() == Some("max")),
        times: Some(times),
        findings: Vec::new(),
        warnings: vec![if is_open { open.to_owned() } else { closed_loop("fortio") }],
    }
}

fn file(input: &mut dyn BufRead) -> Result<Found, String> {
    let document = document(&crate::text(input)?)?;
    let asked = document.requested_qps.as_deref().and_then(|text| text.parse::<f64>().ok());
    let asked = asked.filter(|rate| 0.0 < *rate && rate.is_finite());
    let is_max = document.requested_qps.as_deref() == Some("max");
    let version = document.version.clone();
    let threads = document.num_threads;
    let figures = figures(document, asked.is_some());
    let mut facts = figures.facts();
    facts.asked_per_s = asked;
    facts.pacing = match asked {
        Some(_) => Some(Loop::Open),
        None => is_max.then_some(Loop::Closed),
    };
    let mut limits = vec![of_tool(
        "fortio computes percentiles from buckets: they are exact only as far as its option -r made these fine",
    )];
    if let (Some(threads), Some(_)) = (threads, asked) {
        limits.push(of_tool(format!(
            "fortio sends on {threads} connections: once all of them wait for answers, it is a closed loop"
        )));
    }
    let version = version.map(|version| label_of(&version));
    let tool = version.map_or("fortio".to_owned(), |version| format!("fortio {version}"));
    Ok(Found { tool, facts, limits, ..Found::default() })
}

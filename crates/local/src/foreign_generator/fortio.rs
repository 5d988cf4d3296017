//! The JSON of fortio, which it prints with `-json -`.

use std::collections::BTreeMap;

use measure::Nanos;
use results::printed::{Printed, Since};
use serde::Deserialize;

use super::{Figures, ascending, closed_loop, no_times, percentile};

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Document {
    #[serde(rename = "ActualQPS")]
    actual_qps: f64,
    /// `max` for a closed loop that never rests.
    #[serde(rename = "RequestedQPS", default)]
    requested_qps: Option<String>,
    #[serde(default)]
    num_threads: Option<u64>,
    /// In nanoseconds.
    actual_duration: f64,
    duration_histogram: Durations,
    /// Requests by status; -1 is a request without an answer.
    ret_codes: BTreeMap<String, u64>,
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

pub(super) fn read(text: &str, is_open: bool) -> Result<Figures, String> {
    // Other lines may come before it and after it.
    let json = text.find('{').zip(text.rfind('}')).and_then(|(from, to)| text.get(from..=to));
    let json = json.ok_or("it printed no JSON; add `-json -` to its command")?;
    let document: Document = serde_json::from_str(json).map_err(|error| {
        format!("its JSON cannot be read: {error}; fortio is run with `-json -`")
    })?;
    let Document {
        actual_qps,
        requested_qps,
        num_threads,
        actual_duration,
        duration_histogram,
        ret_codes,
    } = document;
    let is_status = |code: &str| code.parse::<u32>().is_ok_and(|code| 100 <= code);
    let (statuses, others): (BTreeMap<String, u64>, BTreeMap<String, u64>) =
        ret_codes.into_iter().partition(|(code, _)| is_status(code));
    let is_refused = |code: &str| code.parse::<u32>().is_ok_and(|code| 400 <= code);
    let answered: u64 = statuses.values().sum();
    let unanswered: u64 = others.values().sum();
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
    Ok(Figures {
        answered,
        refused: statuses.iter().filter(|(code, _)| is_refused(code)).map(|(_, n)| n).sum(),
        unanswered: BTreeMap::from([("error".to_owned(), unanswered)]),
        statuses,
        length: Some(Nanos(actual_duration.max(0.0) as u64)),
        // It counts the requests without an answer as well.
        per_s: (unanswered == 0).then_some(actual_qps),
        connections: num_threads.filter(|_| requested_qps.as_deref() == Some("max")),
        times: Some(times),
        findings: Vec::new(),
        warnings: vec![if is_open { open.to_owned() } else { closed_loop("fortio") }],
    })
}

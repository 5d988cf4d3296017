//! The results of vegeta as JSON and as CSV, and its report as JSON.
//!
//! vegeta attacks at a rate, and counts a time from the moment at which it really sends: if it comes late,
//! nothing shows it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::BufRead;

use measure::{Nanos, civil};
use results::foreign::{Distribution, Facts, Limit, Quantiles};
use results::lines::Lines;
use results::printed::Since;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json::{number, percentiles, quantiles, wrong};
use crate::judge::contradiction;
use crate::samples::{self, Ended, Samples, cut_off, of_tool};
use crate::table::Table;
use crate::{Format, Found, Unit, document, time};

pub(crate) const JSON: Format = Format {
    name: "vegeta-json",
    what: "vegeta encode --to json",
    asks: &[],
    is: |head| head.has_keys(&["code", "timestamp", "latency", "bytes_out"]),
    read: |input, _| lines(input),
};

pub(crate) const CSV: Format = Format {
    name: "vegeta-csv",
    what: "vegeta encode --to csv",
    asks: &[],
    is: |head| is_csv(head.first_line()),
    read: |input, _| table(input),
};

pub(crate) const REPORT: Format = Format {
    name: "vegeta",
    what: "vegeta report -type=json",
    asks: &[],
    is: |head| head.has_keys(&["latencies", "bytes_in", "status_codes"]),
    read: |input, _| report(input),
};

/// Its columns have no names: the time of sending, the status, the latency, the bytes out and in, the error, and in
/// newer versions more.
fn is_csv(line: &str) -> bool {
    let cells: Vec<&str> = line.split(',').collect();
    let is_number = |cell: &&str| cell.parse::<u64>().is_ok();
    let is_moment = |cell: &str| (16..20).contains(&cell.len());
    COLUMNS <= cells.len()
        && cells[..5].iter().all(is_number)
        && is_moment(cells[0])
        && cells[1].len() < 4
}

/// The least columns of a CSV file: those of version 6.
const COLUMNS: usize = 6;
/// The column of the method in a CSV file, before that of the URL.
const METHOD: usize = 9;

#[derive(Deserialize)]
struct Line<'a> {
    code: u16,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    /// In nanoseconds.
    latency: u64,
    #[serde(borrow, default)]
    method: Cow<'a, str>,
    #[serde(borrow, default)]
    url: Cow<'a, str>,
}

fn ended(code: u64) -> Ended {
    match code {
        0 => Ended::Unanswered,
        200..400 => Ended::Well,
        _ => Ended::Badly,
    }
}

/// A line of results.
struct Sample<'a> {
    code: u64,
    latency: Nanos,
    begin: Option<f64>,
    /// The method and the URL, which older versions do not write.
    of: [&'a str; 2],
}

fn add(samples: &mut Samples, Sample { code, latency, begin, of: [method, url] }: &Sample<'_>) {
    let (code, latency) = (*code, *latency);
    match url.is_empty() {
        true => samples.add(latency, ended(code)),
        false => samples.add_labelled(&format!("{method} {url}"), latency, ended(code)),
    }
    if code != 0 {
        samples.status(&code.to_string());
    }
    if let Some(begin) = *begin {
        samples.at(begin);
        samples.at(begin + latency.as_secs_f64());
    }
}

fn lines(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut lines = Lines::of(input);
    let (mut samples, mut limits) = (Samples::default(), Vec::new());
    while let Some(line) = lines.next_bytes()? {
        let read = serde_json::from_slice::<Line<'_>>(line).map(|line| {
            let latency = time(line.latency as f64, Unit::Nanoseconds);
            let latency =
                latency.ok_or_else(|| format!("a latency of {} ns cannot be", line.latency))?;
            let begin = civil::seconds(&line.timestamp);
            let of = [&*line.method, &*line.url];
            add(&mut samples, &Sample { code: u64::from(line.code), latency, begin, of });
            Ok::<(), String>(())
        });
        match read {
            Ok(taken) => taken?,
            Err(_) if !lines.is_ended => {
                limits.push(cut_off(lines.number));
                break;
            }
            Err(error) => {
                return Err(format!(
                    "line {} is not one of vegeta: {}",
                    lines.number,
                    wrong(&error)
                ));
            }
        }
    }
    found(samples.facts()?, limits)
}

fn table(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut table = Table::plain(input, b',');
    let (mut samples, mut limits) = (Samples::default(), Vec::new());
    while table.next()? {
        let line = table.line();
        let whole = |column| {
            let text = std::str::from_utf8(table.bytes(column)).ok()?;
            text.parse::<u64>().ok()
        };
        let latency = whole(2).and_then(|ns| time(ns as f64, Unit::Nanoseconds));
        let (Some(begin), Some(code), Some(latency)) =
            (whole(0), whole(1), latency.filter(|_| COLUMNS <= table.width()))
        else {
            if !table.is_cut_off()? {
                return Err(format!("line {line} is not one of vegeta's CSV files"));
            }
            limits.push(cut_off(line));
            break;
        };
        let [method, url] = [METHOD, METHOD + 1].map(|column| table.text(column));
        let begin = Some(begin as f64 / 1e9);
        add(&mut samples, &Sample { code, latency, begin, of: [&method, &url] });
    }
    found(samples.facts()?, limits)
}

fn found(facts: Facts, limits: Vec<Limit>) -> Result<Found, String> {
    let facts = Facts { since: Some(Since::Sent), ..facts };
    let limits = limits.into_iter().chain([with_rate()]).collect();
    Ok(Found { tool: "vegeta".to_owned(), facts, limits, ..Found::default() })
}

fn with_rate() -> Limit {
    of_tool(
        "vegeta is an open loop unless it ran with -rate 0, or reached its -max-workers; the file does not say",
    )
}

#[derive(Deserialize)]
struct Report {
    latencies: Map<String, Value>,
    /// From the first sending to the last one, in nanoseconds.
    duration: u64,
    /// From the last sending to its answer.
    #[serde(default)]
    wait: u64,
    requests: u64,
    /// The rate of the successes; older versions do not print it.
    #[serde(default)]
    throughput: Option<f64>,
    #[serde(default)]
    status_codes: BTreeMap<String, u64>,
}

fn report(input: &mut dyn BufRead) -> Result<Found, String> {
    let report: Report =
        serde_json::from_slice(&document(input)?).map_err(|error| wrong(&error))?;
    let named = quantiles(&report.latencies, ["mean", "min", "max"], Unit::Nanoseconds);
    let total = number(&report.latencies, "total").unwrap_or(0.0);
    if named.mean_ns == Some(0) && report.requests.max(1) as f64 <= total {
        return Err("its percentiles were not computed: the program that wrote it has to call Close() of vegeta's \
                    Metrics before"
            .to_owned());
    }
    let level = |name: &str| name.strip_suffix("th")?.parse().ok();
    let percentiles = percentiles(&report.latencies, Unit::Nanoseconds, level);
    let times = Quantiles { count: Some(report.requests), percentiles, ..named };
    let (mut failed, mut unanswered) = (0_u64, 0_u64);
    let mut statuses = BTreeMap::new();
    for (code, number) in &report.status_codes {
        let ended = ended(code.parse().unwrap_or(0));
        if ended != Ended::Well {
            failed = failed.saturating_add(*number);
        }
        match ended {
            Ended::Unanswered => unanswered = unanswered.saturating_add(*number),
            _ => samples::count(&mut statuses, code, *number),
        }
    }
    let results = report.status_codes.values().copied().fold(0, u64::saturating_add);
    let length = Nanos(report.duration.saturating_add(report.wait)).as_secs_f64();
    let measured_s = Some(length).filter(|s| 0.0 < *s);
    let answered = report.requests.saturating_sub(unanswered);
    let facts = Facts {
        since: Some(Since::Sent),
        measured_s,
        requests: Some(report.requests),
        failed: Some(failed),
        unanswered: Some(unanswered),
        completed_per_s: measured_s.map(|s| answered as f64 / s),
        statuses,
        times: Some(Distribution::Quantiles(times)),
        ..Facts::default()
    };
    let rate = report.throughput.map(|rate| {
        let rate = measure::quantity::grouped(rate.clamp(0.0, 1e15));
        of_tool(format!("vegeta's own throughput, {rate}/s, counts the successes alone"))
    });
    let estimated =
        of_tool("vegeta's report estimates percentiles (t-digest); its results have each time");
    // More of them than requests are noticed in every format.
    let lacking = (results < report.requests)
        .then(|| contradiction(report.requests, "results by status", results));
    found(facts, lacking.into_iter().chain(rate).chain([estimated]).collect())
}

//! The CSV files of Locust: the totals (`_stats.csv`) and the course (`_stats_history.csv`).
//!
//! Locust rounds times as it keeps them: above 100 ms to two digits.

use std::io::BufRead;

use measure::Nanos;
use results::foreign::{Code, Distribution, Facts, Limit, Loop, OfLabel, Quantiles};
use results::printed::Since;

use crate::json::{ascending, percentile, whole};
use crate::samples::{MOST_LABELS, cut_off, labelled, of_tool};
use crate::table::Table;
use crate::{Format, Found, Unit, time};

pub(crate) const STATS: Format = Format {
    name: "locust",
    what: "locust --csv NAME: NAME_stats.csv",
    asks: &[],
    is: |head| head.has_columns(&["Name", "Request Count", "Failure Count"]),
    read: |input, _| stats(input),
};

pub(crate) const HISTORY: Format = Format {
    name: "locust-history",
    what: "locust --csv NAME: NAME_stats_history.csv",
    asks: &[],
    is: |head| head.has_columns(&["Timestamp", "User Count", "Name"]),
    read: |input, _| history(input),
};

/// The name of the row of all requests; older versions wrote the second one.
const ALL: [&str; 2] = ["Aggregated", "Total"];

const STEP: Nanos = Nanos::from_millis(1);

fn ms(table: &Table<'_>, column: Option<usize>) -> Option<Nanos> {
    time(table.number(column?)?, Unit::Milliseconds)
}

/// Returns a count; `None` if there is no such column, or the cell has no number.
fn integer(table: &Table<'_>, column: Option<usize>) -> Result<Option<u64>, String> {
    match column.and_then(|column| table.number(column)) {
        Some(number) if number < 0.0 => {
            Err(format!("line {} has the count {number}, and no count is negative", table.line()))
        }
        number => Ok(number.and_then(whole)),
    }
}

fn stats(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut table = Table::named(input, b',')?;
    let name = table.needed("Name")?;
    let levels: Vec<(usize, f64)> = (0..)
        .zip(table.columns())
        .filter_map(|(place, column)| Some((place, column.strip_suffix('%')?.parse().ok()?)))
        .collect();
    let columns = ["Request Count", "Failure Count", "Requests/s"];
    let [requests, failures, rate] = columns.map(|name| table.column(name));
    let columns = ["Average Response Time", "Min Response Time", "Max Response Time"];
    let [mean, min, max] = columns.map(|name| table.column(name));
    let kind = table.column("Type");
    let mut rows: Vec<(String, OfLabel)> = Vec::new();
    while table.next()? {
        let count = integer(&table, requests)?;
        let one = |(place, percent): &(usize, f64)| percentile(*percent, ms(&table, Some(*place))?);
        let times = Quantiles {
            count,
            mean_ns: ms(&table, mean).map(|time| time.0),
            min_ns: ms(&table, min).map(|time| time.0),
            max_ns: ms(&table, max).map(|time| time.0),
            percentiles: ascending(levels.iter().filter_map(one).collect()),
        };
        let failed = integer(&table, failures)?;
        if !ALL.contains(&&*table.text(name)) {
            if rows.len() < MOST_LABELS {
                let times = Some(Distribution::Quantiles(times));
                rows.push((label(&table, kind, name), OfLabel { requests: count, failed, times }));
            }
            continue;
        }
        let rate = rate.and_then(|column| table.number(column)).filter(|rate| 0.0 < *rate);
        let facts = Facts {
            measured_s: count.zip(rate).map(|(count, rate)| count as f64 / rate),
            failed,
            labels: labelled(rows.into_iter()),
            ..facts(count, rate, times)
        };
        return Ok(found(facts, Vec::new()));
    }
    Err("it has no row `Aggregated`: the file was cut off".to_owned())
}

/// Returns the method and the name of a row: `GET /cart`.
fn label(table: &Table<'_>, kind: Option<usize>, name: usize) -> String {
    let kind = kind.map(|kind| table.text(kind)).unwrap_or_default();
    format!("{kind} {}", table.text(name)).trim().to_owned()
}

fn history(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut table = Table::named(input, b',')?;
    let name = table.needed("Name")?;
    let columns =
        ["Timestamp", "Total Request Count", "Total Failure Count", "Total Median Response Time"];
    let [at, requests, failures, median] = columns.map(|name| table.column(name));
    let columns =
        ["Total Average Response Time", "Total Min Response Time", "Total Max Response Time"];
    let [mean, min, max] = columns.map(|name| table.column(name));
    let last_column = table.columns().len().saturating_sub(1);
    let (mut span, mut last, mut limits) = (None::<(f64, f64)>, None, Vec::new());
    while table.next()? {
        if !ALL.contains(&&*table.text(name)) {
            continue;
        }
        if !table.reaches(last_column) {
            let line = table.line();
            if table.next()? {
                return Err(format!("line {line} has fewer columns than the first one"));
            }
            limits.push(cut_off(line));
            break;
        }
        if let Some(second) = at.and_then(|column| table.number(column)) {
            let (first, _) = span.unwrap_or((second, second));
            span = Some((first.min(second), second));
        }
        let count = integer(&table, requests)?;
        let median = ms(&table, median).and_then(|time| percentile(50.0, time));
        let times = Quantiles {
            count,
            mean_ns: ms(&table, mean).map(|time| time.0),
            min_ns: ms(&table, min).map(|time| time.0),
            max_ns: ms(&table, max).map(|time| time.0),
            percentiles: median.into_iter().collect(),
        };
        last = Some((count, integer(&table, failures)?, times));
    }
    let (count, failed, times) = last.ok_or("it has no row `Aggregated`")?;
    let length = span.map(|(first, last)| last - first).filter(|s| 0.0 < *s);
    let rate = count.zip(length).map(|(count, s)| count as f64 / s);
    let facts = Facts { measured_s: length, failed, ..facts(count, rate, times) };
    limits.push(Limit {
        code: Code::OnlyQuantiles,
        text: "its percentiles are those of the ten seconds before each line, and do not add up to those of the \
               run: read the file …_stats.csv beside it"
            .to_owned(),
    });
    Ok(found(facts, limits))
}

fn facts(requests: Option<u64>, completed_per_s: Option<f64>, times: Quantiles) -> Facts {
    Facts {
        since: Some(Since::Sent),
        pacing: Some(Loop::Closed),
        requests,
        completed_per_s,
        times: Some(Distribution::Quantiles(times)),
        step_ns: Some(STEP.0),
        ..Facts::default()
    }
}

fn found(facts: Facts, mut limits: Vec<Limit>) -> Found {
    limits.push(of_tool(
        "Locust keeps times above 100 ms with two digits: differences below 5 % between such percentiles cannot \
         be seen",
    ));
    Found { tool: "Locust".to_owned(), facts, limits, ..Found::default() }
}

//! The CSV files of Locust: the totals (`_stats.csv`, before 0.14 `_requests.csv` and `_distribution.csv`) and the
//! course (`_stats_history.csv`).
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
    is: |head| {
        head.has_columns(&["Name", "Request Count", "Failure Count"])
            || head.has_columns(&["Name", "# requests", "# failures"])
            || head.has_columns(&["Name", "# requests", "50%"])
    },
    read: |input, _| stats(input),
};

pub(crate) const HISTORY: Format = Format {
    name: "locust-history",
    what: "locust --csv NAME: NAME_stats_history.csv",
    asks: &[],
    is: |head| {
        head.has_columns(&["Timestamp", "User Count", "Name"])
            || head.has_columns(&["Timestamp", "Name", "# requests"])
    },
    read: |input, _| history(input),
};

/// The name of the row of all requests, and the one that it has before version 0.13.
const ALL: &str = "Aggregated";
const BEFORE: &str = "Total";

const STEP: Nanos = Nanos::from_millis(1);

fn ms(table: &Table<'_>, column: Option<usize>) -> Option<Nanos> {
    time(table.number(column?)?, Unit::Milliseconds)
}

/// Returns the place of a column. Versions before 1.0 have other names, or other letters.
fn column(table: &Table<'_>, names: [&str; 2]) -> Option<usize> {
    let is_it = |column: &String| names.iter().any(|name| name.eq_ignore_ascii_case(column));
    table.columns().iter().position(is_it)
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
    let requests = column(&table, ["Request Count", "# requests"]);
    let failures = column(&table, ["Failure Count", "# failures"]);
    let rate = table.column("Requests/s");
    let columns = ["Median", "Average", "Min", "Max"].map(|of| format!("{of} Response Time"));
    let [median, mean, min, max] = columns.map(|name| column(&table, [&name, &name]));
    let kind = column(&table, ["Type", "Method"]);
    let is_old = table.column("# requests").is_some();
    let mut rows: Vec<(String, OfLabel)> = Vec::new();
    while table.next()? {
        let count = integer(&table, requests)?;
        let one = |(place, percent): &(usize, f64)| percentile(*percent, ms(&table, Some(*place))?);
        let median = ms(&table, median).and_then(|time| percentile(50.0, time));
        let percentiles = levels.iter().filter_map(one).chain(median);
        let times = Quantiles {
            count,
            mean_ns: ms(&table, mean).map(|time| time.0),
            min_ns: ms(&table, min).map(|time| time.0),
            max_ns: ms(&table, max).map(|time| time.0),
            percentiles: ascending(percentiles.collect()),
        };
        // Without a request all of them are printed as zero.
        let times = Some(Distribution::Quantiles(times)).filter(|_| count != Some(0));
        let of = OfLabel { requests: count, failed: integer(&table, failures)?, times };
        let text = table.text(name);
        // The file `_distribution.csv` has the method before the name.
        let all = text.strip_prefix("None ").unwrap_or(&text);
        let is_before = is_old && all == BEFORE;
        if all != ALL && !is_before {
            if rows.len() < MOST_LABELS {
                rows.push((label(&table, kind, name), of));
            }
            continue;
        }
        let rate = rate.and_then(|column| table.number(column)).filter(|rate| 0.0 < *rate);
        let whole = |of| if is_before { with_failures(of) } else { of };
        let OfLabel { requests, failed, times } = whole(of);
        let facts = Facts {
            measured_s: count.zip(rate).map(|(count, rate)| count as f64 / rate),
            failed,
            labels: labelled(rows.into_iter().map(|(name, of)| (name, whole(of)))),
            ..facts(requests, rate, times)
        };
        let limit = is_before.then(|| {
            of_tool(
                "Locust before 0.12 counts failures beside its requests, and keeps no time of them: the requests here \
                 are the sum",
            )
        });
        return Ok(found(facts, limit.into_iter().collect()));
    }
    Err("it has no row `Aggregated`: the file was cut off".to_owned())
}

/// Returns the figures of a row that counts failures beside its requests. Their number is unknown without those.
fn with_failures(of: OfLabel) -> OfLabel {
    let both = of.requests.zip(of.failed);
    OfLabel { requests: both.map(|(good, failed)| good.saturating_add(failed)), ..of }
}

/// Returns the method and the name of a row: `GET /cart`.
fn label(table: &Table<'_>, kind: Option<usize>, name: usize) -> String {
    let kind = kind.map(|kind| table.text(kind)).unwrap_or_default();
    format!("{kind} {}", table.text(name)).trim().to_owned()
}

fn history(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut table = Table::named(input, b',')?;
    let name = table.needed("Name")?;
    let (at, users) = (table.column("Timestamp"), table.column("User Count"));
    let columns = [
        ["Total Request Count", "# requests"],
        ["Total Failure Count", "# failures"],
        ["Total Median Response Time", "Median Response Time"],
        ["Total Average Response Time", "Average Response Time"],
        ["Total Min Response Time", "Min Response Time"],
        ["Total Max Response Time", "Max Response Time"],
    ];
    let [requests, failures, median, mean, min, max] = columns.map(|names| column(&table, names));
    let last_column = table.columns().len().saturating_sub(1);
    let (mut span, mut last, mut limits) = (None::<(f64, f64)>, None, Vec::new());
    let mut before = None;
    while table.next()? {
        if ![ALL, BEFORE].contains(&&*table.text(name)) {
            continue;
        }
        if !table.reaches(last_column) {
            let line = table.line();
            if !table.is_cut_off()? {
                return Err(format!("line {line} has fewer columns than the first one"));
            }
            limits.push(cut_off(line));
            break;
        }
        let count = integer(&table, requests)?;
        if let Some(second) = at.and_then(|column| table.number(column)) {
            let is_idle = users.and_then(|column| table.number(column)) == Some(0.0);
            // Its server may wait for long before and after a run, or begin another one.
            let is_new = count < before || is_idle && count == Some(0);
            let (first, end) = span.filter(|_| !is_new).unwrap_or((second, second));
            let end = if is_idle && count == before { end } else { second };
            span = Some((first.min(second), end));
        }
        before = count;
        let median = ms(&table, median).and_then(|time| percentile(50.0, time));
        let times = Quantiles {
            count,
            mean_ns: ms(&table, mean).map(|time| time.0),
            min_ns: ms(&table, min).map(|time| time.0),
            max_ns: ms(&table, max).map(|time| time.0),
            percentiles: median.into_iter().collect(),
        };
        last = Some((count, integer(&table, failures)?, Distribution::Quantiles(times)));
    }
    let (count, failed, times) = last.ok_or("it has no row `Aggregated`")?;
    let length = span.map(|(first, last)| last - first).filter(|s| 0.0 < *s);
    let rate = count.zip(length).map(|(count, s)| count as f64 / s);
    let facts = Facts { measured_s: length, failed, ..facts(count, rate, Some(times)) };
    limits.push(Limit {
        code: Code::OnlyQuantiles,
        text: "its percentiles are those of the ten seconds before each line, or of the run up to it, and nothing \
               says which: read the file …_stats.csv beside it"
            .to_owned(),
    });
    Ok(found(facts, limits))
}

fn facts(
    requests: Option<u64>,
    completed_per_s: Option<f64>,
    times: Option<Distribution>,
) -> Facts {
    Facts {
        since: Some(Since::Sent),
        pacing: Some(Loop::Closed),
        requests,
        completed_per_s,
        times,
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

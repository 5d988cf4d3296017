//! HdrHistogram's files: logs of intervals (.hlog) and tables of percentiles (.hgrm). Neither says the unit of
//! its values, nor what they are the times of.

use std::collections::BTreeSet;
use std::io::BufRead;

use measure::{Histogram, Nanos};
use results::foreign::{Distribution, Facts, Quantiles};
use results::lines::Lines;
use results::printed::Percentile;
use results::{Times, times};

use crate::json::ascending;
use crate::samples::cut_off;
use crate::{Asked, Format, Found, Question, Unit, time};

pub(crate) const LOG: Format = Format {
    name: "hlog",
    what: "HdrHistogram's log, such as benchwright load --hlog FILE (with --unit ns --tag response)",
    asks: &[Question::Unit, Question::Tag],
    is: |head| {
        let row = head.first_row();
        head.first_line().starts_with('#') && head.text().contains("istogram log format")
            || row.starts_with("\"StartTimestamp\"")
            || is_interval(row)
    },
    read: log,
};

pub(crate) const PERCENTILES: Format = Format {
    name: "hgrm",
    what: "HdrHistogram's table of percentiles (with --unit)",
    asks: &[Question::Unit],
    is: |head| {
        ["Value", "Percentile", "TotalCount"].iter().all(|name| head.first_row().contains(name))
    },
    read: table,
};

/// The most names of tags in a message.
const MOST_TAGS: usize = 10;
/// More values than this are not counts.
const MOST_COUNT: u64 = 1 << 48;
/// The beginning of an encoded histogram in base64.
const ENCODED: &str = "HIST";

fn is_interval(line: &str) -> bool {
    let cells: Vec<&str> = line.split(',').collect();
    (4..=5).contains(&cells.len()) && cells.last().is_some_and(|cell| cell.starts_with(ENCODED))
}

fn unit(known: Option<Unit>) -> Result<Unit, String> {
    known.ok_or_else(|| {
        "its values have no unit: say it by --unit (ns as a rule, and in logs of `benchwright load --hlog`; \
         us in wrk2's own histograms; ms)"
            .to_owned()
    })
}

fn log(input: &mut dyn BufRead, asked: &Asked) -> Result<Found, String> {
    let unit = unit(asked.unit)?;
    let mut lines = Lines::of(input);
    let mut histogram = Histogram::new();
    let (mut span, mut limits) = (None::<(f64, f64)>, Vec::new());
    let mut tag: Option<String> = asked.tag.clone();
    let mut tags: BTreeSet<String> = BTreeSet::new();
    while let Some(line) = lines.next_text()? {
        if line.starts_with('#') || line.starts_with('"') {
            continue;
        }
        let Some((own, begin, length, encoded)) = interval(&line) else {
            if !lines.is_ended {
                limits.push(cut_off(lines.number));
                break;
            }
            return Err(format!("line {} is not an interval of a log of histograms", lines.number));
        };
        if tags.len() < MOST_TAGS {
            tags.insert(own.to_owned());
        }
        if *tag.get_or_insert_with(|| own.to_owned()) != own {
            continue;
        }
        let Some(of_line) = times::decode(encoded) else {
            if !lines.is_ended {
                limits.push(cut_off(lines.number));
                break;
            }
            return Err(format!(
                "line {}: its histogram cannot be read; those of the encoding V2 can be",
                lines.number
            ));
        };
        add(&mut histogram, &of_line, unit);
        if MOST_COUNT < histogram.count() {
            return Err(format!("line {}: so many values cannot be counts", lines.number));
        }
        let (first, last) = span.unwrap_or((begin, begin));
        span = Some((first.min(begin), last.max(begin + length)));
    }
    let named = |tag: &String| match tag.as_str() {
        "" => "`` (those without a tag)".to_owned(),
        tag => format!("`{tag}`"),
    };
    let known = || tags.iter().map(named).collect::<Vec<_>>().join(", ");
    if asked.tag.is_none() && 1 < tags.len() {
        return Err(format!(
            "it has histograms of several kinds, which do not belong together: name one by --tag, of {}",
            known()
        ));
    }
    let Some(times) = Times::of(&histogram) else {
        let tags =
            if tags.is_empty() { String::new() } else { format!("; its tags are {}", known()) };
        return Err(format!("it has no values{tags}"));
    };
    let measured_s = span.map(|(first, last)| last - first).filter(|s| 0.0 < *s && s.is_finite());
    let facts = Facts {
        measured_s,
        requests: Some(times.count),
        completed_per_s: measured_s.map(|s| times.count as f64 / s),
        times: Some(Distribution::Histogram(Box::new(times))),
        ..Facts::default()
    };
    Ok(Found { tool: "HdrHistogram".to_owned(), facts, limits, ..Found::default() })
}

/// Returns the tag of an interval, its begin and length in seconds, and its histogram.
fn interval(line: &str) -> Option<(&str, f64, f64, &str)> {
    let (tag, rest) = match line.strip_prefix("Tag=") {
        Some(tagged) => tagged.split_once(',')?,
        None => ("", line),
    };
    let mut cells = rest.split(',').map(str::trim);
    let mut number = || cells.next()?.parse::<f64>().ok().filter(|number| number.is_finite());
    let (begin, length, _max) = (number()?, number()?, number()?);
    Some((tag, begin, length, cells.next()?))
}

/// Adds values of another unit than nanoseconds.
fn add(all: &mut Histogram, other: &Histogram, unit: Unit) {
    if unit == Unit::Nanoseconds {
        return all.add(other);
    }
    for (value, count) in other.buckets() {
        let scaled = time(value.0 as f64, unit).unwrap_or(Nanos(u64::MAX >> 1));
        all.record_n(scaled, count);
    }
}

fn table(input: &mut dyn BufRead, asked: &Asked) -> Result<Found, String> {
    let mut lines = Lines::of(input);
    let (mut times, mut longest, mut known) = (Quantiles::default(), None, asked.unit);
    while let Some(line) = lines.next_text()? {
        let line = line.trim();
        if line.starts_with('#') {
            let figure = |name| of_footer(line, name);
            let as_time = |name| Some(time(figure(name)?, known?)?.0);
            times.mean_ns = times.mean_ns.or_else(|| as_time("Mean"));
            times.max_ns = times.max_ns.or_else(|| as_time("Max"));
            let count = figure("Total count").and_then(crate::json::whole);
            times.count = count.or(times.count);
            continue;
        }
        let Some((value, level, count)) = row(line) else {
            known = of_header(line, known)?;
            continue;
        };
        times.count = count.or(times.count);
        let time_ns = time(value, unit(known)?).map(|time| time.0);
        match level < 1.0 {
            true => times.percentiles.extend(point_at(level, time_ns)),
            false => longest = time_ns,
        }
        if MOST_POINTS < times.percentiles.len() {
            return Err(format!(
                "it has more than {MOST_POINTS} lines: it is not a table of percentiles"
            ));
        }
    }
    if times.percentiles.is_empty() {
        return Err("it has no line with a value and its percentile".to_owned());
    }
    times.percentiles = ascending(times.percentiles);
    times.max_ns = times.max_ns.or(longest);
    let facts = Facts {
        requests: times.count,
        times: Some(Distribution::Quantiles(times)),
        ..Facts::default()
    };
    Ok(Found { tool: "HdrHistogram".to_owned(), facts, ..Found::default() })
}

/// The most points of a table.
const MOST_POINTS: usize = 100_000;

/// Returns the point of a line such as `1.050  0.500000  4990  2.00`, of which the value is in milliseconds.
pub(crate) fn point(line: &str) -> Option<Percentile> {
    let (value, level, _) = row(line)?;
    point_at(level, Some(time(value, Unit::Milliseconds)?.0))
}

fn point_at(level: f64, time_ns: Option<u64>) -> Option<Percentile> {
    let time_ns = time_ns?;
    (0.0 < level && level < 1.0).then_some(Percentile { level, time_ns })
}

/// Returns a value, the share of the values up to it, and their number.
fn row(line: &str) -> Option<(f64, f64, Option<u64>)> {
    let mut cells = line.split([' ', '\t', ',']).filter(|cell| !cell.is_empty());
    let (value, level): (f64, f64) = (cells.next()?.parse().ok()?, cells.next()?.parse().ok()?);
    let count = cells.next().and_then(|cell| cell.parse().ok());
    (0.0..=1.0).contains(&level).then_some((value, level, count))
}

/// Returns the unit of the values below a line: that of a header such as `Value(ms)  Percentile  TotalCount`, which
/// vegeta writes, or else the one that is known.
fn of_header(line: &str, known: Option<Unit>) -> Result<Option<Unit>, String> {
    let stated = line.strip_prefix("Value(").and_then(|rest| rest.split_once(')'));
    let Some((name, _)) = stated else { return Ok(known) };
    let unit = match name {
        "ns" => Unit::Nanoseconds,
        "us" | "µs" => Unit::Microseconds,
        "ms" => Unit::Milliseconds,
        "s" => Unit::Seconds,
        _ => return Ok(known),
    };
    match known {
        Some(other) if other != unit => {
            Err(format!("its header says that its values are in {name}: leave out --unit"))
        }
        _ => Ok(Some(unit)),
    }
}

/// Returns a figure of a line such as `#[Max     =       12.496, Total count    =        20001]`.
fn of_footer(line: &str, name: &str) -> Option<f64> {
    let parts = line.trim_matches(['#', '[', ']']).split(',');
    let figure = |part: &str| {
        let (known, figure) = part.split_once('=')?;
        (known.trim() == name).then(|| figure.trim().parse().ok())?
    };
    parts.filter_map(figure).find(|figure: &f64| figure.is_finite())
}

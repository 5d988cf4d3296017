//! The text of hey, and its CSV file with a line for each answer.

use std::collections::BTreeMap;
use std::io::BufRead;

use measure::Nanos;
use measure::quantity::counted;
use results::foreign::{Code, Distribution, Limit, Loop};
use results::printed::{Percentile, Printed, Since};

use crate::json::whole;
use crate::printed::{Figures, ascending, closed_loop, no_times, percentile, several};
use crate::samples::{Ended, Samples, cut_off, label_of, of_tool};
use crate::table::Table;
use crate::{Format, Found, Unit, time};

pub(crate) const TEXT: Format = Format {
    name: "hey",
    what: "hey URL",
    asks: &[],
    is: |head| {
        let text = head.text();
        text.contains("Summary:")
            && text.contains("Slowest:")
            && text.contains("Requests/sec:")
            // Other tools print the same words.
            && head.for_people().is_none()
    },
    read: |input, _| summary(input),
};

pub(crate) const CSV: Format = Format {
    name: "hey-csv",
    what: "hey -o csv URL",
    asks: &[],
    is: |head| head.has_columns(&["response-time", "DNS+dialup"]),
    read: |input, _| answers(input),
};

/// Its times have four decimals of a second.
const STEP: Nanos = Nanos::from_micros(100);
/// It keeps the times and the statuses of so many answers.
const MOST_TIMES: u64 = 1_000_000;
/// The share by which a number of requests from its rate may differ from a count: both its figures are rounded.
const ROUNDED: f64 = 1e-3;

pub fn read(text: &str) -> Result<Figures, String> {
    let length = seconds(text, "Total:").ok_or("it printed no `Total: … secs`")?;
    let statuses = counts(text, "Status code distribution:");
    let statuses = statuses.collect::<Result<BTreeMap<String, u64>, String>>()?;
    let errors = counts(text, "Error distribution:").filter_map(Result::ok);
    let errors = errors.filter_map(|(n, _)| n.parse::<u64>().ok()).fold(0, u64::saturating_add);
    let kept = statuses.values().copied().fold(0, u64::saturating_add);
    let answered = if kept < MOST_TIMES { kept } else { answered(text, length, kept, errors) };
    if answered == 0 && errors == 0 {
        return Err("it printed no answer and no error".to_owned());
    }
    let is_refused = |status: &str| status.parse::<u32>().is_ok_and(|status| 400 <= status);
    let refused = statuses.iter().filter(|(status, _)| is_refused(status)).map(|(_, n)| *n);
    let refused = refused.fold(0, u64::saturating_add);
    // Beyond that number it divides the sum of all times by the number of those that it keeps.
    let mean = seconds(text, "Average:").filter(|_| answered <= MOST_TIMES);
    let times = match answered {
        // All of them are printed as zero.
        0 => no_times(Since::Sent, 0),
        _ => Printed {
            mean_ns: mean.map(|time| time.0),
            max_ns: seconds(text, "Slowest:").map(|time| time.0),
            percentiles: percentiles(text),
            ..no_times(Since::Sent, answered)
        },
    };
    Ok(Figures {
        answered,
        refused,
        // It gives the reasons in words of its own, which are not our outcomes.
        unanswered: BTreeMap::from([("error".to_owned(), errors)]),
        statuses,
        length: Some(length),
        per_s: None,
        connections: None,
        times: Some(times),
        findings: (MOST_TIMES < answered).then(|| beginning(answered)).into_iter().collect(),
        warnings: vec![closed_loop("hey")],
    })
}

/// Returns the answers of a run with more than hey keeps the statuses of: its rate counts all, and the errors.
fn answered(text: &str, length: Nanos, kept: u64, errors: u64) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Requests/sec:"));
    let rate: Option<f64> = line.and_then(|rate| rate.trim().parse().ok());
    let by_rate = rate.and_then(|rate| whole(rate * length.as_secs_f64())).unwrap_or(0);
    let counted = kept.saturating_add(errors);
    let is_more = counted as f64 * (1.0 + ROUNDED) < by_rate as f64;
    if is_more { by_rate.saturating_sub(errors) } else { kept }
}

/// The limit of a run with more answers than hey keeps.
fn beginning(answered: u64) -> String {
    format!(
        "hey keeps the times of its first {} answers, and counted about {}: its percentiles and its statuses are of \
         the beginning of the load",
        counted(MOST_TIMES),
        counted(answered)
    )
}

/// Returns the time of a line such as `Slowest: 0.1857 secs`.
fn seconds(text: &str, label: &str) -> Option<Nanos> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
    let number: f64 = line.trim().strip_suffix("secs")?.trim().parse().ok()?;
    number.is_finite().then(|| Nanos::from_secs_f64(number))
}

/// Returns the lines of a table with their heads: `[200] 6442 responses`; of errors, the head is
/// the count.
fn counts<'a>(
    text: &'a str,
    title: &'a str,
) -> impl Iterator<Item = Result<(String, u64), String>> + 'a {
    let lines = text.lines().skip_while(move |line| line.trim() != title).skip(1);
    lines.map_while(|line| {
        let (head, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let first = rest.split_ascii_whitespace().next().unwrap_or_default();
        Some(match first.parse::<i64>() {
            Ok(count) if count < 0 => {
                Err(format!("it has {count} responses of {head}, and no count is negative"))
            }
            _ => Ok((head.to_owned(), first.parse().unwrap_or(0))),
        })
    })
}

/// Returns the lines `99% in 0.1077 secs`; some versions print the sign twice.
fn percentiles(text: &str) -> Vec<Percentile> {
    let line_of = |line: &str| {
        let (percent, time) = line.trim().split_once(" in ")?;
        let percent: f64 = percent.trim_end_matches('%').parse().ok()?;
        let seconds: f64 = time.strip_suffix("secs")?.trim().parse().ok()?;
        let is_level = 0.0 < percent && percent < 100.0;
        (is_level && seconds.is_finite())
            .then(|| percentile(percent, Nanos::from_secs_f64(seconds)))
    };
    ascending(text.lines().filter_map(line_of).collect())
}

fn summary(input: &mut dyn BufRead) -> Result<Found, String> {
    let text = crate::text(input)?;
    // A script of several runs appends to one file.
    let runs = text.lines().filter(|line| line.trim() == "Summary:").count();
    if 1 < runs {
        return Err(several("hey", runs));
    }
    let figures = read(&text)?;
    let mut facts = figures.facts();
    (facts.pacing, facts.step_ns) = (Some(Loop::Closed), Some(STEP.0));
    let mut limits = Vec::new();
    if MOST_TIMES < figures.answered {
        if let Some(Distribution::Quantiles(quantiles)) = &mut facts.times {
            quantiles.count = Some(MOST_TIMES);
        }
        limits.push(Limit { code: Code::LeftOut, text: beginning(figures.answered) });
    }
    Ok(Found { tool: "hey".to_owned(), facts, limits, ..Found::default() })
}

fn answers(input: &mut dyn BufRead) -> Result<Found, String> {
    let mut table = Table::named(input, b',')?;
    let response = table.needed("response-time")?;
    let (status, offset) = (table.column("status-code"), table.column("offset"));
    let mut samples = Samples::default();
    let mut limits = vec![
        Limit {
            code: Code::LeftOut,
            text:
                "hey writes no line for a request without an answer: how many there were is unknown"
                    .to_owned(),
        },
        of_tool(format!(
            "hey keeps at most the first {} answers: with as many lines the file is only the beginning of \
             the load",
            counted(MOST_TIMES)
        )),
    ];
    while table.next()? {
        let line = table.line();
        let time = table.number(response).and_then(|number| time(number, Unit::Seconds));
        let last = [Some(response), status, offset].into_iter().flatten().max().unwrap_or_default();
        let Some(time) = time.filter(|_| table.reaches(last)) else {
            let cell = label_of(&table.text(response));
            if !table.is_cut_off()? {
                return Err(format!("line {line}: `{cell}` is not a time of hey's CSV file"));
            }
            limits.push(cut_off(line));
            break;
        };
        let status = status.map(|column| table.text(column));
        let is_refused = status
            .as_deref()
            .is_some_and(|status| status.parse::<u32>().is_ok_and(|status| 400 <= status));
        samples.add(time, if is_refused { Ended::Badly } else { Ended::Well });
        if let Some(status) = &status {
            samples.status(status);
        }
        if let Some(begin) = offset.and_then(|column| table.number(column)) {
            samples.at(begin);
            samples.at(begin + time.as_secs_f64());
        }
    }
    let mut facts = samples.facts()?;
    // Older versions write no status.
    facts.failed = facts.failed.filter(|_| status.is_some());
    (facts.since, facts.pacing) = (Some(Since::Sent), Some(Loop::Closed));
    (facts.step_ns, facts.unanswered) = (Some(STEP.0), None);
    Ok(Found { tool: "hey".to_owned(), facts, limits, ..Found::default() })
}

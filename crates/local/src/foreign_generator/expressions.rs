//! The output of any generator, by the regular expressions of the spec.

use std::collections::BTreeMap;

use foreign::printed::{Figures, ascending, no_times, time};
use lab::spec::foreign_generator::{UNITS, level};
use lab::spec::{Expressions, Pattern};
use measure::Nanos;
use regex::Captures;
use results::printed::{Percentile, Printed, Since};

pub(super) fn read(text: &str, expressions: &Expressions) -> Result<Figures, String> {
    let Expressions { requests, failed, duration, since, times } = expressions;
    let answered = number(&found(text, requests)?, requests)?;
    let of_failed = failed.regex();
    let failures = of_failed.captures_iter(text).map(|found| number(&found, failed));
    let refused = failures.sum::<Result<u64, String>>()?;
    if answered < refused {
        return Err(format!("it printed {refused} failures of {answered} requests"));
    }
    let length = duration.as_ref().map(|pattern| length(&found(text, pattern)?, pattern));
    let mut printed = no_times(since.unwrap_or(Since::Sent), answered);
    for (name, pattern) in times {
        let time_ns = length_of(text, pattern)?.0;
        match level(name) {
            Some(level) => printed.percentiles.push(Percentile { level, time_ns }),
            None if name == "mean" => printed.mean_ns = Some(time_ns),
            None => printed.max_ns = Some(time_ns),
        }
    }
    let percentiles = ascending(std::mem::take(&mut printed.percentiles));
    Ok(Figures {
        answered,
        refused,
        unanswered: BTreeMap::new(),
        statuses: BTreeMap::new(),
        length: length.transpose()?,
        per_s: None,
        connections: None,
        times: (!times.is_empty()).then_some(Printed { percentiles, ..printed }),
        findings: Vec::new(),
        warnings: Vec::new(),
    })
}

fn found<'a>(text: &'a str, pattern: &Pattern) -> Result<Captures<'a>, String> {
    pattern
        .regex()
        .captures(text)
        .ok_or_else(|| format!("it printed nothing that `{pattern}` matches"))
}

/// Returns the text of the only group.
fn figure<'a>(found: &Captures<'a>) -> &'a str {
    found.get(1).map_or("", |group| group.as_str())
}

fn number(found: &Captures<'_>, pattern: &Pattern) -> Result<u64, String> {
    let figure = figure(found);
    figure.parse().map_err(|_| format!("`{figure}`, found by `{pattern}`, is not a number"))
}

fn length_of(text: &str, pattern: &Pattern) -> Result<Nanos, String> {
    length(&found(text, pattern)?, pattern)
}

fn length(found: &Captures<'_>, pattern: &Pattern) -> Result<Nanos, String> {
    let figure = figure(found);
    let unit = UNITS.iter().find(|(name, _)| found.name(name).is_some());
    let length = match unit {
        Some((_, scale)) => {
            let number = figure.parse::<f64>().ok().filter(|number| number.is_finite());
            number.map(|number| Nanos::from_secs_f64(number * scale))
        }
        None => time(figure),
    };
    length.ok_or_else(|| format!("`{figure}`, found by `{pattern}`, is not a time"))
}

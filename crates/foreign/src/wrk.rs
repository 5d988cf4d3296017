//! The texts of wrk and of wrk2, which differ in their percentiles.

use std::collections::BTreeMap;
use std::io::BufRead;

use measure::Nanos;
use measure::quantity::counted;
use results::foreign::{Code, Distribution, Limit, Loop};
use results::printed::{Percentile, Printed, Since};

use crate::head::Head;
use crate::printed::{Figures, ascending, no_times, percentile, several, time};
use crate::samples::of_tool;
use crate::{Format, Found};

pub(crate) const WRK: Format = Format {
    name: "wrk",
    what: "wrk --latency URL",
    asks: &[],
    is: |head| is_of_wrk(head) && !is_of_wrk2(head),
    read: |input, _| read(input, Loop::Closed),
};

pub(crate) const WRK2: Format = Format {
    name: "wrk2",
    what: "wrk2 --latency -R RATE URL",
    asks: &[],
    is: |head| is_of_wrk(head) && is_of_wrk2(head),
    read: |input, _| read(input, Loop::Open),
};

/// wrk's own, if the command has no other.
const TIMEOUT: Nanos = Nanos::from_secs(2);

/// Reads wrk's text. An answer beyond its timeout counts as a request, but is not in its latencies.
pub fn closed(text: &str, command: &[String]) -> Result<Figures, String> {
    let figures = common(text)?;
    let (answered, late) = (figures.answered, timeouts(text));
    // A number without a unit means seconds.
    let read = |text: &str| time(text).or_else(|| time(&format!("{text}s")));
    let timeout = option(command, "-T", "--timeout").and_then(read).unwrap_or(TIMEOUT);
    let missing = late.min(answered);
    let times = Printed {
        missing,
        timeout_ns: Some(timeout.0),
        ..times(text, Since::Sent, answered - missing)
    };
    let warning = "wrk is a closed loop: it sends less while answers are slow; for the requests \
                   that it did not send, its percentiles hold estimates (coordinated omission)";
    Ok(Figures { times: Some(times), warnings: vec![warning.to_owned()], ..figures })
}

/// Reads wrk2's text. It counts an answer that is late at each look, so its timeouts are not a
/// number of requests; the latencies have all of them.
pub fn open(text: &str) -> Result<Figures, String> {
    let figures = common(text)?;
    let late = timeouts(text);
    let late = (0 < late).then(|| {
        format!(
            "wrk2 saw answers beyond its timeout {} times; it looks several times at the same one",
            counted(late)
        )
    });
    let recorded = recorded(text).unwrap_or(figures.answered);
    let left_out = figures.answered.saturating_sub(recorded);
    let calibration = (0 < left_out).then(|| {
        format!(
            "the percentiles of wrk2 leave out {} of {} answers, most of them of its calibration",
            counted(left_out),
            counted(figures.answered)
        )
    });
    let since = if is_of_deathstar(text) { Since::Sent } else { Since::Intended };
    let times = match recorded {
        // All answers were those of its calibration.
        0 => no_times(since, figures.answered),
        // They stand for all.
        _ => times(text, since, figures.answered),
    };
    Ok(Figures {
        times: Some(times),
        findings: late.into_iter().collect(),
        warnings: calibration.into_iter().collect(),
        ..figures
    })
}

/// Reads what both print alike.
fn common(text: &str) -> Result<Figures, String> {
    let (answered, rest) = runs(text).next().ok_or("it printed no line `… requests in …`")?;
    let printed = rest.split(',').next().and_then(|length| time(length.trim()));
    let per_s = after(text, "Requests/sec:").and_then(|rate| rate.parse::<f64>().ok());
    let per_s = per_s.filter(|rate| 0.0 < *rate && rate.is_finite());
    // Both figures are rounded to hundredths; the larger one is more precise.
    let length = match (printed, per_s) {
        (Some(length), Some(rate)) if length.as_secs_f64() < rate => {
            Some(Nanos::from_secs_f64(answered as f64 / rate))
        }
        (length, _) => length,
    };
    let length = length.ok_or("it printed no length of its run")?;
    let refused = after(text, "Non-2xx or 3xx responses:").and_then(|count| count.parse().ok());
    let of_sockets = ["connect", "read", "write"].map(|kind| {
        let outcome = if kind == "read" { "reset" } else { kind };
        (outcome.to_owned(), socket_errors(text, kind))
    });
    let unanswered: BTreeMap<String, u64> =
        of_sockets.into_iter().filter(|(_, count)| 0 < *count).collect();
    Ok(Figures {
        answered,
        refused: refused.unwrap_or(0),
        unanswered,
        statuses: BTreeMap::new(),
        length: Some(length),
        per_s,
        connections: connections(text),
        times: None,
        findings: Vec::new(),
        warnings: Vec::new(),
    })
}

/// Returns the requests of each run, and the rest of its line: `281337 requests in 10.00s, 42.10MB read`. A script may
/// print similar lines without a number.
fn runs(text: &str) -> impl Iterator<Item = (u64, &str)> {
    text.lines().filter_map(|line| {
        let (requests, rest) = line.trim().split_once(" requests in ")?;
        Some((requests.parse().ok()?, rest))
    })
}

/// Returns true if the table of threads has the p99 in the place of the maximum. So does the wrk2 of DeathStarBench,
/// whose times count from sending, while those of wrk2 itself count from the intended start.
fn is_of_deathstar(text: &str) -> bool {
    let header = text.lines().find(|line| line.trim().starts_with("Thread Stats"));
    header.is_some_and(|line| line.split_ascii_whitespace().any(|name| name == "99%"))
}

/// Returns the connections of `10 threads and 150 connections`: each thread opens as many as the others.
fn connections(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_suffix(" connections"))?;
    let (threads, connections) = line.split_once(" threads and ")?;
    let (threads, connections): (u64, u64) = (threads.parse().ok()?, connections.parse().ok()?);
    Some(connections.checked_div(threads)? * threads).filter(|number| 0 < *number)
}

/// Returns the first word after a label.
fn after<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(label))?;
    line.split_ascii_whitespace().next()
}

/// Returns a count of `Socket errors: connect 0, read 1, write 0, timeout 5`; the line is absent if
/// all are zero.
fn socket_errors(text: &str, kind: &str) -> u64 {
    let line = text.lines().find_map(|line| line.trim().strip_prefix("Socket errors:"));
    let counts = line.into_iter().flat_map(|line| line.split(','));
    let own = |count: &str| count.trim().strip_prefix(kind)?.trim().parse().ok();
    counts.filter_map(own).next().unwrap_or(0)
}

fn timeouts(text: &str) -> u64 {
    socket_errors(text, "timeout")
}

/// Returns the percentiles, and the mean and the maximum of the table of threads. Without an answer
/// all of them are printed as zero: then there are none.
fn times(text: &str, since: Since, count: u64) -> Printed {
    if count == 0 {
        return no_times(since, count);
    }
    let row = text.lines().find_map(|line| line.trim().strip_prefix("Latency "));
    let mut cells = row.unwrap_or_default().split_ascii_whitespace().map(time);
    let mean = cells.next().flatten();
    let (longest, percentiles): (Vec<Percentile>, Vec<Percentile>) =
        distribution(text).into_iter().partition(|one| 1.0 <= one.level);
    let max = match is_of_deathstar(text) {
        true => longest.first().map(|one| one.time_ns),
        false => cells.nth(1).flatten().map(|time| time.0),
    };
    Printed {
        mean_ns: mean.map(|time| time.0),
        max_ns: max,
        percentiles: ascending(percentiles),
        ..no_times(since, count)
    }
}

/// Returns the lines of the first block `Latency Distribution`, with that of 100 %: wrk2's second one, of times
/// from sending, is not of our definition.
fn distribution(text: &str) -> Vec<Percentile> {
    let lines = text.lines().skip_while(|line| !line.trim().starts_with("Latency Distribution"));
    let lines = lines.skip(1).filter(|line| !line.trim().is_empty());
    let line_of = |line: &str| {
        let (percent, rest) = line.trim().split_once('%')?;
        let time_of = rest.split_ascii_whitespace().next()?;
        Some(percentile(percent.parse().ok()?, time(time_of)?))
    };
    lines.map_while(line_of).collect()
}

/// Returns the number of latencies of wrk2's histogram: `#[Max     = 12.496, Total count = 20001]`.
fn recorded(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.trim().trim_start_matches('#').starts_with("[Max"))?;
    let (_, count) = line.split_once("Total count")?;
    count.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}

/// Returns the value of an option of a program that uses `getopt`: `-T 2s`, `-T2s`, `--timeout 2s`
/// or `--timeout=2s`.
fn option<'a>(command: &'a [String], short: &str, long: &str) -> Option<&'a str> {
    let at = |(i, word): (usize, &'a String)| {
        if word == short || word == long {
            return command.get(i + 1).map(String::as_str);
        }
        let of_long = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        of_long.or_else(|| word.strip_prefix(short))
    };
    command.iter().enumerate().find_map(at)
}

fn is_of_wrk(head: &Head) -> bool {
    let text = head.text();
    text.contains(" requests in ") && text.contains("Thread Stats")
}

fn is_of_wrk2(head: &Head) -> bool {
    let text = head.text();
    text.contains("Thread calibration:") || text.contains("(HdrHistogram - ")
}

fn read(input: &mut dyn BufRead, pacing: Loop) -> Result<Found, String> {
    let text = crate::text(input)?;
    let tool = if pacing == Loop::Open { "wrk2" } else { "wrk" };
    // A script of several runs appends to one file, and the wrk2 of DeathStarBench prints each URL.
    let runs = runs(&text).count();
    if 1 < runs {
        return Err(several(tool, runs));
    }
    let figures = match pacing {
        Loop::Closed => closed(&text, &[]),
        Loop::Open => open(&text),
    }?;
    let mut facts = figures.facts();
    facts.pacing = Some(pacing);
    let mut limits: Vec<Limit> =
        figures.findings.iter().chain(&figures.warnings).map(of_tool).collect();
    if let Some(Distribution::Quantiles(quantiles)) = &mut facts.times
        && pacing == Loop::Open
    {
        let all = quantiles.percentiles.iter().copied().chain(spectrum(&text));
        quantiles.percentiles = ascending(all.collect());
        // The answers of its calibration have no time.
        quantiles.count = recorded(&text).or(quantiles.count);
    }
    if let Some(printed) = figures.times.as_ref().filter(|printed| 0 < printed.missing) {
        let (missing, timeout) = (counted(printed.missing), printed.timeout_ns.unwrap_or_default());
        limits.push(Limit {
            code: Code::LeftOut,
            text: format!(
                "{missing} answers came after wrk's timeout ({} unless -T says another) and are missing in \
                 these percentiles",
                Nanos(timeout).in_words()
            ),
        });
    }
    if facts.times.as_ref().is_none_or(|times| {
        matches!(times, Distribution::Quantiles(quantiles) if quantiles.percentiles.is_empty())
    }) {
        limits.push(of_tool("it has no percentiles: run it with --latency"));
    }
    if pacing == Loop::Open && is_of_deathstar(&text) {
        limits.push(of_tool(
            "it is the wrk2 of DeathStarBench, whose times count from sending, not from the intended start",
        ));
    }
    Ok(Found { tool: tool.to_owned(), facts, limits, ..Found::default() })
}

/// Returns the points of the first detailed spectrum, in which times are in milliseconds.
fn spectrum(text: &str) -> Vec<Percentile> {
    let lines = text.lines().skip_while(|line| !line.contains("Detailed Percentile spectrum"));
    let is_row = |line: &&str| !line.trim().starts_with(['#', '[', '-']);
    let lines = lines.skip(1).take_while(is_row);
    lines.filter_map(crate::hdr::point).collect()
}

//! The files of any load generator: how the commands read and write what they hold.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use foreign::{Asked, both_ends};
use measure::estimate::{CONFIDENCE, Support, beyond, quantile_interval, support};
use measure::quantity::{counted, grouped};
use measure::{Nanos, Quantile};
use results::foreign::{Checks, Code, Distribution, Facts, Limit, Loop};
use results::printed::Since;
use results::{Foreign, names, regular};

use console::output::Failure;

pub(super) mod analyse;
pub(super) mod compare;
pub(crate) mod report;

#[cfg(test)]
mod tests;

/// More files are a mistake of a shell's pattern.
const MOST_FILES: usize = 1_000;

/// The percentiles of a table, each if the file has it.
const LEVELS: [Quantile; 7] = [
    Quantile::P50,
    Quantile::P75,
    Quantile::P90,
    Quantile::P95,
    Quantile::P99,
    Quantile::P999,
    Quantile::P9999,
];

/// The answers to what a file does not say.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files of load generators")]
pub(crate) struct Says {
    /// The format of the files; `analyse --help` lists them [default: by their contents]
    #[arg(long, value_name = "NAME", value_parser = foreign::format)]
    pub(crate) format: Option<&'static str>,
    /// The unit of times in a file that states none: a CSV file, a log of histograms
    #[arg(long, value_enum, value_name = "UNIT")]
    pub(crate) unit: Option<Unit>,
    /// The column with the time of each request, by its name or its number from 1
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Option<String>,
    /// The meaning of a row of a CSV file; in a table of trials asked for where a level has more than 100
    #[arg(long, value_enum, value_name = "WHAT")]
    pub(crate) rows: Option<Rows>,
    /// The histograms of a log with several kinds
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
    /// The moment from which times count, if a file does not say it
    #[arg(long, value_enum, value_name = "MOMENT")]
    pub(crate) since: Option<Moment>,
    /// The rule by which requests started, if a file does not say it
    #[arg(long = "loop", value_enum, value_name = "LOOP")]
    pub(crate) pacing: Option<By>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Unit {
    Ns,
    Us,
    Ms,
    S,
}

/// The meaning of a row of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Rows {
    Trials,
    Requests,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum Moment {
    /// When the request was due
    Intended,
    /// When it was sent
    Sent,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum By {
    /// A clock
    Open,
    /// The answers to earlier requests
    Closed,
}

impl Says {
    pub(crate) fn asked(&self) -> Asked {
        Asked {
            format: self.format,
            unit: self.unit.map(|unit| match unit {
                Unit::Ns => foreign::Unit::Nanoseconds,
                Unit::Us => foreign::Unit::Microseconds,
                Unit::Ms => foreign::Unit::Milliseconds,
                Unit::S => foreign::Unit::Seconds,
            }),
            column: self.column.clone(),
            rows_are_requests: self.rows == Some(Rows::Requests),
            tag: self.tag.clone(),
            since: self.since.map(|moment| match moment {
                Moment::Intended => Since::Intended,
                Moment::Sent => Since::Sent,
            }),
            pacing: self.pacing.map(|by| match by {
                By::Open => Loop::Open,
                By::Closed => Loop::Closed,
            }),
        }
    }
}

/// Reads files; an error names the file.
pub(crate) fn read(paths: &[PathBuf], says: &Says) -> Result<Vec<Foreign>, Failure> {
    if MOST_FILES < paths.len() {
        let text = format!("{} files are too many; name at most {MOST_FILES}", paths.len());
        return Err(Failure::question(text));
    }
    refuse_twins(paths)?;
    let asked = says.asked();
    let one = |path: &PathBuf| {
        let name = regular::shown(path);
        let wrong = |why: String| Failure::question(format!("{name}: {why}"));
        if path.is_dir() {
            let text = "it is a folder: `report`, `explain` and `compare` read results directories; name the \
                        files of other tools one by one";
            return Err(wrong(text.to_owned()));
        }
        let file = regular::open_input(path).map_err(|error| wrong(regular::plain(&error)))?;
        foreign::read(&name, &mut BufReader::with_capacity(1 << 16, file), &asked).map_err(wrong)
    };
    paths.iter().map(one).collect()
}

/// Refuses files of which two are the same, or have the same contents: a file counts once, and what was counted twice
/// would seem to be reproduced.
fn refuse_twins(paths: &[PathBuf]) -> Result<(), Failure> {
    let found = |path: &PathBuf| fs::metadata(path).ok().filter(Metadata::is_file);
    let mut by_length: BTreeMap<u64, Vec<(&PathBuf, Metadata)>> = BTreeMap::new();
    for (path, found) in paths.iter().filter_map(|path| Some((path, found(path)?))) {
        by_length.entry(found.len()).or_default().push((path, found));
    }
    for alike in by_length.into_values().filter(|alike| 1 < alike.len()) {
        let mut known = BTreeMap::new();
        let mut contents = BTreeMap::new();
        for (path, found) in alike {
            let shown = regular::shown(path);
            if let Some(first) = known.insert((found.dev(), found.ino()), path) {
                return Err(Failure::question(match first == path {
                    true => format!("{shown} is named twice; a file counts once: name it once"),
                    false => format!(
                        "{} and {shown} are the same file, which counts once; name one of them",
                        regular::shown(first)
                    ),
                }));
            }
            // What cannot be read is refused with its reason when it is read.
            let Ok(digest) = digest(path) else { continue };
            if let Some(first) = contents.insert(digest, path) {
                return Err(Failure::question(format!(
                    "{} and {shown} have the same contents: a copy is no further measurement; name one of them",
                    regular::shown(first)
                )));
            }
        }
    }
    Ok(())
}

/// Returns a digest of the contents of a file.
fn digest(path: &Path) -> io::Result<u64> {
    let mut file = regular::open_input(path)?;
    let (mut hasher, mut piece) = (DefaultHasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hasher.finish()),
            length => hasher.write(&piece[..length]),
        }
    }
}

/// Returns the figures of a file in words, with what they support and what not.
pub(crate) fn text(foreign: &Foreign) -> String {
    let Foreign { file, format, tool, facts, supports, limits, .. } = foreign;
    let mut text = format!("{file}: {tool} ({format})\n");
    let _ = writeln!(text, "  requests  {}", requests(facts));
    if let Some(counts) = outcomes(facts) {
        let _ = writeln!(text, "  outcomes  {counts}");
    }
    if let Some(Checks { made, failed }) = facts.checks {
        let _ = writeln!(text, "  checks    {} of {} failed", counted(failed), counted(made));
    }
    let _ = writeln!(text, "  started   {}", started(facts));
    if facts.times.is_some() {
        let _ = writeln!(text, "  times     {}", since(facts));
        text += &times(facts);
    }
    text += &labels(facts);
    // Failures come first: what fails most requests supports nothing else.
    let (failing, others): (Vec<&Limit>, Vec<&Limit>) =
        limits.iter().partition(|limit| limit.code == Code::Failing);
    for limit in failing {
        let _ = writeln!(text, "! {}", limit.text);
    }
    for support in supports {
        let _ = writeln!(text, "+ {support}");
    }
    for limit in others {
        let _ = writeln!(text, "! {}", limit.text);
    }
    text
}

/// The most labels that are printed or compared.
const MOST_LABELS: usize = 20;

/// The width of a label in a table: of a longer one both ends are printed, since URLs begin alike.
const WIDTH_OF_LABEL: usize = 60;

/// Returns labels as a table has them. Those that would look the same are numbered.
fn shortened<'a>(labels: impl Iterator<Item = &'a String>) -> Vec<String> {
    let cut = |label: &str, room: usize| both_ends(label, (room - 1) / 2, room);
    let mut shown: Vec<String> = Vec::new();
    for label in labels {
        let numbered = |number| {
            let number = format!(" ({number})");
            cut(label, WIDTH_OF_LABEL - number.len()) + &number
        };
        let is_free = |text: &str| !shown.iter().any(|other| other == text);
        let free = names::free(cut(label, WIDTH_OF_LABEL), numbered, is_free);
        shown.push(free);
    }
    shown
}

/// Returns a table of the figures by label, of a file that has several.
fn labels(facts: &Facts) -> String {
    let mut text = String::new();
    if facts.labels.len() < 2 {
        return text;
    }
    let names = shortened(facts.labels.keys().take(MOST_LABELS));
    let width = names.iter().map(|name| name.chars().count() + 1).fold(30, usize::max);
    let row = |cells: [&str; 5]| {
        let [label, requests, failed, p50, p99] = cells;
        format!("  {label:width$}{requests:>12}{failed:>10}{p50:>13}{p99:>13}\n")
    };
    // Not every tool prints a p99.
    let has = |level: &Quantile| {
        let mut times = facts.labels.values().filter_map(|of| of.times.as_ref());
        times.any(|times| times.quantile_ns(*level).is_some())
    };
    let tails = [Quantile::P99, Quantile::P95, Quantile::P90];
    let tail = tails.into_iter().find(has).unwrap_or(Quantile::P99);
    text += &row(["label", "requests", "failed", "p50", &tail.name()]);
    let known = |count: Option<u64>| count.map_or("–".to_owned(), counted);
    for (name, of) in names.iter().zip(facts.labels.values()) {
        let time = |level| {
            let ns = of.times.as_ref().and_then(|times| times.quantile_ns(level));
            ns.map_or("–".to_owned(), |ns| Nanos(ns).to_string())
        };
        let (p50, tail) = (time(Quantile::P50), time(tail));
        text += &row([name, &known(of.requests), &known(of.failed), &p50, &tail]);
    }
    match facts.labels.len().saturating_sub(MOST_LABELS) {
        0 => {}
        more => text += &format!("  and {more} more labels, which --json has\n"),
    }
    text
}

/// Returns the number of requests and the rate: `12,000 in 30.0 s: 400/s completed`.
fn requests(facts: &Facts) -> String {
    let count = facts.requests.map_or("unknown".to_owned(), counted);
    let length = facts.measured_s.map(|s| format!(" in {s:.1} s"));
    let rate = facts.completed_per_s.map(|rate| format!(": {}/s completed", grouped(rate)));
    let asked = facts.asked_per_s.map(|rate| format!(" of {}/s asked for", grouped(rate)));
    let parts = [length, rate, asked].into_iter().flatten();
    parts.fold(count, |text, part| text + &part)
}

fn outcomes(facts: &Facts) -> Option<String> {
    let failed = facts.failed.map(|failed| {
        let all = facts.requests.filter(|all| 0 < *all && 0 < failed);
        let share = all.map(|all| match 100.0 * failed as f64 / all as f64 {
            percent if percent < 0.01 => " (< 0.01 %)".to_owned(),
            percent => format!(" ({percent:.2} %)"),
        });
        format!("{} failed{}", counted(failed), share.unwrap_or_default())
    });
    let some = |count: Option<u64>, what: &str| {
        Some(format!("{} {what}", counted(count.filter(|count| 0 < *count)?)))
    };
    let statuses =
        facts.statuses.iter().map(|(status, count)| format!("{status}: {}", counted(*count)));
    let statuses: Vec<String> = statuses.take(8).collect();
    let statuses = (!statuses.is_empty()).then(|| statuses.join(", "));
    let parts = [
        failed,
        some(facts.unfinished, "unfinished"),
        some(facts.given_up(), "without an answer"),
        some(facts.not_sent, "not begun"),
        statuses,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn started(facts: &Facts) -> &'static str {
    match facts.pacing {
        Some(Loop::Open) => "by a clock (open loop)",
        Some(Loop::Closed) => "by the answers to earlier ones (closed loop)",
        None => "by a clock or by earlier answers: unknown",
    }
}

fn since(facts: &Facts) -> String {
    let since = match facts.since {
        Some(Since::Intended) => "each from its intended start",
        Some(Since::Sent) => "each from its sending",
        None => "from a moment that the file does not say",
    };
    let count = facts.count().map_or("an unknown number".to_owned(), counted);
    let known = match &facts.times {
        Some(Distribution::Quantiles(_)) => ", as printed",
        _ => "",
    };
    format!("{count}, {since}{known}")
}

/// Returns a line for each percentile, with the interval that chance leaves and what it rests on.
fn times(facts: &Facts) -> String {
    let mut text = String::new();
    let count = facts.count();
    let histogram = match &facts.times {
        Some(Distribution::Histogram(times)) => times.histogram(),
        _ => None,
    };
    let mut line = |name: &str, time: Nanos, note: &str| {
        let _ = writeln!(
            text,
            "{}",
            format!("    {name:<7} {:>10}{note}", time.to_string()).trim_end()
        );
    };
    if let Some(mean) = facts.mean() {
        line("mean", mean, "");
    }
    for level in LEVELS {
        let Some(time) = facts.quantile_ns(level) else { continue };
        let interval = histogram.and_then(|all| quantile_interval(all, level, CONFIDENCE));
        let interval = interval.map(|(low, high)| format!("  ({low} … {high})"));
        let rests = count.map(|count| match support(count, level) {
            Support::Unsupported => format!("  {} beyond it: unsupported", beyond(count, level)),
            Support::Indicative => format!("  {} beyond it: an indication", beyond(count, level)),
            Support::Sound => String::new(),
        });
        let note = interval.unwrap_or_default() + &rests.unwrap_or_default();
        line(&level.name(), Nanos(time), &note);
    }
    if let Some(max) = facts.max() {
        line("max", max, "");
    }
    text
}

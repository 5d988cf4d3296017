//! A load's document as text that fits on one screen.

use std::fmt::Write;

use measure::estimate::{self, Support};
use measure::quantity::{counted, grouped, requests};
use measure::{Bytes, Nanos, Quantile};
use results::load::Ended;
use results::sessions::Arrivals;
use results::{Events, Load, Times, failing};

use console::output::Exit;

use crate::verdict::{exit, judged};

#[cfg(test)]
mod tests;

pub(crate) fn of(load: &Load) -> String {
    let mut text = String::new();
    write(load, &mut text).expect("writing to memory does not fail");
    text
}

fn write(load: &Load, text: &mut String) -> std::fmt::Result {
    let rates = &load.total.rates_per_s;
    let counts = &load.total.counts;
    if let Some(failed) = failing::of_load_in_words(load) {
        writeln!(text, "failed: {failed}")?;
    }
    if let Some(asked) = rates.asked {
        write!(text, "asked {}/s · ", grouped(asked))?;
    }
    writeln!(
        text,
        "offered {}/s · completed {}{}/s · {} · {}",
        grouped(rates.offered),
        if load.generator.generator_bound == Some(true) { "at least " } else { "" },
        grouped(rates.completed),
        requests(counts.intended),
        Bytes(counts.bytes_received),
    )?;
    operations(load, text)?;
    sessions(load, text)?;
    events(load, text)?;
    times(load, text)?;
    tls(load, text)?;
    if 1 < load.targets.len() {
        targets(load, text)?;
    }
    labels(load, text)?;
    writeln!(text)?;
    for finding in &load.findings {
        writeln!(text, "found: {finding}")?;
    }
    for warning in &load.warnings {
        writeln!(text, "warning: {warning}")?;
    }
    for judged in judged(load) {
        writeln!(text, "slo: {}", judged.text)?;
    }
    if let Some(fails) = failing::missed_in_words(load, judged(load)) {
        // A disturbance may have slowed the target, which then refused or did not answer.
        let is_certain = exit(load) == Exit::No;
        let fails = if is_certain { fails } else { format!("perhaps for a disturbance: {fails}") };
        writeln!(text, "fails: {fails}")?;
    }
    if load.partial {
        writeln!(text, "interrupted: {:.1} s were measured", load.measured_s)?;
    }
    match load.validity.valid {
        true => {
            let valid = failing::valid_in_words(load);
            writeln!(text, "{valid}. {}", support(load))
        }
        false => writeln!(text, "not valid: {}", load.validity.reasons.join("\n           ")),
    }?;
    // Otherwise the exit code would contradict the line above.
    load.answers_even_so().map_or(Ok(()), |why| writeln!(text, "but {why}"))
}

/// Writes the operations: `operations 52,000/s · 104,000 ok · 12 status`.
fn operations(load: &Load, text: &mut String) -> std::fmt::Result {
    let Some(operations) = &load.total.operations else { return Ok(()) };
    let outcomes = operations.outcomes.iter();
    let outcome = |(name, count): (&String, &u64)| {
        format!(" · {} {}", counted(*count), failing::outcome_in_words(name))
    };
    let outcomes: Vec<String> = outcomes.map(outcome).collect();
    writeln!(text, "operations {}/s{}", grouped(operations.completed_per_s), outcomes.concat())
}

/// Writes the sessions: `sessions 50/s asked · 1,500 started · 1,480 complete · …`, where and why others
/// ended, and what the arrivals are.
fn sessions(load: &Load, text: &mut String) -> std::fmt::Result {
    let Some(sessions) = &load.total.sessions else { return Ok(()) };
    write!(text, "sessions ")?;
    if let Some(asked) = sessions.asked_per_s {
        write!(text, "asked {}/s · ", grouped(asked))?;
    }
    write!(
        text,
        "{} started · {} complete",
        counted(sessions.started),
        counted(sessions.completed)
    )?;
    let others = [(sessions.broken(), "ended by a failure"), (sessions.unfinished, "unfinished")];
    for (count, what) in others.into_iter().filter(|(count, _)| 0 < *count) {
        write!(text, " · {} {what}", counted(count))?;
    }
    if let Some(times) = &sessions.time {
        let [p50, p99] = [Quantile::P50, Quantile::P99].map(|quantile| figure(times, quantile));
        write!(text, " · p50 {p50} · p99 {p99}")?;
    }
    writeln!(text)?;
    for broken in sessions.broken.iter().take(MOST_BROKEN) {
        let at =
            broken.at.as_ref().map_or("before a request".to_owned(), |at| format!("at `{at}`"));
        let reason = broken.reason.as_ref().map_or(String::new(), |why| format!(", {why}"));
        writeln!(
            text,
            "  {} ended {at}: {}{reason}",
            counted(broken.sessions),
            failing::outcome_in_words(&broken.outcome)
        )?;
    }
    match load.arrivals {
        Some(Arrivals::Sessions) => writeln!(
            text,
            "arrivals are sessions: a first step counts from its intended start, each later one from \
             the response before it and the think time"
        ),
        Some(Arrivals::Requests) => writeln!(
            text,
            "arrivals are requests: each is the next of the session that is ready for the longest \
             time, or the first of a new one"
        ),
        None => Ok(()),
    }
}

fn events(load: &Load, text: &mut String) -> std::fmt::Result {
    load.events.as_ref().map_or(Ok(()), |events| fates(events, text))
}

/// Writes the fate of the events: `events: 15,000 accepted · 15,000 delivered · 0 lost · …`.
pub(crate) fn fates(events: &Events, text: &mut String) -> std::fmt::Result {
    let counts = [
        (events.accepted, "accepted"),
        (events.refused, "refused"),
        (events.delivered, "delivered"),
        (events.lost, "lost"),
        (events.duplicated, "duplicated"),
        (events.reordered, "reordered"),
    ];
    let counts = counts.map(|(count, what)| format!("{} {what}", counted(count)));
    writeln!(text, "events: {}", counts.join(" · "))
}

/// The most labels that are printed.
const MOST_LABELS: usize = 16;
/// The most reasons for the end of sessions that are printed.
const MOST_BROKEN: usize = 5;

const COLUMNS: [(&str, Quantile); 5] = [
    ("p50", Quantile::P50),
    ("p90", Quantile::P90),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P999),
    ("p99.99", Quantile::P9999),
];

/// A response time that is longer by this factor than without lateness is printed as an interval.
const NOTICEABLE: f64 = 1.05;
/// The width of the narrowest column; a longer entry makes its column wider.
const WIDTH: usize = 12;

fn times(load: &Load, text: &mut String) -> std::fmt::Result {
    // A load that ended by overload lacks the requests that would have waited longest.
    let bounds = if load.ended == Some(Ended::Overloaded) { "; lower bounds" } else { "" };
    let total = &load.total;
    let less_lateness = total.response_time_less_lateness.as_ref();
    let events = load.events.as_ref();
    let publish = events.map_or(&None, |events| &events.publish_time);
    let rows: Vec<_> = [
        (
            "response",
            &total.response_time,
            less_lateness,
            "counted from the intended start",
            bounds,
        ),
        ("service", &total.service_time, None, "counted from the sending", bounds),
        ("batched", &total.batch_delay, None, "the wait to be sent with others, if any", ""),
        ("lateness", &total.lateness, None, "the generator's own part", ""),
        ("publish", publish, None, "from the intended start to acceptance", ""),
    ]
    .into_iter()
    .filter_map(|(name, times, less, note, bounds)| {
        let times = times.as_ref()?;
        Some(Row {
            name,
            figures: COLUMNS.map(|(_, quantile)| between(less, times, quantile)),
            max: Nanos(times.max_ns).to_string(),
            note: format!("{note}{bounds}"),
        })
    })
    .chain(events.and_then(delivery))
    .collect();
    if let Some(heading) = failing::of_times_in_words(total) {
        write!(text, "\n{heading}")?;
    }
    table(&rows, text)
}

/// Returns the row of the delivery times; `None` if there are none.
pub(crate) fn delivery(events: &Events) -> Option<Row> {
    let note = "from the intended start to the first arrival";
    let row = Row::of("delivery", events.delivery_time.as_ref()?, note);
    Some(row.at_least(events.delivery_time.as_ref()?, events.at_least_from()))
}

/// A row of the table of times.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// By the columns.
    pub(crate) figures: [String; COLUMNS.len()],
    pub(crate) max: String,
    pub(crate) note: String,
}

impl Row {
    pub(crate) fn of(name: &'static str, times: &Times, note: &str) -> Row {
        let figures = COLUMNS.map(|(_, quantile)| figure(times, quantile));
        Row { name, figures, max: Nanos(times.max_ns).to_string(), note: note.to_owned() }
    }

    /// Marks the figures that are lower bounds, since events were lost: those from a time on.
    fn at_least(mut self, times: &Times, from: Option<Nanos>) -> Row {
        let is_at_least = |time: Nanos| from.is_some_and(|from| from <= time);
        let histogram = times.histogram();
        for (figure, (_, level)) in self.figures.iter_mut().zip(COLUMNS) {
            if histogram.and_then(|all| all.quantile(level)).is_some_and(is_at_least) {
                *figure = format!("≥ {figure}");
            }
        }
        if is_at_least(Nanos(times.max_ns)) {
            self.max = format!("≥ {}", self.max);
        }
        self
    }
}

/// Writes a table of times, with an empty line before it.
pub(crate) fn table(rows: &[Row], text: &mut String) -> std::fmt::Result {
    let width = |column: usize| {
        rows.iter().map(|row| row.figures[column].chars().count() + 2).fold(WIDTH, usize::max)
    };
    write!(text, "\n{:9}", "")?;
    for (column, (name, _)) in COLUMNS.iter().enumerate() {
        write!(text, "{name:>0$}", width(column))?;
    }
    writeln!(text, "{:>WIDTH$}", "max")?;
    for Row { name, figures, max, note } in rows {
        write!(text, "{name:9}")?;
        for (column, figure) in figures.iter().enumerate() {
            write!(text, "{figure:>0$}", width(column))?;
        }
        writeln!(text, "{max:>WIDTH$}   {note}")?;
    }
    Ok(())
}

fn tls(load: &Load, text: &mut String) -> std::fmt::Result {
    let (Some(tls), Some(times)) = (&load.total.tls, &load.total.tls_time) else { return Ok(()) };
    writeln!(
        text,
        "\n{} {} · {} handshakes, {:.1} % resumed · p50 {} · p99 {}",
        tls.version,
        tls.cipher,
        counted(tls.handshakes),
        100.0 * tls.resumed_share,
        figure(times, Quantile::P50),
        figure(times, Quantile::P99),
    )
}

/// Returns a quantile of the response time. If the quantile of the response time less lateness is
/// noticeably lower, returns both: the target's own quantile is between them.
fn between(less: Option<&Times>, times: &Times, quantile: Quantile) -> String {
    let upper = value(times, quantile);
    let lower = less.map(|less| value(less, quantile));
    match lower.filter(|lower| lower.0 as f64 * NOTICEABLE < upper.0 as f64) {
        Some(lower) => supported(times, quantile, interval(lower, upper)),
        None => figure(times, quantile),
    }
}

/// Returns an interval: `305 … 433 µs`.
fn interval(lower: Nanos, upper: Nanos) -> String {
    let (lower, upper) = (lower.to_string(), upper.to_string());
    match (lower.split_once(' '), upper.split_once(' ')) {
        (Some((number, unit)), Some((_, same))) if unit == same => format!("{number} … {upper}"),
        _ => format!("{lower} … {upper}"),
    }
}

fn figure(times: &Times, quantile: Quantile) -> String {
    supported(times, quantile, value(times, quantile).to_string())
}

fn value(times: &Times, quantile: Quantile) -> Nanos {
    Nanos(match quantile {
        Quantile::P50 => times.p50_ns,
        Quantile::P90 => times.p90_ns,
        Quantile::P99 => times.p99_ns,
        Quantile::P999 => times.p999_ns,
        _ => times.p9999_ns,
    })
}

/// Puts a figure in brackets if fewer than ten samples are beyond it.
fn supported(times: &Times, quantile: Quantile, figure: String) -> String {
    match estimate::support(times.count, quantile) {
        Support::Unsupported => format!("({figure})"),
        Support::Indicative | Support::Sound => figure,
    }
}

fn targets(load: &Load, text: &mut String) -> std::fmt::Result {
    writeln!(text)?;
    for target in &load.targets {
        let rates = &target.part.rates_per_s;
        let less = target.part.response_time_less_lateness.as_ref();
        let times = target.part.response_time.as_ref();
        let p99 = times.map_or("–".to_owned(), |times| between(less, times, Quantile::P99));
        writeln!(
            text,
            "{}   offered {}/s · completed {}/s · p99 {p99} · {} failed",
            target.url,
            grouped(rates.offered),
            grouped(rates.completed),
            counted(target.part.counts.failed),
        )?;
    }
    Ok(())
}

/// Writes the figures by label, if there are any, in 78 columns.
fn labels(load: &Load, text: &mut String) -> std::fmt::Result {
    if load.labels.is_empty() {
        return Ok(());
    }
    writeln!(
        text,
        "\n{:30}{:>12}{:>10}{:>13}{:>13}",
        "label", "completed", "failed", "p50", "p99"
    )?;
    for (name, group) in load.labels.iter().take(MOST_LABELS) {
        let times = |quantile| {
            group.response_time.as_ref().map_or("–".to_owned(), |times| figure(times, quantile))
        };
        writeln!(
            text,
            "{:30}{:>12}{:>10}{:>13}{:>13}",
            shortened(name),
            counted(group.completed),
            counted(group.failed),
            times(Quantile::P50),
            times(Quantile::P99)
        )?;
    }
    match load.labels.len().saturating_sub(MOST_LABELS) {
        0 => Ok(()),
        more => writeln!(text, "and {more} more labels, which --json and --report have"),
    }
}

/// Shortens a label to its column, with a space behind it.
fn shortened(name: &str) -> String {
    match name.chars().count() {
        0..30 => name.to_owned(),
        _ => name.chars().take(28).chain(['…']).collect(),
    }
}

/// Names the first quantile that has too few requests beyond it, and the time to get enough.
fn support(load: &Load) -> String {
    let Some(times) = &load.total.response_time else { return "Nothing was answered.".to_owned() };
    let weak = COLUMNS
        .iter()
        .find(|(_, quantile)| estimate::support(times.count, *quantile) != Support::Sound);
    let Some((name, quantile)) = weak else { return String::new() };
    let beyond = estimate::beyond(times.count, *quantile);
    let needed = 100.0 / (1.0 - quantile.level()) / times.count as f64 * load.measured_s;
    format!(
        "{name} rests on {beyond} request{}: run {} for 100.",
        if beyond == 1 { "" } else { "s" },
        Nanos::from_secs_f64(needed.ceil()),
    )
}

//! A load's document as text that fits on one screen of 80 columns.

use std::fmt::Write;

use measure::estimate::{self, Support};
use measure::quantity::{counted, grouped, requests};
use measure::{Bytes, Nanos, Quantile};
use results::load::{Ended, Group};
use results::sessions::Arrivals;
use results::{Events, Load, Times, failing, shell};

use console::output::{Exit, Mark};

use crate::verdict::{exit, judged};

#[cfg(test)]
mod tests;

/// The words that begin a line of the text, and what they mean.
pub(crate) const MARKS: [(&str, Mark); 9] = [
    ("failed:", Mark::Bad),
    ("fails:", Mark::Bad),
    ("found:", Mark::Middling),
    ("warning:", Mark::Middling),
    ("interrupted:", Mark::Middling),
    ("valid measurement of a failing service", Mark::Middling),
    ("valid.", Mark::Good),
    ("not valid:", Mark::Bad),
    ("notes are missing", Mark::Bad),
];

/// The columns of a narrow terminal.
const COLUMNS_OF_SCREEN: usize = 80;
/// The most statuses that are printed.
const MOST_STATUSES: usize = 8;

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
    let asked = rates.asked.map(|asked| format!("asked {}/s", grouped(asked)));
    let is_bound = load.generator.generator_bound == Some(true);
    let completed = if is_bound { "completed at least" } else { "completed" };
    let rate = |name: &str, rate: f64| format!("{name} {}/s", grouped(rate));
    // A failure completes a request, too.
    let goodput = (0 < counts.failed).then(|| rate("goodput", rates.goodput));
    let figures = [rate("offered", rates.offered), rate(completed, rates.completed)];
    let of_all = [requests(counts.intended), Bytes(counts.bytes_received).to_string()];
    let figures = asked.into_iter().chain(figures).chain(goodput).chain(of_all);
    flow(text, "", figures)?;
    statuses(load, text)?;
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
        look(load).map_or(Ok(()), |look| writeln!(text, "look: {look}"))?;
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

/// The beginnings of the options with which a request is another one than that of `curl URL`.
const OF_REQUESTS: [&str; 15] = [
    "-m",
    "--method",
    "-H",
    "--header",
    "--body",
    "--script",
    "--event",
    "-k",
    "--insecure",
    "--ca",
    "--cert",
    "--key",
    "--sni",
    "--address",
    "--connect-to",
];

/// Returns the command that shows a request, or its response, if there is one.
fn look(load: &Load) -> Option<String> {
    let value = |option: &str| {
        let mut words = load.arguments.iter();
        let is_own = |word: &&String| word.split('=').next() == Some(option);
        let word = words.find(is_own)?;
        word.split_once('=').map(|(_, value)| value).or_else(|| words.next().map(String::as_str))
    };
    if let Some(mix) = value("--mix") {
        let data = value("--data").into_iter().flat_map(|data| ["--data", data]);
        let words = ["benchwright", "mix", "check", mix].into_iter().chain(data);
        let command = shell::line(&words.collect::<Vec<&str>>());
        return Some(format!("`{command}` shows what is asked"));
    }
    let is_plain = |word: &String| !OF_REQUESTS.iter().any(|option| word.starts_with(option));
    let url = load.targets.iter().find(|target| target.path.is_some()).map(|target| &target.url);
    let url = url.filter(|url| url.starts_with("http://") || url.starts_with("https://"))?;
    load.arguments.iter().all(is_plain).then(|| {
        format!("`{}` shows what the service answers", shell::line(&["curl", "-v", url.as_str()]))
    })
}

/// Writes parts as a list, `a · b · c`. A part that would pass the last column begins another line, which is
/// indented.
fn flow(
    text: &mut String,
    heading: &str,
    parts: impl IntoIterator<Item = String>,
) -> std::fmt::Result {
    let mut line = heading.to_owned();
    let mut is_begun = false;
    for part in parts {
        let length = |text: &str| text.chars().count();
        if is_begun && COLUMNS_OF_SCREEN < length(&line) + length(" · ") + length(&part) {
            writeln!(text, "{line}")?;
            line = "  ".to_owned();
        } else if is_begun {
            line += " · ";
        }
        line += &part;
        is_begun = true;
    }
    writeln!(text, "{line}")
}

/// Writes the answers by status: `statuses 200: 16,980 · 404: 3,000`.
fn statuses(load: &Load, text: &mut String) -> std::fmt::Result {
    let mut statuses: Vec<(&String, &u64)> = load.total.statuses.iter().collect();
    if statuses.is_empty() {
        return Ok(());
    }
    // The rarest are left out, and the others stay in their order.
    let mut counts: Vec<u64> = statuses.iter().map(|(_, count)| **count).collect();
    counts.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    let least = counts.get(MOST_STATUSES - 1).copied().unwrap_or_default();
    let further = statuses.len().saturating_sub(MOST_STATUSES);
    statuses.retain(|(_, count)| least <= **count);
    statuses.truncate(MOST_STATUSES);
    let status = |(status, count): (&String, &u64)| format!("{status}: {}", counted(*count));
    let more = (0 < further).then(|| format!("{further} more, which --json has"));
    flow(text, "statuses ", statuses.into_iter().map(status).chain(more))
}

/// Writes the operations: `operations 52,000/s · 104,000 ok · 12 status`.
fn operations(load: &Load, text: &mut String) -> std::fmt::Result {
    let Some(operations) = &load.total.operations else { return Ok(()) };
    let outcome = |(name, count): (&String, &u64)| {
        format!("{} {}", counted(*count), failing::outcome_in_words(name))
    };
    let rate = format!("{}/s", grouped(operations.completed_per_s));
    let outcomes = operations.outcomes.iter().map(outcome);
    flow(text, "operations ", [rate].into_iter().chain(outcomes))
}

/// Writes the sessions: `sessions 50/s asked · 1,500 started · 1,480 complete · …`, where and why others
/// ended, and what the arrivals are.
fn sessions(load: &Load, text: &mut String) -> std::fmt::Result {
    let Some(sessions) = &load.total.sessions else { return Ok(()) };
    let asked = sessions.asked_per_s.map(|asked| format!("asked {}/s", grouped(asked)));
    let ended = [(sessions.started, "started"), (sessions.completed, "complete")];
    let others = [(sessions.broken(), "ended by a failure"), (sessions.unfinished, "unfinished")];
    let others = others.into_iter().filter(|(count, _)| 0 < *count);
    let counts = ended.into_iter().chain(others);
    let counts = counts.map(|(count, what)| format!("{} {what}", counted(count)));
    let times = sessions.time.iter().flat_map(|times| {
        [("p50", Quantile::P50), ("p99", Quantile::P99)]
            .map(|(name, quantile)| format!("{name} {}", figure(times, quantile)))
    });
    flow(text, "sessions ", asked.into_iter().chain(counts).chain(times))?;
    for broken in sessions.broken.iter().take(MOST_BROKEN) {
        let at =
            broken.at.as_ref().map_or("before a request".to_owned(), |at| format!("at `{at}`"));
        let reason = broken.reason.as_ref().map_or(String::new(), |why| format!(", {why}"));
        let (count, outcome) =
            (counted(broken.sessions), failing::outcome_in_words(&broken.outcome));
        writeln!(text, "  {count} ended {at}: {outcome}{reason}")?;
    }
    match load.arrivals {
        Some(Arrivals::Sessions) => writeln!(
            text,
            "arrivals are sessions: a first step counts from its intended start, each later\n  \
             one from the response before it and the think time"
        ),
        Some(Arrivals::Requests) => writeln!(
            text,
            "arrivals are requests: each is the next of the session that is ready for the\n  \
             longest time, or the first of a new one"
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
    flow(text, "events: ", counts)
}

/// The most statuses of successes of one label that are printed.
const MOST_OF_LABEL: usize = 3;
/// The most labels that are printed.
const MOST_LABELS: usize = 16;
/// The most reasons for the end of sessions that are printed.
const MOST_BROKEN: usize = 5;
/// The width of the column of targets.
const TARGET: usize = 27;

const COLUMNS: [(&str, Quantile); 5] = [
    ("p50", Quantile::P50),
    ("p90", Quantile::P90),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P999),
    ("p99.99", Quantile::P9999),
];

/// A response time that is longer by this factor than without lateness is printed as an interval.
const NOTICEABLE: f64 = 1.05;
/// The width of the column of names, and of the narrowest of the others; a longer entry makes its column wider.
const NAMES: usize = 10;
const WIDTH: usize = 11;

fn times(load: &Load, text: &mut String) -> std::fmt::Result {
    // A load that ended by overload lacks the requests that would have waited longest.
    let bounds = if load.ended == Some(Ended::Overloaded) { ", lower bounds" } else { "" };
    let total = &load.total;
    let events = load.events.as_ref();
    let publish = events.map_or(&None, |events| &events.publish_time);
    let response = "from the intended start";
    let rows = [
        ("response", &total.response_time, response, bounds),
        ("service", &total.service_time, "from sending", bounds),
        ("batched", &total.batch_delay, "the wait to be sent with others, if any", ""),
        ("lateness", &total.lateness, "our own", ""),
        ("publish", publish, "from the intended start to acceptance", ""),
    ];
    let mut rows: Vec<Row> = rows
        .into_iter()
        .filter_map(|(name, times, note, bounds)| {
            Some(Row::of(name, times.as_ref()?, &format!("{note}{bounds}")))
        })
        .collect();
    let less_lateness =
        total.response_time.as_ref().zip(total.response_time_less_lateness.as_ref());
    // The response times are the first row, if there are any.
    let least = less_lateness.and_then(|(times, less)| Row::least(times, less));
    least.into_iter().for_each(|row| rows.insert(1, row));
    rows.extend(events.and_then(delivery));
    if rows.is_empty() {
        return Ok(());
    }
    if let Some(heading) = failing::of_times_in_words(total) {
        write!(text, "\n{heading}")?;
    }
    let offered = match total.rates_per_s.asked {
        Some(_) => "offered: what came due of the asked rate",
        None => "offered: what came due",
    };
    table(&rows, &[offered], text)
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

    /// Returns the row of the response times without lateness, as far as these are noticeably lower; `None` if
    /// none is.
    fn least(times: &Times, less: &Times) -> Option<Row> {
        let lower = |quantile| is_noticeable(less, times, quantile);
        let figures = COLUMNS.map(|(_, quantile)| match lower(quantile) {
            true => supported(times, quantile, value(less, quantile).to_string()),
            false => String::new(),
        });
        let note = "without our part: the target's own is between both".to_owned();
        let is_lower = COLUMNS.iter().any(|(_, quantile)| lower(*quantile));
        is_lower.then(|| Row { name: " at least", figures, max: String::new(), note })
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

/// Writes a table of times, with an empty line before it, and a legend of its names and signs below it.
pub(crate) fn table(rows: &[Row], further: &[&str], text: &mut String) -> std::fmt::Result {
    let width = |column: usize| {
        rows.iter().map(|row| row.figures[column].chars().count() + 2).fold(WIDTH, usize::max)
    };
    let mut lines = Vec::new();
    let mut line = " ".repeat(NAMES);
    for (column, (name, _)) in COLUMNS.iter().enumerate() {
        write!(line, "{name:>0$}", width(column))?;
    }
    lines.push(format!("{line}{:>WIDTH$}", "max"));
    for Row { name, figures, max, .. } in rows {
        let mut line = format!("{name:NAMES$}");
        for (column, figure) in figures.iter().enumerate() {
            write!(line, "{figure:>0$}", width(column))?;
        }
        lines.push(format!("{line}{max:>WIDTH$}"));
    }
    writeln!(text)?;
    lines.iter().try_for_each(|line| writeln!(text, "{}", line.trim_end()))?;
    let mut legend: Vec<String> = Vec::new();
    for Row { name, note, .. } in rows {
        let meaning = format!("{}: {note}", name.trim());
        if !legend.contains(&meaning) {
            legend.push(meaning);
        }
    }
    legend.extend(further.iter().map(|further| (*further).to_owned()));
    if rows.iter().any(|row| row.figures.iter().any(|figure| figure.ends_with(')'))) {
        legend.push("(…): fewer than 10 beyond it".to_owned());
    }
    flow(text, "", legend)
}

fn tls(load: &Load, text: &mut String) -> std::fmt::Result {
    let (Some(tls), Some(times)) = (&load.total.tls, &load.total.tls_time) else { return Ok(()) };
    let parts = [
        format!("{} {}", tls.version, tls.cipher),
        format!("{} handshakes", counted(tls.handshakes)),
        format!("{:.1} % resumed", 100.0 * tls.resumed_share),
        format!("p50 {}", figure(times, Quantile::P50)),
        format!("p99 {}", figure(times, Quantile::P99)),
    ];
    writeln!(text)?;
    flow(text, "", parts)
}

/// Returns a quantile of the response time. If the quantile of the response time less lateness is
/// noticeably lower, returns both: the target's own quantile is between them.
fn between(less: Option<&Times>, times: &Times, quantile: Quantile) -> String {
    match less.filter(|less| is_noticeable(less, times, quantile)) {
        Some(less) => {
            let both = interval(value(less, quantile), value(times, quantile));
            supported(times, quantile, both)
        }
        None => figure(times, quantile),
    }
}

/// Returns true if a quantile is noticeably lower without lateness.
fn is_noticeable(less: &Times, times: &Times, quantile: Quantile) -> bool {
    value(less, quantile).0 as f64 * NOTICEABLE < value(times, quantile).0 as f64
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

/// Writes the figures by target. A long URL has a line of its own.
fn targets(load: &Load, text: &mut String) -> std::fmt::Result {
    let of_all = ["offered", "completed", "p99", "failed"];
    let row = |text: &mut String, name: &str, [offered, completed, p99, failed]: [&str; 4]| {
        match name.chars().count() < TARGET {
            true => write!(text, "{name:TARGET$}")?,
            false => write!(text, "{name}\n{:TARGET$}", "")?,
        }
        writeln!(text, "{offered:>12}{completed:>12}{p99:>19}{failed:>10}")
    };
    writeln!(text)?;
    row(text, "target", of_all)?;
    let mut has_interval = false;
    for target in &load.targets {
        let rates = &target.part.rates_per_s;
        let less = target.part.response_time_less_lateness.as_ref();
        let times = target.part.response_time.as_ref();
        let p99 = times.map_or("–".to_owned(), |times| between(less, times, Quantile::P99));
        has_interval |= p99.contains('…');
        let [offered, completed] =
            [rates.offered, rates.completed].map(|rate| format!("{}/s", grouped(rate)));
        let failed = counted(target.part.counts.failed);
        row(text, &target.url, [&offered, &completed, &p99, &failed])?;
    }
    match has_interval {
        true => writeln!(text, "a … b: without and with our lateness; the target's own is between"),
        false => Ok(()),
    }
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
        // One status of all answers says the same of each label.
        let successes = if load.total.statuses.len() < 2 { None } else { successes(group) };
        let ends: Vec<String> =
            successes.into_iter().chain(failing::of_group_in_words(group)).collect();
        if !ends.is_empty() {
            writeln!(text, "  {}", cut(&ends.join(" · "), COLUMNS_OF_SCREEN - 2))?;
        }
    }
    match load.labels.len().saturating_sub(MOST_LABELS) {
        0 => Ok(()),
        more => writeln!(text, "and {more} more labels, which --json and --report have"),
    }
}

/// Returns the statuses of a label's successes, the most frequent first: `ok 200: 6,975, 304: 12`; `None` if they
/// have none.
fn successes(group: &Group) -> Option<String> {
    let mut statuses: Vec<(&String, &u64)> = group.ok_statuses.iter().collect();
    statuses.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    let status = |(status, count): &(&String, &u64)| format!("{status}: {}", counted(**count));
    let listed: Vec<String> = statuses.iter().take(MOST_OF_LABEL).map(status).collect();
    (!listed.is_empty()).then(|| format!("ok {}", listed.join(", ")))
}

/// Shortens a label to its column, with a space behind it.
fn shortened(name: &str) -> String {
    cut(name, 29)
}

/// Cuts a text off, so that it has at most so many characters.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() <= most {
        true => text.to_owned(),
        false => text.chars().take(most - 1).chain(['…']).collect(),
    }
}

/// Names the first quantile that has too few requests beyond it, and the time to get enough.
fn support(load: &Load) -> String {
    let Some(times) = &load.total.response_time else { return "There was no response.".to_owned() };
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

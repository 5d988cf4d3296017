//! The figures of one load in rows: by kind of time, outcome, target, label and segment.

use measure::Quantile;
use measure::quantity::grouped;
use results::failing;
use results::load::{Group, Part};
use results::sessions::Sessions;
use results::{Load, Times};

use crate::table::raw::by_name;
use crate::table::{Cell, MOST_ROWS, Row, Table, trials};
use crate::text::{integer, share, time};

const LEVELS: [(&str, Quantile); 8] = [
    ("p50", Quantile::P50),
    ("p75", Quantile::P75),
    ("p90", Quantile::P90),
    ("p95", Quantile::P95),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P999),
    ("p99.99", Quantile::P9999),
    ("p99.999", Quantile::P99999),
];

/// Every measured time, with its start, its end and all its percentiles.
pub(super) fn times(load: &Load) -> Table {
    let levels = LEVELS.map(|(name, _)| name);
    let columns =
        [""].into_iter().chain(levels).chain(["max", "mean", "min", "samples", "from … to"]);
    let total = &load.total;
    let mostly = failing::of_times_in_words(total);
    let mostly = mostly.map(|of| format!("The response times are {of}. "));
    let caption = mostly.unwrap_or_default()
        + "A quantile in grey has fewer than ten samples beyond it and is unreliable.";
    let mut table = Table::new(&caption, columns);
    for (name, meaning, times) in [
        ("response time", "intended … done", &total.response_time),
        ("service time", "sent … done", &total.service_time),
        ("first byte", "sent … first byte", &total.first_byte_time),
        ("start delay", "intended … sent", &total.start_delay),
        ("backlog delay", "intended … room: the target’s", &total.backlog_delay),
        ("batch delay", "part of room … sent, to wait for others", &total.batch_delay),
        ("lateness", "room … sent: the generator’s", &total.lateness),
        ("receive delay", "in the kernel … read", &load.generator.receive_delay),
        ("connecting", "asked … open", &total.connect_time),
        ("TLS handshake", "open … secured", &total.tls_time),
        ("protocol’s handshake", "open or secured … ready", &total.setup_time),
    ] {
        let Some(times) = times else { continue };
        let mut cells = vec![Cell::words(name)];
        cells.extend(
            LEVELS.map(|(_, level)| trials::quantile(Some(ns(times, level)), times.count, level)),
        );
        cells.extend([
            Cell::number(time(times.max_ns)),
            Cell::number(time(times.mean_ns)),
            Cell::number(time(times.min_ns)),
            Cell::number(integer(times.count)),
            Cell::words(meaning),
        ]);
        table.push(Row::new(cells));
    }
    table
}

fn ns(times: &Times, level: Quantile) -> u64 {
    match level {
        Quantile::P50 => times.p50_ns,
        Quantile::P75 => times.p75_ns,
        Quantile::P90 => times.p90_ns,
        Quantile::P95 => times.p95_ns,
        Quantile::P99 => times.p99_ns,
        Quantile::P999 => times.p999_ns,
        Quantile::P9999 => times.p9999_ns,
        _ => times.p99999_ns,
    }
}

/// The outcomes of the requests, the statuses of their answers, and the reasons of failures.
/// Outcomes add up to the intended requests; statuses and reasons only explain them.
pub(super) fn outcomes(load: &Load) -> Table {
    let caption = "Every intended request has exactly one outcome.";
    let mut table = Table::new(caption, ["kind", "", "requests", "share"]);
    let total = &load.total;
    for (kind, counts) in
        [("outcome", &total.outcomes), ("status", &total.statuses), ("reason", &total.reasons)]
    {
        let of: u64 = if kind == "status" { counts.values().sum() } else { total.counts.intended };
        for (name, &count) in counts.iter().take(MOST_ROWS) {
            // A reason begins with its outcome.
            let name = match name.split_once(": ") {
                Some((outcome, why)) => format!("{}: {why}", failing::outcome_in_words(outcome)),
                None => failing::outcome_in_words(name).to_owned(),
            };
            table.push(share_of(kind, &name, count, of));
        }
    }
    if let Some(operations) = &total.operations {
        for (name, &count) in operations.outcomes.iter().take(MOST_ROWS) {
            let name = failing::outcome_in_words(name);
            table.push(share_of("operations", name, count, operations.count));
        }
    }
    table
}

fn share_of(kind: &str, name: &str, count: u64, of: u64) -> Row {
    Row::new(vec![
        Cell::words(kind),
        Cell::words(name),
        Cell::number(integer(count)),
        Cell::number(share(count as f64, of as f64)),
    ])
}

pub(super) fn targets(load: &Load) -> Table {
    let rates = ["asked /s", "offered /s", "completed /s", "goodput /s", "failed"];
    let columns = ["target"].into_iter().chain(QUANTILES).chain(rates);
    let columns = columns.chain(["lateness p99", "outcomes"]);
    let mut table = Table::new(&caption(load.targets.len(), "targets"), columns);
    for target in load.targets.iter().take(MOST_ROWS) {
        let Part { rates_per_s: rates, counts, .. } = &target.part;
        let mut cells = vec![Cell::words(target.url.as_str())];
        cells.extend(quantiles(target.part.response_time.as_ref()));
        cells.extend([
            Cell::maybe(rates.asked.map(grouped)),
            Cell::number(grouped(rates.offered)),
            Cell::number(grouped(rates.completed)),
            Cell::number(grouped(rates.goodput)),
            Cell::number(integer(counts.failed)),
        ]);
        cells.push(Cell::maybe(target.part.lateness.as_ref().map(|times| time(times.p99_ns))));
        cells.push(Cell::words(by_name(&target.part.outcomes)));
        table.push(Row::new(cells));
    }
    table
}

pub(super) fn labels(load: &Load) -> Table {
    let columns = ["label"].into_iter().chain(GROUP);
    let mut table = Table::new(&caption(load.labels.len(), "labels"), columns);
    for (name, figures) in load.labels.iter().take(MOST_ROWS) {
        table.push(Row::new(group(vec![Cell::words(name.as_str())], figures)));
    }
    table
}

pub(super) fn sessions(sessions: &Sessions) -> Table {
    let times = "Times are from the intended start of a complete session to its last response.";
    let columns = ["end", "at", "why", "sessions", "share", "p50", "p99", "max"];
    let mut table = Table::new(times, columns);
    let row = |end: &str, at: &str, why: &str, count: u64| {
        vec![
            Cell::words(end),
            Cell::words(at),
            Cell::words(why),
            Cell::number(integer(count)),
            Cell::number(share(count as f64, sessions.started as f64)),
        ]
    };
    let quantile = |level| {
        let times = sessions.time.as_ref();
        trials::quantile(times.map(|times| ns(times, level)), times.map_or(0, |it| it.count), level)
    };
    let mut complete = row("complete", "", "", sessions.completed);
    complete.extend([quantile(Quantile::P50), quantile(Quantile::P99)]);
    complete.push(Cell::maybe(sessions.time.as_ref().map(|times| time(times.max_ns))));
    table.push(Row::new(complete));
    let unfinished = row("unfinished", "", "in progress when the load ended", sessions.unfinished);
    let broken = sessions.broken.iter().take(MOST_ROWS).map(|broken| {
        let at = broken.at.as_deref().unwrap_or("before a request");
        let why = broken.reason.as_deref().unwrap_or_default();
        row(&broken.outcome, at, why, broken.sessions)
    });
    let rest = std::iter::once(unfinished).filter(|_| 0 < sessions.unfinished).chain(broken);
    for mut cells in rest {
        cells.extend((0..3).map(|_| Cell::maybe(None)));
        table.push(Row::new(cells));
    }
    table
}

pub(super) fn segments(load: &Load) -> Table {
    let columns = ["segment", "from", "to"].into_iter().chain(GROUP).chain(["completed /s"]);
    let mut table = Table::new(&caption(load.segments.len(), "segments"), columns);
    for segment in load.segments.iter().take(MOST_ROWS) {
        let length = segment.end_s - segment.begin_s;
        let per_s = (0.0 < length).then(|| grouped(segment.group.completed as f64 / length));
        let cells = vec![
            Cell::words(segment.name.as_str()),
            Cell::number(format!("{:.1} s", segment.begin_s)),
            Cell::number(format!("{:.1} s", segment.end_s)),
        ];
        let mut cells = group(cells, &segment.group);
        cells.push(Cell::maybe(per_s));
        table.push(Row::new(cells));
    }
    table
}

const QUANTILES: [&str; 5] = ["p50", "p90", "p99", "p99.9", "max"];
const GROUP: [&str; 9] =
    ["p50", "p90", "p99", "p99.9", "max", "completed", "failed", "service p99", "outcomes"];

/// A row that begins with `cells`, followed by the columns of `GROUP`.
fn group(mut cells: Vec<Cell>, group: &Group) -> Vec<Cell> {
    cells.extend(quantiles(group.response_time.as_ref()));
    cells.extend([group.completed, group.failed].map(|count| Cell::number(integer(count))));
    cells.push(Cell::maybe(group.service_time.as_ref().map(|times| time(times.p99_ns))));
    cells.push(Cell::words(by_name(&group.outcomes)));
    cells
}

/// The quantiles of the response time, in the order of `QUANTILES`.
fn quantiles(times: Option<&Times>) -> Vec<Cell> {
    let levels = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];
    let samples = times.map_or(0, |times| times.count);
    let cell = |level| trials::quantile(times.map(|times| ns(times, level)), samples, level);
    let max = Cell::maybe(times.map(|times| time(times.max_ns)));
    levels.map(cell).into_iter().chain([max]).collect()
}

fn caption(rows: usize, what: &str) -> String {
    let times = "Quantiles are those of the response time.";
    match rows <= MOST_ROWS {
        true => times.to_owned(),
        false => format!("{times} The first {MOST_ROWS} of {rows} {what}."),
    }
}

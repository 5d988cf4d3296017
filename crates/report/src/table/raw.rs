//! The data behind the table of trials: gates, outcomes, and all percentiles.

use std::collections::BTreeMap;

use measure::Quantile;
use results::load::Load;
use results::printed::{Printed, Since};
use results::{Times, failing};

use super::{Cell, MOST_ROWS, Row, Table};
use crate::run::{Run, Trial};
use crate::text::{integer, time};

/// Each gate's figure and its bound, which decide whether a trial is valid.
pub(crate) fn gates(run: &Run) -> Table {
    let mut table =
        Table::new(&caption(run, "The gates of validity."), ["trial", "gate", "", "figure"]);
    for (trial, load) in measured(run) {
        for gate in &load.validity.gates {
            let passed = if gate.passed { "✓ passed" } else { "✗ failed" };
            table.push(Row::new(vec![
                Cell::number(trial.entry.trial.to_string()),
                Cell::words(gate.name.to_string()),
                Cell::words(passed),
                Cell::words(gate.figure.as_str()),
            ]));
        }
        for gate in &load.validity.unknown {
            table.push(Row::new(vec![
                Cell::number(trial.entry.trial.to_string()),
                Cell::words(gate.name.to_string()),
                Cell::words("? unknown"),
                Cell::words(gate.why.as_str()),
            ]));
        }
    }
    table
}

/// Requests by outcome: every intended one has exactly one.
pub(crate) fn outcomes(run: &Run) -> Table {
    let columns = [
        "trial",
        "seconds",
        "intended",
        "sent",
        "completed",
        "ok",
        "failed",
        "unfinished",
        "dropped",
        "reconnects",
        "bytes sent",
        "bytes received",
        "outcomes",
        "statuses",
    ];
    let has_operations = measured(run).any(|(_, load)| load.total.operations.is_some());
    let columns = columns.into_iter().chain(has_operations.then_some("operations"));
    let mut table = Table::new(&caption(run, "Requests by outcome."), columns);
    for (trial, load) in measured(run) {
        let c = &load.total.counts;
        // Another generator does not print these: they are unknown, not zero.
        let counted = |count: u64| load.foreign.is_none().then_some(count);
        let counts = [
            Some(c.intended),
            counted(c.sent),
            Some(c.completed),
            Some(c.ok),
            Some(c.failed),
            counted(c.unfinished),
            counted(c.dropped),
            counted(c.reconnects),
            counted(c.bytes_sent),
            counted(c.bytes_received),
        ];
        let mut cells = vec![
            Cell::number(trial.entry.trial.to_string()),
            Cell::number(format!("{:.2}", load.measured_s)),
        ];
        cells.extend(counts.map(|count| Cell::maybe(count.map(integer))));
        cells.push(Cell::words(by_name(&load.total.outcomes)));
        cells.push(Cell::words(by_name(&load.total.statuses)));
        if has_operations {
            let operations = load.total.operations.as_ref();
            let by_outcome = operations.map(|all| by_name(&all.outcomes)).unwrap_or_default();
            cells.push(Cell::words(by_outcome));
        }
        table.push(Row::new(cells));
    }
    table
}

/// All recorded percentiles of response time and of service time.
pub(crate) fn percentiles(run: &Run) -> Table {
    let columns = [
        "trial", "of", "samples", "mean", "min", "p50", "p75", "p90", "p95", "p99", "p99.9",
        "p99.99", "p99.999", "max",
    ];
    let mut table = Table::new(&caption(run, "Percentiles."), columns);
    for (trial, load) in measured(run) {
        let total = &load.total;
        let kinds = [("response", &total.response_time), ("service", &total.service_time)];
        for (name, times) in kinds {
            let Some(times) = times else { continue };
            let mut cells = vec![
                Cell::number(trial.entry.trial.to_string()),
                Cell::words(name),
                Cell::number(integer(times.count)),
            ];
            cells.extend(every_figure(times).map(|ns| Cell::number(time(ns))));
            table.push(Row::new(cells));
        }
        if let Some(printed) = &total.printed {
            let mut cells = vec![
                Cell::number(trial.entry.trial.to_string()),
                Cell::words(name_of(printed)),
                Cell::number(integer(printed.count)),
            ];
            cells.extend(every_printed(printed).map(|ns| Cell::maybe(ns.map(time))));
            table.push(Row::new(cells));
        }
    }
    table
}

/// Returns the name of times that another generator printed.
fn name_of(printed: &Printed) -> &'static str {
    match printed.since {
        Since::Intended => "response, as printed",
        Since::Sent => "service, as printed",
    }
}

/// Returns the figures in the order of `every_figure`.
fn every_printed(printed: &Printed) -> [Option<u64>; 11] {
    let of = |level| printed.quantile_ns(level);
    [
        printed.mean_ns,
        None,
        of(Quantile::P50),
        of(Quantile::P75),
        of(Quantile::P90),
        of(Quantile::P95),
        of(Quantile::P99),
        of(Quantile::P999),
        of(Quantile::P9999),
        of(Quantile::P99999),
        printed.max_ns,
    ]
}

fn every_figure(t: &Times) -> [u64; 11] {
    [
        t.mean_ns,
        t.min_ns,
        t.p50_ns,
        t.p75_ns,
        t.p90_ns,
        t.p95_ns,
        t.p99_ns,
        t.p999_ns,
        t.p9999_ns,
        t.p99999_ns,
        t.max_ns,
    ]
}

fn measured(run: &Run) -> impl Iterator<Item = (&Trial, &Load)> {
    run.trials.iter().filter_map(|trial| Some((trial, trial.load.as_ref()?))).take(MOST_ROWS)
}

fn caption(run: &Run, what: &str) -> String {
    let all = run.trials.iter().filter(|trial| trial.load.is_some()).count();
    match all <= MOST_ROWS {
        true => what.to_owned(),
        false => {
            format!("{what} The first {MOST_ROWS} of {all} trials; trials/N/load.json has all.")
        }
    }
}

/// Lists counts by outcome or by status: `cut off 3, ok 7,119`
pub(crate) fn by_name(counts: &BTreeMap<String, u64>) -> String {
    let part = |(name, count): (&String, &u64)| {
        format!("{} {}", failing::outcome_in_words(name), integer(*count))
    };
    counts.iter().map(part).collect::<Vec<_>>().join(", ")
}

//! All components of the trials that are shown in full, with the limit that was found.

use measure::Bytes;
use measure::quantity::grouped;
use results::components::{Component, Series, mean};

use super::{Cell, MOST_ROWS, Row, Table};
use crate::run::{Run, Trial};

const CAPTION: &str = "Each component of the trials of the maximum and of the capacity, on average \
    over the measurement, the busiest first; the one that limited is bold. A run queue of 1 is one \
    thread that waits for a CPU all the time. Queued are the requests in a component: by its own \
    statistics those that do not wait for others, and its share of those that are unread in sockets. \
    Sockets are those of its listening port, observed once a second.";

pub(crate) fn table(run: &Run) -> Option<Table> {
    let columns = [
        "trial",
        "component",
        "CPUs",
        "of",
        "busiest thread",
        "run queue",
        "throttled",
        "memory at most",
        "connections",
        "unread bytes",
        "accept backlog",
        "calls",
        "in service",
        "in others",
        "queued",
        "refused",
    ];
    let mut table = Table::new(CAPTION, columns);
    let shown = run.trials.iter().filter(|trial| run.is_maximum(trial) || run.is_capacity(trial));
    let rows: Vec<Row> = shown.flat_map(rows).take(MOST_ROWS).collect();
    if rows.is_empty() {
        return None;
    }
    rows.into_iter().for_each(|row| table.push(row));
    Some(table)
}

fn rows(trial: &Trial) -> Vec<Row> {
    let components = trial.components.iter().flat_map(|components| &components.components);
    let mut sorted: Vec<(&String, &Component)> = components.collect();
    sorted.sort_by(|a, b| level(&b.1.cpu).total_cmp(&level(&a.1.cpu)));
    sorted.into_iter().map(|(name, component)| row(trial, name, component)).collect()
}

fn row(trial: &Trial, name: &str, component: &Component) -> Row {
    let cpus = |series: &Series<f64>| Cell::maybe(average(series).map(|cpu| format!("{cpu:.2}")));
    let number = |series: &Series<u64>| Cell::maybe(average(&plain(series)).map(grouped_or_small));
    let sum = |series: &Series<u64>| {
        let seen = series.iter().any(Option::is_some);
        Cell::maybe(seen.then(|| crate::text::integer(series.iter().flatten().sum())))
    };
    let requests = |series: &Series<f64>| Cell::maybe(average(series).map(|n| format!("{n:.1}")));
    let throttled = average(&component.throttled).map(|share| crate::text::share(share, 1.0));
    let memory = component.memory_bytes.iter().flatten().max();
    let limit = trial.entry.observed.as_ref().and_then(|observed| observed.limit.as_ref());
    let limits = limit.is_some_and(|limit| limit.component == name);
    Row::new(vec![
        Cell::number(trial.entry.trial.to_string()),
        Cell::words(name),
        cpus(&component.cpu),
        Cell::number(crate::text::tick_number(component.cpus)),
        cpus(&component.busiest_thread),
        cpus(&component.run_queue),
        Cell::maybe(throttled),
        Cell::maybe(memory.map(|bytes| Bytes(*bytes).to_string())),
        number(&component.connections),
        number(&component.unread_bytes),
        number(&component.accept_backlog),
        sum(&component.calls),
        requests(&component.in_service),
        requests(&component.in_others),
        requests(&component.queued),
        sum(&component.refused),
    ])
    .class(if limits { "found" } else { "" })
}

fn average(series: &Series<f64>) -> Option<f64> {
    mean(series.iter().copied())
}

fn level(series: &Series<f64>) -> f64 {
    average(series).unwrap_or_default()
}

fn plain(series: &Series<u64>) -> Series<f64> {
    series.iter().map(|n| n.map(|n| n as f64)).collect()
}

fn grouped_or_small(n: f64) -> String {
    if n < 100.0 { crate::text::tick_number((n * 10.0).round() / 10.0) } else { grouped(n) }
}

//! Values for each second of the measurement, from samples at arbitrary times.
//!
//! A value is given only if at least half of its second was watched: a figure that was not measured
//! is absent, never zero.

use std::collections::BTreeMap;

use measure::quantity::rounded;
use measure::quota::Growth;
use measure::{Instant, Nanos};
use results::Load;
use results::components::{Component, Components, Event, SCHEMA, Series};

use crate::backend::{Consumed, Driven, Happened, Quota, Samples, at};
use crate::queued;
use crate::speed;
use crate::statistics::Reading;

mod machine;

#[cfg(test)]
mod tests;

/// The share of a second that must be watched for a value.
const LEAST_WATCHED: f64 = 0.5;

/// A rest at the end that is shorter than this belongs to the second before.
const SLIVER: Nanos = Nanos::from_millis(100);

/// Returns the figures of the components and of the machine in each second of the measurement.
pub fn of(driven: &Driven) -> Components {
    let Driven { load, consumed, gauged, machine, .. } = driven;
    let (begin, end) = window(load, consumed);
    let mut seconds = Vec::new();
    let mut from = begin;
    while from < end {
        let next = from + Nanos::SECOND;
        let to = if end < next + SLIVER { end } else { next };
        seconds.push((from, to));
        from = to;
    }
    let mut roles = BTreeMap::new();
    let mut all = BTreeMap::new();
    for (name, consumed) in consumed {
        roles.insert(consumed.role.clone(), consumed.of_role);
        all.insert(name.clone(), component(consumed, &seconds));
    }
    let mut components = Components {
        schema: SCHEMA.to_owned(),
        interval_s: 1.0,
        roles,
        outstanding: outstanding(load, &seconds),
        components: all,
        speed: gauged.iter().map(|one| (one.cpu, speed::by_second(one, &seconds))).collect(),
        machine: machine::of(machine, consumed, &seconds),
        events: events(driven),
        monitors: Vec::new(),
    };
    queued::work_out(&mut components, seconds.len());
    components
}

/// Returns the events of the place and the deaths of components that touch the measurement.
fn events(driven: &Driven) -> Vec<Event> {
    let (begin, end) = window(&driven.load, &driven.consumed);
    let deaths = driven.deaths.iter().map(|death| Happened {
        from: death.at,
        to: death.at,
        what: format!("{} {}", death.component, death.why),
    });
    let mut all: Vec<Happened> = driven.events.iter().cloned().chain(deaths).collect();
    all.retain(|event| begin <= event.to && event.from <= end);
    all.sort_by_key(|event| event.from);
    let since = |at: Instant| (at.clamp(begin, end) - begin).as_secs_f64();
    let event = |event: Happened| Event {
        from_s: since(event.from),
        to_s: since(event.to),
        text: event.what,
    };
    all.into_iter().map(event).collect()
}

/// Returns the measurement on the clock of the samples; in virtual time it spans the samples.
pub fn window(load: &Load, consumed: &BTreeMap<String, Consumed>) -> (Instant, Instant) {
    match &load.clock {
        Some(clock) => (Instant(clock.measurement_start_ns), Instant(clock.measurement_end_ns)),
        None => {
            let samples = || consumed.values().flat_map(|consumed| &consumed.cpu);
            let first = samples().map(|sample| sample.0).min().unwrap_or_default();
            let last = samples().map(|sample| sample.0).max().unwrap_or_default();
            (first, last)
        }
    }
}

/// Returns the requests that the generator waited for, on average in each second.
fn outstanding(load: &Load, seconds: &[Second]) -> Series<f64> {
    let (length, begin) = (Nanos::SECOND.as_secs_f64(), seconds.first().map(|second| second.0));
    let each = |&(from, _): &Second| {
        let t_s = (from - begin?).as_secs_f64();
        let within = |t: f64| t_s - length / 2.0 <= t && t < t_s + length / 2.0;
        load.series.iter().find(|interval| within(interval.t_s))?.outstanding_mean.map(rounded)
    };
    absent_if_empty(seconds.iter().map(each).collect())
}

type Second = (Instant, Instant);

/// The largest error of times from which figures of a second are made: a twentieth of it.
const MOST_CLOCK_ERROR: Nanos = Nanos::from_millis(50);

fn component(consumed: &Consumed, seconds: &[Second]) -> Component {
    let seconds = if MOST_CLOCK_ERROR < consumed.clock_error { &[] } else { seconds };
    let statistics = |of: fn(&Reading) -> u64| -> Samples {
        consumed.statistics.iter().map(|reading| (Instant(reading.at_ns), of(reading))).collect()
    };
    // If the kernel does not show the sockets of a process, its own count is used.
    let connections = match consumed.connections.is_empty() {
        true => statistics(|reading| reading.connections),
        false => consumed.connections.clone(),
    };
    Component {
        step: consumed.step.clone(),
        role: consumed.role.clone(),
        cpus: consumed.most(),
        cpu_limit: consumed.cpu_limit,
        memory_limit_bytes: consumed.memory_limit,
        open_files_limit: consumed.open_files_limit,
        cpu: rates(&consumed.cpu, seconds),
        busiest_thread: busiest_thread(consumed, seconds),
        run_queue: run_queue(consumed, seconds),
        throttled: throttled(&consumed.quotas, seconds),
        throttled_periods: throttled_periods(&consumed.quotas, seconds),
        memory_bytes: levels(&consumed.memory, seconds),
        memory_failures: counts(&consumed.memory_failures, seconds),
        connections: levels(&connections, seconds),
        unread_connections: levels(&consumed.unread_connections, seconds),
        unread_bytes: levels(&consumed.unread_bytes, seconds),
        accept_backlog: levels(&consumed.accept_backlog, seconds),
        calls: counts(&statistics(|reading| reading.calls), seconds),
        in_service: rates(&statistics(|reading| reading.in_service_ns), seconds),
        in_others: rates(&statistics(|reading| reading.in_others_ns), seconds),
        queued: Vec::new(),
        refused: counts(&statistics(|reading| reading.refused), seconds),
    }
}

fn busiest_thread(consumed: &Consumed, seconds: &[Second]) -> Series<f64> {
    let each = |&(from, to): &Second| {
        let threads = consumed.threads.values();
        threads.filter_map(|thread| rate(&thread.cpu, from, to)).max_by(f64::total_cmp)
    };
    absent_if_empty(seconds.iter().map(|second| each(second).map(rounded)).collect())
}

fn run_queue(consumed: &Consumed, seconds: &[Second]) -> Series<f64> {
    let each = |&(from, to): &Second| {
        let waited: Vec<f64> =
            consumed.threads.values().filter_map(|t| rate(&t.waited, from, to)).collect();
        (!waited.is_empty()).then(|| rounded(waited.iter().sum()))
    };
    absent_if_empty(seconds.iter().map(each).collect())
}

/// Returns the share of each second in which a CPU limit stopped a part of the component, at most: that of the
/// part that was stopped most.
fn throttled(quotas: &[Quota], seconds: &[Second]) -> Series<f64> {
    let share = |quota: &Quota, from, to| {
        let stopped = rate(&quota.time, from, to)?;
        let ran = rate(&quota.ran, from, to).unwrap_or(0.0);
        let periods = rate(&quota.stopped, from, to).zip(rate(&quota.periods, from, to));
        Some(Growth { stopped, ran, periods }.stopped_share())
    };
    let each = |&(from, to): &Second| {
        let shares = quotas.iter().filter_map(|quota| share(quota, from, to));
        shares.max_by(f64::total_cmp).map(rounded)
    };
    absent_if_empty(seconds.iter().map(each).collect())
}

/// Returns the number of periods in which a limit stopped the same part.
fn throttled_periods(quotas: &[Quota], seconds: &[Second]) -> Series<u64> {
    let each = |second: &Second| quotas.iter().filter_map(|q| count(&q.stopped, second)).max();
    absent_if_empty(seconds.iter().map(each).collect())
}

/// Returns the growth per nanosecond in each second: for nanoseconds of CPU time these are CPUs.
fn rates(samples: &Samples, seconds: &[Second]) -> Series<f64> {
    let each = |&(from, to): &Second| rate(samples, from, to).map(rounded);
    absent_if_empty(seconds.iter().map(each).collect())
}

/// Returns the growth in each second.
fn counts(samples: &Samples, seconds: &[Second]) -> Series<u64> {
    absent_if_empty(seconds.iter().map(|second| count(samples, second)).collect())
}

fn count(samples: &Samples, &(from, to): &Second) -> Option<u64> {
    rate(samples, from, to).map(|rate| (rate * (to - from).0 as f64).round() as u64)
}

/// Returns the last value in each second.
fn levels(samples: &Samples, seconds: &[Second]) -> Series<u64> {
    let each = |&(from, to): &Second| {
        let within = |(at, _): &&(Instant, u64)| from <= *at && *at < to;
        samples.iter().rev().find(within).map(|&(_, level)| level)
    };
    absent_if_empty(seconds.iter().map(each).collect())
}

fn absent_if_empty<T>(series: Series<T>) -> Series<T> {
    if series.iter().any(Option::is_some) { series } else { Vec::new() }
}

/// Returns the growth over the watched part of an interval; `None` if too little of it was watched.
fn rate(samples: &Samples, from: Instant, to: Instant) -> Option<f64> {
    let (first, last) = (samples.first()?.0, samples.last()?.0);
    let (begin, end) = (from.max(first), to.min(last));
    let watched = end.saturating_since(begin).0 as f64;
    if watched < LEAST_WATCHED * to.saturating_since(from).0 as f64 || watched == 0.0 {
        return None;
    }
    Some((at(samples, end)? - at(samples, begin)?).max(0.0) / watched)
}

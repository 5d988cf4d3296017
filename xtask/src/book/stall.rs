//! A stall of the server for one second, measured by an open loop and by closed loops.

use std::collections::BTreeMap;
use std::fs;

use measure::quantity::{counted, grouped};
use measure::{Histogram, Nanos, Quantile};
use report::drawing::{Axis, Drawing, Quantity, Series, Shape};
use results::Load;

use super::run::{self, Printed, Stall};
use super::{Measured, page};
use crate::bench::machine::{Machine, Server};
use crate::tools;

#[cfg(test)]
mod tests;

const STALL: Stall = Stall { after: Nanos::from_secs(4), length: Nanos::SECOND };
const OPEN: &str = "--rate 1k/s --arrivals constant --connections 16 --duration 10s";
const THINKING: &str = "--closed --think 16ms --connections 16 --duration 10s";
const FASTEST: &str = "--closed --connections 16 --duration 10s";
const WRK: &str = "-t2 -c16 -d10s -L";
const WRK2: &str = "-t2 -c16 -d10s -L -R1000";
/// A time that only requests in the stall exceed.
const SLOW: Nanos = Nanos::from_millis(100);
/// The interval of a point in the plot over time: its slowest request is shown.
const BIN: Nanos = Nanos::from_millis(40);

pub(super) fn measure(machine: &Machine) -> Result<Measured, String> {
    let server = Server::start(machine, &["--delay", "200us"])?;
    let mut measured = Measured::default();
    let mut rows = vec![heading()];

    let sampled = |arguments: &str| -> Result<(Load, Vec<(f64, f64)>), String> {
        let file = run::scratch("samples.csv");
        let arguments = format!("{arguments} --samples {}", file.display());
        let load = run::load(machine, &server, &arguments, Some(STALL))?;
        let samples = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        // A file that cannot be removed stays in the temporary folder.
        let _ = fs::remove_file(&file);
        Ok((load, slowest(&samples)))
    };
    let (open, open_over_time) = sampled(OPEN)?;
    let (thinking, thinking_over_time) = sampled(THINKING)?;
    let fastest = run::load(machine, &server, FASTEST, Some(STALL))?;
    for (name, load) in [
        ("open loop", &open),
        ("closed loop, with pauses", &thinking),
        ("closed loop, no pauses", &fastest),
    ] {
        let response = run::histogram(load.total.response_time.as_ref());
        let name = measured.named(name, load);
        rows.push(row(&name, load.total.rates_per_s.completed, &response));
    }
    let service = run::histogram(open.total.service_time.as_ref());
    rows.insert(2, row("the same, service time", open.total.rates_per_s.completed, &service));

    let mut wrk = None;
    if tools::has_program("wrk") {
        let printed = run::wrk(machine, &server, WRK, Some(STALL))?;
        rows.push(row_of(&format!("`wrk {WRK}`"), &printed));
        wrk = Some(printed);
    }
    let (output, load) = run::as_original(machine, &server, &format!("wrk {WRK}"), Some(STALL))?;
    let name = measured.named(&format!("`benchwright wrk {WRK}`"), &load);
    rows.push(row_of(&name, &run::printed(&output)?));
    let raw = run::histogram(load.total.service_time.as_ref());
    rows.push(row("the same, as measured", load.total.rates_per_s.completed, &raw));
    let (_, load) = run::as_original(machine, &server, &format!("wrk2 {WRK2}"), Some(STALL))?;
    let name = measured.named(&format!("`benchwright wrk2 {WRK2}`"), &load);
    let response = run::histogram(load.total.response_time.as_ref());
    rows.push(row(&name, load.total.rates_per_s.completed, &response));

    measured.blocks.push(("stall", page::table(&rows)));
    measured.blocks.push(("stall-commands", commands()));
    measured.blocks.push(("stall-missed", missed(&open, &thinking)));
    measured.drawings.push(("stall-over-time", over_time(open_over_time, thinking_over_time)));
    let curves = [("open loop", &open), ("closed loop, with pauses", &thinking)];
    measured.drawings.push(("stall-percentiles", percentiles(&curves, &service, wrk.as_ref())));
    Ok(measured)
}

fn heading() -> Vec<String> {
    let over = format!("over {SLOW}");
    ["", "completed", "p50", "p90", "p99", "p99.9", "max", over.as_str()].map(str::to_owned).into()
}

fn row(name: &str, completed_per_s: f64, times: &Histogram) -> Vec<String> {
    let quantile = |level| times.quantile(level).map_or("–".to_owned(), |time| time.to_string());
    let levels = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];
    let mut row = vec![name.to_owned(), format!("{}/s", grouped(completed_per_s))];
    row.extend(levels.map(quantile));
    row.push(times.max().map_or("–".to_owned(), |max| max.to_string()));
    let over = times.count_above(SLOW);
    row.push(format!("{} of {}", counted(over), counted(times.count())));
    row
}

/// Returns a row of wrk's output, which has neither the p99.9 nor the number of slow requests.
fn row_of(name: &str, printed: &Printed) -> Vec<String> {
    let at = |level: f64| printed.at(level);
    let none = || "–".to_owned();
    let rate = format!("{}/s", grouped(printed.completed_per_s));
    let max = printed.max.to_string();
    vec![name.to_owned(), rate, at(0.5), at(0.9), at(0.99), none(), max, none()]
}

fn commands() -> String {
    page::quoted(&format!(
        "benchwright reference --delay 200us\n\
         benchwright load URL {OPEN}\n\
         benchwright load URL {THINKING}\n\
         benchwright load URL {FASTEST}\n\
         wrk {WRK} URL\n\
         benchwright wrk {WRK} URL\n\
         benchwright wrk2 {WRK2} URL\n\
         kill -STOP SERVER; sleep 1; kill -CONT SERVER    # {} after each was started",
        STALL.after
    ))
}

/// Returns the number of slow requests of each loop: those that it started in the stall.
fn missed(open: &Load, thinking: &Load) -> String {
    let over = |load: &Load| run::histogram(load.total.response_time.as_ref()).count_above(SLOW);
    format!(
        "Requests that took more than {SLOW}: **{}** in the open loop, **{}** in the closed one with \
         pauses.",
        counted(over(open)),
        counted(over(thinking))
    )
}

/// Returns the slowest request of each interval of intended times, in seconds and nanoseconds.
fn slowest(samples: &str) -> Vec<(f64, f64)> {
    let mut lines = samples.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| names.iter().position(|column| *column == name);
    let (Some(intended), Some(done)) = (column("intended_ns"), column("done_ns")) else {
        return Vec::new();
    };
    let times = lines.filter_map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        let at = |column: usize| cells.get(column)?.parse::<u64>().ok();
        Some((at(intended)?, at(done)?))
    });
    let times: Vec<(u64, u64)> = times.collect();
    let first = times.iter().map(|(intended, _)| *intended).min().unwrap_or_default();
    let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
    for (intended, done) in times {
        let slowest = bins.entry((intended - first) / BIN.0).or_default();
        *slowest = (*slowest).max(done.saturating_sub(intended));
    }
    let point = |(bin, ns): (u64, u64)| (Nanos(bin * BIN.0).as_secs_f64(), ns.max(1) as f64);
    bins.into_iter().map(point).collect()
}

fn over_time(open: Vec<(f64, f64)>, thinking: Vec<(f64, f64)>) -> String {
    let series = |name: &str, points| Series { name: name.to_owned(), points, shape: Shape::Marks };
    Drawing {
        summary: "Response time by intended start: in the open loop every request of the stalled \
                  second waits, in the closed loop one on each connection."
            .to_owned(),
        x: Axis { label: "intended start, seconds", quantity: Quantity::Number },
        y: Axis { label: "slowest response in 40 ms", quantity: Quantity::Time },
        series: vec![series("open loop", open), series("closed loop, with pauses", thinking)],
    }
    .svg()
}

fn percentiles(loads: &[(&str, &Load)], service: &Histogram, wrk: Option<&Printed>) -> String {
    let response = |load: &Load| run::histogram(load.total.response_time.as_ref());
    let mut series: Vec<Series> =
        loads.iter().map(|(name, load)| Series::distribution(name, &response(load))).collect();
    series.push(Series::distribution("open loop, service time", service));
    series.extend(wrk.map(|wrk| Series {
        name: "wrk, as printed".to_owned(),
        points: wrk.percentiles.iter().map(|(level, time)| (*level, time.0 as f64)).collect(),
        shape: Shape::Marks,
    }));
    Drawing {
        summary:
            "Response time by percentile with one second of ten stalled: only the open loop's \
                  response time shows it."
                .to_owned(),
        x: Axis { label: "percentile of requests, %", quantity: Quantity::Level },
        y: Axis { label: "response time", quantity: Quantity::Time },
        series,
    }
    .svg()
}

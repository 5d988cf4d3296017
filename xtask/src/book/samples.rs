//! The spread of a percentile between runs of the same load, for different lengths.
//!
//! The server's delays are exponential and drawn with a new seed for each run, so that runs differ
//! only at random.

use measure::estimate::{beyond, order_statistics, quantile_interval};
use measure::quantity::counted;
use measure::{Histogram, Nanos, Quantile};
use report::drawing::{Axis, Drawing, Quantity, Series, Shape};

use super::run;
use super::{Measured, page};
use crate::bench::machine::{Machine, Server};

#[cfg(test)]
mod tests;

const RATE: f64 = 5_000.0;
const LENGTHS_MS: [u64; 3] = [200, 2_000, 8_000];
const RUNS: u64 = 8;
const CONFIDENCE: f64 = 0.95;
const LEVELS: [(&str, Quantile); 5] = [
    ("p50", Quantile::P50),
    ("p90", Quantile::P90),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P999),
    ("p99.99", Quantile::P9999),
];

/// The valid runs of one length.
struct Length {
    requests: u64,
    runs: Vec<Histogram>,
}

pub(super) fn measure(machine: &Machine) -> Result<Measured, String> {
    let mut lengths = Vec::new();
    let mut refused = 0;
    for ms in LENGTHS_MS {
        let mut runs = Vec::new();
        for seed in 1..=RUNS {
            let seed_of_server = seed.to_string();
            let delay = ["--delay", "exponential:1ms", "--seed", &seed_of_server];
            let server = Server::start(machine, &delay)?;
            let arguments = format!(
                "--rate {RATE}/s --arrivals constant --connections 64 --duration {ms}ms --seed {seed}"
            );
            let load = run::load(machine, &server, &arguments, None)?;
            match run::doubt(&load) {
                None => runs.push(run::histogram(load.total.response_time.as_ref())),
                Some(gates) => {
                    refused += 1;
                    println!("{ms} ms, seed {seed}: not valid ({gates})");
                }
            }
        }
        lengths.push(Length { requests: (RATE * ms as f64 / 1e3) as u64, runs });
    }
    let all = LENGTHS_MS.len() as u64 * RUNS;
    // Some runs may be disturbed, but each length needs enough runs to compare.
    if let Some(length) = lengths.iter().find(|length| (length.runs.len() as u64) < RUNS / 2) {
        return Err(format!(
            "of {RUNS} runs of {} requests only {} were valid, which are too few; nothing was \
             written: repeat it on a quieter machine",
            counted(length.requests),
            length.runs.len()
        ));
    }
    let blocks = vec![
        ("spread", page::table(&spread(&lengths))),
        (
            "spread-valid",
            format!("{} of {all} runs were valid; the others are left out.", all - refused),
        ),
        ("needs", page::table(&needs())),
    ];
    let drawings = vec![("percentile-spread", drawing(&lengths))];
    Ok(Measured { blocks, drawings, ..Measured::default() })
}

fn spread(lengths: &[Length]) -> Vec<Vec<String>> {
    let heading = [
        "requests",
        "percentile",
        "beyond",
        "lowest",
        "highest",
        "apart",
        "95 % interval of one run",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for Length { requests, runs } in lengths {
        for (name, level) in LEVELS {
            let mut found: Vec<Nanos> = runs.iter().filter_map(|run| run.quantile(level)).collect();
            found.sort_unstable();
            let none = || "–".to_owned();
            let at = |time: Option<&Nanos>| time.map_or_else(none, Nanos::to_string);
            let apart = found.first().zip(found.last()).map_or_else(none, |(low, high)| {
                let middle = found[found.len() / 2].as_secs_f64();
                format!("{:.0} %", 100.0 * (high.as_secs_f64() - low.as_secs_f64()) / middle)
            });
            let interval = runs.first().and_then(|run| quantile_interval(run, level, CONFIDENCE));
            rows.push(vec![
                counted(*requests),
                name.to_owned(),
                counted(beyond(*requests, level)),
                at(found.first()),
                at(found.last()),
                apart,
                interval
                    .map_or("has no upper end".to_owned(), |(from, to)| format!("{from} … {to}")),
            ]);
        }
    }
    rows
}

/// Returns the number of requests that a percentile needs, by three measures.
fn needs() -> Vec<Vec<String>> {
    let heading =
        ["percentile", "an interval exists", "10 beyond", "100 beyond", "100 beyond at 1,000/s"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for (name, level) in LEVELS {
        let with_beyond = |wanted: f64| (wanted / (1.0 - level.level())).round() as u64;
        rows.push(vec![
            name.to_owned(),
            counted(fewest(level)),
            counted(with_beyond(10.0)),
            counted(with_beyond(100.0)),
            Nanos::from_secs_f64(with_beyond(100.0) as f64 / 1e3).to_string(),
        ]);
    }
    rows
}

/// Returns the fewest samples whose order statistics enclose the quantile.
fn fewest(level: Quantile) -> u64 {
    let exists = |n: u64| order_statistics(n, level, CONFIDENCE).is_some();
    let (mut no, mut yes) = (0, 1);
    while !exists(yes) {
        (no, yes) = (yes, yes * 2);
    }
    while 1 < yes - no {
        let middle = no + (yes - no) / 2;
        if exists(middle) { yes = middle } else { no = middle }
    }
    yes
}

fn drawing(lengths: &[Length]) -> String {
    let series = LEVELS.map(|(name, level)| {
        let points = lengths.iter().flat_map(|Length { requests, runs }| {
            let place = |i: usize| *requests as f64 * (1.0 + 0.05 * i as f64);
            runs.iter()
                .enumerate()
                .filter_map(move |(i, run)| Some((place(i), run.quantile(level)?.0 as f64)))
        });
        Series { name: name.to_owned(), points: points.collect(), shape: Shape::Marks }
    });
    Drawing {
        summary:
            "Each mark is one run: runs of the same load differ more for higher percentiles and \
                  for fewer requests."
                .to_owned(),
        x: Axis { label: "requests of a run", quantity: Quantity::Count },
        y: Axis { label: "response time", quantity: Quantity::Time },
        series: series.into(),
    }
    .svg()
}

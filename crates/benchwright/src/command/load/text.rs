//! A load's document on one screen.

use std::fmt::Write;

use measure::estimate::{self, Support};
use measure::quantity::{counted, grouped};
use measure::{Bytes, Nanos, Quantile};
use results::{Load, Times};

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
    if let Some(asked) = rates.asked {
        write!(text, "asked {}/s · ", grouped(asked))?;
    }
    writeln!(
        text,
        "offered {}/s · completed {}/s · {} requests · {}",
        grouped(rates.offered),
        grouped(rates.completed),
        counted(counts.intended),
        Bytes(counts.bytes_received),
    )?;
    times(load, text)?;
    tls(load, text)?;
    if 1 < load.targets.len() {
        targets(load, text)?;
    }
    writeln!(text)?;
    for finding in &load.findings {
        writeln!(text, "found: {finding}")?;
    }
    for warning in &load.warnings {
        writeln!(text, "warning: {warning}")?;
    }
    if load.partial {
        writeln!(text, "interrupted after {:.1} s of the measurement", load.measured_s)?;
    }
    match load.validity.valid {
        true => writeln!(text, "valid. {}", support(load)),
        false => writeln!(text, "not valid: {}", load.validity.reasons.join("\n           ")),
    }
}

const COLUMNS: [(&str, Quantile); 5] = [
    ("p50", Quantile::P50),
    ("p90", Quantile::P90),
    ("p99", Quantile::P99),
    ("p99.9", Quantile::P999),
    ("p99.99", Quantile::P9999),
];

/// The narrowest column; one that has to say more is wider.
const WIDTH: usize = 12;

fn times(load: &Load, text: &mut String) -> std::fmt::Result {
    // An end by overload leaves out those who would have waited longest.
    let bounds = if load.ended.as_deref() == Some("overloaded") { "; lower bounds" } else { "" };
    let total = &load.total;
    let rows: Vec<_> = [
        (
            "response",
            &total.response_time,
            at_most(load),
            "counted from the intended start",
            bounds,
        ),
        ("service", &total.service_time, "", "counted from the sending", bounds),
        ("lateness", &total.lateness, "", "the generator's own part", ""),
    ]
    .into_iter()
    .filter_map(|(name, times, mark, note, bounds)| {
        let times = times.as_ref()?;
        Some((name, figures(times, mark), Nanos(times.max_ns).to_string(), note, bounds))
    })
    .collect();
    let width = |column: usize| {
        rows.iter().map(|row| row.1[column].chars().count() + 2).fold(WIDTH, usize::max)
    };
    write!(text, "\n{:9}", "")?;
    for (column, (name, _)) in COLUMNS.iter().enumerate() {
        write!(text, "{name:>0$}", width(column))?;
    }
    writeln!(text, "{:>WIDTH$}", "max")?;
    for (name, figures, max, note, bounds) in &rows {
        write!(text, "{name:9}")?;
        for (column, figure) in figures.iter().enumerate() {
            write!(text, "{figure:>0$}", width(column))?;
        }
        writeln!(text, "{max:>WIDTH$}   {note}{bounds}")?;
    }
    Ok(())
}

/// A figure for each column, that of the p99 with a mark before it.
fn figures(times: &Times, mark: &str) -> [String; 5] {
    COLUMNS.map(|(_, quantile)| match quantile == Quantile::P99 {
        true => format!("{mark}{}", figure(times, quantile)),
        false => figure(times, quantile),
    })
}

/// What stands before a response p99 that owes more than a tenth of it to the generator.
fn at_most(load: &Load) -> &'static str {
    if load.generator.p99_at_most { "at most " } else { "" }
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

/// In brackets where fewer than ten samples lie beyond it.
fn figure(times: &Times, quantile: Quantile) -> String {
    let ns = match quantile {
        Quantile::P50 => times.p50_ns,
        Quantile::P90 => times.p90_ns,
        Quantile::P99 => times.p99_ns,
        Quantile::P999 => times.p999_ns,
        _ => times.p9999_ns,
    };
    match estimate::support(times.count, quantile) {
        Support::Unsupported => format!("({})", Nanos(ns)),
        Support::Indicative | Support::Sound => Nanos(ns).to_string(),
    }
}

fn targets(load: &Load, text: &mut String) -> std::fmt::Result {
    writeln!(text)?;
    for target in &load.targets {
        let rates = &target.part.rates_per_s;
        let p99 = target.part.response_time.as_ref().map_or(Nanos::ZERO, Times::p99);
        writeln!(
            text,
            "{}   offered {}/s · completed {}/s · p99 {}{p99} · {} failed",
            target.url,
            grouped(rates.offered),
            grouped(rates.completed),
            at_most(load),
            counted(target.part.counts.failed),
        )?;
    }
    Ok(())
}

/// The highest quantile that rests on too few requests, and how long it takes to have enough.
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

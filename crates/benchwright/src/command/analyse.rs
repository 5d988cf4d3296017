//! `benchwright analyse`: what the trials in a table say together.

use std::fmt::Write;
use std::path::Path;

use results::analysis::{self, Analysis, Figures, Metric, Pair, Row, Trials};

use crate::cli::Analyse;
use crate::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

/// More rows than this are no trials.
const MOST_TRIALS: usize = 100_000;

pub(crate) fn analyse(arguments: &Analyse) -> Result<Exit, Failure> {
    let Analyse { file, by, metrics, requests, margin, json } = arguments;
    let text = std::fs::read(file);
    let text = text.map_err(|error| Failure::question(format!("{}: {error}", file.display())))?;
    let trials = read(file, &text, by, metrics)?;
    let found = analysis::analyse(&trials, *requests, margin.0);
    output::result(&if *json { output::json(&found) } else { self::text(&found) })?;
    Ok(Exit::Answered)
}

/// Reads the columns that are asked for. An error names its line.
fn read(file: &Path, text: &[u8], by: &str, metrics: &[String]) -> Result<Trials, Failure> {
    let name = file.display();
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    let wrong = |error: csv::Error| Failure::question(format!("{name}: {error}"));
    let columns = reader.headers().map_err(wrong)?.clone();
    let index = |column: &str| {
        columns.iter().position(|known| known == column).ok_or_else(|| {
            let known: Vec<&str> = columns.iter().collect();
            Failure::question(format!(
                "{name} has no column `{column}`; columns here: {}",
                known.join(", ")
            ))
        })
    };
    let level = index(by)?;
    let places = metrics.iter().map(|metric| index(metric)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = |(&place, metric): (&usize, &String)| {
            let text = record.get(place).unwrap_or_default();
            text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
                Failure::question(format!(
                    "{name}:{line}: `{text}` in column `{metric}` is not a number; write figures \
                     without units"
                ))
            })
        };
        let values = places.iter().zip(metrics).map(value).collect::<Result<_, _>>()?;
        let trial = rows.len() + 1;
        rows.push(Row { trial, level: record.get(level).unwrap_or_default().to_owned(), values });
        if MOST_TRIALS < rows.len() {
            return Err(Failure::question(format!(
                "{name} has more than {MOST_TRIALS} rows; write a row for each trial, not for each \
                 request"
            )));
        }
    }
    match rows.is_empty() {
        true => Err(Failure::question(format!("{name} has no trials"))),
        false => Ok(Trials { by: by.to_owned(), metrics: metrics.to_vec(), rows }),
    }
}

fn text(analysis: &Analysis) -> String {
    let mut text = String::new();
    for metric in &analysis.metrics {
        of_metric(&mut text, &analysis.by, metric);
    }
    for conclusion in analysis.conclusions() {
        let _ = writeln!(text, "= {conclusion}");
    }
    for warning in &analysis.warnings {
        let _ = writeln!(text, "! {}", warning.text);
    }
    text
}

fn of_metric(text: &mut String, by: &str, metric: &Metric) {
    let width = metric.levels.iter().map(|level| level.level.chars().count()).max().unwrap_or(0);
    let width = width.max(by.chars().count());
    let _ = writeln!(text, "{}", metric.metric);
    header(text, by, width);
    for level in &metric.levels {
        line(text, &level.level, width, &format!("{:.3}", level.figures.mean), &level.figures);
    }
    if let Some(trend) = metric.trend_stratified.filter(|_| 1 < metric.levels.len()) {
        let (s, of, p) = (trend.s, trend.of, probability(trend.p));
        let _ = writeln!(text, "  trend inside the levels: S = {s} of {of}, p = {p}");
    }
    for pair in &metric.pairs {
        let Pair { a, b, ratio, ratio_interval, verdict, rsd_ratio, spread, .. } = pair;
        let mut parts = Vec::new();
        if let (Some(ratio), Some((low, high)), Some(verdict)) = (ratio, ratio_interval, verdict) {
            parts.push(format!("× {ratio:.3} ({low:.3} … {high:.3}): {}", verdict.word()));
        }
        if let (Some(rsd), Some(spread)) = (rsd_ratio, spread) {
            parts.push(format!("RSD × {rsd:.2}, {}: {}", spread.p_in_words(), spread.word()));
        }
        if !parts.is_empty() {
            let _ = writeln!(text, "  {a} → {b}: {}", parts.join("; "));
        }
    }
    text.push('\n');
}

/// Writes the names of the columns that [`line`] writes.
pub(super) fn header(text: &mut String, by: &str, width: usize) {
    let _ = writeln!(
        text,
        "  {by:<width$}  {:>4} {:>12} {:>8} {:>17} {:>8} {:>8} {:>8} {:>9}",
        "n", "mean", "RSD", "95 % interval", "Shamos", "floor", "trend p", "slope"
    );
}

pub(super) fn line(text: &mut String, name: &str, width: usize, mean: &str, figures: &Figures) {
    let Figures { n, rsd, rsd_interval, spread_shamos, sampling_floor, trend, .. } = figures;
    let interval = rsd_interval.map(|(low, high)| format!("{} … {}", percent(low), percent(high)));
    let _ = writeln!(
        text,
        "  {name:<width$}  {n:>4} {mean:>12} {:>8} {:>17} {:>8} {:>8} {:>8} {:>9}",
        shown(*rsd, percent),
        interval.unwrap_or_else(|| "–".to_owned()),
        shown(*spread_shamos, percent),
        shown(*sampling_floor, percent),
        shown(trend.map(|trend| trend.p), probability),
        figures.slope_in_words().unwrap_or_else(|| "–".to_owned()),
    );
}

fn shown(figure: Option<f64>, write: fn(f64) -> String) -> String {
    figure.map_or_else(|| "–".to_owned(), write)
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn probability(p: f64) -> String {
    format!("{p:.4}")
}

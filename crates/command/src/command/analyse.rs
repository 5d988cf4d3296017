//! `benchwright analyse`: what the trials in a table say together, and what the files of load generators say.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use measure::Share;

use measure::quantity::{counted, probability};
use results::analysis::{self, Analysis, Figures, Metric, Pair, Row, Trials};
use results::regular;

use super::files::analyse::Each;
use super::files::{self, Rows, Says};
use console::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

/// Of more rows the median of all pairs takes too much memory.
const MOST_TRIALS: usize = 5_000;
/// More rows of one level than this are rarely trials.
const MANY: usize = 100;
/// Every two levels are compared.
const MOST_LEVELS: usize = 100;
/// Squares of larger figures, and of smaller ones, are beyond all numbers.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-100;

const ROW_FOR_EACH_TRIAL: &str = "requests of one trial resemble each other, so a test that takes them for trials finds \
     differences that are not there; write a row for each trial, with its p50 and p99";

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 analysed, 1 too many requests of a file failed.",
    after_long_help = format!("The files of load generators are read as they are, and each is told with what its \
                        figures support and what not:\n\n  \
                        benchwright analyse k6-summary.json\n  \
                        vegeta encode results.bin | benchwright analyse /dev/stdin --loop open\n  \
                        benchwright analyse run-1.json run-2.json run-3.json      as trials of the same\n  \
                        benchwright analyse --merge client-a.csv client-b.csv     as parts of one load\n  \
                        benchwright analyse any.csv --rows requests --column latency --unit ms\n\n\
                        Formats, by the name that --format takes and what writes them:\n{}\n\
                        With --by the file is a table of trials: a CSV file with a line of column names and a line \
                        for each trial, in the order in which they ran, whatever tool measured them:\n\n  \
                        replicas,logins,p99\n  \
                        1,606,13.5\n  \
                        2,1068,15.2\n\n  \
                        benchwright analyse trials.csv --by replicas --metrics logins,p99 --requests 15000\n\n\
                        For each level and metric: the mean, the relative standard deviation (RSD) with its 95 % \
                        interval, Shamos' robust estimate of it, the RSD that chance alone gives (for a \
                        percentile, with --requests and a lower percentile among the metrics), the test for a \
                        trend, and outliers. For each two levels: the ratio with its interval, and the test of \
                        their spreads. Nothing is left out.\n\n\
                        Exit codes: 0 analysed, 1 fewer than half of the requests of a file succeeded, or more failed \
                        than its load declared.", foreign::list())
)]
pub(crate) struct Analyse {
    /// Files of load generators, or with --by a table of trials
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The column of a table of trials with the level of each: a version, a stage, a number of replicas
    #[arg(long, value_name = "COLUMN", requires = "metrics")]
    pub(crate) by: Option<String>,
    /// The columns to analyse; percentiles are named p50, p99, p99.9 (or p999, p99_9)
    #[arg(long, value_name = "A,B", requires = "by", value_delimiter = ',')]
    pub(crate) metrics: Vec<String>,
    /// The number of requests of each trial of a table: it shows which percentiles they support
    #[arg(long, value_name = "N", requires = "by")]
    pub(crate) requests: Option<u64>,
    /// Take the files for parts of one load, made at the same time, and merge them
    #[arg(long, conflicts_with = "by")]
    pub(crate) merge: bool,
    /// The difference that matters
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub(crate) margin: Share,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) says: Says,
}

pub(crate) fn analyse(arguments: &Analyse) -> Result<Exit, Failure> {
    let Analyse { files, by, metrics, requests, merge, margin, json, says } = arguments;
    let Some(by) = by else {
        let each = if *merge { Each::Part } else { Each::Trial };
        return files::analyse::analyse(files, says, each, margin.0, *json);
    };
    let [file] = &files[..] else {
        let text = "--by reads one table of trials; name one file";
        return Err(Failure::question(text));
    };
    let rows = &says.rows;
    let text = regular::read_input(file, regular::MOST_OF_LINES);
    let text =
        text.map_err(|error| Failure::question(format!("{}: {error}", regular::shown(file))))?;
    let trials = read(file, &text, by, metrics, *rows)?;
    let found = analysis::analyse(&trials, *requests, margin.0);
    output::result(&if *json { output::json(&found) } else { self::text(&found) })?;
    Ok(Exit::Answered)
}

/// Reads the columns that are asked for. An error names its line.
fn read(
    file: &Path,
    text: &[u8],
    by: &str,
    metrics: &[String],
    rows_are: Option<Rows>,
) -> Result<Trials, Failure> {
    let name = regular::shown(file);
    if rows_are == Some(Rows::Requests) {
        return Err(Failure::question(format!(
            "the rows of {name} are requests: {ROW_FOR_EACH_TRIAL}"
        )));
    }
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(text);
    let wrong = |error: csv::Error| Failure::question(format!("{name}: {error}"));
    let columns = reader.headers().map_err(wrong)?.clone();
    let index = |column: &str| {
        let mut places = columns.iter().enumerate().filter(|(_, known)| *known == column);
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some((first, _)), Some((second, _))) => Err(Failure::question(format!(
                "{name} has two columns `{column}`, the {} and the {}; rename one of them",
                ordinal(first + 1),
                ordinal(second + 1)
            ))),
            (None, _) => {
                let known: Vec<&str> = columns.iter().collect();
                Err(Failure::question(format!(
                    "{name} has no column `{column}`; columns here: {}",
                    known.join(", ")
                )))
            }
        }
    };
    let level = index(by)?;
    let places = metrics.iter().map(|metric| index(metric)).collect::<Result<Vec<_>, _>>()?;
    if let Some(twice) = metrics.iter().enumerate().find(|(at, one)| metrics[..*at].contains(one)) {
        return Err(Failure::question(format!("--metrics has `{}` twice; write it once", twice.1)));
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut of_level: BTreeMap<String, usize> = BTreeMap::new();
    for record in reader.records() {
        let record = record.map_err(wrong)?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = |(&place, metric): (&usize, &String)| {
            let text = record.get(place).unwrap_or_default();
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(|| {
                Failure::question(format!(
                    "{name}:{line}: `{text}` in column `{metric}` is not a number; write figures \
                     without units"
                ))
            })?;
            let is_usual = value == 0.0 || (SMALLEST..=LARGEST).contains(&value.abs());
            is_usual.then_some(value).ok_or_else(|| {
                Failure::question(format!(
                    "{name}:{line}: `{text}` in column `{metric}` cannot be computed with; write figures \
                     between {SMALLEST:e} and {LARGEST:e}, in another unit"
                ))
            })
        };
        let values = places.iter().zip(metrics).map(value).collect::<Result<_, _>>()?;
        let trial = rows.len() + 1;
        let level = record.get(level).unwrap_or_default();
        if level.is_empty() {
            return Err(Failure::question(format!(
                "{name}:{line}: column `{by}` is empty; write the level of each trial, for example its \
                 version"
            )));
        }
        *of_level.entry(level.to_owned()).or_default() += 1;
        rows.push(Row { trial, level: level.to_owned(), values });
        if MOST_TRIALS < rows.len() {
            return Err(Failure::question(format!(
                "{name} has more than {} rows, which are not trials: {ROW_FOR_EACH_TRIAL}",
                counted(MOST_TRIALS as u64)
            )));
        }
    }
    if rows.is_empty() {
        return Err(Failure::question(format!("{name} has no trials")));
    }
    if MOST_LEVELS < of_level.len() {
        return Err(Failure::question(format!(
            "column `{by}` of {name} has {} different levels, and {MOST_LEVELS} are the most; --by names \
             the column that says what was measured, for example a version",
            counted(of_level.len() as u64)
        )));
    }
    if let Some((level, count)) = of_level.iter().find(|(_, count)| MANY < **count)
        && rows_are.is_none()
    {
        return Err(Failure::question(format!(
            "{name} has {} rows at `{level}`: say what a row is. --rows trials if each is the figure \
             of a whole trial; if each is a request: {ROW_FOR_EACH_TRIAL}",
            counted(*count as u64)
        )));
    }
    Ok(Trials { by: by.to_owned(), metrics: metrics.to_vec(), rows })
}

/// `1st`, `2nd`, `13th`
fn ordinal(number: usize) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

pub(super) fn text(analysis: &Analysis) -> String {
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
    if 1 < metric.pairs.len() {
        let count = metric.pairs.len();
        let _ =
            writeln!(text, "  the {count} ratios share the probability of an error, 5 % in all:");
    }
    for pair in &metric.pairs {
        let Pair { a, b, ratio, ratio_interval, verdict, rsd_ratio, spread, absent, .. } = pair;
        let mut parts = Vec::new();
        match (ratio, ratio_interval, verdict) {
            (Some(ratio), Some((low, high)), Some(verdict)) => {
                parts.push(format!("× {ratio:.3} ({low:.3} … {high:.3}): {}", verdict.word()));
            }
            (Some(ratio), ..) => parts.push(format!("× {ratio:.3}")),
            (None, ..) => {}
        }
        if let Some(spread) = spread {
            let rsd = rsd_ratio.map(|rsd| format!("RSD × {rsd:.2}, ")).unwrap_or_default();
            parts.push(format!("{rsd}{}: {}", spread.p_in_words(), spread.word()));
        }
        parts.extend(absent.iter().cloned());
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

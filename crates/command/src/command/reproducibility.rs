//! `benchwright reproducibility`: how far equal trials lie apart.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use lab::past::Past;
use measure::Share;
use results::analysis::Code;
use results::reproducibility::{Document, SCHEMA};
use results::{Metric, Reproduced};

use super::analyse;
use super::compare::failing;
use super::run::failed;
use super::unread;
use console::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "For at least three valid trials at one load, or three equal searches: the mean, the relative \
                  standard deviation (RSD) with its 95 % interval, Shamos' robust estimate of it, the RSD that \
                  chance alone gives (floor), the test for a trend, and outliers. Nothing is left out.\n\n\
                  Exit codes: 0 a spread was printed, 3 none is known, or there is no \
                  trustworthy answer any more."
)]
pub(crate) struct Reproducibility {
    /// A results directory
    pub(crate) directory: PathBuf,
    /// Only these metrics: completed, goodput, p50, p90, p99, p99.9, capacity, maximum_throughput; of
    /// events delivery_p50, delivery_p90, delivery_p99, delivery_p99.9, delivery_p99.99, lost,
    /// duplicated
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) metrics: Vec<Metric>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn reproducibility(arguments: &Reproducibility) -> Result<Exit, Failure> {
    let Reproducibility { directory, metrics, json } = arguments;
    let past = Past::read(directory).map_err(failed)?;
    unread::tell(&past);
    failing(&past).iter().for_each(|words| output::error(&format!("! {words}")));
    let mut reproducibility = past.answer().reproducibility;
    if !metrics.is_empty() {
        for reproduced in &mut reproducibility {
            reproduced.metrics.retain(|of| metrics.contains(&of.metric));
        }
        reproducibility.retain(|reproduced| {
            !reproduced.metrics.is_empty()
                || reproduced.warnings.iter().any(|warning| warning.code == Code::Censored)
        });
    }
    let has_spread = reproducibility.iter().any(|reproduced| !reproduced.metrics.is_empty());
    let document = Document { schema: SCHEMA.to_owned(), reproducibility };
    output::result(&match json {
        true => output::json(&document),
        false => document.reproducibility.iter().map(text).collect(),
    })?;
    if document.reproducibility.is_empty() {
        return Err(Failure::no_answer(
            "nothing was repeated: a spread needs three valid trials of a working service at one load (repeat: {trials: 10}) \
             or three equal searches (repeat: {searches: 5})",
        ));
    }
    Ok(unread::exit(!has_spread || past.lacks_evidence()))
}

fn text(reproduced: &Reproduced) -> String {
    let label = reproduced.label();
    let mut text = if label.is_empty() { String::new() } else { format!("{label}\n") };
    if reproduced.metrics.is_empty() {
        let warnings = reproduced.warnings.iter();
        return text + &warnings.map(|warning| format!("! {}\n", warning.text)).collect::<String>();
    }
    let width = reproduced.metrics.iter().map(|of| of.metric.name().len()).max().unwrap_or(0);
    analyse::header(&mut text, "metric", width.max(6));
    for of in &reproduced.metrics {
        let mean = of.metric.written(of.figures.mean);
        analyse::line(&mut text, of.metric.name(), width.max(6), &mean, &of.figures);
    }
    for of in &reproduced.metrics {
        if let Some(judged) = of.target {
            let (metric, word) = (of.metric, judged.verdict.word());
            let _ = writeln!(text, "  target: RSD of {metric} ≤ {}: {word}", Share(judged.rsd));
        }
    }
    for of in &reproduced.metrics {
        for outlier in &of.figures.outliers {
            let _ =
                writeln!(text, "  outlier of {}, which counts: {}", of.metric, outlier.in_words());
        }
    }
    // The lines above have the outliers already.
    for warning in reproduced.warnings.iter().filter(|warning| warning.code != Code::Outlier) {
        let _ = writeln!(text, "! {}", warning.text);
    }
    text + "\n"
}

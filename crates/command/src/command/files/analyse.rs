//! `benchwright analyse FILE…`: the figures of each file, and those of equal trials together.

use std::path::PathBuf;

use results::analysis::{self, Analysis, Row, Trials};
use results::foreign::{SCHEMA_OF_SEVERAL, Several};
use results::{Foreign, Metric};

use super::Says;
use console::output::{self, Exit, Failure};

/// The figures by which files are trials of the same.
const METRICS: [Metric; 5] =
    [Metric::Completed, Metric::P50, Metric::P90, Metric::P99, Metric::P999];

/// The files are each a trial, or all of them parts of one load.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Each {
    Trial,
    Part,
}

pub(crate) fn analyse(
    paths: &[PathBuf],
    says: &Says,
    each: Each,
    margin: f64,
    is_json: bool,
) -> Result<Exit, Failure> {
    let mut files = super::read(paths, says)?;
    if each == Each::Part {
        files = vec![foreign::merged(&files).map_err(Failure::question)?];
    }
    let together = together(&files, margin);
    // Fewer than half succeeded, unless the load declared a share of failures: then a file supports nothing.
    let is_failing = files.iter().any(|file| file.facts.is_mostly_failing());
    let text = match (&files[..], is_json) {
        ([only], true) => output::json(only),
        (_, true) => {
            output::json(&Several { schema: SCHEMA_OF_SEVERAL.to_owned(), files, together })
        }
        (_, false) => {
            let each: Vec<String> = files.iter().map(super::text).collect();
            let mut text = each.join("\n");
            if let Some(analysis) = &together {
                text +=
                    &format!("\nThe {} files as trials of the same, times in ms:\n", files.len());
                text += &crate::command::analyse::text(analysis);
            } else if 1 < files.len() {
                text += "\n! the files are not trials of the same: they differ in their loop, in the moment \
                         from which times count, or in all their figures\n";
            }
            text
        }
    };
    output::result(&text)?;
    Ok(if is_failing { Exit::No } else { Exit::Answered })
}

/// Analyses files as trials; `None` if there is one, or if they have no figure in common.
pub(super) fn together(files: &[Foreign], margin: f64) -> Option<Analysis> {
    let [first, others @ ..] = files else { return None };
    let meaning = |file: &Foreign| (file.facts.since, file.facts.pacing);
    if others.is_empty() || others.iter().any(|other| meaning(other) != meaning(first)) {
        return None;
    }
    let has_all = |metric: &Metric| files.iter().all(|file| file.facts.figure(*metric).is_some());
    let metrics: Vec<Metric> = METRICS.into_iter().filter(has_all).collect();
    let name = |metric: &Metric| match metric.quantile() {
        Some(_) => format!("{metric}_ms"),
        None => metric.to_string(),
    };
    let value = |file: &Foreign, metric: &Metric| {
        let figure = file.facts.figure(*metric).expect("all files have the chosen metrics");
        if metric.quantile().is_some() { figure / 1e6 } else { figure }
    };
    let row = |(trial, file): (usize, &Foreign)| Row {
        trial,
        level: "all".to_owned(),
        values: metrics.iter().map(|metric| value(file, metric)).collect(),
    };
    let trials = Trials {
        by: "files".to_owned(),
        metrics: metrics.iter().map(name).collect(),
        rows: (1..).zip(files).map(row).collect(),
    };
    let requests = files.iter().map(|file| file.facts.count()).min().flatten();
    (!metrics.is_empty()).then(|| analysis::analyse(&trials, requests, margin))
}

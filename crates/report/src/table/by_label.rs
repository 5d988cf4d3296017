//! The figures by label at the loads of the answer, as medians of their equal trials.

use std::collections::BTreeSet;

use measure::Quantile;
use measure::estimate::median;
use results::journal::OfLabel;

use super::{Cell, MOST_ROWS, Row, Table, found, trials};
use crate::run::{Run, Trial};
use crate::text::{count, integer, load};

const COLUMNS: [&str; 8] =
    ["label", "load", "asked", "p50", "p99", "completed", "failed", "trials"];

/// Returns a row for each label at each load; `None` without labels.
pub(crate) fn table(run: &Run) -> Option<Table> {
    let chosen = found::loads(run);
    let observed = chosen.iter().filter_map(|(_, trial)| trial.entry.observed.as_ref());
    let labels: BTreeSet<&str> =
        observed.flat_map(|observed| &observed.labels).map(|of| of.label.as_str()).collect();
    labels.first()?;
    let rows = labels.len() * chosen.len();
    let mut caption =
        "Medians of the equal trials. Quantiles are those of the response time.".to_owned();
    if MOST_ROWS < rows {
        caption += &format!(" The first {MOST_ROWS} of {}.", count(rows, "row"));
    }
    let mut table = Table::new(&caption, COLUMNS);
    let each = labels.iter().flat_map(|label| chosen.iter().map(move |load| (label, load)));
    for (label, (name, trial)) in each.take(MOST_ROWS) {
        table.push(row(run, label, name, trial));
    }
    Some(table)
}

fn row(run: &Run, label: &str, name: &str, trial: &Trial) -> Row {
    let equal = found::equal(run, trial);
    let observed = equal.iter().filter_map(|trial| trial.entry.observed.as_ref());
    let here: Vec<&OfLabel> = observed.filter_map(|o| o.of_label(label)).collect();
    let middle = |of: &dyn Fn(&OfLabel) -> Option<u64>| {
        let values: Vec<f64> = here.iter().filter_map(|one| of(one)).map(|n| n as f64).collect();
        median(&values)
    };
    let number = |value: Option<f64>| Cell::maybe(value.map(|n| integer(n as u64)));
    let samples = here.iter().map(|of| of.completed).min().unwrap_or_default();
    let quantile =
        |value: Option<f64>, level| trials::quantile(value.map(|ns| ns as u64), samples, level);
    Row::new(vec![
        Cell::words(label),
        Cell::words(name),
        Cell::number(load(&trial.entry)),
        quantile(middle(&|of| of.p50_ns), Quantile::P50),
        quantile(middle(&|of| of.p99_ns), Quantile::P99),
        number(middle(&|of| Some(of.completed))),
        number(middle(&|of| Some(of.failed))),
        Cell::number(integer(here.len() as u64)),
    ])
}

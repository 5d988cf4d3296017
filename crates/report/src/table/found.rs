//! The figures at the loads of the answer, as medians of their equal trials.

use measure::estimate::median;
use measure::quantity::grouped;
use results::journal::Observed;
use results::metric::Metric;

use super::{Cell, Row, Table, trials};
use crate::run::{Run, Trial};
use crate::text::{integer, load};

/// A figure of a trial.
type Value = fn(&Observed) -> Option<f64>;

/// The percentiles of the times that the run is about.
fn percentiles(run: &Run) -> &'static [Metric] {
    if run.of_delivery { &Metric::OF_DELIVERY } else { &Metric::PERCENTILES }
}

/// Returns a row for each load that represents the answer; `None` without any.
pub(crate) fn table(run: &Run) -> Option<Table> {
    let chosen = loads(run);
    chosen.first()?;
    let has_slowed = chosen.iter().any(|(_, trial)| run.equal(trial).next().is_none());
    let medians = match has_slowed {
        true => "Medians of the equal valid trials; without any, the slowed trial that answers.",
        false => "Medians of the equal valid trials.",
    };
    let caption = format!("{medians} In grey: fewer than ten samples lie beyond the quantile.");
    let percentiles = percentiles(run).iter();
    let names = percentiles.map(|metric| metric.name().replace('_', " "));
    let columns = ["load", "asked"].map(str::to_owned).into_iter().chain(names);
    let further = ["trials", "offered /s", "completed /s", "failures"].map(str::to_owned);
    let columns = columns.chain(further);
    let mut table = Table::new(&caption, columns);
    for (name, trial) in chosen {
        table.push(row(run, &name, trial));
    }
    Some(table)
}

/// Returns a trial of each load that represents the answer, with its name.
pub(super) fn loads(run: &Run) -> Vec<(String, &Trial)> {
    match run.has_several() {
        true => run.shown().into_iter().map(|(name, trial)| (name.to_owned(), trial)).collect(),
        false => run.chosen(),
    }
}

/// Returns the trials whose medians stand for a trial: those that are equal to it, and valid.
pub(super) fn equal<'a>(run: &'a Run, trial: &'a Trial) -> Vec<&'a Trial> {
    let mut equal: Vec<&Trial> = run.equal(trial).collect();
    if equal.is_empty() {
        // A slowed trial can be the answer, although no average contains it.
        equal.push(trial);
    }
    equal
}

fn row(run: &Run, name: &str, trial: &Trial) -> Row {
    let equal = equal(run, trial);
    let middle = |of: Value| {
        let observed = equal.iter().filter_map(|trial| trial.entry.observed.as_ref());
        median(&observed.filter_map(of).collect::<Vec<f64>>())
    };
    let asked = load(&trial.entry);
    let mut cells = vec![Cell::words(name), Cell::number(asked)];
    let samples = equal.iter().map(|trial| trial.samples()).min().unwrap_or_default();
    cells.extend(percentiles(run).iter().filter_map(|metric| {
        let values = equal.iter().filter_map(|trial| metric.of(trial.entry.observed.as_ref()?));
        let value = median(&values.collect::<Vec<f64>>());
        Some(trials::quantile(value.map(|ns| ns as u64), samples, metric.level()?))
    }));
    cells.extend([
        Cell::number(integer(equal.len() as u64)),
        Cell::maybe(middle(|o| Some(o.offered_per_s)).map(grouped)),
        Cell::maybe(middle(|o| Some(o.completed_per_s)).map(grouped)),
        Cell::maybe(middle(|o| Some(o.failures as f64)).map(|n| integer(n as u64))),
    ]);
    Row::new(cells)
}

//! The figures of other monitors: the mean of each series in each trial, in the order of the trials.

use std::collections::{BTreeMap, BTreeSet};

use super::{Figure, Key, Layout, Panel};
use crate::plot::{Axis, Plot, Scale, look};
use crate::run::{Run, Trial};
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{count, load, tick_number};

/// The most monitors, and the most series of one.
const MOST_MONITORS: usize = 4;
const MOST_SERIES: usize = 5;

/// Draws the monitors of valid trials; `None` without any.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let trials: Vec<&Trial> =
        run.trials.iter().filter(|trial| trial.valid() && !monitored(trial).is_empty()).collect();
    let names: BTreeSet<&str> =
        trials.iter().flat_map(|trial| monitored(trial).keys()).map(String::as_str).collect();
    let monitors: BTreeSet<&str> = names.iter().map(|name| monitor(name)).collect();
    let (first, last) = (trials.first()?, trials.last()?);
    let ends = (f64::from(first.entry.trial) - 0.5, f64::from(last.entry.trial) + 0.5);
    let panels = monitors.iter().take(MOST_MONITORS).map(|of| {
        let series = names.iter().copied().filter(|name| monitor(name) == *of);
        panel(of, &series.collect::<Vec<_>>(), &trials, ends)
    });
    let (plots, panels): (Vec<Plot>, Vec<Panel>) = panels.unzip();
    let more = monitors.len().saturating_sub(MOST_MONITORS);
    let more = if more == 0 { String::new() } else { format!(" {more} more are in the table.") };
    Some(Figure {
        id: "monitors".into(),
        title: "Other monitors".into(),
        summary: format!(
            "The mean of each series of {} over the measurement, in {}.{more}",
            count(monitors.len(), "monitor"),
            count(trials.len(), "valid trial")
        ),
        panels,
        keys: Vec::new(),
        table: table(run.has_several(), &names, &trials, &plots[0]),
        layout: if 1 < plots.len() { Layout::Wide } else { Layout::Whole },
    })
}

fn monitored(trial: &Trial) -> &BTreeMap<String, f64> {
    static NOTHING: BTreeMap<String, f64> = BTreeMap::new();
    trial.entry.observed.as_ref().map_or(&NOTHING, |observed| &observed.monitored)
}

/// Returns the monitor of a series: `cpu` of `cpu namespace=a`.
fn monitor(series: &str) -> &str {
    series.split(' ').next().unwrap_or(series)
}

fn panel(of: &str, series: &[&str], trials: &[&Trial], ends: (f64, f64)) -> (Plot, Panel) {
    let shown = &series[..series.len().min(MOST_SERIES)];
    let value = |trial: &Trial, name: &str| monitored(trial).get(name).copied();
    let all = trials.iter().flat_map(|trial| shown.iter().filter_map(|name| value(trial, name)));
    let scale = Scale::Linear { from: ends.0, to: ends.1 };
    let x = Axis { scale, label: "trial", tick: tick_number };
    let y = Axis { scale: Scale::from_zero(all), label: "mean", tick: tick_number };
    let mut plot = Plot::new(&format!("{of} in each trial"), 240.0, x, y);
    let mut keys: Vec<Key> = Vec::new();
    for (i, name) in shown.iter().enumerate() {
        let style = look(i, i);
        for trial in trials {
            if let Some(value) = value(trial, name) {
                let title = format!("trial {}: {value:.3}", trial.entry.trial);
                plot.mark(style, f64::from(trial.entry.trial), value, &title);
            }
        }
        keys.push((style, (*name).to_owned()));
    }
    let svg = plot.svg();
    (plot, Panel { svg, keys, ..Panel::default() })
}

fn table(has_levels: bool, names: &BTreeSet<&str>, trials: &[&Trial], plot: &Plot) -> Table {
    let caption = match MOST_ROWS < trials.len() {
        true => format!("The first {MOST_ROWS} of {}.", count(trials.len(), "trial")),
        false => String::new(),
    };
    let level = has_levels.then_some("level");
    let columns = ["trial"].into_iter().chain(level).chain(["load"]);
    let columns = columns.chain(names.iter().copied()).map(str::to_owned);
    let mut table = Table::new(&caption, columns);
    for trial in trials.iter().take(MOST_ROWS) {
        let entry = &trial.entry;
        let load = load(entry);
        let level = has_levels.then(|| Cell::words(entry.cell.clone().unwrap_or_default()));
        let mut cells = vec![Cell::number(entry.trial.to_string())];
        cells.extend(level);
        cells.push(Cell::words(load));
        cells.extend(names.iter().map(|name| {
            Cell::maybe(monitored(trial).get(*name).map(|value| format!("{value:.3}")))
        }));
        table.push(Row::new(cells).at(plot.x(f64::from(entry.trial))));
    }
    table
}

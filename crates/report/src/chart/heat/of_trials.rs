//! The delivery times of equal trials as a heat map, a column for each trial: a second mode, or one
//! trial that is unlike the others, is visible here, and in no percentile.

use measure::Histogram;

use super::{Column, Levels, cells, edges, table};
use crate::chart::labels::{self, Labels};
use crate::chart::{Figure, Layout, Panel};
use crate::plot::{Axis, Plot, Scale};
use crate::run::levels::spaced;
use crate::run::{Run, Trial};
use crate::table::MOST_ROWS;
use crate::text::{count, tick_number, tick_time};

/// The most levels.
const MOST_LEVELS: usize = 40;
/// The part of a level's width that its trials share.
const WIDTH: f64 = 0.9;

/// The trials of a level with their times, in the order in which they ran.
struct Level<'a> {
    name: String,
    trials: Vec<(&'a Trial, &'a Histogram)>,
}

/// Draws the valid trials of each level; `None` if no delivery was noted.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    if !run.of_delivery {
        return None;
    }
    let levels = run.valid_by_level().into_iter().map(|(name, trials)| Level::of(name, trials));
    let all: Vec<Level> = levels.filter(|level| !level.trials.is_empty()).collect();
    let shown: Vec<&Level> =
        spaced(all.len(), MOST_LEVELS).into_iter().map(|index| &all[index]).collect();
    let columns: Vec<Column> =
        shown.iter().enumerate().flat_map(|(place, level)| level.columns(place)).collect();
    let range = edges(&columns)?;
    let colours = Levels::of(&columns)?;
    let names: Vec<String> = shown.iter().map(|level| level.name.clone()).collect();
    let labels = Labels::of(names.iter().map(String::as_str));
    let summary = format!(
        "The times of {} of {}, a column for each. A cell is a quarter of an octave high; the stronger \
         its colour, the larger its share of the trial's events, on a logarithmic scale.",
        count(columns.len(), "valid trial"),
        count(shown.len(), "level"),
    );
    let x = Axis { scale: Scale::Places { count: shown.len() }, label: "", tick: tick_number };
    let y =
        Axis { scale: Scale::log_around(range.times()), label: "delivery time", tick: tick_time };
    let mut plot = Plot::new(&summary, 340.0, x, y);
    labels::write(&mut plot, labels, &names);
    cells(&mut plot, &columns, colours);
    let trials = || shown.iter().flat_map(|level| &level.trials);
    let names = trials().map(|(trial, _)| trial.entry.trial.to_string());
    Some(Figure {
        id: "heat-trials".into(),
        title: "Delivery times of equal trials".into(),
        table: table(
            "The events of each trial by their delivery time.",
            "trial",
            columns.iter().zip(names).take(MOST_ROWS),
            range,
            &plot,
        ),
        panels: vec![Panel { svg: plot.svg(), keys: colours.keys(" %"), ..Panel::default() }],
        keys: Vec::new(),
        summary,
        layout: Layout::Whole,
    })
}

impl<'a> Level<'a> {
    /// Keeps the trials that have times.
    fn of(name: Option<&str>, trials: Vec<&'a Trial>) -> Level<'a> {
        let timed = trials.into_iter().filter(|trial| !trial.probe());
        let timed = timed.filter_map(|trial| Some((trial, trial.times()?.histogram()?)));
        Level { name: name.unwrap_or_default().to_owned(), trials: timed.collect() }
    }

    /// Returns a column for each trial, side by side in the level's place.
    fn columns(&self, place: usize) -> impl Iterator<Item = Column> {
        let width = WIDTH / self.trials.len() as f64;
        let left = place as f64 - WIDTH / 2.0;
        self.trials.iter().enumerate().map(move |(number, (_, times))| {
            let from = left + number as f64 * width;
            // Cells show percentages of the trial's events.
            let unit = times.count() as f64 / 100.0;
            Column::of(from, from + width, unit, times.buckets())
        })
    }
}

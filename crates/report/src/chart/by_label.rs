//! The p99 of the requests with each label in all trials, a panel for each label with the same axes: one slow kind of
//! request is visible here, and in no figure of all requests together.

use std::collections::BTreeSet;

use measure::quantity::grouped;
use measure::{Nanos, Quantile};
use results::journal::{Observed, OfLabel};
use results::slo::{self, Slo};

use super::{Figure, Key, Layout, Panel, Point, curve, measured};
use crate::plot::{Axis, Dash, Mark, Plot, Scale, Style, distinct};
use crate::run::Run;
use crate::run::levels::spaced;
use crate::table::{Cell, MOST_ROWS, Row, Table, trials};
use crate::text::{count, integer, rate, tick_number, tick_time, time};

/// The most panels, the most levels that can be distinguished in them, and the most trials of all panels.
const MOST_LABELS: usize = 24;
const MOST_LEVELS: usize = 6;
const MOST_DOTS: usize = 1_440;

/// The part of a place's width that its trials share.
const WIDTH: f64 = 0.7;

/// The look of trials that are not valid, whatever their level.
const INVALID: Style = Style { series: 90, colour: 2, dash: Dash::None, mark: Mark::Cross };

/// The trials of one level, in ascending load.
struct Level<'a> {
    name: Option<&'a str>,
    style: Style,
    points: Vec<Point<'a>>,
}

/// The trials of all labels.
struct Labelled<'a> {
    run: &'a Run,
    labels: Vec<&'a str>,
    levels: Vec<Level<'a>>,
}

/// Draws the labels of a run; `None` unless its requests have several.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let names: BTreeSet<&str> = measured(run)
        .flat_map(|point| &point.observed.labels)
        .map(|of| of.label.as_str())
        .collect();
    let all = names.len();
    let labels: Vec<&str> = names.into_iter().take(MOST_LABELS).collect();
    labels.get(1)?;
    let labelled = Labelled { run, levels: levels(run), labels };
    let times = || labelled.times();
    let plots: Vec<(Plot, Plot)> = labelled
        .labels
        .iter()
        .map(|label| {
            let plot = |scale| labelled.draw(label, scale);
            (plot(Scale::log_around(times())), plot(Scale::from_zero(times())))
        })
        .collect();
    let summary = labelled.summary(all);
    let table = labelled.table(&plots[0].0);
    let panel = |(label, (log, linear)): (&&str, (Plot, Plot))| Panel {
        title: (*label).to_owned(),
        svg: log.svg(),
        linear: Some(linear.svg()),
        keys: Vec::new(),
    };
    Some(Figure {
        id: "labels".into(),
        title: "P99 response time by label".into(),
        summary,
        keys: labelled.keys(),
        panels: labelled.labels.iter().zip(plots).map(panel).collect(),
        table,
        layout: Layout::Many,
    })
}

/// Returns the trials by level, of some levels if there are too many to be distinguished.
fn levels(run: &Run) -> Vec<Level<'_>> {
    let names: Vec<Option<&str>> = match run.cells.is_empty() {
        true => vec![None],
        false => run.cells.iter().map(|cell| cell.name.as_deref()).collect(),
    };
    let mut levels = Vec::new();
    for (index, place) in spaced(names.len(), MOST_LEVELS).into_iter().enumerate() {
        let name = names[place];
        let is_here = |point: &Point| name.is_none() || point.trial.entry.cell.as_deref() == name;
        let mut points: Vec<Point> = measured(run).filter(is_here).collect();
        points.sort_by(|a, b| a.observed.offered_per_s.total_cmp(&b.observed.offered_per_s));
        levels.push(Level { name, style: distinct(index, index), points });
    }
    levels
}

fn p99(observed: &Observed, label: &str) -> Option<f64> {
    observed.of_label(label)?.p99_ns.map(|ns| ns as f64)
}

impl Labelled<'_> {
    fn points(&self) -> impl Iterator<Item = &Point<'_>> {
        self.levels.iter().flat_map(|level| &level.points)
    }

    /// Returns all values on the y axis.
    fn times(&self) -> Vec<f64> {
        let of = |label: &&str| self.limit(label).map(|limit| limit.0 as f64);
        let limits = self.labels.iter().filter_map(of);
        let times = self.points().flat_map(|point| {
            self.labels.iter().filter_map(move |label| p99(point.observed, label))
        });
        times.chain(limits).collect()
    }

    /// Returns the limit of an objective on the p99 of this label.
    fn limit(&self, name: &str) -> Option<Nanos> {
        self.run.manifest.slo.iter().find_map(|slo| match slo {
            Slo::OfLabel { label, limit: slo::Limit::ResponseTime { quantile, max } } => {
                (label.as_str() == name && *quantile == Quantile::P99).then_some(*max)
            }
            _ => None,
        })
    }

    /// The rates of searches; a given load has one, so its levels are beside each other.
    fn axis(&self) -> Axis {
        match self.run.fixed {
            true => {
                let scale = Scale::Places { count: self.levels.len() };
                Axis { scale, label: "trials in their order", tick: tick_number }
            }
            false => {
                let rates = self.points().map(|point| point.observed.offered_per_s);
                let scale = Scale::from_zero(rates);
                Axis { scale, label: "offered per second", tick: tick_number }
            }
        }
    }

    /// Returns the place of a trial on the x axis.
    fn x(&self, level: usize, index: usize) -> f64 {
        let points = &self.levels[level].points;
        match self.run.fixed {
            true => {
                let before = points
                    .iter()
                    .filter(|one| one.trial.entry.trial < points[index].trial.entry.trial);
                let share = (before.count() as f64 + 0.5) / points.len() as f64;
                level as f64 + WIDTH * (share - 0.5)
            }
            false => points[index].observed.offered_per_s,
        }
    }

    fn draw(&self, label: &str, times: Scale) -> Plot {
        let y = Axis { scale: times, label: "p99 response time", tick: tick_time };
        let known = || self.points().filter(|point| p99(point.observed, label).is_some());
        let summary = format!("{label}; {}", count(known().count(), "trial"));
        let mut plot = Plot::new(&summary, 240.0, self.axis(), y);
        if let Some(limit) = self.limit(label) {
            let name = format!("SLO: p99 ≤ {}", tick_time(limit.0 as f64));
            plot.named_rule_y(limit.0 as f64, &name);
        }
        if !self.run.fixed {
            for level in &self.levels {
                let medians = curve(&level.points, |o| o.offered_per_s, |o| p99(o, label));
                plot.line(level.style, &medians);
            }
        }
        let most = MOST_DOTS / self.labels.len() / self.levels.len();
        for (number, level) in self.levels.iter().enumerate() {
            for index in spaced(level.points.len(), most) {
                let point = level.points[index];
                let Some(value) = p99(point.observed, label) else { continue };
                let style = if point.trial.valid() { level.style } else { INVALID };
                let trial = point.trial.entry.trial;
                let offered = rate(point.observed.offered_per_s);
                let title = format!("trial {trial}: {} at {offered} offered", time(value as u64));
                plot.mark(style, self.x(number, index), value, &title);
            }
        }
        plot
    }

    fn keys(&self) -> Vec<Key> {
        let name = |level: &Level| level.name.unwrap_or("trial").to_owned();
        let mut keys: Vec<Key> =
            self.levels.iter().map(|level| (level.style, name(level))).collect();
        if self.points().any(|point| !point.trial.valid()) {
            keys.push((INVALID, "not valid, or slowed: upper bounds".to_owned()));
        }
        keys
    }

    fn summary(&self, all: usize) -> String {
        let mut text =
            "All panels have the same axes. Each mark is the p99 of a label in a trial.".to_owned();
        if !self.run.fixed {
            text += " A line connects the medians of the loads.";
        }
        if self.labels.len() < all {
            text += &format!(" {} of {} are shown.", self.labels.len(), count(all, "label"));
        }
        let levels = self.run.cells.len();
        if self.levels.len() < levels {
            text += &format!(" {} of {} are shown.", self.levels.len(), count(levels, "level"));
        }
        text
    }

    /// Every trial in the panel of each label, or if there are too many some of them.
    fn table(&self, plot: &Plot) -> Table {
        let has_levels = 1 < self.levels.len();
        let trials: Vec<(usize, usize)> = (0..self.levels.len())
            .flat_map(|level| (0..self.levels[level].points.len()).map(move |at| (level, at)))
            .collect();
        let most = MOST_ROWS / self.labels.len();
        let caption = match trials.len() <= most {
            true => String::new(),
            false => format!("{most} of {}.", count(trials.len(), "trial")),
        };
        let level = has_levels.then_some("level");
        let columns = ["label"].into_iter().chain(level).chain([
            "trial",
            "offered /s",
            "completed",
            "failed",
            "p50",
            "p99",
        ]);
        let mut table = Table::new(&caption, columns);
        for (panel, label) in self.labels.iter().enumerate() {
            for (level, at) in spaced(trials.len(), most).into_iter().map(|index| trials[index]) {
                let here = &self.levels[level];
                let Some(of) = here.points[at].observed.of_label(label) else { continue };
                let level_cell = has_levels.then(|| Cell::words(here.name.unwrap_or("–")));
                let cells = [Cell::words(*label)].into_iter().chain(level_cell);
                let row = Row::new(cells.chain(cells_of(&here.points[at], of)).collect());
                table.push(row.at(plot.x(self.x(level, at))).in_panel(panel));
            }
        }
        table
    }
}

fn cells_of(point: &Point, of: &OfLabel) -> Vec<Cell> {
    vec![
        Cell::number(point.trial.entry.trial.to_string()),
        Cell::number(grouped(point.observed.offered_per_s)),
        Cell::number(integer(of.completed)),
        Cell::number(integer(of.failed)),
        trials::quantile(of.p50_ns, of.completed, Quantile::P50),
        trials::quantile(of.p99_ns, of.completed, Quantile::P99),
    ]
}

//! Every trial of the loads that were measured repeatedly, in the order in which they ran: a drift,
//! two modes or an outlier are visible here, and in no average.

use std::collections::BTreeMap;

use measure::Quantile;
use measure::estimate::{CONFIDENCE, median, order_statistics};
use measure::quantity::grouped;
use results::at_load::Configuration;
use results::metric::Metric;
use results::reproducibility::Reproduced;

use super::labels::{self, Labels};
use super::{Figure, Key, Layout, Panel, Point, measured};
use crate::plot::{Axis, Dash, Mark, Plot, Scale, Style};
use crate::run::Run;
use crate::run::levels::spaced;
use crate::table::{Cell, MOST_ROWS, Row, Table, trials};
use crate::text::{self, count, integer, tick_number, tick_time, time};

const VALID: Style = Style { series: 0, colour: 1, dash: Dash::None, mark: Mark::Disc };
const MEDIAN: Style = Style { series: 1, colour: 3, dash: Dash::Solid, mark: Mark::None };
const OUTLIER: Style = Style { series: 3, colour: 2, dash: Dash::None, mark: Mark::Ring };
const INVALID: Style = Style { series: 2, colour: 2, dash: Dash::None, mark: Mark::Cross };

/// The fewest valid trials of a load that are worth a place.
const FEWEST: usize = 3;

/// The most loads, and the most trials of all of them.
const MOST_GROUPS: usize = 40;
const MOST_DOTS: usize = 1_000;

/// The part of a load's width on the x axis that its trials share.
const WIDTH: f64 = 0.7;

/// The trials of one load, in the order in which they ran.
struct Group<'a> {
    name: String,
    points: Vec<Point<'a>>,
    /// Their spread in the answer, if it has one.
    reproduced: Option<&'a Reproduced>,
}

/// Draws the loads with at least three valid trials; `None` if there are none.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let all = groups(run);
    all.first()?;
    let groups: Vec<&Group> =
        spaced(all.len(), MOST_GROUPS).into_iter().map(|index| &all[index]).collect();
    let labels = Labels::of(groups.iter().map(|group| group.name.as_str()));
    let most = MOST_DOTS / groups.len();
    let metrics = metrics(run);
    let plots = metrics.map(|of| draw(&groups, labels, axis(&groups, of), of, most));
    Some(Figure {
        id: "trials".into(),
        title: "Equal trials in their order".into(),
        summary: summary(&all, &groups, labels, most),
        keys: keys(&groups, &metrics),
        table: table(&groups, labels, &metrics, &plots[0]),
        panels: plots.iter().map(|plot| Panel { svg: plot.svg(), ..Panel::default() }).collect(),
        layout: Layout::Wide,
    })
}

/// The two metrics that are drawn.
fn metrics(run: &Run) -> [Metric; 2] {
    match run.of_delivery {
        true => [Metric::DeliveryP99, Metric::DeliveryP50],
        false => [Metric::P99, Metric::Completed],
    }
}

fn axis(groups: &[&Group], of: Metric) -> Axis {
    let values = || groups.iter().flat_map(|group| group.values(of));
    let (label, is_time) = match of {
        Metric::DeliveryP99 => ("p99 delivery time", true),
        Metric::DeliveryP50 => ("p50 delivery time", true),
        Metric::P99 => ("p99 response time", true),
        _ => ("completed per second", false),
    };
    match is_time {
        true => Axis { scale: Scale::log_around(values()), label, tick: tick_time },
        false => Axis { scale: Scale::from_zero(values()), label, tick: tick_number },
    }
}

/// Returns the loads that were measured repeatedly, in the order of the levels, and of the loads in
/// them. Equal searches share their loads.
fn groups(run: &Run) -> Vec<Group<'_>> {
    type Place<'a> = (usize, usize, Configuration<'a>);
    let mut groups: BTreeMap<Place<'_>, Vec<Point<'_>>> = BTreeMap::new();
    // A search for a capacity repeats a trial because of its result: the trials of its loads are no
    // sample of what the load gives.
    for point in measured(run).filter(|point| point.trial.entry.why.is_none()) {
        let entry = &point.trial.entry;
        let level = run.cells.iter().position(|cell| cell.name == entry.cell).unwrap_or(0);
        let searches = run.cells.get(level).map(|cell| &cell.searches);
        let search = searches
            .and_then(|searches| searches.iter().position(|search| search.name == entry.search));
        groups.entry((level, search.unwrap_or(0), entry.configuration())).or_default().push(point);
    }
    let valid = |points: &[Point]| points.iter().filter(|point| point.trial.valid()).count();
    let repeated = groups.into_values().filter(|points| FEWEST <= valid(points));
    let known = run.answer.as_ref().map(|answer| answer.reproducibility.as_slice());
    let known = known.unwrap_or_default();
    let group = repeated.map(|points| Group {
        name: name(&points),
        reproduced: known.iter().find(|reproduced| is_of(reproduced, &points)),
        points,
    });
    group.collect()
}

/// Returns true if the spread is that of these trials.
fn is_of(reproduced: &Reproduced, points: &[Point]) -> bool {
    points.iter().any(|point| reproduced.trials.contains(&point.trial.entry.trial))
        && reproduced.metrics.iter().any(|of| !of.metric.is_of_search())
}

/// `servers=2 · half · 600/s`
fn name(points: &[Point]) -> String {
    let entry = &points[0].trial.entry;
    let load = text::load(entry);
    let parts = [entry.cell.as_deref(), entry.search.as_deref(), Some(load.as_str())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

impl Group<'_> {
    fn values(&self, of: Metric) -> Vec<f64> {
        self.points.iter().filter_map(|point| of.of(point.observed)).collect()
    }

    /// Returns the figures of the valid trials, which averages contain.
    fn valid(&self, of: Metric) -> Vec<f64> {
        let valid = self.points.iter().filter(|point| point.trial.valid());
        valid.filter_map(|point| of.of(point.observed)).collect()
    }

    /// Returns the 95 % interval of the median, by order statistics; `None` below six values.
    fn interval(&self, of: Metric) -> Option<(f64, f64)> {
        let mut values = self.valid(of);
        values.sort_by(f64::total_cmp);
        let (low, high) = order_statistics(values.len() as u64, Quantile::P50, CONFIDENCE)?;
        Some((values[low as usize - 1], values[high as usize - 1]))
    }

    /// Returns true if the answer calls the trial an outlier.
    fn is_outlier(&self, of: Metric, point: &Point) -> bool {
        let metrics = self.reproduced.iter().flat_map(|reproduced| &reproduced.metrics);
        let mut outliers =
            metrics.filter(|known| known.metric == of).flat_map(|known| &known.figures.outliers);
        outliers.any(|outlier| outlier.trial == point.trial.entry.trial as usize)
    }

    /// Returns the place of a trial on the x axis, in the order of the run.
    fn x(&self, group: usize, trial: usize) -> f64 {
        place(group, (trial as f64 + 0.5) / self.points.len() as f64)
    }
}

/// The place of a share of a load's width.
fn place(group: usize, share: f64) -> f64 {
    group as f64 + WIDTH * (share - 0.5)
}

fn draw(groups: &[&Group], labels: Labels, y: Axis, of: Metric, most: usize) -> Plot {
    let tick = y.tick;
    let summary = format!("{} of {}", y.label, count(groups.len(), "load"));
    let x = Axis { scale: Scale::Places { count: groups.len() }, label: "", tick: tick_number };
    let mut plot = Plot::new(&summary, 340.0, x, y);
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    labels::write(&mut plot, labels, &names);
    for (index, group) in groups.iter().enumerate() {
        let (left, right) = (place(index, -0.05), place(index, 1.05));
        if let Some((low, high)) = group.interval(of) {
            plot.area(MEDIAN, &[(left, low, high), (right, low, high)]);
        }
        if let Some(median) = median(&group.valid(of)) {
            plot.line(MEDIAN, &[(left, median), (right, median)]);
        }
        for trial in spaced(group.points.len(), most) {
            let point = group.points[trial];
            let Some(value) = of.of(point.observed) else { continue };
            let style = match point.trial.valid() {
                true if group.is_outlier(of, &point) => OUTLIER,
                true => VALID,
                false => INVALID,
            };
            let number = point.trial.entry.trial;
            let title = format!("trial {number}: {} at {}", tick(value), group.name);
            plot.mark(style, group.x(index, trial), value, &title);
        }
    }
    plot
}

fn keys(groups: &[&Group], metrics: &[Metric]) -> Vec<Key> {
    let mut keys =
        vec![(VALID, "trial"), (MEDIAN, "median, with its 95 % interval from six trials on")];
    let has_outlier = |group: &&Group| {
        group.points.iter().any(|point| metrics.iter().any(|of| group.is_outlier(*of, point)))
    };
    if groups.iter().any(has_outlier) {
        keys.push((OUTLIER, "outlier, which counts"));
    }
    if groups.iter().flat_map(|group| &group.points).any(|point| !point.trial.valid()) {
        keys.push((INVALID, "not valid, or slowed: not in the median"));
    }
    keys.into_iter().map(|(style, name)| (style, name.to_owned())).collect()
}

fn summary(all: &[Group], drawn: &[&Group], labels: Labels, most: usize) -> String {
    let trials: usize = drawn.iter().map(|group| group.points.len()).sum();
    let mut text = format!(
        "{} in the order in which they ran, at {} with at least {FEWEST} valid ones.",
        count(trials, "trial"),
        count(drawn.len(), "load"),
    );
    if labels == Labels::Numbers {
        text += " The loads are numbered; the table names them.";
    }
    if drawn.len() < all.len() {
        let loads = count(all.len() - drawn.len(), "load");
        text += &format!(" {loads} between these are not drawn.");
    }
    let dots: usize = drawn.iter().map(|group| group.points.len().min(most)).sum();
    if dots < trials {
        text += &format!(" {} of the trials have a dot.", integer(dots as u64));
    }
    text
}

fn table(groups: &[&Group], labels: Labels, metrics: &[Metric], plot: &Plot) -> Table {
    let trials: usize = groups.iter().map(|group| group.points.len()).sum();
    let caption = match trials <= MOST_ROWS {
        true => String::new(),
        false => format!("Some of {}; the table of trials has all.", count(trials, "trial")),
    };
    let name = |metric: &Metric| match metric.level() {
        Some(_) => metric.name().replace('_', " "),
        None => format!("{metric} /s"),
    };
    let of_metrics = metrics.iter().flat_map(|m| [name(m), format!("median {}", name(m))]);
    let columns = ["load", "trial"].map(str::to_owned).into_iter().chain(of_metrics);
    let mut table = Table::new(&caption, columns.chain([String::new()]));
    for (index, group) in groups.iter().enumerate() {
        let most = if trials <= MOST_ROWS { trials } else { MOST_ROWS / groups.len() };
        let medians: Vec<Option<f64>> = metrics.iter().map(|m| median(&group.valid(*m))).collect();
        for trial in spaced(group.points.len(), most) {
            let point = group.points[trial];
            let Point { trial: of, observed } = point;
            let is_outlier = metrics.iter().any(|of| group.is_outlier(*of, &point));
            let mut cells = vec![
                Cell::words(labels.in_table(index, &group.name)),
                Cell::number(of.entry.trial.to_string()),
            ];
            for (metric, median) in metrics.iter().zip(&medians) {
                let value = metric.of(observed);
                cells.extend(match metric.level() {
                    Some(level) => [
                        trials::quantile(value.map(|ns| ns as u64), of.samples(), level),
                        Cell::maybe(median.map(|ns| time(ns as u64))),
                    ],
                    None => [Cell::maybe(value.map(grouped)), Cell::maybe(median.map(grouped))],
                });
            }
            cells.push(Cell::words(match (of.valid(), of.answers()) {
                (true, _) if is_outlier => "outlier",
                (true, _) => "",
                (false, true) => "slowed",
                (false, false) => "not valid",
            }));
            table.push(Row::new(cells).at(plot.x(group.x(index, trial))));
        }
    }
    table
}

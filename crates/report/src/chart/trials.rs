//! Every trial of the loads that were measured repeatedly, in the order in which they ran: a drift,
//! two modes or an outlier are visible here, and in no average.

use std::collections::BTreeMap;

use measure::Quantile;
use measure::estimate::{median, order_statistics};
use measure::quantity::grouped;
use results::journal::Observed;

use super::labels::{self, Labels};
use super::{Figure, Key, Layout, Panel, Point, measured};
use crate::plot::{Axis, Dash, Mark, Plot, Scale, Style};
use crate::run::levels::spaced;
use crate::run::{CONFIDENCE, Run};
use crate::table::{Cell, MOST_ROWS, Row, Table, trials};
use crate::text::{count, integer, rate, tick_number, tick_time, time};

const VALID: Style = Style { series: 0, colour: 1, dash: Dash::None, mark: Mark::Disc };
const MEDIAN: Style = Style { series: 1, colour: 3, dash: Dash::Solid, mark: Mark::None };
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
}

/// A figure of a trial.
type Value = fn(&Observed) -> Option<f64>;

/// Draws the loads with at least three valid trials; `None` if there are none.
pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let all = groups(run);
    all.first()?;
    let groups: Vec<&Group> =
        spaced(all.len(), MOST_GROUPS).into_iter().map(|index| &all[index]).collect();
    let labels = Labels::of(groups.iter().map(|group| group.name.as_str()));
    let most = MOST_DOTS / groups.len();
    let p99: Value = |observed| observed.p99_ns.map(|ns| ns as f64);
    let completed: Value = |observed| Some(observed.completed_per_s);
    let values = |of: Value| groups.iter().flat_map(move |group| group.values(of));
    let times = Scale::log_around(values(p99));
    let y = [
        (Axis { scale: times, label: "p99 response time", tick: tick_time }, p99),
        (
            Axis {
                scale: Scale::from_zero(values(completed)),
                label: "completed per second",
                tick: tick_number,
            },
            completed,
        ),
    ];
    let plots = y.map(|(axis, of)| draw(&groups, labels, axis, of, most));
    Some(Figure {
        id: "trials".into(),
        title: "Equal trials in their order".into(),
        summary: summary(&all, &groups, labels, most),
        keys: keys(&groups),
        table: table(&groups, labels, &plots[0]),
        panels: plots.iter().map(|plot| Panel { svg: plot.svg(), ..Panel::default() }).collect(),
        layout: Layout::Wide,
    })
}

/// Returns the loads that were measured repeatedly, in the order of the levels, and of the loads in
/// them. Equal searches share their loads.
fn groups(run: &Run) -> Vec<Group<'_>> {
    type Place<'a> = (usize, usize, Option<u64>);
    let mut groups: BTreeMap<Place<'_>, Vec<Point<'_>>> = BTreeMap::new();
    // A search for a capacity repeats a trial because of its result: the trials of its loads are no
    // sample of what the load gives.
    for point in measured(run).filter(|point| point.trial.entry.why.is_none()) {
        let entry = &point.trial.entry;
        let level = run.cells.iter().position(|cell| cell.name == entry.cell).unwrap_or(0);
        let searches = run.cells.get(level).map(|cell| &cell.searches);
        let search = searches
            .and_then(|searches| searches.iter().position(|search| search.name == entry.search));
        // The bits of positive numbers are ordered as the numbers are.
        let load = entry.asked_per_s.map(f64::to_bits);
        groups.entry((level, search.unwrap_or(0), load)).or_default().push(point);
    }
    let valid = |points: &[Point]| points.iter().filter(|point| point.trial.valid()).count();
    let repeated = groups.into_values().filter(|points| FEWEST <= valid(points));
    repeated.map(|points| Group { name: name(&points), points }).collect()
}

/// `servers=2 · half · 600/s`
fn name(points: &[Point]) -> String {
    let entry = &points[0].trial.entry;
    let load = entry.asked_per_s.map_or("closed loop".to_owned(), rate);
    let parts = [entry.cell.as_deref(), entry.search.as_deref(), Some(load.as_str())];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

impl Group<'_> {
    fn values(&self, of: Value) -> Vec<f64> {
        self.points.iter().filter_map(|point| of(point.observed)).collect()
    }

    /// Returns the figures of the valid trials, which averages contain.
    fn valid(&self, of: Value) -> Vec<f64> {
        let valid = self.points.iter().filter(|point| point.trial.valid());
        valid.filter_map(|point| of(point.observed)).collect()
    }

    /// Returns the 95 % interval of the median, by order statistics; `None` below six values.
    fn interval(&self, of: Value) -> Option<(f64, f64)> {
        let mut values = self.valid(of);
        values.sort_by(f64::total_cmp);
        let (low, high) = order_statistics(values.len() as u64, Quantile::P50, CONFIDENCE)?;
        Some((values[low as usize - 1], values[high as usize - 1]))
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

fn draw(groups: &[&Group], labels: Labels, y: Axis, of: Value, most: usize) -> Plot {
    let tick = y.tick;
    let summary = format!("{} of {}", y.label, count(groups.len(), "load"));
    let x = Axis { scale: Scale::Places { count: groups.len() }, label: "", tick: tick_number };
    let mut plot = Plot::new(&summary, 340.0, x, y);
    match labels {
        Labels::Names => {
            groups.iter().enumerate().for_each(|(i, group)| plot.place(i as f64, &group.name));
        }
        Labels::Numbers => labels::numbers(groups.len())
            .for_each(|number| plot.place(number as f64 - 1.0, &number.to_string())),
    }
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
            let Some(value) = of(point.observed) else { continue };
            let style = if point.trial.valid() { VALID } else { INVALID };
            let number = point.trial.entry.trial;
            let title = format!("trial {number}: {} at {}", tick(value), group.name);
            plot.mark(style, group.x(index, trial), value, &title);
        }
    }
    plot
}

fn keys(groups: &[&Group]) -> Vec<Key> {
    let mut keys =
        vec![(VALID, "trial"), (MEDIAN, "median, with its 95 % interval from six trials on")];
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

fn table(groups: &[&Group], labels: Labels, plot: &Plot) -> Table {
    let trials: usize = groups.iter().map(|group| group.points.len()).sum();
    let caption = match trials <= MOST_ROWS {
        true => String::new(),
        false => format!("Some of {}; the table of trials has all.", count(trials, "trial")),
    };
    let columns = ["load", "trial", "p99", "median p99", "completed /s", "median completed /s", ""];
    let mut table = Table::new(&caption, columns);
    for (index, group) in groups.iter().enumerate() {
        let p99 = median(&group.valid(|o| o.p99_ns.map(|ns| ns as f64)));
        let completed = median(&group.valid(|o| Some(o.completed_per_s)));
        let most = if trials <= MOST_ROWS { trials } else { MOST_ROWS / groups.len() };
        for trial in spaced(group.points.len(), most) {
            let Point { trial: of, observed } = group.points[trial];
            let cells = vec![
                Cell::words(labels.in_table(index, &group.name)),
                Cell::number(of.entry.trial.to_string()),
                trials::quantile(observed.p99_ns, of.samples(), Quantile::P99),
                Cell::maybe(p99.map(|ns| time(ns as u64))),
                Cell::number(grouped(observed.completed_per_s)),
                Cell::maybe(completed.map(grouped)),
                Cell::words(if of.valid() { "" } else { "not valid" }),
            ];
            table.push(Row::new(cells).at(plot.x(group.x(index, trial))));
        }
    }
    table
}

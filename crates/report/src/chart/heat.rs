//! The response times of a trial over time as a heat map: a pause, a second mode or a slow drift is
//! visible here, and in no percentile of the whole trial.

use std::collections::BTreeMap;

use measure::{Histogram, Nanos};
use results::components::Event;
use results::load::{Interval, Load};

use super::{Figure, Key, Layout, Panel};
use crate::plot::{Axis, Dash, HEAT_LEVELS, Mark, NamePosition, Plot, Scale, Style};
use crate::run::Trial;
use crate::table::{Cell, Row, Table};
use crate::text::{count, integer, tick_number, tick_time, time};

pub(crate) mod of_trials;

/// The rows of the map in an octave: in a row the longest time is a fifth above the shortest.
const PER_OCTAVE: f64 = 4.0;

/// The most columns of the map: more intervals share them.
const MOST_COLUMNS: usize = 100;

/// The most columns of the table, which has a column for an octave, or for several.
const MOST_OCTAVES: i32 = 16;

/// The strips above the map.
const EVENT: Style = Style { series: 40, colour: 2, dash: Dash::None, mark: Mark::Strip };

/// Times by row.
struct Column {
    /// Its place on the x axis.
    from: f64,
    to: f64,
    /// The count that a cell shows as 1.
    unit: f64,
    rows: BTreeMap<i32, u64>,
    /// The shortest and the longest time; absent without any.
    times: Option<(Nanos, Nanos)>,
}

/// The lowest and the highest row of a map.
#[derive(Clone, Copy)]
struct Edges {
    lowest: i32,
    highest: i32,
}

/// Draws a trial; `None` if its document has no histograms of its intervals.
pub(crate) fn figure(id: &str, role: &str, trial: &Trial) -> Option<Figure> {
    let events = trial.components.as_ref().map(|components| components.events.as_slice());
    let figure = of_load(trial.load.as_ref()?, events.unwrap_or_default())?;
    Some(Figure {
        id: format!("heat-{id}"),
        title: format!("{role}: response times of trial {} over time", trial.entry.trial),
        layout: Layout::Column,
        ..figure
    })
}

/// Draws a load with its events; `None` likewise.
pub(crate) fn of_load(load: &Load, events: &[Event]) -> Option<Figure> {
    let columns = columns(load)?;
    let range = edges(&columns)?;
    let levels = Levels::of(&columns)?;
    let summary = summary(load, &columns, events);
    let plot = draw(load, &columns, levels, range, events, &summary);
    let seconds = columns.iter().map(|column| (column, tick_number(column.from)));
    let mut keys = levels.keys("/s");
    if !events.is_empty() {
        keys.push((EVENT, "event".to_owned()));
    }
    Some(Figure {
        id: "heat".into(),
        title: "Response times over time".into(),
        panels: vec![Panel { svg: plot.svg(), keys, ..Panel::default() }],
        keys: Vec::new(),
        table: table(
            "The number of requests that ended in each column of the map, by response time.",
            "second",
            seconds,
            range,
            &plot,
        ),
        summary,
        layout: Layout::Whole,
    })
}

/// Returns the columns of the map, at most a hundred; `None` if a histogram is missing.
fn columns(load: &Load) -> Option<Vec<Column>> {
    // The drain is not a part of the measurement.
    let series: Vec<&Interval> = load.measured().collect();
    let together = series.len().div_ceil(MOST_COLUMNS).max(1);
    let column = |intervals: &[&Interval]| {
        let (first, last) = (intervals.first()?, intervals.last()?);
        let times: Option<Vec<Histogram>> =
            intervals.iter().map(|interval| interval.response_times()).collect();
        let (from, to) = (first.t_s, last.t_s + last.length_s);
        let times = times?;
        Some(Column::of(from, to, (to - from).max(1e-3), times.iter().flat_map(Histogram::buckets)))
    };
    series.chunks(together).map(column).collect()
}

fn row(time: Nanos) -> i32 {
    (PER_OCTAVE * (time.0.max(1) as f64).log2()).floor() as i32
}

/// The shortest time of a row.
fn edge(row: i32) -> f64 {
    2f64.powf(f64::from(row) / PER_OCTAVE)
}

impl Column {
    fn of(from: f64, to: f64, unit: f64, times: impl Iterator<Item = (Nanos, u64)>) -> Column {
        let mut column = Column { from, to, unit, rows: BTreeMap::new(), times: None };
        for (time, count) in times.filter(|(_, count)| 0 < *count) {
            *column.rows.entry(row(time)).or_default() += count;
            let (shortest, longest) = column.times.unwrap_or((time, time));
            column.times = Some((shortest.min(time), longest.max(time)));
        }
        column
    }
}

impl Edges {
    /// Returns the shortest and the longest time of the rows.
    fn times(self) -> [f64; 2] {
        [edge(self.lowest), edge(self.highest + 1)]
    }
}

/// Returns the rows between which all times are; `None` if there are none.
fn edges(columns: &[Column]) -> Option<Edges> {
    let rows = || columns.iter().flat_map(|column| column.rows.keys().copied());
    Some(Edges { lowest: rows().min()?, highest: rows().max()? })
}

/// The colours of the map: equal steps of the logarithm of what its cells show.
#[derive(Clone, Copy)]
struct Levels {
    least: f64,
    most: f64,
}

impl Levels {
    fn of(columns: &[Column]) -> Option<Levels> {
        let shown = || {
            let shown = |c: &Column| c.rows.values().map(|n| *n as f64 / c.unit).collect();
            columns.iter().flat_map(shown as fn(&Column) -> Vec<f64>)
        };
        Some(Levels { least: shown().reduce(f64::min)?, most: shown().reduce(f64::max)? })
    }

    /// Returns the level of a cell, from 1.
    fn level(self, shown: f64) -> usize {
        let of_all = (self.most / self.least).ln();
        match (shown / self.least).ln() / of_all {
            share if share.is_finite() => {
                1 + ((share * HEAT_LEVELS as f64) as usize).min(HEAT_LEVELS - 1)
            }
            _ => HEAT_LEVELS,
        }
    }

    /// Returns the least that cells of a level show.
    fn from(self, level: usize) -> f64 {
        let share = (level - 1) as f64 / HEAT_LEVELS as f64;
        self.least * (self.most / self.least).powf(share)
    }

    fn keys(self, unit: &str) -> Vec<Key> {
        let key = |level| {
            let style =
                Style { series: level, colour: 1, dash: Dash::None, mark: Mark::Cell(level) };
            let from = tick_number(rounded(self.from(level)));
            (
                style,
                if level == 1 {
                    format!("from {from}{unit} in a cell")
                } else {
                    format!("{from}{unit}")
                },
            )
        };
        (1..=HEAT_LEVELS).map(key).collect()
    }
}

/// Rounds to tenths, and what is below one to hundredths.
fn rounded(number: f64) -> f64 {
    let parts = if number < 1.0 { 100.0 } else { 10.0 };
    (number * parts).round() / parts
}

fn draw(
    load: &Load,
    columns: &[Column],
    levels: Levels,
    range: Edges,
    events: &[Event],
    summary: &str,
) -> Plot {
    let end = columns.last().map_or(0.0, |last| last.to).max(1e-3);
    let x =
        Axis { scale: Scale::Linear { from: 0.0, to: end }, label: "seconds", tick: tick_number };
    let y =
        Axis { scale: Scale::log_around(range.times()), label: "response time", tick: tick_time };
    let mut plot = Plot::new(summary, 340.0, x, y);
    cells(&mut plot, columns, levels);
    events.iter().for_each(|event| plot.strip(EVENT, event.from_s, event.to_s, &event.text));
    load.segments.iter().skip(1).for_each(|s| plot.rule_x(s.begin_s, NamePosition::Head, ""));
    plot
}

/// Draws the cells of the columns.
fn cells(plot: &mut Plot, columns: &[Column], levels: Levels) {
    let mut cells: Vec<Vec<[(f64, f64); 2]>> = vec![Vec::new(); HEAT_LEVELS];
    for column in columns {
        for (row, count) in &column.rows {
            let level = levels.level(*count as f64 / column.unit);
            let corners = [(column.from, edge(*row)), (column.to, edge(row + 1))];
            cells[level - 1].push(corners);
        }
    }
    (1..).zip(&cells).for_each(|(level, cells)| plot.cells(level, cells));
}

fn summary(load: &Load, columns: &[Column], events: &[Event]) -> String {
    // The edges of the cells are no times that were measured.
    let times = || columns.iter().filter_map(|column| column.times);
    let shortest = times().map(|(shortest, _)| shortest).min().unwrap_or_default();
    let longest = times().map(|(_, longest)| longest).max().unwrap_or_default();
    let requests: u64 = columns.iter().flat_map(|column| column.rows.values()).sum();
    let mut text = format!(
        "{} ended, after {} to {}. A cell is {} wide and a quarter of an octave high; the stronger its \
         colour, the more requests ended in it, on a logarithmic scale.",
        count(requests as usize, "request"),
        time(shortest.0),
        time(longest.0),
        Nanos::from_secs_f64(columns[0].to - columns[0].from),
    );
    if !events.is_empty() {
        text += &format!(" {} marked above the map.", count(events.len(), "event"));
    }
    if 1 < load.segments.len() {
        text += " Dotted lines divide the segments of the load.";
    }
    text
}

/// The times of each column by octave. Each has a name, of this kind.
fn table<'a>(
    caption: &str,
    kind: &str,
    columns: impl Iterator<Item = (&'a Column, String)>,
    range: Edges,
    plot: &Plot,
) -> Table {
    let octave = |row: i32| row.div_euclid(PER_OCTAVE as i32);
    let (first, last) = (octave(range.lowest), octave(range.highest));
    let together = (last - first) / MOST_OCTAVES + 1;
    let starts: Vec<i32> = (first..=last).step_by(together as usize).collect();
    let names = starts.iter().map(|octave| format!("from {}", time(1 << octave)));
    let mut table = Table::new(caption, [kind.to_owned()].into_iter().chain(names));
    for (column, name) in columns {
        let mut cells = vec![Cell::number(name)];
        cells.extend(starts.iter().map(|start| {
            let here = *start..start + together;
            let rows = column.rows.iter().filter(|(row, _)| here.contains(&octave(**row)));
            Cell::number(integer(rows.map(|(_, count)| count).sum()))
        }));
        table.push(Row::new(cells).at(plot.x((column.from + column.to) / 2.0)));
    }
    table
}

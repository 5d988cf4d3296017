//! The response times of a trial over time as a heat map: a pause, a second mode or a slow drift is
//! visible here, and in no percentile of the whole trial.

use std::collections::BTreeMap;

use measure::Nanos;
use results::components::Event;
use results::load::{Interval, Load};

use super::{Figure, Key, Layout, Panel};
use crate::plot::{Axis, Dash, HEAT_LEVELS, Mark, Place, Plot, Scale, Style};
use crate::run::Trial;
use crate::table::{Cell, Row, Table};
use crate::text::{count, integer, tick_number, tick_time, time};

/// The rows of the map in an octave: in a row the longest time is a fifth above the shortest.
const PER_OCTAVE: f64 = 4.0;

/// The most columns of the map: more intervals share them.
const MOST_COLUMNS: usize = 100;

/// The most columns of the table, which has a column for an octave, or for several.
const MOST_OCTAVES: i32 = 16;

/// The response times that ended in some neighbouring intervals, by row.
struct Column {
    from_s: f64,
    to_s: f64,
    rows: BTreeMap<i32, u64>,
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
    let rows = || columns.iter().flat_map(|column| column.rows.keys().copied());
    let (lowest, highest) = (rows().min()?, rows().max()?);
    let levels = Levels::of(&columns)?;
    let summary = summary(load, &columns, (lowest, highest), events);
    let plot = draw(load, &columns, levels, (lowest, highest), events, &summary);
    Some(Figure {
        id: "heat".into(),
        title: "Response times over time".into(),
        panels: vec![Panel { svg: plot.svg(), keys: levels.keys(), ..Panel::default() }],
        keys: Vec::new(),
        table: table(&columns, (lowest, highest), &plot),
        summary,
        layout: Layout::Whole,
    })
}

/// Returns the columns of the map, at most a hundred; `None` if a histogram is missing.
fn columns(load: &Load) -> Option<Vec<Column>> {
    // The drain is not a part of the measurement, and shorter than an interval.
    let series = load.series.iter().filter(|interval| interval.t_s < load.measured_s);
    let series: Vec<&Interval> = series.collect();
    let together = series.len().div_ceil(MOST_COLUMNS).max(1);
    let column = |intervals: &[&Interval]| {
        let (first, last) = (intervals.first()?, intervals.last()?);
        let mut rows = BTreeMap::new();
        for interval in intervals {
            for (time, count) in interval.response_times()?.buckets() {
                *rows.entry(row(time)).or_default() += count;
            }
        }
        Some(Column { from_s: first.t_s, to_s: last.t_s + last.length_s, rows })
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
    fn length_s(&self) -> f64 {
        (self.to_s - self.from_s).max(1e-3)
    }
}

/// The colours of the map: equal steps of the logarithm of the rate.
#[derive(Clone, Copy)]
struct Levels {
    least_per_s: f64,
    most_per_s: f64,
}

impl Levels {
    fn of(columns: &[Column]) -> Option<Levels> {
        let rates = || {
            let rates = |c: &Column| c.rows.values().map(|n| *n as f64 / c.length_s()).collect();
            columns.iter().flat_map(rates as fn(&Column) -> Vec<f64>)
        };
        Some(Levels {
            least_per_s: rates().reduce(f64::min)?,
            most_per_s: rates().reduce(f64::max)?,
        })
    }

    /// Returns the level of a rate, from 1.
    fn level(self, per_s: f64) -> usize {
        let of_all = (self.most_per_s / self.least_per_s).ln();
        match (per_s / self.least_per_s).ln() / of_all {
            share if share.is_finite() => {
                1 + ((share * HEAT_LEVELS as f64) as usize).min(HEAT_LEVELS - 1)
            }
            _ => HEAT_LEVELS,
        }
    }

    /// Returns the least rate of a level.
    fn from(self, level: usize) -> f64 {
        let share = (level - 1) as f64 / HEAT_LEVELS as f64;
        self.least_per_s * (self.most_per_s / self.least_per_s).powf(share)
    }

    fn keys(self) -> Vec<Key> {
        let key = |level| {
            let style =
                Style { series: level, colour: 1, dash: Dash::None, mark: Mark::Cell(level) };
            let from = tick_number((self.from(level) * 10.0).round() / 10.0);
            (
                style,
                if level == 1 { format!("from {from}/s in a cell") } else { format!("{from}/s") },
            )
        };
        (1..=HEAT_LEVELS).map(key).collect()
    }
}

fn draw(
    load: &Load,
    columns: &[Column],
    levels: Levels,
    (lowest, highest): (i32, i32),
    events: &[Event],
    summary: &str,
) -> Plot {
    let end = columns.last().map_or(0.0, |last| last.to_s).max(1e-3);
    let x =
        Axis { scale: Scale::Linear { from: 0.0, to: end }, label: "seconds", tick: tick_number };
    let scale = Scale::log_around([edge(lowest), edge(highest + 1)]);
    let y = Axis { scale, label: "response time", tick: tick_time };
    let mut plot = Plot::new(summary, 340.0, x, y);
    let mut cells: Vec<Vec<[(f64, f64); 2]>> = vec![Vec::new(); HEAT_LEVELS];
    for column in columns {
        for (row, requests) in &column.rows {
            let level = levels.level(*requests as f64 / column.length_s());
            let corners = [(column.from_s, edge(*row)), (column.to_s, edge(row + 1))];
            cells[level - 1].push(corners);
        }
    }
    (1..).zip(&cells).for_each(|(level, cells)| plot.cells(level, cells));
    events.iter().for_each(|event| plot.strip(event.from_s, event.to_s, &event.text));
    load.segments.iter().skip(1).for_each(|s| plot.rule_x(s.begin_s, Place::Head, ""));
    plot
}

fn summary(
    load: &Load,
    columns: &[Column],
    (lowest, highest): (i32, i32),
    events: &[Event],
) -> String {
    let requests: u64 = columns.iter().flat_map(|column| column.rows.values()).sum();
    let mut text = format!(
        "{} between {} and {}. A cell is {} wide and a quarter of an octave high; the stronger its \
         colour, the more requests ended in it, on a logarithmic scale.",
        count(requests as usize, "response"),
        time(edge(lowest) as u64),
        time(edge(highest + 1) as u64),
        Nanos::from_secs_f64(columns[0].length_s()),
    );
    if !events.is_empty() {
        text += &format!(" {} marked above the map.", count(events.len(), "event"));
    }
    if 1 < load.segments.len() {
        text += " Dotted lines divide the segments of the load.";
    }
    text
}

/// The responses of each column by octave.
fn table(columns: &[Column], (lowest, highest): (i32, i32), plot: &Plot) -> Table {
    let octave = |row: i32| row.div_euclid(PER_OCTAVE as i32);
    let (first, last) = (octave(lowest), octave(highest));
    let together = (last - first) / MOST_OCTAVES + 1;
    let starts: Vec<i32> = (first..=last).step_by(together as usize).collect();
    let names = starts.iter().map(|octave| format!("from {}", time(1 << octave)));
    let mut table = Table::new(
        "The number of responses that ended in each column of the map, by response time.",
        ["second".to_owned()].into_iter().chain(names),
    );
    for column in columns {
        let mut cells = vec![Cell::number(tick_number(column.from_s))];
        cells.extend(starts.iter().map(|start| {
            let here = *start..start + together;
            let rows = column.rows.iter().filter(|(row, _)| here.contains(&octave(**row)));
            Cell::number(integer(rows.map(|(_, requests)| requests).sum()))
        }));
        let middle = (column.from_s + column.to_s) / 2.0;
        table.push(Row::new(cells).at(plot.x(middle)));
    }
    table
}

//! P99 response time against the completed rate: the price of throughput for its users. Beyond the
//! knee, more load costs time and completes no more.

use measure::quantity::grouped;
use measure::{Nanos, Quantile};
use results::at_load::Conclusion;
use results::journal::Observed;

use super::completed::{MOST_LABELS, above};
use super::multiples::{Multiples, Part, rules};
use super::{Figure, Key, Layout, Panel, Point, curve, points, thinning};
use crate::plot::{Anchor, Axis, Dash, Mark, NamePosition, Plot, Scale, Style};
use crate::run::Run;
use crate::run::levels::Quantity;
use crate::table::{Cell, Row, Table, trials};
use crate::text::{count, mark, name, rate, tick_number, tick_time, time};

const MET: Style = Style { series: 0, colour: 1, dash: Dash::Solid, mark: Mark::Disc };
const BEYOND: Style = Style { series: 4, colour: 1, dash: Dash::Dotted, mark: Mark::None };
const MISSED: Style = Style { series: 0, colour: 1, dash: Dash::None, mark: Mark::Ring };
const OPEN: Style = Style { series: 0, colour: 4, dash: Dash::None, mark: Mark::Diamond };
const MEDIAN: Style = Style { series: 1, colour: 3, dash: Dash::None, mark: Mark::Diamond };
const BOUNDS: Style = Style { series: 3, colour: 0, dash: Dash::None, mark: Mark::Band };
const INVALID: Style = Style { series: 2, colour: 2, dash: Dash::None, mark: Mark::Cross };

const ID: &str = "p99";
const TITLE: &str = "P99 response time against the completed rate";
const COLUMNS: [&str; 7] = ["trial", "completed /s", "offered /s", "p99", "95 % from", "to", "SLO"];

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    if run.has_several() {
        return of_levels(run);
    }
    let points: Vec<Point> =
        points(run).into_iter().filter(|point| point.observed.p99_ns.is_some()).collect();
    if points.is_empty() {
        return None;
    }
    let summary = format!("{}{}", summary(run, &points), thinning(run, points.len()));
    let times = times(points.iter(), run.limit);
    let rates = rates(points.iter());
    let plot = |scale: Scale| draw(run, &points, empty(&summary, rates, scale));
    let log = plot(Scale::log_around(times.iter().copied()));
    let linear = plot(Scale::from_zero(times.iter().copied()));
    let mut keys = keys(points.iter(), points.iter());
    if !above(run, &points).is_empty() {
        keys.push((BEYOND, "loads above the maximum, in ascending order".to_owned()));
    }
    keys.extend(bounds(run).map(|_| (BOUNDS, "between the bounds of the capacity".to_owned())));
    Some(Figure {
        id: ID.into(),
        title: TITLE.into(),
        table: table(&points, &log),
        summary,
        panels: vec![Panel {
            svg: log.svg(),
            linear: Some(linear.svg()),
            keys,
            ..Panel::default()
        }],
        keys: Vec::new(),
        layout: Layout::Column,
    })
}

/// One panel for each level: the results and the limit in it are those of its own searches.
fn of_levels(run: &Run) -> Option<Figure> {
    let multiples = Multiples::of(run, |observed| observed.p99_ns.is_some())?;
    let limits = multiples.parts().iter().filter_map(limit);
    let times = times(multiples.points(), limits);
    let rates = rates(multiples.points());
    let mut keys = keys(multiples.of_curves(), multiples.points());
    if !multiples.has_curves() {
        keys.retain(|(style, _)| style.series == INVALID.series);
    }
    keys.extend(multiples.fixed().iter().cloned());
    let log = Scale::log_around(times.iter().copied());
    let linear = Scale::from_zero(times.iter().copied());
    let draw = |part: &Part| (draw_part(part, rates, log), Some(draw_part(part, rates, linear)));
    let figure = multiples.figure(keys, draw, (&COLUMNS, cells), |o| o.completed_per_s);
    Some(Figure { id: ID.into(), title: TITLE.into(), ..figure })
}

/// Returns the limit of the p99 by which the trials of a panel were judged: those of its search, or
/// without one those of the fixed loads.
fn limit(part: &Part) -> Option<Nanos> {
    part.points().find_map(|point| point.trial.limit())
}

fn draw_part(part: &Part, rates: Scale, times: Scale) -> Plot {
    let maxima = rules(part.results(|s| s.maximum_throughput.as_ref().map(|m| m.rate_per_s)));
    let capacities = rules(part.results(|s| Quantity::Capacity.in_requests(s)));
    let limit = limit(part);
    let objective = limit.map(|limit| format!("SLO: p99 ≤ {limit}"));
    let results = [objective, part.found(Quantity::Capacity)];
    let mut plot = empty(&part.in_words(results.iter().flatten()), rates, times);
    if let Some(limit) = limit {
        draw_limit(&mut plot, limit);
    }
    plot.rules_x(&maxima, NamePosition::Head, "maximum throughput");
    plot.rules_x(&capacities, NamePosition::BelowHead, "capacity");
    for dots in &part.strands {
        draw_medians(&mut plot, &dots.points, None);
    }
    for dots in part.dots() {
        draw_trials(&mut plot, &dots.points, dots.style);
    }
    plot
}

/// A plot without trials.
fn empty(summary: &str, rates: Scale, times: Scale) -> Plot {
    let x = Axis { scale: rates, label: "completed per second", tick: tick_number };
    let y = Axis { scale: times, label: "p99 response time", tick: tick_time };
    Plot::new(summary, 340.0, x, y)
}

fn draw_limit(plot: &mut Plot, limit: Nanos) {
    plot.named_rule_y(limit.0 as f64, &format!("SLO: p99 ≤ {}", tick_time(limit.0 as f64)));
}

fn draw(run: &Run, points: &[Point], mut plot: Plot) -> Plot {
    if let Some((lower, upper)) = bounds(run) {
        plot.band(
            BOUNDS,
            lower,
            upper,
            &format!("the capacity: {} … {}", grouped(lower), rate(upper)),
        );
    }
    if let Some(limit) = run.limit {
        draw_limit(&mut plot, limit);
    }
    if let Some(maximum) = &run.maximum {
        let name = named("maximum throughput", maximum.at_least);
        plot.rule_x(maximum.rate_per_s, NamePosition::Head, &name);
    }
    if let Some(capacity) = &run.capacity {
        let name = named("capacity", capacity.at_least);
        if let Some(at) = run.capacity_in_requests(|o| o.completed_per_s) {
            plot.rule_x(at, NamePosition::BelowHead, &name);
        }
    }
    let maximum = run.maximum.as_ref().map(|maximum| maximum.offered_per_s);
    draw_medians(&mut plot, points, maximum);
    draw_trials(&mut plot, points, None);
    let numbers = above(run, points).into_iter().take(MOST_LABELS).filter_map(|point| {
        let at = (point.observed.completed_per_s, p99(point.observed)?);
        Some((at, point.trial.entry.trial))
    });
    plot.numbers(numbers, (7.0, -5.0), Anchor::Start);
    plot
}

fn named(name: &str, at_least: bool) -> String {
    if at_least { format!("{name} at least") } else { name.to_owned() }
}

/// The bounds of the capacity of the only search, if both are known.
fn bounds(run: &Run) -> Option<(f64, f64)> {
    let search = run.answer.as_ref()?.searches.first()?;
    // The axis is of requests.
    search.lower.zip(search.upper).filter(|_| !search.sessions)
}

/// Draws a line through the medians of the loads, in ascending load, in another look above the maximum; and where a load
/// has several trials its median.
fn draw_medians(plot: &mut Plot, points: &[Point], maximum: Option<f64>) {
    let medians = curve(points, |o| o.completed_per_s, p99);
    let loads = curve(points, |o| o.offered_per_s, p99);
    // Above the maximum less is completed of more load, and the line turns back.
    let is_above = |(offered, _): &(f64, f64)| maximum.is_some_and(|maximum| maximum < *offered);
    let above = loads.iter().position(is_above).unwrap_or(medians.len());
    plot.line(MET, &medians[..above]);
    plot.line(BEYOND, &medians[above.saturating_sub(1)..]);
    if has_repeated(points) {
        // Where a median is a trial, its mark would only cover that of the trial.
        let is_trial = |(x, y): (f64, f64)| {
            points.iter().any(|p| p.observed.completed_per_s == x && p99(p.observed) == Some(y))
        };
        let medians = medians.into_iter().filter(|median| !is_trial(*median));
        medians.for_each(|(x, y)| plot.mark(MEDIAN, x, y, ""));
    }
}

/// Returns true if a load has several valid trials.
fn has_repeated(points: &[Point]) -> bool {
    let valid = points.iter().filter(|point| point.trial.valid()).count();
    curve(points, |o| o.completed_per_s, p99).len() < valid
}

/// Draws trials, those of a fixed load in its own look.
fn draw_trials(plot: &mut Plot, points: &[Point], fixed: Option<Style>) {
    // Invalid trials are drawn last: they share their position with the attempt that replaced them.
    let (valid, not_valid): (Vec<&Point>, Vec<&Point>) =
        points.iter().partition(|p| p.trial.valid());
    for point in valid.into_iter().chain(not_valid) {
        draw_point(plot, point, fixed);
    }
}

fn draw_point(plot: &mut Plot, point: &Point, fixed: Option<Style>) {
    let o = point.observed;
    let Some(value) = p99(o) else { return };
    let style = match (point.trial.valid(), fixed, point.trial.conclusion) {
        (false, ..) => INVALID,
        (true, Some(fixed), _) => fixed,
        (true, None, Some(Conclusion::Missed)) => MISSED,
        (true, None, Some(Conclusion::Open)) => OPEN,
        (true, None, Some(Conclusion::Met) | None) => MET,
    };
    if let Some((low, high)) = point.trial.p99 {
        plot.bar(style, o.completed_per_s, low.0 as f64, high.0 as f64);
    }
    let number = point.trial.entry.trial;
    let title = format!(
        "trial {number}: p99 {} at {} completed of {} offered",
        time(value as u64),
        grouped(o.completed_per_s),
        rate(o.offered_per_s)
    );
    plot.mark(style, o.completed_per_s, value, &title);
}

/// All values on the x axis.
fn rates<'a, 'run: 'a>(points: impl Iterator<Item = &'a Point<'run>>) -> Scale {
    Scale::from_zero(points.map(|p| p.observed.completed_per_s))
}

/// All values on the y axis, with room above for the names of the lines.
fn times<'a, 'run: 'a>(
    points: impl Iterator<Item = &'a Point<'run>>,
    limits: impl IntoIterator<Item = Nanos>,
) -> Vec<f64> {
    let mut times: Vec<f64> = limits.into_iter().map(|Nanos(ns)| ns as f64).collect();
    for point in points {
        times.extend(p99(point.observed));
        times.extend(point.trial.p99.into_iter().flat_map(|(a, b)| [a.0 as f64, b.0 as f64]));
    }
    times.extend(times.iter().copied().reduce(f64::max).map(|most| most * 1.5));
    times
}

fn p99(observed: &Observed) -> Option<f64> {
    observed.p99_ns.map(|ns| ns as f64)
}

/// The legend of a search's trials, and of all trials in the plot.
fn keys<'a, 'run: 'a>(
    points: impl Iterator<Item = &'a Point<'run>>,
    mut all: impl Iterator<Item = &'a Point<'run>>,
) -> Vec<Key> {
    let points: Vec<Point> = points.copied().collect();
    let mut keys = vec![(MET, "trial, 95 % interval of its p99".to_owned())];
    let concluded = |what| {
        points.iter().any(|point| point.trial.valid() && point.trial.conclusion == Some(what))
    };
    if concluded(Conclusion::Missed) {
        keys.push((MISSED, name(Conclusion::Missed).to_owned()));
    }
    if concluded(Conclusion::Open) {
        keys.push((OPEN, name(Conclusion::Open).to_owned()));
    }
    if has_repeated(&points) {
        keys.push((MEDIAN, "median of a load".to_owned()));
    }
    if all.any(|p| !p.trial.valid()) {
        keys.push((INVALID, "not valid, or slowed: upper bounds".to_owned()));
    }
    keys
}

fn summary(run: &Run, points: &[Point]) -> String {
    let mut ends = points.iter().filter(|point| point.trial.valid());
    let (Some(first), last) = (ends.next(), ends.next_back()) else {
        return "No valid trial has a p99 yet.".to_owned();
    };
    let said = |point: &Point| {
        format!(
            "{} at {}",
            time(point.observed.p99_ns.unwrap_or(0)),
            rate(point.observed.completed_per_s)
        )
    };
    let mut text = format!("P99 is {}", said(first));
    if let Some(last) = last {
        text += &format!(" and {}", said(last));
    }
    text += " completed.";
    if let Some(limit) = run.limit {
        text += &match &run.capacity {
            Some(capacity) => {
                let load = capacity.load_in_words(capacity.rate_per_s);
                format!(" It stays within {limit} up to {load} offered.")
            }
            None if run.fixed => met(points, limit),
            None => format!(" No load met the SLO with its limit of {limit}."),
        };
    }
    text
}

/// Returns the number of trials of a given load that met the SLO, as a sentence.
fn met(points: &[Point], limit: Nanos) -> String {
    let valid = points.iter().filter(|point| point.trial.valid());
    let concluded: Vec<Conclusion> = valid.filter_map(|point| point.trial.conclusion).collect();
    let met = concluded.iter().filter(|one| **one == Conclusion::Met).count();
    format!(" {met} of {} met the SLO with its limit of {limit}.", count(concluded.len(), "trial"))
}

fn table(points: &[Point], plot: &Plot) -> Table {
    let mut table = Table::new("", COLUMNS);
    for point in points {
        table.push(Row::new(cells(point)).at(plot.x(point.observed.completed_per_s)));
    }
    table
}

fn cells(point: &Point) -> Vec<Cell> {
    let (o, trial) = (point.observed, point.trial);
    let slo = match (trial.valid(), trial.answers(), trial.conclusion) {
        (true, _, Some(conclusion)) => mark(conclusion).to_owned(),
        (false, true, Some(conclusion)) => format!("{}, slowed", mark(conclusion)),
        (true, _, None) => String::new(),
        (false, ..) => "not valid".to_owned(),
    };
    vec![
        Cell::number(trial.entry.trial.to_string()),
        Cell::number(grouped(o.completed_per_s)),
        Cell::number(grouped(o.offered_per_s)),
        trials::quantile(o.p99_ns, trial.samples(), Quantile::P99),
        Cell::maybe(trial.p99.map(|(low, _)| low.to_string())),
        Cell::maybe(trial.p99.map(|(_, high)| high.to_string())),
        Cell::words(slo),
    ]
}

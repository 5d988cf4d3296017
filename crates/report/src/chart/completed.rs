//! Completed against offered rate: shows where the system stops keeping up, and the loads above.

use measure::quantity::grouped;
use results::journal::Observed;

use super::multiples::{Multiples, Part, rules};
use super::{Figure, Key, Layout, Panel, Point, curve, points, thinning};
use crate::plot::{Anchor, Axis, Dash, Mark, NamePosition, Plot, Scale, Style};
use crate::run::Run;
use crate::run::levels::Quantity;
use crate::table::{Cell, Row, Table};
use crate::text::{self, count, rate, share, tick_number};

const COMPLETED: Style = Style { series: 0, colour: 1, dash: Dash::Solid, mark: Mark::Disc };
const IDEAL: Style = Style { series: 1, colour: 0, dash: Dash::Dotted, mark: Mark::None };
const INVALID: Style = Style { series: 2, colour: 2, dash: Dash::None, mark: Mark::Cross };

/// The most loads above the maximum that are numbered.
pub(super) const MOST_LABELS: usize = 12;

const ID: &str = "completed";
const TITLE: &str = "Completed against offered rate";
const COLUMNS: [&str; 7] =
    ["trial", "offered /s", "completed /s", "share", "goodput /s", "failures", ""];

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    if run.has_several() {
        return of_levels(run);
    }
    let points = points(run);
    if points.is_empty() {
        return None;
    }
    let summary = format!("{}{}", summary(run, &points), thinning(run, points.len()));
    let plot = draw(run, &points, &summary);
    Some(Figure {
        id: ID.into(),
        title: TITLE.into(),
        summary,
        panels: vec![Panel { svg: plot.svg(), keys: keys(points.iter()), ..Panel::default() }],
        keys: Vec::new(),
        table: table(&points, &plot),
        layout: Layout::Column,
    })
}

/// One panel for each level: the results in it are those of its own searches.
fn of_levels(run: &Run) -> Option<Figure> {
    let multiples = Multiples::of(run, |_| true)?;
    let scale = scale(multiples.points());
    let mut keys = keys(multiples.points());
    if !multiples.has_curves() {
        keys.remove(0);
    }
    keys.extend(multiples.fixed().iter().cloned());
    let draw = |part: &Part| (draw_part(part, scale), None);
    let figure = multiples.figure(keys, draw, (&COLUMNS, cells), |o| o.offered_per_s);
    Some(Figure { id: ID.into(), title: TITLE.into(), ..figure })
}

fn draw_part(part: &Part, scale: Scale) -> Plot {
    let found = |quantity: Quantity| rules(part.results(|s| quantity.in_requests(s)));
    let [maxima, capacities] = Quantity::ALL.map(found);
    let [maximum, capacity] = Quantity::ALL.map(|quantity| part.found(quantity));
    let summary = part.in_words([&maximum, &capacity].into_iter().flatten());
    let mut plot = empty(&summary, part.points(), scale);
    plot.rules_x(&capacities, NamePosition::Foot, &capacity.unwrap_or_default());
    plot.rules_y(&maxima, &maximum.unwrap_or_default());
    for dots in &part.strands {
        plot.line(
            COMPLETED,
            &curve(&dots.points, |o| o.offered_per_s, |o| Some(o.completed_per_s)),
        );
    }
    for dots in part.dots() {
        draw_trials(&mut plot, &dots.points, dots.style.unwrap_or(COMPLETED));
    }
    plot
}

fn draw(run: &Run, points: &[Point], summary: &str) -> Plot {
    let mut plot = empty(summary, points.iter(), scale(points.iter()));
    if let Some(capacity) = &run.capacity {
        let name = format!("capacity {}", capacity.rate_in_words());
        if let Some(at) = run.capacity_in_requests(|o| o.offered_per_s) {
            plot.rule_x(at, NamePosition::Foot, &name);
        }
    }
    if let Some(maximum) = &run.maximum {
        let name = format!("maximum throughput {}", maximum.rate_in_words());
        plot.named_rule_y(maximum.rate_per_s, &name);
    }
    plot.line(COMPLETED, &curve(points, |o| o.offered_per_s, |o| Some(o.completed_per_s)));
    draw_trials(&mut plot, points, COMPLETED);
    let numbers = above(run, points).into_iter().take(MOST_LABELS).map(|point| {
        let at = (point.observed.offered_per_s, point.observed.completed_per_s);
        (at, point.trial.entry.trial)
    });
    plot.numbers(numbers, (0.0, 17.0), Anchor::Middle);
    plot
}

/// A plot of the line on which all that is offered is completed, up to the highest load.
fn empty<'a, 'run: 'a>(
    summary: &str,
    points: impl Iterator<Item = &'a Point<'run>>,
    scale: Scale,
) -> Plot {
    let axis = |label| Axis { scale, label, tick: tick_number };
    let mut plot =
        Plot::new(summary, 340.0, axis("offered per second"), axis("completed per second"));
    let most = points.map(|point| point.observed.offered_per_s).fold(0.0, f64::max);
    plot.line(IDEAL, &[(0.0, 0.0), (most, most)]);
    plot
}

fn draw_trials(plot: &mut Plot, points: &[Point], style: Style) {
    // Invalid trials are drawn last: they share their position with the attempt that replaced them.
    let (valid, not_valid): (Vec<&Point>, Vec<&Point>) =
        points.iter().partition(|point| point.trial.answers());
    for point in valid.into_iter().chain(not_valid) {
        let style = if point.trial.answers() { style } else { INVALID };
        let o = point.observed;
        plot.mark(style, o.offered_per_s, o.completed_per_s, &title(point));
    }
}

fn keys<'a, 'run: 'a>(mut points: impl Iterator<Item = &'a Point<'run>>) -> Vec<Key> {
    let mut keys = vec![(COMPLETED, "completed"), (IDEAL, "all that is offered")];
    if points.any(|point| !point.trial.answers()) {
        keys.push((INVALID, "not valid"));
    }
    keys.into_iter().map(|(style, name)| (style, name.to_owned())).collect()
}

/// The valid trials at loads above the maximum's, in ascending load.
pub(super) fn above<'a>(run: &Run, points: &[Point<'a>]) -> Vec<Point<'a>> {
    let Some(maximum) = &run.maximum else { return Vec::new() };
    let higher = |o: &Observed| maximum.offered_per_s < o.offered_per_s;
    points.iter().filter(|p| p.trial.answers() && higher(p.observed)).copied().collect()
}

fn summary(run: &Run, points: &[Point]) -> String {
    let Some(maximum) = &run.maximum else {
        let why = match points.iter().any(|point| point.trial.answers()) {
            true if run.fixed => "The load was given, so it shows no maximum.",
            true if points.iter().all(|point| point.observed.is_failing()) => {
                "Most requests failed, so no trial shows a maximum."
            }
            true => "The search was for the capacity, not for the maximum.",
            false => "No valid trial shows a maximum yet.",
        };
        return why.to_owned();
    };
    let above = above(run, points);
    let mut text = format!(
        "The highest completed rate was {} at {} offered (trial {}), {} of it.",
        rate(maximum.rate_per_s),
        rate(maximum.offered_per_s),
        maximum.trial,
        share(maximum.rate_per_s, maximum.offered_per_s),
    );
    let completed = || above.iter().map(|point| point.observed.completed_per_s);
    if let (Some(least), Some(most)) = (completed().reduce(f64::min), completed().reduce(f64::max))
    {
        text += &format!(
            " {} above it, with the numbers of their trials, completed {} to {}.",
            count(above.len(), "load"),
            grouped(least),
            rate(most),
        );
    }
    text
}

fn scale<'a, 'run: 'a>(points: impl Iterator<Item = &'a Point<'run>>) -> Scale {
    Scale::from_zero(points.flat_map(|p| [p.observed.offered_per_s, p.observed.completed_per_s]))
}

fn title(point: &Point) -> String {
    let o = point.observed;
    format!(
        "trial {}: {} of {}",
        point.trial.entry.trial,
        grouped(o.completed_per_s),
        rate(o.offered_per_s)
    )
}

fn table(points: &[Point], plot: &Plot) -> Table {
    let mut table = Table::new("", COLUMNS);
    for point in points {
        table.push(Row::new(cells(point)).at(plot.x(point.observed.offered_per_s)));
    }
    table
}

fn cells(point: &Point) -> Vec<Cell> {
    let o = point.observed;
    vec![
        Cell::number(point.trial.entry.trial.to_string()),
        Cell::number(grouped(o.offered_per_s)),
        Cell::number(grouped(o.completed_per_s)),
        Cell::number(share(o.completed_per_s, o.offered_per_s)),
        Cell::number(grouped(o.goodput_per_s)),
        Cell::number(text::integer(o.failures)),
        Cell::words(if point.trial.answers() { "" } else { "not valid" }),
    ]
}

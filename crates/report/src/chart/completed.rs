//! Completed against offered rate: shows where the system stops keeping up, and the loads above.

use measure::quantity::grouped;
use results::journal::Observed;

use super::{Figure, Layout, Panel, Point, curve, points, thinning};
use crate::plot::{Anchor, Axis, Dash, Mark, Place, Plot, Scale, Style};
use crate::run::Run;
use crate::table::{Cell, Row, Table};
use crate::text::{self, count, rate, share, tick_number};

const COMPLETED: Style = Style { series: 0, colour: 1, dash: Dash::Solid, mark: Mark::Disc };
const IDEAL: Style = Style { series: 1, colour: 0, dash: Dash::Dotted, mark: Mark::None };
const INVALID: Style = Style { series: 2, colour: 2, dash: Dash::None, mark: Mark::Cross };

/// The most loads above the maximum that are numbered.
const MOST_LABELS: usize = 12;

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let points = points(run);
    if points.is_empty() {
        return None;
    }
    let summary = format!("{}{}", summary(run, &points), thinning(run, points.len()));
    let plot = draw(run, &points, &summary);
    Some(Figure {
        id: "completed".into(),
        title: "Completed against offered rate".into(),
        summary,
        panels: vec![Panel { svg: plot.svg(), linear: None, keys: keys(&points) }],
        table: table(&points, &plot),
        layout: Layout::Column,
    })
}

fn draw(run: &Run, points: &[Point], summary: &str) -> Plot {
    let (x, y) = (axis(points, "offered per second"), axis(points, "completed per second"));
    let mut plot = Plot::new(summary, 340.0, x, y);
    let most = points.iter().map(|point| point.observed.offered_per_s).fold(0.0, f64::max);
    plot.line(IDEAL, &[(0.0, 0.0), (most, most)]);
    if let Some(capacity) = &run.capacity {
        let name = format!("capacity {}", rate(capacity.rate_per_s));
        plot.rule_x(capacity.rate_per_s, Place::Foot, &name);
    }
    if let Some(maximum) = &run.maximum {
        let name = format!("maximum throughput {}", rate(maximum.rate_per_s));
        plot.named_rule_y(maximum.rate_per_s, &name);
    }
    plot.line(COMPLETED, &curve(points, |o| o.offered_per_s, |o| Some(o.completed_per_s)));
    // Invalid trials are drawn last: they share their position with the attempt that replaced them.
    let (valid, not_valid): (Vec<&Point>, Vec<&Point>) =
        points.iter().partition(|point| point.trial.answers());
    for point in valid.into_iter().chain(not_valid) {
        let style = if point.trial.answers() { COMPLETED } else { INVALID };
        let o = point.observed;
        plot.mark(style, o.offered_per_s, o.completed_per_s, &title(point));
    }
    for (number, point) in (1..).zip(above(run, points).iter().take(MOST_LABELS)) {
        let at = (point.observed.offered_per_s, point.observed.completed_per_s);
        plot.label(at, (0.0, 17.0), Anchor::Middle, &number.to_string());
    }
    plot
}

fn keys(points: &[Point]) -> Vec<(Style, String)> {
    let mut keys = vec![(COMPLETED, "completed"), (IDEAL, "all that is offered")];
    if points.iter().any(|point| !point.trial.answers()) {
        keys.push((INVALID, "not valid"));
    }
    keys.into_iter().map(|(style, name)| (style, name.to_owned())).collect()
}

/// The valid trials at loads above the maximum's, in ascending load.
fn above<'a>(run: &Run, points: &[Point<'a>]) -> Vec<Point<'a>> {
    let Some(maximum) = &run.maximum else { return Vec::new() };
    let higher = |o: &Observed| maximum.offered_per_s < o.offered_per_s;
    points.iter().filter(|p| p.trial.answers() && higher(p.observed)).copied().collect()
}

fn summary(run: &Run, points: &[Point]) -> String {
    let Some(maximum) = &run.maximum else {
        return "No valid trial shows a maximum yet.".to_owned();
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
            " {} above it, numbered in the plot, completed {} to {}.",
            count(above.len(), "load"),
            grouped(least),
            rate(most),
        );
    }
    text
}

fn axis(points: &[Point], label: &'static str) -> Axis {
    let rates = points.iter().flat_map(|p| [p.observed.offered_per_s, p.observed.completed_per_s]);
    Axis { scale: Scale::from_zero(rates), label, tick: tick_number }
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
    let columns = ["trial", "offered /s", "completed /s", "share", "goodput /s", "failures", ""];
    let mut table = Table::new("", columns);
    for point in points {
        let o = point.observed;
        table.push(
            Row::new(vec![
                Cell::number(point.trial.entry.trial.to_string()),
                Cell::number(grouped(o.offered_per_s)),
                Cell::number(grouped(o.completed_per_s)),
                Cell::number(share(o.completed_per_s, o.offered_per_s)),
                Cell::number(grouped(o.goodput_per_s)),
                Cell::number(text::integer(o.failures)),
                Cell::words(if point.trial.answers() { "" } else { "not valid" }),
            ])
            .at(plot.x(o.offered_per_s)),
        );
    }
    table
}

//! P99 response time against the rate, offered and completed: the price of a load for its users.

use measure::quantity::grouped;
use measure::{Nanos, Quantile};
use results::journal::Observed;

use super::{Figure, Layout, Panel, Point, curve, points, thinning};
use crate::plot::{Axis, Dash, Mark, Place, Plot, Scale, Style};
use crate::run::Run;
use crate::table::{Cell, Row, Table, trials};
use crate::text::{rate, tick_number, tick_time, time};

const OFFERED: Style = Style { series: 0, colour: 1, dash: Dash::Solid, mark: Mark::Disc };
const MISSED: Style = Style { series: 0, colour: 1, dash: Dash::None, mark: Mark::Ring };
const COMPLETED: Style = Style { series: 1, colour: 3, dash: Dash::Dashed, mark: Mark::Diamond };
const INVALID: Style = Style { series: 2, colour: 2, dash: Dash::None, mark: Mark::Cross };

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let points: Vec<Point> =
        points(run).into_iter().filter(|point| point.observed.p99_ns.is_some()).collect();
    if points.is_empty() {
        return None;
    }
    let summary = format!("{}{}", summary(run, &points), thinning(run, points.len()));
    let plot =
        |scale: fn(&[f64]) -> Scale| draw(run, &points, &summary, scale(&times(run, &points)));
    let log = plot(|times| Scale::log_around(times.iter().copied()));
    let linear = plot(|times| Scale::from_zero(times.iter().copied()));
    Some(Figure {
        id: "p99".into(),
        title: "P99 response time against the rate".into(),
        table: table(&points, &log),
        summary,
        panels: vec![Panel { svg: log.svg(), linear: Some(linear.svg()), keys: keys(&points) }],
        layout: Layout::Column,
    })
}

fn draw(run: &Run, points: &[Point], summary: &str, scale: Scale) -> Plot {
    let rates = points.iter().map(|p| p.observed.offered_per_s.max(p.observed.completed_per_s));
    let x = Axis { scale: Scale::from_zero(rates), label: "per second", tick: tick_number };
    let y = Axis { scale, label: "p99 response time", tick: tick_time };
    let mut plot = Plot::new(summary, 340.0, x, y);
    if let Some(limit) = run.limit {
        plot.named_rule_y(limit.0 as f64, &format!("SLO: p99 ≤ {}", tick_time(limit.0 as f64)));
    }
    if let Some(maximum) = &run.maximum {
        plot.rule_x(maximum.offered_per_s, Place::Head, "maximum throughput");
    }
    if let Some(capacity) = &run.capacity {
        plot.rule_x(capacity.rate_per_s, Place::BelowHead, "capacity");
    }
    plot.line(COMPLETED, &curve(points, |o| o.completed_per_s, p99));
    plot.line(OFFERED, &curve(points, |o| o.offered_per_s, p99));
    // Invalid trials are drawn last: they share their position with the attempt that replaced them.
    let (valid, not_valid): (Vec<&Point>, Vec<&Point>) =
        points.iter().partition(|p| p.trial.valid());
    for point in valid.into_iter().chain(not_valid) {
        draw_point(&mut plot, point);
    }
    plot
}

fn draw_point(plot: &mut Plot, point: &Point) {
    let o = point.observed;
    let Some(value) = p99(o) else { return };
    let style = match (point.trial.valid(), o.slo_met) {
        (false, _) => INVALID,
        (true, Some(false)) => MISSED,
        (true, _) => OFFERED,
    };
    if let Some((low, high)) = point.trial.p99 {
        plot.bar(style, o.offered_per_s, low.0 as f64, high.0 as f64);
    }
    if point.trial.valid() {
        plot.mark(COMPLETED, o.completed_per_s, value, "");
    }
    let number = point.trial.entry.trial;
    let title = format!("trial {number}: p99 {} at {}", time(value as u64), rate(o.offered_per_s));
    plot.mark(style, o.offered_per_s, value, &title);
}

/// All values on the y axis, with room above for the names of the lines.
fn times(run: &Run, points: &[Point]) -> Vec<f64> {
    let values = points.iter().filter_map(|point| p99(point.observed));
    let ends =
        points.iter().filter_map(|point| point.trial.p99).flat_map(|(low, high)| [low, high]);
    let mut times: Vec<f64> =
        values.chain(ends.chain(run.limit).map(|Nanos(ns)| ns as f64)).collect();
    times.extend(times.iter().copied().reduce(f64::max).map(|most| most * 1.5));
    times
}

fn p99(observed: &Observed) -> Option<f64> {
    observed.p99_ns.map(|ns| ns as f64)
}

fn keys(points: &[Point]) -> Vec<(Style, String)> {
    let any = |of: &dyn Fn(&Point) -> bool| points.iter().any(of);
    let mut keys = vec![(OFFERED, "against offered, 95 % interval".to_owned())];
    if any(&|p| p.trial.valid() && p.observed.slo_met == Some(false)) {
        keys.push((MISSED, "SLO missed".to_owned()));
    }
    keys.push((COMPLETED, "against completed".to_owned()));
    if any(&|p| !p.trial.valid()) {
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
            rate(point.observed.offered_per_s)
        )
    };
    let mut text = format!("P99 is {}", said(first));
    if let Some(last) = last {
        text += &format!(" and {}", said(last));
    }
    text += " offered.";
    if let Some(limit) = run.limit {
        text += &match &run.capacity {
            Some(capacity) => {
                format!(" It stays within {limit} up to {}.", rate(capacity.rate_per_s))
            }
            None => format!(" No load met the SLO with its limit of {limit}."),
        };
    }
    text
}

fn table(points: &[Point], plot: &Plot) -> Table {
    let columns = ["trial", "offered /s", "completed /s", "p99", "95 % from", "to", "SLO"];
    let mut table = Table::new("", columns);
    for point in points {
        let (o, trial) = (point.observed, point.trial);
        let slo = match (trial.valid(), o.slo_met) {
            (false, _) => "not valid",
            (true, Some(true)) => "✓ met",
            (true, Some(false)) => "✗ missed",
            (true, None) => "",
        };
        table.push(
            Row::new(vec![
                Cell::number(trial.entry.trial.to_string()),
                Cell::number(grouped(o.offered_per_s)),
                Cell::number(grouped(o.completed_per_s)),
                trials::quantile(o.p99_ns, trial.samples(), Quantile::P99),
                Cell::maybe(trial.p99.map(|(low, _)| low.to_string())),
                Cell::maybe(trial.p99.map(|(_, high)| high.to_string())),
                Cell::words(slo),
            ])
            .at(plot.x(o.offered_per_s)),
        );
    }
    table
}

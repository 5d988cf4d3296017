//! The growth of a throughput over the number of units: every value, the ideal line, and the fitted law
//! with its band where the trials show one; below it the efficiency and the throughput per CPU-second.

use measure::quantity::grouped;
use results::Found;
use results::scaling::{Form, Level, Scaling};

use super::{Figure, Key, Layout, Panel};
use crate::plot::{Axis, Dash, Mark, Plot, Scale, Style};
use crate::run::Run;
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{count, integer, tick_number};

const VALUES: Style = Style { series: 0, colour: 1, dash: Dash::None, mark: Mark::Disc };
const IDEAL: Style = Style { series: 1, colour: 0, dash: Dash::Dashed, mark: Mark::None };
const FITTED: Style = Style { series: 2, colour: 3, dash: Dash::Solid, mark: Mark::None };
const EFFICIENCY: Style = Style { series: 3, colour: 2, dash: Dash::Dotted, mark: Mark::Diamond };
const PER_CPU: Style = Style { series: 4, colour: 5, dash: Dash::Solid, mark: Mark::Square };

/// The most figures of one run: one for each search at each level of the other factors.
const MOST_FIGURES: usize = 8;

/// The most values of a level that have a dot.
const MOST_DOTS: usize = 100;

pub(crate) fn figures(run: &Run) -> Vec<Figure> {
    let all = run.answer.iter().flat_map(|answer| &answer.scaling);
    (1..).zip(all.take(MOST_FIGURES)).map(|(number, scaling)| figure(number, scaling)).collect()
}

fn figure(number: usize, scaling: &Scaling) -> Figure {
    let Scaling { factor, cell, search, quantity, .. } = scaling;
    let of = [cell.as_deref(), search.as_deref()].into_iter().flatten();
    let of: String = of.map(|part| format!(" · {part}")).collect();
    let summary = summary(scaling);
    let throughput = throughput(scaling, &summary);
    let mut panels = vec![Panel { svg: throughput.svg(), ..Panel::default() }];
    let efficiency = |level: &Level| Some((level.efficiency?, level.efficiency_interval));
    let per_cpu = |level: &Level| Some((level.per_cpu_second?, None));
    let ratio = "throughput per unit over that of the first level";
    let lower = [
        below(scaling, EFFICIENCY, ratio, Some(1.0), efficiency),
        below(scaling, PER_CPU, "completed per CPU-second", None, per_cpu),
    ];
    let lower = lower.into_iter().flatten();
    panels.extend(lower.map(|plot| Panel { svg: plot.svg(), ..Panel::default() }));
    Figure {
        id: format!("scaling-{number}"),
        title: format!("{} over {factor}{of}", capitalised(&quantity.name().replace('_', " "))),
        table: table(scaling, &throughput),
        panels,
        keys: keys(scaling),
        summary,
        layout: Layout::Wide,
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The axis of the numbers of units.
fn units(levels: &[Level]) -> Axis {
    let scale = Scale::from_zero(levels.iter().map(|level| level.n));
    Axis { scale, label: "units", tick: tick_number }
}

fn throughput(scaling: &Scaling, summary: &str) -> Plot {
    let Scaling { levels, law, .. } = scaling;
    let ends = levels.iter().flat_map(|level| [level.mean, level.interval.map(|(_, high)| high)]);
    let values = levels.iter().flat_map(|level| level.values.iter().copied());
    let ideal = ideal(levels);
    let of_ideal = ideal.last().map(|(_, per_s)| *per_s);
    let all = ends.flatten().chain(values).chain(of_ideal);
    let y = Axis { scale: Scale::from_zero(all), label: "per second", tick: tick_number };
    let mut plot = Plot::new(summary, 340.0, units(levels), y);
    let band: Vec<(f64, f64, f64)> =
        law.curve.iter().map(|point| (point.n, point.interval.0, point.interval.1)).collect();
    plot.area(FITTED, &band);
    plot.line(IDEAL, &ideal);
    let curve: Vec<(f64, f64)> = law.curve.iter().map(|point| (point.n, point.per_s)).collect();
    plot.line(FITTED, &curve);
    for level in levels {
        if let Some((low, high)) = level.interval {
            plot.bar(VALUES, level.n, low, high);
        }
        for value in level.values.iter().take(MOST_DOTS) {
            let title = format!("{} at {}: {}/s", scaling.quantity, level.n, grouped(*value));
            plot.mark(VALUES, level.n, *value, &title);
        }
    }
    plot
}

/// Returns the line of a throughput that grows as the first level promises.
fn ideal(levels: &[Level]) -> Vec<(f64, f64)> {
    let first = levels.iter().find_map(|level| Some(level.mean? / level.n));
    let last = levels.last().map_or(0.0, |level| level.n);
    first.map_or(Vec::new(), |of_one| vec![(0.0, 0.0), (last, of_one * last)])
}

/// Draws a figure of each level with its interval; `None` if no level has it.
fn below(
    scaling: &Scaling,
    style: Style,
    label: &'static str,
    rule: Option<f64>,
    of: impl Fn(&Level) -> Option<(f64, Option<(f64, f64)>)>,
) -> Option<Plot> {
    let known: Vec<_> =
        scaling.levels.iter().filter_map(|level| Some((level.n, of(level)?))).collect();
    known.first()?;
    let ends = known
        .iter()
        .flat_map(|(_, (value, interval))| [Some(*value), interval.map(|(_, high)| high), rule]);
    let y = Axis { scale: Scale::from_zero(ends.flatten()), label, tick: tick_number };
    let mut plot = Plot::new(label, 190.0, units(&scaling.levels), y);
    rule.into_iter().for_each(|value| plot.rule_y(value));
    let line: Vec<(f64, f64)> = known.iter().map(|(n, (value, _))| (*n, *value)).collect();
    plot.line(style, &line);
    for (n, (value, interval)) in known {
        if let Some((low, high)) = interval {
            plot.bar(style, n, low, high);
        }
        plot.mark(style, n, value, &format!("{value:.2} at {n}"));
    }
    Some(plot)
}

fn keys(scaling: &Scaling) -> Vec<Key> {
    let levels = &scaling.levels;
    let keys = [
        (true, VALUES, "each search or trial, 95 % interval of a level"),
        (true, IDEAL, "as much for each unit as at the first level"),
        (!scaling.law.curve.is_empty(), FITTED, "fitted law, 95 % interval"),
        (levels.iter().any(|level| level.efficiency.is_some()), EFFICIENCY, "efficiency"),
        (levels.iter().any(|level| level.per_cpu_second.is_some()), PER_CPU, "per CPU-second"),
    ];
    let known = keys.into_iter().filter(|(is_known, ..)| *is_known);
    known.map(|(_, style, name)| (style, name.to_owned())).collect()
}

fn summary(scaling: &Scaling) -> String {
    let law = &scaling.law;
    let mut text = match law.form {
        Form::NotIdentifiable => format!("! No scaling law is identifiable: {}.", law.why),
        form => format!("{}: {}.", capitalised(form.word()), law.why),
    };
    if let Some(peak) = law.n_max {
        let (low, high) = peak.interval;
        text += &format!(" The highest throughput is at {:.1} ({low:.1} … {high:.1}).", peak.value);
    }
    let last = scaling.levels.iter().rev().find_map(|level| Some((level.n, level.efficiency?)));
    if let Some((n, efficiency)) = last {
        text += &format!(" At {n} the efficiency is {efficiency:.2}.");
    }
    text
}

fn table(scaling: &Scaling, plot: &Plot) -> Table {
    let law = &scaling.law;
    let parameter = |name: &str, known: Option<results::scaling::Estimate>| {
        known.map(|known| {
            let (low, high) = known.interval;
            format!("{name} {:.4} ({low:.4} … {high:.4})", known.value)
        })
    };
    let parameters =
        [parameter("λ", law.lambda), parameter("σ", law.sigma), parameter("κ", law.kappa)];
    let mut caption = parameters.into_iter().flatten().collect::<Vec<_>>().join("; ");
    if MOST_ROWS < scaling.levels.len() {
        let all = count(scaling.levels.len(), "level");
        caption += &format!(" The first {MOST_ROWS} of {all}; answer.json has all.");
    }
    let columns = ["units", "values", "mean /s", "95 % from", "to"];
    let after = ["efficiency", "from", "to", "per CPU-second", "failures"];
    let mut table = Table::new(&caption, columns.into_iter().chain(after));
    let rate = |value: Option<f64>| Cell::maybe(value.map(grouped));
    let ratio = |value: Option<f64>| Cell::maybe(value.map(|value| format!("{value:.2}")));
    for level in scaling.levels.iter().take(MOST_ROWS) {
        let (low, high) = level.interval.unzip();
        let (from, to) = level.efficiency_interval.unzip();
        let mean = level.mean.map(Found::Exact).or(level.bound());
        let cells = vec![
            Cell::number(level.n.to_string()),
            Cell::number(integer((level.values.len() + level.censored.len()) as u64)),
            Cell::maybe(mean.map(|mean| mean.in_words(grouped))),
            rate(low),
            rate(high),
            ratio(level.efficiency),
            ratio(from),
            ratio(to),
            Cell::maybe(level.per_cpu_second.map(|value| format!("{value:.1}"))),
            Cell::maybe(level.failed_share.map(|share| format!("{:.1} %", 100.0 * share))),
        ];
        table.push(Row::new(cells).at(plot.x(level.n)));
    }
    table
}

//! The relative standard deviation of equal trials and of equal searches, with its interval: few trials
//! leave it wide open. The floor is what chance alone does to a percentile of so many requests.

use results::analysis::Outlier;
use results::metric::Metric;
use results::reproducibility::{OfMetric, Reproduced, Verdict};

use super::labels::{self, Labels};
use super::{Figure, Key, Layout, Panel};
use crate::plot::{Axis, Dash, Mark, Plot, Scale, Style, distinct};
use crate::run::Run;
use crate::run::levels::spaced;
use crate::table::{Cell, MOST_ROWS, Row, Table};
use crate::text::{count, integer, tick_number};

/// The metrics that are drawn; the table has all.
const DRAWN: [Metric; 5] =
    [Metric::Completed, Metric::P50, Metric::P99, Metric::Capacity, Metric::MaximumThroughput];
/// Those of events whose delivery was noted.
const DRAWN_OF_DELIVERY: [Metric; 4] =
    [Metric::DeliveryP50, Metric::DeliveryP99, Metric::DeliveryP999, Metric::DeliveryP9999];

const FLOOR: Style = Style { series: 20, colour: 0, dash: Dash::Dashed, mark: Mark::None };

/// The most loads that are drawn.
const MOST_GROUPS: usize = 40;

/// The part of a place's width that its metrics share.
const WIDTH: f64 = 0.7;

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    let all = &run.answer.as_ref()?.reproducibility;
    let groups: Vec<&Reproduced> =
        spaced(all.len(), MOST_GROUPS).into_iter().map(|index| &all[index]).collect();
    let drawn = if run.of_delivery { &DRAWN_OF_DELIVERY[..] } else { &DRAWN };
    let metrics: Vec<Metric> =
        drawn.iter().copied().filter(|metric| is_measured(&groups, *metric)).collect();
    metrics.first()?;
    let names: Vec<String> = groups.iter().map(|group| named(group)).collect();
    let labels = Labels::of(names.iter().map(String::as_str));
    let summary = summary(all.len(), &groups, labels);
    let plot = draw(&groups, &metrics, &names, labels, &summary);
    Some(Figure {
        id: "spread".into(),
        title: "Relative standard deviation of equal trials".into(),
        table: table(&groups, &names, labels, &plot),
        panels: vec![Panel { svg: plot.svg(), keys: keys(&groups, &metrics), ..Panel::default() }],
        keys: Vec::new(),
        summary,
        layout: Layout::Whole,
    })
}

fn named(group: &Reproduced) -> String {
    let label = group.label();
    let is_of_search = group.metrics.iter().any(|of| of.metric.is_of_search());
    match (label.is_empty(), is_of_search) {
        (true, true) => "searches".to_owned(),
        (true, false) => "all trials".to_owned(),
        (false, true) => format!("{label} · searches"),
        (false, false) => label,
    }
}

/// Returns a metric of a group; none that its trials do not support.
fn of(group: &Reproduced, metric: Metric) -> Option<&OfMetric> {
    group.metrics.iter().find(|of| of.metric == metric && of.needs.is_none())
}

fn is_measured(groups: &[&Reproduced], metric: Metric) -> bool {
    groups.iter().any(|group| of(group, metric).is_some_and(|of| of.figures.rsd.is_some()))
}

fn draw(
    groups: &[&Reproduced],
    metrics: &[Metric],
    names: &[String],
    labels: Labels,
    summary: &str,
) -> Plot {
    let each = || groups.iter().flat_map(|group| &group.metrics);
    let drawn = || each().filter(|of| metrics.contains(&of.metric));
    let values = drawn().flat_map(|of| {
        let (low, high) = of.figures.rsd_interval.unzip();
        [of.figures.rsd, of.figures.sampling_floor, low, high, of.target.map(|target| target.rsd)]
    });
    let percents: Vec<f64> = values.flatten().map(|share| 100.0 * share).collect();
    let x = Axis { scale: Scale::Places { count: groups.len() }, label: "", tick: tick_number };
    let y = Axis {
        scale: Scale::log_around(percents),
        label: "relative standard deviation, %",
        tick: tick_number,
    };
    let mut plot = Plot::new(summary, 340.0, x, y);
    labels::write(&mut plot, labels, names);
    if let Some(target) = drawn().find_map(|of| of.target.map(|target| (of.metric, target.rsd))) {
        let (metric, rsd) = target;
        plot.named_rule_y(100.0 * rsd, &format!("target of {metric}: {}", percent(rsd)));
    }
    for (number, metric) in metrics.iter().enumerate() {
        let style = look_of(number);
        for (index, group) in groups.iter().enumerate() {
            let Some((figures, rsd)) =
                of(group, *metric).and_then(|of| Some((&of.figures, of.figures.rsd?)))
            else {
                continue;
            };
            let x = place(index, number, metrics.len());
            if let Some(floor) = figures.sampling_floor {
                let (half, floor) = (0.35 * WIDTH / metrics.len() as f64, 100.0 * floor);
                plot.line(FLOOR, &[(x - half, floor), (x + half, floor)]);
            }
            if let Some((low, high)) = figures.rsd_interval {
                plot.bar(style, x, 100.0 * low, 100.0 * high);
            }
            let title = format!("{}: RSD of {metric} {}", names[index], percent(rsd));
            plot.mark(style, x, 100.0 * rsd, &title);
        }
    }
    plot
}

fn look_of(number: usize) -> Style {
    Style { dash: Dash::None, ..distinct(number, number) }
}

fn place(group: usize, metric: usize, metrics: usize) -> f64 {
    group as f64 + WIDTH * ((metric as f64 + 0.5) / metrics as f64 - 0.5)
}

fn keys(groups: &[&Reproduced], metrics: &[Metric]) -> Vec<Key> {
    let name = |(number, metric): (usize, &Metric)| {
        let interval = if number == 0 { ", 95 % interval" } else { "" };
        (look_of(number), format!("{}{interval}", metric.name().replace('_', " ")))
    };
    let mut keys: Vec<Key> = metrics.iter().enumerate().map(name).collect();
    let has_floor = |group: &&Reproduced| {
        metrics.iter().any(|m| of(group, *m).is_some_and(|of| of.figures.sampling_floor.is_some()))
    };
    if groups.iter().any(has_floor) {
        keys.push((FLOOR, "by chance alone, with so many requests".to_owned()));
    }
    keys
}

fn summary(all: usize, groups: &[&Reproduced], labels: Labels) -> String {
    let mut text =
        "The standard deviation of equal trials, or of equal searches, over their mean. \
                    The fewer there are, the longer its interval."
            .to_owned();
    if labels == Labels::Numbers {
        text += " The loads are numbered; the table names them.";
    }
    if groups.len() < all {
        text += &format!(" {} of {} are shown.", groups.len(), count(all, "load"));
    }
    for warning in groups.iter().flat_map(|group| &group.warnings).take(MOST_WARNINGS) {
        text += &format!(" ! {}.", warning.text);
    }
    text
}

/// The most warnings in the summary.
const MOST_WARNINGS: usize = 3;

fn table(groups: &[&Reproduced], names: &[String], labels: Labels, plot: &Plot) -> Table {
    let rows = groups.iter().map(|group| group.metrics.len()).sum::<usize>();
    let caption = match rows <= MOST_ROWS {
        true => String::new(),
        false => format!("The first {MOST_ROWS} of {}; answer.json has all.", count(rows, "row")),
    };
    let columns = [
        "load",
        "metric",
        "trials",
        "mean",
        "RSD",
        "95 % from",
        "to",
        "floor",
        "Shamos",
        "trend p",
        "slope per trial",
        "outliers",
        "target",
    ];
    let mut table = Table::new(&caption, columns);
    let each = groups.iter().enumerate();
    let each = each.flat_map(|(index, group)| group.metrics.iter().map(move |of| (index, of)));
    for (index, of) in each.take(MOST_ROWS) {
        let figures = &of.figures;
        if let Some(needs) = of.needs {
            let cells = [
                Cell::words(labels.in_table(index, &names[index])),
                Cell::words(of.metric.name().replace('_', " ")),
                Cell::number(integer(figures.n as u64)),
                Cell::number("–").weak(Some(needs.in_words())),
            ];
            let rest = std::iter::repeat_with(|| Cell::number("–"));
            let cells = cells.into_iter().chain(rest).take(columns.len()).collect();
            table.push(Row::new(cells).at(plot.x(index as f64)));
            continue;
        }
        let outliers: Vec<String> = figures.outliers.iter().map(Outlier::in_words).collect();
        let (low, high) = figures.rsd_interval.unzip();
        let target = of.target.map(|target| {
            let symbol = match target.verdict {
                Verdict::Met => "✓",
                Verdict::Missed => "✗",
                Verdict::Undecided => "?",
            };
            format!("{symbol} {} of {}", target.verdict.word(), percent(target.rsd))
        });
        let share = |share: Option<f64>| Cell::maybe(share.map(percent));
        let cells = vec![
            Cell::words(labels.in_table(index, &names[index])),
            Cell::words(of.metric.name().replace('_', " ")),
            Cell::number(integer(figures.n as u64)),
            Cell::number(of.metric.written(figures.mean)),
            share(figures.rsd),
            share(low),
            share(high),
            share(figures.sampling_floor),
            share(figures.spread_shamos),
            Cell::maybe(figures.trend.map(|trend| format!("{:.3}", trend.p))),
            Cell::maybe(figures.slope_in_words()),
            Cell::words(outliers.join("; ")),
            Cell::words(target.unwrap_or_default()),
        ];
        table.push(Row::new(cells).at(plot.x(index as f64)));
    }
    table
}

/// `1.17 %`
fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

//! Response time by percentile, on an axis of nines: the whole distribution, tail first.

use std::collections::BTreeSet;

use measure::estimate::{FEWEST_BEYOND, beyond};
use measure::{Histogram, Nanos, Quantile};
use results::Times;

use super::{Figure, Key, Layout, Panel};
use crate::plot::{Anchor, Axis, Dash, Mark, Plot, Scale, Style, distinct, percent};
use crate::run::{Run, Trial};
use crate::table::{Cell, Row, Table, trials};
use crate::text::{capitalised, count, integer, list, rate, tick_time, time};

const LEVELS: [Quantile; 8] = [
    Quantile::P50,
    Quantile::P75,
    Quantile::P90,
    Quantile::P95,
    Quantile::P99,
    Quantile::P999,
    Quantile::P9999,
    Quantile::P99999,
];

/// The height of a plot, and of one of several.
const HEIGHT: f64 = 380.0;
const HEIGHT_OF_MANY: f64 = 240.0;

/// The most panels that are drawn.
const MOST_PANELS: usize = 24;

/// The number of levels at which a band is drawn.
const BAND_POINTS: usize = 80;

/// The mark where the SLO limits the curves; it is in no legend, so it cannot be hidden.
const SLO: Style = Style { series: 99, colour: 0, dash: Dash::None, mark: Mark::Ring };

/// The bands of all curves together.
const BANDS: Style = Style { series: 98, colour: 0, dash: Dash::None, mark: Mark::Area };

/// Colours and marks of the chosen trials, at most four.
const LOOKS: [(usize, Mark); 4] =
    [(3, Mark::Diamond), (5, Mark::Square), (1, Mark::Disc), (2, Mark::Ring)];

/// The levels that are marked on the curves: those with ticks on the axis.
const MARKED: [Quantile; 4] = [Quantile::P50, Quantile::P90, Quantile::P99, Quantile::P999];

/// Levels with their values.
type Points = Vec<(f64, f64)>;

/// One drawn distribution.
pub(crate) struct Curve<'a> {
    pub(crate) style: Style,
    pub(crate) name: String,
    pub(crate) histogram: &'a Histogram,
    /// The distributions of all equal trials, this one too; empty if there is no other.
    equal: Vec<&'a Histogram>,
}

impl<'a> Curve<'a> {
    /// Creates a curve; `None` if nothing was measured, or if the file does not contain a
    /// histogram.
    pub(crate) fn of(times: Option<&'a Times>, style: Style, name: String) -> Option<Curve<'a>> {
        let histogram = times.and_then(Times::histogram).filter(|histogram| !histogram.is_empty());
        histogram.map(|histogram| Curve { style, name, histogram, equal: Vec::new() })
    }

    /// Adds the times of the trials that are equal to the one that is drawn.
    fn among_equal(self, run: &'a Run, trial: &'a Trial) -> Curve<'a> {
        let equal = run.equal(trial).filter_map(|equal| equal.times()?.histogram());
        let equal: Vec<&Histogram> = equal.filter(|histogram| !histogram.is_empty()).collect();
        Curve { equal: if equal.len() < 2 { Vec::new() } else { equal }, ..self }
    }

    /// Returns the least and the most of all equal trials at a level; `None` without a second one, and
    /// beyond the samples of the shortest.
    fn band(&self, level: Quantile) -> Option<(Nanos, Nanos)> {
        let fewest = self.equal.iter().map(|histogram| histogram.count()).min()?;
        let is_reached = 1.0 <= fewest as f64 * (1.0 - level.level()) * (1.0 + 1e-9);
        let values = || self.equal.iter().filter_map(|histogram| histogram.quantile(level));
        Some((values().min()?, values().max()?)).filter(|_| is_reached)
    }
}

pub(crate) fn figure(run: &Run) -> Option<Figure> {
    if run.has_several() {
        return of_levels(run);
    }
    let curves = curves(run);
    let summary = summary(&curves);
    figure_of(label(run), curves, run.limit.filter(|_| !run.of_delivery), summary)
}

/// The name of the times that the run is about. An SLO is one of response times.
fn label(run: &Run) -> &'static str {
    if run.of_delivery { OF_DELIVERY } else { "response time" }
}

const OF_DELIVERY: &str = "delivery time";

/// The times of the trials that show the levels.
fn of_levels(run: &Run) -> Option<Figure> {
    let curves = (0..).zip(run.shown()).filter_map(|(i, (name, trial))| {
        let offered = trial.entry.observed.as_ref().map_or(0.0, |o| o.offered_per_s);
        let name = format!("{name}, {} (trial {})", rate(offered), trial.entry.trial);
        let curve = Curve::of(trial.times(), distinct(i, i), name)?;
        Some(curve.among_equal(run, trial))
    });
    let curves: Vec<Curve<'_>> = curves.collect();
    // Each level may have an objective of its own.
    let limits: BTreeSet<Option<Nanos>> =
        run.shown().into_iter().map(|(_, trial)| trial.limit()).collect();
    let limit = limits.first().copied().flatten();
    let limit = limit.filter(|_| limits.len() == 1 && !run.of_delivery);
    let said = |curve: &Curve<'_>| {
        let quantile = |level| Some(time(curve.histogram.quantile(level)?.0));
        let (p50, p99) = (quantile(Quantile::P50)?, quantile(Quantile::P99)?);
        Some(format!("{p50} and {p99} at {}", curve.name))
    };
    let said: Vec<String> = curves.iter().filter_map(said).collect();
    let mut summary = format!("P50 and p99 are {}.", said.join("; "));
    if curves.len() < run.cells.len() {
        summary += &format!(" {} of {} are shown.", curves.len(), count(run.cells.len(), "level"));
    }
    figure_of(label(run), curves, limit, summary)
}

/// The curves in one plot, with the label of its y axis and the limit of their p99; `None` without
/// any curve.
pub(crate) fn figure_of(
    label: &'static str,
    curves: Vec<Curve<'_>>,
    limit: Option<Nanos>,
    summary: String,
) -> Option<Figure> {
    curves.first()?;
    let summary = format!("{summary} Dotted grey: fewer than {FEWEST_BEYOND} samples lie beyond.");
    let samples = most_samples(&curves);
    let draw = |y: Scale| {
        let plot = empty(label, (samples, HEIGHT), &summary, y);
        drawn(plot, &curves, limit)
    };
    let log = draw(Scale::log_around(extremes(limit, &curves)));
    let linear = draw(Scale::from_zero(extremes(limit, &curves)));
    let mut keys: Vec<Key> = curves.iter().map(|curve| (curve.style, curve.name.clone())).collect();
    if curves.iter().any(|curve| !curve.equal.is_empty()) {
        let name = "from the least to the most of all valid trials at the load of a curve";
        keys.push((BANDS, name.to_owned()));
    }
    Some(Figure {
        id: "percentiles".into(),
        title: format!("{} by percentile", capitalised(label)),
        table: table(&curves, &log),
        summary,
        panels: vec![Panel {
            svg: log.svg(),
            linear: Some(linear.svg()),
            keys,
            ..Panel::default()
        }],
        keys: Vec::new(),
        layout: Layout::Whole,
    })
}

/// The curves as small multiples with the same axes, one in each panel, such as one for each label of a
/// load; `None` unless there are several. The table has only the drawn ones.
pub(crate) fn multiples_of(label: &'static str, curves: &[Curve<'_>]) -> Option<Figure> {
    curves.get(1)?;
    let shown = &curves[..curves.len().min(MOST_PANELS)];
    let samples = most_samples(shown);
    let plots = |curve: &Curve<'_>| {
        let plot = |y: Scale| {
            let plot = empty(label, (samples, HEIGHT_OF_MANY), &curve.name, y);
            drawn(plot, std::slice::from_ref(curve), None)
        };
        let all = || extremes(None, shown);
        (plot(Scale::log_around(all())), plot(Scale::from_zero(all())))
    };
    let plots: Vec<(Plot, Plot)> = shown.iter().map(plots).collect();
    let mut table = Table::new("", ["label", "percentile", label]);
    for (panel, (curve, (plot, _))) in shown.iter().zip(&plots).enumerate() {
        for level in LEVELS {
            let value = curve.histogram.quantile(level).map(|ns| ns.0);
            let cells = vec![
                Cell::words(curve.name.as_str()),
                Cell::number(format!("p{}", percent(level.level()))),
                trials::quantile(value, curve.histogram.count(), level),
            ];
            table.push(Row::new(cells).at(plot.x(level.level())).in_panel(panel));
        }
    }
    let said = |curve: &Curve<'_>| {
        let p99 = curve.histogram.quantile(Quantile::P99)?;
        Some(format!("{} of {}", time(p99.0), curve.name))
    };
    let said: Vec<String> = shown.iter().filter_map(said).collect();
    let mut summary = format!("P99 is {}. All panels have the same axes.", list(&said));
    if shown.len() < curves.len() {
        summary += &format!(" {} of {} are shown.", shown.len(), count(curves.len(), "label"));
    }
    let panel = |(curve, (log, linear)): (&Curve<'_>, (Plot, Plot))| Panel {
        title: curve.name.clone(),
        svg: log.svg(),
        linear: Some(linear.svg()),
        keys: Vec::new(),
    };
    Some(Figure {
        id: "labels".into(),
        title: format!("{} by label", capitalised(label)),
        summary,
        panels: shown.iter().zip(plots).map(panel).collect(),
        keys: Vec::new(),
        table,
        layout: Layout::Many,
    })
}

/// The times of each chosen trial, and at the maximum the service times, too.
fn curves(run: &Run) -> Vec<Curve<'_>> {
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for (i, (role, trial)) in run.chosen().into_iter().enumerate() {
        let (colour, mark) = LOOKS[i.min(LOOKS.len() - 1)];
        let offered = trial.entry.observed.as_ref().map_or(0.0, |o| o.offered_per_s);
        let name = format!("{role}, {} (trial {})", rate(offered), trial.entry.trial);
        let style = Style { series: curves.len(), colour, dash: Dash::Solid, mark };
        let curve = Curve::of(trial.times(), style, name);
        curves.extend(curve.map(|curve| curve.among_equal(run, trial)));
        if run.is_maximum(trial) {
            let service = trial.load.as_ref().and_then(|load| load.total.service_time.as_ref());
            let name = format!("service time of trial {}", trial.entry.trial);
            let style =
                Style { series: curves.len(), colour, dash: Dash::Dashed, mark: Mark::None };
            curves.extend(Curve::of(service, style, name));
        }
    }
    curves
}

fn most_samples(curves: &[Curve<'_>]) -> u64 {
    curves.iter().map(|curve| curve.histogram.count()).max().unwrap_or_default()
}

/// A plot without curves, whose axis of nines has room for this many samples.
fn empty(label: &'static str, (samples, height): (u64, f64), summary: &str, y: Scale) -> Plot {
    let scale = Scale::Nines { samples: samples as f64 };
    let of_events = label == OF_DELIVERY;
    let of = if of_events { "percentile of events, %" } else { "percentile of requests, %" };
    let x = Axis { scale, label: of, tick: percent };
    let y = Axis { scale: y, label, tick: tick_time };
    Plot::new(summary, height, x, y)
}

fn drawn(mut plot: Plot, curves: &[Curve<'_>], limit: Option<Nanos>) -> Plot {
    if let Some(limit) = limit {
        let at = (Quantile::P99.level(), limit.0 as f64);
        plot.rule_y(at.1);
        plot.mark(SLO, at.0, at.1, "");
        plot.label(at, (7.0, -6.0), Anchor::Start, &format!("SLO: p99 ≤ {}", tick_time(at.1)));
    }
    for curve in curves {
        plot.area_among(curve.style, BANDS, &band(curve));
    }
    for curve in curves {
        let (sound, weak) = shape(curve.histogram);
        plot.line(curve.style, &sound);
        plot.line(Style { colour: 0, dash: Dash::Dotted, ..curve.style }, &weak);
        let count = curve.histogram.count();
        for level in MARKED.into_iter().filter(|level| FEWEST_BEYOND <= beyond(count, *level)) {
            let value = curve.histogram.quantile(level).expect("a drawn histogram is not empty");
            plot.mark(curve.style, level.level(), value.0 as f64, "");
        }
    }
    plot
}

/// The least and the most of equal trials at equal distances on the axis of nines.
fn band(curve: &Curve<'_>) -> Vec<(f64, f64, f64)> {
    let fewest = curve.equal.iter().map(|histogram| histogram.count()).min().unwrap_or_default();
    let levels = (0..=BAND_POINTS).map(|i| {
        let nines = (fewest.max(1) as f64).log10() * i as f64 / BAND_POINTS as f64;
        1.0 - 10f64.powf(-nines)
    });
    let at = |level: f64| {
        let (least, most) = curve.band(Quantile::new(level)?)?;
        Some((level, least.0 as f64, most.0 as f64))
    };
    levels.filter_map(at).collect()
}

/// The part of the curve with at least ten samples beyond it, and the rest, which begins at its
/// end.
pub(crate) fn shape(histogram: &Histogram) -> (Points, Points) {
    let count = histogram.count();
    let (mut sound, mut weak) = (Points::new(), Points::new());
    let mut below = 0;
    for (value, n) in histogram.buckets() {
        // A bucket's value applies to all levels from the samples below it to its own last one.
        let level = (below + n / 2) as f64 / count as f64;
        below += n;
        let part = if FEWEST_BEYOND <= count - below { &mut sound } else { &mut weak };
        part.push((level, value.0 as f64));
    }
    if let Some(last) = sound.last() {
        weak.insert(0, *last);
    }
    if let Some(max) = histogram.max() {
        weak.push((1.0 - 1.0 / count as f64, max.0 as f64));
    }
    (sound, weak)
}

fn extremes(limit: Option<Nanos>, curves: &[Curve<'_>]) -> Vec<f64> {
    let all = curves.iter().flat_map(|curve| curve.equal.iter().copied().chain([curve.histogram]));
    let ends = all.flat_map(|histogram| [histogram.min(), histogram.max()]).flatten();
    ends.chain(limit).map(|ns| ns.0 as f64).collect()
}

fn summary(curves: &[Curve<'_>]) -> String {
    let medians: Vec<String> = curves
        .iter()
        .filter(|curve| curve.style.dash == Dash::Solid)
        .filter_map(|curve| {
            let quantile = |level| Some(time(curve.histogram.quantile(level)?.0));
            let (name, _) = curve.name.split_once(',')?;
            Some(format!(
                "{} and {} at the {name}",
                quantile(Quantile::P50)?,
                quantile(Quantile::P99)?
            ))
        })
        .collect();
    format!("P50 and p99 are {}.", list(&medians))
}

fn table(curves: &[Curve<'_>], plot: &Plot) -> Table {
    let columns =
        ["percentile".to_owned()].into_iter().chain(curves.iter().map(|curve| curve.name.clone()));
    let mut table = Table::new("", columns);
    for level in LEVELS {
        let mut cells = vec![Cell::number(format!("p{}", percent(level.level())))];
        cells.extend(curves.iter().map(|curve| {
            let value = curve.histogram.quantile(level).map(|ns| ns.0);
            let band = curve.band(level).map(|(least, most)| format!("{least} … {most}"));
            trials::quantile(value, curve.histogram.count(), level).detail(band)
        }));
        table.push(Row::new(cells).at(plot.x(level.level())));
    }
    let mut cells = vec![Cell::number("max")];
    cells.extend(
        curves.iter().map(|curve| Cell::maybe(curve.histogram.max().map(|ns| ns.to_string()))),
    );
    table.push(Row::new(cells));
    let mut cells = vec![Cell::number("samples")];
    cells.extend(curves.iter().map(|c| Cell::number(integer(c.histogram.count()))));
    table.push(Row::new(cells));
    table
}

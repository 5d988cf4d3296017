//! The curves of one load: times by percentile, and everything by the second.

use measure::{Nanos, Quantile};
use results::slo;
use results::{Load, Times};

use crate::chart::percentiles::{self, Curve};
use crate::chart::{Figure, heat, seconds};
use crate::plot::{Dash, Mark, Style, distinct};
use crate::text::{capitalised, time};

/// A kind of time in a load, with its look. Its name shows where the clock starts.
type Kind = (&'static str, fn(&Load) -> Option<&Times>, usize, Dash, Mark);

const KINDS: [Kind; 5] = [
    ("response time", |load| load.total.response_time.as_ref(), 1, Dash::Solid, Mark::Disc),
    ("service time", |load| load.total.service_time.as_ref(), 3, Dash::Dashed, Mark::Diamond),
    ("backlog delay", |load| load.total.backlog_delay.as_ref(), 4, Dash::Dotted, Mark::None),
    ("lateness", |load| load.total.lateness.as_ref(), 2, Dash::Mixed, Mark::Cross),
    (
        "delivery time",
        |load| load.events.as_ref()?.delivery_time.as_ref(),
        5,
        Dash::Solid,
        Mark::Square,
    ),
];

/// All figures for which there are data.
pub(super) fn all(load: &Load) -> Vec<Figure> {
    [by_percentile(load), by_label(load), heat::of_load(load, &[]), seconds::of_load(load)]
        .into_iter()
        .flatten()
        .collect()
}

fn by_percentile(load: &Load) -> Option<Figure> {
    let curve = |(series, (name, of, colour, dash, mark)): (usize, Kind)| {
        Curve::of(of(load), Style { series, colour, dash, mark }, name.to_owned())
    };
    // A delay that is always zero needs no line.
    let curves: Vec<Curve<'_>> = KINDS
        .into_iter()
        .enumerate()
        .filter_map(curve)
        .filter(|curve| curve.histogram.max().is_some_and(|max| Nanos::ZERO < max))
        .collect();
    let summary = summary(&curves);
    let figure = percentiles::figure_of("time", curves, limit(load), summary)?;
    Some(Figure { title: "Times by percentile".to_owned(), ..figure })
}

/// The response times of each label; `None` without several.
fn by_label(load: &Load) -> Option<Figure> {
    let curves = load.labels.iter().filter_map(|(name, group)| {
        Curve::of(group.response_time.as_ref(), distinct(0, 0), name.clone())
    });
    percentiles::multiples_of("response time", &curves.collect::<Vec<_>>())
}

fn summary(curves: &[Curve<'_>]) -> String {
    let said = |name: &str| {
        let curve = curves.iter().find(|curve| curve.name == name)?;
        let quantile = |level| Some(time(curve.histogram.quantile(level)?.0));
        let (p50, p99) = (quantile(Quantile::P50)?, quantile(Quantile::P99)?);
        Some(format!("{name} is {p50} at p50 and {p99} at p99"))
    };
    let said: Vec<String> =
        ["response time", "service time", "delivery time"].into_iter().filter_map(said).collect();
    let text = said.join("; ");
    if text.is_empty() { text } else { capitalised(&text) + "." }
}

/// Returns the limit of the p99, if the load has an objective on it.
fn limit(load: &Load) -> Option<Nanos> {
    let objectives = &load.slo.as_ref()?.objectives;
    slo::limit_of(objectives.iter().map(|judged| &judged.slo), Quantile::P99)
}

//! The bias of the capacity that is estimated from all trials of a search, and the coverage and the width
//! of its interval: under the noise that machines were measured to have, and where flags of slowed trials
//! mean something or nothing.

use measure::capacity;
use measure::estimate::{mean, moments};

use super::searches::{Estimated, INTERVAL, Shape, System, quantile_of};
use super::slowed::{Machine, Rule, Slowing, adaptive_from_below};
use super::{Extent, Figure, Goal, Rate, each};

/// The standard deviations of the capacity from trial to trial that were measured, and the widest interval
/// at each.
const NOISES: [(f64, Option<f64>); 4] =
    [(0.005, Some(3.0)), (0.03, Some(8.0)), (0.06, None), (0.11, None)];
/// The shares of the trials that are called slowed.
const SHARES: [f64; 4] = [0.1, 0.3, 0.5, 0.8];
/// The most by which the mean of the estimates may differ from the capacity, in percent, and the least
/// share of the intervals that contain it.
const MOST_BIAS: f64 = 1.5;
const LEAST_COVERAGE: f64 = 0.93;

/// One row of the table.
pub(super) struct Row {
    pub(super) figures: Vec<Figure>,
    pub(super) coverage: Rate,
}

pub(super) fn rows(extent: Extent) -> Vec<Row> {
    let mut rows = Vec::new();
    for (noise, widest) in NOISES {
        let undisturbed = Machine { slowing: Slowing::Harmless, share: 0.0, rule: Rule::Evidence };
        let of_shape = |shape| row(shape, noise, widest, undisturbed, extent);
        rows.extend(Shape::ALL.map(of_shape));
        for slowing in Slowing::ALL {
            let machine = |share| Machine { slowing, share, rule: Rule::Evidence };
            rows.extend(SHARES.map(|share| row(Shape::Queue, noise, None, machine(share), extent)));
        }
    }
    rows
}

fn row(shape: Shape, noise: f64, widest: Option<f64>, machine: Machine, extent: Extent) -> Row {
    let found = each(extent.first, extent.estimates, |random| {
        let system = System::draw(shape, noise, random);
        let found = adaptive_from_below(&system, machine, random);
        let estimate = capacity::estimate(&found.trials, INTERVAL);
        (found.error, Estimated::of(estimate, system.capacity))
    });
    let n = found.len() as f64;
    let of_bound: Vec<f64> = found.iter().map(|(error, _)| 100.0 * error).collect();
    let estimates: Vec<Estimated> = found.iter().filter_map(|(_, estimated)| *estimated).collect();
    let errors: Vec<f64> = estimates.iter().map(|one| 100.0 * one.error).collect();
    let (_, sd) = moments(&errors).unwrap_or_default();
    let slowed = match machine.share {
        0.0 => "none slowed".to_owned(),
        share => format!("{:.0} % {}", 100.0 * share, machine.slowing.name()),
    };
    let of = format!("estimate, {}, noise {:.1} %, {slowed}", shape.name(), 100.0 * noise);
    let line = |what: &str, value: f64, must: Option<f64>| {
        Figure::of(format!("{of}: {what}"), value, must.map_or(Goal::None, Goal::most))
    };
    // Figures far from the limit, or that hardly follow the load, leave the noise to the verdicts.
    let widest = widest.filter(|_| !matches!(shape, Shape::Cliff | Shape::Plateau));
    let width = match estimates.is_empty() {
        true => f64::NAN,
        false => quantile_of(&estimates, 0.5, |one| 100.0 * one.width),
    };
    let figures = vec![
        line("mean error of the lower bound in %", mean(&of_bound), None),
        line("mean error in %", mean(&errors), None),
        // Three standard errors are chance.
        line("bias in %", (mean(&errors).abs() - 3.0 * sd / n.sqrt()).max(0.0), Some(MOST_BIAS)),
        line("SD in %", sd, None),
        line(
            "width of the interval in %, median",
            width,
            widest.map(|most| most * (1.0 + 1.0 / n.sqrt())),
        ),
    ];
    let contain = (extent.first..).zip(&found);
    let missed = contain.filter(|(_, (_, one))| !one.is_some_and(|one| one.contains));
    let seeds: Vec<u64> = missed.map(|(seed, _)| seed).collect();
    let coverage = Rate {
        what: format!("{of}: intervals that contain the capacity"),
        share: 1.0 - seeds.len() as f64 / n,
        replications: extent.estimates,
        goal: Goal::at_least(LEAST_COVERAGE, INTERVAL),
        seeds: seeds.into_iter().take(super::SHOWN_SEEDS).collect(),
    };
    Row { figures, coverage }
}

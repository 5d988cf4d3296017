//! The bias of the capacity that is estimated from all trials of a search, and the coverage and the width
//! of its interval: under the noise that machines were measured to have, and where flags of slowed trials
//! mean something or nothing.

use measure::capacity;
use measure::estimate::{mean, moments};

use super::searches::{Estimated, INTERVAL, Shape, System, quantile_of};
use super::slowed::{Machine, Rule, Slowing, adaptive_from_below};
use super::{Extent, Figure, Goal, Rate, each};

/// The standard deviations of the capacity from trial to trial that were measured, and the widest intervals at
/// each.
const NOISES: [(f64, Widest); 4] = [
    (0.005, Widest { asked: 3.0, fewer: 4.5, verdicts: 14.0 }),
    (0.03, Widest { asked: 8.0, fewer: 12.0, verdicts: 17.0 }),
    (0.06, Widest { asked: 18.0, fewer: 18.0, verdicts: 18.0 }),
    (0.11, Widest { asked: 22.0, fewer: 22.0, verdicts: 22.0 }),
];
/// The shares of the trials that are called slowed.
const SHARES: [f64; 4] = [0.1, 0.3, 0.5, 0.8];
/// The most by which the mean of the estimates may differ from the capacity, in percent.
pub(super) const MOST_BIAS: f64 = 1.5;
/// The same of the lower bounds, which are what a search prints first: the loads that were tried and met the
/// SLO. Where trials differ much, chance chooses the luckiest of them; the book says by how much.
const MOST_BIAS_OF_BOUND: f64 = 2.0;
/// The least share of the intervals that contain the capacity.
pub(super) const LEAST_COVERAGE: f64 = 0.93;

/// The most that the median width of the intervals may be, in percent.
#[derive(Clone, Copy, Debug)]
struct Widest {
    /// Of trials whose figures follow the load.
    asked: f64,
    /// On a plateau, whose figures hardly follow it, and where the figures of slowed trials are lost or are
    /// only bounds.
    fewer: f64,
    /// On a cliff, where no figure comes near the limit: the verdicts alone cannot tell a noise of 1 % from
    /// one of 5 %.
    verdicts: f64,
}

impl Widest {
    fn of(self, case: &Case) -> f64 {
        match case.shape {
            Shape::Cliff => self.verdicts,
            Shape::Plateau => self.fewer,
            _ if 0.0 < case.machine.share => self.fewer,
            _ => self.asked,
        }
    }
}

/// The conditions of a row.
#[derive(Clone, Copy, Debug)]
struct Case {
    shape: Shape,
    noise: f64,
    machine: Machine,
}

/// One row of the table.
pub(super) struct Row {
    pub(super) figures: Vec<Figure>,
    pub(super) coverage: Rate,
}

pub(super) fn rows(extent: Extent) -> Vec<Row> {
    let mut rows = Vec::new();
    for (noise, widest) in NOISES {
        let machine = |slowing, share| Machine { slowing, share, rule: Rule::Evidence };
        let mut of =
            |shape, machine| rows.push(row(Case { shape, noise, machine }, widest, extent));
        for shape in Shape::ALL {
            of(shape, machine(Slowing::Harmless, 0.0));
        }
        for slowing in Slowing::ALL {
            SHARES.iter().for_each(|share| of(Shape::Queue, machine(slowing, *share)));
        }
    }
    rows
}

impl Case {
    /// Returns true for the conditions under which 84 % of the intervals contained the capacity when passes of
    /// slowed trials counted and their misses were repeated.
    fn is_hardest(&self) -> bool {
        let Machine { slowing, share, .. } = self.machine;
        self.noise == 0.11 && slowing == Slowing::Harmless && share == 0.5
    }

    fn name(&self) -> String {
        let slowed = match self.machine.share {
            0.0 => "none slowed".to_owned(),
            share => format!("{:.0} % {}", 100.0 * share, self.machine.slowing.name()),
        };
        format!("estimate, {}, noise {:.1} %, {slowed}", self.shape.name(), 100.0 * self.noise)
    }
}

fn row(case: Case, widest: Widest, extent: Extent) -> Row {
    let replications = if case.is_hardest() { extent.hardest } else { extent.estimates };
    let found = each(extent.first, replications, |random| {
        let system = System::draw(case.shape, case.noise, random);
        let found = adaptive_from_below(&system, case.machine, random);
        let estimate = capacity::estimate(&found.trials, INTERVAL);
        (found.error, Estimated::of(estimate, system.capacity))
    });
    let of_bound: Vec<f64> = found.iter().map(|(error, _)| 100.0 * error).collect();
    let estimates: Vec<Estimated> = found.iter().filter_map(|(_, estimated)| *estimated).collect();
    let errors: Vec<f64> = estimates.iter().map(|one| 100.0 * one.error).collect();
    let name = case.name();
    let line =
        |what: &str, value: f64, goal: Goal| Figure::of(format!("{name}: {what}"), value, goal);
    let width = |level: f64| match estimates.is_empty() {
        true => f64::NAN,
        false => quantile_of(&estimates, level, |one| 100.0 * one.width),
    };
    // The rank of a median differs by chance, by three standard deviations of the binomial distribution.
    let below = (0.5 - 1.5 / (estimates.len() as f64).sqrt()).max(0.0);
    let figures = vec![
        line("mean error of the lower bound in %", mean(&of_bound), Goal::None),
        line("bias of the lower bound in %", bias(&of_bound), Goal::most(MOST_BIAS_OF_BOUND)),
        line("mean error in %", mean(&errors), Goal::None),
        line("bias in %", bias(&errors), Goal::most(MOST_BIAS)),
        line("SD in %", moments(&errors).unwrap_or_default().1, Goal::None),
        line("width of the interval in %, median", width(0.5), Goal::None),
        line("width in %, median less chance", width(below), Goal::most(widest.of(&case))),
    ];
    let contain: Vec<bool> =
        found.iter().map(|(_, one)| one.is_some_and(|one| one.contains)).collect();
    Row { figures, coverage: coverage(&name, extent.first, &contain) }
}

/// Returns the part of a mean error that chance does not explain, without its sign: three standard errors are
/// chance.
pub(super) fn bias(errors: &[f64]) -> f64 {
    let (_, sd) = moments(errors).unwrap_or_default();
    (mean(errors).abs() - 3.0 * sd / (errors.len() as f64).sqrt()).max(0.0)
}

/// Returns the share of the searches whose interval contains the capacity; one without an estimate has none.
pub(super) fn coverage(name: &str, first: u64, contain: &[bool]) -> Rate {
    let what = format!("{name}: intervals that contain the capacity");
    Rate::of(what, first, Goal::at_least(LEAST_COVERAGE, INTERVAL), contain)
}

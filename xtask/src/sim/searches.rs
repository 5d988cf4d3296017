//! The errors of searches for a capacity, on systems whose capacity is known.

use measure::capacity::{self, Estimate};
use measure::estimate::{mean, moments};
use measure::search::{Bounds, Bracket, Search, Seen, Step, Strategy, next};
use measure::{Random, Rate};

use super::{Bounds as Limits, Extent, Figure, Goal, SHOWN_SEEDS, each};

/// The standard deviation of the logarithm of the capacity from trial to trial: on a machine of one's own,
/// and on a shared one, where the measured speed of the machine explains one half of the variance.
const CAPACITY_SD: f64 = 0.005;
const SHARED_SD: f64 = 0.05;
/// The standard deviation of the logarithm of the p99.
const LATENCY_SD: f64 = 0.05;
/// The share of the trials in which the machine stalls: they miss the SLO at any load.
const HICCUPS: f64 = 0.03;
/// The seconds of a trial with what is around it, and of one that is ended early since its p99 is more
/// than twice the limit.
const TRIAL_S: f64 = 60.0;
const ENDED_EARLY_S: f64 = 15.0;
/// The share by which the bounds of an answer may differ.
pub(super) const PRECISION: f64 = 0.02;
/// The probability with which an interval contains the capacity.
const INTERVAL: f64 = 0.95;
/// The range that is searched. The capacities are uniform in it on a logarithmic scale, but for its
/// edges: a search that ends there has no lower or no upper bound.
pub(super) const RANGE: (f64, f64) = (71_000.0, 100_000.0);

/// The p99 of a system, as a multiple of its limit, at a load that is a share of the capacity.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Shape {
    /// A queue at nine tenths of its saturation.
    Queue,
    /// Far below the limit up to the capacity, and far above it beyond.
    Cliff,
    /// An exponential rise.
    Soft,
    /// A power of the load. The method was not tuned with it.
    Power,
    /// Four fifths of the limit over a wide range, then a steep rise. The method was not tuned with it.
    Plateau,
}

impl Shape {
    const ALL: [Shape; 5] = [Shape::Queue, Shape::Cliff, Shape::Soft, Shape::Power, Shape::Plateau];

    pub(super) fn name(self) -> &'static str {
        match self {
            Shape::Queue => "queue",
            Shape::Cliff => "cliff",
            Shape::Soft => "exponential",
            Shape::Power => "power (not tuned)",
            Shape::Plateau => "plateau (not tuned)",
        }
    }

    /// Returns the p99 over its limit.
    fn p99(self, load: f64) -> f64 {
        match self {
            Shape::Queue if 1.0 / 0.9 <= load => 1e3,
            Shape::Queue => 0.1 / (1.0 - 0.9 * load),
            Shape::Cliff if load <= 1.0 => 0.2,
            Shape::Cliff => 10.0,
            Shape::Soft => (4.0 * (load - 1.0)).exp(),
            Shape::Power => load.powi(10),
            Shape::Plateau if load <= 0.99 => 0.8 * (0.5 + 0.5 * load),
            Shape::Plateau => 0.8 + 20.0 * (load - 0.99),
        }
    }
}

/// A system with a capacity.
pub(super) struct System {
    pub(super) shape: Shape,
    pub(super) capacity: f64,
    /// True if it runs on a machine that it shares.
    pub(super) is_shared: bool,
}

/// A trial as it was drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// The speed of the machine, as a multiple of the usual one.
    speed: f64,
    /// The load as a share of this trial's capacity.
    pub(super) of_capacity: f64,
    /// The p99 over its limit.
    pub(super) p99: f64,
    /// True if the machine stalls: the SLO is missed whatever the p99.
    pub(super) stalls: bool,
}

impl System {
    /// Returns true if a trial met the SLO, its length in seconds, and the speed of the machine.
    fn trial(&self, load: f64, random: &mut Random) -> (bool, f64, f64) {
        let Drawn { speed, p99, stalls, .. } = self.drawn(load, random);
        let seconds = if 2.0 < p99 { ENDED_EARLY_S } else { TRIAL_S };
        (p99 <= 1.0 && !stalls, seconds, speed)
    }

    pub(super) fn drawn(&self, load: f64, random: &mut Random) -> Drawn {
        let sd = if self.is_shared { SHARED_SD } else { CAPACITY_SD };
        let mut part = || (0.5f64.sqrt() * sd * random.normal()).exp();
        let (speed, unexplained) = (part(), part());
        let of_capacity = load / (self.capacity * speed * unexplained);
        let p99 = self.shape.p99(of_capacity) * (LATENCY_SD * random.normal()).exp();
        Drawn { speed, of_capacity, p99, stalls: random.unit() < HICCUPS }
    }
}

/// The end of a simulated search.
#[derive(Clone, Copy, Debug)]
struct Found {
    trials: f64,
    seconds: f64,
    /// The capacity found over the true one, less one; −1 without an answer.
    error: f64,
    /// The same of the estimates from all trials: without and with the speeds of the machine.
    estimates: [Option<Estimated>; 2],
}

/// An estimate beside the truth.
#[derive(Clone, Copy, Debug)]
struct Estimated {
    error: f64,
    /// True if the interval contains the true capacity.
    contains: bool,
}

impl Estimated {
    fn of(estimate: Option<Estimate>, capacity: f64) -> Option<Estimated> {
        let Estimate { per_s, interval: (low, high), .. } = estimate?;
        let contains = low <= capacity && capacity <= high;
        Some(Estimated { error: per_s / capacity - 1.0, contains })
    }
}

/// Simulates one search.
fn search(system: &System, search: &Search, random: &mut Random) -> Found {
    let (mut seen, mut speeds, mut seconds) = (Vec::new(), Vec::new(), 0.0);
    loop {
        match next(search, &seen) {
            Step::Try { load, .. } => {
                let (passed, took, speed) = system.trial(load.as_per_second(), random);
                seconds += took;
                seen.push(Seen { load, passed });
                speeds.push(speed);
            }
            Step::Found(Bracket { lower, .. }) => {
                let found = lower.map_or(0.0, Rate::as_per_second);
                let (trials, error) = (seen.len() as f64, found / system.capacity - 1.0);
                let estimates = match search.strategy {
                    Strategy::Adaptive { .. } => [
                        capacity::estimate(&seen, INTERVAL),
                        // On a machine of one's own it would explain next to nothing.
                        (system.is_shared)
                            .then(|| capacity::at_usual_speed(&seen, &speeds, INTERVAL))
                            .flatten(),
                    ],
                    Strategy::Bisect | Strategy::Mlr { .. } => [None, None],
                };
                let estimates = estimates.map(|found| Estimated::of(found, system.capacity));
                return Found { trials, seconds, error, estimates };
            }
        }
    }
}

/// Simulates a sweep in steps of 1,000/s, up to the first load that misses the SLO twice.
fn sweep(system: &System, random: &mut Random) -> Found {
    let (mut trials, mut seconds) = (0.0, 0.0);
    let mut best = 0.0;
    for load in (0..).map(|step| RANGE.0 + 1_000.0 * f64::from(step)) {
        let mut misses = 0;
        while misses < 2 {
            let (met, took, _) = system.trial(load, random);
            (trials, seconds) = (trials + 1.0, seconds + took);
            if met {
                break;
            }
            misses += 1;
        }
        if misses == 2 {
            break;
        }
        best = load;
    }
    Found { trials, seconds, error: best / system.capacity - 1.0, estimates: [None, None] }
}

pub(super) const INSIDE: f64 = 1.03;

/// A kind of search that is simulated.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    /// In the range of the capacities.
    Adaptive,
    /// From a seventh to a tenth of the capacity.
    AdaptiveUnknown,
    Bisect,
    Mlr,
    Sweep,
}

impl Kind {
    const ALL: [Kind; 5] =
        [Kind::Adaptive, Kind::AdaptiveUnknown, Kind::Bisect, Kind::Mlr, Kind::Sweep];

    fn name(self) -> &'static str {
        match self {
            Kind::Adaptive => "adaptive",
            Kind::AdaptiveUnknown => "adaptive from 10k/s",
            Kind::Bisect => "bisect",
            Kind::Mlr => "mlr",
            Kind::Sweep => "sweep in steps of 1k/s, confirmed once",
        }
    }

    fn run(self, system: &System, random: &mut Random) -> Found {
        let rate = |per_s| Rate::per_second(per_s).expect("loads are positive");
        let range = Bounds::Range(rate(RANGE.0), rate(RANGE.1));
        let adaptive = Strategy::Adaptive { confirm: 2 };
        let (bounds, strategy) = match self {
            Kind::Adaptive => (range, adaptive),
            Kind::AdaptiveUnknown => {
                (Bounds::Unknown { start: rate(10_000.0), factor: 2.0 }, adaptive)
            }
            Kind::Bisect => (range, Strategy::Bisect),
            Kind::Mlr => (range, Strategy::Mlr { first_to: 3 }),
            Kind::Sweep => return sweep(system, random),
        };
        search(system, &Search { bounds, strategy, precision: PRECISION }, random)
    }
}

pub(super) fn figures(extent: Extent) -> Vec<Figure> {
    let of_shapes = Shape::ALL.into_iter().flat_map(|shape| of_shape(shape, extent));
    of_shapes.chain(Shape::ALL.into_iter().flat_map(|shape| on_shared(shape, extent))).collect()
}

fn of_shape(shape: Shape, extent: Extent) -> Vec<Figure> {
    let found = |kind: Kind| simulated(kind, shape, false, extent);
    let sweeps = median_of(&found(Kind::Sweep), |found| found.seconds);
    Kind::ALL
        .into_iter()
        .flat_map(|kind| lines(shape, kind, extent.first, &found(kind), sweeps))
        .collect()
}

fn simulated(kind: Kind, shape: Shape, is_shared: bool, extent: Extent) -> Vec<Found> {
    each(extent.first, extent.searches, |random| {
        let (low, high) = (RANGE.0 * INSIDE, RANGE.1 / INSIDE);
        let capacity = low * (high / low).powf(random.unit());
        kind.run(&System { shape, capacity, is_shared }, random)
    })
}

/// Returns the figures of adaptive searches on a shared machine.
fn on_shared(shape: Shape, extent: Extent) -> Vec<Figure> {
    let found = simulated(Kind::AdaptiveUnknown, shape, true, extent);
    let line = |what: &str, value: f64| Figure {
        what: format!("search, {}, shared machine: {what}", shape.name()),
        value,
        goal: Goal::None,
        seeds: Vec::new(),
    };
    let logs: Vec<f64> = found.iter().map(|found| 100.0 * found.error.max(-0.9).ln_1p()).collect();
    let mut lines = vec![
        line("trials, median", median_of(&found, |found| found.trials)),
        line("SD of repeated searches in %", moments(&logs).map_or(0.0, |(_, sd)| sd)),
    ];
    for (index, name) in ESTIMATES.iter().enumerate() {
        let line = |what: &str, value: f64| line(&format!("{name}: {what}"), value);
        lines.extend(of_estimate(&found, index, line));
    }
    lines
}

/// The estimates, as the lines name them.
const ESTIMATES: [&str; 2] = ["estimate", "estimate at the usual speed"];

/// Returns the figures of an estimate from all trials. Its interval must hold on every machine.
fn of_estimate(found: &[Found], index: usize, line: impl Fn(&str, f64) -> Figure) -> [Figure; 3] {
    let all: Vec<Estimated> = found.iter().filter_map(|found| found.estimates[index]).collect();
    let mut errors: Vec<f64> = all.iter().map(|one| 100.0 * one.error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let p90 = errors.get(errors.len().saturating_sub(1) * 9 / 10).copied().unwrap_or(f64::NAN);
    let logs: Vec<f64> = all.iter().map(|one| 100.0 * one.error.ln_1p()).collect();
    // A search without an estimate has no interval either.
    let contained = all.iter().filter(|one| one.contains).count() as f64 / found.len() as f64;
    [
        line("error in %, p90", p90),
        line("SD in %", moments(&logs).map_or(0.0, |(_, sd)| sd)),
        Figure {
            goal: Goal::at_least(100.0 * INTERVAL, 100.0 * INTERVAL),
            ..line("intervals that contain the capacity, %", 100.0 * contained)
        },
    ]
}

fn lines(shape: Shape, kind: Kind, first: u64, found: &[Found], sweep_s: f64) -> Vec<Figure> {
    let is_adaptive = matches!(kind, Kind::Adaptive | Kind::AdaptiveUnknown);
    let goal = |holds: bool, most: f64| match is_adaptive && holds {
        true => Goal::AtMost(Limits { must: most, stretch: None }),
        false => Goal::None,
    };
    let tuned = matches!(shape, Shape::Queue | Shape::Cliff);
    let is_soft = shape == Shape::Soft;
    let errors: Vec<f64> = found.iter().map(|found| 100.0 * found.error.abs()).collect();
    let off: Vec<u64> =
        (first..).zip(&errors).filter(|(_, error)| 3.0 < **error).map(|(seed, _)| seed).collect();
    let off_percent = 100.0 * off.len() as f64 / found.len() as f64;
    // A search without an answer is off by 100 %, which has no logarithm.
    let logs = found.iter().map(|found| 100.0 * found.error.ln_1p());
    let logs: Vec<f64> = logs.filter(|log| log.is_finite()).collect();
    let line = |what: &str, value: f64, goal: Goal| Figure {
        what: format!("search, {}, {}: {what}", shape.name(), kind.name()),
        value,
        goal,
        seeds: Vec::new(),
    };
    let trials = if kind == Kind::Adaptive { 15.0 } else { 25.0 };
    let time = if shape == Shape::Cliff { 45.0 } else { 75.0 };
    let of_estimates = |what: &str, value| line(&format!("estimate: {what}"), value, Goal::None);
    let of_all = is_adaptive.then(|| of_estimate(found, 0, of_estimates));
    let of_bounds = vec![
        line("trials, median", median_of(found, |found| found.trials), goal(tuned, trials)),
        line("trials, p90", quantile_of(found, 0.9, |found| found.trials), Goal::None),
        line(
            "% of the sweep's time, median",
            100.0 * median_of(found, |found| found.seconds) / sweep_s,
            goal(tuned && kind == Kind::Adaptive, time),
        ),
        line(
            "error in %, p90",
            quantile_of(found, 0.9, |found| 100.0 * found.error.abs()),
            goal(!is_soft, if tuned { 1.5 } else { 2.0 }),
        ),
        Figure {
            seeds: off.into_iter().take(SHOWN_SEEDS).collect(),
            ..line(
                "off by more than 3 %, %",
                off_percent,
                goal(!is_soft, if tuned { 1.0 } else { 3.0 }),
            )
        },
        line("mean error in %", mean(&logs), Goal::None),
        line(
            "SD of repeated searches in %",
            moments(&logs).map_or(0.0, |(_, sd)| sd),
            goal(tuned, 0.7),
        ),
    ];
    of_bounds.into_iter().chain(of_all.into_iter().flatten()).collect()
}

fn median_of(found: &[Found], value: impl Fn(&Found) -> f64) -> f64 {
    quantile_of(found, 0.5, value)
}

pub(super) fn quantile_of<T>(found: &[T], level: f64, value: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = found.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * level).round() as usize]
}

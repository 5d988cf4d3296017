//! The errors of searches for a capacity, on systems whose capacity is known.

use measure::capacity::{self, Estimate, Trial};
use measure::estimate::{mean, moments};
use measure::search::{Bounds, Bracket, Judged, Search, Step, Strategy, next};
use measure::{Random, Rate};

use super::estimates::{MOST_BIAS, bias, coverage};
use super::{Extent, Figure, Goal, Rate as Share, SHOWN_SEEDS, each};

/// The standard deviation of the logarithm of the capacity from trial to trial: on a machine of one's own,
/// and on a shared one. The measured speed of the machine explains one half of the variance.
pub(super) const CAPACITY_SD: f64 = 0.005;
const SHARED_SD: f64 = 0.05;
/// The standard deviation of the logarithm of the p99.
const LATENCY_SD: f64 = 0.05;
/// The share of the trials in which the machine stalls: they miss the SLO at any load, up to so many times.
const HICCUPS: f64 = 0.03;
const LONGEST_STALL: f64 = 6.0;
/// The seconds of a trial with what is around it, and of one that is ended early since its p99 is more
/// than twice the limit.
const TRIAL_S: f64 = 60.0;
const ENDED_EARLY_S: f64 = 15.0;
/// The share by which the bounds of an answer may differ.
pub(super) const PRECISION: f64 = 0.02;
/// The probability with which an interval contains the capacity.
pub(super) const INTERVAL: f64 = 0.95;
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
    /// Four exponential servers at seven eighths of their saturation. The method was not tuned with it.
    Servers,
}

impl Shape {
    pub(super) const ALL: [Shape; 6] =
        [Shape::Queue, Shape::Cliff, Shape::Soft, Shape::Power, Shape::Plateau, Shape::Servers];

    pub(super) fn name(self) -> &'static str {
        match self {
            Shape::Queue => "queue",
            Shape::Cliff => "cliff",
            Shape::Soft => "exponential",
            Shape::Power => "power (not tuned)",
            Shape::Plateau => "plateau (not tuned)",
            Shape::Servers => "four servers (not tuned)",
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
            Shape::Servers if 1.0 / UTILISATION <= load => 1e3,
            Shape::Servers => p99_of_servers(UTILISATION * load) / p99_of_servers(UTILISATION),
        }
    }
}

/// The number of servers, and the share of their time in which they work at the capacity.
const SERVERS: u32 = 4;
const UTILISATION: f64 = 0.875;

/// Returns the p99 of the response time of a queue of equal exponential servers, in service times, from
/// its distribution.
fn p99_of_servers(utilisation: f64) -> f64 {
    let servers = f64::from(SERVERS);
    let offered = utilisation * servers;
    // Erlang's formula for the share of the requests that wait.
    let (mut term, mut sum) = (1.0, 0.0);
    for busy in 1..=SERVERS {
        sum += term;
        term *= offered / f64::from(busy);
    }
    let all_busy = term / (1.0 - utilisation);
    let wait = all_busy / (sum + all_busy);
    let faster = servers - 1.0 - offered;
    let longer = |time: f64| {
        let waited = match faster.abs() < 1e-9 {
            true => time,
            false => (1.0 - (-faster * time).exp()) / faster,
        };
        (-time).exp() * (1.0 + wait * waited)
    };
    let (mut low, mut high) = (0.0, 10.0 / (1.0 - utilisation));
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        match 0.01 < longer(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// A system with a capacity.
pub(super) struct System {
    pub(super) shape: Shape,
    pub(super) capacity: f64,
    /// The standard deviation of the logarithm of the capacity from trial to trial.
    pub(super) noise: f64,
}

/// A trial as it was drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drawn {
    /// The speed of the machine, as a multiple of the usual one.
    speed: f64,
    /// The load as a share of this trial's capacity.
    pub(super) of_capacity: f64,
    /// The p99 over its limit, with the stall of the machine, if there was one.
    pub(super) p99: f64,
}

impl System {
    /// Draws a system whose capacity lies in the range.
    pub(super) fn draw(shape: Shape, noise: f64, random: &mut Random) -> System {
        let (low, high) = (RANGE.0 * INSIDE, RANGE.1 / INSIDE);
        System { shape, capacity: low * (high / low).powf(random.unit()), noise }
    }

    pub(super) fn drawn(&self, load: f64, random: &mut Random) -> Drawn {
        let mut part = || (0.5f64.sqrt() * self.noise * random.normal()).exp();
        let (speed, unexplained) = (part(), part());
        let of_capacity = load / (self.capacity * speed * unexplained);
        let mut p99 = self.shape.p99(of_capacity) * (LATENCY_SD * random.normal()).exp();
        if random.unit() < HICCUPS {
            p99 = p99.max(1.0) * (1.0 + (LONGEST_STALL - 1.0) * random.unit());
        }
        Drawn { speed, of_capacity, p99 }
    }
}

impl Drawn {
    pub(super) fn met(&self) -> bool {
        self.p99 <= 1.0
    }

    fn seconds(&self) -> f64 {
        if 2.0 < self.p99 { ENDED_EARLY_S } else { TRIAL_S }
    }
}

/// The end of a simulated search.
#[derive(Clone, Debug)]
struct Found {
    /// The true capacity.
    capacity: f64,
    seconds: f64,
    /// The capacity found over the true one, less one; −1 without an answer.
    error: f64,
    trials: Vec<Trial>,
    /// The speed of the machine in each trial.
    speeds: Vec<f64>,
}

/// An estimate beside the truth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimated {
    pub(super) error: f64,
    /// True if the interval contains the true capacity.
    pub(super) contains: bool,
    /// The share by which the interval's end lies above its beginning.
    pub(super) width: f64,
}

impl Estimated {
    pub(super) fn of(estimate: Option<Estimate>, capacity: f64) -> Option<Estimated> {
        let Estimate { per_s, interval: (low, high), .. } = estimate?;
        let contains = low <= capacity && capacity <= high;
        Some(Estimated { error: per_s / capacity - 1.0, contains, width: high / low - 1.0 })
    }
}

/// Simulates one search, whose trials `met` makes; returns the capacity, 0 without an answer.
pub(super) fn search(search: &Search, mut met: impl FnMut(Rate) -> bool) -> f64 {
    let mut seen = Vec::new();
    loop {
        match next(search, &seen) {
            Step::Try { load, .. } => seen.push(Judged { load, passed: met(load) }),
            Step::Found(Bracket { lower, .. }) => return lower.map_or(0.0, Rate::as_per_second),
        }
    }
}

/// Simulates a sweep in steps of 1,000/s, up to the first load that misses the SLO twice.
pub(super) fn sweep(mut met: impl FnMut(Rate) -> bool) -> f64 {
    let mut best = 0.0;
    for load in (0..).map(|step| RANGE.0 + 1_000.0 * f64::from(step)) {
        if !met(rate(load)) && !met(rate(load)) {
            break;
        }
        best = load;
    }
    best
}

pub(super) fn rate(per_s: f64) -> Rate {
    Rate::per_second(per_s).expect("loads are positive")
}

impl Found {
    fn of(system: &System) -> Found {
        let capacity = system.capacity;
        Found { capacity, seconds: 0.0, error: -1.0, trials: Vec::new(), speeds: Vec::new() }
    }

    /// Adds a trial; returns true if it met the SLO.
    fn add(&mut self, drawn: &Drawn, load: Rate) -> bool {
        self.seconds += drawn.seconds();
        let excess = Some(drawn.p99.ln());
        self.trials.push(Trial { load, passed: drawn.met(), excess });
        self.speeds.push(drawn.speed);
        drawn.met()
    }

    fn count(&self) -> f64 {
        self.trials.len() as f64
    }
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
        let mut found = Found::of(system);
        let met = |load: Rate| found.add(&system.drawn(load.as_per_second(), random), load);
        let range = Bounds::Range(rate(RANGE.0), rate(RANGE.1));
        let adaptive = Strategy::Adaptive { confirm: 2 };
        let of = |bounds, strategy| Search { bounds, strategy, precision: PRECISION };
        let unknown = Bounds::Unknown { start: rate(10_000.0), factor: 2.0 };
        let capacity = match self {
            Kind::Adaptive => search(&of(range, adaptive), met),
            Kind::AdaptiveUnknown => search(&of(unknown, adaptive), met),
            Kind::Bisect => search(&of(range, Strategy::Bisect), met),
            Kind::Mlr => search(&of(range, Strategy::Mlr { first_to: 3 }), met),
            Kind::Sweep => sweep(met),
        };
        Found { error: capacity / system.capacity - 1.0, ..found }
    }
}

/// Returns the figures, and the shares of intervals that contain the capacity.
pub(super) fn figures(extent: Extent) -> (Vec<Figure>, Vec<Share>) {
    let of_shapes = Shape::ALL.into_iter().flat_map(|shape| of_shape(shape, extent));
    let mut figures: Vec<Figure> = of_shapes.collect();
    let mut coverages = Vec::new();
    for shape in Shape::ALL {
        let (lines, contained) = on_shared(shape, extent);
        figures.extend(lines);
        coverages.extend(contained);
    }
    (figures, coverages)
}

fn of_shape(shape: Shape, extent: Extent) -> Vec<Figure> {
    let found = |kind: Kind| simulated(kind, shape, CAPACITY_SD, extent.first, extent.searches);
    let sweeps = median_of(&found(Kind::Sweep), |found| found.seconds);
    Kind::ALL
        .into_iter()
        .flat_map(|kind| lines(shape, kind, extent.first, &found(kind), sweeps))
        .collect()
}

fn simulated(kind: Kind, shape: Shape, noise: f64, first: u64, searches: u64) -> Vec<Found> {
    each(first, searches, |random| kind.run(&System::draw(shape, noise, random), random))
}

/// Returns the figures of adaptive searches on a shared machine, and the coverage of their intervals.
fn on_shared(shape: Shape, extent: Extent) -> (Vec<Figure>, Vec<Share>) {
    let found = simulated(Kind::AdaptiveUnknown, shape, SHARED_SD, extent.first, extent.estimates);
    let of = format!("search, {}, shared machine", shape.name());
    let line =
        |what: &str, value: f64, goal: Goal| Figure::of(format!("{of}: {what}"), value, goal);
    let logs: Vec<f64> = found.iter().map(|found| 100.0 * found.error.max(-0.9).ln_1p()).collect();
    let mut lines = vec![
        line("trials, median", median_of(&found, Found::count), Goal::None),
        line("SD of repeated searches in %", moments(&logs).map_or(0.0, |(_, sd)| sd), Goal::None),
    ];
    let mut coverages = Vec::new();
    type Estimates = fn(&Found) -> Option<Estimate>;
    let estimates: [(&str, Estimates); 2] = [
        ("estimate", |found| capacity::estimate(&found.trials, INTERVAL)),
        ("estimate at the usual speed", |found| {
            capacity::at_usual_speed(&found.trials, &found.speeds, INTERVAL)
        }),
    ];
    for (name, estimate) in estimates {
        let all = found
            .iter()
            .map(|found| Estimated::of(estimate(found), found.capacity))
            .collect::<Vec<_>>();
        let errors: Vec<f64> = all.iter().flatten().map(|one| 100.0 * one.error).collect();
        let sd = moments(&errors).map_or(0.0, |(_, sd)| sd);
        let line = |what: &str, value: f64, goal| line(&format!("{name}: {what}"), value, goal);
        lines.extend([
            line("SD in %", sd, Goal::None),
            line("bias in %", bias(&errors), Goal::most(MOST_BIAS)),
        ]);
        let contain: Vec<bool> =
            all.iter().map(|one| one.is_some_and(|one| one.contains)).collect();
        coverages.push(coverage(&format!("{of}: {name}"), extent.first, &contain));
    }
    (lines, coverages)
}

fn lines(shape: Shape, kind: Kind, first: u64, found: &[Found], sweep_s: f64) -> Vec<Figure> {
    let is_adaptive = matches!(kind, Kind::Adaptive | Kind::AdaptiveUnknown);
    let goal = |holds: bool, most: f64| match is_adaptive && holds {
        true => Goal::most(most),
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
    let line = |what: &str, value: f64, goal: Goal| {
        Figure::of(format!("search, {}, {}: {what}", shape.name(), kind.name()), value, goal)
    };
    let trials = if kind == Kind::Adaptive { 15.0 } else { 25.0 };
    let time = if shape == Shape::Cliff { 45.0 } else { 75.0 };
    vec![
        line("trials, median", median_of(found, Found::count), goal(tuned, trials)),
        line("trials, p90", quantile_of(found, 0.9, Found::count), Goal::None),
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
    ]
}

fn median_of(found: &[Found], value: impl Fn(&Found) -> f64) -> f64 {
    quantile_of(found, 0.5, value)
}

pub(super) fn quantile_of<T>(found: &[T], level: f64, value: impl Fn(&T) -> f64) -> f64 {
    let mut values: Vec<f64> = found.iter().map(value).collect();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * level).round() as usize]
}

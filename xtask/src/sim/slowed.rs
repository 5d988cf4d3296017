//! The errors of searches on a machine that slows some of the trials, by three rules: every trial counts;
//! every slowed trial is repeated; or the rule of `results::evidence`, which uses what a late
//! generator cannot have decided.

use measure::capacity::Trial;
use measure::estimate::mean;
use measure::search::{Bounds, Search, Strategy};
use measure::{Random, Rate};
use results::evidence::{self, AtBounds, Evidence, Fitness, Question};

use super::searches::{self, CAPACITY_SD, PRECISION, RANGE, Shape, System, quantile_of, rate};
use super::{Extent, Figure, Goal, each};

/// The mean of the logarithm by which a disturbance lowers the capacity, and of that by which it
/// raises the p99 besides.
const LOST_CAPACITY: f64 = 0.05;
const RAISED: f64 = 0.3;
/// The mean of the lateness's part of the p99, in limits, and the longest lateness as its multiple.
const LATENESS: f64 = 0.2;
const LONGEST: f64 = 3.0;
/// A system keeps up with less than this multiple of its capacity.
const KEEPS_UP: f64 = 1.05;
/// The shares of the trials that are slowed.
const SHARES: [f64; 3] = [0.1, 0.3, 0.8];
/// The error of a simulated p90 in percent, and of a share in percentage points.
const TOLERANCE: f64 = 0.25;
const TOLERANCE_OFF: f64 = 1.5;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Slowing {
    Disturbed,
    /// The generator's own work makes it late.
    Late,
    /// The machine was called disturbed, but nothing was slowed.
    Harmless,
}

impl Slowing {
    pub(super) const ALL: [Slowing; 3] = [Slowing::Disturbed, Slowing::Late, Slowing::Harmless];

    pub(super) fn name(self) -> &'static str {
        match self {
            Slowing::Disturbed => "disturbed",
            Slowing::Late => "late",
            Slowing::Harmless => "disturbed without effect",
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Rule {
    /// Every trial counts.
    Ignore,
    /// Every slowed trial is repeated.
    Repeat,
    /// The rule of [`evidence::of`] for a capacity.
    Evidence,
}

impl Rule {
    fn name(self) -> &'static str {
        match self {
            Rule::Ignore => "all count",
            Rule::Repeat => "slowed ones repeated",
            Rule::Evidence => "by evidence",
        }
    }
}

/// A machine that slows this share of the trials.
#[derive(Clone, Copy, Debug)]
pub(super) struct Machine {
    pub(super) slowing: Slowing,
    pub(super) share: f64,
    pub(super) rule: Rule,
}

impl Machine {
    /// Returns the trial; `None` if it has to be repeated.
    fn trial(
        self,
        system: &System,
        load: Rate,
        question: Question,
        random: &mut Random,
    ) -> Option<Trial> {
        let is_slowed = random.unit() < self.share;
        let is_disturbed = is_slowed && self.slowing == Slowing::Disturbed;
        let is_late = is_slowed && self.slowing == Slowing::Late;
        let lost = if is_disturbed { random.exponential(LOST_CAPACITY) } else { 0.0 };
        let raised = if is_disturbed { random.exponential(RAISED) } else { 0.0 };
        let late = if is_late { random.exponential(LATENESS) } else { 0.0 };
        let drawn = system.drawn(load.as_per_second() * lost.exp(), random);
        let p99 = drawn.p99 * raised.exp() + late;
        let met = p99 <= 1.0;
        let verdict = match met {
            true => AtBounds::Met,
            false if 1.0 < p99 - LONGEST * late => AtBounds::Missed,
            false => AtBounds::Between,
        };
        let fitness = match (is_slowed, self.slowing) {
            (false, _) => Fitness::Valid,
            (true, Slowing::Disturbed | Slowing::Harmless) => Fitness::Slowed,
            (true, Slowing::Late) => Fitness::LateByItself,
        };
        let kept_up = drawn.of_capacity < KEEPS_UP;
        let evidence = match self.rule {
            Rule::Ignore => Evidence::Whole,
            Rule::Repeat if is_slowed => Evidence::Nothing,
            Rule::Repeat => Evidence::Whole,
            Rule::Evidence => evidence::of(fitness, Some(verdict), kept_up, question),
        };
        let excess = (evidence == Evidence::Whole).then(|| p99.ln());
        (evidence != Evidence::Nothing).then_some(Trial { load, passed: met, excess })
    }
}

/// The end of a simulated search.
#[derive(Clone, Debug)]
pub(super) struct Found {
    attempts: f64,
    pub(super) error: f64,
    /// The trials that count.
    pub(super) trials: Vec<Trial>,
}

impl Found {
    fn new() -> Found {
        Found { attempts: 0.0, error: -1.0, trials: Vec::new() }
    }

    /// Repeats a trial until it counts; returns true if it met the SLO.
    fn add(&mut self, mut attempt: impl FnMut() -> Option<Trial>) -> bool {
        loop {
            self.attempts += 1.0;
            if let Some(trial) = attempt() {
                self.trials.push(trial);
                return trial.passed;
            }
        }
    }
}

/// Simulates an adaptive search in the range of the capacities.
pub(super) fn adaptive(system: &System, machine: Machine, random: &mut Random) -> Found {
    let bounds = Bounds::Range(rate(RANGE.0), rate(RANGE.1));
    adaptive_in(bounds, system, machine, random)
}

/// Simulates an adaptive search from far below the capacity.
pub(super) fn adaptive_from_below(system: &System, machine: Machine, random: &mut Random) -> Found {
    let bounds = Bounds::Unknown { start: rate(10_000.0), factor: 2.0 };
    adaptive_in(bounds, system, machine, random)
}

fn adaptive_in(bounds: Bounds, system: &System, machine: Machine, random: &mut Random) -> Found {
    let strategy = Strategy::Adaptive { confirm: 2 };
    let search = Search { bounds, strategy, precision: PRECISION };
    let mut found = Found::new();
    let capacity = searches::search(&search, |load| {
        found.add(|| machine.trial(system, load, Question::Capacity, random))
    });
    Found { error: capacity / system.capacity - 1.0, ..found }
}

fn sweep(system: &System, machine: Machine, random: &mut Random) -> Found {
    let mut found = Found::new();
    let capacity = searches::sweep(|load| {
        found.add(|| machine.trial(system, load, Question::CapacityAndRate, random))
    });
    Found { error: capacity / system.capacity - 1.0, ..found }
}

type Kind = fn(&System, Machine, &mut Random) -> Found;
const KINDS: [(&str, Kind); 2] = [("adaptive", adaptive), ("sweep", sweep)];

pub(super) fn figures(extent: Extent) -> Vec<Figure> {
    let mut figures = Vec::new();
    for shape in [Shape::Queue, Shape::Cliff, Shape::Plateau] {
        for (kind, search) in KINDS {
            for slowing in Slowing::ALL {
                for share in SHARES {
                    let found =
                        |rule| found(shape, search, Machine { slowing, share, rule }, extent);
                    let (shape, slowing) = (shape.name(), slowing.name());
                    let percent = 100.0 * share;
                    let of = format!("search, {shape}, {kind}, {percent:.0} % {slowing}");
                    let repeating = found(Rule::Repeat);
                    figures.extend(lines(&of, Rule::Ignore, &found(Rule::Ignore), None));
                    figures.extend(lines(&of, Rule::Repeat, &repeating, None));
                    let used = found(Rule::Evidence);
                    figures.extend(lines(&of, Rule::Evidence, &used, Some(&repeating)));
                }
            }
        }
    }
    figures
}

fn found(shape: Shape, search: Kind, machine: Machine, extent: Extent) -> Vec<Found> {
    each(extent.first, extent.searches, |random| {
        search(&System::draw(shape, CAPACITY_SD, random), machine, random)
    })
}

/// Returns the figures of one rule. The errors must not exceed those of the rule it is compared with, and
/// it must not need more attempts.
fn lines(of: &str, rule: Rule, found: &[Found], compared: Option<&[Found]>) -> Vec<Figure> {
    let attempts = quantile_of(found, 0.5, |found| found.attempts);
    let all = |found: &[Found]| found.iter().map(|found| found.attempts).sum::<f64>();
    let line = |what: &str, value: f64, must: Option<f64>| {
        let what = format!("{of}, {}: {what}", rule.name());
        Figure::of(what, value, must.map_or(Goal::None, Goal::most))
    };
    let most = |value: fn(&[Found]) -> f64, more: f64| {
        compared.map(|compared| ((value(compared) + more) * 100.0).round() / 100.0)
    };
    let errors: Vec<f64> = found.iter().map(|found| 100.0 * found.error).collect();
    let mut lines = vec![
        line("error in %, p90", error(found), most(error, TOLERANCE)),
        line("mean error in %", mean(&errors), None),
        line("off by more than 3 %, %", off(found), most(off, TOLERANCE_OFF)),
        line("attempts, median", attempts, None),
    ];
    lines.extend(compared.map(|compared| {
        let percent = 100.0 * all(found) / all(compared);
        line("% of the attempts if slowed ones are repeated", percent, Some(100.0))
    }));
    lines
}

fn error(found: &[Found]) -> f64 {
    quantile_of(found, 0.9, |found| 100.0 * found.error.abs())
}

fn off(found: &[Found]) -> f64 {
    let off = found.iter().filter(|found| 0.03 < found.error.abs()).count();
    100.0 * off as f64 / found.len() as f64
}

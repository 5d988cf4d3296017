//! The usual number of trials of an experiment and their time on a quiet machine: the one estimate of a
//! plan, and of those who watch its run.
//!
//! Little is known of a system before it is measured. So each search is made on many systems with usual
//! properties, by the same functions that choose the loads of a run. The constants are from runs of the
//! shipped experiments on two cores.

use measure::search::trials;
use measure::{Nanos, Random, Rate, estimate};
use results::journal::Purpose;
use results::sessions::Arrivals;

use crate::plan::Plan;
use crate::search::{self, Next, Point};
use crate::spec::{
    Action, BackendKind, Between, Order, Resolved, Search, Start, Strategy, Sweep, Wait,
};
use crate::trial::{self, idle};

#[cfg(test)]
mod tests;

/// The number of systems on which a search is made, and on which a long one is made: its mean is known
/// from fewer, and each takes time.
const SYSTEMS: u32 = 100;
const SYSTEMS_OF_LONG: u32 = 10;
/// The trials of a long search.
const LONG: u64 = 200;
/// The rate that a system sustains at most, as a share of what a short closed loop on a newly started
/// one completes. The hotel application: 1.16 to 1.6. A queue needs no time to become fast.
const OF_PROBE: f64 = 1.35;
/// The same as a share of the capacity under an SLO (hotel application: 1.10).
const OF_CAPACITY: f64 = 1.1;
/// The capacities that are usual lie within such a factor, up and down.
const SPREAD: f64 = 1.15;
/// The highest capacity if only a first load is given, as a multiple of it.
const FARTHEST: f64 = 16.0;
/// The standard deviation of what a system can do from one trial to the next.
const NOISE: f64 = 0.015;
/// The same of a figure whose interval ends the repetition: a p99 of some thousand requests.
const NOISE_OF_FIGURE: f64 = 0.03;
/// A load that is higher than the capacity by this share misses its SLO in 1/e of the time.
const SLOWLY_MISSED: f64 = 0.05;
/// The time of a trial beside its phases (`cargo xtask bench lab`), of one against what others have started (0.26
/// to 0.5 s), and of one on a cluster, which starts pods for its generators.
const BESIDE: Nanos = Nanos::from_millis(90);
const BESIDE_OUTSIDE: Nanos = Nanos::from_millis(350);
const BESIDE_ON_A_CLUSTER: Nanos = Nanos::from_secs(5);
/// The time to start a system: 42 processes of the hotel application take 2.5 s.
const START: Nanos = Nanos::from_millis(140);
const START_OF_EACH: Nanos = Nanos::from_millis(56);
const START_ON_A_CLUSTER: Nanos = Nanos::from_secs(20);
/// The time of a request or a program that resets a system.
const ACTION: Nanos = Nanos::from_millis(10);
/// The most loads of a search.
const MOST: usize = 10_000;

/// The trials of one search, or of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Usual {
    /// The trials without probes.
    pub(super) trials: u64,
    /// With probes, resets and starts of the system.
    pub(super) time: Nanos,
}

impl Usual {
    /// Returns the length of one of the trials, with its part of everything else.
    pub(super) fn of_each(self) -> Nanos {
        self.time / self.trials.max(1)
    }
}

/// Returns the usual number of trials of an experiment and their time on a quiet machine, which may be more than its
/// budget allows; `None` if nothing is known of them.
pub fn usually(resolved: &Resolved) -> anyhow::Result<Option<(u64, Nanos)>> {
    let usual = of_plan(&Plan::of(resolved)?);
    Ok(usual.map(|Usual { trials, time }| (trials, time)))
}

/// Returns the sum of all strands, with the starts of their systems; `None` if nothing is known of one of
/// them.
pub(super) fn of_plan(plan: &Plan) -> Option<Usual> {
    let Usual { trials, time } = of_strands(plan)?;
    let time = start(plan.resolved(0)) + time + between(plan, trials) * trials;
    Some(Usual { trials, time })
}

fn of_strands(plan: &Plan) -> Option<Usual> {
    let repetitions = u64::from(plan.repetitions);
    let mut all = Usual::default();
    for question in &plan.questions {
        let Usual { trials, time } = of(&question.resolved)?;
        all.trials += trials * repetitions;
        all.time += time * repetitions;
    }
    Some(all)
}

/// Returns the time for which another system is started and rests, on average over so many trials.
pub(super) fn between(plan: &Plan, trials: u64) -> Nanos {
    let resolved = plan.resolved(0);
    let systems = changes(plan, trials, |strand| plan.place(strand).system);
    let cells = changes(plan, trials, |strand| plan.place(strand).cell);
    let cool_down = &resolved.spec.phases.cool_down;
    let rest = cool_down.levels.saturating_sub(*cool_down.trials);
    (start(resolved) * systems + rest * cells) / trials.max(1)
}

/// Returns how often a trial has another property than the one before it.
fn changes(plan: &Plan, trials: u64, of: impl Fn(usize) -> usize) -> u64 {
    let each: Vec<usize> = (0..plan.strands.len()).map(of).collect();
    let strands = each.len() as f64;
    let neighbours = each.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    // The share of the pairs that differ in a random order.
    let at_random = || {
        let same = |one: &usize| each.iter().filter(|other| *other == one).count() as f64 - 1.0;
        1.0 - each.iter().map(same).sum::<f64>() / (strands * (strands - 1.0)).max(1.0)
    };
    let around = f64::from(u8::from(each.first() != each.last()));
    let changes = match plan.order {
        _ if each.len() == 1 => 0.0,
        Order::Listed => neighbours,
        Order::Shuffled => (strands - 1.0) * at_random(),
        Order::Interleaved => trials as f64 * (neighbours + around) / strands,
        Order::Blocks(_) => trials as f64 * at_random(),
    };
    changes.round() as u64
}

/// Returns the mean over many systems; `None` if a sweep has neither an end nor a probe, since then
/// nothing is known of the capacity.
pub(super) fn of(resolved: &Resolved) -> Option<Usual> {
    let middle = match &resolved.spec.search {
        None => None,
        Some(search) => Some(usual_capacities(resolved, search)?),
    };
    let on_system = |number: u32, systems: u32| {
        let mut random = Random::part(0, u64::from(number));
        match (&resolved.spec.search, middle) {
            (Some(search), Some((from, to))) => {
                let share = (f64::from(number) + 0.5) / f64::from(systems);
                let capacity = from * (to / from).powf(share);
                of_search(resolved, search, &mut System { capacity, random })
            }
            _ => {
                let trials = at_a_load(resolved, &mut random);
                Usual { trials, time: length(resolved, None, trials) }
            }
        }
    };
    let is_long = LONG < on_system(0, 1).trials;
    let systems = if is_long { SYSTEMS_OF_LONG } else { SYSTEMS };
    let each: Vec<Usual> = (0..systems).map(|number| on_system(number, systems)).collect();
    let trials = each.iter().map(|usual| usual.trials).sum::<u64>() as f64 / f64::from(systems);
    let time = each.iter().map(|usual| usual.time).sum::<Nanos>() / u64::from(systems);
    let probe = match resolved.spec.search.as_ref().map(|search| search.start) {
        Some(Start::Probe(_)) => {
            let planned = trial::planned_length(resolved, Purpose::Probe);
            planned.saturating_sub(*resolved.spec.phases.drain) + beside(resolved)
        }
        Some(Start::At(_)) | None => Nanos::ZERO,
    };
    Some(Usual { trials: trials.round() as u64, time: probe + time })
}

/// A system that a search is made on.
struct System {
    /// The capacity of each target under the SLO.
    capacity: f64,
    random: Random,
}

impl System {
    fn noise(&mut self) -> f64 {
        (NOISE * self.random.normal()).exp()
    }
}

/// Stands for the rate that a probe completes: only its share of the capacity matters.
const PROBED: f64 = 1_000.0;

/// Returns the least and the highest capacity of the systems of a search.
fn usual_capacities(resolved: &Resolved, search: &Search) -> Option<(f64, f64)> {
    match (search.start, search.to, &search.strategy) {
        (Start::Probe(_), ..) => {
            let sustained = match resolved.spec.where_.backend {
                BackendKind::Simulated => PROBED,
                _ => PROBED * OF_PROBE,
            };
            let middle = sustained / OF_CAPACITY;
            Some((middle / SPREAD, middle * SPREAD))
        }
        // Only its last loads are expected to be too high.
        (_, Some(to), Strategy::Sweep(sweep)) if sweep.stop.is_empty() => {
            Some((to.as_per_second(), to.as_per_second()))
        }
        (Start::At(from), Some(to), _) => Some((from.as_per_second(), to.as_per_second())),
        (Start::At(from), None, Strategy::Bracket(_)) => {
            let from = from.as_per_second();
            Some((from, from * FARTHEST))
        }
        (Start::At(_), None, Strategy::Sweep(_)) => None,
    }
}

/// Makes a search on a system.
fn of_search(resolved: &Resolved, search: &Search, system: &mut System) -> Usual {
    let probed = match search.start {
        Start::Probe(_) => Rate::per_second(PROBED),
        Start::At(_) => None,
    };
    let most = u64::from(resolved.spec.budget.trials.0);
    let mut usual = Usual::default();
    let mut count = |load: Rate, noise: f64, system: &mut System| {
        let repeated = at_a_load(resolved, &mut system.random).min(most - usual.trials);
        let above = load.as_per_second() / (system.capacity * noise);
        usual.trials += repeated;
        usual.time += length(resolved, Some(above), repeated);
        usual.trials < most
    };
    match &search.strategy {
        Strategy::Bracket(bracket) => {
            let passes = |load: Rate| {
                let noise = system.noise();
                let goes_on = count(load, noise, system);
                goes_on.then_some(load.as_per_second() <= system.capacity * noise)
            };
            trials(&search::bisection(search, bracket, probed), passes);
        }
        Strategy::Sweep(sweep) => of_sweep(search, sweep, probed, system, &mut count),
    }
    usual
}

/// Tries the loads of a sweep on a system, and counts each while that returns true.
fn of_sweep(
    search: &Search,
    sweep: &Sweep,
    probed: Option<Rate>,
    system: &mut System,
    count: &mut dyn FnMut(Rate, f64, &mut System) -> bool,
) {
    let mut points: Vec<Point> = Vec::new();
    while points.len() < MOST
        && let Next::Load(asked) = search::next(search, sweep, probed, &points, Arrivals::Requests)
    {
        let noise = system.noise();
        if !count(asked, noise, system) {
            return;
        }
        let capacity = system.capacity * noise;
        let slo_met = Some(asked.as_per_second() <= capacity);
        let sustained_per_s = asked.as_per_second().min(OF_CAPACITY * capacity);
        points.push(Point { asked, sustained_per_s, slo_met, is_bound: false });
    }
}

/// Returns how often a load is tried.
fn at_a_load(resolved: &Resolved, random: &mut Random) -> u64 {
    let repeat = &resolved.spec.repeat;
    if repeat.until.is_none() {
        return u64::from(repeat.trials.0);
    }
    let mut values: Vec<f64> = Vec::new();
    while !repeat.is_complete(values.len(), |_| Some(values.clone())) {
        values.push((NOISE_OF_FIGURE * random.normal()).exp());
    }
    values.len() as u64
}

/// Returns the length of these trials at a load, which is given as a share of the capacity. Its drain is
/// short, unless it is overloaded; if only verdicts are asked for, it ends once it has missed its SLO.
fn length(resolved: &Resolved, load: Option<f64>, trials: u64) -> Nanos {
    let phases = &resolved.spec.phases;
    let whole = *phases.measure.time;
    let above = load.map_or(0.0, |load| load - 1.0);
    let measured = match 0.0 < above && resolved.asks_only_for_verdicts() {
        true => scaled(whole, f64::exp(-above / SLOWLY_MISSED))
            .max(estimate::LEAST_CURTAILED)
            .min(whole),
        false => whole,
    };
    let queued = load.map_or(0.0, |load| load / OF_CAPACITY - 1.0).max(0.0);
    let drained = scaled(measured, queued).min(*phases.drain);
    let planned = trial::planned_length(resolved, Purpose::Trial);
    // Most systems are steady at once.
    let until = phases.warm_up.until_steady;
    let saved = until.map_or(Nanos::ZERO, |until| until.max.saturating_sub(*until.min));
    let declared =
        planned.saturating_sub(*phases.drain).saturating_sub(whole).saturating_sub(saved);
    let resets = match resolved.spec.reset.between {
        Between::Trials => trials,
        Between::Points => 1,
        Between::Levels | Between::Never => 0,
    };
    (declared + measured + drained + beside(resolved)) * trials + reset(resolved) * resets
}

fn scaled(length: Nanos, share: f64) -> Nanos {
    Nanos::from_secs_f64(length.as_secs_f64() * share)
}

fn beside(resolved: &Resolved) -> Nanos {
    match resolved.spec.where_.backend {
        BackendKind::Simulated => Nanos::ZERO,
        BackendKind::Local => BESIDE + idle::OVER,
        BackendKind::External => BESIDE_OUTSIDE,
        BackendKind::Kubernetes => BESIDE_ON_A_CLUSTER,
    }
}

fn start(resolved: &Resolved) -> Nanos {
    let sut = &resolved.spec.sut;
    let replicas: u32 = sut.components().map(|component| sut.replicas_of(component)).sum();
    match resolved.spec.where_.backend {
        BackendKind::Simulated | BackendKind::External => Nanos::ZERO,
        BackendKind::Local => START + START_OF_EACH * u64::from(replicas * sut.instances.0),
        BackendKind::Kubernetes => START_ON_A_CLUSTER,
    }
}

/// Returns the time of a reset: of its steps, or of a new start of the system.
fn reset(resolved: &Resolved) -> Nanos {
    let steps = &resolved.spec.reset.steps;
    if resolved.spec.where_.backend == BackendKind::Simulated {
        return steps.iter().map(rest).sum();
    }
    let instances = u64::from(resolved.spec.sut.instances.0);
    let replicas = |name: &String| {
        let mut components = resolved.spec.sut.components();
        let component = components.find(|component| component.name() == name);
        component.map_or(0, |component| u64::from(resolved.spec.sut.replicas_of(component)))
    };
    let step = |action: &Action| match action {
        Action::Restart(names) => {
            let each = |name| START + START_OF_EACH * replicas(name);
            names.0.iter().map(each).sum::<Nanos>() * instances
        }
        Action::Wait(Wait::Time(_)) => rest(action),
        Action::Config(_) | Action::Scale(_) => START_ON_A_CLUSTER * instances,
        Action::Http(_) | Action::Run(_) | Action::Wait(Wait::Until { .. }) => ACTION * instances,
    };
    match steps.is_empty() {
        true => start(resolved),
        false => steps.iter().map(step).sum(),
    }
}

/// Returns the time that a step waits whatever the system does.
fn rest(action: &Action) -> Nanos {
    match action {
        Action::Wait(Wait::Time(length)) => *length,
        _ => Nanos::ZERO,
    }
}

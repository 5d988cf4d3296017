//! The plan of an experiment: a run on a backend that only prints.

use std::collections::BTreeSet;
use std::iter::Sum;
use std::ops::Mul;

use measure::pace::Distribution;
use measure::quantity::grouped;
use measure::search::{Bounds, MORE_FAILURES, Strategy as Bisection};
use measure::{Nanos, Rate};
use results::journal::Purpose;

use super::usual::{self, Usual};
use crate::backend::Stop;
use crate::backend::dry_run::DryRun;
use crate::course::{Attempt, Outline, Outlined, Trial};
use crate::plan::{Plan, Turn, Turns, seed_of};
use crate::progress::Silent;
use crate::search;
use crate::spec::{
    Arrivals, AtLeastOne, Between, Bracket, Component, Connections, Factor, Literal, Model,
    Offered, Order, PerRate, Protocol, Question, Resolved, Role, Roles, Search, Start, Strategy,
    Sweep, Until,
};
use crate::system::{self, System};
use crate::trial;

/// The number of capacities that are tried to find out how few trials a search needs.
const PLACES: u32 = 20;

/// Returns the least time for trials with which an experiment makes one.
pub fn least(resolved: &Resolved) -> anyhow::Result<Nanos> {
    Ok(least_of(&Plan::of(resolved)?))
}

/// Returns the plan of an experiment, as text: what is fixed beforehand, the rule for the rest, and
/// the stages of the first trial in order.
pub fn plan(resolved: &Resolved) -> anyhow::Result<String> {
    let plan = Plan::of(resolved)?;
    let first = plan.resolved(0);
    let mut text = format!("{}\n", headline(resolved, &plan));
    let mut line = |name: &str, value: String| text += &format!("{name:<9} {value}\n");
    for (factor, Factor { levels, .. }) in &resolved.spec.factors.0 {
        let levels: Vec<&str> = levels.iter().map(|level| level.name.as_str()).collect();
        line("factor", format!("{factor}: {}", levels.join(", ")));
    }
    if let Some(secrets) = secrets(resolved) {
        line("secrets", secrets);
    }
    line("system", format!("{}{}", system::describe(first), limits(first)));
    line("load", load(first));
    let mut shown = vec![&first.spec.workload];
    for Question { resolved, .. } in &plan.questions {
        let workload = &resolved.spec.workload;
        if workload.foreign().is_some() && !shown.contains(&workload) {
            line("or", load(resolved));
            shown.push(workload);
        }
    }
    let of_one_cell = plan.questions.iter().take_while(|question| question.cell == 0);
    for Question { search: name, resolved, .. } in of_one_cell {
        let name = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        line("search", format!("{name}{}", search(resolved)));
    }
    line("trial", stages(first));
    if plan.has_several() {
        line("order", order(&plan));
    }
    line("seed", plan.seed.to_string());
    line("time", time(resolved, &plan));
    text += &strands(&plan);
    text += &first_trial(&plan)?;
    Ok(text)
}

/// Returns the questions whose loads are operations on a store, one for each load: the generator knows their
/// properties, and reads them without a server.
pub fn of_stores(resolved: &Resolved) -> anyhow::Result<Vec<Resolved>> {
    let mut found: Vec<Resolved> = Vec::new();
    for Question { resolved, .. } in Plan::of(resolved)?.questions {
        let workload = &resolved.spec.workload;
        let is_known = found.iter().any(|known| known.spec.workload == *workload);
        if workload.protocol() == Protocol::Store && !is_known {
            found.push(resolved);
        }
    }
    Ok(found)
}

/// Lists the variables of the environment that a run needs.
fn secrets(resolved: &Resolved) -> Option<String> {
    let known: BTreeSet<&str> = resolved.secrets.known().map(|(name, _)| name).collect();
    let variable = |name: &str| {
        let variable = name.strip_prefix(results::secrets::ENV)?;
        let state = if known.contains(name) { "" } else { " (not set here)" };
        Some(format!("{variable}{state}"))
    };
    let variables: Vec<String> = resolved.secrets.names().filter_map(variable).collect();
    (!variables.is_empty()).then(|| format!("from the environment: {}", variables.join(", ")))
}

fn order(plan: &Plan) -> String {
    let in_a_block = || plan.each_in_a_block().unwrap_or_default() as usize * plan.questions.len();
    let rule = match plan.order {
        Order::Listed => "one search after the other, as listed",
        Order::Shuffled => "one search after the other, in a random order",
        Order::Interleaved => "one trial of each search in turn",
        Order::Blocks(_) => &format!("random blocks of {} trials", in_a_block()),
    };
    let cells = plan.cells.len();
    let each = plan.strands.len() / cells;
    format!("{rule}; {} × {} = {} searches", cells_in_words(cells), each, plan.strands.len())
}

fn cells_in_words(cells: usize) -> String {
    if cells == 1 {
        "1 combination of levels".to_owned()
    } else {
        format!("{cells} combinations of levels")
    }
}

/// Returns a line for each strand: its levels, search and repetition, its trials, time and seed.
fn strands(plan: &Plan) -> String {
    if !plan.has_several() {
        return String::new();
    }
    let of_question: Vec<String> =
        plan.questions.iter().map(|question| counted(&question.resolved)).collect();
    let labels: Vec<String> = (0..plan.strands.len()).map(|strand| plan.label(strand)).collect();
    let width = labels.iter().map(|label| label.chars().count()).max().unwrap_or_default();
    let line = |(strand, label): (usize, &String)| {
        let counted = &of_question[plan.strands[strand].question];
        format!("{:>5}  {label:<width$}  {counted}, seed {}\n", strand + 1, plan.seed_of(strand))
    };
    labels.iter().enumerate().map(line).collect()
}

/// Returns the trials of one search and their time: `7 to 30 trials, 6.3 s to 27 s`.
fn counted(resolved: &Resolved) -> String {
    let (least, most) = (fewest_of(resolved), most_of(resolved));
    match least == most {
        true if most == 1 => format!("1 trial, {}", in_words(longest(resolved))),
        true => format!("{most} trials, {}", in_words(longest(resolved))),
        false => format!(
            "{least} to {most} trials, {} to {}",
            in_words(shortest(resolved)),
            in_words(longest(resolved))
        ),
    }
}

/// The first line: `hotel-max-throughput · local · roles: sut = CPU 0, load = CPU 1 · at most 30
/// trials`
pub(super) fn headline(resolved: &Resolved, plan: &Plan) -> String {
    let spec = &resolved.spec;
    let mut parts = vec![spec.name.to_string()];
    parts.extend(resolved.profile.as_ref().map(|profile| format!("profile {profile}")));
    parts.extend(resolved.set.iter().map(|setting| format!("--set {setting}")));
    parts.push(spec.where_.backend.to_string());
    let roles = spec.where_.roles.named().into_iter();
    let roles: Vec<String> =
        roles.filter_map(|(name, role)| Some(format!("{name} = {}", role?))).collect();
    if !roles.is_empty() {
        parts.push(format!("roles: {}", roles.join(", ")));
    }
    if plan.has_several() {
        parts.push(format!("{} searches", plan.strands.len()));
    }
    let most = in_all(plan, most_of);
    let length = in_words(longest_of(resolved, plan));
    parts.push(match most {
        1 => format!("1 trial, {length}"),
        most => format!("at most {most} trials, {length}"),
    });
    parts.join(" · ")
}

pub(super) fn outline(resolved: &Resolved, plan: &Plan) -> Outline {
    let usual: Vec<Option<Usual>> =
        plan.questions.iter().map(|question| usual::of(&question.resolved)).collect();
    let all = plan.strands.iter().filter_map(|strand| usual[strand.question]);
    let between = usual::between(plan, all.map(|usual| usual.trials).sum());
    let strand = |strand: usize| {
        let resolved = plan.resolved(strand);
        let (fewest, most) = (fewest_of(resolved), most_of(resolved));
        let usual = usual[plan.strands[strand].question];
        let trial = usual.map_or_else(|| trial_length(resolved), Usual::of_each) + between;
        let usual = usual.map(|usual| usual.trials);
        let (level, search) = (plan.cell_name(strand), plan.question(strand).search.clone());
        Outlined { label: plan.label(strand), level, search, fewest, most, usual, trial }
    };
    let roles = || plan.questions.iter().map(|question| &question.resolved.spec.where_.roles);
    let cpus = |role: fn(&Roles) -> &Option<Role>| {
        let cpus = roles().filter_map(|roles| role(roles).as_ref()?.cpus.as_deref());
        cpus.flat_map(|cpus| cpus.0.iter().copied()).collect::<BTreeSet<u32>>()
    };
    Outline {
        name: resolved.spec.name.to_string(),
        seed: plan.seed,
        strands: (0..plan.strands.len()).map(strand).collect(),
        sut: cpus(|roles| &roles.sut).into_iter().collect(),
        load: cpus(|roles| &roles.load).into_iter().collect(),
    }
}

fn limits(resolved: &Resolved) -> String {
    let of_component = |component: &Component| {
        let cpu = component.cpu_limit().map(|limit| format!("{} CPUs", limit.0));
        let memory = component.memory_limit().map(|limit| limit.write());
        let limits: Vec<String> = cpu.into_iter().chain(memory).collect();
        let name = component.name();
        (!limits.is_empty()).then(|| format!(" · {name} may use {}", limits.join(" and ")))
    };
    resolved.spec.sut.components().filter_map(of_component).collect()
}

fn load(resolved: &Resolved) -> String {
    let spec = &resolved.spec;
    let what = spec.workload.describe();
    let instances = match resolved.targets() {
        1 => String::new(),
        _ => "per instance: ".to_owned(),
    };
    let arrivals = match spec.load.arrivals() {
        _ if spec.workload.foreign().is_some() => "arrivals of its own".to_owned(),
        Arrivals(Distribution::Poisson) => "Poisson arrivals".to_owned(),
        arrivals => format!("{arrivals} arrivals"),
    };
    let listed = "starts as listed".to_owned();
    let (rate, pacing) = match &spec.load.model {
        Model::Rate { rate: None, .. } => (String::new(), arrivals),
        Model::Rate { rate: Some(rate), .. } => (format!("{rate}, "), arrivals),
        Model::Shape { shape, .. } => (format!("shape {}; ", shape.text), arrivals),
        Model::Trace { trace, speed: None } => (format!("trace {trace}, "), listed),
        Model::Trace { trace, speed: Some(speed) } => {
            (format!("trace {trace} at {speed} × its speed, "), listed)
        }
        Model::Closed { .. } => (String::new(), "closed loop".to_owned()),
    };
    let threads = spec.load.script_threads;
    let threads = threads.map(|n| format!(", {} script threads", n.0)).unwrap_or_default();
    let connections = match spec.load.connections {
        Connections::Fixed(AtLeastOne(n)) if n < 1_000 => format!("{n} connections"),
        Connections::Fixed(AtLeastOne(n)) => format!("{} connections", grouped(f64::from(n))),
        Connections::PerRate(PerRate(each)) => {
            let least = spec.load.script_threads.map(|n| format!(" (at least {})", n.0));
            format!("{each} connections for each request/s{}", least.unwrap_or_default())
        }
    };
    format!("{instances}{rate}{connections}{threads}, {pacing}, {what}")
}

fn search(resolved: &Resolved) -> String {
    let Some(search) = &resolved.spec.search else {
        return match resolved.spec.load.rate() {
            Some(share @ Offered::Share { .. }) => format!("none: one load, {share}"),
            Some(Offered::Rate(_)) | None => "none: one load".to_owned(),
        };
    };
    let first = match search.start {
        Start::At(rate) => format!("from {rate}"),
        Start::Probe(share) => {
            format!("from {share} of what a closed loop completes in a short probe")
        }
    };
    let to = search.to.map(|to| format!(" to {to}")).unwrap_or_default();
    let each = match resolved.targets() {
        1 => "",
        _ => "per instance, ",
    };
    let sweep = match &search.strategy {
        Strategy::Sweep(sweep) => sweep,
        Strategy::Bracket(bracket) => {
            return bisection(search, bracket, &format!("{each}{first}{to}"));
        }
    };
    let rules: Vec<String> = sweep.stop.iter().map(search::describe).collect();
    let stop = match rules.is_empty() {
        true => String::new(),
        false => format!("; stop: {}", rules.join(" · ")),
    };
    let known = match fixed_loads(resolved) {
        Some(loads) => format!(": {}", shown(&loads)),
        None => String::new(),
    };
    format!("sweep {each}{first}{to}, step {}{known}{stop}", sweep.step)
}

/// Describes a search for the capacity: `adaptive from 500/s to 2,000/s: bisected to 2 %; one
/// pass or the first to 2 decides; the bounds need 2 passes or 4 failures`.
fn bisection(search: &Search, bracket: &Bracket, from: &str) -> String {
    let Bracket { by, precision, .. } = bracket;
    let outward = match search::bisection(search, bracket, Rate::per_second(1.0)).bounds {
        Bounds::Range(..) => String::new(),
        Bounds::Unknown { factor, .. } => {
            format!("outward by × {factor} and more until it is enclosed, then ")
        }
    };
    let decided = match by {
        Bisection::Adaptive { confirm } => format!(
            "one pass or the first to 2 decides; the bounds need {confirm} passes or {} failures",
            confirm + MORE_FAILURES
        ),
        Bisection::Bisect => "each trial decides".to_owned(),
        Bisection::Mlr { first_to } => {
            format!("the first to {first_to} passes or failures decides")
        }
    };
    format!("{} {from}: {outward}bisected to {precision}; {decided}", search::name(*by))
}

fn shown(loads: &[Rate]) -> String {
    match loads {
        [first, second, .., last] if 6 < loads.len() => format!("{first}, {second}, … {last}"),
        _ => loads.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn stages(resolved: &Resolved) -> String {
    let spec = &resolved.spec;
    let phases = &spec.phases;
    let mut stages = Vec::new();
    match (spec.reset.between, spec.reset.steps.is_empty()) {
        (Between::Trials, false) => stages.push("reset".to_owned()),
        (Between::Trials, true) => stages.push("restart".to_owned()),
        (Between::Points, _) => stages.push("reset at a new load".to_owned()),
        (Between::Levels, _) => stages.push("reset at a new level".to_owned()),
        (Between::Never, _) => {}
    }
    if Nanos::ZERO < *phases.settle {
        stages.push(format!("settle {}", phases.settle.in_words()));
    }
    if let Some(until) = phases.warm_up.until_steady {
        let (min, max) = (until.min.in_words(), until.max.in_words());
        stages.push(format!("warm up {min} to {max} until steady"));
    }
    stages.push(format!("warm up {}", phases.warm_up.fixed.in_words()));
    stages.push(format!("measure {}", phases.measure.time.in_words()));
    stages.push(format!("drain ≤ {}", phases.drain.in_words()));
    let repeat = match (spec.repeat.trials.0, &spec.repeat.until) {
        (1, None) => String::new(),
        (n, None) => format!(" · {n} at each load"),
        (n, Some(until)) => {
            let Until { max, ci_rel, .. } = until;
            format!(" · {n} to {} at each load, until the interval is ± {}", max.0, **ci_rel)
        }
    };
    stages.join(" → ") + &repeat
}

fn time(resolved: &Resolved, plan: &Plan) -> String {
    let (least, most) = (in_all(plan, fewest_of), in_all(plan, most_of));
    let longest = longest_of(resolved, plan);
    let shortest = in_all(plan, shortest).min(longest);
    let range = match least == most {
        true if most == 1 => "1 trial".to_owned(),
        true => format!("{most} trials: {}", in_words(longest)),
        false => {
            format!("{least} to {most} trials: {} to {}", in_words(shortest), in_words(longest))
        }
    };
    let usual = usual::of_plan(plan);
    let cut = cut_by_budget(resolved, plan, usual.as_ref());
    let usual = match usual {
        None => String::new(),
        Some(Usual { time, .. }) if least == most => format!("; usually {}", in_words(time)),
        Some(Usual { trials, time }) => format!("; usually {trials} in {}", in_words(time)),
    };
    let strands = plan.strands.len() as u64;
    let disturbance = in_words(trial::disturbance_allowed(plan.resolved(0), strands));
    format!(
        "{} per trial; {range}{usual}{cut}; up to {disturbance} more if the machine is disturbed",
        in_words(trial_length(plan.resolved(0)))
    )
}

/// Returns the time of the first trial, with that of a probe before it: with less there is no answer of any kind.
pub(super) fn least_of(plan: &Plan) -> Nanos {
    let first = plan.resolved(0);
    probe_length(first) + trial_length(first)
}

/// Returns what a budget of time leaves out, if it is shorter than the usual run, or than a single trial.
fn cut_by_budget(resolved: &Resolved, plan: &Plan, usual: Option<&Usual>) -> String {
    let Some(budget) = resolved.spec.budget.time.as_deref().copied() else { return String::new() };
    let least = least_of(plan);
    match usual {
        _ if budget < least => format!(
            "; budget.time {} is too short for one trial, which needs {}",
            in_words(budget),
            least.written()
        ),
        Some(Usual { time, .. }) if budget < *time => {
            format!(", but budget.time ends it after {}", in_words(budget))
        }
        _ => String::new(),
    }
}

/// Returns the sum over all strands. Equal searches have equal parts of it.
fn in_all<T: Sum + Mul<u64, Output = T>>(plan: &Plan, of_one: impl Fn(&Resolved) -> T) -> T {
    let questions = plan.questions.iter();
    questions.map(|question| of_one(&question.resolved)).sum::<T>() * u64::from(plan.repetitions)
}

/// Returns the longest time of all phases of all strands on a quiet machine.
fn longest_of(resolved: &Resolved, plan: &Plan) -> Nanos {
    let planned = in_all(plan, longest);
    resolved.spec.budget.time.map_or(planned, |time| planned.min(*time))
}

/// Returns the longest time of one search.
fn longest(resolved: &Resolved) -> Nanos {
    let planned = probe_length(resolved) + trial_length(resolved) * most_of(resolved);
    resolved.spec.budget.time.map_or(planned, |time| planned.min(*time))
}

fn shortest(resolved: &Resolved) -> Nanos {
    (probe_length(resolved) + trial_length(resolved) * fewest_of(resolved)).min(longest(resolved))
}

fn probe_length(resolved: &Resolved) -> Nanos {
    let search = resolved.spec.search.as_ref();
    match search.map(|search| search.start) {
        Some(Start::Probe(_)) => trial::planned_length(resolved, Purpose::Probe),
        Some(Start::At(_)) | None => Nanos::ZERO,
    }
}

fn trial_length(resolved: &Resolved) -> Nanos {
    trial::planned_length(resolved, Purpose::Trial)
}

/// Returns the largest number that a trial can have; a probe has a number too.
pub(super) fn most_trials(plan: &Plan) -> u64 {
    let of_one = |resolved: &Resolved| {
        let probes =
            resolved.spec.search.as_ref().map(|search| matches!(search.start, Start::Probe(_)));
        most_of(resolved) + u64::from(probes == Some(true))
    };
    in_all(plan, of_one)
}

/// Returns the most trials of one search; those that are not valid are not counted.
fn most_of(resolved: &Resolved) -> u64 {
    let repeat = &resolved.spec.repeat;
    let most_at_a_load = repeat.until.as_ref().map_or(0, |until| until.max.0);
    let most_at_a_load = u64::from(most_at_a_load.max(repeat.trials.0));
    let budget = u64::from(resolved.spec.budget.trials.0);
    if resolved.spec.search.is_none() {
        return most_at_a_load.min(budget);
    }
    let range = fixed_loads(resolved).map(|loads| loads.len() as u64 * most_at_a_load);
    range.unwrap_or(budget).min(budget)
}

/// Returns the fewest trials of one search.
fn fewest_of(resolved: &Resolved) -> u64 {
    let repeat = u64::from(resolved.spec.repeat.trials.0);
    let most = most_of(resolved);
    let Some(search) = &resolved.spec.search else { return repeat.min(most) };
    let sweep = match &search.strategy {
        Strategy::Sweep(sweep) => sweep,
        Strategy::Bracket(bracket) => return fewest(search, bracket).min(most),
    };
    let rules = sweep.stop.iter().map(|rule| match rule {
        crate::spec::Stop::NoNewMax { window, .. } => u64::from(*window) + 1,
        crate::spec::Stop::SloViolated { times } => u64::from(*times),
    });
    rules.min().map_or(most, |loads| loads * repeat).min(most)
}

/// Returns the fewest trials of a search for the capacity: those of a system without noise whose
/// capacity is where they are fewest. Nothing is known of a probe's result, so one stands for it.
fn fewest(search: &Search, bracket: &Bracket) -> u64 {
    let search = search::bisection(search, bracket, Rate::per_second(1_000.0));
    let (from, to) = match search.bounds {
        Bounds::Range(from, to) => (from.as_per_second(), to.as_per_second()),
        Bounds::Unknown { start, factor } => {
            (start.as_per_second(), start.as_per_second() * factor)
        }
    };
    let place = |place| from * (to / from).powf(f64::from(place) / f64::from(PLACES));
    let trials = |capacity: f64| {
        measure::search::trials(&search, |load| Some(load.as_per_second() <= capacity))
    };
    (0..=PLACES).map(|number| trials(place(number))).min().unwrap_or(1)
}

/// Returns the loads of a range, if they do not depend on observations.
fn fixed_loads(resolved: &Resolved) -> Option<Vec<Rate>> {
    let search = resolved.spec.search.as_ref()?;
    let (Start::At(_), Some(_)) = (search.start, search.to) else { return None };
    let unstopped = Sweep { stop: Vec::new(), ..search.sweep()?.clone() };
    let next = |search, sweep, points: &[_]| {
        search::next(search, sweep, None, points, results::sessions::Arrivals::Requests)
    };
    let mut points = Vec::new();
    while let search::Next::Load(asked) = next(search, &unstopped, &points) {
        let none = search::Point { asked, sustained_per_s: 0.0, slo_met: None, is_bound: false };
        points.push(none);
        if resolved.spec.budget.trials.0 as usize <= points.len() {
            break;
        }
    }
    Some(points.into_iter().map(|point| point.asked).collect())
}

/// Returns what the first trial asks of a backend.
pub fn first(resolved: &Resolved) -> anyhow::Result<DryRun> {
    dry_run(&Plan::of(resolved)?).map(|(_, backend)| backend)
}

fn first_trial(plan: &Plan) -> anyhow::Result<String> {
    let (purpose, backend) = dry_run(plan)?;
    let first = match purpose {
        Purpose::Probe => "first, to find the first load:",
        Purpose::Trial => "the first trial:",
    };
    let steps: String = backend.told().iter().map(|step| format!("  {step}\n")).collect();
    Ok(format!("{first}\n{steps}"))
}

/// Runs the first trial on a backend that only prints.
fn dry_run(plan: &Plan) -> anyhow::Result<(Purpose, DryRun)> {
    let Some(Turn { strand, attempt, .. }) = Turns::new(plan, Vec::new()).next_turn() else {
        anyhow::bail!("the budget does not allow a single trial");
    };
    let Attempt { purpose, asked, repetition, attempt, .. } = attempt;
    let resolved = plan.resolved(strand);
    let seed = seed_of(plan.seed_of(strand), asked, repetition, attempt);
    let place = plan.place(strand);
    let trial = Trial { number: 1, purpose, asked, repetition, attempt, seed, place };
    let mut backend = DryRun::default();
    let mut system = System::default();
    let ran = trial::run(&trial, resolved, &mut system, &mut backend, &mut Silent);
    match ran {
        Ok(_) => {}
        Err(Stop::Question(error) | Stop::NoAnswer(error)) => return Err(error),
        Err(stop) => anyhow::bail!("the dry run stopped: {stop:?}"),
    }
    crate::backend::Backend::stop(&mut backend);
    Ok((purpose, backend))
}

/// Formats a length: `43 s`, `3 min 30 s`, `1 h 11 min`.
fn in_words(length: Nanos) -> String {
    let seconds = length.as_secs_f64();
    match seconds {
        _ if seconds < 10.0 => format!("{} s", (seconds * 10.0).round() / 10.0),
        _ if seconds < 120.0 => format!("{seconds:.0} s"),
        _ => length.to_string(),
    }
}

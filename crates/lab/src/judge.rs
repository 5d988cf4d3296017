//! Judges an observation. Validity judges the generator and the environment, never the system under
//! test: saturation, failures and a backlog are findings.

use std::collections::{BTreeMap, BTreeSet};

use measure::quantity::{grouped, rounded};
use measure::{Instant, Nanos, Quantile, bounds, estimate};
use results::components::{Components, Monitored};
use results::doctor::{self, Check, Standing, State};
use results::evidence::{self, Evidence, Fitness, Question};
use results::journal::{Connections, Delivery, Observed, OfLabel, Purpose, Status};
use results::little::Means;
use results::load::{Ended, GateName, Pacing};
use results::sessions::Arrivals;
use results::slo::{Judged as JudgedSlo, Slo, Verdict};
use results::{Little, Load, Metric, Times, failing, transport, verdict};

use crate::backend::Consumed;
use crate::doctor::{FOREIGN, STEAL};
use crate::limits::{self, Shortfall};
use crate::seconds::{self, window};
use crate::spec::{Resolved, ResultKind, Strategy, generator};
use crate::speed;
use crate::trial::warm_up::Signals;
use crate::trial::{Checked, Observation};

#[cfg(test)]
mod tests;

/// The time of opening the connections that a plan does not count.
const OPENING_UNNOTICED: Nanos = Nanos::from_millis(500);

/// The judgement of an observation.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub status: Status,
    /// True if the trial answers its question although the machine may have slowed it down.
    pub stands: bool,
    pub reasons: Vec<String>,
    pub observed: Option<Observed>,
    /// The result of the trial for each objective of the spec, in their order.
    pub slo: Vec<JudgedSlo>,
    pub findings: Vec<String>,
    pub warnings: Vec<String>,
    /// The disturbances of the machine, whether or not the trial is valid.
    pub disturbed: Vec<String>,
    /// The use of resources by component and second; it gives the limit and is kept.
    pub components: Components,
}

pub fn judge(observation: &Observation, resolved: &Resolved) -> Judged {
    let load = &observation.driven.load;
    let in_fields = |text: &String| generator::in_fields(text);
    let mut reasons: Vec<String> = load.validity.reasons.iter().map(in_fields).collect();
    if !load.validity.valid && reasons.is_empty() {
        reasons.push("the generator calls it not valid and gives no reason".to_owned());
    }
    let mut unfit: Vec<String> =
        observation.moved.iter().map(|moved| format!("the placement changed: {moved}")).collect();
    let found = observation.checked.as_ref().map(|Checked { before, after }| {
        doctor::of_trial(resolved.spec.doctor.level, before.as_ref(), after)
    });
    let found = found.unwrap_or_default();
    unfit.extend(found.refusals);
    unfit.extend(stolen(observation));
    if load.validity.valid {
        unfit.extend(uncertain(load, resolved));
    }
    if load.total.counts.intended == 0 && load.validity.valid {
        unfit.push("nothing was sent in the measurement".to_owned());
    }
    let mut components = seconds::of(&observation.driven);
    components.monitors = observation.monitored.clone();
    let outcome = verdict::known(&resolved.slos(), load);
    let rests_on_unfinished = load.validity.valid
        && unfit.is_empty()
        && !failing::is_gone(load)
        && outcome.as_ref().is_some_and(|outcome| outcome.rests_on_unfinished(&load.total));
    let observed = Observed {
        rests_on_unfinished,
        ..observed(observation, &components, outcome.as_ref().map(|outcome| outcome.met))
    };
    let question = question(observation.purpose, &load.pacing, resolved);
    let (evidence, decided) = evidence::of_load(load, outcome.as_ref(), question);
    // A slow machine slows the system, too, but no gate sees it.
    let verdict = outcome.as_ref().map(|outcome| evidence::at_bounds(outcome, &load.total));
    let kept_up = load.saturated == Some(false);
    let objectives = outcome.as_ref().map_or(&[][..], |outcome| &outcome.objectives);
    let stands = evidence::of(Fitness::Slowed, verdict, kept_up, question) == Evidence::Answer
        || failing::is_certain(load, objectives, true);
    let status = match evidence {
        _ if !unfit.is_empty() => Status::Invalid,
        Evidence::Whole => Status::Valid,
        Evidence::Answer => Status::Bounded,
        Evidence::Nothing => Status::Invalid,
    };
    reasons.extend(unfit);
    if status == Status::Invalid && reasons.is_empty() {
        reasons.extend(decided.clone());
    }
    let refused = refusing(load, &observed);
    let findings = load.findings.iter().map(in_fields).chain(refused).chain(decided).collect();
    let slo = outcome.map(|outcome| outcome.objectives).unwrap_or_default();
    let mut warnings: Vec<String> = load.warnings.iter().map(in_fields).collect();
    let unknown = load.validity.unknown.iter();
    warnings.extend(unknown.map(|gate| format!("not known if {}: {}", gate.name, gate.why)));
    warnings.extend(found.warnings);
    let undecided = slo.iter().filter(|judged| judged.verdict == Verdict::Undecided);
    warnings.extend(undecided.map(|judged| judged.text.clone()));
    warnings.extend(thin_tail(load, resolved));
    warnings.extend(observation.not_idle.clone());
    warnings.extend(observation.monitored.iter().flat_map(|monitored| {
        monitored.problems.iter().map(|problem| format!("monitor {}: {problem}", monitored.name))
    }));
    warnings.extend(unsteady(observation, resolved));
    Judged {
        status,
        stands,
        reasons,
        observed: Some(observed),
        slo,
        findings,
        warnings,
        disturbed: disturbances(observation),
        components,
    }
}

/// Returns what disturbed the machine while a trial measured, as its generator and the checks after the
/// load saw it. Only the first makes the trial less than valid: the generator knows when it was disturbed,
/// and the checks do not know if the system was.
fn disturbances(observation: &Observation) -> Vec<String> {
    let gates = observation.driven.load.validity.gates.iter();
    let of_generator = gates.filter(|gate| gate.name == GateName::Disturbed && !gate.passed);
    let of_generator = of_generator.map(|gate| format!("the generator: {}", gate.figure));
    let found =
        [STEAL, FOREIGN].into_iter().filter_map(|id| Some(bad(observation, id)?.value.clone()));
    of_generator.chain(found).collect()
}

/// Returns a check after the load, if it is bad and the spec does not allow that.
fn bad<'a>(observation: &'a Observation, id: &str) -> Option<&'a Check> {
    let is_bad = |check: &&Check| {
        check.id == id && check.state == State::Bad && check.standing != Standing::Waived
    };
    observation.checked.as_ref()?.after.checks.iter().find(is_bad)
}

/// Describes a machine that disturbed the load of another generator. Such a generator does not watch
/// its machine, but the doctor has measured the steal on the CPUs of the roles meanwhile.
fn stolen(observation: &Observation) -> Option<String> {
    observation.driven.load.foreign.as_ref()?;
    bad(observation, STEAL).map(|steal| format!("machine disturbed: {}", steal.value))
}

/// Describes the declared percentiles of a load that its lateness leaves uncertain. The generator of events judges the
/// p99 of the delivery alone, and with an SLO each generator judges its lateness by the limit alone, since it does not
/// know what the experiment asks for.
fn uncertain(load: &Load, resolved: &Resolved) -> Vec<String> {
    let has_limit = resolved.slos().iter().any(|slo| slo.response_time().is_some());
    let is_open = matches!(load.pacing, Pacing::Open { .. });
    // Beyond the p99, a single pause of the machine is a tenth of the figure.
    let is_of_slo = |level| has_limit && is_open && level <= Quantile::P99;
    let at = |times: &Option<Times>, level| times.as_ref()?.histogram()?.quantile(level);
    let describe = |metric: Metric| {
        let level = metric.level()?;
        let (low, high) = match (&load.events, metric.is_of_delivery()) {
            (Some(events), true) => events.delivery_bounds(level)?,
            (None, true) => return None,
            (None, false) if !is_of_slo(level) => return None,
            (_, false) => (
                at(&load.total.response_time_less_lateness, level)?,
                at(&load.total.response_time, level)?,
            ),
        };
        bounds::is_uncertain(low, high).then(|| {
            format!(
                "generator late: its lateness leaves the {metric} between {low} and {high}, more than a \
                 tenth apart. Repeat it, or use a quieter machine."
            )
        })
    };
    let metrics: BTreeSet<Metric> =
        resolved.spec.declared().into_iter().map(|(metric, _)| metric).collect();
    metrics.into_iter().filter_map(describe).collect()
}

/// Describes a system that was not steady before the measurement, or in it; only if the spec asks for
/// a steady one.
fn unsteady(observation: &Observation, resolved: &Resolved) -> Vec<String> {
    let until = resolved.spec.phases.warm_up.until_steady;
    let Some((until, warmed_up)) = until.zip(observation.warmed_up) else { return Vec::new() };
    let before = (!warmed_up.is_steady).then(|| {
        let max = until.max.in_words();
        format!("not steady after a warm-up of {max}; allow more: phases.warm_up.until_steady.max")
    });
    let trending = Signals::of(&observation.driven.load).trending().join(" and ");
    let within = (!trending.is_empty())
        .then(|| format!("the {trending} still changed steadily in the measurement"));
    before.into_iter().chain(within).collect()
}

/// Returns the use that the experiment makes of a trial. A probe only shows where to begin. Equal trials are there for their figures: one
/// that only bounds them would be missing in their average or in their block. So are a closed loop, which
/// offers what the system takes, and a load without an SLO.
fn question(purpose: Purpose, pacing: &Pacing, resolved: &Resolved) -> Question {
    let spec = &resolved.spec;
    let repeat = &spec.repeat;
    let are_repeated = 1 < repeat.trials.0.max(repeat.searches.0) || repeat.until.is_some();
    let are_compared = spec.compare.is_some() || spec.reproducibility.is_some();
    let is_without_question = are_repeated || are_compared || spec.slo.is_empty();
    if purpose == Purpose::Probe {
        return Question::LowerBound;
    }
    let asks_capacity =
        spec.search.as_ref().is_some_and(|search| search.result == ResultKind::Capacity);
    match (pacing, spec.search.as_ref().map(|search| &search.strategy)) {
        (Pacing::Closed { .. }, _) => Question::Figures,
        (Pacing::Open { .. }, Some(Strategy::Bracket(_))) => Question::Capacity,
        (Pacing::Open { .. }, Some(Strategy::Sweep(_))) if asks_capacity => {
            Question::CapacityAndRate
        }
        (Pacing::Open { .. }, Some(Strategy::Sweep(_))) => Question::VerdictAndRate,
        (Pacing::Open { .. }, None) if is_without_question => Question::Figures,
        (Pacing::Open { .. }, None) => Question::VerdictAndRate,
    }
}

fn observed(observation: &Observation, components: &Components, slo_met: Option<bool>) -> Observed {
    let load = &observation.driven.load;
    let times = load.total.response_time.as_ref();
    let printed = load.printed_response_times();
    let quantile = |of: fn(&Times) -> u64, level: Quantile| {
        let printed = || printed.and_then(|printed| printed.quantile_ns(level));
        times.map(of).or_else(printed)
    };
    let rates = &load.total.rates_per_s;
    let counts = &load.total.counts;
    let (begin, end) = window(load, &observation.driven.consumed);
    let cpu = used(&observation.driven.consumed, (begin, end));
    let operations_per_s = load.total.operations.as_ref().map(|all| all.completed_per_s);
    let received = counts.bytes_received;
    let bytes_per = |number: f64| (0.0 < number && 0 < received).then(|| received as f64 / number);
    let observed = Observed {
        generator: load.foreign.clone(),
        offered_per_s: rates.offered,
        completed_per_s: rates.completed,
        sustained_per_s: rates.sustained.unwrap_or(rates.completed.min(rates.offered)),
        goodput_per_s: rates.goodput,
        succeeded_per_s: rates.succeeded,
        operations_per_s,
        ended_after_ns: (load.ended == Some(Ended::SloMissed))
            .then(|| Nanos::from_secs_f64(load.measured_s).0),
        requests: counts.intended,
        failures: counts.failed,
        // Another generator does not say it.
        unfinished: load.foreign.is_none().then_some(counts.unfinished),
        rests_on_unfinished: false,
        sessions: load.arrivals == Some(Arrivals::Sessions),
        sessions_per_s: load.total.sessions.as_ref().and_then(|of| of.succeeded_per_s),
        failing: failing::of(load),
        labels: OfLabel::all(load),
        p50_ns: quantile(|times| times.p50_ns, Quantile::P50),
        p90_ns: quantile(|times| times.p90_ns, Quantile::P90),
        p99_ns: quantile(|times| times.p99_ns, Quantile::P99),
        p999_ns: quantile(|times| times.p999_ns, Quantile::P999),
        max_ns: times
            .map(|times| times.max_ns)
            .or_else(|| printed.and_then(|printed| printed.max_ns)),
        lateness_p99_ns: load.total.lateness.as_ref().map(|times| times.p99_ns),
        hiccup_p99_ns: load.generator.hiccup.as_ref().map(|times| times.p99_ns),
        delivery: load.events.as_ref().map(Delivery::of),
        little: Little::of(load),
        connections: Connections::of(load),
        transport: transport::habits(load).into_iter().map(|(habit, _)| habit).collect(),
        slo_met,
        saturated: load.saturated == Some(true),
        lacks_connections: lacks_connections(load),
        opening_ns: opening(load),
        generator_bound: load.generator.generator_bound == Some(true),
        bytes_per_answer: bytes_per(counts.completed_inside as f64),
        bytes_per_operation: operations_per_s.and_then(|rate| bytes_per(rate * load.measured_s)),
        cpu_unknown: (observation.driven.consumed.len() - cpu.len()) as u32,
        cpu,
        monitored: components.monitors.iter().flat_map(Monitored::means).collect(),
        work_ns: speed::over_all(&components.speed),
        foreign_most: components.machine.as_ref().and_then(|m| m.most(|role| &role.foreign)),
        stolen_most: components.machine.as_ref().and_then(|m| m.most(|role| &role.stolen)),
        limited_by: None,
        limit: None,
    };
    // An error is a response too, and completes: a system that responds with errors fell short.
    let fell_short = observed.saturated || observed.is_failing();
    // Sessions are asked for at a rate of their own.
    let is_closed = rates.asked.is_none() && load.arrivals != Some(Arrivals::Sessions);
    let shortfall = match (fell_short, is_closed || slo_met == Some(false)) {
        (true, _) => Shortfall::Saturated,
        (false, true) => Shortfall::Slow,
        (false, false) => Shortfall::None,
    };
    let limit = limits::first(components, shortfall);
    Observed {
        limited_by: limit.as_ref().map(|found| found.words.clone()),
        limit: limit.map(|found| found.limit),
        ..observed
    }
}

/// Returns true if the load is not valid since it could not open all of its connections.
fn lacks_connections(load: &Load) -> bool {
    let is_short = load.connections.as_ref().is_some_and(|of| of.reached < of.asked);
    is_short && load.validity.is_refused_by(GateName::Lost)
}

/// Returns the time that opening the connections took, if it is long enough to be noticed.
fn opening(load: &Load) -> Option<u64> {
    let took = Nanos::from_secs_f64(load.connections.as_ref()?.opening_s?);
    (OPENING_UNNOTICED <= took).then_some(took.0)
}

/// Describes a closed loop in which so many requests failed that its rate is that of the failures: it sends
/// the next request after any answer, and a refusal is fast.
fn refusing(load: &Load, observed: &Observed) -> Option<String> {
    let Pacing::Closed { .. } = load.pacing else { return None };
    let share = Some(observed.failed_share()).filter(|_| observed.is_failing())?;
    let total = &load.total;
    let successes = total.in_progress.zip(observed.succeeded_per_s);
    let means = match (Means::of(total), successes) {
        (Some(Means { succeeded, failed }), _) => {
            format!(", after {failed} on average, and a success took {succeeded}")
        }
        (None, Some((number, per_s))) if 0.0 < per_s => {
            let most = Nanos::from_secs_f64(number / per_s);
            format!(", and a success took {most} at most, by Little's law")
        }
        (None, _) => String::new(),
    };
    Some(format!(
        "{:.1} % of the requests failed{means}: a closed loop offers what is answered, so its {}/s are the \
         rate of the failures and no capacity, and a level without them would look superlinear beside it",
        100.0 * share,
        grouped(observed.completed_per_s)
    ))
}

/// Returns a warning if too few requests lie beyond the highest quantile that decides.
fn thin_tail(load: &Load, resolved: &Resolved) -> Option<String> {
    let quantiles = resolved.spec.slo.iter().filter_map(|slo| match **slo {
        Slo::ResponseTime { quantile, .. } => Some(quantile),
        // That of a label has fewer requests, and its verdict says so.
        Slo::Failures { .. } | Slo::OfLabel { .. } => None,
    });
    let printed = load.printed_response_times().map_or(0, |printed| printed.count);
    let count = load.total.response_time.as_ref().map_or(printed, |times| times.count);
    let highest = quantiles.max_by(|a, b| a.level().total_cmp(&b.level()))?;
    let beyond = estimate::beyond(count, highest);
    let wanted = resolved.spec.phases.measure.min_tail_samples;
    (beyond < wanted).then(|| {
        format!(
            "{} rests on {beyond} requests beyond it, at least {wanted} are needed: measure longer",
            highest.name()
        )
    })
}

/// Returns the CPUs used by each component in the measurement.
fn used(
    consumed: &BTreeMap<String, Consumed>,
    measurement: (Instant, Instant),
) -> BTreeMap<String, f64> {
    let known = |(name, consumed): (&String, &Consumed)| {
        Some((name.clone(), rounded(consumed.cpu_in(measurement)?)))
    };
    consumed.iter().filter_map(known).collect()
}

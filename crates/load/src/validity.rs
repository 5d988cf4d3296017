//! The gates that decide whether a load is valid.
//!
//! The gates check that the generator itself was not the bottleneck and that its machine was not
//! disturbed. The target's behaviour (saturation, failures, a full backlog) is a finding, and a
//! load with findings is valid.

use std::fmt;

use ::measure::bounds::{
    self, BUSY, LATENESS_UNNOTICED, LOSS_ALLOWED, OTHERS_UNNOTICED, RETRANSMITS_UNNOTICED,
};
use ::measure::pace::Portion;
use ::measure::quantity::{counted, grouped, lengths, percents, requests};
use ::measure::{Histogram, Nanos, Quantile, Rate};

use net::host::Segments;

use crate::driver::{Arrivals, Outcome};
use crate::measurement::{Measurement, Plan};
use crate::observe::Part;
use crate::pacing::Pacing;
use crate::shard::{Ended, Failures};

#[cfg(test)]
mod tests;

const LATENESS_NEVER_ALLOWED: Nanos = Nanos::from_millis(1);
/// Lateness may be a twentieth of the tightest limit of an SLO, and a tenth of the p99 where there is no SLO.
const PARTS_OF_SLO: u64 = 20;
const PARTS_OF_P99: u64 = 10;
/// The hiccup that is always allowed: an idle pinned sleeper on a virtual machine overshoots by
/// 0.1–0.2 ms.
const HICCUP_ALWAYS_ALLOWED: Nanos = Nanos::from_micros(500);
/// The share of a closed loop's time that pauses may take. Its completed rate is too low by this
/// share, and a target that completes this much less than the offered load is not yet saturated.
const PAUSES_ALLOWED: f64 = 0.03;
/// The difference of shares that is none.
const ROUNDING: f64 = 1e-9;
/// The requests of a shard in a second from which on a lower rate may help against lateness. With fewer it has more than
/// a millisecond for each, which is a hundred times what one takes.
const RATE_MATTERS: f64 = 1_000.0;
/// The share of its maximum that a generator may use before its results become doubtful.
const SURE: f64 = 0.5;
/// The share of the time in which connections may not be opened without a word.
const UNCONNECTED_UNNOTICED: f64 = 0.05;
/// The share of the connections that are in use, on average, if requests wait for one.
const CONNECTIONS_IN_USE: f64 = 0.9;
/// One of so many requests may be unfinished without a word if nobody waits for the last ones.
const UNNOTED: u64 = 100;
/// The time that opening connections may take in any case.
const OPENING_UNNOTICED: Nanos = Nanos::from_millis(500);
const FREE_PORTS_ENOUGH: u64 = 1_000;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgement {
    pub gates: Vec<Gate>,
    pub findings: Vec<String>,
    pub warnings: Vec<String>,
    /// True if the generator's own work limited the load, so that the target may complete more: a closed loop by the
    /// gate `busy`, an open loop by the gate `late`. Absent of an open loop otherwise.
    pub generator_bound: Option<bool>,
    /// True if the target did not keep up with an open loop ([`Balance::is_saturated`]); `None` for
    /// a closed loop, and if it is unknown.
    ///
    /// [`Balance::is_saturated`]: crate::observe::Balance::is_saturated
    pub saturated: Option<bool>,
    /// The meaning of a saturated target, in words. It is no finding by itself: a target that fails most requests
    /// completes little at any rate, and there is one rule for that, where the outcomes are judged.
    pub saturation: Option<String>,
    /// True if the response time's p99 is more than a tenth above that of the response time less
    /// lateness: the target's own p99 lies between the two.
    pub p99_at_most: bool,
    /// The share of the measurement in which the target refused connections; absent if that is not worth a word.
    pub refused_share: Option<f64>,
    /// The times that the target closed a connection after one response without announcing it, if that is its habit.
    pub closed_silently: Option<u64>,
}

/// The inputs of the judgement besides the measurement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Besides {
    /// The number of samples that could not be written in time.
    pub samples_lost: u64,
    /// The maximum rate of one shard on this machine, as measured by the self-test.
    pub maximum_of_a_shard: Option<Rate>,
    /// The bounds of the p99 of the channel's own delivery time, if a receiver noted the events.
    pub delivery_p99: Option<(Nanos, Nanos)>,
}

/// The name of a gate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum GateName {
    Late,
    /// Something was not measured.
    Lost,
    Disturbed,
    Busy,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    pub name: GateName,
    pub figure: String,
    /// The reason why it failed, with the remedy.
    pub reason: Option<String>,
}

impl Judgement {
    pub fn is_valid(&self) -> bool {
        self.gates.iter().all(|gate| gate.reason.is_none())
    }

    /// Returns why the load is not valid: what was not measured comes before how well the rest was.
    pub fn reasons(&self) -> Vec<String> {
        let (lost, others): (Vec<&Gate>, _) =
            self.gates.iter().partition(|gate| gate.name == GateName::Lost);
        lost.into_iter().chain(others).filter_map(|gate| gate.reason.clone()).collect()
    }
}

/// Judges a load by rules that were fixed before it ran.
pub fn judge(plan: &Plan, measurement: &Measurement, besides: Besides) -> Judgement {
    let mut total = Part::default();
    measurement.parts.iter().for_each(|part| total.add(part));
    let too_busy = match plan.pacing {
        Pacing::Open { .. } => too_busy(plan, measurement, &total),
        Pacing::Closed { .. } => None,
    };
    let mut judgement = Judgement {
        gates: vec![
            late(plan, measurement, &total, besides, too_busy.as_deref()),
            lost(plan, measurement, &total, besides.samples_lost),
            disturbed(plan, measurement, &total, besides),
        ],
        ..Judgement::default()
    };
    match plan.pacing {
        Pacing::Closed { .. } => {
            let busy = busy(plan, measurement, &total);
            judgement.generator_bound = Some(busy.reason.is_some());
            judgement.gates.push(busy);
        }
        Pacing::Open { .. } => {
            let by_its_work = slowed(measurement) == Some(Slowed::ByItsWork);
            judgement.generator_bound = (too_busy.is_some() && by_its_work).then_some(true);
            let saturated = is_saturated(plan, measurement);
            judgement.saturated = saturated.filter(|_| too_busy.is_none());
        }
    }
    find(plan, measurement, &total, &mut judgement);
    warn(plan, measurement, &total, besides, &mut judgement);
    judgement
}

/// The bounds of the target's own p99: the p99 of the response time less lateness, and that of the
/// response time; or those of the delivery of events.
#[derive(Clone, Copy, Debug)]
struct P99 {
    lower: Nanos,
    upper: Nanos,
    is_of_delivery: bool,
}

impl P99 {
    fn of_response(total: &Part) -> P99 {
        let (lower, upper) = (p99(&total.less_lateness), p99(&total.response));
        P99 { lower, upper, is_of_delivery: false }
    }

    /// The p99 that the load is for. Events with a receiver are sent for the time of their delivery,
    /// unless an SLO says something else: SLOs are of response times.
    fn asked(plan: &Plan, total: &Part, besides: Besides) -> P99 {
        match besides.delivery_p99.filter(|_| plan.slo.is_none()) {
            Some((lower, upper)) => P99 { lower, upper, is_of_delivery: true },
            None => P99::of_response(total),
        }
    }

    fn name(self) -> &'static str {
        if self.is_of_delivery { "delivery" } else { "response" }
    }

    /// True if the interval is wider than a tenth of its lower bound.
    fn is_wide(self) -> bool {
        self.lower / 10 < self.upper.saturating_sub(self.lower)
    }
}

/// Returns the maximum p99 of the generator's lateness. With an SLO the question is if its limit is met, so the bound
/// is a part of the limit, however fast the responses are. Without one it is a part of the p99, of its lower bound: a
/// response time increased by lateness must not excuse that lateness.
fn lateness_bound(plan: &Plan, asked: P99) -> Nanos {
    let bound = match plan.slo {
        Some(slo) => slo / PARTS_OF_SLO,
        None => (asked.lower / PARTS_OF_P99).min(LATENESS_NEVER_ALLOWED),
    };
    bound.max(LATENESS_UNNOTICED)
}

/// Judges the lateness of the generator. A response time less its own lateness is a lower bound only as
/// long as lateness is rare, since a punctual request may wait behind a late one; so the lateness
/// itself has a bound, too. The lower bound of a delivery time already contains what late events did to
/// those behind them: then the distance of the bounds alone decides.
fn late(
    plan: &Plan,
    measurement: &Measurement,
    total: &Part,
    besides: Besides,
    too_busy: Option<&str>,
) -> Gate {
    let lateness = p99(&total.lateness);
    let Pacing::Open { .. } = plan.pacing else {
        let figure = format!("a closed loop cannot be late (lateness p99 {lateness})");
        return Gate { name: GateName::Late, figure, reason: None };
    };
    let interval = P99::asked(plan, total, besides);
    let bound = lateness_bound(plan, interval);
    let P99 { lower, upper, is_of_delivery } = interval;
    let name = interval.name();
    let (found, allowed) = lengths(lateness, bound);
    let bounded = if is_of_delivery { String::new() } else { format!(", bound {allowed}") };
    let figure = format!("lateness p99 {found}{bounded}; {name} p99 {lower} … {upper}");
    // Both bounds are compared with an SLO, so the width of the interval does not matter to it.
    let is_uncertain = plan.slo.is_none() && bounds::is_uncertain(lower, upper);
    let why = match () {
        () if measurement.is_behind => Some(BEHIND.to_owned()),
        () if let Some(what) = too_busy => {
            Some(format!("{what}, and the target need not be the reason"))
        }
        () if bound < lateness && !is_of_delivery => {
            Some(format!("lateness p99 {found}, bound {allowed}"))
        }
        () if is_uncertain => Some(format!(
            "its lateness leaves the {name} p99 between {lower} and {upper}, more than a tenth apart"
        )),
        () => None,
    };
    let reason =
        why.map(|why| format!("generator late: {why}. {}", cause(plan, measurement, total)));
    Gate { name: GateName::Late, figure, reason }
}

/// The words for requests that were not even counted.
const BEHIND: &str = "more requests were due than it could count, so some are missing";

/// Describes what an open loop did not get done while its generator was as busy as it can be; `None` if there is
/// nothing, or it was not. Such a generator need not be late: it starts each request once a connection is free,
/// and is slow to read the responses that free them.
fn too_busy(plan: &Plan, measurement: &Measurement, total: &Part) -> Option<String> {
    (BUSY <= measurement.machine.busy_share).then_some(())?;
    let rate = |count: u64| grouped(count as f64 / measurement.window.length().as_secs_f64());
    match () {
        () if measurement.is_behind => Some(BEHIND.to_owned()),
        () if 0 < total.outcome(Outcome::Dropped) => Some("the backlog was full".to_owned()),
        () if is_saturated(plan, measurement) == Some(true) => {
            let (completed, intended) = (rate(total.completed_inside), rate(total.intended));
            Some(format!("{completed}/s of {intended}/s completed"))
        }
        () => None,
    }
}

/// Returns true if the target did not keep up with the arrivals of an open loop; `None` if that is unknown.
fn is_saturated(plan: &Plan, measurement: &Measurement) -> Option<bool> {
    let Measurement { balance, sessions, .. } = measurement;
    match plan.arrivals {
        Some(Arrivals::Sessions) => balance.is_saturated_by(sessions),
        Some(Arrivals::Requests) | None => balance.is_saturated(),
    }
}

/// A cause that kept the busiest shard from its requests, besides pauses of the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowed {
    /// The share of time in which its core ran something else.
    ByOthers(f64),
    ByItsWork,
}

fn slowed(measurement: &Measurement) -> Option<Slowed> {
    let machine = &measurement.machine;
    match machine.run_queue_wait_share {
        Some(share) if OTHERS_UNNOTICED < share => Some(Slowed::ByOthers(share)),
        _ => (BUSY <= machine.busy_share).then_some(Slowed::ByItsWork),
    }
}

/// Names the cause of lateness with its remedy, as far as it was measured.
fn cause(plan: &Plan, measurement: &Measurement, total: &Part) -> String {
    let machine = &measurement.machine;
    let percent = |share: f64| format!("{:.0} % of the time", 100.0 * share);
    let offered = total.intended as f64 / measurement.window.length().as_secs_f64();
    let or_less = match RATE_MATTERS <= offered / plan.cpus.len() as f64 {
        true => " or lower the rate",
        false => "",
    };
    let (lateness, longest) = (p99(&total.lateness), measurement.hiccups.max().unwrap_or_default());
    match slowed(measurement) {
        Some(Slowed::ByOthers(share)) => {
            format!("Its core ran something else {}. Free the core{or_less}.", percent(share))
        }
        Some(Slowed::ByItsWork) => {
            format!("It was busy {}. Give it more cores{or_less}.", percent(machine.busy_share))
        }
        // Whatever made requests late lasted about as long.
        None if lateness / 2 <= longest => format!(
            "The machine paused (hiccups up to {longest}). Repeat it, or use a quieter machine."
        ),
        None => format!(
            "The cause was not measured: the machine paused for {longest} at most. Repeat it, or use a \
             quieter machine."
        ),
    }
}

/// Judges the work of a generator whose next requests wait for it. A closed loop cannot be late: a
/// generator that is slow itself only sends fewer requests, and the rate looks like that of the target.
fn busy(plan: &Plan, measurement: &Measurement, total: &Part) -> Gate {
    let machine = &measurement.machine;
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    let (worked, bound) = percents(machine.busy_share, BUSY, 0);
    let figure = format!("the busiest shard worked {worked} of the time, bound {bound}");
    let reason = (BUSY <= machine.busy_share).then(|| {
        let completed = total.completed_inside as f64 / measurement.window.length().as_secs_f64();
        let remedy = match slowed(measurement) {
            Some(Slowed::ByOthers(share)) => format!(
                "Its core ran something else {} of the time: free the core, or give it another one \
                 with --pin",
                percent(share)
            ),
            _ if plan.connections() <= plan.cpus.len() => {
                "Use more --connections, so that more --shards share the work".to_owned()
            }
            _ => "Give it more cores: --shards and --pin, or several processes with --part"
                .to_owned(),
        };
        format!(
            "the generator was the bottleneck: {figure}, so the target can complete {}/s or more. \
             {remedy}; in an experiment, where.roles.load.cpus.",
            grouped(completed)
        )
    });
    Gate { name: GateName::Busy, figure, reason }
}

/// Returns the share of the measurement in which a connection could not be opened, on average.
fn unconnected_share(plan: &Plan, measurement: &Measurement) -> f64 {
    let times = measurement.series.iter().map(|(_, interval)| interval.unconnected_time);
    let all = measurement.window.length().as_secs_f64() * plan.connections() as f64;
    times.map(Nanos::as_secs_f64).sum::<f64>() / all
}

/// The time in which a target was not there.
struct Unconnected {
    /// As a share of the measurement.
    share: f64,
    attempts: u64,
    /// True if most of the attempts were refused: nobody listened. What does not answer them may only be slow.
    is_refusal: bool,
}

/// Returns the time in which a target was not there, if that is worth a word.
fn unconnected(plan: &Plan, measurement: &Measurement) -> Option<Unconnected> {
    let share = unconnected_share(plan, measurement).min(1.0);
    let Failures { refused, unreachable, .. } = measurement.connecting_failed;
    let attempts = refused + unreachable;
    let is_refusal = unreachable < refused;
    // One that takes connections and resets them fails requests.
    (UNCONNECTED_UNNOTICED < share && 0 < attempts).then_some(Unconnected {
        share,
        attempts,
        is_refusal,
    })
}

impl fmt::Display for Unconnected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the target took no connections for {:.0} % of the time ({} attempts)",
            100.0 * self.share,
            counted(self.attempts)
        )
    }
}

/// The responses for each time that a target sent bytes that belong to no request, from which on they are
/// matched. Some servers tell an idle connection why they close it, which is rarer.
const UNASKED_OF_ALL: u64 = 2;

fn lost(plan: &Plan, measurement: &Measurement, total: &Part, samples: u64) -> Gate {
    let outcomes: u64 = total.outcomes.iter().sum();
    assert_eq!(outcomes, total.intended, "every intended request has exactly one outcome");
    let (asked, reached) = (measurement.connections_asked, measurement.connections_reached);
    let failures = measurement.connecting_failed;
    let unconnected = unconnected(plan, measurement);
    let of_part = match plan.part {
        Portion::WHOLE => String::new(),
        part => format!(" (its share: it is part {part} of the load)"),
    };
    let figure = format!(
        "{reached} of {asked} connections{of_part}, {outcomes} outcomes, {} attempts to connect without a \
         port or file, {samples} samples lost; bound: none missing",
        failures.exhausted
    );
    let reason = match () {
        () if 0 < failures.exhausted => Some(format!(
            "connections lost: {} attempts to connect found no local port or open file here \
             ({reached} of {asked} were reached before the load). Raise the limit of open files, \
             spread them over several --source addresses, or ask for fewer with --connections.",
            failures.exhausted
        )),
        () if reached < asked && failures.refused == 0 => Some(format!(
            "connections lost: {reached} of {asked} were reached, and the target refused none. \
             Give them more time with --connect-timeout, open them slower with --open-rate, or \
             ask for fewer with --connections."
        )),
        () if total.intended == total.outcome(Outcome::Unfinished) && 0 < total.intended => {
            Some(format!(
                "nothing was measured: 0 of {} had a response when the load ended. Wait longer \
                 for them with --drain (phases.drain), and look if the target answers at all.",
                requests(total.intended)
            ))
        }
        () if 0 < failures.unasked && total.answers <= UNASKED_OF_ALL * failures.unasked => {
            Some(format!(
                "responses cannot be matched to requests: {} times the target sent bytes that belong to no \
                 request, beside {} responses. See what it sends on a connection before it is asked.",
                counted(failures.unasked),
                counted(total.answers)
            ))
        }
        // An open loop counts what it cannot send.
        () if matches!(plan.pacing, Pacing::Closed { .. }) && unconnected.is_some() => {
            unconnected.map(|unconnected| {
                format!(
                    "{unconnected}. Meanwhile a closed loop asks for nothing, so the failures, the rate and the \
                     times are those of the rest: see why it ended, or use an open loop (--rate)."
                )
            })
        }
        () if total.intended == 0 && measurement.is_behind => Some(
            "nothing was measured: more requests were due before than the generator could count. Lower the rate, \
             or give it more cores."
                .to_owned(),
        ),
        () if total.intended == 0 => Some(
            "nothing was measured: no request was due in this time. Measure longer.".to_owned(),
        ),
        () if 0 < samples => Some(format!(
            "{samples} samples lost: the disk did not keep up. Write --samples elsewhere, or leave \
             it out."
        )),
        () => None,
    };
    Gate { name: GateName::Lost, figure, reason }
}

/// Returns the share of the measurement during which the machine paused a thread; `None` if that
/// was not measured.
pub fn paused_share(measurement: &Measurement) -> Option<f64> {
    let hiccups = &measurement.hiccups;
    let paused = hiccups.count_above(HICCUP_ALWAYS_ALLOWED) as f64;
    (!hiccups.is_empty()).then(|| paused / hiccups.count() as f64)
}

fn disturbed(plan: &Plan, measurement: &Measurement, total: &Part, besides: Besides) -> Gate {
    let machine = &measurement.machine;
    // The steal is that of the worst CPU, and a quota stopped us for at most its share: so their sum may be above
    // the time, and above what any shard lost.
    let throttled = machine.throttled_share.unwrap_or(0.0);
    let taken = (machine.steal_share.unwrap_or(0.0) + throttled).min(1.0);
    let at_most = if 0.0 < throttled { "at most " } else { "" };
    let (pauses, too_long) = match plan.pacing {
        Pacing::Open { .. } => {
            let hiccup = p99(&measurement.hiccups);
            let asked = P99::asked(plan, total, besides);
            let bound = lateness_bound(plan, asked).max(HICCUP_ALWAYS_ALLOWED);
            let (found, allowed) = lengths(hiccup, bound);
            let why = format!("a sleeping thread was woken late by {found} (p99), bound {allowed}");
            (format!("hiccups p99 {found}, bound {allowed}"), (bound < hiccup).then_some(why))
        }
        // A closed loop sends nothing while the machine pauses, so its requests do not show the
        // pause.
        Pacing::Closed { .. } => {
            let paused = paused_share(measurement).unwrap_or(0.0);
            let (found, allowed) = percents(paused, PAUSES_ALLOWED, 2);
            let why = format!("pauses took {found} of the time, bound {allowed}");
            (format!("pauses {found}, bound {allowed}"), (PAUSES_ALLOWED < paused).then_some(why))
        }
    };
    let length = measurement.window.length().as_secs_f64();
    // The kernel counts in ticks: one more or less means nothing in a short load.
    let bound = (LOSS_ALLOWED + Nanos::TICK.as_secs_f64() / length).min(1.0);
    // Both are whole ticks over the same time, so they may be equal but for rounding.
    let is_taken = bound + ROUNDING < taken;
    let (taken, bound) = percents(taken, bound, 2);
    let figure = format!("steal and throttling {at_most}{taken}, bound {bound}; {pauses}");
    let taken = is_taken.then(|| {
        format!("steal and throttling took {at_most}{taken} of the generator's time, bound {bound}")
    });
    let why: Vec<String> = taken.into_iter().chain(too_long).collect();
    let remedy = match is_taken {
        true => "Lift its CPU quota, or use a machine that is not overcommitted.",
        false => "Repeat it, or use a quieter machine.",
    };
    let reason =
        (!why.is_empty()).then(|| format!("machine disturbed: {}. {remedy}", why.join("; ")));
    Gate { name: GateName::Disturbed, figure, reason }
}

fn find(plan: &Plan, measurement: &Measurement, total: &Part, judgement: &mut Judgement) {
    let seconds = measurement.window.length().as_secs_f64();
    let rate = |count: u64| count as f64 / seconds;
    let unconnected = unconnected(plan, measurement);
    // A target that is not there completes less than is offered, too.
    if let Some(unconnected) = unconnected {
        judgement.saturated = None;
        judgement.refused_share = unconnected.is_refusal.then_some(unconnected.share);
        judgement.findings.push(unconnected.to_string());
    }
    if judgement.saturated == Some(true) {
        let each = total.service.mean().unwrap_or_default().as_secs_f64();
        let in_use = each * total.service.count() as f64 / seconds;
        let connections = plan.connections();
        let (completed, intended) =
            (grouped(rate(total.completed_inside)), grouped(rate(total.intended)));
        let sessions = match plan.arrivals {
            Some(Arrivals::Sessions) => {
                let (begun, ended) = measurement.sessions.counts();
                let (begun, ended) = (counted(begun), counted(ended));
                format!(" ({begun} sessions began, and {ended} ended)")
            }
            Some(Arrivals::Requests) | None => String::new(),
        };
        let completed = format!("{completed}/s of {intended}/s completed{sessions}");
        // The target at its limit is slow to free the connections, but there may also be too few of them.
        judgement.saturation = Some(match CONNECTIONS_IN_USE * connections as f64 <= in_use {
            true => format!(
                "{completed}: requests waited for one of the {} connections, which \
                 were all in use; with more of them the target may complete more, unless it is saturated",
                counted(connections as u64),
            ),
            false => format!(
                "the target is saturated: {completed}; response time grows while it \
                 lasts, so its quantiles depend on the duration",
            ),
        });
    }
    if 0 < total.outcome(Outcome::Dropped) {
        judgement.findings.push(format!(
            "overloaded: the backlog reached its bound of {} requests, and the load ended after {:.1} s of {}; \
             quantiles are lower bounds",
            counted((plan.limits.backlog * plan.pools.len()) as u64),
            measurement.window.length().as_secs_f64(),
            plan.measure,
        ));
    }
    if measurement.ended == Ended::Missed {
        judgement.findings.push(format!(
            "the load ended after {:.1} s of {}: so many requests were over a limit that the SLO is \
             missed whatever follows; its figures are those of this time",
            measurement.window.length().as_secs_f64(),
            plan.measure,
        ));
    }
    let (asked, reached) = (measurement.connections_asked, measurement.connections_reached);
    if reached < asked && 0 < measurement.connecting_failed.refused {
        judgement.findings.push(format!(
            "the target accepted {} of {} connections, and refused the others{}",
            counted(reached),
            counted(asked),
            places(measurement),
        ));
    }
    let unasked = measurement.connecting_failed.unasked;
    if 0 < unasked {
        judgement.findings.push(format!(
            "the target sent bytes that belong to no request, {} times: each time the connection \
             was closed and another one opened",
            counted(unasked),
        ));
    }
    let refused = measurement.connecting_failed.refused;
    if reached == asked && 0 < refused {
        judgement.findings.push(format!(
            "the target refused {} attempts to connect{}",
            counted(refused),
            places(measurement),
        ));
    }
    let Failures { unannounced, after_one, .. } = measurement.connecting_failed;
    // Half of the responses: requests that were sent before the close arrived have none.
    let is_each = 0 < after_one && unannounced < 2 * after_one && total.answers < 2 * after_one;
    judgement.closed_silently = is_each.then_some(after_one);
    // Without a drain, a few are expected.
    let unfinished = total.outcome(Outcome::Unfinished);
    let is_noted = Nanos::ZERO < plan.drain || total.intended < UNNOTED * unfinished;
    if 0 < unfinished && is_noted {
        judgement.findings.push(format!(
            "unfinished {} of {}: no response when the load ended",
            counted(unfinished),
            requests(total.intended),
        ));
    }
}

fn warn(
    plan: &Plan,
    measurement: &Measurement,
    total: &Part,
    besides: Besides,
    judgement: &mut Judgement,
) {
    let machine = &measurement.machine;
    let mut warn = |warning: String| judgement.warnings.push(warning);
    match plan.pacing {
        Pacing::Closed { .. } => {}
        Pacing::Open { .. } => {
            // A load that ended before it measured anything says nothing about its shards.
            if BUSY <= machine.busy_share && 0 < total.intended {
                warn(format!(
                    "the busiest shard worked {:.0} % of the time: near its maximum the \
                     generator adds delays of its own; give it more cores",
                    100.0 * machine.busy_share
                ));
            }
            if plan.arrivals == Some(Arrivals::Sessions)
                && judgement.saturated.is_none()
                && measurement.sessions.still_fills()
            {
                let (begun, ended) = measurement.sessions.counts();
                warn(format!(
                    "{} sessions began in the measurement and {} ended: those in progress still grew in number, so \
                     that not all requests that belong to this rate were due yet, and the target may not keep up \
                     with them. Measure for several times the length of a session with --duration, after a warm-up \
                     of its length with --warm-up.",
                    counted(begun),
                    counted(ended),
                ));
            }
            let interval = P99::of_response(total);
            judgement.p99_at_most = interval.is_wide();
            if judgement.p99_at_most {
                warn(format!(
                    "the response p99 lies between {} and {}: the generator's own lateness is more \
                     than a tenth of it",
                    interval.lower, interval.upper,
                ));
            }
            let offered = total.intended as f64 / measurement.window.length().as_secs_f64();
            let of_a_shard = offered / plan.cpus.len() as f64;
            if let Some(maximum) = besides.maximum_of_a_shard.map(Rate::as_per_second)
                && SURE * maximum < of_a_shard
            {
                warn(format!(
                    "{}/s from a shard is more than half of the {}/s that the self-test measured \
                     as its maximum here: use more --shards, or repeat it with load --self-test",
                    grouped(of_a_shard),
                    grouped(maximum),
                ));
            }
        }
    }
    if let Some(Segments { sent, retransmitted }) = machine.segments
        && RETRANSMITS_UNNOTICED * (sent as f64) < retransmitted as f64
    {
        warn(format!(
            "TCP sent {} of {} segments again ({:.2} %, over all connections of this host): the \
             network may be the cause of slow responses",
            counted(retransmitted),
            counted(sent),
            100.0 * retransmitted as f64 / sent as f64,
        ));
    }
    let asked = plan.limits.open_gap * plan.connections() as u64 / plan.cpus.len() as u64;
    if Nanos::ZERO < asked
        && measurement.connections_reached == measurement.connections_asked
        && OPENING_UNNOTICED.max(asked * 2) < measurement.opening
    {
        warn(format!(
            "opening {} connections took {}, and --open-rate asked for {asked}: the target or this \
             machine was slower",
            counted(measurement.connections_reached),
            measurement.opening,
        ));
    }
    if let Some(free) = machine.free_ports.filter(|free| *free < FREE_PORTS_ENOUGH) {
        warn(format!(
            "only {free} local ports may have been free: new connections may fail; \
             spread them over several --source addresses, or raise --keep-alive"
        ));
    }
    if 0 < total.sent_again {
        warn(format!(
            "{} had to be sent again, with their intended times: the target announced the close \
             of their connection before their turn; fewer --pipeline, or --keep-alive with the \
             target's own limit, avoids it",
            requests(total.sent_again),
        ));
    }
    if total.response.clamped() > 0 {
        warn(format!(
            "{} response times were longer than an hour and count as one hour",
            total.response.clamped()
        ));
    }
}

/// Names the addresses that refused connections, if there are others: `: 127.0.0.1:81 (12 times)`
fn places(measurement: &Measurement) -> String {
    let places = measurement.refused.iter();
    let places = places.map(|(address, count)| format!("{address} ({} times)", counted(*count)));
    let places = places.collect::<Vec<_>>().join(", ");
    if places.is_empty() { places } else { format!(": {places}") }
}

fn p99(histogram: &Histogram) -> Nanos {
    histogram.quantile(Quantile::P99).unwrap_or_default()
}

//! What an observation means. Validity judges the generator and the environment, never the system
//! under test: saturation, failures and a backlog are findings.

use std::collections::BTreeMap;

use measure::estimate::{self, Share as Verdict};
use measure::{Instant, Quantile};
use results::Load;
use results::components::Components;
use results::journal::{Observed, Status};

use crate::backend::Consumed;
use crate::limits::{self, Shortfall};
use crate::seconds::{self, window};
use crate::spec::{Resolved, Slo};
use crate::trial::Observation;

#[cfg(test)]
mod tests;

/// The system no longer follows when it completes less than this share of what is offered. The
/// count of arrivals cancels out of the ratio; what remains are requests under way at the edges,
/// far below 3 % unless response times reach the length of the measurement.
const FOLLOWS: f64 = 0.97;

/// The confidence of an SLO's verdict on one trial.
const CONFIDENCE: f64 = 0.95;

/// An observation, judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Judged {
    pub status: Status,
    pub reasons: Vec<String>,
    pub observed: Option<Observed>,
    pub findings: Vec<String>,
    pub warnings: Vec<String>,
    /// What the components did by the second, which names the limit and is kept.
    pub components: Components,
}

pub fn judge(observation: &Observation, resolved: &Resolved) -> Judged {
    let load = &observation.driven.load;
    let mut reasons = load.validity.reasons.clone();
    reasons.extend(observation.moved.iter().map(|moved| format!("the placement changed: {moved}")));
    if load.total.counts.intended == 0 {
        reasons.push("nothing was sent in the measurement".to_owned());
    }
    let valid = load.validity.valid && reasons.is_empty();
    if !load.validity.valid && reasons.is_empty() {
        reasons.push("the generator calls it not valid and gives no reason".to_owned());
    }
    let components = seconds::of(load, &observation.driven.consumed);
    let observed = observed(observation, &components, resolved);
    let mut findings = load.findings.clone();
    if observed.saturated && !findings.iter().any(|finding| finding.contains("saturated")) {
        findings.push(format!(
            "saturated: {} of {} completed",
            per_second(observed.completed_per_s),
            per_second(observed.offered_per_s)
        ));
    }
    let mut warnings = load.warnings.clone();
    warnings.extend(doubts(load, resolved));
    Judged {
        status: if valid { Status::Valid } else { Status::Invalid },
        reasons,
        observed: Some(observed),
        findings,
        warnings,
        components,
    }
}

fn observed(observation: &Observation, components: &Components, resolved: &Resolved) -> Observed {
    let load = &observation.driven.load;
    let times = load.total.response_time.as_ref();
    let rates = &load.total.rates_per_s;
    let counts = &load.total.counts;
    let (begin, end) = window(load, &observation.driven.consumed);
    let cpu = used(&observation.driven.consumed, begin, end);
    let slo_met = (!resolved.spec.slo.is_empty())
        .then(|| resolved.spec.slo.iter().all(|slo| met(slo, load).passed));
    let saturated = rates.asked.is_some() && rates.completed < FOLLOWS * rates.offered;
    // An error is an answer too, and completes: who answers with errors does not follow either.
    let failing = (1.0 - FOLLOWS) * (counts.intended as f64) < failures(load) as f64;
    let shortfall = match (saturated || failing, rates.asked.is_none() || slo_met == Some(false)) {
        (true, _) => Shortfall::Saturated,
        (false, true) => Shortfall::Slow,
        (false, false) => Shortfall::None,
    };
    let limit = limits::first(components, shortfall);
    Observed {
        offered_per_s: rates.offered,
        completed_per_s: rates.completed,
        goodput_per_s: rates.goodput,
        requests: counts.intended,
        failures: failures(load),
        p50_ns: times.map(|times| times.p50_ns),
        p90_ns: times.map(|times| times.p90_ns),
        p99_ns: times.map(|times| times.p99_ns),
        p999_ns: times.map(|times| times.p999_ns),
        max_ns: times.map(|times| times.max_ns),
        lateness_p99_ns: load.total.lateness.as_ref().map(|times| times.p99_ns),
        hiccup_p99_ns: load.generator.hiccup.as_ref().map(|times| times.p99_ns),
        slo_met,
        saturated,
        bytes_per_answer: (0 < counts.completed && 0 < counts.bytes_received)
            .then(|| counts.bytes_received as f64 / counts.completed as f64),
        cpu,
        limited_by: limit.as_ref().map(|found| found.words.clone()),
        limit: limit.map(|found| found.limit),
    }
}

/// Every intended request that did not succeed.
fn failures(load: &Load) -> u64 {
    let counts = &load.total.counts;
    counts.failed.max(counts.intended.saturating_sub(counts.ok))
}

/// What one SLO says of one trial.
struct Met {
    passed: bool,
    /// The samples do not decide it at the stated confidence.
    undecided: bool,
}

/// The exact binomial verdict decides where it can; where the samples are too few for one, the
/// point estimate does, and a warning says so.
fn met(slo: &Slo, load: &Load) -> Met {
    let n = load.total.counts.intended;
    let (over, level) = match *slo {
        Slo::Failures { max } => (failures(load), 1.0 - max.0),
        Slo::ResponseTime { quantile, max } => {
            let times = load.total.response_time.as_ref();
            let Some(histogram) = times.and_then(|times| times.histogram()) else {
                return Met { passed: false, undecided: false };
            };
            // A request that failed at once is over as well: it did not answer within the limit.
            let unrecorded = n.saturating_sub(histogram.count());
            let slow = histogram.count_above(max);
            (slow + unrecorded.max(quick_failures(load)), quantile.level())
        }
    };
    let over = over.min(n);
    let within_point = n > 0 && over as f64 <= (1.0 - level) * n as f64 + 1e-9;
    // "No failures at all" leaves nothing to chance.
    let Some(level) = Quantile::new(level).filter(|level| level.level() < 1.0) else {
        return Met { passed: over == 0 && n > 0, undecided: false };
    };
    match estimate::share_within(n, over, level, CONFIDENCE) {
        Verdict::Pass => Met { passed: true, undecided: false },
        Verdict::Fail => Met { passed: false, undecided: false },
        Verdict::Undecided => Met { passed: within_point, undecided: true },
    }
}

/// Failures that took no time: they are no slow answers.
fn quick_failures(load: &Load) -> u64 {
    let slow = ["ok", "timeout", "unfinished", "dropped"];
    load.total
        .outcomes
        .iter()
        .filter(|(kind, _)| !slow.contains(&kind.as_str()))
        .map(|(_, n)| n)
        .sum()
}

/// What weakens the trial's verdicts, with advice.
fn doubts(load: &Load, resolved: &Resolved) -> Vec<String> {
    let mut doubts = Vec::new();
    for slo in &resolved.spec.slo {
        if met(slo, load).undecided {
            doubts.push(format!("{slo} is a close call: measure longer to decide it at 95 %"));
        }
    }
    let quantiles = resolved.spec.slo.iter().filter_map(|slo| match slo {
        Slo::ResponseTime { quantile, .. } => Some(*quantile),
        Slo::Failures { .. } => None,
    });
    let count = load.total.response_time.as_ref().map_or(0, |times| times.count);
    if let Some(highest) = quantiles.max_by(|a, b| a.level().total_cmp(&b.level())) {
        let beyond = estimate::beyond(count, highest);
        let wanted = resolved.spec.phases.measure.min_tail_samples;
        if beyond < wanted {
            doubts.push(format!(
                "p{} rests on {beyond} requests beyond it, {wanted} are wanted: measure longer",
                (highest.level() * 1e8).round() / 1e6
            ));
        }
    }
    doubts
}

/// CPUs used by each component between two points of the clock.
fn used(
    consumed: &BTreeMap<String, Consumed>,
    begin: Instant,
    end: Instant,
) -> BTreeMap<String, f64> {
    let between = |(name, consumed): (&String, &Consumed)| {
        let cpu = seconds::cpu_between(&consumed.cpu, begin, end)?;
        Some((name.clone(), seconds::rounded(cpu)))
    };
    consumed.iter().filter_map(between).collect()
}

fn per_second(rate: f64) -> String {
    format!("{}/s", measure::quantity::grouped(rate))
}

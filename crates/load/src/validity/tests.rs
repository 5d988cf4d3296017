use ::measure::series::Series;
use ::measure::{Instant, Rate};
use net::Timer;

use super::*;
use crate::measurement::{Lane, Machine};
use crate::observe::Window;
use crate::pacing::{Law, Offered, Shape, Sharing};
use crate::shard::{Ended, Limits, Overdue};
use crate::source::Think;

fn plan() -> Plan {
    let shape = Shape::constant(Rate::per_second(1_000.0).unwrap());
    let load = Offered::Drawn { shape, law: Law::Poisson };
    Plan {
        targets: 1,
        lanes: vec![Lane { endpoints: Vec::new(), connections: 1 }],
        requests: None,
        pacing: Pacing::Open { load, sharing: Sharing::InTurn },
        warm_up: Nanos::ZERO,
        measure: Nanos::SECOND,
        drain: Nanos::SECOND,
        limits: Limits {
            timeout: Nanos::SECOND,
            overdue: Overdue::Cut,
            backlog: 10,
            connect_timeout: Nanos::SECOND,
            open_gap: Nanos::ZERO,
            keep_alive: None,
        },
        slo: None,
        interval: Nanos::SECOND,
        timer: Timer::Hybrid,
        cpus: vec![None],
        seed: 1,
    }
}

/// A load whose p99s of response time, lateness and hiccups are as given, in microseconds.
fn measurement(response: u64, lateness: u64, hiccup: u64) -> Measurement {
    let mut part = Part { intended: 1, completed_inside: 1, ..Part::default() };
    part.outcomes[Outcome::Ok as usize] = 1;
    part.response.record(Nanos::from_micros(response));
    part.lateness.record(Nanos::from_micros(lateness));
    let mut hiccups = Histogram::new();
    hiccups.record(Nanos::from_micros(hiccup));
    let window = Window { start: Instant(0), end: Instant(1_000_000_000) };
    Measurement {
        parts: vec![part],
        labels: Vec::new(),
        segments: Vec::new(),
        series: Series::new(Instant(0), Nanos::SECOND),
        hiccups,
        hiccup_series: Vec::new(),
        start: Instant(0),
        window,
        end: window.end,
        ended: Ended::AsPlanned,
        partial: false,
        connections_asked: 1,
        connections_reached: 1,
        machine: Machine::default(),
    }
}

fn failed_gates(plan: &Plan, measurement: &Measurement) -> Vec<&'static str> {
    let judgement = judge(plan, measurement, 0);
    let failed = judgement.gates.iter().filter(|gate| gate.reason.is_some());
    failed.map(|gate| gate.name).collect()
}

#[test]
fn a_generator_may_be_late_by_a_tenth_of_what_it_measures() {
    for (response, lateness, failed) in [
        (200, 99, &[][..]),
        (200, 102, &["late"]),
        (5_000, 499, &[]),
        (5_000, 505, &["late"]),
        // However slow the target is, a millisecond is too much.
        (1_000_000, 1_010, &["late"]),
    ] {
        let found = failed_gates(&plan(), &measurement(response, lateness, 100));
        assert_eq!(found, failed, "{response} {lateness}");
    }
}

#[test]
fn an_slo_loosens_or_tightens_the_bound_to_a_twentieth_of_it() {
    let with_slo = |ms| Plan { slo: Some(Nanos::from_millis(ms)), ..plan() };
    assert!(failed_gates(&with_slo(100), &measurement(1_000_000, 4_900, 100)).is_empty());
    assert_eq!(failed_gates(&with_slo(10), &measurement(9_000, 510, 100)), ["late"]);
}

#[test]
fn pauses_steal_and_throttling_disturb() {
    assert_eq!(failed_gates(&plan(), &measurement(1_000, 10, 600)), ["disturbed"]);
    for (steal, throttled) in [(Some(0.02), None), (None, Some(0.5))] {
        let mut disturbed = measurement(1_000, 10, 100);
        disturbed.machine.steal_share = steal;
        disturbed.machine.throttled_share = throttled;
        assert_eq!(failed_gates(&plan(), &disturbed), ["disturbed"]);
    }
}

#[test]
fn a_saturated_failing_target_is_a_finding_and_no_invalidity() {
    let mut saturated = measurement(1_000, 10, 100);
    let part = &mut saturated.parts[0];
    part.intended = 1_000;
    part.outcomes = [500, 100, 0, 0, 0, 0, 0, 0, 100, 300];
    part.completed_inside = 600;
    let judgement = judge(&plan(), &saturated, 0);
    assert!(judgement.is_valid());
    let findings = judgement.findings.join("; ");
    assert!(findings.contains("600/s of 1,000/s completed"), "{findings}");
    assert!(findings.contains("backlog reached its bound"), "{findings}");
    assert!(findings.contains("100 of 1,000 requests ended as `status`"), "{findings}");
}

#[test]
fn connections_that_were_not_reached_are_lost() {
    let mut lost = measurement(1_000, 10, 100);
    lost.connections_asked = 10;
    assert_eq!(failed_gates(&plan(), &lost), ["lost"]);
}

#[test]
fn a_closed_loop_on_a_busy_generator_is_bound_by_it() {
    let closed = Plan { pacing: Pacing::Closed { think: Think::NONE }, ..plan() };
    let mut busy = measurement(1_000, 5_000, 100);
    busy.machine.busy_share = 0.9;
    let judgement = judge(&closed, &busy, 0);
    assert_eq!((judgement.is_valid(), judgement.generator_bound), (true, Some(true)));
}

use ::measure::pace::{Distribution, Shape, Think};
use ::measure::series::Series;
use ::measure::{Balance, Instant, Rate};

use super::GateName::{Disturbed, Late, Lost};
use super::*;
use crate::measurement::{Machine, Pool};
use crate::observe::{Interval, Window};
use crate::pacing::{Offered, Sharing};
use crate::shard::{Ended, Failures, Limits};

fn plan() -> Plan {
    let shape = Shape::constant(Rate::per_second(1_000.0).unwrap());
    let load = Offered::Drawn { shape, distribution: Distribution::Poisson };
    let pools = vec![Pool { endpoints: Vec::new(), connections: 1 }];
    let pacing = Pacing::Open { load, sharing: Sharing::InTurn };
    let limits = Limits {
        timeout: Nanos::SECOND,
        backlog: 10,
        connect_timeout: Nanos::SECOND,
        ..Limits::default()
    };
    Plan { drain: Nanos::SECOND, limits, ..Plan::whole(pools, pacing, Nanos::SECOND) }
}

/// Returns a load with the given p99s of response time, lateness and hiccups, in microseconds.
fn measurement(response: u64, lateness: u64, hiccup: u64) -> Measurement {
    let mut part = Part { intended: 1, completed_inside: 1, ..Part::default() };
    part.outcomes[Outcome::Ok as usize] = 1;
    part.response.record(Nanos::from_micros(response));
    part.less_lateness.record(Nanos::from_micros(response.saturating_sub(lateness)));
    part.lateness.record(Nanos::from_micros(lateness));
    let mut hiccups = Histogram::new();
    hiccups.record(Nanos::from_micros(hiccup));
    let window = Window { start: Instant(0), end: Instant(1_000_000_000) };
    Measurement {
        parts: vec![part],
        labels: Vec::new(),
        segments: Vec::new(),
        balance: Balance::new(Instant(0)),
        sessions: Balance::new(Instant(0)),
        series: Series::new(Instant(0), Nanos::SECOND),
        drained: Interval::default(),
        hiccups,
        hiccup_series: Vec::new(),
        taken_series: Vec::new(),
        receive_delay: None,
        wake_up_delay: Histogram::new(),
        start: Instant(0),
        window,
        end: window.end,
        ended: Ended::AsPlanned,
        is_behind: false,
        partial: false,
        connections_asked: 1,
        connections_reached: 1,
        opening: Nanos::ZERO,
        connecting_failed: Failures::default(),
        refused: Vec::new(),
        machine: Machine::default(),
    }
}

fn failed_gates(plan: &Plan, measurement: &Measurement) -> Vec<GateName> {
    let judgement = judge(plan, measurement, Besides::default());
    let failed = judgement.gates.iter().filter(|gate| gate.reason.is_some());
    failed.map(|gate| gate.name).collect()
}

#[test]
fn a_generator_may_be_late_by_a_tenth_of_what_it_measures() {
    for (response, lateness, failed) in [
        (200, 99, &[][..]),
        (200, 102, &[Late]),
        (5_000, 450, &[]),
        (5_000, 460, &[Late]),
        // However slow the target is, more than a millisecond is too much.
        (1_000_000, 1_010, &[Late]),
    ] {
        let found = failed_gates(&plan(), &measurement(response, lateness, 100));
        assert_eq!(found, failed, "{response} {lateness}");
    }
}

/// A rate that leaves a shard idle makes nothing late, and no pause makes a request later than it lasts.
#[test]
fn a_late_generator_names_only_a_cause_that_can_have_made_it_late() {
    let said = |requests, lateness, hiccup, waits: Option<f64>, busy_share| {
        let mut late = measurement(1_000, lateness, hiccup);
        let part = &mut late.parts[0];
        part.intended = requests;
        part.outcomes[Outcome::Ok as usize] = requests;
        (late.machine.run_queue_wait_share, late.machine.busy_share) = (waits, busy_share);
        let judgement = judge(&plan(), &late, Besides::default());
        let reason = judgement.reasons().into_iter().find(|it| it.starts_with("generator late"));
        reason.unwrap().split_once(". ").unwrap().1.to_owned()
    };
    let others = "Its core ran something else 5 % of the time. Free the core";
    assert_eq!(said(999, 710, 10, Some(0.05), 0.1), format!("{others}."));
    assert_eq!(said(1_000, 710, 10, Some(0.05), 0.1), format!("{others} or lower the rate."));
    assert_eq!(said(5, 710, 10, None, 0.8), "It was busy 80 % of the time. Give it more cores.");
    let busy = said(5_000, 710, 10, None, 0.8);
    assert!(busy.ends_with("Give it more cores or lower the rate."), "{busy}");
    let paused = said(5, 710, 360, None, 0.1);
    assert!(paused.starts_with("The machine paused (hiccups up to 360 µs). Repeat it"), "{paused}");
    let unknown = said(5, 710, 220, None, 0.1);
    let words = "The cause was not measured: the machine paused for 220 µs at most.";
    assert!(unknown.starts_with(words), "{unknown}");
}

/// The p99 is 1.7 ms with lateness and 1 ms without, although the p99 of the lateness itself is
/// small.
#[test]
fn a_p99_increased_by_lateness_is_refused_unless_an_slo_allows_it() {
    let inflated = |lateness| {
        let mut inflated = measurement(1_700, lateness, 100);
        let part = &mut inflated.parts[0];
        part.less_lateness.clear();
        part.less_lateness.record(Nanos::from_micros(1_000));
        inflated
    };
    for lateness in [20, 160] {
        let judgement = judge(&plan(), &inflated(lateness), Besides::default());
        assert!(!judgement.is_valid(), "{lateness}");
        let reason = &judgement.reasons()[0];
        assert!(reason.starts_with("generator late"), "{reason}");
    }
    let reason = &judge(&plan(), &inflated(20), Besides::default()).reasons()[0];
    assert!(reason.contains("response p99 between 1.00 ms and 1.70 ms"), "{reason}");
    let with_slo = Plan { slo: Some(Nanos::from_millis(10)), ..plan() };
    for lateness in [20, 160, 490] {
        assert!(failed_gates(&with_slo, &inflated(lateness)).is_empty(), "{lateness}");
    }
    assert_eq!(failed_gates(&with_slo, &inflated(510)), [Late]);
}

/// A lateness of some milliseconds does not matter to a limit of half a second, however fast the responses are.
#[test]
fn the_bound_of_lateness_is_a_part_of_the_limit_that_is_asked_for() {
    let with_slo = Plan { slo: Some(Nanos::from_millis(500)), ..plan() };
    assert!(failed_gates(&with_slo, &measurement(8_000, 5_000, 5_000)).is_empty());
    assert_eq!(failed_gates(&plan(), &measurement(8_000, 5_000, 100)), [Late]);
}

#[test]
fn a_figure_that_exceeds_its_bound_does_not_look_like_it() {
    let with_slo = Plan { slo: Some(Nanos::from_millis(20)), ..plan() };
    let late = judge(&with_slo, &measurement(8_000, 1_003, 100), Besides::default());
    let reason = &late.reasons()[0];
    assert!(!reason.contains("lateness p99 1.00 ms, bound 1.00 ms"), "{reason}");
    // So many ticks were stolen as the bound has: that is within it.
    let mut stolen = measurement(800, 10, 100);
    let length = stolen.window.length().as_secs_f64();
    let bound = LOSS_ALLOWED + Nanos::TICK.as_secs_f64() / length;
    stolen.machine.steal_share = Some(bound);
    assert!(failed_gates(&plan(), &stolen).is_empty());
    stolen.machine.steal_share = Some(bound + 1e-5);
    let reasons = judge(&plan(), &stolen, Besides::default()).reasons();
    let (_, words) = reasons[0].split_once(" took ").unwrap();
    let (taken, bound) = words.split_once(" of the generator's time, bound ").unwrap();
    assert!(!bound.starts_with(taken), "{reasons:?}");
}

#[test]
fn the_share_that_a_quota_took_is_called_the_upper_bound_that_it_is() {
    let mut throttled = measurement(800, 10, 100);
    throttled.machine.throttled_share = Some(0.5);
    let judgement = judge(&plan(), &throttled, Besides::default());
    let reason = &judgement.reasons()[0];
    assert!(reason.contains("steal and throttling took at most 50"), "{reason}");
}

/// The load is for the delivery of its events: what is late in their acceptance does not matter.
#[test]
fn a_load_with_a_receiver_is_judged_by_the_p99_of_the_delivery() {
    let failed = |plan: &Plan, lateness, low, high| {
        let delivery_p99 = Some((Nanos::from_micros(low), Nanos::from_micros(high)));
        let besides = Besides { delivery_p99, ..Besides::default() };
        let judgement = judge(plan, &measurement(400, lateness, 100), besides);
        judgement.gates[0].reason.clone()
    };
    assert_eq!(failed(&plan(), 160, 2_000, 2_190), None);
    assert_eq!(failed(&plan(), 160, 300, 390), None, "100 µs cannot be told from the machine's");
    let why = failed(&plan(), 50, 2_000, 2_210).unwrap();
    assert!(why.contains("leaves the delivery p99 between 2.00 ms and 2.21 ms"), "{why}");
    // An SLO is one of the response time.
    let with_slo = Plan { slo: Some(Nanos::from_millis(1)), ..plan() };
    let why = failed(&with_slo, 160, 2_000, 2_000).unwrap();
    assert!(why.contains("lateness p99 160 µs, bound 100 µs"), "{why}");
}

#[test]
fn an_slo_loosens_or_tightens_the_bound_to_a_twentieth_of_it() {
    let with_slo = |ms| Plan { slo: Some(Nanos::from_millis(ms)), ..plan() };
    assert!(failed_gates(&with_slo(100), &measurement(1_000_000, 4_900, 100)).is_empty());
    assert_eq!(failed_gates(&with_slo(10), &measurement(9_000, 510, 100)), [Late]);
}

#[test]
fn pauses_steal_and_throttling_disturb() {
    assert_eq!(failed_gates(&plan(), &measurement(1_000, 10, 600)), [Disturbed]);
    for (steal, throttled) in [(Some(0.03), None), (None, Some(0.5))] {
        let mut disturbed = measurement(1_000, 10, 100);
        disturbed.machine.steal_share = steal;
        disturbed.machine.throttled_share = throttled;
        assert_eq!(failed_gates(&plan(), &disturbed), [Disturbed]);
    }
    // The kernel counts in ticks of 10 ms: in one second one tick is the whole bound.
    let mut one_tick = measurement(1_000, 10, 100);
    one_tick.machine.steal_share = Some(0.01);
    assert!(failed_gates(&plan(), &one_tick).is_empty());
}

#[test]
fn a_closed_loop_is_disturbed_by_pauses_that_take_more_than_a_little_of_its_time() {
    let closed = Plan { pacing: Pacing::Closed { think: Think::NONE }, ..plan() };
    for (milliseconds, failed) in [(30, &[][..]), (31, &[Disturbed])] {
        let mut paused = measurement(1_000, 10, 100);
        paused.hiccups.record_n(Nanos::from_micros(100), 1_000 - 1 - milliseconds);
        paused.hiccups.record_n(Nanos::from_millis(20), milliseconds);
        assert_eq!(failed_gates(&closed, &paused), failed, "{milliseconds} of 1,000 ms");
    }
}

/// Returns a load of 1,000 requests in a second, of which 600 are answered and others fail.
fn saturated() -> Measurement {
    let mut saturated = measurement(1_000, 10, 100);
    let part = &mut saturated.parts[0];
    part.intended = 1_000;
    part.outcomes = [500, 100, 0, 0, 0, 0, 0, 0, 0, 100, 300];
    part.completed_inside = 600;
    for arrival in 0..1_000 {
        saturated.balance.arrived(Instant(arrival * 1_000_000));
    }
    for answer in 0..600 {
        saturated.balance.answered(Instant(answer * 1_000_000 * 1_000 / 600));
    }
    saturated
}

#[test]
fn a_saturated_failing_target_is_a_finding_and_the_load_stays_valid() {
    let judgement = judge(&plan(), &saturated(), Besides::default());
    assert!(judgement.is_valid());
    let saturation = judgement.saturation.unwrap_or_default();
    assert!(saturation.contains("600/s of 1,000/s completed"), "{saturation}");
    let findings = judgement.findings.join("; ");
    assert!(findings.contains("backlog reached its bound"), "{findings}");
    assert!(findings.contains("unfinished 300 of 1,000 requests"), "{findings}");
}

#[test]
fn connections_that_were_not_reached_are_lost_unless_the_target_refused_them() {
    let mut lost = measurement(1_000, 10, 100);
    lost.connections_asked = 10;
    assert_eq!(failed_gates(&plan(), &lost), [Lost]);
    lost.connecting_failed.refused = 9;
    assert!(failed_gates(&plan(), &lost).is_empty());
    let findings = judge(&plan(), &lost, Besides::default()).findings.join("; ");
    assert!(findings.contains("accepted 1 of 10 connections"), "{findings}");
}

#[test]
fn connections_of_a_part_of_the_load_are_called_its_share() {
    let mut all = measurement(1_000, 10, 100);
    (all.connections_asked, all.connections_reached) = (12, 12);
    let figure = |plan: &Plan| {
        let gates = judge(plan, &all, Besides::default()).gates;
        gates.into_iter().find(|gate| gate.name == Lost).unwrap().figure
    };
    let whole = figure(&plan());
    assert!(whole.starts_with("12 of 12 connections, "), "{whole}");
    let part = figure(&Plan { part: Portion::new(1, 5).unwrap(), ..plan() });
    let text = "12 of 12 connections (its share: it is part 2/5 of the load), ";
    assert!(part.starts_with(text), "{part}");
}

#[test]
fn connections_that_the_target_refuses_later_are_a_finding() {
    let mut refusing = measurement(1_000, 10, 100);
    let findings = |of: &Measurement| judge(&plan(), of, Besides::default()).findings;
    assert_eq!(findings(&refusing), Vec::<String>::new());
    refusing.connecting_failed.refused = 57;
    assert_eq!(findings(&refusing), ["the target refused 57 attempts to connect"]);
    let address = |port| net::Address::Inet(([127, 0, 0, 1], port).into());
    refusing.refused = vec![(address(81), 50), (address(82), 7)];
    let named = "the target refused 57 attempts to connect: 127.0.0.1:81 (50 times), 127.0.0.1:82 \
                 (7 times)";
    assert_eq!(findings(&refusing), [named]);
}

#[test]
fn a_machine_without_ports_loses_connections_whatever_else_the_target_refused() {
    let mut lost = measurement(1_000, 10, 100);
    lost.connecting_failed = Failures { refused: 3, exhausted: 1, ..Failures::default() };
    assert_eq!(failed_gates(&plan(), &lost), [Lost]);
}

#[test]
fn bytes_that_belong_to_no_request_are_a_finding() {
    let mut odd = measurement(1_000, 10, 100);
    odd.parts[0].answers = 1_000;
    odd.connecting_failed.unasked = 499;
    let judgement = judge(&plan(), &odd, Besides::default());
    assert!(judgement.is_valid());
    let findings = judgement.findings.join("; ");
    assert!(findings.contains("bytes that belong to no request, 499 times"), "{findings}");
    // Half of the responses may be those that nobody asked for.
    odd.connecting_failed.unasked = 500;
    assert_eq!(failed_gates(&plan(), &odd), [Lost]);
}

#[test]
fn a_target_that_closes_silently_after_each_response_is_counted() {
    let counted = |after_one, unannounced| {
        let mut silent = measurement(1_000, 10, 100);
        silent.parts[0].answers = 1_000;
        silent.connecting_failed.after_one = after_one;
        silent.connecting_failed.unannounced = unannounced;
        let judgement = judge(&plan(), &silent, Besides::default());
        assert!(judgement.is_valid());
        judgement.closed_silently
    };
    assert_eq!(counted(1_000, 1_000), Some(1_000));
    // It keeps most connections: it closes those that idle, or a few that it dislikes.
    assert_eq!((counted(10, 10), counted(10, 1_000)), (None, None));
}

#[test]
fn a_rate_whose_requests_cannot_be_counted_is_late() {
    let behind = Measurement { is_behind: true, ..measurement(1_000, 10, 100) };
    let reasons = judge(&plan(), &behind, Besides::default()).reasons();
    assert!(reasons[0].contains("more requests were due than it could count"), "{reasons:?}");
    // A backlog that was full in the warm-up ended it before any request of the measurement was due.
    let nothing = Measurement { parts: vec![Part::default()], ..behind };
    let reasons = judge(&plan(), &nothing, Besides::default()).reasons();
    assert!(reasons[0].contains("more requests were due before than the generator"), "{reasons:?}");
}

#[test]
fn requests_that_were_sent_again_are_a_warning_with_the_remedy() {
    let mut again = measurement(1_000, 10, 100);
    again.parts[0].sent_again = 1_200;
    let judgement = judge(&plan(), &again, Besides::default());
    assert!(judgement.is_valid() && judgement.findings.is_empty());
    let warnings = judgement.warnings.join("; ");
    assert!(warnings.contains("1,200 requests had to be sent again"), "{warnings}");
}

#[test]
fn samples_that_were_not_written_are_lost() {
    let besides = Besides { samples_lost: 7, ..Besides::default() };
    let judgement = judge(&plan(), &measurement(1_000, 10, 100), besides);
    assert_eq!(judgement.reasons().len(), 1);
    assert!(judgement.reasons()[0].starts_with("7 samples lost"), "{:?}", judgement.reasons());
}

#[test]
fn a_p99_that_is_a_tenth_above_its_lower_bound_is_an_interval() {
    for (response, lateness, at_most) in [(900, 80, false), (900, 99, true)] {
        let judgement = judge(&plan(), &measurement(response, lateness, 100), Besides::default());
        assert_eq!((judgement.is_valid(), judgement.p99_at_most), (true, at_most));
        assert_eq!(judgement.warnings.iter().any(|w| w.contains("lies between")), at_most);
    }
}

#[test]
fn doubts_about_the_results_are_warnings() {
    let warnings = |measurement: &Measurement, maximum: f64| {
        let maximum_of_a_shard = Rate::per_second(maximum);
        let besides = Besides { maximum_of_a_shard, ..Besides::default() };
        judge(&plan(), measurement, besides).warnings
    };
    let mut quiet = measurement(1_000, 10, 100);
    quiet.machine.segments = Some(Segments { sent: 10_000, retransmitted: 10 });
    quiet.machine.free_ports = Some(1_000);
    // The measured load is one request per second.
    assert_eq!(warnings(&quiet, 2.0), Vec::<String>::new());
    fn said(warnings: &[String], word: &str) {
        assert!(warnings.len() == 1 && warnings[0].contains(word), "{word}: {warnings:?}");
    }
    said(&warnings(&quiet, 1.9), "more than half of");
    let mut loud = quiet;
    loud.machine.segments = Some(Segments { sent: 10_000, retransmitted: 11 });
    said(&warnings(&loud, 2.0), "11 of 10,000 segments again");
    loud.machine.segments = None;
    loud.machine.free_ports = Some(999);
    said(&warnings(&loud, 2.0), "999 local ports");
}

#[test]
fn a_closed_loop_that_its_generator_limited_is_refused_with_the_reason() {
    let judged = |busy, others, connections| {
        let pools = vec![Pool { endpoints: Vec::new(), connections }];
        let closed = Plan {
            pacing: Pacing::Closed { think: Think::NONE },
            pools,
            cpus: vec![None],
            ..plan()
        };
        let mut measured = measurement(1_000, 5_000, 100);
        measured.machine.busy_share = busy;
        measured.machine.run_queue_wait_share = Some(others);
        judge(&closed, &measured, Besides::default())
    };
    let fast = judged(0.69, 0.0, 8);
    assert_eq!((fast.reasons(), fast.generator_bound), (Vec::new(), Some(false)));
    for (others, connections, remedy) in
        [(0.01, 8, "--shards"), (0.01, 1, "more --connections"), (0.3, 8, "something else 30 %")]
    {
        let slow = judged(0.7, others, connections);
        assert_eq!(slow.generator_bound, Some(true));
        let [reason] = &slow.reasons()[..] else { panic!("{:?}", slow.reasons()) };
        let begin = "the generator was the bottleneck: the busiest shard worked 70 % of the time, bound \
                     70 %, so the target can complete 1.00/s or more. ";
        assert!(reason.starts_with(begin) && reason.contains(remedy), "{reason}");
    }
}

/// A generator whose work fills its time is slow to read the responses, and late by nothing.
#[test]
fn an_open_loop_that_its_generator_limited_says_nothing_of_the_target() {
    let judged = |mut open: Measurement, busy_share, others| {
        open.machine.busy_share = busy_share;
        open.machine.run_queue_wait_share = Some(others);
        judge(&plan(), &open, Besides::default())
    };
    let punctual = judged(measurement(1_000, 10, 100), 0.9, 0.0);
    assert!(punctual.is_valid() && punctual.generator_bound.is_none(), "{:?}", punctual.reasons());
    let late = judged(measurement(1_000, 710, 100), 0.9, 0.0);
    assert_eq!((late.is_valid(), late.generator_bound), (false, None));
    let idle = judged(saturated(), 0.6, 0.0);
    assert_eq!((idle.generator_bound, idle.saturated), (None, Some(true)));
    let others = judged(saturated(), 0.9, 0.3);
    assert_eq!((others.is_valid(), others.generator_bound, others.saturated), (false, None, None));

    let mut kept_up = saturated();
    kept_up.balance = Balance::new(Instant(0));
    let reasons = [saturated(), kept_up].map(|open| {
        let judgement = judged(open, 0.9, 0.0);
        assert_eq!((judgement.generator_bound, judgement.saturated), (Some(true), None));
        judgement.reasons().join("; ")
    });
    let reason = "generator late: the backlog was full, and the target need not be the reason. It was busy 90 % \
                  of the time. Give it more cores or lower the rate.";
    assert_eq!(reasons, [reason; 2]);
    let mut all_sent = saturated();
    all_sent.parts[0].outcomes[Outcome::Dropped as usize] = 0;
    all_sent.parts[0].outcomes[Outcome::Unfinished as usize] = 400;
    let reasons = judged(all_sent, 0.9, 0.0).reasons();
    assert!(
        reasons[0].starts_with("generator late: 600/s of 1,000/s completed, and"),
        "{reasons:?}"
    );
}

/// A target that ends in mid-load completes less than is offered, and fails few requests of a closed loop.
#[test]
fn a_target_that_takes_no_connections_for_a_while_is_named_as_that() {
    let judged = |pacing, unconnected| {
        let pools = vec![Pool { endpoints: Vec::new(), connections: 2 }];
        let plan = Plan { pacing, pools, ..plan() };
        let mut measured = measurement(1_000, 10, 100);
        measured.connecting_failed.refused = 35;
        measured.series.at(Instant(0)).unconnected_time = Nanos::from_millis(unconnected);
        judge(&plan, &measured, Besides::default())
    };
    let closed = || Pacing::Closed { think: Think::NONE };
    let gone = judged(closed(), 960);
    let [reason] = &gone.reasons()[..] else { panic!("{:?}", gone.reasons()) };
    let begin = "the target took no connections for 48 % of the time (35 attempts). Meanwhile a closed loop";
    assert!(reason.starts_with(begin), "{reason}");
    assert_eq!(judged(closed(), 90).reasons(), Vec::<String>::new());
    // An open loop counts the requests that it cannot send.
    let open = judged(plan().pacing, 960);
    assert_eq!((open.saturated, open.reasons()), (None, Vec::new()));
    let said = "the target took no connections for 48 % of the time (35 attempts)";
    assert!(open.findings.contains(&said.to_owned()), "{:?}", open.findings);
    assert_eq!((open.refused_share, gone.refused_share), (Some(0.48), Some(0.48)));
    assert_eq!(judged(plan().pacing, 90).refused_share, None);
    // What does not answer at all may only be slow.
    let mut silent = measurement(1_000, 10, 100);
    silent.connecting_failed.unreachable = 35;
    silent.series.at(Instant(0)).unconnected_time = Nanos::from_millis(480);
    let silent = judge(&plan(), &silent, Besides::default());
    assert!(silent.findings[0].starts_with("the target took no connections"), "{silent:?}");
    assert_eq!(silent.refused_share, None);
}

#[test]
fn requests_that_all_wait_for_a_response_measure_nothing() {
    let mut waiting = measurement(1_000, 10, 100);
    waiting.parts[0].outcomes = Default::default();
    waiting.parts[0].outcomes[Outcome::Unfinished as usize] = 1;
    let judged = judge(&plan(), &waiting, Besides::default());
    let [reason] = &judged.reasons()[..] else { panic!("{:?}", judged.reasons()) };
    assert!(reason.starts_with("nothing was measured: 0 of 1 request had"), "{reason}");
}

/// Each second, 1,000 sessions begin, and each of their first requests is answered; their next ones are due later.
#[test]
fn a_load_that_is_shorter_than_its_sessions_has_a_warning_with_the_remedy() {
    let of_sessions = Plan { arrivals: Some(Arrivals::Sessions), ..plan() };
    let mut short = measurement(1_000, 10, 100);
    for arrival in 0..1_000 {
        short.sessions.arrived(Instant(arrival * 1_000_000));
        short.balance.arrived(Instant(arrival * 1_000_000));
        short.balance.answered(Instant(arrival * 1_000_000 + 1_000_000));
    }
    let judged = |plan: &Plan, measurement: &Measurement| {
        let judgement = judge(plan, measurement, Besides::default());
        (judgement.saturated, judgement.warnings.join("; "))
    };
    let (saturated, warnings) = judged(&of_sessions, &short);
    assert_eq!(saturated, None);
    assert!(
        warnings.starts_with("1,000 sessions began in the measurement and 0 ended"),
        "{warnings}"
    );
    assert!(warnings.contains("with --duration, after a warm-up"), "{warnings}");
    // Of arrivals that are requests, sessions say nothing.
    assert_eq!(judged(&plan(), &short), (Some(false), String::new()));
    // Once they end as they begin, the load is kept up with.
    (0..999).for_each(|end| short.sessions.answered(Instant(end * 1_000_000 + 500_000)));
    assert_eq!(judged(&of_sessions, &short), (Some(false), String::new()));
}

use std::collections::BTreeMap;

use expect_test::expect;
use results::at_load;
use results::failure::Failure;
use results::journal::{Delivery, Limit, Observed};
use results::said::{Phase, Quantiles};

use super::*;

fn entry(status: Status, observed: Option<Observed>, reasons: &[&str]) -> Entry {
    Entry {
        trial: 11,
        key: String::new(),
        purpose: Purpose::Trial,
        cell: None,
        search: None,
        strand: None,
        block: None,
        asked_per_s: Some(3_910.0),
        asked_per_target_per_s: Some(3_910.0),
        why: None,
        bounds: None,
        repetition: 1,
        attempt: 1,
        waited: None,
        warmed_up_ns: None,
        slow_machine: None,
        seed: 0,
        status,
        reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
        observed,
        slo: Vec::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        disturbed: Vec::new(),
        fingerprint: None,
        unread: Vec::new(),
        files: BTreeMap::new(),
    }
}

fn observed() -> Observed {
    Observed {
        generator: None,
        offered_per_s: 3_905.0,
        completed_per_s: 3_899.0,
        sustained_per_s: 3_899.0,
        goodput_per_s: 3_899.0,
        succeeded_per_s: Some(3_899.0),
        operations_per_s: None,
        ended_after_ns: None,
        requests: 19_525,
        failures: 0,
        unfinished: Some(0),
        failing: Vec::new(),
        labels: Vec::new(),
        p50_ns: Some(1_100_000),
        p90_ns: Some(2_100_000),
        p99_ns: Some(4_900_000),
        p999_ns: None,
        max_ns: None,
        lateness_p99_ns: None,
        hiccup_p99_ns: None,
        delivery: None,
        little: None,
        connections: None,
        transport: Vec::new(),
        slo_met: Some(true),
        generator_bound: false,
        rests_on_unfinished: false,
        sessions: false,
        sessions_per_s: None,
        lacks_connections: false,
        opening_ns: None,
        saturated: false,
        bytes_per_answer: None,
        bytes_per_operation: None,
        cpu: BTreeMap::from([("hotel".to_owned(), 0.61)]),
        cpu_unknown: 0,
        monitored: BTreeMap::new(),
        work_ns: BTreeMap::new(),
        foreign_most: None,
        stolen_most: None,
        limited_by: None,
        limit: None,
    }
}

#[test]
fn a_finished_trial_is_one_line() {
    let saturated = Observed {
        saturated: true,
        completed_per_s: 3_702.0,
        p50_ns: Some(212_000_000),
        p99_ns: Some(901_000_000),
        slo_met: Some(false),
        limited_by: Some("hotel, CPU 0.30 of 0.3".to_owned()),
        limit: Some(Limit {
            component: "hotel".to_owned(),
            resource: "CPU limit".to_owned(),
            since: 0,
        }),
        ..observed()
    };
    let of_sessions = Observed { sessions: true, ..saturated.clone() };
    let missed = Observed { slo_met: Some(false), failures: 1_234, ..observed() };
    // The sum of the known components would look like that of the system.
    let unknown = Observed { cpu_unknown: 3, ..observed() };
    let text = "404 for 19,525 of 19,525 requests to /fast/".to_owned();
    let failure = Failure { text, count: 19_525, of: 19_525, ..Failure::default() };
    let failing = Observed { failures: 19_525, failing: vec![failure], ..observed() };
    let delivery =
        Delivery { p50_ns: Some(90_000), p99_ns: Some(2_200_000), lost: 3, ..Delivery::default() };
    let delivered = Observed { delivery: Some(delivery), ..observed() };
    let of_batches = Observed { operations_per_s: Some(389_900.0), ..observed() };
    let lines = [
        entry(Status::Valid, Some(observed()), &[]),
        entry(Status::Valid, Some(delivered), &[]),
        entry(Status::Valid, Some(saturated), &[]),
        entry(Status::Valid, Some(missed), &[]),
        entry(Status::Valid, Some(unknown), &[]),
        entry(Status::Bounded, Some(observed()), &["machine disturbed: 12.0 % steal"]),
        entry(Status::Valid, Some(failing.clone()), &[]),
        entry(Status::Invalid, Some(failing), &["generator late: p99 1.9 ms > 0.49 ms"]),
        entry(Status::Invalid, Some(observed()), &["generator late: p99 1.9 ms > 0.49 ms"]),
        entry(Status::Aborted, None, &["hotel was killed by SIGKILL in mid-trial"]),
        Entry { asked_per_target_per_s: None, ..entry(Status::Valid, Some(observed()), &[]) },
        entry(Status::Valid, Some(of_sessions), &[]),
        entry(Status::Valid, Some(of_batches), &[]),
    ];
    let ended = lines.iter().map(|entry| {
        let await_calm = (entry.status == Status::Invalid).then_some(Nanos::from_secs(60));
        let asked = None;
        let attempt = if entry.status.answers() { 1 } else { 2 };
        let (purpose, why) = (Purpose::Trial, None);
        let bracket = None;
        let next = Attempt { purpose, asked, repetition: 1, attempt, await_calm, why, bracket };
        let label = String::new();
        let again = Some(next);
        let speed = Some(if entry.status == Status::Bounded { 0.84 } else { 0.97 });
        format!(
            "{}\n",
            Event::Ended {
                entry,
                conclusion: at_load::conclusions([entry]).into_values().next(),
                label,
                without_rate: "closed",
                speed,
                again
            }
        )
    });
    // The first line begins at the margin: leading spaces that all lines share are removed.
    let began = format!("{}\n", Event::Began { headline: "demo".to_owned() });
    let text: String = std::iter::once(began).chain(ended).collect();
    expect![[r#"
        demo
         11   3,910/s   ok          p50 1.10 ms  p99 4.90 ms   cpu 0.61
         11   3,910/s   ok          delivery p50 90.0 µs  p99 2.20 ms   3 lost  cpu 0.61
         11   3,910/s   saturated   p50 212 ms   p99 901 ms    3,702 of 3,905/s completed  limited by: hotel (CPU limit)
         11   3,910/s   slo missed  1,234 of 19,525 requests failed  p50 1.10 ms  p99 4.90 ms   cpu 0.61
         11   3,910/s   ok          p50 1.10 ms  p99 4.90 ms 
         11   3,910/s   ok, slowed  p50 1.10 ms  p99 4.90 ms   cpu 0.61  machine at 84 % of its usual speed
         11   3,910/s   failing     404 for 19,525 of 19,525 requests to /fast/  p50 1.10 ms  p99 4.90 ms   cpu 0.61
         11   3,910/s   invalid     404 for 19,525 of 19,525 requests to /fast/  generator late: p99 1.9 ms > 0.49 ms → repeated when the machine is calm
         11   3,910/s   invalid     generator late: p99 1.9 ms > 0.49 ms → repeated when the machine is calm
         11   3,910/s   aborted     hotel was killed by SIGKILL in mid-trial → repeated
         11    closed   ok          p50 1.10 ms  p99 4.90 ms   3,899/s completed  cpu 0.61
         11 3,910 sessions/s   saturated   p50 212 ms   p99 901 ms    3,702 of 3,905 requests/s completed  limited by: hotel (CPU limit)
         11   3,910/s   ok          p50 1.10 ms  p99 4.90 ms   389,900 operations/s  cpu 0.61
    "#]].assert_eq(&text);
}

#[test]
fn failures_that_miss_the_slo_are_named_by_the_most_frequent_reason() {
    let text = "404 for 250 of 19,525 requests to /".to_owned();
    let failure = Failure { text, count: 250, of: 19_525, ..Failure::default() };
    let failing = vec![failure, Failure { count: 5, ..Failure::default() }];
    let missed = Observed { slo_met: Some(false), failures: 255, failing, ..observed() };
    let judged = |slo: &str| results::slo::Judged {
        slo: slo.parse().unwrap(),
        over: 255,
        over_at_least: 255,
        of: 19_525,
        reached_ns: None,
        verdict: results::slo::Verdict::Fail,
        met: false,
        text: String::new(),
    };
    let line = |slo: &str| {
        let entry =
            Entry { slo: vec![judged(slo)], ..entry(Status::Valid, Some(missed.clone()), &[]) };
        Line { entry: &entry, conclusion: Some(Conclusion::Missed), without_rate: "" }.to_string()
    };
    let lines = ["p99<=20ms", "failures<=0.1%"].map(line).join("\n");
    // The first line begins at the margin: leading spaces that all lines share are removed.
    expect![[r#"
        demo
         11   3,910/s   slo missed  p50 1.10 ms  p99 4.90 ms   255 failed, more than p99 ≤ 20 ms allows: 404 for 250 of 19,525 requests to /  cpu 0.61
         11   3,910/s   slo missed  p50 1.10 ms  p99 4.90 ms   255 failed, more than failures ≤ 0.1 % allows: 404 for 250 of 19,525 requests to /  cpu 0.61"#]]
    .assert_eq(&format!("demo\n{lines}"));
}

#[test]
fn live_figures_are_one_line() {
    let trial = Trial {
        number: 13,
        purpose: Purpose::Trial,
        asked: Rate::per_second(4_105.0),
        repetition: 1,
        attempt: 1,
        seed: 0,
        place: Default::default(),
    };
    let tick = Tick {
        phase: Phase::Measurement,
        elapsed_s: 3.0,
        asked_per_s: Some(4_105.0),
        completed_per_s: Some(3_690.0),
        last: Quantiles { p99_ns: Some(1_400_000_000), ..Quantiles::default() },
        failed: 2,
        ..Tick::default()
    };
    let of_batches = Tick { operations_per_s: Some(369_000.0), ..tick.clone() };
    let event = Event::Tick { trial: &trial, tick };
    expect![" 13 measuring 3 s · 2 failed · 4,105/s asked · 3,690/s completed · p99 1.40 s"]
        .assert_eq(&event.to_string());
    assert!(!event.is_lasting());
    let event = Event::Tick { trial: &trial, tick: of_batches };
    expect![" 13 measuring 3 s · 2 failed · 4,105/s asked · 3,690/s completed · 369,000 operations/s · p99 1.40 s"]
        .assert_eq(&event.to_string());
}

#[test]
fn each_event_before_the_trials_is_one_line() {
    let first = Rate::per_second(2_340.0).unwrap();
    let strategy = "step 5 %".to_owned();
    let probed = |targets, is_lower_bound| {
        let (label, strategy) = (String::new(), strategy.clone());
        let completed_per_s = 3_900.4;
        let arrivals = if targets == 3 { Arrivals::Sessions } else { Arrivals::Requests };
        Event::Probed { label, completed_per_s, arrivals, is_lower_bound, first, targets, strategy }
    };
    let events = [
        Event::Notice("virtual machine".to_owned()),
        Event::Deployed {
            what: "hotel ×1".to_owned(),
            took: Some(Nanos::from_millis(412)),
            smoke_tests: 9,
        },
        Event::Deployed { what: "http://127.0.0.1:8080".to_owned(), took: None, smoke_tests: 0 },
        probed(1, false),
        probed(2, true),
        probed(3, false),
    ];
    let text: String = events.iter().map(|event| format!("{event}\n")).collect();
    expect![[r#"
        ! virtual machine
        deploy   hotel ×1 ready in 0.4 s · smoke test: 9 of 9 requests gave the expected response
        deploy   http://127.0.0.1:8080 runs elsewhere (no sut.ready.get: not asked if it is ready)
        probe    about 3,900/s closed loop → first load 2,340/s, step 5 %
        probe    at least 3,900/s closed loop → first load 2 × 2,340/s, step 5 %
        probe    about 3,900 sessions/s closed loop → first load 3 × 2,340 sessions/s, step 5 %
    "#]]
    .assert_eq(&text);
}

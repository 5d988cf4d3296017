use std::path::Path;

use measure::{Histogram, Nanos};
use results::doctor::{Check, Fingerprint, Severity};
use results::events::Events;
use results::load::GateName::{Busy, Disturbed, Late, Lost};
use results::load::{Counts, Gate, Operations, Pacing, Part, Rates, Target, Validity};
use results::{Doctor, Times};

use super::*;
use crate::backend::{Driven, Machine};
use crate::spec;
use crate::trial::Checked;

fn read(slo: &str) -> Resolved {
    read_with(slo, "")
}

fn read_with(slo: &str, more: &str) -> Resolved {
    let rate = if more.contains("search:") { "" } else { ", rate: 10/s" };
    let text = format!(
        "name: x\nwhere: {{backend: simulated, roles: {{sut: {{cpus: 0-1}}}}}}\n\
         simulated: {{service_time: 1ms}}\nworkload: {{get: /}}\n\
         load: {{model: open{rate}}}\nphases: {{measure: {{time: 5s}}}}\nslo: [{slo}]\n{more}\n"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

/// A load with `fast` requests of 1 ms, `slow` ones of 200 ms, and some that failed at once.
fn load(fast: u64, slow: u64, refused: u64) -> Load {
    let mut histogram = Histogram::new();
    histogram.record_n(Nanos::from_millis(1), fast);
    histogram.record_n(Nanos::from_millis(200), slow);
    let intended = fast + slow + refused;
    let (completed, ok, failed) = (fast + slow, fast + slow, refused);
    let outcomes = [("ok".to_owned(), ok), ("connect".to_owned(), refused)];
    Load {
        pacing: Pacing::Open { arrivals: "poisson".to_owned() },
        measured_s: 5.0,
        total: Part {
            counts: Counts { intended, sent: intended, completed, ok, failed, ..Counts::default() },
            rates_per_s: Rates {
                asked: Some(intended as f64 / 5.0),
                offered: intended as f64 / 5.0,
                completed: completed as f64 / 5.0,
                sustained: None,
                succeeded: Some(ok as f64 / 5.0),
                goodput: ok as f64 / 5.0,
            },
            outcomes: outcomes.into_iter().filter(|(_, n)| 0 < *n).collect(),
            response_time: Times::of(&histogram),
            ..Part::default()
        },
        ..Load::empty("")
    }
}

fn judged(load: Load, slo: &str) -> Judged {
    judged_in(load, &read(slo))
}

fn judged_in(load: Load, resolved: &Resolved) -> Judged {
    judge(&observation(driven(load)), resolved)
}

fn driven(load: Load) -> Driven {
    Driven {
        load,
        parts: Vec::new(),
        consumed: BTreeMap::new(),
        gauged: Vec::new(),
        machine: Machine::default(),
        deaths: Vec::new(),
        events: Vec::new(),
    }
}

/// A trial in which nothing happened beside its load.
fn observation(driven: Driven) -> Observation {
    Observation {
        purpose: Purpose::Trial,
        driven,
        not_idle: None,
        monitored: Vec::new(),
        warmed_up: None,
        moved: Vec::new(),
        checked: None,
    }
}

/// A load that a gate refuses.
fn refused(load: Load, gate: GateName) -> Load {
    let gate = Gate { name: gate, passed: false, figure: String::new() };
    let reasons = vec!["slowed".to_owned()];
    Load {
        validity: Validity { valid: false, reasons, gates: vec![gate], unknown: Vec::new() },
        ..load
    }
}

const P99: &str = "{metric: p99, max: 100ms}";

/// The rules of an SLO are tested in `results::slo`; this tests what a trial keeps of the result.
#[test]
fn a_trial_keeps_its_verdicts_and_warns_of_a_close_call() {
    let judged = |slow| judged(load(15_000 - slow, slow, 0), P99);
    for (slow, met, close) in [(129, true, false), (150, true, true), (171, false, false)] {
        let judged = judged(slow);
        assert_eq!(judged.observed.unwrap().slo_met, Some(met), "{slow} slow");
        assert_eq!((judged.slo[0].over, judged.slo[0].of), (slow, 15_000));
        let warned = judged.warnings.iter().any(|warning| *warning == judged.slo[0].text);
        assert_eq!(warned, close, "{slow} slow: {:?}", judged.warnings);
    }
}

#[test]
fn what_the_generator_judged_by_the_same_objectives_is_not_judged_again() {
    let objectives = |slo: &str| read(slo).slos();
    let mut by_generator = load(15_000, 0, 0);
    by_generator.slo = verdict::of_load(&objectives(P99), &by_generator);
    let said = &mut by_generator.slo.as_mut().unwrap().objectives[0].text;
    *said = "as the generator says".to_owned();
    assert_eq!(judged(by_generator.clone(), P99).slo[0].text, "as the generator says");
    let other = "{metric: p99, max: 50ms}";
    let judged_by = |slo: &str| -> Vec<Slo> {
        judged(by_generator.clone(), slo).slo.iter().map(|judged| judged.slo).collect()
    };
    for slo in [other, &format!("{P99}, {other}"), ""] {
        assert_eq!(judged_by(slo), objectives(slo), "{slo}");
    }
}

/// A load of 1,000 responses, of which 800 came in the measurement, with their bytes.
#[test]
fn bytes_are_divided_by_the_answers_that_they_belong_to() {
    let mut late = load(1_000, 0, 0);
    late.total.counts.completed_inside = 800;
    late.total.counts.bytes_received = 80_000;
    let bytes = |load| judged(load, "").observed.unwrap().bytes_per_answer;
    assert_eq!(bytes(late), Some(100.0));
    assert_eq!(bytes(load(1_000, 0, 0)), None);
}

#[test]
fn a_trial_keeps_the_operations_of_requests_that_carry_several() {
    let mut batches = load(1_000, 0, 0);
    batches.measured_s = 5.0;
    batches.total.counts.completed_inside = 800;
    batches.total.counts.bytes_received = 80_000;
    batches.total.operations =
        Some(Operations { count: 10_000, completed_per_s: 1_600.0, ..Operations::default() });
    let observed = judged(batches, "").observed.unwrap();
    assert_eq!(
        (observed.operations_per_s, observed.bytes_per_operation),
        (Some(1_600.0), Some(10.0))
    );
    assert_eq!(observed.bytes_per_answer, Some(100.0));
    let observed = judged(load(1_000, 0, 0), "").observed.unwrap();
    assert_eq!((observed.operations_per_s, observed.bytes_per_operation), (None, None));
}

/// A closed loop of 150 connections for 5 s: 40 logins of 15 s and 70,000 refusals of 2 ms.
fn refusing_loop() -> Load {
    let (mut all, mut failed) = (Histogram::new(), Histogram::new());
    all.record_n(Nanos::from_secs(15), 40);
    all.record_n(Nanos::from_millis(2), 70_000);
    failed.record_n(Nanos::from_millis(2), 70_000);
    let mut load = load(0, 0, 0);
    load.pacing = Pacing::Closed { think_ns: 0 };
    load.total.counts =
        Counts { intended: 70_040, completed: 70_040, ok: 40, failed: 70_000, ..Counts::default() };
    load.total.rates_per_s =
        Rates { completed: 14_008.0, succeeded: Some(8.0), ..Rates::default() };
    load.total.response_time = Times::of(&all);
    load.total.failed_response_time = Times::of(&failed);
    load.total.in_progress = Some(148.0);
    load
}

#[test]
fn a_closed_loop_that_is_refused_says_that_its_rate_is_that_of_the_refusals() {
    let ours = judged(refusing_loop(), "");
    assert_eq!(
        ours.findings,
        [
            "99.9 % of the requests failed, after 2.00 ms on average, and a success took 15.0 s: a closed \
          loop offers what is answered, so its 14,008/s are the rate of the failures and no capacity, and \
          a level without them would look superlinear beside it"
        ]
    );
    assert_eq!(ours.observed.unwrap().little.unwrap().per_s, 14_008.0);
    let mut foreign = refusing_loop();
    (foreign.total.response_time, foreign.total.failed_response_time) = (None, None);
    let text = "99.9 % of the requests failed, and a success took 18.5 s at most, by Little's law: a closed";
    let found = judged(foreign.clone(), "").findings.concat();
    assert!(found.starts_with(text), "{found}");
    foreign.total.in_progress = None;
    let found = judged(foreign, "").findings.concat();
    assert!(found.starts_with("99.9 % of the requests failed: a closed loop offers"), "{found}");
    let open = Load { pacing: Pacing::Open { arrivals: "poisson".to_owned() }, ..refusing_loop() };
    assert_eq!(judged(open, "").findings, [""; 0], "its rate is asked for");
    let mut rarely = refusing_loop();
    (rarely.total.counts.ok, rarely.total.counts.failed) = (70_000, 40);
    assert_eq!(judged(rarely, "").findings, [""; 0]);
}

#[test]
fn failures_count_as_over_the_limit_and_on_their_own() {
    let refused = load(14_700, 0, 300);
    assert_eq!(judged(refused.clone(), P99).observed.unwrap().slo_met, Some(false));
    let failures = "{metric: failures, max: 0.1%}";
    assert_eq!(judged(refused.clone(), failures).observed.unwrap().slo_met, Some(false));
    assert_eq!(judged(load(15_000, 0, 0), failures).observed.unwrap().slo_met, Some(true));
    assert_eq!(judged(refused.clone(), "").observed.unwrap().slo_met, None);
    assert_eq!(judged(refused, "").observed.unwrap().failures, 300);
    let none_at_all = "{metric: failures, max: 0}";
    assert_eq!(judged(load(15_000, 0, 0), none_at_all).observed.unwrap().slo_met, Some(true));
    assert_eq!(judged(load(15_000, 0, 1), none_at_all).observed.unwrap().slo_met, Some(false));
}

/// Returns a load whose requests all ended in this way.
fn all_failed(outcome: &str, reason: &str) -> Load {
    let mut load = load(0, 0, 1_000);
    let outcomes = BTreeMap::from([(outcome.to_owned(), 1_000)]);
    let reasons = BTreeMap::from([(format!("{outcome}: {reason}"), 1_000)]);
    load.total = Part { outcomes, reasons, ..load.total };
    let (url, path) = ("http://127.0.0.1:80/fast/".to_owned(), Some("/fast/".to_owned()));
    load.targets = vec![Target { url, path, part: load.total.clone() }];
    load
}

#[test]
fn wrong_responses_to_all_requests_stand_on_a_disturbed_machine_and_resets_do_not() {
    for slo in [P99, ""] {
        let wrong = judged(refused(all_failed("status", "404"), Disturbed), slo);
        assert_eq!((wrong.status, wrong.stands), (Status::Bounded, true), "{slo}");
        let words = wrong.observed.unwrap().failing_in_words();
        assert_eq!(words.unwrap(), "404 for 1,000 of 1,000 requests to /fast/");
        let reset = judged(refused(all_failed("reset", "closed"), Disturbed), slo);
        assert_eq!((reset.status, reset.stands), (Status::Invalid, false), "{slo}");
    }
}

/// Its figures are not known, and that the service fails is.
#[test]
fn a_trial_of_a_failing_service_is_not_repeated_for_a_late_generator() {
    let fails = |gate| {
        let mut load = load(600, 0, 400);
        let (count, reason) = (400, "status: 500".to_owned());
        load.total.outcomes = [("ok".to_owned(), 600), ("status".to_owned(), count)].into();
        load.total.reasons = [(reason, count)].into();
        let (url, path) = ("http://127.0.0.1:80/".to_owned(), Some("/".to_owned()));
        load.targets = vec![Target { url, path, part: load.total.clone() }];
        let judged = judged_in(refused(load, gate), &read_with("", "repeat: {trials: 6}"));
        assert!(judged.observed.unwrap().is_failing());
        judged.status
    };
    assert_eq!((fails(Late), fails(Disturbed)), (Status::Bounded, Status::Invalid));
}

/// Checks that requests that were cut off by the end of the load are no failures of the system.
#[test]
fn unfinished_requests_are_counted_apart_from_failures() {
    let mut cut_off = load(9_000, 0, 100);
    cut_off.total.counts.intended += 900;
    cut_off.total.counts.unfinished = 900;
    let observed = judged(cut_off, "").observed.unwrap();
    let counts = (observed.requests, observed.failures, observed.unfinished);
    assert_eq!(counts, (10_000, 100, Some(900)));
    assert_eq!(
        (observed.failed_share(), observed.succeeded_per_s),
        (100.0 / 9_100.0, Some(1_800.0))
    );
    assert!(!observed.is_failing());
}

#[test]
fn the_system_under_test_never_makes_a_trial_invalid() {
    let mut saturated = load(9_000, 0, 6_000);
    saturated.saturated = Some(true);
    let judged = judged(saturated, P99);
    assert_eq!(judged.status, Status::Valid);
    assert!(judged.observed.unwrap().saturated);
}

const ADAPTIVE: &str = "search: {strategy: adaptive, range: [5/s, 10/s]}";
const SWEEP: &str = "search: {strategy: sweep, range: [5/s, 10/s], step: 1/s}";
const SWEEP_FOR_CAPACITY: &str =
    "search: {strategy: sweep, range: [5/s, 10/s], step: 1/s, result: capacity}";

/// The rule is tested in `results::evidence`; this tests the question that each experiment asks.
#[test]
fn a_slowed_trial_answers_where_being_slowed_cannot_change_the_answer() {
    let with = |saturated, load| Load { saturated, ..load };
    let fast = || with(Some(false), load(15_000, 0, 0));
    let slow = || with(Some(false), load(0, 15_000, 0));
    let plateau = || with(Some(true), load(15_000, 0, 0));
    let unknown = || with(None, load(15_000, 0, 0));
    for (gate, load, slo, more, status) in [
        (Disturbed, fast(), P99, "", Status::Bounded),
        (Late, fast(), P99, "", Status::Bounded),
        // A fixed load without an SLO is there for its figures.
        (Disturbed, fast(), "", "", Status::Invalid),
        (Disturbed, fast(), "", SWEEP, Status::Bounded),
        (Disturbed, slow(), P99, "", Status::Invalid),
        (Late, slow(), P99, SWEEP, Status::Invalid),
        (Disturbed, plateau(), P99, SWEEP, Status::Invalid),
        (Disturbed, plateau(), "", SWEEP, Status::Invalid),
        (Disturbed, unknown(), P99, SWEEP, Status::Invalid),
        // A search for a capacity would be told of the passes alone, and find too much.
        (Disturbed, fast(), P99, ADAPTIVE, Status::Invalid),
        (Late, fast(), P99, ADAPTIVE, Status::Invalid),
        (Disturbed, slow(), P99, ADAPTIVE, Status::Invalid),
        (Disturbed, fast(), P99, SWEEP_FOR_CAPACITY, Status::Invalid),
        (Lost, fast(), P99, ADAPTIVE, Status::Invalid),
    ] {
        // The same of a slow machine, which no gate sees.
        let unseen = judged_in(load.clone(), &read_with(slo, more));
        assert_eq!(unseen.status, Status::Valid);
        assert!(unseen.stands == (status == Status::Bounded) || gate == Lost, "{slo}, {more}");
        let judged = judged_in(refused(load, gate), &read_with(slo, more));
        assert_eq!(judged.status, status, "{gate}, {slo}, {more}: {:?}", judged.slo);
        assert_eq!(judged.reasons, ["slowed"]);
    }
}

#[test]
fn both_verdicts_of_a_generator_that_is_late_by_itself_count() {
    let judged = |saturated, met, more: &str| {
        let of = if met { load(15_000, 0, 0) } else { load(0, 15_000, 0) };
        let mut late = refused(Load { saturated, ..of }, Late);
        late.generator.busy_share = Some(0.95);
        late.generator.run_queue_wait_share = Some(0.0);
        let judged = judged_in(late, &read_with(P99, more));
        assert_eq!(judged.observed.unwrap().slo_met, Some(met));
        (judged.status, judged.findings.join("; "))
    };
    for (met, words) in [(false, "the lower bound decides"), (true, "the upper bound decides")] {
        let (status, finding) = judged(Some(true), met, ADAPTIVE);
        assert_eq!(status, Status::Bounded);
        assert!(finding.starts_with(words), "{finding}");
        for sweep in [SWEEP, SWEEP_FOR_CAPACITY] {
            assert_eq!(judged(Some(false), met, sweep).0, Status::Bounded);
            // Its plateau may be the generator's.
            assert_eq!(judged(Some(true), met, sweep).0, Status::Invalid);
        }
    }
}

#[test]
fn a_slowed_trial_is_repeated_if_the_figures_of_equal_trials_are_asked_for() {
    let slowed = || refused(Load { saturated: Some(false), ..load(15_000, 0, 0) }, Late);
    let search = "search: {strategy: sweep, range: [5/s, 10/s], step: 1/s}";
    for (more, status) in [
        ("repeat: {trials: 2}", Status::Invalid),
        ("repeat: {searches: 2}", Status::Invalid),
        ("repeat: {until: {metric: p99, ci_rel: 5%, max: 9}}", Status::Invalid),
        (&*format!("repeat: {{trials: 2}}\n{search}"), Status::Bounded),
        ("repeat: {trials: 1}", Status::Bounded),
    ] {
        let resolved = read_with(P99, more);
        let judged = judged_in(slowed(), &resolved);
        assert_eq!((judged.status, judged.stands), (status, status == Status::Bounded), "{more}");
    }
}

/// The backlog of the warm-up is completed in the measurement too, but was not offered in it.
#[test]
fn no_more_is_sustained_than_was_offered() {
    let mut busy = load(15_000, 0, 0);
    busy.total.rates_per_s.completed = 3_060.0;
    let observed = judged(busy, "").observed.unwrap();
    assert_eq!((observed.offered_per_s, observed.completed_per_s), (3_000.0, 3_060.0));
    assert_eq!(observed.sustained_per_s, 3_000.0);
}

#[test]
fn the_generators_verdict_and_a_moved_process_make_a_trial_invalid() {
    let mut late = load(10, 0, 0);
    late.validity =
        Validity { valid: false, reasons: vec!["generator late".to_owned()], ..late.validity };
    let judgement = judged(late, "");
    assert_eq!(judgement.status, Status::Invalid);
    assert_eq!(judgement.reasons, ["generator late"]);
    let driven = Driven {
        load: load(10, 0, 0),
        parts: Vec::new(),
        consumed: BTreeMap::new(),
        gauged: Vec::new(),
        machine: Machine::default(),
        deaths: Vec::new(),
        events: Vec::new(),
    };
    let moved = vec!["hotel was allowed CPU 0 before the load and CPU 1 after it".to_owned()];
    let judgement = judge(&Observation { moved, ..observation(driven) }, &read(""));
    assert_eq!(judgement.status, Status::Invalid);
    assert!(judgement.reasons[0].starts_with("the placement changed: hotel"));
    assert_eq!(judged(load(0, 0, 0), "").status, Status::Invalid);
}

fn found(check: &str, severity: Severity, kernel: &str) -> Doctor {
    let check = Check {
        id: check.to_owned(),
        name: check.to_owned(),
        severity,
        state: doctor::State::Bad,
        standing: doctor::Standing::Usual,
        value: "as it should not be".to_owned(),
        wanted: "good".to_owned(),
        source: "a file".to_owned(),
        remedy: None,
    };
    let values = BTreeMap::from([("kernel".to_owned(), kernel.to_owned())]);
    Doctor::new(vec![check], Fingerprint::new(values, None))
}

/// A generator with CPUs of its own does not see what others use of those of the system.
#[test]
fn what_the_checks_and_the_generator_saw_is_one_judgement() {
    let judged = |load: Load, check: &str| {
        let after = found(check, Severity::Error, "6.1");
        let checked = Some(Checked { before: None, after });
        let driven = driven(load);
        judge(&Observation { checked, ..observation(driven) }, &read(""))
    };
    let foreign = judged(load(10, 0, 0), "local.foreign");
    assert_eq!(
        (foreign.status, &foreign.disturbed[..]),
        (Status::Valid, &["as it should not be".to_owned()][..])
    );
    assert_eq!(judged(load(10, 0, 0), "local.governor").disturbed, [""; 0]);
    let both = judged(refused(load(10, 0, 0), Disturbed), "local.steal");
    assert_eq!((both.status, both.disturbed.len()), (Status::Invalid, 2), "{:?}", both.disturbed);
}

#[test]
fn the_checks_around_a_load_warn_or_make_it_invalid_as_the_spec_wants() {
    let judged = |level: &str, before: Doctor, after: Doctor| {
        let driven = Driven {
            load: load(10, 0, 0),
            parts: Vec::new(),
            consumed: BTreeMap::new(),
            gauged: Vec::new(),
            machine: Machine::default(),
            deaths: Vec::new(),
            events: Vec::new(),
        };
        let mut resolved = read("");
        resolved.spec.doctor.level = serde_json::from_str(&format!("{level:?}")).unwrap();
        let checked = Some(Checked { before: Some(before), after });
        let judged = judge(&Observation { checked, ..observation(driven) }, &resolved);
        (judged.status, judged.reasons.len(), judged.warnings)
    };
    let old = || found("nodes", Severity::Warning, "6.1");
    // It was known before.
    assert_eq!(judged("warn", old(), old()), (Status::Valid, 0, Vec::new()));
    let bad = || found("restarts", Severity::Error, "6.1");
    let sentence = "restarts: bad: as it should not be (wanted: good)";
    assert_eq!(judged("warn", old(), bad()), (Status::Valid, 0, vec![sentence.to_owned()]));
    assert_eq!(judged("strict", old(), bad()), (Status::Invalid, 1, Vec::new()));
    let changed = vec!["kernel was 6.1 before and is 6.2 after".to_owned()];
    let other = || found("nodes", Severity::Warning, "6.2");
    assert_eq!(judged("warn", old(), other()), (Status::Valid, 0, changed));
    assert_eq!(judged("strict", old(), other()), (Status::Invalid, 1, Vec::new()));
}

#[test]
fn too_few_requests_beyond_a_quantile_are_a_warning() {
    let judged = judged(load(1_000, 0, 0), P99);
    let warning = "p99 rests on 10 requests beyond it, at least 100 are needed: measure longer";
    assert!(judged.warnings.iter().any(|text| text == warning), "{:?}", judged.warnings);
}

/// The rules are tested in `limits`; this tests when they are applied.
#[test]
fn a_system_that_fell_short_has_a_limit_and_one_that_followed_its_load_has_none() {
    let hotel = Consumed {
        step: "hotel".to_owned(),
        role: "sut".to_owned(),
        of_role: 1.0,
        cpu: vec![(Instant(0), 0), (Instant(5_000_000_000), 4_900_000_000)],
        ..Consumed::default()
    };
    let limit = |load: Load, slo: &str| {
        let consumed = BTreeMap::from([("hotel".to_owned(), hotel.clone())]);
        let driven = Driven {
            load,
            parts: Vec::new(),
            consumed,
            deaths: Vec::new(),
            events: Vec::new(),
            gauged: Vec::new(),
            machine: Machine::default(),
        };
        let observed = judge(&observation(driven), &read(slo)).observed.unwrap();
        assert_eq!(observed.cpu["hotel"], 0.98);
        assert_eq!(observed.limit.is_some(), observed.limited_by.is_some());
        observed.limited_by
    };
    let expected = Some("hotel, CPU 0.98 of 1".to_owned());
    let mut saturated = load(15_000, 0, 0);
    saturated.saturated = Some(true);
    assert_eq!(limit(saturated, ""), expected, "saturated");
    assert_eq!(limit(load(9_000, 0, 6_000), ""), expected, "refuses");
    assert_eq!(limit(load(14_000, 1_000, 0), P99), expected, "slower than wanted");
    let mut failing = load(15_000, 0, 0);
    (failing.total.counts.ok, failing.total.counts.failed) = (9_000, 6_000);
    assert_eq!(limit(failing, ""), expected, "answers with errors");
    let mut closed = load(15_000, 0, 0);
    closed.total.rates_per_s.asked = None;
    assert_eq!(limit(closed, ""), expected, "a closed loop is as fast as it can");
    assert_eq!(limit(load(15_000, 0, 0), P99), None);
}

/// The generator judges the p99 of the delivery alone; the rest is declared by the experiment.
#[test]
fn a_declared_percentile_of_events_must_be_certain() {
    let resolved = |metric: &str| {
        let text = format!(
            "name: x\nsut: {{deploy: [{{app: {{name: c, run: channel}}}}]}}\n\
             workload: {{path: /, events: {{receive: \"127.0.0.1:18080\"}}}}\n\
             load: {{model: open, rate: 500/s}}\nphases: {{measure: {{time: 5s}}}}\n\
             reproducibility: {{target: {{metric: {metric}, rsd: 3%}}}}\n"
        );
        spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
    };
    let times = |ms: u64, tail_ms: u64| {
        let mut histogram = Histogram::new();
        histogram.record_n(Nanos::from_millis(ms), 997);
        histogram.record_n(Nanos::from_millis(tail_ms), 3);
        Times::of(&histogram)
    };
    let delivered = Events {
        delivery_time: times(10, 30),
        delivery_time_at_least: times(10, 20),
        ..Events::default()
    };
    let mut load = Load { events: Some(delivered), ..load(1_000, 0, 0) };
    load.total.response_time = times(2, 2);
    load.total.response_time_less_lateness = times(1, 1);
    let reasons = |metric: &str| judged_in(load.clone(), &resolved(metric)).reasons;
    assert_eq!(reasons("delivery_p99"), [""; 0], "the late ones lie beyond it");
    let why = &reasons("delivery_p99.9")[0];
    assert!(why.contains("leaves the delivery_p99.9 between 20.0 ms and 30.0 ms"), "{why}");
    let why = &reasons("p99")[0];
    assert!(why.contains("leaves the p99 between 1.00 ms and 2.00 ms"), "{why}");
}

/// A generator that is busy itself limits a closed loop: the rate is a lower bound of the system's, which
/// shows a search where to begin, and nothing else.
#[test]
fn a_closed_loop_that_its_generator_limited_is_refused_and_a_probe_only_begins_with_it() {
    let mut busy = refused(load(1_000, 0, 0), Busy);
    busy.pacing = Pacing::Closed { think_ns: 0 };
    busy.generator.generator_bound = Some(true);
    for (purpose, gate, expected) in [
        (Purpose::Trial, Busy, Status::Invalid),
        (Purpose::Probe, Busy, Status::Bounded),
        (Purpose::Probe, Disturbed, Status::Invalid),
    ] {
        let driven = driven(refused(busy.clone(), gate));
        let judged = judge(&Observation { purpose, ..observation(driven) }, &read(""));
        assert_eq!(judged.status, expected, "{purpose:?} {gate}");
        assert!(judged.observed.unwrap().generator_bound);
        let is_said = judged.findings.iter().any(|finding| finding.contains("is a lower bound"));
        assert_eq!(is_said, expected == Status::Bounded, "{:?}", judged.findings);
    }
}

use expect_test::expect;
use measure::{Nanos, Share};

use super::*;
use crate::evidence::{self, Evidence, Question};
use crate::load::{Connections, Gate, GateName, Target};
use crate::{slo, verdict};

/// Returns a load of 200 requests to one path, of which so many ended in these ways.
fn load(outcomes: &[(&str, u64)], reasons: &[(&str, u64)]) -> Load {
    let map = |counts: &[(&str, u64)]| {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect::<BTreeMap<_, _>>()
    };
    let mut load = Load::empty("test");
    let failed: u64 =
        outcomes.iter().filter(|(name, _)| *name != "unfinished").map(|(_, count)| count).sum();
    let unfinished = outcomes.iter().find(|(name, _)| *name == "unfinished").map_or(0, |of| of.1);
    load.total.counts.intended = 200;
    load.total.counts.failed = failed;
    load.total.counts.unfinished = unfinished;
    load.total.counts.ok = 200 - failed - unfinished;
    load.total.outcomes = map(outcomes);
    if 0 < load.total.counts.ok {
        load.total.outcomes.insert("ok".to_owned(), load.total.counts.ok);
    }
    load.total.reasons = map(reasons);
    let target = Target {
        url: "http://127.0.0.1:80/fast/".to_owned(),
        path: Some("/fast/".to_owned()),
        part: load.total.clone(),
    };
    load.targets = vec![target];
    load
}

#[test]
fn failures_are_said_by_reason_with_the_most_frequent_first() {
    let said = |outcomes, reasons| of_load_in_words(&load(outcomes, reasons)).unwrap_or_default();
    let all = [
        said(&[], &[]),
        said(&[("status", 200)], &[("status: 404", 200)]),
        said(
            &[("status", 50), ("timeout", 60), ("check", 7)],
            &[("status: 429", 30), ("status: 500", 20), ("check: body~a: b", 7)],
        ),
        said(
            &[("reset", 1), ("malformed", 2), ("connect", 3), ("write", 4)],
            &[("malformed: two lengths", 2), ("reset: refused", 1)],
        ),
        // Another generator does not tell the status.
        said(&[("status", 5)], &[]),
        // These did not fail.
        said(&[("unfinished", 200)], &[]),
        said(&[("unfinished", 20)], &[]),
    ];
    expect![[r#"

        404 for 200 of 200 requests to /fast/
        timeout for 60 of 200 requests to /fast/; 429 for 30 of 200 requests to /fast/; 500 for 20 of 200 requests to /fast/; and one more kind of failure
        connection lost while sending for 4 of 200 requests to /fast/; no connection for 3 of 200 requests to /fast/; malformed response (two lengths) for 2 of 200 requests to /fast/; and one more kind of failure
        a status of failure for 5 of 200 requests to /fast/

    "#]].assert_eq(&all.join("\n"));
}

#[test]
fn failures_are_said_by_label_and_those_without_one_apart() {
    let mut load =
        load(&[("status", 30), ("timeout", 2)], &[("status: 404", 25), ("status: 500", 5)]);
    let group = Group {
        completed: 50,
        failed: 25,
        outcomes: [("ok".to_owned(), 25), ("status".to_owned(), 25)].into(),
        reasons: [("status: 404".to_owned(), 25)].into(),
        ok_statuses: BTreeMap::new(),
        response_time: None,
        service_time: None,
    };
    load.labels.insert("login".to_owned(), group);
    expect!["404 for 25 of 50 requests `login`; 500 for 5 of 150 requests; timeout for 2 of 150 requests"].assert_eq(&of_load_in_words(&load).unwrap());
}

#[test]
fn a_load_fails_if_its_service_does_and_with_objectives_if_fewer_than_half_or_their_share_succeed()
{
    let failing = |failed: u64, slos: &[Slo]| {
        let load = load(&[("status", failed)], &[]);
        let judged = verdict::judge(slos, &load.total).unwrap_or_default();
        is_missed(&load, &judged.objectives)
    };
    assert!(!failing(6, &[]), "a few may fail");
    assert!(failing(7, &[]));
    let quick = Slo::ResponseTime { quantile: measure::Quantile::P50, max: Nanos::SECOND };
    assert!(!failing(100, &[quick]), "half of them is enough for what was asked");
    assert!(failing(101, &[quick]));
    assert!(!failing(150, &[Slo::Failures { max: Share(0.8) }]));

    let unfinished = |count| is_missed(&load(&[("unfinished", count)], &[]), &[]);
    assert!(!unfinished(150), "how they would have ended is unknown");
    assert!(!unfinished(200), "no response is not a failure: the load is not valid");
    assert!(!is_missed(&Load::empty("test"), &[]), "nothing was sent");
}

#[test]
fn wrong_responses_to_most_requests_decide_however_slow_anything_was() {
    let evidence = |outcomes: &[(&str, u64)], reasons: &[(&str, u64)], gate, question| {
        let mut load = load(outcomes, reasons);
        load.validity.valid = false;
        // The generator's own work filled its time.
        (load.generator.busy_share, load.generator.run_queue_wait_share) = (Some(0.9), Some(0.0));
        let figure = "12 %".to_owned();
        load.validity.gates = vec![Gate { name: gate, passed: false, figure }];
        evidence::of_load(&load, None, question).0
    };
    for question in [Question::Figures, Question::Verdict, Question::VerdictAndRate] {
        let disturbed = |outcomes: &[(&str, u64)], reasons: &[(&str, u64)]| {
            evidence(outcomes, reasons, GateName::Disturbed, question)
        };
        assert_eq!(disturbed(&[("status", 200)], &[]), Evidence::Answer);
        assert_eq!(disturbed(&[("check", 150), ("status", 50)], &[]), Evidence::Answer);
        assert_eq!(disturbed(&[("status", 101)], &[("status: 404", 101)]), Evidence::Answer);
        assert_eq!(disturbed(&[("status", 7)], &[("status: 404", 7)]), Evidence::Answer);
        assert_eq!(disturbed(&[("status", 6)], &[("status: 404", 6)]), Evidence::Nothing);
        // These may come from the disturbance.
        assert_eq!(disturbed(&[("status", 80)], &[("status: 500", 80)]), Evidence::Nothing);
        assert_eq!(disturbed(&[("status", 150)], &[("status: 503", 150)]), Evidence::Nothing);
        assert_eq!(disturbed(&[("status", 150)], &[]), Evidence::Nothing);
        assert_eq!(disturbed(&[("timeout", 200)], &[]), Evidence::Nothing);
        assert_eq!(disturbed(&[("status", 50), ("unfinished", 150)], &[]), Evidence::Nothing);
        // A generator that is late alone makes no service refuse, whatever made it late.
        let late = |outcome, count, reason| {
            evidence(&[(outcome, count)], &[(reason, count)], GateName::Late, question)
        };
        assert_eq!(late("status", 150, "status: 429"), Evidence::Answer);
        assert_eq!(late("status", 80, "status: 500"), Evidence::Answer);
        assert_eq!(late("status", 6, "status: 500"), Evidence::Nothing);
        assert_eq!(late("timeout", 150, "timeout: 1 s"), Evidence::Nothing);
    }
}

/// An objective is missed by them alone, however few of the others were late.
#[test]
fn wrong_responses_that_miss_an_objective_decide_however_late_the_generator_was() {
    let evidence = |slos: &str, failed: u64, gate| {
        let mut load = load(&[("status", failed)], &[("status: 500", failed)]);
        let mut times = measure::Histogram::new();
        times.record_n(Nanos::from_millis(100), 200);
        load.total.response_time = Times::of(&times);
        load.slo = verdict::judge(&slo::read(slos).unwrap(), &load.total);
        load.validity.valid = false;
        load.validity.gates = vec![Gate { name: gate, passed: false, figure: String::new() }];
        load.evidence().0
    };
    assert_eq!(evidence("p99<=1s", 80, GateName::Late), Evidence::Answer);
    assert_eq!(evidence("p99<=1s", 80, GateName::Disturbed), Evidence::Nothing);
    // The failures leave this one open, and the times may be those of the lateness.
    assert_eq!(evidence("p50<=50ms", 80, GateName::Late), Evidence::Nothing);
}

#[test]
fn a_target_that_is_gone_fails_whatever_became_of_its_requests() {
    let gone = |outcomes: &[(&str, u64)], share, pacing| {
        let mut load = load(outcomes, &[]);
        load.pacing = pacing;
        load.connections =
            Some(Connections { asked: 1, reached: 1, refused_share: share, ..Default::default() });
        load.validity.valid = false;
        let figure = String::new();
        load.validity.gates = vec![Gate { name: GateName::Late, passed: false, figure }];
        load
    };
    let open = || Pacing::Open { arrivals: "poisson".to_owned() };
    let dead = gone(&[("connect", 5), ("unfinished", 120)], Some(0.69), open());
    assert!(is_missed(&dead, &[]));
    expect!["the target took no connections for 69 % of the time, and 75 of 200 requests succeeded; see why it ended"]
        .assert_eq(&missed_in_words(&dead, &[]).unwrap());
    let (found, why) = dead.evidence();
    assert_eq!(found, Evidence::Answer);
    expect!["the target decides: neither lateness nor a disturbance makes it refuse connections"]
        .assert_eq(&why.unwrap());
    // A longer drain would not help.
    let mut asked = dead;
    asked.slo = verdict::judge(&slo::read("failures<=10%").unwrap(), &asked.total);
    assert!(asked.slo.as_ref().unwrap().rests_on_unfinished(&asked.total));
    assert_eq!(asked.evidence().0, Evidence::Answer);
    // Other connections carried the requests.
    assert!(!is_gone(&gone(&[("connect", 5)], Some(0.2), open())));
    assert!(!is_gone(&gone(&[("connect", 50)], None, open())));
    // A closed loop asks for nothing meanwhile; its figures are no evidence of an experiment.
    let closed = gone(&[("reset", 2)], Some(0.69), Pacing::Closed { think_ns: 0 });
    assert_eq!((is_missed(&closed, &[]), closed.evidence().0), (true, Evidence::Answer));
    assert_eq!(evidence::of_load(&closed, None, Question::Figures).0, Evidence::Nothing);
}

#[test]
fn a_valid_load_with_failures_is_not_called_just_valid() {
    let words = |failed| valid_in_words(&load(&[("status", failed)], &[]));
    assert_eq!(words(6), "valid");
    assert_eq!(words(30), "valid measurement of a failing service");
}

/// Neither a late generator nor a disturbed machine makes a service answer 404; it may be why a server failed.
#[test]
fn a_missed_objective_on_failures_is_certain_if_wrong_responses_alone_miss_it() {
    let objectives = slo::read("failures<=1%").unwrap();
    let is_certain = |outcomes: &[(&str, u64)], reasons: &[(&str, u64)]| {
        let load = load(outcomes, reasons);
        let judged = verdict::judge(&objectives, &load.total).unwrap().objectives;
        (is_certain(&load, &judged, true), is_certain(&load, &judged, false))
    };
    let of_status = |count, status| is_certain(&[("status", count)], &[(status, count)]);
    assert_eq!(of_status(40, "status: 404"), (true, true));
    assert_eq!(is_certain(&[("check", 40)], &[("check: status=200", 40)]), (true, true));
    assert_eq!(of_status(40, "status: 500"), (false, true));
    assert_eq!(of_status(40, "status: 408"), (false, true));
    assert_eq!(of_status(40, "status: 429"), (false, true));
    assert_eq!(is_certain(&[("timeout", 40)], &[]), (false, false));
    // Too few to decide.
    assert_eq!(of_status(3, "status: 404"), (false, false));
}

#[test]
fn a_failing_load_says_what_would_allow_it() {
    let words = |failed| missed_in_words(&load(&[("status", failed)], &[]), &[]);
    assert_eq!(words(6), None);
    expect!["120 of 200 requests succeeded, and more than 3 % failed; see what was asked and what the service answers, or allow so many by --slo 'failures<=40%'"]
        .assert_eq(&words(80).unwrap());
    expect!["69 of 200 requests succeeded, fewer than half; see what was asked and what the service answers, or allow so many by --slo 'failures<=66%'"]
        .assert_eq(&words(131).unwrap());
    expect!["0 of 200 requests succeeded, fewer than half; see what was asked and what the service answers"]
        .assert_eq(&words(200).unwrap());
}

#[test]
fn other_generators_tell_the_statuses_of_failures_too() {
    let mut load = load(&[("status", 30)], &[]);
    let statuses = [("200", 170), ("404", 20), ("503", 10)];
    load.targets[0].part.statuses = statuses.map(|(name, count)| (name.to_owned(), count)).into();
    expect!["404 for 20 of 200 requests to /fast/; 503 for 10 of 200 requests to /fast/"]
        .assert_eq(&of_load_in_words(&load).unwrap());
}

#[test]
fn only_refusals_may_end_at_a_lower_load() {
    let all = |reason: &str| of(&load(&[("status", 200)], &[(reason, 200)]));
    assert!(are_of_any_load(&all("status: 404")));
    assert!(!are_of_any_load(&all("status: 503")));
    assert!(!are_of_any_load(&of(&load(&[("status", 200)], &[]))), "the status is unknown");
}

#[test]
fn a_lower_load_hardly_changes_wrong_responses_and_a_service_that_is_not_there() {
    let failed = |outcome: &str, reason: &str| {
        let reason = format!("{outcome}: {reason}");
        at_any_load(&of(&load(&[(outcome, 10)], &[(&*reason, 10)])))
    };
    assert_eq!(failed("status", "500"), 10);
    assert_eq!(failed("check", "body~ok"), 10);
    assert_eq!(failed("connect", "connection refused"), 10);
    // A service may do these only at a load that is too high for it.
    assert_eq!(failed("status", "503"), 0);
    assert_eq!(failed("timeout", "1 s"), 0);
    assert_eq!(failed("connect", "timed out"), 0);
}

#[test]
fn the_failures_of_earlier_results_are_only_counted() {
    let tally = Tally { requests: 200, failed: 30, unfinished: 0 };
    assert_eq!(tally.in_words(&[]).unwrap(), "30 of 200 requests failed");
    assert_eq!(Tally { failed: 0, ..tally }.in_words(&[]), None);
}

#[test]
fn times_say_that_most_of_them_are_not_those_of_successes() {
    let times = |count| {
        let mut histogram = measure::Histogram::new();
        histogram.record_n(Nanos(1_000), count);
        Times::of(&histogram)
    };
    let said = |failed, unfinished| {
        of_times_in_words(&Part {
            response_time: times(200),
            failed_response_time: times(failed),
            unfinished_response_time: times(unfinished),
            ..Part::default()
        })
    };
    assert_eq!(said(100, 0), None);
    expect!["mostly times of failures: 101 of 200 requests failed"]
        .assert_eq(&said(101, 0).unwrap());
    assert_eq!(said(0, 100), None);
    expect!["mostly waits without a response: 101 of 200 requests had none when the load ended, so these times are lower bounds"]
        .assert_eq(&said(0, 101).unwrap());
    assert_eq!(said(50, 50), None);
    expect!["mostly times of failures and waits without a response: 51 of 200 requests failed, and 50 had no response when the load ended, so these times are lower bounds"]
        .assert_eq(&said(51, 50).unwrap());
}

/// The outcome `reset` is also that of a response that an orderly close cut short.
#[test]
fn a_response_that_was_cut_short_is_not_called_a_reset() {
    let words = of_load_in_words(&load(&[("reset", 5)], &[])).unwrap();
    expect!["connection closed before the whole response for 5 of 200 requests to /fast/"]
        .assert_eq(&words);
    assert_eq!(["reset", "ok", "timeout"].map(outcome_in_words), ["cut off", "ok", "timeout"]);
}

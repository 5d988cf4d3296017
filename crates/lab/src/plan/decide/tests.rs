use std::path::Path;

use expect_test::expect;
use results::failure::Failure;
use results::journal::{Connections, Waited};
use results::{Found, slo};

use super::*;
use crate::plan::CORRECT;
use crate::spec;

mod of_any_load;
mod unconfirmed;
mod words;

/// A simulated queue with trials of 10 s.
fn queue(rest: &str) -> Resolved {
    let text = format!(
        "
name: queue
where: {{backend: simulated}}
simulated: {{service_time: 1ms}}
workload: {{get: /}}
load: {{model: open}}
phases: {{warm_up: {{fixed: 1s}}, measure: {{time: 8s}}, drain: 1s}}
{rest}
"
    );
    spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
}

/// A sweep of it: a probe of 4 s, then from 60 % of it in steps of 10 %.
fn sweep(budget: &str) -> Resolved {
    queue(&format!(
        "slo: [{{metric: p99, max: 20ms}}]
search: {{start: {{probe: 0.6}}, step: 10%, stop: [{{rule: no_new_max, window: 2}}]}}
budget: {{{budget}}}"
    ))
}

/// The same for the capacity, of which a disturbed trial says nothing.
fn capacity(budget: &str) -> Resolved {
    let mut resolved = sweep(budget);
    resolved.spec.search.as_mut().unwrap().result = ResultKind::Capacity;
    resolved
}

/// A search of it for the capacity, which may take a hundred trials.
fn capacity_of(search: &str) -> Resolved {
    let mut resolved = capacity("trials: 100");
    let search = serde_json::from_value(serde_json::from_str(search).unwrap()).unwrap();
    resolved.spec.search = Some(search);
    resolved
}

/// The entry of an attempt that completed `completed` of the requests that were offered to it.
fn entry(attempt: &Attempt, status: Status, completed: f64) -> Entry {
    let asked = attempt.asked.map(Rate::as_per_second);
    let offered = asked.unwrap_or(completed);
    let observed = serde_json::json!({
        "offered_per_s": offered, "completed_per_s": completed,
        "sustained_per_s": completed.min(offered), "goodput_per_s": completed,
        "succeeded_per_s": completed,
        "requests": 1000, "failures": 0, "slo_met": true, "saturated": false, "cpu": {},
    });
    Entry {
        trial: 1,
        key: String::new(),
        purpose: attempt.purpose,
        cell: None,
        search: None,
        strand: None,
        block: None,
        asked_per_s: asked,
        asked_per_target_per_s: asked,
        why: None,
        bounds: None,
        repetition: attempt.repetition,
        attempt: attempt.attempt,
        waited: None,
        warmed_up_ns: None,
        slow_machine: None,
        seed: 0,
        status,
        reasons: vec!["disturbed".to_owned()],
        observed: (status != Status::Aborted).then(|| serde_json::from_value(observed).unwrap()),
        slo: Vec::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        disturbed: Vec::new(),
        fingerprint: None,
        unread: Vec::new(),
        files: Default::default(),
    }
}

/// Decides for a plan of one strand.
fn decide(resolved: &Resolved, journal: &[Entry]) -> Decision {
    let mut spent = Spent::of(1, 0);
    journal.iter().for_each(|entry| spent.add(resolved, entry));
    super::next(resolved, journal, None, &spent)
}

fn next(resolved: &Resolved, journal: &[Entry]) -> Attempt {
    match decide(resolved, journal) {
        Decision::Run(attempt) => attempt,
        Decision::End(ending) => panic!("{ending:?}"),
    }
}

fn why(resolved: &Resolved, journal: &[Entry]) -> String {
    match decide(resolved, journal) {
        Decision::End(Ending::NoAnswer(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// A journal with a valid probe of 1,000/s.
fn probed(resolved: &Resolved) -> Vec<Entry> {
    vec![entry(&next(resolved, &[]), Status::Valid, 1_000.0)]
}

#[test]
fn a_trial_that_is_not_valid_is_repeated_once_the_machine_is_calm() {
    let resolved = capacity("invalid_attempts: 8, disturbance: 100s");
    let mut journal = probed(&resolved);
    let first = next(&resolved, &journal);
    assert_eq!((first.attempt, first.await_calm), (1, None));
    // 100 s less the lost trial, less the next one; and the first wait is no longer than 20 s.
    journal.push(entry(&first, Status::Invalid, 600.0));
    let second = next(&resolved, &journal);
    assert_eq!((second.asked, second.attempt), (first.asked, 2));
    assert_eq!(second.await_calm, Some(Nanos::from_secs(20)));
    let waited = Waited { waited_ns: 55_000_000_000, calm: true, text: String::new() };
    // Longer before the second, and here as long as the budget allows.
    journal.push(Entry { waited: Some(waited), ..entry(&second, Status::Invalid, 600.0) });
    assert_eq!(next(&resolved, &journal).await_calm, Some(Nanos::from_secs(15)));
    // 20 s of trials and 55 s of waiting are lost: another trial would exceed the budget.
    journal.push(entry(&next(&resolved, &journal), Status::Invalid, 600.0));
    journal.push(entry(&next(&resolved, &journal), Status::Invalid, 600.0));
    assert_eq!(
        why(&resolved, &journal),
        "disturbances used up the rest of the 100 s that budget.disturbance allows (disturbances took 95.0 s, and the \
         next trial needs 10.0 s; each counts as planned, with its whole drain): disturbed"
    );
}

/// The trials that count stay counted when a run goes on, and what was lost before does not.
#[test]
fn a_budget_that_a_resumed_run_used_up_is_said_by_its_parts() {
    let resolved = capacity("invalid_attempts: 8, time: 30s, disturbance: 15s");
    let mut journal = probed(&resolved);
    journal.push(entry(&next(&resolved, &journal), Status::Valid, 600.0));
    for _ in 0..3 {
        journal.push(entry(&next(&resolved, &journal), Status::Invalid, 600.0));
    }
    for (entry, number) in journal.iter_mut().zip(1..) {
        entry.trial = number;
    }
    let why = |resumed_after| {
        let mut spent = Spent::of(1, resumed_after);
        journal.iter().for_each(|entry| spent.add(&resolved, entry));
        match super::next(&resolved, &journal, None, &spent) {
            Decision::End(Ending::NoAnswer(why)) => why,
            other => panic!("{other:?}"),
        }
    };
    expect!["disturbances used up the rest of the 45 s that budget.time and budget.disturbance allow (trials that count took 14.0 s, disturbances took 30.0 s, and the next trial needs 10.0 s; each counts as planned, with its whole drain): disturbed"]
        .assert_eq(&why(0));
    expect!["disturbances used up the rest of the 45 s that budget.time and budget.disturbance allow (trials that count took 14.0 s, disturbances took 30.0 s since the run went on, and the next trial needs 10.0 s; each counts as planned, with its whole drain): disturbed"]
        .assert_eq(&why(2));
}

/// A generator whose own work fills its time would only fill it again.
#[test]
fn a_closed_loop_that_its_generator_limits_is_repeated_once_and_a_probe_not_at_all() {
    let bound = |attempt: &Attempt, status| {
        let mut entry = entry(attempt, status, 1_000.0);
        entry.observed.as_mut().unwrap().generator_bound = true;
        entry.reasons = vec!["the generator was the bottleneck: busy".to_owned()];
        entry
    };
    let search = sweep("invalid_attempts: 8");
    let probe = bound(&next(&search, &[]), Status::Bounded);
    assert_eq!(next(&search, &[probe]).asked, Rate::per_second(600.0));

    let mut closed = sweep("invalid_attempts: 8");
    closed.spec.search = None;
    closed.spec.load.model = spec::Model::Closed { think: None };
    let mut journal = vec![bound(&next(&closed, &[]), Status::Invalid)];
    journal.push(bound(&next(&closed, &journal), Status::Invalid));
    assert_eq!(why(&closed, &journal), "the generator was the bottleneck: busy");
}

/// A service that completes 1,500/s, and a generator that can offer 1,000/s: the search takes what is out of its
/// reach for no verdict of the service, and looks below.
#[test]
fn a_search_goes_on_below_a_load_that_the_generator_cannot_offer() {
    let trial = |number: usize, attempt: &Attempt, reach: f64, capacity: f64| {
        let asked = attempt.asked.unwrap().as_per_second();
        let is_bound = reach < asked;
        let status = if is_bound { Status::Invalid } else { Status::Valid };
        let mut entry =
            Entry { trial: number as u32 + 1, ..entry(attempt, status, asked.min(reach)) };
        let observed = entry.observed.as_mut().unwrap();
        observed.slo_met = Some(asked <= capacity);
        if is_bound {
            observed.generator_bound = true;
            entry.reasons = vec!["generator late: busy".to_owned()];
        }
        entry
    };
    let ends = |search: &str, reach: f64, capacity: f64| {
        let mut resolved = capacity_of(search);
        resolved.spec.budget.disturbance = None;
        let mut journal = Vec::new();
        loop {
            match decide(&resolved, &journal) {
                Decision::Run(attempt) => {
                    // No calmer machine makes a generator faster.
                    assert_eq!(attempt.await_calm, None);
                    journal.push(trial(journal.len(), &attempt, reach, capacity));
                }
                Decision::End(ending) => return format!("{ending:?} after {}\n", journal.len()),
            }
        }
    };
    let strategies = ["adaptive", "bisect"].map(|strategy| {
        format!(r#"{{"start": "200/s", "strategy": "{strategy}", "precision": "10%"}}"#)
    });
    let ended = strategies.each_ref().map(|search| {
        ends(search, 1_000.0, 1_500.0) + &ends(search, 1_000.0, 900.0) + &ends(search, 100.0, 900.0)
    });
    expect![[r#"
        NoAnswer("the SLO was met up to 951/s, and the generator cannot offer 1,037/s: generator late: busy") after 11
        Answered("the capacity lies between 872/s and 951/s, 9.1 % apart") after 13
        NoAnswer("the SLO was met up to 100/s, and the generator cannot offer 109/s: generator late: busy") after 10
        NoAnswer("the SLO was met up to 951/s, and the generator cannot offer 1,037/s: generator late: busy") after 10
        Answered("the capacity lies between 872/s and 951/s, 9.1 % apart") after 9
        NoAnswer("the SLO was met up to 100/s, and the generator cannot offer 109/s: generator late: busy") after 9
    "#]].assert_eq(&ended.concat());
}

/// No calmer machine ends what a service had not answered when the load ended.
#[test]
fn a_load_that_only_unfinished_requests_spoil_is_repeated_once_and_waits_for_no_calm_machine() {
    let mut fixed = sweep("invalid_attempts: 8");
    fixed.spec.search = None;
    let cut_off = |attempt: &Attempt| {
        let mut entry = entry(attempt, Status::Invalid, 1_000.0);
        entry.observed.as_mut().unwrap().rests_on_unfinished = true;
        entry.reasons = vec!["wait longer for them (phases.drain)".to_owned()];
        entry
    };
    let mut journal = vec![cut_off(&next(&fixed, &[]))];
    let again = next(&fixed, &journal);
    assert_eq!((again.attempt, again.await_calm), (2, None));
    journal.push(cut_off(&again));
    assert_eq!(why(&fixed, &journal), "wait longer for them (phases.drain)");
}

/// No calmer machine makes a service answer within the load.
#[test]
fn a_load_without_a_response_is_repeated_once() {
    let resolved = sweep("invalid_attempts: 8");
    let mut fixed = resolved;
    fixed.spec.search = None;
    for (completed, reason) in [
        (0.0, "no request had a response when the load ended"),
        (700.0, "the load is far above what the service completes: 700/s of "),
    ] {
        let silent = |attempt: &Attempt| {
            let mut entry = entry(attempt, Status::Invalid, 1_000.0);
            let observed = entry.observed.as_mut().unwrap();
            observed.unfinished = Some(observed.requests);
            observed.completed_per_s = completed;
            entry
        };
        let mut journal = vec![silent(&next(&fixed, &[]))];
        journal.push(silent(&next(&fixed, &journal)));
        let why = why(&fixed, &journal);
        assert!(why.starts_with(reason), "{why}");
    }
}

/// A run that had more disturbances than expected, but fewer trials, ends as early as planned.
#[test]
fn time_that_trials_do_not_need_is_there_for_disturbances() {
    let resolved = capacity("invalid_attempts: 99, time: 60s, disturbance: 20s");
    let mut journal = probed(&resolved);
    let length = trial::planned_length(&resolved, Purpose::Trial);
    let probe = trial::planned_length(&resolved, Purpose::Probe);
    let most = (Nanos::from_secs(80).saturating_sub(probe).0 / length.0) as usize;
    for _ in 0..most {
        let next = next(&resolved, &journal);
        journal.push(entry(&next, Status::Invalid, 600.0));
    }
    let expected = "disturbances used up the rest of the 80 s that budget.time and budget.disturbance allow (trials that count took ";
    assert!(why(&resolved, &journal).starts_with(expected), "{}", why(&resolved, &journal));
    // A trial that counts is not begun either if it would end too late.
    let last = journal.pop().unwrap();
    journal.push(Entry { status: Status::Valid, ..last });
    assert!(why(&resolved, &journal).starts_with(expected), "{}", why(&resolved, &journal));
}

#[test]
fn a_trial_is_repeated_as_often_as_allowed_and_no_more() {
    let resolved = capacity("invalid_attempts: 2, disturbance: 10m");
    for (status, times, expected) in [
        (Status::Invalid, 3, "a trial was not valid 3 times: disturbed"),
        (Status::Aborted, 3, "a trial was aborted 3 times: disturbed"),
    ] {
        let mut journal = probed(&resolved);
        for attempt in 1..=times {
            let next = next(&resolved, &journal);
            assert_eq!(next.attempt, attempt);
            assert_eq!(next.await_calm.is_some(), status == Status::Invalid && 1 < attempt);
            journal.push(entry(&next, status, 600.0));
        }
        assert_eq!(why(&resolved, &journal), expected);
    }
}

/// Returns a trial in which no request had the label of an objective.
fn without_login(entry: Entry) -> Entry {
    let judged = slo::Judged {
        slo: "login.p99<=20ms".parse().unwrap(),
        over: 0,
        over_at_least: 0,
        of: 0,
        reached_ns: None,
        verdict: slo::Verdict::Undecided,
        met: false,
        text: String::new(),
    };
    let mut entry = Entry { slo: vec![judged], ..entry };
    entry.observed.as_mut().unwrap().slo_met = Some(false);
    entry
}

/// It is not missed, so no lower load is tried, and no answer is that the SLO cannot be met.
#[test]
fn a_load_without_a_request_of_an_objective_has_no_answer_but_a_remedy() {
    let mut closed = sweep("trials: 9");
    closed.spec.search = None;
    closed.spec.load.model = spec::Model::Closed { think: None };
    let given = without_login(entry(&next(&closed, &[]), Status::Valid, 600.0));
    let expected = "no request of `login` was measured at 600/s (trial 1), so login.p99 ≤ 20 ms is neither met nor missed \
                    there; measure longer (phases.measure.time), or send more of these requests";
    assert_eq!(why(&closed, &[given]), expected);

    let search = capacity_of(r#"{"range": ["100/s", "1600/s"], "strategy": "bisect"}"#);
    let mut journal: Vec<Entry> = Vec::new();
    let ended = loop {
        match decide(&search, &journal) {
            Decision::Run(attempt) => {
                let entry = without_login(entry(&attempt, Status::Valid, 5_000.0));
                let trial = journal.len() as u32 + 1;
                journal.push(Entry { trial, why: attempt.why, ..entry });
            }
            Decision::End(ending) => break ending,
        }
    };
    let Ending::NoAnswer(ended) = &ended else { panic!("{ended:?}") };
    assert_eq!(journal.len(), 3, "{ended}");
    assert!(ended.contains("(trials 1, 2 and 3), so login.p99 ≤ 20 ms is neither met"), "{ended}");
    let loads: Vec<Option<f64>> = journal.iter().map(|entry| entry.asked_per_s).collect();
    assert_eq!(loads, [loads[0]; 3]);
}

/// The first thing to know is that the system dies, and not that trials are missing.
#[test]
fn a_budget_that_deaths_used_up_says_so() {
    let resolved = capacity("trials: 2");
    let mut journal = probed(&resolved);
    for _ in 0..2 {
        let next = next(&resolved, &journal);
        journal.push(entry(&next, Status::Aborted, 600.0));
    }
    let expected = "no stop rule fired in the 2 trials allowed; the system died in 2 of them, the last time: \
                    disturbed";
    assert_eq!(why(&resolved, &journal), expected);

    let mut closed = sweep("trials: 2");
    closed.spec.search = None;
    closed.spec.load.model = spec::Model::Closed { think: None };
    let mut journal = Vec::new();
    for _ in 0..2 {
        journal.push(entry(&next(&closed, &journal), Status::Aborted, 600.0));
    }
    let expected = "the system died in 2 of the trials, and the 2 trials of budget.trials were not enough; the last \
                    time: disturbed";
    assert_eq!(why(&closed, &journal), expected);
}

/// A journal is read from its file: the rate in it must be the rate that is asked for.
#[test]
fn a_rate_that_is_not_a_round_number_is_recognized_in_the_journal() {
    let text = "
name: fixed
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open, rate: 7/m}
repeat: {trials: 3}
";
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let mut journal: Vec<Entry> = Vec::new();
    for repetition in 1..=3 {
        let next = next(&resolved, &journal);
        assert_eq!((next.repetition, next.attempt), (repetition, 1));
        let line = serde_json::to_string(&entry(&next, Status::Valid, 0.1)).unwrap();
        journal.push(serde_json::from_str(&line).unwrap());
    }
    assert!(matches!(decide(&resolved, &journal), Decision::End(Ending::Answered(_))));
}

/// A long trial can be repeated with the default budget, too.
#[test]
fn the_default_budget_for_disturbances_is_enough_for_a_long_trial() {
    let resolved = sweep("");
    assert_eq!(trial::disturbance_allowed(&resolved, 1), Nanos::from_secs(180));
    let mut resolved = resolved;
    resolved.spec.phases.measure.time = crate::spec::Written(Nanos::from_secs(120));
    let mut journal = probed(&resolved);
    journal.push(entry(&next(&resolved, &journal), Status::Invalid, 600.0));
    assert_eq!(next(&resolved, &journal).attempt, 2);
}

/// The cost of disturbances does not reduce the budget for a quiet machine.
#[test]
fn trials_that_are_not_valid_are_not_counted_against_trials_and_time() {
    let resolved = sweep("trials: 2, time: 24s, disturbance: 10m");
    let mut journal = probed(&resolved);
    for _ in 0..3 {
        journal.push(entry(&next(&resolved, &journal), Status::Invalid, 600.0));
    }
    journal.push(entry(&next(&resolved, &journal), Status::Valid, 600.0));
    journal.push(entry(&next(&resolved, &journal), Status::Valid, 660.0));
    assert_eq!(why(&resolved, &journal), "no stop rule fired in the 2 trials allowed");
    let shorter = sweep("time: 23s, disturbance: 10m");
    assert_eq!(
        why(&shorter, &journal[..5]),
        "no stop rule fired in the 23.0 s allowed (trials that count took 14.0 s, and the next one needs 10.0 s; each \
         counts as planned, with its whole drain)"
    );
}

/// A disturbance only slows the system: a slowed trial that met its SLO and kept up counts.
#[test]
fn a_slowed_trial_that_answers_is_a_point_of_the_search() {
    let resolved = sweep("");
    let mut journal = probed(&resolved);
    let first = next(&resolved, &journal);
    journal.push(entry(&first, Status::Bounded, 600.0));
    let points = points(&resolved, &journal);
    assert_eq!((points[0].sustained_per_s, points[0].slo_met), (600.0, Some(true)));
    assert_eq!(next(&resolved, &journal).asked, Rate::per_second(660.0));
}

#[test]
fn a_probe_that_is_not_valid_is_repeated_and_the_fastest_counts() {
    let resolved = sweep("");
    let mut journal = Vec::new();
    for (attempt, completed) in [(1, 400.0), (2, 1_000.0), (3, 500.0)] {
        let probe = next(&resolved, &journal);
        assert_eq!((probe.purpose, probe.attempt), (Purpose::Probe, attempt));
        assert_eq!(probe.await_calm.is_some(), 1 < attempt);
        journal.push(entry(&probe, Status::Invalid, completed));
    }
    assert_eq!(next(&resolved, &journal).asked, Rate::per_second(600.0));
    let valid = probed(&resolved);
    assert_eq!(next(&resolved, &valid).purpose, Purpose::Trial);
    // If disturbances may cost nothing, the first probe is used.
    assert_eq!(next(&sweep("disturbance: 1s"), &journal[..1]).asked, Rate::per_second(240.0));
    assert_eq!(
        why(&resolved, &[entry(&next(&resolved, &[]), Status::Valid, 0.0)]),
        "the probe completed nothing"
    );
}

/// A refusal completes a request, and is fast.
#[test]
fn a_probe_counts_only_what_did_not_fail() {
    let resolved = sweep("");
    let with_failures = |failures: u64| {
        let mut probe = entry(&next(&resolved, &[]), Status::Valid, 1_000.0);
        let observed = probe.observed.as_mut().unwrap();
        (observed.requests, observed.failures) = (1_000, failures);
        observed.succeeded_per_s = Some((1_000 - failures) as f64);
        probe
    };
    assert_eq!(next(&resolved, &[with_failures(500)]).asked, Rate::per_second(300.0));
    // The reasons are unknown, so only a valid probe shows that the service fails.
    let ended = decide(&resolved, &[with_failures(1_000)]);
    assert_eq!(ended, Decision::End(Ending::Failing(NO_SUCCESS.to_owned())));
    let invalid = Entry { status: Status::Invalid, ..with_failures(1_000) };
    let why = why(&resolved, &[invalid.clone(), invalid.clone(), invalid]);
    assert_eq!(
        why,
        "the probe failed: 1,000 of 1,000 requests failed (trial 1, and 2 other trials fail)"
    );
}

/// The entry of an attempt in which all requests failed alike.
fn failed(attempt: &Attempt, status: Status, outcome: &str, reason: &str) -> Entry {
    let mut entry = entry(attempt, status, 1_000.0);
    let observed = entry.observed.as_mut().unwrap();
    (observed.failures, observed.unfinished) = (1_000, Some(0));
    observed.failing = vec![Failure {
        outcome: outcome.to_owned(),
        reason: Some(reason.to_owned()),
        count: 1_000,
        of: 1_000,
        ..Failure::default()
    }];
    entry
}

#[test]
fn a_service_that_answers_everything_wrongly_ends_the_search_although_the_machine_was_disturbed() {
    let sweep = sweep("");
    let failing = Decision::End(Ending::Failing(NO_SUCCESS.to_owned()));
    for (outcome, reason) in [("status", "404"), ("status", "503"), ("check", "body~ok")] {
        for status in [Status::Valid, Status::Bounded, Status::Invalid] {
            let trial = failed(&next(&sweep, &[]), status, outcome, reason);
            assert_eq!(decide(&sweep, &[trial]), failing, "{reason} in a {} trial", status.name());
        }
    }
    // A disturbance may cause these: the probe is repeated.
    let trial = failed(&next(&sweep, &[]), Status::Invalid, "reset", "");
    assert_eq!(next(&sweep, &[trial]).attempt, 2);
    // Other loads were answered.
    let mut journal = probed(&sweep);
    journal.push(failed(&next(&sweep, &journal), Status::Valid, "status", "503"));
    assert!(matches!(decide(&sweep, &journal), Decision::Run(_)));
}

#[test]
fn a_search_for_a_capacity_tries_lower_loads_if_the_service_refuses_requests() {
    let capacity = "
name: queue
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open}
slo: [{metric: p99, max: 20ms}]
search: {start: 500/s}
";
    let read = |text: &str| {
        spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap()
    };
    let resolved = read(capacity);
    let first = next(&resolved, &[]);
    let trial = |reason| {
        let mut entry = failed(&first, Status::Valid, "status", reason);
        entry.observed.as_mut().unwrap().slo_met = Some(false);
        entry
    };
    let failing = Decision::End(Ending::Failing(NO_SUCCESS.to_owned()));
    assert_eq!(decide(&resolved, &[trial("404")]), failing);
    assert!(matches!(decide(&resolved, &[trial("503")]), Decision::Run(_)));
    // A declared share of 100 % allows it.
    let allowed = read(&capacity.replace("20ms}]", "20ms}, {metric: failures, max: 100%}]"));
    assert!(matches!(decide(&allowed, &[trial("404")]), Decision::Run(_)));
}

/// The entry of an attempt in which most requests failed alike.
fn mostly_failed(attempt: &Attempt, status: Status, reason: &str, failures: u64) -> Entry {
    let mut entry = failed(attempt, status, "status", reason);
    let observed = entry.observed.as_mut().unwrap();
    observed.failures = failures;
    observed.succeeded_per_s = Some(observed.completed_per_s * (1.0 - failures as f64 / 1e3));
    observed.failing[0].count = failures;
    observed.failing[0].text = format!("{reason} for {failures} of 1,000 requests to /");
    observed.slo_met = Some(false);
    entry
}

#[test]
fn a_service_that_fails_most_requests_at_any_load_ends_the_search_with_that() {
    let resolved = queue("slo: [{metric: p99, max: 20ms}]\nsearch: {start: {probe: 0.7}}");
    let run = |journal: &mut Vec<Entry>, status, reason, failures| {
        let attempt = next(&resolved, journal);
        journal.push(mostly_failed(&attempt, status, reason, failures));
    };
    for status in [Status::Valid, Status::Bounded, Status::Invalid] {
        let mut journal = Vec::new();
        (0..3).for_each(|_| run(&mut journal, status, "500", 900));
        if status == Status::Invalid {
            // Its first two attempts are the probe's.
            (0..2).for_each(|_| run(&mut journal, status, "500", 900));
        }
        let Decision::End(Ending::Failing(why)) = decide(&resolved, &journal) else {
            panic!("{status:?}")
        };
        assert_eq!(
            why,
            "most requests failed in every trial; at the lowest load, 70.0/s, 500 for 900 of 1,000 requests to /; no \
             lower load and no calmer machine changes that: correct the workload or the service, and run it again"
        );
        assert!(why.ends_with(CORRECT) && NO_SUCCESS.ends_with(CORRECT));
    }
    // Refusals may end at a lower load, and so may failures that become fewer.
    for (reason, failures) in [("503", 900), ("500", 700)] {
        let mut journal = Vec::new();
        run(&mut journal, Status::Valid, reason, 900);
        (0..2).for_each(|_| run(&mut journal, Status::Valid, reason, failures));
        assert!(matches!(decide(&resolved, &journal), Decision::Run(_)), "{reason}");
    }
    // So may those of a service that is overloaded by a little.
    let near = queue("slo: [{metric: p99, max: 20ms}]\nsearch: {start: 500/s}");
    let mut journal = Vec::new();
    for _ in 0..4 {
        let attempt = next(&near, &journal);
        journal.push(mostly_failed(&attempt, Status::Valid, "500", 900));
    }
    assert!(matches!(decide(&near, &journal), Decision::Run(_)));
    // An objective that allows such a share asks for such a load.
    let allowed = queue(
        "slo: [{metric: p99, max: 20ms}, {metric: failures, max: 95%}]\nsearch: {start: {probe: 0.7}}",
    );
    let mut journal = Vec::new();
    for _ in 0..3 {
        let attempt = next(&allowed, &journal);
        journal.push(mostly_failed(&attempt, Status::Valid, "500", 900));
    }
    assert!(matches!(decide(&allowed, &journal), Decision::Run(_)));
}

#[test]
fn a_budget_that_is_too_short_for_a_trial_says_what_would_do() {
    // The probe is warmed up for 1 s, measured for 2 s, and drained for 1 s.
    let why = |budget: &str| why(&sweep(budget), &[]);
    assert_eq!(
        why("time: 5s"),
        "budget.time is 5s, which is too short for one trial; allow at least 14s"
    );
    let enough = sweep("time: 14s");
    assert!(matches!(decide(&enough, &probed(&enough)), Decision::Run(_)));
}

/// Decides on disturbed trials until the search ends; the system completes 900/s of any load.
fn disturbed(resolved: &Resolved, mut journal: Vec<Entry>) -> (Vec<Entry>, Ending) {
    loop {
        let attempt = match decide(resolved, &journal) {
            Decision::Run(attempt) => attempt,
            Decision::End(ending) => return (journal, ending),
        };
        let completed = attempt.asked.map_or(1_000.0, Rate::as_per_second).min(900.0);
        journal.push(entry(&attempt, Status::Invalid, completed));
    }
}

#[test]
fn on_a_machine_that_stays_disturbed_a_sweep_ends_with_a_bound_of_the_maximum() {
    let resolved = sweep("time: 120s, disturbance: 40s");
    let (journal, ending) = disturbed(&resolved, Vec::new());
    let Ending::Answered(why) = &ending else { panic!("{ending:?}") };
    assert_eq!(
        why,
        "no new maximum in 2 loads; at 3 of 9 loads every trial was disturbed, so it is only known that \
         the system sustains at least this"
    );
    let search = crate::plan::found::searched(&resolved, &journal, &ending);
    assert_eq!(search.found(results::Metric::MaximumThroughput), Found::between(Some(900.0), None));
    let mut spent = Spent::of(1, 0);
    journal.iter().for_each(|entry| spent.add(&resolved, entry));
    assert!(
        spent.lost <= Nanos::from_secs(160),
        "within the sum of both allowances: {}",
        spent.lost
    );
    // The time that was left was for the loads that keep the maximum open, and no others.
    let last: Vec<f64> = journal.iter().rev().take(2).filter_map(|e| e.asked_per_s).collect();
    assert!(last.iter().all(|asked| 900.0 < *asked), "{last:?}");
}

/// One calm trial at each load above the best is enough.
#[test]
fn a_load_that_left_a_bound_is_tried_again_when_the_sweep_has_its_shape() {
    let resolved = sweep("time: 300s, disturbance: 40s");
    let mut journal = Vec::new();
    let ending = loop {
        let attempt = match decide(&resolved, &journal) {
            Decision::Run(attempt) => attempt,
            Decision::End(ending) => break ending,
        };
        let completed = attempt.asked.map_or(1_000.0, Rate::as_per_second).min(900.0);
        let status = if journal.len() < 14 { Status::Invalid } else { Status::Valid };
        journal.push(entry(&attempt, status, completed));
    };
    assert_eq!(ending, Ending::Answered("no new maximum in 2 loads".to_owned()));
    let search = crate::plan::found::searched(&resolved, &journal, &ending);
    assert_eq!(search.found(results::Metric::MaximumThroughput), Found::Exact(900.0));
}

#[test]
fn a_disturbed_trial_that_failed_is_no_bound() {
    let resolved = sweep("time: 120s, disturbance: 40s");
    let mut journal = Vec::new();
    while let Decision::Run(attempt) = decide(&resolved, &journal) {
        let mut entry = entry(&attempt, Status::Invalid, 600.0);
        if entry.purpose == Purpose::Trial {
            entry.observed.as_mut().unwrap().failures = 500;
        }
        journal.push(entry);
    }
    assert!(why(&resolved, &journal).starts_with("disturbances used up"));
}

#[test]
fn a_search_for_the_capacity_takes_no_bounds_of_disturbed_trials() {
    let resolved = capacity("time: 120s, disturbance: 40s");
    let (_, ending) = disturbed(&resolved, Vec::new());
    assert!(matches!(ending, Ending::NoAnswer(_)), "{ending:?}");
}

/// A service that takes 60 ms and queues nothing: four connections complete 66/s at most.
#[test]
fn a_search_that_its_connections_limit_ends_without_an_answer() {
    let trial = |attempt: &Attempt, service_ms: u64| {
        let asked = attempt.asked.unwrap().as_per_second();
        let mut entry = entry(attempt, Status::Valid, asked.min(66.0));
        let missed = 66.0 < asked;
        let observed = entry.observed.as_mut().unwrap();
        (observed.saturated, observed.slo_met) = (missed, Some(!missed));
        let waited_ns = if missed { 900_000_000 } else { 0 };
        let service_ns = if missed { service_ms } else { 60 } * 1_000_000;
        observed.connections = Some(Connections { waited_ns, service_ns });
        let over = if missed { 500 } else { 0 };
        let reached_ns = None;
        let verdict = if missed { slo::Verdict::Fail } else { slo::Verdict::Pass };
        let slo = slo::Slo::new("p99", "20ms").unwrap();
        let (of, met, text) = (1000, !missed, String::new());
        let over_at_least = over;
        entry.slo =
            vec![slo::Judged { slo, over, over_at_least, of, reached_ns, verdict, met, text }];
        entry
    };
    let ends = |search: &str, service_ms: u64| {
        let resolved = capacity_of(search);
        let mut journal = Vec::new();
        loop {
            match decide(&resolved, &journal) {
                Decision::Run(attempt) => journal.push(trial(&attempt, service_ms)),
                Decision::End(ending) => return ending,
            }
        }
    };
    let of_both = [
        r#"{"start": "20/s", "precision": "10%"}"#,
        r#"{"start": "20/s", "step": "50%", "stop": [{"rule": "no_new_max", "window": 2}]}"#,
    ];
    let ended = of_both.map(|search| format!("{:?}\n", ends(search, 60)));
    expect![[r#"
        NoAnswer("the SLO was missed at 67.3/s, but all connections were in use, and a request waited 900 ms for one, while the system answered in 60.0 ms, as fast as ever (60.0 ms): with more of them (load.connections) it may do more")
        NoAnswer("no new maximum in 2 loads, but all connections were in use, and a request waited 900 ms for one, while the system answered in 60.0 ms, as fast as ever (60.0 ms): with more of them (load.connections) it may do more")
    "#]].assert_eq(&ended.concat());
    // A system that answers later has the requests in itself.
    for search in of_both {
        assert!(matches!(ends(search, 90), Ending::Answered(_)), "{search}");
    }
}

/// Of a load of sessions, a probe of 1,000 requests/s with five each is one of 200 sessions/s.
#[test]
fn a_search_for_sessions_begins_with_the_sessions_of_its_probe() {
    let adaptive = capacity_of(r#"{"start": {"probe": "60%"}}"#);
    let bisect = capacity_of(r#"{"start": {"probe": "60%"}, "strategy": "bisect"}"#);
    for resolved in [adaptive, bisect, sweep("trials: 9")] {
        let of_requests = probed(&resolved);
        let mut of_sessions = of_requests.clone();
        of_sessions[0].observed.as_mut().unwrap().sessions_per_s = Some(200.0);
        assert_eq!(next(&resolved, &of_requests).asked, Rate::per_second(600.0));
        assert_eq!(next(&resolved, &of_sessions).asked, Rate::per_second(120.0));
    }
}

#[test]
fn connections_that_cannot_be_opened_are_asked_for_twice_and_no_machine_is_waited_for() {
    let resolved = capacity("invalid_attempts: 8, disturbance: 100s");
    let lost = |attempt: &Attempt| {
        let mut entry = entry(attempt, Status::Invalid, 600.0);
        entry.observed.as_mut().unwrap().lacks_connections = true;
        Entry { reasons: vec!["connections lost".to_owned()], ..entry }
    };
    let mut journal = probed(&resolved);
    journal.push(lost(&next(&resolved, &journal)));
    let second = next(&resolved, &journal);
    assert_eq!((second.attempt, second.await_calm), (2, None));
    journal.push(lost(&second));
    assert_eq!(why(&resolved, &journal), "connections lost");
}

/// 30 s are three trials of 10 s, or two if each opens its connections for 4 s.
#[test]
fn the_time_of_slow_connections_is_counted() {
    let resolved = queue(
        "slo: [{metric: p99, max: 20ms}]
search: {start: 100/s, strategy: bisect}
budget: {time: 30s}",
    );
    let trials = |opening: Option<u64>| {
        let mut journal: Vec<Entry> = Vec::new();
        while let Decision::Run(attempt) = decide(&resolved, &journal) {
            let mut entry = entry(&attempt, Status::Valid, 1_000.0);
            entry.observed.as_mut().unwrap().opening_ns = opening;
            journal.push(Entry { trial: journal.len() as u32 + 1, ..entry });
        }
        journal.len()
    };
    assert_eq!((trials(None), trials(Some(4_000_000_000))), (3, 2));
}

#[test]
fn what_ends_a_search_for_sessions_names_them() {
    let resolved = capacity_of(r#"{"range": ["100/s", "1600/s"], "strategy": "bisect"}"#);
    let ending = |most: f64| {
        let mut journal: Vec<Entry> = Vec::new();
        loop {
            let attempt = match decide(&resolved, &journal) {
                Decision::Run(attempt) => attempt,
                Decision::End(ending) => return ending.reason(),
            };
            let is_met = attempt.asked.unwrap().as_per_second() <= most;
            let mut entry = entry(&attempt, Status::Valid, 5_000.0);
            let observed = entry.observed.as_mut().unwrap();
            (observed.sessions, observed.slo_met) = (true, Some(is_met));
            journal.push(Entry { trial: journal.len() as u32 + 1, ..entry });
        }
    };
    let below = "the SLO was missed down to 100 sessions/s, the lower end of the range: lower it, or ask for less";
    assert_eq!(ending(50.0), below);
    let everywhere = "the SLO was met up to 1,600 sessions/s, the end of the range: raise it";
    assert_eq!(ending(1e9), everywhere);
    let between = ending(500.0);
    assert!(between.starts_with("the capacity lies between 49"), "{between}");
    assert!(between.contains(" sessions/s and "), "{between}");
}

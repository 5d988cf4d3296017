use expect_test::expect;

use super::*;
use crate::evidence::{AtBounds, at_bounds};
use crate::load::Group;
use crate::printed::{Percentile, Printed, Since};

fn read_one(text: &str) -> Slo {
    text.parse().unwrap()
}

/// A load of `fast` requests of 1 ms and `slow` ones of 200 ms that were answered well, `errors`
/// answered with an error after 1 ms, and `refused` that were never sent.
fn load(fast: u64, slow: u64, errors: u64, refused: u64) -> Part {
    let times = |of: [(u64, u64); 2]| {
        let mut histogram = Histogram::new();
        of.into_iter().for_each(|(ms, n)| histogram.record_n(Nanos::from_millis(ms), n));
        Times::of(&histogram)
    };
    let (intended, ok) = (fast + slow + errors + refused, fast + slow);
    Part {
        counts: Counts { intended, ok, failed: intended - ok, ..Counts::default() },
        response_time: times([(1, fast + errors), (200, slow)]),
        failed_response_time: times([(1, errors), (200, 0)]),
        ..Part::default()
    }
}

/// The bounds of an exact binomial test for N = 15,000 at 95 %: pass up to 129, fail from 171.
#[test]
fn the_binomial_verdict_decides_and_between_its_bounds_the_plain_share() {
    for (slow, met, verdict) in [
        (0, true, Verdict::Pass),
        (129, true, Verdict::Pass),
        (130, true, Verdict::Undecided),
        (150, true, Verdict::Undecided),
        (151, false, Verdict::Undecided),
        (170, false, Verdict::Undecided),
        (171, false, Verdict::Fail),
    ] {
        let judged = read_one("p99<=100ms").judge(&load(15_000 - slow, slow, 0, 0));
        assert_eq!((judged.over, judged.met, judged.verdict), (slow, met, verdict), "{slow} slow");
    }
}

/// Checks that a quick error, a request that was never sent and a slow answer each count as over
/// once.
#[test]
fn every_request_is_either_within_or_over() {
    let p99 = read_one("p99<=100ms");
    let over = |part: &Part| p99.judge(part).over;
    assert_eq!(over(&load(14_000, 400, 300, 300)), 1_000);
    assert_eq!(over(&load(0, 0, 15_000, 0)), 15_000, "nothing but errors");
    assert_eq!(over(&load(0, 0, 0, 15_000)), 15_000, "nothing but refusals");
    // Slow errors are over once, although they failed and were late.
    let mut slow_errors = load(14_800, 200, 0, 0);
    (slow_errors.counts.ok, slow_errors.counts.failed) = (14_800, 200);
    slow_errors.failed_response_time = slow_errors.response_time.as_ref().map(|_| {
        let mut histogram = Histogram::new();
        histogram.record_n(Nanos::from_millis(200), 200);
        Times::of(&histogram).unwrap()
    });
    assert_eq!(over(&slow_errors), 200);
}

/// Checks that the limit itself is within, to the histogram's resolution.
#[test]
fn a_response_as_long_as_the_limit_is_within() {
    let judged = read_one("p99<=200ms").judge(&load(0, 1_000, 0, 0));
    assert_eq!((judged.over, judged.verdict), (0, Verdict::Pass));
}

#[test]
fn no_failure_at_all_can_be_required() {
    let none = read_one("failures<=0%");
    assert!(none.judge(&load(1_000, 0, 0, 0)).met);
    assert!(!none.judge(&load(999, 0, 1, 0)).met);
    assert!(!none.judge(&load(0, 0, 0, 0)).met, "nothing was measured");
    assert!(read_one("failures<=100%").judge(&load(0, 0, 0, 10)).met);
}

/// With failed requests slower than all others it is the quantile: with it as the limit the objective is
/// met, with less it is missed.
#[test]
fn the_least_limit_that_a_load_would_have_met_is_its_quantile() {
    let reached = |slo: &str, part: &Part| {
        let judged = read_one(slo).judge(part);
        judged.reached_ns.map(|ns| (ns as f64 / 1e6).round())
    };
    assert_eq!(reached("p99<=10ms", &load(14_850, 150, 0, 0)), Some(1.0));
    assert_eq!(reached("p99<=10ms", &load(14_849, 151, 0, 0)), Some(200.0));
    assert_eq!(reached("p99<=10ms", &load(14_800, 100, 100, 0)), Some(200.0));
    assert_eq!(reached("p90<=10ms", &load(14_800, 100, 100, 0)), Some(1.0));
    assert_eq!(reached("p99<=10ms", &load(14_000, 0, 1_000, 0)), None, "too many failed");
    assert_eq!(reached("p99<=10ms", &load(14_000, 0, 0, 1_000)), None, "too many were not sent");
    assert_eq!(reached("failures<=1%", &load(15_000, 0, 0, 0)), None);
    assert_eq!(reached("p99<=10ms", &load(0, 0, 0, 0)), None);
}

/// Checks that requests over only because of the generator's lateness decide nothing against the
/// target.
#[test]
fn lateness_makes_an_interval() {
    let mut late = load(14_000, 1_000, 0, 0);
    late.response_time_less_lateness = load(15_000, 0, 0, 0).response_time;
    let judged = read_one("p99<=100ms").judge(&late);
    assert_eq!((judged.over_at_least, judged.over), (0, 1_000));
    assert_eq!((judged.verdict, judged.met), (Verdict::Undecided, false));
    let between = "p99 1.00 ms … 200 ms, the limit lies between: without the generator's own lateness \
                   0 requests are over";
    assert!(judged.text.ends_with(between), "{}", judged.text);
    // A miss without the lateness is a miss, and a pass with it is a pass.
    late.response_time_less_lateness = load(14_500, 500, 0, 0).response_time;
    assert_eq!(read_one("p99<=100ms").judge(&late).verdict, Verdict::Fail);
    assert_eq!(read_one("p90<=100ms").judge(&late).verdict, Verdict::Pass);
}

/// A load that ended while `unfinished` more requests had waited for `waited`.
fn cut_off(part: Part, unfinished: u64, waited: Nanos) -> Part {
    let mut histogram = Histogram::new();
    histogram.record_n(waited, unfinished);
    let waits = Times::of(&histogram).unwrap();
    let all = part
        .response_time
        .as_ref()
        .map_or_else(|| waits.clone(), |times| times.merged(&waits).unwrap());
    let intended = part.counts.intended + unfinished;
    Part {
        counts: Counts { intended, unfinished, ..part.counts },
        response_time: Some(all),
        unfinished_response_time: Some(waits),
        ..part
    }
}

/// A request that is cut off by the end of the load has not failed, and has not succeeded.
#[test]
fn no_verdict_rests_on_unfinished_requests_alone() {
    let judge = |text: &str, part: &Part| {
        let judged = read_one(text).judge(part);
        assert_eq!(judged.met, judge_all(text, part).met);
        let bounds = (judged.over_at_least, judged.over);
        format!("{:?} {} {bounds:?}: {}\n", judged.verdict, judged.met, judged.text)
    };
    let few = cut_off(load(14_990, 0, 10, 0), 400, Nanos::from_millis(30));
    let half = cut_off(load(9_000, 0, 1_000, 0), 10_000, Nanos::from_millis(30));
    let texts = [
        judge("failures<=1%", &few),
        judge("failures<=5%", &few),
        judge("failures<=1%", &half),
        // They waited for longer than the limit, so they are over it.
        judge("p99<=10ms", &few),
        // They waited for less, so they may be within it.
        judge("p99<=100ms", &few),
    ];
    expect![[r#"
        Undecided false (10, 410): failures ≤ 1 % is missed: 410 of 15,400 requests failed or unfinished (2.662 %, allowed 1 %), 400 of them unfinished; the unfinished requests decide it: wait longer for them (phases.drain, --drain)
        Pass true (10, 410): failures ≤ 5 % is met: 410 of 15,400 requests failed or unfinished (2.662 %, allowed 5 %), 400 of them unfinished
        Fail false (1000, 11000): failures ≤ 1 % is missed: 11,000 of 20,000 requests failed or unfinished (55 %, allowed 1 %), 10,000 of them unfinished
        Fail false (410, 410): p99 ≤ 10 ms is missed: 410 of 15,400 requests over (2.662 %, allowed 1 %), 10 of them failed, 400 of them unfinished
        Undecided false (10, 410): p99 ≤ 100 ms is missed: 410 of 15,400 requests over (2.662 %, allowed 1 %), 10 of them failed, 400 of them unfinished; the unfinished requests decide it: wait longer for them (phases.drain, --drain)
    "#]].assert_eq(&texts.concat());
    let slos = [read_one("failures<=1%"), read_one("p99<=100ms")];
    assert_eq!(at_bounds(&judge_all("failures<=1%", &few), &few), AtBounds::Between);
    assert_eq!(at_bounds(&judge_all("failures<=1%", &half), &half), AtBounds::Missed);
    assert_eq!(super::judge(&slos, &few).unwrap().missed.len(), 2);
}

fn judge_all(text: &str, part: &Part) -> Outcome {
    super::judge(&[read_one(text)], part).unwrap()
}

/// Version 1 did not record how long failed requests took.
#[test]
fn failures_without_times_are_over_as_well() {
    let known = Part {
        outcomes: BTreeMap::from([("ok".to_owned(), 9_940), ("status".to_owned(), 60)]),
        ..load(9_880, 60, 60, 0)
    };
    let unknown = Part { failed_response_time: None, ..known.clone() };
    for part in [known, unknown] {
        let judged = read_one("p99<=10ms").judge(&part);
        assert_eq!((judged.over, judged.of), (120, 10_000), "{judged:?}");
    }
}

#[test]
fn the_sentence_names_the_objective_the_decision_and_the_reason() {
    let sentences: Vec<String> = [
        ("p99<=10ms", load(15_000, 0, 0, 0)),
        ("p99<=10ms", load(0, 0, 1_000, 0)),
        ("p99<=10ms", load(14_000, 400, 300, 300)),
        ("p99<=10ms", load(14_860, 140, 0, 0)),
        ("failures<=0.1%", load(14_700, 0, 300, 0)),
        ("failures<=0%", load(15_000, 0, 0, 0)),
        ("p99<=10ms", load(0, 0, 0, 0)),
    ]
    .iter()
    .map(|(slo, part)| read_one(slo).judge(part).text)
    .collect();
    expect![[r#"
        p99 ≤ 10 ms is met: 0 of 15,000 requests over (0 %, allowed 1 %)
        p99 ≤ 10 ms is missed: 1,000 of 1,000 requests over (100 %, allowed 1 %), 1,000 of them failed
        p99 ≤ 10 ms is missed: 1,000 of 15,000 requests over (6.667 %, allowed 1 %), 600 of them failed
        p99 ≤ 10 ms is met: 140 of 15,000 requests over (0.933 %, allowed 1 %); a close call: measure longer to decide it at 95 %
        failures ≤ 0.1 % is missed: 300 of 15,000 requests failed (2 %, allowed 0.1 %)
        failures ≤ 0 % is met: 0 of 15,000 requests failed (0 %, allowed 0 %)
        p99 ≤ 10 ms is undecided: no request was measured"#]]
    .assert_eq(&sentences.join("\n"));
}

/// 1,000 answers, of which a tenth took longer than 20 ms and a hundredth longer than 100 ms.
fn printed(failed: u64) -> Part {
    let percentile = |level, ms| Percentile { level, time_ns: Nanos::from_millis(ms).0 };
    let printed = Printed {
        since: Since::Sent,
        count: 1_000,
        missing: 0,
        timeout_ns: None,
        mean_ns: None,
        max_ns: Some(Nanos::from_millis(900).0),
        percentiles: vec![percentile(0.9, 20), percentile(0.99, 100)],
    };
    Part {
        counts: Counts { intended: 1_000, ok: 1_000 - failed, failed, ..Counts::default() },
        printed: Some(printed),
        ..Part::default()
    }
}

#[test]
fn printed_percentiles_are_judged_by_the_bounds_that_they_give() {
    let judge = |text: &str, failed| {
        let judged = read_one(text).judge(&printed(failed));
        format!("{:?} {}: {}\n", judged.verdict, judged.met, judged.text)
    };
    let texts = [
        judge("p99<=100ms", 0),
        judge("p99<=1s", 0),
        judge("p99<=20ms", 0),
        judge("p99<=10ms", 0),
        judge("p99<=100ms", 1),
        judge("p99<=1s", 100),
        judge("failures<=5%", 100),
    ];
    expect![[r#"
        Undecided true: p99 ≤ 100 ms is met: 1 to 10 of 1,000 requests over (0.1 % to 1 %, allowed 1 %), by the printed percentiles and the failures; these do not decide it at 95 %
        Pass true: p99 ≤ 1 s is met: 0 of 1,000 requests over (0 %, allowed 1 %), by the printed percentiles and the failures
        Undecided false: p99 ≤ 20 ms is missed: 10 to 100 of 1,000 requests over (1 % to 10 %, allowed 1 %), by the printed percentiles and the failures; these do not decide it at 95 %
        Fail false: p99 ≤ 10 ms is missed: 100 to 1,000 of 1,000 requests over (10 % to 100 %, allowed 1 %), by the printed percentiles and the failures
        Undecided false: p99 ≤ 100 ms is missed: 1 to 11 of 1,000 requests over (0.1 % to 1.1 %, allowed 1 %), by the printed percentiles and the failures; these do not decide it at 95 %
        Fail false: p99 ≤ 1 s is missed: 100 of 1,000 requests over (10 %, allowed 1 %), by the printed percentiles and the failures
        Fail false: failures ≤ 5 % is missed: 100 of 1,000 requests failed (10 %, allowed 5 %)
    "#]].assert_eq(&texts.concat());
}

/// 990 requests of one label within 10 ms and 10 at 50 ms, 400 of another at 1 ms of which 8 failed.
fn labelled() -> Load {
    let group = |times: &[(u64, u64)], ok: u64, failed: u64| {
        let mut histogram = Histogram::new();
        times.iter().for_each(|&(ms, count)| histogram.record_n(Nanos::from_millis(ms), count));
        let outcomes = [("ok", ok), ("status", failed)];
        let outcomes = outcomes.into_iter().filter(|(_, count)| 0 < *count);
        Group {
            completed: ok + failed,
            failed,
            outcomes: outcomes.map(|(name, count)| (name.to_owned(), count)).collect(),
            reasons: BTreeMap::new(),
            ok_statuses: BTreeMap::new(),
            response_time: Times::of(&histogram),
            service_time: None,
        }
    };
    let mut load = Load::empty("benchwright");
    let login = group(&[(10, 990), (50, 10)], 1_000, 0);
    let items = group(&[(1, 400)], 392, 8);
    load.labels = [("login", login), ("items", items)].map(|(n, g)| (n.to_owned(), g)).into();
    load
}

#[test]
fn an_objective_on_a_label_counts_the_requests_of_that_label() {
    let load = labelled();
    for (slo, over, of, met) in [
        ("login.p99<=60ms", 0, 1_000, true),
        ("login.p99<=20ms", 10, 1_000, true),
        ("login.p99<=5ms", 1_000, 1_000, false),
        ("login.failures<=0.1%", 0, 1_000, true),
        ("items.failures<=1%", 8, 400, false),
        // A failed request is over, however fast it was.
        ("items.p99<=10ms", 8, 400, false),
        ("gone.p99<=1s", 0, 0, false),
    ] {
        let outcome = of_load(&[slo.parse().unwrap()], &load).unwrap();
        let judged = &outcome.objectives[0];
        assert_eq!((judged.over, judged.of, judged.met), (over, of, met), "{}", judged.text);
        assert_eq!(outcome.met, met, "{slo}");
    }
    let text = of_load(&["login.p99<=20ms".parse().unwrap()], &load).unwrap();
    let begins = "login.p99 ≤ 20 ms is met: 10 of 1,000 requests over";
    assert!(text.objectives[0].text.starts_with(begins), "{}", text.objectives[0].text);
}

#[test]
fn the_lateness_of_the_whole_load_is_forgiven_to_each_request_of_a_label() {
    let mut load = labelled();
    let mut late = Histogram::new();
    late.record(Nanos::from_millis(30));
    load.total.lateness = Times::of(&late);
    let outcome = of_load(&["login.p99<=5ms".parse().unwrap()], &load).unwrap();
    assert_eq!((outcome.objectives[0].over, outcome.objectives[0].over_at_least), (1_000, 10));
}

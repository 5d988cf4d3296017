//! A service that fails alike at any load ends a search for its capacity soon, and an overloaded one does not.

use super::*;

/// The requests of each trial.
const REQUESTS: f64 = 1_000.0;

/// Searches a service that fails this part of its requests at a load, with an SLO that allows another part; returns the
/// number of trials, and the end.
fn searched(
    search: &str,
    slo: &str,
    (outcome, reason): (&str, &str),
    fails: impl Fn(f64) -> f64,
) -> (usize, Ending) {
    let resolved = queue(&format!("slo: [{slo}]\nsearch: {search}"));
    let allowed = if slo.contains("failures") { 0.001 } else { 0.01 };
    let mut journal: Vec<Entry> = Vec::new();
    loop {
        let attempt = match decide(&resolved, &journal) {
            Decision::Run(attempt) => attempt,
            Decision::End(ending) => return (journal.len(), ending),
        };
        let share = fails(attempt.asked.unwrap().as_per_second());
        let failures = (REQUESTS * share).round() as u64;
        let mut entry = failed(&attempt, Status::Valid, outcome, reason);
        let observed = entry.observed.as_mut().unwrap();
        (observed.failures, observed.slo_met) = (failures, Some(share <= allowed));
        observed.failing[0].count = failures;
        observed.failing[0].text = format!("{reason} for {failures} of 1,000 requests to /");
        observed.failing.retain(|failure| 0 < failure.count);
        let trial = journal.len() as u32 + 1;
        journal.push(Entry { trial, why: attempt.why, ..entry });
    }
}

const WIDE: &str = "{range: [10/s, 10000/s]}";
const P99: &str = "{metric: p99, max: 20ms}";

#[test]
fn a_share_of_failures_that_is_alike_at_the_lowest_load_ends_the_search() {
    let both = format!("{P99}, {{metric: failures, max: 0.1%}}");
    let found = [
        searched(WIDE, &both, ("status", "500"), |_| 0.05),
        searched(WIDE, &both, ("status", "500"), |_| 0.005),
        searched("{start: 1000/s}", P99, ("status", "401"), |_| 0.3),
        searched(WIDE, P99, ("connect", "connection refused"), |_| 1.0),
    ];
    expect![[r#"
        (2, Failing("the failures do not depend on the load: at the lowest load, 10.0/s, 500 for 50 of 1,000 requests to /; if so many may fail, state failures<=5% and no percentile above p95; otherwise correct the workload or the service, and run it again"))
        (2, Failing("the failures do not depend on the load: at the lowest load, 10.0/s, 500 for 5 of 1,000 requests to /; if so many may fail, state failures<=1% and no percentile above p99; otherwise correct the workload or the service, and run it again"))
        (5, Failing("the failures do not depend on the load: at the lowest load, 125/s, 401 for 300 of 1,000 requests to /; if so many may fail, state failures<=30% and no percentile above p70; otherwise correct the workload or the service, and run it again"))
        (2, Failing("most requests failed in every trial; at the lowest load, 10.0/s, connection refused for 1000 of 1,000 requests to /; no lower load and no calmer machine changes that: correct the workload or the service, and run it again"))"#]]
    .assert_eq(&found.map(|end| format!("{end:?}")).join("\n"));
}

/// It completes 100/s, and fails everything above that.
#[test]
fn a_service_that_fails_what_is_too_much_for_it_is_searched() {
    let overload = |asked: f64| (1.0 - 100.0 / asked).max(0.0);
    let reason = |search, how| match searched(search, P99, how, overload) {
        (_, Ending::Answered(why)) => why,
        other => panic!("{search}: {other:?}"),
    };
    for how in [("status", "500"), ("status", "503"), ("timeout", "1 s")] {
        let found = reason(WIDE, how);
        assert!(found.starts_with("the capacity lies between "), "{how:?}: {found}");
        // Nearly all requests fail at each load of this range, and yet not alike.
        let above = reason("{range: [1000/s, 100000/s]}", how);
        let lower = "the SLO was missed down to 1,000/s, the lower end of the range: lower it, or ask for less";
        assert_eq!(above, lower, "{how:?}");
    }
}

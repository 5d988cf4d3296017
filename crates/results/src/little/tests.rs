use measure::Histogram;

use super::*;
use crate::load::{Ended, Pacing};
use crate::printed::{Printed, Since};

/// A load of ten seconds whose requests took these times, with this number in progress.
fn ours(in_progress: f64, succeeded_ms: &[u64], failed_ms: &[u64]) -> Load {
    let (mut all, mut failed) = (Histogram::new(), Histogram::new());
    for ms in succeeded_ms.iter().chain(failed_ms) {
        all.record(Nanos::from_millis(*ms));
    }
    failed_ms.iter().for_each(|ms| failed.record(Nanos::from_millis(*ms)));
    let (response_time, failed_response_time) = (Times::of(&all), Times::of(&failed));
    let in_progress = Some(in_progress);
    let total = Part { in_progress, response_time, failed_response_time, ..Part::default() };
    Load { measured_s: 10.0, total, ..Load::empty("benchwright") }
}

#[test]
fn unfinished_requests_are_in_neither_mean() {
    let mut load = ours(2.0, &[10; 30], &[20; 10]);
    let mut waited = Histogram::new();
    waited.record_n(Nanos::from_secs(1), 60);
    let waited = Times::of(&waited).unwrap();
    load.total.response_time = load.total.response_time.unwrap().merged(&waited);
    load.total.unfinished_response_time = Some(waited);
    let Means { succeeded, failed } = Means::of(&load.total).unwrap();
    let near = |time: Nanos, ms: u64| time.0.abs_diff(Nanos::from_millis(ms).0) < 300_000;
    assert!(near(succeeded, 10) && near(failed, 20), "{succeeded} {failed}");
}

/// A load of 60 s on 150 connections, as wrk prints it: of its answers some are missing in its times.
fn wrk(answered: u64, missing: u64, mean_ms: Option<u64>) -> Load {
    let mut load = Load::empty("wrk");
    (load.foreign, load.measured_s) = (Some("wrk".to_owned()), 60.0);
    load.total.in_progress = Some(150.0);
    load.total.counts.completed = answered;
    load.total.printed = Some(Printed {
        since: Since::Sent,
        count: answered - missing,
        missing,
        timeout_ns: Some(2_000_000_000),
        mean_ns: mean_ms.map(|ms| 1_000_000 * ms),
        max_ns: None,
        percentiles: Vec::new(),
    });
    load
}

#[test]
fn the_times_of_a_steady_load_account_for_all_that_is_in_progress() {
    let load = ours(2.0, &[200; 100], &[]);
    let little = Little::of(&load).unwrap();
    assert_eq!(little, Little { in_progress: 2.0, per_s: 10.0, mean_ns: 200_000_000 });
    assert!(little.residual() < 1e-9 && !little.is_large(), "{little:?}");
    assert_eq!(warning(&load), None);
    assert_eq!(
        little.in_words(),
        "2.00 in progress, and 10.0/s × 200 ms account for 2.00: 0.0 % apart"
    );
}

/// Refusals of 10 ms hide in the mean that a success takes seconds; the law holds for both together.
#[test]
fn a_mean_of_fast_refusals_and_slow_successes_satisfies_the_law_and_the_two_have_means_of_their_own()
 {
    let load = ours(7.0, &[6_000; 10], &[10; 1_000]);
    let little = Little::of(&load).unwrap();
    assert!(little.residual() < 0.001, "{}", little.in_words());
    let means = Means::of(&load.total).unwrap();
    assert_eq!((means.succeeded.0 / 1_000_000, means.failed.0 / 1_000_000), (5_999, 10));
    assert_eq!(Means::of(&ours(1.0, &[1], &[]).total), None, "nothing failed");
    assert_eq!(Means::of(&ours(1.0, &[], &[1]).total), None, "nothing succeeded");
}

#[test]
fn a_load_that_grows_and_one_with_a_rest_of_others_are_told_apart() {
    let grows = ours(2.0, &[500; 100], &[]);
    let text = "Little's law: 2.00 in progress, and 10.0/s × 500 ms account for 5.00: 150.0 % apart; \
                more was in progress at the end than at the beginning";
    assert!(warning(&grows).unwrap().starts_with(text), "{:?}", warning(&grows));
    let text = "account for 1.00: 50.0 % apart; the rest was of requests that began before";
    let rest = warning(&ours(2.0, &[100; 100], &[])).unwrap();
    assert!(rest.contains(text), "{rest}");
    // Its finding says the same.
    assert_eq!(warning(&Load { saturated: Some(true), ..grows.clone() }), None);
    assert_eq!(warning(&Load { ended: Some(Ended::Halted), ..grows }), None);
}

/// The first run at one replica and the third at four of guide 4: wrk's text, in figures.
#[test]
fn the_answers_that_wrk_drops_show_in_the_connections_that_its_mean_does_not_explain() {
    let text = |load: &Load| (warning(load).unwrap(), mean_of_missing(&load.total, 60.0).unwrap());
    let (one, missing) = text(&wrk(174_000, 562, Some(13)));
    assert_eq!(
        one,
        "Little's law: 150 in progress, and 2,900/s × 13.0 ms account for 37.7: 74.9 % apart; the times \
         of wrk leave out the rest, and a request took 51.7 ms on average"
    );
    assert_eq!(missing.to_string(), "12.0 s");
    let (four, missing) = text(&wrk(3_489, 2_011, Some(780)));
    assert!(four.ends_with("69.8 % apart; the times of wrk leave out the rest, and a request took 2.58 s on average"), "{four}");
    assert_eq!(missing.to_string(), "3.90 s");
    // Without one time in its percentiles, the connections alone tell.
    let none = wrk(900, 900, None);
    assert_eq!((Little::of(&none), warning(&none)), (None, None));
    assert_eq!(mean_of_missing(&none.total, 60.0).unwrap(), Nanos::from_secs(10));
}

/// wrk adds estimates for the requests that slow answers have prevented, and says so.
#[test]
fn a_mean_with_estimates_is_apart_without_a_warning() {
    let load = wrk(900_000, 0, Some(13));
    assert_eq!(Little::of(&load).unwrap().accounted().round(), 195.0);
    assert_eq!(warning(&load), None);
}

#[test]
fn what_is_unknown_is_absent() {
    let known = wrk(100, 0, Some(90_000));
    assert!(Little::of(&known).is_some() && mean_of_missing(&known.total, 60.0).is_none());
    let mut unknown = known.clone();
    unknown.total.in_progress = None;
    assert_eq!(Little::of(&unknown), None, "an open loop");
    let open = Pacing::Open { arrivals: "wrk2's own".to_owned() };
    assert_eq!(Little::of(&Load { pacing: open, ..known }), None, "not from the intended start");
    assert_eq!(Little::of(&wrk(0, 0, Some(1))), None, "nothing was answered");
    assert_eq!(Little::of(&ours(0.0, &[1], &[])), None, "nothing was in progress");
    assert_eq!(Little::of(&Load { measured_s: 0.0, ..ours(1.0, &[1], &[]) }), None);
}

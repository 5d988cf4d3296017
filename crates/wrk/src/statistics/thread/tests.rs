use super::*;

const START: Instant = Instant(5_000_000_000);
const MINUTE: Nanos = Nanos::from_secs(60);

fn at(ms: u64) -> Instant {
    START + Nanos::from_millis(ms)
}

#[test]
fn wrks_thread_counts_latencies_in_whole_microseconds() {
    let mut thread = Counted::new(START, Nanos::from_secs(2));
    [Nanos(1999), Nanos(2000), Nanos::from_secs(3)].into_iter().for_each(|x| thread.record(x));
    thread.turn(at(50), 3);
    thread.turn(at(100), 0);
    assert_eq!(thread.latency.iter().collect::<Vec<_>>(), [(1, 1), (2, 1), (3_000_000, 1)]);
    assert_eq!(thread.rates.iter().collect::<Vec<_>>(), [(30, 1)]);
}

/// A thread of wrk2 with 20 connections after 10.1 s of answers that took `ms` each.
fn calibrating(ms: u64) -> Calibrated {
    let mut thread = Calibrated::new(START, MINUTE, wrk2_calibration(20)).with_uncorrected();
    (0..10_100).step_by(10).for_each(|now| {
        thread.record(Nanos::from_millis(ms), Nanos::from_millis(1));
        assert_eq!(thread.turn(at(now), 1), None);
    });
    thread
}

#[test]
fn a_calibration_throws_its_latencies_away_and_sets_the_interval() {
    let mut thread = calibrating(21);
    assert_eq!(thread.latency.count(), 1010);
    let found = thread.turn(at(10_100), 0);
    assert_eq!(found, Some(Calibration { mean_us: 21_000, interval_ms: 42 }));
    assert_eq!((thread.latency.count(), thread.uncorrected.as_ref().unwrap().count()), (0, 0));
    assert_eq!(thread.rates.count(), 0);
    thread.turn(at(10_141), 21);
    thread.turn(at(10_142), 0);
    assert_eq!(thread.rates.iter().collect::<Vec<_>>(), [(500, 1)]);
}

#[test]
fn rates_are_sampled_at_most_a_hundred_times_a_second() {
    assert_eq!(calibrating(1).turn(at(10_100), 0).map(|found| found.interval_ms), Some(10));
}

#[test]
fn a_calibration_without_answers_finds_nothing() {
    let mut thread = Calibrated::new(START, MINUTE, wrk2_calibration(1));
    assert_eq!(thread.turn(at(10_004), 0), None);
    assert_eq!(thread.turn(at(10_005), 0), Some(Calibration { mean_us: 0, interval_ms: 10 }));
}

#[test]
fn a_run_too_short_to_calibrate_keeps_its_latencies_and_is_sampled_from_the_start() {
    let run = wrk2_calibration(100);
    let mut thread = Calibrated::new(START, run, run);
    thread.record(Nanos::from_millis(3), Nanos::from_millis(3));
    assert_eq!(thread.turn(at(50), 1), None);
    assert_eq!(thread.turn(START + run, 0), None);
    assert_eq!((thread.latency.count(), thread.rates.count()), (1, 105));
}

#[test]
fn the_fork_calibrates_a_millisecond_for_each_connection() {
    let lengths = [wrk2_calibration(100), dsb_calibration(100)];
    assert_eq!(lengths, [Nanos::from_millis(10_500), Nanos::from_millis(10_100)]);
}

#[test]
fn stretches_end_after_a_tenth_of_a_second_of_answers() {
    let mut stretches = Stretches::new(250.0, 4).unwrap();
    let ends: Vec<(u64, u64)> = (1..=13)
        .filter_map(|i| Some((i, stretches.record(Nanos::from_micros(i * 100))?)))
        .collect();
    // 62 requests/s for this thread: six answers.
    assert_eq!(ends, [(6, 600), (12, 1200)]);
    assert!(Stretches::new(39.0, 4).is_none());
}

use super::*;

/// The samples after turns at (ms, answers).
fn samples(idle: Idle, turns: &[(u64, u64)]) -> Vec<u64> {
    let start = Instant(7_000_000);
    let mut sampler = Sampler::new(start, INTERVAL, idle);
    let mut samples = Vec::new();
    for &(ms, answers) in turns {
        sampler.turn(start + Nanos::from_millis(ms), answers, |rate| samples.push(rate));
    }
    samples
}

#[test]
fn each_interval_is_a_sample_when_it_is_over() {
    assert_eq!(samples(Idle::Joined, &[(10, 5), (99, 2)]), []);
    assert_eq!(samples(Idle::Joined, &[(10, 5), (99, 2), (100, 3)]), [70]);
    assert_eq!(samples(Idle::Joined, &[(10, 5), (110, 2), (250, 1), (300, 0)]), [50, 20, 10]);
}

#[test]
fn an_interval_without_answers_joins_the_next_in_wrk() {
    assert_eq!(samples(Idle::Joined, &[(50, 5), (450, 3), (500, 0)]), [50, 7]);
}

#[test]
fn an_interval_without_answers_is_a_zero_in_wrk2() {
    assert_eq!(samples(Idle::Zero, &[(50, 5), (450, 3), (500, 0)]), [50, 0, 0, 0, 30]);
}

#[test]
fn samples_do_not_depend_on_how_often_the_loop_turns() {
    let often: Vec<(u64, u64)> = (0..1000).map(|ms| (ms, 1)).chain([(1000, 0)]).collect();
    let rarely: Vec<(u64, u64)> = (0..40).map(|i| (i * 25 + 24, 25)).chain([(1000, 0)]).collect();
    assert_eq!(samples(Idle::Joined, &often), [1000; 10]);
    assert_eq!(samples(Idle::Joined, &rarely), [1000; 10]);
}

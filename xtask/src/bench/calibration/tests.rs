use super::*;
use crate::bench::load::Noise;

#[test]
fn twelve_attempts_cover_every_combination() {
    let mut all: Vec<String> =
        (0..12).map(|attempt| format!("{:?}", Combination::of_attempt(attempt))).collect();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 12);
}

#[test]
fn an_attempt_agrees_within_one_percent_and_twice_the_floor() {
    // 1 % of 1 ms and twice 50 µs is 110 µs.
    assert_eq!(judge(&attempt(1_110, 100)), Verdict::Agrees);
    assert_eq!(judge(&attempt(890, 100)), Verdict::Agrees);
    assert_eq!(judge(&attempt(1_111, 100)), Verdict::Differs);
    assert_eq!(judge(&attempt(889, 100)), Verdict::Differs);
}

#[test]
fn count_and_order_have_to_agree_as_well() {
    assert_eq!(judge(&attempt(1_000, 99)), Verdict::Differs);
    let log = Log { out_of_order: 1, ..attempt(1_000, 100).log };
    assert_eq!(judge(&Attempt { log, ..attempt(1_000, 100) }), Verdict::Differs);
    let load = Load { completed: 99, ..attempt(1_000, 100).load };
    assert_eq!(judge(&Attempt { load, ..attempt(1_000, 100) }), Verdict::Differs);
}

#[test]
fn the_error_names_what_differs() {
    let text = summary(Combination::of_attempt(0), &attempt(1_111, 99));
    assert_eq!(
        text,
        "fixed:1ms 1k/s constant, 100 intended, 100 completed, 99 in the log, 0 out of order, \
         p50 1.11 ms, log 1.00 ms, bound 110 µs, p90 1.11 ms, log 1.00 ms, bound 110 µs, \
         p99 1.11 ms, log 1.00 ms, bound 110 µs, hiccups p99 0, max 0, steal unknown, \
         others used 0.0 % of a CPU"
    );
}

#[test]
fn from_an_invalid_attempt_nothing_is_concluded() {
    let load = Load { gates: vec!["late".to_owned()], ..attempt(9_000, 100).load };
    assert_eq!(judge(&Attempt { load, ..attempt(9_000, 100) }), Verdict::Invalid);
    let mut shared = attempt(1_000, 100);
    shared.load.noise.others_share = 0.05;
    assert_eq!(judge(&shared), Verdict::Invalid);
}

/// Returns an attempt of a hundred requests that took 1 ms each in the server's log.
fn attempt(response_us: u64, logged: u64) -> Attempt {
    let ms = Nanos::from_millis(1);
    Attempt {
        load: Load {
            exit: Some(0),
            intended: 100,
            completed: 100,
            completed_per_s: 100.0,
            response: [Nanos::from_micros(response_us); 3],
            lateness_p99: Nanos::ZERO,
            gates: Vec::new(),
            reasons: Vec::new(),
            noise: Noise {
                hiccup_p99: Nanos::ZERO,
                hiccup_max: Nanos::ZERO,
                steal_share: None,
                others_share: 0.0,
            },
        },
        log: Log { requests: logged, out_of_order: 0, took: [ms; 3] },
        floor: [Nanos::from_micros(50); 3],
    }
}

use super::*;

/// A thousand requests in a second, as both sides saw them.
fn attempt(valid: bool, measured_us: u64) -> Attempt {
    let [measured, logged, floor] = [measured_us, 1_000, 50].map(Nanos::from_micros);
    let quantiles = LEVELS.map(|(level, _)| comparison(level, measured, logged, floor)).to_vec();
    let attempt = Attempt {
        distribution: "fixed:1ms".into(),
        arrivals: "poisson".into(),
        valid,
        reasons: if valid { Vec::new() } else { vec!["generator late: why.".into()] },
        agrees: false,
        intended: 1_000,
        completed: 1_000,
        logged: 1_000,
        out_of_order: 0,
        gap_ns: 1_000_000,
        logged_gap_ns: 1_010_000,
        gap_tolerance_ns: 10_000,
        quantiles,
    };
    Attempt { agrees: agrees(&attempt), ..attempt }
}

fn a_stall(valid: bool, agrees: bool) -> Stall {
    Stall {
        stall_ns: 0,
        measured_ns: 0,
        rate_per_s: 0.0,
        connections: 0,
        valid,
        agrees,
        open_response_p99_ns: 0,
        open_service_p99_ns: 0,
        closed_response_p99_ns: 0,
    }
}

#[test]
fn both_sides_agree_within_a_hundredth_and_twice_the_floor() {
    for (measured_us, expected) in [(890, true), (1_110, true), (889, false), (1_111, false)] {
        assert_eq!(attempt(true, measured_us).agrees, expected, "{measured_us}");
    }
}

#[test]
fn both_sides_have_to_have_seen_the_same_requests() {
    let changes: [fn(&mut Attempt); 4] = [
        |attempt| attempt.completed = 999,
        |attempt| attempt.logged = 1_001,
        |attempt| attempt.out_of_order = 1,
        |attempt| attempt.logged_gap_ns = 1_010_001,
    ];
    for change in changes {
        let mut attempt = attempt(true, 1_000);
        assert!(agrees(&attempt));
        change(&mut attempt);
        assert!(!agrees(&attempt), "{attempt:?}");
    }
}

#[test]
fn it_passes_if_three_quarters_are_valid_and_each_of_them_agrees() {
    let attempts = |valid: usize, refused: usize| {
        let valid = std::iter::repeat_n(attempt(true, 1_000), valid);
        valid.chain(std::iter::repeat_n(attempt(false, 2_000), refused)).collect::<Vec<_>>()
    };
    let fine = a_stall(true, true);
    assert!(passed(&attempts(15, 5), &fine));
    assert!(!passed(&attempts(14, 6), &fine));
    let mut differs = attempts(19, 0);
    differs.push(attempt(true, 2_000));
    assert!(!passed(&differs, &fine));
    assert!(!passed(&attempts(20, 0), &a_stall(true, false)), "a stall that is not seen");
    assert!(passed(&attempts(20, 0), &a_stall(false, false)), "nothing follows from a refused run");
}

#[test]
fn an_attempt_is_one_line() {
    assert_eq!(
        line(7, &attempt(false, 1_200)),
        "  7  fixed:1ms poisson: refused (generator late: why.); p50 1.20 ms, log 1.00 ms, apart \
         200 µs of 110 µs; p90 1.20 ms, log 1.00 ms, apart 200 µs of 110 µs; p99 1.20 ms, log 1.00 \
         ms, apart 200 µs of 110 µs; 1000 requests, gap 1.00 ms, log 1.01 ms, apart 10.0 µs of 10.0 \
         µs"
    );
    assert_eq!(
        summary(&[attempt(true, 1_000), attempt(false, 1)], false),
        "1 of 2 valid (at least 2), 0 of them differ: FAILED"
    );
}

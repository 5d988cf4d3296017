use super::*;

#[test]
fn the_quickest_answer_tells_the_clock_best() {
    let ns = Nanos;
    // Its clock is 1,000,000 ahead; the second answer took 10 ns, the others more, on one way only.
    let readings = [
        (ns(0), ns(1_000_900), ns(1_000)),
        (ns(5_000), ns(1_005_005), ns(5_010)),
        (ns(9_000), ns(1_009_000), ns(9_900)),
    ];
    let clock = Clock::by(&readings);
    assert_eq!(clock, Clock { ahead_ns: 1_000_000, error: ns(5) });
    assert_eq!(clock.converted(1_234_567), 234_567);
    // A clock that is behind, as of a machine that was started later.
    let behind = Clock::by(&[(ns(1_000_000), ns(500), ns(1_000_000))]);
    assert_eq!(behind.converted(700), 1_000_200);
}

/// A clock that is ahead by so much answers after 1 ms, in seconds.
fn asked(ahead: i128, from: u64) -> Clock {
    let mut now = from;
    let mut bounds: Option<Bounds> = None;
    for _ in 0..QUESTIONS {
        now += bounds.map_or(0, |bounds| bounds.until_a_second(now).0);
        let its = u64::try_from((i128::from(now + 500_000) + ahead) / SECOND).unwrap();
        let one = Bounds::by(now, its, now + 1_000_000);
        now += 1_000_000;
        bounds = Some(bounds.map_or(one, |bounds| bounds.and(one).expect("it is one clock")));
    }
    bounds.unwrap().clock()
}

#[test]
fn eight_answers_in_seconds_tell_a_clock_to_ten_milliseconds() {
    for ahead in [0, 1, -1, 499_999_999, 500_000_001, -90 * SECOND - 1, 123 * SECOND + 5] {
        for from in [200 * SECOND as u64, 200 * SECOND as u64 + 999_999_999] {
            let clock = asked(ahead, from);
            assert!(clock.error < Nanos::from_millis(10), "{ahead}: {clock:?}");
            let off = (clock.ahead_ns - ahead).unsigned_abs();
            assert!(off <= u128::from(clock.error.0), "{ahead}: {clock:?}");
        }
    }
}

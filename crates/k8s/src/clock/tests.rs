use super::*;

/// A clock that is ahead by so much answers after 1 ms, in seconds.
fn asked(ahead: i128, from: u64) -> Offset {
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
            let off = (i128::from(clock.ahead_ns) - ahead).unsigned_abs();
            assert!(off <= u128::from(clock.error.0), "{ahead}: {clock:?}");
        }
    }
}

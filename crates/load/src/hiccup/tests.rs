use ::measure::Quantile;

use super::*;

const MS: Nanos = Nanos::from_millis(1);

fn at(ms: u64) -> Instant {
    Instant(0) + MS * ms
}

/// Returns naps from 0 to 10 s with a window of 1 s to 9 s; each pause begins and ends at the given
/// times.
fn naps(pauses: impl Iterator<Item = (u64, u64)>) -> Hiccups {
    let window = Window { start: at(1_000), end: at(9_000) };
    let mut hiccups = Hiccups::new(window.start, Nanos::SECOND);
    let mut before = at(0);
    for (begin, end) in pauses.chain([(10_000, 10_000)]) {
        while before + MS < at(begin) {
            hiccups.note(window, before + MS, before + MS);
            before = before + MS;
        }
        hiccups.note(window, before + MS, at(end));
        before = at(end);
    }
    hiccups
}

#[test]
fn pauses_count_by_the_time_that_they_take() {
    // 20 ms of each 130 ms: 15 % of the time, and one of 111 naps.
    let hiccups = naps((0..77).map(|pause| (pause * 130, pause * 130 + 20)));
    let share = |above: u64| {
        hiccups.overshoot.count_above(MS * above) as f64 / hiccups.overshoot.count() as f64
    };
    assert!((share(0) - 0.15).abs() < 0.01, "{}", share(0));
    assert!((share(10) - 0.075).abs() < 0.01, "{}", share(10));
    let p99 = hiccups.overshoot.quantile(Quantile::P99).unwrap();
    assert!(MS * 17 < p99 && p99 < MS * 20, "{p99}");
}

#[test]
fn each_millisecond_of_the_window_counts_once() {
    for pauses in [&[][..], &[(2_000, 2_500)], &[(500, 1_500), (8_500, 9_500)], &[(100, 9_900)]] {
        let hiccups = naps(pauses.iter().copied());
        assert_eq!(hiccups.overshoot.count(), 8_000, "{pauses:?}");
    }
}

#[test]
fn each_interval_has_the_longest_rest_of_a_pause_in_it() {
    let hiccups = naps([(1_500, 3_500)].into_iter());
    let worst: Vec<_> =
        hiccups.worst.iter().take(3).map(|(_, worst)| worst.0 / 1_000_000).collect();
    assert_eq!(worst, [Nanos(2_000), Nanos(1_500), Nanos(500)]);
}

use super::*;
use crate::Random;

const MS: u64 = 1_000_000;

/// A clock that was started later than ours and runs faster.
#[derive(Clone, Copy)]
struct Other {
    ahead_ns: i64,
    parts_per_billion: u64,
}

impl Other {
    fn at(self, own: u64) -> u64 {
        let drift = u128::from(own) * u128::from(self.parts_per_billion) / 1_000_000_000;
        own.checked_add_signed(self.ahead_ns).unwrap() + drift as u64
    }

    /// Asks it `count` times from a time on; the ways there and back take different times.
    fn ask(self, random: &mut Random, mut now: u64, count: usize) -> Vec<Reading> {
        let mut ask = || {
            let (there, back) = (20_000 + random.below(MS), 5_000 + random.below(3 * MS));
            let reading = Reading {
                asked: Instant(now),
                its: Instant(self.at(now + there)),
                answered: Instant(now + there + back),
            };
            now += 4 * MS;
            reading
        };
        (0..count).map(|_| ask()).collect()
    }
}

#[test]
fn the_true_offset_is_within_the_error_during_the_whole_load() {
    let (mut most, mut least) = (Nanos::ZERO, Nanos(u64::MAX));
    for seed in 0..500 {
        let mut random = Random::new(seed);
        let other = Other {
            ahead_ns: random.below(1 << 40) as i64 - (1 << 39),
            // Up to 50 microseconds in a second: quartz is better.
            parts_per_billion: random.below(50_000),
        };
        let begin = (1 << 40) + random.below(1 << 40);
        let end = begin + random.below(60_000 * MS);
        let before = Offset::by(&other.ask(&mut random, begin - 2_000 * MS, 100)).unwrap();
        let after = Offset::by(&other.ask(&mut random, end, 100)).unwrap();
        let offset = Offset::between(before, after);
        for step in 0..=100 {
            let own = begin + (end - begin) / 100 * step;
            let found = offset.own_time(Instant(other.at(own)));
            let wrong = found.0.abs_diff(own);
            assert!(wrong <= offset.error.0, "seed {seed}: {wrong} ns, {offset:?}");
        }
        (most, least) = (most.max(offset.error), least.min(offset.error));
    }
    assert!(least < Nanos::from_millis(1) && most < Nanos::from_millis(5), "{least} … {most}");
}

#[test]
fn the_quickest_answer_decides() {
    let reading = |asked, its, answered| Reading {
        asked: Instant(asked),
        its: Instant(its),
        answered: Instant(answered),
    };
    let slow = reading(1000, 5_000, 9_000);
    let quick = reading(20_000, 1_020_004, 20_011);
    let offset = Offset::by(&[slow, quick, slow]).unwrap();
    assert_eq!(offset, Offset { ahead_ns: 999_999, error: Nanos(6) });
    assert_eq!(Offset::by(&[]), None);
}

#[test]
fn drift_between_two_estimates_is_part_of_the_error() {
    let of = |ahead_ns, error| Offset { ahead_ns, error: Nanos(error) };
    assert_eq!(Offset::between(of(100, 5), of(140, 7)), of(120, 47));
    assert_eq!(Offset::between(of(100, 5), of(100, 5)), of(100, 5));
}

#[test]
fn offsets_are_chained_and_reversed() {
    let of = |ahead_ns, error| Offset { ahead_ns, error: Nanos(error) };
    assert_eq!(of(100, 5).then(of(-30, 2)), of(70, 7));
    assert_eq!(of(100, 5).reversed(), of(-100, 5));
    assert_eq!(of(100, 5).own_time(Instant(1100)), Instant(1000));
    // A clock that nobody can have changes nothing.
    let extreme = of(i64::MIN, u64::MAX);
    assert_eq!(extreme.then(extreme).error, Nanos(u64::MAX));
    assert_eq!(extreme.reversed().ahead_ns, i64::MAX);
    assert_eq!(of(i64::MAX, 0).own_time(Instant(5)), Instant(0));
}

use std::collections::BTreeMap;

use super::*;
use crate::random::Random;

fn rate(per_s: f64) -> Rate {
    Rate::per_second(per_s).unwrap()
}

fn range(low: f64, high: f64, strategy: Strategy) -> Search {
    Search { bounds: Bounds::Range(rate(low), rate(high)), strategy, precision: 0.01 }
}

fn unknown(start: f64) -> Search {
    let bounds = Bounds::Unknown { start: rate(start), factor: 2.0 };
    Search { bounds, strategy: Strategy::Adaptive { confirm: 2 }, precision: 0.01 }
}

/// Runs a search; returns its trials with their reasons, and the end.
fn run(search: &Search, mut passes: impl FnMut(f64) -> bool) -> (Vec<(Judged, Why)>, Bracket) {
    let (mut seen, mut whys) = (Vec::new(), Vec::new());
    loop {
        assert!(seen.len() < 1_000, "the search does not end: {seen:?}");
        match next(search, &seen) {
            Step::Try { load, why } => {
                seen.push(Judged { load, passed: passes(load.as_per_second()) });
                whys.push(why);
            }
            Step::Found(bracket) => return (seen.into_iter().zip(whys).collect(), bracket),
        }
    }
}

fn transcript(search: &Search, passes: impl FnMut(f64) -> bool) -> String {
    let (trials, Bracket { lower, upper }) = run(search, passes);
    let mut text = String::new();
    for (Judged { load, passed }, why) in trials {
        text += &format!("{load} {} {why:?}\n", if passed { "pass" } else { "fail" });
    }
    let bound = |bound: Option<Rate>| bound.map_or("none".to_owned(), |rate| rate.to_string());
    text + &format!("between {} and {}\n", bound(lower), bound(upper))
}

#[test]
fn an_adaptive_search_repeats_failures_and_validates_its_bounds() {
    let adaptive = range(8_000.0, 12_000.0, Strategy::Adaptive { confirm: 2 });
    expect_test::expect![[r#"
        9,798/s fail Explore
        9,798/s fail Confirm
        8,853/s pass Explore
        9,314/s fail Explore
        9,314/s fail Confirm
        9,081/s fail Explore
        9,081/s fail Confirm
        8,966/s pass Explore
        9,023/s fail Explore
        9,023/s fail Confirm
        8,966/s pass Validate
        9,023/s fail Validate
        9,023/s fail Validate
        between 8,966/s and 9,023/s
    "#]]
    .assert_eq(&transcript(&adaptive, |load| load <= 9_000.0));
}

#[test]
fn an_unknown_capacity_is_approached_by_growing_steps() {
    expect_test::expect![[r#"
        1,000/s pass Explore
        2,000/s pass Explore
        8,000/s pass Explore
        32,000/s fail Explore
        32,000/s fail Confirm
        16,000/s pass Explore
        22,627/s pass Explore
        26,908/s pass Explore
        29,344/s pass Explore
        30,643/s fail Explore
        30,643/s fail Confirm
        29,986/s pass Explore
        30,313/s fail Explore
        30,313/s fail Confirm
        30,149/s fail Explore
        30,149/s fail Confirm
        29,986/s pass Validate
        30,149/s fail Validate
        30,149/s fail Validate
        between 29,986/s and 30,149/s
    "#]]
    .assert_eq(&transcript(&unknown(1_000.0), |load| load <= 30_000.0));
    expect_test::expect![[r#"
        1,000/s fail Explore
        1,000/s fail Confirm
        500/s fail Explore
        500/s fail Confirm
        125/s pass Explore
        250/s pass Explore
        354/s fail Explore
        354/s fail Confirm
        297/s pass Explore
        324/s fail Explore
        324/s fail Confirm
        310/s fail Explore
        310/s fail Confirm
        303/s fail Explore
        303/s fail Confirm
        300/s pass Explore
        300/s pass Validate
        303/s fail Validate
        303/s fail Validate
        between 300/s and 303/s
    "#]]
    .assert_eq(&transcript(&unknown(1_000.0), |load| load <= 300.0));
}

#[test]
fn trials_are_counted_as_a_search_makes_them() {
    for capacity in [300.0, 1_000.0, 30_000.0] {
        let (trials, _) = run(&unknown(1_000.0), |load| load <= capacity);
        let passes = |load: Rate| Some(load.as_per_second() <= capacity);
        assert_eq!(super::trials(&unknown(1_000.0), passes), trials.len() as u64);
    }
}

/// From the transcript above: the bounds are near enough after the tenth trial.
#[test]
fn the_trials_that_only_confirm_the_bounds_are_known() {
    let adaptive = range(8_000.0, 12_000.0, Strategy::Adaptive { confirm: 2 });
    let (trials, _) = run(&adaptive, |load| load <= 9_000.0);
    let seen: Vec<Judged> = trials.into_iter().map(|(judged, _)| judged).collect();
    let missing = |made: usize| unconfirmed(&adaptive, &seen[..made]);
    assert_eq!([0, 1, 4, 8].map(missing), [None; 4]);
    assert_eq!([10, 11, 12, 13].map(missing), [(1, 2), (0, 2), (0, 1), (0, 0)].map(Some));
}

#[test]
fn one_wrong_failure_does_not_move_an_adaptive_search() {
    let adaptive = range(8_000.0, 12_000.0, Strategy::Adaptive { confirm: 2 });
    let (_, right) = run(&adaptive, |load| load <= 9_000.0);
    let (trials, _) = run(&adaptive, |load| load <= 9_000.0);
    for wrong in 0..trials.len() {
        let mut number = 0;
        let (_, found) = run(&adaptive, |load| {
            number += 1;
            number - 1 != wrong && load <= 9_000.0
        });
        assert_eq!(found, right, "trial {wrong} is a failure");
    }
}

#[test]
fn the_edges_of_a_range_are_tried_if_the_capacity_is_not_inside() {
    for strategy in
        [Strategy::Adaptive { confirm: 2 }, Strategy::Bisect, Strategy::Mlr { first_to: 3 }]
    {
        let search = range(8_000.0, 12_000.0, strategy);
        let all = Bracket { lower: Some(rate(12_000.0)), upper: None };
        assert_eq!(run(&search, |_| true).1, all);
        let none = Bracket { lower: None, upper: Some(rate(8_000.0)) };
        assert_eq!(run(&search, |_| false).1, none);
    }
}

#[test]
fn a_system_that_passes_nothing_or_everything_ends_a_search_without_a_range() {
    let (_, none) = run(&unknown(1_000.0), |_| false);
    assert!(none.lower.is_none() && none.upper.is_some());
    let (_, all) = run(&unknown(1_000.0), |_| true);
    assert!(all.upper.is_none() && all.lower.is_some());
}

#[test]
fn whatever_the_trials_say_a_search_ends_inside_its_range_with_a_pass_below_a_failure() {
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let low = 10.0 * 1_000_f64.powf(random.unit());
        let high = low * (1.001 + 20.0 * random.unit());
        let strategy = match random.below(3) {
            0 => Strategy::Adaptive { confirm: 1 + random.below(4) as u32 },
            1 => Strategy::Bisect,
            _ => Strategy::Mlr { first_to: 1 + random.below(4) as u32 },
        };
        let start = rate(low);
        let is_unknown = random.unit() < 0.3;
        let bounds = match is_unknown {
            true => Bounds::Unknown { start, factor: 1.05 + 2.0 * random.unit() },
            false => Bounds::Range(start, rate(high)),
        };
        let precision = 0.002 + 0.1 * random.unit();
        let search = Search { bounds, strategy, precision };
        // From pure chance to a clear capacity.
        let slope = 30.0 * random.unit().powi(2);
        let middle = (low * high).sqrt();
        let (trials, found) =
            run(&search, |load| random.unit() < 1.0 / (1.0 + (load / middle).powf(slope)));
        let mut counts: BTreeMap<u64, [u32; 2]> = BTreeMap::new();
        for (Judged { load, passed }, _) in &trials {
            let per_s = load.as_per_second();
            assert!(is_unknown || (low..=high).contains(&per_s), "seed {seed}: {load}");
            counts.entry(per_s.to_bits()).or_default()[usize::from(*passed)] += 1;
        }
        let passed = |load: Rate| {
            let [failures, passes] = counts[&load.as_per_second().to_bits()];
            failures < passes
        };
        assert!(found.lower.is_none_or(passed), "seed {seed}: {found:?}");
        assert!(found.upper.is_none_or(|upper| !passed(upper)), "seed {seed}: {found:?}");
        if let Bracket { lower: Some(lower), upper: Some(upper) } = found {
            assert!(lower.as_per_second() < upper.as_per_second(), "seed {seed}");
            let ratio = upper.as_per_second() / lower.as_per_second();
            // Loads are rounded: below 100/s to thousandths, above to whole requests per second.
            let finest = 1.0 / lower.as_per_second();
            assert!(ratio <= 1.0 + precision + 2.0 * finest, "seed {seed}: {found:?}");
        }
    }
}

#[test]
fn a_search_continues_the_same_after_any_prefix() {
    let mut random = Random::new(11);
    let search = unknown(700.0);
    let (trials, found) = run(&search, |load| load * random.exponential(1.0) < 9_000.0);
    let seen: Vec<Judged> = trials.iter().map(|(seen, _)| *seen).collect();
    for (length, (tried, why)) in trials.iter().enumerate() {
        let step = Step::Try { load: tried.load, why: *why };
        assert_eq!(next(&search, &seen[..length]), step);
    }
    assert_eq!(next(&search, &seen), Step::Found(found));
    assert_eq!(bracket(&search, &seen), found);
}

/// While a bound is tried again it stays one, unless its trials are even.
#[test]
fn a_bound_that_is_being_validated_is_still_one() {
    let search = unknown(100.0);
    let bounds = |trials: &[(f64, bool)]| {
        let seen: Vec<Judged> = trials
            .iter()
            .map(|(per_s, passed)| Judged { load: rate(*per_s), passed: *passed })
            .collect();
        let Bracket { lower, upper } = bracket(&search, &seen);
        (lower.map(Rate::as_per_second), upper.map(Rate::as_per_second))
    };
    // A precision that ends the search at once.
    let search = Search { precision: 0.5, ..search };
    let found = [(100.0, true), (200.0, false), (200.0, false), (141.0, true)];
    assert_eq!(bounds(&found), (Some(141.0), Some(200.0)));
    let with = |further: &[(f64, bool)]| bounds(&[&found[..], further].concat());
    let search_asks = |further: &[(f64, bool)]| {
        let all = [&found[..], further].concat();
        let seen: Vec<Judged> = all
            .iter()
            .map(|(per_s, passed)| Judged { load: rate(*per_s), passed: *passed })
            .collect();
        next(&search, &seen)
    };
    let again = |load| Step::Try { load: rate(load), why: Why::Validate };
    assert_eq!(search_asks(&[]), again(141.0));
    // One of two: neither a pass nor a failure, and the bound below it counts.
    assert_eq!(with(&[(141.0, false)]), (Some(100.0), Some(200.0)));
    assert_eq!(with(&[(141.0, true)]), (Some(141.0), Some(200.0)));
    // Two failures and a pass: it has not lost yet, and is the upper bound meanwhile.
    assert_eq!(with(&[(141.0, true), (200.0, true)]), (Some(141.0), Some(200.0)));
    assert_eq!(with(&[(141.0, false), (141.0, false)]), (Some(100.0), Some(141.0)));
}

/// A journal of somebody else may have any loads.
#[test]
fn a_search_with_a_load_outside_of_its_range_ends() {
    let search = range(1_000.0, 2_000.0, Strategy::Bisect);
    let seen = [(1e-320, false), (1_414.0, false), (1_000.0, true)];
    let seen = seen.map(|(per_s, passed)| Judged { load: rate(per_s), passed });
    let found = Bracket { lower: None, upper: Some(rate(1e-320)) };
    assert_eq!(next(&search, &seen), Step::Found(found));
}

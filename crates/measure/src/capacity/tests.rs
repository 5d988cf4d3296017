use super::*;
use crate::quantity::Rate;
use crate::random::Random;

fn seen(load: f64, passed: bool) -> Trial {
    Trial { load: Rate::per_second(load).unwrap(), passed, excess: None }
}

/// A trial of a system of this capacity whose response time grows with the ninth power of the load; its
/// own capacity differs by `noise`.
fn measured(load: f64, capacity: f64, noise: f64, random: &mut Random) -> Trial {
    let excess = 9.0 * ((load / capacity).ln() + noise * random.normal());
    Trial { excess: Some(excess), ..seen(load, excess <= 0.0) }
}

/// The loads of a search between 71,000 and 100,000/s that ends at 80,000 and 81,000/s.
const SEARCH: [f64; 14] = [
    84_261.0, 84_261.0, 77_348.0, 80_730.0, 80_730.0, 82_477.0, 82_477.0, 79_021.0, 79_871.0,
    79_871.0, 80_730.0, 80_730.0, 79_871.0, 82_477.0,
];

fn width(found: &Estimate) -> f64 {
    found.interval.1 / found.interval.0 - 1.0
}

/// Returns trials of a system with this capacity: the load at which each begins to fail differs by
/// `noise`, and follows the speed of the machine.
fn trials(count: u32, noise: f64, speed_sd: f64, random: &mut Random) -> (Vec<Trial>, Vec<f64>) {
    let trial = |_| {
        let speed = speed_sd * random.normal();
        let load: f64 = 10_000.0 * (0.3 * random.unit() - 0.15).exp();
        let threshold = 10_000.0 * (speed + noise * random.normal()).exp();
        (seen(load.round(), load.round() <= threshold), speed.exp())
    };
    (0..count).map(trial).unzip()
}

#[test]
fn a_search_without_noise_is_enclosed_by_its_bounds() {
    let search =
        [(8_000.0, true), (9_900.0, true), (9_900.0, true), (10_100.0, false), (10_100.0, false)];
    let search: Vec<Trial> = search.iter().map(|(load, passed)| seen(*load, *passed)).collect();
    let found = estimate(&search, 0.95).unwrap();
    assert!((9_900.0..10_100.0).contains(&found.per_s), "{found:?}");
    assert!(found.interval.0 < 9_950.0 && 10_050.0 < found.interval.1, "{found:?}");
    assert!(found.noise < 0.05, "{found:?}");
    assert_eq!(found.slope, 0.0);
}

#[test]
fn trials_that_all_pass_or_all_fail_say_nothing() {
    assert_eq!(estimate(&[], 0.95), None);
    assert_eq!(estimate(&[seen(100.0, true), seen(200.0, true)], 0.95), None);
    assert_eq!(estimate(&[seen(100.0, false)], 0.95), None);
    let both = [seen(100.0, true), seen(200.0, false)];
    assert_eq!(at_usual_speed(&both, &[1.0, 0.0], 0.95), None);
}

#[test]
fn a_stalled_trial_far_below_the_capacity_moves_the_estimate_little() {
    let mut search: Vec<Trial> =
        [9_000.0, 9_500.0, 9_800.0, 9_900.0].iter().map(|load| seen(*load, true)).collect();
    search.extend([10_100.0, 10_200.0, 10_500.0, 11_000.0].iter().map(|load| seen(*load, false)));
    let before = estimate(&search, 0.95).unwrap();
    search.push(seen(6_000.0, false));
    let after = estimate(&search, 0.95).unwrap();
    assert!((after.per_s / before.per_s - 1.0).abs() < 0.002, "{before:?} {after:?}");
    assert!(after.noise < 0.05, "{after:?}");
}

#[test]
fn more_trials_narrow_the_interval_and_the_noise_is_found() {
    let mut random = Random::new(1);
    let (few, _) = trials(30, 0.05, 0.0, &mut random);
    let (many, _) = trials(1_000, 0.05, 0.0, &mut random);
    let (few, many) = (estimate(&few, 0.95).unwrap(), estimate(&many, 0.95).unwrap());
    assert!(3.0 * width(&many) < width(&few), "{few:?} {many:?}");
    assert!((many.per_s / 10_000.0 - 1.0).abs() < 0.015, "{many:?}");
    assert!((0.03..0.07).contains(&many.noise), "{many:?}");
}

#[test]
fn the_speed_of_the_machine_explains_its_part() {
    let (seen, speeds) = trials(400, 0.02, 0.08, &mut Random::new(2));
    let raw = estimate(&seen, 0.95).unwrap();
    let adjusted = at_usual_speed(&seen, &speeds, 0.95).unwrap();
    assert!(adjusted.noise < raw.noise / 2.0, "{raw:?} {adjusted:?}");
    assert!((0.7..1.3).contains(&adjusted.slope), "{adjusted:?}");
    assert!(width(&adjusted) < width(&raw), "{raw:?} {adjusted:?}");
}

#[test]
fn the_figures_of_a_quiet_machine_narrow_the_interval_and_contain_the_capacity() {
    let mut random = Random::new(3);
    let (mut contained, mut narrow) = (0, 0);
    for _ in 0..30 {
        let search: Vec<Trial> =
            SEARCH.iter().map(|load| measured(*load, 80_300.0, 0.005, &mut random)).collect();
        let verdicts: Vec<Trial> =
            search.iter().map(|trial| Trial { excess: None, ..*trial }).collect();
        let (found, before) = (estimate(&search, 0.95), estimate(&verdicts, 0.95));
        let (Some(found), Some(before)) = (found, before) else { continue };
        assert!(width(&found) < width(&before), "{found:?} {before:?}");
        contained += u32::from(found.interval.0 < 80_300.0 && 80_300.0 < found.interval.1);
        narrow += u32::from(width(&found) < 0.03);
    }
    assert!(25 <= contained && 27 <= narrow, "{contained} {narrow}");
}

#[test]
fn figures_that_do_not_follow_the_load_hardly_move_the_estimate() {
    let mut random = Random::new(4);
    // Nine tenths of the limit up to the capacity, whatever the load, and far above it beyond.
    let plateau = |load: f64, random: &mut Random| {
        let passed = load < 80_300.0 * (0.005 * random.normal()).exp();
        let excess = if passed { 0.9f64.ln() + 0.02 * random.normal() } else { 1.5 };
        Trial { excess: Some(excess), ..seen(load, passed) }
    };
    let loads = [10_000.0, 20_000.0, 40_000.0, 60_000.0, 160_000.0, 160_000.0];
    let search: Vec<Trial> =
        loads.iter().chain(&SEARCH).map(|load| plateau(*load, &mut random)).collect();
    let verdicts: Vec<Trial> =
        search.iter().map(|trial| Trial { excess: None, ..*trial }).collect();
    let found = estimate(&search, 0.95).unwrap();
    let by_verdicts = estimate(&verdicts, 0.95).unwrap();
    assert!((found.per_s / by_verdicts.per_s - 1.0).abs() < 0.005, "{found:?} {by_verdicts:?}");
    assert!(found.interval.0 < 80_300.0 && 80_300.0 < found.interval.1, "{found:?}");
}

#[test]
fn figures_far_from_the_limit_say_no_more_than_verdicts() {
    let cliff = |load: f64| {
        let passed = load < 80_300.0;
        Trial { excess: Some(if passed { -1.6 } else { 2.3 }), ..seen(load, passed) }
    };
    let search = SEARCH.map(cliff);
    let verdicts = search.map(|trial| Trial { excess: None, ..trial });
    assert_eq!(estimate(&search, 0.95), estimate(&verdicts, 0.95));
}

#[test]
fn the_time_of_a_trial_that_failed_by_something_else_is_not_used() {
    let mut random = Random::new(5);
    let mut search: Vec<Trial> =
        SEARCH.iter().map(|load| measured(*load, 80_300.0, 0.005, &mut random)).collect();
    search.push(Trial { excess: Some(-0.1), ..seen(82_000.0, false) });
    let unknown = estimate(&search, 0.95);
    search.pop();
    search.push(seen(82_000.0, false));
    assert_eq!(unknown, estimate(&search, 0.95));
}

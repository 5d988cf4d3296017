use super::*;
use crate::quantity::Rate;
use crate::random::Random;

fn seen(load: f64, passed: bool) -> Seen {
    Seen { load: Rate::per_second(load).unwrap(), passed }
}

/// Returns trials of a system with this capacity: the load at which each begins to fail differs by
/// `noise`, and follows the speed of the machine.
fn trials(count: u32, noise: f64, speed_sd: f64, random: &mut Random) -> (Vec<Seen>, Vec<f64>) {
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
    let search: Vec<Seen> = search.iter().map(|(load, passed)| seen(*load, *passed)).collect();
    let found = estimate(&search, 0.95).unwrap();
    assert!((9_900.0..10_100.0).contains(&found.per_s), "{found:?}");
    assert!(found.interval.0 < 9_950.0 && 10_050.0 < found.interval.1, "{found:?}");
    assert!(found.noise < 0.03, "{found:?}");
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
    let mut search: Vec<Seen> =
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
    let width = |found: &Estimate| (found.interval.1 / found.interval.0).ln();
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
    let width = |found: &Estimate| (found.interval.1 / found.interval.0).ln();
    assert!(width(&adjusted) < width(&raw), "{raw:?} {adjusted:?}");
}

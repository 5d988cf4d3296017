use super::*;
use crate::Random;

fn of(count: usize, mut draw: impl FnMut(&mut Random) -> f64) -> Option<Timer> {
    let mut random = Random::new(7);
    let mut times = Histogram::new();
    for _ in 0..count {
        times.record(Nanos::from_secs_f64(draw(&mut random) / 1000.0));
    }
    Timer::of(&times)
}

/// Returns the nominal period in milliseconds.
fn period(count: usize, draw: impl FnMut(&mut Random) -> f64) -> Option<f64> {
    of(count, draw).map(|timer| timer.nominal().as_millis_f64())
}

#[test]
fn an_even_distribution_with_a_constant_is_a_timer() {
    assert_eq!(period(15_000, |random| 250.0 * random.unit()), Some(250.0));
    assert_eq!(period(15_000, |random| 18.0 + 250.0 * random.unit()), Some(250.0));
    assert_eq!(period(1_500, |random| 0.3 + 250.0 * random.unit()), Some(250.0));
    assert_eq!(period(15_000, |random| 0.2 + 5.0 * random.unit()), Some(5.0));
    // With a little noise, and with 3 % that waited for two ticks.
    let noisy = |random: &mut Random| 250.0 * random.unit() + random.exponential(2.0);
    assert_eq!(period(15_000, noisy), Some(250.0));
    let late = |random: &mut Random| match random.below(100) {
        0..3 => 250.0 + 250.0 * random.unit(),
        _ => 250.0 * random.unit(),
    };
    let late = of(15_000, late).unwrap().period.as_millis_f64();
    assert!((250.0..265.0).contains(&late), "{late}");
    let constant = of(15_000, |random| 18.0 + 250.0 * random.unit()).unwrap().constant;
    assert!((15.0..21.0).contains(&constant.as_millis_f64()), "{constant}");
}

type Draw = fn(&mut Random) -> f64;

#[test]
fn other_distributions_are_not_timers() {
    for count in [1_000, 3_000, 15_000, 200_000] {
        let distributions: [(&str, Draw); 9] = [
            ("exponential", |random| random.exponential(100.0)),
            ("lognormal", |random| (random.normal() * 0.5).exp() * 10.0),
            ("narrow lognormal", |random| (random.normal() * 0.1).exp() * 100.0),
            ("normal", |random| (500.0 + 50.0 * random.normal()).max(0.0)),
            ("bimodal", |random| match random.below(2) {
                0 => 1.0 + random.exponential(0.2),
                _ => 250.0 + random.exponential(5.0),
            }),
            ("two timers, one after the other", |random| 250.0 * (random.unit() + random.unit())),
            ("flat for the half", |random| match random.below(2) {
                0 => random.exponential(0.3),
                _ => 250.0 * random.unit(),
            }),
            ("flat with a long tail", |random| match random.below(5) {
                0 => 250.0 + random.exponential(500.0),
                _ => 250.0 * random.unit(),
            }),
            ("constant", |_| 40.0),
        ];
        for (name, draw) in distributions {
            assert_eq!(of(count, draw), None, "{name} of {count}");
        }
    }
}

#[test]
fn a_few_times_and_short_ones_have_no_shape() {
    assert_eq!(period(999, |random| 250.0 * random.unit()), None);
    assert_eq!(period(15_000, |random| 0.1 + 0.9 * random.unit()), None);
    assert_eq!(Timer::of(&Histogram::new()), None);
}

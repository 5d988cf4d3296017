use super::*;
use crate::Random;
use crate::comparison::{compare, p_value};

/// Blocks of two and two whose figure is speed^slope, with this effect on B, and so much further noise;
/// and the speeds.
fn trials(slope: f64, effect: f64, noise: f64, random: &mut Random) -> (Vec<Block>, Vec<Block>) {
    let block = |_| {
        let level = random.normal();
        let mut pair = |effect: f64| {
            let speed = 0.05 * random.normal();
            let figure = level + effect + slope * speed + noise * random.normal();
            (figure.exp(), speed.exp())
        };
        let [(a1, s1), (a2, s2)] = [pair(0.0), pair(0.0)];
        let [(b1, t1), (b2, t2)] = [pair(effect), pair(effect)];
        let figures = Block { a: vec![a1, a2], b: vec![b1, b2] };
        (figures, Block { a: vec![s1, s2], b: vec![t1, t2] })
    };
    (0..5).map(block).unzip()
}

#[test]
fn what_the_speed_explains_is_taken_off() {
    let (figures, speeds) = trials(-2.0, 0.05, 1e-6, &mut Random::new(5));
    let found = adjusted(&figures, &speeds, 0.05).unwrap();
    assert!((found.slope + 2.0).abs() < 1e-3, "{found:?}");
    assert!((found.comparison.ratio.ln() - 0.05).abs() < 1e-4, "{found:?}");
    let (low, high) = found.comparison.interval;
    assert!(low.ln() > 0.049 && high.ln() < 0.051, "{found:?}");
    let (low, high) = compare(&figures, 0.05).unwrap().interval;
    assert!(0.05 < high.ln() - low.ln(), "the raw interval is wide: {low} … {high}");
}

/// The same ranks are refused at the same shift, whatever unit the covariate has.
#[test]
fn the_unit_of_the_covariate_changes_nothing() {
    let (figures, speeds) = trials(-1.0, 0.02, 0.02, &mut Random::new(7));
    let times = |values: &[f64]| values.iter().map(|value| 300.0 * value).collect();
    let scaled: Vec<Block> =
        speeds.iter().map(|block| Block { a: times(&block.a), b: times(&block.b) }).collect();
    let (one, other) = (adjusted(&figures, &speeds, 0.05), adjusted(&figures, &scaled, 0.05));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert!((one.slope - other.slope).abs() < 1e-9, "{one:?} {other:?}");
    assert_eq!(one.comparison.p.to_bits(), other.comparison.p.to_bits());
}

/// A pure effect of the arms is not taken for one of the covariate.
#[test]
fn the_interval_is_around_the_effect_although_the_covariate_differs_between_the_arms() {
    let mut random = Random::new(11);
    let runs = 150;
    let missed = (0..runs).filter(|_| {
        let (figures, mut speeds) = trials(-1.0, 0.0, 0.02, &mut random);
        // The machine was slower in B by chance, and so B's figures are higher.
        let slower = |values: &mut Vec<f64>, by: f64| {
            values.iter_mut().for_each(|value| *value *= (-by).exp());
        };
        let mut figures = figures;
        for (figure, speed) in figures.iter_mut().zip(&mut speeds) {
            slower(&mut speed.b, 0.05);
            slower(&mut figure.b, -0.05);
        }
        let (low, high) = adjusted(&figures, &speeds, 0.05).unwrap().comparison.interval;
        !(low..=high).contains(&1.0)
    });
    let share = missed.count() as f64 / f64::from(runs);
    assert!(share < 0.11, "{share}");
}

#[test]
fn the_adjusted_interval_excludes_no_difference_exactly_if_its_test_does() {
    let mut random = Random::new(13);
    for _ in 0..60 {
        let (figures, speeds) = trials(-1.0, 0.03, 0.02, &mut random);
        let found = adjusted(&figures, &speeds, 0.05).unwrap().comparison;
        assert_eq!(Some(found.p), adjusted_p_value(&figures, &speeds));
        let excludes = found.interval.1 < 1.0 || 1.0 < found.interval.0;
        assert_eq!(excludes, found.p <= 0.05, "{found:?}");
    }
}

#[test]
fn a_covariate_that_says_nothing_is_no_adjustment() {
    let (figures, speeds) = trials(0.0, 0.0, 0.02, &mut Random::new(1));
    let constant: Vec<Block> = speeds
        .iter()
        .map(|block| Block { a: vec![0.7; block.a.len()], b: vec![0.7; block.b.len()] })
        .collect();
    assert!(p_value(&figures).is_some());
    assert_eq!(adjusted(&figures, &constant, 0.05), None);
    assert_eq!(adjusted(&figures, &speeds[1..], 0.05), None);
    let of_arms = vec![Block { a: vec![1.0; 2], b: vec![2.0; 2] }; figures.len()];
    assert_eq!(adjusted(&figures, &of_arms, 0.05), None, "it only repeats the arms");
}

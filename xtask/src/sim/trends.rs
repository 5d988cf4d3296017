//! The error rates of tests for a trend, of tests of two spreads, and of those for a steady state.

use measure::Random;
use measure::comparison::Better;
use measure::estimate::relative_half_width;
use measure::spread::compare_spreads;
use measure::steady::{Course, course, truncation};
use measure::trend::mann_kendall;

use super::{Extent, Goal, Noise, Rate, noise, share};

pub(super) fn rates(extent: Extent) -> Vec<Rate> {
    let trend = |drift: f64| {
        move |random: &mut Random| {
            let value = |index| drift * f64::from(index) / 19.0 + 0.01 * random.normal();
            let values: Vec<f64> = (0..20).map(value).collect();
            mann_kendall(&[&values]).is_some_and(|trend| trend.p <= 0.05)
        }
    };
    let mut rates = vec![
        share(
            "trend, none, 20 trials, SD 1 %".to_owned(),
            extent,
            Goal::at_most(0.05, 0.05),
            trend(0.0),
        ),
        share(
            "trend, 3 % over 20 trials, SD 1 %".to_owned(),
            extent,
            Goal::at_least(0.95, 0.99),
            trend(0.03),
        ),
    ];
    for constant in [5.0, 15.0] {
        let what = format!("warm-up, time constant {constant} s in 180 s: biased by more than 1 %");
        rates.push(share(what, extent, Goal::at_most(0.01, 0.001), move |random| {
            let values = warming(constant, random);
            let Some(samples) = truncation(&values) else { return false };
            let rest = &values[samples..];
            (rest.iter().sum::<f64>() / rest.len() as f64 - 1.0).abs() > 0.01
        }));
    }
    let what = "steady, a drift of 30 % over 300 s: called not steady".to_owned();
    rates.push(share(what, extent, Goal::at_least(0.9, 0.99), |random| {
        let value = |second| 0.7 + 0.3 * f64::from(second) / 300.0 + 0.01 * random.normal();
        let values: Vec<f64> = (0..300).map(value).collect();
        course(&values, Better::Higher) == Some(Course::Unsteady)
    }));
    rates.extend(of_spreads(extent));
    for (first, goal) in [(5, Goal::at_most(0.08, 0.06)), (2, Goal::None)] {
        let what =
            format!("until ± 2 %, SD 2 %, judged from trial {first} on: the interval is wrong");
        rates.push(share(what, extent, goal, move |random| is_wrong(first, random)));
    }
    rates
}

/// Counts the levels whose spreads are called different: of equal ones under each noise, and of one that is
/// five times as large.
fn of_spreads(extent: Extent) -> Vec<Rate> {
    const SD: f64 = 0.02;
    let different = |noise: Noise, count: usize, times: f64| {
        move |random: &mut Random| {
            let mut level = |times: f64| -> Vec<f64> {
                noise.trials(count, SD, random).iter().map(|log| (times * log).exp()).collect()
            };
            let (one, other) = (level(1.0), level(1.0 / times));
            let test = compare_spreads(&one, &other).expect("the trials differ");
            test.p <= 0.05 && test.autocorrelation.is_none()
        }
    };
    let mut rates = Vec::new();
    for noise in noise::ALL {
        for count in [5, 10, 20] {
            let what = format!("spreads, equal, {}, {count} trials each", noise.name());
            rates.push(share(
                what,
                extent,
                Goal::at_most(0.055, 0.05),
                different(noise, count, 1.0),
            ));
        }
        let what = format!("spreads, a fifth, {}, 10 trials each", noise.name());
        rates.push(share(what, extent, Goal::None, different(noise, 10, 5.0)));
    }
    rates
}

/// Repeats until half the interval is at most 2 %, with 30 trials at most; returns true if the interval then
/// leaves out the true value.
fn is_wrong(first: usize, random: &mut Random) -> bool {
    let mut values: Vec<f64> = Vec::new();
    loop {
        values.push((0.02 * random.normal()).exp());
        let Some(half) = relative_half_width(&values, 0.95) else { continue };
        if (first <= values.len() && half <= 0.02) || values.len() == 30 {
            let middle = values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64;
            return half.ln_1p() < middle.abs();
        }
    }
}

/// Returns the throughput of 180 s, which approaches 1 from 0.6.
fn warming(constant: f64, random: &mut Random) -> Vec<f64> {
    let value = |second| {
        let warm = 1.0 - 0.4 * (-f64::from(second) / constant).exp();
        warm * (1.0 + 0.01 * random.normal())
    };
    (0..180).map(value).collect()
}

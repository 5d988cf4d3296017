//! The error rates of tests for a trend and for a steady state.

use measure::Random;
use measure::comparison::Better;
use measure::steady::{Course, course, truncation};
use measure::trend::mann_kendall;

use super::{Extent, Goal, Rate, share};

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
    rates
}

/// Returns the throughput of 180 s, which approaches 1 from 0.6.
fn warming(constant: f64, random: &mut Random) -> Vec<f64> {
    let value = |second| {
        let warm = 1.0 - 0.4 * (-f64::from(second) / constant).exp();
        warm * (1.0 + 0.01 * random.normal())
    };
    (0..180).map(value).collect()
}

use expect_test::{Expect, expect};

use super::*;

#[test]
fn every_distribution_reads_what_it_prints() {
    for text in
        ["constant", "poisson", "uniform-gap", "lognormal:1", "lognormal:0.3", "normal:0.25"]
            .into_iter()
            .chain(["normal:1e-5", "bursts:1", "bursts:4294967295", "zipf"])
    {
        let distribution: Distribution = text.parse().unwrap();
        assert_eq!(distribution.to_string().parse(), Ok(distribution), "{text}");
    }
    let printed = |text: &str| text.parse::<Distribution>().unwrap().to_string();
    assert_eq!(printed("bursts:10"), "bursts:10");
    assert_eq!(printed("normal:0.10"), "normal:0.1");
}

#[test]
fn distributions_have_the_names_of_wrks_descendants_and_defaults() {
    for (text, distribution) in [
        ("uniform", Distribution::Constant),
        ("fixed", Distribution::Constant),
        ("exponential", Distribution::Poisson),
        ("exp", Distribution::Poisson),
        ("norm", Distribution::Normal { cv: 0.25 }),
        ("normal", Distribution::Normal { cv: 0.25 }),
        ("norm:0.5", Distribution::Normal { cv: 0.5 }),
        ("lognormal", Distribution::Lognormal { cv: 1.0 }),
    ] {
        assert_eq!(text.parse(), Ok(distribution));
    }
    assert_eq!(Distribution::default(), Distribution::Poisson);
}

#[test]
fn an_unknown_distribution_is_refused_with_the_list_of_distributions() {
    let wrong = |text: &str, expected: Expect| {
        expected.assert_eq(&text.parse::<Distribution>().unwrap_err());
    };
    wrong(
        "Poisson",
        expect![
            "`Poisson` is not a valid arrival distribution; write constant, poisson, uniform-gap, lognormal[:cv], normal[:cv] (cv above 0, at most 10), bursts:n (n from 1) or zipf"
        ],
    );
    for text in ["", "constant:1", "poisson:2", "zipf:3", "uniform-gap:", "lognormal:", "bursts"]
        .into_iter()
        .chain(["lognormal:0", "lognormal:-1", "normal:NaN", "normal:11", "normal:inf"])
        .chain(["bursts:0", "bursts:1.5", "bursts:-1", "bursts:4294967296", "normal:1:2"])
    {
        let error = text.parse::<Distribution>().unwrap_err();
        assert!(
            error.starts_with(&format!("`{text}` is not a valid arrival distribution; write")),
            "{error}"
        );
    }
}

#[test]
fn bursts_are_regular_and_begin_at_once() {
    let mut process = UnitProcess::new(Distribution::Bursts { n: 3 }, Random::new(1));
    let times: Vec<f64> = (0..8).map(|_| process.next_time()).collect();
    assert_eq!(times, [0.0, 0.0, 0.0, 3.0, 3.0, 3.0, 6.0, 6.0]);
}

/// Uses seeds that were not chosen: ten million gaps, whose mean has a standard error of 0.03 % for
/// the distributions with deviation m.
#[test]
fn no_distribution_is_biased() {
    for text in ["poisson", "uniform-gap", "lognormal", "normal:1", "zipf"] {
        let last = |seed| {
            let mut process = UnitProcess::new(text.parse().unwrap(), Random::new(seed));
            (0..1_000_000).map(|_| process.next_time()).last().unwrap()
        };
        let mean = (0..10).map(last).sum::<f64>() / 1e7;
        assert!((mean - 1.0).abs() < 0.001, "{text}: {mean}");
    }
}

/// With a clamped distribution this fails: at cv 1 a third of its gaps would be 0 or 2m.
#[test]
fn a_normal_gap_is_drawn_again_when_it_lies_outside() {
    let mut random = Random::new(1);
    let gaps: Vec<f64> = (0..100_000).map(|_| normal(&mut random, 1.0)).collect();
    assert!(gaps.iter().all(|&gap| 0.0 < gap && gap < 2.0));
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let square = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.006, "{mean}");
    assert!((square.sqrt() - 0.5396).abs() < 0.004, "{}", square.sqrt());
}

#[test]
fn the_zipf_table_ends_at_one_and_has_its_mean() {
    let weights: Vec<f64> = (1..=100).map(|k| f64::from(k).powi(-3)).collect();
    let total: f64 = weights.iter().sum();
    assert!((ZIPF[0] - 1.0 / total).abs() < 1e-15);
    assert!((ZIPF[MOST - 1] - 1.0).abs() < 1e-15);
    let mean: f64 = (1..=100).map(|k| f64::from(k).powi(-2)).sum::<f64>() / total;
    assert!((ZIPF_MEAN - mean).abs() < 1e-12);
}

use statrs::distribution::{ContinuousCDF, Normal};

use super::*;

#[test]
fn the_same_seed_gives_the_same_bits() {
    let draw = |seed| {
        let mut random = Random::new(seed);
        [random.next_u64(), random.next_u64()]
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    assert_ne!(Random::part(7, 0).next_u64(), Random::part(7, 1).next_u64());
}

/// The mean and variance of the exponential distribution are its mean and its mean squared.
#[test]
fn the_exponential_distribution_has_its_moments() {
    let mut random = Random::new(1);
    let n = 1_000_000;
    let (mut sum, mut squares) = (0.0, 0.0);
    for _ in 0..n {
        let x = random.exponential(3.0);
        sum += x;
        squares += x * x;
    }
    let mean = sum / f64::from(n);
    let variance = squares / f64::from(n) - mean * mean;
    assert!((mean / 3.0 - 1.0).abs() < 0.005, "{mean}");
    assert!((variance / 9.0 - 1.0).abs() < 0.02, "{variance}");
}

/// A Kolmogorov-Smirnov test, which also detects wrong moments and tails: 1.63/√n is the 1 % point.
#[test]
fn normal_draws_follow_the_normal_distribution() {
    let mut random = Random::new(3);
    let mut draws: Vec<f64> = (0..100_000).map(|_| random.normal()).collect();
    draws.sort_by(f64::total_cmp);
    let distribution = Normal::new(0.0, 1.0).unwrap();
    let n = draws.len() as f64;
    let distance = (0..)
        .zip(&draws)
        .map(|(i, &x)| (distribution.cdf(x), f64::from(i) / n))
        .map(|(expected, below)| (expected - below).max(below + 1.0 / n - expected))
        .fold(0.0, f64::max);
    assert!(distance < 1.63 / n.sqrt(), "{distance}");
}

#[test]
fn numbers_below_a_bound_are_evenly_spread() {
    let mut random = Random::new(2);
    let mut counts = [0u32; 7];
    for _ in 0..70_000 {
        counts[random.below(7) as usize] += 1;
    }
    assert!(counts.iter().all(|&n| (9_600..10_400).contains(&n)), "{counts:?}");
}

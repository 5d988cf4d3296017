use super::*;
use crate::Random;

/// The known sample sizes below which no 95 % interval exists.
#[test]
fn an_interval_exists_from_the_known_sample_sizes_on() {
    for (quantile, first) in
        [(Quantile::P99, 368), (Quantile::P999, 3_688), (Quantile::P9999, 36_887)]
    {
        assert!(order_statistics(first, quantile, 0.95).is_some(), "{first}");
        assert!(order_statistics(first - 1, quantile, 0.95).is_none(), "{}", first - 1);
    }
}

#[test]
fn intervals_contain_the_truth_as_often_as_they_promise() {
    let mut random = Random::new(11);
    let truth = 1e6 * 100f64.ln();
    let trials = 2_000;
    let mut hits = 0;
    for _ in 0..trials {
        let mut histogram = Histogram::new();
        (0..2_000).for_each(|_| histogram.record(Nanos(random.exponential(1e6) as u64)));
        let (low, high) = quantile_interval(&histogram, Quantile::P99, 0.95).unwrap();
        hits += u32::from((low.0 as f64) <= truth * 1.001 && truth * 0.999 <= high.0 as f64);
    }
    let coverage = f64::from(hits) / f64::from(trials);
    assert!(0.94 < coverage, "{coverage}");
}

/// The values are from the table in METHOD for c = 0.95 and P99.
#[test]
fn a_trial_passes_fails_or_stays_undecided_at_the_exact_counts() {
    for (n, pass, fail) in
        [(5_000, 38, 63), (15_000, 129, 171), (60_000, 559, 641), (600_000, 5_873, 6_128)]
    {
        let judge = |over| share_within(n, over, Quantile::P99, 0.95);
        assert_eq!(judge(pass), Share::Pass);
        assert_eq!(judge(pass + 1), Share::Undecided);
        assert_eq!(judge(fail - 1), Share::Undecided);
        assert_eq!(judge(fail), Share::Fail);
    }
}

#[test]
fn a_quantile_needs_samples_beyond_it() {
    assert_eq!(support(999, Quantile::P99), Support::Unsupported);
    assert_eq!(support(1_000, Quantile::P99), Support::Indicative);
    assert_eq!(support(10_000, Quantile::P99), Support::Sound);
}

#[test]
fn the_median_of_an_even_count_lies_between() {
    assert_eq!(median(&[3.0, 1.0, 2.0, 10.0]), Some(2.5));
    assert_eq!(median(&[]), None);
}

#[test]
fn the_half_width_of_a_t_interval_is_relative() {
    // Two values whose logarithms are ±0.1 about their mean: s = 0.1·√2, and with one degree of
    // freedom t = 12.7062 (tables of Student's t).
    let values = [100.0 * 0.1_f64.exp(), 100.0 * (-0.1_f64).exp()];
    let half = relative_half_width(&values, 0.95).unwrap();
    assert!((half - (12.7062 * 0.1_f64).exp_m1()).abs() < 1e-3, "{half}");
    // Five equal values are known exactly; one value, or a zero, says nothing.
    assert_eq!(relative_half_width(&[3.0; 5], 0.95), Some(0.0));
    assert_eq!(relative_half_width(&[3.0], 0.95), None);
    assert_eq!(relative_half_width(&[3.0, 0.0], 0.95), None);
}

use super::*;
use crate::Random;

fn filled(seed: u64, n: u64) -> (Histogram, Vec<u64>) {
    let mut random = Random::new(seed);
    let mut histogram = Histogram::new();
    let mut values: Vec<u64> = (0..n).map(|_| random.exponential(2e6) as u64 + 200).collect();
    for &value in &values {
        histogram.record(Nanos(value));
    }
    values.sort_unstable();
    (histogram, values)
}

#[test]
fn quantiles_are_within_a_thousandth_of_the_sorted_values() {
    let (histogram, sorted) = filled(3, 100_000);
    for level in [0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0] {
        let quantile = Quantile::new(level).unwrap();
        let exact = sorted[(level * sorted.len() as f64).ceil() as usize - 1] as f64;
        let found = histogram.quantile(quantile).unwrap().0 as f64;
        assert!((found / exact - 1.0).abs() <= 0.001, "{level}: {found} for {exact}");
    }
}

#[test]
fn the_mean_is_exact() {
    let (histogram, sorted) = filled(4, 1_000);
    assert_eq!(histogram.mean(), Some(Nanos(sorted.iter().sum::<u64>() / 1_000)));
}

#[test]
fn merging_is_associative_and_loses_nothing() {
    let parts: Vec<Histogram> = (0..3).map(|seed| filled(seed, 5_000).0).collect();
    let merge = |order: [usize; 3]| {
        let mut all = Histogram::new();
        order.into_iter().for_each(|i| all.add(&parts[i]));
        all.buckets().collect::<Vec<_>>()
    };
    assert_eq!(merge([0, 1, 2]), merge([2, 0, 1]));
    assert_eq!(merge([0, 1, 2]).iter().map(|(_, n)| n).sum::<u64>(), 15_000);
}

#[test]
fn a_duration_beyond_an_hour_is_counted_as_clamped() {
    let mut histogram = Histogram::new();
    histogram.record(Nanos::SECOND * 7200);
    assert_eq!((histogram.count(), histogram.clamped()), (1, 1));
    assert_eq!(histogram.count_above(Nanos::SECOND), 1);
}

#[test]
fn an_empty_histogram_has_no_quantiles() {
    assert_eq!(Histogram::new().quantile(Quantile::P99), None);
    assert_eq!(Histogram::new().mean(), None);
}

#[test]
fn values_above_a_limit_are_counted() {
    let mut histogram = Histogram::new();
    for ms in 1..=100 {
        histogram.record(Nanos::from_millis(ms));
    }
    assert_eq!(histogram.count_above(Nanos::from_millis(90)), 10);
}

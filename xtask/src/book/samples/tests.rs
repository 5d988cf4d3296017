use super::*;

#[test]
fn an_interval_of_p99_needs_as_many_samples_as_the_binomial_distribution_says() {
    // 0.99^n is at most 2.5 % from 368 on; half of the samples of p50 lie on either side.
    assert_eq!(fewest(Quantile::P99), 368);
    assert_eq!(fewest(Quantile::P50), 6);
}

#[test]
fn runs_that_agree_are_not_apart_and_missing_ones_are_dashes() {
    let mut run = Histogram::new();
    (0..1_000).for_each(|_| run.record(Nanos::from_millis(2)));
    let two = Length { requests: 1_000, runs: vec![run.clone(), run] };
    let rows = spread(&[two, Length { requests: 10_000, runs: Vec::new() }]);
    assert_eq!(rows.len(), 1 + 2 * LEVELS.len());
    assert_eq!(rows[3][..3], ["1,000", "p99", "10"].map(str::to_owned));
    assert_eq!(rows[3][5], "0 %");
    assert_eq!(rows[8][3..6], ["–", "–", "–"].map(str::to_owned));
}

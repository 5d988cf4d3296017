use super::*;

#[derive(Default)]
struct Count(u64);
impl Merge for Count {
    fn merge(&mut self, later: Count) {
        self.0 += later.0;
    }
}

#[test]
fn a_long_series_gets_longer_intervals_and_keeps_its_sum() {
    let mut series = Series::<Count>::new(Instant(0), Nanos::SECOND);
    for second in 0..10_000 {
        series.at(Instant(0) + Nanos::SECOND * second).0 += 1;
    }
    assert_eq!(series.interval(), Nanos::SECOND * 4);
    assert_eq!(series.iter().map(|(_, n)| n.0).sum::<u64>(), 10_000);
    assert!(series.iter().count() <= MOST_INTERVALS);
}

#[test]
fn parts_with_different_intervals_are_added() {
    let mut long = Series::<Count>::new(Instant(0), Nanos::SECOND);
    long.at(Instant(0) + Nanos::SECOND * 5000).0 = 3;
    let mut short = Series::<Count>::new(Instant(0), Nanos::SECOND);
    short.at(Instant(0)).0 = 2;
    short.add(long);
    assert_eq!(short.interval(), Nanos::SECOND * 2);
    assert_eq!(short.iter().map(|(_, n)| n.0).sum::<u64>(), 5);
}

#[test]
fn sparse_histograms_merge_to_the_same_buckets() {
    let (mut a, mut b, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
    for us in 1..1000 {
        a.record(Nanos::from_micros(us));
        b.record(Nanos::from_micros(3 * us));
        both.record(Nanos::from_micros(us));
        both.record(Nanos::from_micros(3 * us));
    }
    let mut merged = Sparse::of(&a);
    merged.merge(Sparse::of(&b));
    assert_eq!(merged, Sparse::of(&both));
    let mut back = Histogram::new();
    merged.add_to(&mut back);
    assert_eq!(back.quantile(crate::Quantile::P99), both.quantile(crate::Quantile::P99));
}

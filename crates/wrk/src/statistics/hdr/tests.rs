use super::*;
use crate::extended::Extended;
use crate::samples::{Sequence, hash};

fn hdr(values: impl IntoIterator<Item = u64>) -> Hdr {
    let mut hdr = Hdr::new();
    values.into_iter().for_each(|value| hdr.record(value));
    hdr
}

#[test]
fn all_figures_are_wrk2s() {
    let mut sequence = Sequence(9);
    let lines = (0..300).map(|_| {
        let x = sequence.next();
        let (count, top) = (1 + (x >> 33) % 60, 3 << ((x >> 20) % 30));
        let hdr = hdr((0..count).map(|_| (sequence.next() >> 30) % top));
        let [mean, deviation, within] =
            [hdr.mean(), hdr.deviation(), hdr.within()].map(|x| Extended::from(x).fixed(3));
        let [p50, p90, p99] = [50.0, 90.0, 99.0].map(|percent| hdr.percentile(percent));
        let (highest, max) = (hdr.highest(), hdr.max());
        format!("{mean} {deviation} {within} {highest} {max} {p50} {p90} {p99} {p50}")
    });
    assert_eq!(hash(lines), 6_983_139_279_452_144_635);
}

#[test]
fn a_rank_is_rounded_to_the_nearest() {
    let three = hdr([10, 20, 30]);
    assert_eq!([66.0, 75.0, 84.0].map(|percent| three.percentile(percent)), [20, 20, 30]);
    assert_eq!([0, 1, 2, 3, 4].map(|rank| three.at_rank(rank)), [10, 10, 20, 30, 0]);
}

#[test]
fn the_shape_is_the_one_the_spectrum_names() {
    let hdr = Hdr::new();
    assert_eq!(u32::from(hdr.counts.buckets()), BUCKETS);
    // The first bucket distinguishes all of its values; the next one merges pairs.
    assert_eq!(hdr.counts.highest_equivalent(u64::from(SUB_BUCKETS) - 1), 2047);
    assert_eq!(hdr.counts.highest_equivalent(u64::from(SUB_BUCKETS)), 2049);
}

#[test]
fn the_spectrum_ends_once_all_are_counted() {
    let levels: Vec<(u64, f64, u64)> = hdr([1, 2])
        .spectrum()
        .into_iter()
        .map(|Level { value, level, count }| (value, (level * 1e6).round() / 1e6, count))
        .collect();
    let first = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5].map(|level| (1, level, 1));
    assert_eq!(levels[..6], first);
    assert_eq!(levels[6..], [(2, 0.55, 2), (2, 1.0, 2)]);
}

#[test]
fn what_lasts_longer_than_a_day_lasts_a_day() {
    let long = hdr([5, 2 * HIGHEST]);
    assert_eq!((long.count(), long.highest()), (2, 2 * HIGHEST));
    assert!(HIGHEST.abs_diff(long.max()) < HIGHEST / 1000);
}

#[test]
fn histograms_add_up() {
    let mut all = hdr([1, 5]);
    all.add(&hdr([5, 9_001]));
    assert_eq!((all.count(), all.min(), all.max(), all.highest()), (4, 1, 9000, 9001));
    all.clear();
    assert_eq!((all.count(), all.highest()), (0, 0));
}

#[test]
fn a_table_becomes_a_histogram() {
    let mut table = Table::new(1000);
    [3, 3, 4000].iter().for_each(|&value| table.record(value));
    let hdr = Hdr::from(&table);
    assert_eq!((hdr.count(), hdr.min(), hdr.highest()), (3, 3, 4000));
}

#[test]
fn nothing_is_zero() {
    let nothing = Hdr::new();
    let figures = [nothing.mean(), nothing.deviation(), nothing.within()];
    assert_eq!(figures, [0.0; 3]);
    assert_eq!([nothing.min(), nothing.max(), nothing.percentile(50.0)], [0; 3]);
    assert_eq!(nothing.spectrum(), [Level { value: 0, level: 1.0, count: 0 }]);
}

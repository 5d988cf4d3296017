use super::*;
use crate::samples::{Sequence, hash};

fn table(values: &[u64]) -> Table {
    let mut table = Table::new(2_000_000);
    values.iter().for_each(|&value| table.record(value));
    table
}

#[test]
fn all_figures_are_wrks_with_and_without_back_filling() {
    let mut sequence = Sequence(7);
    let lines = (0..300).map(|set| {
        let x = sequence.next();
        let (count, top) = (1 + (x >> 33) % 60, 3 + (x >> 20) % 4000);
        let values: Vec<u64> = (0..count).map(|_| (sequence.next() >> 33) % top).collect();
        let mut table = table(&values);
        table.record(1);
        if set % 2 == 1 {
            table.back_fill(1 + (sequence.0 >> 40) % top);
        }
        let [mean, deviation, within] =
            [table.mean(), table.deviation(), table.within()].map(|x| x.fixed(3));
        let (max, count, distinct) = (table.max().unwrap(), table.count(), table.distinct());
        let [p50, p90, p99] = [50.0, 90.0, 99.0].map(|percent| table.percentile(percent));
        format!("{mean} {deviation} {within} {max} {count} {p50} {p90} {p99} {distinct}")
    });
    assert_eq!(hash(lines), 3_020_131_194_993_954_035);
}

#[test]
fn a_whole_rank_means_the_next_value() {
    let hundred: Vec<u64> = (1..=100).collect();
    let percentiles = [50.0, 75.0, 99.0, 99.9, 100.0].map(|p| table(&hundred).percentile(p));
    // wrk returns 0 at 100.
    assert_eq!(percentiles, [51, 76, 100, 100, 100]);
}

#[test]
fn the_longest_waits_are_filled_with_the_requests_they_prevented() {
    let mut table = table(&[100, 100, 1000, 1000]);
    table.back_fill(300);
    let values: Vec<(u64, u64)> = table.iter().collect();
    assert_eq!(values, [(100, 2), (400, 2), (700, 2), (1000, 2)]);
}

#[test]
fn twice_the_interval_hides_nothing() {
    let mut table = table(&[600, 601]);
    table.back_fill(300);
    assert_eq!(table.iter().collect::<Vec<_>>(), [(301, 1), (600, 1), (601, 1)]);
}

#[test]
fn the_expected_interval_is_cut_twice() {
    let run = Nanos(10_003_217_890);
    assert_eq!(expected_interval(run, 237_004, 64), 10_003_217 / 3703);
    assert_eq!(expected_interval(run, 63, 64), 0);
    assert_eq!(expected_interval(run, 63, 0), 0);
}

#[test]
fn no_interval_fills_nothing() {
    let mut table = table(&[5, 600]);
    table.back_fill(0);
    assert_eq!(table.count(), 2);
}

#[test]
fn values_filled_below_all_others_count_in_every_figure() {
    let mut table = table(&[3000; 200]);
    table.back_fill(1000);
    assert_eq!((table.min(), table.count()), (Some(2000), 400));
    // wrk prints 1.50ms and 0.00us.
    assert_eq!((table.mean().fixed(2), table.percentile(50.0)), ("2500.00".to_owned(), 3000));
}

#[test]
fn answers_slower_than_the_timeout_stay_and_are_not_filled() {
    let mut table = Table::new(1000);
    [10, 1000, 5000, 5000, u64::MAX].iter().for_each(|&value| table.record(value));
    table.back_fill(2000);
    let values: Vec<(u64, u64)> = table.iter().collect();
    assert_eq!(values, [(10, 1), (1000, 1), (5000, 2), (u64::MAX, 1)]);
    assert_eq!(table.max(), Some(u64::MAX));
}

#[test]
fn memory_depends_on_the_values_and_not_on_the_limit() {
    let mut table = Table::new(u64::MAX);
    (0..1000).for_each(|i| table.record(10_000_000_000 * i));
    assert_eq!((table.pages.len(), table.beyond.len()), (1, 999));
}

#[test]
fn the_nth_value_counts_different_ones() {
    let table = table(&[7, 7, 9, 512, 513]);
    let values = [table.nth(0), table.nth(2), table.nth(4)];
    assert_eq!(values, [Some((7, 2)), Some((512, 1)), None]);
    assert_eq!(table.distinct(), 4);
}

#[test]
fn tables_with_any_limits_add_up() {
    let (mut all, mut small) = (table(&[1, 5]), Table::new(2));
    [1, 5, 9].iter().for_each(|&value| small.record(value));
    all.add(&small);
    assert_eq!(all.iter().collect::<Vec<_>>(), [(1, 2), (5, 2), (9, 1)]);
    assert_eq!(all.count(), 5);
}

#[test]
fn nothing_is_zero() {
    let nothing = table(&[]);
    assert_eq!((nothing.min(), nothing.max(), nothing.percentile(99.0)), (None, None, 0));
    let zero = Extended::ZERO;
    assert_eq!(nothing.row(), Row { mean: zero, deviation: zero, high: zero, within: zero });
}

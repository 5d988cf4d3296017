use super::*;

const START: Instant = Instant(1_000);

fn all(law: Law, sharing: Sharing, targets: u32, shards: u32) -> Vec<(Instant, u32)> {
    let rate = Rate::per_second(1_000.0).unwrap();
    let end = START + Nanos::from_secs(100);
    let mut merged: Vec<_> = (0..shards)
        .flat_map(|shard| {
            let dealt = Dealt { targets, lanes: shards, shards, shard };
            arrivals((rate, law, sharing), dealt, 5, (START, end))
        })
        .flatten()
        .map(|arrival| (arrival.intended, arrival.target))
        .collect();
    merged.sort();
    merged
}

#[test]
fn constant_arrivals_do_not_drift() {
    let times = all(Law::Constant, Sharing::InTurn, 1, 1);
    assert_eq!(times.len(), 100_000);
    assert_eq!(times[99_999].0, START + Nanos::from_millis(99_999));
}

#[test]
fn the_merged_process_is_the_same_whatever_the_shards() {
    for law in [Law::Constant, Law::Poisson] {
        for sharing in [Sharing::InTurn, Sharing::Each] {
            let one = all(law, sharing, 3, 1);
            assert_eq!(one, all(law, sharing, 3, 2));
            assert_eq!(one, all(law, sharing, 3, 7));
        }
    }
}

#[test]
fn targets_share_the_rate_in_turn_or_each_have_it() {
    let count = |times: &[(Instant, u32)], target| times.iter().filter(|t| t.1 == target).count();
    let shared = all(Law::Constant, Sharing::InTurn, 4, 2);
    assert_eq!([0, 1, 2, 3].map(|target| count(&shared, target)), [25_000; 4]);
    let each = all(Law::Poisson, Sharing::Each, 2, 2);
    assert_eq!(each.len(), count(&each, 0) + count(&each, 1));
    assert!([0, 1].iter().all(|&target| (99_000..101_000).contains(&count(&each, target))));
}

/// Kolmogorov-Smirnov against the exponential law: the bound is the 0.1 % point, 1.95/√n.
#[test]
fn poisson_gaps_are_exponential() {
    let times = all(Law::Poisson, Sharing::InTurn, 1, 1);
    let mut gaps: Vec<f64> =
        times.windows(2).map(|pair| (pair[1].0 - pair[0].0).as_secs_f64() * 1_000.0).collect();
    gaps.sort_by(f64::total_cmp);
    let n = gaps.len() as f64;
    let distance = (0..)
        .zip(&gaps)
        .map(|(i, gap)| ((1.0 - (-gap).exp()) - f64::from(i) / n).abs())
        .fold(0.0, f64::max);
    assert!(distance < 1.95 / n.sqrt(), "{distance}");
    let mean = gaps.iter().sum::<f64>() / n;
    assert!((mean - 1.0).abs() < 0.015, "{mean}");
}

use super::*;

fn printed() -> Printed {
    let percentile = |level, ms| Percentile { level, time_ns: Nanos::from_millis(ms).0 };
    Printed {
        since: Since::Sent,
        count: 1_000,
        missing: 0,
        timeout_ns: None,
        mean_ns: None,
        max_ns: Some(Nanos::from_millis(900).0),
        percentiles: vec![
            percentile(0.5, 10),
            percentile(0.9, 20),
            percentile(99.0 / 100.0, 100),
            percentile(99.9 / 100.0, 500),
        ],
    }
}

#[test]
fn a_share_lies_between_the_percentiles_on_both_sides_of_the_limit() {
    for (ms, bounds) in [
        (5, (500, 1_000)),
        (10, (100, 500)),
        (99, (10, 100)),
        (100, (1, 10)),
        (500, (1, 1)),
        (900, (0, 0)),
    ] {
        assert_eq!(printed().over(Nanos::from_millis(ms)), bounds, "{ms} ms");
    }
}

#[test]
fn without_percentiles_nothing_follows() {
    let nothing = Printed { percentiles: Vec::new(), max_ns: None, ..printed() };
    assert_eq!(nothing.over(Nanos::from_millis(1)), (0, 1_000));
}

#[test]
fn answers_that_are_missing_are_over_up_to_the_timeout_and_may_be_beyond_it() {
    let timeout_ns = Some(Nanos::from_secs(2).0);
    let missing = Printed { missing: 70, timeout_ns, ..printed() };
    assert_eq!(missing.over(Nanos::SECOND), (70, 70));
    assert_eq!(missing.over(Nanos::from_secs(2)), (70, 70));
    assert_eq!(missing.over(Nanos::from_secs(3)), (0, 70));
}

#[test]
fn a_percentile_is_found_by_its_level() {
    assert_eq!(printed().quantile_ns(Quantile::P999), Some(500_000_000));
    assert_eq!(printed().quantile_ns(Quantile::P95), None);
}

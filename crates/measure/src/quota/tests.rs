use super::*;

#[test]
fn a_group_that_is_stopped_on_several_cpus_is_stopped_once() {
    // Two CPUs for 0.8 s of a second each, in 8 of 10 periods.
    assert_eq!(stopped_share(1.6, Some((8.0, 10.0))), 0.8);
    // One CPU for 30 ms of each of 10 periods.
    assert_eq!(stopped_share(0.3, Some((10.0, 10.0))), 0.3);
    assert_eq!(stopped_share(4.0, Some((10.0, 10.0))), 1.0);
}

#[test]
fn without_periods_the_share_is_at_most_one() {
    assert_eq!(stopped_share(1.6, None), 1.0);
    assert_eq!(stopped_share(0.2, Some((0.0, 0.0))), 0.2);
    assert_eq!(stopped_share(0.0, Some((0.0, 10.0))), 0.0);
}

use super::*;

const STAT: &str =
    "cpu  9 0 9 9 0 0 0 700 0 0\ncpu0 9 0 9 9 0 0 0 300 0 0\ncpu10 9 0 9 9 0 0 0 400 0 0\n";

#[test]
fn the_steal_of_each_cpu_is_its_own() {
    let ticks = |ticks: u64| Some(Nanos(ticks * 1_000_000_000 / ticks_per_second()));
    assert_eq!([0, 10, 1].map(|cpu| stolen_of(cpu, STAT)), [ticks(300), ticks(400), None]);
}

#[test]
fn a_quota_is_read_in_both_versions_of_the_kernels_interface() {
    let [time, ran] = [1_600, 400].map(Nanos::from_millis);
    let expected = Quota { time, ran, stopped: 10, periods: 10 };
    let two =
        "usage_usec 400000\nnr_periods 10\nnr_throttled 10\nthrottled_usec 1600000\nnr_bursts 0\n";
    let one = "nr_periods 10\nnr_throttled 10\nthrottled_time 1600000000\n";
    let read = [quota(two, None), quota(one, Some("400000000\n"))];
    assert_eq!(read, [Some(expected), Some(expected)]);
    assert_eq!(quota(one, None), Some(Quota { ran: Nanos::ZERO, ..expected }));
    assert_eq!(quota("usage_usec 5\n", None), None);
    let share = expected.share_since(&Quota::default(), Nanos::SECOND);
    assert_eq!(share, 0.8, "two CPUs for 0.8 s each, in every period");
}

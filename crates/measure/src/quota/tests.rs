use super::*;

fn share(stopped: f64, ran: f64, periods: Option<(f64, f64)>) -> f64 {
    Growth { stopped, ran, periods }.stopped_share()
}

/// A busy group is stopped in every period, but not for all of it.
#[test]
fn a_busy_group_is_stopped_for_the_time_that_it_did_not_run_on_any_number_of_cpus() {
    for cpus in [1.0, 2.0, 4.0, 64.0] {
        for stopped in [0.05, 0.3, 0.8] {
            let found = share(cpus * stopped, cpus * (1.0 - stopped), Some((10.0, 10.0)));
            assert!((found - stopped).abs() < 1e-12, "{cpus} CPUs, {stopped}: {found}");
        }
    }
}

#[test]
fn a_group_that_often_has_nothing_to_run_is_stopped_for_at_most_that_share() {
    // One CPU: it ran for 0.2 s, was stopped for 0.3 s, and had nothing to run for 0.5 s.
    assert_eq!(share(0.3, 0.2, Some((10.0, 10.0))), 0.3);
    // Two CPUs, of which each ran for 0.1 s and was stopped for 0.3 s.
    let found = share(0.6, 0.2, Some((10.0, 10.0)));
    assert!((0.3..=0.6).contains(&found), "{found}");
    // In eight of ten periods.
    assert_eq!(share(1.6, 0.0, Some((8.0, 10.0))), 0.8);
}

#[test]
fn the_share_is_between_zero_and_one_whatever_is_not_known() {
    assert_eq!(share(1.6, 0.0, None), 1.0);
    assert_eq!(share(4.0, 0.0, Some((10.0, 10.0))), 1.0);
    assert_eq!(share(0.2, 0.0, Some((0.0, 0.0))), 0.2);
    assert_eq!(share(0.0, 0.0, Some((0.0, 10.0))), 0.0);
    assert_eq!(share(0.0, 3.0, None), 0.0);
}

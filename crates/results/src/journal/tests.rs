use super::*;

fn observed(requests: u64, failures: u64, unfinished: Option<u64>) -> Observed {
    Observed { requests, failures, unfinished, ..Observed::nothing() }
}

#[test]
fn the_share_of_failures_is_that_of_the_requests_that_ended() {
    assert_eq!(observed(1_000, 20, Some(600)).failed_share(), 0.05);
    assert_eq!(observed(1_000, 20, None).failed_share(), 0.02);
    assert_eq!(observed(0, 0, None).failed_share(), 0.0);
}

#[test]
fn an_overloaded_system_does_not_fail_and_one_without_success_does() {
    assert!(!observed(1_000, 0, Some(990)).is_failing());
    assert!(!observed(1_000, 30, Some(0)).is_failing());
    assert!(observed(1_000, 30, Some(100)).is_failing());
    assert!(observed(1_000, 1, Some(999)).is_failing());
    assert!(!observed(1_000, 0, Some(1_000)).is_failing());
    assert!(!observed(0, 0, None).is_failing());
}

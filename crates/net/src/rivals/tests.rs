use super::*;
use crate::contract;

/// Looks at each step, in which the thread waited for the CPU for this share of the time; returns
/// after each look whether the CPU counts as shared.
fn shared(shares: &[f64]) -> Vec<bool> {
    let mut judge = Judge::default();
    let (mut now, mut waited) = (Instant(1_000), Nanos(77));
    judge.look(now, waited);
    let looks = shares.iter().map(|share| {
        now = now + STEP;
        waited += Nanos((STEP.0 as f64 * share) as u64);
        judge.look(now, waited);
        now < judge.until
    });
    looks.collect()
}

#[test]
fn a_thread_that_waits_for_its_cpu_shares_it_and_for_five_seconds_on() {
    let shares = [[0.0, 0.06, 0.3].as_slice(), &[0.01; 12]].concat();
    let found = shared(&shares);
    assert_eq!(found[..2], [false; 2]);
    assert_eq!(found[2..12], [true; 10]);
    assert_eq!(found[12..], [false; 3]);
}

#[test]
fn what_a_thread_has_waited_before_does_not_count() {
    assert_eq!(shared(&[0.0; 20]), [false; 20]);
}

#[test]
fn the_kernel_counts_for_this_thread() {
    let mut rivals = Rivals::default();
    rivals.are_there(Instant(1));
    let Some((_, first)) = rivals.judge.last else {
        return contract::skip("the_kernel_counts_for_this_thread", "schedstat of threads");
    };
    rivals.are_there(Instant(1) + STEP);
    assert!(rivals.judge.last.is_some_and(|(at, then)| Instant(1) < at && first <= then));
}

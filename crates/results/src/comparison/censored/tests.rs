use super::*;
use crate::Metric;
use crate::comparison::{Of, compare};

fn at_least(value: f64) -> Found {
    Found::between(Some(value), None)
}

fn at_most(value: f64) -> Found {
    Found::between(None, Some(value))
}

/// Ten results near a rate, one per cent apart.
fn around(rate: f64) -> Vec<Found> {
    (0..10).map(|i| Found::Exact(rate * (0.995 + 0.001 * f64::from(i)))).collect()
}

fn compared(a: Vec<Found>, b: Vec<Found>) -> Compared {
    let question = Question {
        metric: Metric::Capacity,
        of: Of::default(),
        blocks: Vec::new(),
        censored: Some(Censored { a, b }),
        speeds: Vec::new(),
        interleaved: true,
        trials: Default::default(),
    };
    compare(["a", "b"], vec![question], Vec::new(), 0.03, &[]).metrics.remove(0)
}

fn verdict(a: Vec<Found>, b: Vec<Found>) -> Verdict {
    compared(a, b).verdict
}

#[test]
fn equal_ends_of_the_range_decide_nothing() {
    let found = compared(vec![at_least(300.0); 10], vec![at_least(300.0); 10]);
    assert_eq!(found.verdict, Verdict::Undecided, "{found:?}");
    assert_eq!(
        (found.effect, found.effect_bounds, found.interval, found.p),
        (None, None, None, None)
    );
    assert_eq!(found.median_a, Some(at_least(300.0)));
    assert_eq!((found.trials_a, found.censored_a, found.censored_b), (10, 10, 10));
    assert_eq!(found.more_blocks_needed, None);
    assert_eq!(verdict(vec![at_most(100.0); 10], vec![at_most(100.0); 10]), Verdict::Undecided);
}

#[test]
fn an_order_that_holds_for_every_value_within_the_bounds_decides() {
    let better = compared(around(250.0), vec![at_least(300.0); 10]);
    assert_eq!(better.verdict, Verdict::Better, "{better:?}");
    let Some(Found::Bounds { at_least: Some(least), at_most: None }) = better.effect_bounds else {
        panic!("{better:?}")
    };
    assert!((1.19..1.21).contains(&least), "{least}");
    assert!(better.p.unwrap() < 0.001);
    assert_eq!(better.more_blocks_needed, Some(0));
    assert_eq!(verdict(vec![at_least(300.0); 10], around(250.0)), Verdict::Worse);
    assert_eq!(verdict(around(250.0), vec![at_most(100.0); 10]), Verdict::Worse);
    assert_eq!(verdict(vec![at_most(100.0); 10], vec![at_least(300.0); 10]), Verdict::Better);
    let cut = vec![Found::between(Some(80.0), Some(150.0)); 10];
    assert_eq!(verdict(around(250.0), cut), Verdict::Worse);
}

#[test]
fn bounds_that_overlap_the_other_arm_leave_it_undecided() {
    assert_eq!(verdict(around(250.0), vec![at_least(200.0); 10]), Verdict::Undecided);
    assert_eq!(verdict(around(250.0), vec![at_most(260.0); 10]), Verdict::Undecided);
    let cut = vec![Found::between(Some(80.0), Some(900.0)); 10];
    assert_eq!(verdict(around(250.0), cut), Verdict::Undecided);
    assert_eq!(verdict(around(250.0), vec![Found::between(None, None); 10]), Verdict::Undecided);
}

/// Eight searches never meet the SLO: the two that do would make B the better arm.
#[test]
fn an_arm_is_not_judged_by_its_survivors() {
    let mut b = vec![at_most(100.0); 8];
    b.extend([Found::Exact(300.0); 2]);
    assert_eq!(verdict(around(250.0), b), Verdict::Worse);
}

/// Few censored searches leave a verdict that holds at both ends.
#[test]
fn one_censored_search_of_ten_does_not_undo_a_clear_difference() {
    let mut b = around(200.0);
    b[9] = at_least(150.0);
    let found = compared(around(250.0), b);
    assert_eq!((found.verdict, found.censored_b), (Verdict::Worse, 1), "{found:?}");
}

#[test]
fn few_searches_are_no_more_significant_because_they_are_censored() {
    assert_eq!(verdict(vec![at_least(300.0); 3], vec![at_most(100.0); 3]), Verdict::Undecided);
}

use results::Found;
use results::answer::{Capacity, Maximum, Verdict};

use super::*;

fn search(strand: u32, cell: &str, name: &str, maximum: Option<f64>) -> Search {
    Search {
        name: Some(name.into()),
        cell: Some(cell.into()),
        verdict: Verdict::Answered,
        maximum_throughput: maximum.map(|rate_per_s| Maximum {
            rate_per_s,
            at_least: false,
            offered_per_s: rate_per_s,
            trial: strand * 10,
            sessions: false,
        }),
        stopped_by: "no_new_max".into(),
        trials: 1,
        ..Search::of_strand(strand)
    }
}

fn repeated(maxima: &[Option<f64>]) -> Repeated {
    let strands = (1..).zip(maxima).map(|(strand, maximum)| search(strand, "a=1", "s", *maximum));
    Repeated { name: Some("s".into()), strands: strands.collect() }
}

#[test]
fn a_search_without_a_result_leaves_the_median_open_and_is_not_left_out() {
    let median =
        |maxima: &[Option<f64>]| repeated(maxima).spread(Quantity::Maximum).unwrap().median;
    assert_eq!(median(&[Some(30.0), Some(10.0), Some(20.0)]), Found::Exact(20.0));
    let open = Found::between(Some(10.0), Some(20.0));
    assert_eq!(median(&[Some(20.0), None, Some(10.0)]), open);
    let even = repeated(&[Some(30.0), Some(10.0)]);
    assert_eq!(even.middle(Quantity::Maximum), Some(20), "the lower of the two");
    assert_eq!(even.spread(Quantity::Capacity), None);
}

#[test]
fn a_level_is_represented_by_the_median_capacity_of_its_first_search() {
    let mut first = repeated(&[Some(30.0), Some(10.0), Some(20.0)]);
    for (strand, rate_per_s) in first.strands.iter_mut().zip([3.0, 2.0, 1.0]) {
        strand.capacity = Some(Capacity {
            rate_per_s,
            at_least: false,
            completed_per_s: rate_per_s,
            trial: strand.strand * 10 + 1,
            slo: "p99 ≤ 20 ms".into(),
            missed_at_per_s: None,
            missed_below_per_s: None,
            in_doubt: false,
            sessions: false,
        });
    }
    let second = repeated(&[Some(99.0)]);
    let cell = |name: &str, searches| Cell { name: Some(name.into()), searches };
    let cells = [
        cell("a=1", vec![first, second.clone()]),
        cell("a=2", vec![second]),
        cell("a=3", vec![repeated(&[None])]),
    ];
    let shown: Vec<(String, u32)> = representatives(&cells, false, &[])
        .into_iter()
        .map(|shown| (shown.name, shown.trial))
        .collect();
    let expected = [("a=1, capacity", 21), ("a=2, maximum throughput", 10)];
    assert_eq!(shown, expected.map(|(name, trial)| (name.to_owned(), trial)));
}

#[test]
fn a_given_load_that_failed_is_represented_by_its_first_trial_with_an_answer() {
    let entry = |trial: u32, strand: u32, status: &str| -> Entry {
        let document = serde_json::json!({
            "trial": trial, "key": "k", "purpose": "trial", "strand": strand, "repetition": 1,
            "attempt": 1, "seed": 1, "status": status, "reasons": [], "findings": [],
            "warnings": [], "files": {},
            "observed": {
                "offered_per_s": 9.0, "completed_per_s": 9.0, "sustained_per_s": 9.0,
                "goodput_per_s": 0.1, "requests": 90, "failures": 89, "saturated": false, "cpu": {},
            },
        });
        serde_json::from_value(document).unwrap()
    };
    let journal = [entry(1, 9, "valid"), entry(2, 1, "invalid"), entry(3, 2, "valid")];
    let cells = [Cell { name: Some("a=1".into()), searches: vec![repeated(&[None, None])] }];
    let shown = Shown { name: "a=1".into(), trial: 3 };
    assert_eq!(representatives(&cells, true, &journal), [shown]);
    assert_eq!(representatives(&cells, false, &journal), [], "a search that found nothing");
}

#[test]
fn a_few_are_chosen_evenly_from_the_first_to_the_last() {
    assert_eq!(spaced(0, 6), [0; 0]);
    assert_eq!(spaced(3, 6), [0, 1, 2]);
    assert_eq!(spaced(7, 6), [0, 1, 2, 3, 4, 6]);
    assert_eq!(spaced(100, 6), [0, 19, 39, 59, 79, 99]);
    assert_eq!(spaced(100, 1), [0]);
}

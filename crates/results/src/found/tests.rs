use super::*;

fn at_least(value: f64) -> Found {
    Found::between(Some(value), None)
}

fn at_most(value: f64) -> Found {
    Found::between(None, Some(value))
}

const UNKNOWN: Found = Found::Bounds { at_least: None, at_most: None };

fn per_s(value: f64) -> String {
    format!("{value}/s")
}

#[test]
fn a_result_says_what_it_knows() {
    let words = |found: Found| found.in_words(per_s);
    assert_eq!(words(Found::Exact(250.0)), "250/s");
    assert_eq!(words(at_least(300.0)), "at least 300/s");
    assert_eq!(words(at_most(100.0)), "at most 100/s");
    assert_eq!(words(Found::between(Some(80.0), Some(900.0))), "at least 80/s and at most 900/s");
    assert_eq!(words(UNKNOWN), "unknown");
}

#[test]
fn a_figure_is_a_number_and_bounds_are_an_object() {
    let each = [
        (Found::Exact(250.0), "250.0"),
        (at_least(300.0), r#"{"at_least":300.0}"#),
        (Found::between(Some(80.0), Some(900.0)), r#"{"at_least":80.0,"at_most":900.0}"#),
        (UNKNOWN, "{}"),
    ];
    for (found, text) in each {
        assert_eq!(serde_json::to_string(&found).unwrap(), text);
        assert_eq!(serde_json::from_str::<Found>(text).unwrap(), found);
    }
}

#[test]
fn a_median_is_a_figure_only_if_no_censored_result_can_move_it() {
    let median = |all: &[Found]| Spread::of(all).unwrap().median;
    let exact = Found::Exact;
    assert_eq!(median(&[exact(100.0), exact(120.0), exact(110.0)]), exact(110.0));
    assert_eq!(median(&[exact(100.0), at_least(120.0), exact(110.0)]), exact(110.0));
    assert_eq!(median(&[at_least(100.0), exact(120.0), exact(110.0)]), {
        Found::between(Some(110.0), Some(120.0))
    });
    assert_eq!(median(&[at_least(300.0), at_least(300.0)]), at_least(300.0));
    assert_eq!(median(&[at_most(90.0), exact(95.0), at_most(100.0)]), at_most(95.0));
    assert_eq!(median(&[UNKNOWN, exact(95.0), UNKNOWN]), UNKNOWN);
}

#[test]
fn the_ends_of_a_spread_are_bounds_too() {
    let spread = Spread::of(&[Found::Exact(200.0), at_least(300.0), at_most(100.0)]).unwrap();
    assert_eq!(spread.count, 3);
    assert_eq!((spread.least, spread.most), (at_most(100.0), at_least(300.0)));
    assert_eq!(Spread::of(&[UNKNOWN]), None);
    assert_eq!(Spread::of(&[]), None);
}

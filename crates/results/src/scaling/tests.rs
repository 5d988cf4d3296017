use super::*;

fn measured(n: f64, values: &[f64]) -> Measured {
    Measured { n, values: values.to_vec(), ..Measured::default() }
}

#[test]
fn linear_levels_have_a_law_with_a_curve_that_ends_at_the_last_level() {
    let of_level = |n: f64| measured(n, &[99.0 * n, 100.0 * n, 101.0 * n]);
    let (levels, law) = of([4.0, 1.0, 2.0].map(of_level).into(), 1);
    assert_eq!(levels.iter().map(|level| level.n).collect::<Vec<_>>(), [1.0, 2.0, 4.0]);
    assert_eq!(law.form, Form::Linear);
    assert!((levels[2].efficiency.unwrap() - 1.0).abs() < 1e-9);
    let (first, last) = (law.curve[0], law.curve[law.curve.len() - 1]);
    assert_eq!((first.n, last.n), (1.0, 4.0));
    assert!(last.interval.0 < 400.0 && 400.0 < last.interval.1, "{last:?}");
}

#[test]
fn a_level_without_a_capacity_is_listed_and_has_no_part_in_the_law() {
    let (levels, law) = of(vec![measured(1.0, &[]), measured(2.0, &[5.0])], 1);
    assert_eq!((levels[0].mean, levels[0].efficiency), (None, None));
    assert_eq!((levels[1].efficiency, law.form), (Some(1.0), Form::NotIdentifiable));
    assert!(law.why.contains("1 values at 1 levels are too few"), "{}", law.why);
}

/// As in a published table: one replica refused nearly everything, so that four look superlinear.
#[test]
fn a_level_with_failures_shows_no_law_and_explains_the_superlinear_one() {
    let level = |n: f64, per_s: f64, failed: f64| Measured {
        n,
        values: vec![per_s, 1.01 * per_s, 0.99 * per_s],
        failed_shares: vec![failed, failed / 2.0, 0.0],
        ..Measured::default()
    };
    let with = |failed: f64| {
        of(vec![level(1.0, 10.3, failed), level(2.0, 18.5, 0.0), level(4.0, 55.2, 0.0)], 1)
    };
    let (levels, law) = with(0.996);
    assert_eq!(levels[0].failed_share, Some(0.996));
    assert_eq!(
        law.why,
        "at 1 99.6 % of the outcomes were failures, so its throughput is that of an overloaded system \
         and no capacity; a level without them then looks superlinear, and is none. Search for the \
         capacity at each level"
    );
    let (_, law) = with(0.005);
    assert!(
        law.why.contains("superlinear. Overload, warm-up or a cache; look at the failures"),
        "{}",
        law.why
    );
    let (_, law) = with(0.0);
    assert!(law.why.contains("superlinear. No request failed"), "{}", law.why);
}

/// The range of the largest level ends below its capacity: the values of its other searches are no figure of
/// the level, and a law of them would bend.
#[test]
fn a_level_of_which_a_search_found_only_a_bound_has_no_figure_and_there_is_no_law() {
    let of_level = |n: f64| measured(n, &[99.0 * n, 100.0 * n, 101.0 * n]);
    let mut last = of_level(8.0);
    let at_least = Found::between(Some(795.0), None);
    (last.values, last.censored) = (vec![790.0], vec![at_least; 2]);
    let (levels, law) = of([1.0, 2.0, 4.0].map(of_level).into_iter().chain([last]).collect(), 1);
    let last = &levels[3];
    assert_eq!((last.mean, last.interval, last.efficiency), (None, None, None), "{last:?}");
    assert_eq!((&last.values[..], last.censored.len()), (&[790.0][..], 2));
    assert_eq!(law.form, Form::NotIdentifiable);
    assert_eq!(
        law.why,
        "at 8 2 of 3 searches found only a bound (at least 795/s), so its throughput is not known; widen \
         the range or raise the budget, until each search ends with an answer"
    );
}

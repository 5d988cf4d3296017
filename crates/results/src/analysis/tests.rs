use super::guides::{guide_3, guide_4, trials};
use super::*;

fn codes(analysis: &Analysis) -> Vec<Code> {
    analysis.warnings.iter().map(|warning| warning.code).collect()
}

/// The guide calls the first and the last 3.2 % and 0.26 %.
#[test]
fn the_spreads_of_guide_3_are_repeated_with_their_intervals() {
    let analysis = analyse(&guide_3(), Some(15_000), 0.03);
    let p99 = &analysis.metrics[0];
    let percent = |share: f64| format!("{:.2}", 100.0 * share);
    let rsd: Vec<String> = p99.levels.iter().map(|l| percent(l.figures.rsd.unwrap())).collect();
    assert_eq!(rsd, ["3.20", "0.65", "0.26"]);
    let (low, high) = p99.levels[0].figures.rsd_interval.unwrap();
    assert_eq!((percent(low), percent(high)), ("1.92".to_owned(), "9.20".to_owned()));
    // From the first stage to the last the spread fell, from the second to the last perhaps.
    let p = |a: &str, b: &str| {
        let pair = p99.pairs.iter().find(|pair| pair.a == a && pair.b == b).unwrap();
        pair.rsd_ratio_p.unwrap()
    };
    assert!(p("configured", "limited") < 0.001, "{}", p("configured", "limited"));
    assert!((p("pinned", "limited") - 0.11).abs() < 0.005, "{}", p("pinned", "limited"));
    let unsupported: Vec<&str> = analysis
        .warnings
        .iter()
        .filter(|warning| warning.code == Code::UnsupportedQuantile)
        .map(|warning| warning.text.as_str())
        .collect();
    assert_eq!(
        unsupported,
        ["p99.99 of 15000 requests rests on 1.5 beyond it: it is unsupported, at least 10 are \
          needed for an indication (100,000 requests)"]
    );
    assert!(codes(&analysis).contains(&Code::NotInterleaved));
    // The p99 is the lowest percentile here; the others have a floor by the one below them.
    assert_eq!(p99.levels[0].figures.sampling_floor, None);
    assert!(analysis.metrics[1].levels.iter().all(|level| level.figures.sampling_floor.is_some()));
}

#[test]
fn the_trials_of_guide_4_rise_inside_the_levels_and_are_superlinear() {
    let analysis = analyse(&guide_4(), None, 0.03);
    let logins = &analysis.metrics[0];
    let means: Vec<f64> = logins.levels.iter().map(|level| level.figures.mean.round()).collect();
    assert_eq!(means, [617.0, 1112.0, 1848.0, 3313.0, 5319.0, 8151.0]);
    let trend = logins.trend_stratified.unwrap();
    assert_eq!((trend.s, trend.of, format!("{:.4}", trend.p)), (14, 18, "0.0036".to_owned()));
    let codes = codes(&analysis);
    assert!(codes.contains(&Code::Superlinear) && codes.contains(&Code::Trend), "{codes:?}");
    assert_eq!(codes.iter().filter(|code| **code == Code::TooFewTrials).count(), 6);
}

/// The rule is that of a scaling law: by the first level in number, with the scatter of the trials.
#[test]
fn a_superlinear_level_is_that_of_a_scaling_law_in_any_order_of_the_trials() {
    let superlinear = |rows: &[(&str, f64)]| {
        let rows = rows.iter().zip(1..).map(|((level, value), trial)| Row {
            trial,
            level: (*level).to_owned(),
            values: vec![*value],
        });
        let (by, metrics) = ("replicas".to_owned(), vec!["logins".to_owned()]);
        let trials = Trials { by, metrics, rows: rows.collect() };
        let warnings = analyse(&trials, None, 0.03).warnings;
        warnings.into_iter().find(|one| one.code == Code::Superlinear).map(|one| one.text)
    };
    let text = "logins at 4: 1.20 times as much as the first level promises: superlinear";
    let found = superlinear(&[("4", 480.0), ("1", 100.0), ("2", 210.0)]).unwrap();
    assert!(found.starts_with(text), "{found}");
    let even = [("4", 400.0), ("1", 101.0), ("2", 200.0), ("4", 396.0), ("1", 99.0), ("2", 202.0)];
    assert_eq!(superlinear(&even), None);
    let scattered =
        [("1", 80.0), ("1", 100.0), ("1", 120.0), ("2", 180.0), ("2", 220.0), ("2", 250.0)];
    assert_eq!(superlinear(&scattered), None, "chance explains 1.08");
    assert_eq!(superlinear(&[("few", 1.0), ("many", 9.0)]), None, "no numbers");
    assert_eq!(superlinear(&[("1", 0.0), ("2", 9.0)]), None, "nothing at the first level");
}

#[test]
fn levels_that_alternate_are_interleaved_and_equal_ones_equivalent() {
    let rows = [
        ("a", [100.0]),
        ("b", [100.5]),
        ("a", [100.2]),
        ("b", [99.9]),
        ("b", [100.1]),
        ("a", [100.4]),
        ("a", [99.8]),
        ("b", [100.2]),
        ("b", [99.7]),
        ("a", [100.1]),
    ];
    let rows: Vec<(&str, &[f64])> = rows.iter().map(|(level, v)| (*level, &v[..])).collect();
    let analysis = analyse(&trials("arm", &["completed"], &rows), None, 0.03);
    let [pair] = &analysis.metrics[0].pairs[..] else { panic!("{analysis:#?}") };
    assert!(pair.interleaved);
    assert_eq!(pair.verdict, Some(Verdict::Equivalent));
    assert_eq!(codes(&analysis), []);
}

#[test]
fn a_difference_is_named_only_if_its_interval_excludes_none() {
    assert_eq!(verdict((1.001, 1.2), 0.03), Verdict::Higher);
    assert_eq!(verdict((0.8, 0.99), 0.03), Verdict::Lower);
    assert_eq!(verdict((0.9, 1.1), 0.03), Verdict::Undecided);
    // It differs, but by less than what matters.
    assert_eq!(verdict((1.001, 1.02), 0.03), Verdict::Equivalent);
}

#[test]
fn one_trial_has_no_spread() {
    let analysis = analyse(&trials("arm", &["p99"], &[("a", &[5.0])]), None, 0.03);
    let level = &analysis.metrics[0].levels[0].figures;
    assert_eq!((level.n, level.rsd, level.trend), (1, None, None));
    assert_eq!(codes(&analysis), [Code::TooFewTrials, Code::ShapeUnknown]);
    assert_eq!(analyse(&Trials::default(), None, 0.03).metrics, []);
}

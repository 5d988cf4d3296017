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
        ["p99.99 of 15,000 requests rests on 1.5 beyond it: it is unsupported, at least 10 are \
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
    let text = "logins at 4, if it is a throughput: 1.20 times as much as the first level promises: superlinear";
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

/// Everybody writes p99.9 in another way.
#[test]
fn a_percentile_is_known_by_any_of_its_names() {
    let level =
        |metric: &str| quantile(metric).map(|quantile| format!("{:.2}", 100.0 * quantile.level()));
    for (metric, expected) in [
        ("p50", "50.00"),
        ("p999", "99.90"),
        ("P9999", "99.99"),
        ("p99_9", "99.90"),
        ("P99.9", "99.90"),
        ("p99-99", "99.99"),
        ("p995", "99.50"),
        ("delivery_p999", "99.90"),
        ("delivery_p99.99", "99.99"),
        ("p99_ns", "99.00"),
        ("p99_9_ms", "99.90"),
        ("latency.p99", "99.00"),
        ("p99 (ms)", "99.00"),
        ("p99ms", "99.00"),
        ("p99_2", "99.00"),
        ("99.9%", "99.90"),
        ("99th", "99.00"),
        ("percentile_95", "95.00"),
        ("pct99", "99.00"),
    ] {
        assert_eq!(level(metric).as_deref(), Some(expected), "{metric}");
    }
    for metric in ["logins", "p100", "mp3", "http2_rate", "stop99", "completed", "p", "99", "p0"] {
        assert_eq!(level(metric), None, "{metric}");
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let metrics = names(&["p99_ns", "read_p99", "p999_ns", "read_p999"]);
    assert_eq!((lower_percentile(&metrics, 2), lower_percentile(&metrics, 3)), (Some(0), Some(1)));
}

#[test]
fn a_percentile_in_few_requests_is_unsupported_whatever_its_name() {
    let analysis = analyse(&trials("arm", &["p999"], &[("a", &[5.0])]), Some(2_000), 0.03);
    assert!(codes(&analysis).contains(&Code::UnsupportedQuantile), "{analysis:?}");
}

/// Levels of five trials each, and what is said of each two of them.
fn said(levels: &[(&str, [f64; 5])]) -> Vec<String> {
    let rows =
        levels.iter().flat_map(|(level, values)| values.iter().map(|value| (*level, [*value])));
    let rows: Vec<(&str, [f64; 1])> = rows.collect();
    let rows: Vec<(&str, &[f64])> =
        rows.iter().map(|(level, value)| (*level, &value[..])).collect();
    let analysis = analyse(&trials("arm", &["errors"], &rows), None, 0.03);
    let pairs = analysis.metrics[0].pairs.iter().map(|pair| pair.absent.join("; "));
    pairs.chain(analysis.conclusions()).collect()
}

#[test]
fn two_levels_that_cannot_be_compared_say_why() {
    const SOME: [f64; 5] = [4.0, 5.0, 6.0, 5.0, 4.0];
    let [of_pair, conclusion] = &said(&[("a", SOME), ("b", [0.0, 1.0, 2.0, 0.0, 1.0])])[..] else {
        panic!("two texts")
    };
    assert_eq!(
        of_pair,
        "no ratio: a value at b is not above zero; no test of the spreads: a value at b is not above zero"
    );
    assert!(
        conclusion.ends_with("Not tested: a → b (a value at b is not above zero)."),
        "{conclusion}"
    );
    let constant = said(&[("a", SOME), ("b", [7.0; 5])]);
    assert_eq!(constant[0], "no test of the spreads: all trials of b are equal");
    let both = said(&[("a", [7.0; 5]), ("b", [14.0; 5])]);
    assert_eq!(
        both[0],
        "no interval of the ratio: all trials of each level are equal; no test of the spreads: all \
         trials of a are equal"
    );
    let apart = said(&[("a", [1e-90, 1e90, 1.0, 2.0, 3.0]), ("b", SOME)]);
    assert_eq!(apart[0], "");
    let pair = &analyse(
        &trials("arm", &["x"], &[("a", &[7.0]), ("a", &[7.0]), ("b", &[14.0]), ("b", &[14.0])]),
        None,
        0.03,
    )
    .metrics[0]
        .pairs[0];
    assert_eq!((pair.ratio, pair.ratio_interval, pair.verdict), (Some(2.0), None, None));
}

#[test]
fn the_slope_of_negative_values_has_the_sign_of_their_course() {
    let slope = |values: &[f64]| {
        let rows: Vec<(&str, &[f64])> = values.chunks(1).map(|value| ("a", value)).collect();
        let analysis = analyse(&trials("arm", &["drift"], &rows), None, 0.03);
        analysis.metrics[0].levels[0].figures.slope.unwrap()
    };
    assert!((slope(&[-23.0, -24.0, -25.0, -26.0, -27.0]) + 0.04).abs() < 1e-12);
    assert!((slope(&[27.0, 26.0, 25.0, 24.0, 23.0]) + 0.04).abs() < 1e-12);
    assert!((slope(&[-27.0, -26.0, -25.0, -24.0, -23.0]) - 0.04).abs() < 1e-12);
}

/// Each pair by itself would be called different in 5 %, and one of 15 in three of ten.
#[test]
fn of_equal_levels_hardly_any_two_are_called_different() {
    let mut random = measure::Random::new(7);
    let mut different = 0;
    for _ in 0..400 {
        let row = |trial: usize, random: &mut measure::Random| Row {
            trial,
            level: (trial % 6).to_string(),
            values: vec![(0.05 * random.normal()).exp()],
        };
        let rows = (1..=36).map(|trial| row(trial, &mut random)).collect();
        let trials = Trials { by: "version".to_owned(), metrics: vec!["x".to_owned()], rows };
        let pairs = analyse(&trials, None, 0.01).metrics.remove(0).pairs;
        let is_different =
            |pair: &Pair| matches!(pair.verdict, Some(Verdict::Higher | Verdict::Lower));
        different += u32::from(pairs.iter().any(is_different));
    }
    assert!(different <= 28, "{different} of 400");
}

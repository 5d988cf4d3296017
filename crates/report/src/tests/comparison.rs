use expect_test::expect;
use results::comparison::{self, Adjusted, Compared, Comparison, Difference, Of, SCHEMA, Shift};
use results::metric::Metric;

use super::levels::{figure, panels, rows};
use super::*;

fn compared(metric: Metric, verdict: comparison::Verdict, effect: f64) -> Compared {
    Compared {
        metric,
        of: Of::default(),
        verdict,
        refused: None,
        effect: Some(effect),
        effect_bounds: None,
        interval: Some((effect - 0.02, effect + 0.02)),
        confidence: 0.975,
        t_interval: None,
        p: Some(0.01),
        adjusted: None,
        median_a: Some(results::Found::Exact(1e6)),
        median_b: Some(results::Found::Exact(1e6 * effect)),
        trials_a: 10,
        trials_b: 9,
        censored_a: 0,
        censored_b: 0,
        depends_on_bounds: false,
        blocks: 5,
        interleaved: true,
        environment_differences: Vec::new(),
        more_blocks_needed: Some(0),
    }
}

fn adjusted(effect: f64) -> Adjusted {
    let verdict = comparison::Verdict::Worse;
    Adjusted {
        effect,
        interval: Some((effect - 0.01, effect + 0.01)),
        p: 0.01,
        verdict,
        slope: -1.0,
    }
}

/// A comparison with every verdict, two percentiles, and a metric without an effect.
fn all() -> Comparison {
    use comparison::Verdict::{Better, Equivalent, Undecided, Worse};
    let shift = |metric, effect| Shift {
        metric,
        of: Of::default(),
        effect,
        interval: Some((effect - 0.03, effect + 0.03)),
        p: 0.02,
    };
    Comparison {
        schema: SCHEMA.into(),
        a: HOSTILE.into(),
        b: "new".into(),
        verdict: Worse,
        margin: 0.03,
        failures: Vec::new(),
        order_unknown: false,
        metrics: vec![
            Compared { adjusted: Some(adjusted(1.05)), ..compared(Metric::P50, Worse, 1.08) },
            compared(Metric::P99, Better, 0.9),
            compared(Metric::Completed, Equivalent, 1.001),
            compared(Metric::P90, Undecided, 1.03),
            Compared { effect: None, interval: None, ..compared(Metric::P999, Undecided, 1.0) },
        ],
        percentiles: vec![shift(Metric::P50, 1.08), shift(Metric::P99, 0.9)],
    }
}

fn page_of(comparison: Comparison) -> String {
    let fixture = Fixture::sweep();
    let answer = Answer { comparison: Some(comparison), ..fixture.answer(Verdict::Answered) };
    fixture.directory.write_answer(&answer).unwrap();
    page(&fixture)
}

#[test]
fn every_verdict_has_a_shape_a_symbol_and_a_word() {
    let page = page_of(Comparison { a: "old".into(), ..all() });
    let comparison = figure(&page, "comparison");
    expect![[r#"
        metric | verdict | effect | from | to | confidence | p | at equal machine speed | median of old | median of new | trials | blocks | more blocks needed | 
        p50 | ✗ worse | +8.0 % | +6.0 % | +10.0 % | 97.5 % | 0.0100 | +5.0 % (+4.0 % … +6.0 %) | 1.00 ms | 1.08 ms | 10 / 9 | 5 | 0
        p99 | ✓ better | -10.0 % | -12.0 % | -8.0 % | 97.5 % | 0.0100 | – | 1.00 ms | 900 µs | 10 / 9 | 5 | 0
        completed | = equivalent | +0.1 % | -1.9 % | +2.1 % | 97.5 % | 0.0100 | – | 1,000,000/s | 1,001,000/s | 10 / 9 | 5 | 0
        p90 | ? undecided | +3.0 % | +1.0 % | +5.0 % | 97.5 % | 0.0100 | – | 1.00 ms | 1.03 ms | 10 / 9 | 5 | 0
        p99.9 | ? undecided | – | – | – | 97.5 % | 0.0100 | – | 1.00 ms | 1.00 ms | 10 / 9 | 5 | 0
        p50 |  | +8.0 % | +5.0 % | +11.0 % | 95.0 % | 0.0200 | – | – | – | – | – | –
        p99 |  | -10.0 % | -13.0 % | -7.0 % | 95.0 % | 0.0200 | – | – | – | – | – | –
    "#]].assert_eq(&rows(comparison));
    let plots = panels(comparison);
    assert_eq!(
        plots.iter().map(|(title, _)| *title).collect::<Vec<_>>(),
        ["metrics", "percentiles, which decide nothing"]
    );
    let metrics = plots[0].1;
    for (shape, word) in [
        ("path class=\"cross c2\"", "worse"),
        ("circle class=\"disc c3\"", "better"),
        ("path class=\"disc c1\"", "equivalent"),
        ("circle class=\"ring c4\"", "undecided"),
    ] {
        assert_eq!(metrics.matches(shape).count(), 1, "{shape}");
        assert_eq!(metrics.matches(&format!(">{word}</text>")).count(), 1, "{word}");
    }
    assert_eq!(metrics.matches("class=\"area c0\"").count(), 1, "the margin");
    assert!(comparison.contains("new is worse than old. Each effect"));
    assert!(comparison.contains("1 metric without an effect"));
}

#[test]
fn arms_that_were_not_equal_otherwise_are_warned_about() {
    let mut comparison = all();
    let difference = |what: &str| Difference { what: what.into(), a: None, b: Some("1".into()) };
    comparison.metrics[0].interleaved = false;
    comparison.metrics[0].environment_differences =
        ["governor", "kernel", "binary hotel", "CPUs"].map(difference).into();
    let page = page_of(comparison);
    assert!(page.contains("! The trials of both do not alternate"));
    let said = "! Not the same for both: governor, kernel, binary hotel and 1 more.";
    assert!(page.contains(said));
    assert_eq!(page.matches("<script").count(), 1, "names stay text");
}

#[test]
fn searches_that_found_only_a_bound_are_counted_beside_the_verdict() {
    let bound = |least| Some(results::Found::between(Some(least), None));
    let found = Compared {
        effect: None,
        interval: None,
        effect_bounds: bound(1.2),
        median_a: Some(results::Found::Exact(250.0)),
        median_b: bound(300.0),
        censored_b: 9,
        ..compared(Metric::Capacity, comparison::Verdict::Better, 1.0)
    };
    let page = page_of(Comparison { a: "old".into(), metrics: vec![found], ..all() });
    let comparison = figure(&page, "comparison");
    let row =
        rows(comparison).lines().find(|line| line.starts_with("capacity")).unwrap().to_owned();
    expect!["capacity | ✓ better | at least +20.0 % | – | – | 97.5 % | 0.0100 | 250/s | at least 300/s | 10 / 9 (0 / 9 bounds) | 5 | 0"].assert_eq(&row);
    assert!(comparison.contains("Searches found only a bound"), "{comparison}");
}

/// Which kind of requests became slower is seen without unfolding the numbers.
#[test]
fn each_percentile_of_the_labels_has_a_panel_with_their_names() {
    let shift = |label: &str, metric, effect| Shift {
        metric,
        of: Of { label: Some(label.to_owned()), ..Of::default() },
        effect,
        interval: None,
        p: 1.0,
    };
    let of = |label, effect| [shift(label, Metric::P50, effect), shift(label, Metric::P99, effect)];
    let mut comparison = Comparison { a: "old".into(), ..all() };
    comparison.percentiles.extend([of("items", 1.0), of("login", 1.5)].concat());
    comparison.metrics[1].of.label = Some("login".into());
    let page = page_of(comparison);
    let comparison = figure(&page, "comparison");
    let titles: Vec<&str> = panels(comparison).iter().map(|(title, _)| *title).collect();
    expect![[r#"
        metrics
        percentiles, which decide nothing
        p50 by label, which decides nothing
        p99 by label, which decides nothing"#]]
    .assert_eq(&titles.join("\n"));
    let of_labels = panels(comparison)[3].1;
    assert!(
        of_labels.contains(">items</text>") && of_labels.contains(">login</text>"),
        "{of_labels}"
    );
    let rows = rows(comparison);
    let names = rows.lines().map(|row| row.split(" | ").next().unwrap_or_default());
    expect![[r#"
        metric
        1: p50
        2: login · p99
        3: completed
        4: p90
        5: p99.9
        p50
        p99
        items · p50
        login · p50
        items · p99
        login · p99"#]]
    .assert_eq(&names.collect::<Vec<&str>>().join("\n"));
}

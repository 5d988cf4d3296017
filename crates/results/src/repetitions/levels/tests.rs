use expect_test::expect;

use super::*;
use crate::journal::{Delivery, Observed, Status};

/// Ten trials at each of two levels, of which the second repeats ten times better.
fn journal() -> Vec<Entry> {
    let entry = |trial: u32| {
        let (strand, cell, spread) = match trial % 2 {
            0 => (1, "none", 0.05),
            _ => (2, "pinned", 0.005),
        };
        // From −1 to 1, in an order without a trend.
        let off = f64::from((7 * (trial / 2)) % 10) / 4.5 - 1.0;
        let ns = |ms: f64| Some((1e6 * ms * (1.0 + spread * off)) as u64);
        Entry {
            asked_per_s: Some(500.0),
            cell: Some(format!("hardening={cell}")),
            strand: Some(strand),
            status: Status::Valid,
            observed: Some(Observed {
                delivery: Some(Delivery {
                    p50_ns: ns(100.0),
                    p90_ns: ns(180.0),
                    p99_ns: ns(200.0),
                    p999_ns: ns(201.0),
                    p9999_ns: ns(202.0),
                    timer_ns: (strand == 2).then_some(200_000_000),
                    ..Delivery::default()
                }),
                ..Observed::example(500.0, 15_000)
            }),
            ..Entry::aborted(trial)
        }
    };
    (1..=20).map(entry).collect()
}

#[test]
fn the_levels_of_a_factor_stand_side_by_side_in_the_order_of_the_plan() {
    let [analysis] = &of(&journal(), 0.05)[..] else { panic!("one load") };
    assert_eq!(analysis.by, "hardening");
    let metrics: Vec<&str> = analysis.metrics.iter().map(|m| m.metric.as_str()).collect();
    assert_eq!(metrics, ["delivery_p50", "delivery_p90", "delivery_p99", "delivery_p99.9"]);
    assert!(analysis.metrics[0].pairs[0].interleaved);
    let warnings = analysis.warnings.iter().map(|warning| format!("\n! {}", warning.text));
    let text = analysis.conclusions()[2].clone() + &warnings.collect::<String>();
    expect![[r#"
        delivery_p99: the RSD is 3.36 % (2.31 … 6.14 %) at none, 0.34 % (0.23 … 0.61 %) at pinned. More reproducible: none → pinned (RSD × 0.10, p < 0.0001).
        ! delivery_p99.99 of 15,000 requests rests on 1.5 beyond it: it is unsupported, at least 10 are needed for an indication (100,000 requests); that takes 200 s"#]].assert_eq(&text);
}

#[test]
fn a_timer_is_named_where_most_trials_show_it() {
    let journal = journal();
    let found = super::super::of(&journal, &[], None, None);
    let timers = |reproduced: &super::super::Reproduced| {
        let warnings = reproduced.warnings.iter().filter(|warning| warning.code == Code::Timer);
        warnings.map(|warning| warning.text.clone()).collect::<Vec<String>>()
    };
    let [pinned, none] = &found[..] else { panic!("two levels") };
    assert_eq!(timers(none), [""; 0]);
    expect!["the delivery times of 10 of 10 trials are flat to 200 ms: a timer. Their high percentiles are its own, however well they repeat, and the p50 is 100 ms"].assert_eq(&timers(pinned).join("\n"));
    let p9999 = pinned.metrics.iter().find(|of| of.metric == Metric::DeliveryP9999).unwrap();
    assert_eq!(p9999.needs.unwrap().in_words(), "needs 200 s at 500/s");
    assert!(pinned.metrics.iter().filter(|of| of.needs.is_some()).count() == 1);
}

#[test]
fn levels_of_different_factors_keep_their_whole_names() {
    assert_eq!(of_one_factor(&["a=1, b=2", "a=2, b=2"]), None);
    assert_eq!(of_one_factor(&["a=1", "b=2"]), None);
    assert_eq!(of_one_factor(&["a=1", "a=2"]), Some(("a", vec!["1", "2"])));
}

//! The figure of a scaling law.

use expect_test::expect;
use results::metric::Metric;
use results::scaling::{self, Measured, Scaling};

use super::levels::{figure, rows};
use super::*;

fn scaling(values: &[(f64, [f64; 3])]) -> Scaling {
    let level = |(n, values): &(f64, [f64; 3])| Measured {
        n: *n,
        censored: Vec::new(),
        values: values.to_vec(),
        interval: None,
        per_cpu_second: Some(vec![15.0 - n]),
        failed_shares: vec![0.0; 3],
    };
    let (levels, law) = scaling::of(values.iter().map(level).collect(), 1);
    let cell = Some(HOSTILE.to_owned());
    let search = Some("slo".to_owned());
    Scaling { factor: "replicas".into(), cell, search, quantity: Metric::Capacity, levels, law }
}

fn page_of(scaling: Scaling) -> String {
    let fixture = Fixture::sweep();
    let answer = Answer { scaling: vec![scaling], ..fixture.answer(Verdict::Answered) };
    fixture.directory.write_answer(&answer).unwrap();
    page(&fixture)
}

#[test]
fn an_identified_law_has_its_curve_and_band_beside_every_value() {
    let of = |n: f64, x: f64| (n, [0.99 * x, x, 1.01 * x]);
    let page = page_of(scaling(&[of(1.0, 100.0), of(2.0, 181.8), of(4.0, 307.7), of(8.0, 470.6)]));
    let figure = figure(&page, "scaling-1");
    let plots = figure.matches("role=\"img\"").count();
    assert_eq!(plots, 3, "throughput, efficiency, per CPU-second");
    assert_eq!(figure.matches("class=\"area c3\"").count(), 1);
    assert_eq!(figure.matches("<title>capacity at ").count(), 12);
    assert!(figure.contains("Amdahl"), "{figure}");
    expect![[r#"
        units | values | mean /s | 95 % from | to | efficiency | from | to | per CPU-second | failures | 
        1 | 3 | 100 | 97.5 | 103 | 1.00 | – | – | 14.0 | 0.0 %
        2 | 3 | 182 | 177 | 186 | 0.91 | 0.89 | 0.93 | 13.0 | 0.0 %
        4 | 3 | 308 | 300 | 315 | 0.77 | 0.75 | 0.79 | 11.0 | 0.0 %
        8 | 3 | 471 | 459 | 482 | 0.59 | 0.58 | 0.60 | 7.0 | 0.0 %
    "#]]
    .assert_eq(&rows(figure));
    assert_eq!(page.matches("<script").count(), 1, "names stay text");
}

#[test]
fn without_a_law_there_is_no_curve_and_the_reason_is_said() {
    let of = |n: f64, x: f64| (n, [0.99 * x, x, 1.01 * x]);
    let page = page_of(scaling(&[of(1.0, 10.0), of(2.0, 18.0), of(4.0, 55.0)]));
    let figure = figure(&page, "scaling-1");
    assert_eq!(figure.matches("class=\"area c3\"").count(), 0);
    assert!(!figure.contains("fitted law"));
    let reason = "1.37 times as much as the first level promises: superlinear";
    assert!(figure.contains(reason), "{figure}");
    assert!(figure.contains("aria-label=\"! No scaling law is identifiable"));
}

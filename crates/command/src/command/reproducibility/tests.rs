use expect_test::expect;
use results::analysis::{Difference, Figures, Outlier, Trend, Warning, What};
use results::metric::Metric;
use results::reproducibility::OfMetric;

use super::*;

#[test]
fn the_trend_has_its_slope_and_an_outlier_what_differed_in_it() {
    let text_of = |text: &str| text.to_owned();
    let differed = vec![
        Difference { what: What::MachineSpeed, text: text_of("machine speed 0.82") },
        Difference { what: What::Finding, text: text_of("2 probes failed") },
    ];
    let outlier = |trial, differed| Outlier { trial, value: 1.3e7, p: 0.001, differed };
    let figures = Figures {
        n: 8,
        mean: 1.04e7,
        rsd: Some(0.1),
        rsd_interval: Some((0.066, 0.204)),
        spread_shamos: Some(0.02),
        sampling_floor: Some(0.012),
        trend: Some(Trend { s: 20, of: 28, p: 0.0141 }),
        slope: Some(0.0031),
        outliers: vec![outlier(5, Some(differed)), outlier(7, Some(Vec::new()))],
    };
    let warning = |code, text| Warning { code, metric: None, level: None, text: text_of(text) };
    let reproduced = Reproduced {
        cell: None,
        search: None,
        asked_per_s: Some(1_000.0),
        trials: (1..=8).collect(),
        metrics: vec![OfMetric { metric: Metric::P99, figures, target: None, needs: None }],
        warnings: vec![
            warning(Code::Outlier, "p99 at 1,000/s: trial 5 lies apart"),
            warning(Code::Trend, "p99: the trials rise"),
        ],
    };
    expect![[r#"
        1,000/s
          metric     n         mean      RSD     95 % interval   Shamos    floor  trend p     slope
          p99        8      10.4 ms  10.00 %  6.60 % … 20.40 %   2.00 %   1.20 %   0.0141   +0.31 %
          outlier of p99, which counts: trial 5: machine speed 0.82; 2 probes failed
          outlier of p99, which counts: trial 7: no recorded difference from the others
        ! p99: the trials rise

    "#]]
    .assert_eq(&text(&reproduced));
}

#[test]
fn searches_without_a_spread_are_explained_without_an_empty_table() {
    let reproduced = Reproduced {
        cell: None,
        search: None,
        asked_per_s: None,
        trials: vec![8, 16, 24],
        metrics: Vec::new(),
        warnings: vec![Warning {
            code: Code::Censored,
            metric: Some("capacity".to_owned()),
            level: None,
            text: "3 of 3 searches found only a bound".to_owned(),
        }],
    };
    assert_eq!(text(&reproduced), "! 3 of 3 searches found only a bound\n");
}

use expect_test::expect;
use results::analysis::{Difference, Figures, Outlier, Trend, What};
use results::metric::Metric;
use results::reproducibility::{self, Judged, OfMetric, Reproduced};

use super::levels::{figure, rows};
use super::*;

/// Five equal trials, one of which the answer calls an outlier, and three equal searches.
fn page_of_equal() -> String {
    let mut fixture = Fixture::new(|_| {});
    for _ in 0..5 {
        fixture.push(1_000.0, |_| {});
    }
    let figures = |n, mean, rsd| Figures {
        n,
        mean,
        rsd: Some(rsd),
        rsd_interval: Some((0.6 * rsd, 2.87 * rsd)),
        spread_shamos: Some(rsd),
        sampling_floor: None,
        trend: Some(Trend { s: 2, of: 10, p: 0.8 }),
        slope: Some(-0.0012),
        outliers: Vec::new(),
    };
    let of = |metric, figures| OfMetric { metric, figures, target: None, needs: None };
    let text = "machine speed 0.82".to_owned();
    let differed = Some(vec![Difference { what: What::MachineSpeed, text }]);
    let outliers = vec![Outlier { trial: 3, value: 2e6, p: 0.01, differed }];
    let p99 = Figures { sampling_floor: Some(0.011), outliers, ..figures(5, 1.97e6, 0.02) };
    let target = Some(Judged { rsd: 0.01, verdict: reproducibility::Verdict::Undecided });
    let trials = Reproduced {
        cell: None,
        search: None,
        asked_per_s: Some(1_000.0),
        trials: vec![1, 2, 3, 4, 5],
        metrics: vec![
            OfMetric { target, ..of(Metric::Completed, figures(5, 1_000.0, 0.004)) },
            of(Metric::P90, figures(5, 1.2e6, 0.03)),
            of(Metric::P99, p99),
        ],
        warnings: Vec::new(),
    };
    let searches = Reproduced {
        asked_per_s: None,
        trials: vec![1, 2, 3],
        metrics: vec![of(Metric::Capacity, figures(3, 950.0, 0.01))],
        ..trials.clone()
    };
    let reproducibility = vec![trials, searches];
    let answer = Answer { reproducibility, ..fixture.answer(Verdict::Open) };
    render(&fixture.directory, Some(answer)).unwrap()
}

#[test]
fn the_spread_has_its_interval_its_floor_and_its_target() {
    let page = page_of_equal();
    let spread = figure(&page, "spread");
    expect![[r#"
        load | metric | trials | mean | RSD | 95 % from | to | floor | Shamos | trend p | slope per trial | outliers | target | 
        1,000/s | completed | 5 | 1,000/s | 0.40 % | 0.24 % | 1.15 % | – | 0.40 % | 0.800 | −0.12 % |  | ? undecided of 1.00 %
        1,000/s | p90 | 5 | 1.20 ms | 3.00 % | 1.80 % | 8.61 % | – | 3.00 % | 0.800 | −0.12 % |  | 
        1,000/s | p99 | 5 | 1.97 ms | 2.00 % | 1.20 % | 5.74 % | 1.10 % | 2.00 % | 0.800 | −0.12 % | trial 3: machine speed 0.82 | 
        searches | capacity | 3 | 950/s | 1.00 % | 0.60 % | 2.87 % | – | 1.00 % | 0.800 | −0.12 % |  | 
    "#]].assert_eq(&rows(spread));
    let plot = spread.split("<ul").next().unwrap();
    // The table has every metric; completed, p99 and capacity are drawn.
    assert_eq!(plot.matches("<title>").count(), 3);
    assert_eq!(plot.matches("class=\"bar ").count(), 3);
    assert_eq!(plot.matches("class=\"line c0 d1\"").count(), 1, "the floor of the p99");
    assert!(plot.contains(">target of completed: 1.00 %</text>"));
    assert!(spread.contains("</svg>by chance alone, with so many requests</span></li>"));
}

#[test]
fn an_outlier_is_marked_and_counts() {
    let page = page_of_equal();
    let trials = figure(&page, "trials");
    let plots = trials.split("<ul").next().unwrap().split("<div class=\"panel\">").skip(1);
    let outliers: Vec<usize> =
        plots.map(|plot| plot.matches("class=\"ring c2\"").count()).collect();
    assert_eq!(outliers, [1, 0], "its p99 is one, its rate is not");
    assert!(trials.contains("</svg>outlier, which counts</span></li>"));
    let outlier = rows(trials).lines().find(|line| line.ends_with("outlier")).map(str::to_owned);
    assert!(outlier.unwrap().starts_with("1,000/s | 3 |"));
}

#[test]
fn a_run_without_equal_trials_has_no_spread() {
    assert!(!page(&Fixture::sweep()).contains("<figure id=\"spread\""));
}

use expect_test::expect;
use measure::comparison::Block;
use results::comparison::{Censored, Of, Question};
use results::{Found, Metric};

use super::*;

/// Two directories on different machines; B is 10 % slower, and one metric is undecided.
fn two_directories() -> Comparison {
    let blocks = |ratio: f64, noise: f64| {
        let a: Vec<f64> = (0..6).map(|n| 5e6 * (1.0 + noise * f64::from(n % 3))).collect();
        let b = a.iter().map(|value| value * ratio).collect();
        vec![Block { a, b }]
    };
    let question = |metric, blocks| Question {
        metric,
        of: Of { cell: None, search: Some("half".to_owned()), label: None },
        blocks,
        censored: None,
        speeds: Vec::new(),
        interleaved: false,
        trials: Default::default(),
    };
    let difference = |what: &str, a: Option<&str>, b: Option<&str>| Difference {
        what: what.to_owned(),
        a: a.map(str::to_owned),
        b: b.map(str::to_owned),
    };
    let differences = [
        difference("machine: governor", Some("performance"), Some("powersave")),
        difference("binary hotel", Some("0a1b2c3d4e5f"), Some("9f8e7d6c5b4a")),
        difference("placement of geo-1.1", Some("0"), None),
        difference("spec: a|b", Some("1\n2"), Some("3")),
    ];
    let metrics =
        vec![question(Metric::P99, blocks(1.1, 0.001)), question(Metric::P50, blocks(1.01, 0.05))];
    let percentiles = vec![question(Metric::P90, blocks(1.1, 0.001))];
    results::comparison::compare(
        ["results/a", "results/b"],
        metrics,
        percentiles,
        0.03,
        &differences,
    )
}

#[test]
fn what_differs_and_what_was_not_interleaved_is_said_first() {
    expect![[r#"
        ! not the same environment: machine: governor, binary hotel, placement of geo-1.1 and 1 more differ
            machine: governor     performance → powersave
            binary hotel          0a1b2c3d4e5f → 9f8e7d6c5b4a
            placement of geo-1.1  0 → –
            spec: a|b             1 2 → 3
        ! not interleaved: the arms ran one after the other, and a drift of the machine looks like a difference between them; run both in one experiment with repeat.order: {blocks: 4}
        results/b compared with results/a: worse  (margin 3 %)
          half: p99 worse: +10.0 % (+9.8 … +10.2 %), p = 0.0022; median 5.00 ms → 5.51 ms; 6 and 6 trials
          half: p50 undecided: +1.0 % (−3.8 … +6.0 %), p = 0.4307; median 5.25 ms → 5.30 ms; 6 and 6 trials; about 36 and 36 more are needed
        percentiles, to look at:
          half: p90      +10.0 %  (+9.9 … +10.1 %)
    "#]].assert_eq(&text(&two_directories()));
}

#[test]
fn a_pull_request_gets_a_table() {
    expect![[r#"
        ### ▼ worse: `results/b` compared with `results/a`

        > not the same environment: machine: governor, binary hotel, placement of geo-1.1 and 1 more differ

        > not interleaved: the arms ran one after the other, and a drift of the machine looks like a difference between them; run both in one experiment with repeat.order: {blocks: 4}

        | metric | verdict | change | interval | p | trials | blocks |
        |---|---|---:|---:|---:|---:|---:|
        | half: p99 | ▼ worse | +10.0 % | +9.8 … +10.2 % | 0.0022 | 6 + 6 | 1 |
        | half: p50 | ? undecided | +1.0 % | −3.8 … +6.0 % | 0.4307 | 6 + 6 | 1 |

        Margin 3 %.

        <details><summary>Percentiles, to look at</summary>

        | percentile | change | interval |
        |---|---:|---:|
        | half: p90 | +10.0 % | +9.9 … +10.1 % |

        </details>

        <details><summary>Differences of the environments</summary>

        | what | A | B |
        |---|---|---|
        | machine: governor | performance | powersave |
        | binary hotel | 0a1b2c3d4e5f | 9f8e7d6c5b4a |
        | placement of geo-1.1 | 0 | – |
        | spec: a\|b | 1 2 | 3 |

        </details>
    "#]].assert_eq(&markdown(&two_directories()));
}

/// Worse is a failure and undecided an error: a CI server shows both as not passed.
#[test]
fn a_ci_server_gets_a_test_case_for_each_metric() {
    expect![[r#"
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="benchwright compare" tests="2" skipped="0" failures="1" errors="1">
            <testsuite name="results/b compared with results/a" tests="2" skipped="0" errors="1" failures="1">
                <testcase name="half: p99" classname="benchwright.compare">
                    <failure message="p99 worse: +10.0 % (+9.8 … +10.2 %), p = 0.0022; median 5.00 ms → 5.51 ms; 6 and 6 trials"/>
                    <system-out>p99 worse: +10.0 % (+9.8 … +10.2 %), p = 0.0022; median 5.00 ms → 5.51 ms; 6 and 6 trials
        not the same environment: machine: governor, binary hotel, placement of geo-1.1 and 1 more differ
        not interleaved: the arms ran one after the other, and a drift of the machine looks like a difference between them; run both in one experiment with repeat.order: {blocks: 4}</system-out>
                </testcase>
                <testcase name="half: p50" classname="benchwright.compare">
                    <error message="p50 undecided: +1.0 % (−3.8 … +6.0 %), p = 0.4307; median 5.25 ms → 5.30 ms; 6 and 6 trials; about 36 and 36 more are needed"/>
                    <system-out>p50 undecided: +1.0 % (−3.8 … +6.0 %), p = 0.4307; median 5.25 ms → 5.30 ms; 6 and 6 trials; about 36 and 36 more are needed
        not the same environment: machine: governor, binary hotel, placement of geo-1.1 and 1 more differ
        not interleaved: the arms ran one after the other, and a drift of the machine looks like a difference between them; run both in one experiment with repeat.order: {blocks: 4}</system-out>
                </testcase>
            </testsuite>
        </testsuites>
    "#]].assert_eq(&junit(&two_directories()).unwrap());
}

/// Two arms of one experiment, of which B ran on a machine that was 5 % slower.
#[test]
fn a_comparison_at_equal_speed_stands_beside_the_raw_one() {
    let block = |of: [f64; 4]| Block { a: of[..2].to_vec(), b: of[2..].to_vec() };
    let times = [[5.0, 5.1, 5.3, 5.2], [5.1, 5.0, 5.2, 5.4], [5.0, 5.2, 5.3, 5.3]];
    let blocks: Vec<Block> = times.iter().map(|times| block(times.map(|ms| ms * 1e6))).collect();
    // What makes a trial slower is the speed, with some noise.
    let noise = [0.01, -0.01, -0.02, 0.02];
    let speed = |times: &[f64; 4]| {
        let mut noise = noise.iter();
        block(times.map(|ms| 5.0 / ms * (1.0 + noise.next().unwrap())))
    };
    let speeds = times.iter().map(speed).collect();
    let of = Of::default();
    let question = Question {
        metric: Metric::P99,
        of,
        blocks,
        censored: None,
        speeds,
        interleaved: true,
        trials: Default::default(),
    };
    let compared = results::comparison::compare(["old", "new"], vec![question], vec![], 0.03, &[]);
    let all = [text(&compared), markdown(&compared), junit(&compared).unwrap()].join("\n");
    expect![[r#"
        new compared with old: worse  (margin 3 %)
          p99 worse: +4.0 % (+2.0 … +7.0 %), p = 0.0093; median 5.05 ms → 5.30 ms; 6 and 6 trials in 3 blocks; at equal machine speed +2.2 % (−5.9 … +11.3 %), p = 0.5185
        note: the verdict is that of the change as measured; the one at equal machine speed leaves out what the speed of the machine explains, and decides nothing

        ### ▼ worse: `new` compared with `old`

        | metric | verdict | change | interval | p | at equal speed | trials | blocks |
        |---|---|---:|---:|---:|---:|---:|---:|
        | p99 | ▼ worse | +4.0 % | +2.0 … +7.0 % | 0.0093 | +2.2 % (−5.9 … +11.3 %) | 6 + 6 | 3 |

        Margin 3 %.

        > Note: the verdict is that of the change as measured; the one at equal machine speed leaves out what the speed of the machine explains, and decides nothing.

        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites name="benchwright compare" tests="1" skipped="0" failures="1" errors="0">
            <testsuite name="new compared with old" tests="1" skipped="0" errors="0" failures="1">
                <testcase name="p99" classname="benchwright.compare">
                    <failure message="p99 worse: +4.0 % (+2.0 … +7.0 %), p = 0.0093; median 5.05 ms → 5.30 ms; 6 and 6 trials in 3 blocks; at equal machine speed +2.2 % (−5.9 … +11.3 %), p = 0.5185"/>
                    <system-out>p99 worse: +4.0 % (+2.0 … +7.0 %), p = 0.0093; median 5.05 ms → 5.30 ms; 6 and 6 trials in 3 blocks; at equal machine speed +2.2 % (−5.9 … +11.3 %), p = 0.5185</system-out>
                </testcase>
            </testsuite>
        </testsuites>
    "#]].assert_eq(&all);
}

/// Several metrics share the probability of an error, and a percentile to look at has it for itself.
#[test]
fn a_percentile_with_two_intervals_says_which_one_decides() {
    let question = |metric, ratio: f64| {
        let a: Vec<f64> = (0..8).map(|n| 5e6 * (1.0 + 0.01 * f64::from(n))).collect();
        let b = a.iter().map(|value| value * ratio).collect();
        Question {
            metric,
            of: Of::default(),
            blocks: vec![Block { a, b }],
            censored: None,
            speeds: Vec::new(),
            interleaved: true,
            trials: Default::default(),
        }
    };
    let compared = |metrics: &[Metric]| {
        let metrics = metrics.iter().map(|metric| question(*metric, 1.1)).collect();
        let percentiles = vec![question(Metric::P99, 1.1)];
        results::comparison::compare(["old", "new"], metrics, percentiles, 0.03, &[])
    };
    let note = "note: the verdict has the wider interval of a percentile that stands twice";
    let both = compared(&[Metric::P99, Metric::P50]);
    assert!(text(&both).contains(note) && markdown(&both).contains("> Note: "), "{both:?}");
    let alone = compared(&[Metric::P99]);
    assert!(!text(&alone).contains("note: "), "{alone:?}");
}

/// Ten searches of each: those of B ended at the end of the range.
#[test]
fn bounds_stand_in_every_format() {
    let a = (0..10).map(|n| Found::Exact(250.0 + f64::from(n) / 10.0)).collect();
    let b = vec![Found::between(Some(300.0), None); 10];
    let question = Question {
        metric: Metric::Capacity,
        of: Of::default(),
        blocks: Vec::new(),
        censored: Some(Censored { a, b }),
        speeds: Vec::new(),
        interleaved: true,
        trials: Default::default(),
    };
    let found = results::comparison::compare(["old", "new"], vec![question], Vec::new(), 0.03, &[]);
    expect![[r#"
        new compared with old: better  (margin 3 %)
          capacity better: at least +19.8 %, p < 0.0001; median 250/s → at least 300/s; 10 and 10 searches; 0 and 10 of them found only a bound, and the verdict holds whatever they would have found
    "#]].assert_eq(&text(&found));
    expect![[r#"
        ### ▲ better: `new` compared with `old`

        | metric | verdict | change | interval | p | trials | blocks |
        |---|---|---:|---:|---:|---:|---:|
        | capacity | ▲ better | at least +19.8 % | – | < 0.0001 | 10 + 10 | 1 |

        > capacity better: at least +19.8 %, p < 0.0001; median 250/s → at least 300/s; 10 and 10 searches; 0 and 10 of them found only a bound, and the verdict holds whatever they would have found

        Margin 3 %.
    "#]].assert_eq(&markdown(&found));
    let xml = junit(&found).unwrap();
    assert!(xml.contains("0 and 10 of them found only a bound"), "{xml}");
}

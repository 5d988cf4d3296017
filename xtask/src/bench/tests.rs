use super::*;

#[test]
fn a_bench_runs_as_often_as_the_issue_asks_unless_told_otherwise() {
    assert_eq!(read(&["calibration"]), Some(vec![Bench::Calibration { attempts: 20, spare: 0 }]));
    assert_eq!(read(&["wrk", "--pairs", "3"]), Some(vec![Bench::Wrk { pairs: 3 }]));
    assert_eq!(
        read(&["kill", "--simulated", "9"]),
        Some(vec![Bench::Kill { runs: 20, simulated: 9 }])
    );
    assert_eq!(
        read(&["starved", "--undisturbed", "1", "--trials", "2"]),
        Some(vec![Bench::Starved { trials: 2, undisturbed: 1 }])
    );
    assert_eq!(read(&["self-test"]), Some(vec![Bench::SelfTest { attempts: 20 }]));
    assert_eq!(read(&["hostile"]), Some(vec![Bench::Hostile]));
    assert_eq!(read(&["--quick"]), Some(QUICK.to_vec()));
}

#[test]
fn what_is_not_understood_is_not_run() {
    let wrong: [&[&str]; 7] = [
        &[],
        &["load"],
        &["wrk", "--pairs"],
        &["wrk", "--pairs", "0"],
        &["wrk", "--pairs", "many"],
        &["wrk", "--runs", "3"],
        &["--quick", "--pairs", "3"],
    ];
    for words in wrong {
        assert_eq!(read(words), None, "{words:?}");
    }
}

#[test]
fn a_summary_is_the_middle_and_the_ends() {
    let summary = summary::Summary::of(&[1.2, 1.0, 1.5]);
    assert_eq!(summary.to_string(), "median 1.200 (1.000 … 1.500)");
}

use super::*;

#[test]
fn a_bench_has_a_default_number_of_attempts_that_options_change() {
    let attempts = Attempts { most: 20, last_good: 20, enough: 15, spare: 0 };
    assert_eq!(read(&["calibration"]), Some(vec![Bench::Calibration { attempts }]));
    let load =
        Extent { pairs: 3, quick: false, only: Some("k6".to_owned()), before: None, note: None };
    assert_eq!(read(&["load", "--pairs", "3", "--only", "k6"]), Some(vec![Bench::Load(load)]));
    assert_eq!(read(&["load", "--quick"]), Some(vec![Bench::Load(Extent::QUICK)]));
    let note = Some(PathBuf::from("a.md"));
    assert_eq!(
        read(&["timers", "--note", "a.md"]),
        Some(vec![Bench::Timers { attempts: 5, note }])
    );
    assert_eq!(
        read(&["kill", "--simulated", "9"]),
        Some(vec![Bench::Kill { runs: 20, simulated: 9 }])
    );
    assert_eq!(
        read(&["starved", "--undisturbed", "1", "--trials", "2"]),
        Some(vec![Bench::Starved { trials: 2, undisturbed: Attempts::all(1, 1) }])
    );
    assert_eq!(read(&["self-test"]), Some(vec![Bench::SelfTest { attempts: 20 }]));
    assert_eq!(read(&["hostile"]), Some(vec![Bench::Hostile]));
    assert_eq!(read(&["lab", "--trials", "5"]), Some(vec![Bench::Lab { trials: 5 }]));
    assert_eq!(
        read(&["compare", "--slower", "3"]),
        Some(vec![Bench::Compare { equal: 100, slower: 3, note: None }])
    );
    assert_eq!(read(&["--quick"]), Some(QUICK.to_vec()));
}

#[test]
fn three_quarters_of_all_attempts_are_enough() {
    assert_eq!([20, 12, 2, 1].map(|most| Attempts::all(most, 0).enough), [15, 9, 1, 0]);
}

#[test]
fn unknown_words_are_refused() {
    let wrong: [&[&str]; 9] = [
        &[],
        &["wrk"],
        &["load", "--pairs"],
        &["load", "--pairs", "0"],
        &["load", "--pairs", "many"],
        &["load", "--runs", "3"],
        &["load", "--only", "nothing"],
        &["timers", "--quick"],
        &["--quick", "--pairs", "3"],
    ];
    for words in wrong {
        assert_eq!(read(words), None, "{words:?}");
    }
}

#[test]
fn a_summary_is_the_median_and_the_range() {
    let summary = summary::Summary::of(&[1.2, 1.0, 1.5]);
    assert_eq!(summary.to_string(), "median 1.200 (1.000 … 1.500)");
}

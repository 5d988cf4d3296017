use super::*;

#[test]
fn a_bench_is_read_with_its_options() {
    let (bench, options) = read(&["load", "--quick", "--only", "k6", "--note", "a.md"]).unwrap();
    assert_eq!((bench.name, options.text("--quick")), ("load", Some("")));
    assert_eq!(options.text("--only"), Some("k6"));
    assert_eq!(options.path("--note"), Some(Path::new("a.md")));
    let (_, options) = read(&["kill", "--simulated", "9"]).unwrap();
    assert_eq!((options.count("--simulated", 200), options.count("--runs", 20)), (9, 20));
    for name in ["hotel", "users", "social", "channel", "receive"] {
        let words = [name, "--before", "old", "--attempts", "5"];
        assert!(read(&words).is_some(), "{name}");
    }
}

#[test]
fn each_bench_is_in_the_usage() {
    for Bench { name, options, .. } in &BENCHES {
        let known = |word: &str| USAGE.split([' ', ',', '[', ']', '\n']).any(|one| one == word);
        assert!(known(name) && options.iter().all(|(option, _)| known(option)), "{name}");
    }
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
        &["hotel", "--quick"],
        &["--quick", "--pairs", "3"],
    ];
    for words in wrong {
        assert!(read(words).is_none(), "{words:?}");
    }
}

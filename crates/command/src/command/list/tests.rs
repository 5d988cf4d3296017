use expect_test::expect;
use lab::past::listed::SCHEMA;

use super::*;

fn run() -> Run {
    Run {
        directory: "results/mine-2026-11-21-0942".to_owned(),
        experiment: "mine".to_owned(),
        started: Some("2026-11-21 09:42".to_owned()),
        started_unix_s: Some(1_795_254_120),
        question: Some("How fast is it?".to_owned()),
        verdict: Verdict::Answered,
        answer: Some("at least 300/s".to_owned()),
        validity: Some("3 of 3 trials valid".to_owned()),
        go_on: None,
        unread: Vec::new(),
    }
}

fn listing(runs: Vec<Run>, not_read: usize) -> Listing {
    Listing { schema: SCHEMA, folder: "results".to_owned(), runs, skipped: Vec::new(), not_read }
}

#[test]
fn each_run_is_a_paragraph() {
    let open = Run {
        question: None,
        verdict: Verdict::Open,
        answer: None,
        validity: None,
        go_on: Some("benchwright resume results/mine-2026-11-21-0942".to_owned()),
        ..run()
    };
    expect![[r#"
        results/mine-2026-11-21-0942   mine   2026-11-21 09:42
          question  How fast is it?
          answer    at least 300/s
          validity  answered; 3 of 3 trials valid

        results/mine-2026-11-21-0942   mine   2026-11-21 09:42
          validity  not ended: it is running, or was killed
          go on     benchwright resume results/mine-2026-11-21-0942

        … and 7 earlier ones, which are not listed
    "#]]
    .assert_eq(&text(&listing(vec![run(), open], 7)));
    assert_eq!(text(&listing(Vec::new(), 0)), "no results in results\n");
    let (directory, why) = ("results/new".to_owned(), "version 99".to_owned());
    let skipped = Skipped { directory, why, is_damaged: false };
    let newer = Listing { skipped: vec![skipped], ..listing(Vec::new(), 0) };
    assert_eq!(text(&newer), "no results that can be read in results\n");
}

#[test]
fn no_text_of_results_makes_lines_of_its_own() {
    let hostile = Run { answer: Some(format!("x\n\nerror: y\n{}", "z".repeat(9_999))), ..run() };
    let text = text(&listing(vec![hostile], 0));
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("answer    x error: y zz"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < LONGEST + 20), "{text}");
    assert_eq!(line(""), "");
}

#[test]
fn a_run_that_cannot_be_read_is_no_answer_and_a_link_to_one_is_no_fault() {
    let skipped = |is_damaged| Listing {
        skipped: vec![Skipped { directory: "x".into(), why: "EOF".into(), is_damaged }],
        ..listing(vec![run()], 0)
    };
    assert_eq!(exit(&skipped(true)), Exit::NoAnswer);
    assert_eq!(exit(&skipped(false)), Exit::Answered);
    let unread = Run { unread: vec!["a trial".to_owned()], ..run() };
    assert_eq!(exit(&listing(vec![unread], 0)), Exit::NoAnswer);
}

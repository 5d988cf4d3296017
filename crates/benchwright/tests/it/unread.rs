//! Results directories in which a file is not there any more, or something else is in its place: every command that
//! reads one names it, and counts nothing that nobody can check.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{QUEUE, Ran, Scratch, journal, machine, run_while};

/// Puts something else in the place of a file.
fn replace(path: &Path, by: &str) {
    fs::remove_file(path).unwrap();
    match by {
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "device" => std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        "folder" => fs::create_dir(path).unwrap(),
        _ => {}
    }
}

fn ran(scratch: &Scratch, arguments: &[&str]) -> Ran {
    run_while(scratch.benchwright().args(arguments), |_| {})
}

/// Returns a folder with the results of two equal runs, `kept` and `changed`.
fn two_runs() -> Scratch {
    let scratch = Scratch::new();
    scratch.file("queue.yaml", QUEUE);
    for out in ["kept", "changed"] {
        let ran = ran(&scratch, &["run", "queue.yaml", "--out", out]);
        assert_eq!(ran.code, 0, "{ran:#?}");
    }
    scratch
}

#[test]
fn every_command_names_a_trial_of_which_a_file_cannot_be_read() {
    let _machine = machine();
    let scratch = two_runs();
    let ran = |arguments: &[&str]| ran(&scratch, arguments);
    let path = scratch.path().join("changed/trials/1/load.json");
    let whole = fs::read(&path).unwrap();
    for (by, why) in [
        ("fifo", "not a regular file"),
        ("device", "a link, not a regular file"),
        ("folder", "not a regular file"),
        ("gone", "No such file or directory"),
    ] {
        replace(&path, by);
        let named = format!("trial 1: load.json cannot be read: {why}");
        for arguments in [
            &["report", "changed"][..],
            &["explain", "changed"],
            &["explain", "changed", "1"],
            &["advise", "changed"],
            &["compare", "kept", "changed"],
            &["reproducibility", "changed"],
        ] {
            let ran = ran(arguments);
            assert!(ran.stderr.contains(&named), "{by} {arguments:?}: {ran:#?}");
            // What is left of a comparison may decide it.
            let codes = if arguments[0] == "compare" { &[0, 1, 3][..] } else { &[3] };
            assert!(codes.contains(&ran.code), "{by} {arguments:?}: {ran:#?}");
            if arguments[0] == "explain" {
                assert!(ran.stdout.contains(&named) && !ran.stdout.contains("  valid"), "{ran:#?}");
            }
        }
        let page = fs::read_to_string(scratch.path().join("changed/report.html")).unwrap();
        assert!(page.contains(&named), "{by}");
        // The other trials are as they were.
        assert_eq!(ran(&["explain", "changed", "2"]).code, 0);
        let _ = fs::remove_dir(&path);
        let _ = fs::remove_file(&path);
        fs::write(&path, &whole).unwrap();
        assert_eq!(ran(&["report", "changed"]).code, 0, "it is there again");
    }
    // An answer whose trials the journal lacks, or has otherwise, is none.
    let path = scratch.path().join("changed");
    let edited = |file: &str, text: &str| {
        let whole = fs::read_to_string(path.join(file)).unwrap();
        fs::write(path.join(file), text).unwrap();
        whole
    };
    let answer = fs::read_to_string(path.join("answer.json")).unwrap();
    for (file, text, named) in [
        (
            "journal.jsonl",
            "VICTIM".to_owned(),
            "answer.json counts what journal.jsonl does not have",
        ),
        (
            "answer.json",
            answer.replace("\"requests\": ", "\"requests\": 9"),
            "answer.json and journal.jsonl say different things",
        ),
    ] {
        let whole = edited(file, &text);
        for arguments in [
            &["report", "changed"][..],
            &["explain", "changed"],
            &["explain", "changed", "1"],
            &["advise", "changed"],
            &["compare", "kept", "changed"],
            &["reproducibility", "changed"],
            &["list", "changed"],
        ] {
            let ran = ran(arguments);
            // Without trials there may be no question in common, and no such trial.
            let is_refused = ran.code == 2 && ["compare", "explain"].contains(&arguments[0]);
            assert!(ran.code == 3 || is_refused, "{arguments:?}: {ran:#?}");
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(is_refused || said.contains(named), "{arguments:?}: {ran:#?}");
        }
        edited(file, &whole);
    }
    let listed = ran(&["list", "changed"]);
    assert_eq!(listed.code, 0, "{listed:#?}");
    // What a run needs whole is refused by its name.
    for (name, arguments) in [
        ("spec.yaml", &["explain", "changed"]),
        ("environment.json", &["explain", "changed"]),
        ("manifest.json", &["report", "changed"]),
        ("answer.json", &["report", "changed"]),
        ("journal.jsonl", &["report", "changed"]),
        ("journal.jsonl", &["resume", "changed"]),
    ] {
        let path = scratch.path().join("changed").join(name);
        let whole = fs::read(&path).unwrap();
        replace(&path, "fifo");
        let ran = ran(arguments);
        let named = format!("changed/{name}: not a regular file");
        assert!(ran.code == 2 && ran.stderr.contains(&named), "{arguments:?}: {ran:#?}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole).unwrap();
    }
    let path = scratch.path().join("changed/spec.yaml");
    replace(&path, "device");
    let ran = ran(&["report", "changed"]);
    let named = "! not shown: changed/spec.yaml: a link, not a regular file";
    assert!(ran.code == 3 && ran.stderr.contains(named), "{ran:#?}");
}

/// Of a comparison, too, everybody can see that its figures come from disturbed trials.
#[test]
fn a_comparison_names_the_trials_that_were_disturbed() {
    let _machine = machine();
    let scratch = two_runs();
    let ran = |arguments: &[&str]| ran(&scratch, arguments);
    let before = ran(&["compare", "kept", "changed"]);
    assert!(!before.stderr.contains("trials valid"), "{before:#?}");
    let mut entries = journal(&scratch.path().join("changed"));
    entries[1]["disturbed"] = vec!["a pause of the machine"].into();
    let lines: String = entries.iter().map(|entry| format!("{entry}\n")).collect();
    scratch.file("changed/journal.jsonl", lines);
    let after = ran(&["compare", "kept", "changed"]);
    let line = "! changed: 3 of 3 trials valid; valid, but disturbed: ";
    assert!(after.stderr.contains(line), "{after:#?}");
    assert!(!after.stderr.contains("! kept: "), "{after:#?}");
}

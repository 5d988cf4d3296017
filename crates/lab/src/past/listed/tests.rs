use std::os::unix::fs::symlink;

use expect_test::expect;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::*;
use crate::backend;
use crate::experiment;
use crate::progress::Silent;
use crate::{Host, spec};

/// Makes results on virtual time.
fn run_into(path: &Path, name: &str) {
    let text = format!(
        "name: {name}\nabout: How fast is a queue?\nwhere: {{backend: simulated}}\n\
         simulated: {{service_time: 1ms}}\nworkload: {{get: /}}\nload: {{model: open}}\n\
         phases: {{measure: {{time: 5s}}}}\nslo: [{{metric: p99, max: 100ms}}]\n\
         search: {{range: [100/s, 300/s], step: 100/s}}\n"
    );
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let host = Host::new("/nowhere/benchwright".into(), "0.0.0");
    let backends = backend::for_tests;
    experiment::run(&resolved, Some(path.to_owned()), &host, &backends, &mut Silent).unwrap();
}

#[test]
fn runs_are_listed_and_what_is_hostile_is_skipped_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    run_into(&at("good"), "queue");
    run_into(&at("open"), "queue");
    fs::remove_file(at("open").join("answer.json")).unwrap();
    // No results, which nobody asked for.
    fs::create_dir(at("other")).unwrap();
    fs::write(at("note.txt"), "x").unwrap();
    // Somebody's.
    symlink(at("good"), at("link")).unwrap();
    fs::create_dir(at("waits")).unwrap();
    mkfifo(&at("waits").join("manifest.json"), Mode::S_IRWXU).unwrap();
    fs::create_dir(at("broken")).unwrap();
    fs::write(at("broken").join("manifest.json"), "{").unwrap();
    run_into(&at("long"), "queue");
    let answer = fs::File::create(at("long").join("answer.json")).unwrap();
    answer.set_len(MOST_OF_ANSWER + 1).unwrap();
    run_into(&at("led"), "queue");
    fs::remove_file(at("led").join("answer.json")).unwrap();
    symlink(at("good").join("answer.json"), at("led").join("answer.json")).unwrap();

    let listing = Listing::of(folder.path()).unwrap();
    let name = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let runs = listing.runs.iter().map(|run| {
        let Run { directory, experiment, question, verdict, answer, validity, .. } = run;
        format!(
            "{} {experiment} {question:?} {verdict:?} {answer:?} {validity:?}\n",
            name(directory)
        )
    });
    let mut runs: Vec<String> = runs.collect();
    runs.sort();
    expect![[r#"
        good queue Some("How fast is a queue?") Answered Some("maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)") Some("3 of 3 trials valid")
        open queue Some("How fast is a queue?") Open None None
    "#]].assert_eq(&runs.concat());
    let skipped = listing.skipped.iter();
    let skipped = skipped.map(|Skipped { directory, why, is_damaged }| {
        let damaged = if *is_damaged { "damaged: " } else { "" };
        format!("{damaged}{}: {why}\n", name(directory))
    });
    expect![[r#"
        broken: cannot be read: EOF while parsing an object at line 1 column 1
        damaged: led: a link, not a regular file
        link: it is a link; list the folder that it leads to
        damaged: long: answer.json is longer than 64 MiB
        waits: not a regular file
    "#]]
    .assert_eq(&skipped.collect::<String>());
    assert_eq!(listing.not_read, 0);
}

#[test]
fn a_run_whose_answer_cannot_be_checked_by_its_trials_is_listed_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one");
    run_into(&path, "queue");
    let journal = fs::read(path.join("journal.jsonl")).unwrap();
    let listed = || {
        let Run { verdict, answer, unread, .. } = Listing::of(&path).unwrap().runs.remove(0);
        assert!(answer.is_none_or(|answer| answer.starts_with("no trustworthy answer")));
        assert_eq!(verdict, Verdict::NoAnswer);
        unread.join("; ").replace(&folder.path().display().to_string(), "…")
    };
    fs::remove_file(path.join("journal.jsonl")).unwrap();
    let mut found = vec![listed()];
    mkfifo(&path.join("journal.jsonl"), Mode::S_IRWXU).unwrap();
    found.push(listed());
    fs::remove_file(path.join("journal.jsonl")).unwrap();
    fs::write(path.join("journal.jsonl"), "").unwrap();
    found.push(listed());
    fs::write(path.join("journal.jsonl"), &journal).unwrap();
    fs::remove_file(path.join("trials/1/load.json")).unwrap();
    found.push(listed());
    expect![[r#"
        it cannot be checked: …/one/journal.jsonl: it is gone, and with it the order of the trials; put it back: a new one would begin them again
        it cannot be checked: …/one/journal.jsonl: not a regular file
        trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
        trial 1: load.json cannot be read: No such file or directory
    "#]].assert_eq(&(found.join("\n") + "\n"));
}

#[test]
fn a_results_directory_is_a_list_of_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one");
    run_into(&path, "queue");
    let listing = Listing::of(&path).unwrap();
    assert_eq!(listing.runs.len(), 1);
    assert_eq!(listing.runs[0].directory, path.display().to_string());
}

#[test]
fn an_interrupted_run_says_how_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one");
    run_into(&path, "queue");
    let directory = Directory::open(&path).unwrap();
    let manifest = Manifest {
        state: State::Interrupted,
        started_unix_s: Some(1_795_254_120),
        ..directory.manifest().unwrap()
    };
    let run = of("results/x".to_owned(), manifest, None);
    assert_eq!(run.go_on.as_deref(), Some("benchwright resume results/x"));
    assert_eq!(run.verdict, Verdict::Interrupted);
    assert_eq!(run.started.as_deref(), Some("2026-11-21 09:42"));
}

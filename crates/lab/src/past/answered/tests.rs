use std::fs;
use std::path::Path;

use expect_test::expect;

use crate::backend;
use crate::experiment;
use crate::past::Past;
use crate::progress::Silent;
use crate::{Host, spec};

/// Makes results on virtual time with this version.
fn run_into(path: &Path) {
    let text = "name: queue\nwhere: {backend: simulated}\nsimulated: {service_time: 1ms}\n\
         workload: {get: /}\nload: {model: open}\nphases: {measure: {time: 5s}}\n\
         slo: [{metric: p99, max: 100ms}]\nsearch: {range: [100/s, 300/s], step: 100/s}\n";
    let resolved = spec::from_bytes("my.yaml", text.as_bytes(), Path::new("."), None, &[]).unwrap();
    let host = Host::new("/nowhere/benchwright".into(), env!("CARGO_PKG_VERSION"));
    let backends = backend::for_tests;
    experiment::run(&resolved, Some(path.to_owned()), &host, &backends, &mut Silent).unwrap();
}

/// Returns what is said of results in which one file was changed, and the answer.
fn changed(file: &str, change: impl Fn(Vec<u8>) -> Vec<u8>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run_into(&path);
    let whole = fs::read(path.join(file)).unwrap();
    fs::write(path.join(file), change(whole)).unwrap();
    let past = Past::read(&path).unwrap();
    let (answer, unread) = (past.answer(), past.unread());
    assert_eq!(past.lacks_evidence(), !unread.is_empty());
    format!("{}\n  {:?}: {}\n", unread.join("\n"), answer.verdict, answer.summary)
}

fn replaced<'a>(from: &'a str, to: &'a str) -> impl Fn(Vec<u8>) -> Vec<u8> + 'a {
    move |bytes| {
        let text = String::from_utf8(bytes).unwrap();
        assert!(text.contains(from), "{text}");
        text.replace(from, to).into_bytes()
    }
}

#[test]
fn an_answer_whose_trials_the_journal_does_not_have_is_none() {
    let first_line =
        |bytes: Vec<u8>| bytes.split_inclusive(|&b| b == b'\n').next().unwrap().to_vec();
    let found = [
        changed("journal.jsonl", |bytes| bytes),
        changed("journal.jsonl", |_| Vec::new()),
        changed("journal.jsonl", first_line),
        changed("journal.jsonl", |_| b"VICTIM".to_vec()),
        changed("journal.jsonl", |_| vec![b'['; 100_000]),
        changed("journal.jsonl", |_| vec![0; 100_000]),
        changed("journal.jsonl", |_| vec![0xff; 10]),
    ];
    expect![[r#"

          Answered: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)
        trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
          NoAnswer: no trustworthy answer: trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
        trials 2 and 3: answer.json counts what journal.jsonl does not have
          NoAnswer: no trustworthy answer: trials 2 and 3: answer.json counts what journal.jsonl does not have; so far: maximum throughput at least 100/s; capacity at least 100/s with p99 ≤ 100 ms
        trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
          NoAnswer: no trustworthy answer: trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
        trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
          NoAnswer: no trustworthy answer: trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
        trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
          NoAnswer: no trustworthy answer: trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
        trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
          NoAnswer: no trustworthy answer: trials 1, 2 and 3: answer.json counts what journal.jsonl does not have
    "#]].assert_eq(&found.concat());
}

#[test]
fn an_answer_that_does_not_follow_from_the_journal_is_none() {
    let found = [
        changed("answer.json", replaced("300.0", "99999.0")),
        changed("answer.json", replaced("\"trial\": 2", "\"trial\": 4")),
        // Only what it concludes.
        changed("answer.json", |bytes| {
            let mut answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            answer["capacity"]["rate_per_s"] = 99_999.0.into();
            answer["summary"] = "capacity 99,999/s".into();
            serde_json::to_vec(&answer).unwrap()
        }),
        // Only its words: other programs print them.
        changed("answer.json", |bytes| {
            let mut answer: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            answer["summary"] = "capacity 99,999/s".into();
            serde_json::to_vec(&answer).unwrap()
        }),
        changed("answer.json", replaced("\"the range was measured", "\"nothing was measured")),
        changed("answer.json", replaced("\"answered\"", "\"no_answer\"")),
        // Of another version, which may have concluded otherwise, the trials are compared.
        changed("manifest.json", replaced(super::provenance::OWN, "benchwright 0.0.1")),
    ];
    expect![[r#"
        trial 3: answer.json and journal.jsonl say different things
          NoAnswer: no trustworthy answer: trial 3: answer.json and journal.jsonl say different things; so far: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms
        trial 4: answer.json counts what journal.jsonl does not have
        trial 2: journal.jsonl has what answer.json does not count
          NoAnswer: no trustworthy answer: trial 4: answer.json counts what journal.jsonl does not have; trial 2: journal.jsonl has what answer.json does not count; so far: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms
        answer.json says "capacity 99,999/s", and from journal.jsonl follows "maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)"
          NoAnswer: no trustworthy answer: answer.json says "capacity 99,999/s", and from journal.jsonl follows "maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)"; so far: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms
        answer.json says "capacity 99,999/s", and from journal.jsonl follows "maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)"
          NoAnswer: no trustworthy answer: answer.json says "capacity 99,999/s", and from journal.jsonl follows "maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)"; so far: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms
        answer.json says other things than follow from journal.jsonl
          NoAnswer: no trustworthy answer: answer.json says other things than follow from journal.jsonl; so far: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms
        answer.json says other things than follow from journal.jsonl
          NoAnswer: no trustworthy answer: answer.json says other things than follow from journal.jsonl; so far: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms

          Answered: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)
    "#]].assert_eq(&found.concat());
}

#[test]
fn nothing_follows_from_a_spec_that_the_trials_were_not_judged_by() {
    let tightened = replaced("max: 100ms", "max: 1us");
    let found = [
        changed("spec.yaml", &tightened),
        changed("manifest.json", replaced("\"key\": \"", "\"key\": \"0")),
        // Its budget decides how long it looks, and not what it measures.
        changed("spec.yaml", replaced("trials: 100", "trials: 99")),
    ];
    expect![[r#"
        spec.yaml is not the one by which the trials were measured and judged: nothing follows from it
          NoAnswer: no trustworthy answer: spec.yaml is not the one by which the trials were measured and judged: nothing follows from it
        spec.yaml is not the one by which the trials were measured and judged: nothing follows from it
          NoAnswer: no trustworthy answer: spec.yaml is not the one by which the trials were measured and judged: nothing follows from it

          Answered: maximum throughput at least 292/s; capacity at least 300/s with p99 ≤ 100 ms (the range was measured up to 300/s)
    "#]]
    .assert_eq(&found.concat());

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run_into(&path);
    let edit = |file: &str, change: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        fs::write(path.join(file), change(fs::read(path.join(file)).unwrap())).unwrap();
    };
    // Another version may have written the same spec otherwise, but it has kept what it judged by.
    edit("manifest.json", &replaced(super::provenance::OWN, "benchwright 0.0.1"));
    assert!(!Past::read(&path).unwrap().departs());
    edit("spec.yaml", &tightened);
    assert!(Past::read(&path).unwrap().departs());
    // Of a run that has not ended, nothing is known so far either.
    fs::remove_file(path.join("answer.json")).unwrap();
    let past = Past::read(&path).unwrap();
    assert!(past.lacks_evidence() && past.answer().capacity.is_none());
    assert_eq!(past.answer().trials.len(), 3);
}

/// The files of the trial and their digests are as they were.
#[test]
fn a_journal_with_other_figures_than_the_loads_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run_into(&path);
    fs::remove_file(path.join("answer.json")).unwrap();
    assert_eq!(Past::read(&path).unwrap().unread(), Vec::<String>::new());
    let journal = path.join("journal.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let halved = |line: &str| {
        let mut entry: serde_json::Value = serde_json::from_str(line).unwrap();
        let p99 = entry["observed"]["p99_ns"].as_u64().unwrap();
        entry["observed"]["p99_ns"] = (p99 / 2).into();
        format!("{entry}\n")
    };
    fs::write(&journal, text.lines().map(halved).collect::<String>()).unwrap();
    let past = Past::read(&path).unwrap();
    let unread = past.unread();
    assert!(unread[0].starts_with("trial 1: the journal has p99 "), "{unread:#?}");
    assert!(unread.len() == 3 && past.answer().capacity.is_none(), "{unread:#?}");
}

//! Workloads without Lua: mixes, tables, checks, shapes and traces.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::peer::{self, Answer};
use crate::support::{Scratch, machine, run_while};

/// Starts a server that keeps the header block of every request, by its `X-Number`.
fn recorder() -> (String, Arc<Mutex<BTreeMap<u64, String>>>) {
    let seen = Arc::new(Mutex::new(BTreeMap::new()));
    let kept = Arc::clone(&seen);
    let url = peer::serve_each(move |_, request| {
        let number = request.lines().find_map(|line| line.strip_prefix("X-Number: "));
        let number = number.unwrap().parse().unwrap();
        let earlier = kept.lock().unwrap().insert(number, request.to_owned());
        assert!(earlier.is_none(), "once each");
        peer::ok("x")
    });
    (url, seen)
}

const MIX: &str = r#"
# Two kinds of requests, numbered by their arrival.
{"weight": 3, "label": "read", "target": "/items/{{int 1 1000}}?q={{row.word}}", "headers": {"X-Number": "{{seq}}"}}
{"weight": 1, "label": "find", "target": "/find?lat={{uniform 37.7 38.2 4}}&id={{uuid}}", "headers": {"X-Number": "{{seq}}"}}
"#;

/// Returns the requests of one load, by arrival number, and its document.
fn requests(seed: &str, shards: &str) -> (BTreeMap<u64, String>, Value) {
    let scratch = Scratch::new();
    scratch.file("mix.jsonl", MIX);
    scratch.file("words.csv", "word\nred\n\"green, or so\"\nblue\n");
    let (url, seen) = recorder();
    let mut command = scratch.benchwright();
    command.args(["load", &url, "--rate", "2k/s", "--requests", "1000", "--connections", "8"]);
    command.args(["--mix", "mix.jsonl", "--data", "words.csv", "--json"]);
    command.args(["--header", "Host: fixed", "--seed", seed, "--shards", shards]);
    let ran = run_while(&mut command, |_| {});
    assert!([0, 3].contains(&ran.code), "{ran:#?}");
    let seen = seen.lock().unwrap().clone();
    (seen, ran.json())
}

#[test]
fn a_seed_gives_the_same_bytes_whatever_the_shards() {
    let _machine = machine();
    let (first, document) = requests("5", "1");
    assert_eq!(first.len(), 1000);
    assert_eq!(first.keys().copied().collect::<Vec<_>>(), (0..1000).collect::<Vec<u64>>());
    assert!(first == requests("5", "1").0, "the same again");
    assert!(first == requests("5", "2").0, "the same with two shards");
    assert!(first != requests("6", "1").0, "another seed is another load");
    let of = |label: &str| document["labels"][label]["completed"].as_u64().unwrap();
    assert_eq!(of("read") + of("find"), 1000);
    assert!((690..810).contains(&of("read")), "three quarters: {}", of("read"));
    assert!(first[&4].contains("?q=green,%20or%20so "), "{}", first[&4]);
}

#[test]
fn a_check_that_fails_is_an_outcome_of_its_own() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("{\"hotel\": {\"stars\": 4}}")));
    for (rules, outcomes) in [
        ("status=2xx body~hotel bytes>=10 json:/hotel/stars=4", json!({"ok": 10})),
        ("json:/hotel/stars=5", json!({"check": 10})),
        ("body~motel", json!({"check": 10})),
        ("status=201", json!({"status": 10})),
    ] {
        let scratch = Scratch::new();
        let mut command = scratch.benchwright();
        command.args([
            "load",
            &url,
            "--closed",
            "--connections",
            "1",
            "--requests",
            "10",
            "--json",
        ]);
        let ran = run_while(command.args(["--check", rules]), |_| {});
        assert_eq!(ran.json()["outcomes"], outcomes, "{rules}");
    }
}

#[test]
fn a_shape_lasts_as_long_as_its_parts_which_have_figures_of_their_own() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    let scratch = Scratch::new();
    let mut command = scratch.benchwright();
    command.args(["load", &url, "--arrivals", "constant", "--warm-up", "200ms", "--json"]);
    command.args(["--shape", "200/s 1s, ->400/s 1s, spike 1k/s 500ms"]);
    let document = run_while(&mut command, |_| {}).json();
    let segments = document["segments"].as_array().unwrap();
    let counts: Vec<i64> = segments
        .iter()
        .map(|segment| {
            assert_eq!(segment["failed"], 0);
            segment["completed"].as_i64().unwrap()
        })
        .collect();
    for (count, expected) in counts.iter().zip([200, 300, 500]) {
        assert!((count - expected).abs() <= 1, "{counts:?}");
    }
    assert_eq!(segments[2]["name"], "spike 1k/s 500ms");
    assert_eq!((&segments[2]["begin_s"], &segments[2]["end_s"]), (&json!(2.0), &json!(2.5)));
    assert_eq!(document["measured_s"], 2.5);
}

#[test]
fn a_trace_is_played_with_its_labels() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    let scratch = Scratch::new();
    scratch.file("day.tsv", "# seconds\tlabel\n0.0\tread\n0.1\twrite\n0.1\tread\n1.0\tread\n");
    let mut command = scratch.benchwright();
    command.args(["load", &url, "--trace", "day.tsv", "--speed", "2", "--json"]);
    let document = run_while(&mut command, |_| {}).json();
    assert_eq!(document["counts"]["intended"], 4);
    assert_eq!(document["labels"]["read"]["completed"], 3);
    assert_eq!(document["labels"]["write"]["completed"], 1);
    let measured = document["measured_s"].as_f64().unwrap();
    assert!((0.5..0.9).contains(&measured), "twice as fast: {measured}");
    scratch.file("day.tsv", "1.0\n0.5\n");
    let mut command = scratch.benchwright();
    let ran = run_while(command.args(["load", &url, "--trace", "day.tsv"]), |_| {});
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("day.tsv:2"), "{ran:#?}");
}

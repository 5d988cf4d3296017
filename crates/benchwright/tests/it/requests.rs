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

const JOURNEY: &str = r#"
{"label": "login", "method": "POST", "target": "/login", "body": "user={{row.name}}", "capture": {"token": "json:/token"}}
{"label": "items", "target": "/items", "headers": {"Authorization": "Bearer {{session.token}}"}, "redirects": 1}
{"session": "reader", "steps": ["login", "think 10ms", "items"]}
"#;

/// A service with logins by cookie and token; every tenth login gives none.
fn shop() -> String {
    let logins = Mutex::new(0u32);
    peer::serve_each(move |_, request| {
        let with = |fields: &str, body: &str| {
            format!("HTTP/1.1 {fields}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
                .into_bytes()
        };
        if request.starts_with("POST /login") {
            let mut logins = logins.lock().unwrap();
            *logins += 1;
            return match *logins % 10 {
                0 => peer::ok("{}"),
                n => {
                    with("200 OK\r\nSet-Cookie: sid=1; Path=/", &format!("{{\"token\":\"t{n}\"}}"))
                }
            };
        }
        let is_known =
            request.contains("Authorization: Bearer t") && request.contains("Cookie: sid=1");
        match (is_known, request.starts_with("GET /items ")) {
            (false, _) => with("401 Unauthorized", ""),
            (true, true) => with("302 Found\r\nLocation: /items/all", ""),
            (true, false) => peer::ok("items"),
        }
    })
}

#[test]
fn a_journey_logs_in_and_uses_what_it_got() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("journey.jsonl", JOURNEY);
    scratch.file("users.csv", "name\nAnn\nBob\n");
    let load = |more: &[&str]| {
        let mut command = scratch.benchwright();
        command.args(["load", &shop(), "--mix", "journey.jsonl", "--data", "users.csv", "--json"]);
        let ran = run_while(command.args(more), |_| {});
        assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
        ran.json()
    };
    let closed = load(&["--closed", "--connections", "2", "--requests", "40"]);
    let sessions = &closed["sessions"];
    assert_eq!((&sessions["started"], &sessions["completed"]), (&json!(40), &json!(36)));
    let broken = json!([{
        "at": "login",
        "outcome": "capture",
        "reason": "token from json:/token: not in the response",
        "sessions": 4,
    }]);
    assert_eq!(sessions["broken"], broken);
    assert_eq!(closed["outcomes"], json!({"ok": 108, "capture": 4}));
    assert_eq!(closed["labels"]["items redirected"]["completed"], 36);
    assert_eq!(closed.get("arrivals"), None);
    let slo = ["--slo", "items.p99<=5s,login.failures<=1%"];
    let open = load(&[&["--rate", "100/s", "--duration", "1s"], &slo[..]].concat());
    assert_eq!(open["arrivals"], "sessions");
    assert_eq!(open["sessions"]["asked_per_s"], 100.0);
    assert_eq!(open["rates_per_s"].get("asked"), None);
    let met: Vec<&Value> =
        open["slo"]["objectives"].as_array().unwrap().iter().map(|judged| &judged["met"]).collect();
    assert_eq!(met, [&json!(true), &json!(false)], "{}", open["slo"]);
}

/// The files that a mix names are inputs, as much as those of the command line.
#[test]
fn no_result_replaces_a_body_of_a_mix() {
    let scratch = Scratch::new();
    // Another file of the user is kept anyway.
    let body = scratch.file("body.json", "");
    scratch.file("mix.jsonl", r#"{"method":"POST","target":"/","body_file":"body.json"}"#);
    for option in ["--json", "--csv", "--hlog", "--samples", "--report"] {
        let mut command = scratch.benchwright();
        command.args(["load", "http://127.0.0.1:9", "--rate", "10/s", "--duration", "1s"]);
        command.args(["--mix", "mix.jsonl", &format!("{option}=./body.json")]);
        let ran = run_while(&mut command, |_| {});
        let why = format!("{option} ./body.json would replace body_file body.json, which is read");
        assert!(ran.code == 2 && ran.stderr.contains(&why), "{ran:#?}");
        assert_eq!(std::fs::read_to_string(&body).unwrap(), "");
    }
}

#[test]
fn a_mix_is_checked_and_shown_without_being_sent() {
    let scratch = Scratch::new();
    scratch.file("journey.jsonl", JOURNEY);
    scratch.file("users.csv", "name\nAnn\nBob\n");
    let run = |arguments: &[&str]| {
        let mut command = scratch.benchwright();
        run_while(command.args(["mix", "check", "journey.jsonl"]).args(arguments), |_| {})
    };
    let ran = run(&["--data", "users.csv", "--show", "2", "--url", "http://shop.example/"]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    for expected in ["Host: shop.example", "user=Ann", "Bearer {{session.token}}", "2. items"] {
        assert!(ran.stdout.contains(expected), "{ran:#?}");
    }
    let ran = run(&[]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("journey.jsonl:2:") && ran.stderr.contains("--data"), "{ran:#?}");
}

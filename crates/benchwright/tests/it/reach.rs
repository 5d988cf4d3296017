//! Experiments that use what the load engine can do: the spec reaches the requests.

use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::peer;
use crate::support::{Ran, Scratch, machine, run_while};

/// The requests that a server received, as texts.
type Requests = Arc<Mutex<Vec<String>>>;

fn recorder() -> (String, Requests) {
    let requests = Requests::default();
    let kept = Arc::clone(&requests);
    let url = peer::serve_each(move |_, request| {
        kept.lock().unwrap().push(request.to_owned());
        peer::ok("{\"token\": 7}")
    });
    (url, requests)
}

/// Runs an experiment with one short trial. The machine may disturb it: its load was sent.
fn run(scratch: &Scratch, url: &str, workload: &str, load: &str) -> Ran {
    let spec = format!(
        "name: reach\nwhere: {{backend: external}}\nsut: {{endpoint: \"{url}\"}}\n\
         workload: {{{workload}}}\nload: {{{load}}}\nbudget: {{invalid_attempts: 0}}\n\
         phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 300ms}}, drain: 1s}}\n"
    );
    scratch.file("spec.yaml", spec);
    let mut command = scratch.benchwright();
    run_while(command.args(["run", "spec.yaml", "--out", "out", "--json"]), |_| {})
}

/// Returns the document of the only trial.
fn document(scratch: &Scratch, ran: &Ran) -> Value {
    assert!([0, 3].contains(&ran.code), "{ran:#?}");
    let text = std::fs::read(scratch.path().join("out/trials/1/load.json"));
    serde_json::from_slice(&text.unwrap_or_else(|error| panic!("{error}: {ran:#?}"))).unwrap()
}

/// Returns the arguments of a load, as one text.
fn arguments(document: &Value) -> String {
    let words = document["arguments"].as_array().unwrap().iter();
    words.map(|word| word.as_str().unwrap()).collect::<Vec<_>>().join(" ")
}

const MIX: &str = r#"
{"weight": 3, "label": "read", "target": "/items/{{int 1 9}}?q={{row.word}}"}
{"weight": 1, "label": "add", "method": "POST", "target": "/items", "body_file": "item.json"}
"#;

#[test]
fn a_mix_with_connections_per_rate_runs_and_is_not_continued_with_another() {
    let _machine = machine();
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path().join("requests")).unwrap();
    scratch.file("requests/mix.jsonl", MIX);
    scratch.file("requests/item.json", "{\"new\": true}");
    scratch.file("words.csv", "word\nred\nblue\n");
    let (url, requests) = recorder();
    let load = "model: open, rate: 200/s, connections: {per_rate: 0.1}, timer: sleep, io: epoll";
    let workload = "mix: requests/mix.jsonl, data: words.csv, headers: {X-Tag: [a, b]}";
    let ran = run(&scratch, &url, workload, load);
    let document = document(&scratch, &ran);
    let arguments = arguments(&document);
    for words in [
        "--rate 200/s --arrivals poisson --connections 20 ",
        "--io epoll --timer sleep --header X-Tag: a --header X-Tag: b",
        "--mix ./requests/mix.jsonl --data ./words.csv",
    ] {
        assert!(arguments.contains(words), "{words}: {arguments}");
    }
    assert_eq!(document["connections"]["asked"], 20);
    assert!(0 < document["labels"]["read"]["completed"].as_u64().unwrap());
    let requests = requests.lock().unwrap();
    let added = requests.iter().find(|request| request.starts_with("POST /items ")).unwrap();
    assert!(added.ends_with("\r\n\r\n{\"new\": true}"), "{added}");
    let tagged = |request: &&String| {
        request.contains("\r\nX-Tag: a\r\n") && request.contains("\r\nX-Tag: b\r\n")
    };
    assert_eq!(requests.iter().filter(tagged).count(), requests.len());

    scratch.file("requests/item.json", "{\"new\": false}");
    let ran = run_while(scratch.benchwright().args(["resume", "out"]), |_| {});
    assert_eq!(ran.code, 2, "{ran:#?}");
    let expected = "changed since it began: workload.mix item.json";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn one_request_has_the_method_the_body_and_the_checks_of_the_spec() {
    let _machine = machine();
    let scratch = Scratch::new();
    let (url, requests) = recorder();
    let workload = "path: /orders, method: PUT, body: 'n=1', check: 'json:/token=7', \
                    headers: {Content-Type: application/x-www-form-urlencoded}";
    let load = "model: open, shape: '100/s 100ms, ->300/s 200ms', keep_alive: 3, connections: 4";
    let ran = run(&scratch, &url, workload, load);
    let document = document(&scratch, &ran);
    let arguments = arguments(&document);
    assert!(arguments.contains(" --shape 100/s 100ms, ->300/s 200ms "), "{arguments}");
    assert_eq!(document["outcomes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["ok"]);
    assert!(!ran.stdout.contains("closed"), "{}", ran.stdout);
    let requests = requests.lock().unwrap();
    for request in requests.iter() {
        assert!(request.starts_with("PUT /orders HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nContent-Type: application/x-www-form-urlencoded\r\n"));
        assert!(request.ends_with("\r\n\r\nn=1"), "{request}");
    }
}

#[test]
fn a_script_that_logs_in_first_can_be_used() {
    let _machine = machine();
    let scratch = Scratch::new();
    let script = "function init(args)\n  local _, _, body = wrk.fetch(wrk.format('GET', '/login'))\n  \
                  wrk.headers['X-Token'] = body:match('%d+')\nend\n";
    scratch.file("login.lua", script);
    let (url, requests) = recorder();
    let ran = run(&scratch, &url, "script: login.lua", "model: closed, think: 'exp:10ms'");
    let document = document(&scratch, &ran);
    assert!(arguments(&document).contains("--closed --think exp:10ms "));
    let requests = requests.lock().unwrap();
    assert!(requests.iter().any(|request| request.contains("\r\nX-Token: 7\r\n")), "{ran:#?}");
}

#[test]
fn a_file_with_an_error_is_found_before_anything_is_deployed() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("bad.jsonl", "{\"target\": \"/{{sequence}}\"}\n");
    scratch.file("empty.pem", "");
    scratch.file("bad.txt", "1.0\n0.5\n");
    for (workload, load, hint) in [
        ("mix: bad.jsonl", "rate: 1/s", "bad.jsonl:1"),
        ("get: /, check: 'status~2xx'", "rate: 1/s", "workload.check: "),
        ("get: /", "trace: bad.txt", "bad.txt:2"),
        ("get: /", "rate: 1/s, tls: {ca: empty.pem}", "empty.pem: the file is empty"),
        ("get: /", "rate: 1/s, congestion_control: nonesuch", "load.congestion_control "),
    ] {
        let spec = format!(
            "name: t\nsut: {{deploy: [process: {{name: a, command: [touch, deployed]}}]}}\n\
             workload: {{{workload}}}\nload: {{model: open, {load}}}\n"
        );
        scratch.file("spec.yaml", spec);
        let ran = run_while(scratch.benchwright().args(["run", "spec.yaml"]), |_| {});
        assert_eq!(ran.code, 2, "{hint}: {ran:#?}");
        assert!(ran.stderr.contains("the generator refuses this load"), "{}", ran.stderr);
        assert!(ran.stderr.contains(hint), "{hint}: {}", ran.stderr);
        assert_eq!(scratch.remains(), [""; 0]);
        let left = |name: &str| Path::exists(&scratch.path().join(name));
        assert!(!left("deployed") && !left("results"), "{hint}");
    }
}

#[test]
fn a_dry_run_sends_nothing() {
    let _machine = machine();
    let scratch = Scratch::new();
    let (url, requests) = recorder();
    scratch.file("mix.jsonl", "{\"target\": \"/\"}\n");
    let mut command = scratch.benchwright();
    command.args(["load", "--dry-run", &url, "--rate", "1k/s", "--mix", "mix.jsonl"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    assert!(requests.lock().unwrap().is_empty());
}

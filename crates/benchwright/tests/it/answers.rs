//! The outcomes of responses of every kind, through real sockets: one outcome for each request.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::peer::{self, Answer};
use crate::support::{Scratch, benchwright, machine, run, run_while, sleep};

/// A short timeout, for tests that wait for one.
const SOON: [&str; 2] = ["--timeout", "300ms"];

/// Sends ten requests on one connection, one after the other.
fn ask(url: &str, more: &[&str]) -> Value {
    let fixed = ["--closed", "--connections", "1", "--requests", "10"];
    let ran = run(&[&["load", url, "--json", "--shards", "1"], &fixed[..], more].concat());
    assert!([0, 1, 3].contains(&ran.code), "{ran:#?}");
    ran.json()
}

fn with(text: &str) -> Answer {
    Answer::With(text.as_bytes().to_vec())
}

#[test]
fn every_kind_of_answer_has_its_outcome() {
    let _machine = machine();
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let bytes = |text: &str| text.as_bytes().to_vec();
    for (what, answer, outcomes, statuses, reconnects) in [
        ("a counted body", with(ok), json!({"ok": 10}), json!({"200": 10}), 0),
        (
            "503",
            with("HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy"),
            json!({"status": 10}),
            json!({"503": 10}),
            0,
        ),
        (
            "interim answers first",
            with(
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nA: b\r\n\r\n\
                 HTTP/1.1 201 Made\r\nContent-Length: 0\r\n\r\n",
            ),
            json!({"ok": 10}),
            json!({"201": 10}),
            0,
        ),
        (
            "chunks and trailers",
            with(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
                 3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
            ),
            json!({"ok": 10}),
            json!({"200": 10}),
            0,
        ),
        (
            "304 with a length",
            with("HTTP/1.1 304 Same\r\nContent-Length: 9\r\n\r\n"),
            json!({"ok": 10}),
            json!({"304": 10}),
            0,
        ),
        (
            "HTTP/1.0, to the end of the connection",
            Answer::AndClose(bytes("HTTP/1.0 200 OK\r\n\r\nall of it")),
            json!({"ok": 10}),
            json!({"200": 10}),
            9,
        ),
        (
            "HTTP/1.0 that keeps alive",
            with("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx"),
            json!({"ok": 10}),
            json!({"200": 10}),
            0,
        ),
        (
            "a close in order after each",
            Answer::AndClose(bytes(
                "HTTP/1.1 200 OK\r\nConnection: foo, CLOSE\r\nContent-Length: 1\r\n\r\nx",
            )),
            json!({"ok": 10}),
            json!({"200": 10}),
            9,
        ),
        (
            "half of a body",
            Answer::AndClose(bytes("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")),
            json!({"reset": 10}),
            json!({}),
            9,
        ),
        ("a reset", Answer::AndReset(Vec::new()), json!({"reset": 10}), json!({}), 9),
        (
            "another protocol",
            with("220 mail.example ready\r\n\r\n"),
            json!({"malformed": 10}),
            json!({}),
            9,
        ),
        ("101", with("HTTP/1.1 101 Up\r\n\r\n"), json!({"malformed": 10}), json!({}), 9),
    ] {
        let document = ask(&peer::serve(answer), &[]);
        assert_eq!(document["outcomes"], outcomes, "{what}: {document:#}");
        assert_eq!(document["statuses"], statuses, "{what}");
        assert_eq!(document["counts"]["intended"], 10, "{what}");
        let found = document["counts"]["reconnects"].as_u64().unwrap();
        assert!((reconnects..=reconnects + 1).contains(&found), "{what}: {found} reconnects");
    }
}

#[test]
fn an_answer_to_head_has_no_body() {
    let _machine = machine();
    let url = peer::serve(with("HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"));
    let document = ask(&url, &["--method", "HEAD"]);
    assert_eq!(document["outcomes"], json!({"ok": 10}));
}

#[test]
fn a_silent_target_costs_the_timeout_and_the_connection() {
    let _machine = machine();
    let url = peer::serve(Answer::Silence);
    let document = ask(&url, &[&SOON[..], &["--requests", "2", "--connections", "2"]].concat());
    assert_eq!(document["outcomes"], json!({"timeout": 2}));
    // The histogram keeps three digits.
    assert!(299_500_000 <= document["response_time"]["min_ns"].as_u64().unwrap());
}

#[test]
fn the_reason_of_a_malformed_response_is_stated() {
    let _machine = machine();
    for (answer, more, reason) in [
        (with("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"), &[][..], "malformed Content-Length"),
        (
            with(
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ),
            &[],
            "Content-Length beside Transfer-Encoding",
        ),
        // Nothing of it ever arrives.
        (
            with("HTTP/1.1 200 OK\r\nContent-Length: 9000000000\r\n\r\n"),
            &["--max-body", "1MiB"],
            "the body is longer than --max-body",
        ),
        (Answer::Endless(b"HTTP/1.1 200 OK\r\nA: ".repeat(400)), &[], "header block"),
        (
            Answer::Endless(
                b"HTTP/1.1 200 OK\r\n\r\n".iter().chain(&[b'x'; 9000]).copied().collect(),
            ),
            &["--max-body", "1MiB"],
            "the body is longer than --max-body",
        ),
    ] {
        let document = ask(&peer::serve(answer), &[&["--requests", "1"], more].concat());
        assert_eq!(document["outcomes"], json!({"malformed": 1}), "{document:#}");
        let found = document["failures"][0]["text"].as_str().unwrap();
        assert!(found.starts_with("malformed response (") && found.contains(reason), "{found}");
    }
}

#[test]
fn a_connection_for_each_request_is_part_of_its_time() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    let document = ask(&url, &["--keep-alive", "1"]);
    assert_eq!(document["outcomes"], json!({"ok": 10}));
    // One was opened before the load, to check that the target is there.
    assert_eq!(document["connect_time"]["count"], 11);
    let least = |name: &str| document[name]["min_ns"].as_u64().unwrap();
    assert!(least("connect_time") < least("service_time"));
}

#[test]
fn a_socket_in_the_file_system_is_loaded_like_any_other() {
    let _machine = machine();
    let scratch = Scratch::new();
    let socket = scratch.path().join("server.sock");
    peer::serve_at(&socket, Answer::With(peer::ok("x")));
    let escaped = socket.display().to_string().replace('/', "%2F");
    let document = ask(&format!("http+unix://{escaped}/path"), &[]);
    assert_eq!(document["outcomes"], json!({"ok": 10}));
}

#[test]
fn connect_to_and_source_choose_both_ends_of_a_connection() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    let place = url.trim_start_matches("http://").trim_end_matches('/');
    let more = ["--connect-to", place, "--source", "127.0.0.8,127.0.0.9", "--connections", "2"];
    let document = ask("http://nowhere.invalid/", &more);
    assert_eq!(document["outcomes"], json!({"ok": 10}));
}

#[test]
fn several_requests_share_a_connection_in_a_pipeline() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    assert_eq!(ask(&url, &["--pipeline", "5"])["outcomes"], json!({"ok": 10}));
    // All five wait at once: the first times out, and its connection is closed.
    let url = peer::serve(Answer::Silence);
    let document = ask(&url, &[&SOON[..], &["--pipeline", "5", "--requests", "5"]].concat());
    assert_eq!(document["outcomes"], json!({"timeout": 1, "reset": 4}));
}

/// Returns the peak memory of a process so far, in bytes.
fn peak_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * peak.trim().strip_suffix(" kB")?.parse::<u64>().ok()?)
}

#[test]
fn a_silent_target_ends_the_load_as_overloaded_in_bounded_memory() {
    let _machine = machine();
    let url = peer::serve(Answer::Silence);
    let mut command = Command::new(benchwright());
    command.args(["load", &url, "--rate", "50k/s", "--duration", "60s", "--json"]);
    let mut peak = 0;
    let ran = run_while(command.args(["--backlog", "100k"]), |pid| {
        // A process that has ended has no memory.
        while let Some(so_far) = peak_memory(pid) {
            peak = so_far;
            sleep(Duration::from_millis(10));
        }
    });
    let document = ran.json();
    assert_eq!(document["ended"], "overloaded", "{document:#}");
    // The machine may be disturbed; but a silent target does not make the load invalid.
    let gates = document["validity"]["gates"].as_array().unwrap();
    let passed =
        |name: &str| gates.iter().any(|gate| gate["name"] == name && gate["passed"] == true);
    assert!(passed("lost"), "{gates:#?}");
    // No request succeeded.
    assert_eq!(ran.code, if document["validity"]["valid"] == true { 1 } else { 3 });
    let dropped = document["counts"]["dropped"].as_u64().unwrap();
    assert!((1..50_000).contains(&dropped), "the requests of one turn: {dropped}");
    // With all three million requests in the backlog it would use 100 MB more.
    assert!((1..80_000_000).contains(&peak), "{peak} bytes");
    let seconds = document["measured_s"].as_f64().unwrap();
    assert!(seconds < 10.0, "two seconds fill the backlog: {seconds} s");
    let found = document["findings"].to_string();
    assert!(found.contains("overloaded: the backlog reached its bound"), "{found}");
    assert_eq!(document["partial"], false);
}

//! Runs the originals' own scripts, unmodified, by hand: none of their requests is sent.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use load::driver::http1::HttpWorkload;
use measure::Nanos;

use crate::support::{Setting, exchange, path, target, text, try_request};
use crate::{Compatibility, Distribution, Program, Results, Script, ScriptSet};

const OK: &str = "HTTP/1.1 200 OK";

#[test]
fn auth_uses_the_first_token_that_an_answer_has() {
    let Some((_, mut scripts)) = wrk("auth", 2) else { return };
    let granted = "HTTP/1.1 200 OK\nX-Token: t0k3n";
    assert!(exchange(&mut scripts[0], granted, "").starts_with("GET /authenticate HTTP"));
    for _ in 0..3 {
        let request = exchange(&mut scripts[0], "HTTP/1.1 200 OK\nX-Token: other", "");
        assert!(request.starts_with("GET /resource ") && request.contains("\nX-Token: t0k3n\n"));
    }
    assert_eq!(path(&mut scripts[1]), "/authenticate", "each thread has a token of its own");
}

#[test]
fn counter_has_no_gaps_and_the_first_of_all_was_called_beforehand() {
    let Some((_, mut scripts)) = wrk("counter", 2) else { return };
    for (number, script) in scripts.iter_mut().enumerate() {
        let first = 1 - number;
        for count in first..500 {
            if count % 7 == 0 {
                script.prepare().unwrap();
            }
            let request = text(script);
            assert!(request.starts_with(&format!("GET /{count} HTTP/1.1\n")), "{request}");
            assert!(request.contains(&format!("\nX-Counter: {count}\n")));
        }
    }
}

#[test]
fn delay_is_from_10_to_50_ms() {
    let Some((_, mut scripts)) = wrk("delay", 1) else { return };
    let delays: Vec<Nanos> = (0..10_000).map(|_| scripts[0].delay().unwrap()).collect();
    assert_eq!(delays.iter().min(), Some(&Nanos::from_millis(10)));
    assert_eq!(delays.iter().max(), Some(&Nanos::from_millis(50)));
}

#[test]
fn pipeline_sends_three_requests_at_once() {
    let Some((script_set, mut scripts)) = wrk("pipeline", 1) else { return };
    assert_eq!(script_set.at_once(), 3);
    let (wire, expected) = try_request(&mut scripts[0], 0).unwrap();
    assert_eq!(expected.len(), 3);
    let wire = String::from_utf8(wire).unwrap();
    let lines: Vec<&str> = wire.lines().filter(|line| line.starts_with("GET ")).collect();
    assert_eq!(lines, ["GET /?foo HTTP/1.1", "GET /?bar HTTP/1.1", "GET /?baz HTTP/1.1"]);
}

#[test]
fn post_has_a_type_and_a_length() {
    let Some((_, mut scripts)) = wrk("post", 1) else { return };
    assert_eq!(
        text(&mut scripts[0]),
        "POST /index.html?a=b HTTP/1.1\nContent-Length: 16\n\
         Content-Type: application/x-www-form-urlencoded\nHost: localhost:5000\n\n\
         foo=bar&baz=quux"
    );
    assert!(!scripts[0].is_scripted());
}

#[test]
fn report_writes_dashes_and_four_lines_of_csv() {
    let Some(told) = alone("report_writes_dashes_and_four_lines_of_csv", &[], || {
        let (script_set, _) = wrk("report", 1).unwrap();
        let values = (1..=100_000).map(|value| (f64::from(value), 1)).collect();
        let latency = Distribution { values, ..Distribution::default() };
        script_set.done(0, &Results { latency, ..Results::default() }).unwrap();
    }) else {
        return;
    };
    let dashes = "-".repeat(30);
    let mut lines = told.lines().skip_while(|line| *line != dashes).take(5);
    assert_eq!(lines.next(), Some(&*dashes));
    let mut rows: Vec<&str> = lines.collect();
    rows.sort_unstable();
    assert_eq!(rows, ["50%,50001", "90%,90001", "99%,99001", "99.999%,100000"], "{told}");
}

#[test]
fn setup_counts_per_thread_and_prints_in_the_end() {
    let Some(told) = alone("setup_counts_per_thread_and_prints_in_the_end", &[], || {
        let (script_set, mut scripts) = wrk("setup", 2).unwrap();
        for (number, script) in scripts.iter_mut().enumerate() {
            for _ in 0..10 * (number + 1) {
                exchange(script, OK, "");
            }
        }
        script_set.done(0, &Results::default()).unwrap();
    }) else {
        return;
    };
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("thread ")).collect();
    assert_eq!(
        lines,
        [
            "thread 1 created",
            "thread 2 created",
            // This includes the call before the load.
            "thread 1 made 11 requests and got 10 responses",
            "thread 2 made 20 requests and got 20 responses",
        ]
    );
}

const HOTEL: &str =
    "deathstarbench/hotelReservation/wrk2/scripts/hotel-reservation/mixed-workload_type_1.lua";
const SOCIAL: &str = "deathstarbench/socialNetwork/wrk2/scripts";

#[test]
fn the_hotel_gets_requests_in_the_stated_shares() {
    let Some((_, mut scripts)) = assembled(HOTEL, Compatibility::Dsb, 1) else { return };
    check_shares(
        &mut scripts[0],
        &[
            ("GET http://localhost:5000/hotels?inDate=2015-04-", 0.6),
            ("GET http://localhost:5000/recommendations?require=", 0.39),
            ("POST http://localhost:5000/user?username=Cornell_", 0.005),
            ("POST http://localhost:5000/reservation?inDate=2015-04-", 0.005),
        ],
    );
}

#[test]
fn four_targets_with_48_threads_each_have_196_instances() {
    let Some(peers) = peers() else { return };
    let program = Program::load(&peers.join(HOTEL), vec![]).unwrap();
    let targets = vec![target(); 4];
    let setting = Setting { targets, threads: 48, ..Setting::of(Compatibility::Dsb) };
    let (_, mut scripts) = setting.perform(&program).unwrap();
    assert_eq!(scripts.len(), 192);
    for script in &mut scripts {
        for _ in 0..100 {
            assert!(text(script).contains("\nHost: localhost:5000\n"));
        }
    }
}

#[test]
fn the_social_network_gets_requests_in_the_stated_shares() {
    for folder in ["social-network", "social-network-determinism"] {
        let script = format!("{SOCIAL}/{folder}/mixed-workload.lua");
        let Some((_, mut scripts)) = assembled(&script, Compatibility::Dsb, 1) else { return };
        let api = "http://localhost:8080/wrk2-api";
        check_shares(
            &mut scripts[0],
            &[
                (&format!("GET {api}/home-timeline/read?user_id="), 0.6),
                (&format!("GET {api}/user-timeline/read?user_id="), 0.3),
                (&format!("POST {api}/post/compose "), 0.1),
            ],
        );
    }
}

#[test]
fn environment_variables_are_obeyed() {
    let of = |name: &str| format!("{SOCIAL}/social-network-determinism/{name}.lua");
    let environment = [("max_user_index", "3"), ("start", "5"), ("stop", "6"), ("text_len", "11")];
    let told = alone("environment_variables_are_obeyed", &environment, || {
        let mut users = BTreeMap::new();
        for name in ["read-home-timeline", "read-user-timeline", "compose-post"] {
            let (_, mut scripts) = assembled(&of(name), Compatibility::Dsb, 1).unwrap();
            for _ in 0..100 {
                let request = text(&mut scripts[0]);
                let after = |name: &str| {
                    let value = request.split(&format!("{name}=")).nth(1).unwrap();
                    value.split(['&', ' ']).next().unwrap().to_owned()
                };
                *users.entry(after("user_id")).or_insert(0) += 1;
                if name == "compose-post" {
                    assert_eq!(after("&text").len(), 11);
                } else {
                    assert_eq!((after("start"), after("stop")), ("5".to_owned(), "6".to_owned()));
                }
            }
        }
        assert_eq!(users.keys().collect::<Vec<_>>(), ["0", "1", "2"]);
    });
    drop(told);
}

#[test]
fn posts_count_their_bytes() {
    for folder in ["social-network", "social-network-determinism"] {
        let script = format!("{SOCIAL}/{folder}/compose-post.lua");
        let Some((_, mut scripts)) = assembled(&script, Compatibility::Dsb, 1) else { return };
        for _ in 0..100 {
            let request = text(&mut scripts[0]);
            let (head, body) = request.split_once("\n\n").unwrap();
            assert!(head.contains(&format!("\nContent-Length: {}", body.len())), "{request}");
        }
    }
}

fn check_shares(script: &mut Script, kinds: &[(&str, f64)]) {
    let requests = 20_000;
    let mut counts = vec![0_u32; kinds.len()];
    for number in 0..requests {
        if number % 3 == 0 {
            script.prepare().unwrap();
        }
        let request = text(script);
        let kind = kinds.iter().position(|(start, _)| request.starts_with(start));
        counts[kind.unwrap_or_else(|| panic!("{request}"))] += 1;
        assert!(request.contains("\nHost: localhost:5000\n"), "{request}");
    }
    for ((start, share), count) in kinds.iter().zip(counts) {
        let expected = share * f64::from(requests);
        let deviation = (expected * (1.0 - share)).sqrt();
        // The scripts seed from the clock: 4 σ would fail once in some thousand runs.
        assert!((f64::from(count) - expected).abs() < 6.0 * deviation, "{start}: {count}");
    }
}

fn wrk(script: &str, threads: usize) -> Option<(ScriptSet, Vec<Script>)> {
    assembled(&format!("wrk/scripts/{script}.lua"), Compatibility::Wrk, threads)
}

fn assembled(
    script: &str,
    compatibility: Compatibility,
    threads: usize,
) -> Option<(ScriptSet, Vec<Script>)> {
    let program = Program::load(&peers()?.join(script), vec![]).unwrap();
    Some(Setting { threads, ..Setting::of(compatibility) }.perform(&program).unwrap())
}

/// Runs `what` in its own process with these variables, and returns the output of that process.
fn alone(test: &str, environment: &[(&str, &str)], what: impl FnOnce()) -> Option<String> {
    const ALONE: &str = "BENCHWRIGHT_SCRIPT_ALONE";
    peers()?;
    if std::env::var_os(ALONE).is_some() {
        what();
        return None;
    }
    let test = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &test, "--nocapture"])
        .env(ALONE, "yes")
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    Some(told)
}

/// The folder with the originals' scripts, which we may not ship. Without it the test is reported
/// as skipped; the harness names the thread after the test.
fn peers() -> Option<PathBuf> {
    const PEERS: &str = "BENCHWRIGHT_PEERS";
    let folder = std::env::var_os(PEERS).filter(|folder| !folder.is_empty());
    if folder.is_none() {
        let thread = std::thread::current();
        let test = thread.name().and_then(|name| name.rsplit("::").next());
        skip(&format!("skipped: {}: needs {PEERS}\n", test.unwrap_or(module_path!())));
    }
    folder.map(PathBuf::from)
}

#[expect(clippy::print_stderr, reason = "a skipped test must not pass in silence")]
fn skip(line: &str) {
    eprint!("{line}");
    if let Some(file) = std::env::var_os("BENCHWRIGHT_SKIPPED") {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

//! `benchwright load` against the reference server.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    Scratch, Server, benchwright, machine, now, run, run_while, signal, sleep, soon,
    until_it_listens_to_ctrl_c,
};

fn load(url: &str, more: &[&str]) -> Value {
    let ran = run(&[&["load", url, "--json"], more].concat());
    assert!([0, 3].contains(&ran.code), "{ran:#?}");
    ran.json()
}

#[test]
fn every_intended_request_is_seen_by_the_server_and_has_an_outcome() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "1ms"]);
    let document = load(&server.url, &["--rate", "2k/s", "--duration", "1s"]);
    let counts = &document["counts"];
    assert_eq!(counts["intended"], counts["completed"]);
    assert_eq!(document["outcomes"]["ok"], counts["intended"]);
    let log: Value = serde_json::from_str(&server.end()).unwrap();
    assert_eq!(log["requests"], counts["intended"]);
    let p50 = document["response_time"]["p50_ns"].as_f64().unwrap();
    assert!(log["p50_ns"].as_f64().unwrap() <= p50, "a response takes at least the server's time");
}

#[test]
fn several_urls_share_the_rate_or_have_it_each() {
    let _machine = machine();
    let servers = [Server::reference(&[]), Server::reference(&[])];
    let urls = [servers[0].url.as_str(), servers[1].url.as_str()];
    for (flags, each) in [(&[][..], 500.0), (&["--per-target"], 1_000.0)] {
        let more =
            [&[urls[1], "--rate", "1k/s", "--arrivals", "constant", "--duration", "1s"], flags]
                .concat();
        let document = load(urls[0], &more);
        let targets = document["targets"].as_array().unwrap();
        assert_eq!(targets.len(), 2);
        let mut sum = 0;
        for (target, url) in targets.iter().zip(urls) {
            assert_eq!(target["url"], url);
            assert_eq!(target["counts"]["intended"].as_f64(), Some(each));
            sum += target["response_time"]["count"].as_u64().unwrap();
        }
        assert_eq!(document["response_time"]["count"].as_u64(), Some(sum), "merged exactly");
    }
}

#[test]
fn a_list_of_addresses_is_used_in_turn() {
    let _machine = machine();
    let servers = [Server::reference(&[]), Server::reference(&[])];
    let address = |server: &Server| server.url.trim_start_matches("http://").to_owned();
    let list = servers.iter().map(address).collect::<Vec<_>>().join(",");
    let arguments = ["--address", &list, "--rate", "1k/s", "--duration", "1s", "--shards", "1"];
    let document = load("http://replicas.invalid/", &arguments);
    let seen: Vec<u64> = servers
        .into_iter()
        .map(|server| {
            let log: Value = serde_json::from_str(&server.end()).unwrap();
            log["requests"].as_u64().unwrap()
        })
        .collect();
    assert_eq!(document["counts"]["sent"].as_u64(), Some(seen.iter().sum()));
    assert!(seen.iter().all(|&count| 300 < count), "{seen:?}");
}

#[test]
fn a_closed_loop_slows_down_with_its_target() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "10ms"]);
    let document = load(&server.url, &["--closed", "--connections", "4", "--duration", "1s"]);
    assert_eq!(document["pacing"]["loop"], "closed");
    let completed = document["rates_per_s"]["completed"].as_f64().unwrap();
    assert!(completed <= 401.0, "four connections of 10 ms each: {completed}");
}

#[test]
fn loads_of_several_processes_are_one_with_the_quantiles_of_all() {
    let _machine = machine();
    // A third of the requests get a response at once, the others after 20 ms.
    let servers = [Server::reference(&[]), Server::reference(&["--delay", "20ms"])];
    let scratch = Scratch::new();
    let files = ["quick.json", "slow.json"].map(|name| scratch.path().join(name));
    let of = |place: usize| {
        let rate = ["500/s", "1k/s"][place];
        let mut command = Command::new(benchwright());
        command.args(["load", &servers[place].url, "--rate", rate, "--arrivals", "constant"]);
        command.args(["--duration", "1s", "--shards", "1", "--timer", "sleep"]);
        command.arg(format!("--json={}", files[place].display()));
        command
    };
    let ran = run_while(&mut of(0), |_| {
        run_while(&mut of(1), |_| {});
    });
    assert!([0, 3].contains(&ran.code), "{ran:#?}");

    let files = files.each_ref().map(|file| file.to_str().unwrap());
    let parts = files.map(|file| -> Value {
        serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
    });
    let merged = run(&["merge", files[0], files[1], "--json"]);
    let is_valid = |document: &Value| document["validity"]["valid"] == true;
    assert_eq!(merged.code, if parts.iter().all(is_valid) { 0 } else { 3 }, "{merged:#?}");
    let whole = merged.json();
    assert_eq!(whole["counts"]["intended"], 1_500);
    assert_eq!(whole["rates_per_s"]["asked"], 1_500.0);
    assert_eq!(whole["connections"]["reached"], 128);
    assert_eq!(whole["targets"].as_array().unwrap().len(), 2);
    let times = &whole["response_time"];
    assert_eq!(times["count"], 1_500);
    // Two thirds took 20 ms, so the median is 20 ms; an average of both medians would be 10 ms.
    assert!(times["p50_ns"].as_f64().unwrap() >= 20e6, "{times}");

    let text = run(&["merge", files[0], files[1]]);
    assert!(text.stdout.contains("1,500 requests"), "{}", text.stdout);
    let twice = run(&["merge", files[0], files[0]]);
    assert_eq!(twice.code, 2, "{twice:#?}");
    assert!(twice.stderr.contains("it is the same load as"), "{}", twice.stderr);
}

#[test]
fn an_interrupted_load_reports_what_it_has() {
    let _machine = machine();
    let server = Server::reference(&[]);
    soon(Duration::from_secs(1), || {
        let mut command = Command::new(benchwright());
        command.args(["load", &server.url, "--rate", "1k/s", "--duration", "30s", "--json"]);
        let mut asked = None;
        let ran = run_while(&mut command, |pid| {
            until_it_listens_to_ctrl_c(pid);
            sleep(Duration::from_millis(1_500));
            asked = Some(now());
            signal(pid, "INT");
        });
        let took = now() - asked.unwrap();
        assert_eq!(ran.code, 130, "{ran:#?}");
        let document = ran.json();
        assert_eq!(document["partial"], true);
        assert!(100 < document["counts"]["completed"].as_u64().unwrap());
        took
    });
}

#[test]
fn a_target_that_dies_does_not_end_the_load() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let mut command = Command::new(benchwright());
    let more = ["--rate", "1k/s", "--duration", "2s", "--drain", "100ms", "--json"];
    command.args([&["load", &server.url][..], &more].concat());
    let ran = run_while(&mut command, |_| {
        sleep(Duration::from_millis(1_000));
        signal(server.pid(), "KILL");
    });
    let document = ran.json();
    let outcomes = document["outcomes"].as_object().unwrap();
    assert!(
        outcomes.contains_key("connect") || outcomes.contains_key("unfinished"),
        "{outcomes:?}"
    );
    let sum: u64 = outcomes.values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(document["counts"]["intended"].as_u64(), Some(sum));
}

#[test]
fn a_target_that_is_not_there_gives_no_answer() {
    let _machine = machine();
    let ran = run(&["load", "http://127.0.0.1:1/", "--rate", "1k/s"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("connection refused: is it running"), "{}", ran.stderr);
}

#[test]
fn a_script_that_fails_under_load_gives_no_answer_and_names_the_line() {
    let _machine = machine();
    let scratch = Scratch::new();
    let script = "local n = 0\nfunction request()\n  n = n + 1\n  if n > 50 then error('out of \
                  ideas') end\n  return wrk.format('GET', '/')\nend\n";
    let path = scratch.file("fails.lua", script);
    let server = Server::reference(&[]);
    let path = path.to_str().unwrap();
    // Of the ten seconds that it would last.
    soon(Duration::from_secs(1), || {
        let ran = run(&["load", &server.url, "--rate", "1k/s", "--script", path]);
        assert_eq!(ran.code, 3, "{ran:#?}");
        let expected = ["fails.lua:4", "out of ideas"];
        assert!(expected.iter().all(|words| ran.stderr.contains(words)), "{ran:#?}");
        ran.took
    });
}

#[test]
fn the_result_is_one_screen_of_text() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let ran = run(&["load", &server.url, "--rate", "500/s", "--duration", "1s"]);
    for word in ["asked 500/s", "offered", "completed", "p99.9", "response", "service", "lateness"]
    {
        assert!(ran.stdout.contains(word), "{word}: {ran:#?}");
    }
    assert!(ran.stdout.lines().count() < 24, "{}", ran.stdout);
}

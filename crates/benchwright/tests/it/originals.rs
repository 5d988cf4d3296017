//! wrk, wrk2 and DeathStarBench's fork: their command lines, their text, their exit codes.

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::expressions::{self, Lines};
use crate::peer::{self, Answer};
use crate::support::{
    Scratch, Server, benchwright, free_port, get, machine, now, peers, run, run_while, signal,
    sleep, soon, tool, until, until_it_listens_to_ctrl_c,
};

fn lines(text: &str) -> Lines {
    expressions::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a command that must succeed, and returns its stdout.
fn answered(command: &mut Command) -> String {
    let ran = run_while(command, |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    ran.stdout
}

#[test]
fn debians_wrk_and_ours_are_read_by_the_same_expressions() {
    let test = "debians_wrk_and_ours_are_read_by_the_same_expressions";
    if !tool(test, "wrk") {
        return;
    }
    let _machine = machine();
    let ok = Answer::With(peer::ok("hello"));
    let missing = Answer::With(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec());
    let half = Answer::AndClose(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234".to_vec());
    for (answer, special) in [(ok, None), (missing, Some("statuses")), (half, Some("errors"))] {
        let url = peer::serve(answer);
        let options = ["-t2", "-c4", "-d1s", "-L", &url];
        let theirs = answered(Command::new("wrk").args(options));
        let ours = answered(Command::new(benchwright()).arg("wrk").args(options));
        let (theirs, ours) = (lines(&theirs), lines(&ours));
        let kinds = |lines: &Lines| {
            lines.iter().map(|(kind, lines)| (*kind, lines.len())).collect::<BTreeMap<_, _>>()
        };
        assert_eq!(kinds(&ours), kinds(&theirs));
        for same in ["run", "threads", "head"] {
            assert_eq!(ours[same], theirs[same]);
        }
        if let Some(kind) = special {
            assert!(ours.contains_key(kind), "{ours:?}");
        }
    }
}

/// Covers `--strict`: without it the exit code, like the originals', states only that there was a
/// run.
#[test]
fn a_strict_exit_code_says_whether_requests_failed_or_were_late() {
    let _machine = machine();
    let good = Server::reference(&[]);
    let busy = Server::reference(&["--status", "503"]);
    let slow = Server::reference(&["--delay", "20ms"]);
    // A pause of the machine makes responses of the first two late by less than a second.
    for (server, timeout, code, expected) in [
        (&good, "-T1s", 0, "benchwright as wrk"),
        (&busy, "-T1s", 1, "failed: 503 for "),
        (&slow, "-T10ms", 1, "took longer than 10.0 ms (-T)"),
    ] {
        let options = ["wrk", "-t1", "-c4", "-d1s", timeout, &server.url];
        let ran = run(&options);
        assert_eq!(ran.code, 0, "{ran:#?}");
        let ran = run(&[&options[..], &["--strict"]].concat());
        // On a machine that is too busy the load is not valid, which decides the exit code.
        let is_valid = ran.stderr.contains(": the generator was not the bottleneck");
        assert_eq!(ran.code, if is_valid { code } else { 3 }, "{ran:#?}");
        assert!(ran.stderr.contains(expected), "{ran:#?}");
    }
    for (strict, code) in [(&[][..], 1), (&["--strict"], 2)] {
        let ran = run(&[&["wrk", "-c", "many"], strict, &[&good.url]].concat());
        assert_eq!(ran.code, code, "{ran:#?}");
    }
}

/// The distribution's nginx on a free port; it ends with the test.
pub(crate) struct Nginx {
    child: Child,
    pub(crate) url: String,
    _folder: Scratch,
}

impl Nginx {
    fn start() -> Nginx {
        Nginx::start_with("")
    }

    /// Starts nginx with `more` after the address in its `listen` directive.
    pub(crate) fn start_with(more: &str) -> Nginx {
        let folder = Scratch::new();
        let port = free_port();
        let path = folder.path().display();
        let config = format!(
            "daemon off; worker_processes 1; pid {path}/pid; error_log {path}/errors;\n\
             events {{ worker_connections 1024; }}\n\
             http {{\n\
               access_log off; keepalive_requests 100000000; server_tokens off;\n\
               client_body_temp_path {path}/a; proxy_temp_path {path}/b;\n\
               fastcgi_temp_path {path}/c; uwsgi_temp_path {path}/d; scgi_temp_path {path}/e;\n\
               server {{ listen 127.0.0.1:{port}{more};\n\
                 location / {{ return 200 'hello'; }}\n\
                 location /closes {{ keepalive_requests 100; return 200 'hello'; }}\n\
                 location /status {{ stub_status; }} }} }}"
        );
        let file = folder.file("nginx.conf", config);
        let mut command = Command::new("nginx");
        command.arg("-c").arg(file).arg("-p").arg(folder.path()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let address = format!("127.0.0.1:{port}");
        until("nginx", || std::net::TcpStream::connect(&address).is_ok());
        Nginx { child, url: format!("http://{address}"), _folder: folder }
    }

    /// Returns how many requests it has served, including this one.
    fn served(&self) -> u64 {
        let page = get(&self.url, "/status");
        let line = page.lines().nth(2).unwrap();
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        signal(self.child.id(), "TERM");
        let _ = self.child.wait();
    }
}

#[test]
fn nginx_counts_what_we_count_and_the_bytes_are_exact() {
    let test = "nginx_counts_what_we_count_and_the_bytes_are_exact";
    if !tool(test, "nginx") {
        return;
    }
    let _machine = machine();
    let nginx = Nginx::start();
    let whole = {
        let mut stream = std::net::TcpStream::connect(&nginx.url["http://".len()..]).unwrap();
        use std::io::{Read, Write};
        stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        // This response has `close` where others have `keep-alive`, which is five letters longer.
        bytes.len() as u64 + 5
    };
    let before = nginx.served();
    let scratch = Scratch::new();
    let mut command = scratch.benchwright();
    command.args(["wrk", "-t2", "-c64", "-d10s", "-L", "--json=load.json", &nginx.url]);
    let text = answered(&mut command);
    let served = nginx.served() - before - 1;
    let lines = lines(&text);
    let counted = expressions::numbers(&lines["total"][0])[0];
    assert!(counted <= served, "{counted} of {served}");
    assert!(served - counted <= served / 100, "{counted} of {served}");
    let json = std::fs::read(scratch.path().join("load.json")).unwrap();
    let document: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let counts = &document["counts"];
    let bytes = counts["bytes_received"].as_u64().unwrap();
    let completed = counts["completed"].as_u64().unwrap();
    // The end may cut responses off.
    assert!(bytes.abs_diff(whole * completed) < whole * 64, "{bytes} bytes, {completed} × {whole}");
    assert_eq!(document["compatibility"], "wrk");
    // The end cuts off requests in progress; the samples that wrk adds are listed separately.
    let wrk = &document["wrk"];
    assert_eq!(wrk["raw"]["count"], counts["completed"]);
    assert!(wrk["raw"]["count"].as_u64() <= wrk["filled"]["count"].as_u64());
}

#[test]
fn what_nginx_did_not_read_before_it_closed_is_sent_again() {
    let test = "what_nginx_did_not_read_before_it_closed_is_sent_again";
    if !tool(test, "nginx") {
        return;
    }
    let _machine = machine();
    let nginx = Nginx::start();
    let url = format!("{}/closes", nginx.url);
    let closed = ["--closed", "--connections", "4", "--pipeline", "16", "--requests", "20000"];
    let ran = run(&[&["load", &url, "--json"], &closed[..]].concat());
    let document = ran.json();
    // It announces each close in its hundredth response, behind which up to fifteen requests are on their way.
    assert_eq!(document["outcomes"], serde_json::json!({"ok": 20_000}), "{document}");
    assert!(100 <= document["connect_time"]["count"].as_u64().unwrap(), "{document}");
}

#[test]
fn the_name_of_a_link_and_the_arguments_choose_the_compatibility() {
    let _machine = machine();
    let scratch = Scratch::new();
    let url = peer::serve(Answer::With(peer::ok("x")));
    for (name, options, compatibility) in [
        ("wrk", &["-d1s"][..], "wrk"),
        ("wrk", &["-d1s", "-R", "100"], "wrk2"),
        ("wrk", &["-d1s", "-R", "100", "-D", "exp"], "dsb"),
        ("wrk2", &["-d1s", "-R", "100"], "wrk2"),
        ("wrk2", &["-d1s", "-R", "100", "-r"], "dsb"),
        ("wrk", &["-d1s", "-R", "100", "--compatibility", "dsb"], "dsb"),
    ] {
        let link = scratch.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(benchwright(), &link).unwrap();
        }
        let ran = run_while(Command::new(&link).args(options).arg(&url), |_| {});
        assert_eq!(ran.code, 0, "{ran:#?}");
        assert!(ran.stdout.starts_with("Running 1s test @ http://127.0.0.1:"), "{ran:#?}");
        let first = ran.stderr.lines().next().unwrap();
        assert_eq!(first, format!("benchwright as {compatibility}"), "{name} {options:?}");
    }
}

#[test]
fn wrong_command_lines_exit_with_1_and_show_the_usage() {
    for (arguments, what) in [
        (&["wrk", "-c1", "-t2", "http://127.0.0.1:1/"][..], "connections"),
        (&["wrk2", "http://127.0.0.1:1/"], "-R"),
        (
            &["wrk", "-R10", "-D", "uniform", "http://127.0.0.1:1/"],
            "`uniform` is not a valid distribution",
        ),
        (&["wrk", "nowhere"], "invalid URL: nowhere"),
    ] {
        let ran = run(arguments);
        assert_eq!(ran.code, 1, "{ran:#?}");
        assert!(ran.stderr.contains(what), "{ran:#?}");
        assert!(ran.stdout.starts_with("Usage: wrk <options> <url>"), "{ran:#?}");
    }
    let ran = run(&["wrk", "-d1s", "http://127.0.0.1:1/"]);
    assert_eq!(ran.code, 1, "{ran:#?}");
    assert!(ran.stderr.contains("unable to connect to 127.0.0.1:1 Connection refused"), "{ran:#?}");
    assert_eq!(run(&["wrk", "-v"]).code, 0);
    let ran = run(&["wrk", "-d1s", "-s", "/nonexistent.lua", &peer::serve(Answer::Silence)]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "a script that does not load: {ran:#?}");
}

#[test]
fn an_interrupted_original_prints_what_it_has_and_exits_with_0() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    soon(Duration::from_secs(1), || {
        let mut command = Command::new(benchwright());
        command.args(["wrk", "-t1", "-c2", "-d10s", &url]);
        let mut asked = None;
        let ran = run_while(&mut command, |pid| {
            until_it_listens_to_ctrl_c(pid);
            sleep(Duration::from_secs(1));
            asked = Some(now());
            signal(pid, "INT");
        });
        let took = now() - asked.unwrap();
        assert_eq!(ran.code, 0, "{ran:#?}");
        let lines = lines(&ran.stdout);
        assert!(0 < expressions::numbers(&lines["total"][0])[0], "{lines:?}");
        took
    });
}

const MIXED: &str =
    "deathstarbench/hotelReservation/wrk2/scripts/hotel-reservation/mixed-workload_type_1.lua";

/// Runs guide 1's command line, with rates scaled to this machine.
#[test]
fn guide_1_loads_four_instances_at_once() {
    let test = "guide_1_loads_four_instances_at_once";
    let Some(peers) = peers(test) else { return };
    let _machine = machine();
    let servers: Vec<Server> = (0..4).map(|_| Server::hotel()).collect();
    let urls: Vec<&str> = servers.iter().map(|server| server.url.as_str()).collect();
    let script = peers.join(MIXED);
    let mut command = Command::new(benchwright());
    command.args(["wrk", "-D", "exp", "-L", "-s"]).arg(&script);
    command.args(["-t", "8", "-c", "40", "-d", "3", "-R", "300"]).args(&urls);
    let text = answered(&mut command);
    for url in &urls {
        assert!(
            text.contains(&format!("Running 3s test @ {url}\n  8 threads and 40 connections\n"))
        );
    }
    assert!(text.contains("-Overall Statistics-"), "{text}");
    let overall = text.lines().find(|line| line.contains(" Overall ") && line.contains("read"));
    let requests = expressions::numbers(overall.unwrap())[0];
    // Six standard deviations, and the requests that a pause at the end leaves out.
    assert!((3_000..3_960).contains(&requests), "4 × 300/s × 3 s: {text}");
    assert!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "{text}");
    for server in &servers {
        let seen = server.metric("hotel_search_results_total{hotels=\"1\"}");
        assert!(0.0 < seen, "each instance gets requests");
    }
}

/// Runs guide 4's command line: a closed loop, with the script after the URL.
#[test]
fn guide_4_puts_its_options_after_the_url() {
    let _machine = machine();
    let scratch = Scratch::new();
    let script = scratch.file("login.lua", "wrk.method = 'POST'\nwrk.body = '{\"a\": 1}'\n");
    let url = peer::serve(Answer::With(peer::ok("x")));
    let mut command = Command::new(benchwright());
    command.args(["wrk", "-t10", "-c150", "-d2s", &url, "-s"]).arg(script);
    let text = answered(&mut command);
    assert!(text.contains("10 threads and 150 connections"), "{text}");
    lines(&text);
}

#[test]
fn the_fork_writes_each_latency_and_each_stretch_into_files() {
    let _machine = machine();
    let scratch = Scratch::new();
    let url = peer::serve(Answer::With(peer::ok("x")));
    let mut command = scratch.benchwright();
    command.args(["wrk", "-t2", "-c4", "-d2s", "-R", "1000", "-P", "-p", "-r", &url]);
    let text = answered(&mut command);
    let read = |name: &str| std::fs::read_to_string(scratch.path().join(name)).unwrap();
    let count = |name: &str| numbers_of(&read(name)).len() as u64;
    let answers =
        expressions::numbers(text.lines().find(|l| l.contains("requests in")).unwrap())[0];
    assert_eq!(count("0.txt") + count("1.txt"), answers, "{text}");
    // Each stretch is a tenth of a second at the thread's share of the rate: 50 answers.
    assert_eq!(count("url0thread0.txt"), count("0.txt") / 50);
    let sent = expressions::numbers(text.lines().find(|l| l.starts_with("Sent ")).unwrap())[0];
    // A pause at the end may leave some out.
    assert!(answers <= sent && (1_500..=2_000).contains(&sent), "{text}");
}

fn numbers_of(text: &str) -> Vec<u64> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

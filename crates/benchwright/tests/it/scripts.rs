//! The originals' own scripts, unmodified, through whole command lines.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::expressions;
use crate::peer::{self, Answer};
use crate::support::{
    Ran, Scratch, Server, benchwright, machine, peers, run, run_while, signal, sleep, soon,
    until_it_listens_to_ctrl_c,
};

/// Runs `benchwright wrk` with one of wrk's scripts against the URL.
fn wrk(script: &std::path::Path, url: &str, options: &[&str]) -> Ran {
    let mut command = Command::new(benchwright());
    command.arg("wrk").args(options).arg("-s").arg(script).arg(url);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 0, "{}: {ran:#?}", script.display());
    ran
}

/// Each whole request, with the number of its connection.
type Seen = Mutex<Vec<(usize, String)>>;

/// Starts a server that keeps the requests that it gets.
fn listening(answer: fn(&str) -> Vec<u8>) -> (String, Arc<Seen>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let url = peer::serve_each(move |connection, request| {
        kept.lock().unwrap().push((connection, request.to_owned()));
        answer(request)
    });
    (url, seen)
}

fn ok(_: &str) -> Vec<u8> {
    peer::ok("x")
}

#[test]
fn wrks_examples_run_unmodified() {
    let Some(peers) = peers("wrks_examples_run_unmodified") else { return };
    let _machine = machine();
    let script = |name: &str| peers.join("wrk/scripts").join(name);

    // A POST with its type and length.
    let (url, seen) = listening(ok);
    wrk(&script("post.lua"), &url, &["-t1", "-c1", "-d1s"]);
    let (_, first) = seen.lock().unwrap()[0].clone();
    assert!(first.starts_with("POST / HTTP/1.1\r\n"), "{first}");
    assert!(first.contains("Content-Type: application/x-www-form-urlencoded\r\n"), "{first}");
    assert!(first.contains("Content-Length: 16\r\n"), "{first}");

    // Each thread uses the first token that it gets from then on.
    let (url, seen) =
        listening(|_| b"HTTP/1.1 200 OK\r\nX-Token: t0ken\r\nContent-Length: 0\r\n\r\n".to_vec());
    wrk(&script("auth.lua"), &url, &["-t2", "-c2", "-d1s"]);
    for requests in by_connection(&seen) {
        assert!(requests[0].starts_with("GET /authenticate "), "{}", requests[0]);
        assert!(1 < requests.len());
        for request in &requests[1..] {
            assert!(request.starts_with("GET /resource "), "{request}");
            assert!(request.contains("X-Token: t0ken\r\n"), "{request}");
        }
    }

    // A counter without gaps per thread; the first thread's first number was used before the load.
    let (url, seen) = listening(ok);
    wrk(&script("counter.lua"), &url, &["-t2", "-c2", "-d1s"]);
    let mut firsts = Vec::new();
    for requests in by_connection(&seen) {
        let numbers: Vec<u64> = requests.iter().map(|request| counted(request)).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        firsts.push(numbers[0]);
    }
    firsts.sort_unstable();
    assert_eq!(firsts, [0, 1]);

    // 10 to 50 ms before each request: about 33 per second on a connection, fewer on a shared
    // machine.
    let (url, seen) = listening(ok);
    wrk(&script("delay.lua"), &url, &["-t1", "-c1", "-d2s"]);
    let count = seen.lock().unwrap().len();
    assert!((20..=90).contains(&count), "{count} in two seconds");

    // Three requests per write, each of which counts.
    let (url, seen) = listening(ok);
    let ran = wrk(&script("pipeline.lua"), &url, &["-t1", "-c1", "-d1s"]);
    let lines = expressions::read(&ran.stdout).unwrap();
    let counted = expressions::numbers(&lines["total"][0])[0] as usize;
    assert_eq!(counted % 3, 0);
    let count = seen.lock().unwrap().len();
    assert!(counted <= count && count <= counted + 3, "{counted} counted of {count}");
    let seen = seen.lock().unwrap();
    let targets: Vec<&str> = seen[..3].iter().map(|(_, r)| r.split(' ').nth(1).unwrap()).collect();
    assert_eq!(targets, ["/?foo", "/?bar", "/?baz"]);
}

/// Returns the requests of each of the two connections that had any.
fn by_connection(seen: &Seen) -> [Vec<String>; 2] {
    let mut of: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (connection, request) in seen.lock().unwrap().iter() {
        of.entry(*connection).or_default().push(request.clone());
    }
    of.into_values().collect::<Vec<_>>().try_into().unwrap()
}

fn counted(request: &str) -> u64 {
    request.split(' ').nth(1).unwrap().trim_start_matches('/').parse().unwrap()
}

#[test]
fn scripts_with_setup_and_done_print_what_they_print_in_wrk() {
    let test = "scripts_with_setup_and_done_print_what_they_print_in_wrk";
    let Some(peers) = peers(test) else { return };
    let _machine = machine();
    let script = |name: &str| peers.join("wrk/scripts").join(name);
    let url = peer::serve(Answer::With(peer::ok("x")));

    let ran = wrk(&script("setup.lua"), &url, &["-t3", "-c3", "-d1s"]);
    let total = ran.stdout.lines().find(|line| line.contains(" requests in ")).unwrap();
    let total = expressions::numbers(total)[0];
    let made = ran.stdout.lines().filter(|line| line.starts_with("thread "));
    let (mut threads, mut sum) = (0, 0);
    for line in made.filter(|line| line.contains("requests and got")) {
        threads += 1;
        sum += *expressions::numbers(line).last().unwrap();
    }
    assert_eq!((threads, sum), (3, total), "{}", ran.stdout);

    let ran = wrk(&script("report.lua"), &url, &["-t1", "-c1", "-d1s"]);
    let report = ran.stdout.split("Transfer/sec").nth(1).unwrap();
    let lines: Vec<&str> = report.lines().skip(1).collect();
    assert!(lines[0].chars().all(|c| c == '-') && 1 < lines[0].len(), "{lines:?}");
    for (line, percent) in lines[1..].iter().zip(["50", "90", "99", "99.999"]) {
        let (of, value) = line.split_once(',').unwrap();
        assert_eq!(of, format!("{percent}%"));
        assert!(0 < value.parse::<u64>().unwrap(), "{lines:?}");
    }
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_script_may_send_each_thread_to_another_address() {
    let _machine = machine();
    let (here, seen_here) = listening(ok);
    let (there, seen_there) = listening(ok);
    let port = |url: &str| url.trim_end_matches('/').rsplit(':').next().unwrap().to_owned();
    let scratch = Scratch::new();
    let script = scratch.file(
        "addr.lua",
        format!(
            "local n = 0\n\
             function setup(thread)\n  n = n + 1\n  if n == 2 then\n    \
               thread.addr = wrk.lookup('127.0.0.1', '{}')[1]\n  end\n  \
               print(thread.addr)\nend\n",
            port(&there)
        ),
    );
    let ran = wrk(&script, &here, &["-t2", "-c2", "-d1s"]);
    for port in [port(&here), port(&there)] {
        assert!(ran.stdout.contains(&format!("127.0.0.1:{port}\n")), "{}", ran.stdout);
    }
    assert!(!seen_here.lock().unwrap().is_empty());
    assert!(!seen_there.lock().unwrap().is_empty());
}

#[test]
fn a_stopped_thread_ends_and_the_run_with_the_last() {
    let _machine = machine();
    let scratch = Scratch::new();
    let script = scratch.file(
        "stop.lua",
        "local n = 0\n\
         function response()\n  n = n + 1\n  if n == 100 then wrk.thread:stop() end\nend\n\
         function done(summary) io.write('done ', summary.requests, '\\n') end\n",
    );
    let url = peer::serve(Answer::With(peer::ok("x")));
    // Of the thirty seconds that it would last.
    soon(std::time::Duration::from_secs(1), || {
        let ran = wrk(&script, &url, &["-t2", "-c2", "-d30s"]);
        assert!(ran.stdout.contains("done 200\n"), "{ran:#?}");
        ran.took
    });
}

/// Checks that file, line and message are printed, and that no result is.
#[test]
fn an_interruption_ends_a_script_that_does_not_return() {
    let server = Server::reference(&[]);
    let scratch = Scratch::new();
    let source = "local n = 0\nfunction request()\n n = n + 1\n while n > 50 do end\n \
                  return wrk.format()\nend";
    let endless = scratch.file("endless.lua", source);
    let load = ["load", &server.url, "--closed", "--connections", "1", "--duration", "300s"];
    for name in ["TERM", "HUP"] {
        let mut command = Command::new(benchwright());
        let ran = run_while(command.args(load).arg("--script").arg(&endless), |pid| {
            until_it_listens_to_ctrl_c(pid);
            sleep(Duration::from_millis(500));
            signal(pid, name);
        });
        assert_eq!(ran.code, 130, "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("the script did not return"), "{name}: {}", ran.stderr);
        assert!(ran.took < Duration::from_secs(60), "{name}: {:?}", ran.took);
    }
}

/// The code would be the script's: a load without a result, and a check that checked nothing, must not say yes.
#[test]
fn a_script_that_ends_the_process_has_no_success() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let leave = "local ffi = require('ffi')\nffi.cdef('void exit(int);')\n\
                 local function leave() ffi.C.exit(0) end\n";
    for (place, source) in [
        ("file", "leave()"),
        ("init", "function init() leave() end"),
        (
            "request",
            "local n = 0\nfunction request() n = n + 1 if n > 5 then leave() end return wrk.format() end",
        ),
        ("response", "function response() leave() end"),
        ("done", "function done() leave() end"),
    ] {
        let scratch = Scratch::new();
        let script = scratch.file("leaving.lua", format!("{leave}{source}"));
        let script = script.to_str().unwrap();
        let load = ["load", &server.url, "--rate", "200/s", "--duration", "300ms", "--script"];
        let ran = run(&[&load[..], &[script]].concat());
        assert_eq!(ran.code, 3, "{place}: {ran:#?}");
        assert!(ran.stderr.contains("error: the script ended the process"), "{place}: {ran:#?}");
        let checked = run(&[&load[..], &[script, "--dry-run"]].concat());
        let is_run = ["file", "init"].contains(&place);
        assert_eq!(checked.code, if is_run { 3 } else { 0 }, "{place}: {checked:#?}");
    }
}

/// The bound is 30 s, so all of them are waited for together.
#[test]
fn a_script_that_does_not_return_ends_the_process_with_its_place() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let load = ["load", &server.url, "--closed", "-c", "1", "--duration", "300ms", "--script"];
    let check = [&load[..1], &["--dry-run"], &load[1..]].concat();
    let cases: [(&str, &[&str], i32, &str); 6] = [
        ("check", &check, 2, "\nwhile true do end"),
        ("check of a call of C", &check, 2, "\nos.execute('exec sleep 45 >/dev/null 2>&1')"),
        ("init", &load, 2, "\nfunction init() while true do end end"),
        (
            "call of C",
            &load,
            2,
            "\nfunction init() os.execute('exec sleep 45 >/dev/null 2>&1') end",
        ),
        ("response", &load, 3, "\nfunction response() while true do end end"),
        ("done", &load, 3, "\nfunction done() while true do end end"),
    ];
    std::thread::scope(|scope| {
        let run = |(place, words, code, source): (&'static str, Vec<&str>, i32, &str)| {
            let scratch = Scratch::new();
            let script = scratch.file("endless.lua", source);
            let mut command = Command::new(benchwright());
            let ran = run_while(command.args(words).arg(script), |_| {});
            assert_eq!(ran.code, code, "{place}: {ran:#?}");
            let line = if place == "check of a call of C" { "" } else { ":2" };
            let told = ran.stderr.split_once(&format!("endless.lua{line}: "));
            let what = told.unwrap_or_else(|| panic!("{place}: {ran:#?}")).1;
            assert!(what.contains("the script did not return within 30 s"), "{place}: {ran:#?}");
            assert!(ran.took < Duration::from_secs(60), "{place}: {ran:#?}");
        };
        for (place, words, code, source) in cases {
            scope.spawn(move || run((place, words.to_vec(), code, source)));
        }
    });
}

#[test]
fn an_error_in_any_callback_ends_the_run_and_names_the_line() {
    let _machine = machine();
    let url = peer::serve(Answer::With(peer::ok("x")));
    for (callback, source) in [
        ("load", "error('broken')"),
        ("setup", "\nfunction setup(thread) error('broken') end"),
        ("init", "\nfunction init(args) error('broken') end"),
        (
            "request",
            "local n = 0\nfunction request() n = n + 1 if n > 5 then error('broken') end return wrk.format() end",
        ),
        ("response", "\nfunction response() error('broken') end"),
        ("delay", "\nfunction delay() error('broken') end"),
        ("done", "\nfunction done() error('broken') end"),
    ] {
        let scratch = Scratch::new();
        let script = scratch.file("broken.lua", source);
        let script = script.to_str().unwrap();
        let line = if callback == "load" { 1 } else { 2 };
        let place = format!("broken.lua:{line}: broken");
        let ran = run(&["wrk", "-t1", "-c1", "-d1s", "-s", script, &url]);
        assert_eq!(ran.code, 1, "{callback}: {ran:#?}");
        assert!(ran.stderr.contains(&place), "{callback}: {ran:#?}");
        if callback == "delay" {
            continue;
        }
        let ran = run(&["load", &url, "--closed", "--duration", "1s", "--script", script]);
        // An error before the load exits with 2, an error in it with 3.
        let before = ["load", "setup", "init"].contains(&callback);
        assert_eq!(ran.code, if before { 2 } else { 3 }, "{callback}: {ran:#?}");
        assert!(ran.stderr.contains(&place), "{callback}: {ran:#?}");
    }
}

/// Runs guide 2's command line: options after the URL, a script of the social network.
#[test]
fn guide_2_reads_home_timelines() {
    let test = "guide_2_reads_home_timelines";
    let Some(peers) = peers(test) else { return };
    let _machine = machine();
    let folder = peers.join("deathstarbench/socialNetwork/wrk2/scripts/social-network");
    let (url, seen) = listening(ok);
    let mut command = Command::new(benchwright());
    command.args(["wrk", "-t4", "-c40", "-d", "2s", "-L", "-s"]);
    command.arg(folder.join("read-home-timeline.lua")).arg(&url).args(["-R", "400"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stdout.contains("4 threads and 40 connections"), "{ran:#?}");
    let seen = seen.lock().unwrap();
    assert!((600..=810).contains(&seen.len()), "400/s for 2 s: {}", seen.len());
    let of_timeline = |(_, request): &(usize, String)| {
        request.starts_with("GET ") && request.contains("/wrk2-api/home-timeline/read?user_id=")
    };
    assert!(seen.iter().all(of_timeline), "{}", seen[0].1);
}

/// Expects 60 % home timelines, 30 % user timelines and 10 % posts; the script reads environment
/// variables. It is seeded by the clock, so 4 σ would fail once in some thousand runs: 6 σ are
/// used.
#[test]
fn the_social_networks_mixed_script_keeps_its_shares() {
    let test = "the_social_networks_mixed_script_keeps_its_shares";
    let Some(peers) = peers(test) else { return };
    let _machine = machine();
    let folder = peers.join("deathstarbench/socialNetwork/wrk2/scripts/social-network");
    let (url, seen) = listening(ok);
    let mut command = Command::new(benchwright());
    command.env("max_user_index", "962");
    command.args(["wrk", "-t2", "-c8", "-d", "3s", "-R", "1000", "-s"]);
    command.arg(folder.join("mixed-workload.lua")).arg(&url);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 0, "{ran:#?}");
    let seen = seen.lock().unwrap();
    let all = seen.len() as f64;
    for (path, share) in
        [("home-timeline/read", 0.6), ("user-timeline/read", 0.3), ("post/compose", 0.1)]
    {
        let count = seen.iter().filter(|(_, request)| request.contains(path)).count() as f64;
        let bound = 6.0 * (share * (1.0 - share) / all).sqrt();
        assert!((count / all - share).abs() <= bound, "{path}: {count} of {all}");
    }
    for (_, request) in seen.iter() {
        if let Some(id) = request.split("user_id=").nth(1) {
            let digits: String = id.chars().take_while(char::is_ascii_digit).collect();
            assert!(digits.parse::<u64>().unwrap() <= 962, "{request}");
        }
    }
}

//! Each gate fails for its own cause and no other, and errors of the target are findings.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    Ran, Scratch, Server, benchwright, machine, now, run, run_while, signal, skip, sleep, tool,
    until, when_calm,
};

/// Returns the command of a load on this server; it prints the document on stdout.
fn load(url: &str, more: &[&str]) -> Command {
    let mut command = Command::new(benchwright());
    command.args(["load", url, "--json", "--progress", "never", "--shards", "1"]).args(more);
    command
}

/// Returns the names of the failed gates. Checks that the exit code is 3 if there are any, else 0; but 1 if no
/// request succeeded, and that for any gate if all were answered wrongly.
fn failed_gates(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    let gates = document["validity"]["gates"].as_array().unwrap();
    let is_closed = document["pacing"]["loop"] == "closed";
    assert_eq!(gates.len(), 3 + usize::from(is_closed), "each gate is printed, passed or not");
    let failed: Vec<String> = gates
        .iter()
        .filter(|gate| gate["passed"] == false)
        .map(|gate| gate["name"].as_str().unwrap().to_owned())
        .collect();
    let reasons = document["validity"]["reasons"].as_array().unwrap();
    assert_eq!(reasons.len(), failed.len(), "a reason for each: {reasons:?}");
    let code = match failed.is_empty() {
        _ if document["outcomes"]["status"] == document["counts"]["intended"] => 1,
        true if document["counts"]["ok"] == 0 => 1,
        true => 0,
        false => 3,
    };
    assert_eq!(ran.code, code, "{failed:?}: {}", ran.stderr);
    failed
}

fn reasons(ran: &Ran) -> String {
    ran.json()["validity"]["reasons"].to_string()
}

#[test]
fn a_generator_that_was_stopped_is_late() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let ran = run_while(&mut load(&server.url, &["--rate", "1k/s", "--duration", "3s"]), |pid| {
        for _ in 0..3 {
            sleep(Duration::from_millis(500));
            signal(pid, "STOP");
            sleep(Duration::from_millis(200));
            signal(pid, "CONT");
        }
    });
    let failed = failed_gates(&ran);
    assert!(failed.contains(&"late".to_owned()), "{}", reasons(&ran));
    assert!(!failed.contains(&"lost".to_owned()), "{}", reasons(&ran));
    assert!(reasons(&ran).contains("generator late: lateness p99"), "{}", reasons(&ran));
    // A late request is sent late, not skipped: every intended request was sent.
    let document = ran.json();
    assert_eq!(document["counts"]["intended"], document["counts"]["completed"]);
    assert!(100e6 < document["lateness"]["max_ns"].as_f64().unwrap(), "it slept for 200 ms");
}

#[test]
fn a_load_under_a_cpu_quota_is_disturbed() {
    let _machine = machine();
    let quota = match Quota::of_a_twentieth() {
        Ok(quota) => quota,
        Err(why) => {
            return skip(
                "a_load_under_a_cpu_quota_is_disturbed",
                &format!("a control group: {why}"),
            );
        }
    };
    let server = Server::reference(&[]);
    let mut command = load(&server.url, &["--rate", "1k/s", "--duration", "2s"]);
    let ran = run_while(&mut quota.around(&mut command), |_| {});
    let failed = failed_gates(&ran);
    assert!(failed.contains(&"disturbed".to_owned()), "{}", reasons(&ran));
    assert!(!failed.contains(&"lost".to_owned()), "{}", reasons(&ran));
    assert!(reasons(&ran).contains("steal and throttling took"), "{}", reasons(&ran));
    let generator = &ran.json()["generator"];
    assert!(0.1 < generator["throttled_share"].as_f64().unwrap(), "{generator}");
    // The series shows it for each second, too.
    let series = ran.json()["series"].clone();
    let throttled = |interval: &Value| interval["throttled"].as_f64().unwrap_or(0.0);
    assert!(series.as_array().unwrap().iter().any(|i| 0.1 < throttled(i)), "{series}");
}

/// Covers the gate's share of pauses. A closed loop sends nothing in a pause, so none of its
/// requests is late. Pauses of 20 ms are 15 % of its time here, but fewer than one in a hundred of
/// its sleeps.
#[test]
fn a_closed_loop_that_was_stopped_again_and_again_is_disturbed() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let closed = ["--closed", "--connections", "16", "--duration", "2s"];
    let ran = run_while(&mut load(&server.url, &closed), |pid| {
        for _ in 0..15 {
            sleep(Duration::from_millis(110));
            signal(pid, "STOP");
            sleep(Duration::from_millis(20));
            signal(pid, "CONT");
        }
    });
    assert_eq!(but_busy(&ran), ["disturbed"], "{}", reasons(&ran));
    assert!(reasons(&ran).contains("pauses took"), "{}", reasons(&ran));
    assert!(0.1 < ran.json()["generator"]["paused_share"].as_f64().unwrap());
}

/// Sets the quota only shortly before the measurement: throttling in the warm-up does not count.
#[test]
fn throttling_is_a_share_of_the_measurement() {
    let test = "throttling_is_a_share_of_the_measurement";
    let _machine = machine();
    let quota = match Quota::of_a_twentieth() {
        Ok(quota) => quota,
        Err(why) => return skip(test, &format!("a control group: {why}")),
    };
    let server = Server::reference(&[]);
    let phases = ["--warm-up", "4s", "--duration", "1s", "--drain", "100ms"];
    // It spins, so that it always wants more than the quota, however busy the machine is.
    let spinning = ["--rate", "100/s", "--timer", "spin"];
    let mut command = load(&server.url, &[&spinning[..], &phases[..]].concat());
    quota.lift();
    let ran = run_while(&mut quota.around(&mut command), |_| {
        sleep(Duration::from_millis(3_500));
        quota.hold();
    });
    let throttled = ran.json()["generator"]["throttled_share"].as_f64().unwrap();
    assert!(0.5 < throttled, "{throttled} of the measurement");
}

/// A closed loop on a fast server keeps its generator busy, which has a gate of its own.
fn but_busy(ran: &Ran) -> Vec<String> {
    failed_gates(ran).into_iter().filter(|gate| gate != "busy").collect()
}

/// A generator on the CPU of a server that answers at once does more work than the server.
#[test]
fn a_closed_loop_that_fills_its_generator_is_refused_and_states_a_lower_bound() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let scratch = Scratch::new();
    // A request costs the generator far more than the server.
    let script = scratch.file(
        "slow.lua",
        "request = function()\n  local sum = 0\n  for i = 1, 1e6 do sum = (sum + i * i) % 7 end\n  \
         return wrk.format('GET', '/' .. sum)\nend\n",
    );
    let closed = ["--closed", "--connections", "64", "--shards", "1"];
    let script = ["--script", script.to_str().unwrap(), "--duration", "1s"];
    let ran = run(&[&["load", &server.url][..], &closed, &script].concat());
    assert_eq!(ran.code, 3, "{ran:#?}");
    let said = "the generator was the bottleneck: the busiest shard worked ";
    assert!(ran.stdout.contains(said), "{}", ran.stdout);
    assert!(ran.stdout.contains("/s or more. "), "{}", ran.stdout);
    assert!(ran.stdout.contains("completed at least "), "{}", ran.stdout);
    // A slow server leaves it idle.
    let server = Server::reference(&["--delay", "20ms"]);
    let closed = ["--closed", "--connections", "8", "--duration", "1s"];
    let ran = run_while(&mut load(&server.url, &closed), |_| {});
    assert!(!failed_gates(&ran).contains(&"busy".to_owned()), "{}", reasons(&ran));
}

/// Uses a closed loop, which cannot be late: only the gate `disturbed` can fail.
#[test]
fn a_load_beside_real_time_work_on_its_core_is_disturbed() {
    let _machine = machine();
    let Some(hog) = Hog::start() else {
        return skip(
            "a_load_beside_real_time_work_on_its_core_is_disturbed",
            "real-time priorities",
        );
    };
    let server = Server::reference(&[]);
    let closed = ["--closed", "--think", "5ms", "--connections", "16", "--duration", "2s"];
    let ran = run_while(&mut load(&server.url, &closed), |_| {});
    drop(hog);
    assert_eq!(but_busy(&ran), ["disturbed"], "{}", reasons(&ran));
    assert!(reasons(&ran).contains("pauses took"), "{}", reasons(&ran));
}

#[test]
fn connections_that_our_own_limit_refuses_are_lost() {
    const TEST: &str = "connections_that_our_own_limit_refuses_are_lost";
    let _machine = machine();
    if !tool(TEST, "prlimit") {
        return;
    }
    let server = Server::reference(&[]);
    // They are opened so slowly that the limit is lowered before most of them are.
    let more =
        ["--connections", "60", "--open-rate", "30/s", "--rate", "200/s", "--duration", "1s"];
    let ran = run_while(&mut load(&server.url, &more), |pid| {
        sleep(Duration::from_millis(500));
        let limit = ["--nofile=24:24".to_owned(), format!("--pid={pid}")];
        assert!(Command::new("prlimit").args(limit).status().unwrap().success());
    });
    let failed = failed_gates(&ran);
    assert!(failed.contains(&"lost".to_owned()), "{failed:?}: {}", ran.stderr);
    assert!(reasons(&ran).contains("no local port or open file"), "{}", reasons(&ran));
    let connections = ran.json()["connections"].clone();
    assert!(connections["reached"].as_u64() < connections["asked"].as_u64(), "{connections}");
}

#[test]
fn more_connections_than_allowed_files_are_refused() {
    let server = Server::reference(&[]);
    let mut command = Command::new("sh");
    let program = benchwright();
    command.args(["-c", "ulimit -n 100 && exec \"$0\" \"$@\""]).arg(program);
    command.args(["load", &server.url, "--rate", "1k/s", "--connections", "64"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("the limit is 100"), "{}", ran.stderr);
    for remedy in ["--connections", "several processes"] {
        assert!(ran.stderr.contains(remedy), "it names the remedy: {}", ran.stderr);
    }
}

#[test]
fn samples_that_cannot_be_written_are_lost() {
    const TEST: &str = "samples_that_cannot_be_written_are_lost";
    let _machine = machine();
    if !tool(TEST, "mkfifo") {
        return;
    }
    let server = Server::reference(&[]);
    let scratch = Scratch::new();
    let fifo = scratch.path().join("samples");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // More samples than may wait to be written.
    let closed = ["--closed", "--pipeline", "64", "--requests", "600000"];
    let more = [&closed[..], &["--samples", fifo.to_str().unwrap()]].concat();
    let mut reader = None;
    let ran = run_while(&mut load(&server.url, &more), |pid| {
        let threads = move || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        // It opens the pipe, but reads nothing until the load has ended: then only the first thread,
        // the command's and the writer are left.
        const LEFT: usize = 3;
        reader = Some(std::thread::spawn(move || {
            let mut file = fs::File::open(&fifo).unwrap();
            let begun = now();
            while threads() <= LEFT + 1 && now() - begun < Duration::from_secs(5) {
                sleep(Duration::from_millis(1));
            }
            while LEFT < threads() {
                assert!(now() - begun < Duration::from_secs(120), "{} threads are left", threads());
                sleep(Duration::from_millis(20));
            }
            let mut rows = String::new();
            file.read_to_string(&mut rows).unwrap();
            rows.lines().count() as u64 - 1
        }));
    });
    let written = reader.unwrap().join().unwrap();
    assert!(failed_gates(&ran).contains(&"lost".to_owned()), "{}", ran.stderr);
    let document = ran.json();
    let lost = document["counts"]["intended"].as_u64().unwrap() - written;
    assert!(reasons(&ran).contains(&format!("{lost} samples lost")), "{}", reasons(&ran));
}

/// Returns the document of a valid load. If the machine was disturbed in all attempts, it is the
/// last one: the checks of a target's behaviour do not depend on the machine.
fn accepted(url: &str, more: &[&str]) -> Value {
    when_calm(|| {
        let ran = run_while(&mut load(url, more), |_| {});
        let failed = failed_gates(&ran);
        assert!(!failed.contains(&"lost".to_owned()), "{}", reasons(&ran));
        if failed.is_empty() { Ok(ran.json()) } else { Err(ran.json()) }
    })
}

fn findings(document: &Value) -> String {
    document["findings"].to_string()
}

#[test]
fn a_saturated_target_is_a_finding() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "20ms"]);
    let more = ["--rate", "400/s", "--connections", "4", "--duration", "1s"];
    let document = accepted(&server.url, &more);
    let findings = findings(&document);
    assert!(findings.contains("unless it is saturated"), "{findings}");
    // It could do more: four connections can carry no more than 200/s.
    assert!(findings.contains("requests waited for one of the 4 connections"), "{findings}");
    assert_eq!(document["saturated"], true);
}

/// Covers a delay at the end: the responses to the last 80 ms of 2 s arrive after the load: 4 %.
#[test]
fn a_slow_target_that_keeps_up_is_not_saturated() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "80ms"]);
    let more = ["--rate", "200/s", "--connections", "64", "--duration", "2s"];
    let document = accepted(&server.url, &more);
    assert_eq!(document["saturated"], false, "{}", findings(&document));
    assert!(!findings(&document).contains("saturated"), "{}", findings(&document));
}

#[test]
fn a_failing_target_does_not_make_a_load_invalid() {
    let _machine = machine();
    // The delay is so long that small disturbances of the machine do not matter.
    let server = Server::reference(&["--status", "503", "--delay", "20ms"]);
    let more = ["--rate", "200/s", "--duration", "2s"];
    let document = accepted(&server.url, &more);
    let (counts, outcomes) = (&document["counts"], &document["outcomes"]);
    assert_eq!(outcomes["status"], counts["intended"], "{outcomes}");
    assert_eq!(document["statuses"]["503"], counts["intended"]);
    let failure = document["failures"][0]["text"].as_str().unwrap();
    assert!(failure.starts_with("503 for "), "{failure}");
}

#[test]
fn an_overloaded_target_is_a_finding_and_ends_the_load() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "20s"]);
    let more = ["--rate", "200/s", "--connections", "2", "--backlog", "10", "--duration", "20s"];
    let more = [&more[..], &["--drain", "100ms"]].concat();
    let document = accepted(&server.url, &more);
    assert_eq!(document["ended"], "overloaded");
    assert!(findings(&document).contains("overloaded"), "{}", findings(&document));
    let seconds = document["measured_s"].as_f64().unwrap();
    assert!(seconds < 2.0, "twelve requests are too many: {seconds} s");
}

#[test]
fn the_receive_delay_is_reported_on_request() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let asked = ["--rate", "500/s", "--duration", "1s", "--kernel-timestamps"];
    let ran = run_while(&mut load(&server.url, &asked), |_| {});
    if ran.code == 2 {
        assert!(ran.stderr.contains("--kernel-timestamps"), "{}", ran.stderr);
        return skip("the_receive_delay_is_reported_on_request", "SO_TIMESTAMPING");
    }
    let document = ran.json();
    let delay = &document["generator"]["receive_delay"];
    let completed = document["counts"]["completed"].as_u64().unwrap();
    // The kernel starts to timestamp only after a moment.
    assert!(completed / 2 < delay["count"].as_u64().unwrap(), "{delay}");
    assert!(delay["count"].as_u64().unwrap() <= completed, "{delay}");
    assert!(delay["p50_ns"].as_u64() < document["response_time"]["p50_ns"].as_u64(), "{delay}");
    let ran = run_while(&mut load(&server.url, &asked[..4]), |_| {});
    assert_eq!(ran.json()["generator"]["receive_delay"], Value::Null, "off unless asked for");
}

#[test]
fn the_reference_servers_log_includes_the_time_that_it_could_not_run() {
    let name = "the_reference_servers_log_includes_the_time_that_it_could_not_run";
    if net::epoll::kernel_timestamps_granted().is_err() {
        return skip(name, "SO_TIMESTAMPING");
    }
    let server = Server::reference(&["--kernel-timestamps"]);
    let mut client = TcpStream::connect(server.url.trim_start_matches("http://")).unwrap();
    let mut answer = [0; 1024];
    // The kernel starts to timestamp only after a moment; one of the four is enough.
    for _ in 0..4 {
        signal(server.pid(), "STOP");
        client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        sleep(Duration::from_millis(150));
        signal(server.pid(), "CONT");
        assert_ne!(client.read(&mut answer).unwrap(), 0);
    }
    let log: Value = serde_json::from_str(&server.end()).unwrap();
    assert!(100_000_000 < log["max_ns"].as_u64().unwrap(), "{log}");
}

/// Returns the server's record of a load: each request's target and bytes, sorted. The server's
/// port differs each time, so the requests must set `Host` themselves.
fn recorded(scratch: &Scratch, more: &[&str]) -> Vec<String> {
    let path = scratch.path().join("requests");
    let server = Server::reference(&["--log", path.to_str().unwrap(), "--log-bytes"]);
    let always = ["load", &server.url, "--json"];
    let ran = run(&[&always[..], &["--rate", "500/s", "--duration", "1s"], more].concat());
    let intended = ran.json()["counts"]["intended"].as_u64();
    let log: Value = serde_json::from_str(&server.end()).unwrap();
    assert_eq!((log["recorded"].as_u64(), log["unrecorded"].as_u64()), (intended, Some(0)));
    let mut arrived = 0;
    let text = fs::read_to_string(path).unwrap();
    let request = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let at: u64 = fields[0].parse().unwrap();
        assert!(arrived <= at, "in the order of arrival");
        arrived = at;
        // A script's own check of its target is a connection, too.
        assert!(fields[2].parse::<u64>().unwrap() <= 64, "a connection: {line}");
        format!("{} {}", fields[1], fields[3])
    };
    let mut requests: Vec<String> = text.lines().map(request).collect();
    requests.sort();
    requests
}

#[test]
fn the_same_seed_asks_the_same_byte_for_byte_whatever_the_shards() {
    let _machine = machine();
    let scratch = Scratch::new();
    let mix = scratch.file(
        "mix.jsonl",
        r#"{"weight":3,"target":"/{{seq}}?draw={{int 1 1000000}}","headers":{"Host":"a","X-Id":"{{uuid}}"}}
{"method":"POST","target":"/{{seq}}","headers":{"Host":"a"},"body":"{{hex 8}} {{zipf 1 99}}"}"#,
    );
    let of = |seed: &str, shards: &str| {
        let mix = mix.to_str().unwrap();
        recorded(&scratch, &["--mix", mix, "--seed", seed, "--shards", shards])
    };
    let first = of("5", "1");
    assert!(first.iter().any(|r| r.contains(r"POST /1") || r.contains(r"GET /1?draw=")));
    assert_eq!(first, of("5", "1"));
    assert_eq!(first, of("5", "2"));
    assert_ne!(first, of("6", "1"));
}

#[test]
fn the_same_seed_gives_a_script_the_same_random_numbers_whatever_the_shards() {
    let _machine = machine();
    let scratch = Scratch::new();
    let script = scratch.file(
        "draws.lua",
        "local n = 0\nrequest = function()\n  n = n + 1\n  return wrk.format('POST', '/' .. n, \
         {Host = 'a', ['X-Draw'] = tostring(math.random(1, 1000000))}, 'body ' .. n)\nend\n",
    );
    let of = |seed: &str, shards: &str| {
        let script = ["--script", script.to_str().unwrap(), "--script-threads", "2"];
        recorded(&scratch, &[&script[..], &["--seed", seed, "--shards", shards]].concat())
    };
    let first = of("5", "1");
    assert!(first[0].contains(r"POST /1 HTTP/1.1\r\n"), "{}", first[0]);
    assert_eq!(first, of("5", "1"));
    assert_eq!(first, of("5", "2"));
    assert_ne!(first, of("6", "1"));
}

#[test]
fn the_self_test_prints_each_attempt_and_keeps_the_maximum() {
    let _machine = machine();
    let scratch = Scratch::new();
    let cache = scratch.path().join("cache");
    let mut command = scratch.benchwright();
    command.env("XDG_CACHE_HOME", &cache);
    command.args(["load", "--self-test", "--attempts", "4", "--duration", "1s", "--json"]);
    let ran = run_while(&mut command, |_| {});
    assert!([0, 3].contains(&ran.code), "{}", ran.stderr);
    let found = ran.json();
    assert_eq!(found["passed"], ran.code == 0);
    let attempts = found["attempts"].as_array().unwrap();
    let distributions: Vec<&str> =
        attempts.iter().map(|a| a["distribution"].as_str().unwrap()).collect();
    assert_eq!(
        distributions,
        ["fixed:1ms", "bimodal:1ms,10ms,5%", "exponential:1ms", "stall:50ms/1000ms"]
    );
    for (number, attempt) in (1..).zip(attempts) {
        assert_eq!(attempt["intended"], attempt["logged"], "{attempt}");
        let [valid, agrees] = ["valid", "agrees"].map(|name| attempt[name] == true);
        let word = match (valid, agrees) {
            (false, _) => "refused (",
            (true, true) => "valid, agrees; ",
            (true, false) => "valid, DIFFERS; ",
        };
        let line = format!("  {number}  {} poisson: {word}", distributions[number - 1]);
        assert!(ran.stderr.lines().any(|said| said.starts_with(&line)), "{line}: {}", ran.stderr);
    }
    // The open loop shows the stall on a busy machine, too: only its clock runs on in the stall.
    let stall = |name: &str| found["stall"][name].as_f64().unwrap();
    assert!(0.9 * stall("stall_ns") <= stall("open_response_p99_ns"), "{}", found["stall"]);
    assert!(stall("closed_response_p99_ns") < stall("open_response_p99_ns"), "{}", found["stall"]);
    let kept = cache.join("benchwright/self-test.json");
    assert_eq!(kept.exists(), found["maximum"]["valid"] == true);
    until("its servers have ended", || scratch.remains().is_empty());
}

/// A control group with a twentieth of a CPU; removed at the end.
struct Quota(PathBuf);

impl Quota {
    fn of_a_twentieth() -> Result<Quota, String> {
        let name = format!("gates-{}", std::process::id());
        let two = [("cpu.max", "5000 100000")];
        let one = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "5000")];
        let mut refused = Vec::new();
        for (root, files, is_root) in [
            ("/sys/fs/cgroup", &two[..], "cgroup.controllers"),
            ("/sys/fs/cgroup/cpu", &one[..], "cgroup.procs"),
            ("/sys/fs/cgroup/cpu,cpuacct", &one[..], "cgroup.procs"),
        ] {
            let root = PathBuf::from(root);
            if !root.join(is_root).exists() {
                refused.push(format!("{} is not a hierarchy", root.display()));
                continue;
            }
            let quota = Quota(root.join(&name));
            let made = fs::create_dir(&quota.0).and_then(|()| {
                files.iter().try_for_each(|(file, value)| fs::write(quota.0.join(file), value))
            });
            match made {
                Ok(()) => return Ok(quota),
                Err(error) => refused.push(format!("{}: {error}", quota.0.display())),
            }
        }
        Err(refused.join("; "))
    }

    fn lift(&self) {
        self.set("max 100000", "-1");
    }

    fn hold(&self) {
        self.set("5000 100000", "5000");
    }

    fn set(&self, two: &str, one: &str) {
        let file = self.0.join("cpu.max");
        match file.exists() {
            true => fs::write(file, two).unwrap(),
            false => fs::write(self.0.join("cpu.cfs_quota_us"), one).unwrap(),
        }
    }

    /// Returns the command, wrapped so that it enters the group before it starts.
    fn around(&self, command: &mut Command) -> Command {
        let mut around = Command::new("sh");
        around.args(["-c", "echo $$ >\"$0\"/cgroup.procs && exec \"$@\""]).arg(&self.0);
        around.arg(command.get_program()).args(command.get_args());
        around
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// A real-time process that works for some milliseconds and sleeps for some, on the CPU that a
/// generator prefers.
struct Hog(Child);

impl Hog {
    /// Returns `None` if real-time priorities are not allowed or `chrt` is missing.
    fn start() -> Option<Hog> {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        let last = allowed.trim().rsplit([',', '-']).next()?;
        let work = "while kill -0 $PPID; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; \
                    sleep 0.01; done";
        let mut command = Command::new("chrt");
        command.args(["-f", "50", "taskset", "-c", last, "sh", "-c", work]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        sleep(Duration::from_millis(200));
        match child.try_wait() {
            Ok(None) => Some(Hog(child)),
            _ => None,
        }
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// 50 connections and 30 ms are at most 1,667/s: after half a second all requests are over 50 ms.
#[test]
fn a_load_may_end_once_its_slo_is_missed_whatever_follows() {
    let server = Server::reference(&["--delay", "30ms"]);
    let load = [
        &["load", &server.url, "--rate", "2k/s", "--connections", "50", "--duration", "20s"][..],
        &["--warm-up", "0s", "--drain", "5s", "--slo", "50ms", "--until-missed"],
    ];
    let ran = run(&[load.concat(), vec!["--json"]].concat());
    // On a disturbed machine a miss is no answer.
    assert!(matches!(ran.code, 1 | 3), "{ran:#?}");
    let document = ran.json();
    assert_eq!(document["ended"], "slo missed");
    let measured = document["measured_s"].as_f64().unwrap();
    assert!((1.0..5.0).contains(&measured), "{measured}");
    let counts = &document["counts"];
    assert_eq!(counts["failed"], 0, "the drain answers what was sent: {counts}");
    let offered = document["rates_per_s"]["offered"].as_f64().unwrap();
    assert!((1_800.0..2_200.0).contains(&offered), "{offered}");
    assert_eq!(document["slo"]["objectives"][0]["verdict"], "fail");
    assert!(findings(&document).contains("missed whatever follows"), "{}", findings(&document));

    let ran = run(&[load.concat(), vec!["--part", "1/2"]].concat());
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("--until-missed needs the whole load"), "{}", ran.stderr);
}

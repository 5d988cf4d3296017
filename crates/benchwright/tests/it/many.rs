//! The memory and ports that many connections and a full backlog need.

use std::fs;
use std::process::Command;
use std::time::Duration;

use measure::Instant;
use net::host;
use serde_json::Value;

use crate::support::{Scratch, Server, benchwright, machine, run, run_while, skip, sleep, tool};

const MIB: u64 = 1024 * 1024;

/// The memory of a process, in bytes.
struct Memory {
    /// Samples of the resident memory while the process ran.
    resident: Vec<(Instant, u64)>,
    /// The peak of the resident memory.
    peak: u64,
}

/// Returns a figure of `/proc/PID/status`, in bytes; `None` if the process has ended.
fn status(pid: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes = line.trim_start_matches(':').trim().trim_end_matches(" kB");
    Some(kibibytes.parse::<u64>().unwrap() * 1024)
}

/// Runs a load and samples its memory until it ends. The document goes to a file, because nobody
/// reads its stdout meanwhile.
fn watched(url: &str, more: &[&str]) -> (Value, Memory) {
    let scratch = Scratch::new();
    let file = scratch.path().join("load.json");
    let mut command = Command::new(benchwright());
    command.args(["load", url, "--progress", "never"]).args(more);
    command.arg(format!("--json={}", file.display()));
    let mut memory = Memory { resident: Vec::new(), peak: 0 };
    let ran = run_while(&mut command, |pid| {
        while let (Some(resident), Some(peak)) = (status(pid, "VmRSS"), status(pid, "VmHWM")) {
            memory.resident.push((net::clock::now(), resident));
            memory.peak = peak;
            sleep(Duration::from_millis(2));
        }
    });
    let document = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    (serde_json::from_slice(&document).unwrap(), memory)
}

/// Returns true if the gate of this name was passed.
fn passed(document: &Value, name: &str) -> bool {
    let gates = document["validity"]["gates"].as_array().unwrap();
    gates.iter().find(|gate| gate["name"] == name).unwrap()["passed"] == true
}

#[test]
fn eighteen_thousand_connections_are_all_reached_and_none_is_lost() {
    const TEST: &str = "eighteen_thousand_connections_are_all_reached_and_none_is_lost";
    let _machine = machine();
    if net::process::raise_open_files() < 18_100 {
        return skip(TEST, "a hard limit of 18,100 open files (ulimit -Hn)");
    }
    let server = Server::reference(&[]);
    let more = ["--connections", "18000", "--rate", "10k/s", "--duration", "2s"];
    let waiting = host::waiting_ports().unwrap();
    let (document, memory) = watched(&server.url, &more);
    let connections = &document["connections"];
    assert_eq!((&connections["asked"], &connections["reached"]), (&18_000.into(), &18_000.into()));
    assert_eq!(document["counts"]["reconnects"], 0);
    assert_eq!(document["outcomes"]["ok"], document["counts"]["intended"]);
    assert!(passed(&document, "lost"), "{}", document["validity"]);
    // Each of the two local addresses has all ports, except for those that closed connections of
    // earlier tests still use.
    let free = document["generator"]["free_ports"].as_u64().unwrap();
    assert!(host::local_ports().unwrap() / 2 < free + waiting, "{free} of its ports are free");
    // The goal for the process is 48 MiB; the allocator decides when it returns memory.
    assert!(memory.peak <= 64 * MIB, "{} MiB", memory.peak / MIB);
    // The rate of opening is 10,000/s, and the machine may have been busy.
    let opening = connections["opening_s"].as_f64().unwrap();
    assert!((1.79..6.0).contains(&opening), "{opening} s");
}

#[test]
fn a_full_backlog_takes_no_more_memory() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "60s"]);
    let more = ["--rate", "100k/s", "--backlog", "100k", "--connections", "64", "--timeout", "60s"];
    let (document, memory) = watched(&server.url, &more);
    assert_eq!(document["ended"], "overloaded");
    assert_eq!(document["outcomes"]["unfinished"].as_u64(), Some(100_000 + 64));
    // The load ended when the backlog was full; the document was made and written afterwards.
    let full = document["clock"]["end_ns"].as_u64().unwrap();
    let before = memory.resident.iter().take_while(|(at, _)| at.0 <= full);
    let (_, resident) = before.last().expect("there was a sample before");
    assert!(
        memory.peak as f64 <= 1.1 * *resident as f64,
        "{} KiB, and {} when it was full",
        memory.peak / 1024,
        resident / 1024
    );
    assert!(memory.peak <= 48 * MIB, "{} MiB", memory.peak / MIB);
}

/// Far more than any machine can send: the backlog is full at once, and nothing else grows.
#[test]
fn a_rate_and_a_burst_without_limits_are_overloaded_in_bounded_memory() {
    let _machine = machine();
    let server = Server::reference(&["--delay", "1ms"]);
    for load in [
        ["--rate", "1000000000/s", "--arrivals", "poisson"],
        ["--rate", "1000000000/s", "--arrivals", "constant"],
        ["--rate", "1000/s", "--arrivals", "bursts:4294967295"],
        ["--rate", "1000000000/s", "--arrivals", "bursts:4294967295"],
    ] {
        let (document, memory) =
            watched(&server.url, &[&load[..], &["--duration", "30s"]].concat());
        assert_eq!(document["ended"], "overloaded", "{load:?}");
        assert!(memory.peak <= 256 * MIB, "{load:?}: {} MiB", memory.peak / MIB);
        let length = document["measured_s"].as_f64().unwrap();
        assert!(length < 10.0, "{load:?}: {length} s of 30");
    }
}

/// Its distributions have the size that the refusal of too many of them states.
#[test]
fn a_target_takes_4_mb_for_each_thread_at_most() {
    let _machine = machine();
    let server = Server::reference(&[]);
    let of = |targets: usize, shards: &str| {
        let more = ["--rate", "5k/s", "--duration", "500ms", "-c", "512", "--shards", shards];
        watched(&server.url, &[&more[..], &vec![server.url.as_str(); targets - 1]].concat()).1.peak
    };
    for shards in [1, 2] {
        let of = |targets| of(targets, &shards.to_string());
        let more = of(256).saturating_sub(of(1));
        let of_each = more / 255 / shards;
        assert!((500_000..=4_000_000).contains(&of_each), "{shards} threads: {of_each} bytes");
    }
}

#[test]
fn more_connections_than_local_ports_are_refused() {
    let ran = run(&["load", "http://192.0.2.1/", "--rate", "1k/s", "--connections", "65000"]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("to 192.0.2.1:80 need a local port each"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--source"), "it names the remedy: {}", ran.stderr);
}

/// Runs in a network namespace of its own that has few local ports.
#[test]
fn on_loopback_more_local_addresses_are_used_than_one_has_ports() {
    const TEST: &str = "on_loopback_more_local_addresses_are_used_than_one_has_ports";
    let _machine = machine();
    if !tool(TEST, "unshare") || !tool(TEST, "ip") {
        return;
    }
    let own = || [&["--net"], &["sh", "-c"][..]].concat();
    let few = "ip link set lo up && echo 40000 40099 > /proc/sys/net/ipv4/ip_local_port_range";
    let granted = Command::new("unshare").args(own()).arg(few).output().unwrap();
    if !granted.status.success() {
        return skip(TEST, "a network namespace of its own");
    }
    let serve = format!("{few} && exec \"$0\" reference");
    let server = Server::start(Command::new("unshare").args(own()).arg(serve).arg(benchwright()));
    let mut command = Command::new("nsenter");
    command.arg(format!("--net=/proc/{}/ns/net", server.pid())).arg(benchwright());
    command.args(["load", &server.url, "--json", "--rate", "1k/s", "--duration", "1s"]);
    let ran = run_while(command.args(["--connections", "250"]), |_| {});
    let document = ran.json();
    assert_eq!(document["connections"]["reached"], 250, "{ran:#?}");
    assert!(passed(&document, "lost"), "{}", document["validity"]);
}

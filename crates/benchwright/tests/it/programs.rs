//! Experiments with programs that do not know Benchwright: a Redis behind a small HTTP server, and
//! nginx. They get a port and a folder, and are filled and checked by actions.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::{
    PATIENT, Ran, Scratch, machine, run_patiently, run_while, signal, tool, until,
    until_it_listens_to_ctrl_c,
};

fn experiment(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/programs").join(name)
}

fn run(scratch: &Scratch, name: &str, settings: &[&str]) -> Command {
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiment(name)).args(["--out", "out", "--json"]);
    command.args(PATIENT);
    for setting in settings {
        command.args(["--set", setting]);
    }
    command
}

/// Runs an experiment whose requests must all succeed, and checks that nothing is left.
fn check(scratch: &Scratch, name: &str) -> Ran {
    let ran = run_patiently(&mut run(scratch, name, &[]), &scratch.path().join("out"));
    let outcomes = &document(scratch, "trials/1/load.json")["outcomes"];
    assert!(outcomes["ok"].is_number() && outcomes["status"].is_null(), "{outcomes}");
    assert_eq!(scratch.remains(), [""; 0]);
    ran.unwrap_or_else(|disturbed| disturbed)
}

fn document(scratch: &Scratch, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(scratch.path().join("out").join(name)).unwrap()).unwrap()
}

/// Returns true if the programs of the Redis experiment are there; otherwise the test is skipped.
fn has_redis(test: &str) -> bool {
    tool(test, "redis-server") && tool(test, "python3")
}

#[test]
fn a_foreign_redis_is_filled_and_counted_before_it_is_measured() {
    const TEST: &str = "a_foreign_redis_is_filled_and_counted_before_it_is_measured";
    if !has_redis(TEST) {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let ran = check(&scratch, "redis.yaml");
    let lines = ran.stderr.lines().filter(|line| line.starts_with("data     loaded in"));
    let loaded: Vec<&str> = lines.collect();
    assert!(2 <= loaded.len(), "at the start and before each later trial: {}", ran.stderr);
    assert!(loaded.iter().all(|line| line.ends_with("2 of 2 checks passed")), "{loaded:?}");
    let binaries = document(&scratch, "manifest.json")["binaries"].clone();
    for name in ["redis", "front", "action redis-cli"] {
        assert!(binaries[name].is_string(), "{binaries:#}");
    }
    let version = document(&scratch, "environment.json")["versions"]["redis-server"].to_string();
    assert!(version.contains("Redis server v="), "{version}");
    let log = std::fs::read_to_string(scratch.path().join("out/components/redis.log")).unwrap();
    assert!(log.contains("Ready to accept connections"), "{log}");
}

#[test]
fn data_that_is_not_as_expected_ends_the_run_with_the_difference() {
    const TEST: &str = "data_that_is_not_as_expected_ends_the_run_with_the_difference";
    if !has_redis(TEST) {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let ran = run_while(&mut run(&scratch, "redis.yaml", &["vars.expected=998"]), |_| {});
    assert_eq!(ran.code, 3, "{ran:#?}");
    let summary = ran.json()["summary"].as_str().unwrap().to_owned();
    assert!(
        summary.contains("the initialised system is not as expected\n  GET http://"),
        "{summary}"
    );
    assert!(summary.contains("/count: the answer must be `998`, and is `1000`"), "{summary}");
    assert_eq!(ran.json()["trials"].as_array().map(Vec::len), Some(0), "{ran:#?}");
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn nginx_runs_with_a_port_a_folder_and_a_file_of_the_experiment() {
    const TEST: &str = "nginx_runs_with_a_port_a_folder_and_a_file_of_the_experiment";
    if !tool(TEST, "nginx") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    check(&scratch, "nginx.yaml");
    let version = document(&scratch, "environment.json")["versions"]["nginx"].to_string();
    assert!(version.contains("nginx/"), "{version}");
}

/// Returns the processes whose command line contains `words`, and the children of these.
fn family(words: &str) -> Vec<u32> {
    let all: Vec<u32> = std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    let read =
        |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let is_named = |pid: u32| {
        String::from_utf8_lossy(&read(pid, "cmdline")).replace('\0', " ").contains(words)
    };
    let parent = |pid: u32| -> Option<u32> {
        let stat = String::from_utf8_lossy(&read(pid, "stat")).into_owned();
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let named: Vec<u32> = all.iter().copied().filter(|&pid| is_named(pid)).collect();
    let is_child = |pid: &u32| parent(*pid).is_some_and(|parent| named.contains(&parent));
    all.iter().copied().filter(|pid| named.contains(pid) || is_child(pid)).collect()
}

fn lives(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// nginx overwrites its environment, and its workers survive their master.
#[test]
fn the_children_of_a_foreign_program_do_not_survive_a_killed_runner() {
    const TEST: &str = "the_children_of_a_foreign_program_do_not_survive_a_killed_runner";
    if !tool(TEST, "nginx") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let master = format!("nginx -p {}", scratch.path().join("tmp").display());
    let mut of_nginx = Vec::new();
    run_while(&mut run(&scratch, "nginx.yaml", &["phases.measure.time=60s"]), |pid| {
        until_it_listens_to_ctrl_c(pid);
        until("a master with two workers", || family(&master).len() == 3);
        of_nginx = family(&master);
        signal(pid, "KILL");
    });
    let cleaned = run_while(scratch.benchwright().arg("clean"), |_| {});
    assert_eq!(cleaned.code, 0, "{cleaned:#?}");
    until("all of nginx is gone", || !of_nginx.iter().any(|&pid| lives(pid)));
    assert_eq!(scratch.remains(), [""; 0]);
}

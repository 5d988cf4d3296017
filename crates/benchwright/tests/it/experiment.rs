//! `benchwright run` and `resume`, and their interruption, on real processes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::support::{
    PATIENT, QUEUE, Scratch, benchwright, check_answer, experiments, journal, machine,
    run_patiently, run_while, signal, sleep, tool, until, until_it_listens_to_ctrl_c,
};

fn hotel(scratch: &Scratch) -> Command {
    let mut command = scratch.benchwright();
    let spec = experiments().join("hotel.yaml");
    command.arg("run").arg(spec).args(["--profile", "ci", "--out", "out", "--json"]);
    command.args(PATIENT).args(["--set", "budget.trials=200"]);
    // All processes may share one CPU with others: the first load shall meet the SLO there, too.
    command.args(["--set", "search.start={probe: 0.3}"]);
    command
}

/// Checks the properties that every results directory has whose run came to its end.
fn check_results(folder: &Path) {
    let entries = journal(folder);
    assert!(!entries.is_empty());
    for (number, entry) in (1..).zip(&entries) {
        assert_eq!(entry["trial"], number, "no trial is lost or repeated");
        let trial = folder.join("trials").join(number.to_string());
        for (name, _) in entry["files"].as_object().unwrap() {
            assert!(trial.join(name).exists(), "{number}/{name}");
        }
        if entry["observed"].is_object() {
            assert!(entry["files"]["load.json"].is_string());
            assert!(entry["files"]["response_time.hlog"].is_string());
        }
    }
    for file in ["manifest.json", "spec.yaml", "environment.json", "answer.json", "report.html"] {
        assert!(folder.join(file).exists(), "{file}");
    }
}

#[test]
fn the_hotel_experiment_finds_its_maximum() {
    let _machine = machine();
    let scratch = Scratch::new();
    let out = scratch.path().join("out");
    if let Ok(ran) = run_patiently(&mut hotel(&scratch), &out) {
        let maximum = &ran.json()["maximum_throughput"];
        assert!(0.0 < maximum["rate_per_s"].as_f64().unwrap());
        let trial = maximum["trial"].as_u64().unwrap() as usize;
        let entries = journal(&out);
        let status = entries[trial - 1]["status"].as_str().unwrap();
        assert!(["valid", "bounded"].contains(&status), "{status}");
    }
    let environment = std::fs::read(scratch.path().join("out/environment.json")).unwrap();
    let environment: Value = serde_json::from_slice(&environment).unwrap();
    let placement = environment["placement"].as_object().unwrap();
    assert!(placement.values().any(|cpus| cpus == "0"), "read back: {placement:?}");
    check_results(&scratch.path().join("out"));
    assert_eq!(scratch.remains(), [""; 0]);
}

/// Runs the experiment of the social network with a few users; returns its journal.
fn social(scratch: &Scratch, profiles: &str) -> Vec<Value> {
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiments().join("social.yaml")).args(["--profile", profiles]);
    command.args(["--out", "out", "--json"]).args(PATIENT);
    let out = scratch.path().join("out");
    if let Ok(ran) = run_patiently(&mut command, &out) {
        assert_eq!(ran.json()["verdict"], "answered");
    }
    check_results(&out);
    assert_eq!(scratch.remains(), [""; 0]);
    journal(&out)
}

#[test]
fn the_social_experiment_has_a_tenth_of_a_connection_for_each_request_per_second() {
    let _machine = machine();
    let scratch = Scratch::new();
    let entries = social(&scratch, "ci");
    let out = scratch.path().join("out");
    for entry in entries.iter().filter(|entry| entry["observed"].is_object()) {
        let trial = &entry["trial"];
        let load = std::fs::read(out.join(format!("trials/{trial}/load.json"))).unwrap();
        let load: Value = serde_json::from_slice(&load).unwrap();
        let connections = load["connections"]["asked"].as_f64().unwrap();
        assert_eq!(Some(10.0 * connections), entry["asked_per_s"].as_f64(), "trial {trial}");
    }
}

#[test]
fn the_social_experiment_has_redis_with_and_without_replicas_as_levels() {
    const TEST: &str = "the_social_experiment_has_redis_with_and_without_replicas_as_levels";
    if !tool(TEST, "redis-server") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let entries = social(&scratch, "redis+ci");
    let of_level = |level: &str| {
        let cell = Value::from(format!("redis_replicas={level}"));
        entries.iter().filter(move |entry| entry["cell"] == cell)
    };
    let has_replicas = |entry: &Value| {
        let cpu = entry["observed"]["cpu"].as_object();
        cpu.map(|cpu| cpu.keys().any(|name| name.starts_with("redis-replica")))
    };
    for (level, expected) in [("0", false), ("2", true)] {
        assert!(0 < of_level(level).count());
        let mut seen = of_level(level).filter_map(has_replicas);
        assert!(seen.all(|has| has == expected), "{level}");
    }
}

#[test]
fn instances_are_measured_each_and_merged_exactly() {
    let _machine = machine();
    let scratch = Scratch::new();
    let mut command = hotel(&scratch);
    // An invalid trial has these figures as well.
    command.args(["--set", "budget.trials=1", "--set", "budget.invalid_attempts=0"]);
    let ran = run_while(&mut command, |_| {});
    let out = scratch.path().join("out");
    let entries = journal(&out);
    assert_eq!(entries.len(), 2, "a probe and a trial: {ran:#?}");
    let text = std::fs::read(out.join("trials/2/load.json")).unwrap();
    let load: Value = serde_json::from_slice(&text).unwrap();
    let targets = load["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2);
    for figure in ["/counts/intended", "/counts/completed", "/response_time/count"] {
        let sum: u64 = targets.iter().map(|t| t.pointer(figure).unwrap().as_u64().unwrap()).sum();
        assert_eq!(load.pointer(figure).unwrap().as_u64(), Some(sum), "{figure}");
    }
    let cpu = entries[1]["observed"]["cpu"].as_object().unwrap();
    assert!(cpu.contains_key("store-1") && cpu.contains_key("frontend-2.2"), "{cpu:?}");
}

#[test]
fn a_stop_rule_that_is_never_reached_is_no_answer() {
    let scratch = Scratch::new();
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiments().join("simulated.yaml"));
    command.args(["--out", "out", "--json", "--set", "budget.trials=2"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 3, "{ran:#?}");
    let summary = check_answer(&ran)["summary"].to_string();
    assert!(summary.contains("no stop rule fired in the 2 trials allowed"), "{summary}");
}

#[test]
fn ctrl_c_in_any_stage_brings_everything_down_and_resume_finishes() {
    let _machine = machine();
    for after in [50, 400, 900, 1_600, 3_000] {
        let scratch = Scratch::new();
        let mut asked = None;
        let ran = run_while(&mut hotel(&scratch), |pid| {
            until_it_listens_to_ctrl_c(pid);
            sleep(Duration::from_millis(after));
            asked = Some(crate::support::now());
            signal(pid, "INT");
        });
        let took = crate::support::now() - asked.unwrap();
        assert_eq!(ran.code, 130, "after {after} ms: {ran:#?}");
        assert!(took < Duration::from_secs(15), "after {after} ms: {took:?}");
        assert_eq!(scratch.remains(), [""; 0], "after {after} ms");
        let out = scratch.path().join("out");
        if !out.join("manifest.json").exists() {
            continue; // Interrupted before the results directory existed.
        }
        assert_eq!(check_answer(&ran)["verdict"], "interrupted");
        let last = ran.stderr.trim_end().lines().last().unwrap_or_default();
        assert!(last.contains("benchwright resume out"), "it prints how to continue: {last}");
        assert!(out.join("report.html").exists(), "a partial report");
        if after == 1_600 {
            let before = journal(&out);
            let _ran = run_patiently(scratch.benchwright().args(["resume", "out", "--json"]), &out);
            assert_eq!(journal(&out)[..before.len()], before, "no completed trial is repeated");
            check_results(&out);
        }
    }
}

#[test]
fn a_killed_runner_loses_nothing_and_leaves_nothing() {
    let _machine = machine();
    for after in [600, 2_000] {
        let scratch = Scratch::new();
        let out = scratch.path().join("out");
        run_while(&mut hotel(&scratch), |pid| {
            until("the results directory exists", || out.join("manifest.json").exists());
            sleep(Duration::from_millis(after));
            signal(pid, "KILL");
        });
        let before = journal(&out);
        let _ran = run_patiently(scratch.benchwright().args(["resume", "out", "--json"]), &out);
        assert_eq!(journal(&out)[..before.len()], before);
        check_results(&out);
        assert_eq!(scratch.remains(), [""; 0], "after {after} ms");
    }
}

#[test]
fn an_application_that_dies_aborts_its_trial() {
    let _machine = machine();
    let scratch = Scratch::new();
    let spec = "name: mortal\n\
        sut: {deploy: [process: {name: mortal, command: [sh, -c, 'echo soon dead >&2; \
        timeout -s KILL 2.5 \"$0\" reference \"$@\"', \"${vars.own}\"]}]}\n\
        vars: {own: OWN}\n\
        workload: {get: /}\n\
        load: {model: open, rate: 200/s}\n\
        phases: {warm_up: {fixed: 100ms}, measure: {time: 20s}, drain: 100ms}\n";
    let own = crate::support::benchwright();
    scratch.file("spec.yaml", spec.replace("OWN", own.to_str().unwrap()));
    let mut command = scratch.benchwright();
    command.args(["run", "spec.yaml", "--out", "out", "--json"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 3, "{ran:#?}");
    let entries = journal(&scratch.path().join("out"));
    assert_eq!(entries.len(), 3, "repeated twice at most: {entries:#?}");
    for entry in &entries {
        assert_eq!(entry["status"], "aborted");
        let reasons = entry["reasons"].to_string();
        assert!(reasons.contains("mortal") && reasons.contains("soon dead"), "{reasons}");
    }
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn an_application_that_never_becomes_ready_is_reported_with_its_output() {
    let _machine = machine();
    let scratch = Scratch::new();
    let spec = "name: sleeper\n\
        sut:\n  deploy: [process: {name: sleeper, command: [sh, -c, 'echo dreaming >&2; sleep 60']}]\n  \
        ready: {get: /, within: 2s}\n\
        load: {model: open, rate: 100/s}\nphases: {measure: {time: 1s}}\nworkload: {get: /}\n";
    scratch.file("spec.yaml", spec);
    let ran = run_while(scratch.benchwright().args(["run", "spec.yaml"]), |_| {});
    assert_eq!(ran.code, 3, "{ran:#?}");
    assert!(ran.stderr.contains("dreaming"), "{}", ran.stderr);
    assert!(ran.took < Duration::from_secs(30), "{:?}", ran.took);
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn a_service_of_my_own_is_measured_by_its_address() {
    let _machine = machine();
    let server = crate::support::Server::reference(&["--delay", "1ms"]);
    let scratch = Scratch::new();
    let spec = format!(
        "name: mine\nwhere: {{backend: external}}\nsut: {{endpoint: \"{}\"}}\n\
         workload: {{get: /}}\nload: {{model: open, rate: 500/s}}\n\
         phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 1s}}, drain: 1s}}\n",
        server.url
    );
    scratch.file("spec.yaml", spec);
    let mut command = scratch.benchwright();
    command.args(["run", "spec.yaml", "--out", "out", "--json"]).args(PATIENT);
    let _ran = run_patiently(&mut command, &scratch.path().join("out"));
    check_results(&scratch.path().join("out"));
}

/// Asserts that a folder and all that is in it has these permissions.
fn assert_readers(folder: &Path, of_folders: u32, of_files: u32) {
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(folder), of_folders, "{}", folder.display());
    for entry in fs::read_dir(folder).unwrap().flatten() {
        match entry.path().is_dir() {
            true => assert_readers(&entry.path(), of_folders, of_files),
            false => assert_eq!(mode(&entry.path()), of_files, "{}", entry.path().display()),
        }
    }
}

#[test]
fn results_are_for_others_only_if_they_are_shared() {
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("queue.yaml", QUEUE);
    // A umask that lets everybody read.
    let run_with = |words: &[&str]| {
        let (usual, mut command) = (scratch.benchwright(), Command::new("sh"));
        command.current_dir(scratch.path());
        command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.args(["-c", "umask 022; exec \"$0\" \"$@\""]).arg(benchwright()).args(words);
        let ran = run_while(&mut command, |_| {});
        assert_eq!(ran.code, 0, "{words:?}: {ran:#?}");
    };
    let out = |name: &str| scratch.path().join(name);
    run_with(&["run", "queue.yaml", "--out", "own"]);
    assert_readers(&out("own"), 0o700, 0o600);
    run_with(&["run", "queue.yaml", "--out", "shared", "--shared"]);
    assert_readers(&out("shared"), 0o755, 0o644);
    // What a later command writes follows the directory.
    run_with(&["report", "own"]);
    run_with(&["report", "shared"]);
    assert_readers(&out("own"), 0o700, 0o600);
    assert_readers(&out("shared"), 0o755, 0o644);
    run_with(&["rerun", "own", "--out", "again-shared", "--shared"]);
    assert_readers(&out("again-shared"), 0o755, 0o644);
    run_with(&["rerun", "shared", "--out", "again-own"]);
    assert_readers(&out("again-own"), 0o700, 0o600);
}

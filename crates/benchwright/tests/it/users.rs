//! Guide 4 as published, with shorter times: an overloaded replica whose probes wait behind logins.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{PATIENT, Scratch, experiments, journal, machine, run_patiently, tool};

/// The script that guide 4 prints, unmodified.
const POST: &str = include_str!("post.lua");

/// Runs profile `guide` of `users.yaml`, and others, with the guide's script and with probes that find an
/// overload within seconds. Returns the folder of the results, and whether there was an answer.
fn run(scratch: &Scratch, profiles: &[&str], set: &[&str]) -> (PathBuf, bool) {
    let spec = std::fs::read_to_string(experiments().join("users.yaml")).unwrap();
    let changes = [
        ("--probe-every 10s --probe-timeout 3s", "--probe-every 400ms --probe-timeout 300ms"),
        ("experiment.schema.json", "none"),
    ];
    let spec = changes.iter().fold(spec, |spec, (from, to)| {
        assert!(spec.contains(from), "users.yaml has no {from}");
        spec.replace(from, to)
    });
    scratch.file("users.yaml", spec);
    scratch.file("users-login.lua", POST);
    let out = scratch.path().join("out");
    let mut command = scratch.benchwright();
    command.args(["run", "users.yaml", "--out", "out", "--json"]).args(PATIENT);
    profiles.iter().for_each(|name| _ = command.args(["--profile", name]));
    let short = ["phases.cool_down=null", "phases.drain=1s", "repeat.trials=1", "scaling_law=null"];
    short.iter().chain(set).for_each(|setting| _ = command.args(["--set", setting]));
    let is_answered = run_patiently(&mut command, &out).is_ok();
    (out, is_answered)
}

fn file(out: &Path, entry: &Value, name: &str) -> Value {
    let path = out.join("trials").join(entry["trial"].to_string()).join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn a_closed_loop_at_an_overloaded_replica_shows_refusals_and_why() {
    let _machine = machine();
    let scratch = Scratch::new();
    let set = ["factors.replicas.levels=[1]", "phases.measure.time=5s"];
    let (out, is_answered) = run(&scratch, &["guide"], &set);
    // An invalid trial has these figures as well.
    let entries = journal(&out);
    let entry = entries.last().unwrap();
    let load = file(&out, entry, "load.json");
    let [succeeded, refused] = ["200", "503"].map(|code| load["statuses"][code].as_u64().unwrap());
    assert!(0 < succeeded && 10 * succeeded < refused, "{succeeded} and {refused}");
    let goodput = entry["observed"]["goodput_per_s"].as_f64().unwrap();
    assert!(10.0 * goodput < entry["observed"]["completed_per_s"].as_f64().unwrap(), "{goodput}");
    // Each of the 150 connections has a request in progress, nearly all of the time.
    let little = &entry["observed"]["little"];
    assert!((120.0..150.1).contains(&little["in_progress"].as_f64().unwrap()), "{little}");
    let findings = texts(&entry["findings"]);
    let finding = findings.iter().find(|text| text.contains("% of the requests failed, after"));
    let finding = finding.unwrap_or_else(|| panic!("{findings:?}"));
    assert!(finding.contains("and no capacity, and a level without them would look superlinear"));
    // The balancer names the replica, and the reason.
    let components = file(&out, entry, "components.json");
    let events = components["events"].as_array().unwrap();
    let out_of_service =
        "not ready: 3 probes in a row failed, the last because of no response within";
    let is_flapping = |event: &&Value| event["text"].as_str().unwrap().contains(out_of_service);
    let band = events.iter().find(is_flapping).unwrap_or_else(|| panic!("{events:?}"));
    assert!(band["from_s"].as_f64() <= band["to_s"].as_f64(), "{band}");
    let answer: Value =
        serde_json::from_slice(&std::fs::read(out.join("answer.json")).unwrap()).unwrap();
    assert_eq!((&answer["maximum_throughput"], &answer["capacity"]), (&Value::Null, &Value::Null));
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(
        report.contains("a level without them would look superlinear"),
        "the report's sentence"
    );
    assert!(!is_answered || report.contains(out_of_service), "its band");
    assert_eq!(scratch.remains(), [""; 0]);
}

#[test]
fn the_guides_script_is_measured_by_our_generator_and_by_wrk_which_drops_slow_answers() {
    const TEST: &str =
        "the_guides_script_is_measured_by_our_generator_and_by_wrk_which_drops_slow_answers";
    if !tool(TEST, "wrk") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let set = ["factors.replicas.levels=[1, 2]", "phases.measure.time=4s"];
    let (out, is_answered) = run(&scratch, &["guide", "wrk"], &set);
    let entries = journal(&out);
    for replicas in 1..=2 {
        let of = |generator: &str| {
            let is_it = |cell: &str| {
                cell.contains(&format!("replicas={replicas}")) && cell.ends_with(generator)
            };
            entries.iter().rev().find(|entry| entry["cell"].as_str().is_some_and(is_it))
        };
        let (Some(ours), Some(wrk)) = (of("ours"), of("wrk")) else {
            assert!(!is_answered, "a level has no trial: {entries:#?}");
            continue;
        };
        let document = file(&out, wrk, "load.json");
        let missing = document["printed"]["missing"].as_u64().unwrap();
        assert!(0 < missing, "{document:#}");
        assert_eq!(
            (&document["foreign"], &document["in_progress"]),
            (&"wrk".into(), &150.0.into())
        );
        let findings = texts(&wrk["findings"]);
        let is_missing = |text: &&str| {
            text.starts_with(&missing.to_string())
                && text.contains("took longer than 2 s and are missing in these percentiles")
        };
        assert!(findings.iter().any(is_missing), "{findings:?}");
        // Ours has all of them: the slowest login took longer than wrk's timeout.
        let times = &file(&out, ours, "load.json")["response_time"];
        assert!(2_000_000_000 < times["max_ns"].as_u64().unwrap(), "{times}");
    }
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains("unknown with wrk: late, lost, disturbed"), "the badge");
    for level in ["replicas=1, generator=ours: trial ", "replicas=2, generator=ours: trial "] {
        assert!(!is_answered || report.contains(level), "{level} by the second, even if it failed");
    }
    assert_eq!(scratch.remains(), [""; 0]);
}

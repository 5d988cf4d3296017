//! Experiments whose loads other generators make.

use std::path::Path;

use serde_json::Value;

use crate::support::{
    PATIENT, Scratch, experiments, journal, machine, run_patiently, run_while, tool,
};

fn load(out: &Path, entry: &Value) -> Value {
    let path = out.join("trials").join(entry["trial"].to_string()).join("load.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn one_script_is_measured_by_our_generator_and_by_wrk() {
    if !tool("one_script_is_measured_by_our_generator_and_by_wrk", "wrk") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    let out = scratch.path().join("out");
    let mut command = scratch.benchwright();
    command.arg("run").arg(experiments().join("generators.yaml"));
    command.args(["--profile", "ci", "--out", "out", "--json"]).args(PATIENT);
    let ran = run_while(&mut command, |_| {});
    assert!(matches!(ran.code, 0 | 1 | 3), "{ran:#?}");
    let is_answered = ran.code != 3;
    let entries = journal(&out);
    // An invalid trial has these figures as well.
    let last = |cell: &str| entries.iter().rev().find(|entry| entry["cell"] == cell);
    let (Some(ours), Some(wrk)) = (last("generator=ours"), last("generator=wrk")) else {
        assert!(!is_answered, "a level has no trial: {entries:#?}");
        return;
    };
    assert_eq!(wrk["observed"]["generator"], "wrk");
    assert_eq!(ours["observed"]["generator"], Value::Null);
    assert_eq!(wrk["observed"]["lateness_p99_ns"], Value::Null, "unknown is absent");
    for entry in [ours, wrk] {
        let completed = entry["observed"]["completed_per_s"].as_f64().unwrap();
        assert!((50.0..9_000.0).contains(&completed), "8 connections, 1 ms: {completed}/s");
    }
    let document = load(&out, wrk);
    assert_eq!(document["foreign"], "wrk");
    assert_eq!(document["validity"]["gates"], Value::Array(Vec::new()), "none is passed");
    assert_eq!(document["validity"]["unknown"].as_array().unwrap().len(), 4);
    assert_eq!(document["printed"]["percentiles"].as_array().unwrap().len(), 4);
    assert_eq!(document["response_time"], Value::Null);
    assert!(load(&out, ours)["response_time"].is_object());
    let report = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(report.contains("unknown with wrk: late, lost, disturbed, busy"), "the badge");
    assert_eq!(scratch.remains(), [""; 0]);
}

/// A server that answers after 1.5 s, and a wrk that waits for one.
const SLOW: &str = r#"
name: slow
where: {roles: {sut: {cpus: 0}, load: {cpus: 1}}}
sut: {deploy: [process: {name: reference, command: [benchwright, reference, --delay, 1500ms]}]}
workload: {get: null, exec: [wrk, -t1, -c4, -d, "${duration}", -T, 1s, --latency, "${url}"], parse: wrk}
load: {model: closed}
phases: {warm_up: {fixed: 0s}, measure: {time: 4s}}
"#;

#[test]
fn answers_beyond_the_timeout_of_wrk_are_missing_and_no_percentile_is_made_of_none() {
    const TEST: &str =
        "answers_beyond_the_timeout_of_wrk_are_missing_and_no_percentile_is_made_of_none";
    if !tool(TEST, "wrk") {
        return;
    }
    let _machine = machine();
    let scratch = Scratch::new();
    scratch.file("slow.yaml", SLOW);
    let out = scratch.path().join("out");
    let mut command = scratch.benchwright();
    command.args(["run", "slow.yaml", "--out", "out", "--json"]).args(PATIENT);
    let _ = run_patiently(&mut command, &out);
    let entries = journal(&out);
    let entry = entries.last().unwrap();
    let document = load(&out, entry);
    let answered = document["counts"]["completed"].as_u64().unwrap();
    assert!(0 < answered, "{document:#?}");
    assert_eq!(document["printed"]["missing"], answered);
    assert_eq!(document["printed"]["percentiles"], Value::Array(Vec::new()));
    assert_eq!(entry["observed"]["p99_ns"], Value::Null);
    let finding =
        format!("{answered} answers took longer than 1 s and are missing in these percentiles");
    let findings = entry["findings"].as_array().unwrap();
    let is_it = |one: &Value| one.as_str().is_some_and(|one| one.starts_with(&finding));
    assert!(findings.iter().any(is_it), "{findings:?}");
    assert_eq!(scratch.remains(), [""; 0]);
}

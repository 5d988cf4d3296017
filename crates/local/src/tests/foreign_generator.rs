//! Loads of generators that are not ours, on this machine.

use super::*;

/// A stand-in for wrk: it notes its words, and prints what was recorded.
const WRK: &str = r#"#!/bin/sh
here=$(dirname "$0")
echo "$PWD $*" >>"$here/calls"
. "$here/wrk-behaviour"
"#;

const OUTPUT: &str = include_str!("../foreign_generator/tests/wrk.txt");

fn stage(behaviour: &str) -> Stage {
    let stage = Stage::new("exit 2");
    let wrk = stage.folder.path().join("wrk");
    fs::write(&wrk, WRK).unwrap();
    fs::set_permissions(&wrk, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(stage.folder.path().join("wrk-output"), OUTPUT).unwrap();
    fs::write(stage.folder.path().join("wrk-behaviour"), behaviour).unwrap();
    stage
}

/// An experiment of one trial by wrk.
fn text() -> String {
    Stage::text(SERVER)
        .replace(
            "get: /",
            "exec: [./wrk, -d, '${duration}', --latency, -s, behaviour, '${url}'], parse: wrk, \
             path: /x",
        )
        .replace("model: open, rate: 500/s", "model: closed")
        .replace("fixed: 0s", "fixed: 2s")
        .replace("time: 300ms", "time: 1s")
        + "budget: {invalid_attempts: 0}\ndoctor: {level: off}\n"
}

#[test]
fn another_generator_warms_up_and_measures_on_the_cpus_of_the_load() {
    let stage = stage(
        r#"grep Cpus_allowed_list /proc/self/status >"$here/cpus"; sleep 0.3; cat "$here/wrk-output""#,
    );
    let ended = stage.run(&stage.read(&text())).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::Answered, "{}", ended.answer.stopped_by);
    let calls = fs::read_to_string(stage.folder.path().join("calls")).unwrap();
    let here = stage.folder.path().canonicalize().unwrap();
    let call = |length: &str| {
        format!("{} -d {length} --latency -s behaviour http://127.0.0.1:9/x\n", here.display())
    };
    assert_eq!(calls, call("2s") + &call("1s"), "the warm-up is a run of its own");
    let cpus = fs::read_to_string(stage.folder.path().join("cpus")).unwrap();
    assert_eq!(cpus.split_ascii_whitespace().last(), Some("0"));

    let entry = &ended.answer.trials[0];
    assert_eq!(entry.status, Status::Valid, "{entry:?}");
    let observed = entry.observed.as_ref().unwrap();
    assert_eq!(observed.generator.as_deref(), Some("wrk"));
    assert_eq!((observed.lateness_p99_ns, observed.hiccup_p99_ns), (None, None));
    assert!(observed.p99_ns.is_some() && observed.p999_ns.is_none(), "{observed:?}");
    assert!(observed.cpu.contains_key("server"), "{observed:?}");
    for name in ["late", "lost", "disturbed"] {
        let says = |warning: &String| warning.starts_with(&format!("not known if {name}: wrk"));
        assert!(entry.warnings.iter().any(says), "{:?}", entry.warnings);
    }
    let explained = lab::explanation::of_trial(&ended.answer, 1).unwrap();
    let says = |text: &str| explained.iter().any(|sentence| sentence.text.starts_with(text));
    assert!(says("valid as far as it is known"), "{explained:?}");
    let explained = lab::explanation::of_run(&ended.answer);
    let text = "wrk made the load of trial 1: if it was late, lost requests or paused is unknown";
    assert!(explained.iter().any(|sentence| sentence.text == text), "{explained:?}");
    let directory = results::Directory::open(&stage.out()).unwrap();
    let binaries = directory.manifest().unwrap().binaries;
    let known: Vec<&str> = binaries.keys().map(String::as_str).collect();
    assert!(known.contains(&"generator ./wrk"), "{known:?}");
    assert!(known.contains(&"workload.exec behaviour"), "{known:?}");
    stage.assert_nothing_left();
}

fn reasons(behaviour: &str) -> Vec<String> {
    let stage = stage(behaviour);
    let ended = stage.run(&stage.read(&text())).unwrap();
    assert_eq!(ended.answer.verdict, Verdict::NoAnswer);
    let entry = &ended.answer.trials[0];
    assert_eq!(entry.status, Status::Invalid, "{entry:?}");
    stage.assert_nothing_left();
    entry.reasons.clone()
}

#[test]
fn a_generator_that_fails_makes_its_trial_invalid_with_its_last_lines() {
    let of_stderr = reasons("echo unable to connect >&2; exit 7");
    assert_eq!(of_stderr, ["./wrk ended with exit code 7\n  unable to connect"]);
    let of_stdout = reasons("echo; echo out of sockets; kill -9 $$");
    assert_eq!(of_stdout, ["./wrk was killed by SIGKILL\n  out of sockets"]);
    let unread = reasons("echo hello; echo world");
    assert_eq!(
        unread,
        [
            "the output of ./wrk cannot be read: it printed no line `… requests in …`\n  hello\n  world"
        ]
    );
    let endless = reasons("exec yes no end");
    let begin = "./wrk was killed by SIGPIPE".to_owned() + &"\n  no end".repeat(9);
    assert!(endless[0].starts_with(&begin) && endless[0].lines().count() == 11, "{endless:?}");
}

#[test]
fn a_generator_that_is_not_there_is_found_before_anything_starts() {
    let stage = stage("exit 0");
    let error = stage.run(&stage.read(&text().replace("./wrk", "no-such-wrk"))).unwrap_err();
    assert!(error.to_string().starts_with("program `no-such-wrk` not found\n"), "{error}");
    assert!(!stage.out().exists());
    stage.assert_nothing_left();
}

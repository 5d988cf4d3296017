//! Limits of the user: few processes and threads are allowed.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;
use std::time::Duration;

use nix::unistd::geteuid;

use crate::support::{QUEUE, Ran, Scratch, Server, benchwright, run_while, signal, sleep};

const SPEC: &str = "\
name: limits
sut: {deploy: [process: {name: server, command: [./benchwright, reference]}]}
workload: {get: /}
load: {model: open, rate: 100/s, connections: 4}
phases: {warm_up: {fixed: 50ms}, measure: {time: 200ms}, drain: 50ms}
budget: {invalid_attempts: 0}
doctor: {level: off}
";

/// A user that runs nothing else: the limit counts all processes of a user. Root has no such limit.
const UID: u32 = 61_937;

/// Runs `./benchwright` in the folder as a user that may have so many processes and threads.
fn run_with(most: u32, scratch: &Scratch, words: &[&str]) -> Ran {
    let most = format!("--nproc={most}:{most}");
    let mut command = Command::new("prlimit");
    command.arg(most);
    if geteuid().is_root() {
        let uid = UID.to_string();
        command.args(["setpriv", "--reuid", &uid, "--regid", &uid, "--clear-groups"]);
    }
    command.arg("./benchwright").args(words).current_dir(scratch.path());
    command
        .env("TMPDIR", scratch.path())
        .env("BENCHWRIGHT_RUNTIME", scratch.path().join("runtime"));
    let is_server = matches!(words, ["reference" | "receive"]);
    run_while(&mut command, |pid| {
        if is_server {
            sleep(Duration::from_millis(500));
            signal(pid, "TERM");
        }
    })
}

/// A debug build needs more of a stack than a release; neither may end by a signal.
#[test]
fn a_small_stack_is_enough() {
    let scratch = Scratch::new();
    scratch.file("limits.yaml", SPEC);
    scratch.file("mix.jsonl", r#"{"label":"a","target":"/"}"#);
    let cases: [&[&str]; 5] = [
        &["--help"],
        &["plan", "limits.yaml"],
        &["mix", "check", "mix.jsonl"],
        &["load", "http://127.0.0.1:9/", "--closed", "--dry-run"],
        &["list", "."],
    ];
    for words in cases {
        let mut command = Command::new("prlimit");
        command.arg("--stack=65536:65536").arg(benchwright()).args(words);
        let ran = run_while(command.current_dir(scratch.path()), |_| {});
        assert!([0, 1, 2, 3].contains(&ran.code), "{words:?}: {ran:#?}");
    }
}

#[test]
fn few_processes_are_a_sentence_and_not_a_panic() {
    let scratch = Scratch::new();
    if geteuid().is_root() {
        chown(scratch.path(), Some(UID), Some(UID)).unwrap();
    }
    fs::copy(benchwright(), scratch.path().join("benchwright")).unwrap();
    scratch.file("limits.yaml", SPEC);
    let server = Server::reference(&[]);
    let load = ["load", &server.url, "--rate", "100/s", "--duration", "200ms", "--warm-up", "0s"];
    let wrk = ["wrk", "--strict", "-t2", "-c2", "-d1s", &server.url];
    let mut refused = [0; 5];
    for most in [1, 2, 3, 4, 5, 6, 8, 10, 14] {
        let out = format!("r{most}");
        let run = ["run", "limits.yaml", "--out", &out];
        for (count, words) in
            refused.iter_mut().zip([&load[..], &run, &wrk, &["reference"], &["receive"]])
        {
            let ran = run_with(most, &scratch, words);
            assert!([0, 2, 3].contains(&ran.code), "{most}: {words:?}: {ran:#?}");
            let is_told =
                ["panicked", "fault of benchwright"].iter().any(|it| ran.stderr.contains(it));
            assert!(!is_told, "{most}: {words:?}: {ran:#?}");
            assert!(ran.took < Duration::from_secs(20), "{most}: {words:?}: {ran:#?}");
            // Whatever is refused, and for whatever part of it, says why; a busy machine is another reason.
            let is_explained =
                ran.stderr.contains("ulimit -u") || ran.stdout.contains("not valid: ");
            assert!(ran.code == 0 || is_explained, "{most}: {words:?}: {ran:#?}");
            *count += u32::from(ran.code != 0);
        }
    }
    assert!(refused[..2].iter().all(|count| 0 < *count), "one process is enough: {refused:?}");
    server.end();
}

/// The kernel would end the process by SIGXFSZ, which says nothing.
#[test]
fn a_small_limit_of_the_size_of_files_is_a_sentence_with_the_remedy() {
    let scratch = Scratch::new();
    scratch.file("queue.yaml", QUEUE);
    let mut kept = 0;
    for most in [0, 100, 1_000, 3_000, 6_000, 12_000, 24_000] {
        let out = format!("r{most}");
        let ran = run_with_files_of(most, &scratch, &["run", "queue.yaml", "--out", &out]);
        assert!([2, 3].contains(&ran.code), "{most}: {ran:#?}");
        let remedy = "File too large; ";
        assert!(
            ran.stderr.contains(remedy) && ran.stderr.contains("ulimit -f"),
            "{most}: {ran:#?}"
        );
        assert!(ran.stderr.contains(&out) || most == 0, "{most}: {ran:#?}");
        if ran.stderr.contains(&format!("go on with `benchwright resume {out}`")) {
            kept += 1;
            let resumed = run_while(scratch.benchwright().args(["resume", &out]), |_| {});
            assert_eq!(resumed.code, 0, "{most}: {resumed:#?}");
        }
    }
    assert!(0 < kept, "no limit was reached after a trial");
}

/// The limit is one of the components, too.
#[test]
fn a_small_limit_of_the_size_of_files_leaves_nothing_running() {
    let scratch = Scratch::new();
    scratch.file("limits.yaml", SPEC.replace("./benchwright", "benchwright"));
    for most in [3_000, 12_000] {
        let out = format!("r{most}");
        let ran = run_with_files_of(most, &scratch, &["run", "limits.yaml", "--out", &out]);
        assert_eq!(ran.code, 3, "{most}: {ran:#?}");
        assert!(ran.stderr.contains("ulimit -f"), "{most}: {ran:#?}");
        assert_eq!(scratch.remains(), [""; 0], "{most}: {ran:#?}");
    }
}

/// Runs benchwright where no file may be longer than so many bytes.
fn run_with_files_of(most: u32, scratch: &Scratch, words: &[&str]) -> Ran {
    let own = scratch.benchwright();
    let mut command = Command::new("prlimit");
    command.arg(format!("--fsize={most}:{most}")).arg(own.get_program());
    command.args(words).current_dir(scratch.path());
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    run_while(&mut command, |_| {})
}

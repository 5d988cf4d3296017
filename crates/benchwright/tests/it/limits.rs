//! Limits of the user: few processes and threads are allowed.

use std::fs;
use std::os::unix::fs::chown;
use std::process::Command;
use std::time::Duration;

use nix::unistd::geteuid;

use crate::support::{
    QUEUE, Ran, Scratch, Server, benchwright, run_while, signal, sleep, until,
    until_it_listens_to_ctrl_c,
};

const SPEC: &str = "\
name: limits
sut: {deploy: [process: {name: server, command: [./benchwright, reference]}]}
workload: {get: /}
load: {model: open, rate: 100/s, connections: 4}
phases: {warm_up: {fixed: 50ms}, measure: {time: 200ms}, drain: 50ms}
budget: {invalid_attempts: 0}
doctor: {level: off}
";

/// Users that run nothing else, one for each test: the limit counts all processes of a user. Root has no such limit.
const UID: u32 = 61_937;
const OTHER_UID: u32 = 61_938;

/// A folder with the program, and the user that it belongs to.
struct Limited {
    scratch: Scratch,
    uid: u32,
}

impl Limited {
    fn new(uid: u32) -> Limited {
        let scratch = Scratch::new();
        if geteuid().is_root() {
            chown(scratch.path(), Some(uid), Some(uid)).unwrap();
        }
        fs::copy(benchwright(), scratch.path().join("benchwright")).unwrap();
        scratch.file("limits.yaml", SPEC);
        Limited { scratch, uid }
    }

    /// Returns the command `./benchwright` of the user, who may have so many processes and threads.
    fn command(&self, most: u32, words: &[&str]) -> Command {
        let Limited { scratch, uid } = self;
        let mut command = Command::new("prlimit");
        command.arg(format!("--nproc={most}:{most}"));
        if geteuid().is_root() {
            let uid = uid.to_string();
            command.args(["setpriv", "--reuid", &uid, "--regid", &uid, "--clear-groups"]);
        }
        command.arg("./benchwright").args(words).current_dir(scratch.path());
        command
            .env("TMPDIR", scratch.path())
            .env("BENCHWRIGHT_RUNTIME", scratch.path().join("runtime"));
        command
    }

    /// Runs it, and ends what has no end, or a late one.
    fn run(&self, most: u32, words: &[&str]) -> Ran {
        let is_ended = matches!(words, ["reference" | "receive" | "capacity" | "kv", ..]);
        run_while(&mut self.command(most, words), |pid| {
            if is_ended {
                until_it_listens_to_ctrl_c(pid);
                sleep(Duration::from_millis(500));
                signal(pid, "TERM");
            }
        })
    }
}

/// Asserts that a command did what it was to do, or says that more processes are needed. Returns true if it did.
fn is_done_or_explained(most: u32, words: &[&str], ran: &Ran) -> bool {
    // A search is ended before it has an answer.
    let is_interrupted = ran.code == 130 && words[0] == "capacity";
    assert!([0, 2, 3].contains(&ran.code) || is_interrupted, "{most}: {words:?}: {ran:#?}");
    let is_told = ["panicked", "fault of benchwright"].iter().any(|it| ran.stderr.contains(it));
    assert!(!is_told, "{most}: {words:?}: {ran:#?}");
    assert!(ran.took < Duration::from_secs(20), "{most}: {words:?}: {ran:#?}");
    // Whatever is refused, and for whatever part of it, says why; a busy machine is another reason.
    let is_explained = ["ulimit -u", "machine disturbed"].iter().any(|it| ran.stderr.contains(it))
        || ran.stdout.contains("not valid: ");
    let is_done = ran.code == 0 || is_interrupted;
    assert!(is_done || is_explained, "{most}: {words:?}: {ran:#?}");
    is_done
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
    let limited = Limited::new(UID);
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
            let ran = limited.run(most, words);
            *count += u32::from(!is_done_or_explained(most, words, &ran));
        }
    }
    assert!(refused[..2].iter().all(|count| 0 < *count), "one process is enough: {refused:?}");
    server.end();
}

/// The commands that serve or load stores, search, go on, or show their figures.
#[test]
fn few_processes_are_a_sentence_to_the_other_commands_that_start_threads() {
    let (limited, of_store) = (Limited::new(OTHER_UID), Scratch::new());
    let scratch = &limited.scratch;
    scratch.file("begun.yaml", SPEC.replace("budget:", "repeat: {trials: 3}\nbudget:"));
    let properties =
        "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=10\noperationcount=100\n";
    scratch.file("ycsb.properties", properties);
    let server = Server::reference(&[]);
    let in_memory = "kv serve --ip 127.0.0.1:0 --storage none --memory 64MiB";
    let store = Server::start(of_store.benchwright().args(in_memory.split(' ')));
    let servers = format!("kv.servers={}", store.url.split(' ').next().unwrap());
    let ycsb = format!("kv -P ycsb.properties -p {servers} -threads 2");
    let ycsb_load = format!("ycsb load {ycsb}");
    // Of enough processes: what the others need is there.
    let words: Vec<&str> = ycsb_load.split(' ').collect();
    let loaded = limited.run(1_000, &words);
    assert_eq!(loaded.code, 0, "{loaded:#?}");
    let begin = ["run", "begun.yaml", "--out", "begun"];
    let begun = run_while(&mut limited.command(1_000, &begin), |pid| {
        let journal = scratch.path().join("begun/journal.jsonl");
        until("a trial", || fs::metadata(&journal).is_ok_and(|journal| 0 < journal.len()));
        signal(pid, "TERM");
    });
    assert!([0, 3, 130].contains(&begun.code), "{begun:#?}");

    let ycsb_run = format!("ycsb run {ycsb}");
    let capacity = format!("capacity {} --slo p99<=1s --range 50/s..60/s --out", server.url);
    let mut refused = [0; 5];
    for most in [1, 2, 3, 5, 8] {
        let with_metrics = format!("run limits.yaml --metrics 127.0.0.1:0 --out m{most}");
        let capacity = format!("{capacity} c{most}");
        let all = [in_memory, &ycsb_run, &with_metrics, &capacity, "resume begun"];
        for (count, words) in refused.iter_mut().zip(all) {
            let words: Vec<&str> = words.split(' ').collect();
            let ran = limited.run(most, &words);
            *count += u32::from(!is_done_or_explained(most, &words, &ran));
        }
    }
    assert!(refused.iter().all(|count| 0 < *count), "one process is enough: {refused:?}");
    store.end();
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

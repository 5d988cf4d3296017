//! Signals at random moments of every command that takes time: each ends soon, whatever it is doing.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use measure::Random;

use crate::support::{
    LONG_SEARCH, Ran, Scratch, Server, machine, now, run_while, signal, sleep, until,
    until_it_listens_to_ctrl_c,
};

/// The time within which a signal is heard: in one of three attempts at least, as others may keep this machine busy.
/// Even then nothing takes longer than the second time.
const HEARD: Duration = Duration::from_secs(2);
const BUSY: Duration = Duration::from_secs(5);
const ATTEMPTS: usize = 3;
/// The signals are sent within this time.
const MOMENTS: Duration = Duration::from_millis(1_200);

/// A command and its words: `URL` is a server that answers, `SILENT` one that does not, `STORE` one of the key-value
/// store, `OUT` a new folder.
const COMMANDS: [(&str, &str); 35] = [
    ("run", "run local.yaml --out OUT"),
    ("run, simulated", "run simulated.yaml --out OUT"),
    ("run, simulated, long trials", "run long.yaml --out OUT"),
    ("run, unreachable", "run silent.yaml --out OUT"),
    ("run, its check of a script", "run check.yaml --out OUT"),
    ("run, its check of a pipe", "run pipe.yaml --out OUT"),
    ("run, a program that hangs for its version", "run version.yaml --out OUT"),
    ("resume", "resume begun"),
    ("rerun", "rerun begun --out OUT"),
    ("capacity", "capacity URL --slo p99<=1s --out OUT"),
    ("init", "init SILENT --force"),
    ("plan", "plan check.yaml"),
    ("plan, its check of a pipe", "plan store.yaml"),
    ("doctor", "doctor"),
    ("clean", "clean"),
    ("load, open loop", "load URL --rate 500/s --duration 30s"),
    ("load, closed loop", "load URL --closed --duration 30s"),
    ("load, far too much", "load URL --rate 1000000000/s --duration 30s"),
    ("load, bursts", "load URL --rate 1000/s --arrivals bursts:4294967295 --duration 30s"),
    ("load, no answer", "load SILENT --rate 10/s --duration 30s"),
    ("load, script", "load URL --rate 500/s --duration 30s --script quick.lua"),
    ("load, endless file", "load URL --rate 500/s --duration 30s --script file.lua"),
    ("load, endless init", "load URL --rate 500/s --duration 30s --script init.lua"),
    ("load, endless response", "load URL --rate 500/s --duration 30s --script response.lua"),
    ("load, awaits its start", "load URL --rate 500/s --duration 30s --start stdin"),
    ("load, self-test", "load --self-test"),
    ("wrk", "wrk -t2 -c8 -d30s URL"),
    ("wrk2, endless response", "wrk2 -t2 -c8 -d30s -R500 -s response.lua URL"),
    ("reference", "reference"),
    ("receive", "receive"),
    ("merge", "merge pipe"),
    ("join", "join pipe"),
    ("report", "report pipe"),
    ("kv serve", "kv serve --ip 127.0.0.1:0 --storage none --memory 64MiB"),
    ("ycsb run", "ycsb run kv -P ycsb.properties -p kv.servers=STORE -p operationcount=100000000"),
];

const LOCAL: &str = "\
name: signals
sut: {deploy: [process: {name: server, command: [benchwright, reference]}]}
workload: {get: /}
load: {model: open, rate: 200/s, connections: 8}
phases: {warm_up: {fixed: 100ms}, measure: {time: 30s}, drain: 10s}
";
/// Its check of the load does not end.
const CHECK: &str = "workload: {script: file.lua}";
const STORE: &str = "\
name: signals
where: {backend: external}
sut: {endpoint: \"kv://127.0.0.1:1\"}
workload: {ycsb: pipe}
load: {model: open, rate: 10/s, connections: 2}
phases: {measure: {time: 30s}}
";
const SILENT: &str = "\
name: signals
where: {backend: external}
sut: {endpoint: SILENT}
workload: {get: /}
load: {model: open, rate: 10/s, connections: 2}
phases: {warm_up: {fixed: 100ms}, measure: {time: 30s}, drain: 10s}
";

#[test]
fn a_signal_is_heard_at_any_moment_of_every_command() {
    let _machine = machine();
    let folder = Scratch::new();
    let server = Server::reference(&["--delay", "1ms"]);
    // It accepts what the kernel accepts for it, and answers nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("http://{}/", silent.local_addr().unwrap());
    let mut store = folder.benchwright();
    store.args(["kv", "serve", "--ip", "127.0.0.1:0", "--storage", "none", "--memory", "64MiB"]);
    let store = Server::start(&mut store);
    prepare(&folder, &silent);
    let mut wrong = Vec::new();
    for (number, (name, words)) in (0..).zip(COMMANDS) {
        let mut random = Random::part(36, number);
        let names = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "XCPU"];
        for sent in [names[random.below(names.len() as u64) as usize], "INT"] {
            let mut attempts = Vec::new();
            while attempts.len() < ATTEMPTS && attempts.iter().all(|took| HEARD <= *took) {
                let moment = MOMENTS.mul_f64(random.unit());
                let out = format!("out-{}", moment.as_nanos());
                let words = words.split(' ').map(|word| {
                    word.replace("URL", &server.url)
                        .replace("SILENT", &silent)
                        .replace("STORE", store.url.split(' ').next().unwrap())
                        .replace("OUT", &out)
                });
                let (ran, heard) = interrupted(folder.benchwright().args(words), moment, sent);
                // Some end by themselves before, and Ctrl-C just ends what does not handle it yet.
                let is_known = matches!((ran.code, sent), (0 | 3 | 130, _) | (-1, "INT"));
                let is_refused = ran.code == 2 && ran.stderr.contains("pipe");
                let is_judged = ran.code == 1 && name == "doctor";
                let is_expected = (is_known || is_refused || is_judged) && heard < BUSY;
                if !is_expected || ran.stderr.contains("panicked") {
                    wrong.push(format!("{name}: SIG{sent} after {moment:?}: {heard:?}, {ran:#?}"));
                }
                attempts.push(heard);
            }
            if attempts.iter().all(|took| HEARD <= *took) {
                wrong.push(format!("{name}: SIG{sent} is heard in {attempts:?}"));
            }
        }
    }
    store.end();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let cleaned = run_while(folder.benchwright().arg("clean"), |_| {});
    assert_eq!((cleaned.code, folder.remains()), (0, Vec::new()), "{cleaned:#?}");
}

/// Makes the files of the commands.
fn prepare(folder: &Scratch, silent: &str) {
    folder.file("local.yaml", LOCAL);
    folder.file("simulated.yaml", LONG_SEARCH);
    // Each trial takes seconds of real time.
    let long = LONG_SEARCH.replace("servers: 4", "servers: 400");
    folder.file("long.yaml", long.replace("[2000/s, 3000/s]", "[300k/s, 310k/s]"));
    folder.file("silent.yaml", SILENT.replace("SILENT", silent));
    folder.file("check.yaml", LOCAL.replace("workload: {get: /}", CHECK));
    folder.file("pipe.yaml", LOCAL.replace("workload: {get: /}", "workload: {script: pipe}"));
    folder.file("store.yaml", STORE);
    folder.file("node", "#!/bin/sh\nexec sleep 600\n");
    let node = folder.path().join("node");
    fs::set_permissions(&node, fs::Permissions::from_mode(0o755)).unwrap();
    folder.file("version.yaml", LOCAL.replace("[benchwright, reference]", "[./node]"));
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    folder.file("quick.lua", "function response() end");
    folder.file("file.lua", "while true do end");
    folder.file("init.lua", "function init() while true do end end");
    folder.file("response.lua", "function response() while true do end end");
    let properties =
        "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=10\nreadproportion=1\n";
    folder.file("ycsb.properties", properties);
    let mut begun = folder.benchwright();
    let begun = run_while(begun.args(["run", "simulated.yaml", "--out", "begun"]), |pid| {
        let journal = folder.path().join("begun/journal.jsonl");
        until("a trial", || fs::metadata(&journal).is_ok_and(|journal| 0 < journal.len()));
        signal(pid, "TERM");
    });
    assert!([0, 130].contains(&begun.code), "{begun:#?}");
}

/// Sends a signal after this time; returns the end, and the time until it.
fn interrupted(command: &mut Command, moment: Duration, name: &str) -> (Ran, Duration) {
    let mut sent = None;
    let ran = run_while(command, |pid| {
        sleep(moment);
        sent = Some(now());
        signal(pid, name);
    });
    (ran, now() - sent.unwrap())
}

/// A reader that hangs, or a terminal that is stopped, keeps nobody from ending a command.
#[test]
fn a_signal_is_heard_while_nobody_reads_what_is_printed() {
    let _machine = machine();
    let folder = Scratch::new();
    let server = Server::reference(&["--delay", "1ms"]);
    folder.file("local.yaml", LOCAL);
    let load = format!("load {} --rate 500/s --duration 1s --progress lines", server.url);
    let mut wrong = Vec::new();
    for words in ["run local.yaml", load.as_str(), "reference", "receive", "load --self-test"] {
        let (_kept, mut full) = std::io::pipe().unwrap();
        // As much as a pipe holds.
        full.write_all(&[b'x'; 1 << 16]).unwrap();
        let mut command = folder.benchwright();
        command.args(words.split(' ')).stdin(Stdio::null());
        command.stdout(full.try_clone().unwrap()).stderr(full);
        let mut child = command.spawn().unwrap();
        until_it_listens_to_ctrl_c(child.id());
        sleep(Duration::from_millis(1_500));
        signal(child.id(), "TERM");
        let sent = now();
        while child.try_wait().unwrap().is_none() && now() - sent < BUSY {
            sleep(Duration::from_millis(20));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            child.wait().unwrap();
            wrong.push(words.to_owned());
        }
    }
    assert!(wrong.is_empty(), "deaf: {wrong:?}");
}

/// A pipe in place of a file, whose reader hangs, keeps nobody from ending a command either.
#[test]
fn a_signal_is_heard_while_nobody_reads_what_is_written() {
    let _machine = machine();
    let folder = Scratch::new();
    let server = Server::reference(&["--delay", "1ms"]);
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut kept = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    kept.write_all(&[b'x'; 1 << 16]).unwrap();
    for option in ["--samples", "--json", "--csv", "--hlog", "--report"] {
        let output = format!("{option}={}", pipe.display());
        let words = ["load", &server.url, "--rate", "500/s", "--duration", "500ms", &output];
        let moment = Duration::from_millis(2_500);
        let (ran, took) = interrupted(folder.benchwright().args(words), moment, "TERM");
        assert!(took < BUSY, "{option}: {took:?}");
        assert_eq!(ran.code, 130, "{option}: {ran:#?}");
        assert!(ran.stderr.contains("interrupted while nobody read"), "{option}: {ran:#?}");
        assert!(ran.stdout.contains("completed"), "{option}: {ran:#?}");
    }
}

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

/// The time within which a signal is heard. Even where others keep this machine busy nothing takes longer than the
/// second time.
const HEARD: Duration = Duration::from_secs(2);
const BUSY: Duration = Duration::from_secs(5);
/// The signals are sent within this time, to a command that has one stage or ends soon within the second one.
const MOMENTS: Duration = Duration::from_millis(1_200);
const FIRST_MOMENTS: Duration = Duration::from_millis(200);

const SIGNALS: [&str; 8] = ["INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "XCPU"];

/// A command and its words: `URL` is a server that answers, `SILENT` one that does not, at the address `PEER`, `STORE`
/// the address of one of the key-value store, `OUT` a new folder or file. Nobody writes to the two pipes, of which the
/// held one is open. The first command gets every signal: it has the most to end.
const COMMANDS: &[(&str, &str)] = &[
    ("run", "run local.yaml --out OUT"),
    ("run, metrics", "run simulated.yaml --metrics 127.0.0.1:0 --out OUT"),
    ("run, events that do not arrive", "run events.yaml --out OUT"),
    ("run, another generator", "run exec.yaml --out OUT"),
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
    (
        "load, events that do not arrive",
        "load URL --rate 500/s --duration 300ms --events binary --receive 127.0.0.1:0 --receive-within 30s",
    ),
    ("wrk", "wrk -t2 -c8 -d30s URL"),
    ("wrk2, endless response", "wrk2 -t2 -c8 -d30s -R500 -s response.lua URL"),
    ("reference", "reference"),
    ("receive", "receive"),
    ("merge", "merge pipe"),
    ("join", "join pipe"),
    ("report", "report pipe"),
    ("list", "list ."),
    ("explain", "explain begun"),
    ("advise", "advise begun"),
    ("reproducibility", "reproducibility begun"),
    ("compare", "compare held-pipe pipe"),
    ("analyse", "analyse held-pipe"),
    ("mix check", "mix check held-pipe"),
    ("kv serve", "kv serve --ip 127.0.0.1:0 --storage none --memory 64MiB"),
    ("kv stats", "kv stats STORE"),
    ("kv stats, no answer", "kv stats PEER"),
    ("ycsb run", "ycsb run kv -P ycsb.properties -p kv.servers=STORE -p operationcount=100000000"),
    (
        "ycsb load",
        "ycsb load kv -P ycsb.properties -p kv.servers=STORE -p recordcount=100000000 -target 1000",
    ),
    (
        "ycsb bench",
        "ycsb bench --servers STORE --keys 10k --transactions 100k --seconds 30 --threads 2",
    ),
    ("ycsb convert", "ycsb convert held-pipe OUT"),
];

/// Those that have one stage, or end soon.
const SHORT: [&str; 10] = [
    "list",
    "explain",
    "advise",
    "reproducibility",
    "compare",
    "analyse",
    "mix check",
    "kv stats",
    "kv stats, no answer",
    "ycsb convert",
];

const LOCAL: &str = "\
name: signals
sut: {deploy: [process: {name: server, command: [benchwright, reference]}]}
workload: {get: /}
load: {model: open, rate: 200/s, connections: 8}
phases: {warm_up: {fixed: 100ms}, measure: {time: 30s}, drain: 10s}
";
/// Nothing sends them to their receiver.
const EVENTS: &str = "workload: {events: {receive: \"127.0.0.1:0\", within: 30s}}";
/// Its generator does not end.
const EXEC: &str = "\
name: signals
sut: {deploy: [process: {name: server, command: [benchwright, reference]}]}
workload: {exec: [./sleeper, \"${url}\", \"${duration}\"], parse: wrk}
load: {model: closed, connections: 2}
phases: {warm_up: {fixed: 0s}, measure: {time: 30s}}
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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let peer = listener.local_addr().unwrap().to_string();
    let silent = format!("http://{peer}/");
    // In a folder of its own: it is no remains of a command.
    let of_store = Scratch::new();
    let mut store = of_store.benchwright();
    store.args(["kv", "serve", "--ip", "127.0.0.1:0", "--storage", "none", "--memory", "64MiB"]);
    let store = Server::start(&mut store);
    prepare(&folder, &silent);
    let held = folder.path().join("held-pipe");
    let _held = fs::File::options().read(true).write(true).open(held).unwrap();
    let mut wrong = Vec::new();
    for (number, &(name, words)) in (0..).zip(COMMANDS) {
        let mut random = Random::part(36, number);
        let drawn = SIGNALS[random.below(SIGNALS.len() as u64) as usize];
        let signals = if number == 0 { SIGNALS.to_vec() } else { vec![drawn, "INT"] };
        let moments = if SHORT.contains(&name) { FIRST_MOMENTS } else { MOMENTS };
        for sent in signals {
            let mut attempts = Vec::new();
            while is_heard(&attempts).is_none() {
                let moment = moments.mul_f64(random.unit());
                let out = format!("out-{}", moment.as_nanos());
                let words = words.split(' ').map(|word| {
                    word.replace("URL", &server.url)
                        .replace("SILENT", &silent)
                        .replace("PEER", &peer)
                        .replace("STORE", store.url.split(' ').next().unwrap())
                        .replace("OUT", &out)
                });
                let (ran, heard) = interrupted(folder.benchwright().args(words), moment, sent);
                // Some end by themselves before, and Ctrl-C just ends what does not handle it yet.
                let is_known = matches!((ran.code, sent), (0 | 3 | 130, _) | (-1, "INT"));
                let is_refused = ran.code == 2 && ran.stderr.contains("pipe");
                let is_judged = ran.code == 1 && name == "doctor";
                let is_expected = (is_known || is_refused || is_judged) && heard < BUSY;
                // What the command line refuses was never interrupted.
                let is_misspelt = ran.stderr.contains("try '--help'");
                if !is_expected || is_misspelt || ran.stderr.contains("panicked") {
                    wrong.push(format!("{name}: SIG{sent} after {moment:?}: {heard:?}, {ran:#?}"));
                }
                let left = left_by_a_command(&folder);
                if !left.is_empty() {
                    wrong.push(format!("{name}: SIG{sent} after {moment:?} leaves {left:#?}"));
                    run_while(folder.benchwright().arg("clean"), |_| {});
                }
                attempts.push(heard);
            }
            if is_heard(&attempts) == Some(false) {
                wrong.push(format!("{name}: SIG{sent} is heard in {attempts:?}"));
            }
        }
    }
    store.end();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let cleaned = run_while(folder.benchwright().arg("clean"), |_| {});
    assert_eq!((cleaned.code, &*cleaned.stdout), (0, "nothing was left behind\n"), "{cleaned:#?}");
    assert_eq!(folder.remains(), [""; 0]);
}

/// Returns true if a signal is heard soon, once the attempts show it: at the first one, or at two of three, as others
/// may keep this machine busy.
fn is_heard(attempts: &[Duration]) -> Option<bool> {
    let late = attempts.iter().filter(|took| HEARD <= **took).count();
    match (attempts.len() - late, late) {
        (1.., 0) | (2.., _) => Some(true),
        (_, 2..) => Some(false),
        _ => None,
    }
}

/// Returns what a command leaves on this machine. No signal of the list may leave anything: only `kill -9` does, until
/// the next start. What was killed may need a moment to be gone.
fn left_by_a_command(folder: &Scratch) -> Vec<String> {
    let end = now() + BUSY;
    loop {
        let left = folder.remains();
        if left.is_empty() || end < now() {
            return left;
        }
        sleep(Duration::from_millis(20));
    }
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
    let events = LOCAL.replace("workload: {get: /}", EVENTS);
    folder.file("events.yaml", events.replace("time: 30s", "time: 300ms"));
    folder.file("exec.yaml", EXEC);
    for program in ["node", "sleeper"] {
        let path = folder.file(program, "#!/bin/sh\nexec sleep 600\n");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder.file("version.yaml", LOCAL.replace("[benchwright, reference]", "[./node]"));
    for pipe in ["pipe", "held-pipe"] {
        let pipe = folder.path().join(pipe);
        assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    }
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

/// Sends a signal after this time, or once the command has ended by itself; returns the end, and the time until it.
fn interrupted(command: &mut Command, moment: Duration, name: &str) -> (Ran, Duration) {
    let mut sent = None;
    let ran = run_while(command, |pid| {
        let end = now() + moment;
        while now() < end && !has_ended(pid) {
            sleep(Duration::from_millis(10).min(end.saturating_duration_since(now())));
        }
        sent = Some(now());
        signal(pid, name);
    });
    (ran, now() - sent.unwrap())
}

/// Returns true if a child has ended, which its parent has not asked for yet.
fn has_ended(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, state)| state.trim_start().starts_with('Z'))
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

//! Signals at random moments of every command that takes time: each ends soon, whatever it is doing.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use measure::Random;

use crate::support::{
    Ran, Scratch, Server, machine, now, run_while, signal, sleep, until_it_listens_to_ctrl_c,
};

/// The time within which a signal is heard, and that which a busy machine may add to it.
const HEARD: Duration = Duration::from_secs(2);
const BUSY: Duration = Duration::from_secs(3);
/// The signals are sent within this time.
const MOMENTS: Duration = Duration::from_millis(1_200);

/// A command and its words: `URL` is a server that answers, `SILENT` one that does not.
const COMMANDS: [(&str, &str); 19] = [
    ("run", "run local.yaml"),
    ("run, simulated", "run simulated.yaml"),
    ("run, simulated, long trials", "run long.yaml"),
    ("run, unreachable", "run silent.yaml"),
    ("load, open loop", "load URL --rate 500/s --duration 30s"),
    ("load, closed loop", "load URL --closed --duration 30s"),
    ("load, far too much", "load URL --rate 300M/s --duration 30s"),
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
];

const LOCAL: &str = "\
name: signals
sut: {deploy: [process: {name: server, command: [benchwright, reference]}]}
workload: {get: /}
load: {model: open, rate: 200/s, connections: 8}
phases: {warm_up: {fixed: 100ms}, measure: {time: 30s}, drain: 10s}
";
const SIMULATED: &str = "\
name: signals
where: {backend: simulated}
simulated: {service_time: 1ms, servers: 4}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 1s}, measure: {time: 30s}, drain: 1s}
search: {range: [2000/s, 3000/s], step: 1/s}
budget: {trials: 1000}
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
    folder.file("local.yaml", LOCAL);
    folder.file("simulated.yaml", SIMULATED);
    // Each trial takes seconds of real time.
    let long = SIMULATED.replace("servers: 4", "servers: 400");
    folder.file("long.yaml", long.replace("[2000/s, 3000/s]", "[300k/s, 310k/s]"));
    folder.file("silent.yaml", SILENT.replace("SILENT", &silent));
    folder.file("quick.lua", "function response() end");
    folder.file("file.lua", "while true do end");
    folder.file("init.lua", "function init() while true do end end");
    folder.file("response.lua", "function response() while true do end end");
    let mut wrong = Vec::new();
    for (number, (name, words)) in (0..).zip(COMMANDS) {
        let mut random = Random::part(36, number);
        let names = ["INT", "TERM", "HUP", "USR1", "USR2", "ALRM", "XCPU"];
        for sent in [names[random.below(names.len() as u64) as usize], "INT"] {
            let words = words.split(' ').map(|word| match word {
                "URL" => server.url.as_str(),
                "SILENT" => silent.as_str(),
                word => word,
            });
            let moment = MOMENTS.mul_f64(random.unit());
            let out = folder.path().join(format!("out-{}", moment.as_nanos()));
            let mut command = folder.benchwright();
            command.args(words);
            if name.starts_with("run") {
                command.arg("--out").arg(&out);
            }
            let (ran, heard) = interrupted(&mut command, moment, sent);
            // Some end by themselves before, and Ctrl-C just ends what does not handle it yet.
            let is_known = matches!((ran.code, sent), (0 | 3 | 130, _) | (-1, "INT"));
            let is_expected = is_known && heard < HEARD + BUSY;
            if !is_expected || ran.stderr.contains("panicked") {
                wrong.push(format!("{name}: SIG{sent} after {moment:?}: {heard:?}, {ran:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let cleaned = run_while(folder.benchwright().arg("clean"), |_| {});
    assert_eq!((cleaned.code, folder.remains()), (0, Vec::new()), "{cleaned:#?}");
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
        while child.try_wait().unwrap().is_none() && now() - sent < HEARD + BUSY {
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
        assert!(took < HEARD + BUSY, "{option}: {took:?}");
        assert_eq!(ran.code, 130, "{option}: {ran:#?}");
        assert!(ran.stderr.contains("interrupted while nobody read"), "{option}: {ran:#?}");
        assert!(ran.stdout.contains("completed"), "{option}: {ran:#?}");
    }
}

//! The server of the key-value store as a program, also with the independent client of `kvserver`'s tests.

use std::path::Path;
use std::process::Command;

use crate::support::{Ran, Scratch, Server, run_while, signal, tool};

/// A server whose folder is that of the test.
struct Store {
    scratch: Scratch,
    server: Server,
}

impl Store {
    fn serve(arguments: &[&str]) -> Store {
        let scratch = Scratch::new();
        let mut command = scratch.benchwright();
        command.args(["kv", "serve", "--ip", "127.0.0.1:0", "--storage", "none"]);
        command.args(["--memory", "64MiB"]).args(arguments);
        let server = Server::start(&mut command);
        Store { scratch, server }
    }

    fn address(&self) -> &str {
        self.server.url.split(' ').next().expect("the address is the first word")
    }

    fn python(&self, words: &[&str]) -> Result<String, String> {
        let client =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../kvserver/src/server/tests/kv_client.py");
        let (what, rest) = words.split_first().unwrap();
        let mut command = Command::new("python3");
        let output = command.arg(client).args([what, self.address()]).args(rest).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn stats(&self, arguments: &[&str]) -> Ran {
        let mut command = self.scratch.benchwright();
        run_while(command.args(["kv", "stats", self.address()]).args(arguments), |_| {})
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("logs/server/latest/server1.log")).unwrap()
    }
}

#[test]
fn an_independent_client_agrees_about_a_random_session() {
    if !tool("an_independent_client_agrees_about_a_random_session", "python3") {
        return;
    }
    for (seed, threads) in [("1", "1"), ("2", "2")] {
        let store = Store::serve(&["--threads", threads]);
        let told = store.python(&["session", seed, "60"]).unwrap();
        assert!(told.ends_with(" operations as expected\n"), "{told}");
        let stats = store.stats(&["--json"]).json();
        assert!(stats["total"]["repeated"].as_u64().unwrap() > 0, "{stats}");
        assert_eq!(stats["total"]["malformed"], 0, "{stats}");
        assert_eq!(stats["shards"].as_array().unwrap().len().to_string(), threads);
    }
}

#[test]
fn a_server_says_when_it_is_ready_and_writes_its_log() {
    let store = Store::serve(&["--threads", "2", "--buckets", "64k"]);
    let ready = store.server.url.clone();
    assert!(ready.ends_with(" id=1 shards=2 recovered=none"), "{ready}");
    let words = "]::INFO::server:: Running server with 2 worker threads, 64 K hash buckets, \
                 64 MB hybrid log stored at none, with a mutable fraction of 0.90, and sampled set of 128 KB\n";
    assert!(store.log().contains(words), "{}", store.log());
    let folder = store.scratch.path().join("logs/server");
    assert!(std::fs::read_link(folder.join("latest")).unwrap().is_relative());
    let text = store.stats(&[]);
    assert_eq!((text.code, text.stdout.contains("sessions_opened")), (0, true), "{}", text.stdout);
    // `end` expects exit code 0.
    let Store { scratch, server } = store;
    assert_eq!(server.end(), "");
    let log =
        std::fs::read_to_string(scratch.path().join("logs/server/latest/server1.log")).unwrap();
    assert!(log.contains(":: Stopping server\n") && log.contains(":: Statistics: {"), "{log}");
}

#[test]
fn a_server_that_cannot_be_as_asked_says_what_to_change() {
    let scratch = Scratch::new();
    let serve = |arguments: &[&str]| {
        let mut command = scratch.benchwright();
        run_while(command.args(["kv", "serve"]).args(arguments), |_| {})
    };
    let store = Store::serve(&[]);
    for (arguments, words) in [
        (
            &["--memory", "100000GiB"][..],
            "choose less --memory, fewer --buckets or fewer --threads",
        ),
        (&["--ip", store.address(), "--storage", "none", "--memory", "64MiB"], "with a free port"),
        (&["--token-file", "nothing"], "--token-file nothing: "),
        (&["--id", "0"], "0 is not in 1..=65535"),
    ] {
        let ran = serve(arguments);
        assert!(
            (ran.code, ran.stderr.contains(words)) == (2, true),
            "{}: {}",
            ran.code,
            ran.stderr
        );
    }
}

#[test]
fn connections_without_a_session_leave_descriptors_to_the_store() {
    let scratch = Scratch::new();
    let limited = |files: &str, arguments: &[&str]| {
        let mut command = Command::new("sh");
        let program = scratch.benchwright().get_program().to_owned();
        command.current_dir(scratch.path()).args(["-c", "ulimit -n $0 && exec \"$@\"", files]);
        command.arg(program).args(["kv", "serve", "--ip", "127.0.0.1:0", "--memory", "64MiB"]);
        command.args(arguments);
        command
    };
    let server = Server::start(&mut limited("64", &["--threads", "1", "--storage", "store"]));
    let address = server.url.split(' ').next().unwrap().to_owned();
    let silent = || std::net::TcpStream::connect(&address).unwrap();
    let _silent: Vec<_> = (0..100).map(|_| silent()).collect();
    for verb in ["checkpoint", "stats"] {
        let mut command = scratch.benchwright();
        let ran = run_while(command.args(["kv", verb, &address]), |_| {});
        assert_eq!(ran.code, 0, "{verb}: {}", ran.stderr);
    }
    assert_eq!(server.end(), "");
    let refused = run_while(&mut limited("24", &["--threads", "8", "--storage", "none"]), |_| {});
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert!(refused.stderr.contains("raise the limit with `ulimit -n`"), "{}", refused.stderr);
}

#[test]
fn a_server_with_a_token_answers_whoever_knows_it() {
    let scratch = Scratch::new();
    let token = scratch.file("token", "a long secret\n");
    let token = token.to_str().unwrap();
    let store = Store::serve(&["--token-file", token]);
    assert_eq!(store.stats(&["--token-file", token]).code, 0);
    let refused = store.stats(&[]);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("give it with --token-file"), "{}", refused.stderr);
    let bench = |phase: &str, arguments: &[&str]| {
        let mut command = store.scratch.benchwright();
        command.args(["ycsb", "bench", "--servers", store.address(), "--phase", phase]);
        run_while(command.args(["--keys", "1000"]).args(arguments), |_| {})
    };
    let filled = bench("fill", &["--token-file", token]);
    assert_eq!(filled.code, 0, "{}", filled.stderr);
    // Scans have a driver of their own.
    let scanned = bench("run", &["--token-file", token, "--mix", "e", "--seconds", "1"]);
    assert_eq!(scanned.code, 0, "{}", scanned.stderr);
    let refused = bench("fill", &[]);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("give it with --token-file"), "{}", refused.stderr);
    assert!(!store.log().contains("secret"));
}

#[test]
fn loads_of_operations_prove_that_they_know_the_token() {
    let scratch = Scratch::new();
    scratch.file("token", "a long secret\n");
    scratch.file("other", "another guess");
    let server = scratch.path().join("token");
    let store = Store::serve(&["--token-file", server.to_str().unwrap()]);
    let given = |option: &str, file: &str| {
        let file = scratch.path().join(file);
        [option.to_owned(), format!("kv.tokenfile={}", file.display())]
    };
    let records = |words: &[&str], property: &str| {
        let mut command = scratch.benchwright();
        command.args(words);
        for value in ["workload=site.ycsb.workloads.CoreWorkload", "recordcount=100"] {
            command.args([property, value]);
        }
        command
    };
    let place = format!("kv.servers={}", store.address());
    let load = || records(&["ycsb", "load", "kv", "-p", &place, "--json"], "-p");
    let file = scratch.file("workload", "workload=site.ycsb.workloads.CoreWorkload\n");
    let url = format!("kv://{}", store.address());
    let words = ["load", &url, "--closed", "-c", "1", "--duration", "200ms", "--json", "--no-tui"];
    let operations = || {
        let mut command = records(&words, "--ycsb-property");
        command.arg("--ycsb").arg(&file);
        command
    };
    for (command, option) in
        [(&load as &dyn Fn() -> Command, "-p"), (&operations, "--ycsb-property")]
    {
        let knows = run_while(command().args(given(option, "token")), |_| {});
        assert!([0, 3].contains(&knows.code) && knows.stdout.contains('{'), "{}", knows.stderr);
        let missing = run_while(&mut command(), |_| {});
        let wrong = run_while(command().args(given(option, "other")), |_| {});
        let absent = run_while(command().args(given(option, "nothing")), |_| {});
        let remedies = [
            (&missing, 3, format!("wants a token; give it with {option} kv.tokenfile=FILE")),
            (&wrong, 3, format!("another token; write the server's into the file of {option}")),
            (&absent, 2, "kv.tokenfile ".to_owned()),
        ];
        for (ran, code, words) in remedies {
            assert!((ran.code, ran.stderr.contains(&words)) == (code, true), "{}", ran.stderr);
        }
        for ran in [&knows, &missing, &wrong, &absent] {
            let shown = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!shown.contains("secret") && !shown.contains("guess"), "{shown}");
        }
    }
}

#[test]
fn a_second_ctrl_c_ends_a_server_at_once() {
    let store = Store::serve(&[]);
    let Store { server, .. } = store;
    crate::support::until_it_listens_to_ctrl_c(server.pid());
    signal(server.pid(), "INT");
    signal(server.pid(), "INT");
    // It may have ended in order between the two.
    let (code, _) = server.ended();
    assert!([0, 130].contains(&code), "{code}");
}

#[test]
fn the_statistics_of_nothing_are_an_error_with_the_remedy() {
    let scratch = Scratch::new();
    let port = crate::support::free_port();
    let mut command = scratch.benchwright();
    let ran = run_while(command.args(["kv", "stats", &format!("127.0.0.1:{port}")]), |_| {});
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("start one with `benchwright kv serve`"), "{}", ran.stderr);
}

#[test]
fn a_client_fills_a_server_and_measures_it() {
    let store = Store::serve(&["--threads", "1"]);
    let mut command = store.scratch.benchwright();
    command.args(["ycsb", "bench", "--servers", store.address(), "--keys", "20k"]);
    let ran = run_while(command.args(["--seconds", "1", "--threads", "2", "--json"]), |_| {});
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let document = ran.json();
    assert_eq!(
        (&document["fill"]["operations"], &document["fill"]["failed"]),
        (&20_000.into(), &0.into())
    );
    let operations = document["run"]["operations"].as_u64().unwrap();
    assert!(0 < operations && document["run"]["failed"] == 0, "{document}");
    // Every operation of the client is one of the server, and the log is that of the original.
    let stats = store.stats(&["--json"]).json();
    let of = |name: &str| stats["total"]["operations"][name].as_u64().unwrap_or(0);
    assert_eq!(of("UPSERT.OK"), 20_000);
    assert!(operations <= of("ADD.OK"), "{stats}");
    let log = store.scratch.path().join("logs/client/latest/ycsb.log");
    let log = std::fs::read_to_string(log).unwrap();
    let mut lines = log.lines().map(|line| line.split_once(":: ").unwrap().1);
    for begin in [
        "Running client with 2 threads. Each thread will run YCSB-F with 20000 keys and 100000000 transactions for 1 seconds. Requests will be issued in batches of 32768 B with a pipeline of size 2",
        "Generating workload keys and requests from PRNG",
        "Filling data into the server",
        "Running YCSB-F benchmark",
        "Completed Experiment",
        "Average Throughput: ",
        "Waiting for threads to exit",
        "Median Latency: ",
    ] {
        let line = lines.next().unwrap();
        assert!(line.starts_with(begin), "{line}");
    }
}

#[test]
fn two_servers_have_each_key_once() {
    let stores = [Store::serve(&["--threads", "1"]), Store::serve(&["--threads", "1"])];
    let servers = stores.each_ref().map(Store::address).join(",");
    let mut command = stores[0].scratch.benchwright();
    command.args(["ycsb", "bench", "--servers", &servers, "--keys", "20k", "--phase", "fill"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let filled = stores.each_ref().map(|store| {
        let stats = store.stats(&["--json"]).json();
        stats["total"]["operations"]["UPSERT.OK"].as_u64().unwrap()
    });
    assert_eq!(filled.iter().sum::<u64>(), 20_000);
    assert!(filled.iter().all(|keys| (9_000..11_000).contains(keys)), "{filled:?}");
}

#[test]
fn a_killed_server_is_started_again_with_its_newest_checkpoint() {
    let scratch = Scratch::new();
    let start = || {
        let mut command = scratch.benchwright();
        command.args(["kv", "serve", "--ip", "127.0.0.1:0", "--threads", "1"]);
        Server::start(command.args(["--memory", "64MiB", "--checkpoint-every", "1h"]))
    };
    let address = |server: &Server| server.url.split(' ').next().unwrap().to_owned();
    let run = |arguments: &[&str]| run_while(scratch.benchwright().args(arguments), |_| {});
    let server = start();
    assert!(server.url.ends_with(" recovered=none"), "{}", server.url);
    let at = address(&server);
    let filled = run(&["ycsb", "bench", "--servers", &at, "--keys", "20k", "--phase", "fill"]);
    assert_eq!(filled.code, 0, "{}", filled.stderr);
    let told = run(&["kv", "checkpoint", &at]);
    assert_eq!((told.code, &told.stdout[..]), (0, "checkpoint 1 is durable\n"), "{}", told.stderr);
    signal(server.pid(), "KILL");
    server.ended();

    let server = start();
    assert!(server.url.ends_with(" recovered=1"), "{}", server.url);
    let compacted = run(&["kv", "compact", &address(&server)]);
    assert!(compacted.stdout.starts_with("the log has "), "{}", compacted.stderr);
    assert_eq!(server.end(), "");
    let log =
        std::fs::read_to_string(scratch.path().join("logs/server/latest/server1.log")).unwrap();
    let recovered = ":: Recovered checkpoint 1: 20000 versions of records in its log, ";
    assert!(log.contains(recovered) && log.contains("Checkpoint 2 has everything\n"), "{log}");

    let server = start();
    assert!(server.url.ends_with(" recovered=2"), "{}", server.url);
    assert_eq!(server.end(), "");
}

#[test]
fn a_client_without_a_server_says_what_to_start() {
    let scratch = Scratch::new();
    let server = format!("127.0.0.1:{}", crate::support::free_port());
    let mut command = scratch.benchwright();
    let ran = run_while(command.args(["ycsb", "bench", "--servers", &server]), |_| {});
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("start it with `benchwright kv serve`"), "{}", ran.stderr);
}

#[test]
fn pinned_interrupts_have_no_effect_on_loopback_and_both_sides_say_so() {
    let store = Store::serve(&["--threads", "1", "--pinirq"]);
    let why = "has no effect: loopback has no interrupts";
    let log = store.log();
    assert!(log.contains(&format!("warning: --pin-irq 8 {why}")), "{log}");
    let stats = store.stats(&["--json"]).json();
    assert_eq!(
        (&stats["pin_irq"]["wanted"], &stats["pin_irq"]["pinned"]),
        (&8.into(), &false.into())
    );
    let text = store.stats(&[]).stdout;
    assert!(text.contains("--pin-irq                no effect: loopback"), "{text}");
    let mut command = store.scratch.benchwright();
    command.args(["ycsb", "bench", "--servers", store.address(), "--keys", "1000"]);
    command.args(["--threads", "1", "--phase", "fill", "--pin-irq", "1", "--json"]);
    let ran = run_while(&mut command, |_| {});
    assert_eq!((ran.code, &ran.json()["pin_irq"]["pinned"]), (0, &false.into()), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("warning: --pin-irq 1 {why}")), "{}", ran.stderr);
}

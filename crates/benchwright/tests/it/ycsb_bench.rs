//! Guide 5's client as a program: its command lines, files of keys, and connections that break.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::thread;

use serde_json::Value;

use crate::support::{Ran, Scratch, Server, experiments, run_while};

fn serve(scratch: &Scratch) -> Server {
    let mut command = scratch.benchwright();
    command.args(["kv", "serve", "--ip", "127.0.0.1:0", "--id", "1", "--storage", "none"]);
    Server::start(command.args(["--memory", "64MiB", "--threads", "1"]))
}

fn address(server: &Server) -> &str {
    server.url.split(' ').next().unwrap()
}

fn run(scratch: &Scratch, words: &str) -> Ran {
    run_while(scratch.benchwright().args(words.split(' ')), |_| {})
}

/// The document of a client that had no failure.
fn bench(scratch: &Scratch, words: &str) -> Value {
    let ran = run(scratch, &format!("ycsb bench --threads 2 --json {words}"));
    assert_eq!(ran.code, 0, "{}{}", ran.stderr, ran.stdout);
    ran.json()
}

/// The operations of a server, by kind and status, and its other counters.
fn stats(scratch: &Scratch, address: &str) -> Value {
    run(scratch, &format!("kv stats {address} --json")).json()["total"].clone()
}

fn count(stats: &Value, name: &str) -> u64 {
    stats["operations"][name].as_u64().unwrap_or(0)
}

/// Makes a file of keys of a phase of the binding `basic`, and returns their number.
fn keys_of_basic(scratch: &Scratch, phase: &str, name: &str) -> u64 {
    let mut command = scratch.benchwright();
    command.args(["ycsb", phase, "basic", "-P"]).arg(experiments().join("ycsb/workloadc"));
    command.args(["-p", "recordcount=3000", "-p", "operationcount=5000", "-p", "fieldcount=1"]);
    let lines = File::create(scratch.path().join("lines.txt")).unwrap();
    assert!(command.stdout(lines).status().unwrap().success());
    let converted = run(scratch, &format!("ycsb convert lines.txt {name}"));
    assert_eq!(converted.code, 0, "{}", converted.stderr);
    std::fs::metadata(scratch.path().join(name)).unwrap().len() / 8
}

fn messages(folder: &Path, log: &str) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("logs").join(log)).unwrap();
    text.lines().map(|line| line.rsplit_once(":: ").unwrap().1.to_owned()).collect()
}

#[test]
fn the_command_lines_of_guide_5_give_its_log_lines() {
    let scratch = Scratch::new();
    let server = serve(&scratch);
    assert_eq!(keys_of_basic(&scratch, "load", "ycsb.load"), 3_000);
    assert_eq!(keys_of_basic(&scratch, "run", "ycsb.txns"), 5_000);
    let servers = address(&server);
    let words = format!(
        "ycsb bench --servers {servers} --nKeys 3000 --loadFile ycsb.load --nTxns 5000 --txnsFile ycsb.txns \
         --seconds 1 --threads 2"
    );
    let ran = run(&scratch, &words);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let told = messages(scratch.path(), "client/latest/ycsb.log");
    let figure = |line: &str, begin: &str, end: &str, decimals: usize| {
        let figure = line.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end)).unwrap();
        let (whole, fraction) = figure.split_once('.').unwrap();
        assert!(whole.parse::<u64>().is_ok() && fraction.len() == decimals, "{line}");
    };
    let [head @ .., completed, throughput, waiting, latency] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(
        head,
        [
            "Running client with 2 threads. Each thread will run YCSB-F with 3000 keys and 5000 transactions for \
             1 seconds. Requests will be issued in batches of 32768 B with a pipeline of size 2",
            "Loading workload data from ycsb.load and ycsb.txns into memory",
            "Filling data into the server",
            "Running YCSB-F benchmark",
        ]
    );
    assert_eq!([completed, waiting], ["Completed Experiment", "Waiting for threads to exit"]);
    figure(throughput, "Average Throughput: ", " Mops/sec", 3);
    figure(latency, "Median Latency: ", " microseconds", 2);
    let told = messages(scratch.path(), "server/latest/server1.log");
    assert!(told[0].starts_with("Running server with 1 worker threads, "), "{told:?}");
}

#[test]
fn every_key_of_basic_is_found_after_a_fill() {
    let scratch = Scratch::new();
    let server = serve(&scratch);
    keys_of_basic(&scratch, "load", "ycsb.load");
    let at = address(&server);
    let filled = bench(&scratch, &format!("--servers {at} --load-file ycsb.load --phase fill"));
    assert_eq!((&filled["fill"]["ok"], &filled["fill"]["failed"]), (&3_000.into(), &0.into()));
    // Every key is asked for, since the list repeats. One that is not found has failed.
    let words =
        format!("--servers {at} --mix c --phase run --seconds 1 --transactions-file ycsb.load");
    let found = bench(&scratch, &words);
    assert!(3_000 <= found["run"]["ok"].as_u64().unwrap(), "{found}");
    let too_many =
        run(&scratch, &format!("ycsb bench --servers {at} --keys 3001 --load-file ycsb.load"));
    assert_eq!(too_many.code, 2);
    let why = "has 3,000 keys, and --keys asks for 3,001";
    assert!(too_many.stderr.contains(why), "{}", too_many.stderr);
}

#[test]
fn clients_divide_the_keys_and_insert_different_ones() {
    let folders = [Scratch::new(), Scratch::new()];
    let scratch = Scratch::new();
    for mix in ["d", "e"] {
        let servers = folders.each_ref().map(serve);
        let at = servers.each_ref().map(address).join(",");
        let both = |words: &str| {
            ["0/2", "1/2"].map(|client| {
                let words = format!("--servers {at} --keys 20k --client {client} {words}");
                bench(&scratch, &words)
            })
        };
        let filled = both("--phase fill");
        assert!(filled.iter().all(|client| client["fill"]["ok"] == 10_000), "{filled:?}");
        let ran = both(&format!("--phase run --mix {mix} --seconds 1 --batch 4KiB"));
        let ok: u64 = ran.iter().map(|client| client["run"]["ok"].as_u64().unwrap()).sum();
        let stats = servers.each_ref().map(|server| stats(&scratch, address(server)));
        let sum = |name: &str| stats.iter().map(|stats| count(stats, name)).sum::<u64>();
        let inserted = sum("UPSERT.OK") - 20_000;
        assert!(0 < inserted && inserted < ok / 10, "{mix}: {inserted} of {ok}");
        match mix {
            "d" => assert_eq!(sum("READ.OK") + inserted, ok),
            // A scan goes on at the second server. It is pending first.
            _ => assert!(ok < sum("SCAN.PENDING") + inserted, "{stats:?}"),
        }
    }
}

/// Hands on the bytes of connections to a server, and cuts each of them after some time.
struct Cutter {
    address: String,
    is_over: Arc<AtomicBool>,
    cuts: Arc<AtomicU64>,
}

impl Cutter {
    fn start(server: String) -> Cutter {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (is_over, cuts) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, count) = (Arc::clone(&is_over), Arc::clone(&cuts));
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let number = count.fetch_add(1, Ordering::Relaxed);
                // So much, of both directions together, that the cut is at another byte each time.
                let bytes = 100_000 + (number * 7_919) % 65_521;
                hand_on(client, TcpStream::connect(&server).unwrap(), bytes);
            }
        });
        Cutter { address, is_over, cuts }
    }

    fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Relaxed)
    }
}

impl Drop for Cutter {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(&self.address);
    }
}

/// Hands on so many bytes between two connections, and then cuts both: what they have not handed on is lost.
fn hand_on(client: TcpStream, server: TcpStream, bytes: u64) {
    let left = Arc::new(AtomicI64::new(bytes as i64));
    let other = (server.try_clone().unwrap(), client.try_clone().unwrap());
    for (mut from, mut to) in [(client, server), other] {
        let left = Arc::clone(&left);
        thread::spawn(move || {
            let mut piece = [0; 1 << 13];
            while let Ok(read) = from.read(&mut piece)
                && read != 0
            {
                let before = left.fetch_sub(read as i64, Ordering::Relaxed);
                let handed_on = before.clamp(0, read as i64) as usize;
                if to.write_all(&piece[..handed_on]).is_err() || handed_on < read {
                    break;
                }
            }
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
}

#[test]
fn connections_that_break_neither_lose_nor_repeat_an_operation() {
    let scratch = Scratch::new();
    let server = serve(&scratch);
    let cutter = Cutter::start(address(&server).to_owned());
    let at = &cutter.address;
    let document = bench(&scratch, &format!("--servers {at} --keys 50k --seconds 2 --batch 8KiB"));
    let stats = stats(&scratch, address(&server));
    let of = |phase: &str, name: &str| document[phase][name].as_u64().unwrap();
    assert_eq!((of("fill", "ok"), of("fill", "failed")), (50_000, 0));
    assert_eq!(count(&stats, "UPSERT.OK"), 50_000);
    // Each addition of 1 that the client counts was executed once.
    assert_eq!((of("run", "failed"), count(&stats, "ADD.OK")), (0, of("run", "ok")));
    assert!(10 < cutter.cuts() && 0 < of("run", "batches_sent_again"), "{document}");
    assert!(0 < stats["sessions_resumed"].as_u64().unwrap(), "{stats}");
    assert!(0 < stats["repeated"].as_u64().unwrap(), "some replies were lost: {stats}");
}

#[test]
fn a_client_whose_server_dies_says_so_and_fails() {
    let scratch = Scratch::new();
    let [server, lasting] = [(); 2].map(|()| serve(&scratch));
    let servers = format!("{},{}", address(&server), address(&lasting));
    let bench =
        |words: &str| format!("ycsb bench --threads 2 --servers {servers} --keys 50k {words}");
    assert_eq!(run(&scratch, &bench("--phase fill")).code, 0);
    let gone = address(&server).to_owned();
    let mut command = scratch.benchwright();
    command.args(bench("--phase run --seconds 3 --pipeline 1 --json").split(' '));
    let ran = run_while(&mut command, |_| {
        while count(&stats(&scratch, address(&server)), "ADD.OK") == 0 {}
        drop(server);
    });
    assert_eq!(ran.code, 3, "{}{}", ran.stderr, ran.stdout);
    // A batch that was on its way lacks an answer. If all were answered, the next ones find no connection.
    let run = &ran.json()["run"];
    assert!(run["batches_without_connection"] != 0 && run["operations"] != 0, "{run}");
    assert_eq!(run["servers_without_answer"], serde_json::json!([gone]), "{run}");
    let why = format!("as the server {gone} did not answer everything: connection refused");
    assert!(ran.stderr.contains(&why), "{}", ran.stderr);
}

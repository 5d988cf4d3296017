//! The long forms of the tests of the key-value store's server: `kill -9` under load, and an hour of values of
//! all sizes in little memory.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use measure::Nanos;

use crate::bench::machine::{self, Process};
use crate::processes::{self, signal};
use crate::programs::{self, Build};
use crate::repository;

const CLIENT: &str = "crates/kvserver/src/server/tests/kv_kill.py";

/// Runs the words after `chaos kv`; `None` if they are wrong.
pub(super) fn run(words: &[&str]) -> Option<bool> {
    let (mut kills, mut seed, mut soak) = (200_u64, 1_u64, None);
    for pair in words.chunks(2) {
        match pair {
            ["--kills", number] => kills = number.parse().ok()?,
            ["--seed", number] => seed = number.parse().ok()?,
            ["--soak", minutes] => soak = Some(minutes.parse::<u64>().ok()?),
            _ => return None,
        }
    }
    let passed = match soak {
        Some(minutes) => vec![soaked(60 * minutes, seed)],
        None => Vec::from(["checkpoint", "none"].map(|durability| killed(kills, seed, durability))),
    };
    Some(passed.into_iter().all(|passed| {
        passed.unwrap_or_else(|error| {
            eprintln!("error: {error}");
            false
        })
    }))
}

fn killed(kills: u64, seed: u64, durability: &str) -> Result<bool, String> {
    build()?;
    let folder = folder()?;
    let mut client = Command::new("python3");
    client.arg(repository::root().join(CLIENT)).arg(Build::Release.program("benchwright")?);
    client.arg(folder.path()).args([kills.to_string(), seed.to_string(), durability.to_owned()]);
    let status = client.status().map_err(|error| format!("starting python3: {error}"))?;
    Ok(status.success())
}

fn build() -> Result<(), String> {
    if Build::Release.make() { Ok(()) } else { Err("the build failed".to_owned()) }
}

fn folder() -> Result<tempfile::TempDir, String> {
    let folder = tempfile::Builder::new().prefix("xtask-chaos-").tempdir_in(machine::scratch());
    folder.map_err(|error| format!("making a folder: {error}"))
}

const MIB: u64 = 1 << 20;

/// The memory of the log; its values are four times as large together.
const MEMORY: u64 = 256 * MIB;
const LIVE: u64 = 4 * MEMORY;
/// The hash buckets: with those that they overflow to, 80 B each.
const BUCKETS: u64 = 1 << 16;
/// The connections, sessions and buffers of two shards, as the server adds them up when it starts.
const CONNECTIONS: u64 = (2 * (64 + 8) + 64) * MIB;

/// The most memory that the server may have: the sum of its parts, and a twentieth.
const MOST: u64 = (MEMORY + 80 * BUCKETS + CONNECTIONS) / 20 * 21;

/// Values of 8 B to 64 KiB, four times as many bytes as the memory has, and counters; with checkpoints and compaction.
fn soaked(seconds: u64, seed: u64) -> Result<bool, String> {
    build()?;
    let client = programs::example("kvserver", "client")?;
    let folder = folder()?;
    let program = Build::Release.program("benchwright")?;
    let mut command = Command::new(&program);
    command.args([
        "kv",
        "serve",
        "--ip",
        "127.0.0.1:0",
        "--threads",
        "2",
        "--checkpoint-every",
        "10s",
    ]);
    command.args(["--memory", "256MiB", "--buckets", "64k", "--log-limit", "4GiB"]);
    let log = fs::File::create(folder.path().join("stderr.txt"));
    let log = log.map_err(|error| format!("making a log: {error}"))?;
    let mut server =
        Process::start(command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(log))?;
    let mut ready = String::new();
    let stdout = server.0.stdout.take().expect("it is piped");
    BufReader::new(stdout).read_line(&mut ready).map_err(|error| format!("reading: {error}"))?;
    let address = ready.split_whitespace().nth(1).ok_or("the server did not become ready")?;
    let mut command = Command::new(client);
    command.args([
        "soak",
        address,
        &LIVE.to_string(),
        "4",
        &seconds.to_string(),
        &seed.to_string(),
    ]);
    let mut client = Process::start(&mut command)?;
    let (begun, mut most, mut told) = (machine::now(), 0, Nanos::default());
    let status = loop {
        let ended = client.0.try_wait().map_err(|error| format!("waiting: {error}"))?;
        if let Some(status) = ended {
            break status;
        }
        let resident = processes::resident(server.0.id()).ok_or("the server has ended")?;
        most = most.max(resident);
        if told + Nanos::from_secs(60) <= machine::since(begun) {
            told = machine::since(begun);
            println!("{told}: {} MiB resident, {} MiB at most", resident / MIB, most / MIB);
        }
        machine::sleep(Nanos::from_millis(200));
    };
    signal("TERM", &[server.0.id()]);
    let ended = server.0.wait().map_err(|error| format!("waiting: {error}"))?;
    println!(
        "the server had {} MiB at most, of {} MiB; it ended with {ended}",
        most / MIB,
        MOST / MIB
    );
    Ok(status.success() && ended.success() && most <= MOST)
}

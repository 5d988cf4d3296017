//! `benchwright ycsb` compared with the other clients of YCSB: operations per second of the client's CPU
//! time, with its start and end. All clients use the same Redis in the same minute, ours and another one in
//! turns; the server's own counts of commands show that each has done what it was asked for.
//!
//! Before that, the Java client computes our vectors.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use measure::Nanos;

use super::goal::{Finding, Goal};
use super::machine::{self, Machine, Others, Process, Side};
use super::scratch::Scratch;
use crate::peers::ycsb::{self as peers, GO, JAVA};
use crate::repository;

#[cfg(test)]
mod tests;

const RECORDS: u32 = 10_000;
const THREADS: u32 = 16;
const GOAL: Goal = Goal::least(5.0);

/// A workload of the original, and its properties for go-ycsb, which has no files here.
const WORKLOADS: [(&str, &str); 2] = [
    ("workloada", "readproportion=0.5 updateproportion=0.5"),
    ("workloadc", "readproportion=1 updateproportion=0"),
];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Client {
    Ours,
    Java,
    Go,
}

#[derive(Clone, Copy)]
enum Phase {
    Load,
    Run,
}

/// Redis, and the clients that use it.
struct Bench<'a> {
    machine: &'a Machine,
    port: u16,
    operations: u64,
    _redis: Process,
    _folder: Scratch,
}

/// Measures so many pairs with each client and workload; returns true if the medians meet the goal.
pub(super) fn run(machine: &Machine, pairs: usize, operations: u64) -> Result<bool, String> {
    if !peers::is_there() {
        return Err(
            "the other clients are missing; install them with cargo xtask peers ycsb".to_owned()
        );
    }
    println!("the Java client agrees with {} vectors", ask_oracle()?);
    let bench = Bench::start(machine, operations)?;
    println!("operations per CPU-second of the client, ours over theirs; {operations} each");
    let mut findings = Vec::new();
    for (workload, _) in WORKLOADS {
        for client in [Client::Java, Client::Go] {
            let finding = bench.compare(client, workload, pairs)?;
            println!("     {}: {}", finding.summary(), finding.verdict());
            findings.push(finding);
        }
    }
    println!();
    findings.iter().for_each(|finding| println!("{finding} {}", finding.beside));
    Ok(findings.iter().all(Finding::is_met))
}

/// Returns the number of vectors that the Java client computes as we do.
fn ask_oracle() -> Result<u64, String> {
    let words = peers::java("Oracle");
    let mut command = Command::new(&words[0]);
    let printed = machine::printed(command.args(&words[1..]).arg(peers::vectors()))?;
    let checked: Option<u64> = printed.trim().parse().ok();
    checked.filter(|checked| 0 < *checked).ok_or_else(|| format!("the oracle printed `{printed}`"))
}

impl<'a> Bench<'a> {
    fn start(machine: &'a Machine, operations: u64) -> Result<Bench<'a>, String> {
        let (folder, port) = (Scratch::make()?, machine::free_port());
        let mut command = machine.command(Side::Server, "redis-server");
        command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", "", "--dir"]);
        let command = command.arg(folder.path("")).stdout(Stdio::null());
        let redis = Process::start(command)?;
        machine::wait_until_it_listens(port, "Redis")?;
        let bench = Bench { machine, port, operations, _redis: redis, _folder: folder };
        // The Java client uses our records, and go-ycsb has other names for its own.
        for client in [Client::Ours, Client::Go] {
            machine::printed(&mut bench.command(client, Phase::Load, WORKLOADS[0].0))?;
        }
        Ok(bench)
    }

    fn compare(&self, client: Client, workload: &str, pairs: usize) -> Result<Finding, String> {
        let what = format!("{} on {workload}", client.name());
        println!("\n{what}");
        let (mut figures, mut beside) = (Vec::new(), String::new());
        for pair in 1..=pairs {
            let others = Others::watch();
            // Each is the first of every second pair.
            let (ours, theirs) = match pair % 2 {
                1 => (self.measure(Client::Ours, workload)?, self.measure(client, workload)?),
                _ => {
                    let theirs = self.measure(client, workload)?;
                    (self.measure(Client::Ours, workload)?, theirs)
                }
            };
            let (ratio, share) = (ours / theirs, 100.0 * others.share());
            beside = format!("{:.0} k and {:.1} k in the last pair", ours / 1e3, theirs / 1e3);
            println!(
                "{pair:>3}  {ratio:.2}: {ours:.0} and {theirs:.0}; others used {share:.1} % of a CPU"
            );
            figures.push(ratio);
        }
        Ok(Finding { what, figures, beside, goal: GOAL })
    }

    /// Returns the operations per second of the client's CPU time.
    fn measure(&self, client: Client, workload: &str) -> Result<f64, String> {
        self.tell("CONFIG RESETSTAT")?;
        let mut command = self.command(client, Phase::Run, workload);
        let (_, cpu): (String, Nanos) =
            machine::with_cpu_of_children(|| machine::printed(&mut command))?;
        let seen = calls(&self.tell("INFO commandstats")?);
        match seen == self.operations {
            true => Ok(self.operations as f64 / cpu.as_secs_f64()),
            false => {
                let (name, asked) = (client.name(), self.operations);
                Err(format!("{name} was asked for {asked} operations, and Redis has seen {seen}"))
            }
        }
    }

    fn command(&self, client: Client, phase: Phase, workload: &str) -> Command {
        let Bench { machine, port, operations, .. } = self;
        let counts = [
            format!("recordcount={RECORDS}"),
            format!("operationcount={operations}"),
            format!("redis.port={port}"),
        ];
        let counts = counts.iter().flat_map(|count| ["-p", count]);
        let file = file(workload).display().to_string();
        let threads = THREADS.to_string();
        let own = machine.benchwright.display().to_string();
        let program = |words: &[String]| {
            let mut command = machine.command(Side::Client, &words[0]);
            command.args(&words[1..]);
            command
        };
        match client {
            Client::Ours => {
                let mut command = program(&[own]);
                command.args(["ycsb", phase.name(), "redis", "-P", &file]).args(counts);
                command.args(["-threads", &threads, "--shards", "1"]);
                command
            }
            Client::Java => {
                let flag = if let Phase::Load = phase { "-load" } else { "-t" };
                let mut command = program(&peers::java("site.ycsb.Client"));
                command.args([flag, "-db", "RedisBinding", "-P", &file]).args(counts);
                command.args(["-threads", &threads]);
                command
            }
            Client::Go => {
                let mut command = program(&[peers::go().display().to_string()]);
                let given = WORKLOADS.iter().find(|(name, _)| *name == workload);
                command
                    .arg(phase.name())
                    .args(given.into_iter().flat_map(|(_, given)| given.split(' ')));
                command.args([
                    &format!("recordcount={RECORDS}"),
                    &format!("operationcount={operations}"),
                ]);
                command.args([&format!("threadcount={threads}"), "requestdistribution=zipfian"]);
                command.arg(format!("redis.addr=127.0.0.1:{port}"));
                command
            }
        }
    }

    /// Sends a command of words without blanks; returns the answer.
    fn tell(&self, command: &str) -> Result<String, String> {
        let answer = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(format!("{command}\r\nQUIT\r\n").as_bytes())?;
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        };
        answer().map_err(|error: std::io::Error| format!("telling Redis {command}: {error}"))
    }
}

impl Client {
    fn name(self) -> &'static str {
        match self {
            Client::Ours => "benchwright ycsb",
            Client::Java => JAVA,
            Client::Go => GO,
        }
    }
}

impl Phase {
    fn name(self) -> &'static str {
        match self {
            Phase::Load => "load",
            Phase::Run => "run",
        }
    }
}

fn file(workload: &str) -> PathBuf {
    repository::root().join("experiments/ycsb").join(workload)
}

/// The reads and updates in Redis's statistics, by whichever command a client makes them.
fn calls(statistics: &str) -> u64 {
    let of = |line: &str| {
        let (command, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        let is_one = ["hgetall", "hmget", "hmset", "hset"].contains(&command);
        rest.split(',').next()?.parse::<u64>().ok().filter(|_| is_one)
    };
    statistics.lines().filter_map(of).sum()
}

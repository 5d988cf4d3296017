//! The key-value store: in process, with a disk, over TCP, and beside Redis and memcached.
//!
//! The measured side has one CPU, and the client another one. Every repetition is printed; those of a
//! row that compares take turns with its peer.

use std::path::PathBuf;

use measure::Nanos;

use self::server::{Kind, Server};
use super::goal::{Finding, Goal};
use super::load::Load;
use super::machine::{self, Machine, Others, Process, Side};
use super::note;
use super::scratch::Scratch;
use crate::{programs, repository};

mod server;

#[cfg(test)]
mod tests;

/// The extent of a run.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) pairs: usize,
    pub(super) keys: usize,
    /// One row instead of all.
    pub(super) only: Option<String>,
    /// The file that the findings are added to.
    pub(super) note: Option<PathBuf>,
}

struct Bench<'a> {
    machine: &'a Machine,
    extent: &'a Extent,
    /// The programs that measure in process, and over TCP.
    speed: PathBuf,
    client: PathBuf,
}

struct Row {
    name: &'static str,
    run: fn(&Bench<'_>) -> Result<Vec<Finding>, String>,
}

const ROWS: [Row; 8] = [
    Row { name: "in-process", run: |bench| bench.in_process() },
    Row { name: "scale", run: |bench| bench.scale() },
    Row { name: "cold", run: |bench| bench.cold() },
    Row { name: "fold-over", run: |bench| bench.fold_over() },
    Row { name: "recovery", run: |bench| bench.recovery() },
    Row { name: "tcp", run: |bench| bench.tcp() },
    Row { name: "sizes", run: |bench| bench.sizes() },
    Row { name: "hostile", run: |bench| bench.hostile() },
];

/// The writes of 8 + 8 bytes in a batch of 32 KiB.
const BATCH: &str = "1925";

const MILLION: f64 = 1e6;

pub(super) fn is_row(name: &str) -> bool {
    ROWS.iter().any(|row| row.name == name)
}

pub(super) fn run(machine: &Machine, extent: &Extent) -> Result<bool, String> {
    let [speed, client] = [("kv", "speed"), ("kvserver", "client")]
        .map(|(package, name)| programs::example(package, name));
    let (speed, client) = (speed?, client?);
    println!("{} keys of 8 B with values of 8 B, unless a row says otherwise", extent.keys);
    let bench = Bench { machine, extent, speed, client };
    let wanted = |row: &&Row| extent.only.as_deref().is_none_or(|only| only == row.name);
    let (mut findings, mut closing) = (Vec::new(), Vec::new());
    for row in ROWS.iter().filter(wanted) {
        println!("\n{}", row.name);
        let others = Others::watch();
        findings.extend((row.run)(&bench)?);
        let busy = format!("{}: others used {:.1} % of a CPU", row.name, 100.0 * others.share());
        println!("     {busy}");
        closing.push(busy);
    }
    println!();
    findings.iter().for_each(|finding| println!("{finding}"));
    if let Some(path) = &extent.note {
        let what = "Median, least and most of each row";
        note::add(path, "The key-value store", what, &findings, &closing)?;
    }
    Ok(findings.iter().all(Finding::is_met))
}

fn finding(what: &str, figures: Vec<f64>, beside: &str, goal: Goal) -> Finding {
    Finding { what: what.to_owned(), figures, beside: beside.to_owned(), goal }
}

impl Bench<'_> {
    fn in_process(&self) -> Result<Vec<Finding>, String> {
        let lines = self.speed(Side::Server, &["memory", &self.keys(), "1", &self.pairs()])?;
        let row = |name: &str, what: &str| {
            let [wall, cpu] = [0, 1].map(|at| column(&lines, name, at, MILLION));
            let goal = Goal::least(12.8);
            [
                finding(&format!("in process, {what}, million additions/s"), wall, "", goal),
                finding(&format!("in process, {what}, per CPU-second"), cpu, "", Goal::None),
            ]
        };
        Ok([row("uniform", "uniform"), row("zipf", "Zipf")].concat())
    }

    fn scale(&self) -> Result<Vec<Finding>, String> {
        let mut figures = Vec::new();
        for _ in 0..self.extent.pairs {
            let rate = |side, threads: &str| {
                let lines = self.speed(side, &["memory", &self.keys(), threads, "1"])?;
                Ok::<_, String>(column(&lines, "uniform", 0, MILLION)[0])
            };
            figures.push(rate(Side::Both, "2")? / rate(Side::Server, "1")?);
        }
        let what = "in process, two threads over one, uniform";
        Ok(vec![finding(what, figures, "", Goal::least(1.7))])
    }

    fn cold(&self) -> Result<Vec<Finding>, String> {
        let lines = self.stored("cold", Side::Both)?;
        let [disk, store] = [0, 1].map(|at| column(&lines, "cold", at, 1.0));
        let share = store.iter().zip(&disk).map(|(store, disk)| store / disk).collect();
        let goal = Goal::least(0.7);
        Ok(vec![
            finding("reads of a log of 4 × memory, over the disk's at depth 128", share, "", goal),
            finding("the same, reads/s from the disk", store, "", Goal::None),
        ])
    }

    fn fold_over(&self) -> Result<Vec<Finding>, String> {
        let lines = self.stored("checkpoint", Side::Both)?;
        let [before, worst, stall] = [(0, MILLION), (1, MILLION), (2, 1.0)]
            .map(|(at, unit)| column(&lines, "checkpoint", at, unit));
        let share = worst.iter().zip(&before).map(|(worst, before)| worst / before).collect();
        let (goal, most) = (Goal::least(0.6), Goal::most(100.0));
        Ok(vec![
            finding("fold-over: the worst second over the rate before", share, "", goal),
            finding("fold-over: the longest time without an addition, ms", stall, "", most),
            finding("fold-over: million additions/s before", before, "", Goal::None),
        ])
    }

    fn recovery(&self) -> Result<Vec<Finding>, String> {
        let lines = self.stored("recovery", Side::Both)?;
        let [records, bytes, disk] = [0, 1, 2].map(|at| column(&lines, "recovery", at, MILLION));
        let share = bytes.iter().zip(&disk).map(|(bytes, disk)| bytes / disk).collect();
        let goal = Goal::least(10.0);
        Ok(vec![
            finding("recovery, million records/s", records, "", goal),
            finding("recovery, bytes/s over the disk's in order", share, "", Goal::None),
        ])
    }

    /// Additions over TCP, beside Redis's INCR.
    fn tcp(&self) -> Result<Vec<Finding>, String> {
        let ours = Server::start(self.machine, Kind::Store)?;
        self.client(&ours, &["--phase", "fill"])?;
        let redis = Server::start(self.machine, Kind::Redis)?;
        self.increments(&redis, 2 * self.extent.keys)?;
        let names = ["uniform", "zipfian"];
        let (mut walls, mut cpus, mut ratios) = ([vec![], vec![]], [vec![], vec![]], vec![]);
        for pair in 1..=self.extent.pairs {
            for (at, name) in names.iter().enumerate() {
                let (wall, cpu) = self.additions(&ours, name)?;
                println!("{pair:>3}  {name}: {wall:.2} M/s, {cpu:.2} M per server CPU-second");
                walls[at].push(wall);
                cpus[at].push(cpu);
            }
            let theirs = self.increments(&redis, 4 * self.extent.keys.min(1_000_000))?;
            println!("{pair:>3}  Redis: {theirs:.2} M/s");
            ratios.push(walls[0][pair - 1] / theirs);
        }
        let client = "ycsb bench, --batch 32KiB --pipeline 2, checksums on";
        let row = |at: usize, figures: &[Vec<f64>; 2], what: &str, goal| {
            let what = format!("TCP, {}, million additions {what}", names[at]);
            finding(&what, figures[at].clone(), client, goal)
        };
        let least = Goal::least(10.0);
        Ok(vec![
            row(0, &cpus, "per server CPU-second", least),
            row(1, &cpus, "per server CPU-second", least),
            row(0, &walls, "per second", Goal::None),
            row(1, &walls, "per second", Goal::None),
            finding(
                "TCP, uniform, over INCR of Redis by redis-benchmark -P 1925 -c 2",
                ratios,
                client,
                Goal::least(12.0),
            ),
        ])
    }

    /// Reads and writes of names, half each, on three servers by one client.
    fn sizes(&self) -> Result<Vec<Finding>, String> {
        let start = |kind| Server::start(self.machine, kind);
        let (ours, redis, memcached) =
            (start(Kind::Store)?, start(Kind::Redis)?, start(Kind::Memcached)?);
        let mut findings = Vec::new();
        for value in ["100", "1024"] {
            for pipeline in ["1", "10", "50"] {
                let (mut to_redis, mut to_memcached) = (Vec::new(), Vec::new());
                for pair in 1..=self.extent.pairs {
                    let rate = |server| self.exchange(server, value, pipeline);
                    let [a, b, c] = [rate(&ours)?, rate(&redis)?, rate(&memcached)?];
                    println!("{pair:>3}  {value} B, {pipeline}: {a:.0}, {b:.0}, {c:.0}");
                    to_redis.push(a / b);
                    to_memcached.push(a / c);
                }
                let what = format!("{value} B, pipeline {pipeline}, 16 connections, ours over");
                let client = "exchange";
                findings.extend([
                    finding(&format!("{what} Redis"), to_redis, client, Goal::None),
                    finding(&format!("{what} memcached"), to_memcached, client, Goal::None),
                ]);
            }
        }
        Ok(findings)
    }

    /// The p99 of a client without and with an attack on the server.
    fn hostile(&self) -> Result<Vec<Finding>, String> {
        let ours = Server::start(self.machine, Kind::Store)?;
        let workload = repository::root().join("experiments/ycsb/workloadc");
        let records = "recordcount=10000";
        let mut fill = self.machine.command(Side::Client, &self.machine.benchwright);
        fill.args(["ycsb", "load", "kv", "-P"]).arg(&workload);
        fill.args(["-p", records, "-p", &format!("kv.servers={}", ours.address)]);
        machine::printed(&mut fill)?;
        let p99 = || {
            let mut load = self.machine.command(Side::Client, &self.machine.benchwright);
            load.args(["load", &format!("kv://{}", ours.address), "--ycsb"]).arg(&workload);
            load.args(["--ycsb-property", records, "--rate", "2000/s", "--duration", "5s"]);
            load.args(["--connections", "4"]).args(machine::SENT_AT_ONCE);
            Ok::<_, String>(Load::run(&mut load)?.response[2])
        };
        let (mut ratios, mut resident) = (Vec::new(), Vec::new());
        for pair in 1..=self.extent.pairs {
            let quiet = p99()?;
            let mut attack = self.machine.command(Side::Client, &self.client);
            attack.args(["attack", &ours.address.to_string(), "5000", "9"]);
            let attack = Process::start(&mut attack)?;
            // All of its connections are made first.
            machine::sleep(Nanos::from_secs(3));
            let attacked = p99()?;
            resident.push(ours.resident() as f64 / MILLION);
            drop(attack);
            println!("{pair:>3}  p99 {quiet}, and {attacked} under attack");
            ratios.push(attacked.as_secs_f64() / quiet.as_secs_f64());
        }
        Ok(vec![
            finding("p99 beside 5,000 slow greetings, over without", ratios, "", Goal::most(2.0)),
            finding("the server's resident MB meanwhile", resident, "", Goal::None),
        ])
    }

    fn keys(&self) -> String {
        self.extent.keys.to_string()
    }

    fn pairs(&self) -> String {
        self.extent.pairs.to_string()
    }

    fn speed(&self, side: Side, words: &[&str]) -> Result<Vec<String>, String> {
        let mut command = self.machine.command(side, &self.speed);
        let output = machine::printed(command.args(words))?;
        println!("{output}");
        Ok(output.lines().map(str::to_owned).collect())
    }

    fn stored(&self, name: &str, side: Side) -> Result<Vec<String>, String> {
        let folder = Scratch::make()?;
        let path = folder.path("store").display().to_string();
        self.speed(side, &[name, &path, &self.keys(), &self.pairs()])
    }

    /// Runs our client, and returns the operations of its phase, and how many they were in a second.
    fn client(&self, server: &Server, words: &[&str]) -> Result<(f64, f64), String> {
        let mut command = self.machine.command(Side::Client, &self.machine.benchwright);
        let address = server.address.to_string();
        let logs = server.path("client");
        command.args(["ycsb", "bench", "--threads", "1", "--seconds", "4", "--json"]);
        command.args(["--servers", &address, "--keys", &self.keys()]).args(words);
        let document = machine::printed(command.arg("--logs").arg(logs))?;
        let document: serde_json::Value = serde_json::from_str(&document)
            .map_err(|error| format!("ycsb bench printed {document}: {error}"))?;
        let phase = ["run", "fill"].iter().find_map(|phase| document.get(phase));
        let figures = phase.filter(|phase| phase["failed"] == 0);
        let figure = |name: &str| figures.and_then(|phase| phase[name].as_f64());
        let both = figure("operations").zip(figure("operations_per_s"));
        both.ok_or_else(|| format!("operations failed: {document}"))
    }

    /// Millions per second, and per CPU-second of the server.
    fn additions(&self, server: &Server, distribution: &str) -> Result<(f64, f64), String> {
        let words = ["--phase", "run", "--distribution", distribution];
        let before = server.cpu();
        let (operations, rate) = self.client(server, &words)?;
        let used = server.cpu().saturating_sub(before).as_secs_f64();
        Ok((rate / MILLION, operations / MILLION / used))
    }

    /// Millions of INCR per second.
    fn increments(&self, server: &Server, count: usize) -> Result<f64, String> {
        let mut command = self.machine.command(Side::Client, "redis-benchmark");
        let port = server.address.port().to_string();
        command.args(["-p", &port, "-c", "2", "-P", BATCH, "-n", &count.to_string()]);
        command.args(["-r", &self.keys(), "--csv", "INCR", "key:__rand_int__"]);
        let output = machine::printed(&mut command)?;
        let rate = per_second(&output);
        rate.map(|rate| rate / MILLION).ok_or_else(|| format!("redis-benchmark printed:\n{output}"))
    }

    fn exchange(&self, server: &Server, value: &str, pipeline: &str) -> Result<f64, String> {
        let mut command = self.machine.command(Side::Client, &self.client);
        let address = server.address.to_string();
        let words = ["exchange", server.kind.protocol(), &address, value, pipeline, "16", "2"];
        let output = machine::printed(command.args(words))?;
        output.trim().parse().map_err(|_| format!("exchange printed {output}"))
    }
}

/// Reads the requests per second of redis-benchmark's last line: `"INCR …","1234.5",…`.
fn per_second(csv: &str) -> Option<f64> {
    csv.lines().last()?.split(',').nth(1)?.trim_matches('"').parse().ok()
}

/// The figures at one place of the lines with a name, in a unit.
fn column(lines: &[String], name: &str, at: usize, unit: f64) -> Vec<f64> {
    let words = lines.iter().map(|line| line.split(' '));
    let figures = words.filter_map(|mut words| {
        let figure = (words.next() == Some(name)).then(|| words.nth(at))??;
        Some(figure.parse::<f64>().ok()? / unit)
    });
    figures.collect()
}

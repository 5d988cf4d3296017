//! What a request of the hotel application costs: CPU time of all its processes by completed
//! requests of guide 1's mixed workload, at saturation and at half of that rate, with the shares
//! of services, user and kernel.
//!
//! One instance with one replica of each service and the embedded store, all on the server's CPU;
//! 32 connections. The original takes 885–950 and 1,200–2,100 µs on the same kind of machine
//! (contracts/hotel-reservation.md, 8.1, with the generator on the same CPUs).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use measure::Nanos;

use super::load::Load;
use super::machine::{self, Machine, Others, Process, Side};
use super::summary::Summary;
use crate::repository;

#[cfg(test)]
mod tests;

const CONNECTIONS: &str = "32";
const WARM_UP: &str = "1s";
const DURATION: &str = "6s";

/// Microseconds of CPU a request.
const MOST_SATURATED: f64 = 120.0;
const MOST_AT_HALF: f64 = 220.0;

/// Services without callers among the others come last: each names the addresses of those before it.
const SERVICES: [(&str, &[&str]); 11] = [
    ("store", &[]),
    ("geo", &["store"]),
    ("rate", &["store"]),
    ("profile", &["store"]),
    ("recommendation", &["store"]),
    ("user", &["store"]),
    ("reservation", &["store"]),
    ("review", &["store"]),
    ("attractions", &["store"]),
    ("search", &["geo", "rate"]),
    (
        "frontend",
        &[
            "search",
            "profile",
            "recommendation",
            "user",
            "reservation",
            "review",
            "attractions",
            "store",
        ],
    ),
];

/// One instance of the application.
struct Application {
    processes: Vec<(&'static str, Process)>,
    url: String,
}

/// CPU time of one process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cpu {
    /// From the scheduler, exact.
    all: Nanos,
    /// From clock ticks, to 10 ms: good for shares.
    user: Nanos,
    kernel: Nanos,
}

pub(super) fn run(machine: &Machine, attempts: usize) -> Result<bool, String> {
    println!("CPU a request of all processes, release profile; {CONNECTIONS} connections");
    let (mut saturated, mut at_half) = (Vec::new(), Vec::new());
    for attempt in 1..=attempts {
        let application = Application::start(machine)?;
        load(machine, &application, &["--closed", "--duration", WARM_UP])?;
        println!("\n{attempt:>3}  saturated (closed loop)");
        let (load, cost) = measure(machine, &application, &["--closed"])?;
        saturated.push(cost);
        let rate = format!("{:.0}/s", load.completed_per_s / 2.0);
        println!("\n{attempt:>3}  half of that, open loop, Poisson arrivals: {rate}");
        let half = ["--rate", &rate, "--arrivals", "poisson"];
        at_half.push(measure(machine, &application, &half)?.1);
    }
    println!();
    let saturated = told("saturated", &saturated, MOST_SATURATED);
    let at_half = told("at half of it", &at_half, MOST_AT_HALF);
    Ok(saturated && at_half)
}

fn told(what: &str, costs: &[f64], most: f64) -> bool {
    let summary = Summary::of(costs);
    println!("     µs a request, {what}: {summary}; at most {most}");
    summary.median <= most
}

/// The cost of a request in microseconds, printed with its shares.
fn measure(
    machine: &Machine,
    application: &Application,
    pacing: &[&str],
) -> Result<(Load, f64), String> {
    let others = Others::watch();
    let before = application.cpu()?;
    let load = load(machine, application, &[pacing, &["--duration", DURATION]].concat())?;
    let after = application.cpu()?;
    // What is measured runs on, so it counts as others; it is not.
    let mut noise = load.noise.clone();
    let ours: Nanos =
        after.iter().map(|(name, cpu)| cpu.all.saturating_sub(before[name].all)).sum();
    noise.others_share = (others.share() - ours.as_secs_f64() / others.seconds()).max(0.0);
    let requests = load.completed as f64;
    let cost = |of: fn(&Cpu) -> Nanos, name: &str| {
        of(&after[name]).saturating_sub(of(&before[name])).as_secs_f64() * 1e6 / requests
    };
    let sum = |of: fn(&Cpu) -> Nanos| -> f64 { after.keys().map(|name| cost(of, name)).sum() };
    let all = sum(|cpu| cpu.all);
    println!(
        "     {:.0}/s, p50 {}, p99 {}; {noise}",
        load.completed_per_s, load.response[0], load.response[2]
    );
    for name in after.keys() {
        println!(
            "     {}",
            row(
                name,
                cost(|cpu| cpu.all, name),
                cost(|cpu| cpu.user, name),
                cost(|cpu| cpu.kernel, name)
            )
        );
    }
    println!("     {}", row("all", all, sum(|cpu| cpu.user), sum(|cpu| cpu.kernel)));
    Ok((load, all))
}

/// `frontend         39.3 µs  (user 24.6, kernel 14.7)`.
fn row(name: &str, all: f64, user: f64, kernel: f64) -> String {
    let ticks = (user + kernel).max(f64::MIN_POSITIVE);
    let (user, kernel) = (all * user / ticks, all * kernel / ticks);
    format!("{name:<15} {all:>6.1} µs  (user {user:.1}, kernel {kernel:.1})")
}

fn load(machine: &Machine, application: &Application, pacing: &[&str]) -> Result<Load, String> {
    let mut command = machine.command(Side::Client, &machine.benchwright);
    command.args(["load", &application.url, "--connections", CONNECTIONS, "--warm-up", "0s"]);
    command.args(pacing).args(["--shards", "1", "--script"]);
    Load::run(command.arg(repository::root().join("experiments/hotel-mixed.lua")))
}

impl Application {
    fn start(machine: &Machine) -> Result<Application, String> {
        let program: PathBuf = machine.benchwright.with_file_name("benchwright-apps");
        let mut addresses: BTreeMap<&str, String> = BTreeMap::new();
        let mut processes = Vec::new();
        for (name, below) in SERVICES {
            let mut command = machine.command(Side::Server, &program);
            command.args(["hotel", name]).stdout(Stdio::piped());
            for service in below {
                command.arg(format!("--{service}")).arg(&addresses[service]);
            }
            let mut process = Process::start(&mut command)?;
            let ready = machine::ready(&mut process);
            let (_, url) = ready.ok_or_else(|| format!("{name} did not get ready"))?;
            addresses.insert(name, url.trim_start_matches("http://").to_owned());
            processes.push((name, process));
        }
        let url = format!("http://{}/", addresses["frontend"]);
        Ok(Application { processes, url })
    }

    fn cpu(&self) -> Result<BTreeMap<&'static str, Cpu>, String> {
        let of = |(name, process): &(&'static str, Process)| {
            let cpu = Cpu::of(process.0.id());
            cpu.map(|cpu| (*name, cpu)).ok_or_else(|| format!("{name} has died"))
        };
        self.processes.iter().map(of).collect()
    }
}

impl Cpu {
    fn of(pid: u32) -> Option<Cpu> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
        let of_thread = |thread: fs::DirEntry| {
            let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok().map(Nanos)
        };
        let [user, kernel, ..] = machine::ticks(&stat)?;
        Some(Cpu { all: threads.flatten().filter_map(of_thread).sum(), user, kernel })
    }
}

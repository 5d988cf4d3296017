//! `benchwright load --closed` beside Debian's `wrk`, on the reference server, one CPU each.
//!
//! The two take turns, so that what the machine does meanwhile befalls both. Ratios are printed;
//! what they should be is a goal, and nothing fails here because of it.

use std::process::Output;

use measure::Nanos;

use super::load::Load;
use super::machine::{self, Machine, Others, Server, Side};
use super::summary::Summary;

#[cfg(test)]
mod tests;

const CONNECTIONS: [&str; 3] = ["16", "64", "256"];
const DURATION: &str = "4s";
const GOAL: f64 = 1.0;

/// What one of the two completed.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Completed {
    per_s: f64,
    /// Per second of its own CPU, its start included.
    per_cpu_s: f64,
}

/// Runs pairs at each number of connections; an error is that one of the two did not run.
pub(super) fn run(machine: &Machine, pairs: usize) -> Result<bool, String> {
    if !machine::is_there("wrk") {
        return Err("there is no wrk; install it with: apt-get install wrk".to_owned());
    }
    println!("completed requests, benchwright over wrk; goal of the rates' ratio: {GOAL}");
    for connections in CONNECTIONS {
        println!("\n{connections} connections, pairs of {DURATION}");
        let mut rates = Vec::new();
        let mut per_cpu = Vec::new();
        for pair in 1..=pairs {
            let others = Others::watch();
            let (ours, load) = benchwright(machine, connections)?;
            let wrks = wrk(machine, connections)?;
            let load = load.beside(&others);
            rates.push(ours.per_s / wrks.per_s);
            per_cpu.push(ours.per_cpu_s / wrks.per_cpu_s);
            println!(
                "{pair:>3}  {:.0}/s and {:.0}/s: {:.3}; per CPU-second {:.0} and {:.0}: {:.3}",
                ours.per_s,
                wrks.per_s,
                ours.per_s / wrks.per_s,
                ours.per_cpu_s,
                wrks.per_cpu_s,
                ours.per_cpu_s / wrks.per_cpu_s,
            );
            println!("     {}", load.noise);
            load.reasons.iter().for_each(|reason| println!("     {reason}"));
        }
        let rates = Summary::of(&rates);
        let met = if GOAL <= rates.median { "goal met" } else { "goal missed" };
        println!("     ratio of rates {rates}: {met}");
        println!("     ratio per CPU-second {}", Summary::of(&per_cpu));
    }
    Ok(true)
}

fn benchwright(machine: &Machine, connections: &str) -> Result<(Completed, Load), String> {
    let server = Server::start(machine, &[])?;
    let mut command = machine.command(Side::Client, &machine.benchwright);
    command.args(["load", &server.url, "--closed", "--shards", "1", "--duration", DURATION]);
    command.args(["--connections", connections]);
    let before = machine::cpu_of_ended_children();
    let load = Load::run(&mut command)?;
    let cpu = machine::cpu_of_ended_children().saturating_sub(before);
    server.end()?;
    let per_cpu_s = load.completed as f64 / cpu.as_secs_f64();
    Ok((Completed { per_s: load.completed_per_s, per_cpu_s }, load))
}

fn wrk(machine: &Machine, connections: &str) -> Result<Completed, String> {
    let server = Server::start(machine, &[])?;
    let mut command = machine.command(Side::Client, "wrk");
    command.args(["-t1", "-c", connections, "-d", DURATION, &server.url]);
    let before = machine::cpu_of_ended_children();
    let Output { stdout, .. } = command.output().map_err(|e| format!("starting wrk: {e}"))?;
    let cpu = machine::cpu_of_ended_children().saturating_sub(before);
    server.end()?;
    let said = String::from_utf8_lossy(&stdout);
    completed_by_wrk(&said, cpu).ok_or_else(|| format!("wrk said:\n{said}"))
}

/// Reads `  327678 requests in 2.00s, …` and `Requests/sec:  141241.30`.
fn completed_by_wrk(said: &str, cpu: Nanos) -> Option<Completed> {
    let requests: f64 = said.lines().find_map(|line| {
        let (count, _) = line.trim().split_once(" requests in ")?;
        count.parse().ok()
    })?;
    let per_s = said.lines().find_map(|line| line.strip_prefix("Requests/sec:"))?;
    Some(Completed { per_s: per_s.trim().parse().ok()?, per_cpu_s: requests / cpu.as_secs_f64() })
}

//! The cost of a login of the users service: CPU time of its process per completed login, in a closed
//! loop with one hashing thread. Nearly all of it is bcrypt, and each step of its cost doubles it.

use std::path::Path;
use std::process::Stdio;

use super::goal::{Finding, Goal};
use super::load::Load;
use super::machine::{self, Cpu, Machine, Others, Process, Side};
use super::note;
use super::summary::Summary;
use crate::repository;

#[cfg(test)]
mod tests;

/// The costs of bcrypt: that of the experiment's default and that of guide 4.
const COSTS: [u32; 2] = [4, 10];
/// The cost of guide 4, and its figure: a JVM with 1 CPU for each replica.
const OF_GUIDE: u32 = 10;
const GUIDE: &str = "Guide 4, cost 10, on its own machine: about 15 logins per CPU-second.";
const USER: &str = r#"{"username": "manuandru", "password": "12341234"}"#;

/// Measures each cost in turn; returns true if every load was made.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    to_note: Option<&Path>,
) -> Result<bool, String> {
    let mut costs = vec![Vec::new(); COSTS.len()];
    let mut most_of_others: f64 = 0.0;
    for attempt in 1..=attempts {
        for (cost, each) in COSTS.iter().zip(&mut costs) {
            let (login_s, others) = measure(machine, *cost)?;
            println!(
                "{attempt:>3}  cost {cost}: {:.3} ms of CPU per login; {others:.2} CPUs used by others",
                1e3 * login_s
            );
            most_of_others = most_of_others.max(others);
            each.push(login_s);
        }
    }
    println!();
    let findings: Vec<Finding> =
        COSTS.iter().zip(costs).map(|(cost, each)| finding(*cost, &each)).collect();
    findings.iter().for_each(|finding| println!("{finding}; {}", finding.beside));
    if let Some(path) = to_note {
        let noise = format!("At most {most_of_others:.2} CPUs were used by others.");
        let heading = "Logins per CPU-second, one hashing thread, closed loop of 4 connections";
        note::add(path, "The cost of a login", heading, &findings, &[GUIDE.to_owned(), noise])?;
    }
    Ok(true)
}

/// Returns the rate of a cost, beside its time and the guide's rate.
fn finding(cost: u32, logins_s: &[f64]) -> Finding {
    let guide = if cost == OF_GUIDE { " (guide 4: about 15)" } else { "" };
    Finding {
        what: format!("bcrypt cost {cost}, logins per CPU-second{guide}"),
        figures: logins_s.iter().map(|seconds| 1.0 / seconds).collect(),
        beside: format!("{:.3} ms each", 1e3 * Summary::of(logins_s).median),
        goal: Goal::None,
    }
}

/// Returns the CPU time of a login in seconds, and the CPUs that others used beside it.
fn measure(machine: &Machine, cost: u32) -> Result<(f64, f64), String> {
    let program = machine.benchwright.with_file_name("benchwright-apps");
    let mut command = machine.command(Side::Server, program);
    command.args(["users", "--hashing-threads", "1", "--cost", &cost.to_string()]);
    let mut process = Process::start(command.stdout(Stdio::piped()))?;
    let (_, url) = machine::ready(&mut process).ok_or("the users service did not become ready")?;
    let load = |words: &[&str]| {
        let mut command = machine.command(Side::Client, &machine.benchwright);
        command.args(["load", "--closed", "--shards", "1", "--warm-up", "0s"]);
        Load::run(command.args(words))
    };
    let register = format!("{url}/auth/register");
    let content = ["--method", "POST", "--header", "Content-Type: application/json"];
    let once = ["--body", USER, "--connections", "1", "--requests", "1"];
    load(&[&[&*register][..], &content, &once].concat())?;
    let script = repository::root().join("experiments/users-login.lua").display().to_string();
    let login = format!("{url}/auth/login");
    let cpu = || Cpu::of(process.0.id()).ok_or("the users service has died");
    let (others, before) = (Others::watch(), cpu()?.all);
    let words = ["--script", &script, "--connections", "4", "--duration", "6s"];
    let login = load(&[&[&*login], &words[..], &["--slo", "failures<=0%"]].concat())?;
    let used = cpu()?.all.saturating_sub(before).as_secs_f64();
    // Its own use is among that of the others.
    let others = (others.share() - used / others.seconds()).max(0.0);
    // A login that fails is cheaper. A disturbed load has the same cost.
    match login.exit {
        Some(0 | 3) if 0 < login.completed => Ok((used / login.completed as f64, others)),
        exit => Err(format!("of {} logins some failed (exit {exit:?})", login.completed)),
    }
}

//! The cost of a login of the users service: CPU time of its process per completed login, in a closed
//! loop with one hashing thread. Nearly all of it is bcrypt, and each step of its cost doubles it.

use std::process::Stdio;

use super::hotel::Cpu;
use super::load::Load;
use super::machine::{self, Machine, Others, Process, Side};
use super::summary::Summary;
use crate::repository;

#[cfg(test)]
mod tests;

/// The costs of bcrypt: that of the experiment's default and that of guide 4.
const COSTS: [u32; 2] = [4, 10];
/// The guide's figure at cost 10: a JVM with 1 CPU for each replica.
const GUIDE: &str = "guide 4, cost 10, on its own machine: about 15 logins per CPU-second";
const USER: &str = r#"{"username": "manuandru", "password": "12341234"}"#;

/// Measures each cost in turn; returns true if every load was made.
pub(super) fn run(machine: &Machine, attempts: usize) -> Result<bool, String> {
    let mut costs = vec![Vec::new(); COSTS.len()];
    for attempt in 1..=attempts {
        for (cost, seconds) in COSTS.iter().zip(&mut costs) {
            let (login_s, noise) = measure(machine, *cost)?;
            println!("{attempt:>3}  cost {cost}: {}; {noise}", in_words(login_s));
            seconds.push(login_s);
        }
    }
    println!("\nCPU per login, median of {attempts}");
    for (cost, seconds) in COSTS.iter().zip(&costs) {
        println!("cost {cost}: {}", in_words(Summary::of(seconds).median));
    }
    println!("{GUIDE}");
    Ok(true)
}

/// Returns for example `58.3 ms of CPU per login, 17.2 logins per CPU-second`.
fn in_words(login_s: f64) -> String {
    format!("{:.3} ms of CPU per login, {:.1} logins per CPU-second", login_s * 1e3, 1.0 / login_s)
}

/// Returns the CPU time of a login in seconds, and the noise beside it.
fn measure(machine: &Machine, cost: u32) -> Result<(f64, String), String> {
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
        Some(0 | 3) if 0 < login.completed => {
            Ok((used / login.completed as f64, format!("{others:.2} CPUs used by others")))
        }
        exit => Err(format!("of {} logins some failed (exit {exit:?})", login.completed)),
    }
}

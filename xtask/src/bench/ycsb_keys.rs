//! The speed with which the client of YCSB makes keys and operations, on one core: a server that answers
//! ten million operations in a second must not wait for them.

use std::path::PathBuf;
use std::process::Command;

use super::goal::{Finding, Goal};
use super::machine::{Machine, Others, Side};
use crate::repository;

#[cfg(test)]
mod tests;

/// The lines of the example, with the goals in millions per second of CPU time.
const GOALS: [(&str, &str, Goal); 5] = [
    ("zipfian", "scrambled Zipf numbers, 64 at a time", Goal::least(100.0)),
    ("uniform", "uniform numbers and their keys", Goal::least(300.0)),
    ("names", "names of records as text", Goal::least(40.0)),
    ("operations", "whole operations of the store, Zipf", Goal::least(40.0)),
    ("operations-uniform", "whole operations of the store, uniform", Goal::None),
];

/// Measures each so many times; returns true if the medians meet the goals.
pub(super) fn run(machine: &Machine, attempts: usize) -> Result<bool, String> {
    let program = build()?;
    println!("millions per second of CPU time");
    let mut figures = GOALS.map(|_| Vec::new());
    for attempt in 1..=attempts {
        let others = Others::watch();
        let text = printed(&mut machine.command(Side::Client, &program))?;
        for ((name, ..), figures) in GOALS.iter().zip(&mut figures) {
            figures.push(figure(&text, name).ok_or_else(|| format!("`{name}` is not in {text}"))?);
        }
        let each: Vec<String> = text.lines().map(str::to_owned).collect();
        let share = 100.0 * others.share();
        println!("{attempt:>3}  {}; others used {share:.1} % of a CPU", each.join(", "));
    }
    let findings = GOALS.iter().zip(figures).map(|((_, what, goal), figures)| {
        let what = (*what).to_owned();
        Finding { what, figures, beside: String::new(), goal: *goal }
    });
    let findings: Vec<Finding> = findings.collect();
    println!();
    findings.iter().for_each(|finding| println!("{finding}"));
    Ok(findings.iter().all(Finding::is_met))
}

/// Builds the example in the users' profile.
fn build() -> Result<PathBuf, String> {
    let mut cargo = repository::cargo();
    cargo.args(["build", "--locked", "--release", "-p", "ycsb", "--example", "keys"]);
    match repository::succeeds(&mut cargo) {
        true => crate::programs::Build::Release.program("examples/keys"),
        false => Err("the build of the example failed".to_owned()),
    }
}

fn printed(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("starting the example: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Reads the figure in the line that begins with a name.
fn figure(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

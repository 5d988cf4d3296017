//! The speed with which the client of YCSB makes keys and operations, on one core: a server that answers
//! ten million operations in a second must not wait for them.

use std::fs::File;
use std::path::Path;

use super::goal::{Finding, Goal};
use super::machine::{self, Machine, Others, Side};
use super::scratch::Scratch;
use crate::programs;

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

/// The size of a file of keys, of which the kernel has the content in memory.
const FILE_BYTES: u64 = 1 << 29;
const LOADED: (&str, Goal) = ("keys of a file, MB/s", Goal::least(1000.0));

/// Measures each so many times; returns true if the medians meet the goals.
pub(super) fn run(machine: &Machine, attempts: usize) -> Result<bool, String> {
    let program = programs::example("ycsb", "keys")?;
    println!("millions per second of CPU time");
    let folder = Scratch::make()?;
    let file = folder.write("keys", "")?;
    let sized = File::options().write(true).open(&file).and_then(|file| file.set_len(FILE_BYTES));
    sized.map_err(|error| format!("making a file of keys: {error}"))?;
    // The kernel reads it once.
    loaded(machine, &folder, &file)?;
    let (mut figures, mut loads) = (GOALS.map(|_| Vec::new()), Vec::new());
    for attempt in 1..=attempts {
        let others = Others::watch();
        let text = machine::printed(&mut machine.command(Side::Client, &program))?;
        for ((name, ..), figures) in GOALS.iter().zip(&mut figures) {
            figures.push(figure(&text, name).ok_or_else(|| format!("`{name}` is not in {text}"))?);
        }
        loads.push(loaded(machine, &folder, &file)?);
        let each: Vec<String> = text.lines().map(str::to_owned).collect();
        let share = 100.0 * others.share();
        println!("{attempt:>3}  {}; others used {share:.1} % of a CPU", each.join(", "));
    }
    let findings = GOALS.iter().zip(figures).map(|((_, what, goal), figures)| {
        let what = (*what).to_owned();
        Finding { what, figures, beside: String::new(), goal: *goal }
    });
    let (what, goal) = (LOADED.0.to_owned(), LOADED.1);
    let loads = Finding { what, figures: loads, beside: String::new(), goal };
    let findings: Vec<Finding> = findings.chain([loads]).collect();
    println!();
    findings.iter().for_each(|finding| println!("{finding}"));
    Ok(findings.iter().all(Finding::is_met))
}

/// Returns the rate at which the client loads a file of keys, by the times in its log. There is no server: it ends
/// with the attempt to fill it.
fn loaded(machine: &Machine, folder: &Scratch, file: &Path) -> Result<f64, String> {
    let mut command = machine.command(Side::Client, &machine.benchwright);
    let server = format!("127.0.0.1:{}", machine::free_port());
    command.args(["ycsb", "bench", "--servers", &server, "--phase", "fill", "--threads", "1"]);
    command.arg("--load-file").arg(file).arg("--logs").arg(folder.path("logs"));
    let output = command.output().map_err(|error| format!("starting the client: {error}"))?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let at = |message: &str| seconds(&log, message).ok_or_else(|| log.clone());
    let took = at("Filling data into the server")? - at("Loading workload data from ")?;
    Ok(FILE_BYTES as f64 / took / 1e6)
}

/// Reads the time of the line of a log whose message begins so: `[1700000000.123456789]::INFO::client:: Loading …`.
fn seconds(log: &str, message: &str) -> Option<f64> {
    let line = log.lines().find(|line| line.contains(&format!(":: {message}")))?;
    line.strip_prefix('[')?.split_once(']')?.0.parse().ok()
}

/// Reads the figure in the line that begins with a name.
fn figure(text: &str, name: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}

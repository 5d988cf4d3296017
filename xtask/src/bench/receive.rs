//! The cost of an arrival at the receiver of events: CPU time of `benchwright receive` per event that it
//! takes and notes. The reciprocal is the rate of one CPU. A lost or doubled event fails the bench.

use std::path::Path;
use std::process::Stdio;

use super::goal::{Finding, Goal};
use super::json::Value;
use super::machine::{self, Cpu, Machine, Others, Process, Side};
use super::note;
use super::scratch::Scratch;
use super::summary::Summary;

/// The ways in which events come, with the options of the generator and the goals of their rates per
/// CPU-second.
const WAYS: [(&str, &[&str], Goal); 4] = [
    (
        "binary, 16 connections, up to 16 events at once",
        &["--events", "binary", "--connections", "16", "--pipeline", "16", "--rate", "60k/s"],
        Goal::at_least(100_000.0, 200_000.0),
    ),
    (
        "structured, 16 connections, up to 16 events at once",
        &["--events", "structured", "--connections", "16", "--pipeline", "16", "--rate", "60k/s"],
        Goal::at_least(100_000.0, 150_000.0),
    ),
    // At the rate of the goal itself.
    (
        "binary, 256 connections, one event at a time",
        &["--events", "binary", "--connections", "256", "--rate", "100k/s"],
        Goal::at_least(100_000.0, 150_000.0),
    ),
    // A wait and a wake-up for nearly each event.
    (
        "binary, 256 connections, one event at a time, a third of the rate",
        &["--events", "binary", "--connections", "256", "--rate", "30k/s"],
        Goal::None,
    ),
];

const SECONDS: &str = "5s";

/// Measures each way in turn; returns true if the goals are met.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    to_note: Option<&Path>,
) -> Result<bool, String> {
    let mut ways = vec![Vec::new(); WAYS.len()];
    let mut offered = vec![Vec::new(); WAYS.len()];
    for attempt in 1..=attempts {
        for ((way, how, _), (rates, sent)) in WAYS.iter().zip(ways.iter_mut().zip(&mut offered)) {
            let Measured { event_s, per_s, others } = measure(machine, how)?;
            println!(
                "{attempt:>3}  {way}: {:.2} us of CPU per event at {per_s:.0}/s; {others:.2} CPUs used \
                 by others",
                1e6 * event_s
            );
            rates.push(1.0 / event_s);
            sent.push(per_s);
        }
    }
    println!();
    let found = WAYS.iter().zip(ways.into_iter().zip(offered));
    let findings: Vec<Finding> = found
        .map(|((way, _, goal), (figures, sent))| Finding {
            what: format!("{way}: events per CPU-second, none lost"),
            figures,
            beside: format!("at {:.0}/s", Summary::of(&sent).median),
            goal: *goal,
        })
        .collect();
    findings.iter().for_each(|finding| println!("{finding}; {}", finding.beside));
    if let Some(path) = to_note {
        let heading = "Events per CPU-second of `benchwright receive --notes`, 100 B each";
        let closing = format!("The notes are in {}.", machine::scratch().display());
        note::add(path, "The cost of an arrival", heading, &findings, &[closing])?;
    }
    Ok(findings.iter().all(|finding| finding.goal.is_met(finding.summary().median)))
}

struct Measured {
    /// The CPU time of an event.
    event_s: f64,
    /// The events that arrived in a second.
    per_s: f64,
    /// The CPUs that others used.
    others: f64,
}

fn measure(machine: &Machine, how: &[&str]) -> Result<Measured, String> {
    let scratch = Scratch::make("receive")?;
    let [sent, received] = ["sent", "received"].map(|name| scratch.path(name));
    let mut command = machine.command(Side::Server, &machine.benchwright);
    command.args(["receive", "--until-quiet", "1s", "--json", "--notes"]).arg(&received);
    let mut process = Process::start(command.stdout(Stdio::piped()))?;
    let (mut lines, url) =
        machine::ready(&mut process).ok_or("the receiver did not become ready")?;
    let cpu = || Cpu::of(process.0.id()).ok_or("the receiver has died");
    let (others, before) = (Others::watch(), cpu()?.all);
    let mut load = machine.command(Side::Client, &machine.benchwright);
    load.args(["load", &url, "--duration", SECONDS, "--shards", "1", "--progress", "never"]);
    let load = load.args(how).args(["--json", "--notes"]).arg(&sent).output();
    let load = load.map_err(|error| format!("starting the generator: {error}"))?;
    let used = cpu()?.all.saturating_sub(before).as_secs_f64();
    let others = (others.share() - used / others.seconds()).max(0.0);
    Value::read(&String::from_utf8_lossy(&load.stdout)).ok_or_else(|| {
        format!("the generator: {}", String::from_utf8_lossy(&load.stderr).trim())
    })?;
    // Its last line: it ends by itself.
    let summary = lines.next().and_then(Result::ok).unwrap_or_default();
    let summary =
        Value::read(&summary).ok_or_else(|| format!("the receiver printed `{summary}`"))?;
    let join = machine.command(Side::Client, &machine.benchwright);
    let joined = joined(join, &[&sent, &received])?;
    let number = |of: &Value, path: &str| of.number(path).ok_or_else(|| format!("no {path}"));
    for fault in ["lost", "refused", "duplicated", "unknown", "unnoted"] {
        let count = number(&joined, &format!("events.{fault}"))?;
        if 0.0 < count {
            return Err(format!("{count} events are {fault}"));
        }
    }
    let (first, last) = (number(&summary, "first_ns")?, number(&summary, "last_ns")?);
    let arrivals = number(&summary, "arrivals")?;
    Ok(Measured { event_s: used / arrivals, per_s: arrivals / (last - first) * 1e9, others })
}

fn joined(mut join: std::process::Command, files: &[&Path]) -> Result<Value, String> {
    let output = join.args(["join", "--json"]).args(files).output();
    let output = output.map_err(|error| format!("starting the join: {error}"))?;
    Value::read(&String::from_utf8_lossy(&output.stdout))
        .ok_or_else(|| format!("the join: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

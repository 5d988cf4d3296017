//! The cost of an event in the channel: CPU time of its process per event that it accepts, logs and
//! delivers to one subscriber, acknowledged from memory and from the disk. The reciprocal is the rate
//! of one CPU. A lost or doubled event fails the bench.

use std::path::Path;
use std::process::Stdio;

use super::goal::{Finding, Goal};
use super::json::Value;
use super::machine::{self, Cpu, Machine, Others, Process, Side};
use super::note;
use super::scratch::Scratch;
use super::summary::Summary;

/// The ways to acknowledge, with the goals of their rates per CPU-second.
const WAYS: [(&str, Goal); 2] = [
    ("enqueued", Goal::at_least(50_000.0, 80_000.0)),
    ("durable", Goal::at_least(20_000.0, 40_000.0)),
];

/// The place where the generator receives the events.
const RECEIVER: &str = "127.0.0.1:18082";

/// The rate of the load: what two CPUs surely carry, generator and receiver included.
const RATE: &str = "10k/s";
const SECONDS: &str = "5s";

/// Measures each way in turn; returns true if the goals are met.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    to_note: Option<&Path>,
) -> Result<bool, String> {
    let mut ways = vec![Vec::new(); WAYS.len()];
    let mut delivery = vec![Vec::new(); WAYS.len()];
    for attempt in 1..=attempts {
        for ((way, _), (rates, times)) in WAYS.iter().zip(ways.iter_mut().zip(&mut delivery)) {
            let (event_s, p50_ns, others) = measure(machine, way)?;
            println!(
                "{attempt:>3}  {way}: {:.2} us of CPU per event, delivery p50 {:.2} ms; {others:.2} \
                 CPUs used by others",
                1e6 * event_s,
                p50_ns / 1e6
            );
            rates.push(1.0 / event_s);
            times.push(p50_ns / 1e6);
        }
    }
    println!();
    let found = WAYS.iter().zip(ways.into_iter().zip(delivery));
    let findings: Vec<Finding> = found
        .map(|((way, goal), (figures, times))| Finding {
            what: format!("{way}, 100 B, one subscriber: events per CPU-second"),
            figures,
            beside: format!("delivery p50 {:.2} ms at {RATE}", Summary::of(&times).median),
            goal: *goal,
        })
        .collect();
    findings.iter().for_each(|finding| println!("{finding}; {}", finding.beside));
    if let Some(path) = to_note {
        let heading = format!("Events per CPU-second of the channel's process, at {RATE}");
        let closing = format!("The log of `durable` is in {}.", machine::scratch().display());
        note::add(path, "The cost of an event", &heading, &findings, &[closing])?;
    }
    Ok(findings.iter().all(|finding| finding.goal.is_met(finding.summary().median)))
}

/// Returns the CPU time of an event in seconds, the median delivery time in nanoseconds, and the CPUs
/// that others used.
fn measure(machine: &Machine, way: &str) -> Result<(f64, f64, f64), String> {
    let scratch = Scratch::make("channel")?;
    let program = machine.benchwright.with_file_name("benchwright-apps");
    let mut command = machine.command(Side::Server, program);
    let subscriber = format!("http://{RECEIVER}/");
    command.args(["channel", "--subscriber", &subscriber, "--acknowledge", way]);
    if way == "durable" {
        command.arg("--data").arg(scratch.path("log"));
    }
    let mut process = Process::start(command.stdout(Stdio::piped()))?;
    let (_, url) = machine::ready(&mut process).ok_or("the channel did not become ready")?;
    let cpu = || Cpu::of(process.0.id()).ok_or("the channel has died");
    let (others, before) = (Others::watch(), cpu()?.all);
    let mut load = machine.command(Side::Client, &machine.benchwright);
    load.args(["load", &url, "--events", "binary", "--receive", RECEIVER, "--rate", RATE]);
    load.args(["--duration", SECONDS, "--connections", "128", "--shards", "1"]);
    let output = load.args(["--progress", "never", "--json"]).output();
    let output = output.map_err(|error| format!("starting the generator: {error}"))?;
    let used = cpu()?.all.saturating_sub(before).as_secs_f64();
    let others = (others.share() - used / others.seconds()).max(0.0);
    let document = Value::read(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
        format!("the generator: {}", String::from_utf8_lossy(&output.stderr).trim())
    })?;
    let number = |path: &str| document.number(path).ok_or_else(|| format!("no {path}"));
    let accepted = number("events.accepted")?;
    for fault in ["events.refused", "events.lost", "events.duplicated", "events.unnoted"] {
        let count = number(fault)?;
        if 0.0 < count {
            return Err(format!("{way}: {fault} is {count}, of {accepted} events"));
        }
    }
    Ok((used / accepted, number("events.delivery_time.p50_ns")?, others))
}

//! The CPU time of a unit of work in a system: of a request, a login, a read or an event.
//!
//! Everything except the generator runs on the server's CPU, unless a row says otherwise. Rows take turns,
//! and so do the programs of an older build, so that a slow hour of the machine affects all of them.

use measure::Nanos;
use serde_json::Value;

use super::goal::{Finding, Goal};
use super::load::{self, Load, Noise};
use super::machine::{self, Cpu, Machine, Others, Side};
use super::places::filled;
use super::summary::Summary;
use super::{Options, note};
use crate::tools;
use rows::{Row, Step};
use system::System;

mod postgres;
pub(super) mod rows;
mod system;

#[cfg(test)]
mod tests;

/// A bench: its rows, and what they have in common.
pub(super) struct Table {
    /// The title of a note, and the heading of the figures.
    title: &'static str,
    heading: &'static str,
    unit: &'static str,
    figure: Figure,
    /// The packages of the distribution that it installs.
    packages: &'static [&'static str],
    /// The beginning of the command of each service.
    command: &'static str,
    /// The arguments of every load.
    load: &'static str,
    counted: Counted,
    rows: &'static [Row],
    /// The words below the figures.
    closing: &'static str,
}

#[derive(Clone, Copy)]
enum Figure {
    /// The microseconds of CPU of a unit in all parts.
    MicrosecondsOfAll,
    /// The units per CPU-second of this part.
    PerCpuSecond(&'static str),
}

/// The units of a load. A lost or doubled event fails the bench.
#[derive(Clone, Copy)]
enum Counted {
    /// Requests with a response.
    Completed,
    /// Events that were accepted and delivered.
    Accepted,
    /// Events that the last service of the row has noted.
    Arrived,
}

/// The figures of one step; those that are not of a load are zero.
#[derive(Default)]
struct Measured {
    figure: f64,
    per_s: f64,
    p50_ms: f64,
    /// The CPU time of a unit in the judged part, and in the others.
    each_us: f64,
    rest_us: f64,
    /// The share of one CPU that others used.
    others: f64,
}

impl Table {
    /// Measures the rows in turn; returns true if every goal is met.
    pub(super) fn run(&self, machine: &Machine, options: &Options<'_>) -> Result<bool, String> {
        tools::install_packages(self.packages);
        let before = options.path("--before");
        let older = before.map(|folder| machine.with_older(folder)).transpose()?;
        println!("{}", self.heading);
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.is_there()).collect();
        // Of each row this build's attempts and the older one's, with their steps.
        let mut measured: Vec<[Vec<Vec<Measured>>; 2]> =
            rows.iter().map(|_| Default::default()).collect();
        for attempt in 1..=options.count("--attempts", 3) {
            for (row, [now, then]) in rows.iter().zip(&mut measured) {
                println!("\n{attempt:>3}  {}", row.what);
                if let Some(older) = &older {
                    println!("     the older build");
                    then.push(self.attempt(older, row)?);
                    println!("     this build");
                }
                now.push(self.attempt(machine, row)?);
            }
        }
        println!();
        let each = rows.iter().zip(&measured);
        let findings: Vec<Finding> =
            each.flat_map(|(row, [now, then])| self.findings(row, now, then)).collect();
        findings.iter().for_each(|finding| println!("{finding}; {}", finding.beside));
        println!("{}", self.closing);
        if let Some(path) = options.path("--note") {
            let all = measured.iter().flatten().flatten().flatten();
            let others = all.map(|measured| measured.others).fold(0.0, f64::max);
            let noise = format!(
                "At most {others:.2} CPUs were used by others. The files were in {}.",
                machine::scratch().display()
            );
            note::add(
                path,
                self.title,
                self.heading,
                &findings,
                &[self.closing.to_owned(), noise],
            )?;
        }
        Ok(findings.iter().all(Finding::is_met))
    }

    /// Starts the system of a row, and makes its steps.
    fn attempt(&self, machine: &Machine, row: &Row) -> Result<Vec<Measured>, String> {
        let mut system = System::start(machine, self.command, row)?;
        println!("     {} processes", system.processes());
        let mut all = Vec::new();
        for step in row.steps {
            match *step {
                Step::Load(words) => drop(self.load(machine, &system, words)?),
                Step::Measured(_, words) => all.push(self.measure(machine, &mut system, words)?),
                Step::Rate(_, side, words) => all.push(self.rate(machine, &system, side, words)?),
            }
        }
        Ok(all)
    }

    fn load(
        &self,
        machine: &Machine,
        system: &System,
        words: &str,
    ) -> Result<(Load, Value), String> {
        let words = filled(&format!("{words} {}", self.load), &system.places);
        println!("     load {}", words.join(" "));
        let mut command = machine.command(Side::Client, &machine.benchwright);
        command.args(["load", "--json", "--progress", "never"]);
        command.args(system.targets(&words[0])).args(&words[1..]);
        let (document, exit) = load::document(&mut command)?;
        let load = Load::of(&document, exit)?;
        // A unit that fails is cheaper. A disturbed load has the same cost.
        match exit {
            Some(0 | 3) if 0 < load.completed => Ok((load, document)),
            _ => Err(format!("of {} {}s some failed (exit {exit:?})", load.completed, self.unit)),
        }
    }

    /// Makes a load, and prints its figures with the shares of the parts and the noise of the machine.
    fn measure(
        &self,
        machine: &Machine,
        system: &mut System,
        words: &str,
    ) -> Result<Measured, String> {
        let watch = Others::watch();
        let before = system.cpu()?;
        let (load, document) = self.load(machine, system, words)?;
        let mut parts = system.cpu()?;
        parts.iter_mut().for_each(|(name, cpu)| *cpu = cpu.since(before[name]));
        let mut total = Cpu::default();
        parts.values().for_each(|cpu| total.add(*cpu));
        // The measured processes still run, so the others include them.
        let others = (watch.share() - total.all.as_secs_f64() / watch.seconds()).max(0.0);
        system.take_half(load.completed_per_s);
        let Units { count, per_s, times: [p50, _, p99] } =
            self.counted.of(machine, system, &load, &document)?;
        let noise = Noise { others_share: others, ..load.noise };
        println!("     {per_s:.0}/s, p50 {p50}, p99 {p99}; {noise}");
        let us = |time: Nanos| 1e6 * time.as_secs_f64() / count;
        for (name, Cpu { all, user, kernel }) in parts.iter().chain([(&"all", &total)]) {
            println!("     {}", shares(name, us(*all), us(*user), us(*kernel)));
        }
        let (each_us, figure) = match self.figure {
            Figure::MicrosecondsOfAll => (us(total.all), us(total.all)),
            Figure::PerCpuSecond(part) => (us(parts[part].all), 1e6 / us(parts[part].all)),
        };
        let (p50_ms, rest_us) = (p50.as_millis_f64(), us(total.all) - each_us);
        Ok(Measured { figure, per_s, p50_ms, each_us, rest_us, others })
    }

    /// Runs a command that prints the rate of its requests.
    fn rate(
        &self,
        machine: &Machine,
        system: &System,
        side: Side,
        words: &str,
    ) -> Result<Measured, String> {
        let words = filled(&format!("{} {words}", self.command), &system.places);
        let mut command = machine.command(side, machine.program(&words[0]));
        let begun = machine::now();
        let (document, exit) = load::document(command.args(&words[1..]))?;
        let rate = document["requests_per_s"].as_f64().filter(|_| exit == Some(0));
        let per_s = rate.ok_or_else(|| format!("{} ended with {exit:?}", words.join(" ")))?;
        println!("     {}: {per_s:.0} requests/s, {}", words.join(" "), machine::since(begun));
        Ok(Measured { figure: per_s, per_s, ..Measured::default() })
    }

    /// Returns the figures of a row; with an older build also how many times as large they are.
    fn findings(&self, row: &Row, now: &[Vec<Measured>], then: &[Vec<Measured>]) -> Vec<Finding> {
        let unit = match self.figure {
            Figure::MicrosecondsOfAll => format!("µs per {}", self.unit),
            Figure::PerCpuSecond(_) => format!("{}s per CPU-second", self.unit),
        };
        let names = row.steps.iter().filter_map(|step| match step {
            Step::Load(_) => None,
            Step::Measured("", _) => Some(unit.clone()),
            Step::Measured(what, _) => Some(format!("{unit}, {what}")),
            Step::Rate(what, ..) => Some((*what).to_owned()),
        });
        let mut findings = Vec::new();
        for (index, (name, goal)) in names.zip(row.goals).enumerate() {
            let of_step = |attempts: &[Vec<Measured>]| -> Vec<f64> {
                attempts.iter().map(|steps| steps[index].figure).collect()
            };
            let (what, figures, older) =
                (format!("{name}; {}", row.what), of_step(now), of_step(then));
            let pairs = figures.iter().zip(&older);
            let compared = (!older.is_empty()).then(|| Finding {
                what: format!("{what}; over the older build's"),
                figures: pairs.map(|(now, then)| now / then).collect(),
                beside: beside(then, index),
                goal: Goal::None,
            });
            findings.push(Finding { what, figures, beside: beside(now, index), goal: *goal });
            findings.extend(compared);
        }
        findings
    }
}

impl Row {
    /// Returns false, and prints why, if a store of a row without goals is missing.
    fn is_there(&self) -> bool {
        let missing = self.stores.iter().find(|store| store.path().is_none());
        match missing.filter(|_| self.goals.iter().all(|goal| *goal == Goal::None)) {
            Some(store) => println!("not measured: {} (install {})", self.what, store.package),
            None => return true,
        }
        false
    }
}

/// The units of a load, their rate, and the p50, p90 and p99 of their times.
struct Units {
    count: f64,
    per_s: f64,
    times: [Nanos; 3],
}

impl Counted {
    fn of(
        self,
        machine: &Machine,
        system: &mut System,
        load: &Load,
        document: &Value,
    ) -> Result<Units, String> {
        let number = |of: &Value, name: &str| of[name].as_f64().ok_or_else(|| format!("no {name}"));
        let none_is_wrong = |events: &Value| {
            for fault in ["lost", "refused", "duplicated", "unknown", "unnoted"] {
                let count = number(events, fault)?;
                if 0.0 < count {
                    return Err(format!("{count} events are {fault}"));
                }
            }
            Ok(())
        };
        match self {
            Counted::Completed => {
                let (count, per_s) = (load.completed as f64, load.completed_per_s);
                Ok(Units { count, per_s, times: load.response })
            }
            Counted::Accepted => {
                let events = &document["events"];
                none_is_wrong(events)?;
                let count = number(events, "accepted")?;
                let times = load::quantiles(&events["delivery_time"]).ok_or("no delivery_time")?;
                Ok(Units { count, per_s: count / number(document, "measured_s")?, times })
            }
            Counted::Arrived => {
                // Its last line: it ends by itself.
                let line = system.next_line();
                let received: Value = serde_json::from_str(&line)
                    .map_err(|_| format!("the receiver printed `{line}`"))?;
                let mut join = machine.command(Side::Client, &machine.benchwright);
                join.args(filled("join --json {scratch}/sent {scratch}/received", &system.places));
                none_is_wrong(&load::document(&mut join)?.0["events"])?;
                let count = number(&received, "arrivals")?;
                let ns = number(&received, "last_ns")? - number(&received, "first_ns")?;
                Ok(Units { count, per_s: 1e9 * count / ns, times: load.response })
            }
        }
    }
}

/// Returns the medians of the other figures of a step.
fn beside(attempts: &[Vec<Measured>], step: usize) -> String {
    let median = |of: fn(&Measured) -> f64| {
        let all: Vec<f64> = attempts.iter().map(|steps| of(&steps[step])).collect();
        Summary::of(&all).median
    };
    let (each, rest) = (median(|one| one.each_us), median(|one| one.rest_us));
    let mut text = format!("{:.0}/s", median(|one| one.per_s));
    if 0.0 < each {
        text += &format!(", p50 {:.2} ms, {each:.2} µs of CPU each", median(|one| one.p50_ms));
    }
    if 0.0 < rest {
        text += &format!(", and {rest:.2} µs in the other processes");
    }
    text
}

/// Returns for example `frontend         39.3 µs  (user 24.6, kernel 14.7)`: the clock ticks of user
/// and kernel divide the exact time.
fn shares(name: &str, all: f64, user: f64, kernel: f64) -> String {
    let ticks = (user + kernel).max(f64::MIN_POSITIVE);
    let (user, kernel) = (all * user / ticks, all * kernel / ticks);
    format!("{name:<15} {all:>6.1} µs  (user {user:.1}, kernel {kernel:.1})")
}

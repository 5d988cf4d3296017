//! `benchwright load` compared with other generators: completed requests per second of the client's
//! CPU time, as the kernel counts it, with start and end.
//!
//! The two take turns, so that disturbances of the machine affect both, and each run has a server
//! of its own: one CPU for the server and one for the client. Every attempt is printed and counts;
//! a median below the promised one fails the full run.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use measure::Nanos;

use self::target::Target;
use super::goal::{Finding, Goal};
use super::load::Load;
use super::machine::{self, Machine, Others, Side};
use super::note;
use super::places::filled;
use super::summary::Summary;
use crate::peers::{FORTIO, K6, OHA, Peer, VEGETA, WRK, WRK_WITH_SCRIPT, WRK2};
use crate::repository;

mod target;

#[cfg(test)]
mod tests;

/// One comparison.
struct Row {
    /// The name for `--only`.
    group: &'static str,
    target: Target,
    connections: &'static [u32],
    /// The arguments of our load.
    ours: &'static str,
    theirs: Theirs,
    /// The goal for the ratio of ours to theirs.
    goal: Goal,
}

#[derive(Clone)]
enum Theirs {
    Peer(&'static Peer),
    /// Our program with other arguments.
    Ourselves(&'static str),
    /// An older build of our program with the same arguments.
    Older(PathBuf),
}

const FEW_TO_MANY: &[u32] = &[16, 64, 256, 1024];

const WITH_WRK: Row = Row {
    group: "wrk",
    target: Target::Reference,
    connections: FEW_TO_MANY,
    ours: "--closed",
    theirs: Theirs::Peer(&WRK),
    goal: Goal::at_least(1.3, 1.5),
};

const PLAIN_MIX: &str = "--closed --mix {root}/xtask/src/bench/mix-plain.jsonl";

const WITH_MIX: Row = Row {
    group: "mix",
    target: Target::NginxJson,
    connections: &[64],
    ours: PLAIN_MIX,
    theirs: Theirs::Ourselves("--closed"),
    goal: Goal::None,
};

/// The comparisons; the first three need only the distribution.
const ROWS: [Row; 13] = [
    WITH_WRK,
    Row { group: "nginx", target: Target::Nginx, goal: Goal::at_least(1.0, 1.15), ..WITH_WRK },
    Row {
        group: "script",
        connections: &[64],
        ours: "--closed --script {root}/experiments/hotel-mixed.lua",
        theirs: Theirs::Peer(&WRK_WITH_SCRIPT),
        goal: Goal::at_least(1.0, 1.2),
        ..WITH_WRK
    },
    Row {
        group: "oha",
        connections: &[64],
        theirs: Theirs::Peer(&OHA),
        goal: Goal::least(3.0),
        ..WITH_WRK
    },
    Row {
        group: "k6",
        connections: &[64],
        theirs: Theirs::Peer(&K6),
        goal: Goal::least(20.0),
        ..WITH_WRK
    },
    Row {
        group: "vegeta",
        connections: &[64],
        theirs: Theirs::Peer(&VEGETA),
        goal: Goal::None,
        ..WITH_WRK
    },
    Row {
        group: "fortio",
        connections: &[64],
        theirs: Theirs::Peer(&FORTIO),
        goal: Goal::None,
        ..WITH_WRK
    },
    Row {
        group: "tls",
        target: Target::NginxTls,
        connections: &[64],
        ours: "--closed --insecure",
        goal: Goal::None,
        ..WITH_WRK
    },
    // The ratios mean 0.6 and 0.5 of the CPU at the same rate; wrk2 does not spin, so ours does
    // not.
    Row {
        group: "wrk2",
        connections: &[64],
        ours: "--rate 50k/s --arrivals constant --timer sleep",
        theirs: Theirs::Peer(&WRK2),
        goal: Goal::at_least(1.667, 2.0),
        ..WITH_WRK
    },
    // What a mix costs, sessions in it, and captures in these.
    WITH_MIX,
    Row {
        group: "sessions",
        ours: "--closed --mix {root}/xtask/src/bench/mix-sessions.jsonl",
        theirs: Theirs::Ourselves(PLAIN_MIX),
        ..WITH_MIX
    },
    Row {
        group: "captures",
        ours: "--closed --mix {root}/xtask/src/bench/mix-captures.jsonl",
        theirs: Theirs::Ourselves(PLAIN_MIX),
        goal: Goal::least(0.6),
        ..WITH_MIX
    },
    Row {
        group: "io",
        ours: "--closed --io uring",
        theirs: Theirs::Ourselves("--closed --io epoll"),
        goal: Goal::None,
        ..WITH_WRK
    },
];

/// The extent of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Extent {
    pub(super) pairs: usize,
    /// Short runs of the distribution's generators only; a missed goal is printed but does not
    /// fail.
    pub(super) quick: bool,
    /// One group instead of all.
    pub(super) only: Option<String>,
    /// The folder of an older build of ours, which is compared instead of the others.
    pub(super) before: Option<PathBuf>,
    /// The file that the findings are added to.
    pub(super) note: Option<PathBuf>,
}

impl Extent {
    pub(super) const QUICK: Extent =
        Extent { pairs: 1, quick: true, only: None, before: None, note: None };

    fn seconds(&self) -> u32 {
        if self.quick { 2 } else { 4 }
    }

    fn holds(&self, row: &Row) -> bool {
        // These differ in the others alone.
        let are_equal = ["oha", "k6", "vegeta", "fortio"];
        match &self.only {
            Some(group) => group == row.group,
            None if self.before.is_some() => !are_equal.contains(&row.group),
            None => !self.quick || ["wrk", "nginx", "script"].contains(&row.group),
        }
    }
}

pub(super) fn is_group(name: &str) -> bool {
    ROWS.iter().any(|row| row.group == name)
}

/// The result of one side in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    completed: f64,
    cpu: Nanos,
}

impl Run {
    fn per_cpu_s(self) -> f64 {
        self.completed / self.cpu.as_secs_f64()
    }
}

/// Compares ours with the others; returns true if every required goal is met.
pub(super) fn run(machine: &Machine, extent: &Extent) -> Result<bool, String> {
    let seconds = extent.seconds();
    let before = extent.before.as_deref();
    let older = before.map(|folder| machine.with_older(folder)).transpose()?;
    println!(
        "completed requests per CPU-second of the client, ours over theirs; runs of {seconds} s"
    );
    let (mut findings, mut unmeasured, mut passed) = (Vec::new(), Vec::new(), true);
    for row in ROWS.iter().filter(|row| extent.holds(row)) {
        let row = &row.beside(older.as_ref());
        for &connections in row.connections {
            println!("\n{}", row.what(connections));
            match row.measure(machine, connections, extent) {
                Ok(finding) => {
                    println!("     {}: {}", finding.summary(), finding.verdict());
                    passed &= extent.quick || finding.is_met();
                    findings.push(finding);
                }
                Err(why) => {
                    let why = format!("Not measured: {}: {why}", row.what(connections));
                    println!("     {why}");
                    passed &= row.may_be_missing();
                    unmeasured.push(why.lines().next().unwrap_or_default().to_owned());
                }
            }
        }
    }
    println!();
    findings.iter().for_each(|finding| println!("{finding}"));
    let closing = [vec![better(&findings)], unmeasured].concat();
    closing.iter().for_each(|line| println!("{line}"));
    if let Some(path) = &extent.note {
        note::add(
            path,
            "The load engine compared with others",
            "Requests per CPU-second, ours over theirs",
            &findings,
            &closing,
        )?;
    }
    // A run that measured nothing has found nothing out.
    Ok(passed && !findings.is_empty())
}

/// Names the rows in which theirs completed more per CPU-second than ours.
fn better(findings: &[Finding]) -> String {
    let worse = findings.iter().filter(|finding| finding.summary().median < 1.0);
    let names: Vec<&str> = worse.map(|finding| finding.what.as_str()).collect();
    let names = if names.is_empty() { "in no row".to_owned() } else { names.join("; ") };
    format!("Theirs was better in the median: {names}.")
}

impl Row {
    /// Returns the row with an older build of ours instead of the other, if there is one.
    fn beside(&self, older: Option<&Machine>) -> Row {
        let (theirs, goal) = match older {
            Some(older) => (Theirs::Older(older.benchwright.clone()), Goal::None),
            None => (self.theirs.clone(), self.goal),
        };
        Row { theirs, goal, ..*self }
    }

    /// Returns its title: `wrk, reference server, 64 connections`.
    fn what(&self, connections: u32) -> String {
        let theirs = match &self.theirs {
            Theirs::Peer(peer) if self.ours.contains("--script") => {
                format!("{} with a script", peer.name)
            }
            Theirs::Peer(peer) => peer.name.to_owned(),
            Theirs::Ourselves(words) => format!("{} compared with {words}", self.ours),
            Theirs::Older(_) => format!("the older build ({})", self.ours),
        };
        format!("{theirs}, {}, {connections} connections", self.target.name())
    }

    fn measure(
        &self,
        machine: &Machine,
        connections: u32,
        extent: &Extent,
    ) -> Result<Finding, String> {
        if let Theirs::Peer(peer) = &self.theirs
            && !peer.is_there()
        {
            return Err(format!("{} is missing; install it with cargo xtask peers", peer.name));
        }
        let bench = Bench { machine, target: self.target, connections, seconds: extent.seconds() };
        let (mut figures, mut each) = (Vec::new(), Vec::new());
        let (mut others_most, mut steal_most) = (0.0_f64, 0.0_f64);
        for pair in 1..=extent.pairs {
            let others = Others::watch();
            let own = &machine.benchwright;
            let ours = || bench.ours(own, self.ours);
            let theirs = || match &self.theirs {
                Theirs::Peer(peer) => bench.peer(peer),
                Theirs::Ourselves(words) => Ok(bench.ours(own, words)?.0),
                Theirs::Older(program) => Ok(bench.ours(program, self.ours)?.0),
            };
            // Each is the first of every second pair.
            let ((ours, load), theirs) = match pair % 2 {
                1 => (ours()?, theirs()?),
                _ => {
                    let theirs = theirs()?;
                    (ours()?, theirs)
                }
            };
            let load = load.beside(&others);
            let ratio = ours.per_cpu_s() / theirs.per_cpu_s();
            let [a, b] = [ours, theirs].map(|run| bench.text_of(run));
            println!("{pair:>3}  {ratio:.3}: {a}, and {b}\n     {}", load.noise);
            load.reasons.iter().for_each(|reason| println!("     {reason}"));
            if load.is_shared() {
                println!("     other processes used the machine");
            }
            figures.push(ratio);
            each.push([ours.per_cpu_s(), theirs.per_cpu_s()]);
            others_most = others_most.max(load.noise.others_share);
            steal_most = steal_most.max(load.noise.steal_share.unwrap_or_default());
        }
        let [ours, theirs] = [0, 1].map(|side| {
            Summary::of(&each.iter().map(|pair| pair[side]).collect::<Vec<f64>>()).median / 1e3
        });
        let beside = format!(
            "{ours:.1} k and {theirs:.1} k; others ≤ {:.1} %, steal ≤ {:.1} %",
            100.0 * others_most,
            100.0 * steal_most
        );
        Ok(Finding { what: self.what(connections), figures, beside, goal: self.goal })
    }

    fn may_be_missing(&self) -> bool {
        let peer = match &self.theirs {
            Theirs::Peer(peer) => !peer.is_there() && peer.may_be_missing(),
            Theirs::Ourselves(_) | Theirs::Older(_) => false,
        };
        peer || self.goal == Goal::None
    }
}

/// The settings of both sides of a row.
struct Bench<'a> {
    machine: &'a Machine,
    target: Target,
    connections: u32,
    seconds: u32,
}

impl Bench<'_> {
    fn ours(&self, program: &Path, words: &str) -> Result<(Run, Load), String> {
        let server = self.target.start(self.machine)?;
        let mut command = self.machine.command(Side::Client, program);
        let fixed = "load {url} --shards 1 --duration {seconds}s --connections {connections} ";
        command.args(self.fill(&format!("{fixed}{words}"), server.url()));
        let (load, cpu) = machine::with_cpu_of_children(|| Load::run(&mut command))?;
        let run = Run { completed: load.completed as f64, cpu };
        agree("ours", run.completed, server.end()?, self.connections)?;
        Ok((run, load))
    }

    fn peer(&self, peer: &Peer) -> Result<Run, String> {
        let server = self.target.start(self.machine)?;
        let url = server.url().to_owned();
        let words = |text: &str| self.fill(text, &url);
        let mut command = self.machine.command(Side::Client, peer.path());
        command.args(words(peer.load));
        let stdin = peer.stdin.replace("{url}", &url);
        let (mut output, cpu) = machine::with_cpu_of_children(|| output_of(&mut command, &stdin))?;
        let seen = server.end()?;
        if let Some(report) = peer.report {
            output = output_of(Command::new(peer.path()).args(words(report)), "")?;
        }
        let completed = (peer.completed)(&output);
        let completed = completed.ok_or_else(|| format!("{} printed:\n{output}", peer.name))?;
        let run = Run { completed, cpu };
        agree(peer.name, completed, seen, self.connections)?;
        Ok(run)
    }

    fn text_of(&self, run: Run) -> String {
        let per_s = run.completed / f64::from(self.seconds);
        format!("{:.0} ({per_s:.0}/s)", run.per_cpu_s())
    }

    fn fill(&self, words: &str, url: &str) -> Vec<String> {
        let scratch = machine::scratch();
        let places = [
            ("url", url.to_owned()),
            ("connections", self.connections.to_string()),
            ("seconds", self.seconds.to_string()),
            ("scratch", scratch.display().to_string()),
            ("root", repository::root().display().to_string()),
        ];
        filled(words, &places.map(|(name, text)| (name.to_owned(), text)).into())
    }
}

/// Checks that the server answered the requests that a side reports as completed, and hardly more:
/// one request per connection may be cut off by the end.
fn agree(name: &str, completed: f64, seen: Option<f64>, connections: u32) -> Result<(), String> {
    let most = 1.01 * completed + f64::from(connections);
    match seen {
        Some(seen) if completed == 0.0 || !(completed..=most).contains(&seen) => {
            Err(format!("{name} reports {completed} completed requests, the server saw {seen}"))
        }
        _ => Ok(()),
    }
}

/// Returns the output of a program that reads `stdin`.
fn output_of(command: &mut Command, stdin: &str) -> Result<String, String> {
    let program = Path::new(command.get_program()).display().to_string();
    let failed = |error| format!("starting {program}: {error}");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let mut input = child.stdin.take().expect("it is piped");
    // A program that does not read it ends anyway, and prints why.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    let Output { status, stdout, stderr } = child.wait_with_output().map_err(failed)?;
    let output = String::from_utf8_lossy(&stdout).into_owned();
    match status.success() {
        true => Ok(output),
        false => Err(format!("{program} ({status}): {}", String::from_utf8_lossy(&stderr).trim())),
    }
}

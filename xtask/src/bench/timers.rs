//! The cost of starting requests on time: validity, lateness and CPU of each timer, and the
//! evenness of arrivals at the server.
//!
//! The generator reports its own lateness, with a core of its own; the hiccup meter, which sleeps
//! beside it, shows the part of the machine. Gaps are measured by the reference server.

use std::path::Path;

use measure::Nanos;

use super::goal::{Bounds, Finding, Goal};
use super::load::Load;
use super::machine::{self, Machine, Others, SENT_AT_ONCE, Server, Side};
use super::note;
use super::summary::Summary;

#[cfg(test)]
mod tests;

/// The timers; the first is the default, and only this one is judged.
const TIMERS: [&str; 3] = ["hybrid", "sleep", "spin"];
/// The index of the timer with the least lateness.
const BEST: usize = 2;
/// The rates with their distributions.
const LOADS: [(&str, &str); 4] =
    [("1k/s", "poisson"), ("5k/s", "poisson"), ("10k/s", "poisson"), ("10k/s", "constant")];
/// The rate at which the median and the p99 of the lateness are judged.
const JUDGED_RATE: &str = "10k/s";
const DURATION: Nanos = Nanos::from_secs(4);
/// The rate of the attempts that measure evenness.
const EVEN_RATE: u32 = 1000;

/// The goals of the lateness, in µs.
const MEDIAN: Goal = Goal::at_most(10.0, 2.0);
const P99: Goal = Goal::at_most(50.0, 20.0);
/// The goal of the mean |gap × rate − 1|.
const EVENNESS: Goal = Goal::at_most(0.1, 0.02);
/// The goal of how many fewer loads of one rate are valid than with the best timer.
const FEWER_VALID: Goal = Goal::AtMost(Bounds { must: 1.0, stretch: None });

/// One load with one timer.
#[derive(Clone, Debug, PartialEq)]
struct Attempt {
    /// The reasons why it is not valid.
    reasons: Vec<String>,
    /// The median lateness in µs, like the other times.
    median: f64,
    p99: f64,
    hiccup_p99: f64,
    /// The lateness of the kernel in waking the generator; zero if it never slept.
    wake_up_p99: f64,
    cpu_of_request: f64,
    /// The share of one CPU.
    cpu_share: f64,
    others_share: f64,
}

/// Runs every timer equally often, in turn; returns true if the judged one meets the goals for
/// validity, lateness and evenness.
pub(super) fn run(
    machine: &Machine,
    attempts: usize,
    to_note: Option<&Path>,
) -> Result<bool, String> {
    let mut findings = Vec::new();
    for (rate, distribution) in LOADS {
        println!(
            "\n{rate}, {distribution}: lateness p50, p99; hiccups p99; wake-up delay p99; CPU per request, in µs"
        );
        let mut each: [Vec<Attempt>; TIMERS.len()] = Default::default();
        for number in 1..=attempts {
            for (timer, attempts) in TIMERS.iter().zip(&mut each) {
                let attempt = attempt(machine, timer, (rate, distribution))?;
                println!("{number:>3}  {timer:<6} {attempt}");
                attempts.push(attempt);
            }
        }
        findings.push(validity((rate, distribution), &each));
        for (timer, attempts) in TIMERS.iter().zip(&each) {
            findings.extend(of_timer(timer, (rate, distribution), attempts));
        }
    }
    println!("\n{EVEN_RATE}/s, constant: mean |gap × rate − 1| at the server");
    let mut each: [Vec<f64>; TIMERS.len()] = Default::default();
    for number in 1..=attempts {
        for (timer, figures) in TIMERS.iter().zip(&mut each) {
            let figure = unevenness_of(machine, timer)?;
            println!("{number:>3}  {timer:<6} {figure:.4}");
            figures.push(figure);
        }
    }
    for (timer, figures) in TIMERS.iter().zip(each) {
        let what = format!("{timer}: mean abs(gap × rate − 1), {EVEN_RATE}/s constant");
        let goal = judged(timer, EVENNESS);
        findings.push(Finding { what, figures, beside: String::new(), goal });
    }
    println!();
    findings.iter().for_each(|finding| println!("{finding}"));
    if let Some(path) = to_note {
        note::add(path, note::LOAD, "Lateness, in µs, and evenness", &findings, &[])?;
    }
    Ok(findings.iter().all(Finding::is_met))
}

/// Returns the goal for the default timer, and none for the others.
fn judged(timer: &str, goal: Goal) -> Goal {
    if timer == TIMERS[0] { goal } else { Goal::None }
}

fn attempt(
    machine: &Machine,
    timer: &str,
    (rate, distribution): (&str, &str),
) -> Result<Attempt, String> {
    let others = Others::watch();
    let server = Server::start(machine, &SENT_AT_ONCE)?;
    let words = ["--rate", rate, "--arrivals", distribution, "--timer", timer];
    let (load, cpu) = machine::with_cpu_of_children(|| load(machine, &server, &words))?;
    server.end()?;
    let load = load.beside(&others);
    let us = |time: Nanos| time.as_secs_f64() * 1e6;
    Ok(Attempt {
        reasons: load.reasons,
        median: us(load.lateness_p50),
        p99: us(load.lateness_p99),
        hiccup_p99: us(load.noise.hiccup_p99),
        wake_up_p99: us(load.noise.wake_up_p99),
        cpu_of_request: us(cpu) / load.completed as f64,
        cpu_share: cpu.as_secs_f64() / DURATION.as_secs_f64(),
        others_share: load.noise.others_share,
    })
}

/// Counts how many more loads were valid with the best timer than with the judged one.
fn validity((rate, distribution): (&str, &str), each: &[Vec<Attempt>; TIMERS.len()]) -> Finding {
    let valid = each.each_ref().map(|attempts| attempts.iter().filter(|a| a.is_valid()).count());
    let of_timer = |(timer, attempts): (&&str, &Vec<Attempt>)| {
        let valid = attempts.iter().filter(|attempt| attempt.is_valid()).count();
        let cpu: Vec<f64> = attempts.iter().map(|attempt| attempt.cpu_share).collect();
        let cpu = 100.0 * Summary::of(&cpu).median;
        format!("{timer}: {valid} of {} valid, CPU {cpu:.0} %", attempts.len())
    };
    let counts: Vec<String> = TIMERS.iter().zip(each).map(of_timer).collect();
    Finding {
        what: format!(
            "{}: fewer valid loads than {}, {rate} {distribution}",
            TIMERS[0], TIMERS[BEST]
        ),
        figures: vec![valid[BEST] as f64 - valid[0] as f64],
        beside: counts.join("; "),
        goal: FEWER_VALID,
    }
}

/// Returns the lateness of a timer. Its p99 is judged by itself, or if that misses the goal, by its
/// excess over the hiccup meter's.
fn of_timer(timer: &str, (rate, distribution): (&str, &str), attempts: &[Attempt]) -> [Finding; 2] {
    let of = |figure: fn(&Attempt) -> f64| attempts.iter().map(figure).collect::<Vec<f64>>();
    let middle = |figure| Summary::of(&of(figure)).median;
    let (p99, hiccup) = (middle(|a| a.p99), middle(|a| a.hiccup_p99));
    let above = middle(|a| a.p99 - a.hiccup_p99);
    let (figures, what) = match P99.is_met(above) && !P99.is_met(p99) {
        true => (of(|a| a.p99 - a.hiccup_p99), "lateness p99 above the hiccup meter's"),
        false => (of(|a| a.p99), "lateness p99"),
    };
    let beside = format!("CPU per request {:.1}", middle(|a| a.cpu_of_request));
    let others = of(|a| a.others_share).into_iter().fold(0.0, f64::max);
    let noise = format!("p99 {p99:.1}, hiccups p99 {hiccup:.1}, others ≤ {:.1} %", 100.0 * others);
    let finding = |what: &str, figures, beside, goal| Finding {
        what: format!("{timer}: {what}, {rate} {distribution}"),
        figures,
        beside,
        goal: if rate == JUDGED_RATE { judged(timer, goal) } else { Goal::None },
    };
    [finding("lateness p50", of(|a| a.median), beside, MEDIAN), finding(what, figures, noise, P99)]
}

fn unevenness_of(machine: &Machine, timer: &str) -> Result<f64, String> {
    let path = machine::scratch().join("arrivals");
    let server = Server::start(
        machine,
        &[&["--log", &path.display().to_string()][..], &SENT_AT_ONCE].concat(),
    )?;
    let rate = format!("{EVEN_RATE}/s");
    load(machine, &server, &["--rate", &rate, "--arrivals", "constant", "--timer", timer])?;
    server.end()?;
    let read = std::fs::read_to_string(&path);
    let log = read.map_err(|error| format!("reading {}: {error}", path.display()))?;
    unevenness(&log, f64::from(EVEN_RATE)).ok_or_else(|| "the server saw no gaps".to_owned())
}

/// Returns the mean of |gap × rate − 1|, from a log whose lines begin with the time of an arrival
/// in ns.
fn unevenness(log: &str, rate: f64) -> Option<f64> {
    let times = log.lines().map(|line| line.split('\t').next()?.parse::<u64>().ok());
    let times: Vec<u64> = times.collect::<Option<_>>()?;
    let off = times.windows(2).map(|pair| ((pair[1] - pair[0]) as f64 * 1e-9 * rate - 1.0).abs());
    let (count, sum) = off.fold((0, 0.0), |(count, sum), off| (count + 1, sum + off));
    (0 < count).then(|| sum / f64::from(count))
}

fn load(machine: &Machine, server: &Server, words: &[&str]) -> Result<Load, String> {
    let mut command = machine.command(Side::Client, &machine.benchwright);
    let duration = format!("{}s", DURATION.as_secs_f64());
    command.args(["load", &server.url, "--shards", "1", "--duration", &duration]);
    command.args(SENT_AT_ONCE).args(words);
    Load::run(&mut command)
}

impl Attempt {
    fn is_valid(&self) -> bool {
        self.reasons.is_empty()
    }
}

/// `valid       0.1     4.2   130.0    88.1    58.1; CPU 58 %; others used 0.3 % of a CPU`.
impl std::fmt::Display for Attempt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Attempt { median, p99, hiccup_p99, wake_up_p99, cpu_of_request, .. } = self;
        write!(f, "{:<7} ", if self.is_valid() { "valid" } else { "INVALID" })?;
        write!(f, "{median:>7.1} {p99:>7.1} {hiccup_p99:>7.1} {wake_up_p99:>7.1} ")?;
        write!(f, "{cpu_of_request:>7.1}; CPU {:.0} %; ", 100.0 * self.cpu_share)?;
        write!(f, "others used {:.1} % of a CPU", 100.0 * self.others_share)?;
        self.reasons.iter().try_for_each(|reason| write!(f, "; {reason}"))
    }
}

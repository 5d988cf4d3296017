//! Measurements of the product itself, against what it promises.
//!
//! Each bench prints every attempt with the machine's noise beside it, repeats nothing until it is
//! right, and fails when a bound is missed. What is measured is the release build.

use std::path::PathBuf;

use crate::repository;
use comparison::Extent;
use machine::Machine;

mod calibration;
mod comparison;
mod hostile;
mod hotel;
mod kill;
mod lab;
mod self_test;
mod starved;
mod timers;

mod goal;
mod json;
mod load;
pub(crate) mod machine;
mod note;
mod summary;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask bench WHAT

  calibration [--attempts 20]            quantiles against the reference server's log
  starved [--trials 5] [--undisturbed 20]
                                         a generator without CPU notices that it is late
  self-test [--attempts 20]              what the generator says of itself: load --self-test
  load [--pairs 5] [--only GROUP] [--note FILE] [--quick]
                                         requests by CPU-second beside other generators, which
                                         `cargo xtask peers` installs: wrk, nginx, script, oha, k6,
                                         vegeta, fortio, tls, wrk2, and io (epoll, io_uring)
  timers [--attempts 5] [--note FILE]    validity, lateness and CPU of each timer in turns, at 1k/s,
                                         5k/s and 10k/s; even arrivals
  hotel [--attempts 3]                   CPU a request of the hotel application's processes and
                                         stores, in five deployments
  hostile                                p99 beside attacks on the hotel application, at most 2 ×
  kill [--runs 20] [--simulated 200]     a killed runner's run is continued, and nothing is left
  lab [--trials 40]                      an append to a long journal, a trial beside its declared
                                         waits, the report of a thousand trials
  --quick                                a little of each, as continuous integration runs it
";

#[derive(Clone, Debug, Eq, PartialEq)]
enum Bench {
    Calibration { attempts: usize, spare: usize },
    Starved { trials: usize, undisturbed: usize },
    SelfTest { attempts: usize },
    Load(Extent),
    Timers { attempts: usize, note: Option<PathBuf> },
    Hotel { attempts: Option<usize> },
    Hostile,
    Kill { runs: usize, simulated: usize },
    Lab { trials: usize },
}

const QUICK: [Bench; 5] = [
    Bench::Calibration { attempts: 4, spare: 1 },
    Bench::Starved { trials: 2, undisturbed: 2 },
    Bench::Kill { runs: 2, simulated: 20 },
    Bench::Load(Extent::QUICK),
    Bench::Hotel { attempts: None },
];

/// Runs what the words ask for. `None` if they ask for nothing that there is.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    read(words).map(|benches| run_all(&benches).is_empty())
}

/// What continuous integration runs; returns a line for each that failed.
pub(crate) fn quick() -> Vec<String> {
    run_all(&QUICK)
}

/// All of them, whatever the first one said. Returns a line for each that failed.
fn run_all(benches: &[Bench]) -> Vec<String> {
    match Machine::prepare() {
        Ok(machine) => benches.iter().filter_map(|bench| tell(bench, &machine).err()).collect(),
        Err(error) => {
            let line = format!("error: {error}");
            println!("{line}");
            vec![line]
        }
    }
}

/// The error is the closing line.
fn tell(bench: &Bench, machine: &Machine) -> Result<(), String> {
    let name = bench.name();
    println!("\n── bench {name}");
    let begun = machine::now();
    let passed = bench.run(machine).unwrap_or_else(|error| {
        println!("error: {error}");
        false
    });
    let word = if passed { "passed" } else { "FAILED" };
    let line = format!("bench {name}: {word} in {}", machine::since(begun));
    println!("{line}");
    if passed { Ok(()) } else { Err(line) }
}

impl Bench {
    fn name(&self) -> &'static str {
        match self {
            Bench::Calibration { .. } => "calibration",
            Bench::Starved { .. } => "starved",
            Bench::SelfTest { .. } => "self-test",
            Bench::Load(_) => "load",
            Bench::Timers { .. } => "timers",
            Bench::Hotel { .. } => "hotel",
            Bench::Hostile => "hostile",
            Bench::Kill { .. } => "kill",
            Bench::Lab { .. } => "lab",
        }
    }

    fn run(&self, machine: &Machine) -> Result<bool, String> {
        match self {
            Bench::Calibration { attempts, spare } => {
                calibration::run(machine, &script(), *attempts, *spare)
            }
            Bench::Starved { trials, undisturbed } => {
                starved::run(machine, &script(), *trials, *undisturbed)
            }
            Bench::SelfTest { attempts } => Ok(self_test::run(machine, *attempts)),
            Bench::Load(extent) => comparison::run(machine, extent),
            Bench::Timers { attempts, note } => timers::run(machine, *attempts, note.as_deref()),
            Bench::Hotel { attempts: Some(attempts) } => hotel::run(machine, *attempts),
            Bench::Hotel { attempts: None } => hotel::run_quick(machine),
            Bench::Hostile => Ok(hostile::run()),
            Bench::Kill { runs, simulated } => kill::run(machine, *runs, *simulated),
            Bench::Lab { trials } => lab::run(machine, *trials),
        }
    }
}

/// It numbers the requests.
fn script() -> PathBuf {
    repository::root().join("xtask/src/bench/counter.lua")
}

fn read(words: &[&str]) -> Option<Vec<Bench>> {
    if words == ["--quick"] {
        return Some(QUICK.to_vec());
    }
    let (name, rest) = words.split_first()?;
    let options = options(rest)?;
    let known = |names: &[&str]| options.iter().all(|(name, _)| names.contains(name));
    let text =
        |name: &str| options.iter().find(|(option, _)| *option == name).map(|(_, text)| *text);
    // Every count is of at least one.
    let count = |name: &str, default: usize| match text(name) {
        Some(count) => count.parse().ok().filter(|count| 0 < *count),
        None => Some(default),
    };
    let note = || text("--note").map(PathBuf::from);
    let bench = match *name {
        "calibration" if known(&["--attempts"]) => {
            Bench::Calibration { attempts: count("--attempts", 20)?, spare: 0 }
        }
        "starved" if known(&["--trials", "--undisturbed"]) => Bench::Starved {
            trials: count("--trials", 5)?,
            undisturbed: count("--undisturbed", 20)?,
        },
        "self-test" if known(&["--attempts"]) => {
            Bench::SelfTest { attempts: count("--attempts", 20)? }
        }
        "load" if known(&["--pairs", "--only", "--note", "--quick"]) => {
            let quick = text("--quick").is_some();
            let only = text("--only").map(str::to_owned);
            if only.as_deref().is_some_and(|group| !comparison::is_group(group)) {
                return None;
            }
            let pairs = count("--pairs", if quick { Extent::QUICK.pairs } else { 5 })?;
            Bench::Load(Extent { pairs, quick, only, note: note() })
        }
        "timers" if known(&["--attempts", "--note"]) => {
            Bench::Timers { attempts: count("--attempts", 5)?, note: note() }
        }
        "hotel" if known(&["--attempts"]) => {
            Bench::Hotel { attempts: Some(count("--attempts", 3)?) }
        }
        "hostile" if known(&[]) => Bench::Hostile,
        "kill" if known(&["--runs", "--simulated"]) => {
            Bench::Kill { runs: count("--runs", 20)?, simulated: count("--simulated", 200)? }
        }
        "lab" if known(&["--trials"]) => Bench::Lab { trials: count("--trials", 40)? },
        _ => return None,
    };
    Some(vec![bench])
}

/// Reads `--name text` again and again; `--quick` has no text.
fn options<'a>(words: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
    let mut words = words.iter();
    let mut options = Vec::new();
    while let Some(&name) = words.next() {
        let text = if name == "--quick" { "" } else { words.next()? };
        options.push((name, text));
    }
    Some(options)
}

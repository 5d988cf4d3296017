//! Measurements of the product itself, compared with the bounds that it promises.
//!
//! Each bench prints every attempt with the noise of the machine, never repeats an attempt until it
//! passes, and fails if a bound is missed. The release build is measured; the short runs of
//! continuous integration look for faults, and use the build of the tests.

use std::path::PathBuf;

use crate::programs::Build;
use crate::repository;
use comparison::Extent;
use machine::Machine;

mod calibration;
mod channel;
mod compare;
mod comparison;
mod hostile;
mod hotel;
pub(crate) mod kill;
mod lab;
mod receive;
mod self_test;
mod social;
mod starved;
mod timers;
mod users;

mod foreign;
pub(crate) mod goal;
mod json;
mod load;
pub(crate) mod machine;
mod note;
mod parts;
mod scratch;
mod search;
mod summary;

#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask bench NAME

  calibration [--attempts 20]            quantiles compared with the reference server's log
  starved [--trials 5] [--undisturbed 20]
                                         a generator without enough CPU reports that it is late
  self-test [--attempts 20]              the generator's own test: load --self-test
  load [--pairs 5] [--only GROUP] [--before FOLDER] [--note FILE] [--quick]
                                         requests per CPU-second compared with other generators,
                                         which `cargo xtask peers` installs: wrk, nginx, script,
                                         oha, k6, vegeta, fortio, tls, wrk2, and io (epoll,
                                         io_uring); with --before compared with an older build,
                                         whose programs are in FOLDER
  timers [--attempts 5] [--note FILE]    validity, lateness and CPU of each timer in turn, at 1k/s,
                                         5k/s and 10k/s; evenness of arrivals
  hotel [--attempts 3] [--before FOLDER] CPU per request of the hotel application's processes and
                                         stores, in five deployments; with --before those of an older
                                         build take turns with them
  users [--attempts 3] [--note FILE]     CPU per login of the users service, at bcrypt's costs 4 and 10
  social [--attempts 3] [--note FILE]    CPU per home-timeline read of the social network's processes,
                                         with the embedded store and with Redis; requests per second
                                         of its initialiser
  channel [--attempts 3] [--note FILE]   CPU per event of the channel, acknowledged from memory and
                                         from the disk
  receive [--attempts 3] [--note FILE]   CPU per event of `benchwright receive`, none lost
  hostile                                p99 under attacks on the hotel application, at most 2 ×
  kill [--runs 20] [--simulated 200]     killed runs can be continued, and leave nothing behind
  lab [--trials 40]                      time of an append to a long journal, of a trial without
                                         its declared waits, of a report of a thousand trials
  compare [--equal 100] [--slower 10] [--note FILE]
                                         how often `compare` sees a difference of equal servers, and
                                         finds a real one of 5 %
  search [--pairs 5] [--note FILE]       the answers of a search whose generator is kept from running
                                         now and then, beside those of an undisturbed one
  --quick                                a short run of some, as in continuous integration
";

/// The attempts of a bench on a machine that others may disturb. A disturbed attempt shows nothing,
/// and every attempt is printed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Attempts {
    most: usize,
    /// No further attempt is made after so many good ones.
    last_good: usize,
    /// The number of good attempts that is required. It is zero in continuous integration, which
    /// looks for faults: a machine without a calm moment shows none.
    enough: usize,
    /// The most attempts that may be bad.
    spare: usize,
}

impl Attempts {
    /// Makes all attempts; three quarters of them are enough.
    const fn all(most: usize, spare: usize) -> Attempts {
        Attempts { most, last_good: most, enough: most * 3 / 4, spare }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Bench {
    Calibration { attempts: Attempts },
    Starved { trials: usize, undisturbed: Attempts },
    SelfTest { attempts: usize },
    Load(Extent),
    Timers { attempts: usize, note: Option<PathBuf> },
    Hotel { attempts: Option<usize>, before: Option<PathBuf> },
    Users { attempts: usize, note: Option<PathBuf> },
    Social { attempts: usize, note: Option<PathBuf> },
    Channel { attempts: usize, note: Option<PathBuf> },
    Receive { attempts: usize, note: Option<PathBuf> },
    Hostile,
    Kill { runs: usize, simulated: usize },
    Lab { trials: usize },
    Compare { equal: usize, slower: usize, note: Option<PathBuf> },
    Search { pairs: usize, note: Option<PathBuf> },
}

const QUICK: [Bench; 5] = [
    Bench::Calibration { attempts: Attempts { most: 12, last_good: 3, enough: 0, spare: 2 } },
    Bench::Starved {
        trials: 2,
        undisturbed: Attempts { most: 6, last_good: 1, enough: 0, spare: 6 },
    },
    Bench::Kill { runs: 2, simulated: 6 },
    Bench::Load(Extent::QUICK),
    Bench::Hotel { attempts: None, before: None },
];

/// Runs the bench that the words name; returns `None` if they name none.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    read(words).map(|benches| run_all(&benches, Build::Release).is_empty())
}

/// Runs the benches of continuous integration; returns a line for each that failed.
pub(crate) fn quick() -> Vec<String> {
    run_all(&QUICK, Build::Tests)
}

/// Runs all benches, even if one fails. Returns a line for each that failed.
fn run_all(benches: &[Bench], build: Build) -> Vec<String> {
    match Machine::prepare(build) {
        Ok(machine) => benches.iter().filter_map(|bench| run_one(bench, &machine).err()).collect(),
        Err(error) => {
            let line = format!("error: {error}");
            println!("{line}");
            vec![line]
        }
    }
}

/// Runs a bench and prints its result. The error is the closing line.
fn run_one(bench: &Bench, machine: &Machine) -> Result<(), String> {
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
            Bench::Users { .. } => "users",
            Bench::Social { .. } => "social",
            Bench::Channel { .. } => "channel",
            Bench::Receive { .. } => "receive",
            Bench::Hostile => "hostile",
            Bench::Kill { .. } => "kill",
            Bench::Lab { .. } => "lab",
            Bench::Compare { .. } => "compare",
            Bench::Search { .. } => "search",
        }
    }

    fn run(&self, machine: &Machine) -> Result<bool, String> {
        match self {
            Bench::Calibration { attempts } => calibration::run(machine, &script(), *attempts),
            Bench::Starved { trials, undisturbed } => {
                starved::run(machine, &script(), *trials, *undisturbed)
            }
            Bench::SelfTest { attempts } => Ok(self_test::run(machine, *attempts)),
            Bench::Load(extent) => comparison::run(machine, extent),
            Bench::Timers { attempts, note } => timers::run(machine, *attempts, note.as_deref()),
            Bench::Hotel { attempts: Some(attempts), before } => {
                hotel::run(machine, *attempts, before.as_deref())
            }
            Bench::Hotel { attempts: None, .. } => hotel::run_quick(machine),
            Bench::Users { attempts, note } => users::run(machine, *attempts, note.as_deref()),
            Bench::Social { attempts, note } => social::run(machine, *attempts, note.as_deref()),
            Bench::Channel { attempts, note } => channel::run(machine, *attempts, note.as_deref()),
            Bench::Receive { attempts, note } => receive::run(machine, *attempts, note.as_deref()),
            Bench::Hostile => Ok(hostile::run()),
            Bench::Kill { runs, simulated } => kill::run(machine, *runs, *simulated),
            Bench::Lab { trials } => lab::run(machine, *trials),
            Bench::Compare { equal, slower, note } => {
                compare::run(machine, *equal, *slower, note.as_deref())
            }
            Bench::Search { pairs, note } => search::run(machine, *pairs, note.as_deref()),
        }
    }
}

/// Returns the path of the script that numbers the requests.
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
    // Every count is at least one.
    let count = |name: &str, default: usize| match text(name) {
        Some(count) => count.parse().ok().filter(|count| 0 < *count),
        None => Some(default),
    };
    let note = || text("--note").map(PathBuf::from);
    let before = || text("--before").map(PathBuf::from);
    let bench = match *name {
        "calibration" if known(&["--attempts"]) => {
            Bench::Calibration { attempts: Attempts::all(count("--attempts", 20)?, 0) }
        }
        "starved" if known(&["--trials", "--undisturbed"]) => Bench::Starved {
            trials: count("--trials", 5)?,
            undisturbed: Attempts::all(count("--undisturbed", 20)?, 1),
        },
        "self-test" if known(&["--attempts"]) => {
            Bench::SelfTest { attempts: count("--attempts", 20)? }
        }
        "load" if known(&["--pairs", "--only", "--before", "--note", "--quick"]) => {
            let quick = text("--quick").is_some();
            let only = text("--only").map(str::to_owned);
            if only.as_deref().is_some_and(|group| !comparison::is_group(group)) {
                return None;
            }
            let pairs = count("--pairs", if quick { Extent::QUICK.pairs } else { 5 })?;
            Bench::Load(Extent { pairs, quick, only, before: before(), note: note() })
        }
        "timers" if known(&["--attempts", "--note"]) => {
            Bench::Timers { attempts: count("--attempts", 5)?, note: note() }
        }
        "hotel" if known(&["--attempts", "--before"]) => {
            Bench::Hotel { attempts: Some(count("--attempts", 3)?), before: before() }
        }
        "users" if known(&["--attempts", "--note"]) => {
            Bench::Users { attempts: count("--attempts", 3)?, note: note() }
        }
        "social" if known(&["--attempts", "--note"]) => {
            Bench::Social { attempts: count("--attempts", 3)?, note: note() }
        }
        "channel" if known(&["--attempts", "--note"]) => {
            Bench::Channel { attempts: count("--attempts", 3)?, note: note() }
        }
        "receive" if known(&["--attempts", "--note"]) => {
            Bench::Receive { attempts: count("--attempts", 3)?, note: note() }
        }
        "hostile" if known(&[]) => Bench::Hostile,
        "kill" if known(&["--runs", "--simulated"]) => {
            Bench::Kill { runs: count("--runs", 20)?, simulated: count("--simulated", 200)? }
        }
        "compare" if known(&["--equal", "--slower", "--note"]) => Bench::Compare {
            equal: count("--equal", 100)?,
            slower: count("--slower", 10)?,
            note: note(),
        },
        "search" if known(&["--pairs", "--note"]) => {
            Bench::Search { pairs: count("--pairs", 5)?, note: note() }
        }
        "lab" if known(&["--trials"]) => Bench::Lab { trials: count("--trials", 40)? },
        _ => return None,
    };
    Some(vec![bench])
}

/// Reads pairs of `--name text`; `--quick` has no text.
fn options<'a>(words: &[&'a str]) -> Option<Vec<(&'a str, &'a str)>> {
    let mut words = words.iter();
    let mut options = Vec::new();
    while let Some(&name) = words.next() {
        let text = if name == "--quick" { "" } else { words.next()? };
        options.push((name, text));
    }
    Some(options)
}

//! Measurements of the product itself, compared with the bounds that it promises.
//!
//! Each bench prints every attempt with the noise of the machine, never repeats an attempt until it
//! passes, and fails if a bound is missed. The release build is measured; the short runs of
//! continuous integration look for faults, and use the build of the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::programs::Build;
use crate::repository;
use comparison::Extent;
use cost::rows;
use machine::{Machine, SENT_AT_ONCE};

mod calibration;
mod compare;
mod comparison;
mod cost;
mod hostile;
pub(crate) mod kill;
mod kv;
mod lab;
mod starved;

pub(crate) mod goal;
mod load;
pub(crate) mod machine;
mod note;
mod places;
mod scratch;
mod summary;
mod ycsb_keys;
mod ycsb_peers;

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
                                         oha, k6, vegeta, fortio, tls, wrk2; and of ours with other
                                         arguments: mix, sessions, captures (their cost), and io
                                         (epoll, io_uring); with --before compared with an older
                                         build, whose programs are in FOLDER
  hotel [--attempts 3] [--before FOLDER] [--note FILE]
                                         CPU per request of the hotel application's processes and
                                         stores, in five deployments; with --before those of an older
                                         build take turns with them, here and in the next four
  users, social, channel, receive [--attempts 3] [--before FOLDER] [--note FILE]
                                         CPU per login of the users service, at bcrypt's costs 4 and
                                         10; per home-timeline read of the social network's processes,
                                         with the embedded store and with Redis, and requests per
                                         second of its initialiser; per event of the channel,
                                         acknowledged from memory and from the disk; per event of
                                         `benchwright receive`, none lost
  kv [--pairs 5] [--keys 10000000] [--only ROW] [--note FILE]
                                         the key-value store; rows: in-process, scale, cold, fold-over,
                                         recovery, tcp (beside Redis), sizes (beside Redis and memcached)
  hostile                                p99 under attacks on the hotel application, at most 2 ×
  kill [--runs 20] [--simulated 200]     killed runs can be continued, and leave nothing behind
  lab [--trials 40]                      time of an append to a long journal, of a trial without
                                         its declared waits, of a report of a thousand trials
  compare [--equal 100] [--slower 10] [--note FILE]
                                         how often `compare` sees a difference of equal servers, and
                                         finds a real one of 5 %
  ycsb-keys [--attempts 5]               keys and operations that the client of YCSB makes in a second of a
                                         core, and the loading of a file of keys
  ycsb-peers [--pairs 5] [--operations 300000]
                                         operations per CPU-second of the client, compared with the
                                         Java client of YCSB and with go-ycsb, on the same Redis; `cargo
                                         xtask peers ycsb` installs them
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

/// A bench, and its short run if continuous integration makes one.
struct Bench {
    name: &'static str,
    options: &'static [Known],
    run: fn(&Machine, &Options<'_>) -> Passed,
    quick: Option<fn(&Machine) -> Passed>,
}

/// The name of an option, and the check of its text.
type Known = (&'static str, fn(&str) -> bool);

/// True if every bound was met.
type Passed = Result<bool, String>;

static BENCHES: [Bench; 16] = [
    Bench {
        name: "calibration",
        options: &[("--attempts", is_count)],
        run: |machine, options| {
            let attempts = Attempts::all(options.count("--attempts", 20), 0);
            calibration::run(machine, &script(), attempts)
        },
        quick: Some(|machine| {
            // A fault of the generator is in all attempts, a moment of the machine in some: it has
            // paused in three of six where all of twelve agreed on a calm one.
            let attempts = Attempts { most: 12, last_good: 3, enough: 0, spare: 9 };
            calibration::run(machine, &script(), attempts)
        }),
    },
    Bench {
        name: "starved",
        options: &[("--trials", is_count), ("--undisturbed", is_count)],
        run: |machine, options| {
            let undisturbed = Attempts::all(options.count("--undisturbed", 20), 1);
            starved::run(machine, &script(), options.count("--trials", 5), undisturbed)
        },
        quick: Some(|machine| {
            let undisturbed = Attempts { most: 6, last_good: 1, enough: 0, spare: 6 };
            starved::run(machine, &script(), 2, undisturbed)
        }),
    },
    Bench {
        name: "kill",
        options: &[("--runs", is_count), ("--simulated", is_count)],
        run: |machine, options| {
            kill::run(machine, options.count("--runs", 20), options.count("--simulated", 200))
        },
        quick: Some(|machine| kill::run(machine, 2, 6)),
    },
    Bench {
        name: "load",
        options: &[
            ("--pairs", is_count),
            ("--only", comparison::is_group),
            ("--before", is_path),
            ("--note", is_path),
            ("--quick", str::is_empty),
        ],
        run: |machine, options| {
            let quick = options.text("--quick").is_some();
            let pairs = options.count("--pairs", if quick { Extent::QUICK.pairs } else { 5 });
            let only = options.text("--only").map(str::to_owned);
            let [before, note] =
                ["--before", "--note"].map(|name| options.path(name).map(Path::to_owned));
            comparison::run(machine, &Extent { pairs, quick, only, before, note })
        },
        quick: Some(|machine| comparison::run(machine, &Extent::QUICK)),
    },
    Bench {
        quick: Some(|machine| rows::HOTEL_QUICK.run(machine, &Options(vec![("--attempts", "1")]))),
        ..cost("hotel", |machine, options| rows::HOTEL.run(machine, options))
    },
    cost("users", |machine, options| rows::USERS.run(machine, options)),
    cost("social", |machine, options| rows::SOCIAL.run(machine, options)),
    cost("channel", |machine, options| rows::CHANNEL.run(machine, options)),
    cost("receive", |machine, options| rows::RECEIVE.run(machine, options)),
    Bench {
        name: "self-test",
        options: &[("--attempts", is_count)],
        run: |machine, options| {
            let attempts = options.count("--attempts", 20).to_string();
            let mut command = Command::new(&machine.benchwright);
            command.args(["load", "--self-test", "--attempts", &attempts]).args(SENT_AT_ONCE);
            Ok(repository::succeeds(&mut command))
        },
        quick: None,
    },
    Bench {
        name: "kv",
        options: &[
            ("--pairs", is_count),
            ("--keys", is_count),
            ("--only", kv::is_row),
            ("--note", is_path),
        ],
        run: |machine, options| {
            let (pairs, keys) = (options.count("--pairs", 5), options.count("--keys", 10_000_000));
            let only = options.text("--only").map(str::to_owned);
            let note = options.path("--note").map(Path::to_owned);
            kv::run(machine, &kv::Extent { pairs, keys, only, note })
        },
        quick: None,
    },
    Bench { name: "hostile", options: &[], run: |_, _| Ok(hostile::run()), quick: None },
    Bench {
        name: "lab",
        options: &[("--trials", is_count)],
        run: |machine, options| lab::run(machine, options.count("--trials", 40)),
        quick: None,
    },
    Bench {
        name: "compare",
        options: &[("--equal", is_count), ("--slower", is_count), ("--note", is_path)],
        run: |machine, options| {
            let (equal, slower) = (options.count("--equal", 100), options.count("--slower", 10));
            compare::run(machine, equal, slower, options.path("--note"))
        },
        quick: None,
    },
    Bench {
        name: "ycsb-keys",
        options: &[("--attempts", is_count)],
        run: |machine, options| ycsb_keys::run(machine, options.count("--attempts", 5)),
        quick: None,
    },
    Bench {
        name: "ycsb-peers",
        options: &[("--pairs", is_count), ("--operations", is_count)],
        run: |machine, options| {
            let (pairs, operations) =
                (options.count("--pairs", 5), options.count("--operations", 300_000));
            ycsb_peers::run(machine, pairs, operations as u64)
        },
        quick: None,
    },
];

const fn cost(name: &'static str, run: fn(&Machine, &Options<'_>) -> Passed) -> Bench {
    let options: &[Known] = &[("--attempts", is_count), ("--before", is_path), ("--note", is_path)];
    Bench { name, options, run, quick: None }
}

/// Every count is at least one.
fn is_count(text: &str) -> bool {
    text.parse().is_ok_and(|count: usize| 0 < count)
}

fn is_path(text: &str) -> bool {
    !text.is_empty()
}

/// The options of a bench, with texts that were checked.
struct Options<'a>(Vec<(&'a str, &'a str)>);

impl Options<'_> {
    fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(option, _)| *option == name).map(|(_, text)| *text)
    }

    fn count(&self, name: &str, default: usize) -> usize {
        self.text(name).and_then(|count| count.parse().ok()).unwrap_or(default)
    }

    fn path(&self, name: &str) -> Option<&Path> {
        self.text(name).map(Path::new)
    }
}

/// Runs the bench that the words name; returns `None` if they name none.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    if words == ["--quick"] {
        return Some(quick(Build::Release).is_empty());
    }
    let (bench, options) = read(words)?;
    let run = |machine: &Machine| failed(bench.name, || (bench.run)(machine, &options));
    Some(prepared(Build::Release, |machine| run(machine).into_iter().collect()).is_empty())
}

/// Runs the benches of continuous integration, even if one fails; returns a line for each that failed.
pub(crate) fn quick(build: Build) -> Vec<String> {
    let one = |bench: &Bench, machine: &Machine| {
        bench.quick.and_then(|quick| failed(bench.name, || quick(machine)))
    };
    prepared(build, |machine| BENCHES.iter().filter_map(|bench| one(bench, machine)).collect())
}

fn prepared(build: Build, run: impl FnOnce(&Machine) -> Vec<String>) -> Vec<String> {
    match Machine::prepare(build) {
        Ok(machine) => run(&machine),
        Err(error) => {
            let line = format!("error: {error}");
            println!("{line}");
            vec![line]
        }
    }
}

/// Runs a bench and prints its result; returns the closing line if it failed.
fn failed(name: &str, run: impl FnOnce() -> Passed) -> Option<String> {
    println!("\n── bench {name}");
    let begun = machine::now();
    let passed = run();
    let word = if passed == Ok(true) { "passed" } else { "FAILED" };
    let mut line = format!("bench {name}: {word} in {}", machine::since(begun));
    if let Err(why) = &passed {
        line += &format!("; {why}");
    }
    println!("{line}");
    (passed != Ok(true)).then_some(line)
}

/// Returns the path of the script that numbers the requests.
fn script() -> PathBuf {
    repository::root().join("xtask/src/bench/counter.lua")
}

/// Reads a name and pairs of `--name text`; `--quick` has no text.
fn read<'a>(words: &[&'a str]) -> Option<(&'static Bench, Options<'a>)> {
    let (name, mut rest) = words.split_first()?;
    let bench = BENCHES.iter().find(|bench| bench.name == *name)?;
    let mut options = Vec::new();
    while let Some((&name, others)) = rest.split_first() {
        let (text, others) = match name {
            "--quick" => ("", others),
            _ => others.split_first().map(|(text, others)| (*text, others))?,
        };
        let (_, is_right) = bench.options.iter().find(|(option, _)| *option == name)?;
        options.push((name, text));
        rest = others;
        if !is_right(text) {
            return None;
        }
    }
    Some((bench, Options(options)))
}

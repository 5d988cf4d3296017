//! The check that a killed runner loses nothing. It is killed without warning at random moments of
//! a run, and the run is continued. Then no finished trial may be missing or repeated, and nothing
//! may be left on the machine. On virtual time the continued run must equal the uninterrupted one
//! in every byte of every file.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use measure::{Nanos, Random};
use serde_json::Value;

use super::machine::{self, Machine, Process};
use crate::{journal, repository, tools};

pub(crate) mod left;

const SEED: u64 = 7;

/// Kills `real` runs on this machine and `simulated` ones; returns true if none lost anything.
pub(super) fn run(machine: &Machine, real: usize, simulated: usize) -> Result<bool, String> {
    let folders = Folders::make(machine)?;
    let foreign = match tools::has_program("nginx") {
        true => killed_often(&folders, &FOREIGN, real.div_ceil(4))?,
        false => {
            println!("nginx is missing: no program that does not know us is killed");
            true
        }
    };
    let store = killed_often(&folders, &STORE, real)?;
    let real = killed_often(&folders, &REAL, real)?;
    let repeatable = [&SIMULATED, &LEVELS, &BLOCKS];
    let kept = repeatable.map(|experiment| killed_often(&folders, experiment, simulated));
    let kept: Vec<bool> = kept.into_iter().collect::<Result<_, _>>()?;
    Ok(real && store && foreign && kept.into_iter().all(|kept| kept))
}

/// An experiment to be killed.
struct Experiment {
    arguments: &'static [&'static str],
    /// True if the continued run can be compared byte by byte.
    repeatable: bool,
}

const REAL: Experiment =
    Experiment { arguments: &["experiments/hotel.yaml", "--profile", "ci"], repeatable: false };
/// Servers of the key-value store, which are filled and verified first.
const STORE: Experiment =
    Experiment { arguments: &["experiments/kv-ycsb.yaml", "--profile", "ci"], repeatable: false };
const LEVELS: Experiment =
    Experiment { arguments: &["experiments/levels.yaml", "--profile", "ci"], repeatable: true };
/// Two searches of which each continues with what its own trials found, interleaved in blocks.
const BLOCKS: Experiment = Experiment {
    arguments: &[
        "experiments/levels.yaml",
        "--profile",
        "ci",
        "--set",
        "repeat={searches: 1, order: {blocks: 4}}",
        "--set",
        "searches={capacity: {strategy: adaptive, step: null, stop: null}, half: null}",
        // One search of each of three levels is too little for a law.
        "--set",
        "scaling_law=null",
        "--set",
        "searches.mlr={strategy: mlr, start: {probe: 0.8}}",
    ],
    repeatable: true,
};
/// nginx, whose workers survive their master and hide their environment.
const FOREIGN: Experiment = Experiment {
    arguments: &["crates/benchwright/tests/it/programs/nginx.yaml"],
    repeatable: false,
};
const SIMULATED: Experiment =
    Experiment { arguments: &["experiments/simulated.yaml"], repeatable: true };

/// Folders of our own: anything left in them was left by a run.
struct Folders {
    benchwright: PathBuf,
    folder: tempfile::TempDir,
}

impl Folders {
    fn make(machine: &Machine) -> Result<Folders, String> {
        let failed = |error: std::io::Error| format!("making a folder: {error}");
        let folder = tempfile::Builder::new().prefix("xtask-bench-kill-").tempdir();
        let folder = folder.map_err(failed)?;
        let folders = Folders { benchwright: machine.benchwright.clone(), folder };
        fs::create_dir(folders.temporary()).map_err(failed)?;
        Ok(folders)
    }

    fn temporary(&self) -> PathBuf {
        self.folder.path().join("tmp")
    }

    /// Returns the folder that every run writes to; it is always the same, as its path is in the
    /// report.
    fn results(&self) -> PathBuf {
        self.folder.path().join("results")
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.benchwright);
        command.arg(verb).current_dir(repository::root()).env("TMPDIR", self.temporary());
        // Not that of the user, whose runs have nothing to do with these.
        command.env("BENCHWRIGHT_RUNTIME", self.temporary().join(left::RUNTIME));
        command
    }

    /// Returns the command of a new run, with an empty results folder.
    fn run(&self, experiment: &Experiment) -> Command {
        // The first time there is nothing to remove.
        let _ = fs::remove_dir_all(self.results());
        let mut command = self.command("run");
        command.args(experiment.arguments).arg("--out").arg(self.results());
        command
    }
}

fn killed_often(folders: &Folders, experiment: &Experiment, times: usize) -> Result<bool, String> {
    println!("\nkilled and continued: {}", experiment.arguments.join(" "));
    let (length, expected) = uninterrupted(folders, experiment)?;
    let mut random = Random::new(SEED);
    let mut wrong = 0;
    let mut finished_before = 0;
    for number in 1..=times {
        let moment = Nanos::from_secs_f64(random.unit() * length.as_secs_f64());
        let mut killed = kill_at(folders, experiment, moment)?;
        if experiment.repeatable {
            killed.faults.extend(left::differences(&expected, &left::files(&folders.results())));
        }
        finished_before += usize::from(killed.was_over);
        wrong += usize::from(!killed.faults.is_empty());
        println!("{number:>3}  after {moment:>8}: {killed}");
    }
    println!("{times} killed ({finished_before} of them after their end), {wrong} with faults");
    Ok(wrong == 0)
}

/// Returns the time of an uninterrupted run, and its files.
fn uninterrupted(
    folders: &Folders,
    experiment: &Experiment,
) -> Result<(Nanos, BTreeMap<PathBuf, Vec<u8>>), String> {
    // The first run is slow: moments drawn from its length would often be after the end of others.
    let runs = if experiment.repeatable { 3 } else { 1 };
    let mut length = Nanos(u64::MAX);
    for _ in 0..runs {
        let command = folders.run(experiment);
        let begun = machine::now();
        let ending = ended(command)?;
        length = length.min(machine::since(begun));
        println!("uninterrupted: {ending}, {}", machine::since(begun));
    }
    Ok((length, left::files(&folders.results())))
}

/// The result of one killed run.
struct Killed {
    /// True if it had ended before that moment.
    was_over: bool,
    trials_before: usize,
    trials_after: usize,
    ending: String,
    faults: Vec<String>,
}

impl std::fmt::Display for Killed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Killed { trials_before, trials_after, ending, faults, .. } = self;
        write!(f, "{trials_before} trials in the journal, then {trials_after}, {ending}")?;
        faults.iter().try_for_each(|fault| write!(f, "\n       FAULT {fault}"))
    }
}

fn kill_at(folders: &Folders, experiment: &Experiment, moment: Nanos) -> Result<Killed, String> {
    let results = folders.results();
    let mut command = folders.run(experiment);
    let mut runner = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    machine::sleep(moment);
    let was_over = matches!(runner.0.try_wait(), Ok(Some(_)));
    let mut runners = vec![runner.0.id()];
    drop(runner);

    let before = journal::read(&results);
    // Without a manifest there is nothing to continue: the run is started again.
    let continued = results.join("manifest.json").exists();
    let again = match continued {
        true => {
            let mut command = folders.command("resume");
            command.arg(&results);
            command
        }
        false => folders.run(experiment),
    };
    let (ending, mut faults) = match ended_with_pid(again) {
        Ok((pid, ending)) => {
            runners.push(pid);
            (ending, Vec::new())
        }
        Err(fault) => ("not finished".to_owned(), vec![fault]),
    };
    let (trials_after, wrong) = journal::continued(&results, &before);
    faults.extend(wrong);
    faults.extend(left::on_machine(&folders.temporary(), &results, &runners));
    let ending = if continued { ending } else { format!("{ending} (started again)") };
    let trials_before = journal::count(&before);
    Ok(Killed { was_over, trials_before, trials_after, ending, faults })
}

fn ended(command: Command) -> Result<String, String> {
    ended_with_pid(command).map(|(_, ending)| ending)
}

/// Runs a command to its end; returns its process id and its verdict. A verdict without an answer,
/// as on a noisy machine, is fine, too.
fn ended_with_pid(mut command: Command) -> Result<(u32, String), String> {
    command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("starting benchwright: {error}"))?;
    let pid = child.id();
    let Output { status, stdout, stderr } =
        child.wait_with_output().map_err(|error| format!("awaiting benchwright: {error}"))?;
    let answer: Value = serde_json::from_slice(&stdout).unwrap_or_default();
    match answer["verdict"].as_str() {
        Some(verdict) if matches!(status.code(), Some(0 | 1 | 3)) => Ok((pid, verdict.to_owned())),
        _ => Err(format!("{status}: {}", String::from_utf8_lossy(&stderr).trim())),
    }
}

//! Is anything lost when the runner is killed? It is killed without warning at random moments of a
//! run and continued; then no finished trial may be missing or there twice, and nothing of it may
//! be left on the machine. On virtual time the continued run must equal the unbroken one in every
//! byte of every file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use measure::{Nanos, Random};

use super::json::Value;
use super::machine::{self, Machine, Process};
use crate::repository;

mod journal;
mod left;

const SEED: u64 = 7;

/// Kills `real` runs on this machine and `simulated` ones, and says whether all survived.
pub(super) fn run(machine: &Machine, real: usize, simulated: usize) -> Result<bool, String> {
    let ground = Ground::make(machine)?;
    let real = killed_often(&ground, &REAL, real)?;
    let simulated = killed_often(&ground, &SIMULATED, simulated)?;
    Ok(real && simulated)
}

/// An experiment to be killed.
struct Experiment {
    arguments: &'static [&'static str],
    /// Whether the continued run can be compared byte by byte.
    repeatable: bool,
}

const REAL: Experiment =
    Experiment { arguments: &["experiments/hotel.yaml", "--profile", "ci"], repeatable: false };
const SIMULATED: Experiment =
    Experiment { arguments: &["experiments/simulated.yaml"], repeatable: true };

/// Folders of our own, so that whatever is left in them was left by a run.
struct Ground {
    benchwright: PathBuf,
    folder: PathBuf,
}

impl Ground {
    fn make(machine: &Machine) -> Result<Ground, String> {
        let folder = std::env::temp_dir().join(format!("xtask-bench-kill-{}", std::process::id()));
        let ground = Ground { benchwright: machine.benchwright.clone(), folder };
        fs::create_dir_all(ground.temporary())
            .map_err(|error| format!("making {}: {error}", ground.folder.display()))?;
        Ok(ground)
    }

    fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// Every run writes to the same folder: its path stands in its report.
    fn results(&self) -> PathBuf {
        self.folder.join("results")
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(&self.benchwright);
        command.arg(verb).current_dir(repository::root()).env("TMPDIR", self.temporary());
        command
    }

    /// A run from its beginning, on empty ground.
    fn run(&self, experiment: &Experiment) -> Command {
        // The first time there is nothing to remove.
        let _ = fs::remove_dir_all(self.results());
        let mut command = self.command("run");
        command.args(experiment.arguments).arg("--out").arg(self.results());
        command
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        // A temporary folder that stays is a nuisance, and no more.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn killed_often(ground: &Ground, experiment: &Experiment, times: usize) -> Result<bool, String> {
    println!("\nkilled and continued: {}", experiment.arguments.join(" "));
    let (length, expected) = unbroken(ground, experiment)?;
    let mut random = Random::new(SEED);
    let mut wrong = 0;
    let mut finished_before = 0;
    for number in 1..=times {
        let moment = Nanos::from_secs_f64(random.unit() * length.as_secs_f64());
        let mut killed = kill_at(ground, experiment, moment)?;
        if experiment.repeatable {
            killed.faults.extend(left::differences(&expected, &left::files(&ground.results())));
        }
        finished_before += usize::from(killed.was_over);
        wrong += usize::from(!killed.faults.is_empty());
        println!("{number:>3}  after {moment:>8}: {killed}");
    }
    println!("{times} killed ({finished_before} of them after their end), {wrong} with faults");
    Ok(wrong == 0)
}

/// How long the run takes if nobody kills it, and what it then leaves.
fn unbroken(
    ground: &Ground,
    experiment: &Experiment,
) -> Result<(Nanos, BTreeMap<PathBuf, Vec<u8>>), String> {
    // The first one is slow: moments drawn from it would often lie behind the end of the others.
    let runs = if experiment.repeatable { 3 } else { 1 };
    let mut length = Nanos(u64::MAX);
    for _ in 0..runs {
        let command = ground.run(experiment);
        let begun = machine::now();
        let ending = ended(command)?;
        length = length.min(machine::since(begun));
        println!("unbroken: {ending}, {}", machine::since(begun));
    }
    Ok((length, left::files(&ground.results())))
}

/// What became of one killed run.
struct Killed {
    /// It had ended before the moment came.
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

fn kill_at(ground: &Ground, experiment: &Experiment, moment: Nanos) -> Result<Killed, String> {
    let results = ground.results();
    let mut command = ground.run(experiment);
    let mut runner = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))?;
    machine::sleep(moment);
    let was_over = matches!(runner.0.try_wait(), Ok(Some(_)));
    let mut runners = vec![runner.0.id()];
    drop(runner);

    let journal = results.join("journal.jsonl");
    let before = journal::complete(&fs::read(&journal).unwrap_or_default()).to_vec();
    // Before that there is nothing to continue; whoever asked asks again.
    let continued = results.join("manifest.json").exists();
    let again = match continued {
        true => {
            let mut command = ground.command("resume");
            command.arg(&results);
            command
        }
        false => ground.run(experiment),
    };
    let (ending, mut faults) = match ended_with_pid(again) {
        Ok((pid, ending)) => {
            runners.push(pid);
            (ending, Vec::new())
        }
        Err(fault) => ("not finished".to_owned(), vec![fault]),
    };
    let after = fs::read(&journal).unwrap_or_default();
    let (trials_before, trials_after) = (journal::count(&before), journal::count(&after));
    faults.extend(journal::faults(&before, &after));
    faults.extend(journal::trials_without_files(&after, &results));
    faults.extend(left::on_machine(&ground.temporary(), &results, &runners));
    let ending = if continued { ending } else { format!("{ending} (begun again)") };
    Ok(Killed { was_over, trials_before, trials_after, ending, faults })
}

fn ended(command: Command) -> Result<String, String> {
    ended_with_pid(command).map(|(_, ending)| ending)
}

/// Runs a command to its end, and says its number and its verdict. That the machine was too noisy
/// for an answer is an ending as well; what matters is that there is one.
fn ended_with_pid(mut command: Command) -> Result<(u32, String), String> {
    command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().map_err(|error| format!("starting benchwright: {error}"))?;
    let pid = child.id();
    let Output { status, stdout, stderr } =
        child.wait_with_output().map_err(|error| format!("awaiting benchwright: {error}"))?;
    let answer = Value::read(&String::from_utf8_lossy(&stdout));
    match answer.as_ref().and_then(|answer| answer.text("verdict")) {
        Some(verdict) if matches!(status.code(), Some(0 | 1 | 3)) => Ok((pid, verdict.to_owned())),
        _ => Err(format!("{status}: {}", String::from_utf8_lossy(&stderr).trim())),
    }
}

/// The path of what a journal's entry keeps.
fn trial_folder(results: &Path, number: u64) -> PathBuf {
    results.join("trials").join(number.to_string())
}

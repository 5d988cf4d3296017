//! The cost of the lab itself: of an entry of the journal, of a trial without its declared waits,
//! of the page of a long run, and of a long plan. A trial of a long run must not cost more than one of a short run.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use measure::Nanos;
use results::Directory;
use results::directory::{Files, Readers};
use results::journal::{Entry, Status};

use super::goal::{Finding, Goal};
use super::machine::{self, Machine, Process};
use super::scratch::Scratch;
use crate::repository;

#[cfg(test)]
mod tests;

/// The number of trials in a long journal.
const LONG: u32 = 10_000;
/// The number of measured appends.
const APPENDS: u32 = 300;
/// The number of trials on the page.
const PAGE_TRIALS: u32 = 1_000;
/// The number of times that the page is rendered.
const PAGES: usize = 3;

/// The declared length of a trial; the rest of its time is measured.
const TRIAL: Nanos = Nanos::from_millis(200);

/// A run on virtual time: its trials cost only the lab's own work.
const SIMULATED: &str = "\
name: page
where: {backend: simulated}
simulated: {service_time: 1ms, distribution: exponential, servers: 4}
workload: {get: /}
load: {model: open, arrivals: poisson, connections: 64}
phases: {warm_up: {fixed: 0s}, measure: {time: 1s}, drain: 100ms}
slo: [{metric: p99, max: 10ms}]
search: {strategy: sweep, range: [20/s, 4k/s], step: 20/s}
";

/// A run of short trials on this machine, against a server that has nothing to do.
const LOCAL: &str = "\
name: trials
sut: {deploy: [process: {name: server, command: [benchwright, reference]}]}
workload: {get: /}
load: {model: open, arrivals: constant, rate: 200/s, connections: 1}
phases: {warm_up: {fixed: 0s}, measure: {time: 200ms}, drain: 0s}
";

/// A plan of 10,000 trials: 100 combinations of levels × 5 searches × 20 repetitions.
const PLAN: &str = "\
name: plan
where: {backend: simulated}
simulated: {service_time: 1ms}
workload: {get: /}
load: {model: open}
phases: {warm_up: {fixed: 0s}, measure: {time: 1s}, drain: 100ms}
";

/// Measures all four; returns true if their goals are met.
pub(super) fn run(machine: &Machine, trials: usize) -> Result<bool, String> {
    let folder = Scratch::make()?;
    let mut findings = vec![trial(machine, &folder, trials)?];
    let long = simulated(machine, &folder, "long", PAGE_TRIALS)?;
    findings.extend(page(machine, &long)?);
    findings.extend(plan(machine, &folder)?);
    let sample = Sample::of(&long)?;
    findings.extend(appends(&folder, &sample, 0)?);
    findings.extend(appends(&folder, &sample, LONG)?);
    println!();
    findings.iter().for_each(|finding| println!("{finding} {}", finding.beside));
    Ok(findings.iter().all(Finding::is_met))
}

/// Measures the time of a trial beyond its declared phases: starting the generator, its connection
/// and its document, judging, writing. It is the time from one entry of the journal to the next,
/// minus the phases. Repeated trials are left out, as there is a pause before them.
fn trial(machine: &Machine, folder: &Scratch, trials: usize) -> Result<Finding, String> {
    let spec = folder.write("trials.yaml", LOCAL)?;
    let out = folder.path("trials");
    let mut command = Command::new(&machine.benchwright);
    command.arg("run").arg(spec).arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
    command.args(["--set", &format!("repeat.trials={}", trials + 1)]);
    command.args(["--set", &format!("budget.trials={}", 10 * (trials + 1))]);
    command.args(["--set", "budget.invalid_attempts=9"]);
    let mut runner = Process::start(&mut command)?;
    let journal = out.join("journal.jsonl");
    let mut appended = Vec::new();
    let mut length = 0;
    while let Ok(None) = runner.0.try_wait() {
        let now = machine::now();
        let lengthened = fs::metadata(&journal).map_or(0, |file| file.len());
        if length < lengthened {
            length = lengthened;
            appended.push(now);
        }
        machine::sleep(Nanos::from_millis(1));
    }
    let entries = opened(&out)?.journal().map_err(|error| error.to_string())?;
    if entries.len() != appended.len() {
        let (entries, seen) = (entries.len(), appended.len());
        return Err(format!("{entries} trials ended, but only {seen} were observed"));
    }
    let costs: Vec<f64> = appended
        .windows(2)
        .zip(&entries[1..])
        .filter(|(_, entry)| entry.attempt == 1)
        .map(|(pair, _)| 1e3 * (pair[1] - pair[0]).as_secs_f64() - TRIAL.as_millis_f64())
        .collect();
    if costs.is_empty() {
        return Err("every trial was repeated: the machine is too noisy".to_owned());
    }
    let valid = entries.iter().filter(|entry| entry.status == Status::Valid).count();
    println!("\na trial without its declared waits, ms: {}", listed(&costs));
    Ok(Finding {
        what: "ms of a trial without its declared waits".to_owned(),
        beside: format!("(p99 {:.1} ms; {valid} of {} trials valid)", p99(&costs), entries.len()),
        figures: costs,
        goal: Goal::most(150.0),
    })
}

/// Runs this many trials on virtual time.
fn simulated(
    machine: &Machine,
    folder: &Scratch,
    name: &str,
    trials: u32,
) -> Result<Directory, String> {
    let spec = folder.write(&format!("{name}.yaml"), SIMULATED)?;
    let out = folder.path(name);
    let mut command = Command::new(&machine.benchwright);
    command.arg("run").arg(spec).arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
    // The sweep has 200 loads.
    command.args(["--set", &format!("repeat.trials={}", trials.div_ceil(200))]);
    command.args(["--set", &format!("budget.trials={}", 2 * trials)]);
    let begun = machine::now();
    let ended = command.status().map_err(|error| format!("starting benchwright: {error}"))?;
    if !ended.success() {
        return Err(format!("the run of {trials} trials on virtual time: {ended}"));
    }
    let took = machine::since(begun);
    println!("\n{trials} trials on virtual time: {took}, {} each", took / u64::from(trials));
    opened(&out)
}

/// Measures the page of a long run: its size, and the time that it takes.
fn page(machine: &Machine, directory: &Directory) -> Result<[Finding; 2], String> {
    let mut seconds = Vec::new();
    for _ in 0..PAGES {
        let mut command = Command::new(&machine.benchwright);
        command.arg("report").arg(directory.path()).stdout(Stdio::null());
        let begun = machine::now();
        if !repository::succeeds(&mut command) {
            return Err("the report was not written".to_owned());
        }
        seconds.push(machine::since(begun).as_secs_f64());
    }
    let page = directory.path().join("report.html");
    let size = fs::metadata(page).map_err(|error| format!("the report: {error}"))?.len();
    let entries = directory.journal().map_err(|error| error.to_string())?.len();
    println!("report of {entries} trials, s: {}", listed(&seconds));
    Ok([
        Finding {
            what: format!("MB of the report of {entries} trials"),
            figures: vec![size as f64 / 1e6],
            beside: String::new(),
            goal: Goal::most(2.0),
        },
        Finding {
            what: format!("s for the report of {entries} trials"),
            figures: seconds,
            beside: String::new(),
            goal: Goal::most(2.0),
        },
    ])
}

/// Measures the time and the memory of a plan of many trials.
fn plan(machine: &Machine, folder: &Scratch) -> Result<[Finding; 2], String> {
    let listed_to = |most: u32| (1..=most).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let searches: String =
        (1..=5).map(|i| format!("  at-{i}: {{load: {{rate: {i}00/s}}}}\n")).collect();
    let text = format!(
        "{PLAN}factors:\n  a: {{path: simulated.servers, levels: [{0}]}}\n  \
         b: {{path: load.connections, levels: [{0}]}}\nsearches:\n{searches}\
         repeat: {{searches: 20, order: {{blocks: 4}}}}\n",
        listed_to(10)
    );
    let spec = folder.write("plan.yaml", &text)?;
    let (mut seconds, mut memory) = (Vec::new(), Vec::new());
    for _ in 0..PAGES {
        let out = fs::File::create(folder.path("plan.txt")).map_err(|error| error.to_string())?;
        let begun = machine::now();
        let mut command = Command::new(&machine.benchwright);
        let mut process = Process::start(command.arg("plan").arg(&spec).stdout(out))?;
        let status = format!("/proc/{}/status", process.0.id());
        let mut most = 0.0;
        while let Ok(None) = process.0.try_wait() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            most = peak_mib(&text).unwrap_or(most);
            machine::sleep(Nanos::from_millis(1));
        }
        seconds.push(machine::since(begun).as_secs_f64());
        memory.push(most);
    }
    let planned = fs::read_to_string(folder.path("plan.txt")).map_err(|error| error.to_string())?;
    if !planned.contains("10000 trials") {
        return Err(format!(
            "the plan has not 10,000 trials: {}",
            planned.lines().next().unwrap_or("")
        ));
    }
    println!("plan of 10,000 trials, s: {}; MiB: {}", listed(&seconds), listed(&memory));
    let finding = |what: &str, figures, most| Finding {
        what: what.to_owned(),
        beside: String::new(),
        figures,
        goal: Goal::most(most),
    };
    Ok([
        finding("s for a plan of 10,000 trials", seconds, 1.0),
        finding("MiB of memory for a plan of 10,000 trials", memory, 64.0),
    ])
}

/// Returns the largest resident memory of a process so far, in MiB.
fn peak_mib(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// A trial whose entry and files are copied into new directories.
struct Sample<'a> {
    of: &'a Directory,
    entry: Entry,
    files: Files,
}

impl Sample<'_> {
    /// Returns the last trial of a run.
    fn of(directory: &Directory) -> Result<Sample<'_>, String> {
        let entries = directory.journal().map_err(|error| error.to_string())?;
        let entry = entries.last().ok_or("a run without trials")?.clone();
        let read = |name: &String| {
            let bytes = fs::read(directory.trial_path(entry.trial).join(name));
            bytes.map(|bytes| (name.clone(), bytes)).map_err(|error| format!("{name}: {error}"))
        };
        let files = entry.files.keys().map(read).collect::<Result<Files, String>>()?;
        Ok(Sample { of: directory, entry, files })
    }

    /// Makes a directory of a run with this many trials.
    fn after(&self, trials: u32, path: &Path) -> Result<Directory, String> {
        let of = |error: results::directory::Error| error.to_string();
        let (manifest, environment) =
            (self.of.manifest().map_err(of)?, self.of.environment().map_err(of)?);
        let readers = Readers::Owner;
        let directory =
            Directory::create(path, readers, &manifest, SIMULATED, &environment).map_err(of)?;
        let lines = (1..=trials).map(|trial| {
            let entry = serde_json::to_string(&self.entry(trial)).expect("an entry is plain data");
            fs::create_dir(directory.trial_path(trial)).map(|()| entry + "\n")
        });
        let journal = lines.collect::<Result<String, _>>();
        journal
            .and_then(|journal| fs::write(path.join("journal.jsonl"), journal))
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(directory)
    }

    fn entry(&self, trial: u32) -> Entry {
        Entry { trial, ..self.entry.clone() }
    }
}

/// Measures appends to a journal of this many trials, without files and with those of a trial.
fn appends(folder: &Scratch, sample: &Sample, trials: u32) -> Result<[Finding; 2], String> {
    let directory = sample.after(trials, &folder.path(&format!("after-{trials}")))?;
    let begun = machine::now();
    let (entries, mut writer) = directory.write_journal().map_err(|error| error.to_string())?;
    println!("\na journal of {} trials was opened in {}", entries.len(), machine::since(begun));
    let mut next = trials + 1;
    let mut append = |files: &Files, what: &str, goal| {
        let mut costs = Vec::new();
        for _ in 0..APPENDS {
            let entry = sample.entry(next);
            next += 1;
            let begun = machine::now();
            writer.append(entry, files).map_err(|error| error.to_string())?;
            costs.push(machine::since(begun).as_millis_f64());
        }
        Ok::<_, String>(Finding {
            what: format!("ms of an append{what} after {trials} trials"),
            beside: format!("(p99 {:.2} ms)", p99(&costs)),
            figures: costs,
            goal,
        })
    };
    let count = sample.files.len();
    Ok([
        append(&Files::new(), "", Goal::most(1.0))?,
        append(&sample.files, &format!(" with {count} files"), Goal::None)?,
    ])
}

fn opened(path: &Path) -> Result<Directory, String> {
    Directory::open(path).map_err(|error| error.to_string())
}

/// Returns the figure that one in a hundred exceeds.
fn p99(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (0.99 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn listed(figures: &[f64]) -> String {
    let each: Vec<String> = figures.iter().map(|figure| format!("{figure:.2}")).collect();
    each.join(" ")
}

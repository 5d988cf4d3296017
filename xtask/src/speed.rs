//! The part of a saturated server's variation that the speed of the machine explains: the hotel
//! application in one process on a CPU of its own, in a closed loop.
//!
//! Two figures of each second are compared with the times of the pieces of work in the same second.
//! Completions per second fall as well if others take the CPU; completions per CPU-second of the
//! application fall only if the CPU is slower, or the application does more for each.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use measure::estimate::{mean, median, moments};
use results::{Components, Directory, Load};

use crate::programs::Build;
use crate::repository;
use regression::{correlation, means, residual_sd};

mod regression;

pub(crate) const USAGE: &str = "\
cargo xtask speed [--seconds 120 | --of FOLDER]

Measures the throughput of a saturated server beside the speed of its machine, on two CPUs of a quiet
machine: their correlation, and the standard deviation of seconds and of means of 8 seconds, with and
without an adjustment by the speed. Then the times of the pieces of work at three loads. --of prints
the first part of a results directory.
";

/// A closed loop, whose generator has a CPU of its own.
const SPEC: &str = "\
name: machine-speed
where: {roles: {sut: {cpus: 0}, load: {cpus: 1}}}
sut:
  deploy:
    - app: {name: hotel, run: hotel all-in-one}
  ready: {get: /healthz, within: 30s}
workload: {script: SCRIPT}
load: {model: closed, connections: 32}
phases: {warm_up: {fixed: 2s}, measure: {time: 120s}, drain: 1s}
budget: {invalid_attempts: 0, time: 1h}
";

const RATES: [&str; 3] = ["10k/s", "30k/s", "50k/s"];
const ROUNDS: usize = 5;
/// The seconds whose mean is as long as a trial.
const OF_TRIAL: usize = 8;

pub(crate) fn run(words: &[&str]) -> Option<bool> {
    let done = match words {
        [] => whole(120),
        ["--seconds", seconds] => whole(seconds.parse().ok().filter(|seconds| 10 <= *seconds)?),
        ["--of", folder] => saturated(Path::new(folder)),
        _ => return None,
    };
    if let Err(error) = &done {
        println!("error: {error}");
    }
    Some(done.is_ok())
}

fn whole(seconds: u32) -> Result<(), String> {
    if !Build::Release.make() {
        return Err("the build failed".to_owned());
    }
    saturated(&measure("saturated", &[format!("phases.measure.time={seconds}s")])?)?;
    let mut times: BTreeMap<(String, &str), Vec<f64>> = BTreeMap::new();
    // In turns, so that a slow minute of the machine touches all of them.
    for round in 0..ROUNDS {
        for rate in RATES {
            let set = ["load.model=open", "load.connections=64", "phases.measure.time=5s"];
            let set = set.map(str::to_owned).into_iter().chain([format!("load.rate={rate}")]);
            let folder = measure(&format!("{round}-{}", &rate[..3]), &set.collect::<Vec<_>>())?;
            for (work, series) in works(&only_trial(&folder)?.1)? {
                times.entry((work, rate)).or_default().extend(series.iter().flatten());
            }
        }
    }
    println!("\nmedian time of each piece of work at a load, {ROUNDS} rounds in turns");
    for ((work, rate), times) in &times {
        println!("{work:>14} at {rate}: {:.0} ns", median(times).unwrap_or(f64::NAN));
    }
    Ok(())
}

/// Runs the experiment; returns its results directory.
fn measure(name: &str, set: &[String]) -> Result<PathBuf, String> {
    let folder = repository::target().join("speed");
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let (spec, out) = (folder.join("speed.yaml"), folder.join(name));
    // It is there if this ran before.
    let _ = fs::remove_dir_all(&out);
    let script = repository::root().join("experiments/hotel-mixed.lua");
    fs::write(&spec, SPEC.replace("SCRIPT", &script.display().to_string()))
        .map_err(|error| error.to_string())?;
    let mut command = Build::Release.command("benchwright")?;
    command.arg("run").arg(&spec).arg("--out").arg(&out);
    command.args(set.iter().flat_map(|set| ["--set", set]));
    // A disturbed run is printed all the same; one that did not measure has no trial to read.
    repository::succeeds(&mut command);
    Ok(out)
}

/// Prints what the speed explains of the throughput in a results directory of one trial.
fn saturated(folder: &Path) -> Result<(), String> {
    let (load, components) = only_trial(folder)?;
    let seconds = Seconds::of(&load, &components)?;
    println!("\n{}", noise(&load, &components, &load_average(folder)));
    let n = seconds.per_s.len();
    let fewest = 5 * OF_TRIAL;
    if n < fewest {
        return Err(format!("{n} seconds are too few: {fewest} are needed"));
    }
    for (what, figures) in [
        ("completions per second", &seconds.per_s),
        ("completions per CPU-second of the system", &seconds.per_cpu_s),
    ] {
        println!("\nlogarithms of {what}, {n} seconds");
        // The same without a covariate, so that the figures can be compared.
        let of_mean = |figures: &[f64]| 100.0 * residual_sd(&vec![0.0; figures.len()], figures);
        println!(
            "{:>14}  SD {:.1} %, residual SD {:.1} %, of {OF_TRIAL} s {:.1} %",
            "raw",
            sd(figures),
            of_mean(figures),
            of_mean(&means(figures, OF_TRIAL))
        );
        for (work, times) in &seconds.works {
            println!(
                "{work:>14}  correlation {:+.2}; its own SD {:.1} %; residual SD {:.1} %, of \
                 {OF_TRIAL} s {:.1} %",
                correlation(times, figures),
                sd(times),
                100.0 * residual_sd(times, figures),
                100.0 * residual_sd(&means(times, OF_TRIAL), &means(figures, OF_TRIAL)),
            );
        }
    }
    println!("\na residual is that of a line, or of the mean, of the other four fifths");
    Ok(())
}

fn sd(figures: &[f64]) -> f64 {
    100.0 * moments(figures).map_or(f64::NAN, |(_, sd)| sd)
}

/// The disturbances beside the measurement, and its own cost.
fn noise(load: &Load, components: &Components, average: &str) -> String {
    let share = |of: fn(&results::load::Interval) -> Option<f64>| {
        let known: Vec<f64> = load.series.iter().filter_map(of).collect();
        match known.is_empty() {
            true => "not known".to_owned(),
            false => format!("{:.1} %", 100.0 * mean(&known)),
        }
    };
    let cost = components.speed.values().map(|speed| speed.cpu_share).fold(0.0, f64::max);
    format!(
        "generator: steal {}, waiting for a CPU {}; load average before it {average}; the \
         measurement of the speed took {:.2} % of the CPU",
        share(|interval| interval.steal),
        share(|interval| interval.run_queue_wait),
        100.0 * cost
    )
}

/// The load average of the machine when the run began.
fn load_average(folder: &Path) -> String {
    let environment = Directory::open(folder).and_then(|directory| directory.environment());
    let average = environment.ok().and_then(|found| found.nodes.first()?.load_average.clone());
    average.unwrap_or_else(|| "not known".to_owned())
}

/// The logarithms of the figures of each second in which everything was measured.
struct Seconds {
    per_s: Vec<f64>,
    per_cpu_s: Vec<f64>,
    /// The pieces of work, and the geometric mean of all.
    works: Vec<(String, Vec<f64>)>,
}

impl Seconds {
    fn of(load: &Load, components: &Components) -> Result<Seconds, String> {
        let timed = works(components)?;
        let names = timed.keys().cloned().chain(["all".to_owned()]);
        let mut works: Vec<(String, Vec<f64>)> = names.map(|name| (name, Vec::new())).collect();
        let (mut per_s, mut per_cpu_s) = (Vec::new(), Vec::new());
        let system = || components.components.values().filter(|component| component.role == "sut");
        for (second, interval) in load.series.iter().enumerate() {
            let at = |series: &[Option<f64>]| series.get(second).copied().flatten();
            let cpu: Option<f64> = system().map(|component| at(&component.cpu)).sum();
            let logs: Option<Vec<f64>> =
                timed.values().map(|times| Some(at(times)?.ln())).collect();
            let (Some(cpu), Some(mut logs)) = (cpu, logs) else { continue };
            if interval.completed == 0 || cpu <= 0.0 || interval.length_s <= 0.0 {
                continue;
            }
            let completed = (interval.completed as f64 / interval.length_s).ln();
            per_s.push(completed);
            per_cpu_s.push(completed - cpu.ln());
            logs.push(mean(&logs));
            works.iter_mut().zip(logs).for_each(|((_, times), log)| times.push(log));
        }
        Ok(Seconds { per_s, per_cpu_s, works })
    }
}

/// Returns the times of the pieces of work on the only CPU of the system.
fn works(components: &Components) -> Result<BTreeMap<String, Vec<Option<f64>>>, String> {
    let speed = components.speed.values().next().ok_or("the speed was not measured")?;
    Ok(speed.work_ns.clone())
}

fn only_trial(folder: &Path) -> Result<(Load, Components), String> {
    let directory = Directory::open(folder).map_err(|error| error.to_string())?;
    let journal = directory.journal().map_err(|error| error.to_string())?;
    let [entry] = journal.as_slice() else {
        return Err(format!("{}: {} trials, but one is read", folder.display(), journal.len()));
    };
    let load = directory.load(entry).map_err(|error| error.to_string())?;
    let components = directory.components(entry).map_err(|error| error.to_string())?;
    Ok((load, components.ok_or("the trial has no components.json")?))
}

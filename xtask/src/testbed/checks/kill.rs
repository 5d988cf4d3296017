//! The check that a killed runner loses nothing: it is killed without warning at random moments, and
//! the run is continued. No finished trial may be missing or repeated, and after `clean --cluster`
//! nothing may be left.

use std::process::Stdio;

use measure::Random;

use super::{Bed, now, pause, since};
use crate::journal;

const SEED: u64 = 7;
const EXPERIMENT: [&str; 5] =
    ["experiments/hello.yaml", "--profile", "cluster", "--set", "phases.measure.time=1s"];

pub(super) fn run(bed: &Bed) -> Result<String, String> {
    let times = if bed.is_long { 20 } else { 2 };
    let begun = now();
    bed.run("whole", &EXPERIMENT)?;
    let length = since(begun);
    let mut random = Random::new(SEED);
    let mut wrong = Vec::new();
    for number in 1..=times {
        let moment = random.unit() * length;
        let outcome = killed(bed, moment);
        println!(
            "{number:>3}  after {moment:>5.1} s: {}",
            match &outcome {
                Ok(line) | Err(line) => line,
            }
        );
        wrong.extend(outcome.err());
    }
    match wrong.len() {
        0 => Ok(format!("{times} killed in runs of {length:.1} s, none with a fault")),
        faults => Err(format!("{faults} of {times} have faults")),
    }
}

/// Kills a run, continues it, and cleans the cluster.
fn killed(bed: &Bed, moment: f64) -> Result<String, String> {
    let out = bed.results("killed");
    let mut command = bed.benchwright(&["run"]);
    command.args(EXPERIMENT).arg("--out").arg(&out).stdout(Stdio::null()).stderr(Stdio::null());
    let mut runner = command.spawn().map_err(|error| format!("starting benchwright: {error}"))?;
    pause(moment);
    // It may have ended already.
    let _ = runner.kill();
    let _ = runner.wait();
    let before = journal::read(&out);
    let continued = out.join("manifest.json").exists();
    let mut again = match continued {
        true => bed.benchwright(&["resume"]),
        // Without a manifest there is nothing to continue: the run is started again.
        false => bed.benchwright(&["run"]),
    };
    match continued {
        true => again.arg(&out),
        false => again.args(EXPERIMENT).arg("--out").arg(bed.results("killed")),
    };
    bed.cluster.output(&mut again)?;
    let (after, mut faults) = journal::continued(&out, &before);
    bed.cluster.output(&mut bed.benchwright(&["clean", "--cluster"]))?;
    let left = bed.cluster.kubectl(&[
        "get",
        "namespaces,configmaps,pods,services,statefulsets,jobs,leases",
        "--all-namespaces",
        "--selector=benchwright.dev/run",
        "--output=name",
    ])?;
    faults.extend(left.lines().map(|name| format!("{name} is left")));
    let line = format!(
        "{} trials in the journal, then {after}{}",
        journal::count(&before),
        if continued { "" } else { " (started again)" }
    );
    match faults.is_empty() {
        true => Ok(line),
        false => Err(format!("{line}\n       FAULT {}", faults.join("\n       FAULT "))),
    }
}

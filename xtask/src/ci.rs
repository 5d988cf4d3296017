//! All checks that a change has to pass, the cheapest first.
//!
//! A failed step does not end the run: one run reports all errors. The time of each step is
//! printed, so that it is noticed if a step becomes slow.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use measure::Nanos;

use crate::bench::machine::{now, since};
use crate::programs::Build;
use crate::{bench, models, processes, repository, skips, testbed, tidy, tools};

#[cfg(test)]
mod tests;

/// The longest time for which tests may print nothing: several times that of the slowest.
const LONGEST_SILENCE: Nanos = Nanos::from_secs(600);
/// The longest time for which the last output may be on its way once cargo has ended.
const LAST_OUTPUT: Nanos = Nanos::from_secs(10);

/// The result of a step, and the lines of its output to repeat at the end.
struct Outcome {
    passed: bool,
    closing: Vec<String>,
}

type Step = (&'static str, fn() -> Outcome);

const STEPS: [Step; 8] = [
    ("tools", || tools::install().into()),
    ("format", || cargo(&["fmt", "--all", "--check"]).into()),
    ("clippy", || {
        // In the profile of the build, which then has the macros and the libraries in C already.
        let profile = ["clippy", "--locked", "--profile", "tests"];
        let what = [&profile[..], &["--workspace", "--all-targets", "--"]].concat();
        cargo(&[&what[..], &["-D", "warnings"]].concat()).into()
    }),
    // One build for all that follows. It is optimized, so that the generator is as fast in its tests
    // as it is for users; as one program it would take as long again, and only figures need that.
    ("build", || Build::Tests.make().into()),
    ("test", test),
    ("models", || models::interleave("1000").into()),
    ("bench", || bench::quick(Build::Tests).into()),
    ("tidy", || tidy::run().into()),
];

/// The step that takes longest, and needs root, Go and a gigabyte: only if it is asked for.
const CLUSTER: Step = ("cluster", || match testbed::check_short() {
    Ok(()) => true.into(),
    Err(why) => Outcome { passed: false, closing: vec![format!("cluster: {why}")] },
});

/// The steps of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Extent {
    Local,
    WithCluster,
}

/// Runs the steps; returns true if every one passed.
pub(crate) fn run(extent: Extent) -> bool {
    let begun = now();
    let ended: Vec<_> = STEPS
        .iter()
        .chain((extent == Extent::WithCluster).then_some(&CLUSTER))
        .map(|(name, step)| {
            println!("\n── {name}");
            let begun = now();
            let outcome = step();
            (*name, outcome, since(begun))
        })
        .collect();

    println!("\n── done");
    for line in ended.iter().flat_map(|(_, outcome, _)| &outcome.closing) {
        println!("{line}");
    }
    println!();
    for (name, outcome, took) in &ended {
        println!("{}", row(name, *took, if outcome.passed { "" } else { "FAILED" }));
    }
    println!("{}", row("total", since(begun), ""));
    ended.iter().all(|(_, outcome, _)| outcome.passed)
}

fn row(name: &str, took: Nanos, remark: &str) -> String {
    format!("{name:<12} {:>9}  {remark}", took.to_string()).trim_end().to_owned()
}

/// Runs the tests, shows their output as it comes, and keeps cargo's own lines about results.
fn test() -> Outcome {
    let temporary = "there is room for temporary files";
    let skipped = tempfile::NamedTempFile::new().expect(temporary);
    let mut command = repository::cargo();
    command.args(["test", "--locked", "--profile", "tests", "--workspace", "--no-fail-fast"]);
    command.args(["--color", "never"]);
    command.env(skips::VARIABLE, skipped.path());
    // Not that of the user: the tests may run beside an experiment.
    let runtime = tempfile::tempdir().expect(temporary);
    command.env("BENCHWRIGHT_RUNTIME", runtime.path());

    let mut closing = Vec::new();
    let ended = each_line(command, LONGEST_SILENCE, |line| {
        println!("{line}");
        if is_result(line) {
            closing.push(line.to_owned());
        }
    });
    let passed = ended.expect("cargo runs this task, so it can be started and read");

    let skips = fs::read_to_string(skipped.path()).expect("nobody else removes it");
    closing.extend(skips.lines().map(str::to_owned));
    let refused = skips::refused(&skips, repository::in_ci(), skips::peers_are_given());
    closing.extend(refused.iter().map(|skip| format!("not allowed in CI: {skip}")));
    Outcome { passed: passed && refused.is_empty(), closing }
}

/// Returns true if a line of `cargo test` names a test program, its result, or a failed test.
fn is_result(line: &str) -> bool {
    line.starts_with("test result: ")
        || line.trim_start().starts_with("Running ")
        || line.starts_with("test ") && line.ends_with("FAILED")
        || line.starts_with("error")
}

/// Starts `command` with both its streams in one pipe, and passes each line to `line`; returns true
/// if it succeeded. The programs that it runs are killed if none has printed for `longest_silence`.
/// A program that outlives `command` and keeps the pipe open is a failure, and is killed too.
fn each_line(
    mut command: Command,
    longest_silence: Nanos,
    mut line: impl FnMut(&str),
) -> io::Result<bool> {
    enum Event {
        Line(Vec<u8>),
        Ended(bool),
    }
    let (output, input) = io::pipe()?;
    let pipe = fs::read_link(format!("/proc/self/fd/{}", output.as_raw_fd()))?;
    let mut child = command.stdout(input.try_clone()?).stderr(input).spawn()?;
    drop(command); // It has the write ends open; until they are closed, the output does not end.
    let started = child.id();
    let (sender, events) = mpsc::channel();
    let ends = sender.clone();
    thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n');
        lines.map_while(Result::ok).try_for_each(|bytes| sender.send(Event::Line(bytes)))
    });
    thread::spawn(move || {
        ends.send(Event::Ended(child.wait().is_ok_and(|status| status.success())))
    });
    let mut ended = None;
    loop {
        let patience =
            if ended.is_some() { LAST_OUTPUT.min(longest_silence) } else { longest_silence };
        match events.recv_timeout(patience.into()) {
            Ok(Event::Line(bytes)) => line(&String::from_utf8_lossy(&bytes)),
            Ok(Event::Ended(success)) => ended = Some(success),
            Err(RecvTimeoutError::Disconnected) => return Ok(ended == Some(true)),
            Err(RecvTimeoutError::Timeout) if ended.is_some() => {
                let left = processes::with_open(&pipe);
                for pid in &left {
                    let command = processes::command(*pid);
                    line(&format!("error: process {pid} was left running: {command}"));
                }
                processes::signal("KILL", &left);
                return Ok(false);
            }
            Err(RecvTimeoutError::Timeout) => {
                line(&format!("error: no output for {longest_silence}: what ran last hangs"));
                // Cargo then goes on with the next test program.
                processes::signal("KILL", &processes::children(started));
            }
        }
    }
}

fn cargo(arguments: &[&str]) -> bool {
    repository::succeeds(repository::cargo().args(arguments))
}

impl From<Vec<String>> for Outcome {
    /// Passes if there are no findings; the end of the run repeats them.
    fn from(findings: Vec<String>) -> Outcome {
        Outcome { passed: findings.is_empty(), closing: findings }
    }
}

impl From<bool> for Outcome {
    fn from(passed: bool) -> Outcome {
        Outcome { passed, closing: Vec::new() }
    }
}

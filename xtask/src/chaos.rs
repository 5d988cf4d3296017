//! Random faults against short experiments: whatever happens to a run, it ends with an exit code of the table, what it
//! finished is kept, it can be continued, and nothing of it is left on the machine.

use std::fs;
use std::io::{self, PipeReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use measure::{Nanos, Random};

use crate::bench::kill::left;
use crate::bench::machine::{self, Process};
use crate::journal;
use crate::processes::{self, signal};
use crate::programs::Build;

mod kv;
#[cfg(test)]
mod tests;

pub(crate) const USAGE: &str = "\
cargo xtask chaos [--faults 200] [--seed N]
cargo xtask chaos kv [--kills 200 | --soak MINUTES] [--seed N]

Makes a short experiment on this machine again and again, each time with a random fault at a random moment, and
continues it. It takes some ten minutes with 200 faults. As root also with a full disk, in a small file system of its
own. --seed repeats the same faults.

`kv` kills a server of the key-value store under load instead, and starts it again: with checkpoints it has exactly the
operations that it tells, and in the end each of them once; without durability it is empty. Needs python3.
With --soak it is not killed, but has four times its memory of values of 8 B to 64 KiB: each is read as it was written,
each addition happens once, and its memory stays within the sum of its parts.
";

/// The longest time in which a run has to end, after a fault that ends it and without one.
const LONGEST_END: Nanos = Nanos::from_secs(5);
const LONGEST_RUN: Nanos = Nanos::from_secs(60);
/// The moments of the faults: a run takes about so long.
const MOMENTS: Nanos = Nanos::from_millis(2_500);
/// The size of the file system that gets full.
const SMALL: &str = "size=1m";

/// Trials of a third of a second against a server that each of them starts anew. A closed loop is never late: a noisy
/// machine would have most trials of an open one repeated, and the faults would meet a run that waits.
const SPEC: &str = "\
name: chaos
sut: {deploy: [process: {name: server, command: [BENCHWRIGHT, reference, --delay, 1ms]}]}
workload: {get: /}
load: {model: closed, think: 5ms, connections: 2}
phases: {warm_up: {fixed: 50ms}, measure: {time: 200ms}, drain: 50ms}
reset: {between: trials}
slo: [{metric: p99, max: 2s}, {metric: failures, max: 50%}]
repeat: {trials: 5}
budget: {trials: 40, invalid_attempts: 5, disturbance: 20s}
doctor: {level: off}
";

/// Something that happens to a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Fault {
    Signal(&'static str),
    Stopped,
    ComponentKilled,
    ComponentStopped,
    GeneratorKilled,
    FullDisk,
    ResultsRemoved,
    TemporaryRemoved,
    ClosedOutput,
    ClosedErrors,
    /// It starts with this one of its standard streams closed: a redirection of the shell.
    Without(&'static str),
    SmallFiles,
    FewFiles,
}

impl Fault {
    const ALL: [Fault; 19] = [
        Fault::Signal("KILL"),
        Fault::Signal("INT"),
        Fault::Signal("TERM"),
        Fault::Signal("HUP"),
        Fault::Signal("QUIT"),
        Fault::Stopped,
        Fault::ComponentKilled,
        Fault::ComponentStopped,
        Fault::GeneratorKilled,
        Fault::FullDisk,
        Fault::ResultsRemoved,
        Fault::TemporaryRemoved,
        Fault::ClosedOutput,
        Fault::ClosedErrors,
        Fault::Without("<&-"),
        Fault::Without(">&-"),
        Fault::Without("2>&-"),
        Fault::SmallFiles,
        Fault::FewFiles,
    ];

    fn name(self) -> String {
        match self {
            Fault::Signal(name) => format!("SIG{name}"),
            Fault::Stopped => "stopped for a while".to_owned(),
            Fault::ComponentKilled => "the component is killed".to_owned(),
            Fault::ComponentStopped => "the component is stopped for a while".to_owned(),
            Fault::GeneratorKilled => "the generator is killed".to_owned(),
            Fault::FullDisk => "the disk gets full".to_owned(),
            Fault::ResultsRemoved => "the results are removed".to_owned(),
            Fault::TemporaryRemoved => "the temporary folders are removed".to_owned(),
            Fault::ClosedOutput => "nobody reads its output any more".to_owned(),
            Fault::ClosedErrors => "nobody reads its standard error any more".to_owned(),
            Fault::Without(closed) => format!("started with {closed}"),
            Fault::SmallFiles => "files of 16 KiB at most".to_owned(),
            Fault::FewFiles => "eight open files at most".to_owned(),
        }
    }

    /// Returns true if the run has to end soon.
    fn ends(self) -> bool {
        matches!(self, Fault::Signal(_))
    }

    /// Returns the redirection with which the run starts.
    fn closed(self) -> Option<&'static str> {
        match self {
            Fault::Without(closed) => Some(closed),
            _ => None,
        }
    }
}

/// Runs the words after `chaos`; `None` if they are wrong.
pub(crate) fn run(words: &[&str]) -> Option<bool> {
    if let ["kv", rest @ ..] = words {
        return kv::run(rest);
    }
    let (mut faults, mut seed) = (200, 1);
    for pair in words.chunks(2) {
        match pair {
            ["--faults", number] => faults = number.parse().ok()?,
            ["--seed", number] => seed = number.parse().ok()?,
            _ => return None,
        }
    }
    let passed = Folders::make().and_then(|place| all(&place, faults, seed));
    Some(passed.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        false
    }))
}

fn all(place: &Folders, faults: u64, seed: u64) -> Result<bool, String> {
    let possible: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|fault| place.has_disk || *fault != Fault::FullDisk)
        .collect();
    if !place.has_disk {
        println!("no disk gets full: a small file system can be mounted by root only");
    }
    let mut wrong = 0;
    for number in 0..faults {
        let mut random = Random::part(seed, number);
        let fault = possible[random.below(possible.len() as u64) as usize];
        let moment = Nanos::from_secs_f64(random.unit() * MOMENTS.as_secs_f64());
        let suffered = suffer(place, fault, moment, &mut random)?;
        println!("{:>3}  {} after {moment}: {}", number + 1, fault.name(), suffered.said);
        suffered.wrong.iter().for_each(|what| println!("       WRONG {what}"));
        wrong += usize::from(!suffered.wrong.is_empty());
    }
    println!("{faults} faults, {wrong} of them with something wrong");
    Ok(wrong == 0)
}

/// The folders of the runs.
struct Folders {
    benchwright: PathBuf,
    folder: tempfile::TempDir,
    /// True if `disk` is a small file system.
    has_disk: bool,
}

impl Folders {
    fn make() -> Result<Folders, String> {
        let build = Build::Release;
        if !build.make() {
            return Err("the build failed".to_owned());
        }
        let benchwright = build.program("benchwright")?;
        let failed = |error: std::io::Error| format!("making a folder: {error}");
        let folder = tempfile::Builder::new().prefix("xtask-chaos-").tempdir().map_err(failed)?;
        let mut place = Folders { benchwright, folder, has_disk: false };
        for folder in [place.temporary(), place.disk()] {
            fs::create_dir(folder).map_err(failed)?;
        }
        let spec = SPEC.replace("BENCHWRIGHT", &place.benchwright.display().to_string());
        fs::write(place.spec(), spec).map_err(failed)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", SMALL, "tmpfs"]).arg(place.disk());
        place.has_disk = done(mount.stderr(Stdio::null()));
        Ok(place)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn temporary(&self) -> PathBuf {
        self.path("tmp")
    }

    fn disk(&self) -> PathBuf {
        self.path("disk")
    }

    fn spec(&self) -> PathBuf {
        self.path("chaos.yaml")
    }

    fn results(&self) -> PathBuf {
        self.disk().join("results")
    }

    /// Starts benchwright, with a stream closed by this redirection if there is one; returns its process and the
    /// readers of its output and of its errors.
    fn start(
        &self,
        words: &[PathBuf],
        closed: Option<&str>,
    ) -> Result<(Process, [PipeReader; 2]), String> {
        let failed = |error: io::Error| format!("making a pipe: {error}");
        let (output, stdout) = io::pipe().map_err(failed)?;
        let (errors, stderr) = io::pipe().map_err(failed)?;
        let mut command = without(closed, &self.benchwright);
        command.args(words).current_dir(self.folder.path()).env("TMPDIR", self.temporary());
        command.env("BENCHWRIGHT_RUNTIME", self.temporary().join(left::RUNTIME));
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr);
        Ok((Process::start(&mut command)?, [output, errors]))
    }
}

/// Returns the command of a program that starts with a stream closed by this redirection. The shell becomes the
/// program, so its number is that of the program.
fn without(closed: Option<&str>, program: &Path) -> Command {
    let Some(closed) = closed else { return Command::new(program) };
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("exec \"$0\" \"$@\" {closed}")).arg(program);
    command
}

impl Drop for Folders {
    fn drop(&mut self) {
        if self.has_disk {
            done(Command::new("umount").arg(self.disk()));
        }
    }
}

/// The consequences of a fault.
struct Suffered {
    said: String,
    wrong: Vec<String>,
}

fn suffer(
    place: &Folders,
    fault: Fault,
    moment: Nanos,
    random: &mut Random,
) -> Result<Suffered, String> {
    // The first time there is nothing to remove.
    let _ = fs::remove_dir_all(place.results());
    let words = ["run".into(), place.spec(), "--out".into(), place.results()];
    let (mut runner, [output, errors]) = place.start(&words, fault.closed())?;
    machine::sleep(moment);
    let was_over = matches!(runner.0.try_wait(), Ok(Some(_)));
    let pid = runner.0.id();
    let mut wrong = Vec::new();
    let at_fault = journal::read(&place.results());
    let removes = happen(place, fault, &mut runner.0, random);
    let output = Some(output).filter(|_| fault != Fault::ClosedOutput);
    let errors =
        Some(errors).filter(|_| ![Fault::ClosedOutput, Fault::ClosedErrors].contains(&fault));
    let longest = if fault.ends() { LONGEST_END } else { LONGEST_RUN };
    let ended = end(&mut runner.0, longest);
    let _ = fs::remove_file(place.disk().join("filler"));
    let said: String = [output, errors].into_iter().flatten().map(text).collect();
    let before = journal::read(&place.results());
    if fault != Fault::ResultsRemoved {
        wrong.extend(journal::changed(&at_fault, &before, "at the fault"));
    }
    match ended {
        None => wrong.push(format!("it did not end within {longest}")),
        Some(status) => {
            wrong.extend(unexpected(status, fault, &said));
            // What is left after its own end, before anybody cleans up.
            if status.code().is_some() && !removes {
                wrong.extend(left::on_machine(&place.temporary(), &place.results(), &[pid]));
            }
        }
    }
    drop(runner);
    let [trials, earlier] = [&before, &at_fault].map(|read| journal::count(read));
    let ending = ended.map_or("no end".to_owned(), written);
    let mut words = format!("{earlier} trials, then {ending}, {trials} trials");
    if was_over {
        words += " (it was over)";
    }
    if place.results().join("manifest.json").exists() {
        let (status, pids) = continued(place, pid, &mut wrong)?;
        let (trials, faults) = journal::continued(&place.results(), &before);
        wrong.extend(faults);
        wrong.extend(left::on_machine(&place.temporary(), &place.results(), &pids));
        words += &format!("; continued: {status}, {trials} trials");
    } else {
        let pids = cleaned(place, pid)?;
        wrong.extend(left::on_machine(&place.temporary(), &place.results(), &pids));
    }
    wrong.dedup();
    Ok(Suffered { said: words, wrong })
}

/// Continues a run to its end; returns how it ended, and the runners.
fn continued(
    place: &Folders,
    first: u32,
    wrong: &mut Vec<String>,
) -> Result<(String, Vec<u32>), String> {
    let (mut runner, output) = place.start(&["resume".into(), place.results()], None)?;
    let pids = vec![first, runner.0.id()];
    let ended = end(&mut runner.0, LONGEST_RUN);
    drop(runner);
    let said = output.map(text).concat();
    match ended {
        Some(status) if matches!(status.code(), Some(0 | 3)) => {}
        Some(status) => wrong.push(format!("the continued run: {}: {said}", written(status))),
        None => wrong.push(format!("the continued run did not end: {said}")),
    }
    Ok((ended.map_or("no end".to_owned(), written), pids))
}

/// Removes what a run left that cannot be continued.
fn cleaned(place: &Folders, first: u32) -> Result<Vec<u32>, String> {
    let (mut cleaning, output) = place.start(&["clean".into()], None)?;
    let pid = cleaning.0.id();
    match end(&mut cleaning.0, LONGEST_RUN).and_then(|status| status.code()) {
        Some(0) => Ok(vec![first, pid]),
        code => Err(format!("`clean` ended with {code:?}: {}", output.map(text).concat())),
    }
}

/// Lets a fault happen. Returns true if it removes what would show what is left.
fn happen(place: &Folders, fault: Fault, runner: &mut Child, random: &mut Random) -> bool {
    let pid = runner.id();
    let a_while = Nanos::from_secs_f64(0.2 + 1.3 * random.unit());
    let named = |word: &str| -> Vec<u32> {
        descendants(pid).into_iter().filter(|pid| processes::command(*pid).contains(word)).collect()
    };
    match fault {
        Fault::Signal(name) => signal(name, &[pid]),
        Fault::Stopped => stop_for(&[pid], a_while),
        Fault::ComponentKilled => signal("KILL", &named("reference")),
        Fault::ComponentStopped => stop_for(&named("reference"), a_while),
        Fault::GeneratorKilled => signal("KILL", &named(" load ")),
        Fault::FullDisk => {
            // Until nothing fits any more.
            let _ = fs::write(place.disk().join("filler"), vec![0; 2 << 20]);
        }
        Fault::ResultsRemoved => {
            let _ = fs::remove_dir_all(place.results());
        }
        Fault::TemporaryRemoved => {
            for entry in fs::read_dir(place.temporary()).into_iter().flatten().flatten() {
                if entry.file_name() != left::RUNTIME {
                    let _ = fs::remove_dir_all(entry.path());
                }
            }
        }
        // The readers are the caller's, and a stream that was closed at the start stays so.
        Fault::ClosedOutput | Fault::ClosedErrors | Fault::Without(_) => {}
        Fault::SmallFiles => limit(pid, "--fsize=16384"),
        Fault::FewFiles => limit(pid, "--nofile=8:8"),
    }
    fault == Fault::TemporaryRemoved
}

fn stop_for(pids: &[u32], length: Nanos) {
    signal("STOP", pids);
    machine::sleep(length);
    signal("CONT", pids);
}

fn limit(pid: u32, limit: &str) {
    done(
        Command::new("prlimit")
            .args([format!("--pid={pid}"), limit.to_owned()])
            .stderr(Stdio::null()),
    );
}

fn done(command: &mut Command) -> bool {
    command.status().is_ok_and(|status| status.success())
}

/// Returns the children of a process, their children, and so on.
fn descendants(pid: u32) -> Vec<u32> {
    let children = processes::children(pid).into_iter();
    children.flat_map(|child| [vec![child], descendants(child)].concat()).collect()
}

/// Waits for an end for so long at most.
fn end(child: &mut Child, longest: Nanos) -> Option<ExitStatus> {
    let begun = machine::now();
    while machine::since(begun) < longest {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            _ => machine::sleep(Nanos::from_millis(20)),
        }
    }
    None
}

/// Returns what is wrong about an end: a code that is not in the table, or one that does not fit the fault.
fn unexpected(status: ExitStatus, fault: Fault, said: &str) -> Option<String> {
    let is_expected = match (fault, status.code()) {
        (Fault::Signal("KILL"), None) => status.signal() == Some(9),
        (_, Some(0 | 1 | 2 | 3 | 130)) => !said.contains("panicked at"),
        _ => false,
    };
    (!is_expected).then(|| format!("it ended with {}: {said}", written(status)))
}

fn written(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "neither exit nor signal".to_owned(),
    }
}

/// Returns all output of a program. A run of this length prints less than a pipe holds.
fn text(mut output: PipeReader) -> String {
    let mut bytes = Vec::new();
    let _ = output.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

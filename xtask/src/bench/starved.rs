//! The check that the generator notices a lack of CPU. It gets too little CPU in three ways, and
//! the reference server's log shows whether its requests really arrived late. Undisturbed, it must
//! accept its loads.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use measure::Nanos;

use super::Attempts;
use super::load::{self, Load};
use super::machine::{Machine, Others, Process, SENT_AT_ONCE, Server, Side};
use crate::repository;

#[cfg(test)]
mod tests;

/// The lateness from which on a generator must not call its load valid.
const LATE: Nanos = Nanos::from_millis(1);
/// Others that use so much of a CPU can make one request of a hundred late, which is the p99. The hiccup
/// meter misses them: its thread runs before theirs. A virtual machine has such threads of its own, in
/// bursts of 2 ms (`kdamond`).
const A_HUNDREDTH: f64 = 0.01;
const BUSY_LOOPS: usize = 3;
/// The kernel's usual period; the quota is a twentieth of it.
const PERIOD_US: u64 = 100_000;
const QUOTA_US: u64 = PERIOD_US / 20;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// A CPU quota of 5 %.
    Quota,
    /// Three busy loops on the generator's CPU.
    BusyLoops,
    /// Stopped three times for 200 ms.
    Stopped,
    Undisturbed,
}

/// One load, and its lateness in the server's log.
struct Trial {
    load: Load,
    late_p99: Nanos,
}

/// Runs `starved` trials of each kind and `undisturbed` ones; returns true if all were judged
/// correctly.
pub(super) fn run(
    machine: &Machine,
    script: &Path,
    starved: usize,
    undisturbed: Attempts,
) -> Result<bool, String> {
    let quota = quota(machine, script, starved)?;
    let busy = ways(machine, script, Way::BusyLoops, None, starved)?;
    let stopped = ways(machine, script, Way::Stopped, None, starved)?;
    let alone = alone(machine, script, undisturbed)?;
    Ok(quota && busy && stopped && alone)
}

/// Runs the trials with a CPU quota. They are skipped without a control group, which continuous
/// integration must have.
fn quota(machine: &Machine, script: &Path, trials: usize) -> Result<bool, String> {
    match Quota::make() {
        Ok(quota) => ways(machine, script, Way::Quota, Some(&quota), trials),
        Err(why) => {
            println!("skipped: a CPU quota of 5 %: needs a writable control group: {why}");
            Ok(!repository::in_ci())
        }
    }
}

fn ways(
    machine: &Machine,
    script: &Path,
    way: Way,
    quota: Option<&Quota>,
    trials: usize,
) -> Result<bool, String> {
    println!("\n{way}: must be refused if late by more than {LATE} in the server's log (p99)");
    let mut verdicts = Vec::new();
    for number in 1..=trials {
        let trial = measure(machine, script, way, quota)?;
        let verdict = judge_starved(&trial);
        print_trial(
            number,
            &trial,
            match verdict {
                Starved::Refused => "refused",
                Starved::Missed => "MISSED",
                Starved::Punctual => "was not late",
            },
        );
        verdicts.push(verdict);
    }
    let count = |verdict| verdicts.iter().filter(|v| **v == verdict).count();
    let (refused, missed) = (count(Starved::Refused), count(Starved::Missed));
    println!("{refused} refused, {missed} missed, of {trials}");
    if refused + missed == 0 {
        println!("none of them was late, so nothing was tested");
    }
    Ok(missed == 0 && 0 < refused)
}

fn alone(machine: &Machine, script: &Path, attempts: Attempts) -> Result<bool, String> {
    let Attempts { most, last_good, enough, spare } = attempts;
    println!("\n{}: at most {spare} refused, with a pause in the hiccup meter", Way::Undisturbed);
    let mut verdicts = Vec::new();
    for number in 1..=most {
        let trial = measure(machine, script, Way::Undisturbed, None)?;
        let verdict = judge_undisturbed(&trial.load);
        let word = match verdict {
            Undisturbed::Accepted => "accepted",
            Undisturbed::Explained => "refused, and the machine did pause",
            Undisturbed::Unexplained => "REFUSED WITHOUT REASON",
            Undisturbed::Shared => "refused, but others used the machine: not an undisturbed trial",
        };
        print_trial(number, &trial, word);
        verdicts.push(verdict);
        if verdicts.iter().filter(|v| **v == Undisturbed::Accepted).count() == last_good {
            break;
        }
    }
    let count = |verdict| verdicts.iter().filter(|v| **v == verdict).count();
    let (explained, unexplained) = (count(Undisturbed::Explained), count(Undisturbed::Unexplained));
    let undisturbed = verdicts.len() - count(Undisturbed::Shared);
    println!(
        "{undisturbed} of {} count (at least {enough}): {explained} refused with a reason (at most \
         {spare}), {unexplained} without",
        verdicts.len()
    );
    Ok(enough <= undisturbed && explained <= spare && unexplained == 0)
}

fn measure(
    machine: &Machine,
    script: &Path,
    way: Way,
    quota: Option<&Quota>,
) -> Result<Trial, String> {
    // At 10k/s the hybrid timer needs more CPU than three competitors leave.
    let rate = if way == Way::BusyLoops { "10k/s" } else { "1k/s" };
    let others = Others::watch();
    let arguments = ["--delay", "1ms", "--numbered-rate", rate, "--kernel-timestamps"];
    let server = Server::start(machine, &[&arguments[..], &SENT_AT_ONCE].concat())?;
    let loops = if way == Way::BusyLoops { BUSY_LOOPS } else { 0 };
    let loops: Vec<Process> = (0..loops).map(|_| busy_loop(machine)).collect::<Result<_, _>>()?;
    let mut command = match (quota, way) {
        (Some(quota), _) => quota.command(machine),
        (None, Way::Stopped) => stopped(machine),
        (None, _) => machine.command(Side::Client, &machine.benchwright),
    };
    command.args(["load", &server.url, "--rate", rate, "--arrivals", "constant"]);
    command.args(["--shards", "1", "--connections", "256", "--duration", "3s"]).args(SENT_AT_ONCE);
    command.arg("--script").arg(script);
    let load = Load::run(&mut command)?;
    drop(loops);
    let log = server.end()?;
    let late_p99 = load::time(&log["late_p99_ns"]).ok_or("the server's log has no lateness")?;
    Ok(Trial { load: load.beside(&others), late_p99 })
}

/// Returns the command of the generator and a shell that stops it three times and exits as it does.
fn stopped(machine: &Machine) -> Command {
    let mut command = machine.command(Side::Client, "sh");
    let stops = "\"$0\" \"$@\" & g=$!; for i in 1 2 3; do sleep 0.6; kill -STOP $g; sleep 0.2; \
                 kill -CONT $g; done; wait $g";
    command.args(["-c", stops]).arg(&machine.benchwright);
    command
}

/// Starts a busy loop; it ends with this task in any case.
fn busy_loop(machine: &Machine) -> Result<Process, String> {
    let mut command = machine.command(Side::Client, "sh");
    command.args(["-c", "while kill -0 $PPID; do :; done"]);
    Process::start(command.stderr(Stdio::null()))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Starved {
    /// Exit code 3, with a named gate.
    Refused,
    Missed,
    /// Not late in the server's log; then the generator may accept or refuse.
    Punctual,
}

fn judge_starved(trial: &Trial) -> Starved {
    let refused = trial.load.exit == Some(3) && !trial.load.gates.is_empty();
    match () {
        () if trial.late_p99 <= LATE => Starved::Punctual,
        () if refused && !trial.load.reasons.is_empty() => Starved::Refused,
        () => Starved::Missed,
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Undisturbed {
    Accepted,
    /// The hiccup meter saw a pause at least as long as the generator's lateness.
    Explained,
    Unexplained,
    /// Others used the machine, which the meter may miss: nothing follows.
    Shared,
}

fn judge_undisturbed(load: &Load) -> Undisturbed {
    match () {
        () if load.is_valid() => Undisturbed::Accepted,
        () if load.is_shared() => Undisturbed::Shared,
        () if load.gates.iter().any(|gate| gate == "lost") => Undisturbed::Unexplained,
        () if load.gates.iter().any(|gate| gate == "disturbed") => Undisturbed::Explained,
        () if load.lateness_p99 <= load.noise.hiccup_max => Undisturbed::Explained,
        () if A_HUNDREDTH <= load.noise.others_share => Undisturbed::Shared,
        () => Undisturbed::Unexplained,
    }
}

fn print_trial(number: usize, trial: &Trial, word: &str) {
    let Trial { load, late_p99 } = trial;
    let exit = load.exit.map_or("by a signal".to_owned(), |code| code.to_string());
    println!(
        "{number:>3}  late p99: server {late_p99:>8}, generator {:>8}; exit {exit}: {word}",
        load.lateness_p99
    );
    println!("       {}", load.noise);
    load.reasons.iter().for_each(|reason| println!("       {reason}"));
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Way::Quota => "a CPU quota of 5 %",
            Way::BusyLoops => "three busy loops on its CPU",
            Way::Stopped => "stopped three times for 200 ms",
            Way::Undisturbed => "undisturbed",
        })
    }
}

/// A control group of our own with a CPU quota; removed when dropped.
struct Quota(PathBuf);

impl Quota {
    /// Makes it in version 2 of the kernel's interface, else in version 1.
    fn make() -> Result<Quota, String> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let two = [("cpu.max", format!("{QUOTA_US} {PERIOD_US}"))];
        let one = [
            ("cpu.cfs_period_us", PERIOD_US.to_string()),
            ("cpu.cfs_quota_us", QUOTA_US.to_string()),
        ];
        let mut refused = Vec::new();
        for (group, files) in [(version_2(&own), &two[..]), (version_1(&own), &one[..])] {
            let Some(group) = group else { continue };
            match Quota::limit(&group, files) {
                Ok(quota) => return Ok(quota),
                Err(error) => refused.push(format!("{}: {error}", group.display())),
            }
        }
        Err(if refused.is_empty() { "none is mounted".to_owned() } else { refused.join("; ") })
    }

    fn limit(group: &Path, files: &[(&str, String)]) -> std::io::Result<Quota> {
        fs::create_dir_all(group)?;
        let quota = Quota(group.to_owned());
        for (name, value) in files {
            fs::write(group.join(name), value)?;
        }
        Ok(quota)
    }

    /// Returns the command of the generator, which enters the group before it starts.
    fn command(&self, machine: &Machine) -> Command {
        let mut command = machine.command(Side::Client, "sh");
        let enter = "echo $$ >\"$0\"/cgroup.procs && exec \"$@\"";
        command.args(["-c", enter]).arg(&self.0).arg(&machine.benchwright);
        command
    }
}

impl Drop for Quota {
    fn drop(&mut self) {
        // It is empty, unless another process entered it.
        let _ = fs::remove_dir(&self.0);
    }
}

const GROUP: &str = "benchwright-bench";

fn version_2(own: &str) -> Option<PathBuf> {
    let path = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    root.join("cgroup.controllers").exists().then(|| root.join(path).join(GROUP))
}

fn version_1(own: &str) -> Option<PathBuf> {
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let controllers = fields.nth(1)?;
        let path = fields.next()?.trim_start_matches('/');
        let is_cpu = controllers.split(',').any(|controller| controller == "cpu");
        let mounted = Path::new("/sys/fs/cgroup").join(controllers).join(path);
        is_cpu.then(|| mounted.join(GROUP))
    })
}

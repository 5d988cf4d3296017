//! The error of a search whose generator is kept from running now and then, beside the same search
//! undisturbed. Bursts of a real-time loop on the generator's CPU do what a hypervisor does that
//! takes the CPU away.
//!
//! The capacity does not depend on the machine: eight connections to a server that answers after
//! 10 ms carry 800 requests per second.

use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::goal::{Bounds, Finding, Goal};
use super::json::Value;
use super::machine::{Machine, Others, Process, Side};
use super::note;
use super::scratch::Scratch;

#[cfg(test)]
mod tests;

const SPEC: &str = "\
name: search
where: {roles: {sut: {cpus: 0}, load: {cpus: 1}}}
sut: {deploy: [process: {name: server, command: [benchwright, reference, --delay, 10ms]}]}
reset: {between: never}
workload: {get: /}
load: {model: open, arrivals: constant, connections: 8, backlog: 10k}
phases: {warm_up: {fixed: 200ms}, measure: {time: 2s}, drain: 500ms}
slo: [{metric: p99, max: 100ms}]
search: {strategy: adaptive, range: [500/s, 1.2k/s], precision: 2%}
budget: {trials: 60, time: 10min, disturbance: 10min, invalid_attempts: 20}
";

/// Bursts of 60 ms at irregular times, 1.3 to 7 s apart. The loop has a lower priority than the
/// program that ends it, and a higher one than any other.
const BURSTS: &str = "while kill -0 $PPID; do for s in 3 1.3 5.1 2.2 7 4; do sleep $s; chrt --fifo 60 \
                      timeout 0.06 chrt --fifo 50 sh -c 'while :; do :; done'; done; done";

/// The most by which an answer of a starved search may differ from the median of the undisturbed
/// ones: its precision, with one percent more.
const MOST_OFF: f64 = 0.03;

/// Makes pairs of searches, one undisturbed and one starved; returns true if starving changed no
/// answer by more than the precision.
pub(super) fn run(machine: &Machine, pairs: usize, note: Option<&Path>) -> Result<bool, String> {
    let folder = Scratch::make("search")?;
    let watch = Others::watch();
    let (mut quiet, mut starved) = (Vec::new(), Vec::new());
    for number in 1..=pairs {
        for (is_starved, done) in [(false, &mut quiet), (true, &mut starved)] {
            let bursts = is_starved.then(|| bursts(machine)).transpose()?;
            let searched = Searched::measure(machine, &folder)?;
            drop(bursts);
            let name = if is_starved { "starved" } else { "quiet" };
            println!("{number:>3}  {name:<8} {searched}");
            done.push(searched);
        }
    }
    let noise = format!("{:.2} CPUs used by others, {:.0} s", watch.share(), watch.seconds());
    println!("\n{noise}");
    let findings = findings(&quiet, &starved);
    findings.iter().for_each(|finding| println!("{finding} {}", finding.beside));
    if let Some(note) = note {
        let about = format!(
            "Eight connections to a server with a delay of 10 ms; p99 ≤ 100 ms, trials of 2 s, \
             precision 2 %. Starved: bursts of 60 ms of a real-time loop on the generator's CPU, 1.3 \
             to 7 s apart. {noise}."
        );
        let each = quiet
            .iter()
            .zip(&starved)
            .map(|(quiet, starved)| format!("quiet {quiet}\nstarved {starved}"));
        let closing: Vec<String> = std::iter::once(about).chain(each).collect();
        note::add(note, "Searches beside a starved generator", "adaptive", &findings, &closing)?;
    }
    Ok(findings.iter().all(Finding::is_met))
}

/// Starts the bursts; they end with this task in any case.
fn bursts(machine: &Machine) -> Result<Process, String> {
    let mut command = machine.command(Side::Client, "sh");
    Process::start(command.args(["-c", BURSTS]).stderr(Stdio::null()))
}

/// A search that has ended.
#[derive(Clone, Debug, PartialEq)]
struct Searched {
    /// The answer in requests per second; none if the search has none.
    capacity: Option<f64>,
    /// The trials that answered, without a sign of disturbance and slowed, and those that did not.
    valid: usize,
    bounded: usize,
    repeated: usize,
}

impl Searched {
    fn measure(machine: &Machine, folder: &Scratch) -> Result<Searched, String> {
        let spec = folder.write("search.yaml", SPEC)?;
        let out = folder.path("out");
        let _ = fs::remove_dir_all(&out);
        let mut command = Command::new(&machine.benchwright);
        command.arg("run").arg(spec).arg("--json").arg("--out").arg(&out);
        let output = command.output().map_err(|error| format!("starting benchwright: {error}"))?;
        let journal = fs::read_to_string(out.join("journal.jsonl"));
        let answer = Value::read(&String::from_utf8_lossy(&output.stdout));
        answer
            .zip(journal.ok())
            .map(|(answer, journal)| Searched::read(&answer, &journal))
            .ok_or_else(|| {
                let problem = String::from_utf8_lossy(&output.stderr);
                format!("the run ended with {}: {problem}", output.status)
            })
    }

    fn read(answer: &Value, journal: &str) -> Searched {
        let status = |line| Value::read(line)?.text("status").map(str::to_owned);
        let statuses: Vec<String> = journal.lines().filter_map(status).collect();
        let count = |status: &str| statuses.iter().filter(|one| *one == status).count();
        Searched {
            capacity: answer.list("searches").first().and_then(|one| one.number("capacity")),
            valid: count("valid"),
            bounded: count("bounded"),
            repeated: count("invalid"),
        }
    }
}

/// `842/s after 14 trials and 3 slowed ones; 2 repeated`.
impl fmt::Display for Searched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Searched { capacity, valid, bounded, repeated } = self;
        match capacity {
            Some(capacity) => write!(f, "{capacity:.0}/s")?,
            None => f.write_str("no answer")?,
        }
        write!(
            f,
            " after {valid} valid trials and {bounded} slowed ones; {repeated} more were repeated"
        )
    }
}

/// Returns how far starved answers are from the undisturbed ones, and the share of slowed trials that
/// answered and were not repeated.
fn findings(quiet: &[Searched], starved: &[Searched]) -> [Finding; 2] {
    let mut answers: Vec<f64> = quiet.iter().filter_map(|one| one.capacity).collect();
    answers.sort_by(f64::total_cmp);
    let median = answers.get(answers.len() / 2).copied().unwrap_or(f64::NAN);
    let off =
        |one: &Searched| one.capacity.map_or(f64::INFINITY, |capacity| capacity / median - 1.0);
    let offs: Vec<f64> = starved.iter().map(|one| off(one).abs()).collect();
    let sum = |of: fn(&Searched) -> usize| starved.iter().map(of).sum::<usize>();
    let (slowed, repeated) = (sum(|one| one.bounded), sum(|one| one.repeated));
    let saved = slowed as f64 / (slowed + repeated).max(1) as f64;
    let quiet_off = quiet.iter().map(|one| off(one).abs()).fold(0.0, f64::max);
    [
        Finding {
            what: "starved answers, largest distance from the undisturbed median".to_owned(),
            figures: vec![offs.iter().copied().fold(0.0, f64::max)],
            beside: format!(
                "(the largest of {offs:.3?}; undisturbed {quiet_off:.3} of {median:.0}/s)"
            ),
            goal: Goal::AtMost(Bounds { must: MOST_OFF, stretch: None }),
        },
        Finding {
            what: "slowed trials that answered without a repetition, share".to_owned(),
            figures: vec![saved],
            beside: format!("({slowed} of {})", slowed + repeated),
            goal: Goal::None,
        },
    ]
}

//! The error rates of `benchwright compare` on a real server: how often it sees a difference where
//! there is none, and how often it finds one of 5 %.
//!
//! Each comparison is an experiment of its own: five blocks of four trials in random order, and the
//! server is started anew whenever the arm changes.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::goal::{Finding, Goal};
use super::load;
use super::machine::{Machine, Others};
use super::note;
use super::scratch::Scratch;

#[cfg(test)]
mod tests;

/// The response time of arm A is this delay, plus some 0.1 ms for the connection.
const DELAY: &str = "2ms";
/// 5 % more.
const SLOWER: &str = "2.1ms";
/// The most that may be flagged of 100 equal pairs: with a probability of an error of 5 %, more
/// happen in one of 35 runs of this bench.
const MOST_FLAGGED: f64 = 0.09;
const LEAST_FOUND: f64 = 0.9;
/// The share of all comparisons that must have all their trials.
const LEAST_COMPLETE: f64 = 0.9;
const BLOCKS: u64 = 5;

/// Each comparison has a seed of its own: with one seed for all, each would have the same order of
/// trials.
fn spec(delay: &str, seed: usize) -> String {
    format!(
        "\
name: compare
seed: {seed}
vars: {{delay: {DELAY}}}
where: {{roles: {{sut: {{cpus: 0}}, load: {{cpus: 1}}}}}}
sut: {{deploy: [process: {{name: server, command: [benchwright, reference, --delay, \"${{vars.delay}}\"]}}]}}
factors:
  version:
    levels:
      - {{name: a, set: {{vars: {{delay: {DELAY}}}}}}}
      - {{name: b, set: {{vars: {{delay: {delay}}}}}}}
workload: {{get: /}}
load: {{model: open, arrivals: poisson, rate: 1000/s, connections: 64}}
phases: {{warm_up: {{fixed: 100ms}}, measure: {{time: 500ms}}, drain: 50ms}}
slo: [{{metric: p99, max: 20ms}}]
repeat: {{trials: 10, order: {{blocks: 4}}}}
compare: {{metrics: [p50, p99], margin: 3%}}
budget: {{trials: 200, time: 60s, disturbance: 120s, invalid_attempts: 9}}
"
    )
}

/// Compares equal servers and a slower one; returns true if both error rates are within bounds.
pub(super) fn run(
    machine: &Machine,
    equal: usize,
    slower: usize,
    note: Option<&Path>,
) -> Result<bool, String> {
    let folder = Scratch::make()?;
    let (mut equals, mut others) = (Vec::new(), Vec::new());
    let watch = Others::watch();
    let most = equal.max(slower);
    for number in 1..=most {
        // The fewer ones are spread over the whole time.
        let takes_turn = |count: usize| number * count / most != (number - 1) * count / most;
        for (count, delay, name, done) in
            [(equal, DELAY, "equal", &mut equals), (slower, SLOWER, "slower", &mut others)]
        {
            if takes_turn(count) {
                let compared = Compared::measure(machine, &folder, delay, number)?;
                println!("{number:>4}  {name:<6}  {compared}");
                done.push(compared);
            }
        }
    }
    let noise = format!("{:.2} CPUs used by others, {:.0} s", watch.share(), watch.seconds());
    println!("\n{noise}");
    let findings = findings(&equals, &others);
    findings.iter().for_each(|finding| println!("{finding} {}", finding.beside));
    if let Some(note) = note {
        let title = "Comparisons on a real server";
        let about = format!(
            "Five blocks of four trials of 0.5 s at 1,000/s; a server with a delay of {DELAY}, and of \
             {SLOWER}; metrics p50 and p99 together, margin 3 %. {noise}."
        );
        let ratios = |of: &[Compared]| -> String {
            let each: Vec<String> = of.iter().map(|one| format!("{:.4}", one.effect)).collect();
            each.join(" ")
        };
        let closing = [
            about,
            format!("p50 of B over that of A, equal servers: {}", ratios(&equals)),
            format!("5 % slower: {}", ratios(&others)),
        ];
        note::add(note, title, "benchwright compare", &findings, &closing)?;
    }
    Ok(findings.iter().all(Finding::is_met))
}

/// The result of one comparison.
#[derive(Clone, Debug, PartialEq)]
struct Compared {
    verdict: String,
    /// The p50 of B over that of A.
    effect: f64,
    /// The smallest p of the metrics.
    p: f64,
    /// True if no trial is missing.
    is_complete: bool,
}

impl Compared {
    fn measure(
        machine: &Machine,
        folder: &Scratch,
        delay: &str,
        seed: usize,
    ) -> Result<Compared, String> {
        let spec = folder.write("compare.yaml", &spec(delay, seed))?;
        let out = folder.path("out");
        let _ = fs::remove_dir_all(&out);
        let mut command = Command::new(&machine.benchwright);
        command.arg("run").arg(spec).arg("--out").arg(&out);
        // An undecided comparison is exit code 3, as are missing trials: the document tells them apart.
        let ran = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
        let ran = ran.map_err(|error| format!("starting benchwright: {error}"))?;
        let mut command = Command::new(&machine.benchwright);
        let read = load::document(command.arg("compare").arg(&out).arg("--json"));
        let (document, _) = read.map_err(|why| format!("the run ended with {ran}; {why}"))?;
        Compared::read(&document).ok_or_else(|| format!("this is not a comparison: {document}"))
    }

    fn read(document: &Value) -> Option<Compared> {
        let metrics = document["metrics"].as_array()?;
        let ps = metrics.iter().filter_map(|metric| metric["p"].as_f64());
        Some(Compared {
            verdict: document["verdict"].as_str()?.to_owned(),
            effect: metrics.first()?["effect"].as_f64().unwrap_or(f64::NAN),
            p: ps.fold(1.0, f64::min),
            is_complete: metrics.iter().all(|metric| metric["blocks"] == BLOCKS),
        })
    }

    /// Returns true if it says that B is better or worse.
    fn is_flagged(&self) -> bool {
        matches!(&*self.verdict, "better" | "worse")
    }
}

/// `equivalent, p50 × 1.0003, p 0.41`.
impl std::fmt::Display for Compared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Compared { verdict, effect, p, is_complete } = self;
        write!(f, "{verdict}, p50 × {effect:.4}, p {p:.3}")?;
        f.write_str(if *is_complete { "" } else { "; trials are missing: it does not count" })
    }
}

/// Returns the error rates, and the share of complete comparisons, which alone count.
fn findings(equals: &[Compared], slower: &[Compared]) -> [Finding; 3] {
    let complete = |all: &[Compared]| -> Vec<Compared> {
        all.iter().filter(|one| one.is_complete).cloned().collect()
    };
    let (with_equals, with_slower) = (complete(equals), complete(slower));
    let counted = with_equals.len() + with_slower.len();
    let flagged = with_equals.iter().filter(|one| one.is_flagged()).count();
    let found = with_slower.iter().filter(|one| one.verdict == "worse").count();
    let finding = |what: &str, count: usize, all: usize, beside, goal| Finding {
        what: what.to_owned(),
        figures: vec![count as f64 / all.max(1) as f64],
        beside,
        goal,
    };
    let equivalent = with_equals.iter().filter(|one| one.verdict == "equivalent").count();
    [
        finding(
            "equal servers, share with a difference",
            flagged,
            with_equals.len(),
            format!("({flagged} of {}; {equivalent} equivalent)", with_equals.len()),
            Goal::most(MOST_FLAGGED),
        ),
        finding(
            "5 % slower, share found worse",
            found,
            with_slower.len(),
            format!("({found} of {})", with_slower.len()),
            Goal::least(LEAST_FOUND),
        ),
        finding(
            "share of comparisons with all trials",
            counted,
            equals.len() + slower.len(),
            format!("({counted} of {})", equals.len() + slower.len()),
            Goal::least(LEAST_COMPLETE),
        ),
    ]
}

//! One run of `benchwright load` and its document.

use std::process::{Command, Output};

use measure::Nanos;

use super::json::Value;
use super::machine::{MOST_OF_OTHERS, Others};

/// The figures of one load, and its exit code.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) exit: Option<i32>,
    pub(super) intended: u64,
    pub(super) completed: u64,
    pub(super) completed_per_s: f64,
    /// The p50, p90 and p99.
    pub(super) response: [Nanos; 3],
    pub(super) lateness_p50: Nanos,
    pub(super) lateness_p99: Nanos,
    /// The failed gates.
    pub(super) gates: Vec<String>,
    pub(super) reasons: Vec<String>,
    pub(super) noise: Noise,
}

/// The noise of the machine during a load.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Noise {
    pub(super) hiccup_p99: Nanos,
    pub(super) hiccup_max: Nanos,
    /// The lateness of the kernel in waking the generator; zero if it never slept.
    pub(super) wake_up_p99: Nanos,
    /// `None` if the kernel does not report it.
    pub(super) steal_share: Option<f64>,
    /// The share of one CPU that other processes used; zero unless measured.
    pub(super) others_share: f64,
}

impl Load {
    /// Runs a load to its end; `command` has everything but `--json`.
    pub(super) fn run(command: &mut Command) -> Result<Load, String> {
        Load::run_script(command, &[])
    }

    /// Does the same; `arguments` are those of the load's script, which end the command line.
    pub(super) fn run_script(command: &mut Command, arguments: &[&str]) -> Result<Load, String> {
        command.args(["--json", "--progress", "never"]);
        if !arguments.is_empty() {
            command.arg("--").args(arguments);
        }
        let output = command.output();
        let Output { status, stdout, stderr } =
            output.map_err(|e| format!("starting {}: {e}", command.get_program().display()))?;
        let document = Value::read(&String::from_utf8_lossy(&stdout));
        document.and_then(|document| Load::of(&document, status.code())).ok_or_else(|| {
            format!("the generator ({status}): {}", String::from_utf8_lossy(&stderr).trim())
        })
    }

    /// Reads a document; `None` if it is not that of a load.
    pub(super) fn of(document: &Value, exit: Option<i32>) -> Option<Load> {
        let reason = |value: &Value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        };
        let gates = document.list("validity.gates").iter();
        let missed = gates.filter(|gate| !gate.is_true("passed"));
        Some(Load {
            exit,
            intended: document.number("counts.intended")? as u64,
            completed: document.number("counts.completed")? as u64,
            completed_per_s: document.number("rates_per_s.completed")?,
            response: quantiles(document, "response_time.")?,
            lateness_p50: time(document, "lateness.p50_ns")?,
            lateness_p99: time(document, "lateness.p99_ns")?,
            gates: missed.filter_map(|gate| gate.text("name").map(str::to_owned)).collect(),
            reasons: document.list("validity.reasons").iter().filter_map(reason).collect(),
            noise: Noise {
                hiccup_p99: time(document, "generator.hiccup.p99_ns").unwrap_or_default(),
                hiccup_max: time(document, "generator.hiccup_max_ns").unwrap_or_default(),
                wake_up_p99: time(document, "generator.wake_up_delay.p99_ns").unwrap_or_default(),
                steal_share: document.number("generator.steal_share"),
                others_share: 0.0,
            },
        })
    }

    /// Returns true if the generator calls its figures valid.
    pub(super) fn is_valid(&self) -> bool {
        self.gates.is_empty()
    }

    /// Returns true if others used so much of the machine that nothing can be concluded.
    pub(super) fn is_shared(&self) -> bool {
        MOST_OF_OTHERS < self.noise.others_share
    }

    /// Adds the share that others used meanwhile.
    pub(super) fn beside(mut self, others: &Others) -> Load {
        self.noise.others_share = others.share();
        self
    }
}

/// `hiccups p99 120 µs, max 1.20 ms, steal 0.1 %, others used 0.4 % of a CPU`.
impl std::fmt::Display for Noise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "hiccups p99 {}, max {}, ", self.hiccup_p99, self.hiccup_max)?;
        match self.steal_share {
            Some(share) => write!(f, "steal {:.1} %", 100.0 * share)?,
            None => write!(f, "steal unknown")?,
        }
        write!(f, ", others used {:.1} % of a CPU", 100.0 * self.others_share)
    }
}

pub(super) fn time(document: &Value, path: &str) -> Option<Nanos> {
    document.number(path).map(|ns| Nanos(ns as u64))
}

/// Returns p50, p90 and p99 below a path that ends in a dot, or at the top level.
pub(super) fn quantiles(document: &Value, path: &str) -> Option<[Nanos; 3]> {
    let at = |name| time(document, &format!("{path}{name}_ns"));
    Some([at("p50")?, at("p90")?, at("p99")?])
}

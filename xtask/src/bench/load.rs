//! One run of `benchwright load` and its document.

use std::process::{Command, Output};

use measure::Nanos;
use serde_json::Value;

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
    /// `None` if the kernel does not report it.
    pub(super) steal_share: Option<f64>,
    /// The share of one CPU that other processes used; zero unless measured.
    pub(super) others_share: f64,
}

impl Load {
    /// Runs a load to its end; `command` has everything but `--json`.
    pub(super) fn run(command: &mut Command) -> Result<Load, String> {
        let (document, exit) = document(command.args(["--json", "--progress", "never"]))?;
        Load::of(&document, exit)
    }

    /// Reads the document of a load.
    pub(super) fn of(document: &Value, exit: Option<i32>) -> Result<Load, String> {
        Load::read(document, exit).ok_or_else(|| "this is not the document of a load".to_owned())
    }

    fn read(document: &Value, exit: Option<i32>) -> Option<Load> {
        let list = |name: &str| document["validity"][name].as_array().into_iter().flatten();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (counts, generator) = (&document["counts"], &document["generator"]);
        let missed = list("gates").filter(|gate| gate["passed"] != true);
        Some(Load {
            exit,
            intended: counts["intended"].as_u64()?,
            completed: counts["completed"].as_u64()?,
            completed_per_s: document["rates_per_s"]["completed"].as_f64()?,
            response: quantiles(&document["response_time"])?,
            lateness_p99: time(&document["lateness"]["p99_ns"])?,
            gates: missed.filter_map(|gate| text(&gate["name"])).collect(),
            reasons: list("reasons").filter_map(text).collect(),
            noise: Noise {
                hiccup_p99: time(&generator["hiccup"]["p99_ns"]).unwrap_or_default(),
                hiccup_max: time(&generator["hiccup_max_ns"]).unwrap_or_default(),
                steal_share: generator["steal_share"].as_f64(),
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

/// Runs a program to its end; returns the document that it printed, and its exit code.
pub(super) fn document(command: &mut Command) -> Result<(Value, Option<i32>), String> {
    let program = command.get_program().display().to_string();
    let output = command.output().map_err(|error| format!("starting {program}: {error}"))?;
    let Output { status, stdout, stderr } = output;
    let document = serde_json::from_slice(&stdout);
    let said = |_| format!("{program} ({status}): {}", String::from_utf8_lossy(&stderr).trim());
    Ok((document.map_err(said)?, status.code()))
}

pub(super) fn time(document: &Value) -> Option<Nanos> {
    document.as_u64().map(Nanos)
}

/// Returns p50, p90 and p99 of a distribution.
pub(super) fn quantiles(times: &Value) -> Option<[Nanos; 3]> {
    Some([time(&times["p50_ns"])?, time(&times["p90_ns"])?, time(&times["p99_ns"])?])
}

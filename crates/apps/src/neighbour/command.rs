//! The command line of the application.

use std::time::Duration;

use clap::Args;

use super::site;
use crate::kit::arguments::{Common, positive};

/// Noisy neighbour: uses CPU time in bursts, to disturb what runs beside it on purpose.
///
/// Time is divided into spells. In each the neighbour uses another share of a CPU, evenly
/// distributed from 0 to twice --cpu, in bursts at random times. Both follow the clock of the machine
/// and --seed, so a restart does not begin the noise anew. The process is confined like any other: to
/// its CPUs, and to its quota.
///
/// It serves
///   GET  /healthz   200
///   GET  /metrics   bursts and the time that they took, in Prometheus' text format
///
/// Try it:
///   benchwright-apps neighbour --cpu 0.3 --burst 1ms
#[derive(Args, Clone)]
#[command(verbatim_doc_comment)]
pub struct Command {
    /// The share of a CPU that each thread uses on average, at most 0.45.
    #[arg(long, value_name = "SHARE", default_value = "0.3", value_parser = share)]
    pub cpu: f64,

    /// The length of a burst.
    #[arg(long, value_name = "DURATION", default_value = "1ms", value_parser = positive)]
    pub burst: Duration,

    /// The length of a spell.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = positive)]
    pub spell: Duration,

    /// The threads that make noise, each with spells and bursts of its own.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: u32,

    /// The CPU on which all noise is made; by default it is where the kernel puts it.
    #[arg(long, value_name = "CPU")]
    pub on_cpu: Option<usize>,

    /// The seed of the noise.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    #[command(flatten)]
    pub common: Common,
}

impl Command {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        site::run(self)
    }
}

/// The largest average share: in a spell it may be twice as large, and some time is always left.
const MOST: f64 = 0.45;

fn share(text: &str) -> Result<f64, String> {
    let is_possible = |share: &f64| 0.0 < *share && *share <= MOST;
    text.parse().ok().filter(is_possible).ok_or_else(|| {
        format!("`{text}` is not a share of a CPU; write a number above 0 and up to {MOST}, for example 0.3")
    })
}

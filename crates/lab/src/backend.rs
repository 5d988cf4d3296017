//! The place where components run, as a set of operations. Every stage of a trial is written in
//! these, so a dry run is a backend that only prints, and a rehearsal is one that simulates.

use std::collections::BTreeMap;
use std::path::Path;

use measure::{Instant, Nanos, Rate};
use results::Environment;

use crate::calm::Calm;
use crate::spec::{Exchange, Resolved, SpecError};

pub use consumed::{Consumed, Samples, Thread};

mod consumed;

pub mod dry_run;
pub mod local;
pub mod simulated;

#[cfg(test)]
mod tests;

/// A place where components run.
pub trait Backend {
    /// Returns the current time of this backend: real or simulated.
    fn now(&mut self) -> Instant;

    fn pause(&mut self, length: Nanos) -> Result<(), Stop>;

    /// Checks that this experiment can run here. It starts and writes nothing, so it is called
    /// before the host is locked.
    fn accept(&mut self, _resolved: &Resolved) -> Result<(), Stop> {
        Ok(())
    }

    /// Finds out what this host offers, and describes it. Nothing is started yet.
    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop>;

    /// Returns the parts of the spec that cannot be enforced here, in words, with the remedy.
    /// Called once, after `prepare`; each trial carries them as warnings.
    fn caveats(&mut self, _resolved: &Resolved) -> Vec<String> {
        Vec::new()
    }

    /// Goes to another question of the experiment: the next components and loads are of this spec.
    fn enter(&mut self, _resolved: &Resolved) -> Result<(), Stop> {
        Ok(())
    }

    /// Keeps what components print under this folder, if they print anything.
    fn keep_output(&mut self, _folder: &Path) {}

    /// Starts components that do not depend on each other, each on its CPUs and within its limits,
    /// and waits until each prints that it is ready; returns their URLs in the same order.
    fn start(&mut self, wave: &[Component]) -> Result<Vec<String>, Stop>;

    /// Returns the CPUs that the kernel allows each running component, read back from the kernel.
    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop>;

    /// Sends one request. `Err` in words if no response came: callers poll a server with it.
    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String>;

    /// Fails if a component has died.
    fn check(&mut self) -> Result<(), Stop>;

    /// The last lines that the components printed, for messages.
    fn last_words(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until the machine is calm by the rule of `crate::calm`, but no longer than `within`.
    /// The system under test gets no load meanwhile; an interrupt ends the wait.
    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop>;

    /// Makes a load with its own generator, and watches what the components consume. Nothing else
    /// sends requests to the system under test meanwhile.
    fn drive(&mut self, drive: &Drive, tick: &mut dyn FnMut(Tick)) -> Result<Driven, Stop>;

    /// Ends every component. Never fails: a component that does not end by itself is killed.
    fn stop(&mut self);
}

/// One deployable unit of one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub name: String,
    /// The step of the spec that it is an instance or a replica of.
    pub step: String,
    /// The service of which it is a replica: components of the same service can replace each other.
    pub service: String,
    /// Program and arguments, without `--listen`.
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub cpu_limit: Option<f64>,
    /// The limit in bytes.
    pub memory_limit: Option<u64>,
    /// The longest time that it may take to print that it is ready.
    pub ready_within: Nanos,
    /// The role whose CPUs it uses.
    pub role: &'static str,
}

/// The response of the system to a request outside a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

/// A load to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    pub targets: Vec<String>,
    /// The rate of each target; `None` is a closed loop.
    pub rate: Option<Rate>,
    pub think: Nanos,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    pub seed: u64,
    /// The generator's arguments.
    pub arguments: Vec<String>,
}

/// A line of progress from the generator; for display only.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(default)]
pub struct Tick {
    pub phase: String,
    pub elapsed_s: f64,
    pub asked_per_s: Option<f64>,
    pub completed_per_s: Option<f64>,
    pub p99_ns: Option<u64>,
    pub failed: u64,
}

/// The result of a load.
#[derive(Clone, Debug)]
pub struct Driven {
    pub load: results::Load,
    /// The use of resources by each component meanwhile, by name.
    pub consumed: BTreeMap<String, Consumed>,
    /// The components that died without ending the load, in the order of their deaths.
    pub deaths: Vec<Death>,
}

/// A component that died while another replica of its service kept running.
#[derive(Clone, Debug, PartialEq)]
pub struct Death {
    pub component: String,
    /// The time when it was noticed, on the host's clock.
    pub at: Instant,
    /// The reason in words: `was killed by SIGKILL`
    pub why: String,
    pub last_lines: Vec<String>,
}

/// The reason why a stage did not end normally.
#[derive(Debug)]
pub enum Stop {
    /// The user interrupted it: everything is stopped, and finished trials are kept.
    Interrupted,
    /// The experiment is not valid: nothing was sent.
    Question(anyhow::Error),
    /// The run cannot give a trustworthy answer.
    NoAnswer(anyhow::Error),
    /// A component died: the trial is aborted and may be repeated.
    Died { component: String, why: String, last_lines: Vec<String> },
}

impl From<SpecError> for Stop {
    fn from(error: SpecError) -> Stop {
        Stop::Question(error.into())
    }
}

impl Stop {
    pub fn no_answer(text: impl std::fmt::Display) -> Stop {
        Stop::NoAnswer(anyhow::anyhow!("{text}"))
    }
}

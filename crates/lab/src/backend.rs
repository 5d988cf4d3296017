//! Where components run, as a set of verbs. Every stage of a trial is written in these, so a dry
//! run is a backend that only tells, and a rehearsal one that simulates.

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
    /// Time as it passes here.
    fn now(&mut self) -> Instant;

    fn pause(&mut self, length: Nanos) -> Result<(), Stop>;

    /// Whether the question can be asked here; nothing is started or written for it, so it is asked
    /// before the host is taken.
    fn accept(&mut self, _resolved: &Resolved) -> Result<(), Stop> {
        Ok(())
    }

    /// Finds out what this place offers, and describes it. Nothing is started yet.
    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop>;

    /// What of the spec cannot be kept here, in words, and what to do about it. Asked once, after
    /// `prepare`; each trial carries it as a warning.
    fn caveats(&mut self, _resolved: &Resolved) -> Vec<String> {
        Vec::new()
    }

    /// Keeps what components print under this folder, as far as there is anything to keep.
    fn keep_output(&mut self, _folder: &Path) {}

    /// Starts components that do not wait for each other, each on its CPUs and within its limits, and
    /// waits until each says that it is ready; answers their URLs in the same order.
    fn start(&mut self, wave: &[Component]) -> Result<Vec<String>, Stop>;

    /// Which CPUs the kernel allows each component that lives now, read back from it.
    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop>;

    /// One request. `Err` in words if no answer came: callers wait for a server by asking it.
    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String>;

    /// Fails if a component has died.
    fn check(&mut self) -> Result<(), Stop>;

    /// The last lines that the components printed, for messages.
    fn last_words(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Waits until the machine is calm by the rule of `crate::calm`, but no longer than `within`. The
    /// system under test is left alone; an interrupt ends the wait.
    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop>;

    /// Makes a load with a generator of its own, and watches what the components consume. Nothing
    /// else talks to the system under test meanwhile.
    fn drive(&mut self, drive: &Drive, tick: &mut dyn FnMut(Tick)) -> Result<Driven, Stop>;

    /// Ends every component. Never fails: what cannot be ended gently is killed.
    fn stop(&mut self);
}

/// One deployable unit of one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    pub name: String,
    /// The step of the spec that it is an instance or a replica of.
    pub step: String,
    /// Whose replica it is: components of the same service can stand in for each other.
    pub service: String,
    /// Program and arguments, without `--listen`.
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub cpu_limit: Option<f64>,
    /// In bytes.
    pub memory_limit: Option<u64>,
    /// How long it may take to say that it is ready.
    pub ready_within: Nanos,
    /// Whose CPUs it has.
    pub role: &'static str,
}

/// What the system answered outside a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

/// A load to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    pub targets: Vec<String>,
    /// Of each target; `None` is a closed loop.
    pub rate: Option<Rate>,
    pub think: Nanos,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    pub seed: u64,
    /// The generator's arguments.
    pub arguments: Vec<String>,
}

/// What the generator shows while it works; for eyes only.
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

/// What came of a load.
#[derive(Clone, Debug)]
pub struct Driven {
    pub load: results::Load,
    /// What the components used and held meanwhile, by name.
    pub consumed: BTreeMap<String, Consumed>,
    /// What died without ending the load, in the order of death.
    pub deaths: Vec<Death>,
}

/// A component that died while another replica of its service lived on.
#[derive(Clone, Debug, PartialEq)]
pub struct Death {
    pub component: String,
    /// When it was noticed, on the host's clock.
    pub at: Instant,
    /// `was killed by SIGKILL`
    pub why: String,
    pub last_lines: Vec<String>,
}

/// Why a stage did not end.
#[derive(Debug)]
pub enum Stop {
    /// Somebody wants it to end: everything is taken down, and what is finished stays.
    Interrupted,
    /// The question is wrong: nothing was sent.
    Question(anyhow::Error),
    /// There will be no trustworthy answer.
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

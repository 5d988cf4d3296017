//! The system under test: its components, when it is ready, and what it must answer before any
//! load; or the queue that stands in its place.

use std::collections::BTreeMap;

use measure::Nanos;
use serde::{Deserialize, Serialize};

use super::literal::one;
use super::{AtLeastOne, Exchange, Name, Texts, Written};

/// The system under test.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sut {
    /// Copies of the whole system; the load is per instance.
    #[serde(default = "one")]
    pub instances: AtLeastOne,
    /// Started in this order, each when the one before it is ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deploy: Vec<Step>,
    #[serde(default)]
    pub ready: Ready,
    /// Local: the component that takes the load (the last one, if unsaid). External: its URLs.
    #[serde(default, skip_serializing_if = "no_texts")]
    pub endpoint: Texts,
    /// Each must be answered as stated before any load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub smoke: Vec<Exchange>,
}

impl Default for Sut {
    fn default() -> Sut {
        Sut {
            instances: one(),
            deploy: Vec::new(),
            ready: Ready::default(),
            endpoint: Texts::default(),
            smoke: Vec::new(),
        }
    }
}

fn no_texts(texts: &Texts) -> bool {
    texts.0.is_empty()
}

/// One component to start.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A reference application: `run: hotel all-in-one`.
    App(App),
    /// Any program. It is given `--listen 127.0.0.1:0` and prints `ready <url>` when it can serve.
    Process(Process),
}

impl Step {
    pub fn name(&self) -> &str {
        match self {
            Step::App(app) => &app.name,
            Step::Process(process) => &process.name,
        }
    }

    pub fn cpu_limit(&self) -> Option<CpuLimit> {
        match self {
            Step::App(app) => app.cpu_limit,
            Step::Process(process) => process.cpu_limit,
        }
    }

    pub fn environment(&self) -> &BTreeMap<String, String> {
        match self {
            Step::App(app) => &app.environment,
            Step::Process(process) => &process.environment,
        }
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    pub name: Name,
    /// The words after `benchwright app`.
    pub run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    pub name: Name,
    /// Program and arguments; the program `benchwright` is this tool itself.
    pub command: Command,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Command(pub Vec<String>);

impl From<Command> for Vec<String> {
    fn from(command: Command) -> Vec<String> {
        command.0
    }
}

impl TryFrom<Vec<String>> for Command {
    type Error = &'static str;
    fn try_from(words: Vec<String>) -> Result<Command, &'static str> {
        match words.first() {
            Some(program) if !program.is_empty() => Ok(Command(words)),
            _ => Err("a command begins with a program; write for example [benchwright, reference]"),
        }
    }
}

/// How much of a CPU a component may use: 0.3 is 30 % of one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct CpuLimit(pub f64);

impl From<CpuLimit> for f64 {
    fn from(limit: CpuLimit) -> f64 {
        limit.0
    }
}

impl TryFrom<f64> for CpuLimit {
    type Error = String;
    fn try_from(limit: f64) -> Result<CpuLimit, String> {
        // The kernel's shortest quota is a millisecond, its longest period a second.
        match (0.01..=4096.0).contains(&limit) {
            true => Ok(CpuLimit(limit)),
            false => {
                Err(format!("`{limit}` is no CPU limit; write CPUs from 0.01, for example 0.5"))
            }
        }
    }
}

/// When a component counts as ready: at its line `ready <url>`, and if a request is stated here,
/// once the endpoint answers that with a status below 300.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
    #[serde(default = "thirty_seconds")]
    pub within: Written<Nanos>,
}

fn thirty_seconds() -> Written<Nanos> {
    Written(Nanos::from_secs(30))
}

impl Default for Ready {
    fn default() -> Ready {
        Ready { get: None, within: thirty_seconds() }
    }
}

/// A queue on virtual time in place of a system.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    pub service_time: Written<Nanos>,
    #[serde(default)]
    pub law: Law,
    /// How many requests are served at once.
    #[serde(default = "one")]
    pub servers: AtLeastOne,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Law {
    #[default]
    Constant,
    Exponential,
}

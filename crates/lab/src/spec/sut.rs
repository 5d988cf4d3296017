//! The system under test: its components, when it is ready, and the responses that it must give
//! before any load; or the queue that replaces it.

use std::collections::BTreeMap;

use measure::quantity::ParseError;
use measure::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::literal::one;
use super::{AtLeastOne, Exchange, Literal, Name, Texts, Written, texts};

/// The system under test.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sut {
    /// The number of copies of the whole system; the load is per instance.
    #[serde(default = "one")]
    pub instances: AtLeastOne,
    /// The number of processes of each step in each instance, unless the step sets its own.
    #[serde(default = "one")]
    pub replicas: AtLeastOne,
    /// The components. Each is started in the first wave after those that it needs; the order here
    /// does not matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deploy: Vec<Step>,
    #[serde(default)]
    pub ready: Ready,
    /// Local: the component that gets the load (the last one by default). External: its URLs.
    #[serde(default, skip_serializing_if = "no_texts")]
    pub endpoint: Texts,
    /// The requests that must get the stated response before any load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub smoke: Vec<Exchange>,
}

impl Default for Sut {
    fn default() -> Sut {
        Sut {
            instances: one(),
            replicas: one(),
            deploy: Vec::new(),
            ready: Ready::default(),
            endpoint: Texts::default(),
            smoke: Vec::new(),
        }
    }
}

impl Sut {
    /// Returns the step that gets the load: the named one, or else the last.
    pub fn endpoint_step(&self) -> Option<&Step> {
        match self.endpoint.0.first() {
            Some(name) => self.deploy.iter().find(|step| step.name() == name),
            None => self.deploy.last(),
        }
    }

    /// Returns the number of processes that a step has in each instance.
    pub fn replicas_of(&self, step: &Step) -> u32 {
        step.replicas().unwrap_or(self.replicas).0
    }

    /// Returns the condition under which a component of this step is ready: the step's own, or else
    /// the system's, whose request goes to the endpoint only.
    pub fn ready_of(&self, step: &Step) -> Ready {
        let is_endpoint = self.endpoint_step().is_some_and(|end| end.name() == step.name());
        let of_system = || Ready {
            get: self.ready.get.clone().filter(|_| is_endpoint),
            within: self.ready.within,
        };
        step.ready().cloned().unwrap_or_else(of_system)
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

/// Returns a field that both kinds of step have.
macro_rules! of {
    ($step:ident, $field:ident) => {
        match $step {
            Step::App(app) => &app.$field,
            Step::Process(process) => &process.$field,
        }
    };
}

impl Step {
    pub fn name(&self) -> &str {
        of!(self, name)
    }

    /// Returns its program and arguments, or the words of an application, as written.
    pub fn words(&self) -> &[String] {
        match self {
            Step::App(app) => std::slice::from_ref(&app.run),
            Step::Process(process) => &process.command.0,
        }
    }

    /// Returns the texts that may contain addresses.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        self.words().iter().chain(self.environment().values())
    }

    /// Returns the steps that must be ready before it: those it names, and those whose addresses it
    /// uses.
    pub fn needs(&self) -> Vec<&str> {
        let named = of!(self, needs).iter().map(|name| &**name);
        let used = self.texts().flat_map(|text| texts::addresses_in(text));
        let mut needs: Vec<&str> = named.chain(used).collect();
        needs.sort_unstable();
        needs.dedup();
        needs
    }

    pub fn replicas(&self) -> Option<AtLeastOne> {
        *of!(self, replicas)
    }

    pub fn ready(&self) -> Option<&Ready> {
        of!(self, ready).as_ref()
    }

    pub fn cpu_limit(&self) -> Option<CpuLimit> {
        *of!(self, cpu_limit)
    }

    pub fn memory_limit(&self) -> Option<MemoryLimit> {
        of!(self, memory_limit).map(|limit| *limit)
    }

    pub fn environment(&self) -> &BTreeMap<String, String> {
        of!(self, environment)
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    pub name: Name,
    /// The words after `benchwright app`. `${addresses.store}` is replaced by the addresses of the
    /// replicas of the step `store` in the same instance: `127.0.0.1:7001,127.0.0.1:7002`.
    pub run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<AtLeastOne>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Written<MemoryLimit>>,
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
    pub replicas: Option<AtLeastOne>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Written<MemoryLimit>>,
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
            _ => Err(
                "a command must begin with a program; write for example [benchwright, reference]",
            ),
        }
    }
}

/// The most CPU time that a component may use: 0.3 is 30 % of one CPU.
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
            false => Err(format!(
                "`{limit}` is not a valid CPU limit; write CPUs from 0.01, for example 0.5"
            )),
        }
    }
}

/// The most memory that a component may use, in bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct MemoryLimit(pub u64);

/// The least limit: a program does not fit into less.
const LEAST_MEMORY: u64 = 1 << 20;

impl Literal for MemoryLimit {
    fn read(text: &str) -> Result<MemoryLimit, ParseError> {
        let wrong = || ParseError::new(text, "memory limit from 1MiB", "64MiB");
        match text.parse() {
            Ok(Bytes(bytes)) if LEAST_MEMORY <= bytes => Ok(MemoryLimit(bytes)),
            _ => Err(wrong()),
        }
    }

    fn write(&self) -> String {
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let whole = units.into_iter().find(|(bits, _)| self.0.is_multiple_of(1 << bits));
        whole.map_or(format!("{}B", self.0), |(bits, unit)| format!("{}{unit}", self.0 >> bits))
    }
}

/// The condition under which a component is ready: it printed its line `ready <url>`, and if a
/// request is given here, responded to it with a status below 300. The request of the system is
/// sent to the endpoint's components only.
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
    pub distribution: Distribution,
    /// The number of requests that are served at once.
    #[serde(default = "one")]
    pub servers: AtLeastOne,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    #[default]
    Constant,
    Exponential,
}

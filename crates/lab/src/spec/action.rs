//! Actions and checks: requests and programs that are run once, at their place in a list, before
//! anything is measured or between measurements.

use std::collections::BTreeMap;

use measure::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Change, Command, Config, Exchange, Scale, Texts, Written};

#[cfg(test)]
mod tests;

/// The longest time of a program or of a wait, unless it sets its own.
fn a_minute() -> Written<Nanos> {
    Written(Nanos::from_secs(60))
}

/// Something that is done once, in each instance. The next step of the list begins after its end.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A request to a component, by default to the endpoint.
    Http(Exchange),
    Run(Run),
    Wait(Wait),
    /// Components to restart, all replicas; they keep their addresses and folders.
    Restart(Texts),
    Config(Config),
    Scale(Scale),
}

/// A question with its expected answer.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    Http(Exchange),
    Run(Run),
}

/// A program on the runner's machine, in the spec's folder, or the pod of a Job. It must end with 0.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Program and arguments. `${addresses.store}` is replaced by the addresses of the replicas of
    /// the component `store` in the same instance.
    #[serde(default, skip_serializing_if = "Command::is_none")]
    pub command: Command,
    /// Kubernetes: a file with a Job, as `kubectl create -f` takes it, in place of a command. Its pod runs once, with
    /// the run's image.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// Variables of the environment, in place of those of the Job that have the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// A part of the text that it must print on stdout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// The whole text that it must print on stdout, without the white space around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_equals: Option<String>,
    /// The longest time until it ends.
    #[serde(default = "a_minute")]
    pub timeout: Written<Nanos>,
}

impl Run {
    /// Returns the command, or the file of the Job, for a message.
    pub fn in_words(&self) -> String {
        self.job
            .as_ref()
            .map_or_else(|| self.command.0.join(" "), |file| format!("the Job of {file}"))
    }

    /// Returns an output that meets the expectation, for backends that run no program.
    pub fn expected_output(&self) -> &str {
        self.output_equals.as_deref().or(self.output.as_deref()).unwrap_or_default()
    }

    /// Returns the texts that may contain variables and addresses.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let expected = self.output.iter().chain(&self.output_equals);
        let asked = self.command.0.iter().chain(&self.job);
        let all = asked.chain(self.environment.values()).chain(expected);
        all.map(String::as_str)
    }

    /// Returns the run with each of its texts replaced.
    pub fn with_texts(&self, replaced: &dyn Fn(&str) -> String) -> Run {
        let environment = self.environment.iter();
        Run {
            command: Command(self.command.0.iter().map(|word| replaced(word)).collect()),
            job: self.job.as_deref().map(replaced),
            environment: environment.map(|(name, text)| (name.clone(), replaced(text))).collect(),
            output: self.output.as_deref().map(replaced),
            output_equals: self.output_equals.as_deref().map(replaced),
            timeout: self.timeout,
        }
    }
}

/// A rest, or polling until a check passes.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenWait", into = "WrittenWait")]
pub enum Wait {
    Time(Nanos),
    Until { check: Box<Check>, timeout: Nanos },
}

#[derive(Clone, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenWait {
    /// The length of a rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    time: Option<Written<Nanos>>,
    /// The check that is repeated until it passes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Check>,
    /// The longest time until it passes, a minute by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Written<Nanos>>,
}

impl TryFrom<WrittenWait> for Wait {
    type Error = &'static str;
    fn try_from(written: WrittenWait) -> Result<Wait, &'static str> {
        let WrittenWait { time, until, timeout } = written;
        match (time, until, timeout) {
            (Some(time), None, None) => Ok(Wait::Time(*time)),
            (None, Some(check), timeout) => {
                let timeout = *timeout.unwrap_or_else(a_minute);
                Ok(Wait::Until { check: Box::new(check), timeout })
            }
            (Some(_), None, Some(_)) => Err("`timeout` belongs to `until`"),
            _ => Err("a wait is either `time: 2s` or `until: {http: {get: /path}}`"),
        }
    }
}

impl From<Wait> for WrittenWait {
    fn from(wait: Wait) -> WrittenWait {
        match wait {
            Wait::Time(time) => {
                WrittenWait { time: Some(Written(time)), until: None, timeout: None }
            }
            Wait::Until { check, timeout } => {
                WrittenWait { time: None, until: Some(*check), timeout: Some(Written(timeout)) }
            }
        }
    }
}

/// The data that the system has before anything is measured.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Initialise {
    /// The occasions on which the steps are carried out.
    #[serde(default)]
    pub once_per: OncePer,
    /// The actions that load the data.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Action>,
    /// Verified after the steps, and after each start of the system without them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<Check>,
}

/// The occasions on which the system is initialised.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OncePer {
    /// At the first start of the system in a run: the data must survive its restarts. A resumed run
    /// does it again.
    Experiment,
    /// At each start of the system.
    #[default]
    Deploy,
    /// Before the first trial at each combination of levels. Without levels this is `experiment`.
    Level,
    /// Before each trial, after the reset.
    Trial,
}

impl Action {
    /// Returns the request in it.
    pub(super) fn exchange(&self) -> Option<&Exchange> {
        match self {
            Action::Http(exchange) => Some(exchange),
            Action::Wait(Wait::Until { check, .. }) => check.exchange(),
            _ => None,
        }
    }

    /// Returns the program in it.
    pub fn run(&self) -> Option<&Run> {
        match self {
            Action::Run(run) => Some(run),
            Action::Wait(Wait::Until { check, .. }) => check.run(),
            _ => None,
        }
    }

    /// Returns the components that it restarts.
    pub fn restarted(&self) -> &[String] {
        match self {
            Action::Restart(components) => &components.0,
            _ => &[],
        }
    }

    /// Returns the texts of a change that may contain variables and addresses.
    pub(super) fn changed_texts(&self) -> Vec<&str> {
        match self {
            Action::Config(config) => config.texts(),
            Action::Scale(scale) => scale.texts(),
            _ => Vec::new(),
        }
    }

    /// Returns the change of a cluster's objects that it is.
    pub fn change(&self) -> Option<Change> {
        match self {
            Action::Config(config) => Some(Change::Config(config.clone())),
            Action::Scale(scale) => Some(Change::Scale(scale.clone())),
            _ => None,
        }
    }
}

impl From<Check> for Action {
    fn from(check: Check) -> Action {
        match check {
            Check::Http(exchange) => Action::Http(exchange),
            Check::Run(run) => Action::Run(run),
        }
    }
}

impl Check {
    pub(super) fn exchange(&self) -> Option<&Exchange> {
        match self {
            Check::Http(exchange) => Some(exchange),
            Check::Run(_) => None,
        }
    }

    pub fn run(&self) -> Option<&Run> {
        match self {
            Check::Http(_) => None,
            Check::Run(run) => Some(run),
        }
    }
}

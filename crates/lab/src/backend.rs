//! The place where services run, as a set of operations. Every stage of a trial is written in these,
//! so a dry run is a backend that only prints, and a rehearsal is one that simulates. No implementation that
//! starts something is in this crate: the program hands one to an experiment.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use measure::pace::Think;
use measure::{Instant, Nanos, Rate};
use results::{Doctor, Environment, Secrets, Tick};

use crate::calm::Calm;
use crate::spec::generator::{Arguments, ForeignLoad};
use crate::spec::{
    Change, Exchange, Files, HTTP, LISTEN, Pattern, Port, Resolved, Run, Scheme, SpecError, Via,
    replicas,
};
use crate::speed::Gauged;

pub use crate::http::Reply;
pub(crate) use consumed::at;
pub use consumed::{Consumed, Quota, Samples, Thread};
pub use host::Host;
pub use machine::{CpuTimes, Machine, Shared};

mod consumed;
mod host;
mod machine;

pub mod contract;
pub mod dry_run;
pub mod simulated;

#[cfg(test)]
mod tests;

/// Returns the backend that a spec asks for.
pub type Backends<'a> = &'a dyn Fn(&Resolved) -> Box<dyn Backend>;

/// Returns the only backend of this crate that runs an experiment.
#[cfg(test)]
pub(crate) fn for_tests(resolved: &Resolved) -> Box<dyn Backend> {
    Box::new(simulated::Simulated::new(resolved))
}

/// A place where services run.
///
/// All times that it hands out are on the clock of `now`. A clock of another machine is never
/// compared with it: such times are converted first, and carry the error of the conversion
/// (`Consumed::clock_error`).
pub trait Backend {
    /// Returns the current time of this backend: real or simulated.
    fn now(&mut self) -> Instant;

    /// Returns the time since 1970; `None` on simulated time.
    fn date(&mut self) -> Option<Nanos>;

    fn pause(&mut self, length: Nanos) -> Result<(), Stop>;

    /// Checks that this experiment can run here. It starts and writes nothing, so it is called
    /// before the host is locked.
    fn accept(&mut self, _resolved: &Resolved) -> Result<(), Stop> {
        Ok(())
    }

    /// Locks the place until this backend is dropped: two experiments would disturb each other.
    fn lock(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    /// Removes what killed runs left here, and returns it in words. The place is locked.
    fn clean_up(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns what could not be removed, in words with the reason: after [`clean_up`](Backend::clean_up) of killed
    /// runs, and after [`stop`](Backend::stop) of this one.
    fn staying(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the digests of all that measures and is measured, by name: runs in which they differ
    /// do not measure the same.
    fn digests(&mut self, _resolved: &Resolved) -> Result<BTreeMap<String, String>, Stop> {
        Ok(BTreeMap::new())
    }

    /// Finds out what this place offers, and describes it. Nothing is started yet.
    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop>;

    /// Returns the parts of the spec that cannot be enforced here, in words, with the remedy.
    /// Called once, after `prepare`; each trial carries them as warnings.
    fn caveats(&mut self, _resolved: &Resolved) -> Vec<String> {
        Vec::new()
    }

    /// Returns the names of the checks of this place, and of their parts, which a spec may require
    /// or allow.
    fn checks(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Checks this place; `None` if it has no checks. `since` is the begin of the last load, in
    /// seconds since 1970, if there was one: what happened before it is not reported again.
    fn diagnose(
        &mut self,
        _resolved: &Resolved,
        _since: Option<u64>,
    ) -> Result<Option<Doctor>, Stop> {
        Ok(None)
    }

    /// Goes to another question of the experiment: the next components and loads are of this spec.
    fn enter(&mut self, _resolved: &Resolved) -> Result<(), Stop> {
        Ok(())
    }

    /// Collects what components print in this folder, if they print anything.
    fn collect(&mut self, _folder: &Path) {}

    /// Starts services that do not depend on each other, all replicas with their CPUs and limits, and
    /// waits until each prints that it is ready, or as a foreign one shows it; returns the addresses
    /// of each service's replicas, in the same order.
    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop>;

    /// Restarts all replicas of services that were started, the services one after the other, and
    /// waits until they are ready. They keep their addresses.
    fn restart(&mut self, services: &[String]) -> Result<(), Stop>;

    /// Changes the number of replicas of a service that was started, and waits until they are ready;
    /// returns the addresses of all of them. The first ones stay as they are.
    fn scale(&mut self, service: &str, replicas: u32) -> Result<Vec<Address>, Stop>;

    /// Changes an object of the place, and waits until all services are ready again. What stood there
    /// comes back with `stop`, and at the latest when the next run here begins. `Err` in words if it
    /// cannot be changed so.
    fn change(&mut self, _change: &Change) -> Result<Result<(), String>, Stop> {
        Ok(Err("only a cluster has such objects".to_owned()))
    }

    /// Runs a program to its end, beside the system. `Err` in words if it did not come to its own
    /// end, or if the run was interrupted.
    fn execute(&mut self, run: &Run) -> Result<Executed, String>;

    /// Returns where each running replica is, read back: here the CPUs that the kernel allows it.
    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop>;

    /// Sends one request. `Err` in words if no response came: callers poll a server with it.
    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String>;

    /// Sends one request to a server that is no part of the system, such as a monitor. `Err` in words
    /// if no response came.
    fn consult(&mut self, _url: &str, _exchange: &Exchange) -> Result<Reply, String> {
        Err("no server can be reached from here".to_owned())
    }

    /// Returns the CPU time that the components have used so far, all together; `None` if it is not
    /// known here.
    fn cpu_time(&mut self) -> Option<Nanos> {
        None
    }

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
    /// sends requests to the system under test meanwhile. `tick` may end the load early, if it has
    /// an `interval`; a backend that cannot end a load makes the whole of it.
    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop>;

    /// Ends every component. Never fails: a component that does not end by itself is killed.
    fn stop(&mut self);
}

/// A service of one instance, with all its replicas.
#[derive(Clone, Debug, PartialEq)]
pub struct Service {
    /// The name of the component; with several instances also the number of its own: `frontend-2`
    pub name: String,
    /// The component of the spec.
    pub component: String,
    pub replicas: u32,
    /// Program and arguments, without the `--listen` that the backend may append.
    pub command: Vec<String>,
    pub environment: BTreeMap<String, String>,
    pub files: Files,
    /// The scheme of its URL, if the spec states it: a line `ready <url>` must have this one.
    pub scheme: Option<Scheme>,
    /// Present if it neither takes `--listen` nor prints its address.
    pub foreign: Option<Foreign>,
    /// The limits of each replica.
    pub limits: Limits,
    /// The longest time that a replica may take until it is ready.
    pub ready_within: Nanos,
    /// The role whose CPUs it uses.
    pub role: &'static str,
    /// Present if it is a release of a chart: then it has no command of ours, and one address, that
    /// of its Service.
    pub chart: Option<Chart>,
    /// Present if it has the objects of this file: then it has no command of ours.
    pub manifest: Option<PathBuf>,
}

/// A release of a Helm chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    pub folder: PathBuf,
    pub release: String,
    /// The run's own if absent.
    pub namespace: Option<String>,
    /// The values by their paths.
    pub set: BTreeMap<String, serde_json::Value>,
    /// The name of its Service.
    pub service: String,
    /// The Deployment that `scale` changes.
    pub deployment: Option<String>,
    pub via: Via,
}

impl Chart {
    /// Returns the arguments of helm that set the values.
    pub fn values(&self) -> Vec<String> {
        let argument = |(path, value): (&String, &serde_json::Value)| match value {
            // A comma would begin the next value.
            serde_json::Value::String(text) => {
                let text = text.replace('\\', "\\\\").replace(',', "\\,");
                ["--set-string".to_owned(), format!("{path}={text}")]
            }
            other => ["--set".to_owned(), format!("{path}={other}")],
        };
        self.set.iter().flat_map(argument).collect()
    }
}

impl Service {
    /// Returns the names of its replicas, which can replace each other: `frontend-2`, or with
    /// several replicas `frontend-2.1` and so on.
    pub fn replicas(&self) -> Vec<String> {
        replicas(&self.name, self.replicas)
    }

    /// Returns the scheme of its URL where it prints none.
    pub fn scheme(&self) -> &str {
        self.scheme.as_deref().unwrap_or(HTTP)
    }

    /// Returns true if the backend appends `--listen` with the address at which it shall listen: no text
    /// of it says where that address belongs.
    pub fn takes_listen(&self) -> bool {
        let files = self.files.0.values();
        let mut texts = self.command.iter().chain(self.environment.values()).chain(files);
        self.foreign.is_none() && !texts.any(|text| text.contains(LISTEN))
    }

    /// Returns what to write for a program that knows nothing of us, as the end of a message about a replica that
    /// was never ready; empty for our own ones, and for a component whose command or spec says where it listens.
    /// `awaited` is the sign by which the backend would know that it is ready.
    pub fn listen_remedy(&self, awaited: &str) -> String {
        let is_theirs = self.command.first().is_some_and(|program| program != "benchwright");
        match self.takes_listen() && is_theirs {
            true => format!(
                "; we appended `--listen ADDRESS:PORT` to its command, and await {awaited}: if it knows nothing of \
                 that, write `port: auto` beside its command, and ${{port}} where the command names the port"
            ),
            false => String::new(),
        }
    }
}

/// The most that a replica may use.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// In CPUs.
    pub cpu: Option<f64>,
    /// In bytes.
    pub memory: Option<u64>,
}

/// The address of a replica as a URL, which can differ between those that use it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Address {
    /// The address that other services use.
    pub of_peers: String,
    /// The address that the generator uses.
    pub of_generator: String,
    /// The address that the runner uses for its own requests.
    pub of_runner: String,
}

impl Address {
    /// Returns an address that is the same for all.
    pub fn of_all(url: &str) -> Address {
        let url = || url.to_owned();
        Address { of_peers: url(), of_generator: url(), of_runner: url() }
    }
}

/// The rules for a program that does not know this tool. In its texts the backend replaces `${port}`,
/// as it replaces `${folder}` and `${listen}` in those of every component.
#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    pub port: Port,
    /// True if it is ready only once it accepts a connection.
    pub tcp: bool,
    /// If present, it is ready only once it printed a line that this matches.
    pub log: Option<Pattern>,
}

/// The result of a program that came to its own end.
#[derive(Clone, Debug, PartialEq)]
pub struct Executed {
    /// The end in words: `ended with exit code 1`
    pub end: String,
    pub succeeded: bool,
    /// The text that it printed on stdout.
    pub output: String,
    pub last_lines: Vec<String>,
}

impl Executed {
    /// Returns the result that a run expects, for backends that run no program.
    fn as_expected(run: &Run) -> Executed {
        Executed {
            end: "ended with exit code 0".to_owned(),
            succeeded: true,
            output: run.expected_output().to_owned(),
            last_lines: Vec::new(),
        }
    }
}

/// A load to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    pub targets: Vec<String>,
    /// The rate of each target; `None` is a closed loop, or the spec's shape or trace.
    pub rate: Option<Rate>,
    pub think: Think,
    /// The longest time that opening the connections may take.
    pub opening: Nanos,
    pub warm_up: Nanos,
    pub measure: Nanos,
    pub drain: Nanos,
    /// The time that each tick covers, if the ticks may end this load.
    pub interval: Option<Nanos>,
    pub seed: u64,
    /// The generator's arguments.
    pub arguments: Arguments,
    /// The secrets that these refer to, which the generator reads from its standard input.
    pub secrets: Secrets,
    /// Another generator that makes the load in place of ours. It has no ticks, and no drain.
    pub foreign: Option<ForeignLoad>,
}

/// Is told each line of progress; a break ends the load as Ctrl-C does.
pub type Ticking<'a> = dyn FnMut(Tick) -> ControlFlow<()> + 'a;

/// The result of a load.
#[derive(Clone, Debug)]
pub struct Driven {
    pub load: results::Load,
    /// The documents of its generators by their machine, if it had several.
    pub parts: Vec<(String, results::Load)>,
    /// The use of resources by each component meanwhile, by name.
    pub consumed: BTreeMap<String, Consumed>,
    /// The components that died without ending the load, in the order of their deaths.
    pub deaths: Vec<Death>,
    /// The speed of each CPU of the system under test, where it is measured.
    pub gauged: Vec<Gauged>,
    /// The counters of the machine; empty if the place does not tell them.
    pub machine: Machine,
    /// Other events of the system and its machines meanwhile, as far as the place tells them.
    pub events: Vec<Happened>,
}

/// An event of the place where services run, such as a failed probe or a lost node.
#[derive(Clone, Debug, PartialEq)]
pub struct Happened {
    /// It happened between these times.
    pub from: Instant,
    pub to: Instant,
    pub what: String,
}

/// A component that died while another replica of its service kept running.
#[derive(Clone, Debug, PartialEq)]
pub struct Death {
    pub component: String,
    /// The time when it was noticed.
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
    /// The load could not be made, which is not the system's doing: a generator or its machine was
    /// lost. The trial is not valid and may be repeated.
    Disturbed { cause: String },
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

//! The experiment file: typed, strict, with positions. Nothing here touches the machine but to read
//! the file itself, and nothing is guessed: what cannot be understood is an error with its place.
//!
//! One file asks one question. Unknown and duplicate fields are errors; quantities bear their unit;
//! `${vars.x}` and `${instance}` stand in texts, and there is no further expression language.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use measure::{Nanos, Quantile, Rate};
use serde::{Deserialize, Serialize};

pub(crate) use literal::exact;
pub use literal::{Cpus, Growth, Literal, Share, Texts, Written};
pub use source::{Place, Source, SpecError};

mod literal;
mod patch;
mod read;
mod source;
mod texts;

#[cfg(test)]
mod tests;

/// Reads a spec and applies, in this order, the profile and each `path=value`.
pub fn load(path: &Path, profile: Option<&str>, set: &[String]) -> Result<Resolved, SpecError> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| {
        Source { name: name.clone(), text: String::new() }.error(
            format!("cannot read this spec: {}", plain(&error)),
            None,
            "",
        )
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    from_bytes(&name, &bytes, folder, profile, set)
}

/// Reads a spec from memory; `folder` is where its relative paths begin.
pub fn from_bytes(
    name: &str,
    bytes: &[u8],
    folder: &Path,
    profile: Option<&str>,
    set: &[String],
) -> Result<Resolved, SpecError> {
    let source = read::source(name, bytes)?;
    let written: Spec = read::typed(&source)?;
    let spec = patch::apply(&source, written, profile, set)?;
    let resolved = Resolved {
        spec,
        source,
        folder: folder.to_owned(),
        profile: profile.map(str::to_owned),
        set: set.to_owned(),
    };
    resolved.check()?;
    Ok(resolved)
}

/// A spec with its profile and settings applied, and where it came from.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub spec: Spec,
    pub source: Source,
    /// Relative paths begin here.
    pub folder: PathBuf,
    pub profile: Option<String>,
    /// `path=value`, as given.
    pub set: Vec<String>,
}

impl Resolved {
    /// The seed of all chance in the run: the spec's, or a hash of its name.
    pub fn seed(&self) -> u64 {
        self.spec.seed.unwrap_or_else(|| measure::random::seed_of(&self.spec.name))
    }

    /// The script's file, if the workload is one.
    pub fn script(&self) -> Option<PathBuf> {
        let script = self.spec.workload.script.as_ref()?;
        Some(self.folder.join(self.text(script, 1)))
    }

    /// A text with its variables replaced, for this instance (counted from 1).
    pub fn text(&self, text: &str, instance: u32) -> String {
        texts::substitute(text, &self.spec.vars, instance)
            .expect("every variable was looked up when the spec was read")
    }

    /// The resolved spec as a file of its own: without profiles, with every default.
    pub fn to_yaml(&self) -> String {
        serde_saphyr::to_string(&self.spec).expect("a spec is plain data")
    }

    /// What only the whole document can tell.
    fn check(&self) -> Result<(), SpecError> {
        texts::check(self)?;
        let Spec { where_, sut, simulated, search, load, .. } = &self.spec;
        let find = |key: &str| self.source.find(key, key.trim_end_matches(':'));
        let error = |message: &str, key: &str, label: &str| {
            Err(self.source.error(message, find(key), label))
        };
        match where_.backend {
            BackendKind::Local if sut.deploy.is_empty() => {
                return error(
                    "the local backend has nothing to deploy",
                    "backend:",
                    "add sut.deploy, or name a running service: backend: external, sut.endpoint",
                );
            }
            BackendKind::External if sut.endpoint.0.is_empty() => {
                return error(
                    "the external backend needs the address of the service",
                    "backend:",
                    "add sut.endpoint, for example http://127.0.0.1:8080",
                );
            }
            BackendKind::External if !sut.deploy.is_empty() => {
                return error(
                    "the external backend deploys nothing",
                    "deploy:",
                    "remove it, or choose backend: local",
                );
            }
            BackendKind::Simulated if simulated.is_none() => {
                return error(
                    "the simulated backend needs its model",
                    "backend:",
                    "add for example simulated: {service_time: 100us, law: constant}",
                );
            }
            _ => {}
        }
        match (load.model, search, load.rate) {
            (Model::Closed, Some(_), _) => error(
                "a closed loop has no rate to search",
                "search:",
                "remove search, or choose model: open",
            ),
            (Model::Open, None, None) => error(
                "an open loop needs a rate",
                "load:",
                "add load.rate, for example 500/s, or a search",
            ),
            (_, Some(_), Some(_)) => {
                error("the rate is both fixed and searched", "rate:", "remove load.rate or search")
            }
            _ => self.check_targets(),
        }
    }

    fn check_targets(&self) -> Result<(), SpecError> {
        let workload = &self.spec.workload;
        if let Some(script) = self.script().filter(|script| !script.is_file()) {
            let written = workload.script.as_deref().unwrap_or_default();
            return Err(self.source.error(
                format!("the script {} does not exist", script.display()),
                self.source.find("script", written),
                "paths begin at the spec's own folder",
            ));
        }
        let Where { backend, .. } = self.spec.where_;
        let Some(name) = self.spec.sut.endpoint.0.first() else { return Ok(()) };
        let known = self.spec.sut.deploy.iter().any(|step| step.name() == name);
        if backend == BackendKind::Local && !known {
            let names: Vec<&str> = self.spec.sut.deploy.iter().map(Step::name).collect();
            return Err(self.source.error(
                format!("no component is called `{name}`"),
                self.source.find("endpoint", name),
                &format!("components here: {}", names.join(", ")),
            ));
        }
        Ok(())
    }
}

/// An experiment: a question, as one file.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub name: Name,
    /// The question in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Constants for `${vars.x}`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, String>,
    #[serde(rename = "where", default)]
    pub where_: Where,
    #[serde(default)]
    pub sut: Sut,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
    pub workload: Workload,
    pub load: Load,
    pub phases: Phases,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<Slo>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    #[serde(default)]
    pub reset: Reset,
    #[serde(default)]
    pub repeat: Repeat,
    #[serde(default)]
    pub budget: Budget,
    /// Named patches of this document, as `--profile` applies them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, serde_json::Value>,
}

/// An experiment's name also names its results folder.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl std::ops::Deref for Name {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> String {
        name.0
    }
}

impl TryFrom<String> for Name {
    type Error = String;
    fn try_from(name: String) -> Result<Name, String> {
        let fit = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        match begins && name.len() <= 80 && name.chars().all(fit) {
            true => Ok(Name(name)),
            false => Err(format!(
                "`{name}` is no name; use letters, digits, `-`, `_` and `.`, at most 80"
            )),
        }
    }
}

/// Where things run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Where {
    #[serde(default)]
    pub backend: BackendKind,
    #[serde(default)]
    pub roles: Roles,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendKind {
    /// Processes on this machine, each in its own cgroup where that is possible.
    #[default]
    Local,
    /// Only an address is known: a service of one's own.
    External,
    /// A queueing model on virtual time.
    Simulated,
}

impl fmt::Display for BackendKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BackendKind::Local => "local",
            BackendKind::External => "external",
            BackendKind::Simulated => "simulated",
        })
    }
}

/// Which CPUs the system under test and the generator have; all, if unsaid.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Roles {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sut: Option<Role>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<Role>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Role {
    pub cpus: Written<Cpus>,
}

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

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct AtLeastOne(pub u32);

fn one() -> AtLeastOne {
    AtLeastOne(1)
}

impl From<AtLeastOne> for u32 {
    fn from(number: AtLeastOne) -> u32 {
        number.0
    }
}

impl TryFrom<u32> for AtLeastOne {
    type Error = String;
    fn try_from(number: u32) -> Result<AtLeastOne, String> {
        match number {
            1..=1_000_000 => Ok(AtLeastOne(number)),
            _ => Err(format!("`{number}` is too few or too many; write a number from 1")),
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

/// One request and what must come back.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenExchange", into = "WrittenExchange")]
pub struct Exchange {
    pub method: Method,
    pub target: String,
    pub status: u16,
    /// A part of the body.
    pub body: Option<String>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    Get,
    Post,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Get => "GET",
            Method::Post => "POST",
        })
    }
}

#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenExchange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    get: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post: Option<String>,
    #[serde(default = "ok")]
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
}

fn ok() -> u16 {
    200
}

impl TryFrom<WrittenExchange> for Exchange {
    type Error = &'static str;
    fn try_from(written: WrittenExchange) -> Result<Exchange, &'static str> {
        let WrittenExchange { get, post, status, body } = written;
        let (method, target) = match (get, post) {
            (Some(target), None) => (Method::Get, target),
            (None, Some(target)) => (Method::Post, target),
            _ => return Err("a request is either `get: /path` or `post: /path`"),
        };
        Ok(Exchange { method, target, status, body })
    }
}

impl From<Exchange> for WrittenExchange {
    fn from(exchange: Exchange) -> WrittenExchange {
        let Exchange { method, target, status, body } = exchange;
        let (get, post) = match method {
            Method::Get => (Some(target), None),
            Method::Post => (None, Some(target)),
        };
        WrittenExchange { get, post, status, body }
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

/// What is sent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenWorkload")]
pub struct Workload {
    /// A Lua file in wrk's manner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The same request again and again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorkload {
    script: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    get: Option<String>,
}

impl TryFrom<WrittenWorkload> for Workload {
    type Error = &'static str;
    fn try_from(written: WrittenWorkload) -> Result<Workload, &'static str> {
        let WrittenWorkload { script, args, get } = written;
        match (&script, &get) {
            (Some(_), None) => {}
            (None, Some(_)) if args.is_empty() => {}
            (None, Some(_)) => return Err("`args` belong to a script"),
            _ => return Err("a workload is either `script: file.lua` or `get: /path`"),
        }
        Ok(Workload { script, args, get })
    }
}

/// How much is offered.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenLoad")]
pub struct Load {
    pub model: Model,
    pub arrivals: Arrivals,
    /// Of each instance. Absent where a search decides it, or a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Written<Rate>>,
    pub connections: AtLeastOne,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub think: Option<Written<Nanos>>,
    pub timeout: Written<Nanos>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// Starts are decided by the clock alone.
    Open,
    /// A start is decided by a completion and the think time after it.
    Closed,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    #[default]
    Poisson,
    Constant,
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrivals::Poisson => "poisson",
            Arrivals::Constant => "constant",
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLoad {
    model: Option<Model>,
    arrivals: Option<Arrivals>,
    rate: Option<Written<Rate>>,
    connections: Option<AtLeastOne>,
    think: Option<Written<Nanos>>,
    timeout: Option<Written<Nanos>>,
}

impl TryFrom<WrittenLoad> for Load {
    type Error = &'static str;
    fn try_from(written: WrittenLoad) -> Result<Load, &'static str> {
        let WrittenLoad { model, arrivals, rate, connections, think, timeout } = written;
        let model = model.ok_or(
            "neither open nor closed; write `model: open` (the clock decides when a request \
             starts) or `model: closed` (a completion does)",
        )?;
        match model {
            Model::Open if think.is_some() => {
                return Err("think time belongs to a closed loop; in an open one the rate decides");
            }
            Model::Closed if rate.is_some() || arrivals.is_some() => {
                return Err("a closed loop has neither rate nor arrivals: completions decide");
            }
            _ => {}
        }
        if timeout.is_some_and(|timeout| *timeout == Nanos::ZERO) {
            return Err("a timeout is longer than zero");
        }
        Ok(Load {
            model,
            arrivals: arrivals.unwrap_or_default(),
            rate,
            connections: connections.unwrap_or(AtLeastOne(32)),
            think,
            timeout: timeout.unwrap_or(Written(Nanos::from_secs(10))),
        })
    }
}

/// The parts of a trial's time.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Phases {
    /// Rest before the load, after a reset.
    #[serde(default = "nothing")]
    pub settle: Written<Nanos>,
    /// Load that is recorded but not counted.
    #[serde(default)]
    pub warm_up: WarmUp,
    pub measure: Measure,
    /// How long outstanding requests are waited for.
    #[serde(default = "a_second")]
    pub drain: Written<Nanos>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    pub fixed: Written<Nanos>,
}

impl Default for WarmUp {
    fn default() -> WarmUp {
        WarmUp { fixed: a_second() }
    }
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenMeasure")]
pub struct Measure {
    pub time: Written<Nanos>,
    /// How many samples must lie beyond the highest quantile of an SLO for it to be sound.
    pub min_tail_samples: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenMeasure {
    time: Written<Nanos>,
    min_tail_samples: Option<u64>,
}

impl TryFrom<WrittenMeasure> for Measure {
    type Error = &'static str;
    fn try_from(written: WrittenMeasure) -> Result<Measure, &'static str> {
        match *written.time {
            Nanos::ZERO => Err("a measurement takes time; write for example time: 5s"),
            _ => Ok(Measure {
                time: written.time,
                min_tail_samples: written.min_tail_samples.unwrap_or(100),
            }),
        }
    }
}

fn nothing() -> Written<Nanos> {
    Written(Nanos::ZERO)
}

fn a_second() -> Written<Nanos> {
    Written(Nanos::SECOND)
}

/// A bound on what users see.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenSlo", into = "WrittenSlo")]
pub enum Slo {
    ResponseTime { quantile: Quantile, max: Nanos },
    Failures { max: Share },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSlo {
    metric: String,
    max: String,
}

impl TryFrom<WrittenSlo> for Slo {
    type Error = String;
    fn try_from(written: WrittenSlo) -> Result<Slo, String> {
        let WrittenSlo { metric, max } = written;
        let quantile = match metric.as_str() {
            "failures" => {
                let max = Share::read(&max).map_err(|error| error.to_string())?;
                return Ok(Slo::Failures { max });
            }
            "p50" => Quantile::P50,
            "p90" => Quantile::P90,
            "p95" => Quantile::P95,
            "p99" => Quantile::P99,
            "p99.9" => Quantile::P999,
            "p99.99" => Quantile::P9999,
            _ => {
                return Err(format!(
                    "`{metric}` is no metric; write p50, p90, p95, p99, p99.9, p99.99 or failures"
                ));
            }
        };
        let max = Nanos::read(&max).map_err(|error| error.to_string())?;
        Ok(Slo::ResponseTime { quantile, max })
    }
}

impl From<Slo> for WrittenSlo {
    fn from(slo: Slo) -> WrittenSlo {
        let metric = slo.metric();
        let max = match slo {
            Slo::ResponseTime { max, .. } => max.write(),
            Slo::Failures { max } => max.write(),
        };
        WrittenSlo { metric, max }
    }
}

impl Slo {
    pub fn metric(&self) -> String {
        match self {
            Slo::ResponseTime { quantile, .. } => {
                format!("p{}", (quantile.level() * 1e8).round() / 1e6)
            }
            Slo::Failures { .. } => "failures".to_owned(),
        }
    }
}

/// `p99 ≤ 100 ms`, `failures ≤ 0.1 %`.
impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slo::ResponseTime { max, .. } => {
                write!(f, "{} ≤ {}", self.metric(), exact(*max))
            }
            Slo::Failures { max } => write!(f, "failures ≤ {max}"),
        }
    }
}

/// How the loads are chosen.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenSearch", into = "WrittenSearch")]
pub struct Search {
    pub start: Start,
    /// No load above it; the budget bounds a search without one.
    pub to: Option<Rate>,
    pub step: Growth,
    pub stop: Vec<Stop>,
    pub result: ResultKind,
}

/// The first load of a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Start {
    At(Rate),
    /// This share of the rate that a short closed loop completes.
    Probe(Share),
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "WrittenStop", into = "WrittenStop")]
pub enum Stop {
    /// The last `window` loads together completed no more than the best before them, and `by` on
    /// top: the system is saturated. `by: 0` is "no new maximum".
    NoNewMax { window: u32, by: Share },
    /// The last `times` loads all missed the SLO.
    SloViolated { times: u32 },
}

/// A rule and its fields in one struct, so that errors keep their place.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenStop {
    rule: Rule,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<AtLeastOne>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<Written<Share>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<AtLeastOne>,
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Rule {
    NoNewMax,
    SloViolated,
}

impl TryFrom<WrittenStop> for Stop {
    type Error = &'static str;
    fn try_from(written: WrittenStop) -> Result<Stop, &'static str> {
        let WrittenStop { rule, window, by, times } = written;
        match (rule, window, by, times) {
            (Rule::NoNewMax, Some(window), by, None) => {
                Ok(Stop::NoNewMax { window: window.0, by: by.map_or(Share(0.0), |by| *by) })
            }
            (Rule::NoNewMax, None, _, None) => {
                Err("`no_new_max` needs its window; write for example window: 6")
            }
            (Rule::NoNewMax, _, _, Some(_)) => Err("`times` belongs to the rule slo_violated"),
            (Rule::SloViolated, None, None, times) => {
                Ok(Stop::SloViolated { times: times.map_or(1, |times| times.0) })
            }
            (Rule::SloViolated, ..) => Err("`window` and `by` belong to the rule no_new_max"),
        }
    }
}

impl From<Stop> for WrittenStop {
    fn from(stop: Stop) -> WrittenStop {
        let rule = |rule| WrittenStop { rule, window: None, by: None, times: None };
        match stop {
            Stop::NoNewMax { window, by } => WrittenStop {
                window: Some(AtLeastOne(window)),
                by: Some(Written(by)),
                ..rule(Rule::NoNewMax)
            },
            Stop::SloViolated { times } => {
                WrittenStop { times: Some(AtLeastOne(times)), ..rule(Rule::SloViolated) }
            }
        }
    }
}

/// Which quantity is the answer; the other is reported all the same.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultKind {
    #[default]
    MaximumThroughput,
    Capacity,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Strategy {
    #[default]
    Sweep,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSearch {
    #[serde(default)]
    strategy: Strategy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<(Written<Rate>, Written<Rate>)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<WrittenStart>,
    step: Written<Growth>,
    #[serde(default)]
    stop: Vec<Stop>,
    #[serde(default)]
    result: ResultKind,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenStart {
    probe: Written<Share>,
}

impl TryFrom<WrittenSearch> for Search {
    type Error = String;
    fn try_from(written: WrittenSearch) -> Result<Search, String> {
        let WrittenSearch { strategy: Strategy::Sweep, range, start, step, stop, result } = written;
        let (start, to) = match (range, start) {
            (Some((from, to)), None) if *to < *from => {
                return Err(format!(
                    "the range from {} to {} is empty; write the lower rate first",
                    *from, *to
                ));
            }
            (Some((from, to)), None) => (Start::At(*from), Some(*to)),
            (None, Some(WrittenStart { probe })) if 0.0 < probe.0.0 => (Start::Probe(*probe), None),
            (None, Some(_)) => return Err("a probe's share is above zero".to_owned()),
            _ => {
                return Err("a sweep begins either with `range: [500/s, 2000/s]` or with \
                            `start: {probe: 0.6}`"
                    .to_owned());
            }
        };
        if to.is_none() && stop.is_empty() {
            return Err("a sweep without a range needs a stop rule; write for example `stop: \
                        [{rule: no_new_max, window: 6, by: 1%}]`"
                .to_owned());
        }
        Ok(Search { start, to, step: *step, stop, result })
    }
}

impl From<Search> for WrittenSearch {
    fn from(search: Search) -> WrittenSearch {
        let Search { start, to, step, stop, result } = search;
        let (range, start) = match (start, to) {
            (Start::At(from), to) => {
                (Some((Written(from), Written(to.expect("a range has two ends")))), None)
            }
            (Start::Probe(share), _) => (None, Some(WrittenStart { probe: Written(share) })),
        };
        let strategy = Strategy::Sweep;
        WrittenSearch { strategy, range, start, step: Written(step), stop, result }
    }
}

/// How the system returns to its initial state. Without steps its components are started anew.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    #[serde(default)]
    pub between: Between,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<ResetStep>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Between {
    /// Before every trial.
    Trials,
    /// Before the first trial at each load.
    Points,
    /// Only after the smoke test.
    #[default]
    Never,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ResetStep {
    Http(Exchange),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    /// Trials at each load.
    pub trials: AtLeastOne,
}

impl Default for Repeat {
    fn default() -> Repeat {
        Repeat { trials: one() }
    }
}

/// What the experiment may cost.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Budget {
    /// Attempted trials at most.
    pub trials: AtLeastOne,
    /// How often an invalid trial is repeated.
    pub invalid_attempts: u32,
    /// The time of all phases at most, as planned (not as the clock showed, so that a resumed run
    /// decides alike).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Written<Nanos>>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { trials: AtLeastOne(100), invalid_attempts: 3, time: None }
    }
}

/// An operating system's error without its number.
pub(crate) fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

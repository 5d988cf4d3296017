//! The system under test: its components, when it is ready, and the responses that it must give
//! before any load; or the queue that replaces it.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use measure::number::ParseError;
use measure::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::foreign::{Files, Pattern, Port, Scheme};
use super::literal::one;
use super::{
    Action, AtLeastOne, Config, Exchange, Initialise, Literal, Name, Run, Scale, Texts, Wait,
    Written, schema, texts,
};

/// The system under test.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sut {
    /// The number of copies of the whole system; the load is per instance.
    #[serde(default = "one")]
    pub instances: AtLeastOne,
    /// The number of processes of each step in each instance, unless the step sets its own.
    #[serde(default = "one")]
    pub replicas: AtLeastOne,
    /// The components and actions. An action begins once everything before it is ready, and ends
    /// before anything after it begins. Between two actions each component is started in the first
    /// wave after those that it needs; there the order in the file does not matter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deploy: Vec<Step>,
    /// The condition under which a component is ready, unless it sets its own. Its request goes to
    /// the endpoint.
    #[serde(default)]
    pub ready: Ready,
    /// Local: the component that gets the load (the last one by default). External: its URLs.
    #[serde(default, skip_serializing_if = "no_texts")]
    pub endpoint: Texts,
    /// The data of the system, and the checks of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initialise: Option<Initialise>,
    /// The requests that must get the stated response before any load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub smoke: Vec<Exchange>,
    /// The actions before the system is stopped, unless it failed or the run was interrupted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub teardown: Vec<Action>,
}

impl Default for Sut {
    fn default() -> Sut {
        Sut {
            instances: one(),
            replicas: one(),
            deploy: Vec::new(),
            ready: Ready::default(),
            endpoint: Texts::default(),
            initialise: None,
            smoke: Vec::new(),
            teardown: Vec::new(),
        }
    }
}

impl Sut {
    /// Returns the components, in the order of the file.
    pub fn components(&self) -> impl DoubleEndedIterator<Item = &Component> {
        self.deploy.iter().filter_map(Step::component)
    }

    /// Returns the component that gets the load: the named one, or else the last.
    pub fn endpoint_component(&self) -> Option<&Component> {
        match self.endpoint.0.first() {
            Some(name) => self.components().find(|component| component.name() == name),
            None => self.components().next_back(),
        }
    }

    /// Returns the number of processes that a component has in each instance.
    pub fn replicas_of(&self, component: &Component) -> u32 {
        component.replicas().unwrap_or(self.replicas).0
    }

    /// Returns the condition under which a component is ready: its own, or else the system's, whose
    /// request goes to the endpoint only.
    pub fn ready_of(&self, component: &Component) -> Ready {
        let endpoint = self.endpoint_component().map(Component::name);
        let of_system = || Ready {
            get: self.ready.get.clone().filter(|_| endpoint == Some(component.name())),
            within: self.ready.within,
            ..Ready::default()
        };
        component.ready().cloned().unwrap_or_else(of_system)
    }

    /// Returns the actions and the checks outside `deploy` as actions: those of `initialise` and
    /// `teardown`.
    pub(super) fn later_actions(&self) -> impl Iterator<Item = Action> {
        let initialise = self.initialise.iter();
        let of_initialise = initialise.flat_map(|initialise| {
            let checks = initialise.expect.iter().cloned().map(Action::from);
            initialise.steps.iter().cloned().chain(checks)
        });
        of_initialise.chain(self.teardown.iter().cloned())
    }
}

fn no_texts(texts: &Texts) -> bool {
    texts.0.is_empty()
}

/// One item of `deploy`.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(from = "WrittenStep", into = "WrittenStep")]
pub enum Step {
    Component(Component),
    Action(Action),
}

impl Step {
    pub fn component(&self) -> Option<&Component> {
        match self {
            Step::Component(component) => Some(component),
            Step::Action(_) => None,
        }
    }

    pub fn action(&self) -> Option<&Action> {
        match self {
            Step::Component(_) => None,
            Step::Action(action) => Some(action),
        }
    }
}

/// All kinds of steps in one enum, so that an unknown one is reported with all of them.
#[derive(Clone, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "snake_case")]
enum WrittenStep {
    App(App),
    Process(Process),
    Helm(Helm),
    Manifest(Manifest),
    Http(Exchange),
    Run(Run),
    Wait(Wait),
    /// Components to restart, all replicas; they keep their addresses and folders.
    Restart(Texts),
    Config(Config),
    Scale(Scale),
}

impl From<WrittenStep> for Step {
    fn from(written: WrittenStep) -> Step {
        match written {
            WrittenStep::App(app) => Step::Component(Component::App(app)),
            WrittenStep::Process(process) => Step::Component(Component::Process(process)),
            WrittenStep::Helm(helm) => Step::Component(Component::Helm(helm)),
            WrittenStep::Manifest(manifest) => Step::Component(Component::Manifest(manifest)),
            WrittenStep::Http(exchange) => Step::Action(Action::Http(exchange)),
            WrittenStep::Run(run) => Step::Action(Action::Run(run)),
            WrittenStep::Wait(wait) => Step::Action(Action::Wait(wait)),
            WrittenStep::Restart(components) => Step::Action(Action::Restart(components)),
            WrittenStep::Config(config) => Step::Action(Action::Config(config)),
            WrittenStep::Scale(scale) => Step::Action(Action::Scale(scale)),
        }
    }
}

impl From<Step> for WrittenStep {
    fn from(step: Step) -> WrittenStep {
        match step {
            Step::Component(Component::App(app)) => WrittenStep::App(app),
            Step::Component(Component::Process(process)) => WrittenStep::Process(process),
            Step::Component(Component::Helm(helm)) => WrittenStep::Helm(helm),
            Step::Component(Component::Manifest(manifest)) => WrittenStep::Manifest(manifest),
            Step::Action(Action::Http(exchange)) => WrittenStep::Http(exchange),
            Step::Action(Action::Run(run)) => WrittenStep::Run(run),
            Step::Action(Action::Wait(wait)) => WrittenStep::Wait(wait),
            Step::Action(Action::Restart(components)) => WrittenStep::Restart(components),
            Step::Action(Action::Config(config)) => WrittenStep::Config(config),
            Step::Action(Action::Scale(scale)) => WrittenStep::Scale(scale),
        }
    }
}

/// Something to start.
#[derive(Clone, Debug, PartialEq)]
pub enum Component {
    /// A reference application: `run: hotel all-in-one`.
    App(App),
    Process(Process),
    /// Kubernetes: a release of a chart.
    Helm(Helm),
    /// Kubernetes: the objects of a file.
    Manifest(Manifest),
}

/// Returns a field that all kinds of component have.
macro_rules! of {
    ($component:ident, $field:ident) => {
        match $component {
            Component::App(app) => &app.$field,
            Component::Process(process) => &process.$field,
            Component::Helm(helm) => &helm.$field,
            Component::Manifest(manifest) => &manifest.$field,
        }
    };
}

/// Returns a field of a component that is a program; `None` for objects of a cluster.
macro_rules! of_program {
    ($component:ident, $field:ident) => {
        match $component {
            Component::App(app) => Some(&app.$field),
            Component::Process(process) => Some(&process.$field),
            Component::Helm(_) | Component::Manifest(_) => None,
        }
    };
}

impl Component {
    pub fn name(&self) -> &str {
        of!(self, name)
    }

    /// Returns its program and arguments, or the words of an application, as written.
    pub fn words(&self) -> &[String] {
        match self {
            Component::App(app) => std::slice::from_ref(&app.run),
            Component::Process(process) => &process.command.0,
            Component::Helm(helm) => std::slice::from_ref(&helm.chart),
            Component::Manifest(manifest) => std::slice::from_ref(&manifest.file),
        }
    }

    /// Returns the texts that may contain addresses.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        let files = self.files().into_iter().flat_map(|files| files.0.values());
        let environment = self.environment().into_iter().flat_map(|all| all.values());
        let of_chart = self.chart().into_iter().flat_map(Helm::texts);
        self.words().iter().chain(environment).chain(files).chain(of_chart)
    }

    /// Returns the components that must be ready before it: those it names, and those whose
    /// addresses it uses.
    pub fn needs(&self) -> Vec<&str> {
        let named = of!(self, needs).iter().map(|name| &**name);
        let used = self.texts().flat_map(|text| texts::addresses_in(text)).map(|(step, _)| step);
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
        of_program!(self, cpu_limit).copied().flatten()
    }

    pub fn memory_limit(&self) -> Option<MemoryLimit> {
        of_program!(self, memory_limit).copied().flatten().map(|limit| *limit)
    }

    pub fn environment(&self) -> Option<&BTreeMap<String, String>> {
        of_program!(self, environment)
    }

    /// Returns the chart of a component that is one.
    pub fn chart(&self) -> Option<&Helm> {
        match self {
            Component::App(_) | Component::Process(_) | Component::Manifest(_) => None,
            Component::Helm(helm) => Some(helm),
        }
    }

    /// Returns the file of objects of a component that is one.
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            Component::App(_) | Component::Process(_) | Component::Helm(_) => None,
            Component::Manifest(manifest) => Some(manifest),
        }
    }

    /// Returns the scheme of its URL, if the spec states it.
    pub fn scheme(&self) -> Option<&Scheme> {
        match self {
            Component::App(_) => None,
            Component::Process(process) => process.scheme.as_ref(),
            Component::Helm(helm) => helm.scheme.as_ref(),
            Component::Manifest(manifest) => manifest.scheme.as_ref(),
        }
    }

    /// Returns the port of a foreign program: one that does not print its address.
    pub fn port(&self) -> Option<Port> {
        match self {
            Component::App(_) | Component::Helm(_) | Component::Manifest(_) => None,
            Component::Process(process) => process.port,
        }
    }

    /// Returns the files that are written before it starts.
    pub fn files(&self) -> Option<&Files> {
        match self {
            Component::App(_) | Component::Helm(_) | Component::Manifest(_) => None,
            Component::Process(process) => Some(&process.files),
        }
    }
}

/// A reference application.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// The name, by which others refer to it.
    pub name: Name,
    /// The words after `benchwright app`. `${addresses.store}` is replaced by the addresses of the
    /// replicas of the step `store` in the same instance: `127.0.0.1:7001,127.0.0.1:7002`.
    pub run: String,
    /// The number of processes in each instance; that of `sut` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<AtLeastOne>,
    /// The components that must be ready before it; those whose addresses it uses are added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    /// The condition under which it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// The most CPU time that each replica may use, and its weight on a CPU that is contended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
    /// The most memory that each replica may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Written<MemoryLimit>>,
    /// Variables of the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// Any program. Without `port` it is given `--listen 127.0.0.1:0`, unless one of its texts uses
/// `${listen}`, and prints `ready <url>` when it can serve.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// The name, by which others refer to it.
    pub name: Name,
    /// Program and arguments; the program `benchwright` is this tool itself. `${folder}` is a folder
    /// of its own, which is made before its start and removed after its end. `${listen}` is the
    /// address at which it shall listen.
    pub command: Command,
    /// The scheme of its URL. With a port `http` by default, otherwise that of its line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The port of a program that does not print its address: `${port}` in its texts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<Port>,
    /// Files in `${folder}`, by name, which may use the same variables as the command.
    #[serde(default, skip_serializing_if = "Files::is_empty")]
    pub files: Files,
    /// The number of processes in each instance; that of `sut` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<AtLeastOne>,
    /// The components that must be ready before it; those whose addresses it uses are added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    /// The condition under which it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
    /// The most CPU time that each replica may use, and its weight on a CPU that is contended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_limit: Option<CpuLimit>,
    /// The most memory that each replica may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<Written<MemoryLimit>>,
    /// Variables of the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
}

/// A release of a Helm chart, in each instance. It is ready when helm says so, and its service
/// answers.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Helm {
    /// The name, by which others refer to it.
    pub name: Name,
    /// The folder of the chart, relative to the spec's.
    pub chart: String,
    /// The name of the release; the component's by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The namespace of the release; the run's by default. It may contain `${instance}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The values, by their paths, as after `--set`: `image.tag: "1"`
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, serde_json::Value>,
    /// The Service of the release that gets the load and the requests.
    pub service: String,
    /// The scheme of its URL; `http` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The way from the generator to the Service.
    #[serde(default)]
    pub via: Via,
    /// The Deployment of the release whose pods are the `replicas`. A level that changes nothing but
    /// their number scales it; without this field the release is installed anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// The chart's value `replicaCount`, unless it is in `set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<AtLeastOne>,
    /// The components that must be ready before it; those whose addresses it uses are added.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    /// The condition under which it is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
}

impl Helm {
    /// Returns the texts that may contain variables and addresses, besides the chart's folder.
    fn texts(&self) -> impl Iterator<Item = &String> {
        let values = self.set.values().filter_map(|value| match value {
            serde_json::Value::String(text) => Some(text),
            _ => None,
        });
        self.names().skip(1).chain(values)
    }

    /// Returns the names of the chart's folder and of its objects.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let names = self.release.iter().chain(&self.namespace).chain(&self.deployment);
        [&self.chart].into_iter().chain(names).chain([&self.service])
    }
}

/// A StatefulSet and its Service from a file, as `kubectl create -f` takes it. The run makes them in its own
/// namespace, on the nodes of role `sut` and with its own image, and removes them with their volumes. The
/// addresses are those of the pods.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The name, by which others refer to it. It is that of the StatefulSet, too.
    pub name: Name,
    /// The file, relative to the spec's folder.
    pub file: String,
    /// The port of its pods.
    #[schemars(range(min = 1))]
    pub port: NonZeroU16,
    /// The scheme of its URL; `http` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// The number of pods, in place of the file's; that of `sut` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<AtLeastOne>,
    /// The components that must be ready before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Name>,
    /// The condition under which it is ready, besides the probes of its pods.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Ready>,
}

/// The way from the generator to a Service.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// Its name in the cluster: a virtual address, which the nodes spread over the pods.
    #[default]
    ClusterIp,
    /// Its port at the first node of role `sut`.
    NodePort,
    /// The addresses of its pods: the generator spreads its connections over them itself.
    Pods,
}

/// A program and its arguments.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Command(pub Vec<String>);

impl Command {
    /// Returns true for the command of a program that is named otherwise.
    pub(super) fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

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
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
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
        match (0.001..=4096.0).contains(&limit) {
            true => Ok(CpuLimit(limit)),
            false => Err(format!(
                "`{limit}` is not a valid CPU limit; write CPUs from 0.001, for example 0.5"
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
        Bytes(self.0).write()
    }
}

/// The condition under which a component is ready: it printed its line `ready <url>`, and if a
/// request is given here, responded to it with a status below 300. The request of the system is
/// sent to the endpoint's components only. A component with a port prints no such line; all that
/// is given here must hold for it, and if nothing is given, it must accept a connection.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(transform = schema::with_http)]
pub struct Ready {
    /// It responds to a GET of this path with a status below 300.
    #[serde(default, alias = "http", skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
    /// It accepts a connection at its port.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "std::ops::Not::not")]
    #[schemars(with = "Option<bool>")]
    pub tcp: bool,
    /// It printed a line that this regular expression matches, on stdout or stderr.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<Pattern>,
    /// The longest time until all of these hold.
    #[serde(default = "thirty_seconds")]
    pub within: Written<Nanos>,
}

/// Reads `{tcp: true}`, or `{tcp}` alone.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(true))
}

fn thirty_seconds() -> Written<Nanos> {
    Written(Nanos::from_secs(30))
}

impl Default for Ready {
    fn default() -> Ready {
        Ready { get: None, tcp: false, log: None, within: thirty_seconds() }
    }
}

/// A queue on virtual time in place of a system.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// The time that a request is served, on average.
    pub service_time: Written<Nanos>,
    /// The distribution of the service times.
    #[serde(default)]
    pub distribution: Distribution,
    /// The number of requests that are served at once.
    #[serde(default = "one")]
    pub servers: AtLeastOne,
}

/// The distribution of service times.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// All are equal.
    #[default]
    Constant,
    /// Many short ones and few long ones.
    Exponential,
}

impl super::Resolved {
    /// Returns the name of a component in one instance: `frontend`, or with several `frontend-2`.
    pub fn name_in(&self, component: &str, instance: u32) -> String {
        match self.spec.sut.instances.0 {
            1 => component.to_owned(),
            _ => format!("{component}-{instance}"),
        }
    }

    /// Returns the names of a component's replicas in one instance: `frontend`, or with several
    /// `frontend.2`.
    pub fn replicas_of(&self, component: &Component, instance: u32) -> Vec<String> {
        let name = self.name_in(component.name(), instance);
        replicas(&name, self.spec.sut.replicas_of(component))
    }
}

/// Returns the names of a service's replicas.
pub(crate) fn replicas(service: &str, number: u32) -> Vec<String> {
    match number {
        1 => vec![service.to_owned()],
        _ => (1..=number).map(|number| format!("{service}.{number}")).collect(),
    }
}

//! The experiment file: typed, strict, with positions. Nothing here touches the machine except to
//! read the file itself, and nothing is guessed: text that cannot be understood is an error with
//! its place.
//!
//! One file describes one experiment. Unknown and duplicate fields are errors; quantities have a
//! unit; texts may contain `${vars.x}`, `${instance}`, `${addresses.step}` and `${env.NAME}` (which
//! stays until a request is sent or a program is started), the command of another load generator the
//! values of its load, and there is no further expression language.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use results::{Metric, Secrets, regular};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::url;

pub use action::{Action, Check, Initialise, OncePer, Run, Wait};
pub use change::{Change, Config, Part, Scale};
pub(crate) use compare::Arms;
pub use compare::{Compare, Reproducibility, Target};
pub use connections::{Connections, PerRate, Tls, TlsVersion};
pub(crate) use deploy::REPLICAS;
pub use deploy::Stage;
pub use doctor::Doctor;
pub use exchange::{Body, Exchange, Method, Sent, Statuses};
pub use files::File;
pub(crate) use foreign::HTTP;
pub use foreign::{Files, Pattern, Port, Scheme};
pub use foreign_generator::{Expressions, Parse};
pub use literal::{AtLeastOne, Count, Growth, Literal, Texts, Written};
pub use load::{Io, Load, Model, Offered, Timer};
pub use measure::cpus::{Cpus, Pin};
pub use monitor::{Monitor, Prometheus, duration};
pub use pace::{Arrivals, Shape, Think};
pub use phases::{CoolDown, Measure, Phases, UntilIdle, UntilSteady, WarmUp};
pub use questions::{Cell, Factor, Level, Named, Question, questions};
pub(crate) use read::quoted;
pub use repeat::{Between, Budget, Order, Repeat, Reset, Until};
pub use roles::{BackendKind, Cluster, Generator, LOAD, Role, Roles, SUT, Where};
pub use scaling::ScalingLaw;
pub use schema::schema;
pub use search::{Bracket, ResultKind, Search, Start, Stop, Strategy, Sweep};
pub use slo::Slo;
pub use source::{Location, Source, SpecError};
pub(crate) use sut::replicas;
pub use sut::{
    App, Command, Component, CpuLimit, Distribution, Helm, Manifest, MemoryLimit, Process, Ready,
    Simulated, Step, Sut, Via,
};
pub use texts::Addresses;
pub use texts::{FOLDER, LISTEN, PORT};
pub(crate) use texts::{addresses_of, of_step, replicas_in, substitute};
pub use workload::{EventMode, Events, Foreign, Protocol, Workload};

mod roles;

mod action;
mod change;
mod deploy;
mod exchange;
mod foreign;
pub mod foreign_generator;
mod requests;
mod sut;

mod connections;
mod files;
pub mod generator;
mod load;
mod monitor;
mod pace;
mod phases;
pub(crate) mod workload;

mod compare;
mod doctor;
mod questions;
mod repeat;
pub(crate) mod scaling;
mod search;
pub(crate) mod simulated;
mod slo;

mod literal;
mod patch;
mod read;
mod schema;
mod secrets;
mod source;
mod texts;

#[cfg(test)]
mod tests;

/// Reads a spec and applies, in this order, its profiles (several are joined by `+`) and each
/// `path=value`.
pub fn load(path: &Path, profile: Option<&str>, set: &[String]) -> Result<Resolved, SpecError> {
    let name = regular::shown(path);
    let read = regular::read_input(path, regular::MOST_OF_SHORT);
    let bytes = read.map_err(|error| {
        let instead = match () {
            () if name.contains("://") => {
                "; a spec is a file: `benchwright init URL` writes one, and `benchwright capacity URL` needs none"
            }
            () if path.is_dir() => {
                "; a spec is a file: `benchwright resume DIR` and `rerun DIR` take results"
            }
            () => "",
        };
        let message = format!("cannot read this spec: {}{instead}", plain(&error));
        Source::new(&name, String::new()).error(message, None, "")
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let resolved = from_bytes(&name, &bytes, folder, profile, set)?;
    compare::check_until(&resolved)?;
    compare::check_trials(&resolved)?;
    scaling::check_values(&resolved)?;
    Ok(resolved)
}

/// Reads a spec from memory; its relative paths are relative to `folder`.
pub fn from_bytes(
    name: &str,
    bytes: &[u8],
    folder: &Path,
    profile: Option<&str>,
    set: &[String],
) -> Result<Resolved, SpecError> {
    let source = read::source(name, bytes)?.with(profile, set);
    let written: Spec = read::typed(&source)?;
    let spec = patch::apply(&source, written, profile, set)?;
    let mut secrets = Secrets::default();
    let spec = secrets::kept_apart(spec, &source, &mut secrets)?;
    let mut resolved = Resolved {
        spec,
        source,
        folder: folder.to_owned(),
        profile: profile.map(str::to_owned),
        set: set.iter().map(|setting| secrets::setting_shown(setting, &secrets)).collect(),
        secrets,
    };
    let files = resolved.check()?;
    resolved.find_secrets(&files);
    #[cfg(test)]
    schema::tests::assert_accepts(&resolved);
    Ok(resolved)
}

/// A spec with its profile and settings applied, and its source.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub spec: Spec,
    pub source: Source,
    /// The folder to which paths are relative.
    pub folder: PathBuf,
    /// The profiles that were applied, in order, joined by `+`.
    pub profile: Option<String>,
    /// The settings `path=value`, as given, but for secrets.
    pub set: Vec<String>,
    /// The values of the references to secrets in the spec.
    pub secrets: Secrets,
}

impl Spec {
    /// Returns the metrics that decide something, each with the key that names it.
    pub(crate) fn declared(&self) -> Vec<(Metric, &'static str)> {
        let compared = self.compare.iter().flat_map(|compare| &compare.metrics);
        let wanted = self.reproducibility.iter().map(|wanted| (wanted.target.metric, "target:"));
        let until = self.repeat.until.iter().map(|until| (until.metric, "until:"));
        compared.map(|metric| (*metric, "metrics:")).chain(wanted).chain(until).collect()
    }
}

impl Resolved {
    /// Returns the seed of all randomness in the run: the spec's, or a hash of its name.
    pub fn seed(&self) -> u64 {
        self.spec.seed.unwrap_or_else(|| measure::random::seed_of(&self.spec.name))
    }

    /// Returns true if its trials have only to show whether they meet the SLO, so that a trial may end
    /// as soon as it has missed it.
    pub fn asks_only_for_verdicts(&self) -> bool {
        let search = self.spec.search.as_ref();
        search.is_some_and(|search| matches!(search.strategy, Strategy::Bracket(_)))
            && !self.spec.slo.is_empty()
    }

    /// Returns the objectives of the spec, in their order.
    pub fn slos(&self) -> Vec<results::Slo> {
        self.spec.slo.iter().map(|slo| **slo).collect()
    }

    /// Returns a text with its variables replaced, for this instance (counted from 1).
    pub fn text(&self, text: &str, instance: u32) -> String {
        self.text_with(text, instance, &Addresses::new())
    }

    /// Returns a text of a component, which may contain the addresses of components that it needs.
    pub fn text_with(&self, text: &str, instance: u32, addresses: &Addresses) -> String {
        texts::substitute(text, &self.spec, instance, addresses)
            .expect("every variable was looked up when the spec was read")
    }

    /// Returns the parts of the deployment in order: the components of a wave need only those of
    /// earlier waves.
    pub fn stages(&self) -> Vec<Stage<'_>> {
        deploy::stages(&self.spec.sut.deploy)
    }

    /// Returns the programs of all actions and checks.
    pub fn runs(&self) -> Vec<Run> {
        texts::actions(self).filter_map(|action| action.run().cloned()).collect()
    }

    /// Returns the resolved spec as a file: without profiles, with every default.
    pub fn to_yaml(&self) -> String {
        let document = serde_json::to_value(&self.spec).expect("a spec is plain data");
        serde_saphyr::to_string(&document).expect("a document is plain data")
    }

    /// Returns true if the experiment puts several questions: each of them is checked by itself.
    pub fn has_several(&self) -> bool {
        let Spec { factors, searches, repeat, .. } = &self.spec;
        !factors.is_empty() || !searches.is_empty() || 1 < repeat.searches.0
    }

    /// Checks the spec; returns the files in which its questions may refer to secrets.
    fn check(&self) -> Result<BTreeSet<PathBuf>, SpecError> {
        if self.spec.search.is_some() && !self.spec.searches.is_empty() {
            return Err(self.source.error(
                "both `search` and `searches` are given",
                self.source.find("search:", "search"),
                "move the one into the other",
            ));
        }
        let (_, questions) = questions(self)?;
        let files = questions.iter().flat_map(|one| one.resolved.files_with_references());
        Ok(files.collect())
    }

    /// Checks the rules that concern more than one field of a question.
    fn check_question(&self) -> Result<(), SpecError> {
        texts::check(self)?;
        deploy::check(self)?;
        requests::check(self)?;
        load::check(self)?;
        workload::events::check(self)?;
        monitor::check(self)?;
        foreign_generator::check(self)?;
        slo::check(self)?;
        let Spec { where_, sut, simulated, search, load, repeat, .. } = &self.spec;
        let error =
            |message: &str, key: &str, label: &str| Err(self.source.error_at(message, key, label));
        match where_.backend {
            BackendKind::Local if sut.components().next().is_none() => {
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
            BackendKind::External | BackendKind::Simulated if 1 < sut.replicas.0 => {
                return error(
                    "only what is deployed has replicas",
                    "replicas:",
                    "remove it, or choose backend: local",
                );
            }
            BackendKind::Kubernetes if sut.components().next().is_none() => {
                return error(
                    "there is nothing to deploy on the cluster",
                    "backend:",
                    "add sut.deploy, or name a running service: backend: external, sut.endpoint",
                );
            }
            BackendKind::Kubernetes if self.spec.where_.cluster.is_none() => {
                return error(
                    "the cluster needs the image with our programs",
                    "backend:",
                    "add for example cluster: {image: local/benchwright:0.1.0}",
                );
            }
            BackendKind::Simulated if simulated.is_none() => {
                return error(
                    "the simulated backend needs its model",
                    "backend:",
                    "add for example simulated: {service_time: 100us, distribution: constant}",
                );
            }
            _ => {}
        }
        let is_cluster = where_.backend == BackendKind::Kubernetes;
        let roles = [&where_.roles.sut, &where_.roles.load];
        for role in roles.into_iter().flatten() {
            if is_cluster && role.cpus.is_some() {
                return error(
                    "a role of a cluster has nodes, not CPUs",
                    "cpus:",
                    "write nodes: LABELS; in a profile also cpus: null",
                );
            }
            if !is_cluster && role.nodes.is_some() {
                return error(
                    "a role of this machine has CPUs, not nodes",
                    "nodes:",
                    "write cpus: 0-3, or choose backend: kubernetes",
                );
            }
        }
        match (&load.model, search) {
            (Model::Closed { .. }, Some(_)) => error(
                "a closed loop has no rate to search",
                "search:",
                "remove search, or choose model: open",
            ),
            (Model::Rate { rate: None, .. }, None) => error(
                "an open loop needs a rate",
                "load:",
                "add load.rate, for example 500/s, or a search",
            ),
            (Model::Rate { rate: Some(_), .. }, Some(_)) => {
                let label = "remove load.rate or search";
                error("the rate is both fixed and searched", "load.rate:", label)
            }
            (_, Some(search))
                if search.result == ResultKind::Capacity && self.spec.slo.is_empty() =>
            {
                error(
                    "a capacity needs an SLO",
                    "search:",
                    "add for example slo: [{metric: p99, max: 100ms}], or sweep for the \
                     maximum_throughput",
                )
            }
            (_, Some(Search { strategy: Strategy::Bracket(_), .. }))
                if 1 < repeat.trials.0 || repeat.until.is_some() =>
            {
                error(
                    "this search decides itself how often a load is tried",
                    "repeat:",
                    "write search.confirm for surer bounds, or repeat: {searches: 5}",
                )
            }
            _ => {
                simulated::check(self)?;
                self.check_targets()
            }
        }
    }

    /// Returns the SLO in words: `p99 ≤ 100 ms and failures ≤ 0.1 %`
    pub fn slo_in_words(&self) -> Option<String> {
        let slos = self.slos();
        (!slos.is_empty()).then(|| results::slo::in_words(&slos))
    }

    /// Returns the number of targets of a load: the endpoints of an external system, or else its instances.
    pub fn targets(&self) -> u32 {
        match self.spec.where_.backend {
            BackendKind::External => self.spec.sut.endpoint.0.len() as u32,
            BackendKind::Local | BackendKind::Simulated | BackendKind::Kubernetes => {
                self.spec.sut.instances.0
            }
        }
    }

    fn check_targets(&self) -> Result<(), SpecError> {
        files::check(self)?;
        let Where { backend, .. } = self.spec.where_;
        if backend == BackendKind::External {
            return self.check_endpoints();
        }
        let Some(name) = self.spec.sut.endpoint.0.first() else { return Ok(()) };
        let names: Vec<&str> = self.spec.sut.components().map(Component::name).collect();
        let deploys = matches!(backend, BackendKind::Local | BackendKind::Kubernetes);
        if deploys && !names.contains(&name.as_str()) {
            return Err(self.source.error(
                format!("no component is called `{name}`"),
                self.source.find("endpoint", name),
                &format!("components here: {}", names.join(", ")),
            ));
        }
        Ok(())
    }

    /// Checks the URLs of a service that is not deployed. Another generator may speak any protocol.
    fn check_endpoints(&self) -> Result<(), SpecError> {
        let protocol = self.spec.workload.protocol();
        for (instance, written) in (1..).zip(&self.spec.sut.endpoint.0) {
            let url = self.text(written, instance);
            let server = protocol.check(&url).and_then(|()| url::server(&url));
            let server = server.map_err(|why| self.wrong_endpoint(written, &why))?;
            if generator::is_behind_query(self, &server) {
                let message = "an endpoint with a query, and a workload with a path of its own";
                let place = self.source.find("endpoint", written);
                let label = "move the query to the path of the workload";
                return Err(self.source.error(message, place, label));
            }
        }
        Ok(())
    }

    /// Returns the error of an endpoint that is not a URL for this workload, with its place.
    fn wrong_endpoint(&self, written: &str, why: &str) -> SpecError {
        let label = match self.spec.workload.protocol() {
            Protocol::Store => "correct it; write for example redis://127.0.0.1:6379",
            Protocol::Http | Protocol::Foreign => {
                "correct it; write for example http://127.0.0.1:8080"
            }
        };
        self.source.error(why, self.source.find("endpoint", written), label)
    }
}

/// An experiment, as one file.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The name of the experiment, which also names its results folder.
    pub name: Name,
    /// The question of the experiment in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<String>,
    /// The seed of all randomness; a hash of the name by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Constants for `${vars.x}`. A secret is `${env.NAME}`, a variable of the environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, String>,
    /// The place where things run.
    #[serde(rename = "where", default)]
    pub where_: Where,
    /// The system under test.
    #[serde(default)]
    pub sut: Sut,
    /// The queue in place of a system, with `backend: simulated`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
    /// The requests that are sent.
    #[serde(default)]
    pub workload: Workload,
    /// The load that is offered.
    pub load: Load,
    /// The parts of a trial's time.
    #[serde(default)]
    pub phases: Phases,
    /// The objectives: a load meets the SLO if it meets all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slo: Vec<Slo>,
    /// The variables of the experiment, each with its levels: every combination is a cell.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    pub factors: Named<Factor>,
    /// The search for the highest load. Without one, the load of `load` is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Search>,
    /// Several searches, each made in every cell: its own fields, and patches of `load`, `phases`,
    /// `slo`, `workload` and `repeat`.
    #[serde(default, skip_serializing_if = "Named::is_empty")]
    #[schemars(schema_with = "schema::searches")]
    pub searches: Named<serde_json::Value>,
    /// The way back to the initial state between trials.
    #[serde(default)]
    pub reset: Reset,
    /// The repetitions of trials and searches.
    #[serde(default)]
    pub repeat: Repeat,
    /// The limits of the experiment.
    #[serde(default)]
    pub budget: Budget,
    /// The two arms to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    /// The factor whose levels are numbers of units, and over which the throughput grows by a law.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling_law: Option<ScalingLaw>,
    /// The wanted spread of equal trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproducibility: Option<Reproducibility>,
    /// The strictness towards what the checks of the machines find.
    #[serde(default, skip_serializing_if = "Doctor::is_usual")]
    pub doctor: Doctor,
    /// The questions to other monitors after each load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub monitor: Vec<Monitor>,
    /// The named patches of this document, which `--profile` applies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::profiles")]
    pub profiles: BTreeMap<String, serde_json::Value>,
}

/// The name of an experiment, which also names its results folder.
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
                "`{name}` is not a valid name; use letters, digits, `-`, `_` and `.`, at most 80"
            )),
        }
    }
}

/// Returns an operating system's error without its number, as a part of a sentence.
pub fn plain(error: &std::io::Error) -> String {
    let mut text = regular::plain(error);
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    text
}

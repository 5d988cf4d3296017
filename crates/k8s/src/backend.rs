//! The backend that runs services and load as pods of a cluster.
//!
//! Everything that it makes has the label of the run, is in the run's namespace, and is owned by one
//! object: if that is deleted, so is the rest. What a killed runner left is found by the label.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use http::Request;
use lab::Host;
use lab::backend::{
    Address, Backend, Drive, Driven, Executed, Machine, Reply, Service, Stop, Ticking,
};
use lab::calm::Calm;
use lab::host::{self, RunId};
use lab::spec::{Change, Exchange, Generator, LOAD, Method, Resolved, Run as Program};
use measure::{Instant, Nanos};
use results::Environment;
use serde_json::{Value, json};

use crate::api::{self, Api, Error, LAST_LINES};
use crate::doctor::{self, Before};
use crate::helm::{Helm, Interruption};
use crate::lease;
use crate::load::{self, Made, Surroundings};
use crate::manifest;
use crate::nodes::{self, Known};
use crate::objects;
use crate::pods;
use crate::watch::Watch;

mod changes;
mod charts;
mod checks;
mod connection;
mod logs;
mod programs;
mod readiness;
mod remains;
mod usage;

#[cfg(test)]
mod tests;

pub(crate) use connection::cluster_of;

use connection::Connected;
use readiness::{Pod, replica_of};

const POLL_EVERY: Duration = Duration::from_millis(200);
/// The pause between two looks at nodes that were lost.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The longest time until a pod of our image has run once, with the time to pull it.
const IMAGE_WITHIN: Nanos = Nanos::from_secs(120);
/// The number of log lines of a pod that are kept.
const MOST_LINES: u32 = 10_000;
/// The field of the owner object with the releases of the run.
const RELEASES: &str = "releases";
/// Stands before the path of a URL that the API server passes on to a pod.
const THROUGH_API: &str = "http://api-server";
/// The reason why a request cannot pass the API server.
const TAKEN: &str = "the API server of a cluster, through which the runner asks, takes the header \
                     field Authorization for itself; leave this request out in the profile of the \
                     cluster";

/// The pods of one run.
pub struct Kubernetes {
    host: Host,
    /// Tells the user what could not be removed at the end.
    warn: Box<dyn Fn(&str)>,
    connected: Option<Connected>,
    /// The services that were started, by name.
    started: BTreeMap<String, Service>,
    /// The pods of the services, as they became ready.
    became_ready: Vec<Pod>,
    logs: Option<PathBuf>,
    /// The files of the loads of any question.
    files: load::Files,
    /// The names of the secrets that the generators of any question need.
    of_load: BTreeSet<String>,
    /// The port at which the generator receives events, if it does.
    receiver: Option<u16>,
    /// The resources of each generator.
    generator: Generator,
    /// True after generators have accepted a load.
    has_loaded: Cell<bool>,
    /// The answers to the last checks that the next ones are compared with, if nothing was deployed
    /// since.
    before: Option<Before>,
    /// The number of ready endpoints of each service of a release, by `namespace/service`.
    endpoints: BTreeMap<String, u32>,
    /// The number of loads and programs so far, which names their objects.
    count: u32,
    /// The number of starts so far, which names the volumes of each.
    starts: u32,
}

impl Kubernetes {
    pub fn new(host: Host, warn: impl Fn(&str) + 'static) -> Kubernetes {
        Kubernetes {
            host,
            warn: Box::new(warn),
            connected: None,
            started: BTreeMap::new(),
            became_ready: Vec::new(),
            logs: None,
            files: load::Files::new(),
            of_load: BTreeSet::new(),
            receiver: None,
            generator: Generator::default(),
            has_loaded: Cell::new(false),
            before: None,
            endpoints: BTreeMap::new(),
            count: 0,
            starts: 0,
        }
    }

    /// Removes what killed runs left on a cluster, and returns it in words.
    pub fn clean(
        kubeconfig: Option<&Path>,
        context: Option<&str>,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Vec<String>, Stop> {
        let api = Api::connect(kubeconfig, context, Arc::clone(&interrupted))?;
        let (kubeconfig, context) = (kubeconfig.map(Path::to_owned), context.map(str::to_owned));
        let helm = Helm::new(kubeconfig, context, interrupted);
        remains::remove(&api, &helm, None).map_err(Error::into_stop)
    }

    /// Returns the addresses of a service's replicas. Pods find each other by name, and the runner
    /// reaches them through the API server, which it can reach in any case.
    fn addresses(&self, service: &Service) -> Result<Vec<Address>, Stop> {
        if let Some(chart) = &service.chart {
            return self.addresses_of_chart(chart, service.scheme());
        }
        let run = &self.connected().run;
        let (scheme, port) = (service.scheme(), objects::port(service));
        if service.manifest.is_some() {
            return self.addresses_of_pods(service, port);
        }
        let address = |number: u32| {
            let host = objects::host_of(run, &service.name, number);
            let inside = format!("{scheme}://{host}:{port}");
            let pod = objects::pod_of(&service.name, number);
            let path = api::one("Pod", &run.namespace, &pod);
            Address {
                of_peers: inside.clone(),
                of_generator: inside,
                of_runner: format!("{THROUGH_API}{path}:{port}/proxy"),
            }
        };
        Ok((1..=service.replicas).map(address).collect())
    }

    /// Returns the addresses of the pods, in the order of their numbers.
    fn addresses_of_pods(&self, service: &Service, port: u16) -> Result<Vec<Address>, Stop> {
        let scheme = service.scheme();
        let mut pods = self.pods(service)?;
        pods.sort_by_key(pods::number);
        let address = |pod: &Value| {
            let host = pods::address(pod, &json!(port), port.into()).ok_or_else(|| {
                Stop::no_answer(format!("the pod {} has no address", pods::name(pod)))
            })?;
            let path = api::one("Pod", &self.connected().run.namespace, pods::name(pod));
            let inside = format!("{scheme}://{host}");
            let of_runner = format!("{THROUGH_API}{path}:{port}/proxy");
            Ok(Address { of_peers: inside.clone(), of_generator: inside, of_runner })
        };
        pods.iter().map(address).collect()
    }

    /// Deletes all services, and waits until their pods are gone.
    fn remove_services(&mut self) -> Result<(), Stop> {
        self.write_logs();
        self.became_ready.clear();
        self.endpoints.clear();
        self.before = None;
        self.undo()?;
        let services = self.started.clone();
        for (name, service) in &services {
            match &service.chart {
                None => {
                    self.delete("StatefulSet", name)?;
                    self.delete("Service", name)?;
                    self.delete("ConfigMap", &format!("{name}-files"))?;
                    if !self.connected().run.secrets.is_empty() {
                        self.delete("Secret", &format!("{name}-files"))?;
                    }
                }
                Some(chart) => {
                    let namespace = self.namespace_of(chart);
                    let helm = &self.connected().helm;
                    let removed = helm.uninstall(&chart.release, namespace, Interruption::Waits);
                    removed.map_err(Error::into_stop)?;
                }
            }
            // One that could not be removed stays in the list: it is tried again, and its run is not forgotten.
            self.started.remove(name);
        }
        services.values().try_for_each(|service| self.until_gone(service, |_| true))
    }
}

/// Returns true for a process of this machine that has ended: `BOOT/PID-START`.
fn is_dead(process: &str) -> bool {
    let Some((of_boot, process)) = process.split_once('/') else { return false };
    host::boot().as_deref() == Some(of_boot)
        && RunId::parse(process, "").is_some_and(|process| !process.is_alive())
}

fn now() -> Nanos {
    Nanos(host::now().0)
}

impl Backend for Kubernetes {
    fn now(&mut self) -> Instant {
        host::now()
    }

    fn date(&mut self) -> Option<Nanos> {
        Some(host::unix())
    }

    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        self.host.pause(length)
    }

    fn accept(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        let sut = &resolved.spec.sut;
        for component in sut.components() {
            for instance in 1..=sut.instances.0 {
                for name in resolved.replicas_of(component, instance) {
                    let name = name.split('.').next().unwrap_or_default();
                    if let Some(why) = objects::wrong_name(name) {
                        let place = resolved.source.find("name:", component.name());
                        return Err(resolved.source.error(why, place, "rename this step").into());
                    }
                }
            }
            if let Some(found) = component.manifest() {
                let read = manifest::read(&resolved.path(&found.file), &found.name);
                read.map_err(Stop::Question)?;
            }
            let is_ours = component.chart().is_some()
                || component.words().first().is_some_and(|word| word == "benchwright")
                || component.port().is_none() && component.files().is_none();
            if !is_ours {
                let place = resolved.source.find("name:", component.name());
                let message = format!("`{}` is not a program of our image", component.name());
                let label = "on a cluster a component is an app, or a process of `benchwright`";
                return Err(resolved.source.error(message, place, label).into());
            }
        }
        for run in resolved.runs() {
            if let Some(file) = &run.job {
                manifest::read_job(&resolved.path(file)).map_err(Stop::Question)?;
            }
        }
        resolved.check_secrets()?;
        self.of_load.extend(resolved.secrets_of_load().names().map(str::to_owned));
        // Levels may name different files.
        load::add(&mut self.files, load::read_files(resolved).map_err(Stop::Question)?);
        self.receiver = load::receiver(resolved).map_err(Stop::Question)?;
        self.connect(resolved)?;
        match (self.receiver, self.connected().roles[LOAD].len()) {
            (Some(_), 2..) => Err(Stop::Question(anyhow::anyhow!(
                "several generators cannot receive events: each would get those of all\n  let \
                 where.roles.load.nodes select one node"
            ))),
            _ => Ok(()),
        }
    }

    fn lock(&mut self) -> Result<(), Stop> {
        let namespace = self.connected().run.namespace.clone();
        self.make_namespace(&namespace)?;
        let connected = self.connected.as_mut().expect("it was accepted before");
        let Connected { api, run, roles, .. } = connected;
        let nodes: BTreeSet<String> = roles.values().flatten().cloned().collect();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let claim = lease::Claim {
            run: run.id.clone(),
            namespace: run.namespace.clone(),
            nodes,
            holder: format!("host {}, process {}", host.trim(), std::process::id()),
            process: format!("{}/{}", host::boot().unwrap_or_default(), RunId::next()),
        };
        let held =
            lease::take(api, claim, host::unix_seconds, &is_dead).map_err(Error::into_stop)?;
        connected._lease = Some(held.map_err(Stop::no_answer)?);
        let owner =
            connected.api.apply(&objects::owner(&connected.run, "")).map_err(Error::into_stop)?;
        let text = |field: &str| owner["metadata"][field].as_str().unwrap_or_default().to_owned();
        connected.run.owner = Some((text("name"), text("uid")));
        Ok(())
    }

    fn clean_up(&mut self) -> Vec<String> {
        self.remove_remains()
    }

    fn digests(&mut self, _resolved: &Resolved) -> Result<BTreeMap<String, String>, Stop> {
        // Only a pod that runs tells which image the nodes have under its name.
        self.count += 1;
        let name = format!("image-{}-{}", self.connected().run.id, self.count);
        let command = ["benchwright", "--version"].map(str::to_owned);
        let Connected { api, run, .. } = self.connected();
        let pod = objects::program(run, &name, &command, &BTreeMap::new());
        let ended = self.until_ended(&name, &pod, IMAGE_WITHIN);
        let _ = api.delete(&api::one("Pod", &run.namespace, &name));
        let (pod, _, _) = ended.map_err(|why| match self.host.is_interrupted() {
            true => Stop::Interrupted,
            false => Stop::no_answer(format!("the image {} does not run: {why}", run.image)),
        })?;
        let digest = pods::image(&pod).unwrap_or_default().to_owned();
        Ok(BTreeMap::from([("image".to_owned(), digest)]))
    }

    fn prepare(&mut self, resolved: &Resolved) -> Result<Environment, Stop> {
        let Connected { api, run, roles, .. } = self.connected();
        if let Some((owner, _)) = &run.owner {
            let spec = json!({"data": {objects::SPEC: resolved.to_yaml()}});
            let path = api::one("ConfigMap", &run.namespace, owner);
            api.patch(&path, &spec).map_err(Error::into_stop)?;
        }
        let of_load = resolved.secrets.only(|name| self.of_load.contains(name));
        let files = load::secret_files(&self.files).map(|(_, name, text)| (name, text));
        if let Some(secrets) = objects::secrets(run, &of_load, files) {
            self.apply(&[secrets])?;
        }
        if let Some(port) = self.receiver {
            api.apply(&objects::receiver(run, port)).map_err(Error::into_stop)?;
        }
        let used: BTreeSet<&String> = roles.values().flatten().collect();
        let boot = host::boot();
        let known = used.iter().map(|name| {
            let node = api.get(&api::one("Node", "", name)).map_err(Error::into_stop)?;
            let node = node.ok_or_else(|| Stop::no_answer(format!("the node {name} is gone")))?;
            Ok(((*name).clone(), Known::of(api, &node, boot.as_deref())))
        });
        let known = known.collect::<Result<BTreeMap<String, Known>, Stop>>()?;
        let version = api.get("/version").map_err(Error::into_stop)?;
        let version = version.as_ref().and_then(|version| version["gitVersion"].as_str());
        let mut versions = BTreeMap::from([("image".to_owned(), run.image.clone())]);
        versions.extend(version.map(|version| ("kubernetes".to_owned(), version.to_owned())));
        let environment = Environment {
            nodes: known.values().map(Known::described).collect(),
            confinement: Some("pods of a Kubernetes cluster".to_owned()),
            roles: roles
                .iter()
                .map(|(role, nodes)| ((*role).to_owned(), nodes.join(", ")))
                .collect(),
            placement: BTreeMap::new(),
            versions,
        };
        self.connected.as_mut().expect("it is connected").nodes = known;
        Ok(environment)
    }

    fn checks(&self) -> Vec<&'static str> {
        doctor::words()
    }

    fn diagnose(
        &mut self,
        resolved: &Resolved,
        since: Option<u64>,
    ) -> Result<Option<results::Doctor>, Stop> {
        let (answers, wanted) = self.read(resolved, since)?;
        let found = doctor::diagnose(&answers, &wanted);
        self.before = (!self.started.is_empty()).then(|| answers.keep());
        Ok(Some(found))
    }

    fn enter(&mut self, resolved: &Resolved) -> Result<(), Stop> {
        let roles = nodes::roles(&self.connected().api, resolved)?;
        self.connected.as_mut().expect("it is connected").roles = roles;
        Ok(())
    }

    fn collect(&mut self, folder: &Path) {
        self.logs = Some(folder.to_owned());
    }

    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop> {
        self.starts += 1;
        let Connected { run, roles, .. } = self.connected();
        for service in wave.iter().filter(|service| service.chart.is_none()) {
            let nodes = roles.get(service.role).map(Vec::as_slice).unwrap_or_default();
            let objects = match &service.manifest {
                None => objects::service(run, service, nodes),
                Some(path) => manifest::objects(run, service, path, nodes, self.starts)
                    .map_err(Stop::Question)?,
            };
            self.apply(&objects)?;
        }
        for service in wave {
            self.started.insert(service.name.clone(), service.clone());
            if let Some(chart) = &service.chart {
                self.host.check_interrupt()?;
                self.install(service, chart)?;
            }
        }
        self.until_ready(wave)?;
        wave.iter().map(|service| self.addresses(service)).collect()
    }

    fn restart(&mut self, services: &[String]) -> Result<(), Stop> {
        self.before = None;
        for name in services {
            let service = self.started[name].clone();
            let pods = self.pods(&service)?;
            let before: BTreeSet<String> = pods.iter().filter_map(pods::uid).collect();
            for pod in &pods {
                let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
                let path = api::one("Pod", namespace, pods::name(pod));
                self.connected().api.delete(&path).map_err(Error::into_stop)?;
            }
            self.until_gone(&service, |pod| {
                pods::uid(pod).is_some_and(|uid| before.contains(&uid))
            })?;
            self.until_ready(&[service])?;
        }
        Ok(())
    }

    fn scale(&mut self, name: &str, replicas: u32) -> Result<Vec<Address>, Stop> {
        self.before = None;
        let service = Service { replicas, ..self.started[name].clone() };
        let Connected { run, roles, .. } = self.connected();
        match &service.chart {
            None => {
                let nodes = roles.get(service.role).map(Vec::as_slice).unwrap_or_default();
                self.apply(&objects::service(run, &service, nodes))?;
            }
            Some(chart) => self.scale_deployment(chart, replicas)?,
        }
        self.started.insert(name.to_owned(), service.clone());
        self.until_ready(std::slice::from_ref(&service))?;
        self.addresses(&service)
    }

    fn change(&mut self, change: &Change) -> Result<Result<(), String>, Stop> {
        let secrets = self.connected().run.secrets.clone();
        let made = self.make(&change.with_texts(&|text| secrets.reveal(text)))?;
        Ok(made.map_err(|why| secrets.redact(&why)))
    }

    fn execute(&mut self, program: &Program) -> Result<Executed, String> {
        self.count += 1;
        let name = format!("program-{}-{}", self.connected().run.id, self.count);
        let Connected { api, run, .. } = self.connected();
        let environment = &program.environment;
        let pod = match &program.job {
            None => objects::program(run, &name, &program.command.0, environment),
            Some(file) => manifest::job(run, &name, Path::new(file), environment)
                .map_err(|why| format!("{why:#}"))?,
        };
        let ended = self.until_ended(&name, &pod, *program.timeout);
        let lines = api.last_lines(&run.namespace, &name, MOST_LINES).unwrap_or_default();
        let _ = api.delete(&api::one("Pod", &run.namespace, &name));
        let (_, end, succeeded) = ended?;
        let last_lines = lines.iter().rev().take(LAST_LINES as usize).rev();
        let last_lines = last_lines.map(|line| run.secrets.redact(line)).collect();
        Ok(Executed { end, succeeded, output: lines.join("\n"), last_lines })
    }

    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        let pods = self.all_pods()?;
        let living = pods.iter().filter(|(_, pod)| !pods::is_ending(pod));
        let placed = living.map(|(service, pod)| {
            (replica_of(service, pods::name(pod)), pods::node(pod).to_owned())
        });
        Ok(placed.collect())
    }

    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        let base = url.strip_prefix(THROUGH_API).ok_or("it is not an address of this cluster")?;
        let secrets = &self.connected().run.secrets;
        let target = secrets.reveal_in_url(&exchange.target);
        let exchange = &exchange.with_texts(&|text| secrets.reveal(text));
        let path = format!("{base}/{}", target.trim_start_matches('/'));
        let method = match exchange.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let mut request = Request::builder().method(method).uri(path);
        if let Some(body) = &exchange.send.body {
            request = request.header("Content-Type", body.content_type());
        }
        for (name, value) in &exchange.send.headers {
            if name.eq_ignore_ascii_case("authorization") {
                return Err(TAKEN.to_owned());
            }
            request = request.header(name, value);
        }
        let body = exchange.send.body.as_ref().map(ToString::to_string).unwrap_or_default();
        let request = request.body(body.into_bytes()).map_err(|error| error.to_string())?;
        let (status, body) = self.connected().api.proxied(request)?;
        match api::is_refusal(status, &body) {
            Some(why) => Err(why),
            None => Ok(Reply { status, body }),
        }
    }

    fn consult(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        let secrets = &self.connected().run.secrets;
        let reply = self.host.ask(&secrets.reveal_in_url(url), exchange);
        reply.map_err(|why| secrets.redact(&why))
    }

    fn check(&mut self) -> Result<(), Stop> {
        self.host.check_interrupt()?;
        if self.started.is_empty() {
            return Ok(());
        }
        self.dead()?.map_or(Ok(()), Err)
    }

    fn last_words(&mut self) -> Vec<String> {
        let pods = self.all_pods().unwrap_or_default();
        let lines = |(service, pod): &(&Service, Value)| self.last_lines(service, pods::name(pod));
        pods.iter().flat_map(lines).collect()
    }

    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop> {
        // Each generator judges the calm of its own node; what is waited for here are nodes that
        // were lost, and their pods.
        let begun = host::now();
        let mut is_first = true;
        loop {
            self.host.check_interrupt()?;
            let why = match (self.check_nodes(), self.dead()) {
                (Ok(()), Ok(None)) => None,
                (Err(Stop::Disturbed { cause }), _) => Some(cause),
                // A pod that was replaced is deployed anew, whatever the nodes are like.
                (Ok(()), Ok(Some(_))) => None,
                (Err(stop), _) | (_, Err(stop)) => return Err(stop),
            };
            let waited = if is_first { Nanos::ZERO } else { host::now() - begun };
            is_first = false;
            if why.is_none() || within <= waited || self.host.wishes.ends_wait() {
                let (is_calm, quiet) = (why.is_none(), Nanos::ZERO);
                return Ok(Calm { is_calm, waited, quiet, worst: None, lost: why });
            }
            host::rest(LOOK_AGAIN);
        }
    }

    fn drive(&mut self, drive: &Drive, tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        self.count += 1;
        let Connected { api, run, roles, .. } = self.connected();
        let nodes = roles[LOAD].clone();
        let (files, each) = (&self.files, &self.generator);
        let generators = load::generators(run, self.count, drive, files, nodes, each);
        let around = Surroundings {
            api,
            run,
            now,
            check: &|| self.host.check_load(),
            has_loaded: &self.has_loaded,
            boot: host::boot(),
        };
        let pods = self.all_pods()?;
        let watch = Watch::begin(api, self.watched(&pods));
        let begun = host::now();
        let load = load::make(&around, &generators, drive.measure, tick);
        let figures = watch.end();
        let events = self.happened((begun, host::now()), &generators.name);
        if let Err(Stop::Interrupted) = load {
            return Err(Stop::Interrupted);
        }
        // A node or a pod that was lost is also the reason for a load that failed.
        self.check_nodes()?;
        if let Some(stop) = self.dead()? {
            return Err(stop);
        }
        let Made { load, parts } = load?;
        let consumed = self.consumed(&pods, &figures);
        let (gauged, machine) = (Vec::new(), Machine::default());
        Ok(Driven { load, parts, consumed, deaths: Vec::new(), events, gauged, machine })
    }

    fn stop(&mut self) {
        if self.connected.is_some() {
            // What cannot be removed now is removed with the owner, or by the next run.
            let _ = self.remove_services();
        }
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        for what in self.remove_all() {
            (self.warn)(&format!("warning: {what}; `benchwright clean --cluster` tries again"));
        }
    }
}

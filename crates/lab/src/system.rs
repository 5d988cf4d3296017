//! The system under test: started in waves, polled until it is ready, filled with data, smoke-tested,
//! and returned to its initial state. Written with the backend's operations, so it is the same
//! everywhere.

use std::collections::{BTreeMap, BTreeSet};

use measure::{Instant, Nanos};
use results::Doctor;

use crate::backend::{Address, Backend, Chart, Foreign, Limits, Service, Stop};
use crate::course::Position;
use crate::progress::{Event, Progress, Stage};
use crate::spec::{
    self, Action, Addresses, BackendKind, Component, Exchange, Files, Initialise, OncePer, Port,
    REPLICAS, Ready, Resolved, SUT, Sut, addresses_of, of_step,
};
use actions::{At, List};

mod actions;
mod scale;

#[cfg(test)]
mod tests;

/// The interval between the requests to a system that is not ready yet.
const POLL_EVERY: Nanos = Nanos::from_millis(50);

/// The system as it is deployed now.
#[derive(Debug, Default)]
pub struct System {
    /// One target for each instance, its first replica; empty until it is deployed.
    pub urls: Vec<String>,
    /// The addresses of all replicas of each target, if it has several: `ip:port,ip:port`.
    pub addresses: Vec<String>,
    /// True if no request was sent to it since it was started or reset.
    pub is_initial: bool,
    started: Started,
    /// The spec from which it was started.
    of: Option<Box<Resolved>>,
    /// The combinations of levels whose data was loaded in this run, also after earlier starts.
    loaded: BTreeSet<usize>,
    /// True if nothing was sent to it since it was initialised.
    has_fresh_data: bool,
    /// The place of the last trial; `None` before the first one of this process.
    pub place: Option<Position>,
    /// The last checks of the machines: what a trial changes is seen against them.
    pub doctor: Option<Doctor>,
}

impl System {
    /// Returns the system before it is deployed, after these checks of its place.
    pub fn after(doctor: Option<Doctor>) -> System {
        System { doctor, ..System::default() }
    }

    /// Goes to the place of the next trial, and returns that of the last. A different system is
    /// stopped, unless it can be scaled: the next deployment starts the right one.
    pub fn enter(
        &mut self,
        place: Position,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<Option<Position>, Stop> {
        let last = self.place.replace(place);
        if last.is_some_and(|last| last.system != place.system) {
            if self.scaled(resolved).is_none() {
                self.teardown(backend, progress);
                backend.stop();
                self.forget();
            }
            // Another system is somewhere else.
            self.doctor = None;
        }
        if last.is_none_or(|last| last.question != place.question) {
            backend.enter(resolved)?;
        }
        Ok(last)
    }

    /// Returns a system that was just started, with the memory of this one.
    fn succeeded_by(&self, started: System) -> System {
        let doctor = self.doctor.clone();
        System { place: self.place, loaded: self.loaded.clone(), doctor, ..started }
    }

    /// Stops a system in which a component has died: the next deployment restarts it.
    pub fn recover(
        &mut self,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<(), Stop> {
        if self.urls.is_empty() {
            return Ok(());
        }
        let Err(stop) = backend.check() else { return Ok(()) };
        let Stop::Died { component, why, .. } = stop else { return Err(stop) };
        let text = format!("`{component}` {why}: the system is restarted");
        progress.event(&Event::Notice(text));
        backend.stop();
        self.forget();
        Ok(())
    }

    /// Forgets a system that was stopped, so that the next deployment starts it again.
    pub fn forget(&mut self) {
        *self = self.succeeded_by(System::default());
    }

    /// Deploys the system, unless it is deployed: components ready, every smoke test passed. One that
    /// is deployed gets the replicas that this spec wants.
    pub fn deploy(
        &mut self,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<(), Stop> {
        if !self.urls.is_empty() {
            return self.scale(resolved, backend, progress);
        }
        let begun = backend.now();
        let system = start(resolved, backend, progress)?;
        let took = backend.now() - begun;
        let mut system = self.succeeded_by(system);
        let initialised = system.initialise(resolved, backend, progress)?;
        smoke(resolved, &system.started, backend, progress)?;
        *self = system;
        progress.event(&Event::Deployed {
            what: describe(resolved),
            took: is_awaited(resolved).then_some(took),
            smoke_tests: resolved.spec.sut.smoke.len(),
        });
        initialised.iter().for_each(|event| progress.event(event));
        // The smoke test may have changed the state: it makes reservations.
        self.is_initial = resolved.spec.sut.smoke.is_empty();
        self.has_fresh_data = self.is_initial;
        match self.is_initial || resolved.spec.reset.steps.is_empty() {
            true => Ok(()),
            false => self.reset(resolved, backend, progress),
        }
    }

    /// Returns the system to its initial state: by the stated steps, or by restarting all
    /// components.
    pub fn reset(
        &mut self,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<(), Stop> {
        progress.event(&Event::Stage(Stage::Reset));
        let actions = &resolved.spec.reset.steps;
        self.is_initial = true;
        if actions.is_empty() {
            self.teardown(backend, progress);
            backend.stop();
            let mut system = self.succeeded_by(start(resolved, backend, progress)?);
            let initialised = system.initialise(resolved, backend, progress)?;
            initialised.iter().for_each(|event| progress.event(event));
            *self = system;
            return Ok(());
        }
        self.has_fresh_data = false;
        let error = "the system could not be reset";
        List { actions, error }.perform(resolved, &self.started, backend)
    }

    /// Initialises the system before a trial, if the spec asks for it: for each trial, unless nothing
    /// was sent to it since the last time, or for each level, although the system stays up.
    pub fn refresh(
        &mut self,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<(), Stop> {
        let once_per = resolved.spec.sut.initialise.as_ref().map(|initialise| initialise.once_per);
        let is_due = match once_per {
            Some(OncePer::Trial) => !self.has_fresh_data,
            Some(OncePer::Level) => !self.loaded.contains(&self.cell()),
            Some(OncePer::Experiment | OncePer::Deploy) | None => false,
        };
        if is_due {
            let initialised = self.initialise(resolved, backend, progress)?;
            initialised.iter().for_each(|event| progress.event(event));
        }
        Ok(())
    }

    /// Chooses the targets: the endpoint's replicas in each instance.
    fn aim(&mut self, resolved: &Resolved) {
        let endpoint = endpoint_name(resolved);
        let targets: Vec<&Vec<Address>> = (1..=resolved.spec.sut.instances.0)
            .filter_map(|instance| self.started.get(&(instance, endpoint.to_owned())))
            .collect();
        self.urls = targets.iter().map(|replicas| replicas[0].of_generator.clone()).collect();
        self.addresses = match targets.iter().any(|replicas| 1 < replicas.len()) {
            true => targets.iter().map(|all| listed(all)).collect(),
            false => Vec::new(),
        };
    }

    /// Returns the index of the combination of levels that is measured now.
    fn cell(&self) -> usize {
        self.place.map_or(0, |place| place.cell)
    }

    /// Notes that a load changed its state.
    pub fn mark_used(&mut self) {
        self.is_initial = false;
        self.has_fresh_data = false;
    }

    /// Carries out the actions before an end. If one fails, the system is stopped anyway.
    pub fn teardown(&self, backend: &mut dyn Backend, progress: &mut dyn Progress) {
        let Some(resolved) = &self.of else { return };
        let actions = &resolved.spec.sut.teardown;
        if actions.is_empty() {
            return;
        }
        progress.event(&Event::Stage(Stage::Teardown));
        let error = "an action of teardown failed";
        if let Err(Stop::NoAnswer(why)) =
            (List { actions, error }).perform(resolved, &self.started, backend)
        {
            progress.event(&Event::Notice(why.to_string()));
        }
    }

    /// Loads the data of the experiment if that is due, and verifies it in any case: a system that
    /// lost its data must not be measured. Returns the event of it, if the spec has such data.
    fn initialise(
        &mut self,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<Option<Event<'static>>, Stop> {
        let Some(Initialise { once_per, steps, expect }) = &resolved.spec.sut.initialise else {
            return Ok(None);
        };
        progress.event(&Event::Stage(Stage::Initialise));
        let begun = backend.now();
        let is_due = match once_per {
            OncePer::Experiment => self.loaded.is_empty(),
            OncePer::Level => !self.loaded.contains(&self.cell()),
            OncePer::Deploy | OncePer::Trial => true,
        };
        if is_due {
            let error = "the system could not be initialised";
            List { actions: steps, error }.perform(resolved, &self.started, backend)?;
        }
        self.verify(resolved, backend)?;
        self.loaded.insert(self.cell());
        self.has_fresh_data = true;
        let took = backend.now() - begun;
        Ok(Some(Event::Initialised { took, is_kept: !is_due, checks: expect.len() }))
    }

    /// Checks that the system has the data of the experiment.
    fn verify(&self, resolved: &Resolved, backend: &mut dyn Backend) -> Result<(), Stop> {
        let expect = resolved.spec.sut.initialise.iter().flat_map(|initialise| &initialise.expect);
        let checks: Vec<Action> = expect.cloned().map(Action::from).collect();
        let error = "the initialised system is not as expected";
        List { actions: &checks, error }.perform(resolved, &self.started, backend)
    }
}

/// The addresses of the ready components, by instance and name, in the order of replicas. The endpoint
/// of a system without components has the name `""`.
type Started = BTreeMap<(u32, String), Vec<Address>>;

/// Starts every component of every instance, one wave in all instances at once: components that do
/// not need each other start together. Actions are carried out between the waves.
fn start(
    resolved: &Resolved,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<System, Stop> {
    if resolved.spec.where_.backend == BackendKind::External {
        return started_elsewhere(resolved, backend, progress);
    }
    let mut started = Started::new();
    for stage in resolved.stages() {
        progress.event(&Event::Stage(Stage::Deploy));
        match stage {
            spec::Stage::Wave(components) => {
                start_wave(resolved, &components, &mut started, backend, progress)?;
            }
            spec::Stage::Action(action) => {
                let (actions, error) = (std::slice::from_ref(action), "an action of deploy failed");
                List { actions, error }.perform(resolved, &started, backend)?;
            }
        }
    }
    Ok(endpoint(resolved, started))
}

/// Starts components that do not need each other, in all instances at once, and waits until they are
/// ready.
fn start_wave(
    resolved: &Resolved,
    components: &[&Component],
    started: &mut Started,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<(), Stop> {
    let wave = wave(resolved, components, started);
    let services: Vec<Service> = wave.iter().map(|(_, service)| service.clone()).collect();
    let addresses = backend.start(&services)?;
    for (((instance, component), _), addresses) in wave.iter().zip(&addresses) {
        started.insert((*instance, component.name().to_owned()), addresses.clone());
    }
    for (((instance, component), _), addresses) in wave.iter().zip(&addresses) {
        let ready = resolved.spec.sut.ready_of(component);
        for address in addresses {
            check_address(resolved, component, address)?;
            until_ready(resolved, &ready, &address.of_runner, *instance, backend, progress)?;
        }
    }
    Ok(())
}

/// Checks the URLs of a replica. The line `ready <url>` may have another scheme than the spec expects.
fn check_address(
    resolved: &Resolved,
    component: &Component,
    Address { of_peers, of_generator, of_runner }: &Address,
) -> Result<(), Stop> {
    for url in [of_runner, of_peers, of_generator] {
        resolved.check_requests(component.name(), url).map_err(Stop::no_answer)?;
    }
    Ok(())
}

/// Returns these components as services of all instances, with their places.
fn wave<'a>(
    resolved: &Resolved,
    components: &[&'a Component],
    started: &Started,
) -> Vec<((u32, &'a Component), Service)> {
    let mut wave = Vec::new();
    for instance in 1..=resolved.spec.sut.instances.0 {
        let addresses = addresses(started, instance);
        for &component in components {
            wave.push(((instance, component), service(resolved, component, instance, &addresses)));
        }
    }
    wave
}

/// Returns the name of the component that gets the load, or `""` if there are no components.
fn endpoint_name(resolved: &Resolved) -> &str {
    match resolved.spec.where_.backend {
        BackendKind::External => "",
        BackendKind::Local | BackendKind::Simulated | BackendKind::Kubernetes => {
            resolved.spec.sut.endpoint_component().map_or("", Component::name)
        }
    }
}

/// Returns the system with its targets.
fn endpoint(resolved: &Resolved, mut started: Started) -> System {
    let name = endpoint_name(resolved);
    let queue = if name.is_empty() { "queue" } else { name };
    let none = || vec![Address::of_all(&format!("http://{queue}.simulated"))];
    for instance in 1..=resolved.spec.sut.instances.0 {
        started.entry((instance, name.to_owned())).or_insert_with(none);
    }
    let of = Some(Box::new(resolved.clone()));
    let mut system = System { is_initial: true, started, of, ..System::default() };
    system.aim(resolved);
    system
}

/// Returns whether anything tells when the system is ready: of a service that runs elsewhere only the
/// request that `sut.ready` states.
fn is_awaited(resolved: &Resolved) -> bool {
    let Resolved { spec, .. } = resolved;
    spec.where_.backend != BackendKind::External || spec.sut.ready.get.is_some()
}

fn started_elsewhere(
    resolved: &Resolved,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<System, Stop> {
    let sut = &resolved.spec.sut;
    let urls: Vec<String> =
        (1..).zip(&sut.endpoint.0).map(|(i, url)| resolved.text(url, i)).collect();
    for (instance, url) in (1..).zip(&urls) {
        until_ready(resolved, &sut.ready, url, instance, backend, progress)?;
    }
    let address = |url: &String| vec![Address::of_all(url)];
    let started = (1..).zip(&urls).map(|(i, url)| ((i, String::new()), address(url))).collect();
    let of = Some(Box::new(resolved.clone()));
    Ok(System { urls, is_initial: true, started, of, ..System::default() })
}

/// Returns the addresses of the components of this instance that are started already.
fn addresses(started: &Started, instance: u32) -> Addresses {
    let here = started.iter().filter(|((of, _), _)| *of == instance);
    let urls = |all: &[Address]| all.iter().map(|one| one.of_peers.clone()).collect::<Vec<_>>();
    here.flat_map(|((_, name), all)| of_step(name, &urls(all))).collect()
}

/// Returns the addresses of a target's replicas for the generator: `127.0.0.1:7001,127.0.0.1:7002`
fn listed(addresses: &[Address]) -> String {
    addresses_of(addresses.iter().map(|one| &*one.of_generator))
}

/// Returns a component as a service of one instance. The backend resolves the program `benchwright`.
fn service(
    resolved: &Resolved,
    component: &Component,
    instance: u32,
    addresses: &Addresses,
) -> Service {
    let text = |text: &String| resolved.text_with(text, instance, addresses);
    let texts = |texts: &BTreeMap<String, String>| {
        texts.iter().map(|(name, value)| (name.clone(), text(value))).collect()
    };
    let command = match component {
        Component::App(app) => ["benchwright", "app"]
            .into_iter()
            .map(str::to_owned)
            .chain(text(&app.run).split_whitespace().map(str::to_owned))
            .collect(),
        Component::Process(process) => process.command.0.iter().map(text).collect(),
        Component::Helm(_) | Component::Manifest(_) => Vec::new(),
    };
    let chart = component.chart().map(|helm| {
        let or =
            |given: &Option<String>, other: &str| given.as_ref().map_or(other.to_owned(), text);
        let value = |value: &serde_json::Value| match value {
            serde_json::Value::String(written) => serde_json::Value::String(text(written)),
            other => other.clone(),
        };
        let replicas = resolved.spec.sut.replicas_of(component);
        let mut set: BTreeMap<String, serde_json::Value> =
            helm.set.iter().map(|(path, written)| (path.clone(), value(written))).collect();
        set.entry(REPLICAS.to_owned()).or_insert_with(|| replicas.into());
        Chart {
            folder: resolved.path(&helm.chart),
            release: or(&helm.release, component.name()),
            namespace: helm.namespace.as_ref().map(text),
            set,
            service: text(&helm.service),
            deployment: helm.deployment.as_ref().map(text),
            via: helm.via,
        }
    });
    let Ready { get: _, tcp, log, within } = resolved.spec.sut.ready_of(component);
    let foreign = component.port().map(|port| {
        // A request needs a connection, too; it is sent later.
        let tcp = tcp || log.is_none();
        Foreign { port, tcp, log }
    });
    let manifest = component.manifest();
    let of_manifest = manifest.map(|manifest| {
        let (port, tcp, log) = (Port::At(manifest.port.get()), true, None);
        Foreign { port, tcp, log }
    });
    Service {
        name: resolved.name_in(component.name(), instance),
        component: component.name().to_owned(),
        replicas: resolved.spec.sut.replicas_of(component),
        command,
        environment: component.environment().map(texts).unwrap_or_default(),
        files: Files(component.files().map(|files| texts(&files.0)).unwrap_or_default()),
        scheme: component.scheme().cloned(),
        foreign: foreign.or(of_manifest),
        limits: Limits {
            cpu: component.cpu_limit().map(|limit| limit.0),
            memory: component.memory_limit().map(|limit| limit.0),
        },
        ready_within: *within,
        role: SUT,
        chart,
        manifest: manifest.map(|manifest| resolved.path(&manifest.file)),
    }
}

/// Sends the stated request until it succeeds.
fn until_ready(
    resolved: &Resolved,
    ready: &Ready,
    url: &str,
    instance: u32,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<(), Stop> {
    let Some(path) = &ready.get else { return Ok(()) };
    progress.event(&Event::Stage(Stage::Ready));
    let exchange = Exchange::get(&resolved.text(path, instance));
    let deadline: Instant = backend.now() + *ready.within;
    loop {
        backend.check()?;
        let why = match backend.ask(url, &exchange) {
            Ok(reply) if reply.status < 300 => return Ok(()),
            Ok(reply) => format!("status {}", reply.status),
            Err(why) => why,
        };
        if deadline <= backend.now() {
            let target = join(url, &exchange.target);
            let within = ready.within.in_words();
            return Err(Stop::no_answer(format!(
                "the system did not become ready in {within}\n  waiting for GET {target}: \
                 {why}{}",
                last_output(backend)
            )));
        }
        backend.pause(POLL_EVERY)?;
    }
}

/// Checks that every endpoint gives the expected status and body: a broken login must not be
/// measured.
fn smoke(
    resolved: &Resolved,
    started: &Started,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<(), Stop> {
    if resolved.spec.sut.smoke.is_empty() {
        return Ok(());
    }
    progress.event(&Event::Stage(Stage::SmokeTest));
    for instance in 1..=actions::instances(resolved) {
        for exchange in &resolved.spec.sut.smoke {
            actions::ask(exchange, &At { resolved, started, instance }, backend)
                .map_err(|why| failed("the smoke test failed", &why, backend))?;
        }
    }
    Ok(())
}

/// Returns the error of a step. The death of a component explains more than a missing response.
fn failed(what: &str, why: &str, backend: &mut dyn Backend) -> Stop {
    match backend.check() {
        Err(stop) => stop,
        Ok(()) => Stop::no_answer(format!("{what}\n  {why}{}", last_output(backend))),
    }
}

/// Returns the last lines of the components, as the end of a message.
fn last_output(backend: &mut dyn Backend) -> String {
    let lines = backend.last_words();
    match lines.is_empty() {
        true => String::new(),
        false => format!("\n  the last output:\n    {}", lines.join("\n    ")),
    }
}

fn join(url: &str, path: &str) -> String {
    format!("{}/{}", url.trim_end_matches('/'), path.trim_start_matches('/'))
}

/// Describes the system: `hotel ×1`, `2 instances × (2 replicas of geo, frontend + 1 of store): 10
/// processes`, or `http://127.0.0.1:8080`.
pub fn describe(resolved: &Resolved) -> String {
    let sut = &resolved.spec.sut;
    match resolved.spec.where_.backend {
        BackendKind::External => sut.endpoint.0.join(", "),
        BackendKind::Simulated => "a simulated queue".to_owned(),
        BackendKind::Local | BackendKind::Kubernetes
            if sut.components().all(|one| sut.replicas_of(one) == 1) =>
        {
            let names: Vec<&str> = sut.components().map(Component::name).collect();
            format!("{} ×{}", names.join(" + "), sut.instances.0)
        }
        BackendKind::Local | BackendKind::Kubernetes => replicated(sut),
    }
}

fn replicated(sut: &Sut) -> String {
    let mut by_replicas: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for component in sut.components() {
        by_replicas.entry(sut.replicas_of(component)).or_default().push(component.name());
    }
    let parts: Vec<String> = by_replicas
        .iter()
        .rev()
        .map(|(replicas, names)| match replicas {
            1 => format!("1 of {}", names.join(", ")),
            n => format!("{n} replicas of {}", names.join(", ")),
        })
        .collect();
    let each: u32 = sut.components().map(|component| sut.replicas_of(component)).sum();
    let instances = match sut.instances.0 {
        1 => String::new(),
        n => format!("{n} instances × "),
    };
    format!("{instances}({}): {} processes", parts.join(" + "), each * sut.instances.0)
}

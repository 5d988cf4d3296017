//! The system under test: started in waves, polled until it is ready, smoke-tested, and returned to
//! its initial state. Written with the backend's operations, so it is the same everywhere.

use std::collections::BTreeMap;

use measure::{Instant, Nanos};

use crate::backend::{Backend, Component, Stop};
use crate::http;
use crate::progress::{Event, Progress};
use crate::spec::{
    Addresses, BackendKind, Exchange, Method, Ready, ResetStep, Resolved, Step, Sut,
};

#[cfg(test)]
mod tests;

/// The interval between the requests to a system that is not ready yet.
const POLL_EVERY: Nanos = Nanos::from_millis(50);

/// The longest part of a response body that is shown.
const MOST_SHOWN: usize = 200;

/// The system as it is deployed now.
#[derive(Debug, Default)]
pub struct System {
    /// One target for each instance, its first replica; empty until it is deployed.
    pub urls: Vec<String>,
    /// The addresses of all replicas of each target, if it has several: `ip:port,ip:port`.
    pub addresses: Vec<String>,
    /// True if no request was sent to it since it was started or reset.
    pub is_initial: bool,
    /// The place of the last trial; `None` before the first one of this process.
    pub place: Option<Place>,
}

/// The place of a trial in the plan.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Place {
    /// The index of its combination of levels.
    pub cell: usize,
    /// The number of the system under test: different levels may measure the same system.
    pub system: usize,
    /// The index of its question.
    pub question: usize,
}

impl System {
    /// Goes to the place of the next trial, and returns that of the last. A different system is
    /// stopped: the next deployment starts the right one.
    pub fn enter(
        &mut self,
        place: Place,
        resolved: &Resolved,
        backend: &mut dyn Backend,
    ) -> Result<Option<Place>, Stop> {
        let last = self.place.replace(place);
        if last.is_none_or(|last| last.question != place.question) {
            backend.enter(resolved)?;
        }
        if last.is_some_and(|last| last.system != place.system) {
            backend.stop();
            self.become_another(System::default());
        }
        Ok(last)
    }

    fn become_another(&mut self, other: System) {
        *self = System { place: self.place, ..other };
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
        self.become_another(System::default());
        Ok(())
    }

    /// Deploys the system, unless it is deployed: components ready, every smoke test passed.
    pub fn deploy(
        &mut self,
        resolved: &Resolved,
        backend: &mut dyn Backend,
        progress: &mut dyn Progress,
    ) -> Result<(), Stop> {
        if !self.urls.is_empty() {
            return Ok(());
        }
        let begun = backend.now();
        let started = start(resolved, backend, progress)?;
        let took = backend.now() - begun;
        smoke(resolved, &started.urls, backend, progress)?;
        self.become_another(started);
        progress.event(&Event::Deployed {
            what: describe(resolved),
            took,
            smoke_tests: resolved.spec.sut.smoke.len(),
        });
        // The smoke test may have changed the state: it makes reservations.
        self.is_initial = resolved.spec.sut.smoke.is_empty();
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
        progress.event(&Event::Stage { name: "reset" });
        let reset = &resolved.spec.reset;
        self.is_initial = true;
        if reset.steps.is_empty() {
            backend.stop();
            let started = start(resolved, backend, progress)?;
            self.become_another(started);
            return Ok(());
        }
        for (instance, url) in (1..).zip(&self.urls) {
            for ResetStep::Http(exchange) in &reset.steps {
                let exchange = in_instance(resolved, exchange, instance);
                expect(url, &exchange, backend)
                    .map_err(|why| failed("the system could not be reset", &why, backend))?;
            }
        }
        Ok(())
    }
}

/// Starts every component of every instance, one wave in all instances at once: components that do
/// not need each other start together.
fn start(
    resolved: &Resolved,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<System, Stop> {
    let sut = &resolved.spec.sut;
    if resolved.spec.where_.backend == BackendKind::External {
        return started_elsewhere(resolved, backend, progress);
    }
    let mut started = Started::new();
    for steps in resolved.waves() {
        progress.event(&Event::Stage { name: "deploy" });
        let wave = wave(resolved, &steps, &started);
        let components: Vec<Component> =
            wave.iter().map(|(_, component)| component.clone()).collect();
        let urls = backend.start(&components)?;
        for ((place, _), url) in wave.iter().zip(&urls) {
            started.entry(*place).or_default().push(url.clone());
        }
        for (((instance, step), _), url) in wave.iter().zip(&urls) {
            let step = steps.iter().find(|known| known.name() == *step);
            let ready = sut.ready_of(step.expect("it is of this wave"));
            until_ready(resolved, &ready, url, *instance, backend, progress)?;
        }
    }
    Ok(endpoint(resolved, started))
}

/// The URLs of the ready components, by instance and step, in the order of replicas.
type Started<'a> = BTreeMap<(u32, &'a str), Vec<String>>;

/// Returns the components of these steps in all instances, with their places.
fn wave<'a>(
    resolved: &Resolved,
    steps: &[&'a Step],
    started: &Started<'_>,
) -> Vec<((u32, &'a str), Component)> {
    let sut = &resolved.spec.sut;
    let mut wave = Vec::new();
    for instance in 1..=sut.instances.0 {
        let addresses = addresses(started, instance);
        for &step in steps {
            for replica in 1..=sut.replicas_of(step) {
                let component = component(resolved, step, instance, replica, &addresses);
                wave.push(((instance, step.name()), component));
            }
        }
    }
    wave
}

/// Returns the targets: the endpoint's replicas in each instance.
fn endpoint<'a>(resolved: &'a Resolved, mut started: Started<'a>) -> System {
    let sut = &resolved.spec.sut;
    let endpoint = sut.endpoint_step().map_or("queue", Step::name);
    let none = || vec![format!("http://{endpoint}.simulated")];
    let of = |instance| started.remove(&(instance, endpoint)).unwrap_or_else(none);
    let targets: Vec<Vec<String>> = (1..=sut.instances.0).map(of).collect();
    let addresses = match targets.iter().any(|replicas| 1 < replicas.len()) {
        true => targets.iter().map(|replicas| listed(replicas)).collect(),
        false => Vec::new(),
    };
    let urls = targets.into_iter().map(|mut replicas| replicas.swap_remove(0)).collect();
    System { urls, addresses, is_initial: true, place: None }
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
    Ok(System { urls, addresses: Vec::new(), is_initial: true, place: None })
}

/// Returns the addresses of the components of this instance that are started already, by step.
fn addresses(started: &Started<'_>, instance: u32) -> Addresses {
    let here = started.iter().filter(|((of, _), _)| *of == instance);
    here.map(|((_, step), urls)| ((*step).to_owned(), listed(urls))).collect()
}

/// Returns a list such as `127.0.0.1:7001,127.0.0.1:7002`
fn listed(urls: &[String]) -> String {
    urls.iter().map(|url| http::authority(url)).collect::<Vec<_>>().join(",")
}

/// Returns `frontend`, or with instances `frontend-2`, with replicas `frontend.2`, with both
/// `frontend-1.2`.
pub(crate) fn name(resolved: &Resolved, step: &Step, instance: u32, replica: u32) -> String {
    let service = service(resolved, step, instance);
    match resolved.spec.sut.replicas_of(step) {
        1 => service,
        _ => format!("{service}.{replica}"),
    }
}

/// Returns the name of the step in one instance.
fn service(resolved: &Resolved, step: &Step, instance: u32) -> String {
    match resolved.spec.sut.instances.0 {
        1 => step.name().to_owned(),
        _ => format!("{}-{instance}", step.name()),
    }
}

/// Returns a step as a component of this instance. The backend resolves the program `benchwright`.
fn component(
    resolved: &Resolved,
    step: &Step,
    instance: u32,
    replica: u32,
    addresses: &Addresses,
) -> Component {
    let text = |text: &String| resolved.text_with(text, instance, addresses);
    let command = match step {
        Step::App(app) => ["benchwright", "app"]
            .into_iter()
            .map(str::to_owned)
            .chain(text(&app.run).split_whitespace().map(str::to_owned))
            .collect(),
        Step::Process(process) => process.command.0.iter().map(text).collect(),
    };
    let environment =
        step.environment().iter().map(|(name, value)| (name.clone(), text(value))).collect();
    Component {
        name: name(resolved, step, instance, replica),
        step: step.name().to_owned(),
        service: service(resolved, step, instance),
        command,
        environment,
        cpu_limit: step.cpu_limit().map(|limit| limit.0),
        memory_limit: step.memory_limit().map(|limit| limit.0),
        ready_within: *resolved.spec.sut.ready_of(step).within,
        role: "sut",
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
    progress.event(&Event::Stage { name: "ready" });
    let target = resolved.text(path, instance);
    let exchange = Exchange { method: Method::Get, target, status: 200, body: None };
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
    urls: &[String],
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<(), Stop> {
    if resolved.spec.sut.smoke.is_empty() {
        return Ok(());
    }
    progress.event(&Event::Stage { name: "smoke test" });
    for (instance, url) in (1..).zip(urls) {
        for exchange in &resolved.spec.sut.smoke {
            let exchange = in_instance(resolved, exchange, instance);
            expect(url, &exchange, backend)
                .map_err(|why| failed("the smoke test failed", &why, backend))?;
        }
    }
    Ok(())
}

/// Sends one request; an error contains the request, the expected response and the actual one.
fn expect(url: &str, exchange: &Exchange, backend: &mut dyn Backend) -> Result<(), String> {
    let target = join(url, &exchange.target);
    let asked = format!("{} {target}", exchange.method);
    let reply = backend.ask(url, exchange).map_err(|why| format!("{asked}: {why}"))?;
    let shown: String = reply.body.trim_end().chars().take(MOST_SHOWN).collect();
    if reply.status != exchange.status {
        let status = exchange.status;
        return Err(format!("{asked}: status {} instead of {status}: {shown}", reply.status));
    }
    match &exchange.body {
        Some(part) if !reply.body.contains(part.as_str()) => {
            Err(format!("{asked}: no `{part}` in the answer: {shown}"))
        }
        _ => Ok(()),
    }
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

fn in_instance(resolved: &Resolved, exchange: &Exchange, instance: u32) -> Exchange {
    let text = |text: &String| resolved.text(text, instance);
    Exchange {
        target: text(&exchange.target),
        body: exchange.body.as_ref().map(text),
        ..exchange.clone()
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
        BackendKind::Local if sut.deploy.iter().all(|step| sut.replicas_of(step) == 1) => {
            let names: Vec<&str> = sut.deploy.iter().map(Step::name).collect();
            format!("{} ×{}", names.join(" + "), sut.instances.0)
        }
        BackendKind::Local => replicated(sut),
    }
}

fn replicated(sut: &Sut) -> String {
    let mut by_replicas: BTreeMap<u32, Vec<&str>> = BTreeMap::new();
    for step in &sut.deploy {
        by_replicas.entry(sut.replicas_of(step)).or_default().push(step.name());
    }
    let parts: Vec<String> = by_replicas
        .iter()
        .rev()
        .map(|(replicas, names)| match replicas {
            1 => format!("1 of {}", names.join(", ")),
            n => format!("{n} replicas of {}", names.join(", ")),
        })
        .collect();
    let each: u32 = sut.deploy.iter().map(|step| sut.replicas_of(step)).sum();
    let instances = match sut.instances.0 {
        1 => String::new(),
        n => format!("{n} instances × "),
    };
    format!("{instances}({}): {} processes", parts.join(" + "), each * sut.instances.0)
}

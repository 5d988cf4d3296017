//! The system under test: started in order, asked until it is ready, tested for sense, and returned
//! to its initial state. Written in the backend's verbs, so it is the same everywhere.

use measure::{Instant, Nanos};

use crate::backend::{Backend, Component, Stop};
use crate::progress::{Event, Progress};
use crate::spec::{BackendKind, Exchange, Method, ResetStep, Resolved, Step, exact};

#[cfg(test)]
mod tests;

/// How often a system is asked whether it is ready.
const BETWEEN_QUESTIONS: Nanos = Nanos::from_millis(50);

/// The longest part of an answer that is shown.
const MOST_SHOWN: usize = 200;

/// What stands now.
#[derive(Debug, Default)]
pub struct System {
    /// One target for each instance; empty until it is deployed.
    pub urls: Vec<String>,
    /// Nothing was asked of it since it was started or reset.
    pub is_initial: bool,
}

impl System {
    /// Makes the system stand, unless it does: components ready, every smoke test answered.
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
        let urls = start(resolved, backend, progress)?;
        let took = backend.now() - begun;
        smoke(resolved, &urls, backend, progress)?;
        self.urls = urls;
        progress.event(&Event::Deployed {
            what: describe(resolved),
            took,
            smoke_tests: resolved.spec.sut.smoke.len(),
        });
        // The smoke test may have changed the state: reservations are made in it.
        self.is_initial = resolved.spec.sut.smoke.is_empty();
        match self.is_initial || resolved.spec.reset.steps.is_empty() {
            true => Ok(()),
            false => self.reset(resolved, backend, progress),
        }
    }

    /// Back to the initial state: by the stated steps, or by starting all components anew.
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
            self.urls = start(resolved, backend, progress)?;
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

/// Starts every component of every instance in order; answers the instances' endpoints.
fn start(
    resolved: &Resolved,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<Vec<String>, Stop> {
    let sut = &resolved.spec.sut;
    let mut urls = Vec::new();
    if resolved.spec.where_.backend == BackendKind::External {
        urls = (1..).zip(&sut.endpoint.0).map(|(i, url)| resolved.text(url, i)).collect();
    } else {
        let endpoint = sut.endpoint.0.first().map(String::as_str);
        let endpoint = endpoint.or(sut.deploy.last().map(Step::name)).unwrap_or("queue");
        for instance in 1..=sut.instances.0 {
            progress.event(&Event::Stage { name: "deploy" });
            let mut url = None;
            for step in &sut.deploy {
                let component = component(resolved, step, instance);
                let started = backend.start(&component, *sut.ready.within)?;
                if step.name() == endpoint {
                    url = Some(started);
                }
            }
            urls.push(url.unwrap_or_else(|| format!("http://{endpoint}.simulated")));
        }
    }
    for (instance, url) in (1..).zip(&urls) {
        until_ready(resolved, url, instance, backend, progress)?;
    }
    Ok(urls)
}

/// A step as a component of this instance. The program `benchwright` is resolved by the backend.
pub fn component(resolved: &Resolved, step: &Step, instance: u32) -> Component {
    let text = |text: &String| resolved.text(text, instance);
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
    let name = match resolved.spec.sut.instances.0 {
        1 => step.name().to_owned(),
        _ => format!("{}-{instance}", step.name()),
    };
    let cpu_limit = step.cpu_limit().map(|limit| limit.0);
    Component { name, command, environment, cpu_limit, role: "sut" }
}

/// Asks the stated request until it is answered with success.
fn until_ready(
    resolved: &Resolved,
    url: &str,
    instance: u32,
    backend: &mut dyn Backend,
    progress: &mut dyn Progress,
) -> Result<(), Stop> {
    let ready = &resolved.spec.sut.ready;
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
            let within = exact(*ready.within);
            return Err(Stop::no_answer(format!(
                "the system did not become ready in {within}\n  waiting for GET {target}: \
                 {why}{}",
                said(backend)
            )));
        }
        backend.pause(BETWEEN_QUESTIONS)?;
    }
}

/// Every endpoint answers as it should, in status and in sense: a broken login must not be measured.
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

/// Asks once; the error tells what was asked, what should have come and what came.
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

/// The death of a component explains more than the request that it did not answer.
fn failed(what: &str, why: &str, backend: &mut dyn Backend) -> Stop {
    match backend.check() {
        Err(stop) => stop,
        Ok(()) => Stop::no_answer(format!("{what}\n  {why}{}", said(backend))),
    }
}

/// What the components printed last, as the end of a message.
fn said(backend: &mut dyn Backend) -> String {
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

/// `hotel ×1`, `store + frontend ×4`, `http://127.0.0.1:8080`.
pub fn describe(resolved: &Resolved) -> String {
    let sut = &resolved.spec.sut;
    match resolved.spec.where_.backend {
        BackendKind::External => sut.endpoint.0.join(", "),
        BackendKind::Simulated => "a simulated queue".to_owned(),
        BackendKind::Local => {
            let names: Vec<&str> = sut.deploy.iter().map(Step::name).collect();
            format!("{} ×{}", names.join(" + "), sut.instances.0)
        }
    }
}

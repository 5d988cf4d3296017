//! A backend that only prints what it is asked to do. `plan` is a run with it.

use std::collections::BTreeMap;

use measure::{Instant, Nanos};
use results::Environment;

use super::{Backend, Component, Drive, Driven, Reply, Stop, Tick};
use crate::calm::Calm;
use crate::spec::{Exchange, Literal, MemoryLimit, Resolved};

/// A record of the steps; each step succeeds.
#[derive(Debug, Default)]
pub struct DryRun {
    now: Instant,
    told: Vec<String>,
}

impl DryRun {
    /// Returns the steps that were asked for, in order.
    pub fn told(&self) -> &[String] {
        &self.told
    }

    fn tell(&mut self, step: String) {
        self.told.push(step);
    }
}

impl Backend for DryRun {
    fn now(&mut self) -> Instant {
        self.now
    }

    fn pause(&mut self, length: Nanos) -> Result<(), Stop> {
        if Nanos::ZERO < length {
            self.tell(format!("rest     {}", length.in_words()));
        }
        self.now = self.now + length;
        Ok(())
    }

    fn prepare(&mut self, _resolved: &Resolved) -> Result<Environment, Stop> {
        Ok(Environment::default())
    }

    fn start(&mut self, wave: &[Component]) -> Result<Vec<String>, Stop> {
        let services = wave.chunk_by(|a, b| a.service == b.service);
        self.told.extend(services.map(started));
        Ok(wave.iter().map(|component| format!("http://{}", component.name)).collect())
    }

    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        Ok(BTreeMap::new())
    }

    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        let Exchange { method, target, status, body } = exchange;
        let part = body.as_ref().map(|body| format!(", `{body}` in it")).unwrap_or_default();
        self.tell(format!("ask      {method} {url}{target} → {status}{part}"));
        Ok(Reply { status: *status, body: body.clone().unwrap_or_default() })
    }

    fn check(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop> {
        self.tell(format!("watch    until the machine is calm, {} at most", within.in_words()));
        Ok(Calm { is_calm: true, waited: Nanos::ZERO, worst: None })
    }

    fn drive(&mut self, drive: &Drive, _tick: &mut dyn FnMut(Tick)) -> Result<Driven, Stop> {
        self.tell(format!("drive    benchwright {}", drive.arguments.join(" ")));
        Ok(Driven { load: nothing(drive), consumed: BTreeMap::new(), deaths: Vec::new() })
    }

    fn stop(&mut self) {
        self.tell("stop     everything".to_owned());
    }
}

/// Describes one service: its replicas differ only in their names.
fn started(replicas: &[Component]) -> String {
    let component = &replicas[0];
    let Component { command, environment, cpu_limit, memory_limit, .. } = component;
    let name = match replicas.len() {
        1 => component.name.clone(),
        n => format!("{} ×{n}", component.service),
    };
    let variables: String =
        environment.iter().map(|(name, value)| format!("{name}={value} ")).collect();
    let cpu = cpu_limit.map(|limit| format!(" · at most {limit} CPUs")).unwrap_or_default();
    let memory = memory_limit.map(|limit| format!(" · at most {}", MemoryLimit(limit).write()));
    format!(
        "start    {name}: {variables}{} --listen 127.0.0.1:0{cpu}{} · ready within {}",
        command.join(" "),
        memory.unwrap_or_default(),
        component.ready_within.in_words()
    )
}

/// A document without a single request: a dry run observes nothing.
fn nothing(drive: &Drive) -> results::Load {
    results::Load {
        arguments: drive.arguments.clone(),
        seed: drive.seed,
        measured_s: drive.measure.as_secs_f64(),
        ..results::Load::empty("dry run")
    }
}

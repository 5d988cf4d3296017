//! A backend that only prints what it is asked to do. `plan` is a run with it.

use std::collections::BTreeMap;

use measure::{Instant, Nanos};
use results::{Environment, shell};
use wire::url;

use super::{
    Address, Backend, Drive, Driven, Executed, Limits, Machine, Reply, Service, Stop, Ticking,
};
use crate::calm::Calm;
use crate::spec::{Change, Exchange, HTTP, Literal, MemoryLimit, Resolved, Run, replicas};

/// A record of the steps; each step succeeds.
#[derive(Debug, Default)]
pub struct DryRun {
    now: Instant,
    told: Vec<String>,
    services: Vec<Service>,
    drives: Vec<Drive>,
    /// The CPU time that the components have used at a time, if it is known.
    cpu_time: Option<fn(Instant) -> Nanos>,
}

impl DryRun {
    /// Returns a dry run whose components use CPUs.
    #[cfg(test)]
    pub(crate) fn using(cpu_time: fn(Instant) -> Nanos) -> DryRun {
        DryRun { cpu_time: Some(cpu_time), ..DryRun::default() }
    }

    /// Returns the steps that were asked for, in order.
    pub fn told(&self) -> &[String] {
        &self.told
    }

    /// Returns the services that were started, in order.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// Returns the loads that were made.
    pub fn drives(&self) -> &[Drive] {
        &self.drives
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

    fn date(&mut self) -> Option<Nanos> {
        None
    }

    fn start(&mut self, wave: &[Service]) -> Result<Vec<Vec<Address>>, Stop> {
        self.told.extend(wave.iter().map(started));
        self.services.extend(wave.iter().cloned());
        Ok(wave.iter().map(|one| named(&one.name, one.replicas, one.scheme())).collect())
    }

    fn restart(&mut self, services: &[String]) -> Result<(), Stop> {
        self.tell(format!("restart  {}", services.join(", ")));
        Ok(())
    }

    fn scale(&mut self, service: &str, replicas: u32) -> Result<Vec<Address>, Stop> {
        self.tell(format!("scale    {service} to {replicas}"));
        let scheme = self.services.iter().find(|one| one.name == service).map(Service::scheme);
        Ok(named(service, replicas, scheme.unwrap_or(HTTP)))
    }

    fn change(&mut self, change: &Change) -> Result<Result<(), String>, Stop> {
        self.tell(format!("change   {change}"));
        Ok(Ok(()))
    }

    fn execute(&mut self, run: &Run) -> Result<Executed, String> {
        let Run { command, job, output, output_equals, .. } = run;
        let part = output.as_ref().map(|text| format!(" → `{text}` in its output"));
        let whole = output_equals.as_ref().map(|text| format!(" → `{text}`"));
        let (part, whole) = (part.unwrap_or_default(), whole.unwrap_or_default());
        let asked = match job {
            Some(_) => run.in_words(),
            None => line(&command.0),
        };
        self.tell(format!("run      {asked}{part}{whole}"));
        Ok(Executed::as_expected(run))
    }

    fn placement(&mut self) -> Result<BTreeMap<String, String>, Stop> {
        Ok(BTreeMap::new())
    }

    fn ask(&mut self, url: &str, exchange: &Exchange) -> Result<Reply, String> {
        let Exchange { method, target, send, status, body, body_equals, .. } = exchange;
        let sent = send.body.as_ref().map(|body| format!(" {body}")).unwrap_or_default();
        let part = body.as_ref().map(|body| format!(", `{body}` in it")).unwrap_or_default();
        let whole = body_equals.as_ref().map(|body| format!(", `{body}`")).unwrap_or_default();
        let url = format!("{}/{}", url.trim_end_matches('/'), target.trim_start_matches('/'));
        self.tell(format!("ask      {method} {url}{sent} → {status}{part}{whole}"));
        Ok(Reply::as_expected(exchange))
    }

    fn cpu_time(&mut self) -> Option<Nanos> {
        self.cpu_time.map(|of| of(self.now))
    }

    fn check(&mut self) -> Result<(), Stop> {
        Ok(())
    }

    fn await_calm(&mut self, within: Nanos) -> Result<Calm, Stop> {
        self.tell(format!("watch    until the machine is calm, {} at most", within.in_words()));
        Ok(Calm { is_calm: true, waited: Nanos::ZERO, quiet: Nanos::ZERO, worst: None, lost: None })
    }

    fn drive(&mut self, drive: &Drive, _tick: &mut Ticking<'_>) -> Result<Driven, Stop> {
        match &drive.foreign {
            None => self.tell(format!("drive    benchwright {}", drive.arguments)),
            Some(made) => {
                let warm_up = made.warm_up.iter().map(|words| format!("warm up  {}", line(words)));
                self.told.extend(warm_up);
                self.tell(format!("drive    {}", line(&made.command)));
            }
        }
        self.drives.push(drive.clone());
        Ok(Driven {
            load: nothing(drive),
            parts: Vec::new(),
            consumed: BTreeMap::new(),
            gauged: Vec::new(),
            machine: Machine::default(),
            deaths: Vec::new(),
            events: Vec::new(),
        })
    }

    fn stop(&mut self) {
        self.tell("stop     everything".to_owned());
    }
}

fn named(service: &str, number: u32, scheme: &str) -> Vec<Address> {
    let address = |name: &String| {
        let url = format!("{scheme}://{name}");
        // A scheme without a usual port needs one: 1 stands for the one that is not known yet.
        let has_port = url::server(&url).is_ok();
        Address::of_all(&if has_port { url } else { format!("{url}:1") })
    };
    replicas(service, number).iter().map(address).collect()
}

/// Returns a command as a shell reads it. A placeholder has no value yet, so it stays as it is.
fn line<S: AsRef<str>>(words: &[S]) -> String {
    let shown = |word: &str| match word.contains("${") && !word.contains(char::is_whitespace) {
        true => word.to_owned(),
        false => shell::word(word),
    };
    words.iter().map(|word| shown(word.as_ref())).collect::<Vec<_>>().join(" ")
}

/// Describes one service: its replicas differ only in their names.
fn started(service: &Service) -> String {
    if let Some(chart) = &service.chart {
        let namespace = chart.namespace.as_ref().map(|name| format!(" -n {name}"));
        return format!(
            "install  {}: helm {} {}{} {} · ready within {}",
            service.name,
            chart.release,
            chart.folder.display(),
            namespace.unwrap_or_default(),
            line(&chart.values()),
            service.ready_within.in_words()
        );
    }
    let Service { command, environment, foreign, limits: Limits { cpu, memory }, .. } = service;
    let name = match service.replicas {
        1 => service.name.clone(),
        n => format!("{} ×{n}", service.name),
    };
    let variables: String =
        environment.iter().map(|(name, value)| format!("{name}={} ", shell::word(value))).collect();
    let cpu = cpu.map(|limit| format!(" · at most {limit} CPUs")).unwrap_or_default();
    let memory = memory.map(|limit| format!(" · at most {}", MemoryLimit(limit).write()));
    let address = match foreign {
        Some(foreign) => format!(" · port {}", foreign.port),
        None if service.takes_listen() => " --listen 127.0.0.1:0".to_owned(),
        None => String::new(),
    };
    if let Some(file) = &service.manifest {
        let (file, within) = (file.display(), service.ready_within.in_words());
        return format!("start    {name}: the objects of {file}{address} · ready within {within}");
    }
    format!(
        "start    {name}: {variables}{}{address}{cpu}{} · ready within {}",
        line(command),
        memory.unwrap_or_default(),
        service.ready_within.in_words()
    )
}

/// A document without a single request: a dry run observes nothing.
fn nothing(drive: &Drive) -> results::Load {
    results::Load {
        arguments: drive.arguments.words(),
        seed: drive.seed,
        measured_s: drive.measure.as_secs_f64(),
        ..results::Load::empty("dry run")
    }
}

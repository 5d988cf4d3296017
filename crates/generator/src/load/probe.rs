//! A few requests to a URL, one after the other on one connection: what a service is, before anybody decides on a load
//! for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Parser;
use console::output::{Exit, Failure};
use load::driver::http1::{
    Http1, HttpWorkload, Origin, Outgoing, Response, Static, Wanted, outcome_of,
};
use load::validity::{self, Besides};
use load::{Fault, Outcome};
use measure::Nanos;
use results::failing::{self, Tally};
use results::load::Tls;
use script::Defaults;
use wire::http1::fields;

use super::plan::plan;
use super::{explain, headers};
use crate::document::{self, Context};
use crate::options::Load;
use crate::plan::question;
use crate::target::{self, Finding};
use crate::tls::Securing;
use crate::workload::request;
use crate::{known, secret};

#[cfg(test)]
mod tests;

/// The requests of a probe, and its longest time.
pub const REQUESTS: u64 = 10;
pub const WITHIN: Nanos = Nanos::from_secs(5);
/// The most bytes of the first body that are kept.
const MOST_KEPT: usize = 32 << 20;

/// The service to ask.
#[derive(Clone, Debug)]
pub struct Probe<'a> {
    pub url: &'a str,
    /// Header fields, `Name: value`.
    pub header: &'a [String],
    pub header_file: Option<&'a Path>,
    pub ca: Option<&'a Path>,
    pub insecure: bool,
    pub requests: u64,
}

/// The behaviour of a service.
#[derive(Clone, Debug, Default)]
pub struct Probed {
    /// The numbers of responses, by their status.
    pub statuses: BTreeMap<u16, u64>,
    /// The requests without a response, by their outcome.
    pub failed: BTreeMap<String, u64>,
    /// The version of HTTP in the first response: `HTTP/1.1`
    pub version: String,
    /// The header fields of the first response that say what it is, by their names in small letters.
    pub fields: BTreeMap<String, String>,
    /// The first body.
    pub body: Vec<u8>,
    pub body_bytes: u64,
    /// The usual time of a request that is alone; `None` if one had no response, whose time is only that of a limit.
    pub alone: Option<Nanos>,
    /// The connections that the service closed.
    pub closed: u64,
    /// Those that we closed, since it had sent bytes that belong to no request.
    pub unasked: u64,
    /// The failures, in a sentence.
    pub failures: Option<String>,
    pub tls: Option<Tls>,
    pub took: Nanos,
}

impl Probed {
    pub fn responses(&self) -> u64 {
        self.statuses.values().sum()
    }

    /// Returns true if a response was not a failure.
    pub fn has_success(&self) -> bool {
        self.statuses.keys().any(|status| *status < 400)
    }
}

/// The fields of a response that say what it is. Others may hold secrets.
const FIELDS: [&str; 6] =
    ["connection", "content-encoding", "content-type", "location", "server", "transfer-encoding"];

/// A load from its words.
#[derive(Parser)]
struct Words {
    #[command(flatten)]
    load: Load,
}

/// Sends the requests of a probe.
pub fn probe(probe: &Probe<'_>) -> Result<Probed, Failure> {
    let arguments = arguments(probe).map_err(Failure::question)?;
    let mut secrets = secret::of(&arguments).map_err(question)?;
    ask(&arguments, &mut secrets).map_err(|failure| secret::hidden(failure, &secrets))
}

fn arguments(probe: &Probe<'_>) -> Result<Load, clap::Error> {
    let Probe { url, header, header_file, ca, insecure, requests } = probe;
    let (requests, within) = (requests.to_string(), WITHIN.written());
    let mut words: Vec<String> = [
        "load",
        "--closed",
        "-c",
        "1",
        "--shards",
        "1",
        "--pin",
        "off",
        "--io",
        "epoll",
        "--timer",
        "sleep",
        "--requests",
        &requests,
        "--duration",
        &within,
        "--timeout",
        &within,
        "--drain",
        &within,
        "--connect-timeout",
        &within,
    ]
    .map(str::to_owned)
    .into();
    let mut option = |name: &str, path: &Path| words.push(format!("{name}={}", path.display()));
    header_file.iter().for_each(|path| option("--header-file", path));
    ca.iter().for_each(|path| option("--ca", path));
    words.extend(header.iter().map(|field| format!("--header={field}")));
    words.extend(insecure.then(|| "--insecure".to_owned()));
    words.push((*url).to_owned());
    Words::try_parse_from(words).map(|words| words.load)
}

fn ask(arguments: &Load, secrets: &mut results::Secrets) -> Result<Probed, Failure> {
    let addresses = &arguments.address;
    let finding = Finding { addresses, connect_to: None, sources: &[] };
    let targets = target::resolve(&arguments.urls, &finding, secrets).map_err(question)?;
    let headers = headers(arguments, &targets, secrets).map_err(question)?;
    let securing = Securing::of(arguments, &targets).map_err(question)?;
    let plan = plan(arguments, &targets, 1.0)?;
    let defaults = Defaults { method: "GET".to_owned(), headers, body: None };
    let request = request(&defaults, &targets[0])?;
    let seen = Arc::new(Mutex::new(Probed::default()));
    let drivers = plan.pools.iter().map(|pool| {
        let workload =
            Seeing { request: request.clone(), seen: Arc::clone(&seen), first: Vec::new() };
        let workload: Box<dyn HttpWorkload + Send> = Box::new(workload);
        Http1::new(pool.connections, workload).with_most_body(arguments.max_body.0)
    });
    let drivers = securing.pools(drivers.collect(), &plan, &targets).map_err(question)?;
    let stop = console::signals::interrupted();
    let watchers = vec![(); plan.cpus.len()];
    let measured = load::measure(&plan, drivers, watchers, None, &stop)
        .map_err(|failure| explain(&failure, &targets, &stop))?;
    if stop.load(Ordering::Relaxed) {
        // What was cut off says nothing about the service.
        let error = anyhow::anyhow!("interrupted before the service had answered");
        return Err(Failure { exit: Exit::Interrupted, error });
    }
    let measurement = measured.measurement;
    let besides =
        Besides { samples_lost: 0, maximum_of_a_shard: known::maximum(), delivery_p99: None };
    let judgement = validity::judge(&plan, &measurement, besides);
    let context = Context {
        arguments: Vec::new(),
        seed: arguments.seed,
        slo: &[],
        labels: &[],
        requests_of_an_arrival: 1.0,
        has_one_path: true,
        compatibility: None,
    };
    let document = document::of(&context, &plan, &targets, &measurement, &judgement);
    drop(measured.drivers);
    let mut seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    let failures = failing::of(&document);
    let total = document.total;
    let is_answer = |outcome: &str| ["ok", "status"].contains(&outcome);
    seen.failed = total
        .outcomes
        .into_iter()
        .filter(|(outcome, count)| 0 < *count && !is_answer(outcome))
        .collect();
    let times = total.service_time.filter(|_| seen.failed.is_empty());
    seen.alone = times.map(|times| Nanos(times.p50_ns));
    seen.unasked = document.connections.and_then(|it| it.unasked).unwrap_or_default();
    // A request without a response took its connection along.
    let by_us = seen.unasked + seen.failed.values().sum::<u64>();
    seen.closed = total.counts.reconnects.saturating_sub(by_us);
    seen.failures = Tally::of(&total.counts).in_words(&failures);
    seen.tls = total.tls;
    seen.took = Nanos::from_secs_f64(document.measured_s);
    for text in seen.fields.values_mut().chain(&mut seen.failures) {
        *text = secrets.redact(text);
    }
    Ok(seen)
}

/// The same request again and again, whose responses are looked at.
struct Seeing {
    request: Static,
    seen: Arc<Mutex<Probed>>,
    /// The first body, as far as it has arrived.
    first: Vec<u8>,
}

impl Seeing {
    fn is_first(&self) -> bool {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).responses() == 0
    }
}

impl HttpWorkload for Seeing {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        self.request.next(of, request)
    }

    fn wanted(&mut self, _connection: u32, _tag: u32) -> Wanted {
        self.first.clear();
        if self.is_first() { Wanted::Pieces } else { Wanted::Head }
    }

    fn took(&mut self, _connection: u32, _tag: u32, piece: &[u8]) {
        let room = MOST_KEPT.saturating_sub(self.first.len());
        self.first.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        let is_first = self.is_first();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if is_first {
            seen.version =
                String::from_utf8_lossy(answer.head.get(..8).unwrap_or_default()).into_owned();
            for (name, value) in fields(answer.head) {
                let name = name.to_ascii_lowercase();
                if FIELDS.contains(&&*name) {
                    seen.fields.insert(name, String::from_utf8_lossy(value).into_owned());
                }
            }
            seen.body = std::mem::take(&mut self.first);
            seen.body_bytes = answer.body_length;
        }
        *seen.statuses.entry(answer.status).or_default() += 1;
        Ok((outcome_of(answer.status), ""))
    }
}

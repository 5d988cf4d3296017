//! `benchwright load`: one load, at once. Its life: targets → plan → measurement → judgement →
//! document → exit code.

mod document;
mod live;
mod target;
mod text;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use load::driver::http1::{Http1, HttpWorkload, Static};
use load::measurement::{Failure as NotMeasured, Lane, Plan};
use load::pacing::{Pacing, Sharing};
use load::shard::{Limits, Overdue};
use load::{Fault, validity};
use measure::{Nanos, Random, Rate};
use net::{Closed, cores, process};
use script::{Defaults, Program, Script};

use self::target::Target;
use crate::cli::{Load, Pin};
use crate::output::{self, Exit, Failure};

/// What one shard can be expected to start in a second, with a CPU of its own and no script.
const REQUESTS_OF_A_SHARD: f64 = 20_000.0;

pub(crate) fn load(arguments: &Load) -> Result<Exit, Failure> {
    if let Some(script) = &arguments.check_script {
        return check(script);
    }
    let targets = target::resolve(&arguments.urls, &arguments.address).map_err(question)?;
    let plan = plan(arguments, &targets)?;
    let workload = Workload::new(arguments)?;
    // A script that does not load is a wrong question; one that fails later is no answer.
    workload.make(&targets[0], 0).map_err(Failure::question)?;
    let stop = crate::interrupted();

    let drivers = drivers(&plan, &targets, &workload).map_err(Failure::no_answer)?;
    let watchers = vec![(); plan.cpus.len()];
    let measured = live::watch(arguments.progress, &plan, |live| {
        load::measure(&plan, drivers, watchers, Some(live), &stop)
    });
    let measured = measured.map_err(|failure| explain(&failure, &targets, &stop))?;
    let measurement = measured.measurement;
    let judgement = validity::judge(&plan, &measurement);
    let document = document::of(arguments, &plan, &targets, &measurement, &judgement);
    output::result(&match arguments.json {
        true => output::json(&document),
        false => text::of(&document),
    })?;
    Ok(match () {
        () if measurement.partial => Exit::Interrupted,
        () if !judgement.is_valid() => Exit::NoAnswer,
        () => Exit::Answered,
    })
}

/// The driver of each lane.
fn drivers(
    plan: &Plan,
    targets: &[Target],
    workload: &Workload<'_>,
) -> Result<Vec<Http1<Box<dyn HttpWorkload + Send>>>, Fault> {
    let of_each = plan.lanes_of_each() as usize;
    let drivers = plan.lanes.iter().enumerate().map(|(lane, Lane { connections, .. })| {
        let workload = workload.make(&targets[lane / of_each], lane as u64)?;
        Ok(Http1::new(*connections, workload))
    });
    drivers.collect()
}

/// Whether a script loads: its syntax, what it does at once, and what it asks for.
fn check(script: &Path) -> Result<Exit, Failure> {
    let program = Program::load(script, Vec::new()).map_err(Failure::question)?;
    let target = Target::nowhere().for_script();
    Script::new(&program, &target, &Defaults::default(), 1).map_err(Failure::question)?;
    Ok(Exit::Answered)
}

fn question(error: anyhow::Error) -> Failure {
    Failure { exit: Exit::Question, error }
}

fn plan(arguments: &Load, targets: &[Target]) -> Result<Plan, Failure> {
    let pacing = pacing(arguments)?;
    let each = match (arguments.per_target, targets.len()) {
        (true, _) => arguments.connections as usize,
        (false, targets) => (arguments.connections as usize).div_ceil(targets),
    };
    let needed = (each * targets.len()) as u64 + 64;
    let files = process::raise_open_files();
    if files < needed {
        return Err(Failure::question(format!(
            "{} connections need {needed} open files, and the limit is {files}\n  \
             raise the hard limit (ulimit -Hn), or ask for fewer with --connections",
            each * targets.len()
        )));
    }
    let cpus = cpus(arguments, pacing, each);
    Ok(Plan {
        targets: targets.len() as u32,
        lanes: lanes(targets, each, cpus.len()),
        pacing,
        requests: None,
        warm_up: arguments.warm_up,
        measure: positive(arguments.duration, "--duration")?,
        drain: arguments.drain.unwrap_or(arguments.timeout),
        limits: Limits {
            timeout: positive(arguments.timeout, "--timeout")?,
            overdue: Overdue::Cut,
            backlog: arguments.backlog,
            connect_timeout: arguments.connect_timeout,
            open_gap: Nanos::ZERO,
            keep_alive: None,
        },
        slo: arguments.slo,
        interval: positive(arguments.interval, "--interval")?,
        timer: arguments.timer,
        cpus,
        seed: arguments.seed,
    })
}

/// A lane of each target on each shard, with its share of the connections.
fn lanes(targets: &[Target], connections: usize, shards: usize) -> Vec<Lane> {
    let lane = |target: &Target, shard: usize| Lane {
        endpoints: target.addresses.iter().map(|&address| address.into()).collect(),
        connections: connections / shards + usize::from(shard < connections % shards),
    };
    let of_target = |target| (0..shards).map(move |shard| lane(target, shard));
    targets.iter().flat_map(of_target).collect()
}

fn pacing(arguments: &Load) -> Result<Pacing, Failure> {
    let sharing = if arguments.per_target { Sharing::Each } else { Sharing::InTurn };
    match (arguments.rate, arguments.closed) {
        (Some(rate), _) => Ok(Pacing::Open { rate, law: arguments.arrivals, sharing }),
        (None, true) => Ok(Pacing::Closed { think: arguments.think }),
        (None, false) => Err(Failure::question(
            "say who starts the requests:\n  \
             --rate 5k/s   the clock: an open loop, as independent users make it\n  \
             --closed      the answers: a closed loop, to find the highest rate",
        )),
    }
}

fn positive(length: Nanos, flag: &str) -> Result<Nanos, Failure> {
    match length {
        Nanos::ZERO => Err(Failure::question(format!("{flag} must be longer than nothing"))),
        length => Ok(length),
    }
}

/// The CPU of each shard. A loop that spins beside an idle neighbour would only take CPU from the
/// target, so an open loop gets as many shards as its rate needs.
fn cpus(arguments: &Load, pacing: Pacing, connections: usize) -> Vec<Option<u32>> {
    let allowed = cores::allowed();
    let wanted = match (arguments.shards, pacing) {
        (Some(shards), _) => shards as usize,
        (None, Pacing::Open { rate, .. }) => shards_for(rate, arguments),
        (None, Pacing::Closed { .. }) => allowed.len(),
    };
    let most = if arguments.shards.is_some() { wanted } else { allowed.len() };
    let shards = wanted.clamp(1, most.max(1)).min(connections);
    // The last CPUs: interrupts and what the machine does besides prefer the first.
    let pinned = arguments.pin == Pin::Auto && shards <= allowed.len();
    let first = allowed.len().saturating_sub(shards);
    (0..shards).map(|shard| allowed.get(first + shard).copied().filter(|_| pinned)).collect()
}

fn shards_for(rate: Rate, arguments: &Load) -> usize {
    let targets = if arguments.per_target { arguments.urls.len() as f64 } else { 1.0 };
    (rate.as_per_second() * targets / REQUESTS_OF_A_SHARD).ceil() as usize
}

/// What is asked, of every target.
enum Workload<'a> {
    Static { method: &'a str, headers: Vec<(String, String)>, body: &'a [u8] },
    Script { program: Program, seed: u64, defaults: Defaults },
}

impl<'a> Workload<'a> {
    fn new(arguments: &'a Load) -> Result<Workload<'a>, Failure> {
        let headers = arguments
            .header
            .iter()
            .map(|field| header(field))
            .collect::<anyhow::Result<Vec<_>>>()
            .map_err(question)?;
        match &arguments.script {
            Some(path) => {
                let program = Program::load(path, arguments.script_arguments.clone())
                    .map_err(Failure::question)?;
                let defaults = Defaults {
                    method: arguments.method.clone(),
                    headers,
                    body: arguments.body.clone().map(String::into_bytes),
                };
                Ok(Workload::Script { program, seed: arguments.seed, defaults })
            }
            None => Ok(Workload::Static {
                method: &arguments.method,
                headers,
                body: arguments.body.as_deref().unwrap_or("").as_bytes(),
            }),
        }
    }

    /// The workload of one lane.
    fn make(&self, target: &Target, lane: u64) -> Result<Box<dyn HttpWorkload + Send>, Fault> {
        match self {
            Workload::Static { method, headers, body } => {
                let mut fields: Vec<(&str, &str)> = Vec::new();
                if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
                    fields.push(("Host", &target.authority));
                }
                fields.extend(headers.iter().map(|(name, value)| (&**name, &**value)));
                Ok(Box::new(Static::new(method, &target.path, &fields, body)))
            }
            Workload::Script { program, seed, defaults } => {
                let seed = Random::part(*seed, lane).next_u64();
                let target = target.for_script();
                Ok(Box::new(Script::new(program, &target, defaults, seed)?))
            }
        }
    }
}

fn header(field: &str) -> anyhow::Result<(String, String)> {
    let (name, value) = field
        .split_once(':')
        .with_context(|| format!("`{field}` is no header field; write `Name: value`"))?;
    let bad = |c: char| c.is_control() || c == ' ';
    anyhow::ensure!(
        !name.is_empty() && !name.contains(bad) && !value.contains(['\r', '\n']),
        "`{field}` is no header field; write `Name: value`"
    );
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// Why there is no measurement, and what to do about it.
fn explain(failure: &NotMeasured, targets: &[Target], stop: &AtomicBool) -> Failure {
    match failure {
        NotMeasured::Unreachable { target, why } => {
            let Target { url, addresses, .. } = &targets[*target];
            let why = match why {
                Some(Closed::Refused) => "connection refused: is it running, and on this port?",
                Some(Closed::Unreachable) => "no route, or no free local port",
                Some(Closed::Reset | Closed::ByPeer | Closed::WhileWriting) => "it closes at once",
                None => "no answer in time (--connect-timeout)",
            };
            let address = addresses.first().map_or(String::new(), ToString::to_string);
            Failure::no_answer(format!("{url} cannot be reached ({address}): {why}"))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => {
            debug_assert!(stop.load(Ordering::Relaxed), "only an interruption interrupts");
            let error = anyhow::anyhow!("interrupted before anything was measured");
            Failure { exit: Exit::Interrupted, error }
        }
    }
}

//! `benchwright wrk` and `wrk2`, or a link of that name: the originals' command line and output,
//! with our engine.
//!
//! Its steps: arguments → targets → plan → measurement → the originals' statistics → their layout.
//! Our own output (the compatibility, the verdict) goes to stderr; the exit code is the originals'
//! unless `--strict` is given.

mod figures;
mod files;
mod observer;

use std::fmt::Display;
use std::process::ExitCode;
use std::str::FromStr;

use console::output::{self, Exit, Failure};
use load::measurement::{Failure as NotMeasured, Plan};
use load::network::{Choice, Network, Work};
use load::pacing::{Offered, Pacing, Sharing};
use load::shard::{Limits, Overdue, Unopened};
use load::validity::{self, Besides};
use measure::cpus::Pin;
use measure::pace::{Distribution, Shape, Think};
use measure::quantity::counted;
use measure::{Nanos, Rate};
use net::{Closed, Endpoint, Timer, cores};
use results::{Load, Secrets, failing, secrets};
use script::ScriptSet;
use wrk::arguments::{self, Command, Compatibility, Refusal};

use self::observer::Originals;
use crate::document::{self, Context};
use crate::guard::{Guard, When};
use crate::known;
use crate::outputs::Outputs;
use crate::plan::{pools, provide_files, question};
use crate::ports;
use crate::target::{self, Finding, Target};
use crate::tls::Securing;
use crate::workload::{Driver, Requested, Staffed, Workload};

/// The most requests of a target that may wait for a connection. The originals have no bound; a
/// load that reaches this one ends as overloaded.
const MOST_WAITING: f64 = 20e6;
/// The connect timeout. The originals wait for as long as the kernel tries.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
/// The number of requests that DeathStarBench's fork puts on a connection.
const DSB_PIPELINE: usize = 65_535;

/// Runs as the original of this name, with the arguments that follow the name.
pub fn wrk(name: &str, arguments: &[String]) -> ExitCode {
    let command = match arguments::parse(name, arguments) {
        Ok(command) => command,
        Err(refusal) => return refuse(&refusal, arguments),
    };
    let exit = run(&command, arguments);
    let (code, error) = match exit {
        Ok(exit) if command.native.strict => (exit as u8, None),
        Ok(_) => (0, None),
        Err(Failure { exit, error }) => {
            (if command.native.strict { exit as u8 } else { 1 }, Some(error))
        }
    };
    if let Some(error) = error {
        output::error(&format!("{error:#}"));
    }
    ExitCode::from(code)
}

/// Prints a refusal and returns its exit code: 1, as from the originals, or 2 with `--strict`.
fn refuse(refusal: &Refusal, arguments: &[String]) -> ExitCode {
    // If this cannot be written, the error cannot be reported either.
    let _ = output::result(&refusal.stdout(env!("CARGO_PKG_VERSION"), "epoll"));
    let stderr = refusal.stderr();
    if !stderr.is_empty() {
        output::error(stderr.trim_end());
    }
    let is_strict = arguments.iter().any(|argument| argument == "--strict");
    match refusal {
        Refusal::Wrong(..) if is_strict => ExitCode::from(Exit::Question as u8),
        _ => ExitCode::from(refusal.code()),
    }
}

fn run(command: &Command, arguments: &[String]) -> Result<Exit, Failure> {
    console::files::check(&Outputs::files_of_wrk(command))?;
    let cpus = cpus(command)?;
    let network = network(command, cpus.len())?;
    let outputs = Outputs::of_wrk(&command.native);
    let mut outputs = outputs.map_err(|error| Failure::question(format!("{error:#}")))?;
    let targets = targets(command)?;
    target::check_memory(targets.len(), cpus.len()).map_err(Failure::question)?;
    let mut plan = plan(command, (network, cpus), &targets)?;
    let requested = Requested {
        method: "GET",
        headers: command.headers.clone(),
        body: None,
        script: command.script.as_deref().map(|path| (path.as_ref(), command.arguments.clone())),
        mix: None,
        check: None,
        compatibility: match command.compatibility {
            Compatibility::Wrk => script::Compatibility::Wrk,
            Compatibility::Wrk2 => script::Compatibility::Wrk2,
            Compatibility::Dsb => script::Compatibility::Dsb,
        },
        seed: plan.seed,
        is_final: command.native.seed.is_some(),
        secrets: Secrets::default(),
    };
    let workload = Workload::new(requested)?;
    let pipeline = if command.compatibility == Compatibility::Dsb { DSB_PIPELINE } else { 1 };
    let Staffed { drivers, script_set } = workload.staff(&mut plan, &targets)?;
    let drivers: Vec<Driver> =
        drivers.into_iter().map(|driver: Driver| driver.with_pipeline(pipeline)).collect();
    let securing = Securing::as_originals(&targets).map_err(question)?;
    let drivers = securing.pools(drivers, &plan, &targets).map_err(question)?;
    // A batch is one arrival, but the rate counts responses.
    let at_once = script_set.as_ref().map_or(1, ScriptSet::at_once);
    plan.pacing = pacing(command, at_once);
    let stop = console::signals::interrupted();

    output::error(&format!("benchwright as {}", command.compatibility.name()));
    for notice in script_set.as_ref().map_or(&[][..], ScriptSet::notices) {
        output::error(notice);
    }
    output::result(&figures::opening(command))?;
    let writer = files::Writer::begin(command).map_err(Failure::no_answer)?;
    let originals: Vec<Originals> = (0..plan.cpus.len())
        .map(|shard| Originals::new(command, &plan, shard, writer.as_ref()))
        .collect();
    let samplers = outputs.samplers(plan.cpus.len());
    let watchers = originals.into_iter().zip(samplers).collect();
    let begin = |set: &ScriptSet| Guard::begin(&stop, set.watch(), When::During);
    let guard = script_set.as_ref().map(begin);
    let measured = load::measure(&plan, drivers, watchers, None, &stop);
    let measured = measured.map_err(|failure| explain(&failure, &targets))?;
    drop(guard);
    let measurement = measured.measurement;
    let (originals, samplers): (Vec<_>, Vec<_>) = measured.watchers.into_iter().unzip();
    if let Some(writer) = writer {
        writer.finish().map_err(Failure::no_answer)?;
    }
    let lost = outputs.finish(samplers);

    let run = measurement.end - measurement.start;
    let figures = figures::Figures::of(command, &plan, originals, run);
    output::result(&figures.text(command))?;
    if let Some(script_set) = &script_set {
        let _guard = Guard::begin(&stop, script_set.watch(), When::After);
        figures.done(script_set).map_err(Failure::no_answer)?;
    }
    drop(measured.drivers);

    let maximum_of_a_shard = known::maximum();
    let besides = Besides { samples_lost: lost, maximum_of_a_shard, delivery_p99: None };
    let judgement = validity::judge(&plan, &measurement, besides);
    let context = Context {
        arguments: secrets::words(arguments),
        seed: plan.seed,
        slo: &[],
        has_one_path: false,
        labels: &[],
        requests_of_an_arrival: 1.0,
        compatibility: Some(command.compatibility.name()),
    };
    let document = Load {
        wrk: figures.wrk(),
        ..document::of(&context, &plan, &targets, &measurement, &judgement)
    };
    outputs.write(&document, &measurement)?;
    let failures = failing::of_load_in_words(&document);
    failures.iter().for_each(|words| output::error(&format!("failed: {words}")));
    for line in judgement.reasons().iter().chain(&document.findings).chain(&judgement.warnings) {
        output::error(line);
    }
    let overdue: u64 = measurement.parts.iter().map(|part| part.overdue).sum();
    if 0 < overdue {
        let overdue = counted(overdue);
        output::error(&format!("{overdue} requests took longer than {} (-T)", command.timeout));
    }
    if judgement.is_valid() {
        let valid = failing::valid_in_words(&document);
        output::error(&format!("{valid}: the generator was not the bottleneck"));
    }
    // A habit of the target is no failure of it.
    let habits = results::transport::habits(&document);
    let fell_short = habits.len() < document.findings.len();
    Ok(match () {
        () if measurement.partial => Exit::Interrupted,
        () if !judgement.is_valid() => Exit::NoAnswer,
        () if 0 < overdue || failures.is_some() || fell_short => Exit::No,
        () => Exit::Answered,
    })
}

/// Returns each URL with the first of its addresses that accepts a connection.
fn targets(command: &Command) -> Result<Vec<Target>, Failure> {
    let all = ["all".to_owned()];
    let finding = Finding { addresses: &all, ..Finding::default() };
    let mut targets =
        target::resolve(&command.urls, &finding, &Secrets::default()).map_err(question)?;
    if let Some(target) = targets.iter().find(|target| target.authorization.is_some()) {
        return Err(Failure::question(format!(
            "`{}` has user information; send it as -H 'Authorization: …'",
            target.url
        )));
    }
    for target in &mut targets {
        let mut last = None;
        let accepts = |endpoint: &Endpoint| match target::connects(endpoint) {
            Ok(()) => true,
            Err(error) => {
                last = Some(error);
                false
            }
        };
        target.endpoints.retain(accepts);
        if let (true, Some(error)) = (target.endpoints.is_empty(), last) {
            return Err(Failure::question(format!(
                "unable to connect to {}:{} {error}",
                target.host,
                target.service()
            )));
        }
        target.endpoints.truncate(1);
    }
    ports::provide(&mut targets, command.connections as usize, "-c")?;
    Ok(targets)
}

fn plan(
    command: &Command,
    (network, cpus): (Network, Vec<Option<u32>>),
    targets: &[Target],
) -> Result<Plan, Failure> {
    let (threads, connections) = (command.threads as usize, command.connections as usize);
    provide_files(connections.saturating_mul(targets.len()), "-c")?;
    let native = &command.native;
    let most = command.rate.map_or(1.0, |rate| rate.count_in(command.duration)).min(MOST_WAITING);
    Ok(Plan {
        targets: targets.len() as u32,
        limits: Limits {
            timeout: command.timeout,
            overdue: Overdue::Mark,
            backlog: (most / threads as f64).ceil() as usize + 1,
            connect_timeout: CONNECT_TIMEOUT,
            ..Limits::default()
        },
        network,
        timer: given(&native.timer, "--timer", Timer::default())?,
        cpus,
        seed: match &native.seed {
            Some(seed) => seed.parse().map_err(|_| {
                Failure::question(format!("--seed: `{seed}` is not a whole number"))
            })?,
            // The originals send a different load each time.
            None => net::process::entropy(),
        },
        ..Plan::whole(pools(targets, connections, threads), pacing(command, 1), command.duration)
    })
}

/// Chooses the network interface, before any address is tried.
fn network(command: &Command, shards: usize) -> Result<Network, Failure> {
    let work = Work {
        asks_at_once: command.rate.is_none(),
        one_request_each: false,
        connections: (command.connections as usize * command.urls.len()).div_ceil(shards),
        kernel_timestamps: false,
    };
    let wanted = given(&command.native.io, "--io", Choice::Auto)?;
    Network::choose(wanted, work).map_err(Failure::question)
}

fn given<T: FromStr<Err: Display>>(
    text: &Option<String>,
    flag: &str,
    default: T,
) -> Result<T, Failure> {
    match text {
        Some(text) => text.parse().map_err(|e| Failure::question(format!("{flag}: {e}"))),
        None => Ok(default),
    }
}

/// Returns the CPU of each shard. Script threads are spread over as many shards as there are CPUs;
/// this affects only the speed.
fn cpus(command: &Command) -> Result<Vec<Option<u32>>, Failure> {
    let pools = command.threads as usize * command.urls.len();
    let pin = given(&command.native.pin, "--pin", Pin::Auto)?;
    let allowed = pin.of(cores::allowed()).map_err(Failure::question)?;
    let wanted = match &command.native.shards {
        Some(text) => text.parse::<usize>().ok().filter(|&shards| 0 < shards).ok_or_else(|| {
            Failure::question(format!("--shards: `{text}` is not a valid number of threads"))
        })?,
        None => allowed.len(),
    };
    pin.place(wanted.min(pools).max(1), &allowed).map_err(Failure::question)
}

/// Returns the pacing of a load that sends `at_once` requests together.
fn pacing(command: &Command, at_once: usize) -> Pacing {
    let Some(rate) = command.rate else { return Pacing::Closed { think: Think::NONE } };
    let rate = Rate::per_second(rate.as_per_second() / at_once.max(1) as f64);
    let rate = rate.expect("a part of a rate is a rate");
    let load = Offered::Drawn {
        shape: Shape::constant(rate),
        distribution: distribution(command.distribution),
    };
    Pacing::Open { load, sharing: Sharing::Each }
}

fn distribution(distribution: arguments::Distribution) -> Distribution {
    match distribution {
        arguments::Distribution::Fixed => Distribution::Constant,
        arguments::Distribution::Exp => Distribution::Poisson,
        arguments::Distribution::Norm => Distribution::Normal { cv: 0.25 },
        arguments::Distribution::Zipf => Distribution::Zipf,
    }
}

fn explain(failure: &NotMeasured, targets: &[Target]) -> Failure {
    match failure {
        NotMeasured::Unreachable { target, why } => {
            let target = &targets[*target];
            let why = match why {
                Some(Unopened::By(Closed::Refused)) => "Connection refused",
                Some(Unopened::Unprepared(why)) => why,
                _ => "Connection timed out",
            };
            let (host, service) = (&target.host, target.service());
            Failure::no_answer(format!("unable to connect to {host}:{service} {why}"))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => {
            let error = anyhow::anyhow!("interrupted before anything was measured");
            Failure { exit: Exit::Interrupted, error }
        }
    }
}

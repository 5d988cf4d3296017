//! `benchwright load`: a single load. Its steps: targets → plan → measurement → judgement →
//! document → files → exit code.

mod csv;
pub(crate) mod document;
pub(crate) mod done;
pub(crate) mod events;
pub(crate) mod guard;
mod hlog;
mod live;
mod outputs;
pub(crate) mod ports;
mod samples;
mod secret;
mod start;
pub(crate) mod target;
pub(crate) mod text;
pub(crate) mod tls;
pub(crate) mod workload;

use std::fs::File;
use std::io::BufReader;
use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use load::measurement::{Failure as NotMeasured, Plan, Pool};
use load::network::{Network, Work};
use load::pacing::{Offered, Pacing, Sharing, Trace};
use load::shard::{Limits, Overdue, Unopened};
use load::validity::{self, Besides};
use measure::estimate::Enough;
use measure::pace::Shape;
use measure::{Nanos, Quantile};
use net::{Closed, process};
use results::evidence::Evidence;
use results::slo::{self, Slo};
use results::{Secrets, failing, regular};
use script::{Compatibility, ScriptSet};

use self::events::{Gathered, Noting, Receiving, Wanted};
use self::guard::Guard;
use self::live::Watching;
pub(crate) use self::outputs::Outputs;
use self::target::{Finding, Target};
use self::tls::Securing;
use self::workload::{Requested, Staffed, Workload};
use crate::cli::{Load, Start};
use crate::output::{self, Exit, Failure};

/// The requests that one shard can be expected to start in a second, with a CPU of its own and
/// without a script.
const REQUESTS_OF_A_SHARD: f64 = 20_000.0;
/// The longest time of a load that has only a number of requests as its end.
const LONGEST_LOAD: Nanos = Nanos::from_secs(24 * 3600);

pub(crate) fn load(arguments: &Load) -> Result<Exit, Failure> {
    if arguments.self_test {
        return super::self_test::self_test(arguments);
    }
    let mut secrets = secret::of(arguments).map_err(question)?;
    make(arguments, &mut secrets).map_err(|failure| secret::hidden(failure, &secrets))
}

/// Makes the load. Its failures are for `secret::hidden`.
fn make(arguments: &Load, secrets: &mut Secrets) -> Result<Exit, Failure> {
    let finding = Finding {
        addresses: &arguments.address,
        connect_to: arguments.connect_to.as_deref(),
        sources: &arguments.source,
    };
    let mut targets = target::resolve(&arguments.urls, &finding, secrets).map_err(question)?;
    let headers = headers(arguments, &targets, secrets).map_err(question)?;
    let of_each = share(arguments, arguments.part.share(arguments.connections.into()) as usize);
    ports::provide(&mut targets, of_each, "--connections")?;
    let securing = Securing::of(arguments, &targets).map_err(question)?;
    let mut plan = plan(arguments, &targets)?;
    let events = Wanted::of(arguments, targets.len())?;
    let workload = match &events {
        Some(wanted) => Workload::events(wanted, headers),
        None => Workload::new(requested(arguments, headers, secrets)?)?,
    };
    if arguments.dry_run {
        workload.check(&targets)?;
        return Ok(Exit::Answered);
    }
    let Staffed { drivers, script_set } = workload.staff(&mut plan, &targets)?;
    let drivers = drivers.into_iter().map(|driver| {
        let driver = driver.with_pipeline(arguments.pipeline as usize);
        driver.with_most_body(arguments.max_body.0)
    });
    let drivers = securing.pools(drivers.collect(), &plan, &targets).map_err(question)?;
    let notices = script_set.as_ref().map_or(&[][..], ScriptSet::notices);
    let shown = notices.iter().map(|notice| secrets.redact(notice));
    shown.for_each(|notice| output::error(&format!("notice: {notice}")));
    let labels = secret::labels(labels(&workload, &plan.pacing));
    let mut outputs = Outputs::of(arguments, labels.clone()).map_err(question)?;
    let stop = crate::interrupted();

    let noting = Noting::begin(arguments, events.as_ref())?;
    let receiving = Receiving::begin(arguments, events.as_ref(), &plan)?;
    let is_noted = noting.is_some() || receiving.is_some();
    let ledgers = events::ledgers(is_noted, events.as_ref(), &plan);
    let watchers = outputs.samplers(plan.cpus.len()).into_iter().zip(ledgers).collect();
    let watching = Watching {
        how: arguments.progress,
        // With a pipe that says when to begin, keys have no place to come from.
        only_lines: arguments.no_tui || arguments.start == Start::Stdin,
        headline: headline(arguments, &targets),
        interrupted: &stop,
    };
    let guard = script_set.as_ref().map(|set| Guard::begin(&stop, Some(set.watch())));
    let measured = live::watch(watching, &plan, |live| match arguments.start {
        Start::Now => load::measure(&plan, drivers, watchers, Some(live), &stop),
        Start::Stdin => {
            let lines = start::Lines::read();
            let begin = || lines.await_start(&stop);
            load::measurement::measure_from(&plan, drivers, watchers, Some(live), &stop, &begin)
        }
    });
    let measured = measured.map_err(|failure| explain(&failure, &targets, &stop))?;
    drop(guard);
    let measurement = measured.measurement;
    let (samplers, ledgers): (Vec<_>, Vec<_>) = measured.watchers.into_iter().unzip();
    let lost = outputs.finish(samplers)?;
    let sent = Gathered::of(ledgers.into_iter().flatten());
    let noted = noting.map(|noting| noting.finish(&sent, measurement.window)).transpose()?;
    let delivery = receiving.map(|receiving| receiving.finish(sent, measurement.window));

    let maximum_of_a_shard = super::self_test::known_maximum();
    let delivery_p99 = delivery.as_ref().and_then(|events| events.delivery_bounds(Quantile::P99));
    let besides = Besides { samples_lost: lost, maximum_of_a_shard, delivery_p99 };
    let judgement = validity::judge(&plan, &measurement, besides);
    let context = Context {
        arguments: results::secrets::words(&std::env::args().skip(1).collect::<Vec<_>>()),
        seed: arguments.seed,
        slo: &arguments.slo,
        labels: &labels,
        has_one_path: workload.has_one_path(),
        compatibility: None,
    };
    let mut document = document::of(&context, &plan, &targets, &measurement, &judgement);
    document.warnings.extend(noted.into_iter().flatten());
    if let Some(delivery) = delivery {
        document.findings.extend(events::findings(&delivery));
        document.warnings.extend(events::warning(&delivery));
        document.events = Some(delivery);
    }
    secret::hide(&mut document, secrets);
    // A file that cannot be written does not lose the figures.
    if !outputs.is_json() {
        output::result(&text::of(&document))?;
    }
    outputs.write(&document, &measurement)?;
    if let Some(script_set) = script_set {
        let _guard = Guard::begin(&stop, None);
        done::run(&script_set, &measurement).map_err(Failure::no_answer)?;
    }
    drop(measured.drivers);
    Ok(if measurement.partial { Exit::Interrupted } else { exit(&document) })
}

/// Describes a load in one line: `http://127.0.0.1:8080/ · 32 connections`
fn headline(arguments: &Load, targets: &[Target]) -> String {
    let urls: Vec<&str> = targets.iter().map(|target| target.url.as_str()).collect();
    let connections = match arguments.per_target {
        true if 1 < urls.len() => format!("{} connections each", arguments.connections),
        _ => format!("{} connections", arguments.connections),
    };
    format!("{} · {connections}", urls.join(" "))
}

/// Returns the exit code of a load: no if it missed its SLO, or if most requests failed. A load that is
/// not valid may still answer that.
pub(crate) fn exit(load: &results::Load) -> Exit {
    match load.evidence() {
        (Evidence::Nothing, _) => Exit::NoAnswer,
        (Evidence::Whole | Evidence::Answer, _) => match &load.slo {
            Some(slo) if !slo.met => Exit::No,
            _ if failing::is_missed(load, judged(load)) => Exit::No,
            Some(_) | None => Exit::Answered,
        },
    }
}

fn judged(load: &results::Load) -> &[slo::Judged] {
    load.slo.as_ref().map_or(&[], |slo| &slo.objectives)
}

/// The names of the labels: the mix's, or else the trace's.
fn labels(workload: &Workload, pacing: &Pacing) -> Vec<String> {
    match (workload.labels(), pacing) {
        (labels, Pacing::Open { load: Offered::Trace(trace), .. }) if labels.is_empty() => {
            trace.labels().to_vec()
        }
        (labels, _) => labels,
    }
}

/// The parts of a document that are not measured.
pub(crate) struct Context<'a> {
    pub(crate) arguments: Vec<String>,
    pub(crate) seed: u64,
    pub(crate) slo: &'a [Slo],
    /// The names of the labels, in their order.
    pub(crate) labels: &'a [String],
    /// True if all requests to a target have the path of its URL.
    pub(crate) has_one_path: bool,
    /// The original that this program was started as.
    pub(crate) compatibility: Option<&'static str>,
}

fn requested<'a>(
    arguments: &'a Load,
    headers: Vec<(String, String)>,
    secrets: &'a Secrets,
) -> Result<Requested<'a>, Failure> {
    let reveal = |text: &String| secret::revealed(text, secrets).map_err(question);
    let body = match (&arguments.body, &arguments.body_file) {
        (Some(text), _) => Some(reveal(text)?.into_bytes()),
        (None, Some(path)) => {
            let read = regular::read_input(path, regular::MOST_OF_INPUT)
                .with_context(|| format!("--body-file {}", path.display()));
            Some(read.map_err(question)?)
        }
        (None, None) => None,
    };
    let of_script = arguments.script_arguments.iter().map(reveal).collect::<Result<Vec<_>, _>>()?;
    Ok(Requested {
        method: &arguments.method,
        headers,
        body,
        script: arguments.script.as_deref().map(|path| (path, of_script)),
        mix: arguments.mix.as_deref().map(|path| (path, arguments.data.as_deref())),
        check: arguments.check.as_ref().map(reveal).transpose()?,
        compatibility: Compatibility::Native,
        seed: arguments.seed,
        is_final: true,
        secrets: secrets.clone(),
    })
}

/// Returns the header fields of every request: those of the options, and the authorization by the
/// URLs' user information unless one was given.
fn headers(
    arguments: &Load,
    targets: &[Target],
    secrets: &mut Secrets,
) -> anyhow::Result<Vec<(String, String)>> {
    let of_options =
        arguments.header.iter().map(|field| workload::header(&secret::revealed(field, secrets)?));
    let mut headers = of_options.collect::<anyhow::Result<Vec<_>>>()?;
    if let Some(path) = &arguments.header_file {
        headers.extend(secret::fields(path, secrets)?);
    }
    let first = targets.first().and_then(|target| target.authorization.as_ref());
    anyhow::ensure!(
        targets.iter().all(|target| target.authorization.as_ref() == first),
        "the URLs have different user information; make a load for each user"
    );
    let is_given = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    if let Some(value) = first.filter(|_| !is_given) {
        headers.push(("Authorization".to_owned(), value.clone()));
    }
    Ok(headers)
}

pub(super) fn question(error: anyhow::Error) -> Failure {
    Failure { exit: Exit::Question, error }
}

fn plan(arguments: &Load, targets: &[Target]) -> Result<Plan, Failure> {
    let pacing = pacing(arguments)?;
    if arguments.until_missed && 1 < arguments.part.of() {
        return Err(Failure::question(
            "--until-missed needs the whole load, and --part makes only a part of it: leave one of \
             them out"
                .to_owned(),
        ));
    }
    let connections = u64::from(arguments.connections);
    let each = share(arguments, arguments.part.share(connections) as usize);
    if each == 0 {
        return Err(Failure::question(format!(
            "part {} has no connection: each part needs one of the whole load's {connections}\n  \
             use more --connections or fewer parts",
            arguments.part
        )));
    }
    let before = share(arguments, arguments.part.before(connections) as usize) * targets.len();
    provide_files(each.saturating_mul(targets.len()), "--connections")?;
    let cpus = cpus(arguments, &pacing, each).map_err(Failure::question)?;
    let of_each = arguments.script_threads.map_or(cpus.len(), |threads| threads as usize);
    if each < of_each {
        return Err(Failure::question(format!(
            "{of_each} script threads share {each} connections of a target; each needs one\n  \
             use more --connections or fewer --script-threads"
        )));
    }
    let warm_up = warm_up(arguments);
    let length = length(&pacing, warm_up);
    let measure = match (arguments.duration, length, arguments.requests) {
        (Some(duration), _, _) => positive(duration, "--duration")?,
        (None, Some(length), _) => length,
        (None, None, Some(_)) => LONGEST_LOAD,
        (None, None, None) => Nanos::from_secs(10),
    };
    let work = Work {
        asks_at_once: arguments.closed && arguments.think.mean() == Nanos::ZERO,
        one_request_each: arguments.keep_alive == Some(1),
        connections: (each * targets.len()).div_ceil(cpus.len()),
        kernel_timestamps: arguments.kernel_timestamps,
    };
    let enough = enough(arguments, &pacing, targets.len(), measure);
    Ok(Plan {
        targets: targets.len() as u32,
        part: arguments.part,
        connections_before: before as u32,
        pools: pools(targets, each, of_each),
        pacing,
        requests: arguments.requests,
        warm_up,
        measure,
        drain: arguments.drain.unwrap_or(arguments.timeout),
        limits: Limits {
            timeout: positive(arguments.timeout, "--timeout")?,
            overdue: Overdue::Cut,
            backlog: share(arguments, arguments.backlog)
                .div_ceil(of_each * arguments.part.of() as usize)
                .max(1),
            connect_timeout: positive(arguments.connect_timeout, "--connect-timeout")?,
            open_gap: Nanos((arguments.open_rate.gap_ns() * cpus.len() as f64) as u64),
            keep_alive: arguments.keep_alive,
        },
        slo: slo::tightest(&arguments.slo),
        enough,
        interval: positive(arguments.interval, "--interval")?,
        network: Network::choose(arguments.io, work).map_err(Failure::question)?,
        timer: arguments.timer,
        congestion_control: congestion_control(arguments.congestion_control.as_deref())?,
        kernel_timestamps: kernel_timestamps(arguments.kernel_timestamps)?,
        cpus,
        seed: arguments.seed,
    })
}

/// Returns the time before the measurement; a list of paces has a rest at its end.
fn warm_up(arguments: &Load) -> Nanos {
    let rest = arguments.pace.as_ref().map_or(Nanos::ZERO, Shape::rest_after_warm_up);
    if arguments.warm_up == Nanos::ZERO { Nanos::ZERO } else { arguments.warm_up + rest }
}

/// Returns the numbers of requests over a limit that end the load early.
fn enough(arguments: &Load, pacing: &Pacing, targets: usize, measure: Nanos) -> Vec<Enough> {
    let (true, Pacing::Open { load, sharing }) = (arguments.until_missed, pacing) else {
        return Vec::new();
    };
    let loads = if *sharing == Sharing::Each { targets as f64 } else { 1.0 };
    let warm_up = warm_up(arguments);
    let load = load.after_warm_up(warm_up);
    let rate = loads * load.mean_rate(warm_up, warm_up + measure);
    slo::enough(&arguments.slo, rate * measure.as_secs_f64())
}

/// Returns the part of `number` that each target gets.
fn share(arguments: &Load, number: usize) -> usize {
    match arguments.per_target {
        true => number,
        false => number.div_ceil(arguments.urls.len()),
    }
}

/// Raises the limit of open files; `flag` is the option that sets the number of connections.
pub(super) fn provide_files(connections: usize, flag: &str) -> Result<(), Failure> {
    let needed = connections as u64 + 64;
    let files = process::raise_open_files();
    if files < needed {
        return Err(Failure::question(format!(
            "{connections} connections need {needed} open files, and the limit is {files}\n  \
             raise the hard limit (ulimit -Hn), start several processes with a part of the connections \
             and of the rate each\n  and merge their documents (see benchwright merge --help), or use \
             fewer with {flag}"
        )));
    }
    Ok(())
}

/// Returns the length of the offered load, if it has an end of its own.
fn length(pacing: &Pacing, warm_up: Nanos) -> Option<Nanos> {
    match pacing {
        Pacing::Open { load: Offered::Drawn { shape, .. }, .. } => shape.length(),
        Pacing::Open { load: Offered::Trace(trace), .. } => {
            // It includes the start of the last request.
            Some(trace.length().saturating_sub(warm_up) + Nanos(1))
        }
        Pacing::Closed { .. } => None,
    }
}

/// Returns the pools of each target, which share its connections.
pub(super) fn pools(targets: &[Target], connections: usize, of_each: usize) -> Vec<Pool> {
    let pool = |target: &Target, place: usize| Pool {
        endpoints: target.endpoints.clone(),
        connections: connections / of_each + usize::from(place < connections % of_each),
    };
    let of_target = |target| (0..of_each).map(move |place| pool(target, place));
    targets.iter().flat_map(of_target).collect()
}

fn pacing(arguments: &Load) -> Result<Pacing, Failure> {
    let sharing = if arguments.per_target { Sharing::Each } else { Sharing::InTurn };
    let shape = arguments.shape.clone().or(arguments.pace.clone());
    let shape = shape.or(arguments.rate.map(Shape::constant));
    match (shape, &arguments.trace) {
        (Some(shape), _) => {
            let distribution = arguments.arrivals;
            Ok(Pacing::Open { load: Offered::Drawn { shape, distribution }, sharing })
        }
        (None, Some(path)) => {
            let name = path.display().to_string();
            let file = File::open(path).map_err(|e| Failure::question(format!("{name}: {e}")))?;
            let trace = Trace::read(&name, BufReader::new(file), arguments.speed);
            let load = Offered::Trace(trace.map_err(Failure::question)?);
            Ok(Pacing::Open { load, sharing })
        }
        (None, None) if arguments.closed => Ok(Pacing::Closed { think: arguments.think }),
        (None, None) => Err(Failure::question(
            "choose when requests start:\n  \
             --rate 5k/s   by the clock: an open loop, like independent users\n  \
             --closed      after each response: a closed loop, to find the highest rate",
        )),
    }
}

/// Checks the name of a congestion control before anything is sent.
pub(super) fn congestion_control(asked: Option<&str>) -> Result<Option<String>, Failure> {
    if let Some(name) = asked {
        net::congestion::check(name).map_err(|error| {
            Failure::question(format!("--congestion-control {error}\n  or leave it out"))
        })?;
    }
    Ok(asked.map(str::to_owned))
}

/// Checks, before anything is sent, that the kernel supports timestamps.
pub(super) fn kernel_timestamps(asked: bool) -> Result<bool, Failure> {
    if asked {
        net::epoll::kernel_timestamps_granted().map_err(|error| {
            Failure::question(format!(
                "--kernel-timestamps: the kernel does not timestamp received data: {error}\n  \
                 or leave it out"
            ))
        })?;
    }
    Ok(asked)
}

fn positive(length: Nanos, flag: &str) -> Result<Nanos, Failure> {
    match length {
        Nanos::ZERO => Err(Failure::question(format!("{flag} must be longer than 0s"))),
        length => Ok(length),
    }
}

/// Returns the CPU of each shard. An open loop gets as many shards as its rate needs: a shard that
/// is not needed would spin and only take CPU from the target.
fn cpus(arguments: &Load, pacing: &Pacing, connections: usize) -> Result<Vec<Option<u32>>, String> {
    let allowed = arguments.pin.cpus()?;
    let wanted = match (arguments.shards, pacing) {
        (Some(shards), _) => shards as usize,
        (None, Pacing::Open { load, .. }) => shards_for(load, arguments),
        (None, Pacing::Closed { .. }) => allowed.len(),
    };
    let most = if arguments.shards.is_some() { wanted } else { allowed.len() };
    let pools = match arguments.script_threads {
        Some(threads) => threads as usize * arguments.urls.len(),
        None => connections,
    };
    let shards = wanted.clamp(1, most.max(1)).min(pools);
    arguments.pin.place(shards, &allowed)
}

fn shards_for(load: &Offered, arguments: &Load) -> usize {
    let targets = if arguments.per_target { arguments.urls.len() as f64 } else { 1.0 };
    let rate = load.highest_rate() * targets / f64::from(arguments.part.of());
    (rate / REQUESTS_OF_A_SHARD).ceil() as usize
}

/// Explains why nothing was measured, and what to do about it.
fn explain(failure: &NotMeasured, targets: &[Target], stop: &AtomicBool) -> Failure {
    match failure {
        NotMeasured::Unreachable { target, why } => {
            let Target { url, endpoints, .. } = &targets[*target];
            let why = match why {
                Some(Unopened::By(Closed::Refused)) => {
                    "connection refused: is it running, and on this port?"
                }
                Some(Unopened::By(Closed::Unreachable)) => "no route, or no answer in time",
                Some(Unopened::By(Closed::Exhausted)) => {
                    "no local port or open file is free, or --source is not an address of this machine"
                }
                Some(Unopened::By(Closed::Reset | Closed::ByPeer | Closed::WhileWriting)) => {
                    "it closes connections at once"
                }
                Some(Unopened::Unprepared(why)) => why,
                None => "no answer in time (--connect-timeout)",
            };
            let mut addresses: Vec<_> = endpoints.iter().map(|e| e.address.to_string()).collect();
            addresses.dedup();
            let addresses = addresses.join(", ");
            Failure::no_answer(format!("{url} cannot be reached ({addresses}): {why}"))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => {
            debug_assert!(
                stop.load(std::sync::atomic::Ordering::Relaxed),
                "only the stop flag interrupts"
            );
            let error = anyhow::anyhow!("interrupted before anything was measured");
            Failure { exit: Exit::Interrupted, error }
        }
    }
}

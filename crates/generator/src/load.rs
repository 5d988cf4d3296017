//! `benchwright load`: a single load. Its steps: targets → plan → measurement → judgement →
//! document → files → exit code.

mod done;
mod plan;
mod stores;

pub mod probe;

use std::sync::atomic::AtomicBool;

use anyhow::Context as _;
use console::files;
use console::output::{self, Exit, Failure};
use load::Driver;
use load::measurement::{Failure as NotMeasured, Plan};
use load::pacing::{Offered, Pacing};
use load::shard::Unopened;
use load::validity::{self, Besides};
use measure::Quantile;
use net::{Address, Closed, Endpoint};
use results::{Secrets, Slo, regular};
use script::{Compatibility, ScriptSet};

use self::plan::{plan, share};
use crate::document::{self, Context};
use crate::events::{self, EventOptions, Gathered, Noting, Receiving};
use crate::guard::{Guard, When};
use crate::live::{self, Watching};
use crate::options::{Load, Start, header_field};
use crate::outputs::Outputs;
use crate::plan::question;
use crate::target::{self, Finding, Target};
use crate::tls::Securing;
use crate::verdict::exit;
use crate::workload::{Requested, Staffed, Workload};
use crate::ycsb::unusable::{Words, unprepared, unprepared_redis};
use crate::{known, ports, secret, start, text};

/// The words of a load for what helps against a key-value store that refuses it.
const OF_A_STORE: Words = Words {
    token: "--ycsb-property kv.tokenfile=FILE",
    servers: "the URL",
    connections: "--connections",
};

/// Makes the load that the options ask for, or the self-test, and returns the exit code.
pub fn load(arguments: &Load) -> Result<Exit, Failure> {
    if arguments.self_test {
        return crate::self_test::self_test(arguments);
    }
    let mut secrets = secret::of(arguments).map_err(question)?;
    make(arguments, &mut secrets).map_err(|failure| secret::hidden(failure, &secrets))
}

/// Makes the load. Its failures are for `secret::hidden`.
fn make(arguments: &Load, secrets: &mut Secrets) -> Result<Exit, Failure> {
    if let Some(file) = &arguments.ycsb {
        return stores::load(arguments, file, secrets);
    }
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
    let events = EventOptions::of(arguments, targets.len())?;
    let workload = match &events {
        Some(wanted) => Workload::events(wanted, headers),
        None => Workload::new(requested(arguments, headers, secrets)?)?,
    };
    files::check(&[Outputs::files(arguments), workload.files()].concat())?;
    let requests_of_an_arrival = workload.requests_of_an_arrival();
    let mut plan = plan(arguments, &targets, requests_of_an_arrival)?;
    let labels = secret::labels(labels(&workload, &plan.pacing));
    check_labels(&arguments.slo, &labels).map_err(Failure::question)?;
    if let Some(arrivals) = workload.sessions() {
        plan.arrivals = Some(arrivals);
        if arrivals == load::driver::Arrivals::Sessions {
            // How many requests the sessions will have, and so how many may be over, is not known before.
            plan.enough.clear();
        }
    }
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
    let has_one_path = workload.has_one_path();
    let prepared = Prepared {
        arguments,
        secrets,
        targets,
        plan,
        labels,
        requests_of_an_arrival,
        events,
        has_one_path,
        script_set,
    };
    prepared.carry_out(drivers)
}

/// A load that has everything but its drivers.
struct Prepared<'a> {
    arguments: &'a Load,
    secrets: &'a Secrets,
    targets: Vec<Target>,
    plan: Plan,
    labels: Vec<String>,
    requests_of_an_arrival: f64,
    events: Option<EventOptions>,
    /// True if all requests to a target have the path of its URL.
    has_one_path: bool,
    script_set: Option<ScriptSet>,
}

impl Prepared<'_> {
    /// Measures, judges and reports the load, whatever its protocol.
    fn carry_out<D: Driver + Send>(self, drivers: Vec<D>) -> Result<Exit, Failure> {
        let Prepared { arguments, secrets, targets, plan, labels, events, .. } = self;
        let Prepared { requests_of_an_arrival, has_one_path, script_set, .. } = self;
        let mut outputs = Outputs::of(arguments, labels.clone()).map_err(question)?;
        let stop = console::signals::interrupted();

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
            labels: &labels,
            interrupted: &stop,
        };
        let begin = |set: &ScriptSet| Guard::begin(&stop, set.watch(), When::During);
        let guard = script_set.as_ref().map(begin);
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
        let lost = outputs.finish(samplers);
        let sent = Gathered::of(ledgers.into_iter().flatten());
        let noted = noting.map(|noting| noting.finish(&sent, measurement.window)).transpose();
        let (noted, unnoted) = match noted {
            Ok(noted) => (noted, Ok(())),
            Err(failure) => (None, Err(failure)),
        };
        let delivery = receiving.map(|receiving| receiving.finish(sent, measurement.window, &stop));
        let is_cut_short = delivery.as_ref().is_some_and(|delivery| delivery.is_cut_short);

        let maximum_of_a_shard = known::maximum();
        let delivery_p99 =
            delivery.as_ref().and_then(|of| of.events.delivery_bounds(Quantile::P99));
        let besides = Besides { samples_lost: lost, maximum_of_a_shard, delivery_p99 };
        let judgement = validity::judge(&plan, &measurement, besides);
        let context = Context {
            arguments: results::secrets::words(&std::env::args().skip(1).collect::<Vec<_>>()),
            seed: arguments.seed,
            slo: &arguments.slo,
            labels: &labels,
            requests_of_an_arrival,
            has_one_path,
            compatibility: None,
        };
        let mut document = document::of(&context, &plan, &targets, &measurement, &judgement);
        document.warnings.extend(noted.into_iter().flatten());
        if let Some(delivery) = delivery {
            document.findings.extend(events::findings(&delivery.events));
            document.warnings.extend(events::warning(&delivery.events));
            document.warnings.extend(events::cut_short(&delivery));
            document.events = Some(delivery.events);
        }
        secret::hide(&mut document, secrets);
        // A file that cannot be written does not lose the figures.
        if !outputs.is_json() {
            output::shown(&text::of(&document), &text::MARKS)?;
        }
        outputs.write(&document, &measurement).and(unnoted)?;
        if let Some(script_set) = script_set {
            let _guard = Guard::begin(&stop, script_set.watch(), When::After);
            done::run(&script_set, &measurement).map_err(Failure::no_answer)?;
        }
        drop(measured.drivers);
        Ok(match measurement.partial || is_cut_short {
            true => Exit::Interrupted,
            false => exit(&document),
        })
    }
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

/// Checks that the labels of objectives are those of requests.
fn check_labels(slos: &[Slo], labels: &[String]) -> Result<(), String> {
    let mut of_labels = slos.iter().filter_map(Slo::label);
    match of_labels.find(|label| !labels.iter().any(|known| known == label)) {
        None => Ok(()),
        Some(label) if labels.is_empty() => Err(format!(
            "--slo: no request has the label `{label}`: requests get labels by --mix or --trace"
        )),
        Some(label) => Err(format!(
            "--slo: no request has the label `{label}`; write one of {}",
            labels.join(", ")
        )),
    }
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

fn requested<'a>(
    arguments: &'a Load,
    headers: Vec<(String, String)>,
    secrets: &'a Secrets,
) -> Result<Requested<'a>, Failure> {
    let reveal = |text: &String| secret::revealed(text, secrets).map_err(question);
    let body = match (&arguments.body, &arguments.body_file) {
        (Some(text), _) => Some(reveal(text)?.into_bytes()),
        (None, Some(path)) => {
            let read = regular::read_input(path, regular::MOST)
                .with_context(|| format!("--body-file {}", regular::shown(path)));
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
    let of_options = arguments.header.iter().map(|field| {
        // One that is meant can be given by --header-file, which has no references.
        secret::check_names(field)?;
        header_field(&secret::revealed(field, secrets)?)
    });
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

/// Explains why nothing was measured, and what to do about it.
fn explain(failure: &NotMeasured, targets: &[Target], stop: &AtomicBool) -> Failure {
    match failure {
        NotMeasured::Unreachable { target, why } => {
            let Target { url, endpoints, .. } = &targets[*target];
            let is_socket = |endpoint: &Endpoint| matches!(endpoint.address, Address::Unix(_));
            let why = match why {
                Some(Unopened::By(Closed::Refused)) if endpoints.iter().all(is_socket) => {
                    "no server listens on this socket: is it running, and is this its path?"
                }
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
                Some(Unopened::Unprepared(why)) => {
                    let of_redis = unprepared_redis(why, "redis://:PASSWORD@HOST", "--connections");
                    let known = of_redis.or_else(|| unprepared(why, &OF_A_STORE));
                    &known.unwrap_or_else(|| (*why).to_owned())
                }
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

//! The plan of a load, by its options.

use std::io::BufReader;

use console::output::Failure;
use load::measurement::Plan;
use load::network::{Network, Work};
use load::pacing::{Offered, Pacing, Sharing, Trace};
use load::shard::{Limits, Overdue};
use measure::Nanos;
use measure::estimate::Enough;
use measure::pace::Shape;
use net::cores;
use results::{regular, slo};

use crate::options::Load;
use crate::plan::{congestion_control, kernel_timestamps, pools, provide_files};
use crate::target::{Target, check_memory};

#[cfg(test)]
mod tests;

/// The requests that one shard can be expected to start in a second, with a CPU of its own and
/// without a script.
const REQUESTS_OF_A_SHARD: f64 = 20_000.0;
/// The longest time of a load that has only a number of requests as its end.
const LONGEST_LOAD: Nanos = Nanos::from_secs(24 * 3600);

/// `requests` is the mean number of requests that an arrival brings.
pub(super) fn plan(arguments: &Load, targets: &[Target], requests: f64) -> Result<Plan, Failure> {
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
    let cpus = cpus(arguments, &pacing, each, requests).map_err(Failure::question)?;
    check_memory(targets.len(), cpus.len()).map_err(Failure::question)?;
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
        arrivals: None,
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
            leaves_backlog: false,
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
pub(super) fn share(arguments: &Load, number: usize) -> usize {
    match arguments.per_target {
        true => number,
        false => number.div_ceil(arguments.urls.len()),
    }
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
            let name = regular::shown(path);
            let file =
                regular::open_input(path).map_err(|e| Failure::question(format!("{name}: {e}")))?;
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

fn positive(length: Nanos, flag: &str) -> Result<Nanos, Failure> {
    match length {
        Nanos::ZERO => Err(Failure::question(format!("{flag} must be longer than 0s"))),
        length => Ok(length),
    }
}

/// Returns the CPU of each shard. An open loop gets as many shards as its rate needs: a shard that
/// is not needed would spin and only take CPU from the target.
fn cpus(
    arguments: &Load,
    pacing: &Pacing,
    connections: usize,
    requests: f64,
) -> Result<Vec<Option<u32>>, String> {
    let allowed = arguments.pin.of(cores::allowed())?;
    let wanted = match (arguments.shards, pacing) {
        (Some(shards), _) => shards as usize,
        (None, Pacing::Open { load, .. }) => shards_for(load, arguments, requests),
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

/// Returns the number of shards that a load needs, whose arrivals bring so many requests each.
fn shards_for(load: &Offered, arguments: &Load, requests: f64) -> usize {
    let targets = if arguments.per_target { arguments.urls.len() as f64 } else { 1.0 };
    let rate = requests * load.highest_rate() * targets / f64::from(arguments.part.of());
    (rate / REQUESTS_OF_A_SHARD).ceil() as usize
}

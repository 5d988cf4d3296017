//! The accuracy of the generator: its quantiles, compared with those of the reference server's own
//! log, for known delays.
//!
//! The floor is the constant cost of the network and of waking up: the same load on the same server
//! without any delay, measured beside each attempt. A wrong attempt is never repeated until it
//! agrees: every attempt is printed and counted.

use std::path::Path;

use measure::Nanos;

use super::Attempts;
use super::load::{self, Load};
use super::machine::{Machine, Others, SENT_AT_ONCE, Server, Side};

#[cfg(test)]
mod tests;

const DELAYS: [&str; 3] = ["fixed:1ms", "exponential:1ms", "bimodal:1ms,10ms,5%"];
const RATES: [&str; 2] = ["1k/s", "10k/s"];
const ARRIVALS: [&str; 2] = ["constant", "poisson"];
const LEVELS: [&str; 3] = ["p50", "p90", "p99"];
/// The step between combinations. It has no common factor with their number, twelve, so that a few
/// attempts are a mixture.
const STRIDE: usize = 7;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Combination {
    delay: &'static str,
    rate: &'static str,
    distribution: &'static str,
}

impl Combination {
    fn of_attempt(attempt: usize) -> Combination {
        let number = attempt * STRIDE % (DELAYS.len() * RATES.len() * ARRIVALS.len());
        Combination {
            delay: DELAYS[number / 4],
            rate: RATES[number / 2 % 2],
            distribution: ARRIVALS[number % 2],
        }
    }
}

/// The results of both sides of an attempt, and its floor.
struct Attempt {
    load: Load,
    log: Log,
    floor: [Nanos; 3],
}

/// The server's log.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Log {
    requests: u64,
    out_of_order: u64,
    took: [Nanos; 3],
}

/// Runs the attempts; succeeds if enough of them were valid and agree. A few may be spare: a pause of
/// the machine between a response and its reader is not the generator's fault, and a few attempts
/// cannot distinguish the two. Otherwise the error names those that differ.
pub(super) fn run(machine: &Machine, script: &Path, attempts: Attempts) -> Result<bool, String> {
    println!(
        "generator compared with the reference server's log: p50, p90, p99 of the response time"
    );
    println!("bound: 1 % plus twice the floor (the same load without delay)\n");
    let mut verdicts = Vec::new();
    let mut differing = Vec::new();
    let Attempts { most, last_good, enough, spare } = attempts;
    for attempt in 0..most {
        let combination = Combination::of_attempt(attempt);
        let seed = attempt as u64 + 1;
        let others = Others::watch();
        let (floor, _) =
            measure(machine, script, Combination { delay: "0s", ..combination }, seed)?;
        let (load, log) = measure(machine, script, combination, seed)?;
        let load = load.beside(&others);
        let attempt = Attempt { load, log, floor: floor.response };
        let verdict = print_attempt(verdicts.len() + 1, combination, &attempt);
        verdicts.push(verdict);
        if verdict == Verdict::Differs {
            differing.push(summary(combination, &attempt));
        }
        if verdicts.iter().filter(|v| **v == Verdict::Agrees).count() == last_good {
            break;
        }
    }
    let valid: Vec<_> = verdicts.iter().filter(|verdict| **verdict != Verdict::Invalid).collect();
    let wrong = valid.iter().filter(|verdict| **verdict == &Verdict::Differs).count();
    println!(
        "\n{} of {} valid, {wrong} of them differ (at most {spare}); at least {enough} must agree",
        valid.len(),
        verdicts.len()
    );
    match enough <= valid.len() - wrong && wrong <= spare {
        true => Ok(true),
        false => {
            let (valid, all) = (valid.len(), verdicts.len());
            Err(format!("{valid} of {all} valid, {wrong} differ: {}", differing.join("; ")))
        }
    }
}

/// Names what differs in an attempt, in one line.
fn summary(combination: Combination, attempt: &Attempt) -> String {
    let Combination { delay, rate, distribution } = combination;
    let Attempt { load, log, .. } = attempt;
    let mut parts = vec![format!("{delay} {rate} {distribution}")];
    if log.requests != load.intended || load.completed != load.intended || log.out_of_order != 0 {
        let (intended, completed, logged) = (load.intended, load.completed, log.requests);
        let counts = format!("{intended} intended, {completed} completed, {logged} in the log");
        parts.push(format!("{counts}, {} out of order", log.out_of_order));
    }
    for (i, (off, bound)) in differences(attempt).into_iter().enumerate() {
        if bound < off {
            parts.push(format!(
                "{} {}, log {}, bound {bound}",
                LEVELS[i], load.response[i], log.took[i]
            ));
        }
    }
    parts.push(load.noise.to_string());
    parts.join(", ")
}

fn measure(
    machine: &Machine,
    script: &Path,
    combination: Combination,
    seed: u64,
) -> Result<(Load, Log), String> {
    let Combination { delay, rate, distribution } = combination;
    let seed = seed.to_string();
    // The server's log then includes the time in which it could not read.
    let stamped = "--kernel-timestamps";
    let server = Server::start(
        machine,
        &[&["--delay", delay, "--seed", &seed, stamped][..], &SENT_AT_ONCE].concat(),
    )?;
    let mut command = machine.command(Side::Client, &machine.benchwright);
    command.args([
        "load",
        &server.url,
        "--rate",
        rate,
        "--arrivals",
        distribution,
        "--seed",
        &seed,
    ]);
    // One thread numbers all requests, and a slow response never delays the next request.
    command.args(["--shards", "1", "--connections", "256", "--duration", "4s"]).args(SENT_AT_ONCE);
    // The bench has a bound of its own for the quantiles: with an SLO the generator does not refuse
    // a p99 for the width of its interval. The gates stay as strict.
    command.args(["--slo", "p99<=20ms"]);
    command.arg("--script").arg(script);
    let load = Load::run(&mut command)?;
    let log = server.end()?;
    let log = || {
        let (requests, out_of_order) = (log["requests"].as_u64()?, log["out_of_order"].as_u64()?);
        Some(Log { requests, out_of_order, took: load::quantiles(&log)? })
    };
    Ok((load, log().ok_or("the reference server's log lacks a figure")?))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    Agrees,
    Differs,
    /// The generator refused it, or others used the machine: nothing is concluded.
    Invalid,
}

fn judge(attempt: &Attempt) -> Verdict {
    let Attempt { load, log, .. } = attempt;
    let same = log.requests == load.intended
        && load.completed == load.intended
        && log.out_of_order == 0
        && differences(attempt).iter().all(|(off, bound)| off <= bound);
    match (load.is_valid() && !load.is_shared(), same) {
        (false, _) => Verdict::Invalid,
        (true, true) => Verdict::Agrees,
        (true, false) => Verdict::Differs,
    }
}

/// Returns the difference between the two sides at each level, and its bound.
fn differences(attempt: &Attempt) -> [(Nanos, Nanos); 3] {
    let Attempt { load, log, floor } = attempt;
    std::array::from_fn(|i| {
        let off = Nanos(load.response[i].0.abs_diff(log.took[i].0));
        (off, log.took[i] / 100 + floor[i] * 2)
    })
}

fn print_attempt(number: usize, combination: Combination, attempt: &Attempt) -> Verdict {
    let Combination { delay, rate, distribution } = combination;
    let Attempt { load, log, .. } = attempt;
    let verdict = judge(attempt);
    let word = match verdict {
        Verdict::Agrees => "agrees",
        Verdict::Differs => "DIFFERS",
        Verdict::Invalid => "not valid",
    };
    println!("{number:>3}  {delay} {rate} {distribution}: {word}");
    for (i, (off, bound)) in differences(attempt).into_iter().enumerate() {
        let (level, response, took) = (LEVELS[i], load.response[i], log.took[i]);
        println!("       {level} {response:>8}, log {took:>8}, apart {off:>8}, bound {bound:>8}");
    }
    println!(
        "       {} requests, log {}, {} out of order; lateness p99 {}; {}",
        load.intended, log.requests, log.out_of_order, load.lateness_p99, load.noise
    );
    load.reasons.iter().for_each(|reason| println!("       {reason}"));
    if load.is_shared() {
        println!("       other processes used the machine");
    }
    verdict
}

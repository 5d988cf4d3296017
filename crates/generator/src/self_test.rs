//! `benchwright load --self-test`: checks that this generator measures correctly on this machine.
//!
//! It loads a server of its own with known delays, on a CPU of its own, and compares its quantiles
//! with the server's log. A wrong attempt is never repeated: each one is printed and counted.

mod run;
mod verdict;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use load::pacing::{Offered, Pacing, Sharing};
use measure::bounds::OTHERS_UNNOTICED;
use measure::pace::{Distribution, Shape, Think};
use measure::quantity::grouped;
use measure::{Nanos, Quantile, Rate};
use net::{clock, process};
use results::SelfTest;
use results::self_test::{self as document, Attempt, Maximum, Punctuality, Stall};

use self::run::{Bench, Conditions, Ran};
use self::verdict::Floor;
use crate::options::Load;
use crate::{known, outputs};
use console::output::{self, Exit, Failure};

/// The default length of an attempt.
const LENGTH: Nanos = Nanos::from_secs(4);
/// The attempts alternate between these arrivals.
const ARRIVALS: [Distribution; 2] = [Distribution::Poisson, Distribution::Constant];
/// The rate of the attempts and of the stall.
const PER_SECOND: f64 = 1_000.0;
const PUNCTUAL_PER_SECOND: f64 = 10_000.0;
/// Enough connections that a slow response never delays the next request.
const CONNECTIONS: usize = 256;
const FEW_CONNECTIONS: usize = 16;
const MANY_CONNECTIONS: usize = 64;
/// One attempt for each distribution of delays; then the floor is measured again.
const ATTEMPTS_OF_A_FLOOR: u32 = 4;
/// The most measurements of a floor: a refused one is repeated, since it does not count as an
/// attempt.
const MOST_FLOORS: u32 = 3;
/// The number of clock readings that the time of one is averaged over.
const READINGS: u32 = 200_000;

pub(crate) fn self_test(arguments: &Load) -> Result<Exit, Failure> {
    let stop = console::signals::interrupted();
    process::raise_open_files();
    let length = arguments.duration.unwrap_or(LENGTH);
    if length < Nanos::SECOND {
        return Err(Failure::question("--duration: an attempt takes at least 1s"));
    }
    let file = arguments.json.as_deref().filter(|path| *path != Path::new("-"));
    if let Some(path) = file {
        let checked = output::check_place("--json", path);
        checked.map_err(|error| Failure::question(format!("{error:#}")))?;
    }
    let to_stderr = arguments.json.as_deref() == Some(Path::new("-"));
    let bench = Bench::new(arguments, &stop)?;
    let test = Test { bench, length, seed: arguments.seed, to_stderr };
    let found = test.run(arguments.attempts);
    if is_set(&stop) {
        let error = anyhow::anyhow!("interrupted: the attempts so far are not enough for a result");
        return Err(Failure { exit: Exit::Interrupted, error });
    }
    let found = found?;
    match known::remember(&found) {
        Some(Ok(path)) => {
            test.print(&format!(
                "saved the maximum for later loads: {}",
                results::regular::shown(&path)
            ))?;
        }
        Some(Err(error)) => {
            output::error(&format!("! the maximum is not saved for later loads: {error:#}"));
        }
        None => {}
    }
    match file {
        Some(path) => outputs::write(path, output::json(&found))?,
        None if to_stderr => output::result(&output::json(&found))?,
        None => {}
    }
    Ok(if found.passed { Exit::Answered } else { Exit::NoAnswer })
}

fn is_set(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

struct Test<'a> {
    bench: Bench<'a>,
    /// The length of an attempt.
    length: Nanos,
    seed: u64,
    /// True if the JSON document goes to stdout, so that text goes to stderr.
    to_stderr: bool,
}

impl Test<'_> {
    fn run(&self, attempts: u32) -> Result<SelfTest, Failure> {
        self.introduce(attempts)?;
        let mut tried: Vec<Attempt> = Vec::new();
        let mut floor = Floor::default();
        for number in 0..attempts {
            if number % ATTEMPTS_OF_A_FLOOR == 0 {
                floor = self.floor(number)?;
            }
            let attempt = self.attempt(number, &floor)?;
            self.print(&verdict::line(number + 1, &attempt))?;
            tried.push(attempt);
        }
        let stall = self.stall()?;
        let maximum = self.maximum()?;
        let punctuality = self.punctuality()?;
        let passed = verdict::passed(&tried, &stall);
        self.print(&verdict::summary(&tried, passed))?;
        Ok(SelfTest {
            schema: document::SCHEMA.to_owned(),
            version: known::version(),
            machine: known::machine(),
            seed: self.seed,
            passed,
            cpus: self.bench.cpus(),
            attempts: tried,
            stall,
            maximum,
            punctuality,
        })
    }

    fn introduce(&self, attempts: u32) -> Result<(), Failure> {
        let place = match self.bench.cpus() {
            Some(cpus) => {
                format!("generator on CPU {}, server on CPU {}", cpus.generator, cpus.server)
            }
            None => "there is only one CPU, so generator and server disturb each other".to_owned(),
        };
        self.print(&format!(
            "{attempts} attempts of {} at {}/s; {place}",
            self.length,
            grouped(PER_SECOND)
        ))?;
        self.print(
            "quantiles of the response time, compared with the server's log; tolerance: 1 % plus \
             twice the floor",
        )
    }

    /// Measures the response time of the same load if the server answers at once.
    fn floor(&self, number: u32) -> Result<Floor, Failure> {
        let mut floor = Floor::default();
        for _ in 0..MOST_FLOORS {
            let ran = self.bench.run(Conditions {
                delay: "0s",
                pacing: open(PER_SECOND, Distribution::Poisson),
                connections: CONNECTIONS,
                length: self.length,
                seed: self.seed + u64::from(number),
            })?;
            floor = Floor::of(&ran);
            self.note(&format!("floor, without any delay: {floor}"), &ran)?;
            if floor.is_valid {
                break;
            }
        }
        Ok(floor)
    }

    fn attempt(&self, number: u32, floor: &Floor) -> Result<Attempt, Failure> {
        let stall = spelled_stall(self.length / 20, self.length);
        let delay = match number % ATTEMPTS_OF_A_FLOOR {
            0 => "fixed:1ms",
            1 => "bimodal:1ms,10ms,5%",
            2 => "exponential:1ms",
            _ => &stall,
        };
        let distribution = ARRIVALS[(number / ATTEMPTS_OF_A_FLOOR) as usize % ARRIVALS.len()];
        // Twice the number of requests that the stall delays.
        let delayed = (PER_SECOND * self.length.as_secs_f64() / 10.0) as usize;
        let ran = self.bench.run(Conditions {
            delay,
            pacing: open(PER_SECOND, distribution),
            connections: CONNECTIONS.max(delayed),
            length: self.length,
            seed: self.seed + u64::from(number),
        })?;
        Ok(verdict::compare(delay, distribution, &ran, floor))
    }

    /// Measures a server that does not answer for a tenth of the time, by an open and a closed
    /// loop.
    fn stall(&self) -> Result<Stall, Failure> {
        let period = self.length * 5 / 2;
        let stall = period / 10;
        // A little less than a period, so that more than a hundredth of the requests wait for
        // nearly the whole stall.
        let measured = period / 100 * 99;
        let delay = spelled_stall(stall, period);
        let run = |pacing| {
            let connections = FEW_CONNECTIONS;
            let seed = self.seed;
            self.bench.run(Conditions {
                delay: &delay,
                pacing,
                connections,
                length: measured,
                seed,
            })
        };
        let open = run(open(PER_SECOND, Distribution::Constant))?;
        // The think time at which all users together send as often as the open loop.
        let pause = Nanos::from_secs_f64(FEW_CONNECTIONS as f64 / PER_SECOND);
        let closed = run(Pacing::Closed { think: Think::Fixed(pause) })?;
        let found = verdict::stall((stall, measured), &open, &closed);
        self.note(
            &format!(
                "one stall of {stall}, {}/s, {FEW_CONNECTIONS} connections: {}; open loop: response \
                 p99 {}, service p99 {}; closed loop: response p99 {}",
                grouped(PER_SECOND),
                verdict::word(found.valid, found.agrees),
                Nanos(found.open_response_p99_ns),
                Nanos(found.open_service_p99_ns),
                Nanos(found.closed_response_p99_ns),
            ),
            if open.judgement.is_valid() { &closed } else { &open },
        )?;
        Ok(found)
    }

    /// Measures the rate that one shard completes if it sends as fast as it can.
    fn maximum(&self) -> Result<Maximum, Failure> {
        let ran = self.bench.run(Conditions {
            delay: "0s",
            pacing: Pacing::Closed { think: Think::NONE },
            connections: MANY_CONNECTIONS,
            length: self.length / 2,
            seed: self.seed,
        })?;
        let seconds = ran.measurement.window.length().as_secs_f64();
        let waited = ran.measurement.machine.run_queue_wait_share.unwrap_or(0.0);
        let found = Maximum {
            completed_per_s: ran.total.completed_inside as f64 / seconds,
            connections: MANY_CONNECTIONS as u64,
            busy_share: ran.measurement.machine.busy_share,
            // A closed loop slows down if others use its core.
            valid: ran.judgement.is_valid() && waited <= OTHERS_UNNOTICED,
        };
        let rate = grouped(found.completed_per_s);
        let busy = 100.0 * found.busy_share;
        let others = match found.valid {
            true => String::new(),
            false => format!(", its core ran other work {:.0} % of the time", 100.0 * waited),
        };
        self.note(
            &format!(
                "maximum of a shard: {rate}/s in a closed loop with {MANY_CONNECTIONS} \
                 connections, busy {busy:.0} %{others}"
            ),
            &ran,
        )?;
        Ok(found)
    }

    fn punctuality(&self) -> Result<Punctuality, Failure> {
        let ran = self.bench.run(Conditions {
            delay: "0s",
            pacing: open(PUNCTUAL_PER_SECOND, Distribution::Constant),
            connections: MANY_CONNECTIONS,
            length: self.length / 2,
            seed: self.seed,
        })?;
        let at = |quantile| ran.total.lateness.quantile(quantile).unwrap_or_default();
        let (p50, p99) = (at(Quantile::P50), at(Quantile::P99));
        let hiccup = ran.measurement.hiccups.quantile(Quantile::P99).unwrap_or_default();
        let clock_ns = clock_ns();
        let rate = grouped(PUNCTUAL_PER_SECOND);
        self.note(
            &format!(
                "lateness at {rate}/s: p50 {p50}, p99 {p99}; hiccups p99 {hiccup}; reading the \
                 clock takes {clock_ns:.0} ns"
            ),
            &ran,
        )?;
        Ok(Punctuality {
            rate_per_s: PUNCTUAL_PER_SECOND,
            valid: ran.judgement.is_valid(),
            lateness_p50_ns: p50.0,
            lateness_p99_ns: p99.0,
            hiccup_p99_ns: hiccup.0,
            clock_ns,
        })
    }

    /// Prints a line that is not an attempt, with the reasons why its run was refused, if it was.
    fn note(&self, line: &str, ran: &Ran) -> Result<(), Failure> {
        match ran.judgement.is_valid() {
            true => self.print(&format!("     {line}")),
            false => {
                self.print(&format!("     {line}; refused: {}", ran.judgement.reasons().join(" ")))
            }
        }
    }

    fn print(&self, line: &str) -> Result<(), Failure> {
        if self.to_stderr {
            output::error(line);
            return Ok(());
        }
        output::result(&format!("{line}\n"))
    }
}

fn open(per_second: f64, distribution: Distribution) -> Pacing {
    let rate = Rate::per_second(per_second).expect("the rates are constants");
    let load = Offered::Drawn { shape: Shape::constant(rate), distribution };
    Pacing::Open { load, sharing: Sharing::InTurn }
}

/// `stall:200ms/4000ms`.
fn spelled_stall(length: Nanos, period: Nanos) -> String {
    format!("stall:{}ms/{}ms", length.as_millis_f64(), period.as_millis_f64())
}

fn clock_ns() -> f64 {
    let begin = clock::now();
    let mut end = begin;
    for _ in 0..READINGS {
        end = clock::now();
    }
    (end - begin).0 as f64 / f64::from(READINGS)
}

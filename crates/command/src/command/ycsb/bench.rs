//! `benchwright ycsb bench`: the client of the key-value store, with the flags and the log of the original's
//! script.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use clap::{Args, ValueEnum};
use generator::ycsb::{Bench as Load, Figures, NotMeasured, token};
use load::shard::Unopened;
use measure::quantity::{Bytes, whole_count};
use measure::{Nanos, quantity};
use net::{Closed, cores, process};
use serde_json::{Value, json};
use wire::kv::Token;
use ycsb::bench::Mix;
use ycsb::keys::Distribution;

use console::output::{self, Exit, Failure};

use crate::command::interrupts::{self, Pinning};
use crate::command::kv::journal::Journal;
use crate::command::kv::serve::{Address, read_token};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(after_help = "A server and its client, on one machine:\n\n  \
                        benchwright kv serve --ip 127.0.0.1 --id 1 --storage none &\n  \
                        benchwright ycsb bench --servers 127.0.0.1 --keys 1M --seconds 10\n\n\
                        The client works in a closed loop: each connection has --pipeline batches outstanding, and sends the \
                        next one with each reply. So the throughput is a maximum, and the latency is that of batches at this \
                        throughput, from sending to reply: it is no response time of a service under an offered load.\n\n\
                        The log is on stderr, and in logs/client/latest/ycsb.log. Exit codes: 0 done, 1 operations failed, \
                        2 wrong arguments, 3 a server cannot be reached, 130 interrupted.")]
pub(crate) struct Bench {
    /// The servers, separated by commas: the hash space is divided between them evenly, in this order
    #[arg(long, value_name = "IP[:PORT],…", value_delimiter = ',', required = true)]
    servers: Vec<Address>,
    /// The number of keys, of 8 bytes
    #[arg(long, value_name = "N", default_value = "10M", value_parser = count)]
    keys: u64,
    /// The number of operations that are drawn; the stream repeats if time remains
    #[arg(long, value_name = "N", default_value = "100M", value_parser = count)]
    transactions: u64,
    /// The length of the run
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// The number of threads; each has a connection to every server [default: the CPUs that this process
    /// may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// The bytes of a batch, at most
    #[arg(long, value_name = "SIZE", default_value = "32KiB", value_parser = batch)]
    batch: Bytes,
    /// The batches of a connection that are outstanding
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=64))]
    pipeline: u8,
    /// The operations: rmw adds to values; a half reads and half writes, b 95 % and 5 %, c reads, f half
    /// reads and half adds
    #[arg(long, value_name = "MIX", default_value = "rmw")]
    mix: Operations,
    /// The choice of keys
    #[arg(long, value_name = "NAME", default_value = "uniform")]
    distribution: Choice,
    /// Fill, run, or both
    #[arg(long, value_name = "PHASE", default_value = "both")]
    phase: Phase,
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// A file with the token of the servers
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    interrupts: interrupts::Options,
    /// Print one document
    #[arg(long)]
    json: bool,
    /// The folder of the logs
    #[arg(long, value_name = "DIR", default_value = "logs")]
    logs: PathBuf,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Operations {
    Rmw,
    A,
    B,
    C,
    F,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Choice {
    Uniform,
    Zipfian,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Phase {
    Fill,
    Run,
    Both,
}

fn count(text: &str) -> Result<u64, String> {
    // A billion is the original's default.
    let billions = text.strip_suffix('B').and_then(|digits| digits.parse::<u64>().ok());
    let number = billions.and_then(|n| n.checked_mul(1_000_000_000)).or_else(|| whole_count(text));
    let number = number.filter(|number| 0 < *number);
    number.ok_or_else(|| format!("`{text}` is not a valid count; write 1000, 10M or 1B"))
}

fn batch(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text
        .parse()
        .map_err(|_| format!("`{text}` is not a valid size of a batch; write 32KiB"))?;
    match (64..=2 << 20).contains(&size.0) {
        true => Ok(size),
        false => Err(format!("`{text}` is not a valid size of a batch; write 64B to 2MiB")),
    }
}

pub(crate) fn bench(arguments: &Bench) -> Result<Exit, Failure> {
    // Before signals are only noted: a pipe may have nobody who writes to it.
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    let stop = console::signals::interrupted();
    process::raise_open_files();
    // Before anything counts the CPUs or starts a thread.
    let pinning = interrupts::pin(arguments.interrupts, &arguments.addresses())?;
    let mut journal = Journal::create(&arguments.logs, "client", "ycsb.log")?;
    let load = arguments.load(token);
    journal.info("client", &arguments.told(&load));
    if let Some(pinning) = &pinning {
        journal.info("client", &pinning.told());
    }
    journal.info("client", "Generating workload keys and requests from PRNG");
    let refuse = |why: &NotMeasured| explain(why, arguments);
    let (mut fill, mut run) = (None, None);
    if arguments.phase != Phase::Run {
        journal.info("client", "Filling data into the server");
        fill = Some(generator::ycsb::fill(&load, &stop).map_err(|why| refuse(&why))?);
    }
    if arguments.phase != Phase::Fill && !stop.load(Ordering::Relaxed) {
        let workload = load.mix.workload();
        journal.info("client", &format!("Running YCSB-{workload} benchmark"));
        let figures = generator::ycsb::run(&load, &stop).map_err(|why| refuse(&why))?;
        journal.info("client", "Completed Experiment");
        let throughput = figures.per_second() / 1e6;
        journal.info("client", &format!("Average Throughput: {throughput:.3} Mops/sec"));
        journal.info("client", "Waiting for threads to exit");
        let median = figures.median.unwrap_or_default();
        let median = median.0 as f64 / 1e3;
        journal.info("client", &format!("Median Latency: {median:.2} microseconds"));
        run = Some(figures);
    }
    let phases = [("fill", &fill), ("run", &run)];
    match arguments.json {
        true => output::result(&format!("{}\n", document(&phases, pinning.as_ref())))?,
        false => output::result(&text(&phases))?,
    }
    let unwritten = fill.as_ref().map_or(0, |fill| fill.unwritten(arguments.keys));
    if 0 < unwritten && !stop.load(Ordering::Relaxed) {
        output::error(&format!(
            "the fill has ended early, as a connection broke: {} keys were not written\n  look at the servers, and \
             fill again",
            quantity::counted(unwritten)
        ));
    }
    let failed = phases.iter().filter_map(|(_, figures)| figures.as_ref());
    Ok(match () {
        () if stop.load(Ordering::Relaxed) => Exit::Interrupted,
        () if failed.map(|figures| figures.failed).sum::<u64>() + unwritten != 0 => Exit::No,
        () => Exit::Answered,
    })
}

impl Bench {
    fn addresses(&self) -> Vec<IpAddr> {
        self.servers.iter().map(|server| server.0.ip()).collect()
    }

    fn load(&self, token: Option<Token>) -> Load {
        let cpus = cores::allowed().len().clamp(1, 1024) as u16;
        Load {
            servers: self.servers.iter().map(|server| server.0).collect(),
            threads: self.threads.unwrap_or(cpus),
            keys: self.keys,
            transactions: self.transactions,
            seconds: Nanos::from_secs(self.seconds),
            batch: self.batch.0 as usize,
            pipeline: self.pipeline,
            mix: match self.mix {
                Operations::Rmw => Mix::Rmw,
                Operations::A => Mix::A,
                Operations::B => Mix::B,
                Operations::C => Mix::C,
                Operations::F => Mix::F,
            },
            distribution: match self.distribution {
                Choice::Uniform => Distribution::Uniform,
                Choice::Zipfian => Distribution::Zipfian,
            },
            seed: self.seed,
            token,
        }
    }

    /// The first line of the log, in the words of the original.
    fn told(&self, load: &Load) -> String {
        format!(
            "Running client with {} threads. Each thread will run YCSB-{} with {} keys and {} \
             transactions for {} seconds. Requests will be issued in batches of {} B with a pipeline \
             of size {}",
            load.threads,
            load.mix.workload(),
            self.keys,
            self.transactions,
            self.seconds,
            self.batch.0,
            self.pipeline,
        )
    }
}

fn text(phases: &[(&str, &Option<Figures>)]) -> String {
    let mut text = String::new();
    for (name, figures) in phases {
        let Some(figures) = figures else { continue };
        let micros = |time: Option<Nanos>| time.map_or(0.0, |time| time.0 as f64 / 1e3);
        text.push_str(&format!(
            "{name}: {:.3} Mops/s over {:.1} s, {} operations; a batch took {:.1} µs (median), {:.1} µs (p99)\n",
            figures.per_second() / 1e6,
            figures.window.as_secs_f64(),
            quantity::counted(figures.operations),
            micros(figures.median),
            micros(figures.p99),
        ));
        if figures.failed != 0 {
            let failed = quantity::counted(figures.failed);
            text.push_str(&format!("{name}: {failed} operations failed\n"));
        }
    }
    text
}

fn document(phases: &[(&str, &Option<Figures>)], pinning: Option<&Pinning>) -> Value {
    let mut document = json!({"schema": "benchwright.ycsb-bench/1"});
    for (name, figures) in phases {
        let Some(figures) = figures else { continue };
        document[name] = json!({
            "operations": figures.operations,
            "failed": figures.failed,
            "window_ns": figures.window.0,
            "operations_per_s": figures.per_second(),
            "batch_p50_ns": figures.median.map(|time| time.0),
            "batch_p99_ns": figures.p99.map(|time| time.0),
            "interrupted": figures.interrupted,
        });
    }
    if let Some(pinning) = pinning {
        document["pin_irq"] = pinning.document();
    }
    document
}

fn explain(why: &NotMeasured, arguments: &Bench) -> Failure {
    match why {
        NotMeasured::Unreachable { target, why } => {
            let address = arguments.servers[*target].0;
            let why = match why {
                Some(Unopened::By(Closed::Refused)) => "nobody listens there",
                Some(Unopened::Unprepared(why)) => {
                    &token::refusal(why, "--token-file").unwrap_or_else(|| (*why).to_owned())
                }
                _ => "there is no answer",
            };
            Failure::no_answer(format!(
                "the server {address} cannot be used: {why}\n  start it with `benchwright kv serve`, \
                 or correct --servers"
            ))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => Failure {
            exit: Exit::Interrupted,
            error: anyhow::anyhow!("interrupted before anything was measured"),
        },
    }
}

//! `benchwright ycsb bench`: the client of the key-value store, with the flags and the log of the original's
//! script.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use generator::ycsb::client::undividable;
use generator::ycsb::unusable::{Words, unusable};
use generator::ycsb::{Bench as Load, Figures, NotMeasured};
use measure::quantity::{Bytes, whole_count};
use measure::{Nanos, quantity};
use net::{cores, process};
use serde_json::{Value, json};
use wire::kv::Token;
use ycsb::bench::{Keys, Mix};
use ycsb::keys::Distribution;
use ycsb::workload::Part;

use console::output::{self, Exit, Failure};

use crate::command::interrupts::{self, Pinning};
use crate::command::kv::journal::Journal;
use crate::command::kv::serve::{Address, read_token};

use super::ending::named;
use super::lists::{Files, Lists};
use super::run::part;

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(after_help = "A server and its client, on one machine:\n\n  \
                        benchwright kv serve --ip 127.0.0.1 --id 1 --storage none &\n  \
                        benchwright ycsb bench --servers 127.0.0.1 --keys 1M --seconds 10\n\n\
                        The client works in a closed loop: each connection has --pipeline batches outstanding, and sends the \
                        next one with each reply. So the throughput is a maximum, and the latency is that of batches at this \
                        throughput, from sending to reply: it is no response time of a service under an offered load. With \
                        --mix e it is that of single operations.\n\n\
                        A connection that breaks is opened again and goes on with its session: what has no reply is sent again, \
                        and no operation is lost or executed twice. After 10 s without an answer it has failed.\n\n\
                        A file of keys has 8 bytes for each, the lowest first, as `benchwright ycsb convert` writes it.\n\n\
                        The log is on stderr, and in logs/client/latest/ycsb.log. Exit codes: 0 done, 1 operations failed, \
                        2 wrong arguments, 3 a server cannot be reached or does not answer, or nothing was answered in \
                        time, 130 interrupted. No run follows on a fill that is not whole.")]
pub(crate) struct Bench {
    /// The servers, separated by commas: the hash space is divided between them evenly, in this order
    #[arg(long, value_name = "IP[:PORT],…", value_delimiter = ',', required = true)]
    servers: Vec<Address>,
    /// The number of keys, of 8 bytes [default: 10M, or all of --load-file]
    #[arg(long, alias = "nKeys", value_name = "N", value_parser = count)]
    keys: Option<u64>,
    /// The number of operations that are drawn; the stream repeats if time remains [default: 100M, or
    /// all of --transactions-file]
    #[arg(long, alias = "nTxns", value_name = "N", value_parser = count)]
    transactions: Option<u64>,
    /// A file of keys to fill the servers with
    #[arg(long, alias = "loadFile", value_name = "FILE")]
    load_file: Option<PathBuf>,
    /// A file of keys for the operations of the run, in their order
    #[arg(long, alias = "txnsFile", value_name = "FILE")]
    transactions_file: Option<PathBuf>,
    /// Be one of several clients, such as 0/2 and 1/2, which divide the keys of the fill and the operations
    #[arg(long, value_name = "I/N", value_parser = part)]
    client: Option<Part>,
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
    /// The operations: rmw adds to values; a half reads and half writes, b 95 % and 5 %, c reads, d 95 %
    /// reads of the newest keys and 5 % inserts, e 95 % scans and 5 % inserts, f half reads and half adds
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
    D,
    E,
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

/// More than any store has, and far from where sums of counts end.
const MOST_KEYS: u64 = 1 << 48;

fn count(text: &str) -> Result<u64, String> {
    // A billion is the original's default.
    let billions = text.strip_suffix('B').and_then(|digits| digits.parse::<u64>().ok());
    let number = billions.and_then(|n| n.checked_mul(1_000_000_000)).or_else(|| whole_count(text));
    let number = number.filter(|number| (1..=MOST_KEYS).contains(number));
    number.ok_or_else(|| format!("`{text}` is not a valid count; write 1000, 10M or 1B"))
}

fn batch(text: &str) -> Result<Bytes, String> {
    let is_bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let remedy = match text.parse::<Bytes>() {
        Ok(size) if (64..=2 << 20).contains(&size.0) => return Ok(size),
        Err(_) if is_bare => &format!("its unit is missing: write for example {text}B"),
        _ => "write 64B to 2MiB",
    };
    Err(format!("`{text}` is not a valid size of a batch; {remedy}"))
}

pub(crate) fn bench(arguments: &Bench) -> Result<Exit, Failure> {
    // Before signals are only noted: a pipe may have nobody who writes to it.
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    arguments.check_servers()?;
    let files = arguments.files()?;
    let stop = console::signals::interrupted();
    process::raise_open_files();
    // Before anything counts the CPUs or starts a thread.
    let pinning = interrupts::pin(arguments.interrupts, &arguments.addresses())?;
    let mut journal = Journal::create(&arguments.logs, "client", "ycsb.log")?;
    journal.info("client", &arguments.told(&files));
    if let Some(pinning) = &pinning {
        journal.info("client", &pinning.told());
    }
    journal.info("client", &files.told());
    let load = arguments.load(token, files.read()?);
    let mut phases = [(FILL, None), (RUN, None)];
    let measured = measure(arguments.phase, &load, &mut phases, &stop, &mut journal);
    // What was measured before another phase could not be.
    if measured.is_ok() || phases.iter().any(|(_, figures)| figures.is_some()) {
        match arguments.json {
            true => output::result(&format!("{}\n", document(&phases, pinning.as_ref())))?,
            false => output::result(&text(&phases))?,
        }
    }
    let is_interrupted = stop.load(Ordering::Relaxed);
    for (name, figures) in &phases {
        let lacks = figures.as_ref().and_then(|figures| lacks(name, figures));
        if let Some(lacks) = lacks.filter(|_| !is_interrupted) {
            output::error(&format!("error: {lacks}"));
        }
    }
    measured.map_err(|why| explain(&why, arguments))?;
    Ok(if is_interrupted { Exit::Interrupted } else { exit(&phases) })
}

/// The names of the phases.
const FILL: &str = "fill";
const RUN: &str = "run";

/// The phases, with the figures of those that were measured.
type Phases = [(&'static str, Option<Figures>); 2];

/// Measures the phases. On a part of the keys a run would measure something else: it does not follow on a fill that is
/// not whole.
fn measure(
    phase: Phase,
    load: &Load,
    [(_, fill), (_, run)]: &mut Phases,
    stop: &AtomicBool,
    journal: &mut Journal,
) -> Result<(), NotMeasured> {
    if phase != Phase::Run {
        journal.info("client", "Filling data into the server");
        *fill = Some(generator::ycsb::fill(load, stop)?);
    }
    let is_filled = fill.as_ref().is_none_or(Figures::is_whole);
    if phase == Phase::Fill || !is_filled || stop.load(Ordering::Relaxed) {
        return Ok(());
    }
    let workload = load.mix.workload();
    journal.info("client", &format!("Running YCSB-{workload} benchmark"));
    let figures = generator::ycsb::run(load, stop)?;
    journal.info("client", "Completed Experiment");
    if let Some(throughput) = figures.per_second() {
        let throughput = throughput / 1e6;
        journal.info("client", &format!("Average Throughput: {throughput:.3} Mops/sec"));
    }
    journal.info("client", "Waiting for threads to exit");
    if let Some(median) = figures.median {
        let median = median.0 as f64 / 1e3;
        journal.info("client", &format!("Median Latency: {median:.2} microseconds"));
    }
    *run = Some(figures);
    Ok(())
}

/// Returns what a phase lacks, with the remedy: answers of servers, keys of a fill, or any answer within a run.
fn lacks(name: &str, figures: &Figures) -> Option<String> {
    let &Figures { failed, unfinished, unwritten, .. } = figures;
    let cause = match (&figures.silent, &figures.why) {
        (Some(silent), _) => {
            let servers: Vec<_> = silent.servers.iter().map(ToString::to_string).collect();
            let servers = if servers.is_empty() { "a server".to_owned() } else { named(&servers) };
            format!(", as {servers} did not answer everything: {}", silent.why)
        }
        (None, Some(why)) => format!(", as operations failed: {why}"),
        (None, None) => String::new(),
    };
    let look = "look at the servers and their logs";
    let counted = quantity::counted;
    match () {
        () if name == FILL && unwritten != 0 => Some(format!(
            "the fill has ended early{cause}\n  {} keys were not written; {look}, and fill again",
            counted(unwritten)
        )),
        () if name == FILL && !figures.is_whole() => Some(format!(
            "the fill is not whole{cause}\n  {} keys may not be written; {look}, and fill again",
            counted(failed + unfinished)
        )),
        () if name == FILL => None,
        () if figures.silent.is_some() => {
            Some(format!("the run is not whole{cause}\n  {look}, and run again"))
        }
        () if figures.is_unmeasured() => Some(
            "nothing was answered within the time of the run, which has no throughput\n  \
             use more --seconds, a smaller --batch or a smaller --pipeline"
                .to_owned(),
        ),
        () => None,
    }
}

/// Returns the exit code of phases that were not interrupted.
fn exit(phases: &Phases) -> Exit {
    let any = |is: fn(&Figures) -> bool| {
        phases.iter().filter_map(|(_, figures)| figures.as_ref()).any(is)
    };
    match () {
        () if any(|figures| figures.silent.is_some() || figures.is_unmeasured()) => Exit::NoAnswer,
        () if any(|figures| !figures.is_whole()) => Exit::No,
        () => Exit::Answered,
    }
}

impl Bench {
    fn addresses(&self) -> Vec<IpAddr> {
        self.servers.iter().map(|server| server.0.ip()).collect()
    }

    fn check_servers(&self) -> Result<(), Failure> {
        let servers: Vec<SocketAddr> = self.servers.iter().map(|server| server.0).collect();
        match undividable(&servers) {
            Some(why) => Err(Failure::question(format!("--servers {why}"))),
            None => Ok(()),
        }
    }

    /// Looks at the files that the phases need.
    fn files(&self) -> Result<Files, Failure> {
        let runs = self.phase != Phase::Fill;
        let transactions = self.transactions_file.as_deref().filter(|_| runs);
        let is_filled = self.phase != Phase::Run || transactions.is_none();
        let load = self.load_file.as_deref().filter(|_| is_filled);
        let why = match self.mix {
            Operations::E if runs && load.is_some() => {
                "--load-file has no order in which a scan goes on; leave it out with --mix e"
            }
            Operations::E if runs && transactions.is_some() => {
                "--transactions-file has no lengths of scans; leave it out with --mix e"
            }
            Operations::D if runs && load.is_some() && transactions.is_none() => {
                "--load-file has no newer keys to insert; name --transactions-file, too, with --mix d"
            }
            _ if self.phase == Phase::Both && load.is_none() && transactions.is_some() => {
                "--transactions-file: name --load-file, too, or only --phase run"
            }
            _ => return Files::find((load, self.keys), (transactions, self.transactions)),
        };
        Err(Failure::question(why))
    }

    fn threads(&self) -> u16 {
        let cpus = cores::allowed().len().clamp(1, 1024) as u16;
        self.threads.unwrap_or(cpus)
    }

    fn load(&self, token: Option<Token>, lists: Lists) -> Load {
        let Lists { keys, transactions } = lists;
        let drawn = self.transactions.unwrap_or(Files::TRANSACTIONS);
        Load {
            servers: self.servers.iter().map(|server| server.0).collect(),
            threads: self.threads(),
            client: self.client.unwrap_or(Part::WHOLE),
            keys: match keys {
                Some(keys) => Keys::Listed(keys),
                None => Keys::Numbered(self.keys.unwrap_or(Files::KEYS)),
            },
            transactions: transactions.as_ref().map_or(drawn, |listed| listed.len() as u64),
            listed: transactions,
            seconds: Nanos::from_secs(self.seconds),
            batch: self.batch.0 as usize,
            pipeline: self.pipeline,
            mix: self.mix.mix(),
            distribution: match self.distribution {
                Choice::Uniform => Distribution::Uniform,
                Choice::Zipfian => Distribution::Zipfian,
            },
            seed: self.seed,
            token,
        }
    }

    /// The first line of the log, in the words of the original.
    fn told(&self, files: &Files) -> String {
        format!(
            "Running client with {} threads. Each thread will run YCSB-{} with {} keys and {} \
             transactions for {} seconds. Requests will be issued in batches of {} B with a pipeline \
             of size {}",
            self.threads(),
            self.mix.mix().workload(),
            files.keys(),
            files.transactions(),
            self.seconds,
            self.batch.0,
            self.pipeline,
        )
    }
}

impl Operations {
    fn mix(self) -> Mix {
        match self {
            Operations::Rmw => Mix::Rmw,
            Operations::A => Mix::A,
            Operations::B => Mix::B,
            Operations::C => Mix::C,
            Operations::D => Mix::D,
            Operations::E => Mix::E,
            Operations::F => Mix::F,
        }
    }
}

fn text(phases: &Phases) -> String {
    let mut text = String::new();
    for (name, figures) in phases {
        let Some(figures) = figures else { continue };
        let operations = quantity::counted(figures.operations);
        text.push_str(&match figures.per_second() {
            Some(throughput) => format!(
                "{name}: {:.3} Mops/s over {:.1} s, {operations} operations",
                throughput / 1e6,
                figures.window.as_secs_f64(),
            ),
            None => format!("{name}: {operations} operations"),
        });
        if let Some((median, p99)) = figures.median.zip(figures.p99) {
            let [median, p99] = [median, p99].map(|time| time.0 as f64 / 1e3);
            text.push_str(&format!("; a batch took {median:.1} µs (median), {p99:.1} µs (p99)"));
        }
        text.push('\n');
        let mut line = |count, what: &str| {
            if count != 0 {
                text.push_str(&format!("{name}: {} {what}\n", quantity::counted(count)));
            }
        };
        line(figures.failed, "operations failed");
        line(figures.unfinished, "operations had no answer at the end");
        line(figures.sent_again, "batches were sent again after broken connections");
        line(figures.unconnected, "batches had no connection to their server");
        if let Some(why) = &figures.why {
            text.push_str(&format!("{name}: the reason of most failures: {why}\n"));
        }
    }
    text
}

fn document(phases: &Phases, pinning: Option<&Pinning>) -> Value {
    let mut document = json!({"schema": "benchwright.ycsb-bench/2"});
    for (name, figures) in phases {
        let Some(figures) = figures else { continue };
        document[name] = json!({
            "operations": figures.operations,
            "ok": figures.ok,
            "failed": figures.failed,
            "why": figures.why,
            "unfinished": figures.unfinished,
            "batches_sent_again": figures.sent_again,
            "batches_without_connection": figures.unconnected,
            "servers_without_answer": figures.silent.as_ref().map_or(&[][..], |silent| &silent.servers[..]),
            "window_ns": figures.window.0,
            "operations_per_s": figures.per_second(),
            "batch_p50_ns": figures.median.map(|time| time.0),
            "batch_p99_ns": figures.p99.map(|time| time.0),
            "interrupted": figures.interrupted,
        });
        if *name == FILL {
            document[name]["unwritten"] = figures.unwritten.into();
        }
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
            let words =
                Words { token: "--token-file", servers: "--servers", connections: "--threads" };
            let why = unusable(why.as_ref(), &words);
            Failure::no_answer(format!("the server {address} cannot be used: {why}"))
        }
        NotMeasured::Fault(fault) => Failure::no_answer(fault),
        NotMeasured::Machine(problem) => Failure::no_answer(problem),
        NotMeasured::Interrupted => Failure {
            exit: Exit::Interrupted,
            error: anyhow::anyhow!("interrupted before anything was measured"),
        },
    }
}

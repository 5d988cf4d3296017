//! `benchwright kv serve`: the server, with the flags and the log of the original's script.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, ValueEnum};
use generator::ycsb::token;
use kv::storage::{self, Nowhere};
use kv::{Durability, OpenError, Recovered, Store};
use kvserver::bounds::{MOST_SESSIONS, MOST_SHARDS};
use kvserver::server::{self, Server};
use measure::quantity::Bytes;
use measure::{Instant, Nanos, store};
use net::{Epoll, Files, Timer, clock, cores, process};
use wire::kv::Token;

use console::output::{self, Exit, Failure};

use crate::command::interrupts;

use super::folder::Folder;
use super::journal::{self, Journal};
use super::memory::{self, Sum};

#[cfg(test)]
mod tests;

/// The port of a server that is told none.
pub(super) const PORT: u16 = 7720;
/// The seed of the hash of keys, which clients are told.
const SEED: u64 = 0;
/// The time between two looks at the signals.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(50);

#[derive(Args, Debug)]
#[command(after_help = "A server and its client, on one machine:\n\n  \
                        benchwright kv serve --ip 127.0.0.1 --id 1 --storage none &\n  \
                        benchwright kv stats 127.0.0.1\n\n\
                        The first line on stdout is `ready` with the address, the id and the number of shards. The log is on \
                        stderr, and in logs/server/latest/serverN.log for the id N. A shard is a thread with its own \
                        connections; all shards share the store. The protocol is described in \
                        docs/book/the-store-on-the-wire.md.\n\n\
                        SIGTERM and Ctrl-C: it stops accepting, answers what it has read, takes a checkpoint if it is durable, and \
                        ends with exit code 0; a second Ctrl-C ends it at once with 130. A disk that fails ends it with 3.\n\n\
                        Numbers are written 1000, 100k, 128M, where M is 2^20 for buckets; sizes 64KiB, 16GiB.\n\
                        There is no TLS: use a tunnel or a mesh between machines, and --token-file.")]
pub(crate) struct Serve {
    /// The address to listen on; port 0 takes a free one. Loopback, so that no other machine can connect
    #[arg(long, value_name = "IP[:PORT]", default_value = "127.0.0.1")]
    ip: Address,
    /// The id of this server among others: 1 to 65535, or #0 and so on, as the pods of a StatefulSet count
    #[arg(long, value_name = "N|#N", default_value = "1", value_parser = id)]
    id: u16,
    /// The number of shards [default: the CPUs that this process may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=MOST_SHARDS as i64))]
    threads: Option<u16>,
    /// The number of hash buckets, of 64 B each, rounded up to a power of two [default: one for 256 B
    /// of --memory]
    #[arg(long, value_name = "N", value_parser = buckets)]
    buckets: Option<u64>,
    /// The bytes of the log that are kept in memory [default: a power of two, at most 40 % of what this
    /// process may use, 16GiB and half of --log-limit]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// The folder for checkpoints and for what --memory does not hold; `none` keeps everything in
    /// memory, and a full log answers FULL
    #[arg(long, value_name = "DIR|none", default_value = "storage")]
    storage: PathBuf,
    /// State that survives the end of the server: `checkpoint`, that of its newest checkpoint; `none`,
    /// nothing: it begins empty, and removes its files when it ends [default: checkpoint, and none with
    /// --storage none]
    #[arg(long, value_name = "none|checkpoint")]
    durability: Option<Survives>,
    /// The time from the end of one checkpoint to the next one
    #[arg(long, value_name = "TIME", default_value = "30s")]
    checkpoint_every: Nanos,
    /// The part of the memory in which records are updated in place, above 0 and at most 0.95
    #[arg(long, value_name = "FRACTION", default_value_t = 0.9, value_parser = fraction)]
    mutable_fraction: f64,
    /// The size of the set of records that moves first to a server that takes over slices
    #[arg(long, value_name = "SIZE", default_value = "128KiB")]
    sampled: Bytes,
    /// The most bytes of the log on disk, at least a quarter more than --memory. At four fifths it is
    /// compacted; if that does not help, writes answer FULL, and deletions make room [default: no limit]
    #[arg(long, value_name = "SIZE")]
    log_limit: Option<Bytes>,
    /// A file with the token that clients must know
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[command(flatten)]
    interrupts: interrupts::Options,
    /// The folder of the logs
    #[arg(long, value_name = "DIR", default_value = "logs")]
    logs: PathBuf,
}

/// The state that survives the end of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
enum Survives {
    None,
    Checkpoint,
}

/// An address with or without its port.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Address(pub(crate) SocketAddr);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let address = text.parse().or_else(|_| match text {
            "localhost" => Ok(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), PORT)),
            _ => text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, PORT)),
        });
        address.map(Address).map_err(|_| {
            format!("`{text}` is not a valid address; write 10.0.0.30 or 10.0.0.30:{PORT}")
        })
    }
}

/// Reads an id; after a `#` it is counted from 0.
fn id(text: &str) -> Result<u16, String> {
    let number = match text.strip_prefix('#') {
        Some(digits) => digits.parse::<u16>().ok().and_then(|number| number.checked_add(1)),
        None => text.parse().ok().filter(|number| 0 < *number),
    };
    number.ok_or_else(|| format!("{text} is not in 1..=65535, nor in #0..=#65534"))
}

fn buckets(text: &str) -> Result<u64, String> {
    let number = store::read_buckets(text);
    number.ok_or_else(|| format!("`{text}` is not a valid number of buckets; write 4096 or 128M"))
}

fn fraction(text: &str) -> Result<f64, String> {
    let fraction = text.parse().ok().filter(|fraction| 0.0 < *fraction && *fraction <= 0.95);
    fraction.ok_or_else(|| {
        format!("`{text}` is not a valid fraction; write for example 0.9 (at most 0.95)")
    })
}

pub(crate) fn serve(arguments: &Serve) -> Result<Exit, Failure> {
    // Before signals are only noted: a pipe may have nobody who writes to it.
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    let durability = durability(arguments)?;
    let stop = console::signals::interrupted();
    let files = process::raise_open_files();
    let limit = memory::limit();
    // Before anything counts the CPUs or starts a thread.
    let pinning = interrupts::pin(arguments.interrupts, &[arguments.ip.0.ip()])?;
    let sizes = Sizes::choose(arguments, limit)?;
    let connections = server::connections(files, sizes.shards).ok_or_else(|| {
        Failure::question(format!(
            "this process may have {files} open files, which are too few for {} shards and their connections: raise the \
             limit with `ulimit -n`, or give fewer --threads",
            sizes.shards
        ))
    })?;
    let name = format!("server{}.log", arguments.id);
    let mut journal = Journal::create(&arguments.logs, "server", &name)?;
    journal.info("server", &sizes.told(arguments));
    if let Some(few) = few_connections(connections * sizes.shards, files) {
        journal.info("server", &few);
    }
    if let Some(pinning) = &pinning {
        journal.info("server", &pinning.told());
    }
    for warning in warnings(arguments, &sizes, token.is_some()) {
        output::error(&format!("warning: {warning}"));
    }
    let folder = Folder::claim(&arguments.storage, durability)?;
    let store = open(arguments, &sizes, folder.as_ref(), durability)?;
    tell_recovered(&store, &mut journal);
    let options = server::Options {
        address: arguments.ip.0,
        id: arguments.id,
        shards: sizes.shards,
        connections,
        seed: SEED,
        token,
        folder: folder.as_ref().map(|folder| folder.path().to_owned()),
        pinned: pinning.as_ref().map(|pinning| pinning.document().to_string()),
    };
    let unheard = |error: &_| {
        Failure::question(format!(
            "--ip {}: {error}\n  give an address of this machine, with a free port",
            arguments.ip.0
        ))
    };
    let server = Server::start(options, store.clone())
        .map_err(|error| Failure::thread_of_server(&error).unwrap_or_else(|| unheard(&error)))?;
    let (address, shards) = (server.address(), sizes.shards);
    let recovered = store.recovered().map(|recovered| recovered.version.to_string());
    let recovered = recovered.as_deref().unwrap_or("none");
    let id = arguments.id;
    let ready = format!("ready {address} id={id} shards={shards} recovered={recovered}\n");
    output::result(&ready)?;
    wait(&server, &store, arguments.checkpoint_every, &stop, &mut journal);
    let has_failed = server.has_failed();
    let statistics = server.statistics();
    journal.info("server", "Stopping server");
    if !server.end() || has_failed {
        return Err(Failure::no_answer(format!(
            "a shard of the server has ended: this is a fault of benchwright; report it with {}",
            results::regular::shown(journal.path())
        )));
    }
    journal.info("server", &format!("Statistics: {statistics}"));
    let storage = results::regular::shown(&arguments.storage);
    if let Some(failed) = store.failure() {
        let why = format!("checkpoint {} has failed: {}", failed.version, failed.why);
        let rest = match store.durable() {
            0 => format!("nothing is durable in {storage}: there was no checkpoint before"),
            before => format!("what checkpoint {before} has is in {storage}"),
        };
        return Err(Failure::no_answer(format!("{why}\n  {rest}")));
    }
    if store.has_storage_failed() {
        let why = store.storage_failure();
        return Err(Failure::no_answer(format!(
            "a write to {storage} has failed: {why}\n  what it was to store is lost"
        )));
    }
    if store.is_durable() {
        journal.info("server", &format!("Checkpoint {} has everything", store.durable()));
    }
    Ok(Exit::Answered)
}

/// Waits for a signal, for a shard that ends by itself, or for a disk that fails; and begins checkpoints.
fn wait(server: &Server, store: &Store, every: Nanos, stop: &AtomicBool, journal: &mut Journal) {
    let mut schedule = Schedule { every, next: clock::now() + every };
    let mut failed = None;
    while !stop.load(Ordering::Relaxed) && !server.has_failed() && !store.has_storage_failed() {
        clock::sleep_until(clock::now() + BETWEEN_LOOKS);
        if store.is_durable() && schedule.is_due(store.is_checkpointing(), clock::now()) {
            server.checkpoint();
        }
        let failure = store.failure();
        if failure != failed
            && let Some(failed) = &failure
        {
            let why = format!("Checkpoint {} has failed: {}", failed.version, failed.why);
            journal.info("server", &why);
        }
        failed = failure;
    }
}

/// The times at which checkpoints begin: some time after the end of the one before.
struct Schedule {
    every: Nanos,
    next: Instant,
}

impl Schedule {
    /// Returns true if one has to begin now. One that has begun may have ended before the next look.
    fn is_due(&mut self, is_running: bool, now: Instant) -> bool {
        let is_due = !is_running && self.next <= now;
        if is_running || is_due {
            self.next = now + self.every;
        }
        is_due
    }
}

/// Returns what survives the end of the server.
fn durability(arguments: &Serve) -> Result<Durability, Failure> {
    let is_stored = arguments.storage != Path::new("none");
    if arguments.log_limit.is_some() && !is_stored {
        return Err(Failure::question(
            "--log-limit bounds the log on disk, which --storage none does not have: leave it out; --memory bounds a \
             store in memory",
        ));
    }
    match (arguments.durability, is_stored) {
        (Some(Survives::Checkpoint), false) => Err(Failure::question(
            "--durability checkpoint needs a folder: give one with --storage",
        )),
        (Some(Survives::None), _) | (None, false) => Ok(Durability::None),
        (Some(Survives::Checkpoint) | None, true) => Ok(Durability::Checkpoint),
    }
}

/// Tells what was recovered, and what was not.
fn tell_recovered(store: &Store, journal: &mut Journal) {
    if 0 < store.dropped() {
        output::error(&format!(
            "warning: {} of a log without a checkpoint were removed: nothing says which part of it is whole",
            Bytes(store.dropped())
        ));
    }
    let Some(recovered) = store.recovered() else { return };
    for file in &recovered.not_whole {
        output::error(&format!(
            "warning: `{file}` is not whole: what it has beyond checkpoint {} is lost",
            recovered.version
        ));
    }
    journal.info("server", &told(recovered));
}

/// Says what a checkpoint has. Only its log is counted: the index has chains of keys, and not their number.
fn told(recovered: &Recovered) -> String {
    let Recovered { version, records, sessions, .. } = recovered;
    format!(
        "Recovered checkpoint {version}: {records} versions of records in its log, {sessions} sessions"
    )
}

/// The sizes of a server, chosen or given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Sizes {
    shards: usize,
    buckets: u64,
    memory: u64,
}

impl Sizes {
    /// Chooses what was not given. Refuses a sum that is too large for the limit.
    fn choose(arguments: &Serve, limit: Option<u64>) -> Result<Sizes, Failure> {
        let cpus = cores::allowed().len().max(1);
        let shards = arguments.threads.map_or(cpus, usize::from);
        // A log that is all in memory cannot be compacted.
        let of_log = arguments.log_limit.map_or(u64::MAX, |limit| limit.0 / 2);
        let chosen = store::log_by_default(limit).min(of_log);
        let memory = arguments.memory.map_or(chosen, |memory| memory.0);
        let buckets = store::buckets(arguments.buckets, memory);
        let sizes = Sizes { shards, buckets, memory };
        let index = buckets * store::BUCKET_BYTES;
        let sum = Sum { index, log: memory, connections: server::memory(shards) };
        match limit.and_then(|limit| sum.refusal(limit)) {
            Some(refusal) => Err(Failure::question(refusal)),
            None => Ok(sizes),
        }
    }

    /// The first line of the log, in the words of the original.
    fn told(&self, arguments: &Serve) -> String {
        let Sizes { shards, buckets, memory } = *self;
        format!(
            "Running server with {shards} worker threads, {} hash buckets, {} hybrid log stored at \
             {}, with a mutable fraction of {:.2}, and sampled set of {}",
            journal::number(buckets),
            journal::size(memory),
            results::regular::shown(&arguments.storage),
            arguments.mutable_fraction,
            journal::size(arguments.sampled.0),
        )
    }
}

/// As many connections as a client of the most threads opens.
const MANY_CONNECTIONS: usize = 1024;

/// Returns the line of the log about the limit of connections, if a client may meet it.
fn few_connections(most: usize, files: u64) -> Option<String> {
    (most < MANY_CONNECTIONS).then(|| {
        format!(
            "There is room for {most} connections, since this process may have {files} open files: `ulimit -n` raises \
             this limit"
        )
    })
}

fn warnings(arguments: &Serve, sizes: &Sizes, has_token: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(wanted) = arguments.buckets.filter(|wanted| *wanted != sizes.buckets) {
        let chosen = sizes.buckets;
        warnings.push(format!(
            "--buckets {wanted} is not a power of two of at least 4096: {chosen} are used"
        ));
    }
    let ip = arguments.ip.0.ip();
    if !ip.is_loopback() && !has_token {
        warnings.push(format!(
            "whoever reaches {ip} can read and change everything: use --token-file, or a network \
             that only clients reach"
        ));
    }
    warnings
}

/// Reads a token.
pub(crate) fn read_token(path: &Path) -> Result<Token, Failure> {
    token::read("--token-file", path).map_err(Failure::question)
}

/// Opens the store.
fn open(
    arguments: &Serve,
    sizes: &Sizes,
    folder: Option<&Folder>,
    durability: Durability,
) -> Result<Store, Failure> {
    let options = kv::Options {
        id: process::entropy(),
        seed: SEED,
        buckets: sizes.buckets,
        memory: sizes.memory,
        mutable_fraction: arguments.mutable_fraction,
        log_limit: arguments.log_limit.map(|limit| limit.0),
        durability,
        sessions: (MOST_SESSIONS + sizes.shards) as u32,
        ..kv::Options::default()
    };
    let opened = match folder {
        None => Store::open(options, &mut Nowhere),
        Some(folder) => {
            let mut io = Epoll::new(Timer::Sleep).map_err(Failure::no_answer)?;
            let files = io.folder(folder.path()).map_err(Failure::no_answer)?;
            Store::open(options, &mut storage::Folder::new(files).on(&mut io))
        }
    };
    opened.map_err(|error| match error {
        OpenError::Corrupt { .. }
        | OpenError::NoneIsWhole(_)
        | OpenError::NoCheckpoint(_)
        | OpenError::Storage(_) => Failure::no_answer(format!(
            "--storage {}: {error}",
            results::regular::shown(&arguments.storage)
        )),
        // The options have the names of the sizes.
        OpenError::Size { name, value, valid } => {
            let option = name.replace('_', "-");
            Failure::question(format!("--{option} {value} is not valid; choose {valid}"))
        }
        OpenError::Memory { .. } => Failure::question(error.to_string()),
        error => Failure::question(format!(
            "--storage {}: {error}",
            results::regular::shown(&arguments.storage)
        )),
    })
}

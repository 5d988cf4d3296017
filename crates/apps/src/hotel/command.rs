//! The command line of the application: its subcommands, and the arguments that several services
//! have.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Start, all_in_one, frontend};
use crate::kit::arguments::{Common, length};
use crate::kit::memcached::Servers;
use crate::kit::source::Source;
use crate::kit::store::Durability;

/// Hotel reservation: searches, recommendations, logins and reservations over 80 hotels.
///
/// Each service is a process that answers gRPC calls, and /healthz and /metrics over HTTP/1.1
/// on the same port; the frontend answers HTTP/1.1. ADDRESSES are those of all replicas of a
/// service, HOST:PORT,HOST:PORT, which are called in turn; or @FILE, a list that may be
/// replaced at any time. A host name means all of its addresses.
///
/// Start a store first, then the services that name it, then search, then the frontend:
///   benchwright-apps hotel store --listen 127.0.0.1:7000
///   benchwright-apps hotel geo   --listen 127.0.0.1:8083 --store 127.0.0.1:7000
///   …
/// Or use a PostgreSQL database instead of a store, for every service and the frontend:
///   benchwright-apps hotel geo   --listen 127.0.0.1:8083 \
///     --store postgres://hotel@127.0.0.1:5432/hotel
#[derive(Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Command {
    /// All services of the hotel application in one process: for a first look, not for figures
    /// about microservices.
    ///
    /// Try it:
    ///   benchwright-apps hotel all-in-one --listen 127.0.0.1:5000
    ///   curl 'http://127.0.0.1:5000/recommendations?require=rate&lat=38.0&lon=-122.0'
    ///
    /// In addition to the API of the application it serves
    ///   GET  /healthz   200 `ok` while it can serve
    ///   GET  /metrics   counters in Prometheus' text format
    ///   GET  /counts    the number of rows in the store, and a digest of them
    ///   POST /reset     back to the seeded data, byte for byte; returns the counts
    #[command(verbatim_doc_comment)]
    AllInOne(StoreArguments),
    /// HTTP requests in, calls of the services, HTTP responses out; with /healthz, /metrics,
    /// /counts and /reset.
    Frontend(frontend::Arguments),
    #[command(flatten)]
    Service(Start),
}

#[derive(Args)]
pub struct StoreArguments {
    /// Keeps the data in this folder, and continues with the data that is there.
    /// Without it a new folder in the temporary directory is used and removed at the end.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,

    /// Waits for the disk before a reservation is acknowledged, so that it survives a loss of
    /// power. Without it a reservation survives the death of the process (even by kill -9), but
    /// not that of the machine.
    #[arg(long)]
    fsync: bool,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Stateless {
    /// The store: ADDRESSES of its process, or postgres://USER@HOST:PORT/DATABASE, where the first
    /// process creates and fills the tables (schema `hotel`).
    ///
    /// Each process keeps one connection to PostgreSQL, a reservation service three: eleven for a
    /// replica of every service, and one more while it starts or is reset. PostgreSQL allows 100
    /// connections unless its max_connections is raised: enough for two instances of four replicas,
    /// not of six.
    #[arg(long, value_name = "ADDRESSES|URL")]
    pub store: Source,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct Cacheable {
    #[command(flatten)]
    pub stateless: Stateless,

    #[command(flatten)]
    pub cache: Cache,
}

#[derive(Args)]
pub struct Cache {
    /// Looks documents up in these servers before the store, for example
    /// memcached://127.0.0.1:11211,127.0.0.1:11212 or memcached://127.0.0.1:11211/first (keys begin
    /// with `first`, so that instances can share servers). Without it everything is loaded into
    /// memory at the start.
    ///
    /// Rates, profiles and reviews are cached, without expiry. Reservations and users are always
    /// requested from the store: the original's memcached-reserve has no counterpart here.
    #[arg(long = "cache", value_name = "URL")]
    pub servers: Option<Servers>,

    /// The longest time for the cache; after it the store is asked, as after a miss.
    #[arg(long = "cache-timeout", value_name = "DURATION", default_value = "2s",
          value_parser = length)]
    pub timeout: Duration,
}

impl Command {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Command::AllInOne(arguments) => all_in_one::run(arguments),
            Command::Frontend(arguments) => frontend::run(arguments),
            Command::Service(start) => start.run(),
        }
    }
}

impl StoreArguments {
    pub fn durability(&self) -> Durability {
        if self.fsync { Durability::PowerLoss } else { Durability::Kill }
    }
}

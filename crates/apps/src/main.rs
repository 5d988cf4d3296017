//! The command line of the reference applications. It only turns arguments into calls of the
//! library.

#![forbid(unsafe_code)]

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use apps::hotel::source::Source;
use apps::hotel::{self, Data, Durability, Options, Role};
use apps::kit::memcached::Servers;
use apps::kit::process::{Below, Cache, Kept};
use apps::kit::rpc::Addresses;
use clap::{Args, Parser, Subcommand};

/// A cheaper allocator than the system's: messages are many small allocations.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reference applications for Benchwright to measure.
///
/// Every server prints one line `ready <url>` on standard output when it can serve, and ends with 0
/// on SIGTERM or Ctrl-C. Servers listen on loopback only, unless --listen sets another address.
#[derive(Parser)]
#[command(name = "benchwright-apps", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    application: Application,
}

#[derive(Subcommand)]
enum Application {
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
    #[command(subcommand, arg_required_else_help = true, verbatim_doc_comment)]
    Hotel(Hotel),
}

#[derive(Subcommand)]
enum Hotel {
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
    Frontend(Frontend),
    /// The hotels near a place that have a rate; calls geo and rate.
    Search(Search),
    /// The hotels near a place.
    Geo(Stateless),
    /// The prices of hotels.
    Rate(Documents),
    /// The descriptions of hotels.
    Profile(Documents),
    /// The best hotels by distance, rate or price.
    Recommendation(Stateless),
    /// Checks a user's password.
    User(Stateless),
    /// Finds hotels with free rooms, and reserves rooms.
    Reservation(Stateless),
    /// The reviews of hotels.
    Review(Documents),
    /// The restaurants, museums and cinemas near a hotel.
    Attractions(Stateless),
    /// The state of one instance: a durable database with the seeded data.
    Store(StoreArguments),
}

#[derive(Args)]
struct StoreArguments {
    /// Keeps the data in this folder, and continues with the data that is there.
    /// Without it a new folder in the temporary directory is used and removed at the end.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// Waits for the disk before a reservation is acknowledged, so that it survives a loss of
    /// power. Without it a reservation survives the death of the process (even by kill -9), but
    /// not that of the machine.
    #[arg(long)]
    fsync: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Stateless {
    /// The store: ADDRESSES of its process, or postgres://USER@HOST:PORT/DATABASE, where the first
    /// process creates and fills the tables (schema `hotel`).
    ///
    /// Each process keeps one connection to PostgreSQL, a reservation service three: eleven for a
    /// replica of every service, and one more while it starts or is reset. PostgreSQL allows 100
    /// connections unless its max_connections is raised: enough for two instances of four replicas,
    /// not of six.
    #[arg(long, value_name = "ADDRESSES|URL")]
    store: Source,

    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Documents {
    #[command(flatten)]
    stateless: Stateless,

    /// Looks documents up in these servers before the store, for example
    /// memcached://127.0.0.1:11211,127.0.0.1:11212 or memcached://127.0.0.1:11211/first (keys begin
    /// with `first`, so that instances can share servers). Without it everything is loaded into
    /// memory at the start.
    ///
    /// Rates, profiles and reviews are cached, without expiry. Reservations and users are always
    /// requested from the store: the original's memcached-reserve has no counterpart here.
    #[arg(long, value_name = "URL")]
    cache: Option<Servers>,

    /// The longest time for the cache; after it the store is asked, as after a miss.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = length)]
    cache_timeout: Duration,
}

#[derive(Args)]
struct Search {
    #[arg(long, value_name = "ADDRESSES")]
    geo: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    rate: Addresses,

    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Frontend {
    #[arg(long, value_name = "ADDRESSES")]
    search: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    profile: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    recommendation: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    user: Addresses,

    #[arg(long, value_name = "ADDRESSES")]
    reservation: Addresses,

    /// Without it /review is unknown.
    #[arg(long, value_name = "ADDRESSES")]
    review: Option<Addresses>,

    /// Without it /restaurants, /museums and /cinema are unknown.
    #[arg(long, value_name = "ADDRESSES")]
    attractions: Option<Addresses>,

    /// The store, for /counts and /reset: ADDRESSES or postgres://USER@HOST:PORT/DATABASE.
    #[arg(long, value_name = "ADDRESSES|URL")]
    store: Source,

    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
struct Common {
    /// The address to listen on; port 0 takes a free port, which the `ready` line shows.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = address)]
    listen: SocketAddr,

    /// Further connections are closed at once, and counted, while this many are open.
    #[arg(long, value_name = "N", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,

    /// Further calls are refused with RESOURCE_EXHAUSTED, and counted, while this many are in
    /// progress.
    #[arg(long, value_name = "N", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_calls: u32,

    /// The longest time for a call of another service.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = length)]
    deadline: Duration,

    /// For tests: every request blocks the service's only thread for this time.
    #[arg(long, value_name = "DURATION", value_parser = length)]
    delay: Option<Duration>,

    /// Rewrites this file twice a second with the number of requests in progress, as one line of
    /// JSON.
    #[arg(long, value_name = "FILE")]
    statistics: Option<PathBuf>,
}

impl From<Common> for Options {
    fn from(common: Common) -> Self {
        Options {
            listen: common.listen,
            max_connections: common.max_connections as usize,
            max_calls: common.max_calls as usize,
            deadline: common.deadline,
            delay: common.delay,
            statistics: common.statistics,
        }
    }
}

impl StoreArguments {
    fn of(self, role: fn(Data) -> Role) -> (Options, Role) {
        let durability = if self.fsync { Durability::PowerLoss } else { Durability::Kill };
        (self.common.into(), role(Data { folder: self.data, durability }))
    }
}

fn main() -> ExitCode {
    let Application::Hotel(hotel) = Cli::parse().application;
    let (options, role) = read(hotel);
    match hotel::run(options, role) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed; then the error cannot be reported.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn read(hotel: Hotel) -> (Options, Role) {
    let of = |Stateless { store, common }, role: fn(Source) -> Role| (common.into(), role(store));
    let documents = |arguments: Documents, role: fn(Kept) -> Role| {
        let Documents { stateless: Stateless { store, common }, cache, cache_timeout } = arguments;
        let cache = cache.map(|servers| Cache { servers, timeout: cache_timeout });
        (common.into(), role(Kept { store, cache }))
    };
    match hotel {
        Hotel::AllInOne(arguments) => arguments.of(Role::AllInOne),
        Hotel::Store(arguments) => arguments.of(Role::Store),
        Hotel::Frontend(Frontend {
            search,
            profile,
            recommendation,
            user,
            reservation,
            review,
            attractions,
            store,
            common,
        }) => {
            let below = Below {
                search,
                profile,
                recommendation,
                user,
                reservation,
                review,
                attractions,
                store,
            };
            (common.into(), Role::Frontend(below))
        }
        Hotel::Search(Search { geo, rate, common }) => (common.into(), Role::Search { geo, rate }),
        Hotel::Geo(arguments) => of(arguments, |store| Role::Geo { store }),
        Hotel::Rate(arguments) => documents(arguments, Role::Rate),
        Hotel::Profile(arguments) => documents(arguments, Role::Profile),
        Hotel::Recommendation(arguments) => of(arguments, |store| Role::Recommendation { store }),
        Hotel::User(arguments) => of(arguments, |store| Role::User { store }),
        Hotel::Reservation(arguments) => of(arguments, |store| Role::Reservation { store }),
        Hotel::Review(arguments) => documents(arguments, Role::Review),
        Hotel::Attractions(arguments) => of(arguments, |store| Role::Attractions { store }),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let remedy = "write ADDRESS:PORT, for example 127.0.0.1:5000 (port 0: a free one)";
    let mut found = text.to_socket_addrs().map_err(|error| format!("{error}; {remedy}"))?;
    found.next().ok_or_else(|| format!("no such address; {remedy}"))
}

fn length(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("`{text}` is not a valid length of time; write for example 500us, 5ms or 10s");
    let unit = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(unit);
    let amount: u32 = digits.parse().map_err(|_| wrong())?;
    match unit {
        "us" => Ok(Duration::from_micros(amount.into())),
        "ms" => Ok(Duration::from_millis(amount.into())),
        "s" => Ok(Duration::from_secs(amount.into())),
        _ => Err(wrong()),
    }
}

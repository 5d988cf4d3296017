//! The command line of the application: its subcommands, and the arguments that several services
//! have.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Start, all_in_one, front, init};
use crate::kit::arguments::{Common, length};
use crate::kit::memcached::Servers;
use crate::kit::redis::Server;
use crate::kit::rpc::Addresses;
use crate::kit::source::Source;
use crate::kit::store::Durability;

/// Social network: users who follow each other, posts with mentions and links, and timelines.
///
/// Its HTTP interface is DeathStarBench's: workloads and initialisers for it run unmodified.
///
/// Each service is a process that answers gRPC calls, and /healthz and /metrics over HTTP/1.1
/// on the same port; the front answers HTTP/1.1. ADDRESSES are those of all replicas of a
/// service, HOST:PORT,HOST:PORT, which are called in turn; or @FILE, a list that may be
/// replaced at any time. A host name means all of its addresses.
///
/// Start a store first, then each service after those that it names, then the front:
///   benchwright-apps social store         --listen 127.0.0.1:7000
///   benchwright-apps social post-storage  --listen 127.0.0.1:7001 --store 127.0.0.1:7000
///   benchwright-apps social user          --listen 127.0.0.1:7002 --store 127.0.0.1:7000
///   benchwright-apps social social-graph  --listen 127.0.0.1:7003 --store 127.0.0.1:7000 \
///     --user 127.0.0.1:7002
///   benchwright-apps social home-timeline --listen 127.0.0.1:7004 --store 127.0.0.1:7000 \
///     --post-storage 127.0.0.1:7001 --social-graph 127.0.0.1:7003
///   …
///
/// Documents (users, follows, URLs and posts) can be in PostgreSQL: give --store the URL of a database
/// everywhere except to home-timeline and user-timeline, which keep theirs in the store's process or in
/// Redis; and the front --timelines with the store's process, or --redis:
///   benchwright-apps social post-storage  --listen 127.0.0.1:7001 \
///     --store postgres://social@127.0.0.1:5432/social
///
/// Timelines can be in Redis: give home-timeline, user-timeline and the front --redis HOST:PORT, and
/// perhaps --redis-replicas HOST:PORT,HOST:PORT, which answer the reads.
#[derive(Subcommand)]
#[command(verbatim_doc_comment)]
pub enum Command {
    /// All services of the social network in one process: for a first look, not for figures about
    /// microservices.
    ///
    /// Try it:
    ///   benchwright-apps social all-in-one --listen 127.0.0.1:8080
    ///   u=http://127.0.0.1:8080/wrk2-api
    ///   curl -d 'first_name=A&last_name=N&username=ann&password=secret&user_id=1' $u/user/register
    ///   curl -d 'first_name=B&last_name=O&username=bob&password=secret&user_id=2' $u/user/register
    ///   curl -d 'user_name=bob&followee_name=ann' $u/user/follow
    ///   curl -d 'username=ann&user_id=1&text=hello @bob&post_type=0' $u/post/compose
    ///   curl "$u/home-timeline/read?user_id=2&start=0&stop=10"
    ///
    /// In addition to the API of the application it serves
    ///   GET  /healthz    200 `ok` while it can serve
    ///   GET  /metrics    counters in Prometheus' text format
    ///   GET  /counts     the number of users, follows, posts, URLs and timeline entries
    ///   POST /snapshot   notes the present state, instead of what was noted before
    ///   POST /reset      back to the noted state, or to the empty one; returns the counts
    #[command(verbatim_doc_comment)]
    AllInOne(all_in_one::Arguments),
    /// HTTP requests in, calls of the services, HTTP responses out; with /healthz, /metrics,
    /// /counts, /snapshot and /reset.
    Front(front::Arguments),
    Init(init::Command),
    #[command(flatten)]
    Service(Start),
}

/// The arguments of a service that keeps documents.
#[derive(Args)]
pub struct Stored {
    #[command(flatten)]
    pub documents: DocumentsArguments,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct DocumentsArguments {
    /// The store of documents: ADDRESSES of its process, or postgres://USER@HOST:PORT/DATABASE,
    /// where the first process creates the tables (schema `social`).
    ///
    /// A process keeps one connection to PostgreSQL for reads, and three for writes if it writes (user,
    /// social-graph, url-shorten and post-storage): 18 for a replica of every service, and one more
    /// while it starts, or while the front counts, notes or resets. PostgreSQL allows 100 unless its
    /// max_connections is raised.
    #[arg(long, value_name = "ADDRESSES|URL")]
    pub store: Source,

    /// The largest size of all documents in PostgreSQL with their indexes, in MiB, looked at once a
    /// second; at this size nothing new is written [default: 16384]
    #[arg(long, value_name = "N")]
    pub max_megabytes: Option<u32>,
}

/// The cache of posts.
#[derive(Args, Clone)]
pub struct PostCache {
    /// Caches posts in these memcached servers, without expiry:
    /// memcached://127.0.0.1:11211,127.0.0.1:11212 or memcached://127.0.0.1:11211/first (keys begin
    /// with `first:`). Without it each read asks the store.
    #[arg(long = "cache", value_name = "URL")]
    pub servers: Option<Servers>,

    /// The longest time for the cache; after it the store is asked, as after a miss.
    #[arg(long = "cache-timeout", value_name = "DURATION", default_value = "2s",
          value_parser = length)]
    pub timeout: Duration,
}

/// The arguments of a service that keeps timelines: in the store, or in Redis.
#[derive(Args)]
pub struct StoredTimelines {
    /// The store's process. It keeps the timelines, unless a Redis does.
    #[arg(long, value_name = "ADDRESSES", required_unless_present = "redis")]
    pub store: Option<Addresses>,

    #[command(flatten)]
    pub redis: RedisArguments,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args, Clone)]
pub struct RedisArguments {
    /// Timelines are in this Redis, which answers all writes, instead of the store.
    #[arg(long, value_name = "HOST:PORT", env = "BENCHWRIGHT_SOCIAL_REDIS")]
    pub redis: Option<Server>,

    /// Reads go to these replicas of it, in turn. They follow it later, so a read may lack what was
    /// just written. Configure them with replica-serve-stale-data no.
    #[arg(
        long,
        value_name = "HOST:PORT,HOST:PORT",
        requires = "redis",
        value_delimiter = ',',
        env = "BENCHWRIGHT_SOCIAL_REDIS_REPLICAS"
    )]
    pub redis_replicas: Vec<Server>,

    /// The longest time for an answer of Redis; a read is then repeated at another replica.
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = length)]
    pub redis_timeout: Duration,
}

#[derive(Args)]
pub struct StoreProcess {
    #[command(flatten)]
    pub arguments: StoreArguments,

    #[command(flatten)]
    pub common: Common,
}

#[derive(Args)]
pub struct StoreArguments {
    /// Keeps the data in this folder, and continues with the data that is there.
    /// Without it a new folder in the temporary directory is used and removed at the end.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,

    /// Waits for the disk before a write is acknowledged, so that it survives a loss of power.
    /// Without it a write survives the death of the process (even by kill -9), but not that of the
    /// machine.
    #[arg(long)]
    fsync: bool,

    /// The most posts of one timeline: its newest. The original drops none; its workloads read the
    /// newest 110.
    #[arg(long, value_name = "N", default_value_t = 10_000,
          value_parser = clap::value_parser!(u32).range(1..))]
    pub max_timeline: u32,

    /// The most posts of all timelines together, in memory; further posts are refused. One takes
    /// 16 to 32 bytes.
    #[arg(long, value_name = "N", default_value_t = 64_000_000)]
    pub max_entries: u32,

    /// The largest file of the data, in MiB; at this size nothing new is written.
    #[arg(long, value_name = "N", default_value_t = 16_384)]
    pub max_megabytes: u32,
}

impl StoreArguments {
    pub fn durability(&self) -> Durability {
        if self.fsync { Durability::PowerLoss } else { Durability::Kill }
    }
}

impl Command {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Command::AllInOne(arguments) => all_in_one::run(arguments),
            Command::Front(arguments) => front::run(arguments),
            Command::Init(arguments) => arguments.run(),
            Command::Service(start) => start.run(),
        }
    }
}

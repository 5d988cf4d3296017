//! The command line of the application.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Start, site};
use crate::kit::arguments::{Common, address, length};
use crate::kit::postgres::Database;
use crate::kit::rpc::Addresses;

/// Users service: registration and logins, whose work is hashing passwords with bcrypt.
///
/// Try it:
///   benchwright-apps users --listen 127.0.0.1:8080
///   curl -d '{"username": "ann", "password": "12341234"}' http://127.0.0.1:8080/auth/register
///   curl -d '{"username": "ann", "password": "12341234"}' http://127.0.0.1:8080/auth/login
///
/// It serves
///   POST /auth/register          a new user: username, password, and if wanted email,
///                                description and profilePicture
///   POST /auth/login             checks a password; returns an access and a refresh token
///   POST /oauth/access_token     a new access token for a refresh token
///   GET  /whoami, /users/NAME    a user, for a bearer of a token
///   PUT  /profile/description, /profile/photo
///   GET  /health/readiness, /health/liveness    redirects to the port of --health-listen
///   GET  /metrics                counters in Prometheus' text format
///
/// Replicas share their users through a store process or a PostgreSQL database; they need the same
/// secret:
///   export BENCHWRIGHT_USERS_SECRET="$(openssl rand -hex 32)"
///   benchwright-apps users store --listen 127.0.0.1:7000
///   benchwright-apps users --listen 127.0.0.1:8081 --store 127.0.0.1:7000
///   benchwright-apps users --listen 127.0.0.1:8082 --store 127.0.0.1:7000
#[derive(Args)]
#[command(verbatim_doc_comment, args_conflicts_with_subcommands = true)]
pub struct Command {
    #[command(subcommand)]
    part: Option<Start>,

    #[command(flatten)]
    service: Arguments,
}

#[derive(Args, Clone)]
pub struct Arguments {
    #[command(flatten)]
    pub kept: Kept,

    /// Waits for the disk before a change is acknowledged, so that it survives a loss of power.
    /// Only for users in this process.
    #[arg(long, conflicts_with_all = ["store", "postgres"])]
    pub fsync: bool,

    /// The cost of bcrypt for new passwords: each step doubles the time. 10 takes about 60 ms, 4
    /// about 1 ms. A login costs what its password was registered with.
    #[arg(long, value_name = "N", default_value_t = 10,
          value_parser = clap::value_parser!(u32).range(4..=31))]
    pub cost: u32,

    /// The threads that hash passwords [default: the CPUs that the process may use, by its affinity
    /// and the quota of its control group]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub hashing_threads: Option<u32>,

    /// The behaviour when more requests hash than --queue allows.
    #[arg(long, value_enum, default_value_t = Overload::Refuse)]
    pub overload: Overload,

    /// With --overload refuse: the most requests that wait for a hashing thread.
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub queue: u16,

    /// The lifetime of an access token.
    #[arg(long, value_name = "DURATION", default_value = "3600s", value_parser = length)]
    pub token_lifetime: Duration,

    /// The secret that signs tokens, at least 32 bytes. Replicas need the same one. Without it a
    /// process draws its own, and its tokens end with it.
    #[arg(long, value_name = "TEXT", env = "BENCHWRIGHT_USERS_SECRET", hide_env_values = true)]
    pub secret: Option<String>,

    /// The address for health probes; port 0 takes a free one, to which the service's own port
    /// redirects.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = address)]
    pub health_listen: SocketAddr,

    /// Answers health probes on the service's own port and by the hashing threads, as the original
    /// does: a probe waits behind the logins before it, so overload looks like ill health.
    #[arg(long, conflicts_with = "health_listen")]
    pub health_on_service_port: bool,

    #[command(flatten)]
    pub common: Common,
}

/// The place of the users.
#[derive(Args, Clone)]
#[group(multiple = false)]
pub struct Kept {
    /// Keeps the users in this folder, in this process, and continues with those that are there.
    /// Without it, --store or --postgres, a new folder in the temporary directory is used and
    /// removed at the end.
    #[arg(long, value_name = "FOLDER")]
    pub data: Option<PathBuf>,

    /// The store of all replicas: ADDRESSES of its process, HOST:PORT or @FILE.
    #[arg(long, value_name = "ADDRESSES")]
    pub store: Option<Addresses>,

    /// The store of all replicas in PostgreSQL: postgres://USER@HOST:PORT/DATABASE, where the first
    /// process creates the table (schema `users`). Each process keeps four connections.
    #[arg(long, value_name = "URL")]
    pub postgres: Option<Database>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Overload {
    /// Answer 503 with Retry-After at once.
    Refuse,
    /// Wait however long it takes, as the original does. The queue is bounded by
    /// --max-connections: each has one request in progress.
    Queue,
}

impl Command {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        match self.part {
            Some(part) => part.run(),
            None => site::run(self.service),
        }
    }
}

impl Arguments {
    pub fn threads(&self) -> usize {
        // Its errors mean that nothing limits us that it can see.
        let available = || thread::available_parallelism().map_or(1, usize::from);
        self.hashing_threads.map_or_else(available, |threads| threads as usize)
    }

    /// Returns the most requests that may hash or wait for it.
    pub fn room(&self) -> usize {
        match self.overload {
            Overload::Refuse => self.threads() + usize::from(self.queue),
            Overload::Queue => self.common.max_connections as usize,
        }
    }
}

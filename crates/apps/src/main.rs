//! The command line of the reference applications. It only turns words into calls of the library.

#![forbid(unsafe_code)]

use std::io::Write;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;

use apps::hotel::{self, Durability, Options};
use clap::{Parser, Subcommand};

/// Reference applications for Benchwright to measure.
///
/// Every server prints one line `ready <url>` on standard output when it can serve, and ends with
/// 0 on SIGTERM or Ctrl-C. Nothing but loopback is listened on unless --listen says otherwise.
#[derive(Parser)]
#[command(name = "benchwright-apps", version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    application: Application,
}

#[derive(Subcommand)]
enum Application {
    /// Hotel reservation: searches, recommendations, logins and reservations over 80 hotels.
    #[command(subcommand, arg_required_else_help = true)]
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
    /// Beside the API of the application it serves
    ///   GET  /healthz   200 `ok` while it can serve
    ///   GET  /metrics   counters in Prometheus' text format
    ///   GET  /counts    what the store holds, and a digest of it
    ///   POST /reset     back to the seeded data, byte for byte; answers the counts
    #[command(verbatim_doc_comment)]
    AllInOne(AllInOne),
}

#[derive(clap::Args)]
struct AllInOne {
    /// Where to listen; port 0 takes a free one, which the `ready` line names.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:0", value_parser = address)]
    listen: SocketAddr,

    /// Keeps the data in this folder, and goes on from what is there.
    /// Without it a fresh folder in the temporary directory is used and removed at the end.
    #[arg(long, value_name = "FOLDER")]
    data: Option<PathBuf>,

    /// Waits for the disk before a reservation is acknowledged, so that it survives a loss of
    /// power. Without it a reservation survives the death of the process (even by kill -9), but
    /// not that of the machine.
    #[arg(long)]
    fsync: bool,

    /// Connections beyond this many are closed at once, and counted.
    #[arg(long, value_name = "N", default_value_t = 16_384,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
}

impl From<AllInOne> for Options {
    fn from(arguments: AllInOne) -> Self {
        Options {
            listen: arguments.listen,
            data: arguments.data,
            durability: if arguments.fsync { Durability::PowerLoss } else { Durability::Kill },
            max_connections: arguments.max_connections as usize,
        }
    }
}

fn main() -> ExitCode {
    let Application::Hotel(Hotel::AllInOne(arguments)) = Cli::parse().application;
    match hotel::all_in_one(arguments.into()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed; there is nowhere left to say so.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let remedy = "write ADDRESS:PORT, for example 127.0.0.1:5000 (port 0: a free one)";
    let mut found = text.to_socket_addrs().map_err(|error| format!("{error}; {remedy}"))?;
    found.next().ok_or_else(|| format!("no such address; {remedy}"))
}

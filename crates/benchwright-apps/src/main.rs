//! The command line of the reference applications. It only calls the library.

#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use apps::Application;
use apps::kit::exit::Exit;
use clap::Parser;

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

fn main() -> ExitCode {
    match Cli::parse().application.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error may be closed; then the error cannot be reported.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::from(Exit::code_of(&error))
        }
    }
}

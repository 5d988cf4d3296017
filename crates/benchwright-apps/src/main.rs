//! The command line of the reference applications. It only calls the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use apps::Application;
use apps::kit::exit::{Code, Exit};
use apps::kit::terminal;
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
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        // It quotes arguments, which others may have named.
        Err(error) if error.use_stderr() => {
            terminal::note(error.render().to_string().trim_end());
            return ExitCode::from(Code::Question as u8);
        }
        // Help and version. A closed pipe is not an error.
        Err(error) => {
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    match cli.application.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::note(&format!("error: {error:#}"));
            ExitCode::from(Exit::code_of(&error))
        }
    }
}

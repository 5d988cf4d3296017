//! `benchwright app`: executes the other binary, which shares no code with this one.

use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use clap::Args;

use console::output::{Exit, Failure};

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct App {
    /// The application and its arguments: `hotel all-in-one --listen 127.0.0.1:0`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "NAME …")]
    pub(crate) arguments: Vec<String>,
}

pub(crate) fn app(arguments: &App) -> Result<Exit, Failure> {
    let failed = |error: anyhow::Error| Failure { exit: Exit::Question, error };
    let own = std::env::current_exe().context("finding the own executable").map_err(failed)?;
    let apps = own.with_file_name("benchwright-apps");
    let error = Command::new(&apps).args(&arguments.arguments).exec();
    Err(failed(anyhow::anyhow!(
        "{}: {error}; build it with `cargo build --release`, into the folder of benchwright",
        apps.display()
    )))
}

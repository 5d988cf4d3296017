//! The command line of the application.

use clap::Subcommand;

use super::init;

/// Social network.
#[derive(Subcommand)]
pub enum Command {
    Init(init::Command),
}

impl Command {
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Command::Init(command) => command.run(),
        }
    }
}

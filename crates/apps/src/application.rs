//! The list of the applications, as commands.

use clap::Subcommand;

use crate::{balancer, channel, hotel, neighbour, social, users};

// The help of each is the doc comment of its command; one here would replace that of the program.
#[derive(Subcommand)]
pub enum Application {
    #[command(subcommand)]
    Hotel(hotel::command::Command),
    #[command(subcommand)]
    Social(social::command::Command),
    Users(users::command::Command),
    Balancer(balancer::command::Command),
    Channel(Box<channel::command::Command>),
    Neighbour(neighbour::command::Command),
}

impl Application {
    /// Runs until a signal ends it.
    pub fn run(self) -> anyhow::Result<()> {
        match self {
            Application::Hotel(command) => command.run(),
            Application::Social(command) => command.run(),
            Application::Users(command) => command.run(),
            Application::Balancer(command) => command.run(),
            Application::Channel(command) => command.run(),
            Application::Neighbour(command) => command.run(),
        }
    }
}

//! The reference applications: the systems that Benchwright measures in its own experiments.
//!
//! They share no code with the instrument, so that a fault in one cannot hide a fault in the other.
//! Nothing here generates load or judges a result.

#![forbid(unsafe_code)]

use clap::Subcommand;

pub mod kit;

pub mod balancer;
pub mod channel;
pub mod hotel;
pub mod neighbour;
pub mod social;
pub mod users;

// The help of each is the doc comment of its command; one here would replace that of the program.
#[derive(Subcommand)]
pub enum Application {
    #[command(subcommand)]
    Hotel(hotel::command::Command),
    #[command(subcommand)]
    Social(social::command::Command),
    Users(users::command::Command),
    Balancer(balancer::command::Command),
    Channel(channel::command::Command),
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

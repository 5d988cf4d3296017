//! `benchwright ycsb`: loads of key-value stores, with the words of YCSB.

mod bench;
mod convert;
mod ending;
mod given;
mod lists;
pub(crate) mod original;
mod output;
mod run;
mod servers;

use clap::{Args, Subcommand};

use console::output::{Exit, Failure};
use ycsb::settings::Phase;

use self::bench::Bench;
use self::convert::Convert;
use self::run::Run;

#[derive(Args, Debug)]
pub(crate) struct Ycsb {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Insert the records of a YCSB workload
    #[command(after_help = run::HELP)]
    Load(Box<Run>),
    /// Run the operations of a YCSB workload
    #[command(after_help = run::HELP)]
    Run(Box<Run>),
    /// Turn the lines of the binding `basic` into a file of keys
    Convert(Convert),
    /// Fill key-value servers, and measure how many operations they answer
    Bench(Box<Bench>),
}

pub(crate) fn ycsb(arguments: &Ycsb) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Load(arguments) => run::run(Phase::Load, arguments),
        Verb::Run(arguments) => run::run(Phase::Run, arguments),
        Verb::Convert(arguments) => convert::convert(arguments),
        Verb::Bench(arguments) => bench::bench(arguments),
    }
}

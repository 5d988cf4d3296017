//! `benchwright ycsb`: loads of key-value stores, with the words of YCSB.

mod bench;

use clap::{Args, Subcommand};

use console::output::{Exit, Failure};

use self::bench::Bench;

#[derive(Args, Debug)]
pub(crate) struct Ycsb {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Fill key-value servers, and measure how many operations they answer
    Bench(Box<Bench>),
}

pub(crate) fn ycsb(arguments: &Ycsb) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Bench(arguments) => bench::bench(arguments),
    }
}

//! `benchwright kv`: the server of the key-value store, and the commands of its operator.

mod folder;
pub(crate) mod journal;
mod memory;
mod operator;
pub(crate) mod serve;

use clap::{Args, Subcommand};

use console::output::{Exit, Failure};

use self::operator::Operate;
use self::serve::Serve;

#[derive(Args, Debug)]
pub(crate) struct Kv {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Serve a key-value store over TCP
    Serve(Box<Serve>),
    /// Show what a server has done: operations by kind and status, connections, bounds reached
    Stats(Operate),
    /// Take a checkpoint of a server, and wait until it is durable
    Checkpoint(Operate),
    /// Compact the log of a server: what newer records replace is given up
    Compact(Operate),
    /// Double the hash buckets of a server while it serves; a part of them grows by itself when it is full
    Grow(Operate),
}

pub(crate) fn kv(arguments: &Kv) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Serve(arguments) => serve::serve(arguments),
        Verb::Stats(arguments) => operator::stats(arguments),
        Verb::Checkpoint(arguments) => operator::checkpoint(arguments),
        Verb::Compact(arguments) => operator::compact(arguments),
        Verb::Grow(arguments) => operator::grow(arguments),
    }
}

//! The commands of a server's operator.

use std::path::PathBuf;

use clap::Args;
use kvserver::operator::{Unanswered, ask};
use measure::quantity::counted;
use serde_json::Value;

use console::output::{self, Exit, Failure};

use super::serve::{Address, read_token};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
pub(crate) struct Stats {
    /// The address of the server; the port is 7720 unless another one is given
    #[arg(value_name = "IP[:PORT]")]
    server: Address,
    /// Print one document, with the figures of each shard
    #[arg(long)]
    json: bool,
    /// A file with the server's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

pub(crate) fn stats(arguments: &Stats) -> Result<Exit, Failure> {
    let token = arguments.token_file.as_deref().map(read_token).transpose()?;
    let answer = ask(arguments.server.0, wire::kv::Verb::Stats, token.as_deref());
    let document = answer.map_err(|why| refusal(arguments, &why))?;
    if arguments.json {
        output::result(&format!("{document}\n"))?;
        return Ok(Exit::Answered);
    }
    let document: Value = serde_json::from_str(&document)
        .map_err(|error| Failure::no_answer(format!("the answer of the server: {error}")))?;
    output::result(&text(&document))?;
    Ok(Exit::Answered)
}

fn refusal(arguments: &Stats, why: &Unanswered) -> Failure {
    let address = arguments.server.0;
    let remedy = match why {
        Unanswered::Connection(_) => {
            "\n  start one with `benchwright kv serve`, or give its address"
        }
        _ => "",
    };
    Failure::no_answer(format!("{address}: {why}{remedy}"))
}

/// Prints the sums of all shards: a line for each figure that is not zero.
fn text(document: &Value) -> String {
    let mut lines = String::new();
    let mut line = |name: &str, value: &Value| {
        let number = value.as_u64().unwrap_or_default();
        if number != 0 {
            lines.push_str(&format!("{name:<24} {:>15}\n", counted(number)));
        }
    };
    for (name, value) in document["total"].as_object().into_iter().flatten() {
        match value.as_object() {
            Some(operations) => operations.iter().for_each(|(name, value)| line(name, value)),
            None => line(name, value),
        }
    }
    lines
}

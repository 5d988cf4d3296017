//! The commands of a server's operator.

use std::path::PathBuf;

use clap::Args;
use kvserver::operator::{Unanswered, ask, schema};
use measure::Nanos;
use measure::quantity::{Bytes, counted};
use net::clock;
use serde_json::Value;
use wire::kv::{Code, Token, Verb};

use console::output::{self, Exit, Failure};

use super::serve::{Address, read_token};

#[cfg(test)]
mod tests;

/// The time between two looks at a checkpoint.
const BETWEEN_LOOKS: Nanos = Nanos::from_millis(50);

#[derive(Args, Debug)]
pub(crate) struct Operate {
    /// The address of the server; the port is 7720 unless another one is given
    #[arg(value_name = "IP[:PORT]")]
    server: Address,
    /// Print one document
    #[arg(long)]
    json: bool,
    /// A file with the server's token
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

/// An operator, who may ask several times: a token file can be a pipe, which has its bytes once.
struct Operator<'a> {
    arguments: &'a Operate,
    token: Option<Token>,
}

impl<'a> Operator<'a> {
    fn of(arguments: &'a Operate) -> Result<Operator<'a>, Failure> {
        let token = arguments.token_file.as_deref().map(read_token).transpose()?;
        Ok(Operator { arguments, token })
    }

    /// Asks the server, and returns the document that it answers.
    fn ask(&self, verb: Verb) -> Result<(String, Value), Failure> {
        let answer = ask(self.arguments.server.0, verb, self.token.as_ref());
        let text = answer.map_err(|why| refusal(self.arguments, verb, &why))?;
        let document = document(verb, &text).map_err(|why| {
            let address = self.arguments.server.0;
            Failure::no_answer(format!(
                "{address}: {why}\n  use the `benchwright` of the server's version"
            ))
        })?;
        Ok((text, document))
    }

    /// Waits until a part of the statistics says that this work has ended, and returns the part.
    fn wait_for(&self, verb: Verb, part: &str, work: &str) -> Result<Value, Failure> {
        loop {
            let (_, mut document) = self.ask(Verb::Stats)?;
            let mut part = document[part].take();
            if part[work] != true {
                if let Some(fields) = part.as_object_mut() {
                    fields.insert("schema".to_owned(), schema(verb).into());
                }
                return Ok(part);
            }
            clock::sleep_until(clock::now() + BETWEEN_LOOKS);
        }
    }

    /// Prints a document, or the text that says it.
    fn print(&self, document: &str, text: &str) -> Result<Exit, Failure> {
        match self.arguments.json {
            true => output::result(&format!("{document}\n"))?,
            false => output::result(text)?,
        }
        Ok(Exit::Answered)
    }
}

pub(crate) fn stats(arguments: &Operate) -> Result<Exit, Failure> {
    let operator = Operator::of(arguments)?;
    let (text, document) = operator.ask(Verb::Stats)?;
    operator.print(&text, &figures(&document))
}

pub(crate) fn checkpoint(arguments: &Operate) -> Result<Exit, Failure> {
    let operator = Operator::of(arguments)?;
    let (text, document) = operator.ask(Verb::Checkpoint)?;
    let version = document["version"].as_u64().unwrap_or_default();
    loop {
        let (_, document) = operator.ask(Verb::Stats)?;
        let state = &document["checkpoint"];
        if version <= state["durable"].as_u64().unwrap_or_default() {
            break;
        }
        let failed = &state["failed"];
        if failed["version"].as_u64().is_some_and(|failed| version <= failed) {
            let why = failed["why"].as_str().unwrap_or_default();
            let address = operator.arguments.server.0;
            return Err(Failure::no_answer(format!(
                "{address}: checkpoint {version} has failed: {why}\n  look at the disk of the server and at its log; it tries again \
                 by itself"
            )));
        }
        clock::sleep_until(clock::now() + BETWEEN_LOOKS);
    }
    operator.print(&text, &format!("checkpoint {version} is durable\n"))
}

pub(crate) fn compact(arguments: &Operate) -> Result<Exit, Failure> {
    let operator = Operator::of(arguments)?;
    operator.ask(Verb::Compact)?;
    let log = operator.wait_for(Verb::Compact, "log", "compacting")?;
    let bytes = Bytes(log["bytes"].as_u64().unwrap_or_default());
    operator.print(&log.to_string(), &format!("the log has {bytes}\n"))
}

pub(crate) fn grow(arguments: &Operate) -> Result<Exit, Failure> {
    let operator = Operator::of(arguments)?;
    operator.ask(Verb::Grow)?;
    let index = operator.wait_for(Verb::Grow, "index", "growing")?;
    let buckets = counted(index["buckets"].as_u64().unwrap_or_default());
    operator.print(&index.to_string(), &format!("the index has {buckets} buckets\n"))
}

/// Reads the document that answers a verb.
fn document(verb: Verb, text: &str) -> Result<Value, String> {
    let document: Value = serde_json::from_str(text)
        .map_err(|error| format!("the answer is not a document: {error}"))?;
    match document["schema"] == schema(verb) {
        true => Ok(document),
        false => Err(format!("the answer has another schema than {}", schema(verb))),
    }
}

fn refusal(arguments: &Operate, verb: Verb, why: &Unanswered) -> Failure {
    let address = arguments.server.0;
    let remedy = match (why, verb) {
        (Unanswered::Connection(_), _) => {
            "\n  start one with `benchwright kv serve`, or give its address"
        }
        (Unanswered::Refused(Code::Unsupported, _), Verb::Checkpoint) => {
            "\n  only a server with --storage DIR and --durability checkpoint takes checkpoints"
        }
        (Unanswered::Refused(Code::Unsupported, _), Verb::Compact) => {
            "\n  only a server with --storage DIR has a log that can be compacted"
        }
        (Unanswered::Refused(Code::Unsupported, _), Verb::Grow) => {
            "\n  its index has grown six times, which is the most; start it with more --buckets"
        }
        _ => "",
    };
    Failure::no_answer(format!("{address}: {why}{remedy}"))
}

/// Prints the sums of all shards: a line for each figure that is not zero; and what became of --pin-irq.
fn figures(document: &Value) -> String {
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
    for (part, name, label) in [
        ("log", "mutable", "log bytes, mutable"),
        ("log", "read_only", "log bytes, read-only"),
        ("log", "stored", "log bytes, on disk"),
        ("index", "chains", "chains"),
        ("index", "buckets", "buckets"),
    ] {
        line(label, &document[part][name]);
    }
    if let Some(pinned) = document.get("pin_irq") {
        lines.push_str(&format!("{:<24} {}\n", "--pin-irq", pinned_in_words(pinned)));
    }
    lines
}

/// Says which CPUs serve interrupts for a server, or why none does.
fn pinned_in_words(pinned: &Value) -> String {
    let text = |name: &str| pinned[name].as_str().unwrap_or_default();
    match pinned["pinned"] == true {
        true => format!("CPU {} serves the interrupts", text("cpus")),
        false => format!("no effect: {}", text("why")),
    }
}

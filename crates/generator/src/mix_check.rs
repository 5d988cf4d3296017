//! `benchwright mix check`: checks a mix without sending anything, and shows the first requests that it
//! would make.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use console::output::{self, Exit, Failure};
use load::driver::Arrivals;
use measure::Nanos;
use measure::quantity::counted;
use mix::{Mix, Shown, StepOf};
use serde_json::json;
use wire::http1::check_field;

use crate::options::header_field;
use crate::plan::question;
use crate::secret;
use crate::workload::{MixFile, milliseconds, with_host};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
pub struct Command {
    #[command(subcommand)]
    of: Of,
}

#[derive(Debug, Subcommand)]
enum Of {
    /// Check a mix, and show the first requests as they would be sent
    Check(Check),
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
        benchwright mix check experiments/users-journey.jsonl --data experiments/users-journey.csv\n  \
        benchwright mix check mix.jsonl --show 20 --url http://127.0.0.1:8080/\n\n\
        What a session captures is shown as its placeholder, such as {{session.token}}, and its \
        cookies as {{cookies}}; ${env.NAME} stays as it is. The requests are those that the load with \
        the same --seed makes on its first target. docs/book/mixes-and-journeys.md explains the file.")]
struct Check {
    /// The mix: one JSON object a line
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A table (CSV with a header line) for the placeholders {{row.COLUMN}}
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Requests to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=100_000))]
    show: u32,
    /// The URL of the load, for `Host`
    #[arg(long, value_name = "URL", default_value = "http://localhost/")]
    url: String,
    /// A header field of all requests, `Name: value`; may be repeated
    #[arg(long, value_name = "FIELD")]
    header: Vec<String>,
    /// The seed of the load
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `benchwright mix`.
pub fn mix(command: &Command) -> Result<Exit, Failure> {
    let Of::Check(options) = &command.of;
    let url = wire::url::parse(&options.url).map_err(Failure::question)?;
    let headers = options.header.iter().map(|field| {
        secret::check_names(field)?;
        header_field(field)
    });
    let headers = headers.collect::<anyhow::Result<Vec<_>>>().map_err(question)?;
    let checked = headers.iter().try_for_each(|(name, value)| check_field(name, value));
    checked.map_err(Failure::question)?;
    let fields = with_host(&headers, &url.authority);
    let file = MixFile::open(&options.file, options.data.as_deref()).map_err(question)?;
    let mix = file.mix(&fields).map_err(Failure::question)?;
    let shown = mix::show(&mix, options.show as usize, options.seed, milliseconds);
    output::result(&match options.json {
        true => output::json(&document(&mix, &shown)),
        false => text(&options.file.display().to_string(), &mix, &shown),
    })?;
    Ok(Exit::Answered)
}

/// Checks a mix, and returns the think times of its longest session together.
pub fn longest_session(path: &Path, data: Option<&Path>) -> Result<Nanos, Failure> {
    let file = MixFile::open(path, data).map_err(question)?;
    file.mix(&[]).map(|mix| mix.longest_session()).map_err(Failure::question)
}

fn arrivals(mix: &Mix) -> Option<&'static str> {
    mix.arrivals().map(|arrivals| match arrivals {
        Arrivals::Sessions => "sessions",
        Arrivals::Requests => "requests",
    })
}

fn document(mix: &Mix, shown: &[Shown]) -> serde_json::Value {
    let requests = shown.iter().map(|shown| {
        let step = shown.step.as_ref().map(|StepOf { session, step, of, think }| {
            json!({"session": session, "step": step, "of": of, "think": think})
        });
        json!({
            "label": shown.label,
            "number": shown.number,
            "step": step,
            "request": String::from_utf8_lossy(&shown.bytes),
            "capture": shown.captures,
            "redirects": shown.redirects,
        })
    });
    json!({
        "labels": mix.labels().collect::<Vec<_>>(),
        "sessions": mix.session_names().collect::<Vec<_>>(),
        "arrivals": arrivals(mix).unwrap_or("requests"),
        "requests": requests.collect::<Vec<_>>(),
    })
}

fn text(file: &str, mix: &Mix, shown: &[Shown]) -> String {
    let mut text = String::new();
    write(file, mix, shown, &mut text).expect("writing to memory does not fail");
    text
}

fn write(file: &str, mix: &Mix, shown: &[Shown], text: &mut String) -> std::fmt::Result {
    let labels: Vec<&str> = mix.labels().collect();
    let sessions: Vec<&str> = mix.session_names().collect();
    writeln!(text, "{file} is valid: labels {}", labels.join(", "))?;
    match (arrivals(mix), sessions.is_empty()) {
        (Some(arrivals), false) => writeln!(
            text,
            "sessions {}; the arrivals of an open loop are {arrivals}",
            sessions.join(", ")
        )?,
        _ => writeln!(text, "each request stands alone")?,
    }
    for (place, shown) in (1..).zip(shown) {
        write!(text, "\n{place}. {}", shown.label)?;
        match &shown.step {
            Some(StepOf { session, step, of, think }) => {
                write!(
                    text,
                    " · step {step} of {of} of {session}, session {}",
                    counted(shown.number)
                )?;
                if let Some(think) = think {
                    write!(text, ", {think} after the response before it")?;
                }
            }
            None => write!(text, " · request {}", counted(shown.number))?,
        }
        writeln!(text)?;
        // A body may be of any bytes; an indent keeps it apart from what is said about it.
        let request = String::from_utf8_lossy(&shown.bytes);
        for line in request.trim_end_matches("\r\n").split("\r\n") {
            writeln!(
                text,
                "{}",
                if line.is_empty() { String::new() } else { format!("   {line}") }
            )?;
        }
        for capture in &shown.captures {
            writeln!(text, "   → {capture}")?;
        }
        if 0 < shown.redirects {
            writeln!(text, "   → follows up to {} redirects", shown.redirects)?;
        }
    }
    Ok(())
}

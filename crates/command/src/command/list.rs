//! `benchwright list`: the runs whose results are in a folder.

use std::fmt::Write;
use std::path::PathBuf;

use super::unread;
use clap::Args;
use console::output::{self, Exit, Failure};
use lab::past::listed::{Listing, Run, Skipped};
use results::answer::Verdict;
use results::regular;

#[cfg(test)]
mod tests;

/// The folder in which runs make their results.
const USUAL: &str = "results";

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 listed, 2 not a folder, 3 listed, but the answer of a run cannot be trusted any more, \
                  or a run cannot be read."
)]
pub(crate) struct List {
    /// A folder with results directories, or one of them
    #[arg(value_name = "DIR", default_value = USUAL)]
    pub(crate) folder: PathBuf,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn list(arguments: &List) -> Result<Exit, Failure> {
    let listing = Listing::of(&arguments.folder).map_err(|error| {
        let (folder, why) = (regular::shown(&arguments.folder), regular::plain(&error));
        Failure::question(format!(
            "{folder}: {why}; name the folder of your results: benchwright list DIR"
        ))
    })?;
    output::result(&match arguments.json {
        true => output::json(&listing),
        false => text(&listing),
    })?;
    // In the document they are already.
    if !arguments.json {
        listing.skipped.iter().for_each(|skipped| output::error(&skipped_in_words(skipped)));
    }
    Ok(exit(&listing))
}

fn exit(listing: &Listing) -> Exit {
    let is_untrusted = listing.runs.iter().any(|run| !run.unread.is_empty());
    unread::exit(is_untrusted || listing.skipped.iter().any(|skipped| skipped.is_damaged))
}

fn text(listing: &Listing) -> String {
    let mut text: String = listing.runs.iter().map(of_run).collect::<Vec<_>>().join("\n");
    if listing.runs.is_empty() {
        let but = if listing.skipped.is_empty() { "" } else { " that can be read" };
        let _ = writeln!(text, "no results{but} in {}", line(&listing.folder));
    }
    if 0 < listing.not_read {
        let _ = writeln!(text, "\n… and {} earlier ones, which are not listed", listing.not_read);
    }
    text
}

fn of_run(run: &Run) -> String {
    let Run {
        directory,
        experiment,
        started,
        question,
        verdict,
        answer,
        validity,
        go_on,
        unread,
        ..
    } = run;
    let started = started.as_deref().unwrap_or("on virtual time");
    let mut text = format!("{}   {}   {started}\n", line(directory), line(experiment));
    let mut field = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:<9} {}", line(value));
    };
    question.iter().for_each(|question| field("question", question));
    answer.iter().for_each(|answer| field("answer", answer));
    let verdict = match verdict {
        Verdict::Answered => "answered",
        Verdict::No => "the answer is no",
        Verdict::NoAnswer => "no trustworthy answer",
        Verdict::Interrupted => "interrupted",
        Verdict::Open => "not ended: it is running, or was killed",
    };
    let validity = validity.as_ref().map(|validity| format!("; {validity}")).unwrap_or_default();
    field("validity", &format!("{verdict}{validity}"));
    unread.iter().for_each(|why| field("!", why));
    go_on.iter().for_each(|command| field("go on", command));
    text
}

fn skipped_in_words(Skipped { directory, why, .. }: &Skipped) -> String {
    format!("skipped  {}: {}", line(directory), line(why))
}

/// The longest text of a field.
const LONGEST: usize = 300;

/// Returns a text of somebody's results as one line: it could make lines of its own.
fn line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = String::new();
    let first = words.next().unwrap_or_default();
    for word in std::iter::once(first).chain(words) {
        let room = LONGEST.saturating_sub(line.chars().count());
        if !line.is_empty() {
            line.push(' ');
        }
        if room <= word.chars().count() {
            line.extend(word.chars().take(room));
            line += "…";
            break;
        }
        line += word;
    }
    line
}

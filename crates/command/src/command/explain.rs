//! `benchwright explain` and `advise`: why a run says what it says, and what to change.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use lab::past::Past;
use lab::spec::Resolved;
use lab::{advice, explanation};
use results::explanation::{ADVICE, Advice, Advised, Code, EXPLANATION, Explanation, Sentence};
use results::{Answer, regular, shell};

use super::run::failed;
use super::unread;
use console::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 explained, 2 not a results directory, or a file that every run has cannot be read, \
                  3 explained, but a file of a trial that counted cannot be read any more, or the answer and the \
                  journal say different things."
)]
pub(crate) struct Explain {
    /// A results directory
    pub(crate) directory: PathBuf,
    /// The number of a trial; without it the verdict of the run is explained
    pub(crate) trial: Option<u32>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Advise {
    /// A results directory
    pub(crate) directory: PathBuf,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn explain(arguments: &Explain) -> Result<Exit, Failure> {
    let Explain { directory, trial, json } = arguments;
    let past = Past::read(directory).map_err(failed)?;
    unread::tell(&past);
    let answer = past.answer();
    let mut sentences = match trial {
        Some(number) => explanation::of_trial(&answer, *number).map_err(failed)?,
        None => explanation::of_run(&answer),
    };
    let go_on = answer.go_on(&past.name).filter(|_| trial.is_none());
    sentences.extend(go_on.map(|text| Sentence { about: "go on".to_owned(), text }));
    let schema = EXPLANATION.to_owned();
    let explanation = Explanation { schema, trial: *trial, sentences };
    let width = explanation.sentences.iter().map(|sentence| sentence.about.len()).max();
    let width = width.unwrap_or_default();
    let line = |Sentence { about, text }: &Sentence| format!("{about:<width$}  {text}\n");
    output::result(&match json {
        true => output::json(&explanation),
        false => explanation.sentences.iter().map(line).collect(),
    })?;
    Ok(unread::exit(match trial {
        Some(trial) => past.lacks_evidence_of(*trial),
        None => past.lacks_evidence(),
    }))
}

pub(crate) fn advise(arguments: &Advise) -> Result<Exit, Failure> {
    let Advise { directory, json } = arguments;
    let past = Past::read(directory).map_err(failed)?;
    unread::tell(&past);
    let answer = past.answer();
    let advice = advice::of(&past, &answer);
    let advised = Advised { schema: ADVICE.to_owned(), advice };
    output::result(&match json {
        true => output::json(&advised),
        false => text(&advised, &answer, &past.resolved),
    })?;
    Ok(unread::exit(past.lacks_evidence()))
}

fn text(Advised { advice, .. }: &Advised, answer: &Answer, resolved: &Resolved) -> String {
    let mut text = String::new();
    let mut is_new = false;
    for Advice { code, text: reason, change } in advice {
        let _ = writeln!(text, "- {reason}");
        // The reason of a larger budget names the command.
        if let Some(change) = change.as_ref().filter(|_| *code != Code::Budget) {
            let _ = writeln!(text, "  {}", new_run(resolved, change));
            is_new = true;
        }
    }
    if is_new {
        let folder = regular::shown(&resolved.folder);
        let _ = writeln!(
            text,
            "SPEC is the file of this experiment, in {folder}; `resume --set` changes only the budget of a run"
        );
    }
    let is_measured = answer.trials.iter().any(|entry| entry.observed.is_some());
    match advice.is_empty() {
        true if is_measured => {
            text += "nothing to change: no rule has anything to say about this run\n";
        }
        true => {
            let _ = writeln!(text, "nothing was measured: {}", answer.stopped_by);
        }
        false => {}
    }
    text
}

/// Returns the command of a new run with a change.
fn new_run(Resolved { profile, set, .. }: &Resolved, change: &str) -> String {
    let mut words = vec!["benchwright", "run", "SPEC"];
    words.extend(profile.iter().flat_map(|profile| ["--profile", profile.as_str()]));
    words.extend(set.iter().map(String::as_str).chain([change]).flat_map(|set| ["--set", set]));
    shell::line(&words)
}

//! `benchwright run`, `plan`, `resume` and `clean`: experiments.

use std::path::Path;

use lab::experiment::Ended;
use lab::{Host, experiment, spec};
use results::Directory;
use results::answer::Verdict;

use crate::cli::{Plan, Resume, Run};
use crate::output::{self, Exit, Failure};
use crate::progress::Transcript;

pub(crate) fn run(arguments: &Run) -> Result<Exit, Failure> {
    let host = host()?;
    let resolved = resolve(&arguments.spec)?;
    let ended =
        experiment::run(&resolved, arguments.out.clone(), &host, &mut Transcript::default());
    conclude(ended, arguments.json)
}

pub(crate) fn plan(arguments: &Plan) -> Result<Exit, Failure> {
    let resolved = resolve(arguments)?;
    let text = experiment::plan(&resolved).map_err(Failure::question)?;
    output::result(&text)?;
    Ok(Exit::Answered)
}

pub(crate) fn resume(arguments: &Resume) -> Result<Exit, Failure> {
    let host = host()?;
    let ended = experiment::resume(&arguments.directory, &host, &mut Transcript::default());
    conclude(ended, arguments.json)
}

pub(crate) fn clean() -> Result<Exit, Failure> {
    let removed = lab::clean(&host()?).map_err(failed)?;
    let text: String = removed.iter().map(|removed| format!("{removed}\n")).collect();
    output::result(if text.is_empty() { "nothing was left behind\n" } else { &text })?;
    Ok(Exit::Answered)
}

fn host() -> Result<Host, Failure> {
    let own = std::env::current_exe()
        .map_err(|error| Failure::no_answer(format!("finding the own executable: {error}")))?;
    let interrupted = crate::interrupted();
    Ok(Host { interrupted, ..Host::new(own, env!("CARGO_PKG_VERSION")) })
}

fn resolve(arguments: &Plan) -> Result<spec::Resolved, Failure> {
    spec::load(&arguments.spec, arguments.profile.as_deref(), &arguments.set)
        .map_err(Failure::question)
}

/// Writes the report, then the answer with the report's place in it.
fn conclude(ended: Result<Ended, lab::Error>, json: bool) -> Result<Exit, Failure> {
    let Ended { mut answer, directory } = ended.map_err(failed)?;
    output::clear();
    let results = Directory::open(&directory).map_err(Failure::no_answer)?;
    let report = ::report::write(&results).map_err(Failure::no_answer)?;
    answer.report = Some(shown(&report));
    results.write_answer(&answer).map_err(Failure::no_answer)?;
    if answer.verdict == Verdict::Interrupted {
        let path = shown(&directory);
        output::error(&format!("interrupted · to continue: benchwright resume {path}"));
    }
    output::result(&match json {
        true => output::json(&answer),
        false => lab::answer::table(&answer),
    })?;
    Ok(match answer.verdict {
        Verdict::Answered => Exit::Answered,
        Verdict::No => Exit::No,
        Verdict::NoAnswer => Exit::NoAnswer,
        Verdict::Interrupted => Exit::Interrupted,
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn failed(error: lab::Error) -> Failure {
    output::clear();
    match error {
        lab::Error::Question(error) => Failure { exit: Exit::Question, error },
        lab::Error::NoAnswer(error) => Failure { exit: Exit::NoAnswer, error },
    }
}

//! `benchwright report`: writes a results directory, or files of load generators, as a page.

use std::path::{Path, PathBuf};

use ::report::Written;
use clap::Args;
use lab::past::Past;
use results::{Directory, regular, shell};

use super::files::{self, Says};
use super::unread;
use console::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "Exit codes: 0 written, 2 not a results directory, 3 written, but a file cannot be read any more: it \
                  is named, and a trial that lacks one does not count; or the answer and the journal say different \
                  things."
)]
pub(crate) struct Report {
    /// A results directory, whose report.html is written again; or files of load generators, drawn on one page
    #[arg(value_name = "DIR|FILE", required = true)]
    pub(crate) what: Vec<PathBuf>,
    /// The page [default: report.html in the directory; of files the name of the first one with .html behind it]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) says: Says,
}

pub(crate) fn report(arguments: &Report) -> Result<Exit, Failure> {
    let Report { what, out, says } = arguments;
    let (path, exit) = match &what[..] {
        [only] if only.is_dir() || !only.exists() => write(only, out.as_deref())?,
        files => (files::report::report(files, says, out.as_deref())?, Exit::Answered),
    };
    output::result(&format!("{}\n", regular::shown(&path)))?;
    Ok(exit)
}

/// Fails if no page can be written into a results directory, with the remedy.
fn check_writable(path: &Path, directory: &Directory) -> Result<(), Failure> {
    regular::check_writable(directory.path()).map_err(|error| {
        let (shown, why) = (regular::shown(path), regular::plain(&error));
        Failure::question(format!(
            "{shown}/{} cannot be written: {why}; write the page elsewhere, and open that: `{} --out FILE.html`",
            ::report::NAME,
            shell::line(&["benchwright", "report", &path.display().to_string()])
        ))
    })
}

/// Writes the report of a results directory again, or to another place, and says what it lacks; returns its path, and
/// the exit code that tells of what it lacks.
pub(super) fn write(path: &Path, out: Option<&Path>) -> Result<(PathBuf, Exit), Failure> {
    let open = || Directory::open(path).map_err(Failure::question);
    match out {
        Some(out) => output::check_place("--out", out)
            .map_err(|error| Failure::question(format!("{error:#}")))?,
        None => check_writable(path, &open()?)?,
    }
    // The page shows what the journal says; without a spec that can be read nothing follows from that, and what was
    // written when the run ended may be anything.
    let composed = match Past::without_machines(path) {
        Ok(past) => {
            let (answer, unread, lacks) = (past.answer(), past.unread(), past.lacks_evidence());
            let journal = Some(past.journal);
            let composed = ::report::compose(&past.directory, journal, Some(answer), None);
            // The page sees the trials; what follows from them is known only with the plan.
            composed.map(|(page, it)| {
                (page, Written { unread, lacks_evidence: it.lacks_evidence || lacks, ..it })
            })
        }
        Err(why) => {
            let directory = open()?;
            directory.answer().map_err(Failure::question)?;
            ::report::compose(&directory, None, None, Some(&why.to_string()))
        }
    };
    let (page, written) = composed.map_err(Failure::question)?;
    let written = match out {
        None => {
            open()?.write(::report::NAME, page.as_bytes()).map_err(Failure::question)?;
            written
        }
        Some(out) => {
            let replaced = output::replace(out, page.as_bytes());
            replaced.map_err(|error| Failure::unwritten(regular::shown(out), &error))?;
            Written { path: out.to_owned(), ..written }
        }
    };
    let Written { path: page, unread, problems, lacks_evidence } = written;
    let name = path.display().to_string();
    unread::lines(&name, &unread).iter().for_each(|line| output::error(line));
    problems.iter().for_each(|problem| output::error(&format!("! not shown: {problem}")));
    Ok((page, unread::exit(lacks_evidence || !problems.is_empty())))
}

//! `benchwright report`: writes a results directory, or files of load generators, as a page.

use std::path::{Path, PathBuf};

use ::report::Written;
use clap::Args;
use lab::past::Past;
use results::Directory;

use super::files::{self, Says};
use super::unread;
use console::output::{self, Exit, Failure};

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
    /// The page of files [default: the name of the first one with .html behind it]
    #[arg(long, value_name = "FILE.html")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) says: Says,
}

pub(crate) fn report(arguments: &Report) -> Result<Exit, Failure> {
    let Report { what, out, says } = arguments;
    let (path, exit) = match &what[..] {
        [only] if only.is_dir() || !only.exists() => {
            if out.is_some() {
                let text = "the report of a results directory is its report.html: leave out --out";
                return Err(Failure::question(text));
            }
            write(only)?
        }
        files => (files::report::report(files, says, out.as_deref())?, Exit::Answered),
    };
    output::result(&format!("{}\n", path.display()))?;
    Ok(exit)
}

/// Writes the report of a results directory again and says what it lacks; returns its path, and the exit code that
/// tells of what it lacks.
pub(super) fn write(path: &Path) -> Result<(PathBuf, Exit), Failure> {
    // The page shows what the journal says; without a readable spec it shows what was written when the run ended.
    let written = match Past::read(path) {
        Ok(past) => {
            let (answer, unread, lacks) = (past.answer(), past.unread(), past.lacks_evidence());
            let written = ::report::write(&past.directory, Some(past.journal), Some(answer));
            // The page sees the trials; what follows from them is known only with the plan.
            written.map(|it| Written { unread, lacks_evidence: it.lacks_evidence || lacks, ..it })
        }
        Err(_) => {
            let directory = Directory::open(path).map_err(Failure::question)?;
            directory.answer().map_err(Failure::question)?;
            ::report::write(&directory, None, None)
        }
    };
    let Written { path: page, unread, problems, lacks_evidence } =
        written.map_err(Failure::question)?;
    let name = path.display().to_string();
    unread::lines(&name, &unread).iter().for_each(|line| output::error(line));
    problems.iter().for_each(|problem| output::error(&format!("! not shown: {problem}")));
    Ok((page, unread::exit(lacks_evidence || !problems.is_empty())))
}

//! `benchwright report`: writes a results directory, or files of load generators, as a page.

use std::path::{Path, PathBuf};

use clap::Args;
use lab::past::Past;
use results::Directory;

use super::files::{self, Says};
use console::output::{self, Exit, Failure};

#[derive(Args, Debug)]
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
    let path = match &what[..] {
        [only] if only.is_dir() || !only.exists() => {
            if out.is_some() {
                let text = "the report of a results directory is its report.html: leave out --out";
                return Err(Failure::question(text));
            }
            of_directory(only)?
        }
        files => files::report::report(files, says, out.as_deref())?,
    };
    output::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Answered)
}

fn of_directory(path: &Path) -> Result<PathBuf, Failure> {
    let directory = Directory::open(path).map_err(Failure::question)?;
    // The report of a run that has not ended shows what is known so far; without a readable spec it
    // shows less.
    let so_far = match directory.answer().map_err(Failure::question)? {
        Some(_) => None,
        None => Past::read(path).ok().map(|past| past.answer()),
    };
    ::report::write(&directory, so_far).map_err(Failure::question)
}

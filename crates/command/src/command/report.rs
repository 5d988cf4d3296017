//! `benchwright report`: writes a results directory as a page.

use std::path::{Path, PathBuf};

use clap::Args;
use lab::past::Past;
use results::Directory;

use console::output::{self, Exit, Failure};

#[derive(Args, Debug)]
pub(crate) struct Report {
    /// A results directory; its report.html is written again
    pub(crate) directory: PathBuf,
}

pub(crate) fn report(arguments: &Report) -> Result<Exit, Failure> {
    let path = write(&arguments.directory)?;
    output::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Answered)
}

/// Writes the report of a results directory again, and returns its path.
pub(super) fn write(path: &Path) -> Result<PathBuf, Failure> {
    let directory = Directory::open(path).map_err(Failure::question)?;
    // The report of a run that has not ended shows what is known so far; without a readable spec it
    // shows less.
    let so_far = match directory.answer().map_err(Failure::question)? {
        Some(_) => None,
        None => Past::read(path).ok().map(|past| past.answer()),
    };
    ::report::write(&directory, so_far).map_err(Failure::question)
}

//! `benchwright report`: writes a results directory as a page.

use std::path::PathBuf;

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
    let directory = Directory::open(&arguments.directory).map_err(Failure::question)?;
    // The report of a run that has not ended shows what is known so far; without a readable spec it
    // shows less.
    let so_far = match directory.answer().map_err(Failure::question)? {
        Some(_) => None,
        None => Past::read(&arguments.directory).ok().map(|past| past.answer()),
    };
    let path = ::report::write(&directory, so_far).map_err(Failure::question)?;
    output::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Answered)
}

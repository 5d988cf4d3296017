//! `benchwright report`: a results directory as a page.

use results::Directory;

use crate::cli::Report;
use crate::output::{self, Exit, Failure};

pub(crate) fn report(arguments: &Report) -> Result<Exit, Failure> {
    let directory = Directory::open(&arguments.directory).map_err(Failure::question)?;
    // A run that has not ended tells what it knows; one whose spec cannot be read any more tells less.
    let so_far = match directory.answer().map_err(Failure::question)? {
        Some(_) => None,
        None => lab::experiment::so_far(&directory).ok(),
    };
    let path = ::report::write(&directory, so_far).map_err(Failure::question)?;
    output::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Answered)
}

//! `benchwright report`: a results directory as a page.

use results::Directory;

use crate::cli::Report;
use crate::output::{self, Exit, Failure};

pub(crate) fn report(arguments: &Report) -> Result<Exit, Failure> {
    let directory = Directory::open(&arguments.directory).map_err(Failure::question)?;
    let path = ::report::write(&directory).map_err(Failure::question)?;
    output::result(&format!("{}\n", path.display()))?;
    Ok(Exit::Answered)
}

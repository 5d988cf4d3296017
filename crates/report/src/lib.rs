//! A results directory, or one load, as one self-contained HTML page: it needs no network, no
//! script and no colour.
//!
//! A page is a pure function of what it shows. This crate does not measure, judge or repair:
//! missing data are reported as missing, and no text of a file reaches the page unescaped.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use results::directory::Error;
use results::{Answer, Directory};

pub mod drawing;
pub mod load;

mod run;

mod chart;
mod page;
mod plot;
mod table;
mod text;

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

const STYLE: &str = include_str!("style.css");

/// A report that was written, and the parts of the directory that it lacks.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub path: PathBuf,
    /// The files of trials that cannot be read any more, in words, by trial.
    pub unread: Vec<String>,
    /// The other files that could not be read, each with its reason.
    pub problems: Vec<String>,
    /// True if the answer lacks such a trial.
    pub lacks_evidence: bool,
}

/// Renders the page of a directory. `answer` is the one to show: of a run that has none yet, the preliminary
/// one; without it the page shows the one that was kept.
pub fn render(directory: &Directory, answer: Option<Answer>) -> Result<String, Error> {
    run::Run::read(directory, answer).map(|run| page::page(&run))
}

/// Writes `report.html` into the directory atomically.
pub fn write(directory: &Directory, answer: Option<Answer>) -> Result<Written, Error> {
    let run = run::Run::read(directory, answer)?;
    directory.write("report.html", page::page(&run).as_bytes())?;
    let path = directory.path().join("report.html");
    let run::Run { unread, problems, lacks_evidence, .. } = run;
    Ok(Written { path, unread, problems, lacks_evidence })
}

//! A results directory, one load, or files of load generators, as one self-contained HTML page: it needs no network, no
//! script and no colour.
//!
//! A page is a pure function of what it shows. This crate does not measure, judge or repair:
//! missing data are reported as missing, and no text of a file reaches the page unescaped.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use results::directory::Error;
use results::{Answer, Directory};

pub mod drawing;
pub mod foreign;
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

/// Renders the page of a directory. `so_far` is the preliminary answer of a run without one.
pub fn render(directory: &Directory, so_far: Option<Answer>) -> Result<String, Error> {
    run::Run::read(directory, so_far).map(|run| page::page(&run))
}

/// Writes `report.html` into the directory atomically, and returns its path.
pub fn write(directory: &Directory, so_far: Option<Answer>) -> Result<PathBuf, Error> {
    let page = render(directory, so_far)?;
    directory.write("report.html", page.as_bytes())?;
    Ok(directory.path().join("report.html"))
}

//! A results directory, or one load, as one HTML page that needs nothing else: no network, no script,
//! no colour.
//!
//! A page is a pure function of what it shows. Nothing here measures, judges or repairs: what is
//! missing is said to be missing, and no text of a file reaches the page unescaped.
#![forbid(unsafe_code)]

use std::path::PathBuf;

use results::Directory;
use results::directory::Error;

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

/// The page of a directory, finished or not.
pub fn render(directory: &Directory) -> Result<String, Error> {
    run::Run::read(directory).map(|run| page::page(&run))
}

/// Writes `report.html` into the directory, whole or not at all, and says where it stands.
pub fn write(directory: &Directory) -> Result<PathBuf, Error> {
    let page = render(directory)?;
    directory.write("report.html", page.as_bytes())?;
    Ok(directory.path().join("report.html"))
}

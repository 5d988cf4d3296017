//! `benchwright merge`: merges the documents of several loads into one.

use std::path::Path;

use results::{Load, regular};

use super::load::{Outputs, text};
use crate::cli::Merge;
use crate::output::{self, Exit, Failure};

pub(crate) fn merge(arguments: &Merge) -> Result<Exit, Failure> {
    let parts = arguments.files.iter().map(|path| Ok((path.display().to_string(), read(path)?)));
    let parts = parts.collect::<Result<Vec<_>, Failure>>()?;
    let mut whole = results::merge::merge(&parts).map_err(Failure::question)?;
    whole.arguments = std::env::args().skip(1).collect();
    let outputs = Outputs::of_merge(arguments);
    outputs.write_document(&whole)?;
    if !outputs.is_json() {
        output::result(&text::of(&whole))?;
    }
    Ok(super::load::exit(&whole))
}

fn read(path: &Path) -> Result<Load, Failure> {
    let name = path.display();
    let text = regular::read_input(path, regular::MOST)
        .map_err(|error| Failure::question(format!("{name}: {error}")))?;
    results::merge::check(&text).and_then(|()| Load::read(&text)).map_err(|why| {
        Failure::question(format!("{name} is not a document of `benchwright load --json`: {why}"))
    })
}

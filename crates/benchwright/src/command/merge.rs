//! `benchwright merge`: the documents of several loads as one.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use results::Load;
use results::load::SCHEMA;

use super::load::{Outputs, text};
use crate::cli::Merge;
use crate::output::{self, Exit, Failure};

pub(crate) fn merge(arguments: &Merge) -> Result<Exit, Failure> {
    let parts = arguments.files.iter().map(|path| {
        let load = read(path).map_err(|error| Failure::question(format!("{error:#}")))?;
        Ok((path.display().to_string(), load))
    });
    let parts = parts.collect::<Result<Vec<_>, Failure>>()?;
    let mut whole = results::merge::merge(&parts).map_err(Failure::question)?;
    whole.arguments = std::env::args().skip(1).collect();
    let outputs = Outputs::of_merge(arguments);
    outputs.write_document(&whole)?;
    if !outputs.is_json() {
        output::result(&text::of(&whole))?;
    }
    Ok(if whole.validity.valid { Exit::Answered } else { Exit::NoAnswer })
}

fn read(path: &Path) -> anyhow::Result<Load> {
    let name = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{name}"))?;
    let told = || format!("{name} is no document of `benchwright load --json`");
    let load: Load = serde_json::from_str(&text).with_context(told)?;
    ensure!(load.schema == SCHEMA, "{name} is a `{}`, not a `{SCHEMA}`", load.schema);
    Ok(load)
}

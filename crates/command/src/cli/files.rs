//! The files that a command line names: which of them a command writes, and which it reads.

use std::any::TypeId;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use console::files::{Kind, Named, Role};

use crate::command::files::report::page_beside;
use crate::command::init::mix_beside;

#[cfg(test)]
mod tests;

/// The arguments that name what a command writes, with its kind. All others that are paths are read.
const WRITTEN: [(&str, &[(&str, Kind)]); 11] = [
    ("run", &[("out", Kind::Kept)]),
    ("rerun", &[("out", Kind::Kept)]),
    ("capacity", &[("save", Kind::Kept), ("out", Kind::Kept)]),
    ("init", &[("out", Kind::Kept)]),
    ("report", &[("out", Kind::Page)]),
    ("man", &[("directory", Kind::Kept)]),
    (
        "load",
        &[
            ("json", Kind::Document),
            ("csv", Kind::Rows),
            ("hlog", Kind::Histograms),
            ("samples", Kind::Samples),
            ("report", Kind::Page),
            ("notes", Kind::Document),
        ],
    ),
    ("merge", &[("json", Kind::Document), ("report", Kind::Page)]),
    ("receive", &[("notes", Kind::Document)]),
    ("reference", &[("log", Kind::Log)]),
    ("convert", &[("output", Kind::Keys)]),
];

/// Returns the files of a command line, with what is written beside them.
pub(super) fn of(program: &Command, matches: &ArgMatches) -> Vec<Named> {
    let (mut command, mut matches) = (program, matches);
    while let Some((name, inner)) = matches.subcommand() {
        command = command.find_subcommand(name).expect("clap has found it");
        matches = inner;
    }
    let name = command.get_name();
    let mut files: Vec<Named> = command
        .get_arguments()
        .filter(|argument| is_file(name, argument))
        .flat_map(|argument| named(name, argument, matches))
        .collect();
    files.extend(beside(name, &files));
    files
}

fn named(command: &str, argument: &Arg, matches: &ArgMatches) -> Vec<Named> {
    let role = written(command, argument).map_or(Role::Read, Role::Written);
    let values = matches.get_raw(argument.get_id().as_str()).into_iter().flatten();
    // The source of an experiment may be a URL.
    let paths = values.filter(|value| !value.to_string_lossy().contains("://"));
    paths.map(|path| Named { option: shown(argument), path: path.into(), role }).collect()
}

/// Returns true for an argument that is a path, or may be one.
fn is_file(command: &str, argument: &Arg) -> bool {
    let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    is_path || (command, argument.get_id().as_str()) == ("init", "source")
}

/// Returns the kind of what an argument names, if the command writes it.
fn written(command: &str, argument: &Arg) -> Option<Kind> {
    let (_, written) = WRITTEN.iter().find(|(name, _)| *name == command)?;
    let found = written.iter().find(|(id, _)| *id == argument.get_id().as_str());
    found.map(|(_, kind)| *kind)
}

fn shown(argument: &Arg) -> String {
    match (argument.get_long(), argument.get_value_names()) {
        (Some(long), _) => format!("--{long}"),
        (None, Some([name, ..])) => name.rsplit('|').next().unwrap_or(name).to_owned(),
        (None, _) => argument.get_id().as_str().to_uppercase(),
    }
}

/// Returns what a command writes beside the files that are named.
fn beside(command: &str, files: &[Named]) -> Option<Named> {
    let written =
        |option: &str, path: PathBuf, kind: Kind| Some(Named::written(option, path, kind));
    let of = |option: &str| files.iter().find(|named| named.option == option);
    match command {
        "init" => written("the mix beside --out,", mix_beside(&of("--out")?.path), Kind::Kept),
        "report" if of("--out").is_none() => {
            written("the page", page_beside(&files.first()?.path)?, Kind::Page)
        }
        _ => None,
    }
}

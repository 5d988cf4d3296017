//! The files that a command line names: which of them a command writes, and which it reads.

use std::any::TypeId;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command};
use console::files::{Named, Role};

use crate::command::files::report::page_beside;
use crate::command::init::mix_beside;

#[cfg(test)]
mod tests;

/// The arguments that name what a command writes. All others that are paths are read.
const WRITTEN: [(&str, &[&str]); 11] = [
    ("run", &["out"]),
    ("rerun", &["out"]),
    ("capacity", &["save", "out"]),
    ("init", &["out"]),
    ("report", &["out"]),
    ("man", &["directory"]),
    ("load", &["json", "csv", "hlog", "samples", "report", "notes"]),
    ("merge", &["json", "report"]),
    ("receive", &["notes"]),
    ("reference", &["log"]),
    ("convert", &["output"]),
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
    let is_written = is_written(command, argument);
    let role = if is_written { Role::Written } else { Role::Read };
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

fn is_written(command: &str, argument: &Arg) -> bool {
    let id = argument.get_id().as_str();
    WRITTEN.iter().any(|(name, written)| *name == command && written.contains(&id))
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
    let written = |option: &str, path: PathBuf| Some(Named::written(option, path));
    let of = |option: &str| files.iter().find(|named| named.option == option);
    match command {
        "init" => written("the mix beside --out,", mix_beside(&of("--out")?.path)),
        "report" if of("--out").is_none() => {
            written("the page", page_beside(&files.first()?.path)?)
        }
        _ => None,
    }
}

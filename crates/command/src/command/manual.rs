//! `benchwright schema`, `completions` and `man`: the experiment file as editors know it, and the
//! command line as shells and `man` do. Each is made from the types that read the file or the
//! arguments.

use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::cli::{Cli, Completions, Man};
use crate::output::{self, Exit, Failure};

#[cfg(test)]
mod tests;

pub(crate) fn schema() -> Result<Exit, Failure> {
    output::result(&output::json(&lab::spec::schema()))?;
    Ok(Exit::Answered)
}

pub(crate) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    output::result(&script(arguments))?;
    Ok(Exit::Answered)
}

fn script(arguments: &Completions) -> String {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "benchwright", &mut script);
    String::from_utf8(script).expect("the command line is described in UTF-8")
}

pub(crate) fn man(arguments: &Man) -> Result<Exit, Failure> {
    write_pages(&arguments.directory)?;
    output::result(&format!("{}\n", arguments.directory.display()))?;
    Ok(Exit::Answered)
}

fn write_pages(directory: &Path) -> Result<(), Failure> {
    let written = fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), directory));
    written.map_err(|error| {
        Failure::question(format!(
            "writing pages into {}: {error}; name a folder that you may write to",
            directory.display()
        ))
    })
}

//! `benchwright schema`, `completions` and `man`: the experiment file as editors know it, and the
//! command line as shells and `man` do. Each is made from the types that read the file or the
//! arguments.

use std::any::TypeId;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::{Arg, Args, Command, ValueHint};
use clap_complete::Shell;
use console::files::{Kind, Named};
use console::output::{self, Exit, Failure};
use results::{regular, trust};

#[cfg(test)]
mod tests;

pub(crate) const OF_SCHEMA: &str = "\
Editors with the YAML language server (VS Code with the YAML extension, Neovim, Emacs, Helix and
others) read the path of a schema, relative to the file, in its first line:

  benchwright schema > experiment.schema.json
  # yaml-language-server: $schema=experiment.schema.json

The schema knows the fields and the form of their values. Rules between fields are checked by
`benchwright plan`.";

pub(crate) const OF_COMPLETIONS: &str = "\
A shell reads the script where it expects scripts of its users:

  bash        benchwright completions bash > ~/.local/share/bash-completion/completions/benchwright
  zsh         benchwright completions zsh > FOLDER/_benchwright, a folder of $fpath
  fish        benchwright completions fish > ~/.config/fish/completions/benchwright.fish
  elvish      benchwright completions elvish >> ~/.config/elvish/rc.elv
  powershell  benchwright completions powershell >> $PROFILE";

pub(crate) const OF_MAN: &str = "\
`man` finds the pages in a folder that it searches:

  benchwright man ~/.local/share/man/man1
  man benchwright-load";

#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// The shell
    pub(crate) shell: Shell,
}

#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The folder of the pages, which is made if it does not exist
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

pub(crate) fn schema() -> Result<Exit, Failure> {
    output::result(&output::json(&lab::spec::schema()))?;
    Ok(Exit::Answered)
}

pub(crate) fn completions(arguments: &Completions, all: Command) -> Result<Exit, Failure> {
    output::result(&script(arguments, all))?;
    Ok(Exit::Answered)
}

fn script(arguments: &Completions, all: Command) -> String {
    let mut all = without_files(all);
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut all, "benchwright", &mut script);
    String::from_utf8(script).expect("the command line is described in UTF-8")
}

/// Returns a command whose options complete files only where a file belongs, and their words where there are such.
fn without_files(command: Command) -> Command {
    command.mut_args(completed).mut_subcommands(without_files)
}

fn completed(argument: Arg) -> Arg {
    let is_path = argument.get_value_parser().type_id() == TypeId::of::<PathBuf>();
    let has_words = !argument.get_possible_values().is_empty();
    let name = argument.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
    let names_a_place = ["FILE", "DIR", "PATH"].iter().any(|place| name.contains(place));
    if is_path
        || has_words
        || names_a_place
        || !argument.get_action().takes_values()
        || argument.is_positional()
    {
        return argument;
    }
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase());
    // Beside words there may be other values, as in `auto|off|CPUS`.
    match name.split('|').all(is_word) {
        true => {
            // clap keeps names for as long as the program runs.
            let words: &'static str = name.to_owned().leak();
            argument.value_parser(PossibleValuesParser::new(words.split('|')))
        }
        false => argument.value_hint(ValueHint::Other),
    }
}

pub(crate) fn man(arguments: &Man, all: Command) -> Result<Exit, Failure> {
    write_pages(&arguments.directory, all)?;
    output::result(&format!("{}\n", arguments.directory.display()))?;
    Ok(Exit::Answered)
}

/// Writes the pages into a folder. A link there is replaced, and never what it leads to; another file than a page of
/// ours stays, and then nothing is written.
fn write_pages(directory: &Path, all: Command) -> Result<(), Failure> {
    let refused = |error: &io::Error, remedy: &str| {
        Failure::question(format!(
            "writing pages into {}: {}; {remedy}",
            regular::shown(directory),
            regular::plain(error)
        ))
    };
    let unwritten = |error: io::Error| refused(&error, "name a folder that you may write to");
    fs::create_dir_all(directory).map_err(unwritten)?;
    trust::check_place(directory)
        .map_err(|error| refused(&error, "name a folder that nobody else can change"))?;
    let mut pages = Vec::new();
    let mut all = all.disable_help_subcommand(true);
    all.build();
    add_pages(all, &mut pages);
    let places = pages.iter().map(|(name, _)| directory.join(name));
    let files = places.filter(|place| !place.is_symlink());
    let files: Vec<Named> = files.map(|place| Named::written("DIR", place, Kind::Manual)).collect();
    console::files::check(&files)?;
    for (name, page) in pages {
        regular::replace(&directory.join(name), &page).map_err(unwritten)?;
    }
    Ok(())
}

/// Adds the pages of a command and of those in it, by the names of their files.
fn add_pages(command: Command, pages: &mut Vec<(String, Vec<u8>)>) {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        add_pages(inner.clone(), pages);
    }
    let page = clap_mangen::Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text).expect("a vector takes all that is written");
    pages.push((page.get_filename(), text));
}

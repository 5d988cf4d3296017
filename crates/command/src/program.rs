//! The program from its arguments to its exit code.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::thread;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use console::files;
use console::output::{self, Exit, Failure};
use console::signals;

use crate::cli::{self, Cli, Command};
use crate::{command, habits};

/// The size of the stack of a command: `ulimit -s` may leave the first thread less than it needs.
const STACK: usize = 8 << 20;

/// Runs the program by its arguments; returns its exit code.
pub fn main() -> ExitCode {
    output::explain_panics();
    signals::end_at_once();
    match thread::Builder::new().stack_size(STACK).spawn(guarded) {
        Ok(thread) => {
            // They interrupt the thread that works, not the one that waits for it.
            signals::leave_to_others();
            thread.join().unwrap_or(ExitCode::from(Exit::NoAnswer as u8))
        }
        // A machine without room for one more thread: the first one has to do.
        Err(_) => guarded(),
    }
}

fn guarded() -> ExitCode {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or(ExitCode::from(Exit::NoAnswer as u8))
}

fn run() -> ExitCode {
    if let Some(original) = as_original() {
        let (name, arguments) = original;
        return generator::wrk::wrk(&name, &arguments);
    }
    let exit = match cli::read() {
        Ok((cli, files)) => files::check(&files).and_then(|()| dispatch(cli)),
        Err(error) => return refuse(&error),
    };
    let code = match exit {
        Ok(exit) => exit,
        Err(Failure { exit, error }) => {
            output::error(&format!("error: {error:#}"));
            exit
        }
    };
    ExitCode::from(code as u8)
}

/// Returns the name and the arguments if the program was started as `wrk` or `wrk2`, or with one of
/// them as the first argument: the rest is then read as the original reads it.
fn as_original() -> Option<(String, Vec<String>)> {
    let mut words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let is_original = |name: &str| matches!(name.rsplit('/').next(), Some("wrk" | "wrk2"));
    let name = words.next().filter(|name| is_original(name));
    let name = name.or_else(|| words.next().filter(|word| matches!(&**word, "wrk" | "wrk2")))?;
    Some((name, words.collect()))
}

fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    match cli.command {
        Command::Run(arguments) => command::run::run(&arguments),
        Command::Plan(arguments) => command::run::plan(&arguments),
        Command::Resume(arguments) => command::run::resume(&arguments),
        Command::Report(arguments) => command::report::report(&arguments),
        Command::List(arguments) => command::list::list(&arguments),
        Command::Open(arguments) => command::open::open(&arguments),
        Command::Capacity(arguments) => command::capacity::capacity(&arguments),
        Command::Init(arguments) => command::init::init(&arguments),
        Command::Load(arguments) => generator::load::load(&arguments),
        Command::Merge(arguments) => generator::merge::merge(&arguments),
        Command::Mix(arguments) => generator::mix_check::mix(&arguments),
        Command::Receive(arguments) => generator::receive::receive(&arguments),
        Command::Join(arguments) => generator::join::join(&arguments),
        Command::Rerun(arguments) => command::run::rerun(&arguments),
        Command::Explain(arguments) => command::explain::explain(&arguments),
        Command::Advise(arguments) => command::explain::advise(&arguments),
        Command::Compare(arguments) => command::compare::compare(&arguments),
        Command::Reproducibility(arguments) => {
            command::reproducibility::reproducibility(&arguments)
        }
        Command::Analyse(arguments) => command::analyse::analyse(&arguments),
        // `main` handles these before clap reads the arguments.
        Command::Wrk(_) | Command::Wrk2(_) => unreachable!("`main` has run wrk and wrk2"),
        Command::Reference(arguments) => generator::reference::reference(&arguments),
        Command::Kv(arguments) => command::kv::kv(&arguments),
        Command::Ycsb(arguments) => command::ycsb::ycsb(&arguments),
        Command::App(arguments) => command::app::app(&arguments),
        Command::Doctor(arguments) => command::doctor::doctor(&arguments),
        Command::Clean(arguments) => command::run::clean(&arguments),
        Command::Schema => command::manual::schema(),
        Command::Completions(arguments) => command::manual::completions(&arguments, Cli::command()),
        Command::Man(arguments) => command::manual::man(&arguments, Cli::command()),
    }
}

/// Prints clap's message and returns the exit code: 0 for help and version, otherwise 2. Without
/// any argument it shows the first steps.
fn refuse(error: &clap::Error) -> ExitCode {
    if let Some(words) = said_otherwise(error) {
        output::error(&format!("error: {words}"));
        return ExitCode::from(Exit::Question as u8);
    }
    match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand if std::env::args_os().len() == 1 => {
            output::error(cli::FIRST_STEPS);
            ExitCode::from(Exit::Question as u8)
        }
        // It quotes arguments, which others may have named.
        _ if error.use_stderr() => {
            output::error(error.render().to_string().trim_end());
            ExitCode::from(Exit::Question as u8)
        }
        // Help and version.
        _ => {
            // A closed pipe is not an error.
            let _ = error.print();
            ExitCode::from(Exit::Answered as u8)
        }
    }
}

/// Returns the remedy for a short option of another generator on our command line, or for a file behind `--json`.
fn said_otherwise(error: &clap::Error) -> Option<String> {
    let words = std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    let words: Vec<String> = words.collect();
    negative_value(error, &words)
        .or_else(|| foreign_option(error, words.first()?))
        .or_else(|| file_behind_json(error, &words))
}

/// Returns the remedy for a negative number behind an option, which clap takes for another option.
pub(crate) fn negative_value(error: &clap::Error, words: &[String]) -> Option<String> {
    let (ErrorKind::UnknownArgument, ContextValue::String(refused)) =
        (error.kind(), error.get(ContextKind::InvalidArg)?)
    else {
        return None;
    };
    let is_negative = |word: &str| {
        let number = word.strip_prefix('-').unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit() || c == '.') && word.starts_with(refused)
    };
    let [option, value] = words.windows(2).find(|pair| {
        pair[0].starts_with("--") && !pair[0].contains('=') && is_negative(&pair[1])
    })?
    else {
        return None;
    };
    let what = option.trim_start_matches('-').replace('-', " ");
    Some(format!("`{value}` is not a valid {what}: no value of `{option}` is negative"))
}

/// Returns the remedy for `--json FILE`, where `--json` takes no file, or takes it behind `=` only.
pub(crate) fn file_behind_json(error: &clap::Error, words: &[String]) -> Option<String> {
    let refused = [ContextKind::InvalidArg, ContextKind::InvalidValue].map(|kind| error.get(kind));
    let refused = |word: &str| {
        let mut texts = refused.iter().flatten();
        texts.any(|it| matches!(it, ContextValue::String(text) if text == word))
    };
    let file = words.windows(2).find(|pair| pair[0] == "--json").map(|pair| &*pair[1])?;
    let is_meant = !file.starts_with('-') && (refused(file) || file.ends_with(".json"));
    let is_refused = words.iter().any(|word| !word.starts_with('-') && refused(word));
    let cli = Cli::command();
    let json = cli
        .find_subcommand(words.first()?)?
        .get_arguments()
        .find(|it| it.get_long() == Some("json"))?;
    let remedy = match json.is_require_equals_set() {
        true => format!("--json={file}"),
        false => format!("--json > {file}"),
    };
    (is_meant && is_refused).then(|| {
        format!(
            "`{file}` is not a value of `--json`; to write the document to it, write `{remedy}`"
        )
    })
}

pub(crate) fn foreign_option(error: &clap::Error, command: &str) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => {
            habits::explain(command, option)
        }
        _ => None,
    }
}

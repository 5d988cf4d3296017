//! The commands of the command line. The arguments of each are in its file.

use std::ffi::OsString;

use clap::{Arg, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use console::files::Named;
use generator::join::Join;
use generator::merge::Merge;
use generator::mix_check;
use generator::options::Load;
use generator::receive::Receive;
use generator::reference::Reference;

use crate::command::analyse::Analyse;
use crate::command::app::App;
use crate::command::capacity::Capacity;
use crate::command::compare::Compare;
use crate::command::doctor;
use crate::command::explain::{Advise, Explain};
use crate::command::init::Init;
use crate::command::kv::Kv;
use crate::command::list::List;
use crate::command::manual::{Completions, Man, OF_COMPLETIONS, OF_MAN, OF_SCHEMA};
use crate::command::open::Open;
use crate::command::report::Report;
use crate::command::reproducibility::Reproducibility;
use crate::command::run::{Clean, Plan, Rerun, Resume, Run};
use crate::command::ycsb::Ycsb;

mod files;
#[cfg(test)]
mod tests;

pub(crate) const FIRST_STEPS: &str = "\
benchwright measures networked services, reproducibly.

  benchwright run experiments/hello.yaml      an experiment: deploy, load, judge, report
  benchwright init http://127.0.0.1:8080/     a first experiment for a service, to be changed
  benchwright capacity http://127.0.0.1:8080/ --slo 'p99<=50ms'
  benchwright load http://127.0.0.1:8080/ --rate 1k/s
  benchwright receive                         the events of a channel; `join` compares both sides
  benchwright doctor                          is this machine fit to measure?
  benchwright app hotel all-in-one            a reference application to measure

`benchwright help COMMAND` explains a command.
Rates are written 5k/s, lengths of time 10ms, sizes 64KiB.";

/// The codes with which every command ends, and their meanings.
const EXIT_CODES: [(u8, &str); 5] = [
    (0, "yes"),
    (1, "no (for example, an SLO was missed)"),
    (2, "wrong arguments or spec"),
    (3, "no trustworthy answer"),
    (130, "interrupted"),
];

fn exit_codes() -> String {
    format!(
        "Exit codes: {}.",
        EXIT_CODES.map(|(code, meaning)| format!("{code} {meaning}")).join(", ")
    )
}

/// Measures networked services, reproducibly.
#[derive(Debug, Parser)]
#[command(name = "benchwright", version, arg_required_else_help = true)]
#[command(after_help = exit_codes())]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options of `load` in its short help, which fits on a screen; `--help` has all of them.
const OF_A_FIRST_LOAD: [&str; 21] = [
    "rate",
    "shape",
    "closed",
    "duration",
    "requests",
    "warm-up",
    "connections",
    "insecure",
    "method",
    "header",
    "header-file",
    "body",
    "body-file",
    "mix",
    "check",
    "script",
    "timeout",
    "slo",
    "json",
    "report",
    "help",
];

/// Returns the command line, with the short helps that fit on a screen.
pub(crate) fn command() -> clap::Command {
    let short = |argument: Arg| match argument.get_long() {
        Some(long) if !OF_A_FIRST_LOAD.contains(&long) => argument.hide_short_help(true),
        _ => argument,
    };
    Cli::command().mut_subcommand("load", |load| load.mut_args(short))
}

/// Reads the arguments of this process, with the files that they name.
pub(crate) fn read() -> Result<(Cli, Vec<Named>), clap::Error> {
    read_from(crate::command::ycsb::original::rewritten(std::env::args_os()))
}

fn read_from(words: impl IntoIterator<Item = OsString>) -> Result<(Cli, Vec<Named>), clap::Error> {
    let mut program = command();
    let mut matches = program.try_get_matches_from_mut(words)?;
    let files = files::of(&program, &matches);
    let cli = Cli::from_arg_matches_mut(&mut matches);
    Ok((cli.map_err(|error| error.format(&mut program))?, files))
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment: deploy, load, judge, report
    Run(Run),
    /// Print what `run` would do, and how long it would take
    Plan(Plan),
    /// Continue a run that was interrupted, killed, or ended without an answer
    Resume(Resume),
    /// Run the experiment of a results directory once more, into a new one
    Rerun(Rerun),
    /// List the results in a folder: date, question, answer, validity
    List(List),
    /// Write the report of a results directory again, and open it in a browser
    Open(Open),
    /// Write the report of a results directory again, or one of files of load generators
    Report(Report),
    /// Find the highest load that a service at a URL carries under an SLO
    Capacity(Box<Capacity>),
    /// Write a first experiment from a URL, an OpenAPI document, a HAR, an access log or a command
    Init(Box<Init>),
    /// Run a single load, without an experiment file
    Load(Box<Load>),
    /// Merge the documents of several loads into one, with the quantiles of all requests
    Merge(Merge),
    /// Check a file of requests (`load --mix`), and show what it would send
    Mix(mix_check::Command),
    /// Receive events as a subscriber of a channel, and note each arrival
    Receive(Receive),
    /// Join the notes of senders and receivers of events: delivery times, losses, duplicates
    Join(Join),
    /// Say why a run, or one of its trials, has its verdict
    Explain(Explain),
    /// Say what to change in an experiment so that it decides sooner or more surely
    Advise(Advise),
    /// Compare two versions: results directories, the arms of one experiment, or files of load generators
    Compare(Compare),
    /// Show how far equal trials lie apart
    Reproducibility(Reproducibility),
    /// Analyse files of load generators, or a table of trials, with what they do not support
    Analyse(Analyse),
    /// Run as wrk, with its arguments and its output (also if started as `wrk`)
    #[command(disable_help_flag = true)]
    Wrk(Original),
    /// Run as wrk2, or as DeathStarBench's fork of it (also if started as `wrk2`)
    #[command(disable_help_flag = true)]
    Wrk2(Original),
    /// Serve HTTP with known delays, to calibrate a generator
    Reference(Reference),
    /// Serve a key-value store to measure, or ask one what it has done
    Kv(Kv),
    /// Load a key-value store with the workloads and the words of YCSB
    Ycsb(Ycsb),
    /// Start a reference application (executes benchwright-apps from the same folder)
    App(App),
    /// Check whether this machine, or the cluster of an experiment, is fit to measure
    Doctor(doctor::Options),
    /// Remove what a killed run left behind: processes, control groups, temporary folders; on a
    /// cluster all that runs made there
    Clean(Clean),
    /// Print the JSON Schema of experiment files, by which editors complete and check them
    #[command(after_help = OF_SCHEMA)]
    Schema,
    /// Print a script by which a shell completes this command line
    #[command(after_help = OF_COMPLETIONS)]
    Completions(Completions),
    /// Write a manual page for each command
    #[command(after_help = OF_MAN)]
    Man(Man),
}

#[derive(Args, Debug)]
pub(crate) struct Original {
    /// The original's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub(crate) arguments: Vec<String>,
}

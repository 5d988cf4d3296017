//! `benchwright join`: joins the notes of senders and receivers.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use clap::Args;
use results::joined::{self, Joined, Notes};
use results::regular;

use crate::events;
use console::output::{self, Exit, Failure};

mod text;

#[derive(Args, Debug)]
#[command(
    after_help = "The files are those of `load --events … --notes` and of `receive --notes`, in any order and number. \
                        Events count if they were intended in the measurement of their sender. An event that arrives at \
                        two receivers has arrived twice: join the notes of several subscribers one by one.\n\n\
                        Notes of one host are by one clock, and their delivery times are exact. Those of several hosts \
                        need `load --compare-clock`: a delivery time is then shown if the clocks are apart by at \
                        most 5 % of it.\n\n\
                        Arrivals whose id or source is none of the senders' are counted as unknown. Memory: 56 bytes \
                        an event. Exit codes: 0 joined, 2 the files cannot be read or joined, 3 notes are missing, so \
                        the counts are wrong."
)]
pub struct Join {
    /// The files of notes: at least one of a sender and one of a receiver
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Print a JSON document
    #[arg(long)]
    pub(crate) json: bool,
}

pub fn join(arguments: &Join) -> Result<Exit, Failure> {
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    for path in &arguments.files {
        match read(path)? {
            Notes::Sender(sender) => senders.push(sender),
            Notes::Receiver(receiver) => receivers.push(receiver),
        }
    }
    for (is_missing, role, remedy) in [
        (senders.is_empty(), "sender", "benchwright load --events binary --notes FILE"),
        (receivers.is_empty(), "receiver", "benchwright receive --notes FILE"),
    ] {
        if is_missing {
            return Err(Failure::question(format!(
                "none of the files has the notes of a {role}; `{remedy}` writes them"
            )));
        }
    }
    let mut joined = joined::join(senders, receivers).map_err(Failure::question)?;
    joined.findings = events::findings(&joined.events);
    match arguments.json {
        true => output::result(&output::json(&joined))?,
        false => output::shown(&text::of(&joined), &crate::text::MARKS)?,
    }
    Ok(exit(&joined))
}

fn read(path: &Path) -> Result<Notes, Failure> {
    let name = regular::shown(path);
    let failed = |error: std::io::Error| Failure::question(format!("{name}: {error}"));
    let file = regular::open_input(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Notes::read(&name, &mut BufReader::new(file), length).map_err(Failure::question)
}

/// Returns the exit code: with missing notes the counts are not to be trusted.
fn exit(joined: &Joined) -> Exit {
    if joined.complete { Exit::Answered } else { Exit::NoAnswer }
}

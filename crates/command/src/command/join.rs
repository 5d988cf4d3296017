//! `benchwright join`: joins the notes of senders and receivers.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use results::joined::{self, Joined, Notes};

use super::load::events;
use crate::cli::Join;
use crate::output::{self, Exit, Failure};

mod text;

pub(crate) fn join(arguments: &Join) -> Result<Exit, Failure> {
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
    output::result(&if arguments.json { output::json(&joined) } else { text::of(&joined) })?;
    Ok(exit(&joined))
}

fn read(path: &Path) -> Result<Notes, Failure> {
    let name = path.display().to_string();
    let failed = |error: std::io::Error| Failure::question(format!("{name}: {error}"));
    let file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    Notes::read(&name, &mut BufReader::new(file), length).map_err(Failure::question)
}

/// Returns the exit code: with missing notes the counts are not to be trusted.
fn exit(joined: &Joined) -> Exit {
    if joined.complete { Exit::Answered } else { Exit::NoAnswer }
}

//! `benchwright ycsb convert`: the keys in the lines of the binding `basic`, as numbers.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use clap::Args;
use console::output::{self, Destination, Exit, Failure};
use measure::quantity::counted;
use ycsb::convert::Keys;

#[cfg(test)]
mod tests;

#[derive(Args, Debug)]
#[command(
    after_help = "Every line with `usertable user` and digits yields this number, as 8 bytes, the lowest first; \
                        other lines are skipped and counted. The kinds of the operations are lost.\n\n  \
                        benchwright ycsb load basic -P FILE > load.txt\n  \
                        benchwright ycsb convert load.txt load.keys"
)]
pub(super) struct Convert {
    /// The lines; a pipe is read as it comes
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The file of keys
    #[arg(value_name = "OUT")]
    output: PathBuf,
}

/// The bytes that are read at once.
const PIECE: usize = 1 << 20;
/// The interval at which it looks whether it was interrupted while no lines come.
const POLL_EVERY: Duration = Duration::from_millis(50);

pub(super) fn convert(arguments: &Convert) -> Result<Exit, Failure> {
    let Convert { input, output } = arguments;
    let of_input = |error| {
        Failure::question(format!(
            "{}: {error}; name a file with lines",
            results::regular::shown(input)
        ))
    };
    let lines = File::open(input).map_err(of_input)?;
    let place = output::check_place("OUT", output);
    place.map_err(|error| Failure::question(format!("{error:#}")))?;
    let mut file = Output { path: output, file: None };
    let stop = console::signals::interrupted();
    let pieces = pieces_of(lines)?;
    let mut keys = Keys::default();
    let mut found = Vec::new();
    loop {
        let is_over = match pieces.recv_timeout(POLL_EVERY) {
            Ok(Ok(piece)) if piece.is_empty() => {
                keys.end(&mut found);
                true
            }
            Ok(Ok(piece)) => {
                keys.read(&piece, &mut found);
                false
            }
            Ok(Err(error)) => return Err(of_input(error)),
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("the last piece is empty, or an error")
            }
        };
        file.write(&found)?;
        found.clear();
        if stop.load(Ordering::Relaxed) {
            file.end()?;
            output::error("interrupted: the file of keys ends early");
            return Ok(Exit::Interrupted);
        }
        if is_over {
            break;
        }
    }
    file.end()?;
    let skipped = format!("{} other lines", counted(keys.skipped()));
    let too_large = match keys.too_large() {
        0 => String::new(),
        lines => {
            format!(", {} lines with a number of 2^64 or more, which is not a key", counted(lines))
        }
    };
    if keys.found() == 0 {
        return Err(Failure::question(format!(
            "{} has no key: {skipped}{too_large}\n  name a file with lines of `benchwright ycsb load basic` or `run basic`",
            results::regular::shown(input)
        )));
    }
    output::result(&format!("{} keys, {skipped}{too_large}\n", counted(keys.found())))?;
    Ok(Exit::Answered)
}

/// Reads a file in a thread of its own, piece by piece: while a pipe has nothing, a signal is heard. The last piece is
/// empty.
fn pieces_of(mut file: File) -> Result<Receiver<io::Result<Vec<u8>>>, Failure> {
    let (sender, pieces) = mpsc::sync_channel(1);
    let read = move || {
        loop {
            let mut piece = vec![0; PIECE];
            let read = file.read(&mut piece).map(|count| {
                piece.truncate(count);
                piece
            });
            let has_more = read.as_ref().is_ok_and(|piece| !piece.is_empty());
            if sender.send(read).is_err() || !has_more {
                return;
            }
        }
    };
    let started = thread::Builder::new().name("lines".to_owned()).spawn(read);
    started.map_err(|error| Failure::no_thread(&error))?;
    Ok(pieces)
}

/// The file of keys, which is made with the first of them: lines without a key replace nothing.
struct Output<'a> {
    path: &'a Path,
    file: Option<BufWriter<Destination>>,
}

impl Output<'_> {
    fn write(&mut self, keys: &[u8]) -> Result<(), Failure> {
        let Output { path, file } = self;
        if keys.is_empty() {
            return Ok(());
        }
        let unwritten =
            |error: io::Error| Failure::unwritten(results::regular::shown(path), &error);
        let file = match file {
            Some(file) => file,
            none => {
                let created = output::create(path).map_err(unwritten)?;
                none.insert(BufWriter::with_capacity(PIECE, created))
            }
        };
        file.write_all(keys).map_err(unwritten)
    }

    fn end(&mut self) -> Result<(), Failure> {
        let ended = self.file.as_mut().map_or(Ok(()), Write::flush);
        ended.map_err(|error| Failure::unwritten(results::regular::shown(self.path), &error))
    }
}

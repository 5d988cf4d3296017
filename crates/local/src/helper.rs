//! A short program that the runner asks something: the generator's check of a load, a program's version. Whatever it
//! does, it ends within its time and at an interruption, with its group, and only the end of what it prints is kept.

use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use lab::backend::Stop;
use lab::{Host, host};
use measure::Nanos;
use nix::sys::signal::Signal;

use crate::output::LAST_WORDS;
use crate::process::{self, POLL_EVERY, Process};

#[cfg(test)]
mod tests;

/// The bytes that are kept of each of its streams: an error comes last.
const MOST: usize = 64 << 10;

/// The end of a program, and what it printed before.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

/// The reason why a program gave no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    NotStarted(anyhow::Error),
    /// It did not end in its time, and was killed.
    Late,
    Interrupted,
}

/// Runs a program to its end, in a process group of its own that ends with it.
pub(crate) fn ask(command: Command, longest: Nanos, host: &Host) -> Result<Answer, Unanswered> {
    let program = PathBuf::from(command.get_program());
    let mut process = process::spawn(command, Vec::new(), None)
        .map_err(|error| Unanswered::NotStarted(process::not_started(&program, &error)))?;
    let (stdout, stderr) = process.take_output();
    let (stdout, stderr) = (in_background(stdout), in_background(stderr));
    let ended = until_ended(&process, longest, host);
    process.signal(Signal::SIGKILL);
    process.reap();
    let read = |end: &Receiver<Vec<u8>>| end.recv_timeout(LAST_WORDS).unwrap_or_default();
    Ok(Answer { status: ended?, stdout: read(&stdout), stderr: read(&stderr) })
}

fn until_ended(process: &Process, longest: Nanos, host: &Host) -> Result<ExitStatus, Unanswered> {
    let deadline = host::now() + longest;
    loop {
        if let Some(status) = process.ended().ok().flatten() {
            return Ok(status);
        }
        if host.is_interrupted() {
            return Err(Unanswered::Interrupted);
        }
        if deadline <= host::now() {
            return Err(Unanswered::Late);
        }
        process.await_end(POLL_EVERY);
    }
}

fn in_background(stream: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, end) = mpsc::channel();
    thread::spawn(move || sender.send(last_bytes(stream)));
    end
}

/// Reads to the end, and returns the last bytes.
fn last_bytes(mut stream: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => kept.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        if 2 * MOST < kept.len() {
            kept.drain(..kept.len() - MOST);
        }
    }
    kept.drain(..kept.len().saturating_sub(MOST));
    kept
}

impl Unanswered {
    /// Returns the stop of a run that cannot go on without the answer; `late` tells why it is late.
    pub(crate) fn stop(self, late: impl FnOnce() -> Stop) -> Stop {
        match self {
            Unanswered::NotStarted(error) => Stop::NoAnswer(error),
            Unanswered::Late => late(),
            Unanswered::Interrupted => Stop::Interrupted,
        }
    }
}

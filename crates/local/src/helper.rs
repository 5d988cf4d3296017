//! A short program that the runner asks something: the generator's check of a load, a program's version, the helm of a
//! cluster. Whatever it does, it ends within its time and at an interruption, with its group, and only the end of what
//! it prints is kept.

use std::io::{self, ErrorKind, Read};
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use lab::backend::Stop;
use lab::{Host, host};
use measure::Nanos;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::output::LAST_WORDS;
use crate::process::{self, POLL_EVERY, Process};

#[cfg(test)]
mod tests;

/// The bytes that are kept of each stream of a program whose answer is short: an error comes last.
pub const MOST: usize = 64 << 10;

/// The signals for a program of the user after an interruption: Ctrl-C reaches it, too, and a run of ours ends its
/// components first.
const AFTER_INTERRUPTION: [(Nanos, Signal); 2] =
    [(Nanos::from_secs(2), Signal::SIGTERM), (Nanos::from_secs(30), Signal::SIGKILL)];

/// The bounds of a program.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The longest time until its end.
    pub longest: Nanos,
    /// The most bytes that are kept of each of its streams, which are the last.
    pub most: usize,
}

/// The end of a program, and what it printed before.
#[derive(Debug)]
pub struct Answer {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// The reason why a program gave no answer.
#[derive(Debug)]
pub enum Unanswered {
    /// The error is of the kind that the system gave, and a sentence.
    NotStarted(io::Error),
    /// It did not end in its time, and was killed.
    Late,
    Interrupted,
}

/// Runs a program with a short answer to its end.
pub(crate) fn ask(command: Command, longest: Nanos, host: &Host) -> Result<Answer, Unanswered> {
    ask_within(command, Bounds { longest, most: MOST }, &host.interrupted)
}

/// Runs a program to its end, in a process group of its own that ends with it.
pub fn ask_within(
    command: Command,
    bounds: Bounds,
    interrupted: &AtomicBool,
) -> Result<Answer, Unanswered> {
    let program = PathBuf::from(command.get_program());
    let mut process = process::spawn(command, Vec::new(), None).map_err(|error| {
        let why = process::not_started(&program, &error).to_string();
        Unanswered::NotStarted(io::Error::new(error.kind(), why))
    })?;
    let (stdout, stderr) = process.take_output();
    let most = bounds.most;
    let (stdout, stderr) = (in_background(stdout, most), in_background(stderr, most));
    let ended = until_ended(&process, bounds.longest, interrupted);
    process.signal(Signal::SIGKILL);
    process.reap();
    let read = |end: &Receiver<Vec<u8>>| end.recv_timeout(LAST_WORDS).unwrap_or_default();
    Ok(Answer { status: ended?, stdout: read(&stdout), stderr: read(&stderr) })
}

/// Runs a program of the user to its end, with our streams and in our process group, as it may ask at the terminal. At
/// an interruption it is signalled if it does not end by itself.
pub fn accompany(mut command: Command, interrupted: &AtomicBool) -> io::Result<ExitStatus> {
    let mut child = command.spawn()?;
    let mut signals = AFTER_INTERRUPTION.into_iter().peekable();
    let mut since = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if interrupted.load(Ordering::Relaxed) {
            let begun = *since.get_or_insert_with(host::now);
            if let Some((_, signal)) = signals.next_if(|(after, _)| begun + *after <= host::now()) {
                // It is not reaped yet, so the number is still its own.
                let _ = kill(Pid::from_raw(child.id() as i32), signal);
            }
        }
        host::rest(POLL_EVERY);
    }
}

fn until_ended(
    process: &Process,
    longest: Nanos,
    interrupted: &AtomicBool,
) -> Result<ExitStatus, Unanswered> {
    let deadline = host::now() + longest;
    loop {
        if let Some(status) = process.ended().ok().flatten() {
            return Ok(status);
        }
        if interrupted.load(Ordering::Relaxed) {
            return Err(Unanswered::Interrupted);
        }
        if deadline <= host::now() {
            return Err(Unanswered::Late);
        }
        process.await_end(POLL_EVERY);
    }
}

fn in_background(stream: impl Read + Send + 'static, most: usize) -> Receiver<Vec<u8>> {
    let (sender, end) = mpsc::channel();
    thread::spawn(move || sender.send(last_bytes(stream, most)));
    end
}

/// Reads to the end, and returns the last bytes.
fn last_bytes(mut stream: impl Read, most: usize) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => kept.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        if 2 * most < kept.len() {
            kept.drain(..kept.len() - most);
        }
    }
    kept.drain(..kept.len().saturating_sub(most));
    kept
}

impl Unanswered {
    /// Returns the stop of a run that cannot go on without the answer; `late` tells why it is late.
    pub(crate) fn stop(self, late: impl FnOnce() -> Stop) -> Stop {
        match self {
            Unanswered::NotStarted(error) => Stop::NoAnswer(error.into()),
            Unanswered::Late => late(),
            Unanswered::Interrupted => Stop::Interrupted,
        }
    }
}

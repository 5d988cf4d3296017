//! The output of the process: results on stdout, everything else on stderr, and the exit code.

use std::fmt;
use std::io::{self, IsTerminal, Write};

/// The exit code, which a shell can branch on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// Done, and the answer is yes.
    Answered = 0,
    /// Done, and the answer is no.
    No = 1,
    /// The arguments or the spec are wrong: nothing was sent.
    Question = 2,
    /// There is no trustworthy answer.
    NoAnswer = 3,
    /// Interrupted; what was finished is kept.
    Interrupted = 130,
}

/// The error of a command that has no result.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
}

impl Failure {
    pub(crate) fn question(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Question, error: anyhow::anyhow!("{message}") }
    }

    pub(crate) fn no_answer(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::NoAnswer, error: anyhow::anyhow!("{message}") }
    }
}

/// Writes the result. A closed pipe is not a failure.
pub(crate) fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::no_answer(format!("writing the result: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line for people.
pub(crate) fn error(line: &str) {
    // If this cannot be written either, the error cannot be reported.
    let _ = writeln!(io::stderr().lock(), "{line}");
}

/// Writes a line that the next one overwrites; only on a terminal.
pub(crate) fn transient(line: &str) {
    if is_terminal() {
        let _ = write!(io::stderr().lock(), "\r\x1b[K{line}");
    }
}

/// Removes the transient line.
pub(crate) fn clear() {
    transient("");
}

pub(crate) fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Returns a document as text.
pub(crate) fn json(document: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(document).expect("results are plain data");
    format!("{text}\n")
}

//! The output of the process: results on stdout, everything else on stderr, and the exit code.
//!
//! Texts may hold what a service, a script or somebody's results say. A terminal obeys control characters,
//! so none is printed as such.

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;
use results::regular;
use results::said::Said;

use crate::signals;

pub use look::{Mark, has_colours};
pub use stream::{Destination, Stream, create, replace};

mod look;
mod stream;
#[cfg(test)]
mod tests;

/// The exit code, which a shell can branch on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// Done, and the answer is yes.
    Answered = 0,
    /// Done, and the answer is no.
    No = 1,
    /// The arguments or the spec are wrong: nothing was sent.
    Question = 2,
    /// There is no trustworthy answer.
    NoAnswer = 3,
    /// Interrupted; what was finished is kept.
    Interrupted = signals::EXIT as isize,
}

/// The error of a command that has no result.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub error: anyhow::Error,
}

impl Failure {
    pub fn question(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::Question, error: anyhow::anyhow!("{message}") }
    }

    pub fn no_answer(message: impl fmt::Display) -> Failure {
        Failure { exit: Exit::NoAnswer, error: anyhow::anyhow!("{message}") }
    }

    /// Returns the failure with a further line.
    #[must_use]
    pub fn with(self, line: &str) -> Failure {
        Failure { error: anyhow::anyhow!("{:#}\n  {line}", self.error), ..self }
    }

    /// The failure of what could not be written.
    pub fn unwritten(what: impl fmt::Display, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::TimedOut {
            let error = anyhow::anyhow!("interrupted while nobody read {what}");
            return Failure { exit: Exit::Interrupted, error };
        }
        Failure::no_answer(format!("writing {what}: {}", regular::in_words(error)))
    }

    /// The failure of a server that could not be started, if it is that of its thread: no address is busy in this way.
    pub fn thread_of_server(error: &io::Error) -> Option<Failure> {
        (error.kind() == io::ErrorKind::WouldBlock).then(|| Failure::no_thread(error))
    }

    /// The failure of a thread that could not be started.
    pub fn no_thread(error: &io::Error) -> Failure {
        Failure::no_answer(format!("starting a thread: {error}; {MORE_THREADS}"))
    }
}

/// The remedy for a machine that allows no further thread.
const MORE_THREADS: &str =
    "raise the limit of processes (`ulimit -u`, or `pids.max` of the control group)";

/// Returns the failure of a file that an option names, and that was written as it came.
pub fn cut_off(option: &str, path: &Path, error: &io::Error) -> Failure {
    let failure = Failure::unwritten(format!("{option} {}", regular::shown(path)), error);
    match path.is_file() {
        true => failure.with("what was written before can be read"),
        false => failure,
    }
}

/// Writes the result. A closed pipe is not a failure.
pub fn result(text: &str) -> Result<(), Failure> {
    written(&harmless(text))
}

fn written(text: &str) -> Result<(), Failure> {
    match Stream::Stdout.write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::unwritten("the result", &error))
        }
        _ => Ok(()),
    }
}

/// Writes a result for people, in the width and with the colours of their terminal. `marks` are the words whose
/// lines are good or bad.
pub fn shown(text: &str, marks: &[(&str, Mark)]) -> Result<(), Failure> {
    written(&look::Look::of(Stream::Stdout).shown(&harmless(text), marks))
}

/// Writes a message for people, without the middle of lines that nobody could read.
pub fn error(message: &str) {
    let lines: Vec<Cow<'_, str>> = message.split('\n').map(readable).collect();
    to_stderr(&lines.join("\n"));
}

/// Writes a line for the program that started this one.
pub fn said(said: &Said) {
    to_stderr(&serde_json::to_string(said).expect("it is plain data"));
}

fn to_stderr(text: &str) {
    // If this cannot be written either, the error cannot be reported.
    let _ = Stream::Stderr.write_all(format!("{}\n", harmless(text)).as_bytes());
}

/// Returns a line without its middle if it has more than 2,000 bytes: it quotes a value of millions, as a
/// damaged file has. The place is at its beginning, and the remedy at its end.
fn readable(line: &str) -> Cow<'_, str> {
    const MOST: usize = 2000;
    const BEGINNING: usize = 1200;
    const END: usize = 600;
    if line.len() <= MOST {
        return Cow::Borrowed(line);
    }
    let beginning = &line[..line.floor_char_boundary(BEGINNING)];
    let end = &line[line.ceil_char_boundary(line.len() - END)..];
    let left_out = line.len() - beginning.len() - end.len();
    Cow::Owned(format!("{beginning} … ({left_out} bytes left out) … {end}"))
}

/// Writes a line that the next one overwrites; only on a terminal.
pub fn transient(line: &str) {
    if is_terminal() {
        let _ = Stream::Stderr.write_all(format!("\r\x1b[K{}", harmless(line)).as_bytes());
    }
}

/// Removes the transient line.
pub fn clear() {
    transient("");
}

/// True if stderr is a terminal that can do more than print lines.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal() && look::can_move(std::env::var_os("TERM"))
}

/// Refuses a file that an option names if it cannot be written, with the remedy: before work whose result would be
/// lost. It is the one check for every such option.
pub fn check_place(option: &str, path: &Path) -> anyhow::Result<()> {
    stream::check_place(path).with_context(|| format!("{option} {}", regular::shown(path)))
}

/// Returns a document as text.
pub fn json(document: &impl serde::Serialize) -> String {
    let text = serde_json::to_string_pretty(document).expect("results are plain data");
    format!("{text}\n")
}

/// Returns a text with control characters written out, as `\u001b`: so a JSON document stays one. Those that
/// change the direction of a text are among them. Ends of lines and tabs stay, and so do all texts without
/// others.
fn harmless(text: &str) -> Cow<'_, str> {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_kept = |c: char| !(c.is_control() || turns(c)) || matches!(c, '\n' | '\t');
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // Both of them end a line.
        match is_kept(c) || (c == '\r' && rest.peek() == Some(&'\n')) {
            true => harmless.push(c),
            false => harmless += &format!("\\u{:04x}", u32::from(c)),
        }
    }
    Cow::Owned(harmless)
}

/// Returns what a panic says, as the usual hook prints it: its message may quote what others say.
fn panicked(panic: &std::panic::PanicHookInfo<'_>) -> String {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or("<unnamed>");
    let place = panic.location().map_or(String::new(), |place| format!(" at {place}"));
    let text = panic.payload_as_str().unwrap_or("a value that is not a text");
    let trace = Backtrace::capture();
    let trace = match trace.status() {
        BacktraceStatus::Captured => format!("\n{trace}"),
        _ => String::new(),
    };
    format!("thread '{name}' panicked{place}:\n{text}{trace}")
}

/// Explains what a panic means to the user. Other threads, and what the caller holds, still end in order.
pub fn explain_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or_default();
        if text.starts_with("failed to spawn thread") {
            error(&format!("error: this machine allows no further thread; {MORE_THREADS}"));
        } else {
            error(&panicked(panic));
            error("error: this is a fault of benchwright; please report it with the lines above");
        }
    }));
}

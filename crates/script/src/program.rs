//! A script file: its text, its arguments, and the format of its errors.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mlua::chunk::ChunkMode;
use mlua::{Function, Lua, LuaOptions, StdLib};

use crate::outside::Outside;

#[cfg(test)]
mod tests;

/// A script that is valid Lua, with its arguments. It can be run on any thread, any number of
/// times.
#[derive(Clone, Debug)]
pub struct Program {
    path: PathBuf,
    source: Vec<u8>,
    arguments: Vec<String>,
    longest_call: Duration,
    /// The calls before and after the load, into any instance.
    outside: Arc<Outside>,
}

/// The reason why a file cannot be used as a script.
#[derive(Debug)]
pub enum Error {
    Read {
        path: PathBuf,
        cause: io::Error,
    },
    /// `file:line: message`.
    Syntax(String),
}

/// The longest time that one call into a script may take.
pub(crate) const LONGEST_CALL: Duration = Duration::from_secs(30);

/// The most bytes of a script.
const MOST: u64 = 16 << 20;

impl Program {
    /// Reads the script and checks its syntax; nothing in it runs.
    pub fn load(path: &Path, arguments: Vec<String>) -> Result<Program, Error> {
        Program::of(path, File::open(path), arguments)
    }

    /// Reads the script likewise from a file that was opened, or could not be.
    pub fn of(
        path: &Path,
        opened: io::Result<File>,
        arguments: Vec<String>,
    ) -> Result<Program, Error> {
        let mut source = Vec::new();
        let read = opened.and_then(|file| file.take(MOST + 1).read_to_end(&mut source));
        let read = read.and_then(|length| match length as u64 <= MOST {
            true => Ok(()),
            false => Err(io::Error::other("it is longer than 16 MiB")),
        });
        read.map_err(|cause| Error::Read { path: path.to_owned(), cause })?;
        Program::parse(path, source, arguments)
    }

    pub(crate) fn parse(
        path: &Path,
        source: Vec<u8>,
        arguments: Vec<String>,
    ) -> Result<Program, Error> {
        let (path, outside) = (path.to_owned(), Arc::default());
        let program = Program { path, source, arguments, longest_call: LONGEST_CALL, outside };
        program.check_syntax().map_err(|error| Error::Syntax(program.explain(&error, None)))?;
        Ok(program)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The arguments that `init` gets as `args[1]` and following.
    pub fn arguments(&self) -> &[String] {
        &self.arguments
    }

    /// Returns the longest time that one call into the script may take.
    pub(crate) fn longest_call(&self) -> Duration {
        self.longest_call
    }

    pub(crate) fn outside(&self) -> &Arc<Outside> {
        &self.outside
    }

    #[cfg(test)]
    pub(crate) fn with_longest_call(self, longest_call: Duration) -> Program {
        Program { longest_call, ..self }
    }

    fn check_syntax(&self) -> mlua::Result<()> {
        let lua = Lua::new_with(StdLib::NONE, LuaOptions::default())?;
        self.compile(&lua).map(drop)
    }

    pub(crate) fn compile(&self, lua: &Lua) -> mlua::Result<Function> {
        let name = format!("@{}", self.path.display());
        lua.load(self.source.as_slice()).set_name(name).set_mode(ChunkMode::Text).into_function()
    }

    /// Formats an error as `file:line: message`, with the parts that Lua's own message has. If
    /// neither the message nor the traceback names a line of the script, the line is `nearby`.
    pub(crate) fn explain(&self, error: &mlua::Error, nearby: Option<usize>) -> String {
        let path = self.path.display();
        let shortened = shorten(&path.to_string());
        let (message, traceback) = message_and_traceback(error);
        match message.strip_prefix(&shortened).filter(|rest| rest.starts_with(':')) {
            Some(line_and_message) => format!("{path}{line_and_message}"),
            None => {
                let line = line_of(&shortened, &traceback).or(nearby);
                self.tell(line, without_prelude(&message))
            }
        }
    }

    /// The message of an error, without its position.
    pub(crate) fn message(&self, error: &mlua::Error) -> String {
        message_and_traceback(error).0
    }

    /// True if this script may ever read `wrk.connection`.
    pub(crate) fn mentions_connection(&self) -> bool {
        const NAME: &[u8] = b"connection";
        self.source.windows(NAME.len()).any(|word| word == NAME)
    }

    /// Formats an error in the script, with its line if that is known.
    pub(crate) fn tell(&self, line: Option<usize>, what: &str) -> String {
        let path = self.path.display();
        line.map_or_else(|| format!("{path}: {what}"), |line| format!("{path}:{line}: {what}"))
    }
}

/// The most bytes of a file's name in Lua's own messages, its `LUA_IDSIZE` with the final zero.
const NAME_BYTES: usize = 60;
const ELLIPSIS: &str = "...";

/// Shortens a path as Lua does, which keeps only its end: we find the short form and replace it.
fn shorten(path: &str) -> String {
    if path.len() < NAME_BYTES {
        return path.to_owned();
    }
    let kept = NAME_BYTES - 1 - ELLIPSIS.len();
    let end = &path.as_bytes()[path.len() - kept..];
    format!("{ELLIPSIS}{}", String::from_utf8_lossy(end))
}

/// Removes the position of a line in our prelude, which does not help the user.
fn without_prelude(message: &str) -> &str {
    let place = message.strip_prefix("prelude.lua:").and_then(|rest| rest.split_once(": "));
    place.map_or(message, |(_, what)| what)
}

fn message_and_traceback(error: &mlua::Error) -> (String, String) {
    let text = match error {
        mlua::Error::SyntaxError { message, .. } => message.clone(),
        mlua::Error::RuntimeError(text) => text.clone(),
        mlua::Error::CallbackError { traceback, cause } => {
            return (message_and_traceback(cause).0, traceback.clone());
        }
        other => other.to_string(),
    };
    match text.split_once("\nstack traceback:") {
        Some((message, traceback)) => (message.to_owned(), traceback.to_owned()),
        None => (text, String::new()),
    }
}

/// The innermost line of the script in a traceback, for errors raised in functions that it called.
fn line_of(name: &str, traceback: &str) -> Option<usize> {
    traceback.lines().find_map(|frame| {
        let (line, _) =
            frame.trim_start().strip_prefix(name)?.strip_prefix(':')?.split_once(':')?;
        line.parse().ok()
    })
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read { path, cause } => {
                write!(f, "{}: the script cannot be read: {cause}", path.display())
            }
            Error::Syntax(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

//! Errors in a text, and in a file with their location.

use std::fmt;

/// The location of an error in a file, the error and its remedy.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Error {
    pub file: String,
    /// The line number, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    pub what: String,
}

/// An error in a text, with its offset in bytes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Wrong {
    pub(crate) at: usize,
    pub(crate) what: String,
}

impl Error {
    /// Creates an error at `offset` bytes from the beginning of `text`, which begins on line
    /// `first`.
    pub(crate) fn new(
        file: &str,
        (first, text): (usize, &str),
        offset: usize,
        what: impl Into<String>,
    ) -> Error {
        // An offset from elsewhere, such as a parser's, may lie inside a character.
        let before = &text.as_bytes()[..offset.min(text.len())];
        let begin = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        Error {
            file: file.to_owned(),
            line: first + before.iter().filter(|&&byte| byte == b'\n').count(),
            column: String::from_utf8_lossy(&before[begin..]).chars().count() + 1,
            what: what.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { file, line, column, what } = self;
        write!(f, "{file}:{line}:{column}: {what}")
    }
}

impl std::error::Error for Error {}

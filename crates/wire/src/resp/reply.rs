//! A reply that was checked.

use memchr::memchr;

use super::decoder::{length, number};
use super::{MOST_ELEMENTS, MOST_STRING_BYTES};

/// One value of a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Value<'a> {
    Status(&'a [u8]),
    /// An error, with its first word.
    Error(&'a [u8]),
    Integer(i64),
    String(&'a [u8]),
    /// A string or an array that is not there.
    Null,
    Array(Elements<'a>),
}

/// The values of an array.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Elements<'a> {
    bytes: &'a [u8],
    left: usize,
}

impl<'a> Value<'a> {
    /// Reads a reply that was checked as a whole.
    pub(super) fn of_checked(mut bytes: &'a [u8]) -> Value<'a> {
        take(&mut bytes)
    }

    /// Returns the error that the value is, or that is directly in it: a transaction may fail in a
    /// part.
    pub fn error(&self) -> Option<&'a [u8]> {
        match *self {
            Value::Error(text) => Some(text),
            Value::Array(mut elements) => elements.find_map(|element| match element {
                Value::Error(text) => Some(text),
                _ => None,
            }),
            _ => None,
        }
    }
}

impl Elements<'_> {
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    fn next(&mut self) -> Option<Value<'a>> {
        self.left = self.left.checked_sub(1)?;
        Some(take(&mut self.bytes))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Elements<'_> {}

/// Takes a value off bytes that were checked.
fn take<'a>(bytes: &mut &'a [u8]) -> Value<'a> {
    const CHECKED: &str = "the reply was checked";
    let (first, rest) = bytes.split_first().expect(CHECKED);
    let end = memchr(b'\r', rest).expect(CHECKED);
    let (line, rest) = (&rest[..end], &rest[end + 2..]);
    *bytes = rest;
    match first {
        b'+' => Value::Status(line),
        b'-' => Value::Error(line),
        b':' => Value::Integer(number(line).expect(CHECKED)),
        b'$' => match length(line, MOST_STRING_BYTES).expect(CHECKED) {
            None => Value::Null,
            Some(length) => {
                *bytes = &rest[length + 2..];
                Value::String(&rest[..length])
            }
        },
        _ => match length(line, MOST_ELEMENTS).expect(CHECKED) {
            None => Value::Null,
            Some(left) => {
                let elements = Elements { bytes: rest, left };
                // Behind its elements.
                elements.skip_all(bytes);
                Value::Array(elements)
            }
        },
    }
}

impl<'a> Elements<'a> {
    /// Moves `bytes`, which begin with these elements, behind them.
    fn skip_all(&self, bytes: &mut &'a [u8]) {
        for _ in 0..self.left {
            take(bytes);
        }
    }
}

/// The first words of errors that have a name here, so that they can be counted without allocating.
const WORDS: [&str; 24] = [
    "ASK",
    "BUSY",
    "BUSYGROUP",
    "BUSYKEY",
    "CLUSTERDOWN",
    "CROSSSLOT",
    "DENIED",
    "ERR",
    "EXECABORT",
    "LOADING",
    "MASTERDOWN",
    "MISCONF",
    "MOVED",
    "NOAUTH",
    "NOGOODSLAVE",
    "NOPERM",
    "NOPROTO",
    "NOREPLICAS",
    "NOSCRIPT",
    "OOM",
    "READONLY",
    "TRYAGAIN",
    "WRONGPASS",
    "WRONGTYPE",
];

/// The beginnings of errors whose first word says nothing.
const BEGINNINGS: [&str; 15] = [
    "ERR AUTH <password> called without any password configured",
    "ERR Client sent AUTH, but no password is set",
    "ERR DB index is out of range",
    "ERR Protocol error",
    "ERR SELECT is not allowed in cluster mode",
    "ERR This instance has cluster support disabled",
    "ERR invalid password",
    "ERR max number of clients",
    "ERR operation not permitted",
    "ERR string exceeds maximum allowed size",
    "ERR syntax error",
    "ERR unknown command",
    "ERR value is not a valid float",
    "ERR value is not an integer or out of range",
    "ERR wrong number of arguments",
];

/// Returns the beginning of an error, as far as it is known: usually its first word; `other` if nothing of it is. What a
/// server adds may be the words of a command, and so a password.
pub fn known_error(error: &[u8]) -> &'static str {
    if let Some(known) = BEGINNINGS.into_iter().find(|known| error.starts_with(known.as_bytes())) {
        return known;
    }
    let word = error.split(|byte| *byte == b' ').next().unwrap_or_default();
    WORDS.into_iter().find(|known| known.as_bytes() == word).unwrap_or("other")
}

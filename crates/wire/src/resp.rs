//! The protocol of Redis (RESP, version 2), the client's side: commands out, replies in.
//!
//! A reply is checked as a whole before it is an event: its reader never meets a length, a number or a
//! line end that is not valid. Nothing is allocated by a length that the peer announces; only bytes that
//! have arrived are kept.

mod commands;
mod decoder;
mod reply;
#[cfg(test)]
mod tests;

pub use commands::{Commands, decimal};
pub use decoder::Decoder;
pub use reply::{Elements, Value, known_error};

/// The longest line: a status, an error, a number or a length.
pub const MOST_LINE_BYTES: usize = 64 * 1024;
/// The longest string of a reply.
pub const MOST_STRING_BYTES: usize = 64 << 20;
/// The longest reply, with all that is in it.
pub const MOST_REPLY_BYTES: usize = 128 << 20;
/// The most elements of one array.
pub const MOST_ELEMENTS: usize = 1 << 20;
/// The most arrays that may be open inside one another.
pub const MOST_DEPTH: usize = 8;

/// The reason why bytes are not a reply.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Malformed {
    /// The first byte of a value is not that of a type.
    Type,
    /// A line is too long, or does not end in CR LF.
    Line,
    /// A number is not one.
    Number,
    /// A length is negative or too large.
    Length,
    /// A string does not end in CR LF.
    End,
    /// Too many arrays are open inside one another.
    Depth,
    /// The reply as a whole is too long.
    Size,
}

impl Malformed {
    pub fn as_str(self) -> &'static str {
        match self {
            Malformed::Type => "a reply of an unknown type",
            Malformed::Line => "a line of a reply is too long, or does not end in CR LF",
            Malformed::Number => "a reply with a number that is not valid",
            Malformed::Length => "a reply with a length that is not valid",
            Malformed::End => "a string of a reply does not end in CR LF",
            Malformed::Depth => "a reply with too many arrays inside one another",
            Malformed::Size => "a reply is too long",
        }
    }
}

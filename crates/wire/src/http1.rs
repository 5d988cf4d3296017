//! HTTP/1.1 (RFC 9112), both sides: requests and responses, headers and bodies.

mod block;
mod body;
mod check;
mod request;
mod response;
#[cfg(test)]
mod tests;

use std::fmt;

pub use check::{
    asks_to_close, bad_in_target, bad_in_value, check_field, check_fields, check_method,
    check_name, check_request, check_target, says_close,
};
pub use request::{Request, RequestDecoder, RequestEvent, encode_request};
pub use response::{
    Ended, Expect, Response, ResponseDecoder, ResponseEvent, encode_response, fields,
};

/// The longest header block, in bytes.
pub const MOST_HEAD_BYTES: usize = 64 * 1024;
/// The most header fields of one message.
pub const MOST_FIELDS: usize = 256;
/// The longest line that announces a chunk.
pub const MOST_CHUNK_LINE_BYTES: usize = 4 * 1024;
/// The most interim responses (1xx) to one request.
pub const MOST_INTERIM: usize = 64;
/// The longest trailer section.
pub const MOST_TRAILER_BYTES: usize = 16 * 1024;

/// The use of the connection after this message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum After {
    KeepAlive,
    Close,
}

/// The reason why bytes are not an HTTP/1.1 message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Malformed {
    /// It is a record of TLS.
    Tls,
    /// The header block cannot be parsed.
    Head,
    /// The header block or its number of fields exceeds the bound.
    HeadTooLong,
    /// `Content-Length` is not a number, too large, or given twice with different values.
    ContentLength,
    /// `Content-Length` stands beside `Transfer-Encoding`. A reader that believes the one finds another body
    /// than a reader that believes the other, so no figure of the response means the same to both.
    TwoFramings,
    /// A chunk's size line cannot be parsed, or is too long.
    Chunk,
    /// The trailer section exceeds the bound.
    TrailersTooLong,
    /// There are more interim responses than the bound allows.
    Interim,
    /// The status is 101, but we never request an upgrade.
    Upgrade,
}

impl Malformed {
    pub fn as_str(self) -> &'static str {
        match self {
            Malformed::Tls => "it speaks TLS; load it as https://",
            Malformed::Head => "malformed header block",
            Malformed::HeadTooLong => "header block too long: over 64 KiB, or over 256 fields",
            Malformed::ContentLength => "malformed Content-Length",
            Malformed::TwoFramings => "Content-Length beside Transfer-Encoding",
            Malformed::Chunk => "malformed chunk, or its line is over 4 KiB",
            Malformed::TrailersTooLong => "trailers too long: over 16 KiB",
            Malformed::Interim => "too many interim responses (1xx): over 64",
            Malformed::Upgrade => "status 101 without a requested upgrade",
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::error::Error for Malformed {}

//! The framing of a message's body: its length, and the search for its end.

use super::{MOST_CHUNK_LINE_BYTES, MOST_TRAILER_BYTES, Malformed};

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Body {
    /// The message is complete.
    Done,
    /// This many bytes are still to come.
    Counted(u64),
    Chunked(Chunk),
    /// The body lasts until the peer closes.
    UntilClose,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Chunk {
    /// In the hexadecimal size: its value, and the number of digits and bytes so far.
    Size {
        size: u64,
        digits: usize,
        seen: usize,
    },
    /// After the size, in an extension or before the line feed.
    Extension {
        size: u64,
        seen: usize,
    },
    Data(u64),
    /// Between a chunk's data and the next size line.
    AfterData,
    /// In the trailers: the number of bytes so far, and whether the line is not empty.
    Trailers {
        seen: usize,
        line: bool,
    },
}

impl Chunk {
    pub(super) const FIRST: Chunk = Chunk::Size { size: 0, digits: 0, seen: 0 };
}

impl Body {
    /// Takes the next piece of the body off `bytes`; `None` if more must arrive or it is complete.
    pub(super) fn next<'a>(&mut self, bytes: &mut &'a [u8]) -> Result<Option<&'a [u8]>, Malformed> {
        match self {
            Body::Done => Ok(None),
            Body::Counted(left) => {
                let piece = take(bytes, *left);
                *left -= piece.len() as u64;
                if *left == 0 {
                    *self = Body::Done;
                }
                Ok(Some(piece).filter(|piece| !piece.is_empty()))
            }
            Body::UntilClose => {
                let piece = take(bytes, u64::MAX);
                Ok(Some(piece).filter(|piece| !piece.is_empty()))
            }
            Body::Chunked(chunk) => {
                while let Some(&byte) = bytes.first() {
                    if let Chunk::Data(left) = chunk {
                        let piece = take(bytes, *left);
                        *left -= piece.len() as u64;
                        if *left == 0 {
                            *chunk = Chunk::AfterData;
                        }
                        return Ok(Some(piece));
                    }
                    *bytes = &bytes[1..];
                    match chunk.step(byte)? {
                        Some(next) => *chunk = next,
                        None => {
                            *self = Body::Done;
                            return Ok(None);
                        }
                    }
                }
                Ok(None)
            }
        }
    }
}

impl Chunk {
    /// Handles one byte outside chunk data; `None` when the body is complete.
    fn step(self, byte: u8) -> Result<Option<Chunk>, Malformed> {
        Ok(Some(match self {
            Chunk::Size { size, digits, seen } => match byte {
                _ if MOST_CHUNK_LINE_BYTES <= seen => return Err(Malformed::Chunk),
                b'\n' if 0 < digits => Chunk::after_line(size),
                b'\r' | b';' | b' ' | b'\t' if 0 < digits => {
                    Chunk::Extension { size, seen: seen + 1 }
                }
                _ => {
                    let digit = char::from(byte).to_digit(16).ok_or(Malformed::Chunk)?;
                    let size = size.checked_mul(16).ok_or(Malformed::Chunk)? + u64::from(digit);
                    Chunk::Size { size, digits: digits + 1, seen: seen + 1 }
                }
            },
            Chunk::Extension { size, seen } => match byte {
                b'\n' => Chunk::after_line(size),
                _ if MOST_CHUNK_LINE_BYTES <= seen => return Err(Malformed::Chunk),
                _ => Chunk::Extension { size, seen: seen + 1 },
            },
            Chunk::Data(_) => unreachable!("data is taken in pieces, not in bytes"),
            Chunk::AfterData => match byte {
                b'\r' => Chunk::AfterData,
                b'\n' => Chunk::FIRST,
                _ => return Err(Malformed::Chunk),
            },
            Chunk::Trailers { seen, line } => match byte {
                _ if MOST_TRAILER_BYTES <= seen => return Err(Malformed::TrailersTooLong),
                b'\n' if !line => return Ok(None),
                b'\n' => Chunk::Trailers { seen: seen + 1, line: false },
                b'\r' => Chunk::Trailers { seen: seen + 1, line },
                _ => Chunk::Trailers { seen: seen + 1, line: true },
            },
        }))
    }

    fn after_line(size: u64) -> Chunk {
        match size {
            0 => Chunk::Trailers { seen: 0, line: false },
            _ => Chunk::Data(size),
        }
    }
}

/// The header fields about the body and the connection, collected field by field.
#[derive(Debug, Default)]
pub(super) struct Framing {
    pub(super) length: Option<u64>,
    pub(super) coding: Coding,
    pub(super) close: bool,
    pub(super) keep_alive: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Coding {
    #[default]
    None,
    /// `chunked` is the last transfer coding.
    Chunked,
    /// Another coding is the last one: the body ends with the connection.
    Other,
}

impl Framing {
    pub(super) fn of(fields: &[httparse::Header<'_>]) -> Result<Framing, Malformed> {
        let mut framing = Framing::default();
        for field in fields {
            // Comparing lengths first excludes most fields cheaply.
            match field.name.len() {
                14 if field.name.eq_ignore_ascii_case("content-length") => {
                    framing.add_length(field.value)?;
                }
                17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                    for token in tokens(field.value) {
                        let chunked = token.eq_ignore_ascii_case(b"chunked");
                        framing.coding = if chunked { Coding::Chunked } else { Coding::Other };
                    }
                }
                10 if field.name.eq_ignore_ascii_case("connection") => {
                    for token in tokens(field.value) {
                        framing.close |= token.eq_ignore_ascii_case(b"close");
                        framing.keep_alive |= token.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                _ => {}
            }
        }
        Ok(framing)
    }

    /// Adds a length. Equal repetitions are allowed, in one field or in several (RFC 9112 §6.3).
    fn add_length(&mut self, value: &[u8]) -> Result<(), Malformed> {
        for token in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let digits = !token.is_empty() && token.iter().all(u8::is_ascii_digit);
            let length = std::str::from_utf8(token)
                .ok()
                .filter(|_| digits)
                .and_then(|text| text.parse().ok())
                .ok_or(Malformed::ContentLength)?;
            if self.length.is_some_and(|known| known != length) {
                return Err(Malformed::ContentLength);
            }
            self.length = Some(length);
        }
        Ok(())
    }
}

pub(super) fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

fn take<'a>(bytes: &mut &'a [u8], most: u64) -> &'a [u8] {
    let length = usize::try_from(most).unwrap_or(usize::MAX).min(bytes.len());
    let (piece, rest) = bytes.split_at(length);
    *bytes = rest;
    piece
}

//! Frames about a session or a connection: DURABLE, WRONG_VIEW, ERROR, OPERATE, REPORT.

use super::bytes::{numbers, pad, put_numbers, u16_at, u32_at, u64_at};
use super::greeting::{Owners, Range};
use super::{
    Checksums, Code, HEADER_BYTES, Header, Kind, MOST_EXCEPTED, MOST_TEXT_BYTES, Malformed, Opening,
};

/// A list of serials.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Serials<'a>(&'a [u8]);

impl<'a> Serials<'a> {
    pub(super) fn of(column: &'a [u8]) -> Serials<'a> {
        Serials(column)
    }

    pub fn serials(self) -> impl ExactSizeIterator<Item = u64> + Clone + 'a {
        numbers(self.0)
    }
}

/// The durable operations of a session.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Durable<'a> {
    /// All serials up to this one are durable, but the excepted ones.
    pub through: u64,
    pub except: Serials<'a>,
}

impl<'a> Durable<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<Durable<'a>, Malformed> {
        if MOST_EXCEPTED < header.count {
            return Err(Malformed::at(Code::Count, 12));
        }
        if body.len() != 8 + 8 * header.count {
            return Err(Malformed::at(Code::Length, 4));
        }
        Ok(Durable { through: u64_at(body, 0), except: Serials::of(&body[8..]) })
    }
}

/// Appends a DURABLE.
pub fn encode_durable(through: u64, except: &[u64], checksums: Checksums, out: &mut Vec<u8>) {
    let frame = Opening::begin(Kind::Durable, 0, 0, checksums, out);
    put_numbers(&[through], out);
    put_numbers(except, out);
    frame.finish(except.len(), out);
}

/// Reads the map of a WRONG_VIEW.
pub(super) fn read_wrong_view(header: Header, body: &[u8]) -> Result<Owners<'_>, Malformed> {
    if body.len() != 8 * header.count {
        return Err(Malformed::at(Code::Length, 4));
    }
    Owners::read(body, HEADER_BYTES)
}

/// Appends a WRONG_VIEW: the current view and map, and the serial of the batch that was not executed.
pub fn encode_wrong_view(
    view: u32,
    serial: u64,
    owners: &[Range],
    checksums: Checksums,
    out: &mut Vec<u8>,
) {
    let frame = Opening::begin(Kind::WrongView, view, serial, checksums, out);
    owners.iter().for_each(|range| range.put(out));
    frame.finish(owners.len(), out);
}

/// The last frame of a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Error<'a> {
    pub code: Code,
    /// The place in the frame that was refused; 0 if there is none.
    pub offset: u32,
    pub text: &'a str,
}

impl<'a> Error<'a> {
    pub(super) fn read(header: Header, body: &'a [u8]) -> Result<Error<'a>, Malformed> {
        header.expect_count(0)?;
        if body.len() < 8 {
            return Err(Malformed::at(Code::Length, 4));
        }
        let length = usize::from(u16_at(body, 2));
        if MOST_TEXT_BYTES < length {
            return Err(Malformed::at(Code::Field, HEADER_BYTES + 2));
        }
        let text = read_text(&body[8..], length, HEADER_BYTES + 8)?;
        Ok(Error { code: Code::of(u16_at(body, 0)), offset: u32_at(body, 4), text })
    }
}

/// Appends an ERROR. A longer text is cut.
pub fn encode_error(code: Code, offset: u32, text: &str, checksums: Checksums, out: &mut Vec<u8>) {
    let text = &text[..text.floor_char_boundary(MOST_TEXT_BYTES)];
    let frame = Opening::begin(Kind::Error, 0, 0, checksums, out);
    out.extend_from_slice(&(code as u16).to_le_bytes());
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(text.as_bytes());
    pad(text.len(), out);
    frame.finish(0, out);
}

/// A request of an operator, in OPERATE.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
#[repr(u32)]
pub enum Verb {
    Stats = 1,
    Checkpoint = 2,
    Compact = 3,
    Grow = 4,
}

impl Verb {
    const ALL: [Verb; 4] = [Verb::Stats, Verb::Checkpoint, Verb::Compact, Verb::Grow];

    pub(super) fn read(header: Header, body: &[u8]) -> Result<Verb, Malformed> {
        header.expect_count(0)?;
        if body.len() != 8 {
            return Err(Malformed::at(Code::Length, 4));
        }
        if u32_at(body, 4) != 0 {
            return Err(Malformed::at(Code::Padding, HEADER_BYTES + 4));
        }
        let verb = Verb::ALL.into_iter().find(|verb| *verb as u32 == u32_at(body, 0));
        verb.ok_or(Malformed::at(Code::Field, HEADER_BYTES))
    }
}

/// Appends an OPERATE.
pub fn encode_operate(verb: Verb, checksums: Checksums, out: &mut Vec<u8>) {
    let frame = Opening::begin(Kind::Operate, 0, 0, checksums, out);
    out.extend_from_slice(&(verb as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    frame.finish(0, out);
}

/// Reads the text of a REPORT.
pub(super) fn read_report(header: Header, body: &[u8]) -> Result<&str, Malformed> {
    header.expect_count(0)?;
    if body.len() < 8 {
        return Err(Malformed::at(Code::Length, 4));
    }
    if u32_at(body, 4) != 0 {
        return Err(Malformed::at(Code::Padding, HEADER_BYTES + 4));
    }
    read_text(&body[8..], u32_at(body, 0) as usize, HEADER_BYTES + 8)
}

/// Appends a REPORT: the answer to an OPERATE, a JSON document.
pub fn encode_report(text: &str, checksums: Checksums, out: &mut Vec<u8>) {
    let frame = Opening::begin(Kind::Report, 0, 0, checksums, out);
    out.extend_from_slice(&(text.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(text.as_bytes());
    pad(text.len(), out);
    frame.finish(0, out);
}

/// Returns a text and checks that only its padding follows. It begins at this byte of its frame.
fn read_text(bytes: &[u8], length: usize, start: usize) -> Result<&str, Malformed> {
    let is_whole = length <= bytes.len() && bytes.len() - length < 8;
    if !is_whole {
        return Err(Malformed::at(Code::Length, 4));
    }
    let (text, padding) = bytes.split_at(length);
    if padding.iter().any(|byte| *byte != 0) {
        return Err(Malformed::at(Code::Padding, start + length));
    }
    std::str::from_utf8(text).map_err(|_| Malformed::at(Code::Field, start))
}

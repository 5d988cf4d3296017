//! Replies from any slicing of a connection's bytes.

use memchr::memchr;

use super::{
    MOST_DEPTH, MOST_ELEMENTS, MOST_LINE_BYTES, MOST_REPLY_BYTES, MOST_STRING_BYTES, Malformed,
    Value,
};

/// The largest buffer that is kept for the next reply.
const MOST_KEPT: usize = 64 * 1024;

/// Decodes a connection's replies. A reply that arrives in one piece is not copied; the pieces of
/// another one are kept as they arrive.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a reply.
    pieces: Vec<u8>,
    /// The reply in `pieces` was returned: it goes with the next call.
    is_returned: bool,
    scan: Scan,
    /// Nothing can be decoded after bytes that are not a reply.
    malformed: Option<Malformed>,
}

impl Decoder {
    /// Takes the next reply off `bytes`; `None` when more bytes are needed.
    ///
    /// # Errors
    ///
    /// The bytes are not a reply. Every further call returns the same.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Value<'a>>, Malformed> {
        self.forget_returned();
        if let Some(malformed) = self.malformed {
            return Err(malformed);
        }
        let is_whole = self.pieces.is_empty();
        if !is_whole {
            self.pieces.extend_from_slice(bytes);
        }
        let scanned: &[u8] = if is_whole { bytes } else { &self.pieces };
        let end = match self.scan.go_on(scanned) {
            Ok(end) => end,
            Err(malformed) => {
                self.malformed = Some(malformed);
                return Err(malformed);
            }
        };
        match (end, is_whole) {
            (None, true) => {
                self.pieces.extend_from_slice(bytes);
                *bytes = &[];
                Ok(None)
            }
            (None, false) => {
                *bytes = &[];
                Ok(None)
            }
            (Some(end), true) => {
                let (reply, rest) = bytes.split_at(end);
                *bytes = rest;
                self.scan = Scan::default();
                Ok(Some(Value::of_checked(reply)))
            }
            (Some(end), false) => {
                *bytes = &bytes[bytes.len() - (self.pieces.len() - end)..];
                self.pieces.truncate(end);
                self.is_returned = true;
                self.scan = Scan::default();
                Ok(Some(Value::of_checked(&self.pieces)))
            }
        }
    }

    /// True if a reply has begun that is not complete.
    pub fn is_within_reply(&self) -> bool {
        !self.is_returned && !self.pieces.is_empty()
    }

    /// The bytes of memory that it holds.
    pub fn held(&self) -> usize {
        self.pieces.capacity()
    }

    fn forget_returned(&mut self) {
        if std::mem::take(&mut self.is_returned) {
            self.pieces.clear();
            if MOST_KEPT < self.pieces.capacity() {
                self.pieces = Vec::new();
            }
        }
    }
}

/// The search for the end of a reply, which goes on where it stopped.
#[derive(Debug, Default)]
struct Scan {
    /// The beginning of the value that is not complete.
    at: usize,
    /// The bytes behind it in which its line does not end.
    searched: usize,
    /// The elements that each open array still needs.
    open: [usize; MOST_DEPTH],
    depth: usize,
}

impl Scan {
    /// Returns the end of the reply that `bytes` begin with, if it is there.
    fn go_on(&mut self, bytes: &[u8]) -> Result<Option<usize>, Malformed> {
        loop {
            if MOST_REPLY_BYTES < self.at {
                return Err(Malformed::Size);
            }
            let Some(&first) = bytes.get(self.at) else { return Ok(None) };
            if !matches!(first, b'+' | b'-' | b':' | b'$' | b'*') {
                return Err(Malformed::Type);
            }
            let Some(line) = self.line(bytes)? else { return Ok(None) };
            let behind = self.at + 1 + line.len() + 2;
            let (end, elements) = match first {
                b':' => {
                    number(line)?;
                    (behind, 0)
                }
                b'$' => match length(line, MOST_STRING_BYTES)? {
                    None => (behind, 0),
                    Some(length) => {
                        let end = behind + length;
                        match bytes.get(end..end + 2) {
                            None => return Ok(None),
                            Some(b"\r\n") => (end + 2, 0),
                            Some(_) => return Err(Malformed::End),
                        }
                    }
                },
                b'*' => (behind, length(line, MOST_ELEMENTS)?.unwrap_or(0)),
                _ => (behind, 0),
            };
            (self.at, self.searched) = (end, 0);
            if 0 < elements {
                let open = self.open.get_mut(self.depth).ok_or(Malformed::Depth)?;
                (*open, self.depth) = (elements, self.depth + 1);
                continue;
            }
            // A value has ended, and with it every array whose last element it is.
            while let Some(within) = self.depth.checked_sub(1) {
                self.open[within] -= 1;
                if 0 < self.open[within] {
                    break;
                }
                self.depth = within;
            }
            if self.depth == 0 {
                return Ok(Some(self.at));
            }
        }
    }

    /// Returns the line behind the first byte of the value, without its end.
    fn line<'b>(&mut self, bytes: &'b [u8]) -> Result<Option<&'b [u8]>, Malformed> {
        let begin = self.at + 1;
        let rest = &bytes[begin..];
        let window = &rest[..rest.len().min(MOST_LINE_BYTES + 2)];
        let Some(found) = memchr(b'\n', &window[self.searched..]) else {
            if window.len() == MOST_LINE_BYTES + 2 {
                return Err(Malformed::Line);
            }
            self.searched = window.len();
            return Ok(None);
        };
        match window[..self.searched + found].split_last() {
            Some((b'\r', line)) if !line.contains(&b'\r') => Ok(Some(line)),
            _ => Err(Malformed::Line),
        }
    }
}

/// Reads the number of a line: a sign at most, and digits.
pub(super) fn number(line: &[u8]) -> Result<i64, Malformed> {
    let digits = line.strip_prefix(b"-").unwrap_or(line);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Malformed::Number);
    }
    let text = std::str::from_utf8(line).map_err(|_| Malformed::Number)?;
    text.parse().map_err(|_| Malformed::Number)
}

/// Reads a length; -1 is that of nothing.
pub(super) fn length(line: &[u8], most: usize) -> Result<Option<usize>, Malformed> {
    match number(line)? {
        -1 => Ok(None),
        length => match usize::try_from(length) {
            Ok(length) if length <= most => Ok(Some(length)),
            _ => Err(Malformed::Length),
        },
    }
}

//! Collects a header block from slices, and copies only if a slice ends inside the block.

use super::{MOST_HEAD_BYTES, Malformed};

/// The largest buffer that is kept for the connection's next message; a larger one is freed.
const MOST_KEPT: usize = 1024;

#[derive(Debug, Default)]
pub(super) struct Block {
    /// The beginning of a block whose end has not arrived yet, or the block that was taken last if
    /// it came in several slices; otherwise empty.
    begun: Vec<u8>,
    taken: bool,
    /// True if a line of the block so far is continued by the next one.
    folded: bool,
}

impl Block {
    pub(super) fn is_begun(&self) -> bool {
        !self.taken && !self.begun.is_empty()
    }

    /// Ends the message whose block was taken last.
    pub(super) fn end(&mut self) {
        if self.taken && MOST_KEPT < self.begun.capacity() {
            *self = Block::default();
        }
    }

    /// The number of bytes that are kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.begun.capacity()
    }

    /// As [`Block::take`]; lines that are continued by the next one are joined with spaces, as RFC
    /// 9112 §5.2 asks of a user agent.
    pub(super) fn take_unfolded<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<&'a [u8]>, Malformed> {
        let before = *bytes;
        let is_whole = self.taken || self.begun.is_empty();
        match self.take(bytes)?.map(<[u8]>::len) {
            None => Ok(None),
            Some(length) if is_whole && !self.folded => Ok(Some(&before[..length])),
            Some(length) => {
                if is_whole {
                    self.begun.extend_from_slice(&before[..length]);
                    self.taken = true;
                }
                if self.folded {
                    unfold(&mut self.begun[..length]);
                }
                Ok(Some(&self.begun[..length]))
            }
        }
    }

    /// Takes a whole header block off `bytes`; `None` if its end has not arrived, in which case all
    /// of `bytes` is kept.
    pub(super) fn take<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<&'a [u8]>, Malformed> {
        if std::mem::take(&mut self.taken) {
            self.begun.clear();
        }
        if self.begun.is_empty() {
            self.folded = false;
            return match end_of_block(bytes, 0, &mut self.folded) {
                Some(end) if MOST_HEAD_BYTES < end => Err(Malformed::HeadTooLong),
                Some(end) => {
                    let (block, rest) = bytes.split_at(end);
                    *bytes = rest;
                    Ok(Some(block))
                }
                None => self.keep(bytes),
            };
        }
        // The end of the block may begin up to three bytes before this slice.
        let seen = self.begun.len();
        let room = MOST_HEAD_BYTES + 4 - seen;
        self.begun.extend_from_slice(&bytes[..bytes.len().min(room)]);
        match end_of_block(&self.begun, seen.saturating_sub(3), &mut self.folded) {
            Some(end) if MOST_HEAD_BYTES < end => Err(Malformed::HeadTooLong),
            Some(end) => {
                *bytes = &bytes[end - seen..];
                self.taken = true;
                Ok(Some(&self.begun[..end]))
            }
            None if MOST_HEAD_BYTES < self.begun.len() => Err(Malformed::HeadTooLong),
            None => {
                *bytes = &[];
                Ok(None)
            }
        }
    }

    fn keep<'a>(&mut self, bytes: &mut &[u8]) -> Result<Option<&'a [u8]>, Malformed> {
        if MOST_HEAD_BYTES < bytes.len() {
            return Err(Malformed::HeadTooLong);
        }
        self.begun.extend_from_slice(bytes);
        *bytes = &[];
        Ok(None)
    }
}

/// The end of the empty line that ends a header block, searched from `from` on. Lines may end with
/// CRLF or with LF alone. Sets `folded` if a line begins with white space.
fn end_of_block(bytes: &[u8], from: usize, folded: &mut bool) -> Option<usize> {
    memchr::memchr_iter(b'\n', &bytes[from..]).find_map(|at| {
        let next = from + at + 1;
        match bytes[next..] {
            [b'\n', ..] => Some(next + 1),
            [b'\r', b'\n', ..] => Some(next + 2),
            [b' ' | b'\t', ..] => {
                *folded = true;
                None
            }
            _ => None,
        }
    })
}

/// Replaces the end of each line that the next one continues by spaces. The first line cannot be
/// continued: then the block stays malformed.
fn unfold(block: &mut [u8]) {
    let first = block.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(0);
    let line_end = |block: &[u8], at| Some(at + memchr::memchr(b'\n', &block[at..])?);
    let Some(mut end) = line_end(block, first) else { return };
    while let Some(next) = line_end(block, end + 1) {
        end = next;
        if let Some(b' ' | b'\t') = block.get(end + 1) {
            block[end] = b' ';
            if block[end - 1] == b'\r' {
                block[end - 1] = b' ';
            }
        }
    }
}

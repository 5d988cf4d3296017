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
            return match end_of_block(bytes, 0) {
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
        match end_of_block(&self.begun, seen.saturating_sub(3)) {
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
/// CRLF or with LF alone.
fn end_of_block(bytes: &[u8], from: usize) -> Option<usize> {
    memchr::memchr_iter(b'\n', &bytes[from..]).find_map(|at| {
        let next = from + at + 1;
        match bytes[next..] {
            [b'\n', ..] => Some(next + 1),
            [b'\r', b'\n', ..] => Some(next + 2),
            _ => None,
        }
    })
}

//! Frames from any slicing of a connection's bytes.

use super::{Checksums, Frame, HEADER_BYTES, Header, Malformed};

/// The largest buffer that is kept for the next frame.
const MOST_KEPT: usize = 64 * 1024;

/// Decodes a connection's frames. A frame that arrives in one piece is not copied; the pieces of
/// another one are kept as they arrive, so a peer that announces much and sends little costs little.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The beginning of a frame.
    pieces: Vec<u8>,
    /// The frame in `pieces` was returned: it goes with the next call.
    is_returned: bool,
    checksums: Checksums,
    /// Nothing can be decoded after bytes that are not a frame.
    malformed: Option<Malformed>,
}

impl Decoder {
    /// Sets what both sides have agreed upon for the frames that follow.
    pub fn agree(&mut self, checksums: Checksums) {
        self.checksums = checksums;
    }

    /// True if a frame has begun that is not complete.
    pub fn is_within_frame(&self) -> bool {
        !self.is_returned && !self.pieces.is_empty()
    }

    /// The bytes of memory that it holds.
    pub fn held(&self) -> usize {
        self.pieces.capacity()
    }

    /// Takes the next frame off `bytes`; `None` when more bytes are needed.
    ///
    /// # Errors
    ///
    /// The bytes are not a frame. Every further call returns the same.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Frame<'a>>, Malformed> {
        self.forget_returned();
        if let Some(malformed) = self.malformed {
            return Err(malformed);
        }
        let Decoder { pieces, is_returned, checksums, malformed } = self;
        let decoded = if pieces.is_empty() {
            in_place(bytes, pieces, *checksums)
        } else {
            in_pieces(bytes, pieces, is_returned, *checksums)
        };
        decoded.inspect_err(|error| *malformed = Some(*error))
    }

    fn forget_returned(&mut self) {
        if self.is_returned {
            self.is_returned = false;
            self.pieces.clear();
            if MOST_KEPT < self.pieces.capacity() {
                self.pieces = Vec::new();
            }
        }
    }
}

/// Decodes a frame where it is, or keeps its beginning.
fn in_place<'b>(
    bytes: &mut &'b [u8],
    pieces: &mut Vec<u8>,
    checksums: Checksums,
) -> Result<Option<Frame<'b>>, Malformed> {
    if HEADER_BYTES <= bytes.len() {
        let header = Header::read(bytes)?;
        if let Some((frame, rest)) = bytes.split_at_checked(header.length) {
            *bytes = rest;
            return Frame::read(header, frame, checksums).map(Some);
        }
    }
    pieces.extend_from_slice(bytes);
    *bytes = &[];
    Ok(None)
}

/// Adds to the beginning of a frame, and decodes it once it is complete.
fn in_pieces<'a>(
    bytes: &mut &[u8],
    pieces: &'a mut Vec<u8>,
    is_complete: &mut bool,
    checksums: Checksums,
) -> Result<Option<Frame<'a>>, Malformed> {
    fill(pieces, HEADER_BYTES, bytes);
    if pieces.len() < HEADER_BYTES {
        return Ok(None);
    }
    let header = Header::read(pieces)?;
    fill(pieces, header.length, bytes);
    if pieces.len() < header.length {
        return Ok(None);
    }
    *is_complete = true;
    Frame::read(header, pieces, checksums).map(Some)
}

/// Moves bytes until there are `length`, as far as they go.
fn fill(pieces: &mut Vec<u8>, length: usize, bytes: &mut &[u8]) {
    let wanted = length.saturating_sub(pieces.len()).min(bytes.len());
    let (piece, rest) = bytes.split_at(wanted);
    pieces.extend_from_slice(piece);
    *bytes = rest;
}

//! The notes of a receiver, as they are made: for each arrival the number of its source, the time
//! and the id. An arrival allocates nothing.

use std::collections::HashMap;

use measure::Instant;

use super::{Note, kind, put_block};

/// The most sources of a file.
pub(super) const MOST_SOURCES: usize = 4096;

/// The most bytes of a source.
pub(super) const MOST_SOURCE_BYTES: usize = 1024;

/// The content of a block from which on it is closed.
const ENOUGH: usize = 60 << 10;

/// The notes of a receiver that are not in a file yet.
#[derive(Debug, Default)]
pub struct Arrivals {
    numbers: HashMap<Box<[u8]>, u16>,
    /// The source of the last arrival: most follow one of the same.
    last: Vec<u8>,
    last_number: u16,
    /// The blocks of new sources.
    sources: Vec<u8>,
    /// The content of the block that is open.
    open: Vec<u8>,
    in_open: u64,
}

/// Bytes to append to a file.
#[derive(Debug, Default, PartialEq)]
pub struct Blocks {
    pub bytes: Vec<u8>,
    /// The arrivals in them.
    pub arrivals: u64,
    /// The bytes at the begin that are the blocks of sources: without them the numbers of sources in
    /// all later blocks would be wrong.
    of_sources: usize,
}

impl Arrivals {
    /// Notes an arrival; returns false if its source or its id has no room.
    pub fn note(&mut self, source: &[u8], id: &[u8], at: Instant) -> bool {
        // So an id has at most 255 bytes.
        let Ok(length) = u8::try_from(id.len()) else { return false };
        if self.last != source || self.numbers.is_empty() {
            let Some(number) = self.number(source) else { return false };
            self.last_number = number;
            self.last.clear();
            self.last.extend_from_slice(source);
        }
        self.open.extend_from_slice(&self.last_number.to_le_bytes());
        self.open.extend_from_slice(&at.0.to_le_bytes());
        self.open.push(length);
        self.open.extend_from_slice(id);
        self.in_open += 1;
        true
    }

    /// Returns the number of a source, which may be new.
    fn number(&mut self, source: &[u8]) -> Option<u16> {
        if let Some(number) = self.numbers.get(source) {
            return Some(*number);
        }
        if self.numbers.len() == MOST_SOURCES || MOST_SOURCE_BYTES < source.len() {
            return None;
        }
        let number = self.numbers.len() as u16;
        self.numbers.insert(source.into(), number);
        put_block(kind::SOURCE, source, &mut self.sources);
        Some(number)
    }

    /// Returns true if there is enough for a block.
    pub fn is_full(&self) -> bool {
        ENOUGH <= self.open.len()
    }

    /// Closes the open block, and returns all that is not in the file yet.
    pub fn close(&mut self) -> Blocks {
        let mut bytes = std::mem::take(&mut self.sources);
        let of_sources = bytes.len();
        if !self.open.is_empty() {
            put_block(kind::ARRIVALS, &self.open, &mut bytes);
            self.open.clear();
        }
        Blocks { bytes, arrivals: std::mem::take(&mut self.in_open), of_sources }
    }

    /// Takes back blocks that cannot be written now. Their arrivals are given up; their sources are
    /// kept for the next blocks.
    pub fn give_back(&mut self, mut blocks: Blocks) {
        blocks.bytes.truncate(blocks.of_sources);
        blocks.bytes.append(&mut self.sources);
        self.sources = blocks.bytes;
    }
}

/// Reads the content of a block with so many sources before it; `None` if it is wrong.
pub(super) fn read(
    mut content: &[u8],
    sources: usize,
    take: &mut impl FnMut(Note<'_>) -> Result<(), String>,
) -> Result<Option<()>, String> {
    while !content.is_empty() {
        let Some((source, rest)) = content.split_first_chunk() else { return Ok(None) };
        let Some((at, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let Some((length, rest)) = rest.split_first() else { return Ok(None) };
        let Some((id, rest)) = rest.split_at_checked(usize::from(*length)) else {
            return Ok(None);
        };
        content = rest;
        let source = u16::from_le_bytes(*source);
        if sources <= usize::from(source) {
            return Ok(None);
        }
        take(Note::Arrival { source, id, at: Instant(u64::from_le_bytes(*at)) })?;
    }
    Ok(Some(()))
}

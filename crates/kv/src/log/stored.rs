//! Blocks as they are in the storage: with a header, and checked as a whole before anything in them
//! is believed.
//!
//! | bytes | content |
//! |---|---|
//! | 0 … 4 | CRC32C of all that follows, and of the store's id |
//! | 4 … 8 | the number of blocks that belong together: one, or those of a large record |
//! | 8 … 16 | the address of the block |
//! | 16 … 32 | zero |

use crate::address::Address;

use super::record::{Info, Shape, UNIT, WORD};
use super::{BLOCK, HEADER, Log, words};

#[cfg(all(test, not(shuttle)))]
mod tests;

/// Bytes of the storage that are not what was written there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Corrupt;

/// A record in a block of the storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Stored<'a> {
    pub(crate) info: Info,
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

impl Log {
    /// Replaces `out` by the blocks of an area of a page, which nobody changes, as they are stored.
    pub(crate) fn seal(&self, from: u64, to: u64, store: u64, out: &mut Vec<u8>) {
        out.clear();
        words::load(self.words(from), 0, (to - from) as usize, out);
        let mut block = 0;
        while block < out.len() {
            let run = run_of(&out[block..]);
            let bytes = &mut out[block..block + (run * BLOCK) as usize];
            bytes[4..8].copy_from_slice(&(run as u32).to_le_bytes());
            bytes[8..16].copy_from_slice(&(from + block as u64).to_le_bytes());
            bytes[16..HEADER as usize].fill(0);
            let crc = checksum(bytes, store);
            bytes[..4].copy_from_slice(&crc.to_le_bytes());
            block += bytes.len();
        }
    }
}

/// Returns the number of blocks that the record at the beginning of a block needs.
fn run_of(block: &[u8]) -> u64 {
    Layout::of(&block[HEADER as usize..])
        .map_or(1, |layout| (HEADER + layout.size()).div_ceil(BLOCK))
}

/// Returns the number of blocks that must be read together with this one.
pub(crate) fn length_of_run(block: &[u8]) -> Option<u32> {
    block.get(4..8)?.try_into().ok().map(u32::from_le_bytes)
}

/// Checks a block, or a run of blocks.
pub(crate) fn check(blocks: &[u8], address: u64, store: u64) -> Result<(), Corrupt> {
    let number = |at: usize| blocks.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    let (first, its_address) = number(0).zip(number(8)).ok_or(Corrupt)?;
    let crc = u64::from_le_bytes(first) as u32;
    let is_whole = u64::from_le_bytes(first) >> 32 == blocks.len() as u64 / BLOCK;
    let is_its_own = u64::from_le_bytes(its_address) == address;
    let is_good = is_whole && is_its_own && crc == checksum(blocks, store);
    if is_good { Ok(()) } else { Err(Corrupt) }
}

/// Returns the blocks that belong together at the beginning of what was read at an address, checked.
pub(crate) fn first_run(bytes: &[u8], address: u64, store: u64) -> Result<&[u8], Corrupt> {
    let length = length_of_run(bytes).ok_or(Corrupt)?.max(1) as usize * BLOCK as usize;
    let blocks = bytes.get(..length).ok_or(Corrupt)?;
    check(blocks, address, store)?;
    Ok(blocks)
}

/// Returns the record at an address in checked blocks that begin with its block.
pub(crate) fn record_at(blocks: &[u8], address: Address) -> Result<Stored<'_>, Corrupt> {
    blocks.get((address.get() % BLOCK) as usize..).and_then(Stored::at).ok_or(Corrupt)
}

/// Returns the records of checked blocks at this address, but those that never were part of a chain.
pub(crate) fn records(blocks: &[u8], address: u64) -> impl Iterator<Item = (Address, Stored<'_>)> {
    let mut at = HEADER as usize;
    let next = move || {
        let size = Layout::of(blocks.get(at..)?)?.size() as usize;
        let found = (Address::new(address + at as u64), Stored::at(&blocks[at..])?);
        at += size;
        Some(found)
    };
    std::iter::from_fn(next).filter(|(_, record)| !record.info.is_invalid())
}

fn checksum(blocks: &[u8], store: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&store.to_le_bytes()), &blocks[4..])
}

impl<'a> Stored<'a> {
    /// Reads the record that bytes begin with; `None` if there is none, or not all of it.
    fn at(bytes: &'a [u8]) -> Option<Stored<'a>> {
        let Layout { info, shape, key_at, value_at } = Layout::of(bytes)?;
        let key = bytes.get(key_at..key_at + shape.key_length())?;
        let value = bytes.get(value_at..value_at + shape.value_length())?;
        Some(Stored { info, key, value })
    }
}

/// The places of a record's parts, in bytes.
struct Layout {
    info: Info,
    shape: Shape,
    key_at: usize,
    value_at: usize,
}

impl Layout {
    /// Reads the first two words of a record; `None` if there is none.
    fn of(bytes: &[u8]) -> Option<Layout> {
        let (words, _) = bytes.as_chunks();
        let word = |at: usize| words.get(at).map(|word| u64::from_le_bytes(*word));
        let (info, shape) = (Info::of_word(word(0)?), Shape::of_word(word(1)?));
        let key_at = info.header_words() * WORD as usize;
        let value_at = key_at + words::needed(shape.key_length()) * WORD as usize;
        (shape.key_length() > 0).then_some(Layout { info, shape, key_at, value_at })
    }

    fn size(&self) -> u64 {
        let end = self.value_at as u64 + self.shape.capacity() as u64 * WORD;
        end.next_multiple_of(UNIT)
    }
}

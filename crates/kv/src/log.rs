//! The log: records behind each other, of which the newest are in memory.
//!
//! A *block* of 4 KiB begins with a header, which is filled when it is written to the storage; no
//! record crosses the end of a block, except large ones, which have a run of blocks of their own. A
//! *page* is the unit in which memory is used again. Records only refer to older ones.

use std::io;

use crate::address::Address;
use crate::memory::Memory;
use crate::prefetch::prefetch;
use crate::sync::{AtomicU64, Ordering};

pub(crate) use self::record::{Draft, Info, Record, Refused, UNIT};
pub(crate) use self::regions::Borders;

use self::paging::Paging;
use self::record::{Shape, WORD};
use self::regions::Regions;

pub(crate) mod paging;
mod record;
mod regions;
pub(crate) mod stored;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod words;

/// The bytes of a block.
pub(crate) const BLOCK: u64 = 4096;

/// The bytes at the beginning of a block that are not of records.
const HEADER: u64 = 32;

/// The words of a record with a key and a value of eight bytes.
const FIXED_WORDS: usize = 4;

/// The part of the limit that a record may fill. A log that is full of values still takes the
/// tombstones that make some of them garbage, and the copies by which compaction then frees space.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Limit {
    /// All but the reserve.
    Value,
    /// All.
    Tombstone,
    /// A copy may exceed it: its original is given up with the page that it is in.
    Copy,
}

#[derive(Debug)]
pub(crate) struct Log {
    memory: Memory,
    /// The bytes of the memory less one; they are a power of two.
    mask: u64,
    page: u64,
    /// The bytes that may be in memory.
    in_memory: u64,
    /// `None` if there is no storage: then no page ever leaves the memory.
    paging: Option<Paging>,
    /// The most bytes from Begin to the tail, if there is a limit.
    limit: Option<u64>,
    /// The end of the pages that may be written: those before have a place in the memory.
    writable: AtomicU64,
    regions: Regions,
}

impl Log {
    /// Makes an empty log that keeps this number of pages in memory.
    pub(crate) fn new(
        pages: u64,
        page: u64,
        limit: Option<u64>,
        paging: Option<Paging>,
    ) -> io::Result<Log> {
        // An address is found in memory by a mask. Of all the pages that the mask allows, only as
        // many as were asked for are in memory at a time, so that the kernel gives no more.
        let bytes = pages.next_power_of_two() * page;
        let words = usize::try_from(bytes / WORD).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(Log {
            memory: Memory::zeroed(words)?,
            mask: bytes - 1,
            page,
            in_memory: pages * page,
            paging,
            limit,
            writable: AtomicU64::new(pages * page),
            regions: Regions::new(),
        })
    }

    /// Begins with a log of which all is in the storage.
    pub(crate) fn resume(&self, begin: u64, tail: u64) {
        self.regions.resume(begin, tail);
        self.writable.store(self.writable_with(tail), Ordering::Release);
    }

    /// Makes all records read-only, and moves the tail to the next block, so that the block of the
    /// last record can be written once and for all. Returns the tail. No session may be changing or
    /// appending a record.
    pub(crate) fn cut(&self) -> u64 {
        let tail = self.tail();
        let end = tail.next_multiple_of(BLOCK);
        self.mark_unused(tail, end);
        self.regions.tail().store(end, Ordering::Release);
        self.regions.end_mutable(end);
        end
    }

    #[inline]
    pub(crate) fn borders(&self) -> Borders {
        self.regions.borders()
    }

    /// The bytes from the beginning of the log to the next record.
    pub(crate) fn tail(&self) -> u64 {
        self.regions.tail().load(Ordering::Acquire)
    }

    /// True if a record of this size can be in a page.
    pub(crate) fn has_room_for(&self, draft: &Draft<'_>) -> bool {
        HEADER + draft.size() <= self.page
    }

    /// Appends a record, which nobody can find yet. `None` if no page is left.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn append(&self, draft: &Draft<'_>, info: Info) -> Option<(Address, Record<'_>)> {
        self.append_within(draft, info, Limit::Value)
    }

    /// Appends a record, which nobody can find yet. `None` if no page is left.
    pub(crate) fn append_within(
        &self,
        draft: &Draft<'_>,
        info: Info,
        limit: Limit,
    ) -> Option<(Address, Record<'_>)> {
        let address = self.reserve(draft.size(), limit)?;
        let record = self.record(address);
        record.write(draft, info);
        Some((address, record))
    }

    /// Returns a record in memory: not below the head, as it was when the session last refreshed.
    #[inline]
    pub(crate) fn record(&self, address: Address) -> Record<'_> {
        Record::new(self.words(address.get()))
    }

    /// Begins to bring a record into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, address: Address) {
        prefetch(self.unit(address));
    }

    /// Returns the value of a record in memory, if it has this key and a value, and both have eight
    /// bytes.
    #[inline]
    pub(crate) fn fixed(&self, address: Address, key: u64) -> Option<&AtomicU64> {
        let [info, shape, its_key, value] = self.unit(address);
        let is_it = shape.load(Ordering::Relaxed) == Shape::FIXED.word()
            && its_key.load(Ordering::Relaxed) == key
            && Info::of_word(info.load(Ordering::Relaxed)).is_plain();
        is_it.then_some(value)
    }

    /// Returns the words from an address in memory on.
    #[inline]
    fn words(&self, at: u64) -> &[AtomicU64] {
        &self.memory[((at & self.mask) / WORD) as usize..]
    }

    #[inline]
    fn unit(&self, address: Address) -> &[AtomicU64; FIXED_WORDS] {
        &self.memory.as_chunks().0[((address.get() & self.mask) / UNIT) as usize]
    }

    /// Moves the tail, and returns the address of the bytes that it passed.
    fn reserve(&self, size: u64, limit: Limit) -> Option<Address> {
        let tail = self.regions.tail();
        let mut old = tail.load(Ordering::Relaxed);
        loop {
            let (start, end) = place(old, size, self.page);
            if end > self.writable.load(Ordering::Acquire) || end > self.end_for(limit) {
                return None;
            }
            match tail.compare_exchange_weak(old, end, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    self.mark_unused(old, start);
                    return Some(Address::new(start));
                }
                Err(now) => old = now,
            }
        }
    }

    /// The end of the log for a record, as Begin is now.
    fn end_for(&self, limit: Limit) -> u64 {
        let most = match (self.limit, limit) {
            (None, _) | (_, Limit::Copy) => return u64::MAX,
            (Some(most), Limit::Value) => most.saturating_sub(self.reserve_of_limit()),
            (Some(most), Limit::Tombstone) => most,
        };
        self.borders().begin.get().saturating_add(most)
    }

    /// The part of the limit that values leave free: also the garbage from which on a compaction is
    /// worth its work.
    pub(crate) fn reserve_of_limit(&self) -> u64 {
        (self.limit.unwrap_or(0) / 16).max(2 * self.page)
    }

    pub(crate) fn has_limit(&self) -> bool {
        self.limit.is_some()
    }

    /// True if compaction should make room: four fifths of the limit are used.
    pub(crate) fn nears_its_limit(&self) -> bool {
        let used = self.tail().saturating_sub(self.borders().begin.get());
        self.limit.is_some_and(|limit| used > limit / 5 * 4) || self.is_at_its_limit(Limit::Value)
    }

    /// Moves Begin: all records before it that are not garbage have copies.
    pub(crate) fn move_begin(&self, to: u64) {
        self.regions.move_begin(to);
    }

    /// True if a record of the size of a page might not be written: it needs what is left of a page,
    /// and another one.
    pub(crate) fn is_at_its_limit(&self, limit: Limit) -> bool {
        self.tail() + 2 * self.page > self.end_for(limit)
    }

    /// Ends the records of each block between two addresses, for those who read the log from block to
    /// block: the memory may have been used before.
    fn mark_unused(&self, from: u64, to: u64) {
        let mut at = if from.is_multiple_of(BLOCK) { from + HEADER } else { from };
        while at < to {
            // A record whose key has no bytes.
            self.words(at)[1].store(0, Ordering::Relaxed);
            at = at.next_multiple_of(BLOCK) + HEADER;
        }
    }
}

/// Returns the start and the end of a record behind the tail: in its block, or in the next one, or at
/// the beginning of the next page. A large record ends with its last block.
fn place(tail: u64, size: u64, page: u64) -> (u64, u64) {
    let start = if tail.is_multiple_of(BLOCK) { tail + HEADER } else { tail };
    if start % BLOCK + size <= BLOCK {
        return (start, start + size);
    }
    let block = tail.next_multiple_of(BLOCK);
    if HEADER + size <= BLOCK {
        return (block + HEADER, block + HEADER + size);
    }
    let run = (HEADER + size).next_multiple_of(BLOCK);
    let block = if block % page + run <= page { block } else { block.next_multiple_of(page) };
    (block + HEADER, block + run)
}

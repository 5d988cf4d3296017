//! The index: from the hash of a key to the newest record of its chain.
//!
//! The hash space has 4096 slices, and a directory says of each in which table it is. A table has
//! the buckets of all slices of one size behind each other, so that the bucket is found by one
//! shift, and a slice of which this store has nothing leads to no table. The keys of a chain share
//! bucket and tag; only the log tells them apart.

use std::io;
use std::sync::OnceLock;

use crate::address::Address;
use crate::hash::{Hash, SLICE_BITS};
use crate::prefetch::prefetch;
use crate::sync::{AtomicU8, AtomicU32, AtomicU64, Ordering};

pub(crate) use self::bucket::Entry;

use self::table::{NoPlace, Table};

pub(crate) use self::growth::Growth;

mod bucket;
mod growth;
#[cfg(all(test, shuttle))]
mod model;
mod table;
#[cfg(all(test, not(shuttle)))]
mod tests;

const SLICES: usize = 1 << SLICE_BITS;

/// The sizes that a slice can have: each doubling takes a bit of the tag for the bucket, and nine
/// must be left. There is one place more, the first, which stays empty: slices that are not here
/// lead to it.
const PLACES: usize = 8;

/// The bits of a slice's state that are its place in `tables`.
const PLACE: u8 = PLACES as u8 - 1;

/// Marks a slice whose entries are being moved to the next table.
const MOVING: u8 = 0x80;

/// Marks a slice that could not grow when it tried last.
const STUCK: u8 = 0x40;

/// The attempts to add an entry while others add to the same bucket.
const ATTEMPTS: usize = 64;

#[derive(Debug)]
pub(crate) struct Index {
    /// The state of each slice: its place in `tables`, and what happens to it.
    directory: Box<[AtomicU8]>,
    tables: [OnceLock<Table>; PLACES],
    /// The bits of a bucket in the first table, behind which the tag begins.
    first_bits: u32,
    /// The entries of each slice.
    counts: Box<[AtomicU32]>,
    /// The slice that should grow, or is growing.
    wanted: AtomicU32,
    /// The number of times that the entries of a slice have moved.
    moves: AtomicU32,
    /// All slices are to have at least this place, however few entries they have.
    least: AtomicU8,
}

/// An entry that was found, and its word in the bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot<'a> {
    word: &'a AtomicU64,
    entry: Entry,
}

/// The room for another entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Room {
    Now,
    /// The slice was asked to grow.
    Later,
    None,
}

/// The result of an attempt to add an entry.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Added {
    Done,
    /// There is an entry with this tag now.
    Exists,
    /// There is no room now: see [`Index::room`].
    Full,
    /// Others are adding to the same bucket.
    Contended,
}

impl Index {
    /// Returns the number of buckets that an index has that is to have at least so many.
    pub(crate) fn buckets(wanted: u64) -> u64 {
        wanted.max(SLICES as u64).next_power_of_two()
    }

    /// Makes an empty index that has all slices, with at least this number of buckets.
    pub(crate) fn new(buckets: u64) -> io::Result<Index> {
        let all_bits = Index::buckets(buckets).trailing_zeros();
        let first_bits = all_bits - SLICE_BITS;
        let tables = [const { OnceLock::new() }; PLACES];
        tables[1].set(Table::new(first_bits)?).expect("no table was set");
        let directory = (0..SLICES).map(|_| AtomicU8::new(1)).collect();
        let counts = (0..SLICES).map(|_| AtomicU32::new(0)).collect();
        let (wanted, moves) = (AtomicU32::new(0), AtomicU32::new(0));
        let least = AtomicU8::new(1);
        Ok(Index { directory, tables, first_bits, counts, wanted, moves, least })
    }

    /// The entries of all slices.
    pub(crate) fn entries(&self) -> u64 {
        self.counts.iter().map(|count| u64::from(count.load(Ordering::Relaxed))).sum()
    }

    /// True if the slice of this hash is here.
    pub(crate) fn owns(&self, hash: Hash) -> bool {
        self.table(hash).is_some()
    }

    /// True if the entries of the slice may be changed until the session refreshes.
    pub(crate) fn may_change(&self, hash: Hash) -> bool {
        self.directory[hash.slice()].load(Ordering::Acquire) & MOVING == 0
    }

    /// The number of times that entries have moved: a slot that was found before is of no use.
    #[inline]
    pub(crate) fn moves(&self) -> u32 {
        self.moves.load(Ordering::Acquire)
    }

    /// Begins to bring the bucket into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, hash: Hash) {
        if let Some(table) = self.table(hash) {
            prefetch(table.bucket(hash));
        }
    }

    /// Finds the entry for a hash.
    #[inline(always)]
    pub(crate) fn find(&self, hash: Hash) -> Option<Slot<'_>> {
        let table = self.table(hash)?;
        let (word, entry) = table.find(table.bucket(hash), hash.tag(self.first_bits))?;
        Some(Slot { word, entry })
    }

    /// Returns whether a first entry for a hash can be added, and asks for growth if not.
    pub(crate) fn room(&self, hash: Hash) -> Room {
        match self.table(hash) {
            Some(table) if table.has_place(table.bucket(hash)) => Room::Now,
            Some(_) if self.ask(hash.slice()) => Room::Later,
            _ => Room::None,
        }
    }

    /// Adds the first entry for a hash.
    pub(crate) fn add(&self, hash: Hash, address: Address) -> Added {
        let Some(table) = self.table(hash) else { return Added::Full };
        let (bucket, tag) = (table.bucket(hash), hash.tag(self.first_bits));
        for _ in 0..ATTEMPTS {
            if table.find(bucket, tag).is_some() {
                return Added::Exists;
            }
            match table.add(bucket, Entry::new(tag, address)) {
                Ok(()) => {
                    self.count(hash.slice(), table.bits());
                    return Added::Done;
                }
                Err(NoPlace::Full) => return Added::Full,
                Err(NoPlace::Contended) => std::hint::spin_loop(),
            }
        }
        Added::Contended
    }

    /// Adds the newest records of all chains of the bucket that a hash belongs to, and returns the hash
    /// with which the next bucket begins; `None` after the last one. Of an empty slice the next bucket
    /// is that of the next slice.
    pub(crate) fn walk(&self, hash: Hash, chains: &mut Vec<Address>) -> Option<Hash> {
        let table = self.table(hash);
        let slice = hash.slice();
        let is_empty = self.counts[slice].load(Ordering::Acquire) == 0;
        let bits = table.filter(|_| !is_empty).map_or(0, Table::bits);
        if let Some(table) = table.filter(|_| !is_empty) {
            let entries = table.entries(table.bucket(hash)).filter(|entry| !entry.is_tentative());
            chains.extend(entries.map(Entry::address));
        }
        let shift = u64::BITS - SLICE_BITS - bits;
        let next = (hash.number() >> shift) + 1;
        // Behind the last bucket the number has one bit too many.
        (next >> (SLICE_BITS + bits) == 0).then(|| Hash::of_number(next << shift))
    }

    #[inline(always)]
    fn table(&self, hash: Hash) -> Option<&Table> {
        let place = self.directory[hash.slice()].load(Ordering::Acquire);
        self.tables[usize::from(place & PLACE)].get()
    }
}

impl Slot<'_> {
    #[inline]
    pub(crate) fn address(&self) -> Address {
        self.entry.address()
    }

    /// Returns the address that the entry has now, or none if it has been removed.
    #[inline]
    pub(crate) fn newest(&self) -> Address {
        let now = Entry::of_word(self.word.load(Ordering::Acquire));
        if now.tag_is_of(self.entry) { now.address() } else { Address::NONE }
    }

    /// Replaces the record that the chain begins with. Fails if it has changed since it was found.
    #[inline]
    pub(crate) fn replace(&self, address: Address) -> bool {
        bucket::replace(self.word, self.entry, self.entry.moved(address))
    }
}

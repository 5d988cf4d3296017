//! The buckets of one size: those of all slices behind each other, in the order of the hashes, and
//! an arena for those that overflow.

use std::io;

use super::bucket::{self, Bucket, Entry, WORDS};
use crate::hash::{Hash, SLICE_BITS};
use crate::memory::Memory;
use crate::sync::{AtomicU64, Ordering, fence};

/// A link that somebody is about to set.
const CLAIMED: u64 = u64::MAX;

/// One bucket of the arena for this many others.
const BUCKETS_OF_AN_OVERFLOW: usize = 4;

#[derive(Debug)]
pub(super) struct Table {
    /// Two to the power of this is the number of buckets of a slice.
    bits: u32,
    buckets: Memory,
    arena: Memory,
    /// The number of buckets of the arena that were taken.
    taken: AtomicU64,
    /// The number of slices that have not left for another table.
    slices: AtomicU64,
}

/// The reason why an entry was not added.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NoPlace {
    /// The arena is used up.
    Full,
    /// Another thread was quicker, or is about to add a bucket.
    Contended,
}

impl Table {
    pub(super) fn new(bits: u32) -> io::Result<Table> {
        let buckets = 1 << (SLICE_BITS + bits);
        Ok(Table {
            bits,
            buckets: Memory::zeroed(buckets * WORDS)?,
            arena: Memory::zeroed(buckets / BUCKETS_OF_AN_OVERFLOW * WORDS)?,
            taken: AtomicU64::new(0),
            slices: AtomicU64::new(1 << SLICE_BITS),
        })
    }

    /// A table so small that all interleavings can be tried: it has one bucket for all hashes below a
    /// 4096th of all, and one that overflows.
    #[cfg(all(test, shuttle))]
    pub(super) fn of_one_bucket() -> Table {
        let memory = || Memory::zeroed(WORDS).expect("a vector");
        let (taken, slices) = (AtomicU64::new(0), AtomicU64::new(1));
        Table { bits: 0, buckets: memory(), arena: memory(), taken, slices }
    }

    pub(super) fn bits(&self) -> u32 {
        self.bits
    }

    #[inline]
    pub(super) fn bucket(&self, hash: Hash) -> &Bucket {
        &self.buckets.as_chunks().0[hash.bucket(self.bits)]
    }

    /// Returns the buckets of a slice, without those that overflowed.
    pub(super) fn slice(&self, slice: usize) -> &[Bucket] {
        &self.buckets.as_chunks().0[slice << self.bits..(slice + 1) << self.bits]
    }

    /// Returns the bucket that this one has overflowed to.
    #[inline]
    pub(super) fn overflow(&self, bucket: &Bucket) -> Option<&Bucket> {
        match bucket::link(bucket).load(Ordering::Acquire) {
            0 | CLAIMED => None,
            link => Some(&self.arena.as_chunks().0[link as usize - 1]),
        }
    }

    /// Finds the entry with a tag in a bucket and those that it overflowed to.
    #[inline(always)]
    pub(super) fn find<'a>(
        &'a self,
        mut bucket: &'a Bucket,
        tag: u64,
    ) -> Option<(&'a AtomicU64, Entry)> {
        loop {
            let found = bucket::find(bucket, tag);
            if found.is_some() {
                return found;
            }
            bucket = self.overflow(bucket)?;
        }
    }

    /// Adds an entry; the caller must have found none with its tag. At no time two entries that are
    /// not tentative have one tag: each inserter first adds a tentative one, and gives way if it
    /// then sees another.
    pub(super) fn add(&self, bucket: &Bucket, entry: Entry) -> Result<(), NoPlace> {
        let place = self.empty(bucket)?;
        let tentative = entry.tentative().word();
        if place.compare_exchange(0, tentative, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return Err(NoPlace::Contended);
        }
        // Of two inserters, at least one sees the entry of the other.
        fence(Ordering::SeqCst);
        if self.entries(bucket).filter(|found| found.tag() == entry.tag()).count() > 1 {
            place.store(0, Ordering::Release);
            return Err(NoPlace::Contended);
        }
        place.store(entry.word(), Ordering::Release);
        Ok(())
    }

    /// Returns all entries of a bucket and those that it overflowed to, tentative ones too.
    pub(super) fn entries<'a>(&'a self, bucket: &'a Bucket) -> impl Iterator<Item = Entry> + 'a {
        let words = self.chain(bucket).flat_map(bucket::entries);
        let words = words.map(|word| word.load(Ordering::Acquire));
        words.filter(|word| *word != 0).map(Entry::of_word)
    }

    /// True if there is a place for an entry now, or for another bucket.
    pub(super) fn has_place(&self, bucket: &Bucket) -> bool {
        self.chain(bucket).any(|bucket| bucket::empty(bucket).is_some()) || self.has_overflow()
    }

    /// True if a bucket of the arena is left.
    pub(super) fn has_overflow(&self) -> bool {
        self.taken.load(Ordering::Relaxed) < self.overflows()
    }

    /// Takes all buckets of the arena.
    #[cfg(all(test, not(shuttle)))]
    pub(super) fn use_up(&self) {
        self.taken.store(self.overflows(), Ordering::Relaxed);
    }

    fn overflows(&self) -> u64 {
        (self.arena.len() / WORDS) as u64
    }

    /// Returns a bucket and those that it overflowed to.
    fn chain<'a>(&'a self, bucket: &'a Bucket) -> impl Iterator<Item = &'a Bucket> {
        std::iter::successors(Some(bucket), |bucket| self.overflow(bucket))
    }

    /// Adds an entry that nobody can find yet.
    pub(super) fn put(&self, bucket: &Bucket, entry: Entry) -> Result<(), NoPlace> {
        self.empty(bucket)?.store(entry.word(), Ordering::Release);
        Ok(())
    }

    /// Forgets the entries of a slice that nobody can find.
    pub(super) fn clear_slice(&self, slice: usize) {
        self.slice(slice).iter().flatten().for_each(|word| word.store(0, Ordering::Relaxed));
    }

    /// Notes that a slice has left, and returns how many have not.
    pub(super) fn leave(&self) -> u64 {
        self.slices.fetch_sub(1, Ordering::AcqRel) - 1
    }

    /// Gives the memory back, once all slices have left.
    pub(super) fn clear(&self) {
        self.buckets.release(0..self.buckets.len());
        self.arena.release(0..self.arena.len());
    }

    /// Returns an empty place, in a new bucket of the arena if there is none.
    fn empty<'a>(&'a self, mut bucket: &'a Bucket) -> Result<&'a AtomicU64, NoPlace> {
        loop {
            if let Some(place) = bucket::empty(bucket) {
                return Ok(place);
            }
            match self.overflow(bucket) {
                Some(next) => bucket = next,
                None => self.link_another(bucket)?,
            }
        }
    }

    fn link_another(&self, bucket: &Bucket) -> Result<(), NoPlace> {
        let link = bucket::link(bucket);
        let claim = link.compare_exchange(0, CLAIMED, Ordering::Acquire, Ordering::Relaxed);
        claim.map_err(|_| NoPlace::Contended)?;
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        if taken >= self.overflows() {
            self.taken.fetch_sub(1, Ordering::Relaxed);
            link.store(0, Ordering::Release);
            return Err(NoPlace::Full);
        }
        link.store(taken + 1, Ordering::Release);
        Ok(())
    }
}

//! One bucket: seven entries and a link, in one cache line.

use crate::address::{ADDRESS_BITS, Address};
use crate::sync::{AtomicU64, Ordering};

/// The words of a bucket.
pub(crate) const WORDS: usize = 8;

const ENTRIES: usize = WORDS - 1;

pub(crate) type Bucket = [AtomicU64; WORDS];

/// A word of a bucket that is not zero: the address of the newest record of a chain in the lower 48
/// bits, the tag that its keys share above, and uppermost whether the entry is tentative.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Entry(u64);

/// Marks an entry that is being inserted: nobody finds it.
const TENTATIVE: u64 = 1 << 63;

impl Entry {
    pub(crate) fn new(tag: u64, address: Address) -> Entry {
        debug_assert!(address != Address::NONE, "an entry has a record");
        Entry(tag << ADDRESS_BITS | address.get())
    }

    pub(super) fn of_word(word: u64) -> Entry {
        Entry(word)
    }

    #[inline]
    pub(crate) fn address(self) -> Address {
        Address::of_word(self.0)
    }

    /// Returns the entry of the same tag for a newer record.
    #[inline]
    pub(crate) fn moved(self, address: Address) -> Entry {
        Entry(self.0 & !((1 << ADDRESS_BITS) - 1) | address.get())
    }

    /// True if this is a visible entry with the tag of another.
    #[inline]
    pub(super) fn tag_is_of(self, other: Entry) -> bool {
        self.0 != 0 && self.0 >> ADDRESS_BITS == other.0 >> ADDRESS_BITS
    }

    pub(super) fn tentative(self) -> Entry {
        Entry(self.0 | TENTATIVE)
    }

    pub(super) fn is_tentative(self) -> bool {
        self.0 & TENTATIVE != 0
    }

    pub(super) fn tag(self) -> u64 {
        (self.0 & !TENTATIVE) >> ADDRESS_BITS
    }

    #[inline]
    pub(super) fn word(self) -> u64 {
        self.0
    }
}

/// Returns the position of the entry with a tag, if it is not tentative.
#[inline(always)]
pub(super) fn find(bucket: &Bucket, tag: u64) -> Option<(&AtomicU64, Entry)> {
    // All seven are compared before the first branch: which of them matches cannot be predicted.
    let matching = bucket[..ENTRIES].iter().enumerate().fold(0_u32, |matching, (at, word)| {
        let word = word.load(Ordering::Acquire);
        matching | u32::from((word >> ADDRESS_BITS == tag) & (word != 0)) << at
    });
    if matching == 0 {
        return None;
    }
    let word = &bucket[matching.trailing_zeros() as usize & (WORDS - 1)];
    let entry = Entry(word.load(Ordering::Acquire));
    // It may have been deleted in between.
    (entry.0 >> ADDRESS_BITS == tag && entry.0 != 0).then_some((word, entry))
}

/// Replaces an entry. False if it has changed since it was found.
#[inline]
pub(super) fn replace(word: &AtomicU64, old: Entry, new: Entry) -> bool {
    word.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
}

/// Returns an empty place.
pub(super) fn empty(bucket: &Bucket) -> Option<&AtomicU64> {
    bucket[..ENTRIES].iter().find(|word| word.load(Ordering::Relaxed) == 0)
}

/// Returns the words of all entries, tentative ones and empty places too.
pub(super) fn entries(bucket: &Bucket) -> &[AtomicU64] {
    &bucket[..ENTRIES]
}

/// Returns the link to the next bucket: zero, or one more than its number in the arena.
pub(super) fn link(bucket: &Bucket) -> &AtomicU64 {
    &bucket[ENTRIES]
}

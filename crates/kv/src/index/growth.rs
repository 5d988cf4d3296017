//! Growth: a slice gets twice the buckets, while all others are used as before.
//!
//! First the slice is marked as moving: from then on its entries are not changed, only read, and
//! records are still updated in their place. Once every session has seen the mark, the entries are
//! copied to the next table, and then the directory leads there. The next bit of a bucket's number
//! is the first bit of the tag that is not part of it yet, so no record is touched.

use std::io;

use crate::hash::TAG_BITS;
use crate::sync::Ordering;

use super::table::{NoPlace, Table};
use super::{Index, MOVING, PLACES, SLICES};

/// A slice grows when it has more entries than this for each bucket.
const ENTRIES_OF_A_BUCKET: u32 = 5;

/// The state after an attempt to begin.
#[derive(Debug)]
pub(crate) enum Growth {
    /// The slice is marked: [`Index::grow`] follows once every session has seen it.
    Begun(usize),
    None,
}

impl Index {
    /// Counts an entry that was added to a slice, and remembers that the slice should grow.
    pub(super) fn count(&self, slice: usize, bits: u32) {
        let count = self.counts[slice].fetch_add(1, Ordering::Relaxed) + 1;
        if count > ENTRIES_OF_A_BUCKET << bits {
            // One after the other; a slice that does not get its turn now asks with its next entry.
            let wanted = slice as u32 + 1;
            let _ = self.wanted.compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed);
        }
    }

    /// Asks for twice the buckets in each of the smallest slices. False if they cannot grow any more.
    pub(crate) fn want_growth(&self) -> bool {
        let least = self.smallest_place() + 1;
        if least >= PLACES {
            return false;
        }
        self.least.fetch_max(least as u8, Ordering::AcqRel);
        let next = self.next_to_grow();
        // One that is growing goes on with the next one.
        let _ = self.wanted.compare_exchange(0, next, Ordering::AcqRel, Ordering::Relaxed);
        true
    }

    /// The number of buckets, without those that overflowed.
    pub(crate) fn buckets_now(&self) -> u64 {
        let places = (0..SLICES).map(|slice| self.place(slice));
        places.map(|place| 1 << (self.first_bits + place as u32 - 1)).sum()
    }

    fn smallest_place(&self) -> usize {
        (0..SLICES).map(|slice| self.place(slice)).min().expect("there are slices")
    }

    fn place(&self, slice: usize) -> usize {
        usize::from(self.directory[slice].load(Ordering::Acquire) & !MOVING)
    }

    /// Returns one more than the next slice that was asked to grow, or zero.
    fn next_to_grow(&self) -> u32 {
        let least = usize::from(self.least.load(Ordering::Acquire));
        let next = (0..SLICES).position(|slice| self.place(slice) < least);
        next.map_or(0, |slice| slice as u32 + 1)
    }

    /// True if a slice should grow, or is growing.
    #[inline]
    pub(crate) fn should_grow(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    /// Marks the slice that should grow, if none is growing.
    pub(crate) fn begin_growth(&self) -> Growth {
        let wanted = self.wanted.load(Ordering::Relaxed);
        let Some(slice) = wanted.checked_sub(1).filter(|slice| (*slice as usize) < SLICES) else {
            return Growth::None;
        };
        let growing = wanted | GROWING;
        let claim =
            self.wanted.compare_exchange(wanted, growing, Ordering::AcqRel, Ordering::Relaxed);
        if claim.is_err() {
            return Growth::None;
        }
        let slice = slice as usize;
        let place = usize::from(self.directory[slice].load(Ordering::Acquire));
        let can_grow = place + 1 < PLACES && self.make_table(place + 1).is_ok();
        if !can_grow {
            self.least.store(0, Ordering::Release);
        }
        if !can_grow || self.has_room(slice, place) {
            self.wanted.store(self.next_to_grow(), Ordering::Release);
            return Growth::None;
        }
        self.directory[slice].fetch_or(MOVING, Ordering::AcqRel);
        Growth::Begun(slice)
    }

    /// Moves the entries of a slice, which nobody changes. Returns the place of the old table if it
    /// was the last of its slices: the table is cleared once every session has seen this.
    pub(crate) fn grow(&self, slice: usize) -> Option<usize> {
        let place = usize::from(self.directory[slice].load(Ordering::Acquire) & !MOVING);
        let (old, new) = (self.made(place), self.made(place + 1));
        let moved = self.split(slice, old, new).is_ok();
        let place_now = if moved { place + 1 } else { place };
        if !moved {
            // The entries of the slice are too uneven: it stays as it is.
            new.clear_slice(slice);
            // Not zero, which is an empty slice.
            self.counts[slice].store(1, Ordering::Relaxed);
            self.least.store(0, Ordering::Release);
        }
        self.directory[slice].store(place_now as u8, Ordering::Release);
        self.moves.fetch_add(1, Ordering::Release);
        self.wanted.store(self.next_to_grow(), Ordering::Release);
        let is_unused = moved && old.leave() == 0;
        is_unused.then_some(place)
    }

    /// Gives the memory of a table back that no slice uses.
    pub(crate) fn clear(&self, place: usize) {
        self.made(place).clear();
    }

    fn split(&self, slice: usize, old: &Table, new: &Table) -> Result<(), NoPlace> {
        let doublings = old.bits() - self.first_bits;
        let bit = TAG_BITS - 1 - doublings;
        for (number, bucket) in old.slice(slice).iter().enumerate() {
            for entry in old.entries(bucket) {
                let half = (entry.tag() >> bit & 1) as usize;
                new.put(&new.slice(slice)[2 * number + half], entry)?;
            }
        }
        Ok(())
    }

    /// True if the slice has grown since it asked.
    fn has_room(&self, slice: usize, place: usize) -> bool {
        let is_large = place >= usize::from(self.least.load(Ordering::Acquire));
        is_large
            && self.counts[slice].load(Ordering::Relaxed)
                <= ENTRIES_OF_A_BUCKET << self.made(place).bits()
    }

    fn made(&self, place: usize) -> &Table {
        self.tables[place].get().expect("a slice leads to tables that were made")
    }

    fn make_table(&self, place: usize) -> io::Result<()> {
        if self.tables[place].get().is_none() {
            // Only the one who claimed the growth makes tables.
            let bits = self.first_bits + place as u32 - 1;
            let _ = self.tables[place].set(Table::new(bits)?);
        }
        Ok(())
    }
}

/// Marks that the wanted slice is growing.
const GROWING: u32 = 1 << 31;

//! Growth: a slice gets twice the buckets, or more where a table has no room, while all others are used as
//! before.
//!
//! First the slice is marked as moving: from then on its entries are not changed, only read, and
//! records are still updated in their place. Once every session has seen the mark, the entries are
//! copied to the next table, and then the directory leads there. The next bit of a bucket's number
//! is the first bit of the tag that is not part of it yet, so no record is touched.

use std::io;
use std::ops::Range;

use crate::hash::TAG_BITS;
use crate::sync::Ordering;

use super::table::{NoPlace, Table};
use super::{Index, MOVING, PLACE, PLACES, SLICES, STUCK};

/// A slice grows when it has more entries than this for each bucket.
const ENTRIES_OF_A_BUCKET: u32 = 5;

/// The buckets of the slices that grow together, at most: those of a small index would fall behind its keys
/// one by one, and moving these takes less than a tenth of a millisecond.
const BUCKETS_AT_ONCE: usize = 1024;

/// The state after an attempt to begin.
#[derive(Debug)]
pub(crate) enum Growth {
    /// Some of these slices are marked: [`Index::grow`] follows once every session has seen it.
    Begun(Range<usize>),
    None,
}

impl Index {
    /// Counts an entry that was added to a slice, and remembers that the slice should grow.
    pub(super) fn count(&self, slice: usize, bits: u32) {
        let count = self.counts[slice].fetch_add(1, Ordering::Relaxed) + 1;
        if count > ENTRIES_OF_A_BUCKET << bits {
            self.ask(slice);
        }
    }

    /// Asks that a slice grows. False if it could not when it tried last.
    pub(super) fn ask(&self, slice: usize) -> bool {
        if self.is_stuck(slice) {
            return false;
        }
        // One after the other; a slice that does not get its turn now asks with its next entry.
        let wanted = slice as u32 + 1;
        let _ = self.wanted.compare_exchange(0, wanted, Ordering::Relaxed, Ordering::Relaxed);
        true
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

    pub(super) fn place(&self, slice: usize) -> usize {
        usize::from(self.directory[slice].load(Ordering::Acquire) & PLACE)
    }

    /// Returns one more than the next slice that was asked to grow, or zero.
    fn next_to_grow(&self) -> u32 {
        let next = (0..SLICES).position(|slice| self.is_too_small(self.place(slice)));
        next.map_or(0, |slice| slice as u32 + 1)
    }

    /// True if a slice should grow, or is growing.
    #[inline]
    pub(crate) fn should_grow(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) != 0
    }

    fn is_stuck(&self, slice: usize) -> bool {
        self.directory[slice].load(Ordering::Acquire) & STUCK != 0
    }

    /// True if all slices are to have a larger place.
    fn is_too_small(&self, place: usize) -> bool {
        place < usize::from(self.least.load(Ordering::Acquire))
    }

    /// Marks the slice that should grow, and some that follow it, if none is growing.
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
        let first = slice as usize;
        let at_once = (BUCKETS_AT_ONCE >> self.made(self.place(first)).bits()).max(1);
        let slices = first..(first + at_once).min(SLICES);
        if slices.clone().filter(|slice| self.mark(*slice)).count() == 0 {
            self.wanted.store(self.next_to_grow(), Ordering::Release);
            return Growth::None;
        }
        Growth::Begun(slices)
    }

    /// Marks a slice as moving, if it should grow and can.
    pub(super) fn mark(&self, slice: usize) -> bool {
        let place = self.place(slice);
        // Only who asks for the growth of all slices has one try again that could not.
        let is_asked_for = !self.is_stuck(slice) || self.is_too_small(place);
        if !is_asked_for || self.has_room(slice, place) {
            return false;
        }
        let can_grow = place + 1 < PLACES && self.make_table(place + 1).is_ok();
        let mark = if can_grow { MOVING } else { STUCK };
        self.directory[slice].fetch_or(mark, Ordering::AcqRel);
        if !can_grow {
            self.least.store(0, Ordering::Release);
        }
        can_grow
    }

    /// Moves the entries of those slices that are marked, which nobody changes. Returns the places of the
    /// tables that they were the last to leave: they are cleared once every session has seen this.
    pub(crate) fn grow(&self, slices: Range<usize>) -> Vec<usize> {
        let is_moving =
            |slice: &usize| self.directory[*slice].load(Ordering::Acquire) & MOVING != 0;
        let left: Vec<Range<usize>> =
            slices.filter(is_moving).map(|slice| self.grow_one(slice)).collect();
        self.wanted.store(self.next_to_grow(), Ordering::Release);
        let left = left.into_iter().flatten();
        left.filter(|place| self.made(*place).leave() == 0).collect()
    }

    /// Moves the entries of a slice, and returns the places that it has left.
    fn grow_one(&self, slice: usize) -> Range<usize> {
        let place = self.place(slice);
        // The arena of the next table may be used up by slices whose turn has not come.
        let next = (place + 1..PLACES).find(|next| self.fits(slice, place, *next));
        let state = next.map_or(place as u8 | STUCK, |next| next as u8);
        if next.is_none() {
            self.least.store(0, Ordering::Release);
        }
        self.directory[slice].store(state, Ordering::Release);
        self.moves.fetch_add(1, Ordering::Release);
        place..next.unwrap_or(place)
    }

    /// Copies the entries of a slice to another table. False if there is no room for them.
    fn fits(&self, slice: usize, place: usize, next: usize) -> bool {
        if self.make_table(next).is_err() {
            return false;
        }
        let (old, new) = (self.made(place), self.made(next));
        let fits = self.split(slice, old, new).is_ok();
        if !fits {
            new.clear_slice(slice);
        }
        fits
    }

    /// Gives the memory of a table back that no slice uses.
    pub(crate) fn clear(&self, place: usize) {
        self.made(place).clear();
    }

    fn split(&self, slice: usize, old: &Table, new: &Table) -> Result<(), NoPlace> {
        let doublings = new.bits() - old.bits();
        let bits = TAG_BITS + self.first_bits - new.bits();
        for (number, bucket) in old.slice(slice).iter().enumerate() {
            for entry in old.entries(bucket) {
                let part = (entry.tag() >> bits) as usize % (1 << doublings);
                new.put(&new.slice(slice)[(number << doublings) + part], entry)?;
            }
        }
        Ok(())
    }

    /// True if the slice has grown since it asked.
    fn has_room(&self, slice: usize, place: usize) -> bool {
        !self.is_too_small(place)
            && self.made(place).has_overflow()
            && self.counts[slice].load(Ordering::Relaxed)
                <= ENTRIES_OF_A_BUCKET << self.made(place).bits()
    }

    pub(super) fn made(&self, place: usize) -> &Table {
        self.tables[place].get().expect("a slice leads to tables that were made")
    }

    pub(super) fn make_table(&self, place: usize) -> io::Result<()> {
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

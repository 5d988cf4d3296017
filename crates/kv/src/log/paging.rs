//! The way of a page: mutable, read-only, written to the storage, and its memory used again.
//!
//! Each border moves in two steps. One session moves it, and bumps the epoch; once every session has
//! seen it, the step is safe, and what lies behind may be done. A border moves again only after its
//! last move has become safe, so that few actions wait at any time.

use crate::address::Address;
use crate::sync::Ordering;

use super::Log;
use super::record::WORD;

/// The pages of memory of a log with storage, and how many of them are mutable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paging {
    pages: u64,
    mutable: u64,
}

/// The least pages of memory of a log with storage: one that is written to, the next one, one that
/// becomes read-only, and one that is flushed.
pub(crate) const LEAST_PAGES: u64 = 4;

impl Paging {
    pub(crate) fn new(pages: u64, mutable_fraction: f64) -> Paging {
        let wanted = (pages as f64 * mutable_fraction) as u64;
        Paging { pages, mutable: wanted.clamp(1, pages - 3) }
    }
}

impl Log {
    /// Moves ReadOnly as far as the tail has gone. Returns where to, if it moved: this is safe once
    /// every session has seen it.
    pub(crate) fn move_read_only(&self) -> Option<Address> {
        let paging = self.paging.as_ref()?;
        let before = self.page_of_tail().checked_sub(paging.mutable)?;
        let (to, borders) = (before * self.page, self.borders());
        let is_safe = borders.safe_read_only == borders.read_only;
        let moves = is_safe && to > borders.read_only.get();
        let to = Address::new(to);
        (moves && self.regions.move_read_only(borders.read_only, to)).then_some(to)
    }

    /// Moves ReadOnly to the tail, wherever that is.
    #[cfg(all(test, shuttle))]
    pub(crate) fn move_read_only_to_tail(&self) -> Option<Address> {
        let (to, borders) = (Address::new(self.tail()), self.borders());
        let is_safe = borders.safe_read_only == borders.read_only;
        let moves = is_safe && to > borders.read_only;
        (moves && self.regions.move_read_only(borders.read_only, to)).then_some(to)
    }

    /// Every session has seen a ReadOnly.
    pub(crate) fn read_only_is_safe(&self, read_only: Address) {
        self.regions.move_safe_read_only(read_only);
    }

    /// Moves Head, so that the page behind the tail's can be written; but not beyond `flushed`. As
    /// [`Log::move_read_only`].
    pub(crate) fn move_head(&self, flushed: u64) -> Option<Address> {
        let paging = self.paging.as_ref()?;
        let first = (self.page_of_tail() + 2).checked_sub(paging.pages)?;
        let to = (first * self.page).min(flushed & !(self.page - 1));
        let head = self.borders().head;
        let is_safe = self.writable.load(Ordering::Acquire) == self.writable_with(head.get());
        let moves = is_safe && to > head.get();
        let to = Address::new(to);
        (moves && self.regions.move_head(head, to)).then_some(to)
    }

    /// Every session has seen a Head: the memory of the pages before it is used again.
    pub(crate) fn head_is_safe(&self, head: Address) {
        let writable = self.writable_with(head.get());
        if self.in_memory <= self.mask {
            // The next pages have other places in the memory: give back those of the old ones.
            let old = self.writable.load(Ordering::Acquire) - self.in_memory;
            for page in (old..writable - self.in_memory).step_by(self.page as usize) {
                let first = ((page & self.mask) / WORD) as usize;
                self.memory.release(first..first + (self.page / WORD) as usize);
            }
        }
        self.writable.store(writable, Ordering::Release);
    }

    fn page_of_tail(&self) -> u64 {
        self.tail() >> self.page.trailing_zeros()
    }

    /// The end of the pages that have a place in the memory with this Head.
    pub(super) fn writable_with(&self, head: u64) -> u64 {
        (head & !(self.page - 1)) + self.in_memory
    }
}

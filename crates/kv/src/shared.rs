//! The part of a store that its sessions share, and the work on it that any of them does.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::address::Address;
use crate::epoch::Epoch;
use crate::flush::{Flush, Health};
use crate::index::{Growth, Index};
use crate::log::Log;
use crate::segment::Segment;
use crate::status::Status;
use crate::sync::{AtomicU64, Mutex, Ordering};

/// The work that waits until every session has seen a new border.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    ReadOnlyIsSafe(Address),
    HeadIsSafe(Address),
    /// Nobody changes the entries of this slice.
    SliceIsStill(usize),
    /// Nobody reads this table of the index.
    TableIsUnused(usize),
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) seed: u64,
    /// A number that only this store has, so that a block of another is not believed.
    pub(crate) id: u64,
    pub(crate) page: u64,
    pub(crate) segment: u64,
    pub(crate) is_stored: bool,
    pub(crate) epoch: Epoch<Action>,
    pub(crate) index: Index,
    pub(crate) log: Log,
    pub(crate) flush: Flush,
    pub(crate) sessions: Sessions,
}

impl Shared {
    /// Does what is to be done from time to time, between two operations.
    #[inline]
    pub(crate) fn maintain(&self) {
        if self.is_stored {
            self.move_borders();
        }
        if self.index.should_grow() {
            self.begin_growth();
        }
        if self.epoch.has_actions() {
            self.act();
        }
    }

    fn move_borders(&self) {
        let moved = [
            self.log.move_read_only().map(Action::ReadOnlyIsSafe),
            self.log.move_head(self.flush.flushed()).map(Action::HeadIsSafe),
        ];
        moved.into_iter().flatten().for_each(|action| self.bump(action));
    }

    fn begin_growth(&self) {
        if let Growth::Begun(slice) = self.index.begin_growth() {
            self.bump(Action::SliceIsStill(slice));
        }
    }

    fn bump(&self, action: Action) {
        let bumped = self.epoch.bump(action);
        bumped.expect("each border, and growth, has few actions at a time");
    }

    /// Does what every session is ready for.
    fn act(&self) {
        while let Some(action) = self.epoch.take_due() {
            match action {
                Action::ReadOnlyIsSafe(address) => self.log.read_only_is_safe(address),
                Action::HeadIsSafe(address) => self.log.head_is_safe(address),
                Action::SliceIsStill(slice) => {
                    if let Some(table) = self.index.grow(slice) {
                        self.bump(Action::TableIsUnused(table));
                    }
                }
                Action::TableIsUnused(table) => self.index.clear(table),
            }
        }
    }

    /// Returns the next area of the log that is to be written to the storage.
    pub(crate) fn next_area(&self) -> Option<Range<u64>> {
        let safe = self.log.borders().safe_read_only.get();
        // The border of an empty log is not that of a block.
        if safe < self.page { None } else { self.flush.begin(safe, self.page) }
    }

    /// Returns the file of an address, and the place in it.
    pub(crate) fn place(&self, at: u64) -> (Segment, u64) {
        (Segment::new(at / self.segment), at % self.segment)
    }

    /// The end of an operation for which the log has no room now; `None` if it will have.
    pub(crate) fn without_room(&self) -> Option<Status> {
        match self.flush.health() {
            _ if !self.is_stored || self.log.is_at_its_limit() => Some(Status::Full),
            Health::Good => None,
            Health::NoSpace => Some(Status::Full),
            Health::Failed => Some(Status::StorageFailed),
        }
    }

    pub(crate) fn is_open(&self, owner: u64) -> bool {
        self.sessions.is_open(owner)
    }
}

/// The sessions that are open.
#[derive(Debug)]
pub(crate) struct Sessions {
    /// The owner of each slot, or zero.
    owners: Box<[AtomicU64]>,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    ids: BTreeSet<u64>,
    /// The slots that are free, the lowest last.
    free: Vec<usize>,
    /// The number of sessions that were opened.
    count: u64,
}

/// A place among the sessions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) slot: usize,
    /// A number that no other session gets, also not the next one in this slot.
    pub(crate) owner: u64,
}

const SLOT_BITS: u32 = 16;
/// The rest of the bits that a token has for its owner.
const COUNT_BITS: u32 = 34;

impl Sessions {
    pub(crate) fn new(most: usize) -> Sessions {
        let open = Open { ids: BTreeSet::new(), free: (0..most).rev().collect(), count: 0 };
        let owners = (0..most).map(|_| AtomicU64::new(0)).collect();
        Sessions { owners, open: Mutex::new(open) }
    }

    /// Gives a session a place.
    pub(crate) fn open(&self, id: u64) -> Result<Place, Status> {
        let mut open = self.open.lock().expect("no holder of this lock panics");
        if open.ids.contains(&id) {
            return Err(Status::Busy);
        }
        let slot = open.free.pop().ok_or(Status::Busy)?;
        open.ids.insert(id);
        open.count += 1;
        let owner = (open.count % (1 << COUNT_BITS)) << SLOT_BITS | slot as u64;
        self.owners[slot].store(owner, Ordering::Release);
        Ok(Place { slot, owner })
    }

    pub(crate) fn close(&self, id: u64, place: Place) {
        let mut open = self.open.lock().expect("no holder of this lock panics");
        self.owners[place.slot].store(0, Ordering::Release);
        open.ids.remove(&id);
        open.free.push(place.slot);
    }

    fn is_open(&self, owner: u64) -> bool {
        let slot = (owner % (1 << SLOT_BITS)) as usize;
        self.owners.get(slot).is_some_and(|open| open.load(Ordering::Acquire) == owner)
    }
}

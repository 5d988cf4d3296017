//! The part of a store that its sessions share, and the work on it that any of them does.

use std::collections::BTreeMap;
use std::ops::Range;

use measure::Instant;

use crate::address::Address;
use crate::checkpoint::Checkpoints;
use crate::checkpoint::manifest::Durable;
use crate::compaction::{COMPACTOR, Compaction};
use crate::epoch::Epoch;
use crate::flush::{Flush, Health};
use crate::index::{Growth, Index};
use crate::log::{BLOCK, Limit, Log};
use crate::segment::Segment;
use crate::status::Status;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The work that waits until every session has seen a new border.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Action {
    ReadOnlyIsSafe(Address),
    HeadIsSafe(Address),
    /// Nobody changes the entries of those of these slices that are growing.
    SlicesAreStill {
        first: usize,
        end: usize,
    },
    /// Nobody reads this table of the index.
    TableIsUnused(usize),
    /// No session changes anything until the cut.
    AllHaveCrossed,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) seed: u64,
    /// A number that only this store has, so that a block of another is not believed.
    pub(crate) id: u64,
    pub(crate) page: u64,
    pub(crate) segment: u64,
    pub(crate) is_stored: bool,
    /// There may be checkpoints.
    pub(crate) is_durable: bool,
    /// The number that the program keeps with the store.
    pub(crate) note: AtomicU64,
    /// The buckets of the index when it was made.
    pub(crate) buckets: u64,
    pub(crate) checkpoints: Checkpoints,
    pub(crate) compaction: Compaction,
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
        if let Growth::Begun(slices) = self.index.begin_growth() {
            self.bump(Action::SlicesAreStill { first: slices.start, end: slices.end });
        }
    }

    pub(crate) fn bump(&self, action: Action) {
        let bumped = self.epoch.bump(action);
        bumped.expect("each border, and growth, has few actions at a time");
    }

    /// Does what every session is ready for.
    fn act(&self) {
        while let Some(action) = self.epoch.take_due() {
            match action {
                Action::ReadOnlyIsSafe(address) => self.log.read_only_is_safe(address),
                Action::HeadIsSafe(address) => self.log.head_is_safe(address),
                Action::SlicesAreStill { first, end } => {
                    let unused = self.index.grow(first..end).into_iter();
                    unused.for_each(|table| self.bump(Action::TableIsUnused(table)));
                }
                Action::TableIsUnused(table) => self.index.clear(table),
                Action::AllHaveCrossed => self.all_have_crossed(),
            }
        }
    }

    /// Returns the next area of the log that is to be written to the storage.
    pub(crate) fn next_area(&self, now: Instant) -> Option<Range<u64>> {
        let safe = self.log.borders().safe_read_only.get();
        // The border of an empty log is not that of a block.
        if safe < BLOCK { None } else { self.flush.begin(safe, self.page, now) }
    }

    /// True if the log should be compacted before it is full.
    #[inline]
    pub(crate) fn should_compact(&self) -> bool {
        self.is_stored && self.log.nears_its_limit() && self.can_compact()
    }

    /// True if another compaction may make room.
    fn can_compact(&self) -> bool {
        let begin = self.log.borders().begin.get();
        let (tail, worth) = (self.log.tail(), self.log.reserve_of_limit());
        self.compaction.may_help(begin, tail, worth) && begin < self.end_of_stored()
    }

    /// The end of the pages that are in the storage alone.
    fn end_of_stored(&self) -> u64 {
        self.flush.flushed().min(self.log.borders().head.get()) & !(self.page - 1)
    }

    /// Notes that a record has become garbage, with at least so many bytes.
    pub(crate) fn note_garbage(&self, bytes: u64) {
        if self.is_stored && self.log.has_limit() {
            self.compaction.note_garbage(bytes);
        }
    }

    /// Begins a compaction, and returns how far it goes: the oldest segment, or all that is written
    /// if it was asked for. `None` if another one is running, or nothing is behind.
    pub(crate) fn begin_compaction(&self) -> Option<u64> {
        if !self.compaction.begin() {
            return None;
        }
        let begin = self.log.borders().begin.get();
        self.compaction.look_for_garbage(self.log.tail(), self.log.reserve_of_limit());
        let written = self.end_of_stored();
        let oldest = (begin & !(self.segment - 1)) + self.segment;
        let target = if self.compaction.take_wanted() { written } else { oldest.min(written) };
        if target <= begin {
            self.compaction.end(true, 0);
            return None;
        }
        Some(target)
    }

    /// Returns the file of an address, and the place in it.
    pub(crate) fn place(&self, at: u64) -> (Segment, u64) {
        (Segment::new(at / self.segment), at % self.segment)
    }

    /// The end of an operation for whose record the log has no room now; `None` if it will have.
    pub(crate) fn without_room(&self, limit: Limit) -> Option<Status> {
        match self.flush.health() {
            _ if !self.is_stored => Some(Status::Full),
            // Compaction may make room.
            _ if self.log.is_at_its_limit(limit)
                && !self.compaction.is_running()
                && !self.can_compact() =>
            {
                Some(Status::Full)
            }
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
    /// The note of the session of each slot, made when it crossed.
    notes: Box<[Mutex<Note>]>,
    open: Mutex<Open>,
}

/// The state of a session at a cut.
#[derive(Debug, Default)]
struct Note {
    /// The version that the cut ends; zero if there was none yet.
    version: u64,
    at_cut: Durable,
    /// The state that the session was recovered with: as long as it does nothing, its client may not
    /// know what is lost.
    recovered: Durable,
}

#[derive(Debug)]
struct Open {
    /// The slot of each.
    ids: BTreeMap<u64, usize>,
    /// Those that were recovered, and have not been opened since.
    asleep: BTreeMap<u64, Durable>,
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

/// The sessions that may be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Which {
    Any,
    /// One that was recovered.
    Recovered,
}

impl Note {
    /// Returns the state at a cut of a session that has published this.
    fn state(&self, version: u64, begun: u64, pending: u64) -> Option<Durable> {
        let mut state = match self.version == version {
            true => self.at_cut.clone(),
            false if pending > 0 => return None,
            false => Durable { through: begun, except: Vec::new() },
        };
        if state.through == self.recovered.through {
            state.except.extend_from_slice(&self.recovered.except);
        }
        Some(state)
    }
}

const SLOT_BITS: u32 = 16;
/// The rest of the bits that a token has for its owner.
const COUNT_BITS: u32 = 33;

impl Sessions {
    pub(crate) fn new(most: usize, recovered: &BTreeMap<u64, Durable>) -> Sessions {
        let free = (0..most).rev().collect();
        let open = Open { ids: BTreeMap::new(), asleep: recovered.clone(), free, count: 0 };
        let owners = (0..most).map(|_| AtomicU64::new(0)).collect();
        let notes = (0..most).map(|_| Mutex::default()).collect();
        Sessions { owners, notes, open: Mutex::new(open) }
    }

    /// Gives a session a place, and calls `begin` with it and with what was recovered of the session.
    pub(crate) fn open(
        &self,
        id: u64,
        which: Which,
        begin: impl FnOnce(Place, &Durable),
    ) -> Result<Place, Status> {
        let mut open = self.open.lock().expect("no holder of this lock panics");
        if open.ids.contains_key(&id) {
            return Err(Status::Busy);
        }
        if which == Which::Recovered && !open.asleep.contains_key(&id) {
            return Err(Status::NotFound);
        }
        let slot = open.free.pop().ok_or(Status::Busy)?;
        let recovered = open.asleep.remove(&id).unwrap_or_default();
        if self.owners.len() < open.ids.len() + 1 + open.asleep.len() {
            // The sessions of a checkpoint are bounded, too.
            open.asleep.pop_first();
        }
        open.ids.insert(id, slot);
        open.count += 1;
        let owner = (open.count % (1 << COUNT_BITS)) << SLOT_BITS | slot as u64;
        self.owners[slot].store(owner, Ordering::Release);
        let place = Place { slot, owner };
        begin(place, &recovered);
        *self.note(slot) = Note { recovered, ..Note::default() };
        Ok(place)
    }

    /// Notes the state of a session at the cut that ends a version: the operations that it has begun,
    /// and those of them that are pending.
    pub(crate) fn cross(
        &self,
        slot: usize,
        version: u64,
        begun: u64,
        pending: impl Iterator<Item = u64>,
    ) {
        let mut note = self.note(slot);
        note.version = version;
        note.at_cut.through = begun;
        note.at_cut.except.clear();
        note.at_cut.except.extend(pending);
        note.at_cut.except.sort_unstable();
    }

    /// Returns the state of each session at a cut; `None` if one with pending operations has not
    /// crossed yet. Every session has refreshed or left since the checkpoint was announced.
    pub(crate) fn at_cut(
        &self,
        version: u64,
        epoch: &Epoch<Action>,
    ) -> Option<BTreeMap<u64, Durable>> {
        let open = self.open.lock().expect("no holder of this lock panics");
        let mut all = open.asleep.clone();
        for (id, slot) in &open.ids {
            // First what is published: a session that crosses notes the same, and then goes on.
            let (begun, pending) = epoch.published(*slot);
            let durable = self.note(*slot).state(version, begun, pending)?;
            // A session that has done nothing is as good as a new one.
            if durable.through > 0 && *id != COMPACTOR {
                all.insert(*id, durable);
            }
        }
        Some(all)
    }

    fn note(&self, slot: usize) -> MutexGuard<'_, Note> {
        self.notes[slot].lock().expect("no holder of this lock panics")
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

//! Compaction: the records of the oldest segments that are the newest of their keys are copied to the
//! tail, Begin moves behind the segments, and they are removed.
//!
//! A copy is made as an operation is: only if the search for the key ends at this record, and the chain
//! has not changed since. Tombstones are not copied, since all that they hide goes with them. A durable
//! store removes the segments with the checkpoints that need them; another one removes them at once.

use net::{Completion, Operation};

use crate::address::end_of_page;
use crate::compaction::TOKEN;
use crate::log::BLOCK;
use crate::log::stored::{first_run, records};
use crate::replies::Completions;
use crate::segment::Segment;
use crate::shared::Shared;
use crate::status::Status;
use crate::storage::Storage;

use super::Session;

/// The copies that wait at the same time.
const MOST_COPIES: usize = 256;

/// The state of a compaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Work {
    GoesOn,
    HasEnded,
}

/// Ends in [`Compactor::end`], or when it is dropped.
#[derive(Debug)]
pub(super) struct Compactor {
    session: Session,
    completions: Completions,
    begin: u64,
    target: u64,
    /// The records that were looked at, and those that were copied.
    records: u64,
    copied: u64,
    /// Everything before this address was read.
    read: u64,
    is_reading: bool,
    /// The token of the read or removal that is in progress: what an earlier compaction has begun,
    /// and not taken, has another one.
    token: u64,
    /// The part that was read last, and the bytes of it that were searched.
    part: Vec<u8>,
    searched: usize,
    /// Begin has moved, and segments before it are removed.
    is_removing: bool,
    has_ended: bool,
}

impl Compactor {
    pub(super) fn new(session: Session, target: u64) -> Compactor {
        let begin = session.shared.log.borders().begin.get() & !(BLOCK - 1);
        Compactor {
            session,
            records: 0,
            copied: 0,
            completions: Completions::new(1 << 20),
            begin,
            target,
            read: begin,
            is_reading: false,
            token: TOKEN,
            part: Vec::new(),
            searched: 0,
            is_removing: false,
            has_ended: false,
        }
    }

    /// Does what can be done now.
    pub(super) fn work(&mut self, storage: &mut dyn Storage) -> Work {
        let completion = self.session.shared.compaction.take();
        if let Some(completion) = completion.filter(|completion| completion.token == self.token) {
            self.is_reading = false;
            if !self.is_removing && self.take(completion).is_none() {
                // A segment that cannot be read is not given up.
                return self.end(None);
            }
        }
        if self.is_removing {
            return self.remove(storage);
        }
        if self.copy().is_none() {
            return self.end(None);
        }
        let is_searched = self.searched == self.part.len();
        if is_searched && !self.is_reading && self.read < self.target && storage.room() > 0 {
            self.read_on(storage);
        }
        self.session.poll(storage, &mut self.completions);
        // A copy that has failed keeps its original.
        let mut has_failed = false;
        for (_, status, _) in self.completions.iter() {
            self.copied += u64::from(status == Status::Ok);
            has_failed |= ![Status::Ok, Status::NotFound].contains(&status);
        }
        if has_failed {
            return self.end(None);
        }
        let is_copied = is_searched && !self.is_reading && self.session.pending() == 0;
        if is_copied {
            let shared = &self.session.shared;
            // With each part: the copies never exceed the limit by more than the originals in a part.
            shared.log.move_begin(self.read);
            if self.read == self.target && shared.is_durable {
                return self.end(Some(self.target));
            }
            self.is_removing = self.read == self.target;
        }
        Work::GoesOn
    }

    fn read_on(&mut self, storage: &mut dyn Storage) {
        let shared = &self.session.shared;
        let end = end_of_page(self.read, shared.page).min(self.target);
        let (segment, at) = shared.place(self.read);
        // The next poll tries it again.
        let Ok(file) = storage.file(segment.as_str()) else { return };
        let mut buffer = std::mem::take(&mut self.part);
        buffer.clear();
        buffer.resize((end - self.read) as usize, 0);
        self.searched = 0;
        self.is_reading = true;
        self.token = TOKEN | (self.read / BLOCK);
        storage.begin(file, Operation::Read { at, buffer }, self.token);
    }

    fn take(&mut self, completion: Completion) -> Option<()> {
        let length = completion.result.ok()?;
        self.part = completion.buffer;
        self.read += self.part.len() as u64;
        self.searched = 0;
        (length == self.part.len()).then_some(())
    }

    /// Begins to copy the next records of the part. `None` if it is not what was written.
    fn copy(&mut self) -> Option<()> {
        while self.searched < self.part.len() && self.session.pending() < MOST_COPIES {
            let shared = &self.session.shared;
            let at = self.read - (self.part.len() - self.searched) as u64;
            let blocks = first_run(&self.part[self.searched..], at, shared.id).ok()?;
            for (address, record) in records(blocks, at) {
                self.records += 1;
                if !record.info.is_tombstone() {
                    let serial = self.session.next;
                    self.session.next += 1;
                    self.session.waiting.keep_copy(serial, record.key, address);
                }
            }
            self.searched += blocks.len();
        }
        Some(())
    }

    /// Removes one segment after the other.
    fn remove(&mut self, storage: &mut dyn Storage) -> Work {
        if self.is_reading || storage.room() == 0 {
            return Work::GoesOn;
        }
        let shared = &self.session.shared;
        let Some(next) = shared.compaction.next_to_remove(self.target / shared.segment) else {
            return self.end(Some(self.target));
        };
        self.is_reading = true;
        self.token = TOKEN | (next * (shared.segment / BLOCK));
        storage.remove(Segment::new(next).as_str(), self.token);
        Work::GoesOn
    }

    /// Ends it: `to` is the new Begin, if it was not given up.
    fn end(&mut self, to: Option<u64>) -> Work {
        let shared = &self.session.shared;
        // If little was in vain, copying the rest of it in a circle would not help.
        let is_in_vain = to.is_none() || self.copied > self.records / 8 * 7;
        let rest = if is_in_vain { shared.log.reserve_of_limit() } else { 0 };
        let has_ended = to.is_some();
        if let Some(mean) = (self.read - self.begin).checked_div(self.records) {
            shared.compaction.note_record_bytes(mean);
        }
        shared.compaction.end(has_ended, shared.log.tail() + rest);
        self.has_ended = true;
        Work::HasEnded
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        if !self.has_ended {
            let shared: &Shared = &self.session.shared;
            shared.compaction.end(false, shared.log.tail());
        }
    }
}

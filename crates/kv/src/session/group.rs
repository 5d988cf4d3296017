//! The fast path: a group of operations waits for the memory together.
//!
//! A table larger than the caches makes each operation wait twice, for its bucket and for its
//! record. So all buckets of a group are requested before the first is read, and so are all records.

use crate::address::Address;
use crate::apply::{Applying, Step};
use crate::hash::Hash;
use crate::op::{FixedCode, FixedOp, Op};
use crate::replies::Replies;
use crate::status::Status;
use crate::sync::Ordering;

use super::waiting::{Reason, Waiting};

/// The most operations of a group: about as many as the processor has requests to the memory.
pub(super) const MOST: usize = 32;

/// An operation of a batch.
pub(super) trait Request {
    fn hash(&self, seed: u64) -> Hash;

    /// Executes the operation on the newest record of its chain if this is the usual case, and adds
    /// the answer. False if nothing was done.
    fn is_done_at(&self, newest: Address, on: &Applying<'_>, replies: &mut Replies) -> bool;

    fn apply(&self, on: &mut Applying<'_>, hash: Hash, value: &mut Vec<u8>) -> Step;

    /// Lets the operation wait.
    fn wait(&self, serial: u64, reason: Reason, waiting: &mut Waiting) -> Status;
}

/// Executes at most [`MOST`] operations, of which the first has the serial `first`.
#[inline]
pub(super) fn execute<R: Request>(
    applying: &mut Applying<'_>,
    seed: u64,
    requests: &[R],
    first: u64,
    waiting: &mut Waiting,
    replies: &mut Replies,
) {
    let (index, log) = (applying.index, applying.log);
    let mut hashes = [Hash::default(); MOST];
    for (hash, request) in hashes.iter_mut().zip(requests) {
        *hash = request.hash(seed);
        index.prefetch(*hash);
    }
    let moves = index.moves();
    let mut slots = [None; MOST];
    for (slot, hash) in slots.iter_mut().zip(&hashes[..requests.len()]) {
        *slot = index.find(*hash);
        if let Some(slot) = slot {
            // Below the head this brings something else, which does no harm.
            log.prefetch(slot.address());
        }
    }
    let found = requests.iter().zip(&hashes).zip(&slots);
    for (serial, ((request, hash), slot)) in (first..).zip(found) {
        // Earlier operations of the group may have changed the entry.
        let newest = match slot {
            Some(slot) if index.moves() == moves => slot.newest(),
            _ => Address::NONE,
        };
        if request.is_done_at(newest, applying, replies) {
            continue;
        }
        let status = match request.apply(applying, *hash, replies.bytes_mut()) {
            Step::Done(status) => status,
            Step::Later => request.wait(serial, Reason::Others, waiting),
            Step::Cold(at) => request.wait(serial, Reason::Cold(at), waiting),
        };
        replies.push(status);
    }
}

impl Request for FixedOp {
    #[inline]
    fn hash(&self, seed: u64) -> Hash {
        Hash::of(&self.key.to_le_bytes(), seed)
    }

    #[inline]
    fn is_done_at(&self, newest: Address, on: &Applying<'_>, replies: &mut Replies) -> bool {
        if newest < on.borders.read_only {
            return false;
        }
        let Some(value) = on.log.fixed(newest, self.key) else { return false };
        match self.code {
            FixedCode::Read => replies.push_fixed(value.load(Ordering::Acquire)),
            FixedCode::Upsert => {
                value.store(self.argument, Ordering::Release);
                replies.push(Status::Ok);
            }
            FixedCode::Add => {
                let old = value.fetch_add(self.argument, Ordering::AcqRel);
                replies.push_fixed(old.wrapping_add(self.argument));
            }
            FixedCode::Delete => return false,
        }
        true
    }

    fn apply(&self, on: &mut Applying<'_>, hash: Hash, value: &mut Vec<u8>) -> Step {
        let begin = value.len();
        let step = on.apply(hash, &self.op(&self.bytes()), None, value);
        let length = value.len() - begin;
        if self.code == FixedCode::Read && step == Step::Done(Status::Ok) && length != 8 {
            value.truncate(begin);
            return Step::Done(Status::WrongType);
        }
        step
    }

    fn wait(&self, serial: u64, reason: Reason, waiting: &mut Waiting) -> Status {
        waiting.keep(serial, &self.op(&self.bytes()), reason)
    }
}

impl Request for Op<'_> {
    #[inline]
    fn hash(&self, seed: u64) -> Hash {
        Hash::of(self.key(), seed)
    }

    #[inline]
    fn is_done_at(&self, _: Address, _: &Applying<'_>, _: &mut Replies) -> bool {
        false
    }

    fn apply(&self, on: &mut Applying<'_>, hash: Hash, value: &mut Vec<u8>) -> Step {
        on.apply(hash, self, None, value)
    }

    fn wait(&self, serial: u64, reason: Reason, waiting: &mut Waiting) -> Status {
        waiting.keep(serial, self, reason)
    }
}

//! A session: a stream of operations, each of which has a serial.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::address::Address;
use crate::apply::{Applying, Step};
use crate::checkpoint::State;
use crate::checkpoint::manifest::Durable;
use crate::compaction::COMPACTOR;
use crate::hash::Hash;
use crate::op::{FixedOp, Op};
use crate::replies::{Completions, Replies};
use crate::shared::{Place, Shared, Which};
use crate::status::{Outcome, Status};
use crate::storage::Storage;

use self::cold::Cold;
use self::compactor::{Compactor, Work};
use self::group::Request;
use self::scan::{Progress, STEPS, Scan};
use self::waiting::{Reason, Waiting};

mod cold;
mod compactor;
mod group;
mod scan;
#[cfg(all(test, not(shuttle)))]
mod tests;
mod waiting;

/// The stream of operations of one thread or of one connection. Pending operations are forgotten
/// when it is dropped: each of them has happened or not.
#[derive(Debug)]
pub struct Session {
    shared: Arc<Shared>,
    id: u64,
    place: Place,
    next: u64,
    /// The state of the checkpoints when the session last looked.
    seen: State,
    waiting: Waiting,
    cold: Cold,
    scan: Scan,
    /// A buffer for values that are copied.
    scratch: Vec<u8>,
    /// A buffer for values that are not returned as bytes.
    unused: Vec<u8>,
    not_sync: PhantomData<Cell<()>>,
}

impl Session {
    pub(crate) fn open(shared: Arc<Shared>, id: u64, which: Which) -> Result<Session, Status> {
        let mut next = 0;
        let place = shared.sessions.open(id, which, |place, recovered| {
            next = recovered.through;
            shared.epoch.open(place.slot, next);
        })?;
        Ok(Session {
            shared,
            id,
            place,
            next,
            seen: State::UNKNOWN,
            waiting: Waiting::default(),
            cold: Cold::new(place.owner),
            scan: Scan::default(),
            scratch: Vec::new(),
            unused: Vec::new(),
            not_sync: PhantomData,
        })
    }

    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the operations of the session that the newest checkpoint has: those that survive a
    /// crash.
    pub fn durable(&self) -> Durable {
        self.shared.checkpoints.of_session(self.id)
    }

    /// Returns the serial that the next operation gets; they count from zero. A session that was
    /// recovered goes on behind the operations that it had begun before the checkpoint.
    pub fn next_serial(&self) -> u64 {
        self.next
    }

    /// The number of operations that are pending.
    pub fn pending(&self) -> usize {
        self.waiting.len()
    }

    /// Appends the value to `value`.
    pub fn read(&mut self, key: &[u8], value: &mut Vec<u8>) -> Outcome {
        self.one(&Op::Read { key }, value)
    }

    pub fn upsert(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        self.without_value(&Op::Upsert { key, value })
    }

    /// Writes the new value to `sum`.
    pub fn add(&mut self, key: &[u8], delta: i64, sum: &mut i64) -> Outcome {
        let outcome = self.without_value(&Op::Add { key, delta });
        if let Ok(bytes) = self.unused[..].try_into() {
            *sum = i64::from_le_bytes(bytes);
        }
        outcome
    }

    pub fn delete(&mut self, key: &[u8]) -> Outcome {
        self.without_value(&Op::Delete { key })
    }

    /// Appends that part of the value to `value`.
    pub fn read_at(
        &mut self,
        key: &[u8],
        offset: u32,
        length: u32,
        value: &mut Vec<u8>,
    ) -> Outcome {
        self.one(&Op::ReadAt { key, offset, length }, value)
    }

    pub fn write_at(&mut self, key: &[u8], offset: u32, bytes: &[u8]) -> Outcome {
        self.without_value(&Op::WriteAt { key, offset, bytes })
    }

    /// Reads up to so many records in the order of the hashes of their keys, as [`Op::Scan`] says. It is
    /// always pending first.
    pub fn scan(&mut self, key: &[u8], is_behind: bool, count: u32) -> Outcome {
        self.without_value(&Op::Scan { key, is_behind, count })
    }

    /// Executes operations and fills `replies` with their answers; the first has the serial that
    /// [`Session::next_serial`] returned before. Returns how many were executed, and the rest is for
    /// another call: less than all if the replies reached their limit, or if too many operations are
    /// pending while a checkpoint makes its cut, and then this session and others poll first.
    ///
    /// A batch is many times as fast as its operations one by one: while one of them waits for the
    /// memory, others do, too.
    #[must_use = "a batch may end before its last operation"]
    pub fn batch(&mut self, ops: &[Op<'_>], replies: &mut Replies) -> usize {
        self.groups(ops, replies)
    }

    /// As [`Session::batch`], for keys and values of eight bytes.
    #[must_use = "a batch may end before its last operation"]
    pub fn batch_fixed(&mut self, ops: &[FixedOp], replies: &mut Replies) -> usize {
        self.groups(ops, replies)
    }

    /// The bytes of memory that pending operations hold: what they have brought, and what was found for
    /// them.
    pub fn held(&self) -> usize {
        self.waiting.held() + self.cold.held()
    }

    /// Completes what can be completed of the pending operations, fills `completions` with their ends,
    /// and does a part of the store's work with the storage. Call it again when the storage has
    /// completions, and while operations are pending.
    pub fn poll(&mut self, storage: &mut dyn Storage, completions: &mut Completions) {
        completions.clear();
        let shared = &*self.shared;
        self.cold.take(shared, storage, &mut self.waiting);
        {
            let inside = shared.epoch.enter(self.place.slot);
            shared.maintain();
            look(shared, &mut self.seen, self.place, self.next, &self.waiting);
            let applying = applying(shared, self.seen, &mut self.scratch);
            try_again(applying, &mut self.waiting, &mut self.scan, completions);
            inside.publish(self.next, self.waiting.len());
        }
        self.cold.begin_reads(shared, storage, &mut self.waiting);
        self.cold.begin_writes(shared, storage);
        shared.work_on_checkpoint(storage);
        self.compact(storage);
    }

    /// Goes on with the compaction of the log, or begins it if no thread does it. The storage keeps it,
    /// so that any session of the thread goes on with it.
    fn compact(&mut self, storage: &mut dyn Storage) {
        if self.id == COMPACTOR {
            return;
        }
        let kept = storage.kept_work().and_then(|work| work.downcast::<Compactor>().ok());
        let Some(mut compactor) = kept.or_else(|| self.begin_to_compact()) else { return };
        if compactor.work(storage) == Work::GoesOn {
            storage.keep_work(compactor);
        }
    }

    fn begin_to_compact(&self) -> Option<Box<Compactor>> {
        let shared = &self.shared;
        if !shared.compaction.is_wanted() && !shared.should_compact() {
            return None;
        }
        let target = shared.begin_compaction()?;
        match Session::open(Arc::clone(shared), COMPACTOR, Which::Any) {
            Ok(session) => Some(Box::new(Compactor::new(session, target))),
            Err(_) => {
                // All places are taken.
                shared.compaction.end(false, 0);
                None
            }
        }
    }

    fn without_value(&mut self, op: &Op<'_>) -> Outcome {
        let mut value = std::mem::take(&mut self.unused);
        value.clear();
        let outcome = self.one(op, &mut value);
        self.unused = value;
        outcome
    }

    pub(crate) fn one(&mut self, op: &Op<'_>, value: &mut Vec<u8>) -> Outcome {
        let shared = &*self.shared;
        let hash = Hash::of(op.key(), shared.seed);
        let inside = shared.epoch.enter(self.place.slot);
        shared.maintain();
        look(shared, &mut self.seen, self.place, self.next, &self.waiting);
        let step = applying(shared, self.seen, &mut self.scratch).apply(hash, op, None, value);
        let serial = self.next;
        self.next += 1;
        let status = match step {
            Step::Done(status) => status,
            Step::Later => self.waiting.keep(serial, op, Reason::Others),
            Step::Cold(at) => self.waiting.keep(serial, op, Reason::Cold(at)),
        };
        inside.publish(self.next, self.waiting.len());
        match status {
            Status::Pending => Outcome::Pending(serial),
            status => Outcome::Done(status),
        }
    }

    fn groups<R: Request>(&mut self, requests: &[R], replies: &mut Replies) -> usize {
        let shared = &*self.shared;
        replies.clear(requests.len());
        let inside = shared.epoch.enter(self.place.slot);
        let mut executed = 0;
        for requests in requests.chunks(group::MOST) {
            if replies.is_at_its_limit() {
                break;
            }
            inside.refresh();
            shared.maintain();
            look(shared, &mut self.seen, self.place, self.next, &self.waiting);
            if self.seen.is_crossing() && !self.waiting.has_room_for(group::MOST) {
                break;
            }
            let mut applying = applying(shared, self.seen, &mut self.scratch);
            let waiting = &mut self.waiting;
            group::execute(&mut applying, shared.seed, requests, self.next, waiting, replies);
            executed += requests.len();
            self.next += requests.len() as u64;
            inside.publish(self.next, self.waiting.len());
        }
        executed
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.sessions.close(self.id, self.place);
    }
}

/// Tries each pending operation once that may succeed now.
fn try_again(
    mut applying: Applying<'_>,
    waiting: &mut Waiting,
    scan: &mut Scan,
    completions: &mut Completions,
) {
    let (mut tries, mut steps) = (waiting.ready(), STEPS);
    while tries > 0 && !completions.is_at_its_limit() {
        tries -= 1;
        let Some(number) = waiting.next_ready() else { break };
        let waits = waiting.get(number);
        let (op, serial) = (waits.op(), waits.serial);
        if let Op::Scan { .. } = op
            && scan.number.is_some_and(|other| other != number)
        {
            waiting.wait_for_scan(number);
            continue;
        }
        let step = if let Op::Scan { key, is_behind, count } = op {
            let out = completions.bytes_mut();
            if scan.number.is_none() {
                let behind = if is_behind { key } else { &[] };
                let from = Hash::of(key, applying.shared.seed);
                scan.begin(number, from, behind, count);
            }
            let progress = match waits.has_failed() {
                true => Progress::Failed,
                false => scan.go_on(&applying, waits.blocks(), &mut steps),
            };
            let step = match progress {
                Progress::Done => Step::Done(scan.end(out)),
                Progress::Failed => Step::Done(scan.fail()),
                Progress::Later => Step::Later,
                Progress::Cold(at) => Step::Cold(at),
            };
            if let Step::Done(_) = step
                && let Some(next) = waiting.next_scan()
            {
                waiting.wait(next, Reason::Others);
                tries += 1;
            }
            step
        } else if waits.has_failed() {
            Step::Done(Status::StorageFailed)
        } else {
            let hash = Hash::of(op.key(), applying.shared.seed);
            match waits.copied() {
                Some(at) => applying.copy_if_newest(hash, op.key(), at, waits.known()),
                None => applying.apply(hash, &op, waits.known(), completions.bytes_mut()),
            }
        };
        match step {
            Step::Done(status) => {
                completions.push(serial, status);
                waiting.end(number);
            }
            Step::Later => waiting.wait(number, Reason::Others),
            Step::Cold(at) => waiting.wait(number, Reason::Cold(at)),
        }
    }
}

/// Looks whether a checkpoint was announced: then the session crosses before it does anything else.
#[inline]
fn look(shared: &Shared, seen: &mut State, place: Place, begun: u64, waiting: &Waiting) {
    let state = shared.checkpoints.state();
    if state == *seen {
        return;
    }
    if state.is_crossing() {
        shared.sessions.cross(place.slot, state.version(), begun, waiting.serials());
    }
    *seen = state;
}

/// Returns the state of the store from now until the session refreshes.
fn applying<'a>(shared: &'a Shared, seen: State, scratch: &'a mut Vec<u8>) -> Applying<'a> {
    let mut borders = shared.log.borders();
    if seen.is_crossing() {
        // The fast path leaves everything to the slow one, which looks.
        borders.read_only = Address::MOST;
    }
    Applying {
        index: &shared.index,
        log: &shared.log,
        borders,
        version: seen.version(),
        may_change: !seen.is_crossing(),
        shared,
        scratch,
    }
}

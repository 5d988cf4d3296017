//! The state of the compaction of the log, which one session at a time does.

use net::Completion;

use crate::sync::{AtomicU8, AtomicU64, Mutex, Ordering};

/// Marks the token of a read or of a removal.
pub(crate) const TOKEN: u64 = 1 << 61;

/// The id of the session that copies.
pub(crate) const COMPACTOR: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(crate) struct Compaction {
    is_running: AtomicU8,
    is_wanted: AtomicU8,
    /// The number that have ended.
    ended: AtomicU64,
    /// Without being asked for, the next one begins when the tail is here: the last one was in vain.
    not_before: AtomicU64,
    /// The garbage that deletions have made since compactions last turned to it, at least.
    garbage: AtomicU64,
    /// The garbage to which they turned is before this address: they go on until Begin is here, also if
    /// one of them is in vain.
    garbage_before: AtomicU64,
    /// The mean size of the records of the last one: the size of one that is deleted on disk, unread.
    record_bytes: AtomicU64,
    /// Segments from this one on may exist, if no checkpoint keeps them.
    first_segment: AtomicU64,
    /// The last operation that the storage has completed.
    completion: Mutex<Option<Completion>>,
}

impl Compaction {
    /// Asks for a compaction of all that is written.
    pub(crate) fn want(&self) {
        self.is_wanted.store(1, Ordering::Release);
    }

    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Relaxed) != 0
    }

    /// Returns true if all is to be compacted, once.
    pub(crate) fn take_wanted(&self) -> bool {
        self.is_wanted.swap(0, Ordering::AcqRel) != 0
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire) != 0
    }

    pub(crate) fn ended(&self) -> u64 {
        self.ended.load(Ordering::Acquire)
    }

    /// True if another one may make room, where at least so much is `worth` it.
    pub(crate) fn may_help(&self, begin: u64, tail: u64, worth: u64) -> bool {
        self.not_before.load(Ordering::Relaxed) <= tail
            || begin < self.garbage_before.load(Ordering::Relaxed)
            || self.has_garbage(worth)
    }

    /// Half of the reserve: then the other half still takes tombstones meanwhile.
    fn has_garbage(&self, worth: u64) -> bool {
        self.garbage.load(Ordering::Relaxed) >= worth / 2
    }

    /// Notes that a record has become garbage, with at least so many bytes.
    pub(crate) fn note_garbage(&self, bytes: u64) {
        let bytes = bytes.max(self.record_bytes.load(Ordering::Relaxed));
        self.garbage.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Lets compactions go on until they have passed all garbage that there is, if it is worth it.
    pub(crate) fn look_for_garbage(&self, tail: u64, worth: u64) {
        if self.has_garbage(worth) {
            self.garbage.store(0, Ordering::Relaxed);
            self.garbage_before.store(tail, Ordering::Relaxed);
        }
    }

    /// Notes the mean size of the records that a compaction has met.
    pub(crate) fn note_record_bytes(&self, mean: u64) {
        self.record_bytes.store(mean, Ordering::Relaxed);
    }

    /// Returns the first segment that may exist, and counts it as removed; `None` if it is this one.
    pub(crate) fn next_to_remove(&self, end: u64) -> Option<u64> {
        let first = self.first_segment.load(Ordering::Relaxed);
        if first >= end {
            return None;
        }
        self.first_segment.store(first + 1, Ordering::Relaxed);
        Some(first)
    }

    /// False if another session has begun.
    pub(crate) fn begin(&self) -> bool {
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        self.is_running.compare_exchange(0, 1, success, failure).is_ok()
    }

    /// Notes the end of a compaction, complete or given up, and the tail before which another one is
    /// not worth it.
    pub(crate) fn end(&self, is_complete: bool, not_before: u64) {
        self.not_before.store(not_before, Ordering::Relaxed);
        if is_complete {
            self.ended.fetch_add(1, Ordering::AcqRel);
        }
        self.is_running.store(0, Ordering::Release);
    }

    pub(crate) fn keep(&self, completion: Completion) {
        *self.completion.lock().expect("no holder of this lock panics") = Some(completion);
    }

    pub(crate) fn take(&self) -> Option<Completion> {
        self.completion.lock().expect("no holder of this lock panics").take()
    }
}

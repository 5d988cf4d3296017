//! The inserts of a run, and which of them other operations may choose.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

#[cfg(test)]
mod tests;

/// The inserts that may be unanswered at a time, from the oldest one on.
pub const WINDOW: u64 = 1 << 20;

/// Numbers the inserts of all shards of a process, and keeps the largest number such that all before are answered.
#[derive(Debug)]
pub struct Acknowledged {
    /// The first number.
    first: u64,
    next: AtomicU64,
    /// All numbers below are answered.
    limit: AtomicU64,
    /// A bit for each number of the window. An answer flips it, so that no bit is ever cleared for its next number: in
    /// every other window the answered ones are those that are not set.
    flipped: Box<[AtomicU64]>,
}

impl Acknowledged {
    /// Begins with the number `first`; all below are answered.
    pub fn new(first: u64) -> Acknowledged {
        let flipped = (0..WINDOW / 64).map(|_| AtomicU64::new(0)).collect();
        let (next, limit) = (AtomicU64::new(first), AtomicU64::new(first));
        Acknowledged { first, next, limit, flipped }
    }

    /// Returns the number of the next insert; `None` if the window is full.
    pub fn take(&self) -> Option<u64> {
        let take = |next: u64| (next < self.limit() + WINDOW).then_some(next + 1);
        self.next.fetch_update(SeqCst, SeqCst, take).ok()
    }

    /// Notes that the insert with this number is answered, in whatever way.
    pub fn acknowledge(&self, number: u64) {
        debug_assert!(!self.is_answered(number), "an insert is answered once");
        let (word, bit) = self.place(number);
        word.fetch_xor(bit, SeqCst);
        // Every shard moves the limit as far as it can. One total order of these operations is needed: otherwise two
        // shards could each miss the other's answer.
        let mut limit = self.limit();
        while self.is_answered(limit) {
            limit = match self.limit.compare_exchange(limit, limit + 1, SeqCst, SeqCst) {
                Ok(_) => limit + 1,
                Err(moved) => moved,
            };
        }
    }

    /// The number below which all inserts are answered.
    #[inline]
    pub fn limit(&self) -> u64 {
        self.limit.load(SeqCst)
    }

    /// For a number of the current window, true if it is answered.
    fn is_answered(&self, number: u64) -> bool {
        let (word, bit) = self.place(number);
        let is_even = ((number - self.first) / WINDOW).is_multiple_of(2);
        (word.load(SeqCst) & bit != 0) == is_even
    }

    fn place(&self, number: u64) -> (&AtomicU64, u64) {
        let place = (number - self.first) % WINDOW;
        (&self.flipped[(place / 64) as usize], 1 << (place % 64))
    }
}

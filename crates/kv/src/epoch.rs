//! Epochs: when no thread can still see what has been replaced.
//!
//! A session is in the epoch only while it executes, and refreshes it between groups of operations.
//! Whoever replaces something that sessions may be looking at bumps the epoch with an action, which
//! is due once every session has refreshed or left since. Nothing waits here, and nothing is called:
//! a session that executes takes the actions that are due.

use std::collections::VecDeque;

use crate::sync::{AtomicU64, AtomicUsize, Mutex, Ordering, fence};

#[cfg(all(test, shuttle))]
mod model;
#[cfg(all(test, not(shuttle)))]
mod tests;

/// The most actions that wait.
pub(crate) const MOST_ACTIONS: usize = 256;

/// The value of a slot whose session does not execute.
const OUT: u64 = 0;

/// The words of a session to the others, on a cache line of its own: it is written for every group of
/// operations.
#[derive(Debug)]
#[repr(align(128))]
struct Slot {
    epoch: AtomicU64,
    /// The operations that it has begun, and those of them that are pending.
    begun: AtomicU64,
    pending: AtomicU64,
}

/// The epoch, with actions of this type.
#[derive(Debug)]
pub(crate) struct Epoch<A> {
    current: AtomicU64,
    slots: Box<[Slot]>,
    /// The number of slots that have been used: later ones are out.
    used: AtomicUsize,
    /// The number of actions that wait, so that a refresh only looks at one word.
    waiting: AtomicUsize,
    /// Actions with the epochs that all sessions must have left, in this order.
    actions: Mutex<VecDeque<(u64, A)>>,
}

/// A session in the epoch.
#[derive(Debug)]
pub(crate) struct Inside<'a, A> {
    epoch: &'a Epoch<A>,
    slot: &'a Slot,
}

impl<A> Inside<'_, A> {
    /// Tells that the session has forgotten what it saw, and goes on.
    #[inline]
    pub(crate) fn refresh(&self) {
        let current = self.epoch.current.load(Ordering::Acquire);
        self.slot.epoch.store(current, Ordering::Release);
    }

    /// Tells how many operations the session has begun, and how many of them are pending: who sees
    /// its next refresh, or its end, sees this.
    #[inline]
    pub(crate) fn publish(&self, begun: u64, pending: usize) {
        self.slot.begun.store(begun, Ordering::Relaxed);
        self.slot.pending.store(pending as u64, Ordering::Relaxed);
    }
}

impl<A> Drop for Inside<'_, A> {
    #[inline]
    fn drop(&mut self) {
        self.slot.epoch.store(OUT, Ordering::Release);
    }
}

impl<A> Epoch<A> {
    pub(crate) fn new(slots: usize) -> Epoch<A> {
        Epoch {
            current: AtomicU64::new(OUT + 1),
            slots: (0..slots).map(|_| Slot::new()).collect(),
            used: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            actions: Mutex::new(VecDeque::with_capacity(MOST_ACTIONS)),
        }
    }

    /// Brings a session into the epoch, until the result is dropped. From now on it sees whatever
    /// was replaced before a bump whose action did not wait for it.
    #[inline]
    pub(crate) fn enter(&self, slot: usize) -> Inside<'_, A> {
        let slot = &self.slots[slot];
        slot.epoch.store(self.current.load(Ordering::Acquire), Ordering::Relaxed);
        // Either the bumper sees this slot, or this session sees what the bumper replaced.
        fence(Ordering::SeqCst);
        Inside { epoch: self, slot }
    }

    /// Tells that a slot will be used from now on, by a session that has begun so many operations.
    pub(crate) fn open(&self, slot: usize, begun: u64) {
        self.slots[slot].begun.store(begun, Ordering::Relaxed);
        self.slots[slot].pending.store(0, Ordering::Relaxed);
        self.used.fetch_max(slot + 1, Ordering::SeqCst);
    }

    /// Returns what a session has published last.
    pub(crate) fn published(&self, slot: usize) -> (u64, u64) {
        let slot = &self.slots[slot];
        (slot.begun.load(Ordering::Relaxed), slot.pending.load(Ordering::Relaxed))
    }

    /// Adds an action, which is due once every session has passed this point. Returns it if too many
    /// wait.
    pub(crate) fn bump(&self, action: A) -> Result<(), A> {
        let mut actions = self.actions.lock().expect("no holder of this lock panics");
        if actions.len() == MOST_ACTIONS {
            return Err(action);
        }
        // As in `enter`, for what was replaced before this.
        fence(Ordering::SeqCst);
        let left = self.current.fetch_add(1, Ordering::AcqRel);
        actions.push_back((left, action));
        self.waiting.store(actions.len(), Ordering::Relaxed);
        Ok(())
    }

    /// True if actions wait, due or not.
    #[inline]
    pub(crate) fn has_actions(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Takes the next action if it is due.
    pub(crate) fn take_due(&self) -> Option<A> {
        // Whoever holds the lock takes actions, or adds one that is not due yet.
        let mut actions = self.actions.try_lock().ok()?;
        let left = actions.front()?.0;
        fence(Ordering::SeqCst);
        if !self.all_have_left(left) {
            return None;
        }
        let (_, action) = actions.pop_front()?;
        self.waiting.store(actions.len(), Ordering::Relaxed);
        Some(action)
    }

    fn all_have_left(&self, epoch: u64) -> bool {
        let used = self.used.load(Ordering::SeqCst);
        self.slots[..used].iter().all(|slot| {
            let current = slot.epoch.load(Ordering::Acquire);
            current == OUT || current > epoch
        })
    }
}

impl Slot {
    fn new() -> Slot {
        let (begun, pending) = (AtomicU64::new(0), AtomicU64::new(0));
        Slot { epoch: AtomicU64::new(OUT), begun, pending }
    }
}

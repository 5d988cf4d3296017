//! Events that are not yet delivered to all subscribers, and the bound on them.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::event::Event;
use crate::kit::lock::lock;

/// The most bytes of all pending events.
const MOST_BYTES: usize = 256 << 20;

/// The room for pending events.
pub struct Room {
    most: usize,
    events: AtomicUsize,
    bytes: AtomicUsize,
}

/// An event until all subscribers and the log are done with it.
pub struct Pending {
    pub number: u64,
    pub event: Event,
    /// The subscribers that are not done.
    left: AtomicUsize,
    has_failed: AtomicBool,
    /// Gets true if the event is accepted.
    waiter: Mutex<Option<oneshot::Sender<bool>>>,
    /// The file of the log that has it. Only the log's thread uses it.
    pub file: AtomicU64,
    size: usize,
    room: Arc<Room>,
}

impl Room {
    pub fn new(most: usize) -> Self {
        Room { most, events: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }

    pub fn events(&self) -> usize {
        self.events.load(Ordering::Relaxed)
    }

    /// Returns true if there is no place for one more event. Only the serving thread adds events.
    pub fn is_full(&self) -> bool {
        self.most <= self.events() || MOST_BYTES <= self.bytes.load(Ordering::Relaxed)
    }

    /// Takes the place of an event that so many subscribers are to get.
    pub fn take(self: &Arc<Self>, number: u64, event: Event, subscribers: usize) -> Pending {
        let size = event.size();
        self.events.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(size, Ordering::Relaxed);
        Pending {
            number,
            event,
            left: AtomicUsize::new(subscribers),
            has_failed: AtomicBool::new(false),
            waiter: Mutex::new(None),
            file: AtomicU64::new(0),
            size,
            room: Arc::clone(self),
        }
    }
}

impl Pending {
    /// Returns the answer to the event's sender. It is an error if the event cannot be logged.
    pub fn acknowledgement(&self) -> oneshot::Receiver<bool> {
        let (waiter, acknowledgement) = oneshot::channel();
        *lock(&self.waiter) = Some(waiter);
        acknowledgement
    }

    /// Answers the event's sender, if it waits.
    pub fn acknowledge(&self, is_accepted: bool) {
        if let Some(waiter) = lock(&self.waiter).take() {
            // The sender may be gone.
            let _ = waiter.send(is_accepted);
        }
    }

    /// Notes that one subscriber is done. The last one answers a sender that still waits.
    pub fn done(&self, succeeded: bool) {
        if !succeeded {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.acknowledge(!self.has_failed.load(Ordering::Relaxed));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.room.events.fetch_sub(1, Ordering::Relaxed);
        self.room.bytes.fetch_sub(self.size, Ordering::Relaxed);
    }
}

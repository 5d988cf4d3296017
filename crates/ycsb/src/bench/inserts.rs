//! The keys that a run inserts, and which of them may be asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::keys::{Share, key};
use crate::workload::Part;

/// The keys that the connections of a client have inserted. Those of a thread, one to each server, divide every
/// `threads`-th number of the client, so that each knows which ones are its own without asking the others.
#[derive(Debug)]
pub struct Inserted {
    /// The number of keys before the run.
    first: u64,
    client: Part,
    threads: u64,
    /// For each connection, the first of its inserts that is not answered, counted from 0 among those of the client.
    unanswered: Box<[AtomicU64]>,
}

impl Inserted {
    /// Begins without inserts. The connections are those of all threads to the first server, then to the second.
    pub fn new(first: u64, client: Part, threads: u64, servers: u64) -> Inserted {
        let unanswered = (0..threads * servers).map(|place| AtomicU64::new(place % threads));
        Inserted { first, client, threads, unanswered: unanswered.collect() }
    }

    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The newest key such that it and all before it are answered, as a number among those of this client.
    pub(super) fn last(&self) -> u64 {
        let answered = self.unanswered.iter().map(|first| first.load(Ordering::Relaxed)).min();
        // A client whose servers have none of its keys inserts nothing.
        self.first - 1 + answered.filter(|answered| *answered != u64::MAX).unwrap_or(0)
    }

    /// The number of a key among those of all clients. Each client inserts every `of`-th.
    pub(super) fn number(&self, own: u64) -> u64 {
        let Part { number, of } = self.client;
        match own.checked_sub(self.first) {
            None => own,
            Some(inserted) => self.first + inserted * u64::from(of) + u64::from(number),
        }
    }
}

/// The inserts of one connection.
#[derive(Debug)]
pub(super) struct Inserts {
    inserted: Arc<Inserted>,
    place: usize,
    share: Share,
    /// The next one that may be of its server, counted among those of the client.
    next: u64,
}

impl Inserts {
    pub(super) fn new(inserted: Arc<Inserted>, place: usize, share: Share) -> Inserts {
        let next = place as u64 % inserted.threads;
        Inserts { inserted, place, share, next }
    }

    /// Returns the next key of its server.
    pub(super) fn next(&mut self) -> u64 {
        loop {
            let key = key(self.inserted.number(self.inserted.first + self.next));
            self.next += self.inserted.threads;
            if self.share.has(key) {
                return key;
            }
        }
    }

    /// The first that was not drawn.
    pub(super) fn following(&self) -> u64 {
        self.next
    }

    /// Notes that all before this one are answered, in whatever way.
    pub(super) fn answered(&self, until: u64) {
        self.inserted.unanswered[self.place].store(until, Ordering::Relaxed);
    }
}

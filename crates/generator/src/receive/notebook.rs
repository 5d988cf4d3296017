//! The receiving thread's notes: it fills blocks, and hands them over without waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};

use load::receiver::Notes;
use measure::{Instant, Nanos};
use results::notes::{Arrivals, Blocks, Reception};

use crate::events::identity;

#[cfg(test)]
mod tests;

/// The longest time for which an arrival is only in memory: a killed receiver loses no more.
const LONGEST_OPEN: Nanos = Nanos::from_millis(500);

/// The counts that the other thread may read.
#[derive(Debug, Default)]
pub(super) struct Counts {
    arrivals: AtomicU64,
    last: AtomicU64,
}

impl Counts {
    /// Returns the number of arrivals and the time of the last one.
    pub(super) fn read(&self) -> (u64, Instant) {
        let arrivals = self.arrivals.load(Ordering::Acquire);
        (arrivals, Instant(self.last.load(Ordering::Relaxed)))
    }
}

pub(super) struct Notebook {
    arrivals: Arrivals,
    /// The way to the file; absent if only counts are wanted.
    to_file: Option<SyncSender<Blocks>>,
    max_notes: u64,
    totals: Reception,
    counts: Arc<Counts>,
    /// The time at which blocks were handed over last.
    closed: Instant,
}

impl Notebook {
    pub(super) fn new(
        to_file: Option<SyncSender<Blocks>>,
        max_notes: u64,
        counts: Arc<Counts>,
    ) -> Notebook {
        Notebook {
            arrivals: Arrivals::default(),
            to_file,
            max_notes,
            totals: Reception::default(),
            counts,
            closed: Instant(0),
        }
    }

    /// Hands over what there is, or gives its arrivals up if too much is waiting to be written.
    fn hand_over(&mut self) {
        let Some(to_file) = &self.to_file else { return };
        let blocks = self.arrivals.close();
        if blocks.bytes.is_empty() {
            return;
        }
        let full = match to_file.try_send(blocks) {
            Ok(()) => return,
            Err(TrySendError::Full(blocks) | TrySendError::Disconnected(blocks)) => blocks,
        };
        self.totals.noted -= full.arrivals;
        self.totals.unnoted += full.arrivals;
        self.arrivals.give_back(full);
    }

    /// Returns what was not handed over, and the counts.
    pub(super) fn finish(mut self) -> (Blocks, Reception) {
        (self.arrivals.close(), self.totals)
    }
}

impl Notes for Notebook {
    fn note(&mut self, source: &[u8], id: &[u8], at: Instant) -> u64 {
        let totals = &mut self.totals;
        totals.first_ns.get_or_insert(at.0);
        totals.last_ns = Some(at.0);
        totals.arrivals += 1;
        if self.to_file.is_some() {
            if totals.noted < self.max_notes && self.arrivals.note(source, id, at) {
                totals.noted += 1;
            } else {
                totals.unnoted += 1;
            }
            if self.arrivals.is_full() {
                self.hand_over();
            }
        }
        // Nobody asks: the first arrivals of events are refused only in a load's own receiver.
        0
    }

    fn note_structured(&mut self, document: &[u8], at: Instant) -> Option<u64> {
        let (source, id) = identity(document)?;
        Some(self.note(source.as_bytes(), id.as_bytes(), at))
    }

    fn wrong(&mut self) {
        self.totals.wrong += 1;
    }

    fn turned(&mut self, now: Instant) {
        self.counts.last.store(self.totals.last_ns.unwrap_or_default(), Ordering::Relaxed);
        self.counts.arrivals.store(self.totals.arrivals, Ordering::Release);
        if self.closed + LONGEST_OPEN <= now {
            self.closed = now;
            self.hand_over();
        }
    }
}

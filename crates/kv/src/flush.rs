//! The progress of the log towards the storage: which pages are being written, and how far all have
//! been.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use measure::{Instant, Nanos};
use net::process::lacks_descriptors;

use crate::address::end_of_page;
use crate::sync::{AtomicU8, AtomicU64, Mutex, Ordering};

#[cfg(all(test, not(shuttle)))]
mod tests;

/// The pages that are written at the same time.
const MOST_AT_ONCE: usize = 4;

/// The time between two attempts to write what found no space: each copies a page for nothing.
const PAUSE: Nanos = Nanos::from_millis(100);

/// The state of the storage.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(crate) enum Health {
    Good = 0,
    /// A write found no space, or no descriptor. It is tried again.
    NoSpace = 1,
    /// A write failed otherwise. It is never tried again: what the kernel still has is unknown.
    Failed = 2,
}

#[derive(Debug)]
pub(crate) struct Flush {
    /// Everything before this address is in the storage.
    flushed: AtomicU64,
    health: AtomicU8,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The end of what has begun to be written.
    begun: u64,
    /// The number of writes in progress.
    writing: usize,
    /// Areas that were written before an earlier one: their starts and ends.
    ahead: BTreeMap<u64, u64>,
    /// Areas that found no space.
    again: Vec<Range<u64>>,
    /// They are not tried before.
    again_at: Instant,
    /// The newest failure, in words.
    why: String,
    /// Buffers of pages that were written: no more than are written at a time.
    spare: Vec<Vec<u8>>,
}

impl State {
    fn next(&mut self, safe: u64, page: u64) -> Option<Range<u64>> {
        let begun = self.begun;
        let end = end_of_page(begun, page).min(safe);
        self.begun = begun.max(end);
        (begun < end).then_some(begun..end)
    }

    fn again_at(&mut self, now: Instant) -> Option<Range<u64>> {
        if now < self.again_at {
            return None;
        }
        let area = self.again.pop()?;
        self.again_at = now + PAUSE;
        Some(area)
    }
}

impl Flush {
    pub(crate) fn new() -> Flush {
        Flush {
            flushed: AtomicU64::new(0),
            health: AtomicU8::new(Health::Good as u8),
            state: Mutex::new(State::default()),
        }
    }

    /// Begins behind what the storage has already.
    pub(crate) fn resume(&self, flushed: u64) {
        self.flushed.store(flushed, Ordering::Release);
        self.state.lock().expect("no holder of this lock panics").begun = flushed;
    }

    /// Notes a failure after which nothing may be written.
    pub(crate) fn fail(&self, error: &io::Error) {
        self.state.lock().expect("no holder of this lock panics").why = error.to_string();
        self.health.store(Health::Failed as u8, Ordering::Release);
    }

    /// Returns the newest failure, in words.
    pub(crate) fn why(&self) -> String {
        self.state.lock().expect("no holder of this lock panics").why.clone()
    }

    /// Takes an area back whose file could not be opened. Nothing of it was written, so it is tried
    /// again if the error may pass.
    pub(crate) fn put_back(&self, area: Range<u64>, error: &io::Error) {
        let passes = lacks_descriptors(error) || error.kind() == io::ErrorKind::OutOfMemory;
        self.end_with(area, error, passes);
    }

    /// Everything before this address is in the storage.
    pub(crate) fn flushed(&self) -> u64 {
        self.flushed.load(Ordering::Acquire)
    }

    pub(crate) fn health(&self) -> Health {
        match self.health.load(Ordering::Acquire) {
            0 => Health::Good,
            1 => Health::NoSpace,
            _ => Health::Failed,
        }
    }

    /// Returns the next area to write, a page or a part of one, if there is one before `safe`. As long
    /// as there is no space, that is an area that found none, and only one at a time.
    pub(crate) fn begin(&self, safe: u64, page: u64, now: Instant) -> Option<Range<u64>> {
        if self.health() == Health::Failed {
            return None;
        }
        let mut state = self.state.lock().expect("no holder of this lock panics");
        if state.writing == MOST_AT_ONCE {
            return None;
        }
        let area = match self.health() {
            Health::NoSpace => state.again_at(now),
            Health::Good | Health::Failed => state.next(safe, page),
        }?;
        state.writing += 1;
        Some(area)
    }

    /// Returns a buffer for a page.
    pub(crate) fn spare(&self) -> Vec<u8> {
        self.state.lock().expect("no holder of this lock panics").spare.pop().unwrap_or_default()
    }

    pub(crate) fn keep_spare(&self, buffer: Vec<u8>) {
        self.state.lock().expect("no holder of this lock panics").spare.push(buffer);
    }

    /// Takes the result of a write.
    pub(crate) fn end(&self, area: Range<u64>, result: &io::Result<usize>) {
        if let Err(error) = result {
            return self.end_with(area, error, false);
        }
        let mut state = self.state.lock().expect("no holder of this lock panics");
        state.writing -= 1;
        state.ahead.insert(area.start, area.end);
        let mut flushed = self.flushed();
        while let Some(end) = state.ahead.remove(&flushed) {
            flushed = end;
        }
        self.flushed.store(flushed, Ordering::Release);
        state.again_at = Instant::default();
        self.becomes(if state.again.is_empty() { Health::Good } else { Health::NoSpace });
    }

    fn end_with(&self, area: Range<u64>, error: &io::Error, passes: bool) {
        let mut state = self.state.lock().expect("no holder of this lock panics");
        state.writing -= 1;
        state.why = error.to_string();
        let is_full =
            matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        if passes || is_full {
            state.again.push(area);
            self.becomes(Health::NoSpace);
        } else {
            self.becomes(Health::Failed);
        }
    }

    fn becomes(&self, health: Health) {
        // A failure stays.
        if self.health() != Health::Failed {
            self.health.store(health as u8, Ordering::Release);
        }
    }
}

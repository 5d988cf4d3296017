//! The calls into a script outside of the load.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The calls before and after the load, one after the other: how many have begun, how many of them have ended, and
/// the line of the last one, or 0.
#[derive(Debug, Default)]
pub(crate) struct Outside {
    begun: AtomicU64,
    ended: AtomicU64,
    line: AtomicU64,
}

impl Outside {
    pub(crate) fn enter(&self, line: Option<usize>) {
        self.line.store(line.unwrap_or_default() as u64, Relaxed);
        self.begun.fetch_add(1, Relaxed);
    }

    pub(crate) fn leave(&self) {
        self.ended.fetch_add(1, Relaxed);
    }

    /// Returns the number of the call that is running, from 1, or 0.
    pub(crate) fn running(&self) -> u64 {
        let begun = self.begun.load(Relaxed);
        if begun == self.ended.load(Relaxed) { 0 } else { begun }
    }

    /// Returns the line at which the last call began, if that is known.
    pub(crate) fn line(&self) -> Option<usize> {
        Some(self.line.load(Relaxed) as usize).filter(|line| *line != 0)
    }
}

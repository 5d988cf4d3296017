//! The places of a server for its connections, whose number has a bound. Once all are taken, a peer that has been silent
//! for long loses its place: nobody can hold them all for ever.

use ::measure::{Instant, Nanos};
use net::process;

#[cfg(test)]
mod tests;

/// The time for which a peer may be silent while others want its place.
const PATIENCE: Nanos = Nanos::from_secs(10);
/// The file descriptors that are not left to connections.
const OTHER_FILES: u64 = 64;

pub(crate) struct Places {
    most: usize,
    taken: usize,
    patience: Nanos,
    /// The last time at which silent peers were looked for: a look takes as long as there are places.
    looked: Instant,
}

impl Places {
    /// Returns this many places, as far as there are descriptors for them.
    pub(crate) fn new(most: usize) -> Places {
        let files = process::raise_open_files().saturating_sub(OTHER_FILES).max(1);
        Places::with_patience(most.min(usize::try_from(files).unwrap_or(most)), PATIENCE)
    }

    pub(crate) fn with_patience(most: usize, patience: Nanos) -> Places {
        Places { most, taken: 0, patience, looked: Instant(0) }
    }

    /// Takes a place for a new connection, or returns false if there is none.
    #[must_use]
    pub(crate) fn take(&mut self) -> bool {
        let is_free = self.taken < self.most;
        self.taken += usize::from(is_free);
        is_free
    }

    /// Gives back the place of a connection that has ended.
    pub(crate) fn give_back(&mut self) {
        self.taken -= 1;
    }

    /// Returns the time such that peers that were silent since then are to make room for a new one; `None` if there is
    /// room, and shortly after the last look.
    pub(crate) fn too_silent_since(&mut self, now: Instant) -> Option<Instant> {
        let between = Nanos(self.patience.0 / 10);
        if self.taken < self.most || now < self.looked + between {
            return None;
        }
        self.looked = now;
        Some(Instant(now.0.saturating_sub(self.patience.0)))
    }
}

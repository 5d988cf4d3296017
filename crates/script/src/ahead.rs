//! Requests that were made before they are due, in the order in which they will be sent.

use std::collections::VecDeque;

use load::driver::http1::{Expected, Outgoing};

#[cfg(test)]
mod tests;

/// The most requests that are made ahead: 64 of 1.5 µs cover the longest turns of a busy shard.
const MOST: usize = 64;
/// The most bytes that are made ahead: with large bodies there are fewer requests.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Ahead {
    ready: VecDeque<Prepared>,
    bytes: usize,
    /// Empty ones to be used again, so that no memory is allocated for each request.
    spare: Vec<Prepared>,
}

#[derive(Debug, Default)]
pub(crate) struct Prepared {
    pub(crate) wire: Vec<u8>,
    pub(crate) expected: Vec<Expected>,
}

impl Ahead {
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ready.len() == MOST || MOST_BYTES <= self.bytes
    }

    /// Returns an empty one, to be filled and given to `push`.
    pub(crate) fn blank(&mut self) -> Prepared {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn push(&mut self, mut request: Prepared) {
        if self.ready.capacity() == 0 {
            self.make_room(&mut request);
        }
        self.bytes += request.wire.len();
        self.ready.push_back(request);
    }

    /// Reserves memory for all that can be ready at once, up to twice as long as the first: a shard
    /// may become idle enough to make so many only long after the warm-up.
    fn make_room(&mut self, first: &mut Prepared) {
        self.ready.reserve_exact(MOST);
        self.spare.reserve_exact(MOST);
        // The first is used again, too.
        first.wire.reserve_exact(first.wire.len());
        let (wire, expected) = (2 * first.wire.len(), first.expected.len());
        let most = (MOST_BYTES / wire.max(1)).min(MOST - 1);
        self.spare.extend((0..most).map(|_| Prepared {
            wire: Vec::with_capacity(wire),
            expected: Vec::with_capacity(expected),
        }));
    }

    /// Hands out the oldest request; false if there is none.
    pub(crate) fn take(&mut self, outgoing: &mut Outgoing<'_>) -> bool {
        let Some(mut request) = self.ready.pop_front() else { return false };
        self.bytes -= request.wire.len();
        outgoing.wire.append(&mut request.wire);
        outgoing.expected.append(&mut request.expected);
        self.spare.push(request);
        true
    }
}

//! Requests that were made before they are due, in the order in which they will be sent.

use std::collections::VecDeque;

use load::driver::http1::{Expected, Outgoing};

/// The most requests that are made ahead: 64 of 1.5 µs cover the longest turns of a busy shard.
const MOST: usize = 64;
/// With large bodies there are fewer.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Ahead {
    ready: VecDeque<Prepared>,
    bytes: usize,
    /// To be used again, so that nothing is allocated for each request.
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

    /// Empty, to be filled and given to `push`.
    pub(crate) fn blank(&mut self) -> Prepared {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn push(&mut self, request: Prepared) {
        self.bytes += request.wire.len();
        self.ready.push_back(request);
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

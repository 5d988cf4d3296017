//! The answers to a batch, and the completions of pending operations: buffers that the caller lends.

use crate::status::Status;

/// The answers to the operations of a batch, in their order.
///
/// The values of all answers lie behind each other in one buffer. If all keys and values have eight
/// bytes, it is the column of values that a fixed reply carries: one for each `Ok` of a read or an
/// addition.
#[derive(Debug)]
pub struct Replies {
    statuses: Vec<Status>,
    /// The ends of the values in `bytes`.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    limit: usize,
}

impl Replies {
    /// Makes a buffer of which a batch fills at most `limit` bytes of values, and those of the group
    /// of operations that reaches it.
    pub fn new(limit: usize) -> Replies {
        Replies { statuses: Vec::new(), ends: Vec::new(), bytes: Vec::new(), limit }
    }

    pub fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    /// Returns the values of all answers behind each other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the value in the answer to the operation with this index: the value read, the sum as
    /// eight bytes, or nothing.
    pub fn value(&self, index: usize) -> &[u8] {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin..self.ends[index]]
    }

    pub(crate) fn is_at_its_limit(&self) -> bool {
        self.bytes.len() >= self.limit
    }

    /// Forgets the answers; the buffers stay.
    pub(crate) fn clear(&mut self, expected: usize) {
        self.statuses.clear();
        self.ends.clear();
        self.bytes.clear();
        self.statuses.reserve(expected);
        self.ends.reserve(expected);
    }

    /// Returns the buffer to which the value of the next answer is appended.
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Adds an answer with a value of eight bytes.
    #[inline]
    pub(crate) fn push_fixed(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self.push(Status::Ok);
    }

    /// Ends an answer, whose value has been appended.
    #[inline]
    pub(crate) fn push(&mut self, status: Status) {
        self.statuses.push(status);
        self.ends.push(self.bytes.len());
    }
}

/// The ends of pending operations, in any order.
#[derive(Debug)]
pub struct Completions {
    serials: Vec<u64>,
    replies: Replies,
}

impl Completions {
    /// Makes a buffer; `limit` is that of [`Replies::new`].
    pub fn new(limit: usize) -> Completions {
        Completions { serials: Vec::new(), replies: Replies::new(limit) }
    }

    /// Returns the serial, the status and the value of each.
    pub fn iter(&self) -> impl Iterator<Item = (u64, Status, &[u8])> {
        let each = self.serials.iter().zip(&self.replies.statuses).enumerate();
        each.map(|(index, (serial, status))| (*serial, *status, self.replies.value(index)))
    }

    pub(crate) fn is_at_its_limit(&self) -> bool {
        self.replies.is_at_its_limit()
    }

    pub(crate) fn clear(&mut self) {
        self.serials.clear();
        self.replies.clear(0);
    }

    /// Returns the buffer to which the value of the next completion is appended.
    pub(crate) fn bytes_mut(&mut self) -> &mut Vec<u8> {
        self.replies.bytes_mut()
    }

    pub(crate) fn push(&mut self, serial: u64, status: Status) {
        self.serials.push(serial);
        self.replies.push(status);
    }
}

//! The queues of expected responses, one for each connection, in one slab.

use super::Expected;
use super::repeats::Sent;
use crate::driver::Token;

#[cfg(test)]
mod tests;

const NONE: u32 = u32::MAX;

/// A response that is to come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Pending {
    pub(super) token: Token,
    pub(super) expected: Expected,
    /// The group is complete with this response.
    pub(super) is_last: bool,
    /// The bytes of the group, if it may have to be sent again as it is.
    pub(super) sent: Option<Sent>,
}

/// The entries of all queues. Its memory is that of the largest number of responses ever expected
/// at once; adding and removing one takes constant time.
#[derive(Debug)]
pub(super) struct Slab {
    entries: Vec<Entry>,
    /// The first of the free entries.
    free: u32,
}

/// One connection's expected responses, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    first: u32,
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    pending: Pending,
    next: u32,
}

impl Default for Queue {
    fn default() -> Queue {
        Queue { first: NONE, last: NONE }
    }
}

impl Slab {
    /// Creates a slab that holds this many responses before it has to grow.
    pub(super) fn with_room_for(answers: usize) -> Slab {
        Slab { entries: Vec::with_capacity(answers), free: NONE }
    }

    #[inline]
    pub(super) fn push(&mut self, queue: &mut Queue, pending: Pending) {
        let entry = Entry { pending, next: NONE };
        let index = match self.free {
            NONE => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
            free => {
                self.free = self.entries[free as usize].next;
                self.entries[free as usize] = entry;
                free
            }
        };
        match queue.first {
            NONE => queue.first = index,
            _ => self.entries[queue.last as usize].next = index,
        }
        queue.last = index;
    }

    #[inline]
    pub(super) fn first(&self, queue: Queue) -> Option<Pending> {
        Some(self.entries.get(queue.first as usize)?.pending)
    }

    #[inline]
    pub(super) fn pop(&mut self, queue: &mut Queue) -> Option<Pending> {
        let index = queue.first;
        let Entry { pending, next } = *self.entries.get(index as usize)?;
        queue.first = next;
        self.entries[index as usize].next = self.free;
        self.free = index;
        Some(pending)
    }
}

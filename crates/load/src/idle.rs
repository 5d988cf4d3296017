//! The connections with room, the least loaded first, and among those the one idle longest.

use crate::driver::Slot;

#[cfg(test)]
mod tests;

const NONE: u32 = u32::MAX;

/// The slots that have room, in one queue for each number of requests that they carry. Entering,
/// leaving and finding the first take constant time, except for steps over empty queues.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    queues: Vec<Queue>,
    links: Vec<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

/// A slot's neighbours, and the queue that it is in.
#[derive(Clone, Copy, Debug)]
struct Link {
    queue: u32,
    before: u32,
    after: u32,
}

impl Idle {
    pub(crate) fn new(slots: usize) -> Idle {
        let nowhere = Link { queue: NONE, before: NONE, after: NONE };
        Idle { queues: Vec::new(), links: vec![nowhere; slots] }
    }

    /// Returns the slot to be used next.
    #[inline]
    pub(crate) fn first(&self) -> Option<Slot> {
        let queue = self.queues.iter().find(|queue| queue.first != NONE)?;
        Some(Slot(queue.first))
    }

    /// Puts a slot behind all others that carry as many requests.
    #[inline]
    pub(crate) fn enter(&mut self, slot: Slot, carried: usize) {
        self.leave(slot);
        if self.queues.len() <= carried {
            self.queues.resize(carried + 1, Queue { first: NONE, last: NONE });
        }
        let queue = &mut self.queues[carried];
        let link = Link { queue: carried as u32, before: queue.last, after: NONE };
        match queue.last {
            NONE => queue.first = slot.0,
            last => self.links[last as usize].after = slot.0,
        }
        queue.last = slot.0;
        self.links[slot.0 as usize] = link;
    }

    /// Removes a slot, if it is in a queue.
    #[inline]
    pub(crate) fn leave(&mut self, slot: Slot) {
        let Link { queue, before, after } = self.links[slot.0 as usize];
        if queue == NONE {
            return;
        }
        let queue = &mut self.queues[queue as usize];
        match before {
            NONE => queue.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => queue.last = before,
            after => self.links[after as usize].before = before,
        }
        self.links[slot.0 as usize].queue = NONE;
    }

    #[inline]
    pub(crate) fn contains(&self, slot: Slot) -> bool {
        self.links[slot.0 as usize].queue != NONE
    }
}

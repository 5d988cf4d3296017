//! The connections with room, the least loaded first, and among those the one idle longest.

use crate::driver::Slot;

#[cfg(test)]
mod tests;

const NONE: u32 = u32::MAX;

/// The slots that have room, in one queue for each number of requests that they carry. Entering and
/// leaving take constant time, and so does finding the first, on average: a slot's queue changes by
/// one with each request.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    queues: Vec<Queue>,
    /// All queues before this one are empty.
    lowest: usize,
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
        Idle { queues: Vec::new(), lowest: 0, links: vec![nowhere; slots] }
    }

    /// Returns the slot to be used next.
    #[inline]
    pub(crate) fn first(&mut self) -> Option<Slot> {
        loop {
            match self.queues.get(self.lowest)?.first {
                NONE => self.lowest += 1,
                first => return Some(Slot(first)),
            }
        }
    }

    /// Puts a slot behind all others that carry as many requests.
    #[inline]
    pub(crate) fn enter(&mut self, slot: Slot, carried: usize) {
        self.leave(slot);
        if self.queues.len() <= carried {
            self.queues.resize(carried + 1, Queue { first: NONE, last: NONE });
        }
        self.lowest = self.lowest.min(carried);
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

//! The connections with room, the least loaded first, and among those the one idle longest.

use crate::driver::Slot;

#[cfg(test)]
mod tests;

const NONE: u32 = u32::MAX;

/// The slots that have room, in groups, with one queue for each number of requests that they carry.
/// Entering and leaving take constant time, and so does finding the first, on average: a slot's queue
/// changes by one with each request.
#[derive(Debug)]
pub(crate) struct Idle {
    groups: Vec<Group>,
    links: Vec<Link>,
}

#[derive(Clone, Debug, Default)]
struct Group {
    queues: Vec<Queue>,
    /// All queues before this one are empty.
    lowest: usize,
}

#[derive(Clone, Copy, Debug)]
struct Queue {
    first: u32,
    last: u32,
}

/// A slot's neighbours, and the queue that it is in.
#[derive(Clone, Copy, Debug)]
struct Link {
    group: u32,
    queue: u32,
    before: u32,
    after: u32,
}

impl Idle {
    pub(crate) fn new(slots: usize, groups: usize) -> Idle {
        let nowhere = Link { group: 0, queue: NONE, before: NONE, after: NONE };
        Idle { groups: vec![Group::default(); groups], links: vec![nowhere; slots] }
    }

    /// Returns the slot of a group that is to be used next.
    #[inline]
    pub(crate) fn first(&mut self, group: usize) -> Option<Slot> {
        let Group { queues, lowest } = &mut self.groups[group];
        loop {
            match queues.get(*lowest)?.first {
                NONE => *lowest += 1,
                first => return Some(Slot(first)),
            }
        }
    }

    /// Puts a slot behind all others of its group that carry as many requests.
    #[inline]
    pub(crate) fn enter(&mut self, slot: Slot, group: usize, carried: usize) {
        self.leave(slot);
        let Group { queues, lowest } = &mut self.groups[group];
        if queues.len() <= carried {
            queues.resize(carried + 1, Queue { first: NONE, last: NONE });
        }
        *lowest = carried.min(*lowest);
        let queue = &mut queues[carried];
        let (group, before) = (group as u32, queue.last);
        let link = Link { group, queue: carried as u32, before, after: NONE };
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
        let Link { group, queue, before, after } = self.links[slot.0 as usize];
        if queue == NONE {
            return;
        }
        let queue = &mut self.groups[group as usize].queues[queue as usize];
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

//! The requests in progress, in the order in which they were sent.

use ::measure::{Instant, Nanos};

use crate::driver::{Label, Session, Slot, Token};

#[cfg(test)]
mod tests;

/// One request between its sending and its outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Request {
    /// The index of its pool within this shard.
    pub(crate) pool: u32,
    pub(crate) slot: Slot,
    pub(crate) intended: Instant,
    pub(crate) number: u64,
    pub(crate) label: Label,
    pub(crate) session: Session,
    /// The number of its operations whose outcome is not known.
    pub(crate) operations: u32,
    /// True if it was sent before, and the target has not processed it.
    pub(crate) again: bool,
    /// True if the target has sent it elsewhere.
    pub(crate) is_redirected: bool,
    /// True if `sent` does not depend on when its bytes leave: its connection was opened for it, or it
    /// was redirected.
    pub(crate) keeps_sent: bool,
    /// True while the driver holds it: it was not sent.
    pub(crate) is_held: bool,
    /// True if it was counted as overdue, now or when it was sent before.
    pub(crate) overdue: bool,
    /// The time since which its connection had room for it.
    pub(crate) room: Instant,
    /// The time at which its first byte was handed to the kernel, or the opening of a connection
    /// for it began.
    pub(crate) sent: Instant,
    /// The time that the driver held it before `sent`.
    pub(crate) held: Nanos,
    /// The time at which the first byte of its response was received; [`Instant::NEVER`] before.
    pub(crate) first_byte: Instant,
}

const NONE: u32 = u32::MAX;

/// A slab whose entries are linked in order of insertion. Adding, removing and finding the oldest
/// take constant time, and memory is that of the largest number of requests ever outstanding.
#[derive(Debug)]
pub(crate) struct Outstanding {
    entries: Vec<Entry>,
    free: Vec<u32>,
    oldest: u32,
    newest: u32,
    /// The oldest request that is not marked as overdue; all older ones are marked.
    punctual: u32,
    count: usize,
}

#[derive(Debug)]
struct Entry {
    request: Option<Request>,
    older: u32,
    newer: u32,
}

impl Outstanding {
    pub(crate) fn new() -> Outstanding {
        Outstanding {
            entries: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            punctual: NONE,
            count: 0,
        }
    }

    /// Reserves memory for this many requests.
    pub(crate) fn reserve(&mut self, requests: usize) {
        self.entries.reserve_exact(requests);
        self.free.reserve_exact(requests);
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub(crate) fn insert(&mut self, request: Request) -> Token {
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { request: None, older: NONE, newer: NONE });
            self.entries.len() as u32 - 1
        });
        self.entries[index as usize].request = Some(request);
        self.link(index);
        self.count += 1;
        Token(index)
    }

    /// Makes an entry the newest one.
    #[inline]
    fn link(&mut self, index: u32) {
        let entry = &mut self.entries[index as usize];
        (entry.older, entry.newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = index,
            newest => self.entries[newest as usize].newer = index,
        }
        self.newest = index;
        if self.punctual == NONE {
            self.punctual = index;
        }
    }

    #[inline]
    fn unlink(&mut self, index: u32) {
        let &Entry { older, newer, .. } = &self.entries[index as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        if self.punctual == index {
            self.punctual = newer;
        }
    }

    /// Returns a request that is sent now, though it was inserted earlier.
    pub(crate) fn sent_now(&mut self, token: Token) -> &mut Request {
        self.unlink(token.0);
        self.link(token.0);
        self.get(token)
    }

    #[inline]
    pub(crate) fn get(&mut self, token: Token) -> &mut Request {
        self.entries[token.0 as usize].request.as_mut().expect("a token names a request")
    }

    #[inline]
    pub(crate) fn remove(&mut self, token: Token) -> Request {
        let entry = &mut self.entries[token.0 as usize];
        let request = entry.request.take().expect("a token completes once");
        self.unlink(token.0);
        self.free.push(token.0);
        self.count -= 1;
        request
    }

    /// Returns the oldest unmarked request, if it was sent at least `timeout` ago.
    #[inline]
    pub(crate) fn expired(&self, now: Instant, timeout: Nanos) -> Option<(Token, Request)> {
        let request = self.entries.get(self.punctual as usize)?.request?;
        (request.sent + timeout <= now).then_some((Token(self.punctual), request))
    }

    /// Marks the request that [`Outstanding::expired`] returned, so that it is not returned again.
    #[inline]
    pub(crate) fn mark(&mut self, token: Token) {
        assert_eq!(self.punctual, token.0, "requests become overdue in their order");
        self.punctual = self.entries[token.0 as usize].newer;
        self.get(token).overdue = true;
    }

    /// Returns the time at which the next request will have been outstanding for `timeout`.
    #[inline]
    pub(crate) fn next_expiry(&self, timeout: Nanos) -> Option<Instant> {
        Some(self.entries.get(self.punctual as usize)?.request?.sent + timeout)
    }

    /// Removes the oldest request.
    pub(crate) fn remove_oldest(&mut self) -> Option<Request> {
        match self.oldest {
            NONE => None,
            oldest => Some(self.remove(Token(oldest))),
        }
    }
}

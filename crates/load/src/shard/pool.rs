//! A pool: one workload's share of a target, with its connections and its waiting requests.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ::measure::{Instant, Nanos};
use net::{ConnectionId, Endpoint};

use super::{Due, Unopened, Waiting};
use crate::driver::{Driver, Label, Node, Slot, Token};
use crate::idle::Idle;
use crate::observe::Of;

pub(super) struct Pool<D> {
    pub(super) of: Of,
    pub(super) driver: D,
    pub(super) endpoints: Vec<Endpoint>,
    /// The number of failed attempts to connect to each.
    pub(super) refused: Vec<u64>,
    pub(super) slots: Vec<Place>,
    /// The number of slots that are not [`State::Lost`]: while there are any, waiting requests can
    /// be served.
    usable: usize,
    /// Failed attempts to connect since a connection was last opened: this many requests fail when
    /// no slot is usable.
    pub(super) failed: usize,
    /// The reason why the last attempt to connect failed.
    pub(super) failure: Option<Unopened>,
    /// The slots with room for a request.
    pub(super) idle: Idle,
    /// Requests that are due but found no room, oldest first.
    pub(super) backlog: VecDeque<Waiting>,
    /// Requests that were sent and came back unprocessed, oldest first; sent before the backlog.
    pub(super) again: VecDeque<Due>,
    /// Closed loop: the times when the users in think time send their next requests.
    pub(super) thinking: BinaryHeap<Reverse<Instant>>,
    numbers: Numbers,
    /// Closed loop: the number of requests started so far.
    asked: u64,
    pub(super) longest_preparation: Nanos,
}

/// The numbering of a pool's requests in a closed loop; the arrivals of an open loop are numbered
/// already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Numbers {
    pub first: u64,
    pub step: u64,
    /// The total number of requests; `None` if only time ends them.
    pub quota: Option<u64>,
}

/// A slot's connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The state; changed only by [`Pool::set`].
    pub(super) state: State,
    /// The pool's endpoint that it connects to; changes after each failed attempt.
    endpoint: usize,
    /// The time since which it has had room.
    pub(super) room: Instant,
    /// The pause before the next attempt to connect.
    pub(super) pause: Nanos,
    /// Requests in progress.
    pub(super) outstanding: usize,
    /// Requests that the connection has been given so far.
    pub(super) carried: u32,
    /// The request for which the connection is being opened.
    pub(super) awaited: Option<Token>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// Waits until another connection may be opened.
    Lost,
    /// The next request opens a connection.
    Vacant,
    Connecting {
        connection: ConnectionId,
        since: Instant,
    },
    /// The network has connected it, and the driver is securing it.
    Securing {
        connection: ConnectionId,
        since: Instant,
        connected: Instant,
    },
    /// It is secured, or need not be, and the protocol's own handshake is in progress.
    Greeting {
        connection: ConnectionId,
        since: Instant,
        begun: Instant,
    },
    Open {
        connection: ConnectionId,
    },
}

impl<D: Driver> Pool<D> {
    pub(super) fn new(
        of: Of,
        driver: D,
        endpoints: Vec<Endpoint>,
        slots: usize,
        numbers: Numbers,
    ) -> Pool<D> {
        let place = |endpoint| Place {
            state: State::Lost,
            endpoint,
            room: Instant::default(),
            pause: Nanos::ZERO,
            outstanding: 0,
            carried: 0,
            awaited: None,
        };
        Pool {
            of,
            driver,
            slots: (0..slots).map(|slot| place(slot % endpoints.len())).collect(),
            refused: vec![0; endpoints.len()],
            endpoints,
            usable: 0,
            failed: 0,
            failure: None,
            idle: Idle::new(slots),
            backlog: VecDeque::new(),
            again: VecDeque::new(),
            thinking: BinaryHeap::new(),
            numbers,
            asked: 0,
            longest_preparation: Nanos::ZERO,
        }
    }

    pub(super) fn place(&mut self, slot: Slot) -> &mut Place {
        &mut self.slots[slot.0 as usize]
    }

    pub(super) fn set(&mut self, slot: Slot, state: State) {
        let before = std::mem::replace(&mut self.place(slot).state, state);
        self.usable -= usize::from(before != State::Lost);
        self.usable += usize::from(state != State::Lost);
        if let State::Open { .. } = state {
            self.failed = 0;
        }
    }

    /// True if any connection is open, is being opened, or will be opened for the next request.
    pub(super) fn is_usable(&self) -> bool {
        0 < self.usable
    }

    pub(super) fn endpoint(&self, slot: Slot) -> &Endpoint {
        &self.endpoints[self.slots[slot.0 as usize].endpoint]
    }

    pub(super) fn node(&self, slot: Slot) -> Node {
        Node(self.slots[slot.0 as usize].endpoint as u32)
    }

    /// Counts a failure to connect, and moves the slot to another endpoint, if there is one: this one
    /// may be dead while the others work.
    pub(super) fn turn_elsewhere(&mut self, slot: Slot) {
        let others = self.endpoints.len();
        let refused = self.place(slot).endpoint;
        self.refused[refused] += 1;
        self.place(slot).endpoint = (refused + 1) % others;
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.driver.has_stopped()
    }

    /// The number of users of a closed loop: as many requests as its connections can carry.
    pub(super) fn users(&self) -> usize {
        let rooms = (0..self.slots.len() as u32).map(|slot| self.driver.room(Slot(slot)));
        rooms.fold(0, usize::saturating_add)
    }

    /// Reserves memory for a backlog: growing it during the load would make requests late. The
    /// kernel provides the memory only on use; if it refuses this much, the backlog grows step by
    /// step.
    pub(super) fn expect(&mut self, backlog: usize) {
        let _ = self.backlog.try_reserve_exact(backlog);
    }

    /// Returns the next request of a user whose think time is over.
    pub(super) fn next_user(&mut self, now: Instant, end: Instant) -> Option<Waiting> {
        let intended = self.next_asking().filter(|next| *next <= now && *next < end)?;
        self.thinking.pop();
        let number = self.numbers.first + self.asked * self.numbers.step;
        self.asked += 1;
        Some(Waiting { intended, number, label: Label::NONE })
    }

    pub(super) fn next_asking(&self) -> Option<Instant> {
        if self.is_exhausted() || self.has_stopped() {
            return None;
        }
        self.thinking.peek().map(|Reverse(next)| *next)
    }

    /// True if a number of requests was set and all of them have been started.
    pub(super) fn is_exhausted(&self) -> bool {
        self.numbers.quota.is_some_and(|quota| quota <= self.asked)
    }

    /// Takes the oldest waiting request and a connection for it, if there is one with room.
    pub(super) fn take_next(&mut self) -> Option<(Due, Slot)> {
        if self.waiting() == 0 {
            return None;
        }
        let slot = self.idle.first()?;
        if let Some(due) = self.again.pop_front() {
            return Some((due, slot));
        }
        let waiting = self.backlog.pop_front()?;
        if self.backlog.is_empty() {
            // Restarts at the beginning, in memory that was just used, not behind it.
            self.backlog.clear();
        }
        Some((Due { waiting, returned: None }, slot))
    }

    /// The number of requests that wait for a connection.
    pub(super) fn waiting(&self) -> usize {
        self.again.len() + self.backlog.len()
    }

    /// Takes the oldest waiting request, which will not be sent.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let returned = self.again.pop_front().map(|due| due.waiting);
        returned.or_else(|| self.backlog.pop_front())
    }

    /// Queues a slot by the number of requests it carries, or removes it if it has no room.
    pub(super) fn offer(&mut self, slot: Slot, since: Instant) {
        self.offer_below(slot, since, None);
    }

    /// The same, for a connection that may carry only `most` requests in total.
    pub(super) fn offer_below(&mut self, slot: Slot, since: Instant, most: Option<u32>) {
        let place = &mut self.slots[slot.0 as usize];
        let has_room = match place.state {
            State::Open { .. } => {
                most.is_none_or(|most| place.carried < most) && 0 < self.driver.room(slot)
            }
            State::Vacant => true,
            State::Lost
            | State::Connecting { .. }
            | State::Securing { .. }
            | State::Greeting { .. } => false,
        };
        if !has_room {
            self.idle.leave(slot);
            return;
        }
        if !self.idle.contains(slot) {
            place.room = since;
        }
        self.idle.enter(slot, place.outstanding);
    }
}

impl State {
    /// Returns the connection that is being opened, and since when.
    pub(super) fn attempt(self) -> Option<(ConnectionId, Instant)> {
        match self {
            State::Connecting { connection, since }
            | State::Securing { connection, since, .. }
            | State::Greeting { connection, since, .. } => Some((connection, since)),
            State::Lost | State::Vacant | State::Open { .. } => None,
        }
    }
}

impl Place {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }
}

//! A pool: one workload's part of a target, with its connections and what waits for them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ::measure::{Instant, Nanos};
use net::{ConnectionId, Endpoint};

use super::{Unopened, Waiting};
use crate::driver::{Driver, Label, Slot, Token};
use crate::idle::Idle;
use crate::observe::Of;

pub(super) struct Pool<D> {
    pub(super) of: Of,
    pub(super) driver: D,
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) slots: Vec<Place>,
    /// Slots that are not [`State::Lost`]: while there are any, what waits can be served.
    usable: usize,
    /// Attempts to connect that have failed since a connection was opened last: so many requests
    /// fail when no slot is usable.
    pub(super) failed: usize,
    /// Why the last attempt to connect failed.
    pub(super) failure: Option<Unopened>,
    /// Slots with room.
    pub(super) idle: Idle,
    /// Requests whose time has come but which found no room, oldest first.
    pub(super) backlog: VecDeque<Waiting>,
    /// Closed loop: when the users who think will ask again.
    pub(super) thinking: BinaryHeap<Reverse<Instant>>,
    numbers: Numbers,
    /// Closed loop: requests started so far.
    asked: u64,
    pub(super) longest_preparation: Nanos,
}

/// How a closed loop numbers the requests of a pool: an open one's arrivals are numbered already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Numbers {
    pub first: u64,
    pub step: u64,
    /// How many requests there are to be; `None` if only time ends them.
    pub quota: Option<u64>,
}

/// A slot's connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Changed by [`Pool::set`].
    pub(super) state: State,
    /// Which of the pool's endpoints it connects to: another one after each attempt that failed.
    endpoint: usize,
    /// From when on it had room.
    pub(super) room: Instant,
    /// The pause before the next attempt to connect.
    pub(super) pause: Nanos,
    /// Requests on their way.
    pub(super) outstanding: usize,
    /// Requests that the connection has been given.
    pub(super) carried: u32,
    /// The request for which the connection is being opened.
    pub(super) awaited: Option<Token>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// Another one will be opened.
    Lost,
    /// The next request has a connection opened.
    Vacant,
    Connecting {
        connection: ConnectionId,
        since: Instant,
    },
    /// The network has connected it, and the driver secures it.
    Securing {
        connection: ConnectionId,
        since: Instant,
        connected: Instant,
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
            endpoints,
            usable: 0,
            failed: 0,
            failure: None,
            idle: Idle::new(slots),
            backlog: VecDeque::new(),
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

    /// Whether any connection is open, or being opened, or will be for the next request.
    pub(super) fn is_usable(&self) -> bool {
        0 < self.usable
    }

    pub(super) fn endpoint(&self, slot: Slot) -> &Endpoint {
        &self.endpoints[self.slots[slot.0 as usize].endpoint]
    }

    /// Has the slot's next connection lead elsewhere, if there is another endpoint: this one may be
    /// dead while the others live.
    pub(super) fn turn_elsewhere(&mut self, slot: Slot) {
        let others = self.endpoints.len();
        let place = self.place(slot);
        place.endpoint = (place.endpoint + 1) % others;
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.driver.has_stopped()
    }

    /// Users of a closed loop: as many as its connections can carry requests.
    pub(super) fn users(&self) -> usize {
        (0..self.slots.len() as u32).map(|slot| self.driver.room(Slot(slot))).sum()
    }

    /// Makes room for a backlog: growing while it does would make requests late. The kernel gives
    /// the memory when it is used; should it refuse so much, it is asked for bit by bit.
    pub(super) fn expect(&mut self, backlog: usize) {
        let _ = self.backlog.try_reserve_exact(backlog);
    }

    /// The next user whose thinking is over.
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

    /// A number of requests was asked for, and all have been started.
    pub(super) fn is_exhausted(&self) -> bool {
        self.numbers.quota.is_some_and(|quota| quota <= self.asked)
    }

    /// The oldest waiting request and the connection for it, if there is room.
    pub(super) fn take_next(&mut self) -> Option<(Waiting, Slot)> {
        if self.backlog.is_empty() {
            return None;
        }
        let slot = self.idle.first()?;
        let waiting = self.backlog.pop_front()?;
        if self.backlog.is_empty() {
            // It begins again in memory that was just used, not behind it.
            self.backlog.clear();
        }
        Some((waiting, slot))
    }

    /// Queues a slot where its load says, or takes it out if it has no room.
    pub(super) fn offer(&mut self, slot: Slot, since: Instant) {
        self.offer_below(slot, since, None);
    }

    /// The same for a connection that may carry only so many requests.
    pub(super) fn offer_below(&mut self, slot: Slot, since: Instant, most: Option<u32>) {
        let place = &mut self.slots[slot.0 as usize];
        let has_room = match place.state {
            State::Open { .. } => {
                most.is_none_or(|most| place.carried < most) && 0 < self.driver.room(slot)
            }
            State::Vacant => true,
            State::Lost | State::Connecting { .. } | State::Securing { .. } => false,
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
    /// The attempt to connect that goes on, and since when.
    pub(super) fn attempt(self) -> Option<(ConnectionId, Instant)> {
        match self {
            State::Connecting { connection, since } | State::Securing { connection, since, .. } => {
                Some((connection, since))
            }
            State::Lost | State::Vacant | State::Open { .. } => None,
        }
    }
}

impl Place {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }
}

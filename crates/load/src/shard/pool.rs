//! A pool: one workload's share of a target, with its connections and its waiting requests.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use ::measure::{Instant, Nanos};
use net::{ConnectionId, Endpoint};

use super::sessions::Sessions;
use super::{Due, Returned, Unopened, Waiting};
use crate::driver::{Driver, Label, Node, Session, Slot, Started, Token};
use crate::idle::Idle;
use crate::observe::Of;

pub(super) struct Pool<D> {
    pub(super) of: Of,
    pub(super) driver: D,
    pub(super) endpoints: Vec<Endpoint>,
    /// The number of failed attempts to connect to each.
    pub(super) refused: Vec<u64>,
    pub(super) slots: Vec<Link>,
    /// The reason why the last attempt to connect failed.
    pub(super) failure: Option<Unopened>,
    /// The slots with room for a request, in a group for each queue.
    pub(super) idle: Idle,
    /// One for each endpoint, if the driver routes requests to them; otherwise only one.
    pub(super) queues: Vec<Queue>,
    /// The slots that hold something, and some that have sent it since.
    pub(super) holding: Vec<Slot>,
    /// The requests that the driver holds.
    pub(super) held: usize,
    /// The users of a closed loop; 0 in an open one.
    pub(super) population: usize,
    /// Present if the requests belong to sessions.
    pub(super) sessions: Option<Box<Sessions>>,
    /// Closed loop: the times when the users in think time send their next requests.
    pub(super) thinking: BinaryHeap<Reverse<Instant>>,
    /// The requests that are sent again after a pause, by its end and their numbers.
    paused: BTreeMap<(Instant, u64), Waiting>,
    numbers: Numbers,
    /// Closed loop: the number of requests started so far.
    asked: u64,
    pub(super) longest_preparation: Nanos,
}

/// The requests that wait for one of the pool's slots, or for one of those that lead to a node.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// Requests that are due but found no room, oldest first.
    backlog: VecDeque<Waiting>,
    /// Requests that were sent and came back, oldest first; sent before the backlog.
    again: VecDeque<Due>,
    /// The slot that waits for further requests, which it gets before all others.
    filling: Option<Slot>,
    /// The number of slots that are not [`State::Lost`]: while there are any, waiting requests can
    /// be served.
    usable: usize,
    /// Failed attempts to connect since a connection was last opened: this many requests fail when
    /// no slot is usable.
    pub(super) failed: usize,
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
pub(super) struct Link {
    /// The state; changed only by [`Pool::set`].
    pub(super) state: State,
    /// The pool's endpoint that it connects to; changes after each failed attempt, unless requests
    /// are routed.
    endpoint: u32,
    /// The time since which it has had room.
    pub(super) room: Instant,
    /// The pause before the next attempt to connect.
    pub(super) pause: Nanos,
    /// Requests in progress: no connection carries more at a time than this can count.
    pub(super) outstanding: u16,
    /// Requests that the connection has been given so far.
    pub(super) carried: u32,
    /// The request for which the connection is being opened.
    awaited: Token,
    /// The time at which the driver sends what it holds; [`Instant::NEVER`] if it holds nothing.
    pub(super) due: Instant,
    /// True if it is in [`Pool::holding`].
    is_listed: bool,
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

/// No request: a place is as small as it can be, since there may be very many.
const NO_TOKEN: Token = Token(u32::MAX);

impl Link {
    /// Returns the request for which the connection is being opened.
    pub(super) fn awaited(&self) -> Option<Token> {
        (self.awaited != NO_TOKEN).then_some(self.awaited)
    }

    pub(super) fn set_awaited(&mut self, token: Token) {
        self.awaited = token;
    }

    pub(super) fn take_awaited(&mut self) -> Option<Token> {
        let awaited = self.awaited();
        self.awaited = NO_TOKEN;
        awaited
    }
}

impl<D: Driver> Pool<D> {
    pub(super) fn new(
        of: Of,
        driver: D,
        endpoints: Vec<Endpoint>,
        slots: usize,
        numbers: Numbers,
    ) -> Pool<D> {
        let place = |endpoint: usize| Link {
            state: State::Lost,
            endpoint: endpoint as u32,
            room: Instant::default(),
            pause: Nanos::ZERO,
            outstanding: 0,
            carried: 0,
            awaited: NO_TOKEN,
            due: Instant::NEVER,
            is_listed: false,
        };
        let queues = if driver.is_routed() { endpoints.len() } else { 1 };
        assert!(queues <= slots.max(1), "a node has a connection");
        let sessions = driver.sessions().map(|arrivals| Box::new(Sessions::new(arrivals)));
        Pool {
            of,
            driver,
            slots: (0..slots).map(|slot| place(slot % endpoints.len())).collect(),
            refused: vec![0; endpoints.len()],
            endpoints,
            failure: None,
            idle: Idle::new(slots, queues),
            queues: (0..queues).map(|_| Queue::default()).collect(),
            holding: Vec::new(),
            held: 0,
            population: 0,
            sessions,
            thinking: BinaryHeap::new(),
            paused: BTreeMap::new(),
            numbers,
            asked: 0,
            longest_preparation: Nanos::ZERO,
        }
    }

    pub(super) fn place(&mut self, slot: Slot) -> &mut Link {
        &mut self.slots[slot.0 as usize]
    }

    pub(super) fn set(&mut self, slot: Slot, state: State) {
        let before = std::mem::replace(&mut self.place(slot).state, state);
        let queue = self.queue(slot);
        let queue = &mut self.queues[queue];
        queue.usable -= usize::from(before != State::Lost);
        queue.usable += usize::from(state != State::Lost);
        if let State::Open { .. } = state {
            queue.failed = 0;
        }
    }

    /// Returns the queue whose requests the slot serves.
    pub(super) fn queue(&self, slot: Slot) -> usize {
        if self.queues.len() == 1 { 0 } else { self.slots[slot.0 as usize].endpoint as usize }
    }

    /// Returns the queue of a request.
    fn route(&mut self, waiting: Waiting) -> &mut Queue {
        let queue = match self.queues.len() {
            1 => 0,
            _ => self.driver.route(waiting.number, waiting.label).0 as usize,
        };
        &mut self.queues[queue]
    }

    pub(super) fn enqueue(&mut self, waiting: Waiting) {
        self.route(waiting).backlog.push_back(waiting);
    }

    /// Routes the waiting requests anew. Those that came back stay where the target, or the driver, has
    /// sent them.
    pub(super) fn route_anew(&mut self) {
        let backlogs = self.queues.iter_mut().flat_map(|queue| queue.backlog.drain(..));
        let mut waiting: Vec<Waiting> = backlogs.collect();
        // From several queues, each in order.
        waiting.sort_by_key(|waiting| (waiting.intended, waiting.number));
        waiting.into_iter().for_each(|waiting| self.enqueue(waiting));
    }

    pub(super) fn again(&mut self, waiting: Waiting, returned: Returned) {
        self.route(waiting).again.push_back(Due { waiting, returned: Some(returned) });
    }

    pub(super) fn pause(&mut self, waiting: Waiting, until: Instant) {
        self.paused.insert((until, waiting.number), waiting);
    }

    /// Queues the requests whose pause is over.
    pub(super) fn wake(&mut self, now: Instant) {
        while let Some(first) = self.paused.first_entry().filter(|first| first.key().0 <= now) {
            let waiting = first.remove();
            self.again(waiting, Returned { at: now, was_sent: true, overdue: false, first: None });
        }
    }

    pub(super) fn next_waking(&self) -> Option<Instant> {
        self.paused.first_key_value().map(|((until, _), _)| *until)
    }

    pub(super) fn redirect(&mut self, Node(to): Node, waiting: Waiting, returned: Returned) {
        let queue = self.queues.get_mut(to as usize).expect("a redirect leads to a node");
        queue.again.push_back(Due { waiting, returned: Some(returned) });
    }

    /// True if any connection for this queue is open, is being opened, or will be opened for the
    /// next request.
    pub(super) fn is_usable(&self, queue: usize) -> bool {
        0 < self.queues[queue].usable
    }

    pub(super) fn endpoint(&self, slot: Slot) -> &Endpoint {
        &self.endpoints[self.slots[slot.0 as usize].endpoint as usize]
    }

    pub(super) fn node(&self, slot: Slot) -> Node {
        Node(self.slots[slot.0 as usize].endpoint)
    }

    /// Counts a failure to connect, and moves the slot to another endpoint, if there is one: this one
    /// may be dead while the others work. A slot that serves one node stays there.
    pub(super) fn turn_elsewhere(&mut self, slot: Slot) {
        let others = self.endpoints.len() as u32;
        let refused = self.place(slot).endpoint;
        self.refused[refused as usize] += 1;
        if self.queues.len() == 1 {
            self.place(slot).endpoint = (refused + 1) % others;
        }
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.driver.has_stopped()
    }

    /// The number of users of a closed loop: as many requests as its connections can carry, unless the
    /// driver has another number.
    pub(super) fn users(&self) -> usize {
        if let Some(users) = self.driver.users() {
            return users;
        }
        let rooms = (0..self.slots.len() as u32).map(|slot| self.driver.room(Slot(slot)));
        rooms.fold(0, usize::saturating_add)
    }

    /// Reserves memory for a backlog: growing it during the load would make requests late. The
    /// kernel provides the memory only on use; if it refuses this much, the backlog grows step by
    /// step.
    pub(super) fn expect(&mut self, backlog: usize) {
        for queue in &mut self.queues {
            let _ = queue.backlog.try_reserve_exact(backlog);
        }
    }

    /// Returns the next request of a user whose think time is over.
    pub(super) fn next_user(&mut self, now: Instant, end: Instant) -> Option<Waiting> {
        let intended = self.next_asking().filter(|next| *next <= now && *next < end)?;
        self.thinking.pop();
        let number = self.numbers.first + self.asked * self.numbers.step;
        self.asked += 1;
        Some(Waiting { intended, number, label: Label::NONE, session: Session::NONE })
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

    /// Takes the oldest request that waits in a queue and a connection for it, if there is one with
    /// room.
    pub(super) fn take_next(&mut self, index: usize) -> Option<(Due, Slot)> {
        let queue = &mut self.queues[index];
        if queue.waiting() == 0 {
            return None;
        }
        let filling = queue.filling.filter(|slot| self.idle.contains(*slot));
        let slot = filling.or_else(|| self.idle.first(index))?;
        if let Some(due) = queue.again.pop_front() {
            return Some((due, slot));
        }
        let waiting = queue.backlog.pop_front()?;
        if queue.backlog.is_empty() {
            // Restarts at the beginning, in memory that was just used, not behind it.
            queue.backlog.clear();
        }
        Some((Due { waiting, returned: None }, slot))
    }

    /// Notes that a slot holds something, for at most this time.
    pub(super) fn hold(&mut self, slot: Slot, now: Instant, longest: Nanos) {
        let place = &mut self.slots[slot.0 as usize];
        place.due = place.due.min(now + longest);
        if !std::mem::replace(&mut place.is_listed, true) {
            self.holding.push(slot);
        }
        if Nanos::ZERO < longest {
            let queue = self.queue(slot);
            self.queues[queue].filling = Some(slot);
        }
    }

    /// Notes that a slot holds nothing any more. Returns when that was due.
    pub(super) fn release(&mut self, slot: Slot) -> Instant {
        let queue = self.queue(slot);
        self.queues[queue].filling.take_if(|filling| *filling == slot);
        std::mem::replace(&mut self.place(slot).due, Instant::NEVER)
    }

    /// True if the driver holds a request of every user, so that no other can join them.
    pub(super) fn is_all_held(&self) -> bool {
        0 < self.held && self.held == self.population
    }

    /// Makes due what the slots hold.
    pub(super) fn hurry(&mut self, now: Instant) {
        for slot in &self.holding {
            let place = &mut self.slots[slot.0 as usize];
            if place.due != Instant::NEVER {
                place.due = place.due.min(now);
            }
        }
    }

    /// Returns a slot whose time to send what it holds has come.
    pub(super) fn next_to_flush(&mut self, now: Instant) -> Option<Slot> {
        let mut index = 0;
        while let Some(&slot) = self.holding.get(index) {
            let place = &mut self.slots[slot.0 as usize];
            if now < place.due && place.due != Instant::NEVER {
                index += 1;
                continue;
            }
            place.is_listed = false;
            self.holding.swap_remove(index);
            if place.due <= now {
                return Some(slot);
            }
        }
        None
    }

    pub(super) fn next_due(&self) -> Option<Instant> {
        self.holding.iter().map(|slot| self.slots[slot.0 as usize].due).min()
    }

    /// The number of connections that could not be opened, and are tried again later.
    pub(super) fn unconnected(&self) -> usize {
        self.slots.len() - self.sum(|queue| queue.usable)
    }

    /// The number of requests that wait for a connection, or for the end of a pause.
    pub(super) fn waiting(&self) -> usize {
        self.sum(Queue::waiting) + self.paused.len()
    }

    /// The number of these that were never sent.
    pub(super) fn backlog(&self) -> usize {
        self.sum(|queue| queue.backlog.len())
    }

    fn sum(&self, of: fn(&Queue) -> usize) -> usize {
        match &*self.queues {
            [only] => of(only),
            all => all.iter().map(of).sum(),
        }
    }

    /// Takes the oldest request that waits in a queue, which will not be sent, with the number of its
    /// operations.
    pub(super) fn pop(&mut self, queue: usize) -> Option<(Waiting, u32)> {
        let queue = &mut self.queues[queue];
        let returned = queue.again.pop_front().map(|due| due.waiting);
        let mut waiting = returned.or_else(|| queue.backlog.pop_front())?;
        let Started { label, operations } = self.driver.unsent(waiting.number, waiting.label);
        waiting.label = label;
        Some((waiting, operations))
    }

    /// True while the next request of a queue may wait for a connection, though none can be opened: since it came
    /// back, or since it was due if it was never sent.
    pub(super) fn is_patient(&self, queue: usize, now: Instant) -> bool {
        let patience = self.driver.patience();
        if patience == Nanos::ZERO {
            return false;
        }
        let Queue { again, backlog, .. } = &self.queues[queue];
        let returned = again.front().and_then(|due| due.returned).map(|returned| returned.at);
        let since = returned.or_else(|| backlog.front().map(|waiting| waiting.intended));
        // After its last request a workload has none for those that wait: no connection would change that.
        self.has_stopped() || since.is_some_and(|since| now < since + patience)
    }

    /// True if the requests that wait in a queue do so since no connection is open, and each has time to wait for one.
    pub(super) fn awaits_connection(&self, queue: usize) -> bool {
        let mut slots = (0..self.slots.len() as u32).map(Slot);
        let is_open = |slot: Slot| self.slots[slot.0 as usize].is_open();
        let has_open = slots.any(|slot| self.queue(slot) == queue && is_open(slot));
        !has_open && Nanos::ZERO < self.driver.patience() && !self.has_stopped()
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
        let (queue, outstanding) = (self.queue(slot), self.slots[slot.0 as usize].outstanding);
        self.idle.enter(slot, queue, usize::from(outstanding));
    }
}

impl Queue {
    fn waiting(&self) -> usize {
        self.again.len() + self.backlog.len()
    }
}

impl State {
    pub(super) fn connection(self) -> Option<ConnectionId> {
        match self {
            State::Open { connection } => Some(connection),
            other => other.attempt().map(|(connection, _)| connection),
        }
    }

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

impl Link {
    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }
}

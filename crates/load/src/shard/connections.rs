//! Opens the connections of the slots, and replaces those that are lost.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ::measure::{Instant, Nanos};
use net::{Closed, ConnectionId, Endpoint, Io};

use super::pool::{Link, Pool, State};
use super::{LONGEST_WAIT, Shard, unanswered};
use crate::driver::{Driver, Fault, Handshake, Lost, Next, Opening, Outcome, Slot, Token};
use crate::observe::Observer;

/// The maximum number of connections being opened at once: more would overrun a listener's queue.
const MOST_CONNECTING: usize = 128;
/// The pause before a lost connection is opened again, and its maximum while that keeps failing.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
const LONGEST_PAUSE: Nanos = Nanos::SECOND;
/// The largest delay of the loop that is caught up when connections are opened.
const CAUGHT_UP: Nanos = Nanos::from_millis(10);
/// The shortest time to wait for a peer that may still refuse an open connection. It gets twice as
/// long as the slowest connection took to open, and at least this. A peer that sends a ticket has
/// accepted the connection.
const SHORTEST_MOMENT: Nanos = Nanos::from_millis(500);
/// The reopening time of a slot that was never tried: before all others.
const AT_ONCE: Instant = Instant(0);
/// The reasons for a connection that could not be prepared in time, or was closed meanwhile.
const LATE: Cut = Cut {
    securing: "the TLS handshake took too long (--connect-timeout)",
    greeting: "the handshake of the protocol took too long (--connect-timeout)",
};
const CLOSED: Cut = Cut {
    securing: "closed during the TLS handshake: does it speak TLS?",
    greeting: "closed during the handshake of the protocol",
};

/// The state of a shard's connections, beyond their slots.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// The pool and slot of each connection, indexed by connection.
    owners: Vec<Option<(u32, Slot)>>,
    connecting: usize,
    /// Attempts to connect, oldest first; some of them have ended.
    attempts: VecDeque<Attempt>,
    /// The slots that are [`State::Lost`], ordered by when they may be opened again.
    lost: BinaryHeap<Reverse<Reopening>>,
    /// No attempt begins before this.
    next_opening: Instant,
    /// The longest time from the start of an attempt until its connection carried requests.
    longest_opening: Nanos,
    failures: Failures,
}

/// The number of failed attempts to connect, by cause, and of connections that we gave up.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Failures {
    /// The target refused them or closed them at once, or they could not be prepared.
    pub refused: u64,
    /// Nobody answered.
    pub unreachable: u64,
    /// This machine had no local port, open file or memory left for them.
    pub exhausted: u64,
    /// Closed by us because the target sent bytes that belong to no request.
    pub unasked: u64,
    /// Closed by the target after a response that did not announce it.
    pub unannounced: u64,
    /// Those of them that had one response.
    pub after_one: u64,
}

/// The reason why a connection could not be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unopened {
    By(Closed),
    /// It could not be secured, or the protocol's own handshake failed.
    Unprepared(&'static str),
}

/// The reason why a connection was not prepared, by what was in progress.
struct Cut {
    securing: &'static str,
    greeting: &'static str,
}

impl Cut {
    fn of(self, state: State) -> Option<Unopened> {
        match state {
            State::Securing { .. } => Some(Unopened::Unprepared(self.securing)),
            State::Greeting { .. } => Some(Unopened::Unprepared(self.greeting)),
            State::Lost | State::Vacant | State::Connecting { .. } | State::Open { .. } => None,
        }
    }
}

impl Failures {
    fn count(&mut self, lost: Lost) {
        match lost {
            Lost::By(Closed::Unreachable) => self.unreachable += 1,
            Lost::By(Closed::Exhausted) => self.exhausted += 1,
            Lost::By(_) | Lost::ByUs | Lost::For(..) => self.refused += 1,
            Lost::TooLate(_) => {}
        }
    }

    pub(crate) fn add(&mut self, other: Failures) {
        self.refused += other.refused;
        self.unreachable += other.unreachable;
        self.exhausted += other.exhausted;
        self.unasked += other.unasked;
        self.unannounced += other.unannounced;
        self.after_one += other.after_one;
    }
}

#[derive(Clone, Copy, Debug)]
struct Attempt {
    connection: ConnectionId,
    since: Instant,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Reopening {
    at: Instant,
    pool: u32,
    slot: Slot,
}

impl Connections {
    /// Adds the slots of a pool; none of them has a connection yet.
    pub(super) fn add(&mut self, pool: usize, slots: usize) {
        self.owners.reserve_exact(slots);
        self.owners.resize(self.owners.len() + slots, None);
        self.lost.reserve_exact(slots);
        (0..slots as u32).for_each(|slot| self.lose(pool, Slot(slot), AT_ONCE));
    }

    fn lose(&mut self, pool: usize, slot: Slot, at: Instant) {
        self.lost.push(Reverse(Reopening { at, pool: pool as u32, slot }));
    }

    pub(super) fn count_unasked(&mut self) {
        self.failures.unasked += 1;
    }

    #[inline]
    pub(super) fn owner(&self, connection: ConnectionId) -> (usize, Slot) {
        let owner = self.owners[connection.0 as usize];
        let (pool, slot) = owner.expect("every connection of a shard has a slot");
        (pool as usize, slot)
    }
}

impl<I: Io, D: Driver, O: Observer> Shard<'_, I, D, O> {
    /// Opens the connections before the load begins. Ends when each has succeeded or failed once,
    /// or at `deadline`. Returns how many are open.
    pub fn connect(&mut self, deadline: Instant) -> Result<usize, Fault> {
        let mut now = self.io.now();
        self.connections.next_opening = now;
        while now < deadline && self.is_connecting() && !self.is_stopped() {
            self.reopen(now);
            let next = self.next_reopening().unwrap_or(deadline);
            now = self.io.wait(deadline.min(now + LONGEST_WAIT).min(next.max(now)));
            self.complete(now)?;
        }
        self.await_refusals(now, deadline)?;
        Ok(self.places().filter(|place| place.is_open()).count())
    }

    /// Waits a moment while peers may still refuse open connections. Connections that they refuse
    /// are not opened again here: they would seem to be open when the load begins.
    fn await_refusals(&mut self, mut now: Instant, deadline: Instant) -> Result<(), Fault> {
        let moment = SHORTEST_MOMENT.max(self.connections.longest_opening * 2);
        let until = deadline.min(now + moment);
        let is_doubtful = |pool: &Pool<D>| {
            let mut places = (0..).zip(&pool.slots);
            places.any(|(slot, place)| place.is_open() && pool.driver.is_doubtful(Slot(slot)))
        };
        while now < until && self.pools.iter().any(is_doubtful) && !self.is_stopped() {
            now = self.io.wait(until.min(now + LONGEST_WAIT));
            self.complete(now)?;
        }
        Ok(())
    }

    /// Returns the first target without an open connection, and the reason if an attempt has
    /// failed.
    pub fn unreachable(&self) -> Option<(usize, Option<Unopened>)> {
        let mut pools = self.pools.iter().filter(|pool| !pool.slots.is_empty());
        let pool = pools.find(|pool| !pool.slots.iter().any(Link::is_open))?;
        Some((pool.of.target as usize, pool.unopened()))
    }

    /// Returns the number of connection failures so far.
    pub fn failures(&self) -> Failures {
        self.connections.failures
    }

    /// Returns the endpoints that failed, with the number of attempts, of pools with several.
    pub fn refused(&self) -> Vec<(Endpoint, u64)> {
        let pools = self.pools.iter().filter(|pool| 1 < pool.endpoints.len());
        let each = pools.flat_map(|pool| pool.endpoints.iter().cloned().zip(pool.refused.clone()));
        each.filter(|(_, count)| 0 < *count).collect()
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Link> {
        self.pools.iter().flat_map(|pool| &pool.slots)
    }

    /// True if a connection is being opened or was never tried.
    fn is_connecting(&self) -> bool {
        let Connections { connecting, lost, .. } = &self.connections;
        0 < *connecting || lost.peek().is_some_and(|Reverse(next)| next.at == AT_ONCE)
    }

    /// Returns when the next lost connection may be opened again, unless too many are being opened.
    pub(super) fn next_reopening(&self) -> Option<Instant> {
        let Connections { connecting, lost, next_opening, .. } = &self.connections;
        let Reverse(next) = lost.peek().filter(|_| *connecting < MOST_CONNECTING)?;
        Some(next.at.max(*next_opening))
    }

    /// Begins to connect the slots whose pause is over.
    pub(super) fn reopen(&mut self, now: Instant) {
        while self.next_reopening().is_some_and(|at| at <= now) {
            let Reverse(next) = self.connections.lost.pop().expect("the next one was seen");
            let (index, slot) = (next.pool as usize, next.slot);
            let place = self.pools[index].place(slot);
            if self.limits.keep_alive.is_some() && Nanos::ZERO < place.pause {
                self.pools[index].set(slot, State::Vacant);
                self.pools[index].offer(slot, now);
                continue;
            }
            let due = self.connections.next_opening.max(Instant(now.0.saturating_sub(CAUGHT_UP.0)));
            self.connections.next_opening = due + self.limits.open_gap;
            self.begin_to_connect(index, slot, now);
        }
    }

    /// Begins to connect a slot that has no connection.
    pub(super) fn begin_to_connect(&mut self, index: usize, slot: Slot, now: Instant) {
        let pool = &mut self.pools[index];
        let connection = self.io.connect(pool.endpoint(slot));
        pool.set(slot, State::Connecting { connection, since: now });
        pool.place(slot).carried = 0;
        let connections = &mut self.connections;
        connections.connecting += 1;
        connections.attempts.push_back(Attempt { connection, since: now });
        let name = connection.0 as usize;
        if connections.owners.len() <= name {
            connections.owners.resize(name + 1, None);
        }
        connections.owners[name] = Some((index as u32, slot));
    }

    /// Handles a connection that the network has established; its driver may have to prepare it
    /// first.
    pub(super) fn opened(&mut self, index: usize, slot: Slot, now: Instant) -> Result<(), Fault> {
        let pool = &mut self.pools[index];
        let State::Connecting { connection, since } = pool.place(slot).state else {
            unreachable!("only a slot that is connecting gets this event")
        };
        self.observer.connected(pool.of, now, now - since);
        let opening = Opening { node: pool.node(slot), alpn: None };
        match pool.driver.opened(slot, opening, &mut self.reports) {
            Next::Continue => self.ready(connection, index, slot, now),
            next => {
                pool.set(slot, State::Securing { connection, since, connected: now });
                self.reply(connection);
                self.go_on(connection, index, slot, next, now)
            }
        }
    }

    /// Notes the end of a connection's TLS handshake, if that has just ended.
    pub(super) fn secured(
        &mut self,
        index: usize,
        slot: Slot,
        handshake: Option<Handshake>,
        now: Instant,
    ) {
        let pool = &mut self.pools[index];
        let state = pool.place(slot).state;
        if let (State::Securing { connected, .. }, Some(handshake)) = (state, handshake) {
            self.observer.secured(pool.of, now - connected, handshake);
        }
    }

    /// Handles the beginning of the protocol's own handshake, after that of TLS if there is one.
    pub(super) fn greet(&mut self, index: usize, slot: Slot, now: Instant) {
        let pool = &mut self.pools[index];
        if let State::Securing { connection, since, .. } = pool.place(slot).state {
            pool.set(slot, State::Greeting { connection, since, begun: now });
        }
    }

    /// Handles the end of all handshakes of a connection.
    pub(super) fn prepared(&mut self, index: usize, slot: Slot, now: Instant) -> Result<(), Fault> {
        let pool = &mut self.pools[index];
        match pool.place(slot).state {
            State::Securing { connection, .. } => self.ready(connection, index, slot, now),
            State::Greeting { connection, begun, .. } => {
                self.observer.greeted(pool.of, now - begun);
                self.ready(connection, index, slot, now)
            }
            State::Lost | State::Vacant | State::Connecting { .. } | State::Open { .. } => {
                unreachable!("only a slot that is being prepared gets ready")
            }
        }
    }

    /// Makes a connection available for requests.
    fn ready(
        &mut self,
        connection: ConnectionId,
        index: usize,
        slot: Slot,
        now: Instant,
    ) -> Result<(), Fault> {
        self.connections.connecting -= 1;
        let pool = &mut self.pools[index];
        if let Some((_, since)) = pool.place(slot).state.attempt() {
            self.connections.longest_opening = self.connections.longest_opening.max(now - since);
        }
        pool.set(slot, State::Open { connection });
        match pool.place(slot).awaited() {
            // What the driver wrote at the opening leaves with the request.
            Some(token) => self.transmit(connection, token, now),
            None => {
                pool.offer(slot, now);
                self.reply(connection);
                Ok(())
            }
        }
    }

    /// Handles the loss of a slot's connection. One that served requests is replaced at once. After
    /// one that served nothing, the next attempt waits longer, so that a target is not asked in a
    /// tight loop, and goes to another endpoint.
    ///
    /// A failed attempt also fails the request for which it was made. Any other request waits as
    /// long as there is a slot that may serve it.
    pub(super) fn lose(
        &mut self,
        index: usize,
        slot: Slot,
        lost: Lost,
        now: Instant,
    ) -> Result<(), Fault> {
        let pool = &mut self.pools[index];
        pool.idle.leave(slot);
        pool.release(slot);
        let place = &mut pool.slots[slot.0 as usize];
        match place.state {
            State::Connecting { .. } | State::Securing { .. } | State::Greeting { .. } => {
                self.connections.connecting -= 1;
                self.connections.failures.count(lost);
                let failure = unopened(place.state, lost);
                place.pause = longer(place.pause);
                let (awaited, reopen) = (place.take_awaited(), now + place.pause);
                pool.set(slot, State::Lost);
                pool.turn_elsewhere(slot);
                self.connections.lose(index, slot, reopen);
                pool.driver.closed(slot, lost, &mut self.reports)?;
                pool.failure = failure.or(pool.failure);
                match (awaited, failure) {
                    (Some(token), None) => self.not_connected(token, Outcome::Timeout, "", now),
                    (Some(token), Some(failure)) => {
                        self.not_connected(token, Outcome::Connect, failure.reason(), now)
                    }
                    (None, Some(failure)) => {
                        let queue = pool.queue(slot);
                        pool.queues[queue].failed += 1;
                        self.refuse(index, queue, failure.reason(), now)
                    }
                    (None, None) => unreachable!("no request is overdue before it has started"),
                }
            }
            State::Open { .. } => {
                self.observer.disconnected(pool.of, now);
                pool.driver.closed(slot, lost, &mut self.reports)?;
                let place = &mut pool.slots[slot.0 as usize];
                let answered = self.reports.done.iter().any(|done| done.outcome.is_answer());
                let served = u32::from(place.outstanding) < place.carried || answered;
                let answers = place.carried - u32::from(place.outstanding);
                if let (Lost::By(_), true, false) = (lost, served, answered) {
                    self.connections.failures.unannounced += 1;
                    self.connections.failures.after_one += u64::from(answers == 1);
                }
                // A pause would become response time of the target.
                place.pause = match lost {
                    Lost::TooLate(_) if !served => FIRST_PAUSE,
                    _ if served => Nanos::ZERO,
                    _ => longer(place.pause),
                };
                let pause = place.pause;
                if self.limits.keep_alive.is_some() && pause == Nanos::ZERO {
                    pool.set(slot, State::Vacant);
                    self.settle(now)?;
                    self.pools[index].offer(slot, now);
                    return Ok(());
                }
                pool.set(slot, State::Lost);
                if let Lost::For(Outcome::Connect, _) = lost {
                    self.connections.failures.count(lost);
                }
                if let (false, Some(failure)) = (served, unopened(State::Lost, lost)) {
                    pool.failure = Some(failure);
                    pool.turn_elsewhere(slot);
                }
                self.connections.lose(index, slot, now + pause);
                self.settle(now)
            }
            State::Lost | State::Vacant => {
                unreachable!("a lost connection is not lost again")
            }
        }
    }

    /// Fails as many requests of a queue as connection attempts have failed, oldest first, if no slot
    /// can serve them. Where requests have patience, it fails all whose patience is over.
    fn refuse(
        &mut self,
        index: usize,
        queue: usize,
        why: &'static str,
        now: Instant,
    ) -> Result<(), Fault> {
        let pool = &mut self.pools[index];
        if pool.is_usable(queue) || pool.is_patient(queue, now) {
            return Ok(());
        }
        let failed = std::mem::take(&mut pool.queues[queue].failed);
        let most = if pool.driver.patience() == Nanos::ZERO { failed } else { usize::MAX };
        for _ in 0..most {
            let pool = &mut self.pools[index];
            if pool.is_patient(queue, now) {
                return Ok(());
            }
            let Some(waiting) = pool.pop(queue) else { return Ok(()) };
            let completion = self.record_unsent(index, waiting, Outcome::Connect, why, now);
            let (waiting, _) = waiting;
            self.go_on_after(index, waiting.session, &completion, now)?;
        }
        Ok(())
    }

    /// Fails the request whose connection could not be opened.
    fn not_connected(
        &mut self,
        token: Token,
        outcome: Outcome,
        why: &'static str,
        now: Instant,
    ) -> Result<(), Fault> {
        let request = self.outstanding.remove(token);
        let completion = self.record(&request, unanswered(token, outcome, why), now);
        self.go_on_after(request.pool as usize, request.session, &completion, now)
    }

    /// Closes a connection that has served its maximum number of requests.
    pub(super) fn retire(
        &mut self,
        connection: ConnectionId,
        index: usize,
        slot: Slot,
        now: Instant,
    ) -> Result<(), Fault> {
        self.pools[index].driver.leaves(slot, &mut self.reports);
        self.reply(connection);
        self.io.close(connection);
        let pool = &mut self.pools[index];
        pool.driver.closed(slot, Lost::ByUs, &mut self.reports)?;
        pool.release(slot);
        pool.set(slot, State::Vacant);
        // Its capacity counts from now, however long it was in the queue.
        pool.idle.leave(slot);
        pool.offer(slot, now);
        Ok(())
    }

    /// Closes the connections that are open, each in the way of its protocol.
    pub fn close(&mut self) {
        for index in 0..self.pools.len() {
            for slot in (0..self.pools[index].slots.len() as u32).map(Slot) {
                let State::Open { connection } = self.pools[index].place(slot).state else {
                    continue;
                };
                let begun = self.io.now();
                let pool = &mut self.pools[index];
                pool.driver.leaves(slot, &mut self.reports);
                pool.set(slot, State::Lost);
                let of = pool.of;
                self.reply(connection);
                self.io.close(connection);
                let now = self.io.now();
                self.observer.closed(of, now, now - begun);
            }
        }
    }

    /// Closes all connections if each may serve only one request: such a connection is opened for
    /// its request, so none is open when the load begins.
    pub(super) fn vacate_limited(&mut self, now: Instant) -> Result<(), Fault> {
        if self.limits.keep_alive != Some(1) {
            return Ok(());
        }
        for index in 0..self.pools.len() {
            for slot in 0..self.pools[index].slots.len() as u32 {
                if let State::Open { connection } = self.pools[index].place(Slot(slot)).state {
                    self.retire(connection, index, Slot(slot), now)?;
                }
            }
        }
        Ok(())
    }

    /// Gives up attempts to connect that take too long.
    pub(super) fn expire_attempts(&mut self, now: Instant) -> Result<(), Fault> {
        while let Some(&attempt) = self.connections.attempts.front() {
            let (index, slot) = self.connections.owner(attempt.connection);
            let Attempt { connection, since } = attempt;
            let goes_on =
                self.pools[index].place(slot).state.attempt() == Some((connection, since));
            if goes_on && now < since + self.limits.connect_timeout {
                return Ok(());
            }
            self.connections.attempts.pop_front();
            if goes_on {
                self.io.close(connection);
                self.lose(index, slot, Lost::By(Closed::Unreachable), now)?;
            }
        }
        Ok(())
    }

    pub(super) fn next_attempt_expiry(&self) -> Option<Instant> {
        let attempt = self.connections.attempts.front()?;
        Some(attempt.since + self.limits.connect_timeout)
    }
}

impl<D: Driver> Pool<D> {
    /// Returns why no connection is open, if an attempt has failed.
    pub(super) fn unopened(&self) -> Option<Unopened> {
        let late = || self.slots.iter().find_map(|place| LATE.of(place.state));
        self.failure.or_else(late)
    }
}

fn longer(pause: Nanos) -> Nanos {
    (pause * 2).max(FIRST_PAUSE).min(LONGEST_PAUSE)
}

/// Returns why an attempt failed; `None` if it only took too long for its request.
fn unopened(state: State, lost: Lost) -> Option<Unopened> {
    match (state, lost) {
        (_, Lost::TooLate(_)) => None,
        (_, Lost::For(_, why)) => Some(Unopened::Unprepared(why)),
        (state, Lost::By(Closed::Unreachable)) => {
            LATE.of(state).or(Some(Unopened::By(Closed::Unreachable)))
        }
        (state, Lost::By(how)) => CLOSED.of(state).or(Some(Unopened::By(how))),
        (state, Lost::ByUs) => CLOSED.of(state).or(Some(Unopened::By(Closed::ByPeer))),
    }
}

impl Unopened {
    pub(super) fn reason(self) -> &'static str {
        match self {
            Unopened::By(Closed::Refused) => "connection refused",
            Unopened::By(Closed::Unreachable) => "no route, or no answer in time",
            Unopened::By(Closed::Exhausted) => "no free local port or open file here",
            Unopened::By(Closed::ByPeer | Closed::Reset | Closed::WhileWriting) => "closed at once",
            Unopened::Unprepared(why) => why,
        }
    }
}

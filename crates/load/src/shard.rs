//! The event loop that carries each request from its intended time to its outcome.
//!
//! A shard is one thread with its own event loop, pinned to a core; shards share nothing. The
//! source of arrivals decides when a request starts, the driver which bytes it consists of, the I/O
//! where they go, and the observer what is recorded. Each iteration of the loop has four steps:
//! `admit`, `dispatch`, `wait`, `complete`. Nothing here speaks a protocol, the clock is read only
//! through the I/O, and the intended time of a request is never changed.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::pace::Think;
use ::measure::{Instant, Nanos, Random};
use net::{Closed, ConnectionId, Endpoint, Event, Io};

use crate::driver::{
    Asked, Done, Driver, Fault, Label, Lost, Next, Outcome, Redirect, Reports, Session, Slot, Step,
    Token,
};
use crate::observe::{Completion, Observer, Of, Start, StepCompletion, Turn};
use crate::outstanding::{Outstanding, Request};
use crate::source::Source;

pub use self::connections::{Failures, Unopened};
use self::holding::take_off;
pub use self::pool::Numbers;
use self::pool::{Pool, State};

mod admission;
mod connections;
mod holding;
mod pool;
mod sessions;
#[cfg(test)]
mod tests;

/// The longest single wait, and so the longest time until an interruption is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(50);

/// The maximum number of outstanding requests for which memory is reserved before the load.
const MOST_RESERVED: usize = 1 << 16;

/// The settings that a shard is given.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The timeout, counted from `sent`: a request without a response by then is overdue.
    pub timeout: Nanos,
    pub overdue: Overdue,
    /// The maximum number of waiting requests of a pool. More are dropped: a target that never
    /// answers must not exhaust our memory.
    pub backlog: usize,
    /// The longest time that an attempt to connect may take.
    pub connect_timeout: Nanos,
    /// The least time between two attempts to connect before the load begins.
    pub open_gap: Nanos,
    /// The number of requests that a connection serves. Then we close it, and the next request
    /// opens another one.
    pub keep_alive: Option<u32>,
    /// True if requests that still wait for a connection at the end are left: the drain is only for those
    /// that were sent.
    pub leaves_backlog: bool,
}

impl Default for Limits {
    /// Ten seconds for everything, and room for a million waiting requests.
    fn default() -> Limits {
        Limits {
            timeout: Nanos::from_secs(10),
            overdue: Overdue::Cut,
            backlog: 1_000_000,
            connect_timeout: Nanos::from_secs(10),
            open_gap: Nanos::ZERO,
            keep_alive: None,
            leaves_backlog: false,
        }
    }
}

/// The treatment of a request that takes too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Overdue {
    /// The request fails and its connection is closed: a later response there could not be told
    /// from the response to another request.
    Cut,
    /// The request is counted as overdue once, and we keep waiting for its response.
    Mark,
}

/// The times at which the phases of a load end. Warm-up is the time before the observer's window.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub start: Instant,
    /// The time from which a backlog that is full ends the load: late enough that something was measured.
    /// Until then it only drops requests.
    pub overload: Instant,
    /// No request is started after this.
    pub end: Instant,
    /// The longest time to wait for outstanding requests after `end`.
    pub drain: Nanos,
}

/// The reason why a load ended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Ended {
    /// Its time was over, or all its requests were answered.
    AsPlanned,
    /// Every workload of the shard asked to stop.
    ByWorkload,
    /// An objective is missed whatever follows. Requests that were sent had time for their response.
    Missed,
    /// Another shard ended early, or the user interrupted it.
    Halted,
    /// The backlog reached its limit.
    Overloaded,
}

pub struct Shard<'a, I, D, O> {
    io: I,
    observer: O,
    limits: Limits,
    /// Each of these flags ends the load early.
    stop: [&'a AtomicBool; 2],
    /// This one ends it with its drain.
    missed: Option<&'a AtomicBool>,
    pools: Vec<Pool<D>>,
    /// Closed loop: the think time of a user between a response and the next request.
    think: Option<(Think, Random)>,
    outstanding: Outstanding,
    connections: connections::Connections,
    has_dropped: bool,
    /// True if more arrivals were due than the last iteration admitted.
    is_behind: bool,
    /// The time spent in scripts since the last turn was reported.
    scripted: Nanos,
    /// The pool whose turn it is to prepare requests.
    preparing: usize,
    // Reused by the loop's calls, so that an iteration allocates nothing.
    reports: Reports,
    /// The end of the last step with a label, by token.
    step_ends: Vec<Instant>,
    /// The requests of this iteration that the network may still hold back, oldest first.
    held_back: Vec<Token>,
}

/// A request that is due.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    intended: Instant,
    number: u64,
    label: Label,
    session: Session,
}

/// The next request to send.
#[derive(Clone, Copy, Debug)]
struct Due {
    waiting: Waiting,
    returned: Option<Returned>,
}

/// The return of a request that is sent again: see [`Reports::again`] and [`Reports::redirected`].
#[derive(Clone, Copy, Debug)]
struct Returned {
    at: Instant,
    /// True if it was sent; not if a driver only held it.
    was_sent: bool,
    /// True if it was counted as overdue already.
    overdue: bool,
    /// The start that counts for one that was redirected: its first.
    first: Option<First>,
}

#[derive(Clone, Copy, Debug)]
struct First {
    room: Instant,
    sent: Instant,
    held: Nanos,
}

impl Waiting {
    /// The request that is to be sent again.
    fn of(request: &Request) -> Waiting {
        let &Request { intended, number, label, session, .. } = request;
        Waiting { intended, number, label, session }
    }
}

impl<'a, I: Io, D: Driver, O: Observer> Shard<'a, I, D, O> {
    pub fn new(
        io: I,
        observer: O,
        limits: Limits,
        stop: [&'a AtomicBool; 2],
    ) -> Shard<'a, I, D, O> {
        Shard {
            io,
            observer,
            limits,
            stop,
            missed: None,
            pools: Vec::new(),
            think: None,
            outstanding: Outstanding::new(),
            connections: connections::Connections::default(),
            has_dropped: false,
            is_behind: false,
            scripted: Nanos::ZERO,
            preparing: 0,
            reports: Reports::default(),
            step_ends: Vec::new(),
            held_back: Vec::new(),
        }
    }

    /// Ends the load, with its drain, once this flag is set.
    pub fn until(self, missed: &'a AtomicBool) -> Shard<'a, I, D, O> {
        Shard { missed: Some(missed), ..self }
    }

    /// Adds a pool with this many connections, which are spread over its endpoints in turn. Pools
    /// are added in the order of their numbers.
    pub fn add_pool(
        &mut self,
        of: Of,
        driver: D,
        (endpoints, connections): (Vec<Endpoint>, usize),
        numbers: Numbers,
    ) {
        assert!(!endpoints.is_empty(), "a pool has an endpoint");
        self.connections.add(self.pools.len(), connections);
        self.pools.push(Pool::new(of, driver, endpoints, connections, numbers));
    }

    pub fn io(&mut self) -> &mut I {
        &mut self.io
    }

    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// True if the load ended before all arrivals that were due could be counted: their rate is
    /// higher than any that this shard can make.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Returns the observer, and the drivers in the order of their pools, once the load is over.
    pub fn into_parts(self) -> (O, Vec<D>) {
        (self.observer, self.pools.into_iter().map(|pool| pool.driver).collect())
    }

    /// Generates load as scheduled. Requests that are then outstanding or in the backlog count as
    /// unfinished: they took at least as long as they have waited.
    pub fn run(
        &mut self,
        source: &mut Source,
        schedule: Schedule,
    ) -> Result<(Instant, Ended), Fault> {
        self.begin(source, schedule.start)?;
        let Schedule { overload, mut end, drain, .. } = schedule;
        let mut drained = end + drain;
        let mut ended = Ended::AsPlanned;
        let mut now = self.io.now();
        loop {
            if ended == Ended::AsPlanned && (now < end || self.is_behind) {
                if let Some(early) = self.ends_early(overload <= now) {
                    (ended, end, drained) = (early, end.min(now), now);
                    if early == Ended::Missed {
                        drained = now + drain;
                        self.observer.cut(now);
                    }
                } else if self.is_idle() && !self.is_resting() && self.is_exhausted(source) {
                    (end, drained) = (now, now);
                }
            } else if self.is_stopped() && now < drained {
                (ended, drained) = (Ended::Halted, now);
            }
            let begun = now;
            // Even at the very end: a request that was intended before the end counts.
            self.is_behind = self.admit(now, source, end);
            if drained <= now || (end <= now && self.is_drained() && !self.is_behind) {
                break;
            }
            // First free capacity: requests that wait for it would otherwise wait until the next
            // event.
            self.expire(now)?;
            self.reopen(now);
            self.pools.iter_mut().for_each(|pool| pool.wake(now));
            if now < end || !self.limits.leaves_backlog {
                self.dispatch()?;
            }
            self.flush(source, end <= now);
            let until = self.next_event_expected(source, end, drained).min(begun + LONGEST_WAIT);
            let until = self.prepare(until)?;
            let before = self.io.now();
            let outstanding = self.outstanding.len();
            now = self.io.wait(until);
            self.complete(now)?;
            let turn = Turn {
                outstanding,
                backlog: self.pools.iter().map(Pool::waiting).sum(),
                unconnected: self.pools.iter().map(Pool::unconnected).sum(),
                waited: now - before,
                worked: before - begun,
                scripted: std::mem::take(&mut self.scripted),
            };
            self.observer.turn(now, turn);
        }
        self.give_up(now);
        Ok((now, ended))
    }

    /// Prepares the first requests. In a closed loop every user starts at once, unless a script
    /// delays it.
    fn begin(&mut self, source: &mut Source, start: Instant) -> Result<(), Fault> {
        self.vacate_limited(start)?;
        let most = self.pools.iter().map(Pool::users).fold(0, usize::saturating_add);
        let most = most.min(MOST_RESERVED).max(self.places().count());
        self.outstanding.reserve(most);
        self.held_back.reserve_exact(most);
        let Source::Closed { think, random } = source else {
            self.pools.iter_mut().for_each(|pool| pool.expect(self.limits.backlog));
            return Ok(());
        };
        self.think = Some((*think, random.clone()));
        for pool in &mut self.pools {
            let users = pool.users();
            pool.population = users;
            pool.expect(users);
            pool.thinking.reserve_exact(users);
            for _ in 0..users {
                let first = start + pool.driver.delay()?;
                pool.thinking.push(Reverse(first));
            }
        }
        Ok(())
    }

    fn ends_early(&self, has_measured: bool) -> Option<Ended> {
        match () {
            () if self.has_dropped && has_measured => Some(Ended::Overloaded),
            () if self.is_stopped() => Some(Ended::Halted),
            () if self.is_missed() => Some(Ended::Missed),
            () if self.pools.iter().all(Pool::has_stopped) => Some(Ended::ByWorkload),
            () => None,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.iter().any(|stop| stop.load(Ordering::Relaxed))
    }

    fn is_missed(&self) -> bool {
        self.missed.is_some_and(|missed| missed.load(Ordering::Relaxed))
    }

    /// Starts waiting requests, oldest first, while their pool has a connection with room for them.
    fn dispatch(&mut self) -> Result<(), Fault> {
        for index in 0..self.pools.len() {
            for queue in 0..self.pools[index].queues.len() {
                while let Some((due, slot)) = self.pools[index].take_next(queue) {
                    self.start(index, slot, due)?;
                }
            }
        }
        Ok(())
    }

    /// Takes a request out of the backlog and sends it, or opens a connection for it first.
    fn start(&mut self, index: usize, slot: Slot, due: Due) -> Result<(), Fault> {
        let Due { waiting, returned } = due;
        let Waiting { intended, number, label, session } = waiting;
        let (pool, first_byte) = (index as u32, Instant::NEVER);
        let place = self.pools[index].place(slot);
        // Until it came back, a request that is sent again could not be sent on another connection.
        let (state, room) = (place.state, place.room);
        let room = returned.map_or(room, |returned| room.max(returned.at));
        let now = self.io.now();
        let again = returned.is_some_and(|returned| returned.was_sent);
        let overdue = returned.is_some_and(|returned| returned.overdue);
        let first = returned.and_then(|returned| returned.first);
        let is_redirected = first.is_some();
        let first = first.unwrap_or(First { room, sent: now, held: Nanos::ZERO });
        let First { room, sent, held } = first;
        let request = Request {
            pool,
            slot,
            intended,
            number,
            label,
            session,
            operations: 0,
            again,
            is_redirected,
            keeps_sent: is_redirected,
            is_held: false,
            overdue,
            room,
            sent,
            held,
            first_byte,
        };
        let token = self.outstanding.insert(request);
        match state {
            State::Open { connection } => self.transmit(connection, token, now),
            _ => {
                self.begin_to_connect(index, slot, now);
                let pool = &mut self.pools[index];
                pool.place(slot).set_awaited(token);
                pool.offer(slot, now);
                Ok(())
            }
        }
    }

    /// Hands a request to the network.
    fn transmit(
        &mut self,
        connection: ConnectionId,
        token: Token,
        now: Instant,
    ) -> Result<(), Fault> {
        let mut left = now;
        let holds_back = self.io.holds_back();
        if holds_back {
            self.note_departures();
        }
        let request = self.outstanding.get(token);
        let pool = &mut self.pools[request.pool as usize];
        let &mut Request { slot, number, label, session, again, .. } = request;
        let index = request.pool as usize;
        let asked = Asked { token, number, label, session, again };
        let started;
        if pool.driver.is_scripted() {
            let begun = self.io.now();
            started = pool.driver.start(slot, asked, &mut self.reports)?;
            left = self.io.now();
            self.scripted += left - begun;
            // The script's time counts as our lateness, not as the target's response time.
            if pool.place(slot).awaited().is_none() && !request.keeps_sent {
                request.sent = left;
            }
        } else {
            started = pool.driver.start(slot, asked, &mut self.reports)?;
        }
        (request.label, request.operations) = (started.label, started.operations);
        let wire = &mut self.reports.wire;
        let bytes = wire.len();
        if 0 < bytes {
            self.io.send(connection, wire);
            wire.clear();
        }
        request.is_held = self.reports.held.is_some();
        pool.held += usize::from(request.is_held);
        if !request.is_held {
            note_sent(&mut self.observer, pool.of, request, left, bytes);
        }
        let of_others = if request.is_held { bytes } else { 0 };
        self.taken(token, left);
        self.departed(index, slot, of_others, left);
        self.keep(index, slot, left);
        if holds_back {
            self.note_departures();
        }
        if self.reports.done.is_empty() {
            return Ok(());
        }
        // It came back, and the driver cannot send it again.
        self.held_back.retain(|held_back| *held_back != token);
        self.settle(left)
    }

    /// Notes that a connection has a request, which was sent or is held.
    fn taken(&mut self, token: Token, now: Instant) {
        let request = self.outstanding.get(token);
        let pool = &mut self.pools[request.pool as usize];
        let place = pool.place(request.slot);
        // A request that had a connection opened was sent when the connection attempt began.
        request.keeps_sent |= place.take_awaited().is_some();
        place.outstanding += 1;
        place.carried += 1;
        pool.offer_below(request.slot, now, self.limits.keep_alive);
        if self.io.holds_back() && !request.is_held && !request.keeps_sent {
            self.held_back.push(token);
        }
    }

    /// Notes when the requests that were held back were sent with others: we delayed them, so the
    /// delay counts as lateness.
    fn note_departures(&mut self) {
        if let Some(at) = self.io.handed_over() {
            for token in self.held_back.drain(..) {
                let request = self.outstanding.get(token);
                request.sent = request.sent.max(at);
            }
        }
    }

    /// Hands received bytes to the drivers, and completed requests to the observer.
    fn complete(&mut self, now: Instant) -> Result<(), Fault> {
        self.note_departures();
        // The remaining ones were delayed by the full network, not held back by us.
        self.held_back.clear();
        while let Some(event) = self.io.next_event() {
            match event {
                Event::Received(connection, bytes) => {
                    let (index, slot) = self.connections.owner(connection);
                    let pool = &mut self.pools[index];
                    self.observer.received(pool.of, now, bytes.len());
                    let next = pool.driver.receive(slot, bytes, &mut self.reports)?;
                    if std::mem::take(&mut self.reports.is_remapped) {
                        pool.route_anew();
                    }
                    self.reply(connection);
                    self.keep(index, slot, now);
                    self.settle(now)?;
                    self.go_on(connection, index, slot, next, now)?;
                }
                Event::Connected(connection) => {
                    let (index, slot) = self.connections.owner(connection);
                    self.opened(index, slot, now)?;
                }
                Event::Closed(connection, how) => {
                    let (index, slot) = self.connections.owner(connection);
                    self.lose(index, slot, Lost::By(how), now)?;
                }
                Event::Accepted(_) => unreachable!("a shard does not listen"),
            }
        }
        Ok(())
    }

    /// Sends what the driver has written, apart from a request.
    fn reply(&mut self, connection: ConnectionId) {
        if !self.reports.wire.is_empty() {
            self.io.send(connection, &self.reports.wire);
            self.reports.wire.clear();
        }
    }

    /// Continues, prepares, retires or closes a connection after something was received on it.
    fn go_on(
        &mut self,
        connection: ConnectionId,
        index: usize,
        slot: Slot,
        next: Next,
        now: Instant,
    ) -> Result<(), Fault> {
        match next {
            Next::Continue | Next::Close | Next::Retire | Next::Ended => {}
            Next::Unasked => self.connections.count_unasked(),
            Next::Securing => return Ok(()),
            Next::Greeting(handshake) => {
                self.secured(index, slot, handshake, now);
                self.greet(index, slot, now);
                return Ok(());
            }
            Next::Ready(handshake) => {
                self.secured(index, slot, handshake, now);
                return self.prepared(index, slot, now);
            }
            Next::Fail(outcome, why) => {
                self.io.close(connection);
                return self.lose(index, slot, Lost::For(outcome, why), now);
            }
        }
        let pool = &mut self.pools[index];
        let is_free = pool.place(slot).outstanding == 0;
        // A response that came before its request was completely written.
        let early =
            is_free && !self.io.is_flushed(connection) && !pool.driver.outlives_early_responses();
        let how = match next {
            Next::Ended => Some(Lost::By(Closed::ByPeer)),
            Next::Close | Next::Unasked => Some(Lost::ByUs),
            Next::Retire if is_free => Some(Lost::ByUs),
            _ => early.then_some(Lost::ByUs),
        };
        if let Some(how) = how {
            self.io.close(connection);
            return self.lose(index, slot, how, now);
        }
        if is_free && self.limits.keep_alive.is_some_and(|most| most <= pool.place(slot).carried) {
            return self.retire(connection, index, slot, now);
        }
        pool.offer_below(slot, now, self.limits.keep_alive);
        Ok(())
    }

    /// Records the outcome of each finished request; in a closed loop, its user starts its think
    /// time. Requests that the target has not processed wait for another connection, and those that
    /// it has sent elsewhere for one that leads there.
    fn settle(&mut self, now: Instant) -> Result<(), Fault> {
        for token in self.reports.begun.drain(..) {
            let request = self.outstanding.get(token);
            request.first_byte = request.first_byte.min(now);
        }
        for index in 0..self.reports.steps.len() {
            self.record_step(self.reports.steps[index], now);
        }
        self.reports.steps.clear();
        self.take_back(now);
        while let Some(done) = self.reports.done.pop() {
            let request = take_off(&mut self.outstanding, &mut self.pools, done.token);
            let completion = self.record(&request, done, now);
            self.go_on_after(request.pool as usize, request.session, &completion, now)?;
        }
        Ok(())
    }

    /// Puts the requests that are to be sent again into the queues.
    fn take_back(&mut self, now: Instant) {
        for token in self.reports.again.drain(..) {
            let request = take_off(&mut self.outstanding, &mut self.pools, token);
            let Request { pool, overdue, again, is_held, .. } = request;
            let pool = &mut self.pools[pool as usize];
            let waiting = Waiting::of(&request);
            let was_sent = again || !is_held;
            pool.again(waiting, Returned { at: now, was_sent, overdue, first: None });
        }
        for (token, pause) in self.reports.later.drain(..) {
            let request = take_off(&mut self.outstanding, &mut self.pools, token);
            let pool = &mut self.pools[request.pool as usize];
            pool.pause(Waiting::of(&request), now + pause);
        }
        for Redirect { token, to } in self.reports.redirected.drain(..) {
            let request = take_off(&mut self.outstanding, &mut self.pools, token);
            let Request { pool, overdue, room, sent, held, .. } = request;
            let pool = &mut self.pools[pool as usize];
            let waiting = Waiting::of(&request);
            let first = Some(First { room, sent, held });
            pool.redirect(to, waiting, Returned { at: now, was_sent: true, overdue, first });
        }
    }

    /// Records a part of a request.
    fn record_step(&mut self, step: Step, now: Instant) {
        let Step { token, label, outcome, operations } = step;
        let request = self.outstanding.get(token);
        let left = request.operations.checked_sub(operations);
        request.operations = left.expect("a request ends with as many operations as it has");
        let &mut Request { pool, intended, sent, .. } = request;
        let (of, done) = (self.pools[pool as usize].of, now);
        let index = token.0 as usize;
        // An older end is that of another request's step, which had this token before.
        let begun = self.step_ends.get(index).map_or(sent, |end| sent.max(*end));
        let completion = StepCompletion { of, intended, label, begun, done, outcome, operations };
        self.observer.step_completed(&completion);
        if label != Label::NONE {
            self.step_ends.resize(self.step_ends.len().max(index + 1), Instant(0));
            self.step_ends[index] = now;
        }
    }

    /// Records the outcome of a request, and that of its operations which had no other.
    fn record(&mut self, request: &Request, done: Done, now: Instant) -> Completion {
        let &Request { intended, sent, operations, is_held, .. } = request;
        let of = self.pools[request.pool as usize].of;
        if 0 < operations && !is_held {
            let (label, outcome) = (Label::NONE, done.outcome);
            let rest =
                StepCompletion { of, intended, label, begun: sent, done: now, outcome, operations };
            self.observer.step_completed(&rest);
        }
        let completion = completion(of, request, done, now);
        self.observer.completed(&completion);
        completion
    }

    /// Records the outcome of a request that is not sent, or not again, and of its operations.
    fn record_unsent(
        &mut self,
        index: usize,
        (waiting, operations): (Waiting, u32),
        outcome: Outcome,
        why: &'static str,
        now: Instant,
    ) -> Completion {
        let of = self.pools[index].of;
        if 0 < operations {
            let Waiting { intended, .. } = waiting;
            let (label, begun, done) = (Label::NONE, now, now);
            let all = StepCompletion { of, intended, label, begun, done, outcome, operations };
            self.observer.step_completed(&all);
        }
        let completion = never_sent(of, waiting, now, outcome, why);
        self.observer.completed(&completion);
        completion
    }

    /// Schedules the next request of a closed-loop user whose request has finished.
    fn think(&mut self, index: usize, now: Instant) -> Result<(), Fault> {
        let Some((think, random)) = &mut self.think else { return Ok(()) };
        let pool = &mut self.pools[index];
        let next = now + think.draw(random) + pool.driver.delay()?;
        pool.thinking.push(Reverse(next));
        Ok(())
    }

    /// Fails or marks the requests that have been outstanding for too long.
    fn expire(&mut self, now: Instant) -> Result<(), Fault> {
        while let Some((token, request)) = self.outstanding.expired(now, self.limits.timeout) {
            let index = request.pool as usize;
            if self.limits.overdue == Overdue::Mark {
                self.outstanding.mark(token);
                if !request.overdue {
                    self.observer.overdue(self.pools[index].of, request.intended);
                }
                continue;
            }
            let state = self.pools[index].place(request.slot).state;
            let connection = match state {
                State::Open { connection } if self.cancel(connection, token, now)? => continue,
                State::Open { connection }
                | State::Connecting { connection, .. }
                | State::Securing { connection, .. }
                | State::Greeting { connection, .. } => connection,
                State::Lost | State::Vacant => {
                    unreachable!(
                        "an outstanding request has a connection, or one that is being opened"
                    )
                }
            };
            self.io.close(connection);
            self.lose(index, request.slot, Lost::TooLate(token), now)?;
        }
        self.expire_attempts(now)
    }

    /// Gives up a request whose connection stays in use; false if the driver cannot do so.
    fn cancel(
        &mut self,
        connection: ConnectionId,
        token: Token,
        now: Instant,
    ) -> Result<bool, Fault> {
        let &mut Request { pool: index, slot, .. } = self.outstanding.get(token);
        let pool = &mut self.pools[index as usize];
        if !pool.driver.cancel(slot, token, &mut self.reports)? {
            return Ok(false);
        }
        self.reply(connection);
        self.settle(now)?;
        self.go_on(connection, index as usize, slot, Next::Continue, now)?;
        Ok(true)
    }

    /// Lets one pool prepare a little work in advance, if there is time. Returns the time until
    /// which to wait afterwards: no wait after it did something, so that responses are read in
    /// between.
    fn prepare(&mut self, until: Instant) -> Result<Instant, Fault> {
        self.preparing = (self.preparing + 1) % self.pools.len();
        let pool = &mut self.pools[self.preparing];
        if !pool.driver.is_scripted() {
            return Ok(until);
        }
        let begun = self.io.now();
        if until.saturating_since(begun) <= pool.longest_preparation || !pool.driver.prepare()? {
            return Ok(until);
        }
        let ended = self.io.now();
        self.scripted += ended - begun;
        pool.longest_preparation = (ended - begun).max(pool.longest_preparation / 8 * 7);
        Ok(ended)
    }

    /// Records the requests that have no response at the end as unfinished. Those that would have waited longer for a
    /// connection, while none could be opened, have failed for want of one.
    fn give_up(&mut self, now: Instant) {
        while let Some(request) = self.outstanding.remove_oldest() {
            let unfinished = unanswered(Token(0), Outcome::Unfinished, "");
            let completion = self.record(&request, unfinished, now);
            if request.session != Session::NONE {
                self.follow(request.pool as usize, request.session, &completion, now);
            }
        }
        for index in 0..self.pools.len() {
            self.pools[index].wake(Instant::NEVER);
            for queue in 0..self.pools[index].queues.len() {
                let pool = &self.pools[index];
                let (outcome, why) = match pool.awaits_connection(queue) {
                    true => (Outcome::Connect, pool.unopened().map_or("", Unopened::reason)),
                    false => (Outcome::Unfinished, ""),
                };
                while let Some(waiting) = self.pools[index].pop(queue) {
                    let completion = self.record_unsent(index, waiting, outcome, why, now);
                    let (waiting, _) = waiting;
                    if waiting.session != Session::NONE {
                        self.follow(index, waiting.session, &completion, now);
                    }
                }
            }
        }
        self.cut_sessions(now);
    }

    /// True if no request is outstanding or waiting.
    fn is_idle(&self) -> bool {
        self.outstanding.len() == 0 && self.pools.iter().all(|pool| pool.waiting() == 0)
    }

    /// True if nothing is waited for after the end.
    fn is_drained(&self) -> bool {
        match self.limits.leaves_backlog {
            true => self.outstanding.len() == 0,
            false => self.is_idle(),
        }
    }

    /// True if a number of requests was set and all of them have been started.
    fn is_exhausted(&self, source: &mut Source) -> bool {
        match source {
            Source::Open(streams) => streams.is_exhausted(),
            Source::Closed { .. } => self.pools.iter().all(Pool::is_exhausted),
        }
    }

    /// Returns the time until which there is nothing to do, unless something is received.
    fn next_event_expected(&self, source: &mut Source, end: Instant, drained: Instant) -> Instant {
        let start = match source {
            Source::Open(streams) => streams.next_intended(),
            Source::Closed { .. } => self.pools.iter().filter_map(Pool::next_asking).min(),
        };
        let reopen = self.next_reopening();
        let attempt = self.next_attempt_expiry();
        let expiry = self.outstanding.next_expiry(self.limits.timeout);
        let flush = self.pools.iter().filter_map(Pool::next_due).min();
        let waking = self.pools.iter().filter_map(Pool::next_waking).min();
        let rested = self.next_rested().filter(|rested| *rested < end);
        let last = if self.is_drained() { end } else { drained };
        [start.filter(|start| *start < end), rested, reopen, attempt, expiry, flush, waking]
            .into_iter()
            .flatten()
            .fold(last, Instant::min)
    }
}

/// Tells an observer that a request was sent: for the first time, again, or to another node.
#[inline]
fn note_sent<O: Observer>(observer: &mut O, of: Of, request: &Request, now: Instant, bytes: usize) {
    match request.again {
        false => observer.sent(of, request.intended, request.sent, bytes),
        true if request.is_redirected => observer.redirected(of, request.intended, now, bytes),
        true => observer.sent_again(of, request.sent, bytes),
    }
}

fn completion(of: Of, request: &Request, done: Done, now: Instant) -> Completion {
    let &Request { slot, intended, number, label, room, sent, held, first_byte, .. } = request;
    let Done { outcome, status, answers, bad, bytes, why, .. } = done;
    let first_byte = (first_byte != Instant::NEVER).then_some(first_byte);
    let start = Start { room, sent, held, first_byte, connection: slot };
    let start = (!request.is_held).then_some(start);
    let done = now;
    Completion {
        of,
        intended,
        number,
        label,
        start,
        done,
        outcome,
        status,
        answers,
        bad,
        bytes,
        why,
    }
}

fn never_sent(
    of: Of,
    waiting: Waiting,
    now: Instant,
    outcome: Outcome,
    why: &'static str,
) -> Completion {
    let Waiting { intended, number, label, .. } = waiting;
    Completion {
        of,
        intended,
        number,
        label,
        start: None,
        done: now,
        outcome,
        status: 0,
        answers: 0,
        bad: 0,
        bytes: 0,
        why,
    }
}

fn unanswered(token: Token, outcome: Outcome, why: &'static str) -> Done {
    Done { token, outcome, status: 0, answers: 0, bad: 0, bytes: 0, why }
}

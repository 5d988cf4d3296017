//! One request's life.
//!
//! A shard is one thread with its own event loop, pinned to a core, sharing nothing. The arrivals
//! say when, the driver says what, the I/O says where, and the observer what for. One turn of the
//! loop is four verbs: `admit`, `dispatch`, `wait`, `complete`. Nothing here speaks a protocol,
//! nothing reads a clock but through the I/O, and the intended time of a request is never changed.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::{Instant, Nanos, Random};
use net::{Closed, ConnectionId, Endpoint, Event, Io};

use crate::driver::{Asked, Done, Driver, Fault, Lost, Next, Outcome, Reports, Slot, Token};
use crate::observe::{Completion, Observer, Of, Start, Turn};
use crate::outstanding::{Outstanding, Request};
use crate::pacing::Arrival;
use crate::source::{Source, Think};

pub use self::connections::{Failures, Unopened};
pub use self::pool::Numbers;
use self::pool::{Pool, State};

mod connections;
mod pool;
#[cfg(test)]
mod tests;

/// How long a wait may last: how soon an interruption is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(50);

/// What a shard does not choose itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From `sent`: a request without an answer by then is overdue.
    pub timeout: Nanos,
    pub overdue: Overdue,
    /// Requests beyond this many waiting ones of a pool are dropped: a target which never answers
    /// must not exhaust our memory.
    pub backlog: usize,
    /// How long an attempt to connect may take.
    pub connect_timeout: Nanos,
    /// The least time between two attempts to connect before the load begins.
    pub open_gap: Nanos,
    /// So many requests a connection serves; then we close it, and the next request has another
    /// one opened.
    pub keep_alive: Option<u32>,
}

/// What becomes of a request that takes too long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Overdue {
    /// It has failed, and its connection is closed: what would answer there could no longer be
    /// told from the answer to a later request.
    Cut,
    /// It is counted as overdue once, and its answer is awaited all the same.
    Mark,
}

/// When the phases of a load end. Warm-up is what lies before the observer's window.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub start: Instant,
    /// No request is started after this.
    pub end: Instant,
    /// How long the outstanding ones are awaited from then on.
    pub drain: Nanos,
}

/// Why a load ended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Ended {
    /// Its time was over, or all its requests were answered.
    AsPlanned,
    /// Every workload of the shard wanted no more.
    ByWorkload,
    /// Another shard ended early, or the user interrupted it.
    Halted,
    /// The backlog reached its bound.
    Overloaded,
}

pub struct Shard<'a, I, D, O> {
    io: I,
    observer: O,
    limits: Limits,
    /// Each of them ends the load early.
    stop: [&'a AtomicBool; 2],
    pools: Vec<Pool<D>>,
    /// Closed loop: how long a user thinks between an answer and the next request.
    think: Option<(Think, Random)>,
    outstanding: Outstanding,
    connections: connections::Connections,
    has_dropped: bool,
    /// Time spent in scripts since the last turn was told.
    scripted: Nanos,
    /// The pool whose turn it is to prepare requests.
    preparing: usize,
    // Lent to the loop's calls, so that a turn allocates nothing.
    reports: Reports,
    wire: Vec<u8>,
    /// Requests of this turn that the network may still hold back, oldest first.
    held_back: Vec<Token>,
}

/// A request whose time has come.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    intended: Instant,
    number: u64,
    label: crate::driver::Label,
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
            pools: Vec::new(),
            think: None,
            outstanding: Outstanding::new(),
            connections: connections::Connections::default(),
            has_dropped: false,
            scripted: Nanos::ZERO,
            preparing: 0,
            reports: Reports::default(),
            wire: Vec::new(),
            held_back: Vec::new(),
        }
    }

    /// Adds a pool, with so many connections, which take its endpoints in turn. Pools are added in
    /// the order of their numbers.
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

    /// The observer and the drivers in the order of their pools, once the load is over.
    pub fn into_parts(self) -> (O, Vec<D>) {
        (self.observer, self.pools.into_iter().map(|pool| pool.driver).collect())
    }

    /// Generates load as scheduled. What is then outstanding or in the backlog counts as
    /// unfinished: as at least as long as it has waited.
    pub fn run(
        &mut self,
        source: &mut Source,
        schedule: Schedule,
    ) -> Result<(Instant, Ended), Fault> {
        self.begin(source, schedule.start)?;
        let Schedule { mut end, drain, .. } = schedule;
        let mut drained = end + drain;
        let mut ended = Ended::AsPlanned;
        let mut now = self.io.now();
        loop {
            if now < end {
                if let Some(early) = self.ends_early() {
                    (ended, end, drained) = (early, now, now);
                } else if self.is_idle() && self.is_exhausted(source) {
                    (end, drained) = (now, now);
                }
            }
            let begun = now;
            // Even at the very end: what was meant to start before it counts.
            self.admit(now, source, end);
            if drained <= now || (end <= now && self.is_idle()) {
                break;
            }
            // First what gives room: who waits for it would else wait until something happens.
            self.expire(now)?;
            self.reopen(now);
            self.dispatch()?;
            let until = self.next_event_expected(source, end, drained).min(begun + LONGEST_WAIT);
            let until = self.prepare(until)?;
            let before = self.io.now();
            now = self.io.wait(until);
            self.complete(now)?;
            let turn = Turn {
                outstanding: self.outstanding.len(),
                backlog: self.pools.iter().map(|pool| pool.backlog.len()).sum(),
                waited: now - before,
                worked: before - begun,
                scripted: std::mem::take(&mut self.scripted),
            };
            self.observer.turn(now, turn);
        }
        self.give_up(now);
        Ok((now, ended))
    }

    /// In a closed loop every user begins at once, but for what a script delays.
    fn begin(&mut self, source: &mut Source, start: Instant) -> Result<(), Fault> {
        self.vacate_limited(start)?;
        self.outstanding.reserve(self.places().count());
        let Source::Closed { think, random } = source else {
            self.pools.iter_mut().for_each(|pool| pool.expect(self.limits.backlog));
            return Ok(());
        };
        self.think = Some((*think, random.clone()));
        for pool in &mut self.pools {
            let users = pool.users();
            pool.expect(users);
            pool.thinking.reserve_exact(users);
            for _ in 0..users {
                let first = start + pool.driver.delay()?;
                pool.thinking.push(Reverse(first));
            }
        }
        Ok(())
    }

    fn ends_early(&self) -> Option<Ended> {
        match () {
            () if self.has_dropped => Some(Ended::Overloaded),
            () if self.is_stopped() => Some(Ended::Halted),
            () if self.pools.iter().all(Pool::has_stopped) => Some(Ended::ByWorkload),
            () => None,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.iter().any(|stop| stop.load(Ordering::Relaxed))
    }

    /// Moves every request whose time has come into its pool's backlog, its intended time with it.
    /// Nothing is skipped, nothing is rescheduled.
    fn admit(&mut self, now: Instant, source: &mut Source, end: Instant) {
        match source {
            Source::Open(streams) => {
                while let Some(arrival) = streams.next_due(now, end) {
                    let Arrival { intended, pool, number, label, .. } = arrival;
                    let pool = streams.place(pool);
                    if !self.pools[pool].has_stopped() {
                        self.enqueue(pool, Waiting { intended, number, label }, now);
                    }
                }
            }
            Source::Closed { .. } => {
                for pool in 0..self.pools.len() {
                    while let Some(waiting) = self.pools[pool].next_user(now, end) {
                        self.enqueue(pool, waiting, now);
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, index: usize, waiting: Waiting, now: Instant) {
        let pool = &mut self.pools[index];
        self.observer.intended(pool.of, waiting.intended);
        // In a closed loop the number of users is the bound.
        if self.think.is_some() || pool.backlog.len() < self.limits.backlog {
            pool.backlog.push_back(waiting);
        } else {
            self.has_dropped = true;
            let completion = never_sent(pool.of, waiting, now, Outcome::Dropped, "");
            self.observer.completed(&completion);
        }
    }

    /// Starts waiting requests, oldest first, while their pool has a connection with room.
    fn dispatch(&mut self) -> Result<(), Fault> {
        for index in 0..self.pools.len() {
            while let Some((waiting, slot)) = self.pools[index].take_next() {
                self.start(index, slot, waiting)?;
            }
        }
        Ok(())
    }

    /// A request leaves the backlog: for the wire, or to have a connection opened.
    fn start(&mut self, index: usize, slot: Slot, waiting: Waiting) -> Result<(), Fault> {
        let Waiting { intended, number, label } = waiting;
        let place = self.pools[index].place(slot);
        let (state, room) = (place.state, place.room);
        let sent = self.io.now();
        let pool = index as u32;
        let request = Request { pool, slot, intended, number, label, room, sent, first_byte: None };
        let token = self.outstanding.insert(request);
        match state {
            State::Open { connection } => self.transmit(connection, token, sent),
            _ => {
                self.begin_to_connect(index, slot, sent);
                let pool = &mut self.pools[index];
                pool.place(slot).awaited = Some(token);
                pool.offer(slot, sent);
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
        let asked = Asked { token, number: request.number, label: request.label };
        self.wire.clear();
        if pool.driver.is_scripted() {
            let begun = self.io.now();
            request.label = pool.driver.start(request.slot, asked, &mut self.wire)?;
            left = self.io.now();
            self.scripted += left - begun;
            // What the script took is our lateness, not the target's.
            if pool.place(request.slot).awaited.is_none() {
                request.sent = left;
            }
        } else {
            request.label = pool.driver.start(request.slot, asked, &mut self.wire)?;
        }
        self.io.send(connection, &self.wire);
        self.observer.sent(pool.of, request.intended, request.sent, self.wire.len());
        let slot = request.slot;
        let place = pool.place(slot);
        let awaited = place.awaited.take();
        place.outstanding += 1;
        place.carried += 1;
        pool.offer_below(slot, left, self.limits.keep_alive);
        // A request for which a connection was opened began with that.
        if holds_back && awaited.is_none() {
            self.held_back.push(token);
            self.note_departures();
        }
        Ok(())
    }

    /// Requests that were held back leave with others: that was our doing, and is lateness.
    fn note_departures(&mut self) {
        if let Some(at) = self.io.handed_over() {
            for token in self.held_back.drain(..) {
                let request = self.outstanding.get(token);
                request.sent = request.sent.max(at);
            }
        }
    }

    /// Hands what arrived to the drivers, and what it completes to the observer.
    fn complete(&mut self, now: Instant) -> Result<(), Fault> {
        self.note_departures();
        // What is left found the network full, and was not held back by us.
        self.held_back.clear();
        while let Some(event) = self.io.next_event() {
            match event {
                Event::Received(connection, bytes) => {
                    let (index, slot) = self.connections.owner(connection);
                    let pool = &mut self.pools[index];
                    self.observer.received(pool.of, now, bytes.len());
                    let next = pool.driver.receive(slot, bytes, &mut self.reports)?;
                    self.reply(connection);
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

    /// Sends what a driver has to say that belongs to no request.
    fn reply(&mut self, connection: ConnectionId) {
        if !self.reports.wire.is_empty() {
            self.io.send(connection, &self.reports.wire);
            self.reports.wire.clear();
        }
    }

    /// What becomes of a connection on which something arrived.
    fn go_on(
        &mut self,
        connection: ConnectionId,
        index: usize,
        slot: Slot,
        next: Next,
        now: Instant,
    ) -> Result<(), Fault> {
        match next {
            Next::Continue | Next::Close => {}
            Next::Unasked => self.connections.count_unasked(),
            Next::Pending => return Ok(()),
            Next::Ready(handshake) => return self.secured(index, slot, handshake, now),
            Next::Fail(outcome, why) => {
                self.io.close(connection);
                return self.lose(index, slot, Lost::For(outcome, why), now);
            }
        }
        let pool = &mut self.pools[index];
        let is_free = pool.place(slot).outstanding == 0;
        // An answer that came before its request was written: the rest of the request would be
        // taken for another one.
        let early = is_free && !self.io.is_flushed(connection);
        if matches!(next, Next::Close | Next::Unasked) || early {
            self.io.close(connection);
            return self.lose(index, slot, Lost::By(Closed::ByPeer), now);
        }
        if is_free && self.limits.keep_alive.is_some_and(|most| most <= pool.place(slot).carried) {
            return self.retire(connection, index, slot, now);
        }
        pool.offer_below(slot, now, self.limits.keep_alive);
        Ok(())
    }

    /// Gives each finished request its outcome; in a closed loop, its user begins to think.
    fn settle(&mut self, now: Instant) -> Result<(), Fault> {
        for token in self.reports.begun.drain(..) {
            self.outstanding.get(token).first_byte.get_or_insert(now);
        }
        while let Some(done) = self.reports.done.pop() {
            let request = self.outstanding.remove(done.token);
            let pool = &mut self.pools[request.pool as usize];
            pool.place(request.slot).outstanding -= 1;
            self.observer.completed(&completion(pool.of, &request, done, now));
            self.think(request.pool as usize, now)?;
        }
        Ok(())
    }

    /// The user of a closed loop who asked for this will ask again.
    fn think(&mut self, index: usize, now: Instant) -> Result<(), Fault> {
        let Some((think, random)) = &mut self.think else { return Ok(()) };
        let pool = &mut self.pools[index];
        let next = now + think.draw(random) + pool.driver.delay()?;
        pool.thinking.push(Reverse(next));
        Ok(())
    }

    /// Fails, or marks, what has been outstanding for too long.
    fn expire(&mut self, now: Instant) -> Result<(), Fault> {
        while let Some((token, request)) = self.outstanding.expired(now, self.limits.timeout) {
            let index = request.pool as usize;
            if self.limits.overdue == Overdue::Mark {
                self.outstanding.mark(token);
                self.observer.overdue(self.pools[index].of, request.intended);
                continue;
            }
            match self.pools[index].place(request.slot).state {
                State::Open { connection }
                | State::Connecting { connection, .. }
                | State::Securing { connection, .. } => self.io.close(connection),
                State::Lost | State::Vacant => {
                    unreachable!("what is outstanding has a connection, or one on its way")
                }
            }
            self.lose(index, request.slot, Lost::TooLate(token), now)?;
        }
        self.expire_attempts(now)
    }

    /// Lets one pool do a little of what may be done ahead, if there is time. Returns until when to
    /// wait then: not at all after it did something, so that answers are read in between.
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

    /// What a target still owes at the end is as slow as it has been until now.
    fn give_up(&mut self, now: Instant) {
        for request in self.outstanding.drain() {
            let of = self.pools[request.pool as usize].of;
            let done = unanswered(Token(0), Outcome::Unfinished, "");
            self.observer.completed(&completion(of, &request, done, now));
        }
        for pool in &mut self.pools {
            for waiting in pool.backlog.drain(..) {
                let completion = never_sent(pool.of, waiting, now, Outcome::Unfinished, "");
                self.observer.completed(&completion);
            }
        }
    }

    /// Nothing is outstanding and nothing waits.
    fn is_idle(&self) -> bool {
        self.outstanding.len() == 0 && self.pools.iter().all(|pool| pool.backlog.is_empty())
    }

    /// A number of requests was asked for, and all have been started.
    fn is_exhausted(&self, source: &mut Source) -> bool {
        match source {
            Source::Open(streams) => streams.is_exhausted(),
            Source::Closed { .. } => self.pools.iter().all(Pool::is_exhausted),
        }
    }

    /// Until when there is nothing to do, unless something arrives.
    fn next_event_expected(&self, source: &mut Source, end: Instant, drained: Instant) -> Instant {
        let start = match source {
            Source::Open(streams) => streams.next_intended(),
            Source::Closed { .. } => self.pools.iter().filter_map(Pool::next_asking).min(),
        };
        let reopen = self.next_reopening();
        let attempt = self.next_attempt_expiry();
        let expiry = self.outstanding.next_expiry(self.limits.timeout);
        let last = if self.is_idle() { end } else { drained };
        [start.filter(|start| *start < end), reopen, attempt, expiry]
            .into_iter()
            .flatten()
            .fold(last, Instant::min)
    }
}

fn completion(of: Of, request: &Request, done: Done, now: Instant) -> Completion {
    let &Request { slot, intended, number, label, room, sent, first_byte, .. } = request;
    let Done { outcome, status, answers, bad, bytes, why, .. } = done;
    let start = Some(Start { room, sent, first_byte, connection: slot });
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
    let Waiting { intended, number, label } = waiting;
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

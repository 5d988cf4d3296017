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

use crate::driver::{Asked, Done, Driver, Fault, Lost, Next, Outcome, Reports, Seat, Token};
use crate::observe::{Completion, Observer, Of, Start, Turn};
use crate::outstanding::{Outstanding, Request};
use crate::pacing::Arrival;
use crate::source::{Source, Think};

pub use self::connections::{Failures, Unopened};
pub use self::lane::Numbers;
use self::lane::{Lane, State};

mod connections;
mod lane;
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
    /// Requests beyond this many waiting ones of a lane are dropped: a target which never answers
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
    lanes: Vec<Lane<D>>,
    /// Closed loop: how long a user thinks between an answer and the next request.
    think: Option<(Think, Random)>,
    outstanding: Outstanding,
    connections: connections::Connections,
    has_dropped: bool,
    /// Time spent in scripts since the last turn was told.
    scripted: Nanos,
    /// The lane whose turn it is to prepare requests.
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
            lanes: Vec::new(),
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

    /// Adds a lane, with so many connections, which take its endpoints in turn. Lanes are added in
    /// the order of their numbers.
    pub fn add_lane(
        &mut self,
        of: Of,
        driver: D,
        (endpoints, connections): (Vec<Endpoint>, usize),
        numbers: Numbers,
    ) {
        assert!(!endpoints.is_empty(), "a lane has an endpoint");
        self.connections.add(self.lanes.len(), connections);
        self.lanes.push(Lane::new(of, driver, endpoints, connections, numbers));
    }

    pub fn io(&mut self) -> &mut I {
        &mut self.io
    }

    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// The observer and the drivers in the order of their lanes, once the load is over.
    pub fn into_parts(self) -> (O, Vec<D>) {
        (self.observer, self.lanes.into_iter().map(|lane| lane.driver).collect())
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
                backlog: self.lanes.iter().map(|lane| lane.backlog.len()).sum(),
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
            self.lanes.iter_mut().for_each(|lane| lane.expect(self.limits.backlog));
            return Ok(());
        };
        self.think = Some((*think, random.clone()));
        for lane in &mut self.lanes {
            let users = lane.users();
            lane.expect(users);
            lane.thinking.reserve_exact(users);
            for _ in 0..users {
                let first = start + lane.driver.delay()?;
                lane.thinking.push(Reverse(first));
            }
        }
        Ok(())
    }

    fn ends_early(&self) -> Option<Ended> {
        match () {
            () if self.has_dropped => Some(Ended::Overloaded),
            () if self.is_stopped() => Some(Ended::Halted),
            () if self.lanes.iter().all(Lane::has_stopped) => Some(Ended::ByWorkload),
            () => None,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.iter().any(|stop| stop.load(Ordering::Relaxed))
    }

    /// Moves every request whose time has come into its lane's backlog, its intended time with it.
    /// Nothing is skipped, nothing is rescheduled.
    fn admit(&mut self, now: Instant, source: &mut Source, end: Instant) {
        match source {
            Source::Open(streams) => {
                while let Some(arrival) = streams.next_due(now, end) {
                    let Arrival { intended, lane, number, label, .. } = arrival;
                    let lane = streams.place(lane);
                    if !self.lanes[lane].has_stopped() {
                        self.enqueue(lane, Waiting { intended, number, label }, now);
                    }
                }
            }
            Source::Closed { .. } => {
                for lane in 0..self.lanes.len() {
                    while let Some(waiting) = self.lanes[lane].next_user(now, end) {
                        self.enqueue(lane, waiting, now);
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, index: usize, waiting: Waiting, now: Instant) {
        let lane = &mut self.lanes[index];
        self.observer.intended(lane.of, waiting.intended);
        // In a closed loop the number of users is the bound.
        if self.think.is_some() || lane.backlog.len() < self.limits.backlog {
            lane.backlog.push_back(waiting);
        } else {
            self.has_dropped = true;
            let completion = never_sent(lane.of, waiting, now, Outcome::Dropped, "");
            self.observer.completed(&completion);
        }
    }

    /// Starts waiting requests, oldest first, while their lane has a connection with room.
    fn dispatch(&mut self) -> Result<(), Fault> {
        for index in 0..self.lanes.len() {
            while let Some((waiting, seat)) = self.lanes[index].take_next() {
                self.start(index, seat, waiting)?;
            }
        }
        Ok(())
    }

    /// A request leaves the backlog: for the wire, or to have a connection opened.
    fn start(&mut self, index: usize, seat: Seat, waiting: Waiting) -> Result<(), Fault> {
        let Waiting { intended, number, label } = waiting;
        let place = self.lanes[index].place(seat);
        let (state, room) = (place.state, place.room);
        let sent = self.io.now();
        let lane = index as u32;
        let request = Request { lane, seat, intended, number, label, room, sent, first_byte: None };
        let token = self.outstanding.insert(request);
        match state {
            State::Open { connection } => self.transmit(connection, token, sent),
            _ => {
                self.begin_to_connect(index, seat, sent);
                let lane = &mut self.lanes[index];
                lane.place(seat).awaited = Some(token);
                lane.offer(seat, sent);
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
        let lane = &mut self.lanes[request.lane as usize];
        let asked = Asked { token, number: request.number, label: request.label };
        self.wire.clear();
        if lane.driver.is_scripted() {
            let begun = self.io.now();
            request.label = lane.driver.start(request.seat, asked, &mut self.wire)?;
            left = self.io.now();
            self.scripted += left - begun;
            // What the script took is our lateness, not the target's.
            if lane.place(request.seat).awaited.is_none() {
                request.sent = left;
            }
        } else {
            request.label = lane.driver.start(request.seat, asked, &mut self.wire)?;
        }
        self.io.send(connection, &self.wire);
        self.observer.sent(lane.of, request.intended, request.sent, self.wire.len());
        let seat = request.seat;
        let place = lane.place(seat);
        let awaited = place.awaited.take();
        place.outstanding += 1;
        place.carried += 1;
        lane.offer_below(seat, left, self.limits.keep_alive);
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
                    let (index, seat) = self.connections.owner(connection);
                    let lane = &mut self.lanes[index];
                    self.observer.received(lane.of, now, bytes.len());
                    let next = lane.driver.receive(seat, bytes, &mut self.reports)?;
                    self.reply(connection);
                    self.settle(now)?;
                    self.go_on(connection, index, seat, next, now)?;
                }
                Event::Connected(connection) => {
                    let (index, seat) = self.connections.owner(connection);
                    self.opened(index, seat, now)?;
                }
                Event::Closed(connection, how) => {
                    let (index, seat) = self.connections.owner(connection);
                    self.lose(index, seat, Lost::By(how), now)?;
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
        seat: Seat,
        next: Next,
        now: Instant,
    ) -> Result<(), Fault> {
        match next {
            Next::Continue | Next::Close => {}
            Next::Unasked => self.connections.count_unasked(),
            Next::Pending => return Ok(()),
            Next::Ready(handshake) => return self.secured(index, seat, handshake, now),
            Next::Fail(outcome, why) => {
                self.io.close(connection);
                return self.lose(index, seat, Lost::For(outcome, why), now);
            }
        }
        let lane = &mut self.lanes[index];
        let is_free = lane.place(seat).outstanding == 0;
        // An answer that came before its request was written: the rest of the request would be
        // taken for another one.
        let early = is_free && !self.io.is_flushed(connection);
        if matches!(next, Next::Close | Next::Unasked) || early {
            self.io.close(connection);
            return self.lose(index, seat, Lost::By(Closed::ByPeer), now);
        }
        if is_free && self.limits.keep_alive.is_some_and(|most| most <= lane.place(seat).carried) {
            return self.retire(connection, index, seat, now);
        }
        lane.offer_below(seat, now, self.limits.keep_alive);
        Ok(())
    }

    /// Gives each finished request its outcome; in a closed loop, its user begins to think.
    fn settle(&mut self, now: Instant) -> Result<(), Fault> {
        for token in self.reports.begun.drain(..) {
            self.outstanding.get(token).first_byte.get_or_insert(now);
        }
        while let Some(done) = self.reports.done.pop() {
            let request = self.outstanding.remove(done.token);
            let lane = &mut self.lanes[request.lane as usize];
            lane.place(request.seat).outstanding -= 1;
            self.observer.completed(&completion(lane.of, &request, done, now));
            self.think(request.lane as usize, now)?;
        }
        Ok(())
    }

    /// The user of a closed loop who asked for this will ask again.
    fn think(&mut self, index: usize, now: Instant) -> Result<(), Fault> {
        let Some((think, random)) = &mut self.think else { return Ok(()) };
        let lane = &mut self.lanes[index];
        let next = now + think.draw(random) + lane.driver.delay()?;
        lane.thinking.push(Reverse(next));
        Ok(())
    }

    /// Fails, or marks, what has been outstanding for too long.
    fn expire(&mut self, now: Instant) -> Result<(), Fault> {
        while let Some((token, request)) = self.outstanding.expired(now, self.limits.timeout) {
            let index = request.lane as usize;
            if self.limits.overdue == Overdue::Mark {
                self.outstanding.mark(token);
                self.observer.overdue(self.lanes[index].of, request.intended);
                continue;
            }
            match self.lanes[index].place(request.seat).state {
                State::Open { connection }
                | State::Connecting { connection, .. }
                | State::Securing { connection, .. } => self.io.close(connection),
                State::Lost | State::Vacant => {
                    unreachable!("what is outstanding has a connection, or one on its way")
                }
            }
            self.lose(index, request.seat, Lost::TooLate(token), now)?;
        }
        self.expire_attempts(now)
    }

    /// Lets one lane do a little of what may be done ahead, if there is time. Returns until when to
    /// wait then: not at all after it did something, so that answers are read in between.
    fn prepare(&mut self, until: Instant) -> Result<Instant, Fault> {
        self.preparing = (self.preparing + 1) % self.lanes.len();
        let lane = &mut self.lanes[self.preparing];
        if !lane.driver.is_scripted() {
            return Ok(until);
        }
        let begun = self.io.now();
        if until.saturating_since(begun) <= lane.longest_preparation || !lane.driver.prepare()? {
            return Ok(until);
        }
        let ended = self.io.now();
        self.scripted += ended - begun;
        lane.longest_preparation = (ended - begun).max(lane.longest_preparation / 8 * 7);
        Ok(ended)
    }

    /// What a target still owes at the end is as slow as it has been until now.
    fn give_up(&mut self, now: Instant) {
        for request in self.outstanding.drain() {
            let of = self.lanes[request.lane as usize].of;
            let done = unanswered(Token(0), Outcome::Unfinished, "");
            self.observer.completed(&completion(of, &request, done, now));
        }
        for lane in &mut self.lanes {
            for waiting in lane.backlog.drain(..) {
                let completion = never_sent(lane.of, waiting, now, Outcome::Unfinished, "");
                self.observer.completed(&completion);
            }
        }
    }

    /// Nothing is outstanding and nothing waits.
    fn is_idle(&self) -> bool {
        self.outstanding.len() == 0 && self.lanes.iter().all(|lane| lane.backlog.is_empty())
    }

    /// A number of requests was asked for, and all have been started.
    fn is_exhausted(&self, source: &mut Source) -> bool {
        match source {
            Source::Open(streams) => streams.is_exhausted(),
            Source::Closed { .. } => self.lanes.iter().all(Lane::is_exhausted),
        }
    }

    /// Until when there is nothing to do, unless something arrives.
    fn next_event_expected(&self, source: &mut Source, end: Instant, drained: Instant) -> Instant {
        let start = match source {
            Source::Open(streams) => streams.next_intended(),
            Source::Closed { .. } => self.lanes.iter().filter_map(Lane::next_asking).min(),
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
    let &Request { seat, intended, number, label, room, sent, first_byte, .. } = request;
    let Done { outcome, status, answers, bad, bytes, why, .. } = done;
    let start = Some(Start { room, sent, first_byte, connection: seat });
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

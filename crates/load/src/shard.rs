//! One request's life.
//!
//! A shard is one thread with its own event loop, pinned to a core, sharing nothing. The arrivals
//! say when, the driver says what, the I/O says where, and the observer what for. One turn of the
//! loop is four verbs: `admit`, `dispatch`, `wait`, `complete`. Nothing here speaks a protocol,
//! nothing reads a clock but through the I/O, and the intended time of a request is never changed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::iter::Peekable;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::{Instant, Nanos};
use net::{Closed, ConnectionId, Event, Io};

use crate::driver::{Done, Driver, Fault, Next, Outcome, Seat};
use crate::observe::{Completion, Observer, Start, Turn};
use crate::outstanding::{Outstanding, Request};
use crate::pacing::Arrivals;

#[cfg(test)]
mod tests;

/// Connections that may be on their way at once: more would overrun a listener's queue.
const MOST_CONNECTING: usize = 128;
/// How soon a lost connection is opened again, and at most how late while that keeps failing.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
const LONGEST_PAUSE: Nanos = Nanos::SECOND;
/// How long a wait may last: how soon an interruption is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(50);

/// What a shard does not choose itself.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From `sent`: a request without an answer by then failed, and its connection is closed.
    pub timeout: Nanos,
    /// Requests beyond this many waiting ones are dropped: a target which never answers must not
    /// exhaust our memory.
    pub backlog: usize,
}

/// When the phases of a load end. Warm-up is what lies before the observer's window.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    pub start: Instant,
    /// No request is started after this.
    pub end: Instant,
    /// Until when the outstanding ones are awaited.
    pub drained: Instant,
}

/// Who starts the requests.
#[derive(Debug)]
pub enum Source {
    Open(Vec<Peekable<Arrivals>>),
    Closed { think: Nanos },
}

pub struct Shard<'a, I, D, O> {
    io: I,
    observer: O,
    limits: Limits,
    stop: &'a AtomicBool,
    targets: Vec<Target<D>>,
    /// Closed loop: how long a user thinks between an answer and the next request.
    think: Option<Nanos>,
    /// By connection: the target and seat it belongs to.
    owners: Vec<Option<(u32, Seat)>>,
    outstanding: Outstanding,
    connecting: usize,
    // Lent to the loop's calls, so that a turn allocates nothing.
    completed: Vec<Done>,
    wire: Vec<u8>,
}

/// A target as one shard sees it.
struct Target<D> {
    driver: D,
    addresses: Vec<SocketAddr>,
    seats: Vec<Place>,
    /// How many seats have lost their connection, or never had one.
    lost: usize,
    /// Why the last attempt to connect failed.
    failure: Option<Closed>,
    /// Seats with room, idle longest first. A seat whose connection was lost stays in it until it
    /// is taken.
    idle: VecDeque<Seat>,
    /// Intended times of requests whose time has come but which found no room, oldest first.
    backlog: VecDeque<Instant>,
    /// Closed loop: when the users who think will ask again.
    thinking: BinaryHeap<Reverse<Instant>>,
}

/// A seat's connection.
#[derive(Clone, Copy, Debug)]
struct Place {
    state: State,
    /// Whether it stands in the queue of idle seats.
    queued: bool,
    /// From when on it had room.
    room: Instant,
    /// The pause before the next attempt to connect.
    pause: Nanos,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Lost { reopen: Instant },
    Connecting { connection: ConnectionId, since: Instant },
    Open { connection: ConnectionId },
}

impl<'a, I: Io, D: Driver, O: Observer> Shard<'a, I, D, O> {
    pub fn new(io: I, observer: O, limits: Limits, stop: &'a AtomicBool) -> Shard<'a, I, D, O> {
        Shard {
            io,
            observer,
            limits,
            stop,
            targets: Vec::new(),
            think: None,
            owners: Vec::new(),
            outstanding: Outstanding::new(),
            connecting: 0,
            completed: Vec::new(),
            wire: Vec::new(),
        }
    }

    /// Adds a target, with so many connections, which take its addresses in turn.
    pub fn add_target(&mut self, driver: D, addresses: Vec<SocketAddr>, connections: usize) {
        assert!(!addresses.is_empty(), "a target has an address");
        let lost = State::Lost { reopen: Instant::default() };
        let (room, pause) = (Instant::default(), Nanos::ZERO);
        let place = Place { state: lost, queued: false, room, pause };
        self.targets.push(Target {
            driver,
            addresses,
            seats: vec![place; connections],
            lost: connections,
            failure: None,
            idle: VecDeque::with_capacity(connections),
            backlog: VecDeque::new(),
            thinking: BinaryHeap::new(),
        });
    }

    pub fn observer(&mut self) -> &mut O {
        &mut self.observer
    }

    /// The world and the observer, once the load is over.
    pub fn into_parts(self) -> (I, O) {
        (self.io, self.observer)
    }

    /// Opens the connections, before the load begins: until each has succeeded or failed once, at
    /// the latest until `deadline`. Returns how many are open.
    pub fn connect(&mut self, deadline: Instant) -> usize {
        let mut now = self.io.now();
        while now < deadline && self.is_connecting() && !self.is_stopped() {
            self.reopen(now);
            now = self.io.wait(deadline.min(now + LONGEST_WAIT));
            self.complete(now);
        }
        self.places().filter(|place| place.is_open()).count()
    }

    /// The first target to which no connection is open, and why if an attempt has failed.
    pub fn unreachable(&self) -> Option<(usize, Option<Closed>)> {
        let unreachable = |target: &Target<D>| !target.seats.iter().any(Place::is_open);
        let index = self.targets.iter().position(unreachable)?;
        Some((index, self.targets[index].failure))
    }

    /// Generates load as scheduled. What is then outstanding or in the backlog counts as
    /// unfinished: as at least as long as it has waited.
    pub fn run(&mut self, source: &mut Source, schedule: Schedule) -> Result<Instant, Fault> {
        if let Source::Closed { think } = *source {
            self.think = Some(think);
            self.seat_users(schedule.start);
        }
        let mut end = schedule.end;
        let mut now = self.io.now();
        loop {
            if self.is_stopped() {
                end = end.min(now);
            }
            let drained = if end < schedule.end { end } else { schedule.drained };
            if drained <= now || (end <= now && self.is_idle()) {
                break;
            }
            let begun = now;
            self.admit(now, source, end);
            self.dispatch()?;
            self.expire(now);
            self.reopen(now);
            let until = self.next_event_expected(source, end, drained).min(begun + LONGEST_WAIT);
            let before = self.io.now();
            now = self.io.wait(until);
            self.complete(now);
            self.observer.turn(
                now,
                Turn {
                    outstanding: self.outstanding.len(),
                    backlog: self.targets.iter().map(|target| target.backlog.len()).sum(),
                    waited: now - before,
                    worked: before - begun,
                },
            );
        }
        self.give_up(now);
        Ok(now)
    }

    /// Moves every request whose time has come into its target's backlog, its intended time with
    /// it. Nothing is skipped, nothing is rescheduled.
    fn admit(&mut self, now: Instant, source: &mut Source, end: Instant) {
        match source {
            Source::Open(streams) => {
                for stream in streams {
                    while let Some((intended, target)) =
                        stream.next_if(|(intended, _)| *intended <= now && *intended < end)
                    {
                        self.enqueue(target, intended, now);
                    }
                }
            }
            Source::Closed { .. } => {
                for target in 0..self.targets.len() as u32 {
                    while let Some(intended) = self.targets[target as usize].next_user(now, end) {
                        self.enqueue(target, intended, now);
                    }
                }
            }
        }
    }

    fn enqueue(&mut self, target: u32, intended: Instant, now: Instant) {
        self.observer.intended(target, intended);
        let backlog = &mut self.targets[target as usize].backlog;
        // In a closed loop the number of users is the bound.
        if self.think.is_some() || backlog.len() < self.limits.backlog {
            backlog.push_back(intended);
        } else {
            self.never_sent(target, intended, now, Outcome::Dropped);
        }
    }

    /// Starts waiting requests, oldest first, while their target has a connection with room.
    fn dispatch(&mut self) -> Result<(), Fault> {
        for index in 0..self.targets.len() as u32 {
            loop {
                let target = &mut self.targets[index as usize];
                let Some(&intended) = target.backlog.front() else { break };
                let Some((seat, connection, room)) = target.take_idle() else { break };
                target.backlog.pop_front();
                let sent = self.io.now();
                let request = Request { target: index, seat, intended, room, sent };
                let token = self.outstanding.insert(request);
                self.wire.clear();
                target.driver.start(seat, token, &mut self.wire)?;
                target.offer(seat, room);
                self.io.send(connection, &self.wire);
                self.observer.sent(index, intended, sent, self.wire.len());
            }
        }
        Ok(())
    }

    /// Hands what arrived to the drivers, and what it completes to the observer.
    fn complete(&mut self, now: Instant) {
        while let Some(event) = self.io.next_event() {
            match event {
                Event::Received(connection, bytes) => {
                    let (index, seat) = owner(&self.owners, connection);
                    let target = &mut self.targets[index as usize];
                    self.observer.received(index, now, bytes.len());
                    let next = target.driver.receive(seat, bytes, &mut self.completed);
                    match next {
                        Next::Continue => target.offer(seat, now),
                        Next::Close => {
                            self.io.close(connection);
                            self.lose(index, seat, Closed::ByPeer, now);
                        }
                    }
                }
                Event::Connected(connection) => {
                    let (index, seat) = owner(&self.owners, connection);
                    self.opened(index, seat, now);
                }
                Event::Closed(connection, how) => {
                    let (index, seat) = owner(&self.owners, connection);
                    self.lose(index, seat, how, now);
                }
                Event::Accepted(_) => unreachable!("a shard does not listen"),
            }
            self.settle(now);
        }
    }

    /// Gives each finished request its outcome; in a closed loop, its user begins to think.
    fn settle(&mut self, now: Instant) {
        while let Some(Done { token, outcome, status }) = self.completed.pop() {
            let Request { target, intended, room, sent, .. } = self.outstanding.remove(token);
            let start = Some(Start { room, sent });
            let completion = Completion { target, intended, start, done: now, outcome, status };
            self.observer.completed(&completion);
            self.think(target, now);
        }
    }

    /// The user of a closed loop who asked for this will ask again.
    fn think(&mut self, target: u32, now: Instant) {
        if let Some(think) = self.think {
            self.targets[target as usize].thinking.push(Reverse(now + think));
        }
    }

    /// Fails what has been outstanding for too long, and closes its connection: what would answer
    /// there could no longer be told from the answer to a later request.
    fn expire(&mut self, now: Instant) {
        while let Some((token, request)) = self.outstanding.expired(now, self.limits.timeout) {
            let place = self.targets[request.target as usize].seats[request.seat.0 as usize];
            let State::Open { connection } = place.state else {
                unreachable!("what is outstanding is outstanding on an open connection")
            };
            self.io.close(connection);
            self.lose(request.target, request.seat, Closed::Reset, now);
            for done in self.completed.iter_mut().filter(|done| done.token == token) {
                done.outcome = Outcome::Timeout;
            }
            self.settle(now);
        }
    }

    /// What a target still owes at the end is as slow as it has been until now.
    fn give_up(&mut self, now: Instant) {
        for request in self.outstanding.drain() {
            let Request { target, intended, room, sent, .. } = request;
            self.observer.completed(&Completion {
                target,
                intended,
                start: Some(Start { room, sent }),
                done: now,
                outcome: Outcome::Unfinished,
                status: 0,
            });
        }
        for index in 0..self.targets.len() as u32 {
            while let Some(intended) = self.targets[index as usize].backlog.pop_front() {
                self.never_sent(index, intended, now, Outcome::Unfinished);
            }
        }
    }

    fn never_sent(&mut self, target: u32, intended: Instant, now: Instant, outcome: Outcome) {
        let (start, done, status) = (None, now, 0);
        self.observer.completed(&Completion { target, intended, start, done, outcome, status });
        self.think(target, now);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Nothing is outstanding and nothing waits.
    fn is_idle(&self) -> bool {
        self.outstanding.len() == 0 && self.targets.iter().all(|target| target.backlog.is_empty())
    }

    /// Until when there is nothing to do, unless something arrives.
    fn next_event_expected(&self, source: &mut Source, end: Instant, drained: Instant) -> Instant {
        let start = match source {
            Source::Open(streams) => {
                streams.iter_mut().filter_map(|stream| Some(stream.peek()?.0)).min()
            }
            Source::Closed { .. } => {
                self.targets.iter().filter_map(|target| Some(target.thinking.peek()?.0)).min()
            }
        };
        let reopen = self.next_reopening();
        let expiry = self.outstanding.next_expiry(self.limits.timeout);
        let last = if self.is_idle() { end } else { drained };
        [start.filter(|start| *start < end), reopen, expiry]
            .into_iter()
            .flatten()
            .fold(last, Instant::min)
    }
}

/// Connections: how seats get theirs, lose them and get others.
impl<I: Io, D: Driver, O: Observer> Shard<'_, I, D, O> {
    fn places(&self) -> impl Iterator<Item = &Place> {
        self.targets.iter().flat_map(|target| &target.seats)
    }

    /// Whether a connection is on its way or was never tried.
    fn is_connecting(&self) -> bool {
        self.places().any(|place| match place.state {
            State::Connecting { .. } => true,
            State::Lost { .. } => place.pause == Nanos::ZERO,
            State::Open { .. } => false,
        })
    }

    /// Every user of a closed loop begins at once.
    fn seat_users(&mut self, start: Instant) {
        for target in &mut self.targets {
            let users = target.seats.len();
            target.thinking.extend((0..users).map(|_| Reverse(start)));
        }
    }

    /// When the next lost connection may be opened again, unless too many are on their way.
    fn next_reopening(&self) -> Option<Instant> {
        let next = self.targets.iter().filter_map(Target::next_reopening).min();
        next.filter(|_| self.connecting < MOST_CONNECTING)
    }

    /// Begins to connect the seats whose pause is over.
    fn reopen(&mut self, now: Instant) {
        if self.next_reopening().is_none_or(|at| now < at) {
            return;
        }
        for index in 0..self.targets.len() {
            for seat in 0..self.targets[index].seats.len() {
                let due = self.targets[index].seats[seat].is_due(now);
                if due && self.connecting < MOST_CONNECTING {
                    self.begin_to_connect(index, seat, now);
                }
            }
        }
    }

    fn begin_to_connect(&mut self, index: usize, seat: usize, now: Instant) {
        let target = &mut self.targets[index];
        let connection = self.io.connect(target.addresses[seat % target.addresses.len()]);
        target.seats[seat].state = State::Connecting { connection, since: now };
        target.lost -= 1;
        self.connecting += 1;
        let name = connection.0 as usize;
        if self.owners.len() <= name {
            self.owners.resize(name + 1, None);
        }
        self.owners[name] = Some((index as u32, Seat(seat as u32)));
    }

    fn opened(&mut self, index: u32, seat: Seat, now: Instant) {
        let target = &mut self.targets[index as usize];
        let place = &mut target.seats[seat.0 as usize];
        let State::Connecting { connection, since } = place.state else {
            unreachable!("only a seat that connects is told that it has connected")
        };
        place.state = State::Open { connection };
        place.room = now;
        self.connecting -= 1;
        self.observer.connected(index, now, now - since);
        target.offer(seat, now);
    }

    /// The seat's connection is gone. A connection that served is replaced at once; one that never
    /// came to be takes the oldest waiting request with it, and the next attempt waits longer.
    fn lose(&mut self, index: u32, seat: Seat, how: Closed, now: Instant) {
        let target = &mut self.targets[index as usize];
        let place = &mut target.seats[seat.0 as usize];
        target.lost += 1;
        match place.state {
            State::Connecting { .. } => {
                self.connecting -= 1;
                target.failure = Some(how);
                place.pause = (place.pause * 2).max(FIRST_PAUSE).min(LONGEST_PAUSE);
                place.state = State::Lost { reopen: now + place.pause };
                if let Some(intended) = target.backlog.pop_front() {
                    self.never_sent(index, intended, now, Outcome::Connect);
                }
            }
            State::Open { .. } => {
                place.pause = if how == Closed::Reset { FIRST_PAUSE } else { Nanos::ZERO };
                place.state = State::Lost { reopen: now + place.pause };
                target.driver.closed(seat, how, &mut self.completed);
                self.observer.disconnected(index, now);
            }
            State::Lost { .. } => unreachable!("a lost connection is not lost again"),
        }
    }
}

impl Place {
    fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }

    fn is_due(&self, now: Instant) -> bool {
        matches!(self.state, State::Lost { reopen } if reopen <= now)
    }
}

impl<D: Driver> Target<D> {
    /// The next user whose thinking is over.
    fn next_user(&mut self, now: Instant, end: Instant) -> Option<Instant> {
        let Reverse(next) = self.thinking.peek()?;
        if now < *next || end <= *next {
            return None;
        }
        self.thinking.pop().map(|Reverse(intended)| intended)
    }

    /// Takes the seat which has been idle longest.
    fn take_idle(&mut self) -> Option<(Seat, ConnectionId, Instant)> {
        loop {
            let seat = self.idle.pop_front()?;
            let place = &mut self.seats[seat.0 as usize];
            place.queued = false;
            if let State::Open { connection } = place.state {
                return Some((seat, connection, place.room));
            }
        }
    }

    /// Queues a seat if its connection has room and it does not stand in the queue yet.
    fn offer(&mut self, seat: Seat, since: Instant) {
        let place = &mut self.seats[seat.0 as usize];
        if !place.queued && 0 < self.driver.room(seat) {
            place.queued = true;
            place.room = since;
            self.idle.push_back(seat);
        }
    }

    fn next_reopening(&self) -> Option<Instant> {
        if self.lost == 0 {
            return None;
        }
        let lost = self.seats.iter().filter_map(|place| match place.state {
            State::Lost { reopen } => Some(reopen),
            _ => None,
        });
        lost.min()
    }
}

fn owner(owners: &[Option<(u32, Seat)>], connection: ConnectionId) -> (u32, Seat) {
    owners[connection.0 as usize].expect("every connection of a shard has a seat")
}

//! How seats get their connections, lose them and get others.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ::measure::{Instant, Nanos};
use net::{Closed, ConnectionId, Io};

use super::lane::{Lane, Place, State};
use super::{LONGEST_WAIT, Shard, completion, never_sent, unanswered};
use crate::driver::{Driver, Fault, Handshake, Lost, Next, Outcome, Seat, Token};
use crate::observe::Observer;

/// Connections that may be on their way at once: more would overrun a listener's queue.
const MOST_CONNECTING: usize = 128;
/// How soon a lost connection is opened again, and at most how late while that keeps failing.
const FIRST_PAUSE: Nanos = Nanos::from_millis(10);
const LONGEST_PAUSE: Nanos = Nanos::SECOND;
/// The opening of connections is late by as much as the loop was; up to so much is caught up.
const CAUGHT_UP: Nanos = Nanos::from_millis(10);
/// A peer that may still refuse an open connection gets twice as long for it as the slowest
/// connection took to be opened, and at least so long. One that sends a ticket has accepted it.
const SHORTEST_MOMENT: Nanos = Nanos::from_millis(500);
/// When a seat that was never tried may have a connection: before all others.
const AT_ONCE: Instant = Instant(0);
/// Why a connection that is still being secured will not be.
const LATE: &str = "the TLS handshake took too long (--connect-timeout)";

/// What a shard knows of its connections beyond their seats.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// By connection: the lane and seat it belongs to.
    owners: Vec<Option<(u32, Seat)>>,
    connecting: usize,
    /// Attempts in the order of their beginning; some of them have ended.
    attempts: VecDeque<Attempt>,
    /// The seats that are [`State::Lost`], by when they may have a connection again.
    lost: BinaryHeap<Reverse<Reopening>>,
    /// No attempt is to begin before this.
    next_opening: Instant,
    /// The longest time from the beginning of an attempt until its connection carried requests.
    longest_opening: Nanos,
    failures: Failures,
}

/// What went wrong with connections: attempts to connect that have failed, by whose fault it was, and
/// connections that we gave up.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Failures {
    /// The target has refused them, or closed them at once, or they could not be secured.
    pub refused: u64,
    /// Nobody has answered.
    pub unreachable: u64,
    /// This machine had no local port, open file or memory left for them.
    pub exhausted: u64,
    /// Closed by us, since the target sent bytes on them that answer no request.
    pub unasked: u64,
}

/// Why a connection could not be opened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Unopened {
    By(Closed),
    /// It could not be secured.
    Unsecured(&'static str),
}

impl Failures {
    fn count(&mut self, lost: Lost) {
        match lost {
            Lost::By(Closed::Unreachable) => self.unreachable += 1,
            Lost::By(Closed::Exhausted) => self.exhausted += 1,
            Lost::By(_) | Lost::For(..) => self.refused += 1,
            Lost::TooLate(_) => {}
        }
    }

    pub(crate) fn add(&mut self, other: Failures) {
        self.refused += other.refused;
        self.unreachable += other.unreachable;
        self.exhausted += other.exhausted;
        self.unasked += other.unasked;
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
    lane: u32,
    seat: Seat,
}

impl Connections {
    /// Makes room for the seats of a lane, none of which has a connection yet.
    pub(super) fn add(&mut self, lane: usize, seats: usize) {
        self.owners.reserve_exact(seats);
        self.owners.resize(self.owners.len() + seats, None);
        self.lost.reserve_exact(seats);
        (0..seats as u32).for_each(|seat| self.lose(lane, Seat(seat), AT_ONCE));
    }

    fn lose(&mut self, lane: usize, seat: Seat, at: Instant) {
        self.lost.push(Reverse(Reopening { at, lane: lane as u32, seat }));
    }

    pub(super) fn count_unasked(&mut self) {
        self.failures.unasked += 1;
    }

    pub(super) fn owner(&self, connection: ConnectionId) -> (usize, Seat) {
        let owner = self.owners[connection.0 as usize];
        let (lane, seat) = owner.expect("every connection of a shard has a seat");
        (lane as usize, seat)
    }
}

impl<I: Io, D: Driver, O: Observer> Shard<'_, I, D, O> {
    /// Opens the connections, before the load begins: until each has succeeded or failed once, at
    /// the latest until `deadline`. Returns how many are open.
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

    /// Waits a moment while peers may still refuse connections that are open. Those that they refuse
    /// are not opened again here: they would seem to be open when the load begins.
    fn await_refusals(&mut self, mut now: Instant, deadline: Instant) -> Result<(), Fault> {
        let moment = SHORTEST_MOMENT.max(self.connections.longest_opening * 2);
        let until = deadline.min(now + moment);
        let is_doubtful = |lane: &Lane<D>| {
            let mut places = (0..).zip(&lane.seats);
            places.any(|(seat, place)| place.is_open() && lane.driver.is_doubtful(Seat(seat)))
        };
        while now < until && self.lanes.iter().any(is_doubtful) && !self.is_stopped() {
            now = self.io.wait(until.min(now + LONGEST_WAIT));
            self.complete(now)?;
        }
        Ok(())
    }

    /// The first target to which no connection is open, and why if an attempt has failed.
    pub fn unreachable(&self) -> Option<(usize, Option<Unopened>)> {
        let mut lanes = self.lanes.iter().filter(|lane| !lane.seats.is_empty());
        let lane = lanes.find(|lane| !lane.seats.iter().any(Place::is_open))?;
        let mut states = lane.seats.iter().map(|place| place.state);
        let is_securing = states.any(|state| matches!(state, State::Securing { .. }));
        let late = is_securing.then_some(Unopened::Unsecured(LATE));
        Some((lane.of.target as usize, lane.failure.or(late)))
    }

    /// What went wrong with connections so far.
    pub fn failures(&self) -> Failures {
        self.connections.failures
    }

    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        self.lanes.iter().flat_map(|lane| &lane.seats)
    }

    /// Whether a connection is on its way or was never tried.
    fn is_connecting(&self) -> bool {
        let Connections { connecting, lost, .. } = &self.connections;
        0 < *connecting || lost.peek().is_some_and(|Reverse(next)| next.at == AT_ONCE)
    }

    /// When the next lost connection may be opened again, unless too many are on their way.
    pub(super) fn next_reopening(&self) -> Option<Instant> {
        let Connections { connecting, lost, next_opening, .. } = &self.connections;
        let Reverse(next) = lost.peek().filter(|_| *connecting < MOST_CONNECTING)?;
        Some(next.at.max(*next_opening))
    }

    /// Begins to connect the seats whose pause is over.
    pub(super) fn reopen(&mut self, now: Instant) {
        while self.next_reopening().is_some_and(|at| at <= now) {
            let Reverse(next) = self.connections.lost.pop().expect("the next one was seen");
            let (index, seat) = (next.lane as usize, next.seat);
            let place = self.lanes[index].place(seat);
            if self.limits.keep_alive.is_some() && Nanos::ZERO < place.pause {
                self.lanes[index].set(seat, State::Vacant);
                self.lanes[index].offer(seat, now);
                continue;
            }
            let due = self.connections.next_opening.max(Instant(now.0.saturating_sub(CAUGHT_UP.0)));
            self.connections.next_opening = due + self.limits.open_gap;
            self.begin_to_connect(index, seat, now);
        }
    }

    /// Begins to connect a seat that has no connection.
    pub(super) fn begin_to_connect(&mut self, index: usize, seat: Seat, now: Instant) {
        let lane = &mut self.lanes[index];
        let connection = self.io.connect(lane.endpoint(seat));
        lane.set(seat, State::Connecting { connection, since: now });
        lane.place(seat).carried = 0;
        let connections = &mut self.connections;
        connections.connecting += 1;
        connections.attempts.push_back(Attempt { connection, since: now });
        let name = connection.0 as usize;
        if connections.owners.len() <= name {
            connections.owners.resize(name + 1, None);
        }
        connections.owners[name] = Some((index as u32, seat));
    }

    /// The network has connected a seat; its driver may have to secure it first.
    pub(super) fn opened(&mut self, index: usize, seat: Seat, now: Instant) -> Result<(), Fault> {
        let lane = &mut self.lanes[index];
        let State::Connecting { connection, since } = lane.place(seat).state else {
            unreachable!("only a seat that connects is told that it has connected")
        };
        self.observer.connected(lane.of, now, now - since);
        if lane.driver.opened(seat, &mut self.reports.wire) == Next::Pending {
            lane.set(seat, State::Securing { connection, since, connected: now });
            self.reply(connection);
            return Ok(());
        }
        self.ready(connection, index, seat, now)
    }

    pub(super) fn secured(
        &mut self,
        index: usize,
        seat: Seat,
        handshake: Handshake,
        now: Instant,
    ) -> Result<(), Fault> {
        let lane = &mut self.lanes[index];
        let State::Securing { connection, connected, .. } = lane.place(seat).state else {
            unreachable!("only a seat that is being secured gets ready")
        };
        self.observer.secured(lane.of, now - connected, handshake);
        self.ready(connection, index, seat, now)
    }

    /// A connection carries requests from now on.
    fn ready(
        &mut self,
        connection: ConnectionId,
        index: usize,
        seat: Seat,
        now: Instant,
    ) -> Result<(), Fault> {
        self.connections.connecting -= 1;
        let lane = &mut self.lanes[index];
        if let Some((_, since)) = lane.place(seat).state.attempt() {
            self.connections.longest_opening = self.connections.longest_opening.max(now - since);
        }
        lane.set(seat, State::Open { connection });
        match lane.place(seat).awaited {
            Some(token) => self.transmit(connection, token, now),
            None => {
                lane.offer(seat, now);
                Ok(())
            }
        }
    }

    /// The seat's connection is gone. One that served and was closed in order is replaced at once.
    /// After one that served nothing the next attempt waits longer, since a target must not be asked
    /// in a loop, and leads to another endpoint.
    ///
    /// An attempt that failed takes the request along for which it was made. Any other request
    /// waits as long as there is a seat that may serve it.
    pub(super) fn lose(
        &mut self,
        index: usize,
        seat: Seat,
        lost: Lost,
        now: Instant,
    ) -> Result<(), Fault> {
        let lane = &mut self.lanes[index];
        lane.idle.leave(seat);
        let place = &mut lane.seats[seat.0 as usize];
        match place.state {
            State::Connecting { .. } | State::Securing { .. } => {
                self.connections.connecting -= 1;
                self.connections.failures.count(lost);
                let failure = unopened(place.state, lost);
                place.pause = longer(place.pause);
                let (awaited, reopen) = (place.awaited.take(), now + place.pause);
                lane.set(seat, State::Lost);
                lane.turn_elsewhere(seat);
                self.connections.lose(index, seat, reopen);
                lane.driver.closed(seat, lost, &mut self.reports)?;
                lane.failure = failure.or(lane.failure);
                match (awaited, failure) {
                    (Some(token), None) => self.not_connected(token, Outcome::Timeout, "", now),
                    (Some(token), Some(failure)) => {
                        self.not_connected(token, Outcome::Connect, failure.reason(), now)
                    }
                    (None, Some(failure)) => {
                        lane.failed += 1;
                        self.refuse(index, failure.reason(), now)
                    }
                    (None, None) => unreachable!("no request is late before its start"),
                }
            }
            State::Open { .. } => {
                self.observer.disconnected(lane.of, now);
                lane.driver.closed(seat, lost, &mut self.reports)?;
                let place = &mut lane.seats[seat.0 as usize];
                let answered = self.reports.done.iter().any(|done| done.outcome.is_answer());
                let served = place.outstanding < place.carried as usize || answered;
                place.pause = match lost {
                    Lost::By(Closed::ByPeer) if served => Nanos::ZERO,
                    Lost::By(_) | Lost::For(..) if !served => longer(place.pause),
                    _ => FIRST_PAUSE,
                };
                let pause = place.pause;
                if self.limits.keep_alive.is_some() && pause == Nanos::ZERO {
                    lane.set(seat, State::Vacant);
                    self.settle(now)?;
                    self.lanes[index].offer(seat, now);
                    return Ok(());
                }
                lane.set(seat, State::Lost);
                if let Lost::For(Outcome::Connect, _) = lost {
                    self.connections.failures.count(lost);
                }
                if let (false, Some(failure)) = (served, unopened(State::Lost, lost)) {
                    lane.failure = Some(failure);
                    lane.turn_elsewhere(seat);
                }
                self.connections.lose(index, seat, now + pause);
                self.settle(now)
            }
            State::Lost | State::Vacant => {
                unreachable!("a lost connection is not lost again")
            }
        }
    }

    /// Fails as many waiting requests as attempts to connect have failed, the oldest first, if
    /// nothing can serve them.
    fn refuse(&mut self, index: usize, why: &'static str, now: Instant) -> Result<(), Fault> {
        let lane = &mut self.lanes[index];
        if lane.is_usable() {
            return Ok(());
        }
        for _ in 0..std::mem::take(&mut lane.failed) {
            let lane = &mut self.lanes[index];
            let Some(waiting) = lane.backlog.pop_front() else { return Ok(()) };
            let completion = never_sent(lane.of, waiting, now, Outcome::Connect, why);
            self.observer.completed(&completion);
            self.think(index, now)?;
        }
        Ok(())
    }

    /// The request for which a connection was to be opened has failed with it.
    fn not_connected(
        &mut self,
        token: Token,
        outcome: Outcome,
        why: &'static str,
        now: Instant,
    ) -> Result<(), Fault> {
        let request = self.outstanding.remove(token);
        let of = self.lanes[request.lane as usize].of;
        let done = unanswered(token, outcome, why);
        self.observer.completed(&completion(of, &request, done, now));
        self.think(request.lane as usize, now)
    }

    /// Closes a connection that has served as many requests as it may.
    pub(super) fn retire(
        &mut self,
        connection: ConnectionId,
        index: usize,
        seat: Seat,
        now: Instant,
    ) -> Result<(), Fault> {
        self.lanes[index].driver.leaves(seat, &mut self.reports.wire);
        self.reply(connection);
        self.io.close(connection);
        let lane = &mut self.lanes[index];
        lane.driver.closed(seat, Lost::By(Closed::ByPeer), &mut self.reports)?;
        lane.set(seat, State::Vacant);
        // It has room from now on, however long it stood in the queue.
        lane.idle.leave(seat);
        lane.offer(seat, now);
        Ok(())
    }

    /// A connection that serves one request is opened for it: none is open when the load begins.
    pub(super) fn vacate_limited(&mut self, now: Instant) -> Result<(), Fault> {
        if self.limits.keep_alive != Some(1) {
            return Ok(());
        }
        for index in 0..self.lanes.len() {
            for seat in 0..self.lanes[index].seats.len() as u32 {
                if let State::Open { connection } = self.lanes[index].place(Seat(seat)).state {
                    self.retire(connection, index, Seat(seat), now)?;
                }
            }
        }
        Ok(())
    }

    /// Gives up attempts to connect that take too long.
    pub(super) fn expire_attempts(&mut self, now: Instant) -> Result<(), Fault> {
        while let Some(&attempt) = self.connections.attempts.front() {
            let (index, seat) = self.connections.owner(attempt.connection);
            let Attempt { connection, since } = attempt;
            let goes_on =
                self.lanes[index].place(seat).state.attempt() == Some((connection, since));
            if goes_on && now < since + self.limits.connect_timeout {
                return Ok(());
            }
            self.connections.attempts.pop_front();
            if goes_on {
                self.io.close(connection);
                self.lose(index, seat, Lost::By(Closed::Unreachable), now)?;
            }
        }
        Ok(())
    }

    pub(super) fn next_attempt_expiry(&self) -> Option<Instant> {
        let attempt = self.connections.attempts.front()?;
        Some(attempt.since + self.limits.connect_timeout)
    }
}

fn longer(pause: Nanos) -> Nanos {
    (pause * 2).max(FIRST_PAUSE).min(LONGEST_PAUSE)
}

/// Why an attempt has failed, unless it was only too long for a request.
fn unopened(state: State, lost: Lost) -> Option<Unopened> {
    match (state, lost) {
        (_, Lost::TooLate(_)) => None,
        (_, Lost::For(_, why)) => Some(Unopened::Unsecured(why)),
        (State::Securing { .. }, Lost::By(Closed::Unreachable)) => Some(Unopened::Unsecured(LATE)),
        (State::Securing { .. }, Lost::By(_)) => {
            Some(Unopened::Unsecured("closed during the TLS handshake: does it speak TLS?"))
        }
        (_, Lost::By(how)) => Some(Unopened::By(how)),
    }
}

impl Unopened {
    fn reason(self) -> &'static str {
        match self {
            Unopened::By(Closed::Refused) => "connection refused",
            Unopened::By(Closed::Unreachable) => "no route, or no answer in time",
            Unopened::By(Closed::Exhausted) => "no free local port or open file here",
            Unopened::By(Closed::ByPeer | Closed::Reset | Closed::WhileWriting) => "closed at once",
            Unopened::Unsecured(why) => why,
        }
    }
}

//! The sessions of a pool: users whose next request follows from a response.
//!
//! The first request of a session is intended when the session arrives, every other one at the
//! response to the request before it plus the think time that the driver names. If the arrivals are
//! requests, a session that has thought waits for the next arrival instead.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use ::measure::Instant;
use net::Io;

use super::pool::Pool;
use super::{Shard, Waiting, never_sent};
use crate::driver::{Arrivals, Driver, Fault, Label, Outcome, Session};
use crate::observe::{Completion, Observer, Of, SessionEnd};

/// The maximum number of sessions that are in progress in a pool of an open loop: each has a memory of
/// its own, and a target that never answers must not exhaust ours. Further ones are dropped.
const MOST_SESSIONS: usize = 1 << 17;
const TOO_MANY: &str = "131072 sessions in progress already";

#[derive(Debug)]
pub(super) struct Sessions {
    arrivals: Arrivals,
    /// The sessions by their index, and the indices that are not in use.
    entries: Vec<Option<Begun>>,
    free: Vec<Session>,
    /// The sessions in think time, with the times of their next requests.
    resting: BinaryHeap<Reverse<(Instant, Session)>>,
    /// The sessions that wait for an arrival, if arrivals are requests; the one that is ready for the
    /// longest time first.
    ready: VecDeque<Session>,
}

/// A session in progress.
#[derive(Clone, Copy, Debug)]
struct Begun {
    intended: Instant,
    /// The number of its arrival, which all its requests have.
    number: u64,
    requests: u32,
}

impl Sessions {
    pub(super) fn new(arrivals: Arrivals) -> Sessions {
        Sessions {
            arrivals,
            entries: Vec::new(),
            free: Vec::new(),
            resting: BinaryHeap::new(),
            ready: VecDeque::new(),
        }
    }

    fn count(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    fn begin(&mut self, intended: Instant, number: u64) -> Session {
        let begun = Some(Begun { intended, number, requests: 0 });
        match self.free.pop() {
            Some(session) => {
                self.entries[session.0 as usize] = begun;
                session
            }
            None => {
                self.entries.push(begun);
                Session(self.entries.len() as u32 - 1)
            }
        }
    }

    fn get(&mut self, session: Session) -> &mut Begun {
        self.entries[session.0 as usize].as_mut().expect("a session ends once")
    }

    fn end(&mut self, session: Session) -> Begun {
        let ended = self.entries[session.0 as usize].take().expect("a session ends once");
        self.free.push(session);
        ended
    }

    /// Returns the session whose think time ends first, if it is over at `now`.
    fn next_rested(&mut self, now: Instant, end: Instant) -> Option<(Instant, Session)> {
        let &Reverse((at, session)) = self.resting.peek()?;
        (at <= now && at < end).then(|| {
            self.resting.pop();
            (at, session)
        })
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        self.resting.peek().map(|&Reverse((at, _))| at)
    }
}

impl<I: Io, D: Driver, O: Observer> Shard<'_, I, D, O> {
    /// True if the requests of a pool belong to sessions.
    #[inline]
    pub(super) fn has_sessions(&self) -> bool {
        self.pools.iter().any(|pool| pool.sessions.is_some())
    }

    /// Admits an arrival of a pool with sessions.
    pub(super) fn arrive(&mut self, index: usize, waiting: Waiting, now: Instant) {
        let is_open = self.think.is_none();
        let pool = &mut self.pools[index];
        let Some(sessions) = &mut pool.sessions else { return self.enqueue(index, waiting, now) };
        if is_open
            && sessions.arrivals == Arrivals::Requests
            && let Some(session) = sessions.ready.pop_front()
        {
            return self.enqueue(index, Waiting { session, ..waiting }, now);
        }
        let (of, intended, number) = (pool.of, waiting.intended, waiting.number);
        self.observer.session_begun(of, intended);
        if is_open && MOST_SESSIONS <= sessions.count() {
            self.observer.intended(of, intended);
            self.has_dropped = true;
            let completion = never_sent(of, waiting, now, Outcome::Dropped, TOO_MANY);
            self.observer.completed(&completion);
            let begun = Begun { intended, number, requests: 1 };
            return self.observer.session_ended(&end_of(of, begun, &completion));
        }
        let session = sessions.begin(intended, number);
        self.enqueue(index, Waiting { session, ..waiting }, now);
    }

    /// Admits the next requests of the sessions whose think time is over at `now`. If arrivals are
    /// requests, these sessions wait for one.
    pub(super) fn resume(&mut self, now: Instant, end: Instant) {
        let is_open = self.think.is_none();
        for index in 0..self.pools.len() {
            while let Some(sessions) = &mut self.pools[index].sessions
                && let Some((intended, session)) = sessions.next_rested(now, end)
            {
                if is_open && sessions.arrivals == Arrivals::Requests {
                    sessions.ready.push_back(session);
                    continue;
                }
                let number = sessions.get(session).number;
                let waiting = Waiting { intended, number, label: Label::NONE, session };
                self.enqueue(index, waiting, now);
            }
        }
    }

    /// Handles the end of a request: continues or ends its session. In a closed loop, a user whose
    /// session has ended, or whose request belongs to none, starts its think time.
    pub(super) fn go_on_after(
        &mut self,
        index: usize,
        session: Session,
        completion: &Completion,
        now: Instant,
    ) -> Result<(), Fault> {
        match session != Session::NONE && self.follow(index, session, completion, now) {
            true => Ok(()),
            false => self.think(index, now),
        }
    }

    /// Continues or ends a session after a request; true if it goes on.
    pub(super) fn follow(
        &mut self,
        index: usize,
        session: Session,
        completion: &Completion,
        now: Instant,
    ) -> bool {
        let Pool { of, driver, sessions, .. } = &mut self.pools[index];
        let sessions = sessions.as_mut().expect("only a pool with sessions has requests of one");
        sessions.get(session).requests += 1;
        match driver.follow(session, completion.outcome) {
            Some(think) => {
                sessions.resting.push(Reverse((now + think, session)));
                true
            }
            None => {
                let begun = sessions.end(session);
                self.observer.session_ended(&end_of(*of, begun, completion));
                false
            }
        }
    }

    /// Ends the sessions that are between two requests when the load ends.
    pub(super) fn cut_sessions(&mut self, now: Instant) {
        for Pool { of, driver, sessions, .. } in &mut self.pools {
            let Some(sessions) = sessions else { continue };
            for (index, entry) in (0..).zip(&mut sessions.entries) {
                let Some(begun) = entry.take() else { continue };
                driver.follow(Session(index), Outcome::Unfinished);
                let waiting = Waiting {
                    intended: now,
                    number: begun.number,
                    label: Label::NONE,
                    session: Session(index),
                };
                let completion = never_sent(*of, waiting, now, Outcome::Unfinished, "");
                self.observer.session_ended(&end_of(*of, begun, &completion));
            }
        }
    }

    /// True if a session in think time will go on without an arrival.
    pub(super) fn is_resting(&self) -> bool {
        let is_open = self.think.is_none();
        let mut sessions = self.pools.iter().filter_map(|pool| pool.sessions.as_ref());
        sessions.any(|sessions| {
            let waits = is_open && sessions.arrivals == Arrivals::Requests;
            !waits && !sessions.resting.is_empty()
        })
    }

    /// Returns when the first think time of a session ends.
    pub(super) fn next_rested(&self) -> Option<Instant> {
        let sessions = self.pools.iter().filter_map(|pool| pool.sessions.as_ref());
        sessions.filter_map(|sessions| sessions.next_at()).min()
    }
}

fn end_of(of: Of, begun: Begun, last: &Completion) -> SessionEnd {
    let Begun { intended, requests, .. } = begun;
    let &Completion { label, done, outcome, status, why, .. } = last;
    SessionEnd { of, intended, requests, done, label, outcome, status, why }
}

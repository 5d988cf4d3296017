//! The arrivals that are due, on their way into the backlogs of their pools.

use ::measure::Instant;
use net::Io;

use super::{Shard, Waiting, never_sent};
use crate::driver::{Driver, Outcome, Session};
use crate::observe::Observer;
use crate::pacing::Arrival;
use crate::source::Source;

/// The maximum number of arrivals that one iteration admits, so that it ends whatever the rate is.
pub(super) const MOST_ADMITTED: usize = 1 << 16;

impl<I: Io, D: Driver, O: Observer> Shard<'_, I, D, O> {
    /// Moves the requests that are due into their pools' backlogs, with their intended times. Nothing
    /// is skipped or rescheduled. Returns true if there are more than one iteration admits.
    pub(super) fn admit(&mut self, now: Instant, source: &mut Source, end: Instant) -> bool {
        let has_sessions = self.has_sessions();
        match source {
            Source::Open(streams) => {
                for _ in 0..MOST_ADMITTED {
                    let Some(arrival) = streams.next_due(now, end) else {
                        if has_sessions {
                            self.resume(now, end);
                        }
                        return false;
                    };
                    let Arrival { intended, pool, number, label, .. } = arrival;
                    let pool = streams.place(pool);
                    if has_sessions {
                        // In the order of their times.
                        self.resume(intended, end);
                    }
                    if !self.pools[pool].has_stopped() {
                        let session = Session::NONE;
                        self.arrive(pool, Waiting { intended, number, label, session }, now);
                    }
                }
                true
            }
            Source::Closed { .. } => {
                if has_sessions {
                    self.resume(now, end);
                }
                for pool in 0..self.pools.len() {
                    while let Some(waiting) = self.pools[pool].next_user(now, end) {
                        self.arrive(pool, waiting, now);
                    }
                }
                false
            }
        }
    }

    pub(super) fn enqueue(&mut self, index: usize, waiting: Waiting, now: Instant) {
        let pool = &mut self.pools[index];
        self.observer.intended(pool.of, waiting.intended);
        // In a closed loop the number of users is the limit.
        if self.think.is_some() || pool.backlog() < self.limits.backlog {
            pool.enqueue(waiting);
        } else {
            self.has_dropped = true;
            let completion = never_sent(pool.of, waiting, now, Outcome::Dropped, "");
            self.observer.completed(&completion);
            if waiting.session != Session::NONE {
                self.follow(index, waiting.session, &completion, now);
            }
        }
    }
}

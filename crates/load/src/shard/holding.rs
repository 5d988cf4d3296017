//! The requests, and other bytes, that a driver holds to send them with others. The time that the
//! driver asks for is counted apart; anything beyond it is lateness.

use ::measure::Instant;
use net::Io;

use super::pool::Pool;
use super::{Shard, note_sent};
use crate::driver::{Driver, Slot, Token};
use crate::observe::Observer;
use crate::outstanding::{Outstanding, Request};
use crate::source::Source;

impl<I: Io, D: Driver, O: Observer> Shard<'_, I, D, O> {
    /// Sends what the drivers hold, as far as it is due. To wait for others is of no use where none can come any
    /// more: after the end, after the last arrival, and in a closed loop of which all requests are held.
    pub(super) fn flush(&mut self, source: &mut Source, is_over: bool) {
        for index in 0..self.pools.len() {
            if self.pools[index].holding.is_empty() {
                continue;
            }
            let now = self.io.now();
            let pool = &mut self.pools[index];
            let is_last = match source {
                Source::Open(streams) => streams.is_exhausted(),
                Source::Closed { .. } => pool.is_exhausted() || pool.is_all_held(),
            };
            // The requests of sessions follow from answers, whatever arrives.
            if pool.sessions.is_none() && (is_over || is_last) {
                pool.hurry(now);
            }
            while let Some(slot) = self.pools[index].next_to_flush(now) {
                if self.io.holds_back() {
                    self.note_departures();
                }
                let pool = &mut self.pools[index];
                let connection = pool.place(slot).state.connection();
                let connection = connection.expect("a slot holds nothing without a connection");
                pool.driver.flush(slot, &mut self.reports);
                let bytes = self.reports.wire.len();
                self.reply(connection);
                self.departed(index, slot, bytes, now);
                if self.io.holds_back() {
                    self.note_departures();
                }
                let pool = &mut self.pools[index];
                pool.release(slot);
                pool.offer_below(slot, now, self.limits.keep_alive);
            }
        }
    }

    /// Notes that requests which the driver held were sent, with this many bytes.
    pub(super) fn departed(&mut self, index: usize, slot: Slot, bytes: usize, now: Instant) {
        if self.reports.sent.is_empty() {
            return;
        }
        let (of, due) = (self.pools[index].of, self.pools[index].release(slot));
        let mut bytes = bytes;
        for token in self.reports.sent.drain(..) {
            let request = self.outstanding.sent_now(token);
            self.pools[index].held -= usize::from(std::mem::take(&mut request.is_held));
            if !request.keeps_sent {
                // What it waited beyond the time that the driver asked for is lateness.
                request.held = due.min(now).saturating_since(request.sent);
                request.sent = now;
                if self.io.holds_back() {
                    self.held_back.push(token);
                }
            }
            note_sent(&mut self.observer, of, request, now, std::mem::take(&mut bytes));
        }
    }

    /// Notes that the driver holds something that it wants to send later.
    pub(super) fn keep(&mut self, index: usize, slot: Slot, now: Instant) {
        if let Some(longest) = self.reports.held.take() {
            self.pools[index].hold(slot, now, longest);
        }
    }
}

/// Takes a request off its connection.
#[inline]
pub(super) fn take_off<D>(
    outstanding: &mut Outstanding,
    pools: &mut [Pool<D>],
    token: Token,
) -> Request {
    let request = outstanding.remove(token);
    let pool = &mut pools[request.pool as usize];
    pool.slots[request.slot.0 as usize].outstanding -= 1;
    pool.held -= usize::from(request.is_held);
    request
}

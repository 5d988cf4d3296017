//! The seam between a shard and whoever records what it does.

use ::measure::{Instant, Nanos};

use crate::driver::{Handshake, Label, Outcome, Slot};

pub use self::figures::{
    ByLabel, Group, Interval, Labelled, Live, MOST_LABELS, Part, Reasons, Statuses,
};
pub use self::journeys::Journeys;
pub use self::recorder::{Recorded, Recorder};

mod figures;
mod intervals;
mod journeys;
mod recorder;

#[cfg(test)]
mod tests;

/// The pool and the target that a request belongs to. A pool is one workload's part of a target.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Of {
    /// Numbered over all shards.
    pub pool: u32,
    pub target: u32,
}

/// All that the shard knows about one request that has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Completion {
    pub of: Of,
    pub intended: Instant,
    /// The arrival's place in the sequence that all shards walk.
    pub number: u64,
    pub label: Label,
    /// Absent if it was never sent.
    pub start: Option<Start>,
    pub done: Instant,
    pub outcome: Outcome,
    pub status: u16,
    /// The number of answers: several for requests that were pipelined together.
    pub answers: u32,
    /// The number of answers with a status of failure.
    pub bad: u32,
    /// The length of their bodies.
    pub bytes: u64,
    /// The reason of a failure where the outcome does not give it all; else empty.
    pub why: &'static str,
}

/// A part of a request that has ended: see [`crate::driver::Step`]. When the request ends, the rest of
/// its operations is one, too.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct StepCompletion {
    pub of: Of,
    /// The intended start of the request.
    pub intended: Instant,
    pub label: Label,
    /// The end of the step before, or the time at which the request was sent.
    pub begun: Instant,
    pub done: Instant,
    pub outcome: Outcome,
    pub operations: u32,
}

/// A session that has ended, with its last request: see [`crate::driver::Session`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SessionEnd {
    pub of: Of,
    /// The intended start of its first request.
    pub intended: Instant,
    /// The number of its requests, sent or not.
    pub requests: u32,
    pub done: Instant,
    /// The label and the outcome of its last request: [`Outcome::Ok`] if the session is complete.
    /// [`Outcome::Unfinished`] without a label if the load ended between two requests.
    pub label: Label,
    pub outcome: Outcome,
    pub status: u16,
    pub why: &'static str,
}

/// The times at which a request was sent and its answer began.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Start {
    /// The time from which its connection had room for it.
    pub room: Instant,
    /// The time at which its first byte was passed to the kernel, or at which a connection began to be
    /// opened for it.
    pub sent: Instant,
    /// The part of the time before `sent` in which the driver held it, to send it with others.
    pub held: Nanos,
    /// The time at which the first byte of its answer arrived.
    pub first_byte: Option<Instant>,
    /// The connection that carried it, by its place in the pool.
    pub connection: Slot,
}

impl Completion {
    /// The time that a user of the system waits, from the intended time on.
    pub fn response_time(&self) -> Nanos {
        self.done - self.intended
    }
}

impl Start {
    /// The target's part of the delay before sending: the wait until a connection had room.
    pub fn backlog_delay(&self, intended: Instant) -> Nanos {
        self.room.saturating_since(intended)
    }

    /// The generator's part of the delay before sending: the request was due, its connection had room,
    /// and it did not wait for others to be sent with it.
    pub fn lateness(&self, intended: Instant) -> Nanos {
        (self.sent - self.room.max(intended)).saturating_sub(self.held)
    }
}

/// A receiver of a shard's events. An observer implements only those that it uses.
pub trait Observer {
    /// The load begins.
    fn begin(&mut self, _start: Instant, _window: Window) {}
    /// A request is due.
    fn intended(&mut self, _of: Of, _intended: Instant) {}
    fn sent(&mut self, _of: Of, _intended: Instant, _sent: Instant, _bytes: usize) {}
    /// A request is sent once more, because the target has not processed it.
    fn sent_again(&mut self, _of: Of, _sent: Instant, _bytes: usize) {}
    /// A request is sent once more, to the node that the target has named.
    fn redirected(&mut self, _of: Of, _intended: Instant, _now: Instant, _bytes: usize) {}
    fn received(&mut self, _of: Of, _now: Instant, _bytes: usize) {}
    /// A part of a request has ended. It counts beside the request, whose completion follows.
    fn step_completed(&mut self, _step: &StepCompletion) {}
    fn completed(&mut self, _completion: &Completion) {}
    /// A session has arrived.
    fn session_begun(&mut self, _of: Of, _intended: Instant) {}
    /// A session has ended: after the completion of its last request, if that was due.
    fn session_ended(&mut self, _end: &SessionEnd) {}
    /// A request has taken longer than its timeout; its answer is still awaited.
    fn overdue(&mut self, _of: Of, _intended: Instant) {}
    fn connected(&mut self, _of: Of, _now: Instant, _took: Nanos) {}
    /// A connection is secured; `took` is the time since the network connected it.
    fn secured(&mut self, _of: Of, _took: Nanos, _handshake: Handshake) {}
    /// The protocol's own handshake has ended; `took` is the time since the connection was established
    /// or secured.
    fn greeted(&mut self, _of: Of, _took: Nanos) {}
    fn disconnected(&mut self, _of: Of, _now: Instant) {}
    /// A turn of the loop has ended.
    fn turn(&mut self, _now: Instant, _turn: Turn) {}
    /// No further request is due: the load ends earlier than planned, with its drain.
    fn cut(&mut self, _now: Instant) {}
    /// A connection was closed in order after the load; `took` is the time of the call.
    fn closed(&mut self, _of: Of, _now: Instant, _took: Nanos) {}
    /// The load has ended.
    fn end(&mut self, _now: Instant) {}
}

impl Observer for () {}

/// An observer that may be absent.
impl<A: Observer> Observer for Option<A> {
    fn begin(&mut self, start: Instant, window: Window) {
        self.iter_mut().for_each(|a| a.begin(start, window));
    }

    fn cut(&mut self, now: Instant) {
        self.iter_mut().for_each(|a| a.cut(now));
    }

    fn end(&mut self, now: Instant) {
        self.iter_mut().for_each(|a| a.end(now));
    }

    fn intended(&mut self, of: Of, intended: Instant) {
        self.iter_mut().for_each(|a| a.intended(of, intended));
    }

    fn sent(&mut self, of: Of, intended: Instant, sent: Instant, bytes: usize) {
        self.iter_mut().for_each(|a| a.sent(of, intended, sent, bytes));
    }

    fn sent_again(&mut self, of: Of, sent: Instant, bytes: usize) {
        self.iter_mut().for_each(|a| a.sent_again(of, sent, bytes));
    }

    fn redirected(&mut self, of: Of, intended: Instant, now: Instant, bytes: usize) {
        self.iter_mut().for_each(|a| a.redirected(of, intended, now, bytes));
    }

    fn received(&mut self, of: Of, now: Instant, bytes: usize) {
        self.iter_mut().for_each(|a| a.received(of, now, bytes));
    }

    fn step_completed(&mut self, step: &StepCompletion) {
        self.iter_mut().for_each(|a| a.step_completed(step));
    }

    fn completed(&mut self, completion: &Completion) {
        self.iter_mut().for_each(|a| a.completed(completion));
    }

    fn session_begun(&mut self, of: Of, intended: Instant) {
        self.iter_mut().for_each(|a| a.session_begun(of, intended));
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        self.iter_mut().for_each(|a| a.session_ended(end));
    }

    fn overdue(&mut self, of: Of, intended: Instant) {
        self.iter_mut().for_each(|a| a.overdue(of, intended));
    }

    fn connected(&mut self, of: Of, now: Instant, took: Nanos) {
        self.iter_mut().for_each(|a| a.connected(of, now, took));
    }

    fn secured(&mut self, of: Of, took: Nanos, handshake: Handshake) {
        self.iter_mut().for_each(|a| a.secured(of, took, handshake));
    }

    fn greeted(&mut self, of: Of, took: Nanos) {
        self.iter_mut().for_each(|a| a.greeted(of, took));
    }

    fn closed(&mut self, of: Of, now: Instant, took: Nanos) {
        self.iter_mut().for_each(|a| a.closed(of, now, took));
    }

    fn disconnected(&mut self, of: Of, now: Instant) {
        self.iter_mut().for_each(|a| a.disconnected(of, now));
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        self.iter_mut().for_each(|a| a.turn(now, turn));
    }
}

/// Two observers that both receive every event.
impl<A: Observer, B: Observer> Observer for (A, B) {
    fn begin(&mut self, start: Instant, window: Window) {
        self.0.begin(start, window);
        self.1.begin(start, window);
    }

    fn cut(&mut self, now: Instant) {
        self.0.cut(now);
        self.1.cut(now);
    }

    fn end(&mut self, now: Instant) {
        self.0.end(now);
        self.1.end(now);
    }

    fn intended(&mut self, of: Of, intended: Instant) {
        self.0.intended(of, intended);
        self.1.intended(of, intended);
    }

    fn sent(&mut self, of: Of, intended: Instant, sent: Instant, bytes: usize) {
        self.0.sent(of, intended, sent, bytes);
        self.1.sent(of, intended, sent, bytes);
    }

    fn sent_again(&mut self, of: Of, sent: Instant, bytes: usize) {
        self.0.sent_again(of, sent, bytes);
        self.1.sent_again(of, sent, bytes);
    }

    fn redirected(&mut self, of: Of, intended: Instant, now: Instant, bytes: usize) {
        self.0.redirected(of, intended, now, bytes);
        self.1.redirected(of, intended, now, bytes);
    }

    fn received(&mut self, of: Of, now: Instant, bytes: usize) {
        self.0.received(of, now, bytes);
        self.1.received(of, now, bytes);
    }

    fn step_completed(&mut self, step: &StepCompletion) {
        self.0.step_completed(step);
        self.1.step_completed(step);
    }

    fn completed(&mut self, completion: &Completion) {
        self.0.completed(completion);
        self.1.completed(completion);
    }

    fn session_begun(&mut self, of: Of, intended: Instant) {
        self.0.session_begun(of, intended);
        self.1.session_begun(of, intended);
    }

    fn session_ended(&mut self, end: &SessionEnd) {
        self.0.session_ended(end);
        self.1.session_ended(end);
    }

    fn overdue(&mut self, of: Of, intended: Instant) {
        self.0.overdue(of, intended);
        self.1.overdue(of, intended);
    }

    fn connected(&mut self, of: Of, now: Instant, took: Nanos) {
        self.0.connected(of, now, took);
        self.1.connected(of, now, took);
    }

    fn secured(&mut self, of: Of, took: Nanos, handshake: Handshake) {
        self.0.secured(of, took, handshake);
        self.1.secured(of, took, handshake);
    }

    fn greeted(&mut self, of: Of, took: Nanos) {
        self.0.greeted(of, took);
        self.1.greeted(of, took);
    }

    fn closed(&mut self, of: Of, now: Instant, took: Nanos) {
        self.0.closed(of, now, took);
        self.1.closed(of, now, took);
    }

    fn disconnected(&mut self, of: Of, now: Instant) {
        self.0.disconnected(of, now);
        self.1.disconnected(of, now);
    }

    fn turn(&mut self, now: Instant, turn: Turn) {
        self.0.turn(now, turn);
        self.1.turn(now, turn);
    }
}

/// One turn of a shard's loop: its outstanding and waiting requests, and how it spent its time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Turn {
    /// Once it has sent what was due, before it waits for responses.
    pub outstanding: usize,
    pub backlog: usize,
    /// The connections that could not be opened, and wait before they are tried again.
    pub unconnected: usize,
    pub waited: Nanos,
    pub worked: Nanos,
    /// The part of `worked` that was spent in scripts.
    pub scripted: Nanos,
}

/// The time in which requests count: those with an intended time in [start, end).
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Window {
    pub start: Instant,
    pub end: Instant,
}

impl Window {
    pub fn contains(&self, at: Instant) -> bool {
        self.start <= at && at < self.end
    }

    pub fn length(&self) -> Nanos {
        self.end - self.start
    }
}

//! One script thread as the engine uses it: it returns the next request and receives answers.
//!
//! A script without a function `request` has a fixed request when the load begins, and is not
//! called for it again. If the requests of a script do not depend on what happens during the load,
//! they are made ahead of time, while no request is due.

use std::sync::Arc;

use load::Fault;
use load::driver::Outcome;
use load::driver::http1::{Expected, HttpWorkload, Origin, Outgoing, Response, Wanted, outcome_of};
use measure::Nanos;
use net::Address;
use wire::http1::{After, Expect, fields};

use crate::ahead::{Ahead, Prepared};
use crate::batch;
use crate::bound::Watch;
use crate::collector::Collector;
use crate::machine::{Callbacks, Machine};
use crate::stage::Compatibility;
use crate::thread::Thread;

#[cfg(test)]
mod tests;

/// A script instance with its own globals. It may move from thread to thread.
#[derive(Debug)]
pub struct Script {
    machine: Machine,
    thread: Arc<Thread>,
    requests: Requests,
    /// Callbacks that make requests depend on what has happened when they are due.
    hindering: Callbacks,
    is_delaying: bool,
    ahead: Ahead,
    collector: Collector,
    /// The number of outstanding answers that have a context.
    held: usize,
}

#[derive(Debug)]
enum Requests {
    /// The script has no `request`: its only request was made while it was loaded.
    Fixed { wire: Vec<u8>, expected: Vec<Expected> },
    /// Lua makes each request.
    Made,
}

impl Script {
    pub(crate) fn of(
        machine: Machine,
        thread: Arc<Thread>,
        compatibility: Compatibility,
        only_request: Option<Vec<u8>>,
    ) -> Result<Script, Fault> {
        let requests = match only_request {
            None => Requests::Made,
            Some(wire) => {
                let mut expected = Vec::new();
                batch::inspect(&wire, |body, after| expected.push(expecting(body, 0, after)))
                    .map_err(|wrong| machine.tell("", &format!("the request {wrong}")))?;
                Requests::Fixed { wire, expected }
            }
        };
        let is_delaying = compatibility == Compatibility::Wrk;
        let hindering = [Callbacks::RESPONSE, Callbacks::FAILED, Callbacks::CONNECTION]
            .into_iter()
            .fold(if is_delaying { Callbacks::DELAY } else { Callbacks::NONE }, Callbacks::and);
        Ok(Script {
            machine,
            thread,
            requests,
            hindering,
            is_delaying,
            ahead: Ahead::default(),
            collector: Collector::default(),
            held: 0,
        })
    }

    /// The address of this thread's connections: the first one that accepted a connection, or the
    /// one that the script chose.
    pub fn address(&self) -> Option<Address> {
        self.thread.address()
    }

    /// The address that the script chose; `None` if it chose none.
    pub fn chosen_address(&self) -> Option<Address> {
        self.thread.chosen_address()
    }

    /// Makes one request, which is not sent, and returns the number of requests in it.
    pub(crate) fn count(&self) -> Result<usize, Fault> {
        if let Requests::Fixed { expected, .. } = &self.requests {
            return Ok(expected.len());
        }
        let _bound = self.machine.bound("request")?;
        let mut made = Prepared::default();
        let tag = self.make(Some(1), &mut made.wire, &mut made.expected)?;
        for _ in made.expected.iter().filter(|_| tag != 0) {
            self.machine.forget(tag)?;
        }
        Ok(made.expected.len())
    }

    /// Begins the load.
    pub(crate) fn begin(&mut self) -> Result<(), Fault> {
        self.thread.begin();
        self.machine.begin()
    }

    pub(crate) fn show(&self, watch: &mut Watch) {
        self.machine.show(watch);
    }

    pub(crate) fn callbacks(&self) -> Callbacks {
        self.machine.callbacks()
    }

    /// Appends what `request` returns. Returns the tag of its context, or 0.
    fn make(
        &self,
        connection: Option<u32>,
        wire: &mut Vec<u8>,
        expected: &mut Vec<Expected>,
    ) -> Result<u32, Fault> {
        let (begin, before) = (wire.len(), expected.len());
        let tag = self.machine.next(connection, wire)?;
        let found = |body, after| expected.push(expecting(body, tag, after));
        if let Err(wrong) = batch::inspect(&wire[begin..], found) {
            wire.truncate(begin);
            expected.truncate(before);
            let what = format!("what `request` returned {wrong}");
            return Err(self.machine.tell("request", &what));
        }
        let answers = expected.len() - before;
        if tag != 0 && 1 < answers {
            self.machine.share(tag, answers)?;
        }
        Ok(tag)
    }

    fn can_look_ahead(&self) -> bool {
        matches!(self.requests, Requests::Made)
            && !self.callbacks().has(self.hindering)
            && !self.machine.mentions_connection()
            && !self.thread.has_stopped()
    }

    /// Counts down the contexts when the one with this tag was delivered.
    fn release(&mut self, tag: u32) {
        self.held -= usize::from(tag != 0);
    }
}

fn expecting(body: Expect, tag: u32, after: After) -> Expected {
    Expected { body, tag, closes: after == After::Close }
}

impl HttpWorkload for Script {
    fn next(&mut self, of: Origin, outgoing: &mut Outgoing<'_>) -> Result<(), Fault> {
        if let Requests::Fixed { wire, expected } = &self.requests {
            outgoing.wire.extend_from_slice(wire);
            outgoing.expected.extend_from_slice(expected);
            return Ok(());
        }
        let before = outgoing.expected.len();
        if !self.ahead.take(outgoing) {
            self.make(Some(of.connection + 1), outgoing.wire, outgoing.expected)?;
        }
        let new = &outgoing.expected[before..];
        self.held += new.iter().filter(|expected| expected.tag != 0).count();
        Ok(())
    }

    /// `request` returns another request each time.
    fn is_repeatable(&self) -> bool {
        false
    }

    fn wanted(&mut self, _connection: u32, _tag: u32) -> Wanted {
        if self.callbacks().has(Callbacks::RESPONSE) {
            Wanted::Body
        } else if 0 < self.held {
            Wanted::Head
        } else {
            Wanted::Nothing
        }
    }

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        let Response { status, head, body, connection, tag, .. } = *answer;
        if self.callbacks().has(Callbacks::RESPONSE) {
            self.machine.answer(status, fields(head), body, connection + 1, tag)?;
        } else if tag != 0 {
            self.machine.forget(tag)?;
        }
        self.release(tag);
        Ok((outcome_of(status), ""))
    }

    fn failed(&mut self, outcome: Outcome, tag: u32) -> Result<(), Fault> {
        if self.callbacks().has(Callbacks::FAILED) {
            self.machine.fail(outcome.name(), tag)?;
        } else if tag != 0 {
            self.machine.forget(tag)?;
        }
        self.release(tag);
        Ok(())
    }

    fn delay(&mut self) -> Result<Nanos, Fault> {
        if !self.is_delaying || !self.callbacks().has(Callbacks::DELAY) {
            return Ok(Nanos::ZERO);
        }
        // An invalid delay counts as zero. A longer one than this is cut, so that the run can end.
        const MOST_MS: u64 = 1_000_000_000;
        Ok(Nanos::from_millis((self.machine.delay()? as u64).min(MOST_MS)))
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        if !self.is_scripted() {
            return Ok(false);
        }
        if self.ahead.is_full() || !self.can_look_ahead() {
            return self.collector.step(&self.machine);
        }
        let mut request = self.ahead.blank();
        self.make(None, &mut request.wire, &mut request.expected)?;
        self.ahead.push(request);
        Ok(true)
    }

    fn is_scripted(&self) -> bool {
        matches!(self.requests, Requests::Made) || self.callbacks() != Callbacks::NONE
    }

    /// Requests that were made before the script stopped are still sent.
    fn has_stopped(&self) -> bool {
        self.thread.has_stopped() && self.ahead.is_empty()
    }
}

//! The key-value store, of which each operation is a request: those that are outstanding together share
//! batches, and each goes to the server that has its key.
//!
//! A batch leaves once it is full, once no further operation can join it, or after the linger. An
//! operation may be followed by another one of the same request, as in a read-modify-write.

use std::collections::VecDeque;

use ::measure::Nanos;
use wire::kv::{
    Answer, Body, Checksums, Decoder, Greeted, Item, Kind, MOST_PIPELINE, Opening as Frame, Status,
    Token as Secret, encode_hello, encode_item,
};

use super::{WANTS_TOKEN, done, hello, refused};
use crate::driver::parts::{Steps, Verdict};
use crate::driver::{
    Asked, Driver, Fault, Label, Lost, Next, Node, Opening, Outcome, Redirect, Reports, Slot,
    Started, Token,
};

#[cfg(test)]
mod tests;

/// The bytes of a batch from which on it is full.
const FULL: usize = 32 << 10;

/// The source of operations, and the judge of their results.
pub trait Operations {
    /// The notes on a request, until it ends.
    type Request;

    /// Returns the next request, with its label.
    fn next(&mut self) -> Result<(Label, Self::Request), Fault>;

    /// The server that has the key of a request.
    fn node(&mut self, request: &Self::Request) -> Node;

    /// Writes the next operation of a request.
    fn write(&mut self, request: &Self::Request, batch: &mut Batch<'_>);

    /// Judges the result of an operation, which is not pending. May report steps.
    fn answered(
        &mut self,
        request: &mut Self::Request,
        answer: Answer<'_>,
        steps: &mut Steps<'_>,
    ) -> (Verdict, Then);

    /// Returns the pause after which a request that failed is sent again; `None` if it has ended.
    fn retries(&mut self, _request: &mut Self::Request, _outcome: Outcome) -> Option<Nanos> {
        None
    }

    /// Handles the end of a request, answered or not.
    fn ended(&mut self, _request: Self::Request, _outcome: Outcome) {}

    /// True if there is no further request.
    fn has_ended(&self) -> bool {
        false
    }

    /// True if the load must end, even if requests wait that were drawn before.
    fn must_stop(&self) -> bool {
        false
    }
}

/// The step of a request after a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Then {
    End,
    /// A further operation of the same request, on the same server.
    GoOn,
    /// A further operation of the same request, on another server.
    GoTo(Node),
}

/// The batch that is being made.
#[derive(Debug)]
pub struct Batch<'a> {
    bytes: &'a mut Vec<u8>,
    count: usize,
}

impl Batch<'_> {
    /// Appends an operation; a request has one at a time.
    pub fn push(&mut self, item: &Item<'_>) {
        self.count += 1;
        encode_item(item, self.bytes);
    }
}

/// The terms of the connections.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The most requests of a connection that are not answered.
    pub outstanding: usize,
    /// The users of a closed loop; `None` for as many as the connections have room for.
    pub users: Option<usize>,
    /// The longest time that an operation waits for others.
    pub linger: Nanos,
    /// The number of servers.
    pub servers: u16,
}

/// The driver.
#[derive(Debug)]
pub struct Shared<O: Operations> {
    operations: O,
    terms: Terms,
    secret: Option<Secret>,
    lines: Vec<Line<O::Request>>,
    /// The requests that wait for a connection to their server, in the order of their numbers.
    routed: Vec<VecDeque<Drawn<O::Request>>>,
    /// The requests that are sent again: those that were held when their connection broke, those that go on at
    /// another server, and those that have failed and may be repeated.
    returned: Vec<Drawn<O::Request>>,
    /// The reason why no request could be drawn, for the next start.
    fault: Option<Fault>,
}

/// A request that was drawn to find its server.
#[derive(Debug)]
struct Drawn<R> {
    number: u64,
    label: Label,
    request: R,
    node: Node,
}

/// One connection.
#[derive(Debug)]
struct Line<R> {
    node: Node,
    decoder: Decoder,
    is_ready: bool,
    view: u32,
    /// The operations of the next batch, encoded.
    batch: Vec<u8>,
    held: Vec<Flight<R>>,
    /// The requests whose operations were sent, in the order of their serials; `None` for one that has
    /// ended before those that were sent before it.
    sent: VecDeque<Option<Flight<R>>>,
    /// The serial of the first of these.
    first: u64,
    /// The first serial that no reply has covered.
    unanswered: u64,
    /// The numbers of operations of the batches without a reply.
    batches: VecDeque<usize>,
    /// The requests that are held or sent.
    outstanding: usize,
}

/// A request in progress.
#[derive(Debug)]
struct Flight<R> {
    token: Token,
    number: u64,
    label: Label,
    request: R,
    /// The length of its operation in the batch.
    bytes: usize,
    /// True if an operation of it was sent.
    is_sent: bool,
    has_begun: bool,
    verdict: Verdict,
}

impl<R> Line<R> {
    fn new(node: Node) -> Line<R> {
        Line {
            node,
            decoder: Decoder::default(),
            is_ready: false,
            view: 0,
            batch: Vec::with_capacity(2 * FULL),
            held: Vec::new(),
            sent: VecDeque::new(),
            first: 0,
            unanswered: 0,
            batches: VecDeque::with_capacity(MOST_PIPELINE.into()),
            outstanding: 0,
        }
    }

    /// Sends what is held, in batches that are not too long, until as many as allowed have no reply.
    /// Reports the requests whose first operation was sent, but not the one that is being started.
    fn send(&mut self, starting: Option<Token>, reports: &mut Reports) {
        let mut taken = 0;
        while !self.held.is_empty() && self.has_room_for_a_batch() {
            let mut end = taken;
            let mut fits = |flight: &Flight<R>| {
                end += flight.bytes;
                end - taken <= FULL
            };
            let count = self.held.iter().take_while(|flight| fits(flight)).count().max(1);
            let serial = self.first + self.sent.len() as u64;
            let wire = &mut reports.wire;
            let frame = Frame::begin(Kind::Request, self.view, serial, Checksums::On, wire);
            let bytes: usize = self.held[..count].iter().map(|flight| flight.bytes).sum();
            wire.extend_from_slice(&self.batch[taken..taken + bytes]);
            taken += bytes;
            frame.finish(count, wire);
            self.batches.push_back(count);
            for mut flight in self.held.drain(..count) {
                if !std::mem::replace(&mut flight.is_sent, true) && starting != Some(flight.token) {
                    reports.sent.push(flight.token);
                }
                self.sent.push_back(Some(flight));
            }
        }
        self.batch.drain(..taken);
    }

    fn has_room_for_a_batch(&self) -> bool {
        self.batches.len() < usize::from(MOST_PIPELINE)
    }
}

impl<O: Operations> Shared<O> {
    pub fn new(slots: usize, terms: Terms, operations: O) -> Shared<O> {
        let servers = usize::from(terms.servers);
        Shared {
            operations,
            terms,
            secret: None,
            lines: (0..slots).map(|slot| Line::new(Node((slot % servers) as u32))).collect(),
            routed: (0..terms.servers).map(|_| VecDeque::new()).collect(),
            returned: Vec::new(),
            fault: None,
        }
    }

    /// Proves the knowledge of this token to servers that want it.
    #[must_use]
    pub fn with_token(self, secret: Option<Secret>) -> Shared<O> {
        Shared { secret, ..self }
    }

    /// Returns a request that was drawn before, if there is one with this number.
    fn drawn(&mut self, number: u64) -> Option<Drawn<O::Request>> {
        if let Some(place) = self.returned.iter().position(|drawn| drawn.number == number) {
            return Some(self.returned.swap_remove(place));
        }
        let is_next = |queue: &&mut VecDeque<Drawn<O::Request>>| {
            queue.front().is_some_and(|drawn| drawn.number == number)
        };
        self.routed.iter_mut().find(is_next).and_then(VecDeque::pop_front)
    }

    /// True if a request that was drawn waits for a connection to a server.
    fn is_awaited(&self, node: Node) -> bool {
        !self.routed[node.0 as usize].is_empty()
            || self.returned.iter().any(|drawn| drawn.node == node)
    }

    fn draw(&mut self, number: u64) -> Result<Drawn<O::Request>, Fault> {
        let (label, request) = self.operations.next()?;
        let node = self.operations.node(&request);
        Ok(Drawn { number, label, request, node })
    }
}

impl<O: Operations> Driver for Shared<O> {
    fn room(&self, slot: Slot) -> usize {
        let Line { node, outstanding, .. } = &self.lines[slot.0 as usize];
        // A request is drawn before it has a connection: the last ones may still wait for theirs.
        let is_over = self.operations.has_ended() && !self.is_awaited(*node);
        match is_over || self.operations.must_stop() {
            true => 0,
            false => self.terms.outstanding.saturating_sub(*outstanding),
        }
    }

    fn opened(&mut self, slot: Slot, opening: Opening<'_>, reports: &mut Reports) -> Next {
        let position = (opening.node.0 as u16, self.terms.servers);
        encode_hello(&hello(MOST_PIPELINE, position), &mut reports.wire);
        self.lines[slot.0 as usize].node = opening.node;
        Next::Greeting(None)
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let Asked { token, number, .. } = asked;
        let Drawn { label, request, .. } = match self.drawn(number) {
            Some(drawn) => drawn,
            None => {
                let is_sole = self.routed.len() == 1;
                assert!(is_sole, "the requests of a server start in the order of their routing");
                self.draw(number)?
            }
        };
        let Shared { operations, terms, lines, .. } = self;
        let line = &mut lines[slot.0 as usize];
        let begun = line.batch.len();
        write(operations, &request, &mut line.batch);
        line.outstanding += 1;
        line.held.push(Flight {
            token,
            number,
            label,
            request,
            bytes: line.batch.len() - begun,
            is_sent: false,
            has_begun: false,
            verdict: Verdict::OK,
        });
        if terms.outstanding <= line.outstanding || FULL <= line.batch.len() {
            // No further one can join.
            line.send(Some(token), reports);
        }
        if !line.held.is_empty() {
            reports.held = Some(terms.linger);
        }
        Ok(label.into())
    }

    fn flush(&mut self, slot: Slot, reports: &mut Reports) {
        self.lines[slot.0 as usize].send(None, reports);
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let Shared { operations, lines, returned, secret, .. } = self;
        let line = &mut lines[slot.0 as usize];
        let mut next = if line.is_ready { Next::Continue } else { Next::Greeting(None) };
        // Frames borrow the decoder; what they are noted in is the rest of the line.
        let mut decoder = std::mem::take(&mut line.decoder);
        let mut rest = bytes;
        loop {
            let frame = match decoder.next(&mut rest) {
                Ok(Some(frame)) => frame,
                Ok(None) => break,
                Err(malformed) => {
                    next = Next::Fail(Outcome::Malformed, malformed.code.as_str());
                    break;
                }
            };
            let noted = match frame.body {
                Body::Welcome(welcome) if !line.is_ready => {
                    match welcome.answer(secret.as_ref(), &mut reports.wire) {
                        Greeted::Ready => {
                            (line.is_ready, line.view) = (true, frame.header.view);
                            line.first = welcome.executed + 1;
                            line.unanswered = line.first;
                            next = Next::Ready(None);
                        }
                        Greeted::Proving => {}
                        Greeted::WantsToken => {
                            next = Next::Fail(Outcome::Connect, WANTS_TOKEN);
                            break;
                        }
                    }
                    Ok(())
                }
                Body::Reply(answers) => {
                    let (serial, count) = (frame.header.serial, frame.header.count);
                    match line.batches.pop_front() {
                        Some(batch) if serial == line.unanswered && count == batch => {
                            line.unanswered += count as u64;
                            let answers = (serial..).zip(answers);
                            answers.into_iter().try_for_each(|(serial, answer)| {
                                line.note(operations, serial, answer, reports, returned)
                            })
                        }
                        _ => Err("a reply to another batch"),
                    }
                }
                Body::Completions(mut completions) => completions.try_for_each(|completion| {
                    line.note(operations, completion.serial, completion.answer, reports, returned)
                }),
                Body::Durable(_) => Ok(()),
                Body::Error(error) => {
                    next = refused(error.code);
                    break;
                }
                _ => Err("a frame that is not expected"),
            };
            if let Err(why) = noted {
                next = Next::Fail(Outcome::Malformed, why);
                break;
            }
        }
        line.decoder = decoder;
        if !line.held.is_empty() && !matches!(next, Next::Fail(..)) {
            // With the requests that start now.
            reports.held = Some(Nanos::ZERO);
        }
        Ok(next)
    }

    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let line = &mut self.lines[slot.0 as usize];
        let node = line.node;
        let Line { held, sent, .. } = std::mem::replace(line, Line::new(node));
        for flight in sent.into_iter().flatten().chain(held) {
            let Flight { token, number, label, mut request, is_sent, .. } = flight;
            if !is_sent {
                reports.again.push(token);
                self.returned.push(Drawn { number, label, request, node });
                continue;
            }
            let Verdict { outcome, why } = Verdict::lost(lost, token);
            if let Some(pause) = self.operations.retries(&mut request, outcome) {
                Steps::new(token, &mut reports.steps).ended(label, outcome);
                reports.later.push((token, pause));
                self.returned.push(Drawn { number, label, request, node });
                continue;
            }
            self.operations.ended(request, outcome);
            reports.done.push(done(token, outcome, why));
        }
        Ok(())
    }

    fn is_routed(&self) -> bool {
        true
    }

    fn route(&mut self, number: u64, _label: Label) -> Node {
        if let Some(drawn) = self.returned.iter().find(|drawn| drawn.number == number) {
            return drawn.node;
        }
        match self.draw(number) {
            Ok(drawn) => {
                let node = drawn.node;
                self.routed[node.0 as usize].push_back(drawn);
                node
            }
            Err(fault) => {
                // The load ends with the next start.
                self.fault = Some(fault);
                Node(0)
            }
        }
    }

    fn unsent(&mut self, number: u64, label: Label) -> Started {
        let drawn = self.drawn(number).map_or_else(|| self.draw(number), Ok);
        let Ok(Drawn { label, request, .. }) = drawn else { return label.into() };
        self.operations.ended(request, Outcome::Connect);
        label.into()
    }

    fn users(&self) -> Option<usize> {
        self.terms.users
    }

    /// The next batch may still be leaving when the reply to the one before arrives.
    fn outlives_early_responses(&self) -> bool {
        true
    }

    fn has_stopped(&self) -> bool {
        let is_drained = self.routed.iter().all(VecDeque::is_empty) && self.returned.is_empty();
        let is_over = self.operations.has_ended() && is_drained;
        (is_over || self.operations.must_stop())
            && self.lines.iter().all(|line| line.outstanding == 0)
    }
}

/// Appends the next operation of a request to a batch.
fn write<O: Operations>(operations: &mut O, request: &O::Request, bytes: &mut Vec<u8>) {
    let mut batch = Batch { bytes, count: 0 };
    operations.write(request, &mut batch);
    assert_eq!(batch.count, 1, "a request has one operation at a time");
}

impl<R> Line<R> {
    /// Notes the result of the operation with a serial.
    fn note<O: Operations<Request = R>>(
        &mut self,
        operations: &mut O,
        serial: u64,
        answer: Answer<'_>,
        reports: &mut Reports,
        returned: &mut Vec<Drawn<R>>,
    ) -> Result<(), &'static str> {
        let place = serial.checked_sub(self.first).filter(|_| serial < self.unanswered);
        let place = place.and_then(|place| self.sent.get_mut(place as usize));
        let sent = place.filter(|sent| sent.is_some()).ok_or("a result of no operation")?;
        if answer.status == Status::Pending {
            return Ok(());
        }
        let mut flight = sent.take().expect("it is there");
        if !std::mem::replace(&mut flight.has_begun, true) {
            reports.begun.push(flight.token);
        }
        while self.sent.front().is_some_and(Option::is_none) {
            self.sent.pop_front();
            self.first += 1;
        }
        let mut steps = Steps::new(flight.token, &mut reports.steps);
        let (verdict, then) = operations.answered(&mut flight.request, answer, &mut steps);
        flight.verdict = flight.verdict.or_else(verdict);
        if then == Then::GoOn {
            let begun = self.batch.len();
            write(operations, &flight.request, &mut self.batch);
            flight.bytes = self.batch.len() - begun;
            self.held.push(flight);
            return Ok(());
        }
        self.outstanding -= 1;
        let Flight { token, number, label, mut request, verdict, .. } = flight;
        let Verdict { outcome, why } = verdict;
        if let Then::GoTo(to) = then {
            reports.redirected.push(Redirect { token, to });
            returned.push(Drawn { number, label, request, node: to });
            return Ok(());
        }
        if let Some(pause) = operations.retries(&mut request, outcome) {
            Steps::new(token, &mut reports.steps).ended(label, outcome);
            reports.later.push((token, pause));
            returned.push(Drawn { number, label, request, node: self.node });
            return Ok(());
        }
        operations.ended(request, outcome);
        reports.done.push(done(token, outcome, why));
        Ok(())
    }
}

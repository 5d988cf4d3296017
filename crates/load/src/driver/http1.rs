//! HTTP/1.1: requests in order on each connection, one at a time or pipelined.

use std::collections::VecDeque;

use ::measure::Nanos;
use net::Closed;
use wire::http1::{After, Ended, Expect, ResponseDecoder, ResponseEvent};

use super::{Asked, Done, Driver, Fault, Label, Lost, Next, Outcome, Reports, Seat, Token};

#[cfg(test)]
mod tests;

/// Which request next, and what its answer means.
pub trait HttpWorkload {
    /// Appends the next request, or several that shall leave together.
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault>;

    /// Which parts of an answer have to be kept for [`HttpWorkload::answered`], asked as it begins.
    fn wanted(&self) -> Wanted {
        Wanted::Nothing
    }

    /// Takes in an answer, if any part of it is wanted, and says what became of the request.
    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        Ok(outcome_of(answer.status))
    }

    /// Learns that there will be no answer.
    fn failed(&mut self, _outcome: Outcome, _tag: u32) -> Result<(), Fault> {
        Ok(())
    }

    /// See [`Driver::delay`].
    fn delay(&mut self) -> Result<Nanos, Fault> {
        Ok(Nanos::ZERO)
    }

    /// See [`Driver::prepare`].
    fn prepare(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// See [`Driver::is_scripted`].
    fn is_scripted(&self) -> bool {
        false
    }

    /// See [`Driver::has_stopped`].
    fn has_stopped(&self) -> bool {
        false
    }
}

/// What a request is made for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Origin {
    /// See [`Asked::number`].
    pub number: u64,
    pub label: Label,
    /// The connection that it will be sent on, by its place in the lane.
    pub connection: u32,
}

/// A request on its way to the wire.
#[derive(Debug)]
pub struct Outgoing<'a> {
    pub wire: &'a mut Vec<u8>,
    /// One for each answer that is to come, in order.
    pub expected: &'a mut Vec<Expected>,
    pub label: Label,
}

/// An answer that is to come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Expected {
    pub body: Expect,
    /// Given back with the answer.
    pub tag: u32,
}

#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Wanted {
    /// The status says all.
    #[default]
    Nothing,
    Head,
    Body,
}

/// An answer as the workload wanted it.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    pub status: u16,
    /// The header block as it arrived; [`wire::http1::fields`] reads it.
    pub head: &'a [u8],
    /// Without its coding; empty unless it was wanted.
    pub body: &'a [u8],
    /// How many bytes the body has, wanted or not.
    pub body_length: u64,
    pub connection: u32,
    pub tag: u32,
}

/// What a status means to those who set no rule.
pub fn outcome_of(status: u16) -> Outcome {
    if status < 400 { Outcome::Ok } else { Outcome::Status }
}

impl<W: HttpWorkload + ?Sized> HttpWorkload for Box<W> {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        (**self).next(of, request)
    }

    fn wanted(&self) -> Wanted {
        (**self).wanted()
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Result<Outcome, Fault> {
        (**self).answered(answer)
    }

    fn failed(&mut self, outcome: Outcome, tag: u32) -> Result<(), Fault> {
        (**self).failed(outcome, tag)
    }

    fn delay(&mut self) -> Result<Nanos, Fault> {
        (**self).delay()
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        (**self).prepare()
    }

    fn is_scripted(&self) -> bool {
        (**self).is_scripted()
    }

    fn has_stopped(&self) -> bool {
        (**self).has_stopped()
    }
}

/// The same request again and again, prepared once.
#[derive(Clone, Debug)]
pub struct Static {
    request: Vec<u8>,
    expected: Expected,
}

impl Static {
    pub fn new(method: &str, target: &str, fields: &[(&str, &str)], body: &[u8]) -> Static {
        let mut request = Vec::new();
        wire::http1::encode_request(method, target, fields, body, &mut request);
        let body = if method == "HEAD" { Expect::NoBody } else { Expect::Body };
        Static { request, expected: Expected { body, tag: 0 } }
    }
}

impl HttpWorkload for Static {
    fn next(&mut self, _of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        request.wire.extend_from_slice(&self.request);
        request.expected.push(self.expected);
        Ok(())
    }
}

#[derive(Debug)]
pub struct Http1<W> {
    workload: W,
    /// How many requests, or groups that leave together, a connection carries at once.
    pipeline: usize,
    most_body: u64,
    seats: Vec<State>,
    /// Lent to the workload.
    expected: Vec<Expected>,
}

#[derive(Debug, Default)]
struct State {
    decoder: ResponseDecoder,
    /// Answers that are to come, in order.
    pending: VecDeque<Pending>,
    /// Requests, or groups, that they belong to.
    groups: usize,
    /// Of the answer that is being read.
    reading: Reading,
    /// Of the group that is being answered.
    tally: Tally,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    token: Token,
    expected: Expected,
    /// The group is complete with this answer.
    is_last: bool,
}

#[derive(Debug, Default)]
struct Reading {
    /// 0 until the head has arrived.
    status: u16,
    /// What the workload asked for then; the rest was not kept.
    wanted: Wanted,
    head: Vec<u8>,
    body: Vec<u8>,
    length: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    begun: bool,
    answers: u32,
    bad: u32,
    bytes: u64,
    /// The first answer that was not well, with its status.
    failure: Option<(Outcome, u16)>,
}

impl<W> Http1<W> {
    pub fn new(seats: usize, workload: W) -> Http1<W> {
        Http1 {
            workload,
            pipeline: 1,
            most_body: u64::MAX,
            seats: (0..seats).map(|_| State::default()).collect(),
            expected: Vec::new(),
        }
    }

    pub fn with_pipeline(self, pipeline: usize) -> Http1<W> {
        Http1 { pipeline, ..self }
    }

    /// A longer body makes an answer malformed.
    pub fn with_most_body(self, most_body: u64) -> Http1<W> {
        Http1 { most_body, ..self }
    }

    pub fn workload(&mut self) -> &mut W {
        &mut self.workload
    }

    pub fn into_workload(self) -> W {
        self.workload
    }
}

impl<W: HttpWorkload> Driver for Http1<W> {
    fn room(&self, seat: Seat) -> usize {
        self.pipeline.saturating_sub(self.seats[seat.0 as usize].groups)
    }

    fn start(&mut self, seat: Seat, asked: Asked, wire: &mut Vec<u8>) -> Result<Label, Fault> {
        let Asked { token, number, label } = asked;
        self.expected.clear();
        let mut request = Outgoing { wire, expected: &mut self.expected, label };
        self.workload.next(Origin { number, label, connection: seat.0 }, &mut request)?;
        let label = request.label;
        let state = &mut self.seats[seat.0 as usize];
        assert!(state.groups < self.pipeline, "a seat without room was given a request");
        let last = self.expected.len().checked_sub(1).expect("a request gets an answer");
        state.groups += 1;
        state.pending.extend((0..).zip(&self.expected).map(|(place, &expected)| Pending {
            token,
            expected,
            is_last: place == last,
        }));
        Ok(label)
    }

    fn receive(&mut self, seat: Seat, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let state = &mut self.seats[seat.0 as usize];
        let mut bytes = bytes;
        loop {
            let Some(pending) = state.pending.front() else {
                // Bytes that nobody asked for: what follows them cannot be matched to a request.
                return Ok(if bytes.is_empty() { Next::Continue } else { Next::Close });
            };
            if !state.tally.begun && !bytes.is_empty() {
                state.tally.begun = true;
                reports.begun.push(pending.token);
            }
            let malformed = match state.decoder.next(&mut bytes, pending.expected.body) {
                Ok(None) => return Ok(Next::Continue),
                Ok(Some(ResponseEvent::Head(head, _))) if head.status < 200 => continue,
                Ok(Some(ResponseEvent::Head(head, block))) => {
                    state.reading.begin(head.status, block, self.workload.wanted());
                    continue;
                }
                Ok(Some(ResponseEvent::Body(piece))) => {
                    state.reading.take(piece);
                    if state.reading.length <= self.most_body {
                        continue;
                    }
                    "the body is longer than --max-body"
                }
                Ok(Some(ResponseEvent::End(after))) => {
                    state.answered(seat, &mut self.workload, reports)?;
                    if after == After::Close {
                        return Ok(Next::Close);
                    }
                    continue;
                }
                Err(malformed) => malformed.as_str(),
            };
            state.fail(Outcome::Malformed, malformed, &mut self.workload, reports)?;
            return Ok(Next::Close);
        }
    }

    fn closed(&mut self, seat: Seat, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let state = &mut self.seats[seat.0 as usize];
        let ended = state.decoder.close();
        if lost == Lost::By(Closed::ByPeer) && ended == Ended::Complete && !state.pending.is_empty()
        {
            state.answered(seat, &mut self.workload, reports)?;
        }
        while let Some(pending) = state.pending.front() {
            let outcome = match lost {
                Lost::TooLate(token) if token == pending.token => Outcome::Timeout,
                Lost::By(Closed::WhileWriting) => Outcome::Write,
                _ => Outcome::Reset,
            };
            state.fail(outcome, "", &mut self.workload, reports)?;
        }
        state.tally = Tally::default();
        debug_assert_eq!(state.groups, 0, "the seat is as new");
        Ok(())
    }

    fn delay(&mut self) -> Result<Nanos, Fault> {
        self.workload.delay()
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        self.workload.prepare()
    }

    fn is_scripted(&self) -> bool {
        self.workload.is_scripted()
    }

    fn has_stopped(&self) -> bool {
        self.workload.has_stopped()
    }
}

impl State {
    /// The answer that was being read is complete.
    fn answered<W: HttpWorkload>(
        &mut self,
        seat: Seat,
        workload: &mut W,
        reports: &mut Reports,
    ) -> Result<(), Fault> {
        let Pending { token, expected, is_last } =
            self.pending.pop_front().expect("an answer is to a request");
        let status = std::mem::take(&mut self.reading.status);
        let Reading { wanted, head, body, length, .. } = &self.reading;
        let bad = outcome_of(status) != Outcome::Ok;
        let outcome = match wanted {
            Wanted::Nothing => outcome_of(status),
            Wanted::Head | Wanted::Body => workload.answered(&Answer {
                status,
                head,
                body,
                body_length: *length,
                connection: seat.0,
                tag: expected.tag,
            })?,
        };
        let tally = &mut self.tally;
        tally.answers += 1;
        tally.bad += u32::from(bad);
        tally.bytes += *length;
        if outcome != Outcome::Ok {
            tally.failure.get_or_insert((outcome, status));
        }
        if is_last {
            let (outcome, status) = tally.failure.unwrap_or((Outcome::Ok, status));
            let Tally { answers, bad, bytes, .. } = std::mem::take(tally);
            self.groups -= 1;
            reports.done.push(Done { token, outcome, status, answers, bad, bytes, why: "" });
        }
        Ok(())
    }

    /// The rest of the oldest group will not be answered.
    fn fail<W: HttpWorkload>(
        &mut self,
        outcome: Outcome,
        why: &'static str,
        workload: &mut W,
        reports: &mut Reports,
    ) -> Result<(), Fault> {
        let status = std::mem::take(&mut self.reading.status);
        let Tally { answers, bad, bytes, .. } = std::mem::take(&mut self.tally);
        self.groups -= 1;
        loop {
            let pending = self.pending.pop_front().expect("a group ends with its last answer");
            workload.failed(outcome, pending.expected.tag)?;
            if pending.is_last {
                reports.done.push(Done {
                    token: pending.token,
                    outcome,
                    status,
                    answers,
                    bad,
                    bytes,
                    why,
                });
                return Ok(());
            }
        }
    }
}

impl Reading {
    fn begin(&mut self, status: u16, head: &[u8], wanted: Wanted) {
        self.status = status;
        self.wanted = wanted;
        self.length = 0;
        self.head.clear();
        self.body.clear();
        if Wanted::Nothing < wanted {
            self.head.extend_from_slice(head);
        }
    }

    fn take(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        if self.wanted == Wanted::Body {
            self.body.extend_from_slice(piece);
        }
    }
}

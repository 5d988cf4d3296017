//! HTTP/1.1: requests in order on each connection, one at a time or pipelined.

use ::measure::Nanos;
use net::Closed;
use wire::http1::{After, Ended, Expect, ResponseDecoder, ResponseEvent, asks_to_close};

use self::pending::{Pending, Queue, Slab};
use self::repeats::Repeats;
use super::{
    Arrivals, Asked, Done, Driver, Fault, Label, Lost, Next, Outcome, Reports, Session, Slot,
    Started,
};

mod pending;
mod repeats;
#[cfg(test)]
mod tests;

/// The source of requests, and the judge of their responses.
pub trait HttpWorkload {
    /// Appends the next request, or several to be sent together.
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault>;

    /// Returns the parts that the workload needs of the response that begins on this connection, to
    /// the request with this tag.
    fn wanted(&mut self, _connection: u32, _tag: u32) -> Wanted {
        Wanted::Nothing
    }

    /// Processes the next piece of that response's body, if [`Wanted::Pieces`] or more is wanted.
    fn took(&mut self, _connection: u32, _tag: u32, _piece: &[u8]) {}

    /// True if [`HttpWorkload::next`] makes the same request again for the same number.
    fn is_repeatable(&self) -> bool {
        true
    }

    /// Processes a response, if any part of it is wanted, and returns the outcome of the request, and for
    /// [`Outcome::Check`] and [`Outcome::Capture`] the rule that was violated, if it has a text.
    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        Ok((outcome_of(answer.status), ""))
    }

    /// Handles a request that will get no response.
    fn failed(&mut self, _outcome: Outcome, _tag: u32) -> Result<(), Fault> {
        Ok(())
    }

    /// See [`Driver::sessions`].
    fn sessions(&self) -> Option<Arrivals> {
        None
    }

    /// See [`Driver::follow`].
    fn follow(&mut self, _session: Session, _outcome: Outcome) -> Option<Nanos> {
        None
    }

    /// See [`Driver::delay`].
    #[inline]
    fn delay(&mut self) -> Result<Nanos, Fault> {
        Ok(Nanos::ZERO)
    }

    /// See [`Driver::prepare`].
    fn prepare(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// See [`Driver::is_scripted`].
    #[inline]
    fn is_scripted(&self) -> bool {
        false
    }

    /// See [`Driver::has_stopped`].
    #[inline]
    fn has_stopped(&self) -> bool {
        false
    }
}

/// The context in which a request is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Origin {
    /// See [`Asked::number`].
    pub number: u64,
    pub label: Label,
    /// See [`Asked::session`].
    pub session: Session,
    /// The connection that it will be sent on, as an index into the pool.
    pub connection: u32,
}

/// A request that is being built.
#[derive(Debug)]
pub struct Outgoing<'a> {
    pub wire: &'a mut Vec<u8>,
    /// One entry for each response to come, in order.
    pub expected: &'a mut Vec<Expected>,
    pub label: Label,
}

/// A response that is to come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Expected {
    pub body: Expect,
    /// A tag that is returned with the response.
    pub tag: u32,
    /// True if the request says that the connection ends with its response.
    pub closes: bool,
}

#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub enum Wanted {
    /// The status is enough.
    #[default]
    Nothing,
    Head,
    /// The head, and the body piece by piece as it arrives; none of it is kept.
    Pieces,
    /// The same, and the complete body at the end.
    Body,
}

/// The parts of a response that the workload wanted.
#[derive(Clone, Copy, Debug)]
pub struct Response<'a> {
    pub status: u16,
    /// The header block as it arrived; [`wire::http1::fields`] reads it.
    pub head: &'a [u8],
    /// The decoded body; empty unless it was wanted.
    pub body: &'a [u8],
    /// The number of bytes in the body, wanted or not.
    pub body_length: u64,
    pub connection: u32,
    pub tag: u32,
}

/// The outcome that a status means by default.
pub fn outcome_of(status: u16) -> Outcome {
    if status < 400 { Outcome::Ok } else { Outcome::Status }
}

impl<W: HttpWorkload + ?Sized> HttpWorkload for Box<W> {
    fn next(&mut self, of: Origin, request: &mut Outgoing<'_>) -> Result<(), Fault> {
        (**self).next(of, request)
    }

    fn wanted(&mut self, connection: u32, tag: u32) -> Wanted {
        (**self).wanted(connection, tag)
    }

    fn took(&mut self, connection: u32, tag: u32, piece: &[u8]) {
        (**self).took(connection, tag, piece);
    }

    fn is_repeatable(&self) -> bool {
        (**self).is_repeatable()
    }

    fn answered(&mut self, answer: &Response<'_>) -> Result<(Outcome, &'static str), Fault> {
        (**self).answered(answer)
    }

    fn failed(&mut self, outcome: Outcome, tag: u32) -> Result<(), Fault> {
        (**self).failed(outcome, tag)
    }

    fn sessions(&self) -> Option<Arrivals> {
        (**self).sessions()
    }

    fn follow(&mut self, session: Session, outcome: Outcome) -> Option<Nanos> {
        (**self).follow(session, outcome)
    }

    #[inline]
    fn delay(&mut self) -> Result<Nanos, Fault> {
        (**self).delay()
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        (**self).prepare()
    }

    #[inline]
    fn is_scripted(&self) -> bool {
        (**self).is_scripted()
    }

    #[inline]
    fn has_stopped(&self) -> bool {
        (**self).has_stopped()
    }
}

/// A workload that sends the same request again and again, prepared once.
#[derive(Clone, Debug)]
pub struct Static {
    request: Vec<u8>,
    expected: Expected,
}

impl Static {
    pub fn new(method: &str, target: &str, fields: &[(&str, &str)], body: &[u8]) -> Static {
        let mut request = Vec::new();
        wire::http1::encode_request(method, target, fields, body, &mut request);
        let (body, closes) = (Expect::of(method), asks_to_close(fields));
        Static { request, expected: Expected { body, tag: 0, closes } }
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
    common: Common<W>,
    /// The number of requests, or of groups sent together, that a connection carries at once.
    pipeline: usize,
    most_body: u64,
    slots: Vec<State>,
    /// A buffer that is reused for each call of the workload.
    expected: Vec<Expected>,
}

/// The state that the slots share. A slot takes from it only what it needs at the moment, so that
/// an idle connection costs little.
#[derive(Debug)]
struct Common<W> {
    workload: W,
    pending: Slab,
    /// The buffers that are not in use.
    buffers: Vec<Kept>,
    repeats: Repeats,
    reasons: Reasons,
}

/// The rules that were violated so far: as few as the workload has. A slot has only their numbers, which
/// are an eighth of a text's size.
#[derive(Debug, Default)]
struct Reasons(Vec<&'static str>);

impl Reasons {
    fn number(&mut self, text: &'static str) -> u16 {
        let known = self.0.iter().position(|known| *known == text);
        let number = known.unwrap_or_else(|| {
            self.0.push(text);
            self.0.len() - 1
        });
        u16::try_from(number).expect("a workload has fewer rules")
    }

    fn text(&self, number: u16) -> &'static str {
        self.0[usize::from(number)]
    }
}

#[derive(Debug, Default)]
struct State {
    decoder: ResponseDecoder,
    /// The responses to come, in order.
    pending: Queue,
    /// The number of requests, or groups, that they belong to.
    groups: usize,
    /// True if a request says that the connection ends with its response: none may follow it.
    closes: bool,
    /// The response that is being read.
    reading: Reading,
    /// The statistics of the group that is being answered.
    tally: Tally,
}

#[derive(Debug, Default)]
struct Reading {
    /// 0 until the head has arrived.
    status: u16,
    /// The parts that the workload asked for; the rest was not kept.
    wanted: Wanted,
    kept: Kept,
    length: u64,
    /// True if the connection ends with this response: its request or its head says so.
    closes: bool,
}

/// The parts of a response that are wanted.
#[derive(Debug, Default)]
struct Kept {
    head: Vec<u8>,
    body: Vec<u8>,
}

const TOO_LONG: &str = "the body is longer than --max-body";

/// The largest buffer that is kept for the next response; a larger one is freed.
const MOST_KEPT: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    begun: bool,
    answers: u32,
    bad: u32,
    bytes: u64,
    /// The first bad response of the group, with its status and the number of its reason.
    failure: Option<(Outcome, u16, u16)>,
}

impl Tally {
    /// Returns the sum of the answers so far and later ones.
    fn and(self, later: Tally) -> Tally {
        Tally {
            begun: later.begun,
            answers: self.answers + later.answers,
            bad: self.bad + later.bad,
            bytes: self.bytes + later.bytes,
            failure: self.failure.or(later.failure),
        }
    }
}

impl<W> Http1<W> {
    pub fn new(slots: usize, workload: W) -> Http1<W> {
        Http1 {
            common: Common {
                workload,
                pending: Slab::with_room_for(slots),
                buffers: Vec::new(),
                repeats: Repeats::default(),
                reasons: Reasons::default(),
            },
            pipeline: 1,
            most_body: u64::MAX,
            slots: (0..slots).map(|_| State::default()).collect(),
            expected: Vec::new(),
        }
    }

    pub fn with_pipeline(self, pipeline: usize) -> Http1<W> {
        Http1 { pipeline, ..self }
    }

    /// Sets the longest body allowed; a longer one, also one that is only announced, makes a response malformed.
    pub fn with_most_body(self, most_body: u64) -> Http1<W> {
        Http1 { most_body, ..self }
    }

    pub fn workload(&mut self) -> &mut W {
        &mut self.common.workload
    }

    pub fn into_workload(self) -> W {
        self.common.workload
    }
}

impl<W: HttpWorkload> Driver for Http1<W> {
    fn room(&self, slot: Slot) -> usize {
        let state = &self.slots[slot.0 as usize];
        if state.closes { 0 } else { self.pipeline.saturating_sub(state.groups) }
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        let Asked { token, number, label, session, again } = asked;
        self.expected.clear();
        let wire = &mut reports.wire;
        let begin = wire.len();
        let mut request = Outgoing { wire, expected: &mut self.expected, label };
        let common = &mut self.common;
        let is_kept = again && common.repeats.take(token, number, &mut request);
        if !is_kept {
            let of = Origin { number, label, session, connection: slot.0 };
            common.workload.next(of, &mut request)?;
        }
        let Outgoing { label, .. } = request;
        let state = &mut self.slots[slot.0 as usize];
        assert!(state.groups < self.pipeline, "a slot without room was given a request");
        let last = self.expected.len().checked_sub(1).expect("a request gets an answer");
        state.groups += 1;
        // A close that is announced within a group, or before a request that its workload cannot
        // make again, leaves bytes to send again.
        let cannot_be_made = is_kept || 1 < self.pipeline && !common.workload.is_repeatable();
        let sent =
            (0 < last || cannot_be_made).then(|| common.repeats.keep(number, &wire[begin..]));
        for (position, &expected) in self.expected.iter().enumerate() {
            let pending = Pending { token, expected, is_last: position == last, sent };
            common.pending.push(&mut state.pending, pending);
            state.closes |= expected.closes;
        }
        Ok(label.into())
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let state = &mut self.slots[slot.0 as usize];
        let mut bytes = bytes;
        loop {
            let Some(pending) = self.common.pending.first(state.pending) else {
                return Ok(if bytes.is_empty() { Next::Continue } else { Next::Unasked });
            };
            if !state.tally.begun && !bytes.is_empty() {
                state.tally.begun = true;
                reports.begun.push(pending.token);
            }
            let malformed = match state.decoder.next(&mut bytes, pending.expected.body) {
                Ok(None) => None,
                Ok(Some(ResponseEvent::Head(head, _))) if head.status < 200 => continue,
                Ok(Some(ResponseEvent::Head(head, block))) => {
                    let Expected { tag, closes, .. } = pending.expected;
                    state.reading = self.common.begin((slot, tag), head.status, block);
                    state.reading.closes = closes || head.after == After::Close;
                    continue;
                }
                Ok(Some(ResponseEvent::Body(piece))) => {
                    state.reading.take(piece);
                    if state.reading.length <= self.most_body {
                        if Wanted::Pieces <= state.reading.wanted {
                            self.common.workload.took(slot.0, pending.expected.tag, piece);
                        }
                        continue;
                    }
                    Some(TOO_LONG)
                }
                Ok(Some(ResponseEvent::End(_))) => {
                    let closes = state.reading.closes;
                    state.answered(slot, &mut self.common, reports)?;
                    if closes {
                        state.take_back(&mut self.common, reports);
                        return Ok(Next::Close);
                    }
                    continue;
                }
                Err(malformed) => Some(malformed.as_str()),
            };
            let malformed = match malformed {
                Some(malformed) => malformed,
                None if state.announced() <= self.most_body => return Ok(Next::Continue),
                // Not only once it has arrived: of a peer that announces more than it sends, that is never.
                None => TOO_LONG,
            };
            state.fail(Outcome::Malformed, malformed, &mut self.common, reports)?;
            // When the connection closes, the abandoned response must not be completed, as the
            // response to the request behind it.
            state.decoder = ResponseDecoder::default();
            return Ok(Next::Close);
        }
    }

    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let state = &mut self.slots[slot.0 as usize];
        let ended = state.decoder.close();
        let is_last = state.reading.closes;
        let first = self.common.pending.first(state.pending);
        let is_complete = lost == Lost::By(Closed::ByPeer) && ended == Ended::Complete;
        if is_complete && first.is_some() {
            state.answered(slot, &mut self.common, reports)?;
            state.take_back(&mut self.common, reports);
        }
        while let Some(pending) = self.common.pending.first(state.pending) {
            let (outcome, why) = match lost {
                Lost::TooLate(token) if token == pending.token => (Outcome::Timeout, ""),
                Lost::By(Closed::WhileWriting) => (Outcome::Write, ""),
                Lost::For(outcome, why) => (outcome, why),
                Lost::By(_) | Lost::ByUs | Lost::TooLate(_) => (Outcome::Reset, ""),
            };
            state.fail(outcome, why, &mut self.common, reports)?;
            if is_last {
                state.take_back(&mut self.common, reports);
            }
        }
        (state.tally, state.closes) = (Tally::default(), false);
        debug_assert_eq!(state.groups, 0, "the slot is as new");
        Ok(())
    }

    fn alpn(&self) -> &'static [&'static [u8]] {
        &[b"http/1.1"]
    }

    fn sessions(&self) -> Option<Arrivals> {
        self.common.workload.sessions()
    }

    fn follow(&mut self, session: Session, outcome: Outcome) -> Option<Nanos> {
        self.common.workload.follow(session, outcome)
    }

    #[inline]
    fn delay(&mut self) -> Result<Nanos, Fault> {
        self.common.workload.delay()
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        self.common.workload.prepare()
    }

    #[inline]
    fn is_scripted(&self) -> bool {
        self.common.workload.is_scripted()
    }

    #[inline]
    fn has_stopped(&self) -> bool {
        self.common.workload.has_stopped()
    }
}

impl State {
    /// Returns the length of the body that is being read, as far as it is known.
    fn announced(&self) -> u64 {
        self.reading.length.saturating_add(self.decoder.announced())
    }

    /// Handles the end of the response that was being read.
    fn answered<W: HttpWorkload>(
        &mut self,
        slot: Slot,
        common: &mut Common<W>,
        reports: &mut Reports,
    ) -> Result<(), Fault> {
        let Pending { token, expected, is_last, sent } =
            common.pending.pop(&mut self.pending).expect("an answer is to a request");
        let Reading { status, wanted, kept, length, .. } = std::mem::take(&mut self.reading);
        let bad = outcome_of(status) != Outcome::Ok;
        let (outcome, why) = match wanted {
            Wanted::Nothing => (outcome_of(status), ""),
            Wanted::Head | Wanted::Pieces | Wanted::Body => {
                common.workload.answered(&Response {
                    status,
                    head: &kept.head,
                    body: &kept.body,
                    body_length: length,
                    connection: slot.0,
                    tag: expected.tag,
                })?
            }
        };
        common.give_back(kept);
        let tally = &mut self.tally;
        tally.answers += 1;
        tally.bad += u32::from(bad);
        tally.bytes += length;
        if outcome != Outcome::Ok {
            tally.failure.get_or_insert_with(|| (outcome, status, common.reasons.number(why)));
        }
        if is_last {
            let tally = common.repeats.complete(token, sent, std::mem::take(tally));
            let Tally { answers, bad, bytes, failure, .. } = tally;
            let (outcome, status, why) = failure
                .map_or((Outcome::Ok, status, ""), |(outcome, status, reason)| {
                    (outcome, status, common.reasons.text(reason))
                });
            self.groups -= 1;
            reports.done.push(Done { token, outcome, status, answers, bad, bytes, why });
        }
        Ok(())
    }

    /// Fails the rest of the oldest group, which will not be answered.
    fn fail<W: HttpWorkload>(
        &mut self,
        outcome: Outcome,
        why: &'static str,
        common: &mut Common<W>,
        reports: &mut Reports,
    ) -> Result<(), Fault> {
        let Reading { status, kept, .. } = std::mem::take(&mut self.reading);
        common.give_back(kept);
        let tally = std::mem::take(&mut self.tally);
        self.groups -= 1;
        loop {
            let pending = common.pending.pop(&mut self.pending);
            let pending = pending.expect("a group ends with its last answer");
            common.workload.failed(outcome, pending.expected.tag)?;
            if pending.is_last {
                let Pending { token, sent, .. } = pending;
                let Tally { answers, bad, bytes, .. } = common.repeats.complete(token, sent, tally);
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

impl State {
    /// Reports the requests behind a response with which the connection ends: by rule, the peer has
    /// not processed them (RFC 9112 §9.6).
    fn take_back<W>(&mut self, common: &mut Common<W>, reports: &mut Reports) {
        let mut tally = std::mem::take(&mut self.tally);
        let mut expected = Vec::new();
        while let Some(pending) = common.pending.pop(&mut self.pending) {
            expected.push(pending.expected);
            if pending.is_last {
                let (tally, expected) = (std::mem::take(&mut tally), std::mem::take(&mut expected));
                common.repeats.take_back(pending.token, pending.sent, expected, tally);
                reports.again.push(pending.token);
                self.groups -= 1;
            }
        }
    }
}

impl Reading {
    fn take(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        if self.wanted == Wanted::Body {
            self.kept.body.extend_from_slice(piece);
        }
    }
}

impl<W: HttpWorkload> Common<W> {
    /// Handles the head of a response.
    fn begin(&mut self, (slot, tag): (Slot, u32), status: u16, head: &[u8]) -> Reading {
        let wanted = self.workload.wanted(slot.0, tag);
        if wanted == Wanted::Nothing {
            return Reading { status, ..Reading::default() };
        }
        let mut kept = self.buffers.pop().unwrap_or_default();
        kept.head.extend_from_slice(head);
        Reading { status, wanted, kept, ..Reading::default() }
    }

    /// Returns the buffers of a finished response to the shared ones.
    fn give_back(&mut self, mut kept: Kept) {
        if (1..=MOST_KEPT).contains(&kept.head.capacity().max(kept.body.capacity())) {
            kept.head.clear();
            kept.body.clear();
            self.buffers.push(kept);
        }
    }
}

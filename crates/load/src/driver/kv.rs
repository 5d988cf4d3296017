//! The key-value store: a batch is the request, and its operations are counted inside.
//!
//! The connection has a session of its own, which survives it: the next connection resumes the session, and
//! sends what lacks a reply again with the same serials, so that the server executes each batch once. If it
//! cannot, since the server has forgotten the session or a reply, the batches that lack a reply have failed.

use std::collections::VecDeque;

use ::measure::Nanos;
use wire::kv::{
    Body, Checksums, Code, Completion, Decoder, Frame, Greeted, Hello, ReplyFixed, Status,
    Token as Secret, encode_hello, encode_request_fixed,
};

use super::parts::Verdict;
use super::{
    Asked, Done, Driver, Fault, Label, Lost, Next, Node, Opening, Outcome, Redirect, Reports, Slot,
    Started, Step, Token,
};

pub mod shared;

#[cfg(test)]
mod tests;

/// The reason why a connection without a token is not ready. The reason of one whose token is wrong is that of
/// `Code::Denied`.
pub const WANTS_TOKEN: &str = "the server wants a token";

/// The operations of a batch, in columns.
#[derive(Debug, Default)]
pub struct Batch {
    /// READ, UPSERT, ADD and DELETE by their numbers in `wire::kv::Opcode`.
    pub opcodes: Vec<u8>,
    pub keys: Vec<u64>,
    /// The values of UPSERT and the numbers of ADD, one for each of these.
    pub values: Vec<u64>,
}

/// The source of batches.
pub trait KvWorkload {
    /// Fills the next batch, which is empty, with one operation or more.
    fn next(&mut self, batch: &mut Batch);

    /// Notes that the oldest batch has ended, whatever became of it.
    fn ended(&mut self) {}

    /// Handles the end of a connection whose session does not go on: what it carried may have failed.
    fn disconnected(&mut self) {}

    /// True if there is no further batch.
    fn has_ended(&self) -> bool {
        false
    }
}

/// The longest time for which a connection that broke is tried again before what it carried has failed.
pub const PATIENCE: Nanos = Nanos::from_secs(10);
/// The reason of a batch that was not sent again.
const NOT_RESUMED: &str = "the session of a broken connection was not resumed";
/// The reason if the server has recovered the session from a checkpoint that is older than an answer.
const BEHIND: &str = "the server has lost operations of this session that it had answered";

/// The terms of the connections to one server.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The most batches of a connection whose results are not complete, at most 64.
    pub pipeline: u8,
    /// The position of the server in the list of servers, and the length of the list.
    pub position: (u16, u16),
}

/// The driver of the key-value store, of one connection.
#[derive(Debug)]
pub struct Kv<W> {
    workload: W,
    terms: Terms,
    secret: Option<Secret>,
    line: Line,
    /// Batches that have ended, whose memory is used again.
    spare: Vec<Batch>,
}

/// The connection, and the session that survives it.
#[derive(Debug, Default)]
struct Line {
    decoder: Decoder,
    is_ready: bool,
    view: u32,
    session: Option<u64>,
    /// The serial of the next operation that was not sent before.
    next: u64,
    /// The batches whose results are not complete, in the order in which they were sent.
    sent: VecDeque<Sent>,
    /// The batches that are to be sent again, in their order, all of them behind those that were sent.
    kept: VecDeque<Kept>,
    /// The reason why these cannot be sent again.
    abandoned: Option<&'static str>,
}

#[derive(Debug)]
struct Sent {
    asked: Asked,
    serial: u64,
    batch: Batch,
    is_answered: bool,
    /// The operations whose results follow.
    pending: usize,
    /// The operations that did not end as hoped, and the status of the first of them.
    failed: u32,
    why: &'static str,
}

/// A batch that lacks a reply, of a connection that broke.
#[derive(Debug)]
struct Kept {
    /// The request, once it is started again.
    asked: Option<Asked>,
    number: u64,
    serial: u64,
    batch: Batch,
}

impl Batch {
    pub fn clear(&mut self) {
        let Batch { opcodes, keys, values } = self;
        opcodes.clear();
        keys.clear();
        values.clear();
    }
}

impl<W: KvWorkload> Kv<W> {
    pub fn new(terms: Terms, workload: W) -> Kv<W> {
        Kv { workload, terms, secret: None, line: Line::default(), spare: Vec::new() }
    }

    /// Proves the knowledge of this token to a server that wants it.
    #[must_use]
    pub fn with_token(self, secret: Option<Secret>) -> Kv<W> {
        Kv { secret, ..self }
    }

    /// Makes the next batch.
    fn draw(&mut self) -> Batch {
        let mut batch = self.spare.pop().unwrap_or_default();
        batch.clear();
        self.workload.next(&mut batch);
        assert!(!batch.opcodes.is_empty(), "a batch has an operation");
        batch
    }

    /// Starts a batch again. They leave in the order of their serials, whichever is started first.
    fn start_again(&mut self, asked: Asked, reports: &mut Reports) -> Started {
        let place = self.line.kept.iter().position(|kept| kept.number == asked.number);
        let place = place.expect("a request that came back was kept");
        let operations = self.line.kept[place].batch.opcodes.len() as u32;
        if let Some(why) = self.line.abandoned {
            let kept = self.line.kept.remove(place).expect("it is there");
            self.give_back(kept.batch);
            reports.done.push(done(asked.token, Outcome::Reset, why));
            return Started { label: Label::NONE, operations };
        }
        self.line.kept[place].asked = Some(asked);
        while let Some(Kept { asked: Some(asked), .. }) = self.line.kept.front() {
            let asked = *asked;
            let Kept { serial, batch, .. } = self.line.kept.pop_front().expect("it is there");
            self.line.send(asked, serial, batch, reports);
        }
        Started { label: Label::NONE, operations }
    }

    /// Notes the end of a batch. The session ends with the last one that could not be sent again.
    fn give_back(&mut self, batch: Batch) {
        self.workload.ended();
        self.spare.push(batch);
        if self.line.kept.is_empty() {
            self.line.abandoned = None;
        }
    }
}

impl Line {
    fn send(&mut self, asked: Asked, serial: u64, batch: Batch, reports: &mut Reports) {
        let Batch { opcodes, keys, values } = &batch;
        let at = (self.view, serial);
        encode_request_fixed(at, opcodes, keys, values, Checksums::On, &mut reports.wire);
        let (is_answered, pending, failed, why) = (false, 0, 0, "");
        self.sent.push_back(Sent { asked, serial, batch, is_answered, pending, failed, why });
    }

    /// Begins with the session that the server has given, or goes on with the one that was asked for.
    fn welcomed(&mut self, session: u64, executed: u64) -> Result<(), &'static str> {
        if self.resumes().is_none() {
            (self.session, self.next) = (Some(session), executed + 1);
            return Ok(());
        }
        let first = self.kept.front().map_or(self.next, |kept| kept.serial);
        // A server that was started again goes on from a checkpoint, which may lack operations that were
        // answered, or have a part of a batch.
        let ends_batch = self.kept.iter().any(|kept| kept.serial == executed + 1);
        match first <= executed + 1 && (ends_batch || executed + 1 == self.next) {
            true => Ok(()),
            false => Err(BEHIND),
        }
    }

    /// The session that the next connection goes on with: one of which a batch lacks its reply.
    fn resumes(&self) -> Option<u64> {
        let is_needed = !self.kept.is_empty() && self.abandoned.is_none();
        self.session.filter(|_| is_needed)
    }
}

impl<W: KvWorkload> Driver for Kv<W> {
    fn room(&self, _slot: Slot) -> usize {
        let Line { sent, kept, .. } = &self.line;
        match self.workload.has_ended() && kept.is_empty() {
            true => 0,
            false => usize::from(self.terms.pipeline).saturating_sub(sent.len()),
        }
    }

    fn opened(&mut self, _slot: Slot, _opening: Opening<'_>, reports: &mut Reports) -> Next {
        let Terms { pipeline, position } = self.terms;
        let hello = Hello { session: self.line.resumes(), ..hello(pipeline, position) };
        encode_hello(&hello, &mut reports.wire);
        Next::Greeting(None)
    }

    fn start(
        &mut self,
        _slot: Slot,
        asked: Asked,
        reports: &mut Reports,
    ) -> Result<Started, Fault> {
        if asked.again {
            return Ok(self.start_again(asked, reports));
        }
        let batch = self.draw();
        let (operations, serial) = (batch.opcodes.len(), self.line.next);
        self.line.next += operations as u64;
        self.line.send(asked, serial, batch, reports);
        Ok(Started { label: Label::NONE, operations: operations as u32 })
    }

    fn receive(&mut self, _slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let mut state = if self.line.is_ready { Next::Continue } else { Next::Greeting(None) };
        // Frames borrow the decoder; what they are noted in is the rest.
        let mut decoder = std::mem::take(&mut self.line.decoder);
        let mut rest = bytes;
        loop {
            let handled = match decoder.next(&mut rest) {
                Ok(Some(frame)) => self.handle(&frame, reports),
                Ok(None) => break,
                Err(malformed) => Err(Next::Fail(Outcome::Malformed, malformed.code.as_str())),
            };
            match handled {
                Ok(Next::Continue) => {}
                Ok(next) => state = next,
                Err(failed) => {
                    state = failed;
                    break;
                }
            }
        }
        self.line.decoder = decoder;
        Ok(state)
    }

    fn closed(&mut self, _slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let is_broken = matches!(lost, Lost::By(_) | Lost::ByUs | Lost::For(Outcome::Connect, _));
        let Line { session, next, sent, kept, abandoned, .. } = std::mem::take(&mut self.line);
        self.line = Line { session, next, abandoned, ..Line::default() };
        let sent = sent.into_iter().map(|Sent { asked, serial, batch, .. }| Kept {
            asked: Some(asked),
            number: asked.number,
            serial,
            batch,
        });
        for kept in sent.chain(kept) {
            match kept.asked {
                None => self.line.kept.push_back(kept),
                Some(Asked { token, .. }) if is_broken => {
                    reports.redirected.push(Redirect { token, to: Node(0) });
                    self.line.kept.push_back(Kept { asked: None, ..kept });
                }
                Some(Asked { token, .. }) => {
                    let Verdict { outcome, why } = Verdict::lost(lost, token);
                    reports.done.push(done(token, outcome, why));
                    self.give_back(kept.batch);
                }
            }
        }
        if !is_broken {
            self.workload.disconnected();
            if !self.line.kept.is_empty() {
                self.line.abandoned = Some(match lost {
                    Lost::For(_, why) => why,
                    _ => NOT_RESUMED,
                });
            }
        }
        Ok(())
    }

    fn unsent(&mut self, number: u64, label: Label) -> Started {
        self.workload.disconnected();
        let place = self.line.kept.iter().position(|kept| kept.number == number);
        let Some(kept) = place.and_then(|place| self.line.kept.remove(place)) else {
            return label.into();
        };
        let operations = kept.batch.opcodes.len() as u32;
        // Those behind it cannot be sent without it.
        self.line.abandoned = Some(NOT_RESUMED);
        self.give_back(kept.batch);
        Started { label, operations }
    }

    fn patience(&self) -> Nanos {
        PATIENCE
    }

    /// The next batch may still be leaving when the reply to the one before arrives.
    fn outlives_early_responses(&self) -> bool {
        true
    }

    fn has_stopped(&self) -> bool {
        let Line { sent, kept, .. } = &self.line;
        self.workload.has_ended() && sent.is_empty() && kept.is_empty()
    }
}

impl<W: KvWorkload> Kv<W> {
    /// Handles a frame. The error is the end of the connection.
    fn handle(&mut self, frame: &Frame<'_>, reports: &mut Reports) -> Result<Next, Next> {
        let malformed = |why| Next::Fail(Outcome::Malformed, why);
        let Line { is_ready, view, sent, .. } = &mut self.line;
        match &frame.body {
            Body::Welcome(welcome) if !*is_ready => {
                match welcome.answer(self.secret.as_ref(), &mut reports.wire) {
                    Greeted::Ready => {}
                    Greeted::Proving => return Ok(Next::Greeting(None)),
                    Greeted::WantsToken => {
                        return Err(Next::Fail(Outcome::Connect, WANTS_TOKEN));
                    }
                }
                (*is_ready, *view) = (true, frame.header.view);
                let welcomed = self.line.welcomed(welcome.session, welcome.executed);
                welcomed.map_err(|why| Next::Fail(Outcome::Reset, why))?;
                return Ok(Next::Ready(None));
            }
            Body::ReplyFixed(reply) => {
                answered(sent, frame.header.serial, *reply, reports).map_err(malformed)?;
            }
            Body::Completions(completions) => {
                let mut completions = *completions;
                let mut note =
                    |done: Completion<'_>| completed(sent, done.serial, done.answer.status);
                completions.try_for_each(&mut note).map_err(malformed)?;
            }
            Body::Durable(_) => {}
            Body::Error(error) => return Err(refused(error.code)),
            _ => return Err(malformed("a frame that is not expected")),
        }
        self.report(reports);
        Ok(Next::Continue)
    }

    /// Reports the batches that are complete.
    fn report(&mut self, reports: &mut Reports) {
        let is_complete = |batch: &Sent| batch.is_answered && batch.pending == 0;
        while self.line.sent.front().is_some_and(is_complete) {
            let Sent { asked, batch, failed, why, .. } =
                self.line.sent.pop_front().expect("it is there");
            let (token, label) = (asked.token, Label::NONE);
            let operations = batch.opcodes.len() as u32 - failed;
            if 0 < failed && 0 < operations {
                let outcome = Outcome::Ok;
                reports.steps.push(Step { token, label, outcome, operations });
            }
            let outcome = if failed == 0 { Outcome::Ok } else { Outcome::Status };
            reports.done.push(done(token, outcome, why));
            self.give_back(batch);
        }
    }
}

impl Sent {
    /// Notes the result of an operation, which is not PENDING.
    fn ended(&mut self, status: Status) {
        if status != Status::Ok {
            self.failed += 1;
            self.why = if self.why.is_empty() { status.name() } else { self.why };
        }
    }
}

/// The greeting of a client that wants a session of its own.
fn hello(pipeline: u8, position: (u16, u16)) -> Hello {
    Hello { position: Some(position), ..Hello::new(pipeline) }
}

/// Notes the reply to a batch: the first one that has none.
fn answered(
    sent: &mut VecDeque<Sent>,
    serial: u64,
    reply: ReplyFixed<'_>,
    reports: &mut Reports,
) -> Result<(), &'static str> {
    let Some(batch) = sent.iter_mut().find(|batch| !batch.is_answered) else {
        return Err("a reply to no batch");
    };
    if batch.serial != serial || !reply.fits(&batch.batch.opcodes) {
        return Err("a reply to another batch");
    }
    batch.is_answered = true;
    reports.begun.push(batch.asked.token);
    if reply.statuses.iter().any(|status| *status != Status::Ok as u8) {
        for status in reply.statuses.iter().filter_map(|status| Status::of(*status)) {
            match status {
                Status::Pending => batch.pending += 1,
                status => batch.ended(status),
            }
        }
    }
    Ok(())
}

/// Notes the result of a pending operation.
fn completed(sent: &mut VecDeque<Sent>, serial: u64, status: Status) -> Result<(), &'static str> {
    let has = |batch: &&mut Sent| {
        batch.serial <= serial && serial - batch.serial < batch.batch.opcodes.len() as u64
    };
    let batch = sent.iter_mut().find(has).filter(|batch| 0 < batch.pending);
    let batch = batch.ok_or("a result of no operation")?;
    batch.pending -= 1;
    batch.ended(status);
    Ok(())
}

/// The end of a connection that the server has refused.
fn refused(code: Code) -> Next {
    let outcome = match code {
        Code::Busy | Code::Denied | Code::TopologyMismatch | Code::Ending | Code::Version => {
            Outcome::Connect
        }
        // The session cannot go on where its connection broke.
        Code::SessionUnknown | Code::ReplyGone => Outcome::Reset,
        _ => Outcome::Malformed,
    };
    Next::Fail(outcome, code.as_str())
}

fn done(token: Token, outcome: Outcome, why: &'static str) -> Done {
    let answers = u32::from(outcome.is_answer());
    Done { token, outcome, status: 0, answers, bad: 0, bytes: 0, why }
}

//! The key-value store: a batch is the request, and its operations are counted inside.
//!
//! A connection has a session of its own. What it has sent when it breaks is lost, as with any other
//! protocol: a load measures what its target does, and sends no batch twice.

use std::collections::VecDeque;

use net::Closed;
use wire::kv::{
    Body, Checksums, Code, Decoder, Greeted, Hello, ReplyFixed, Status, Token as Secret, VERSION,
    encode_hello, encode_request_fixed,
};

use super::{
    Asked, Done, Driver, Fault, Label, Lost, Next, Opening, Outcome, Reports, Slot, Started, Step,
    Token,
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

    /// True if there is no further batch.
    fn has_ended(&self) -> bool {
        false
    }

    /// Handles the end of a connection that was ready.
    fn disconnected(&mut self) {}
}

/// The terms of the connections to one server.
#[derive(Clone, Copy, Debug)]
pub struct Terms {
    /// The most batches of a connection whose results are not complete, at most 64.
    pub pipeline: u8,
    /// The position of the server in the list of servers, and the length of the list.
    pub position: (u16, u16),
}

/// The driver of the key-value store.
#[derive(Debug)]
pub struct Kv<W> {
    workload: W,
    terms: Terms,
    secret: Option<Secret>,
    lines: Vec<Line>,
    batch: Batch,
    /// Opcodes of batches that have ended, whose memory is used again.
    spare: Vec<Vec<u8>>,
}

/// One connection.
#[derive(Debug, Default)]
struct Line {
    decoder: Decoder,
    is_ready: bool,
    view: u32,
    /// The serial of the next operation.
    next: u64,
    /// The batches whose results are not complete, in the order in which they were sent.
    sent: VecDeque<Sent>,
}

#[derive(Debug)]
struct Sent {
    token: Token,
    serial: u64,
    opcodes: Vec<u8>,
    is_answered: bool,
    /// The operations whose results follow.
    pending: usize,
    /// The operations that did not end as hoped.
    failed: u32,
}

impl<W: KvWorkload> Kv<W> {
    pub fn new(slots: usize, terms: Terms, workload: W) -> Kv<W> {
        let lines = (0..slots).map(|_| Line::default()).collect();
        let (batch, spare) = (Batch::default(), Vec::new());
        Kv { workload, terms, secret: None, lines, batch, spare }
    }

    /// Proves the knowledge of this token to a server that wants it.
    #[must_use]
    pub fn with_token(self, secret: Option<Secret>) -> Kv<W> {
        Kv { secret, ..self }
    }

    fn line(&mut self, slot: Slot) -> &mut Line {
        &mut self.lines[slot.0 as usize]
    }
}

impl<W: KvWorkload> Driver for Kv<W> {
    fn room(&self, slot: Slot) -> usize {
        let sent = self.lines[slot.0 as usize].sent.len();
        match self.workload.has_ended() {
            true => 0,
            false => usize::from(self.terms.pipeline).saturating_sub(sent),
        }
    }

    fn opened(&mut self, _slot: Slot, _opening: Opening<'_>, reports: &mut Reports) -> Next {
        let Terms { pipeline, position } = self.terms;
        encode_hello(&hello(pipeline, position), &mut reports.wire);
        Next::Greeting(None)
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        let Batch { opcodes, keys, values } = &mut self.batch;
        opcodes.clear();
        keys.clear();
        values.clear();
        self.workload.next(&mut self.batch);
        let Batch { opcodes, keys, values } = &self.batch;
        let operations = opcodes.len();
        assert!(0 < operations, "a batch has an operation");
        let line = &mut self.lines[slot.0 as usize];
        let at = (line.view, line.next);
        encode_request_fixed(at, opcodes, keys, values, Checksums::On, &mut reports.wire);
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(opcodes);
        line.sent.push_back(Sent {
            token: asked.token,
            serial: line.next,
            opcodes: kept,
            is_answered: false,
            pending: 0,
            failed: 0,
        });
        line.next += operations as u64;
        Ok(Started { label: Label::NONE, operations: operations as u32 })
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        let Kv { lines, spare, secret, .. } = self;
        let line = &mut lines[slot.0 as usize];
        let Line { decoder, is_ready, view, next, sent } = line;
        let mut state = if *is_ready { Next::Continue } else { Next::Greeting(None) };
        let mut rest = bytes;
        loop {
            let frame = match decoder.next(&mut rest) {
                Ok(Some(frame)) => frame,
                Ok(None) => return Ok(state),
                Err(malformed) => {
                    return Ok(Next::Fail(Outcome::Malformed, malformed.code.as_str()));
                }
            };
            match frame.body {
                Body::Welcome(welcome) if !*is_ready => {
                    match welcome.answer(secret.as_ref(), &mut reports.wire) {
                        Greeted::Ready => {
                            (*is_ready, *view) = (true, frame.header.view);
                            *next = welcome.executed + 1;
                            state = Next::Ready(None);
                        }
                        Greeted::Proving => continue,
                        Greeted::WantsToken => {
                            return Ok(Next::Fail(Outcome::Connect, WANTS_TOKEN));
                        }
                    }
                }
                Body::ReplyFixed(reply) => {
                    if let Err(why) = answered(sent, frame.header.serial, reply, reports) {
                        return Ok(Next::Fail(Outcome::Malformed, why));
                    }
                }
                Body::Completions(completions) => {
                    for done in completions {
                        if let Err(why) = completed(sent, done.serial, done.answer.status) {
                            return Ok(Next::Fail(Outcome::Malformed, why));
                        }
                    }
                }
                Body::Durable(_) => {}
                Body::Error(error) => return Ok(refused(error.code)),
                _ => return Ok(Next::Fail(Outcome::Malformed, "a frame that is not expected")),
            }
            report(sent, spare, reports);
        }
    }

    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let line = std::mem::take(self.line(slot));
        if line.is_ready {
            self.workload.disconnected();
        }
        for batch in line.sent {
            let (outcome, why) = match lost {
                Lost::TooLate(token) if token == batch.token => (Outcome::Timeout, ""),
                Lost::By(Closed::WhileWriting) => (Outcome::Write, ""),
                Lost::For(outcome, why) => (outcome, why),
                Lost::By(_) | Lost::ByUs | Lost::TooLate(_) => (Outcome::Reset, ""),
            };
            reports.done.push(done(batch.token, outcome, why));
            self.spare.push(batch.opcodes);
        }
        Ok(())
    }

    /// The next batch may still be leaving when the reply to the one before arrives.
    fn outlives_early_responses(&self) -> bool {
        true
    }

    fn has_stopped(&self) -> bool {
        self.workload.has_ended() && self.lines.iter().all(|line| line.sent.is_empty())
    }
}

/// The greeting of a client that wants a session of its own.
fn hello(pipeline: u8, position: (u16, u16)) -> Hello {
    Hello {
        versions: (VERSION, VERSION),
        checksums: Checksums::On,
        pipeline,
        shard: None,
        session: None,
        position: Some(position),
    }
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
    if batch.serial != serial || !reply.fits(&batch.opcodes) {
        return Err("a reply to another batch");
    }
    batch.is_answered = true;
    reports.begun.push(batch.token);
    if reply.statuses.iter().any(|status| *status != Status::Ok as u8) {
        let of = |wanted: Status| {
            reply.statuses.iter().filter(|status| **status == wanted as u8).count()
        };
        batch.pending = of(Status::Pending);
        batch.failed = (reply.statuses.len() - of(Status::Ok) - batch.pending) as u32;
    }
    Ok(())
}

/// Notes the result of a pending operation.
fn completed(sent: &mut VecDeque<Sent>, serial: u64, status: Status) -> Result<(), &'static str> {
    let has = |batch: &&mut Sent| {
        batch.serial <= serial && serial - batch.serial < batch.opcodes.len() as u64
    };
    let batch = sent.iter_mut().find(has).filter(|batch| 0 < batch.pending);
    let batch = batch.ok_or("a result of no operation")?;
    batch.pending -= 1;
    batch.failed += u32::from(status != Status::Ok);
    Ok(())
}

/// Reports the batches that are complete.
fn report(sent: &mut VecDeque<Sent>, spare: &mut Vec<Vec<u8>>, reports: &mut Reports) {
    while sent.front().is_some_and(|batch| batch.is_answered && batch.pending == 0) {
        let Sent { token, opcodes, failed, .. } = sent.pop_front().expect("it is there");
        let outcome = if failed == 0 { Outcome::Ok } else { Outcome::Status };
        let operations = opcodes.len() as u32 - failed;
        if 0 < failed && 0 < operations {
            let (label, outcome) = (Label::NONE, Outcome::Ok);
            reports.steps.push(Step { token, label, outcome, operations });
        }
        reports.done.push(done(token, outcome, ""));
        spare.push(opcodes);
    }
}

/// The end of a connection that the server has refused.
fn refused(code: Code) -> Next {
    let outcome = match code {
        Code::Busy | Code::Denied | Code::TopologyMismatch | Code::Ending | Code::Version => {
            Outcome::Connect
        }
        _ => Outcome::Malformed,
    };
    Next::Fail(outcome, code.as_str())
}

fn done(token: Token, outcome: Outcome, why: &'static str) -> Done {
    let answers = u32::from(outcome.is_answer());
    Done { token, outcome, status: 0, answers, bad: 0, bytes: 0, why }
}

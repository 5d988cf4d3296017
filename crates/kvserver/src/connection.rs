//! One connection: bytes in, bytes out, without I/O and without a clock.

use wire::kv::{
    Body, Checksums, Code, Decoder, Frame, HEADER_BYTES, Hello, Malformed, VERSION, Verb,
    encode_error, encode_report, encode_wrong_view,
};

use crate::bounds::{MOST_SHARDS, MOST_WAITING};
use crate::counts::Counted;
use crate::desk::Desk;
use crate::operator::schema;
use crate::session::{Running, VIEW};
use crate::sessions::Claim;

/// A connection, from its first byte on.
pub(crate) struct Connection {
    decoder: Decoder,
    state: State,
    /// Bytes that wait until the replies to those before them have left.
    waiting: Vec<u8>,
}

enum State {
    /// HELLO is expected.
    Greeting,
    /// HELLO has asked for another shard.
    Moving(Hello),
    /// PROVE is expected.
    Proving(Hello, [u8; 16]),
    /// Another connection still uses the session.
    Awaiting(Hello),
    Open(Box<Running>),
    /// The connection has ended, and its session was taken away.
    Ended,
}

/// The next step for a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Next {
    Continue,
    /// Another shard is to own it.
    GoTo(usize),
    /// Its last frame was written.
    Refuse,
}

/// The offset in a frame at which its kind stands.
const KIND_AT: u32 = 3;
const SERIAL_AT: u32 = 16;
const VERSIONS_AT: u32 = 32;

impl Connection {
    pub(crate) fn new() -> Connection {
        Connection { decoder: Decoder::default(), state: State::Greeting, waiting: Vec::new() }
    }

    /// True until it has a session.
    pub(crate) fn is_greeting(&self) -> bool {
        !matches!(self.state, State::Open(_) | State::Ended)
    }

    pub(crate) fn is_awaiting(&self) -> bool {
        matches!(self.state, State::Awaiting(_))
    }

    /// True while a frame is not complete.
    pub(crate) fn is_within_frame(&self) -> bool {
        self.decoder.is_within_frame()
    }

    /// The bytes of memory that it holds.
    pub(crate) fn held(&self) -> usize {
        let session = if let State::Open(session) = &self.state { session.held() } else { 0 };
        self.decoder.held() + self.waiting.capacity() + session
    }

    pub(crate) fn session(&mut self) -> Option<&mut Box<Running>> {
        match &mut self.state {
            State::Open(session) => Some(session),
            _ => None,
        }
    }

    /// Ends the connection, and returns its session.
    pub(crate) fn close(&mut self) -> Option<Box<Running>> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Open(session) => Some(session),
            _ => None,
        }
    }

    /// True if it must not be read while so many bytes of its replies wait.
    pub(crate) fn must_wait(&self, unread: usize) -> bool {
        match &self.state {
            State::Moving(_) | State::Awaiting(_) => true,
            State::Open(session) => {
                session.has_rest() || MOST_WAITING < unread || session.is_full()
            }
            State::Greeting | State::Proving(..) | State::Ended => false,
        }
    }

    /// True if [`Connection::go_on`] has something to do.
    pub(crate) fn has_more(&self) -> bool {
        let has_rest = matches!(&self.state, State::Open(session) if session.has_rest());
        has_rest || !self.waiting.is_empty() || self.is_awaiting()
    }

    /// Processes received bytes. `unread` bytes of its replies wait already.
    pub(crate) fn receive(
        &mut self,
        bytes: &[u8],
        unread: usize,
        desk: &mut Desk,
        out: &mut Vec<u8>,
    ) -> Next {
        if !self.waiting.is_empty() {
            self.waiting.extend_from_slice(bytes);
            return Next::Continue;
        }
        let mut rest = bytes;
        loop {
            let is_cut = !rest.is_empty() && desk.shared.store.is_at_cut();
            desk.met_cut |= is_cut;
            if is_cut || self.must_wait(unread + out.len()) {
                self.waiting.extend_from_slice(rest);
                return self.next();
            }
            let Connection { decoder, state, .. } = self;
            match decoder.next(&mut rest) {
                Ok(None) => return Next::Continue,
                Ok(Some(frame)) => match handle(state, &frame, desk, out) {
                    Ok(()) => self.agree(),
                    Err(refusal) => return self.refuse(refusal, out),
                },
                Err(malformed) => {
                    desk.counts().count(Counted::Malformed, 1);
                    return self.refuse(malformed, out);
                }
            }
        }
    }

    /// Goes on once replies have left, or the session may be free.
    pub(crate) fn go_on(&mut self, unread: usize, desk: &mut Desk, out: &mut Vec<u8>) -> Next {
        if let State::Awaiting(hello) = self.state {
            if let Err(refusal) = begin_session(&mut self.state, hello, desk, out) {
                return self.refuse(refusal, out);
            }
            self.agree();
        }
        if let State::Open(session) = &mut self.state {
            session.go_on(&mut desk.scratch, &desk.shared.counts[desk.shard], out);
        }
        desk.met_cut |= desk.shared.store.is_at_cut();
        if self.waiting.is_empty() || self.must_wait(unread + out.len()) {
            return self.next();
        }
        let waiting = std::mem::take(&mut self.waiting);
        self.receive(&waiting, unread, desk, out)
    }

    /// Continues on the shard that owns the connection from now on.
    pub(crate) fn arrive(&mut self, desk: &mut Desk, out: &mut Vec<u8>) -> Next {
        let State::Moving(hello) = self.state else { return Next::Continue };
        if let Err(refusal) = greet(&mut self.state, hello, desk, out) {
            return self.refuse(refusal, out);
        }
        self.agree();
        self.go_on(0, desk, out)
    }

    fn next(&self) -> Next {
        match self.state {
            State::Moving(hello) => Next::GoTo(hello.shard.unwrap_or(0) as usize),
            _ => Next::Continue,
        }
    }

    /// Has the decoder follow what the session has agreed upon.
    fn agree(&mut self) {
        if let State::Open(session) = &self.state {
            self.decoder.agree(session.checksums);
        }
    }

    /// Writes an ERROR for this reason, and ends the connection.
    pub(crate) fn tell(&mut self, code: Code, out: &mut Vec<u8>) -> Next {
        self.refuse(Malformed { code, offset: 0 }, out)
    }

    /// The session stays in the state until the connection is closed.
    fn refuse(&mut self, why: Malformed, out: &mut Vec<u8>) -> Next {
        let checksums = self.session().map_or(Checksums::On, |session| session.checksums);
        encode_error(why.code, why.offset, why.code.as_str(), checksums, out);
        self.waiting = Vec::new();
        Next::Refuse
    }
}

/// Handles a frame. An error ends the connection.
fn handle(
    state: &mut State,
    frame: &Frame<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let refuse = |code, offset| Err(Malformed { code, offset });
    match (&mut *state, &frame.body) {
        (State::Greeting, Body::Hello(hello)) => {
            if VERSION < hello.versions.0 || hello.versions.1 < VERSION {
                return refuse(Code::Version, VERSIONS_AT);
            }
            if !desk.shared.agrees(hello.position) {
                return refuse(Code::TopologyMismatch, 0);
            }
            let shards = desk.shared.counts.len() as u32;
            let wanted = hello.shard.map_or_else(|| fewest(desk), |wanted| wanted % shards);
            let hello = Hello { shard: Some(wanted), ..*hello };
            if wanted as usize != desk.shard {
                *state = State::Moving(hello);
                return Ok(());
            }
            greet(state, hello, desk, out)
        }
        (State::Proving(hello, nonce), Body::Prove(proof)) => {
            let token = desk.shared.token.as_ref().expect("a proof is expected of a token");
            if !token.is_proven(nonce, proof) {
                return refuse(Code::Denied, 0);
            }
            let hello = *hello;
            begin_session(state, hello, desk, out)
        }
        (State::Open(_), Body::Operate(Verb::Stats)) => {
            report(state, &desk.shared.statistics(), out);
            Ok(())
        }
        (State::Open(_), Body::Operate(Verb::Checkpoint)) => match desk.shared.begin_checkpoint() {
            Some(text) => {
                report(state, &text, out);
                Ok(())
            }
            None => refuse(Code::Unsupported, HEADER_BYTES as u32),
        },
        (State::Open(_), Body::Operate(Verb::Compact)) if desk.shared.store.compact() => {
            begun(state, Verb::Compact, out)
        }
        (State::Open(_), Body::Operate(Verb::Grow)) if desk.shared.store.grow() => {
            begun(state, Verb::Grow, out)
        }
        (State::Open(_), Body::Operate(_)) => refuse(Code::Unsupported, HEADER_BYTES as u32),
        (State::Open(session), Body::RequestFixed(_) | Body::Request(_)) => {
            execute(session, frame, desk, out)
        }
        _ => {
            desk.counts().count(Counted::Malformed, 1);
            refuse(Code::Unexpected, KIND_AT)
        }
    }
}

/// Answers that this work was begun.
fn begun(state: &mut State, verb: Verb, out: &mut Vec<u8>) -> Result<(), Malformed> {
    report(state, &format!("{{\"schema\":\"{}\"}}", schema(verb)), out);
    Ok(())
}

/// Answers an operator.
fn report(state: &mut State, text: &str, out: &mut Vec<u8>) {
    if let State::Open(session) = state {
        session.is_operators = true;
        encode_report(text, session.checksums, out);
    }
}

/// The shard with the fewest connections.
fn fewest(desk: &Desk) -> u32 {
    let open = |shard: usize| {
        let counts = &desk.shared.counts[shard];
        counts.of(Counted::Accepted).wrapping_sub(counts.of(Counted::Closed))
    };
    (0..desk.shared.counts.len()).min_by_key(|shard| open(*shard)).unwrap_or(0) as u32
}

/// Answers a HELLO on the shard that owns the connection.
fn greet(
    state: &mut State,
    hello: Hello,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    if desk.shared.token.is_none() {
        return begin_session(state, hello, desk, out);
    }
    let nonce = desk.nonce();
    desk.welcome(&hello, None, nonce, out);
    *state = State::Proving(hello, nonce);
    Ok(())
}

/// Begins or resumes a session, and answers with its state.
fn begin_session(
    state: &mut State,
    hello: Hello,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let refuse = |code| Err(Malformed { code, offset: 0 });
    let session = match hello.session {
        None => match new_session(desk) {
            Some(session) => session,
            None => return refuse(Code::Busy),
        },
        Some(id) => match desk.shared.sessions.claim(id, desk.shard) {
            Claim::Granted(session) => {
                desk.counts().count(Counted::SessionsResumed, 1);
                session
            }
            Claim::Used(used) => {
                if !desk.wanted.contains(&used) {
                    desk.wanted.push(used);
                }
                *state = State::Awaiting(hello);
                return Ok(());
            }
            Claim::Unknown => match recovered_session(id, desk) {
                Some(session) => session,
                None => return refuse(Code::SessionUnknown),
            },
        },
    };
    let mut session = session;
    session.agree(&hello);
    desk.welcome(&hello, Some(&session), desk.nonce(), out);
    *state = State::Open(session);
    Ok(())
}

fn new_session(desk: &mut Desk) -> Option<Box<Running>> {
    // 0 stands for a new session, and the first ids are those of the shards.
    let id = (desk.random)().max(MOST_SHARDS as u64);
    if !desk.shared.sessions.begin(id, desk.shard) {
        return None;
    }
    match desk.shared.store.session(id) {
        Ok(session) => {
            desk.counts().count(Counted::SessionsOpened, 1);
            Some(Box::new(Running::new(session)))
        }
        Err(_) => {
            desk.shared.sessions.end(id);
            None
        }
    }
}

/// Returns a session that was recovered, and that no connection has resumed since.
fn recovered_session(id: u64, desk: &mut Desk) -> Option<Box<Running>> {
    if !desk.shared.sessions.begin(id, desk.shard) {
        return None;
    }
    match desk.shared.store.resume(id) {
        Ok(session) => {
            desk.counts().count(Counted::SessionsResumed, 1);
            Some(Box::new(Running::new(session)))
        }
        Err(_) => {
            desk.shared.sessions.end(id);
            None
        }
    }
}

/// Executes a batch, or says why not.
fn execute(
    session: &mut Running,
    frame: &Frame<'_>,
    desk: &mut Desk,
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let header = frame.header;
    let counts = &desk.shared.counts[desk.shard];
    if header.view != VIEW {
        counts.count(Counted::WrongViews, 1);
        encode_wrong_view(VIEW, header.serial, &desk.owners(), session.checksums, out);
        return Ok(());
    }
    match session.follows(header, counts, out) {
        Ok(true) => {}
        Ok(false) => return Ok(()),
        Err(code) => {
            counts.count(Counted::Malformed, 1);
            return Err(Malformed { code, offset: SERIAL_AT });
        }
    }
    if !desk.shared.takes(session.position) {
        return Err(Malformed { code: Code::TopologyMismatch, offset: 0 });
    }
    counts.count(Counted::Batches, 1);
    match frame.body {
        Body::RequestFixed(batch) => {
            session.execute_fixed(header, &batch, &mut desk.scratch, counts, out);
        }
        Body::Request(items) => session.execute(header, items, &mut desk.scratch, counts, out),
        _ => unreachable!("only batches are executed"),
    }
    Ok(())
}

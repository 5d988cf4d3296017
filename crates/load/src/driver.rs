//! The seam between a shard and a protocol.

pub mod http1;
pub mod tls;

use std::fmt;

use ::measure::Nanos;
use net::Closed;

/// A place for one connection of a pool; when a connection is lost, its slot gets another one.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Slot(pub u32);

/// Names one outstanding request; chosen by the shard, given back by the driver.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Token(pub u32);

/// A group of requests whose figures are kept apart; [`Label::NONE`] is in none.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Label(pub u16);

impl Label {
    pub const NONE: Label = Label(u16::MAX);
}

/// What became of a request. Every intended request has exactly one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Outcome {
    Ok,
    /// An answer whose status says failure.
    Status,
    /// An answer that a check of the workload did not let pass.
    Check,
    /// No answer in the time allowed; counted as at least that time.
    Timeout,
    /// No connection could be made for it.
    Connect,
    /// The connection broke or closed before the answer was complete.
    Reset,
    /// The connection broke while the request was being written.
    Write,
    /// The answer was not of the protocol.
    Malformed,
    /// It found the backlog at its bound and was never sent.
    Dropped,
    /// Neither answered nor failed when the drain ended; counted as the time it had waited.
    Unfinished,
}

impl Outcome {
    pub const ALL: [Outcome; 10] = [
        Outcome::Ok,
        Outcome::Status,
        Outcome::Check,
        Outcome::Timeout,
        Outcome::Connect,
        Outcome::Reset,
        Outcome::Write,
        Outcome::Malformed,
        Outcome::Dropped,
        Outcome::Unfinished,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Status => "status",
            Outcome::Check => "check",
            Outcome::Timeout => "timeout",
            Outcome::Connect => "connect",
            Outcome::Reset => "reset",
            Outcome::Write => "write",
            Outcome::Malformed => "malformed",
            Outcome::Dropped => "dropped",
            Outcome::Unfinished => "unfinished",
        }
    }

    /// Whether an answer came, good or not.
    pub fn is_answer(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::Status | Outcome::Check)
    }
}

/// A request that is asked of a driver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Asked {
    pub token: Token,
    /// The arrival's place in the sequence that all shards walk: the same request has the same
    /// number however many shards there are.
    pub number: u64,
    /// What the arrival asks for, if it does.
    pub label: Label,
}

/// A request that a driver has finished with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    pub token: Token,
    pub outcome: Outcome,
    /// Of the answer, or of the first bad one of several; 0 where there was none.
    pub status: u16,
    /// Answers that arrived: several to requests that were pipelined together.
    pub answers: u32,
    /// How many of them had a status that says failure.
    pub bad: u32,
    /// Of their bodies.
    pub bytes: u64,
    /// What was wrong, beyond the outcome.
    pub why: &'static str,
}

/// What a driver has to report, lent to its calls.
#[derive(Debug, Default)]
pub struct Reports {
    /// Requests whose answer has begun.
    pub begun: Vec<Token>,
    pub done: Vec<Done>,
    /// Bytes for the peer that belong to no request, such as a handshake's.
    pub wire: Vec<u8>,
}

/// Whether a connection can go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    Continue,
    Close,
    /// It sent bytes that answer no request: what follows cannot be matched to one.
    Unasked,
    /// It can carry no request yet: what secures it goes on.
    Pending,
    /// It is secured, and can carry requests from now on.
    Ready(Handshake),
    /// It is of no use any more. This is what becomes of the requests on it, and why.
    Fail(Outcome, &'static str),
}

/// How a connection was secured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Handshake {
    /// By what an earlier connection had agreed on.
    pub resumed: bool,
    pub version: &'static str,
    pub cipher: &'static str,
}

/// The workload itself failed (an error in a script): no measurement can go on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// Speaks one protocol over the slots of one pool, without I/O.
///
/// The driver knows what to send and what an answer means; it never knows the time.
pub trait Driver {
    /// How many more requests this slot's connection can carry right now.
    fn room(&self, slot: Slot) -> usize;

    /// The slot has a connection; it can carry requests at once (`Continue`), or it is `Pending`
    /// until `receive` says otherwise. What has to be sent for that is appended to `wire`.
    fn opened(&mut self, _slot: Slot, _wire: &mut Vec<u8>) -> Next {
        Next::Continue
    }

    /// Appends the next request to `wire` and remembers its token until it completes. Returns the
    /// request's label.
    fn start(&mut self, slot: Slot, asked: Asked, wire: &mut Vec<u8>) -> Result<Label, Fault>;

    /// Takes in bytes from the peer and reports what they begin and complete.
    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault>;

    /// Whether the peer may still refuse the slot's connection, though it can carry requests.
    fn is_doubtful(&self, _slot: Slot) -> bool {
        false
    }

    /// We are about to close the slot's connection in order; what the peer has to be told is appended
    /// to `wire`.
    fn leaves(&mut self, _slot: Slot, _wire: &mut Vec<u8>) {}

    /// The slot's connection is gone; reports what was outstanding on it as `lost`, but for what
    /// the end of the connection completes. The slot is as new.
    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault>;

    /// Closed loop: how long the user of the next request thinks beyond what the load asks for.
    fn delay(&mut self) -> Result<Nanos, Fault> {
        Ok(Nanos::ZERO)
    }

    /// Does a little of what may be done ahead, while nothing else is due; false if there is
    /// nothing to do.
    fn prepare(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// Whether the time that its calls take is worth being recorded.
    fn is_scripted(&self) -> bool {
        false
    }

    /// Whether the workload wants no more requests to be started.
    fn has_stopped(&self) -> bool {
        false
    }
}

/// Why a connection is gone, and what that makes of the requests on it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lost {
    By(Closed),
    /// We gave it up because this request took too long.
    TooLate(Token),
    /// The driver gave it up: see [`Next::Fail`].
    For(Outcome, &'static str),
}

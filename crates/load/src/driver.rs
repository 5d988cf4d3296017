//! The interface between a shard and a protocol.

pub mod http1;
pub mod kv;
pub mod parts;
pub mod resp;
pub mod tls;

use std::fmt;

use ::measure::Nanos;
use net::Closed;

/// A place for one connection of a pool; when a connection is lost, its slot gets another one.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Slot(pub u32);

/// The index of an endpoint among those of its pool.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Node(pub u32);

/// The identifier of one outstanding request; chosen by the shard, returned by the driver.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Token(pub u32);

/// A group of requests with separate statistics; [`Label::NONE`] is in no group.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Label(pub u16);

impl Label {
    pub const NONE: Label = Label(u16::MAX);
}

/// A user's requests of which each follows from the response to the one before: its index among the
/// sessions of its pool that are in progress. A request with [`Session::NONE`] stands alone.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Session(pub u32);

impl Session {
    pub const NONE: Session = Session(u32::MAX);
}

/// The meaning of an arrival of an open loop, if the requests belong to sessions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Arrivals {
    /// Each begins a session. Its further requests follow from the responses.
    Sessions,
    /// Each is one request: the next of the session that has been ready for the longest time, or the
    /// first of a new one if none is ready.
    Requests,
}

/// The outcome of a request. Every intended request has exactly one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Outcome {
    Ok,
    /// A response whose status indicates failure.
    Status,
    /// A response that failed a check of the workload.
    Check,
    /// A response without a value that the session's next requests need.
    Capture,
    /// No response in the time allowed; counted as at least that time.
    Timeout,
    /// No connection could be made for it.
    Connect,
    /// The connection broke or closed before the response was complete.
    Reset,
    /// The connection broke while the request was being written.
    Write,
    /// The response violated the protocol.
    Malformed,
    /// The backlog was full; the request was never sent.
    Dropped,
    /// No response and no failure when the drain ended; counted as the time it had waited.
    Unfinished,
}

impl Outcome {
    pub const ALL: [Outcome; 11] = [
        Outcome::Ok,
        Outcome::Status,
        Outcome::Check,
        Outcome::Capture,
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
            Outcome::Capture => "capture",
            Outcome::Timeout => "timeout",
            Outcome::Connect => "connect",
            Outcome::Reset => "reset",
            Outcome::Write => "write",
            Outcome::Malformed => "malformed",
            Outcome::Dropped => "dropped",
            Outcome::Unfinished => "unfinished",
        }
    }

    /// True if the target did not end it: it was given up, or never sent.
    pub fn is_given_up(self) -> bool {
        matches!(self, Outcome::Timeout | Outcome::Dropped | Outcome::Unfinished)
    }

    /// True if a response arrived, good or bad.
    pub fn is_answer(self) -> bool {
        matches!(self, Outcome::Ok | Outcome::Status | Outcome::Check | Outcome::Capture)
    }

    /// True if the request ended badly. An unfinished one has not ended.
    pub fn is_failure(self) -> bool {
        !matches!(self, Outcome::Ok | Outcome::Unfinished)
    }

    /// Returns the number of requests that ended badly, of counts in the order of [`Outcome::ALL`].
    pub fn failures(counts: &[u64; Outcome::ALL.len()]) -> u64 {
        let counted = Outcome::ALL.iter().zip(counts);
        counted.filter(|(outcome, _)| outcome.is_failure()).map(|(_, count)| count).sum()
    }
}

/// A request that is handed to a driver.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Asked {
    pub token: Token,
    /// The arrival's position in the sequence that all shards iterate over: the same request has
    /// the same number, however many shards there are.
    pub number: u64,
    /// The label that the arrival asks for, if any.
    pub label: Label,
    /// The session of the request. One that the driver does not know yet begins with it.
    pub session: Session,
    /// True if the driver has reported it in [`Reports::again`] or [`Reports::redirected`]: the same
    /// request is sent again.
    pub again: bool,
}

/// A request that a driver has accepted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Started {
    pub label: Label,
    /// The number of operations that it carries; 0 in a protocol in which a request is one.
    pub operations: u32,
}

impl From<Label> for Started {
    fn from(label: Label) -> Started {
        Started { label, operations: 0 }
    }
}

/// A part of a request that has ended: some of its operations, if their outcome is not that of the
/// request, or a step that has a label of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    pub token: Token,
    /// The label under which its times count, too, unless it is [`Label::NONE`]: a
    /// read-modify-write is a read, an update and both.
    pub label: Label,
    pub outcome: Outcome,
    /// The number of the request's operations in it. All others have the request's outcome.
    pub operations: u32,
}

/// A request that a driver has finished.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    pub token: Token,
    pub outcome: Outcome,
    /// The status of the response, or of the first bad one of several; 0 if there was none.
    pub status: u16,
    /// The responses that arrived: several for requests that were pipelined together.
    pub answers: u32,
    /// The number of them whose status indicates failure.
    pub bad: u32,
    /// The size of their bodies.
    pub bytes: u64,
    /// Details of the failure, beyond the outcome.
    pub why: &'static str,
}

/// The terms of a connection that the network has established, or that has been secured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Opening<'a> {
    /// The endpoint that it leads to.
    pub node: Node,
    /// The protocol that TLS's ALPN chose of [`Driver::alpn`]; `None` without TLS, or if the peer chose
    /// none.
    pub alpn: Option<&'a [u8]>,
}

/// A driver's results, collected in buffers that the caller reuses.
#[derive(Debug, Default)]
pub struct Reports {
    /// Requests whose response has begun.
    pub begun: Vec<Token>,
    /// Parts of requests that have ended before the request, or with it.
    pub steps: Vec<Step>,
    pub done: Vec<Done>,
    /// Requests that the peer has not processed, by the rules of the protocol: they are sent again,
    /// on another connection.
    pub again: Vec<Token>,
    /// Requests that have failed and are sent again after a pause. What failed is reported as a step.
    pub later: Vec<(Token, Nanos)>,
    /// Requests that are to be sent again although the peer may have processed them: it has sent them
    /// elsewhere, or their connection broke, and the next one resumes its session.
    pub redirected: Vec<Redirect>,
    /// Set by [`Driver::receive`] if requests belong to other nodes than before: those that wait are
    /// routed anew.
    pub is_remapped: bool,
    /// Bytes for the peer: requests, and bytes that belong to no request, such as a handshake's.
    pub wire: Vec<u8>,
    /// Requests that were held, and have now been written by [`Driver::start`] or [`Driver::flush`].
    pub sent: Vec<Token>,
    /// Set by [`Driver::start`] or [`Driver::receive`] if the slot holds something that is to be sent
    /// with what follows: the longest time until [`Driver::flush`], shorter than the timeout of
    /// requests. With zero, that is once all requests that are due have been started. A request that
    /// sets it when it is started is itself held.
    pub held: Option<Nanos>,
}

/// A request that is sent again, to the node that the peer has named. It keeps its first `sent`: to
/// be sent elsewhere is part of the service. A bound on such steps is the driver's.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Redirect {
    pub token: Token,
    pub to: Node,
}

/// The next step for a connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    Continue,
    /// It has carried its last request, and is closed by us.
    Close,
    /// It takes no more requests, and is closed by us once it has none.
    Retire,
    /// The peer has ended it, without announcing so in a response.
    Ended,
    /// The peer sent bytes that belong to no request: what follows cannot be matched to one.
    Unasked,
    /// It cannot carry requests yet: it is still being secured.
    Securing,
    /// It cannot carry requests yet: the protocol's own handshake is in progress. Has the TLS
    /// handshake if that has just ended.
    Greeting(Option<Handshake>),
    /// It can carry requests from now on. Has the TLS handshake if that has just ended.
    Ready(Option<Handshake>),
    /// It is of no use any more. Gives the outcome of the requests on it, and the reason.
    Fail(Outcome, &'static str),
}

/// The way in which a connection was secured.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Handshake {
    /// True if the session of an earlier connection was resumed.
    pub resumed: bool,
    pub version: &'static str,
    pub cipher: &'static str,
}

/// The workload itself failed (an error in a script): the measurement cannot continue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Fault(pub String);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

/// An implementation of one protocol for the slots of one pool, without I/O.
///
/// The driver knows what to send and what a response means; it never knows the time. What it writes
/// is appended to [`Reports::wire`]. A driver of TLS ([`tls::Secured`]) encrypts all of it.
pub trait Driver {
    /// The number of further requests that this slot's connection can carry now, or a new one if it
    /// has none. The peer may change it with anything that it sends.
    fn room(&self, slot: Slot) -> usize;

    /// Handles a new connection of the slot. It can carry requests at once (`Continue`), or not
    /// before `receive` returns [`Next::Ready`].
    fn opened(&mut self, _slot: Slot, _opening: Opening<'_>, _reports: &mut Reports) -> Next {
        Next::Continue
    }

    /// Writes the next request, or holds it ([`Reports::held`]), and remembers its token until it
    /// completes. May complete one at once that came back and cannot be sent any more.
    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault>;

    /// Writes all that the slot holds.
    fn flush(&mut self, _slot: Slot, _reports: &mut Reports) {}

    /// Processes bytes from the peer, and reports the requests whose responses begin or complete.
    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault>;

    /// Gives up a request that took too long, if its connection can stay in use: reports its outcome,
    /// and returns true. Otherwise the connection is closed, with all its requests.
    fn cancel(
        &mut self,
        _slot: Slot,
        _token: Token,
        _reports: &mut Reports,
    ) -> Result<bool, Fault> {
        Ok(false)
    }

    /// True while the peer may still refuse the slot's connection, though it can carry requests.
    fn is_doubtful(&self, _slot: Slot) -> bool {
        false
    }

    /// Prepares the orderly close of the slot's connection by us: writes the protocol's closing
    /// message.
    fn leaves(&mut self, _slot: Slot, _reports: &mut Reports) {}

    /// Handles the loss of the slot's connection, and resets the slot. Reports the requests
    /// outstanding on it as `lost`, except one that the end of the connection completes, and those
    /// that are to be sent again, such as those that it held.
    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault>;

    /// True if each request belongs to a node. Then every endpoint of the pool has connections and a
    /// backlog of its own, so that a slow node delays only its own requests.
    fn is_routed(&self) -> bool {
        false
    }

    /// The node of a request, if requests belong to nodes: asked when it is due, and whenever the
    /// driver has reported that this changes.
    fn route(&mut self, _number: u64, _label: Label) -> Node {
        Node(0)
    }

    /// Handles the end of a request that is never started, or not started again, such as one for a node
    /// that cannot be reached.
    fn unsent(&mut self, _number: u64, label: Label) -> Started {
        label.into()
    }

    /// The longest time that a request waits while no connection can be opened, from when it was due or came back.
    /// With zero, each attempt that fails ends one.
    fn patience(&self) -> Nanos {
        Nanos::ZERO
    }

    /// The number of users of a closed loop; `None` for as many as the connections have room for.
    fn users(&self) -> Option<usize> {
        None
    }

    /// The protocol's names for TLS's ALPN, the preferred one first; empty to offer none.
    fn alpn(&self) -> &'static [&'static [u8]] {
        &[]
    }

    /// True if a connection stays in use after a response that arrived before our bytes were completely
    /// written, as where each message says how long it is. Otherwise the peer would take the rest of
    /// a request for another one.
    fn outlives_early_responses(&self) -> bool {
        false
    }

    /// The meaning of an arrival if the requests belong to sessions; `None` if each stands alone.
    fn sessions(&self) -> Option<Arrivals> {
        None
    }

    /// Handles the end of a session's request, sent or not, and returns the think time before the next
    /// one. With `None` the session has ended, and its index may be used for another one.
    fn follow(&mut self, _session: Session, _outcome: Outcome) -> Option<Nanos> {
        None
    }

    /// Closed loop: the think time of the next request's user, in addition to the load's own.
    fn delay(&mut self) -> Result<Nanos, Fault> {
        Ok(Nanos::ZERO)
    }

    /// Does a little work in advance, while nothing else is due; false if there is nothing to do.
    fn prepare(&mut self) -> Result<bool, Fault> {
        Ok(false)
    }

    /// True if the time of its calls should be recorded.
    fn is_scripted(&self) -> bool {
        false
    }

    /// True if the workload wants no more requests to be started.
    fn has_stopped(&self) -> bool {
        false
    }
}

/// One type for the drivers of several protocols.
impl<D: Driver + ?Sized> Driver for Box<D> {
    fn room(&self, slot: Slot) -> usize {
        (**self).room(slot)
    }

    fn opened(&mut self, slot: Slot, opening: Opening<'_>, reports: &mut Reports) -> Next {
        (**self).opened(slot, opening, reports)
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        (**self).start(slot, asked, reports)
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        (**self).receive(slot, bytes, reports)
    }

    fn flush(&mut self, slot: Slot, reports: &mut Reports) {
        (**self).flush(slot, reports);
    }

    fn cancel(&mut self, slot: Slot, token: Token, reports: &mut Reports) -> Result<bool, Fault> {
        (**self).cancel(slot, token, reports)
    }

    fn is_doubtful(&self, slot: Slot) -> bool {
        (**self).is_doubtful(slot)
    }

    fn leaves(&mut self, slot: Slot, reports: &mut Reports) {
        (**self).leaves(slot, reports);
    }

    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        (**self).closed(slot, lost, reports)
    }

    fn is_routed(&self) -> bool {
        (**self).is_routed()
    }

    fn route(&mut self, number: u64, label: Label) -> Node {
        (**self).route(number, label)
    }

    fn unsent(&mut self, number: u64, label: Label) -> Started {
        (**self).unsent(number, label)
    }

    fn patience(&self) -> Nanos {
        (**self).patience()
    }

    fn users(&self) -> Option<usize> {
        (**self).users()
    }

    fn alpn(&self) -> &'static [&'static [u8]] {
        (**self).alpn()
    }

    fn outlives_early_responses(&self) -> bool {
        (**self).outlives_early_responses()
    }

    fn sessions(&self) -> Option<Arrivals> {
        (**self).sessions()
    }

    fn follow(&mut self, session: Session, outcome: Outcome) -> Option<Nanos> {
        (**self).follow(session, outcome)
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

/// The reason why a connection is gone, which determines the outcome of its requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Lost {
    By(Closed),
    /// We closed it, as the last response asked: see [`Next::Close`].
    ByUs,
    /// We closed it because this request took too long.
    TooLate(Token),
    /// The driver gave it up: see [`Next::Fail`].
    For(Outcome, &'static str),
}

//! The seam between a shard and a protocol.

pub mod http1;

use std::fmt;

use net::Closed;

/// A place for one connection to a target; when a connection is lost, its seat gets another one.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Seat(pub u32);

/// Names one outstanding request; chosen by the shard, given back by the driver.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Token(pub u32);

/// What became of a request. Every intended request has exactly one.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Outcome {
    Ok,
    /// An answer whose status says failure.
    Status,
    /// No answer in the time allowed; counted as at least that time.
    Timeout,
    /// No connection could be made for it.
    Connect,
    /// The connection broke or closed before the answer was complete.
    Reset,
    /// The answer was not of the protocol.
    Malformed,
    /// It found the backlog at its bound and was never sent.
    Dropped,
    /// Neither answered nor failed when the drain ended; counted as the time it had waited.
    Unfinished,
}

impl Outcome {
    pub const ALL: [Outcome; 8] = [
        Outcome::Ok,
        Outcome::Status,
        Outcome::Timeout,
        Outcome::Connect,
        Outcome::Reset,
        Outcome::Malformed,
        Outcome::Dropped,
        Outcome::Unfinished,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Status => "status",
            Outcome::Timeout => "timeout",
            Outcome::Connect => "connect",
            Outcome::Reset => "reset",
            Outcome::Malformed => "malformed",
            Outcome::Dropped => "dropped",
            Outcome::Unfinished => "unfinished",
        }
    }
}

/// A request that a driver has finished with. `status` is 0 where there was no answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    pub token: Token,
    pub outcome: Outcome,
    pub status: u16,
}

/// Whether a connection can go on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Next {
    Continue,
    Close,
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

/// Speaks one protocol over the seats of one target, without I/O.
///
/// The driver knows what to send and what an answer means; it never knows the time.
pub trait Driver {
    /// How many more requests this seat's connection can carry right now.
    fn room(&self, seat: Seat) -> usize;

    /// Appends the next request to `wire` and remembers `token` until it completes.
    fn start(&mut self, seat: Seat, token: Token, wire: &mut Vec<u8>) -> Result<(), Fault>;

    /// Takes in bytes from the peer and reports each request which they complete.
    fn receive(&mut self, seat: Seat, bytes: &[u8], completed: &mut Vec<Done>) -> Next;

    /// The seat's connection is gone; reports what was outstanding on it. The seat is as new.
    fn closed(&mut self, seat: Seat, how: Closed, completed: &mut Vec<Done>);
}

//! The seam between a shard and the world.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use measure::Instant;

/// Where a connection leads, and where it comes from.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Endpoint {
    pub address: Address,
    /// The local address; `None` leaves it to the kernel.
    pub source: Option<IpAddr>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Address {
    Inet(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Endpoint {
        Endpoint { address: Address::Inet(address), source: None }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Inet(address) => write!(f, "{address}"),
            Address::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Names one connection from its `connect` or accept until it is closed; then it is used again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(pub u32);

/// What happened to a connection.
#[derive(Debug, Eq, PartialEq)]
pub enum Event<'a> {
    /// A connection asked for with [`Io::connect`] can be used.
    Connected(ConnectionId),
    /// A peer connected to a socket that listens.
    Accepted(ConnectionId),
    /// Bytes arrived. They are valid until the next event is taken.
    Received(ConnectionId, &'a [u8]),
    /// The connection is gone, and its name with it.
    Closed(ConnectionId, Closed),
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Closed {
    /// It never came to be: nobody listens there.
    Refused,
    /// It never came to be: no route, no answer.
    Unreachable,
    /// It never came to be: this machine had no local port, descriptor or memory left for it.
    Exhausted,
    /// The peer closed it in order.
    ByPeer,
    /// It broke.
    Reset,
    /// It broke while we were writing.
    WhileWriting,
}

/// Where bytes and time come from: `Epoll` and `Uring` (`Sockets` is either of them), and `Simulation`.
pub trait Io {
    fn now(&mut self) -> Instant;

    /// Begins to connect; `Connected` or `Closed` will follow.
    fn connect(&mut self, to: &Endpoint) -> ConnectionId;

    /// Hands bytes to the network. What it does not take at once is kept and sent when it does.
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]);

    /// Whether bytes may wait here for others after [`Io::send`], to be handed over together.
    fn holds_back(&self) -> bool {
        false
    }

    /// When the bytes that were held back so far were handed to the network, if that has happened
    /// since this was last asked. [`Io::wait`] hands over what there is.
    fn handed_over(&mut self) -> Option<Instant> {
        None
    }

    /// Whether the network has taken everything that was sent.
    fn is_flushed(&self, connection: ConnectionId) -> bool;

    /// Closes at once; no event about this connection follows.
    fn close(&mut self, connection: ConnectionId);

    /// Waits for the first events, but never past `until`, and returns the time.
    fn wait(&mut self, until: Instant) -> Instant;

    /// The next event that the last `wait` found.
    fn next_event(&mut self) -> Option<Event<'_>>;
}

//! The interface between a shard and the network.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::{fmt, io};

use measure::Instant;

/// The remote and the local address of a connection.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Endpoint {
    pub address: Address,
    /// The local address; `None` leaves it to the kernel.
    pub source: Option<IpAddr>,
}

#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Address {
    Inet(SocketAddr),
    /// A Unix socket in the file system.
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

/// The id of a connection from its `connect` or accept until it is closed, or of a listener; then
/// it is used again.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ConnectionId(pub u32);

/// A socket that accepts connections.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Listener {
    /// The id that closes it.
    pub id: ConnectionId,
    /// The address, with the port that was assigned if 0 was requested.
    pub address: SocketAddr,
}

/// An event on a connection.
#[derive(Debug, Eq, PartialEq)]
pub enum Event<'a> {
    /// A connection requested with [`Io::connect`] can be used.
    Connected(ConnectionId),
    /// A peer connected to a listener, and the connection can be used.
    Accepted(ConnectionId),
    /// Bytes arrived. They are valid until the next event is taken.
    Received(ConnectionId, &'a [u8]),
    /// The connection is gone, and its id is free.
    Closed(ConnectionId, Closed),
}

/// The way in which a connection ended.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Closed {
    /// It was not established: no process listens there.
    Refused,
    /// It was not established: no route, no answer.
    Unreachable,
    /// It was not established: this machine had no local port, descriptor or memory left for it.
    Exhausted,
    /// The peer closed it in order.
    ByPeer,
    /// The connection broke.
    Reset,
    /// The connection broke while we were writing.
    WhileWriting,
}

/// A source of bytes and time: `Epoll`, `Uring` (`Sockets` is either of them) or `Simulation`.
pub trait Io {
    fn now(&mut self) -> Instant;

    /// Begins to connect; `Connected` or `Closed` will follow.
    fn connect(&mut self, to: &Endpoint) -> ConnectionId;

    /// Accepts connections on this address from now on: `Accepted` follows for each of them. Fails
    /// if the address is in use, or is not one of this machine.
    fn listen(&mut self, at: SocketAddr) -> io::Result<Listener>;

    /// Sends bytes. What the network does not take at once is kept and sent later.
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]);

    /// True if bytes may wait after [`Io::send`], to be handed to the network together with others.
    fn holds_back(&self) -> bool {
        false
    }

    /// The time when the bytes held back so far were handed to the network, if that has happened
    /// since the last call. [`Io::wait`] hands over all that are left.
    fn handed_over(&mut self) -> Option<Instant> {
        None
    }

    /// True once the network has taken everything that was sent.
    fn is_flushed(&self, connection: ConnectionId) -> bool;

    /// Closes a connection or a listener at once; no event about it follows. The connections of a
    /// listener that were not reported yet are reset.
    fn close(&mut self, connection: ConnectionId);

    /// Waits for the first events, but never past `until`, and returns the time.
    fn wait(&mut self, until: Instant) -> Instant;

    /// Returns the next event that the last `wait` found.
    fn next_event(&mut self) -> Option<Event<'_>>;
}

//! The needs of a server with several threads beyond [`Io`](crate::Io): connections that are not read
//! for a while, connections that another thread takes over, and a wake-up from another thread.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use super::{Epoll, State};
use crate::io::ConnectionId;
use crate::socket;

/// Ends the wait of an [`Epoll`] from another thread.
#[derive(Clone, Debug)]
pub struct Waker(Arc<OwnedFd>);

impl Waker {
    /// Ends the current wait, or else the next one.
    pub fn wake(&self) {
        let one = 1u64;
        // SAFETY: eight bytes that are valid for the call. It could fail only after 2^64 calls.
        unsafe { libc::write(self.0.as_raw_fd(), (&raw const one).cast(), size_of::<u64>()) };
    }
}

impl Epoll {
    /// Returns what ends the waits of this one.
    pub fn waker(&mut self) -> io::Result<Waker> {
        // SAFETY: a call without pointers.
        let wake =
            socket::owned(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })?;
        self.register(wake.try_clone()?, State::Wake)?;
        Ok(Waker(Arc::new(wake)))
    }

    /// Reads nothing more of an open connection, and does not report its end, until
    /// [`Epoll::resume`]. What is sent still leaves.
    pub fn pause(&mut self, connection: ConnectionId) {
        self.set_paused(connection, true);
    }

    /// Reads a connection again, and reports what has arrived meanwhile.
    pub fn resume(&mut self, connection: ConnectionId) {
        self.set_paused(connection, false);
    }

    fn set_paused(&mut self, connection: ConnectionId, paused: bool) {
        let slot = &mut self.slots[connection.0 as usize];
        assert!(slot.state == State::Open, "only an open connection is paused");
        if slot.paused != paused {
            slot.paused = paused;
            let writable = !slot.unsent.is_empty();
            self.watch_writable(connection, writable);
        }
    }

    /// The bytes that were sent and that the network has not taken yet.
    pub fn unsent(&self, connection: ConnectionId) -> usize {
        self.slots[connection.0 as usize].unsent.len()
    }

    /// Sends nothing more on an open connection, so that the peer reads its end. What it sends is still
    /// read.
    pub fn end_sending(&mut self, connection: ConnectionId) {
        let fd = self.descriptor(connection).expect("an open connection has a socket");
        // SAFETY: a call without pointers. Where it fails the connection is broken, and reported so.
        unsafe { libc::shutdown(fd, libc::SHUT_WR) };
    }

    /// Gives an open connection away, as [`Epoll::adopt`] takes it; no event about it follows, and its
    /// id is free. What was not read yet goes with it.
    ///
    /// # Panics
    ///
    /// Bytes were sent that the kernel has not taken.
    pub fn give_away(&mut self, connection: ConnectionId) -> OwnedFd {
        let slot = &self.slots[connection.0 as usize];
        assert!(
            slot.state == State::Open && slot.unsent.is_empty(),
            "an open connection is given away, with all that was sent"
        );
        let fd = self.descriptor(connection).expect("an open connection has a socket");
        self.control(libc::EPOLL_CTL_DEL, fd, connection, 0)
            .expect("a registered socket can be removed");
        let socket = self.slots[connection.0 as usize].socket.take();
        self.release(connection);
        socket.expect("an open connection has a socket")
    }

    /// Takes over a connection that another thread has given away.
    pub fn adopt(&mut self, connection: OwnedFd) -> io::Result<ConnectionId> {
        self.register(connection, State::Open)
    }
}

//! Real sockets by the interface that was chosen for a load.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use measure::{Histogram, Instant};

use crate::files::{Completion, FileId, Files, FolderId, Listed, Open, Operation};
use crate::io::{ConnectionId, Endpoint, Event, Io, Listener};
use crate::{Epoll, Timer, Uring, Waited};

/// The kernel's interface by which a shard waits and moves bytes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Interface {
    Epoll,
    Uring,
}

impl Interface {
    pub fn name(self) -> &'static str {
        match self {
            Interface::Epoll => "epoll",
            Interface::Uring => "uring",
        }
    }
}

/// Sockets by either interface.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each shard, and it is never moved")]
pub enum Sockets {
    Epoll(Epoll),
    Uring(Uring),
}

impl Sockets {
    /// Opens it for the calling thread alone. Fails with the reason if the kernel does not grant
    /// it.
    pub fn new(by: Interface, timer: Timer) -> Result<Sockets, String> {
        match by {
            Interface::Epoll => Epoll::new(timer)
                .map(Sockets::Epoll)
                .map_err(|e| format!("waiting with epoll_pwait2 (Linux 5.11): {e}")),
            Interface::Uring => {
                Uring::new(timer).map(Sockets::Uring).map_err(|why| format!("io_uring: {why}"))
            }
        }
    }

    /// See [`Epoll::with_congestion_control`].
    pub fn with_congestion_control(self, name: Option<String>) -> Sockets {
        match self {
            Sockets::Epoll(io) => Sockets::Epoll(io.with_congestion_control(name)),
            Sockets::Uring(io) => Sockets::Uring(io.with_congestion_control(name)),
        }
    }

    /// See [`Epoll::with_kernel_timestamps`]; only epoll has it.
    pub fn with_kernel_timestamps(self) -> Result<Sockets, String> {
        match self {
            Sockets::Epoll(epoll) => epoll
                .with_kernel_timestamps()
                .map(Sockets::Epoll)
                .map_err(|e| format!("stamping what is received (SO_TIMESTAMPING): {e}")),
            Sockets::Uring(_) => Err("io_uring does not stamp what is received".to_owned()),
        }
    }

    /// Counts only waits from `start` until `end` in [`Sockets::waited`].
    pub fn count_waits(&mut self, start: Instant, end: Instant) {
        match self {
            Sockets::Epoll(epoll) => epoll.count_waits(start, end),
            Sockets::Uring(uring) => uring.count_waits(start, end),
        }
    }

    /// The measurements of the waits.
    pub fn waited(&self) -> &Waited {
        match self {
            Sockets::Epoll(epoll) => epoll.waited(),
            Sockets::Uring(uring) => uring.waited(),
        }
    }

    /// See [`Epoll::count_receive_delays`].
    pub fn count_receive_delays(&mut self, start: Instant, end: Instant) {
        if let Sockets::Epoll(epoll) = self {
            epoll.count_receive_delays(start, end);
        }
    }

    /// See [`Epoll::receive_delays`].
    pub fn receive_delays(&self) -> Option<&Histogram> {
        match self {
            Sockets::Epoll(epoll) => epoll.receive_delays(),
            Sockets::Uring(_) => None,
        }
    }
}

impl Io for Sockets {
    #[inline]
    fn now(&mut self) -> Instant {
        match self {
            Sockets::Epoll(io) => io.now(),
            Sockets::Uring(io) => io.now(),
        }
    }

    fn connect(&mut self, to: &Endpoint) -> ConnectionId {
        match self {
            Sockets::Epoll(io) => io.connect(to),
            Sockets::Uring(io) => io.connect(to),
        }
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<Listener> {
        match self {
            Sockets::Epoll(io) => io.listen(at),
            Sockets::Uring(io) => io.listen(at),
        }
    }

    #[inline]
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        match self {
            Sockets::Epoll(io) => io.send(connection, bytes),
            Sockets::Uring(io) => io.send(connection, bytes),
        }
    }

    #[inline]
    fn holds_back(&self) -> bool {
        match self {
            Sockets::Epoll(io) => io.holds_back(),
            Sockets::Uring(io) => io.holds_back(),
        }
    }

    #[inline]
    fn handed_over(&mut self) -> Option<Instant> {
        match self {
            Sockets::Epoll(io) => io.handed_over(),
            Sockets::Uring(io) => io.handed_over(),
        }
    }

    #[inline]
    fn is_flushed(&self, connection: ConnectionId) -> bool {
        match self {
            Sockets::Epoll(io) => io.is_flushed(connection),
            Sockets::Uring(io) => io.is_flushed(connection),
        }
    }

    fn close(&mut self, connection: ConnectionId) {
        match self {
            Sockets::Epoll(io) => io.close(connection),
            Sockets::Uring(io) => io.close(connection),
        }
    }

    #[inline]
    fn wait(&mut self, until: Instant) -> Instant {
        match self {
            Sockets::Epoll(io) => io.wait(until),
            Sockets::Uring(io) => io.wait(until),
        }
    }

    #[inline]
    fn next_event(&mut self) -> Option<Event<'_>> {
        match self {
            Sockets::Epoll(io) => io.next_event(),
            Sockets::Uring(io) => io.next_event(),
        }
    }
}

impl Files for Sockets {
    fn folder(&mut self, path: &Path) -> io::Result<FolderId> {
        match self {
            Sockets::Epoll(io) => io.folder(path),
            Sockets::Uring(io) => io.folder(path),
        }
    }

    fn list(&mut self, folder: FolderId) -> io::Result<Vec<Listed>> {
        match self {
            Sockets::Epoll(io) => io.list(folder),
            Sockets::Uring(io) => io.list(folder),
        }
    }

    fn open(&mut self, folder: FolderId, name: &str, how: Open) -> io::Result<FileId> {
        match self {
            Sockets::Epoll(io) => io.open(folder, name, how),
            Sockets::Uring(io) => io.open(folder, name, how),
        }
    }

    fn close_file(&mut self, file: FileId) {
        match self {
            Sockets::Epoll(io) => io.close_file(file),
            Sockets::Uring(io) => io.close_file(file),
        }
    }

    fn room(&self) -> usize {
        match self {
            Sockets::Epoll(io) => io.room(),
            Sockets::Uring(io) => io.room(),
        }
    }

    fn begin(&mut self, file: FileId, operation: Operation, token: u64) {
        match self {
            Sockets::Epoll(io) => io.begin(file, operation, token),
            Sockets::Uring(io) => io.begin(file, operation, token),
        }
    }

    fn remove(&mut self, folder: FolderId, name: &str, token: u64) {
        match self {
            Sockets::Epoll(io) => io.remove(folder, name, token),
            Sockets::Uring(io) => io.remove(folder, name, token),
        }
    }

    fn rename(&mut self, folder: FolderId, from: &str, to: &str, token: u64) {
        match self {
            Sockets::Epoll(io) => io.rename(folder, from, to, token),
            Sockets::Uring(io) => io.rename(folder, from, to, token),
        }
    }

    fn next_completion(&mut self) -> Option<Completion> {
        match self {
            Sockets::Epoll(io) => io.next_completion(),
            Sockets::Uring(io) => io.next_completion(),
        }
    }
}

//! [`Io`] over real non-blocking sockets and epoll, one instance per shard.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use measure::{Histogram, Instant, Nanos};

use crate::clock;
use crate::files::{Pool, WithCalls};
use crate::io::{Closed, ConnectionId, Endpoint, Event, Io, Listener};
use crate::process;
use crate::socket::{self, why_not_connected};
use crate::timer::{self, Poll, Timer, Waited, Waits};

use self::timestamps::ReceiveDelays;

pub use self::serving::Waker;

mod serving;
#[cfg(test)]
mod tests;
mod timestamps;

/// The most ready sockets taken from the kernel at once.
const MOST_READY: usize = 256;
/// The most bytes read from a socket at once; the rest is read in the next turn.
const READ_BYTES: usize = 64 * 1024;
/// The time between two attempts to accept while no descriptor is free.
const BETWEEN_ATTEMPTS: Nanos = Nanos::from_millis(100);

/// The events after which no more bytes arrive.
const ENDED: u32 = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;

/// Checks that the kernel grants [`Epoll::with_kernel_timestamps`]; otherwise returns the reason.
pub fn kernel_timestamps_granted() -> io::Result<()> {
    timestamps::probe()
}

/// Sockets by epoll, edge-triggered: the kernel checks a socket once for each arrival.
/// Level-triggered it would check the socket again in the next turn.
#[derive(Debug)]
pub struct Epoll {
    epoll: OwnedFd,
    waits: Waits,
    slots: Vec<Slot>,
    free: Vec<u32>,
    ready: Vec<libc::epoll_event>,
    /// The number of entries of `ready` that were handed out.
    taken: usize,
    /// Ready sockets that were not read to their end: the kernel will not report them again.
    again: Vec<libc::epoll_event>,
    /// Connections whose system call has failed already: they are reported before everything else.
    failed: Vec<(ConnectionId, Closed)>,
    buffer: Vec<u8>,
    /// The receive delays, if the kernel's timestamps are used.
    delays: Option<Box<ReceiveDelays>>,
    /// TCP's congestion control, if not the system's.
    congestion: Option<String>,
    /// Threads for files, once a folder is open.
    files: Option<Box<Pool>>,
    /// A listener that is not watched until then, since no descriptor was free for a connection.
    deaf: Option<(ConnectionId, Instant)>,
}

#[derive(Debug)]
struct Slot {
    socket: Option<OwnedFd>,
    state: State,
    /// Bytes that the kernel has not taken yet.
    unsent: Vec<u8>,
    /// The connection takes no more bytes. What the peer sent before is still to be read.
    broken: bool,
    /// Nothing is read: see [`Epoll::pause`].
    paused: bool,
    /// Counts the uses of this slot, to recognise events of an earlier use.
    generation: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Connecting,
    Open,
    Listening,
    /// Not a socket: it ends a wait when operations on files have completed.
    Wake,
}

/// An event whose bytes are not lent yet.
enum Ready {
    Connected(ConnectionId),
    Accepted(ConnectionId),
    Received(ConnectionId, usize),
    Closed(ConnectionId, Closed),
}

impl Epoll {
    pub fn new(timer: Timer) -> io::Result<Epoll> {
        // SAFETY: a call without pointers.
        let epoll = socket::owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        let none = libc::epoll_event { events: 0, u64: 0 };
        let mut new = Epoll {
            epoll,
            waits: Waits::new(timer),
            slots: Vec::new(),
            free: Vec::new(),
            ready: vec![none; MOST_READY],
            taken: 0,
            again: Vec::new(),
            failed: Vec::new(),
            buffer: vec![0; READ_BYTES],
            delays: None,
            congestion: None,
            files: None,
            deaf: None,
        };
        // An old kernel without the call fails here, not in the first wait.
        new.take_ready(Nanos::ZERO)?;
        new.ready.clear();
        Ok(new)
    }

    /// Uses the congestion control of this name, which [`crate::congestion::check`] has granted,
    /// for all later connections; `None` keeps the system's.
    pub fn with_congestion_control(self, name: Option<String>) -> Epoll {
        Epoll { congestion: name, ..self }
    }

    /// Has the kernel stamp what later connections receive, which costs two readings of the clock
    /// for each read; see [`Epoll::receive_delays`]. Fails if the kernel does not grant it.
    pub fn with_kernel_timestamps(self) -> io::Result<Epoll> {
        timestamps::probe()?;
        Ok(Epoll { delays: Some(Box::default()), ..self })
    }

    /// Counts only waits from `start` until `end` in [`Epoll::waited`].
    pub fn count_waits(&mut self, start: Instant, end: Instant) {
        self.waits.count(start, end);
    }

    /// The measurements of the waits.
    pub fn waited(&self) -> &Waited {
        self.waits.waited()
    }

    /// Counts only reads from `start` until `end`.
    pub fn count_receive_delays(&mut self, start: Instant, end: Instant) {
        if let Some(delays) = &mut self.delays {
            delays.count(start, end);
        }
    }

    /// The time from the arrival of the last byte of each read in the kernel until the read. `None`
    /// without timestamps.
    pub fn receive_delays(&self) -> Option<&Histogram> {
        self.delays.as_ref().map(|delays| delays.histogram())
    }

    /// As [`Io::next_event`], with the time when the kernel received the last byte of the event.
    /// `None` without timestamps, and for events without bytes.
    pub fn next_stamped(&mut self) -> Option<(Event<'_>, Option<Instant>)> {
        let ready = self.next_ready()?;
        let stamp = match ready {
            Ready::Received(..) => self.delays.as_ref().and_then(|delays| delays.latest()),
            _ => None,
        };
        Some((self.lend(ready), stamp))
    }

    fn register(&mut self, socket: OwnedFd, state: State) -> io::Result<ConnectionId> {
        let id = self.reserve(state);
        let slot = &mut self.slots[id.0 as usize];
        let fd = socket.as_raw_fd();
        slot.socket = Some(socket);
        let interest = match state {
            // Level-triggered: a connection that finds no free descriptor is accepted later.
            State::Listening => LISTENING,
            State::Wake => (libc::EPOLLIN | libc::EPOLLET) as u32,
            state => interest(state == State::Connecting, false),
        };
        if let Err(error) = self.control(libc::EPOLL_CTL_ADD, fd, id, interest) {
            self.release(id);
            return Err(error);
        }
        Ok(id)
    }

    fn reserve(&mut self, state: State) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            let unsent = Vec::new();
            let (broken, paused) = (false, false);
            self.slots.push(Slot { socket: None, state, unsent, broken, paused, generation: 0 });
            self.slots.len() as u32 - 1
        });
        self.slots[index as usize].state = state;
        ConnectionId(index)
    }

    /// Closes the socket and frees the id.
    fn release(&mut self, id: ConnectionId) {
        let slot = &mut self.slots[id.0 as usize];
        slot.socket = None;
        slot.unsent.clear();
        slot.broken = false;
        slot.paused = false;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.0);
    }

    fn control(
        &self,
        operation: libc::c_int,
        fd: RawFd,
        id: ConnectionId,
        interest: u32,
    ) -> io::Result<()> {
        let generation = self.slots[id.0 as usize].generation;
        let data = u64::from(generation) << 32 | u64::from(id.0);
        let mut event = libc::epoll_event { events: interest, u64: data };
        // SAFETY: `event` is valid for the call.
        let result = unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Switches the report that the socket takes bytes on or off.
    fn watch_writable(&self, id: ConnectionId, writable: bool) {
        let fd = self.descriptor(id).expect("only an open connection is watched");
        let interest = interest(writable, self.slots[id.0 as usize].paused);
        self.control(libc::EPOLL_CTL_MOD, fd, id, interest)
            .expect("a registered socket can be registered otherwise");
    }

    fn descriptor(&self, id: ConnectionId) -> Option<RawFd> {
        self.slots[id.0 as usize].socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Takes ready sockets from the kernel, waiting for at most `timeout`.
    fn take_ready(&mut self, timeout: Nanos) -> io::Result<()> {
        self.taken = 0;
        self.ready.clear();
        let timeout = clock::timespec(timeout.0);
        // SAFETY: `ready` has room for MOST_READY events, `timeout` is valid, no signal mask is
        // passed.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.ready.as_mut_ptr(),
                MOST_READY as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        match usize::try_from(count) {
            Ok(count) => {
                // SAFETY: the kernel has written this many events.
                unsafe { self.ready.set_len(count) };
                for event in self.again.drain(..) {
                    // Reported again, it needs no second entry.
                    let id = event.u64;
                    if !self.ready[..count].iter().any(|ready| ready.u64 == id) {
                        self.ready.push(event);
                    }
                }
                Ok(())
            }
            Err(_) => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            },
        }
    }

    fn next_ready(&mut self) -> Option<Ready> {
        if let Some((id, why)) = self.failed.pop() {
            self.release(id);
            return Some(Ready::Closed(id, why));
        }
        while let Some(&event) = self.ready.get(self.taken) {
            let data = event.u64;
            let id = ConnectionId(data as u32);
            let slot = &self.slots[id.0 as usize];
            if slot.generation != (data >> 32) as u32 {
                self.taken += 1;
                continue;
            }
            // A listener stays current until no connection waits to be accepted.
            if slot.state == State::Listening {
                match self.accept(id) {
                    Some(accepted) => return Some(Ready::Accepted(accepted)),
                    None => self.taken += 1,
                }
                continue;
            }
            self.taken += 1;
            let found = match slot.state {
                State::Connecting => self.connected(id),
                State::Wake => None,
                State::Open | State::Listening => self.readable(id, event),
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn lend(&self, ready: Ready) -> Event<'_> {
        match ready {
            Ready::Connected(id) => Event::Connected(id),
            Ready::Accepted(id) => Event::Accepted(id),
            Ready::Received(id, count) => Event::Received(id, &self.buffer[..count]),
            Ready::Closed(id, why) => Event::Closed(id, why),
        }
    }

    fn has_completed(&self) -> bool {
        self.files.as_ref().is_some_and(|files| files.has_completed())
    }

    fn accept(&mut self, listener: ConnectionId) -> Option<ConnectionId> {
        let fd = self.descriptor(listener)?;
        // If one new connection fails, since it has left, the others must still be accepted.
        match socket::accept(fd) {
            Ok(socket) => self.register(socket, State::Open).ok(),
            Err(error) => {
                if process::lacks_descriptors(&error) {
                    // The kernel would report it again at once.
                    self.watch_listener(listener, 0);
                    self.deaf = Some((listener, clock::now() + BETWEEN_ATTEMPTS));
                }
                None
            }
        }
    }

    fn watch_listener(&self, listener: ConnectionId, interest: u32) {
        // It may be closed by now, and its slot in use.
        let is_there = self.slots[listener.0 as usize].state == State::Listening;
        if let Some(fd) = self.descriptor(listener).filter(|_| is_there) {
            self.control(libc::EPOLL_CTL_MOD, fd, listener, interest)
                .expect("a registered socket can be registered otherwise");
        }
    }

    /// Watches a listener again whose time has come. Returns how long to wait for events at most.
    fn hear_again(&mut self, longest: Nanos) -> Nanos {
        let Some((listener, then)) = self.deaf else { return longest };
        let now = clock::now();
        if now < then {
            return longest.min(then - now);
        }
        self.deaf = None;
        self.watch_listener(listener, LISTENING);
        longest
    }

    fn connected(&mut self, id: ConnectionId) -> Option<Ready> {
        let fd = self.descriptor(id)?;
        if let Some(error) = socket::pending_error(fd) {
            self.release(id);
            return Some(Ready::Closed(id, why_not_connected(error)));
        }
        self.slots[id.0 as usize].state = State::Open;
        self.watch_writable(id, !self.slots[id.0 as usize].unsent.is_empty());
        Some(Ready::Connected(id))
    }

    fn readable(&mut self, id: ConnectionId, event: libc::epoll_event) -> Option<Ready> {
        let events = event.events;
        if events & libc::EPOLLOUT as u32 != 0 {
            self.flush(id);
        }
        if events & !(libc::EPOLLOUT as u32) == 0 || self.slots[id.0 as usize].paused {
            return None;
        }
        let fd = self.descriptor(id)?;
        let count = match &mut self.delays {
            None => socket::receive(fd, &mut self.buffer),
            Some(delays) => delays.receive(fd, &mut self.buffer),
        };
        let how = match usize::try_from(count) {
            Ok(0) => Closed::ByPeer,
            Ok(count) => {
                if count == READ_BYTES || events & ENDED != 0 {
                    self.again.push(event);
                }
                return Some(Ready::Received(id, count));
            }
            Err(_) if would_block() => return None,
            Err(_) => Closed::Reset,
        };
        let broken = self.slots[id.0 as usize].broken;
        self.release(id);
        Some(Ready::Closed(id, if broken { Closed::WhileWriting } else { how }))
    }

    /// Sends what is left of earlier sends.
    fn flush(&mut self, id: ConnectionId) {
        let unsent = std::mem::take(&mut self.slots[id.0 as usize].unsent);
        let sent = self.transmit(id, &unsent);
        let slot = &mut self.slots[id.0 as usize];
        slot.unsent = unsent;
        slot.unsent.drain(..sent);
        if slot.unsent.is_empty() && slot.state == State::Open {
            self.watch_writable(id, false);
        }
    }

    /// Returns how many bytes the kernel took. A broken connection takes all; its socket becomes
    /// readable, and is reported as closed once what the peer sent before has been read.
    fn transmit(&mut self, id: ConnectionId, bytes: &[u8]) -> usize {
        let Some(fd) = self.descriptor(id) else { return bytes.len() };
        match usize::try_from(socket::send(fd, bytes)) {
            Ok(count) => count,
            Err(_) if would_block() => 0,
            Err(_) => {
                self.slots[id.0 as usize].broken = true;
                bytes.len()
            }
        }
    }
}

impl Io for Epoll {
    fn now(&mut self) -> Instant {
        clock::now()
    }

    fn connect(&mut self, to: &Endpoint) -> ConnectionId {
        let stamped = self.delays.is_some();
        let socket = socket::connect(to, self.congestion.as_deref()).inspect(|socket| {
            // The probe was granted. If it fails for this socket, only its timestamps are missing.
            let _ = stamped.then(|| timestamps::ask(socket.as_raw_fd()));
        });
        match socket.and_then(|socket| self.register(socket, State::Connecting)) {
            Ok(id) => id,
            Err(error) => {
                let id = self.reserve(State::Connecting);
                self.failed.push((id, why_not_connected(error.raw_os_error().unwrap_or(0))));
                id
            }
        }
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<Listener> {
        let listener = socket::listen(at, self.congestion.as_deref())?;
        if self.delays.is_some() {
            // Accepted sockets inherit it.
            timestamps::ask(listener.as_raw_fd())?;
        }
        let address = socket::local_address(listener.as_raw_fd())?;
        Ok(Listener { id: self.register(listener, State::Listening)?, address })
    }

    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let slot = &mut self.slots[connection.0 as usize];
        if slot.broken {
            return;
        }
        if slot.state == State::Connecting || !slot.unsent.is_empty() {
            slot.unsent.extend_from_slice(bytes);
            return;
        }
        let sent = self.transmit(connection, bytes);
        if sent < bytes.len() {
            self.slots[connection.0 as usize].unsent.extend_from_slice(&bytes[sent..]);
            self.watch_writable(connection, true);
        }
    }

    fn is_flushed(&self, connection: ConnectionId) -> bool {
        self.slots[connection.0 as usize].unsent.is_empty()
    }

    fn close(&mut self, connection: ConnectionId) {
        self.failed.retain(|(failed, _)| *failed != connection);
        self.release(connection);
    }

    fn wait(&mut self, until: Instant) -> Instant {
        timer::wait(self, until)
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        self.next_ready().map(|ready| self.lend(ready))
    }
}

impl WithCalls for Epoll {
    type Calls = Pool;

    fn make_calls(&mut self) -> io::Result<Pool> {
        let pool = Pool::new()?;
        self.register(pool.wake()?, State::Wake)?;
        Ok(pool)
    }

    fn calls(&mut self) -> &mut Option<Box<Pool>> {
        &mut self.files
    }

    fn seen_calls(&self) -> Option<&Pool> {
        self.files.as_deref()
    }
}

impl Poll for Epoll {
    fn poll(&mut self, longest: Nanos) {
        let is_known = !self.failed.is_empty() || !self.again.is_empty() || self.has_completed();
        let longest = if is_known { Nanos::ZERO } else { self.hear_again(longest) };
        self.take_ready(longest).expect("waiting on an epoll instance of ours does not fail");
        if let Some(files) = &mut self.files {
            files.collect();
        }
    }

    fn has_found(&self) -> bool {
        !self.ready.is_empty() || !self.failed.is_empty() || self.has_completed()
    }

    fn waits(&mut self) -> &mut Waits {
        &mut self.waits
    }
}

const LISTENING: u32 = libc::EPOLLIN as u32;

fn interest(writable: bool, paused: bool) -> u32 {
    let read = if paused { 0 } else { libc::EPOLLIN | libc::EPOLLRDHUP };
    let write = if writable { libc::EPOLLOUT } else { 0 };
    (read | write | libc::EPOLLET) as u32
}

fn would_block() -> bool {
    matches!(
        io::Error::last_os_error().kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

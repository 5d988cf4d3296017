//! [`Io`] over real sockets and io_uring: a turn is sent with few system calls, and what has
//! arrived is already in memory when the kernel returns.
//!
//! There is one ring for each shard, created and used by its thread alone. Bytes to be sent are
//! copied and wait for [`BATCH`] others, for [`LINGER`] or for the end of the turn, whichever comes
//! first. A connection receives by one operation for its whole life, which fills [`Buffers`] of a
//! pool; their bytes are lent to the taker of the event. Zero-copy sending is not used: it was
//! measured 10 to 20 % more expensive (over loopback the kernel copies anyway). Sockets are not
//! registered with the ring: that made no measurable difference.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::{fmt, io};

use io_uring::types::{CancelBuilder, Fd, Timespec};
use io_uring::{cqueue, opcode, squeue};
use measure::{Instant, Nanos};

use crate::clock;
use crate::io::{Closed, ConnectionId, Endpoint, Event, Io, Listener};
use crate::socket::{self, why_not_connected};
use crate::timer::{self, Poll, Timer, Waited, Waits};

use self::buffers::{Buffer, Buffers};
use self::files::FileCalls;
use self::operation::{Kind, Operation};
use self::ring::Ring;

mod buffers;
mod files;
mod operation;
mod refusal;
mod ring;
#[cfg(test)]
mod tests;

/// The most connections whose bytes wait to be sent together: a larger batch would delay the first
/// of them without making the calls cheaper.
const BATCH: usize = 16;
/// The longest wait of a batch, checked whenever the clock is read.
const LINGER: Nanos = Nanos::from_micros(20);
/// The most bytes offered to the kernel at once.
const MOST_SENT: usize = 1 << 30;
/// The initial capacity of a send buffer: most requests need no more.
const USUAL: usize = 1024;
/// The largest send buffer that is kept for reuse; a larger one is freed at once.
const MOST_KEPT: usize = 64 * 1024;

/// Checks that [`Uring::new`] succeeds here; otherwise returns the reason.
pub fn granted() -> Result<(), String> {
    Uring::new(Timer::Sleep).map(|_| ())
}

/// Sockets by io_uring. It needs Linux 6.1.
pub struct Uring {
    ring: Ring,
    buffers: Buffers,
    waits: Waits,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Completions, from which events are made when they are taken.
    ready: Vec<cqueue::Entry>,
    /// The number of `ready` that were taken, and the number that the last wait found.
    taken: usize,
    found: usize,
    /// The buffer whose bytes the last event lends.
    lent: Option<Buffer>,
    /// Connection attempts whose system call has failed: they are reported before everything else.
    failed: Vec<(ConnectionId, Closed)>,
    /// Connections with bytes for the kernel, each once.
    sending: Vec<ConnectionId>,
    /// Counts how often the kernel has taken what was queued.
    submission: u32,
    /// The latest reading of the clock.
    read: Instant,
    /// The time since which the first of `sending` has waited, or a later one.
    waits_since: Instant,
    /// The time when bytes were handed to the kernel; `None` once it was reported.
    handed_over: Option<Instant>,
    /// Send buffers to be used again.
    spare: Vec<Vec<u8>>,
    /// TCP's congestion control, if not the system's.
    congestion: Option<String>,
    /// Files, once a folder is open.
    files: Option<Box<FileCalls>>,
}

#[derive(Debug)]
struct Slot {
    socket: Option<OwnedFd>,
    state: State,
    sending: Sending,
    /// Bytes for the kernel, which has taken the first `sent`. It has a buffer only while there are
    /// any.
    unsent: Vec<u8>,
    sent: usize,
    /// A receive operation is in progress in the kernel.
    receives: bool,
    /// The connection takes no more bytes. What the peer sent before is still to be read.
    broken: bool,
    /// Counts the uses of this slot, to recognise completions of an earlier use.
    generation: u32,
    /// The submission of the latest operation on its socket.
    submission: u32,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Connecting,
    Open,
    Listening,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Sending {
    /// No bytes wait, or they wait until the connection is open.
    Idle,
    /// The bytes wait to be submitted.
    Queued,
    /// The bytes were submitted, and the kernel took only this many.
    Short(usize),
    /// The bytes were submitted, and the connection has broken.
    Failed,
    /// The kernel will report when it takes more.
    Blocked,
}

impl Uring {
    /// Fails with the reason if the kernel does not grant it.
    pub fn new(timer: Timer) -> Result<Uring, String> {
        let attempt = || {
            let ring = Ring::new()?;
            let mut buffers = Buffers::new()?;
            // SAFETY: they are dropped after the ring, and `drop` ends the ring's operations
            // before.
            unsafe { buffers.register(ring.io_uring())? };
            Ok((ring, buffers))
        };
        let (ring, buffers) = attempt().map_err(|error| refusal::explain(&error))?;
        Ok(Uring {
            ring,
            buffers,
            waits: Waits::new(timer),
            slots: Vec::new(),
            free: Vec::new(),
            ready: Vec::with_capacity(ring::COMPLETIONS as usize),
            taken: 0,
            found: 0,
            lent: None,
            failed: Vec::new(),
            sending: Vec::with_capacity(BATCH),
            submission: 1,
            read: Instant::default(),
            waits_since: Instant::default(),
            handed_over: None,
            // A full batch may come long after the warm-up, such as after a pause.
            spare: (0..BATCH).map(|_| Vec::with_capacity(USUAL)).collect(),
            congestion: None,
            files: None,
        })
    }

    /// See [`crate::Epoll::with_congestion_control`].
    pub fn with_congestion_control(self, name: Option<String>) -> Uring {
        let mut io = self;
        io.congestion = name;
        io
    }

    /// Counts only waits from `start` until `end` in [`Uring::waited`].
    pub fn count_waits(&mut self, start: Instant, end: Instant) {
        self.waits.count(start, end);
    }

    /// The measurements of the waits.
    pub fn waited(&self) -> &Waited {
        self.waits.waited()
    }

    fn slot(&mut self, id: ConnectionId) -> &mut Slot {
        &mut self.slots[id.0 as usize]
    }

    fn reserve(&mut self, socket: Option<OwnedFd>) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::new());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.socket = socket;
        slot.state = State::Connecting;
        ConnectionId(index)
    }

    /// Closes the socket and frees the id.
    fn release(&mut self, id: ConnectionId) {
        if self.slot(id).submission == self.submission {
            // Queued operations refer to the socket by its number, which may soon be another
            // socket's.
            self.submit();
        }
        let slot = &self.slots[id.0 as usize];
        let is_connecting = slot.state == State::Connecting && slot.socket.is_some();
        let is_listening = slot.state == State::Listening;
        if is_listening && let Some(fd) = slot.descriptor() {
            // The operation in the kernel keeps the socket until its cancellation is submitted.
            socket::stop_listening(fd);
        }
        for (in_flight, kind) in [
            (is_connecting, Kind::Connect),
            (is_listening, Kind::Accept),
            (slot.receives, Kind::Receive),
            (slot.sending == Sending::Blocked, Kind::Writable),
        ] {
            if in_flight {
                self.cancel(id, kind);
            }
        }
        let slot = self.slot(id);
        slot.socket = None;
        slot.sending = Sending::Idle;
        slot.receives = false;
        slot.broken = false;
        slot.generation = Operation::next_generation(slot.generation);
        self.forget_unsent(id);
        self.free.push(id.0);
    }

    fn forget_unsent(&mut self, id: ConnectionId) {
        let slot = self.slot(id);
        slot.sent = 0;
        let mut memory = std::mem::take(&mut slot.unsent);
        if 0 < memory.capacity() && memory.capacity() <= MOST_KEPT {
            memory.clear();
            self.spare.push(memory);
        }
    }

    /// Queues an operation on a connection's socket.
    fn operate(&mut self, id: ConnectionId, kind: Kind, entry: impl FnOnce(Fd) -> squeue::Entry) {
        let slot = &self.slots[id.0 as usize];
        let socket = Fd(slot.descriptor().expect("only an open connection is operated on"));
        let name = Operation { kind, generation: slot.generation, id };
        let entry = entry(socket).user_data(name.pack());
        // SAFETY: only a send operation points to memory: see `offer`.
        unsafe { self.ring.push(&entry) };
        let submission = self.submission;
        self.slot(id).submission = submission;
    }

    fn await_writable(&mut self, id: ConnectionId, kind: Kind) {
        let writable = libc::POLLOUT as u32;
        self.operate(id, kind, |socket| opcode::PollAdd::new(socket, writable).build());
    }

    /// Has the kernel report when a connection waits to be accepted. It could accept by itself, but
    /// then also what nobody takes.
    fn await_connection(&mut self, listener: ConnectionId) {
        let readable = libc::POLLIN as u32;
        self.operate(listener, Kind::Accept, |socket| {
            opcode::PollAdd::new(socket, readable).build()
        });
    }

    fn receive(&mut self, id: ConnectionId) {
        self.operate(id, Kind::Receive, |socket| {
            opcode::RecvMulti::new(socket, buffers::GROUP).build()
        });
        self.slot(id).receives = true;
    }

    /// Cancels an operation. It still completes, with the generation of an earlier use of the slot.
    fn cancel(&mut self, id: ConnectionId, kind: Kind) {
        let generation = self.slot(id).generation;
        let name = Operation { kind, generation, id };
        let entry = opcode::AsyncCancel::new(name.pack()).build();
        let own = Operation { kind: Kind::Cancel, generation, id };
        // SAFETY: it points to nothing.
        unsafe {
            self.ring.push(&entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(own.pack()));
        }
    }

    /// Queues a connection's bytes for the next submission.
    fn queue(&mut self, id: ConnectionId) {
        if self.sending.is_empty() {
            self.waits_since = self.read;
        }
        let submission = self.submission;
        let slot = self.slot(id);
        (slot.sending, slot.submission) = (Sending::Queued, submission);
        self.sending.push(id);
        if BATCH <= self.sending.len() {
            self.submit();
        }
    }

    /// Submits everything that is queued to the kernel.
    fn submit(&mut self) {
        self.offer();
        self.ring.submit();
        self.take_in();
    }

    /// Queues the bytes to be sent.
    ///
    /// The kernel tries each send operation while it takes it, and is done with it then, with any
    /// result: the operation must not wait. It completes visibly only if not all bytes were taken.
    /// So the kernel uses none of this memory after `take_in`, and until then nothing changes it.
    fn offer(&mut self) {
        if !self.sending.is_empty() {
            self.handed_over = Some(self.read);
        }
        for place in 0..self.sending.len() {
            let id = self.sending[place];
            let slot = &self.slots[id.0 as usize];
            let bytes = slot.waiting();
            let (start, count) = (bytes.as_ptr(), bytes.len().min(MOST_SENT));
            let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
            self.operate(id, Kind::Send, |socket| {
                let entry = opcode::Send::new(socket, start, count as u32).flags(flags).build();
                entry.flags(squeue::Flags::SKIP_SUCCESS)
            });
        }
    }

    /// Collects what has completed, and the results of the send operations.
    fn take_in(&mut self) {
        self.collect();
        while !self.ring.is_submitted() {
            self.ring.submit();
            self.collect();
        }
        self.submission = self.submission.wrapping_add(1);
        let mut sending = std::mem::take(&mut self.sending);
        for id in sending.drain(..) {
            self.settle(id);
        }
        self.sending = sending;
    }

    fn collect(&mut self) {
        for entry in self.ring.completed() {
            let Operation { kind, generation, id } = Operation::unpack(entry.user_data());
            match kind {
                Kind::Cancel => {}
                Kind::File => {
                    let files = self.files.as_mut().expect("a call on a file was queued");
                    files.completed(id.0, entry.result());
                }
                Kind::Send => {
                    let slot = &mut self.slots[id.0 as usize];
                    assert_eq!(
                        slot.generation, generation,
                        "a send operation ends in its submission"
                    );
                    slot.sending = match entry.result() {
                        count @ 0.. => Sending::Short(count as usize),
                        error if is_passing(error) => Sending::Short(0),
                        _ => Sending::Failed,
                    };
                }
                Kind::Connect | Kind::Accept | Kind::Receive | Kind::Writable => {
                    self.ready.push(entry);
                }
            }
        }
    }

    /// Handles the result of a send operation.
    fn settle(&mut self, id: ConnectionId) {
        let slot = self.slot(id);
        let offered = slot.waiting().len().min(MOST_SENT);
        slot.sent += match slot.sending {
            Sending::Queued => offered,
            Sending::Short(count) => count,
            Sending::Failed => {
                // The socket becomes readable, and is reported as closed once what the peer sent
                // before has been read.
                slot.broken = true;
                slot.waiting().len()
            }
            Sending::Idle | Sending::Blocked => unreachable!("it was queued"),
        };
        if slot.waiting().is_empty() {
            slot.sending = Sending::Idle;
            self.forget_unsent(id);
        } else {
            slot.sending = Sending::Blocked;
            self.await_writable(id, Kind::Writable);
        }
    }

    /// Converts a completion to an event, if its connection still exists.
    fn understand(&mut self, entry: &cqueue::Entry) -> Option<Told> {
        let Operation { kind, generation, id } = Operation::unpack(entry.user_data());
        let buffer = cqueue::buffer_select(entry.flags()).map(Buffer);
        if self.slot(id).generation != generation {
            buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
            return None;
        }
        match kind {
            Kind::Connect => Some(self.connected(id, entry.result())),
            Kind::Accept => self.accept(id),
            Kind::Writable => {
                self.slot(id).sending = Sending::Idle;
                self.queue(id);
                None
            }
            Kind::Receive => self.received(id, buffer, entry),
            Kind::Send | Kind::Cancel | Kind::File => unreachable!("`collect` keeps them"),
        }
    }

    fn connected(&mut self, id: ConnectionId, result: i32) -> Told {
        let slot = self.slot(id);
        let fd = slot.descriptor().expect("a connection that connects has a socket");
        let error = if result < 0 { Some(-result) } else { socket::pending_error(fd) };
        // No operation on it is in flight now.
        slot.state = State::Open;
        if let Some(error) = error {
            self.release(id);
            return Told::Closed(id, why_not_connected(error));
        }
        self.receive(id);
        if !self.slot(id).unsent.is_empty() {
            self.queue(id);
        }
        Told::Connected(id)
    }

    /// Accepts the next waiting connection. The listener's completion stays current until there is
    /// none.
    fn accept(&mut self, listener: ConnectionId) -> Option<Told> {
        let fd = self.slot(listener).descriptor()?;
        // Where one fails (it has left, no descriptor is free) the kernel reports at once whether
        // others wait.
        let Ok(socket) = socket::accept(fd) else {
            self.await_connection(listener);
            return None;
        };
        self.taken -= 1;
        let id = self.reserve(Some(socket));
        self.slot(id).state = State::Open;
        self.receive(id);
        Some(Told::Accepted(id))
    }

    fn received(
        &mut self,
        id: ConnectionId,
        buffer: Option<Buffer>,
        entry: &cqueue::Entry,
    ) -> Option<Told> {
        let slot = self.slot(id);
        slot.receives = cqueue::more(entry.flags());
        let how = match (entry.result(), buffer) {
            (count @ 1.., Some(buffer)) => {
                if !slot.receives {
                    self.receive(id);
                }
                return Some(Told::Received(id, buffer, count as usize));
            }
            (0.., _) if slot.broken => Closed::WhileWriting,
            (0.., _) => Closed::ByPeer,
            // All buffers are in use: they are given back before the kernel takes this operation.
            (error, _) if error == -libc::ENOBUFS || is_passing(error) => {
                self.receive(id);
                return None;
            }
            // It is random which of two operations meets the failure first.
            _ if slot.broken || !slot.unsent.is_empty() => Closed::WhileWriting,
            _ => Closed::Reset,
        };
        buffer.into_iter().for_each(|buffer| self.buffers.give_back(buffer));
        self.release(id);
        Some(Told::Closed(id, how))
    }

    #[inline]
    fn next_told(&mut self) -> Option<Told> {
        if let Some((id, why)) = self.failed.pop() {
            self.release(id);
            return Some(Told::Closed(id, why));
        }
        while self.taken < self.found {
            let entry = self.ready[self.taken].clone();
            self.taken += 1;
            let told = self.understand(&entry);
            if told.is_some() {
                return told;
            }
        }
        None
    }

    #[inline]
    fn take_back(&mut self) {
        if let Some(buffer) = self.lent.take() {
            self.buffers.give_back(buffer);
        }
    }
}

/// An event whose bytes are not lent yet.
enum Told {
    Connected(ConnectionId),
    Accepted(ConnectionId),
    Received(ConnectionId, Buffer, usize),
    Closed(ConnectionId, Closed),
}

impl Slot {
    fn new() -> Slot {
        Slot {
            socket: None,
            state: State::Connecting,
            sending: Sending::Idle,
            unsent: Vec::new(),
            sent: 0,
            receives: false,
            broken: false,
            generation: 0,
            submission: 0,
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        self.socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    fn waiting(&self) -> &[u8] {
        &self.unsent[self.sent..]
    }
}

impl Poll for Uring {
    fn poll(&mut self, longest: Nanos) {
        self.queue_calls();
        let longest = if self.has_found() { Nanos::ZERO } else { longest };
        self.offer();
        if longest != Nanos::ZERO || self.ring.has_work() {
            self.ring.enter(longest);
        }
        self.take_in();
    }

    fn has_found(&self) -> bool {
        !self.ready.is_empty() || !self.failed.is_empty() || self.has_completed()
    }

    fn waits(&mut self) -> &mut Waits {
        &mut self.waits
    }
}

impl Io for Uring {
    #[inline]
    fn now(&mut self) -> Instant {
        self.read = clock::now();
        if !self.sending.is_empty() && LINGER <= self.read.saturating_since(self.waits_since) {
            self.submit();
            self.read = clock::now();
        }
        self.read
    }

    fn connect(&mut self, to: &Endpoint) -> ConnectionId {
        match socket::connect(to, self.congestion.as_deref()) {
            Ok(socket) => {
                let id = self.reserve(Some(socket));
                self.await_writable(id, Kind::Connect);
                id
            }
            Err(error) => {
                let id = self.reserve(None);
                self.failed.push((id, why_not_connected(error.raw_os_error().unwrap_or(0))));
                id
            }
        }
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<Listener> {
        let socket = socket::listen(at, self.congestion.as_deref())?;
        let address = socket::local_address(socket.as_raw_fd())?;
        let id = self.reserve(Some(socket));
        self.slot(id).state = State::Listening;
        self.await_connection(id);
        Ok(Listener { id, address })
    }

    #[inline]
    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let slot = &mut self.slots[connection.0 as usize];
        if slot.broken || bytes.is_empty() {
            return;
        }
        if slot.unsent.is_empty() {
            slot.unsent = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(USUAL));
        }
        slot.unsent.extend_from_slice(bytes);
        if slot.state == State::Open && slot.sending == Sending::Idle {
            self.queue(connection);
        }
    }

    #[inline]
    fn holds_back(&self) -> bool {
        true
    }

    #[inline]
    fn handed_over(&mut self) -> Option<Instant> {
        self.handed_over.take()
    }

    #[inline]
    fn is_flushed(&self, connection: ConnectionId) -> bool {
        self.slots[connection.0 as usize].unsent.is_empty()
    }

    fn close(&mut self, connection: ConnectionId) {
        self.failed.retain(|(failed, _)| *failed != connection);
        self.release(connection);
    }

    fn wait(&mut self, until: Instant) -> Instant {
        self.take_back();
        self.ready.drain(..self.taken);
        self.taken = 0;
        if !self.sending.is_empty() {
            self.read = clock::now();
        }
        self.read = timer::wait(self, until);
        self.found = self.ready.len();
        self.read
    }

    #[inline]
    fn next_event(&mut self) -> Option<Event<'_>> {
        self.take_back();
        Some(match self.next_told()? {
            Told::Connected(id) => Event::Connected(id),
            Told::Accepted(id) => Event::Accepted(id),
            Told::Closed(id, why) => Event::Closed(id, why),
            Told::Received(id, buffer, count) => {
                self.lent = Some(buffer);
                Event::Received(id, self.buffers.bytes(buffer, count))
            }
        })
    }
}

impl Drop for Uring {
    /// Ends every operation, so that none outlives the memory that it uses, and closes connections
    /// at the same time as their sockets.
    fn drop(&mut self) {
        // Before the rest: it enters the kernel, which then begins everything that is queued.
        self.end_calls();
        let at_most = Timespec::new().sec(1);
        let submitter = self.ring.io_uring().submitter();
        // "Nothing to cancel" is not an error. If the time is over, the kernel ends the operations
        // when the ring is closed, and then receives nothing for them either.
        let _ = submitter.register_sync_cancel(Some(at_most), CancelBuilder::any());
    }
}

impl fmt::Debug for Uring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Uring").field("slots", &self.slots).finish_non_exhaustive()
    }
}

/// True if another attempt may succeed.
fn is_passing(result: i32) -> bool {
    matches!(-result, libc::EAGAIN | libc::EINTR)
}

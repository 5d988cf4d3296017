//! A network on virtual time: it is perfect, and a test or a model defines the far end. A connection
//! to an address that the simulation listens on leads back to itself, as over loopback.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddr;
use std::path::Path;

use measure::{Instant, Nanos};

use crate::files::{Completion, FileId, Files, FolderId, Listed, Open, Operation};
use crate::io::{Address, Closed, ConnectionId, Endpoint, Event, Io, Listener};

pub use self::disk::{Disk, Faults};

mod disk;
#[cfg(test)]
mod tests;

/// The time that everything takes from one end of a loopback connection to the other.
const LOOPBACK: Nanos = Nanos::from_micros(10);
/// The first port that is assigned to a listener.
const FIRST_PORT: u16 = 49_152;

/// The far end of every connection that does not lead back to the simulation. Everything it does is
/// appended to `effects` with its time.
pub trait Peer {
    /// Announces that the next connection attempt has this id and leads to `to`.
    fn called(&mut self, _connection: ConnectionId, _to: &Endpoint) {}

    /// Begins an attempt to connect; attempts are numbered over all connections, from 0. Without an
    /// effect the attempt lasts for ever.
    fn connect(
        &mut self,
        connection: ConnectionId,
        _attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        effects.push((now, Effect::Connected(connection)));
    }

    /// Receives bytes that arrived at `now`.
    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    );

    /// The time when the network has taken bytes that are sent at `now`, as the sender sees it: a
    /// far end may have read the beginning of a request long before its end has left.
    fn taken(&mut self, _connection: ConnectionId, _bytes: &[u8], now: Instant) -> Instant {
        now
    }

    /// Called after we closed the connection. Its id may be used again.
    fn closed(&mut self, _connection: ConnectionId, _now: Instant) {}
}

/// An action of the far end on a connection.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    Connected(ConnectionId),
    Bytes(ConnectionId, Vec<u8>),
    Closed(ConnectionId, Closed),
}

/// A network on virtual time. Time passes in [`Io::wait`] and, with a call cost, in every other
/// call. Everything is a function of what is sent.
#[derive(Debug)]
pub struct Simulation<P> {
    now: Instant,
    /// The end of the last wait: it found everything up to then.
    waited: Instant,
    peer: P,
    call_cost: Nanos,
    /// Bytes that wait for the end of the turn; `None` if nothing is held back.
    held_back: Option<Vec<(ConnectionId, Vec<u8>)>>,
    handed_over: Option<Instant>,
    /// Ordered by time, then by the order of cause.
    future: BinaryHeap<Reverse<Planned>>,
    sequence: u64,
    slots: Vec<Slot>,
    free: Vec<u32>,
    listeners: Vec<Listener>,
    disk: Disk,
    attempts: u64,
    current: Vec<u8>,
    effects: Vec<(Instant, Effect)>,
}

/// A future effect, with the generation of the connection's slot that it is meant for.
#[derive(Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Planned {
    at: Instant,
    sequence: u64,
    generation: u32,
    effect: Effect,
}

/// The state of a connection's id: it is used again after a close, as the kernel does.
#[derive(Debug, Default)]
struct Slot {
    is_open: bool,
    far_end: FarEnd,
    /// The address of the listener that the connection has not arrived at yet.
    arrives_at: Option<SocketAddr>,
    generation: u32,
    taken: Instant,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum FarEnd {
    #[default]
    Peer,
    /// The other end of a loopback connection.
    Own(ConnectionId),
    /// The other end was closed.
    Gone,
}

impl<P: Peer> Simulation<P> {
    pub fn new(peer: P) -> Simulation<P> {
        Simulation {
            now: Instant::default(),
            waited: Instant::default(),
            peer,
            call_cost: Nanos::ZERO,
            held_back: None,
            handed_over: None,
            future: BinaryHeap::new(),
            sequence: 0,
            slots: Vec::new(),
            free: Vec::new(),
            listeners: Vec::new(),
            disk: Disk::new(0),
            attempts: 0,
            current: Vec::new(),
            effects: Vec::new(),
        }
    }

    /// Makes every reading of the clock and every send take this long.
    pub fn with_call_cost(self, call_cost: Nanos) -> Simulation<P> {
        Simulation { call_cost, ..self }
    }

    /// Has its files on this disk.
    pub fn with_disk(self, disk: Disk) -> Simulation<P> {
        Simulation { disk, ..self }
    }

    pub fn disk(&self) -> &Disk {
        &self.disk
    }

    pub fn disk_mut(&mut self) -> &mut Disk {
        &mut self.disk
    }

    /// Holds back what is sent until the next wait, or until a connection is closed.
    pub fn holding_back(self) -> Simulation<P> {
        Simulation { held_back: Some(Vec::new()), ..self }
    }

    /// Delivers what was held back to the far end.
    fn hand_over(&mut self) {
        let Some(held_back) = &mut self.held_back else { return };
        let mut held_back = std::mem::take(held_back);
        if !held_back.is_empty() {
            self.handed_over = Some(self.now);
        }
        for (connection, bytes) in held_back.drain(..) {
            self.deliver(connection, &bytes);
        }
        self.held_back = Some(held_back);
    }

    fn deliver(&mut self, connection: ConnectionId, bytes: &[u8]) {
        match self.slot(connection).far_end {
            FarEnd::Peer => self.deliver_to_peer(connection, bytes),
            FarEnd::Own(other) => {
                self.plan(self.now + LOOPBACK, Effect::Bytes(other, bytes.to_vec()));
            }
            FarEnd::Gone => {}
        }
    }

    fn deliver_to_peer(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let taken = self.peer.taken(connection, bytes, self.now);
        let slot = &mut self.slots[connection.0 as usize];
        slot.taken = slot.taken.max(taken);
        self.ask(|peer, now, effects| peer.receive(connection, bytes, now, effects));
    }

    pub fn peer(&self) -> &P {
        &self.peer
    }

    /// Calls the far end, and plans the effects that it returns.
    fn ask(&mut self, ask: impl FnOnce(&mut P, Instant, &mut Vec<(Instant, Effect)>)) {
        let mut effects = std::mem::take(&mut self.effects);
        ask(&mut self.peer, self.now, &mut effects);
        for (at, effect) in effects.drain(..) {
            self.plan(at, effect);
        }
        self.effects = effects;
    }

    /// Plans an effect, unless its connection was closed.
    fn plan(&mut self, at: Instant, effect: Effect) {
        let slot = &self.slots[effect.connection().0 as usize];
        if slot.is_open {
            self.sequence += 1;
            let (at, sequence, generation) = (at.max(self.now), self.sequence, slot.generation);
            self.future.push(Reverse(Planned { at, sequence, generation, effect }));
        }
    }

    fn slot(&mut self, id: ConnectionId) -> &mut Slot {
        &mut self.slots[id.0 as usize]
    }

    fn reserve(&mut self) -> ConnectionId {
        let index = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        (slot.is_open, slot.far_end, slot.taken) = (true, FarEnd::Peer, self.now);
        slot.arrives_at = None;
        ConnectionId(index)
    }

    /// Frees the id. The other end of a loopback connection is closed in this way.
    fn release(&mut self, id: ConnectionId, other_end: Closed) {
        let slot = self.slot(id);
        assert!(slot.is_open, "a connection is closed once");
        slot.is_open = false;
        slot.generation += 1;
        self.free.push(id.0);
        if let FarEnd::Own(other) = self.slot(id).far_end {
            self.slot(other).far_end = FarEnd::Gone;
            self.plan(self.now + LOOPBACK, Effect::Closed(other, other_end));
        }
    }

    fn connect_to_own(&mut self, address: SocketAddr) -> ConnectionId {
        let (id, other) = (self.reserve(), self.reserve());
        self.slot(id).far_end = FarEnd::Own(other);
        let accepting = self.slot(other);
        (accepting.far_end, accepting.arrives_at) = (FarEnd::Own(id), Some(address));
        self.plan(self.now + LOOPBACK, Effect::Connected(id));
        self.plan(self.now + LOOPBACK, Effect::Connected(other));
        id
    }

    fn listens_on(&self, address: SocketAddr) -> bool {
        self.listeners.iter().any(|listener| listener.address == address)
    }

    fn free_port(&self, ip: std::net::IpAddr) -> Option<SocketAddr> {
        let mut all = (FIRST_PORT..=u16::MAX).map(|port| SocketAddr::new(ip, port));
        all.find(|address| !self.listens_on(*address))
    }

    /// Reports a connection. If it arrives at a listener that was closed meanwhile, it is reset.
    fn connected(&mut self, id: ConnectionId) -> Option<Event<'static>> {
        match self.slot(id).arrives_at.take() {
            None => Some(Event::Connected(id)),
            Some(address) if self.listens_on(address) => Some(Event::Accepted(id)),
            Some(_) => {
                self.release(id, Closed::Reset);
                None
            }
        }
    }
}

impl<P: Peer> Io for Simulation<P> {
    fn now(&mut self) -> Instant {
        self.now = self.now + self.call_cost;
        self.now
    }

    fn connect(&mut self, to: &Endpoint) -> ConnectionId {
        if let Address::Inet(address) = to.address
            && self.listens_on(address)
        {
            return self.connect_to_own(address);
        }
        let id = self.reserve();
        let attempt = self.attempts;
        self.attempts += 1;
        self.peer.called(id, to);
        self.ask(|peer, now, effects| peer.connect(id, attempt, now, effects));
        id
    }

    fn listen(&mut self, at: SocketAddr) -> io::Result<Listener> {
        let address = match at.port() {
            0 => self.free_port(at.ip()),
            _ => Some(at).filter(|at| !self.listens_on(*at)),
        };
        let address = address.ok_or(io::ErrorKind::AddrInUse)?;
        let listener = Listener { id: self.reserve(), address };
        self.listeners.push(listener);
        Ok(listener)
    }

    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        self.now = self.now + self.call_cost;
        let slot = &self.slots[connection.0 as usize];
        assert!(slot.is_open, "only an open connection is sent on");
        match &mut self.held_back {
            Some(held_back) => held_back.push((connection, bytes.to_vec())),
            None => self.deliver(connection, bytes),
        }
    }

    fn holds_back(&self) -> bool {
        self.held_back.is_some()
    }

    fn handed_over(&mut self) -> Option<Instant> {
        self.handed_over.take()
    }

    fn is_flushed(&self, connection: ConnectionId) -> bool {
        let mut held_back = self.held_back.iter().flatten();
        self.slots[connection.0 as usize].taken <= self.now
            && held_back.all(|(waits, _)| *waits != connection)
    }

    fn close(&mut self, connection: ConnectionId) {
        self.hand_over();
        let listeners = self.listeners.len();
        self.listeners.retain(|listener| listener.id != connection);
        let is_peers = self.slot(connection).far_end == FarEnd::Peer;
        self.release(connection, Closed::ByPeer);
        if is_peers && self.listeners.len() == listeners {
            self.peer.closed(connection, self.now);
        }
    }

    fn wait(&mut self, until: Instant) -> Instant {
        self.hand_over();
        let next = self.future.peek().map(|Reverse(next)| next.at);
        let completed = self.disk.has_completed().then_some(self.now);
        let next =
            [next, completed, self.disk.next()].into_iter().flatten().fold(until, Instant::min);
        self.now = self.now.max(next);
        self.disk.run(self.now);
        self.waited = self.now;
        self.now
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        loop {
            if self.future.peek().is_none_or(|Reverse(next)| self.waited < next.at) {
                return None;
            }
            let Reverse(Planned { generation, effect, .. }) = self.future.pop()?;
            let slot = &self.slots[effect.connection().0 as usize];
            if !slot.is_open || slot.generation != generation {
                continue;
            }
            return Some(match effect {
                Effect::Connected(id) => match self.connected(id) {
                    Some(event) => event,
                    None => continue,
                },
                Effect::Bytes(id, bytes) => {
                    self.current = bytes;
                    Event::Received(id, &self.current)
                }
                Effect::Closed(id, why) => {
                    // Bytes held back for it must not reach the next connection with its id.
                    self.hand_over();
                    self.release(id, Closed::ByPeer);
                    Event::Closed(id, why)
                }
            });
        }
    }
}

impl<P: Peer> Files for Simulation<P> {
    fn folder(&mut self, path: &Path) -> io::Result<FolderId> {
        Ok(self.disk.folder(path))
    }

    fn list(&mut self, folder: FolderId) -> io::Result<Vec<Listed>> {
        Ok(self.disk.list(folder))
    }

    fn open(&mut self, folder: FolderId, name: &str, how: Open) -> io::Result<FileId> {
        self.disk.open(folder, name, how)
    }

    fn close_file(&mut self, file: FileId) {
        self.disk.close_file(file);
    }

    fn room(&self) -> usize {
        self.disk.room()
    }

    fn begin(&mut self, file: FileId, operation: Operation, token: u64) {
        self.disk.begin(file, operation, token, self.now);
    }

    fn remove(&mut self, folder: FolderId, name: &str, token: u64) {
        self.disk.remove(folder, name, token, self.now);
    }

    fn rename(&mut self, folder: FolderId, from: &str, to: &str, token: u64) {
        self.disk.rename(folder, [from, to], token, self.now);
    }

    fn next_completion(&mut self) -> Option<Completion> {
        self.disk.next_completion()
    }
}

impl Effect {
    fn connection(&self) -> ConnectionId {
        let (Effect::Connected(id) | Effect::Bytes(id, _) | Effect::Closed(id, _)) = self;
        *id
    }
}

//! A receiver of events: it takes CloudEvents over HTTP, in binary or structured mode, and hands each
//! arrival to whoever notes it. It runs on `net`, in one thread, and tells its clock to who asks.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::{Instant, Nanos};
use net::{ConnectionId, Epoll, Event, Io, Timer, clock};

use crate::places::Places;

pub use self::connection::{Connection, Desk, Next};

mod connection;
#[cfg(test)]
mod tests;

/// The receiver's records.
pub trait Notes {
    /// Notes an arrival, and returns how many arrivals of this event were noted before.
    fn note(&mut self, source: &[u8], id: &[u8], at: Instant) -> u64;

    /// Reads the source and the id of an event in structured mode, and notes it; `None` if the
    /// document is not an event.
    fn note_structured(&mut self, document: &[u8], at: Instant) -> Option<u64>;

    /// Counts a request that is not an event, or a connection that is refused or ended.
    fn wrong(&mut self) {}

    /// Is called after each turn of the receiver's loop, so several times in each second.
    fn turned(&mut self, _now: Instant) {}
}

/// The treatment of the first arrivals of each event, to test a channel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Refusal {
    pub how: How,
    /// The number of arrivals of each event that are refused.
    pub times: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum How {
    /// They are answered with this status.
    Status(u16),
    /// The connection is closed.
    Close,
    /// They are never answered.
    Hang,
}

/// The path at which a receiver tells its clock.
pub const CLOCK_PATH: &str = "/clock";

/// The receiver in its listening state.
pub struct Receiver {
    io: Epoll,
    address: SocketAddr,
    peers: Vec<Peer>,
    places: Places,
    desk: Desk,
    /// The answers to one piece of bytes; a buffer that is reused.
    answers: Vec<u8>,
}

/// A connection, open or not.
#[derive(Default)]
struct Peer {
    connection: Connection,
    /// The time of its last whole request, at first that of its beginning; `None` if it is not open.
    heard: Option<Instant>,
}

/// The longest single wait, and so the longest time until `stop` is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);

/// The most open connections; further ones are closed at once.
pub const MOST_CONNECTIONS: usize = 16_384;

/// The most answers that a peer may leave unread, in bytes: then its connection is closed.
const MOST_UNREAD: usize = 1 << 20;

impl Receiver {
    /// Listens on `address`. `clock` is the name of the clock that is told.
    pub fn listen(
        address: SocketAddr,
        clock: Option<&str>,
        refusal: Option<Refusal>,
    ) -> std::io::Result<Receiver> {
        let mut io = Epoll::new(Timer::Sleep)?;
        let address = io.listen(address)?.address;
        let desk = Desk::new(clock, refusal);
        let (peers, places) = (Vec::new(), Places::new(MOST_CONNECTIONS));
        Ok(Receiver { io, address, peers, places, desk, answers: Vec::new() })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Receives until `stop`, and returns the notes.
    pub fn serve<N: Notes>(mut self, mut notes: N, stop: &AtomicBool) -> N {
        while !stop.load(Ordering::Relaxed) {
            let now = self.io.now();
            let now = self.io.wait(now + LONGEST_WAIT);
            self.read(&mut notes, now);
            notes.turned(now);
        }
        notes
    }

    fn read(&mut self, notes: &mut impl Notes, turn: Instant) {
        loop {
            let (id, next) = match self.io.next_event() {
                None => return,
                Some(Event::Accepted(id)) => {
                    self.accept(id, turn, notes);
                    continue;
                }
                Some(Event::Closed(id, _)) => {
                    self.forget(id);
                    continue;
                }
                Some(Event::Connected(_)) => unreachable!("a server does not connect"),
                Some(Event::Received(id, bytes)) => {
                    // After reading: an event must not seem to arrive before it was sent.
                    let now = clock::now();
                    self.answers.clear();
                    let Peer { connection, heard } = &mut self.peers[id.0 as usize];
                    let next =
                        connection.take(bytes, now, notes, &mut self.desk, &mut self.answers);
                    if !self.answers.is_empty() {
                        *heard = Some(now);
                    }
                    (id, next)
                }
            };
            if self.answer(id) && next == Next::Open {
                continue;
            }
            if next != Next::Closed {
                notes.wrong();
            }
            self.forget(id);
            self.io.close(id);
        }
    }

    fn accept(&mut self, id: ConnectionId, now: Instant, notes: &mut impl Notes) {
        if let Some(then) = self.places.too_silent_since(now) {
            self.close_silent(then, notes);
        }
        if !self.places.take() {
            notes.wrong();
            self.io.close(id);
            return;
        }
        let index = id.0 as usize;
        if self.peers.len() <= index {
            self.peers.resize_with(index + 1, Peer::default);
        }
        self.peers[index] = Peer { heard: Some(now), ..Peer::default() };
    }

    fn close_silent(&mut self, since: Instant, notes: &mut impl Notes) {
        for index in 0..self.peers.len() {
            if self.peers[index].heard.is_some_and(|heard| heard < since) {
                let id = ConnectionId(index as u32);
                notes.wrong();
                self.forget(id);
                self.io.close(id);
            }
        }
    }

    /// Sends the answers; returns false if the peer does not read them.
    fn answer(&mut self, id: ConnectionId) -> bool {
        if self.answers.is_empty() {
            return true;
        }
        self.io.send(id, &self.answers);
        self.io.unsent(id) <= MOST_UNREAD
    }

    fn forget(&mut self, id: ConnectionId) {
        let peer = std::mem::take(&mut self.peers[id.0 as usize]);
        peer.connection.end(&mut self.desk);
        self.places.give_back();
    }
}

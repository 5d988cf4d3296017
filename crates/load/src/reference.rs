//! A reference server of known delay, against which the load generator is calibrated.
//!
//! It answers each request after a delay drawn from a given distribution, and keeps a log of its
//! own: when requests arrived, and how long the responses really took. A request arrives when it is
//! read or, with kernel timestamps, when the kernel has received it: then the log also knows about
//! whatever keeps this server from reading. It runs on `net`, and shares with the engine only the
//! code that reads and writes HTTP.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::{Instant, Nanos, Random, Rate};
use net::{ConnectionId, Epoll, Event, Io, Timer, clock};
use wire::http1::{After, Malformed, RequestDecoder, RequestEvent, encode_response};

use crate::places::Places;

pub use self::delay::Delay;
use self::log::{Arrived, Schedule};
pub use self::log::{Log, Record};

mod delay;
mod log;
#[cfg(test)]
mod tests;

/// The server's treatment of each request.
#[derive(Clone, Debug)]
pub struct Manner {
    pub delay: Delay,
    pub status: u16,
    /// The number of bytes in each response's body.
    pub body: usize,
    /// The seed of the random delays.
    pub seed: u64,
    /// True if the arrival time is when the kernel received a request, not when it was read.
    pub kernel_timestamps: bool,
    /// The congestion control of TCP; `None` uses the system's default.
    pub congestion_control: Option<String>,
}

/// The server in its listening state.
pub struct Reference {
    io: Epoll,
    address: SocketAddr,
    answer: Vec<u8>,
    connections: Vec<Connection>,
    places: Places,
    /// The number of connections accepted so far.
    accepted: u64,
    desk: Desk,
}

/// The queue of requests whose responses are not due yet, and the log.
struct Desk {
    delay: Delay,
    random: Random,
    due: BinaryHeap<Reverse<Pending>>,
    log: Log,
}

#[derive(Default)]
struct Connection {
    decoder: RequestDecoder,
    /// Its position among all accepted connections: it distinguishes the responses of an earlier
    /// connection with the same identifier from this one's.
    number: u64,
    /// The latest due time so far, at first the time of its beginning: responses leave in the order of their requests.
    latest: Instant,
    open: bool,
    /// The request that is arriving, if requests are recorded.
    arriving: Arrived,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Pending {
    at: Instant,
    order: u64,
    connection: ConnectionId,
    number: u64,
    arrived: Instant,
    close: bool,
}

/// The reason why a connection is ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Unserved {
    Malformed,
    /// Too many requests wait for their time.
    TooMany,
}

impl From<Malformed> for Unserved {
    fn from(_: Malformed) -> Unserved {
        Unserved::Malformed
    }
}

/// The longest single wait, and so the longest time until `stop` is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(50);
/// The most open connections; further ones are closed at once.
const MOST_CONNECTIONS: usize = 1 << 16;
/// The most requests that wait for the time of their response; a connection that sends one more is closed.
const MOST_PENDING: usize = 1 << 20;
/// The most bytes that a peer may leave unread before its next response; then its connection is closed.
const MOST_UNREAD: usize = 1 << 20;

impl Reference {
    /// Listens on `address`.
    pub fn listen(address: SocketAddr, manner: Manner) -> std::io::Result<Reference> {
        let Manner { delay, status, body, seed, kernel_timestamps, congestion_control } = manner;
        clock::precise_timers();
        let mut io = Epoll::new(Timer::Hybrid)?.with_congestion_control(congestion_control);
        if kernel_timestamps {
            io = io.with_kernel_timestamps()?;
        }
        let address = io.listen(address)?.address;
        let (mut answer, body) = (Vec::new(), vec![b'x'; body]);
        encode_response(status, &[("Content-Type", "text/plain")], &body, &mut answer);
        let (random, due) = (Random::new(seed), BinaryHeap::new());
        let desk = Desk { delay, random, due, log: Log::default() };
        let (connections, places) = (Vec::new(), Places::new(MOST_CONNECTIONS));
        Ok(Reference { io, address, answer, connections, places, accepted: 0, desk })
    }

    /// Logs the lateness of numbered requests that are intended to arrive at this constant rate.
    pub fn expecting(mut self, rate: Rate) -> Reference {
        self.desk.log.schedule = Some(Schedule { rate, delays: Vec::new() });
        self
    }

    /// Keeps a line for each request, to be written at the end.
    pub fn recording(mut self, record: Record) -> Reference {
        self.desk.log.record = Some(record);
        self
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`, and returns the log.
    pub fn serve(mut self, stop: &AtomicBool) -> Log {
        while !stop.load(Ordering::Relaxed) {
            let now = self.io.now();
            let next = self.desk.due.peek().map_or(Instant::NEVER, |Reverse(pending)| pending.at);
            let now = self.io.wait(next.min(now + LONGEST_WAIT));
            self.read(now);
            self.answer_due();
        }
        self.desk.log
    }

    fn read(&mut self, now: Instant) {
        while let Some((event, stamp)) = self.io.next_stamped() {
            match event {
                Event::Accepted(id) => {
                    let index = id.0 as usize;
                    if self.connections.len() <= index {
                        self.connections.resize_with(index + 1, Connection::default);
                    }
                    if !self.take_place(now) {
                        self.desk.log.refused += 1;
                        self.io.close(id);
                        continue;
                    }
                    let number = self.accepted;
                    self.accepted += 1;
                    self.connections[index] =
                        Connection { number, open: true, latest: now, ..Connection::default() };
                }
                Event::Received(id, bytes) => {
                    let connection = &mut self.connections[id.0 as usize];
                    let arrived = stamp.unwrap_or(now);
                    if let Err(why) = self.desk.take(connection, id, bytes, arrived) {
                        self.desk.log.refused += u64::from(why == Unserved::TooMany);
                        self.close(id);
                    }
                }
                Event::Closed(id, _) => self.forget(id),
                Event::Connected(_) => unreachable!("a server does not connect"),
            }
        }
    }

    /// Takes a place for a new connection; of silent peers if there is no other.
    fn take_place(&mut self, now: Instant) -> bool {
        if let Some(then) = self.places.too_silent_since(now) {
            for index in 0..self.connections.len() {
                let connection = &self.connections[index];
                if connection.open && connection.latest < then {
                    self.desk.log.refused += 1;
                    self.close(ConnectionId(index as u32));
                }
            }
        }
        self.places.take()
    }

    fn close(&mut self, id: ConnectionId) {
        self.forget(id);
        self.io.close(id);
    }

    fn forget(&mut self, id: ConnectionId) {
        self.connections[id.0 as usize].open = false;
        self.places.give_back();
    }

    /// Sends every response that is due.
    fn answer_due(&mut self) {
        loop {
            let now = self.io.now();
            let Some(Reverse(pending)) = self.desk.due.peek().copied() else { return };
            if now < pending.at {
                return;
            }
            self.desk.due.pop();
            let connection = &self.connections[pending.connection.0 as usize];
            if !connection.open || connection.number != pending.number {
                continue;
            }
            if MOST_UNREAD < self.io.unsent(pending.connection) {
                self.desk.log.refused += 1;
                self.close(pending.connection);
                continue;
            }
            self.io.send(pending.connection, &self.answer);
            self.desk.log.took.record(now.saturating_since(pending.arrived));
            if pending.close {
                self.close(pending.connection);
            }
        }
    }
}

impl Desk {
    /// Records each request that is completed by these bytes, which arrived at `arrived`, and when
    /// its response is due.
    fn take(
        &mut self,
        connection: &mut Connection,
        id: ConnectionId,
        bytes: &[u8],
        arrived: Instant,
    ) -> Result<(), Unserved> {
        let mut bytes = bytes;
        loop {
            let before = bytes;
            let event = connection.decoder.next(&mut bytes)?;
            let arriving = &mut connection.arriving;
            if self.log.record.as_ref().is_some_and(|record| record.with_bytes) {
                arriving.keep(&before[..before.len() - bytes.len()]);
            }
            let Some(event) = event else { return Ok(()) };
            match event {
                RequestEvent::Head(head) => {
                    self.log.arrived(arrived, head.target);
                    arriving.at = arrived;
                    arriving.target.clear();
                    arriving.target.push_str(head.target);
                }
                RequestEvent::Body(_) => {}
                RequestEvent::End(_) if self.due.len() == MOST_PENDING => {
                    return Err(Unserved::TooMany);
                }
                RequestEvent::End(after) => self.queue(connection, id, arrived, after),
            }
        }
    }

    /// Records a complete request, and when its response is due.
    fn queue(
        &mut self,
        connection: &mut Connection,
        id: ConnectionId,
        arrived: Instant,
        after: After,
    ) {
        let seen = std::mem::take(&mut connection.arriving);
        if let Some(record) = &mut self.log.record {
            record.note(Arrived { connection: connection.number, ..seen });
        }
        let origin = self.log.first_arrival.expect("a request has arrived");
        let due = self.delay.due(arrived, origin, &mut self.random);
        connection.latest = due.max(connection.latest);
        self.due.push(Reverse(Pending {
            at: connection.latest,
            order: self.log.requests,
            connection: id,
            number: connection.number,
            arrived,
            close: after == After::Close,
        }));
    }
}

impl Arrived {
    /// Keeps a part of a request. A request longer than the recording limit is cut here, and not
    /// recorded in the end.
    fn keep(&mut self, part: &[u8]) {
        let kept = &mut self.bytes;
        let room = (Record::MOST_BYTES_OF_ONE + 1).saturating_sub(kept.len());
        kept.extend_from_slice(&part[..part.len().min(room)]);
    }
}

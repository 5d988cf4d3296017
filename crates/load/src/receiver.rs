//! A receiver of events: it takes CloudEvents over HTTP, in binary or structured mode, and hands each
//! arrival to whoever notes it. It runs on `net`, in one thread, by the clock that the sender uses.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::{Instant, Nanos};
use net::{ConnectionId, Epoll, Event, Io, Timer};
use wire::http1::{After, Malformed, RequestDecoder, RequestEvent, encode_response};

#[cfg(test)]
mod tests;

/// The receiver's records.
pub trait Notes {
    /// Notes an arrival, and returns how many arrivals of this event were noted before.
    fn note(&mut self, source: &[u8], id: &[u8], at: Instant) -> u64;

    /// Reads the source and the id of an event in structured mode, and notes it; `None` if the
    /// document is not an event.
    fn note_structured(&mut self, document: &[u8], at: Instant) -> Option<u64>;
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

/// The receiver in its listening state.
pub struct Receiver {
    io: Epoll,
    address: SocketAddr,
    connections: Vec<Connection>,
    refusal: Option<Refusal>,
    answers: Answers,
    /// The answers that wait while an event lends its bytes; a buffer that is reused.
    waiting: Vec<(Answer, After)>,
}

/// The responses, as they are sent.
struct Answers {
    accepted: Vec<u8>,
    wrong: Vec<u8>,
    refused: Vec<u8>,
}

#[derive(Default)]
struct Connection {
    decoder: RequestDecoder,
    arriving: Arriving,
}

/// The parts of a request that name its event.
#[derive(Default)]
struct Arriving {
    id: Vec<u8>,
    source: Vec<u8>,
    is_structured: bool,
    document: Vec<u8>,
}

/// The answer to a request.
enum Answer {
    Accepted,
    Wrong,
    Refused(How),
}

/// The longest single wait, and so the longest time until `stop` is noticed.
const LONGEST_WAIT: Nanos = Nanos::from_millis(20);

/// The longest document of a structured event, in bytes.
const MOST_DOCUMENT: usize = 1 << 20;

/// The largest buffer that a connection keeps for its next event.
const MOST_KEPT: usize = 4096;

impl Receiver {
    pub fn listen(address: SocketAddr, refusal: Option<Refusal>) -> std::io::Result<Receiver> {
        let mut io = Epoll::new(Timer::Sleep)?;
        let address = io.listen(address)?;
        let answer = |status: u16| {
            let mut answer = Vec::new();
            encode_response(status, &[], &[], &mut answer);
            answer
        };
        let refused = match refusal {
            Some(Refusal { how: How::Status(status), .. }) => answer(status),
            _ => Vec::new(),
        };
        let answers = Answers { accepted: answer(202), wrong: answer(400), refused };
        let (connections, waiting) = (Vec::new(), Vec::new());
        Ok(Receiver { io, address, connections, refusal, answers, waiting })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Receives until `stop`, and returns the notes.
    pub fn serve<N: Notes>(mut self, mut notes: N, stop: &AtomicBool) -> N {
        while !stop.load(Ordering::Relaxed) {
            let now = self.io.now();
            let now = self.io.wait(now + LONGEST_WAIT);
            self.read(now, &mut notes);
        }
        notes
    }

    fn read(&mut self, now: Instant, notes: &mut impl Notes) {
        let mut answers = std::mem::take(&mut self.waiting);
        loop {
            let (id, ends) = match self.io.next_event() {
                None => break,
                Some(Event::Accepted(id)) => {
                    let index = id.0 as usize;
                    if self.connections.len() <= index {
                        self.connections.resize_with(index + 1, Connection::default);
                    }
                    self.connections[index] = Connection::default();
                    continue;
                }
                Some(Event::Closed(id, _)) => {
                    self.connections[id.0 as usize] = Connection::default();
                    continue;
                }
                Some(Event::Connected(_)) => unreachable!("a server does not connect"),
                Some(Event::Received(id, bytes)) => {
                    let connection = &mut self.connections[id.0 as usize];
                    answers.clear();
                    let refusal = self.refusal;
                    let read = connection.take(bytes, now, notes, refusal, &mut answers);
                    (id, read.is_err())
                }
            };
            self.answer(id, &answers, ends);
        }
        self.waiting = answers;
    }

    fn answer(&mut self, id: ConnectionId, answers: &[(Answer, After)], ends: bool) {
        let mut closes = ends;
        for (answer, after) in answers {
            match answer {
                Answer::Accepted => self.io.send(id, &self.answers.accepted),
                Answer::Wrong => self.io.send(id, &self.answers.wrong),
                Answer::Refused(How::Status(_)) => self.io.send(id, &self.answers.refused),
                // Later responses on the connection cannot overtake this one, so it has none.
                Answer::Refused(How::Hang) => break,
                Answer::Refused(How::Close) => {
                    closes = true;
                    break;
                }
            }
            closes |= *after == After::Close;
        }
        if closes {
            self.connections[id.0 as usize] = Connection::default();
            self.io.close(id);
        }
    }
}

impl Connection {
    /// Notes each event that is completed by these bytes.
    fn take(
        &mut self,
        bytes: &[u8],
        now: Instant,
        notes: &mut impl Notes,
        refusal: Option<Refusal>,
        answers: &mut Vec<(Answer, After)>,
    ) -> Result<(), Malformed> {
        let mut bytes = bytes;
        let Connection { decoder, arriving, .. } = self;
        while let Some(event) =
            decoder.next_with(&mut bytes, |name, value| arriving.field(name, value))?
        {
            match event {
                RequestEvent::Head(_) => {}
                RequestEvent::Body(piece) => arriving.body(piece),
                RequestEvent::End(after) => {
                    answers.push((arriving.end(now, notes, refusal), after));
                }
            }
        }
        Ok(())
    }
}

impl Arriving {
    fn field(&mut self, name: &str, value: &[u8]) {
        if name.eq_ignore_ascii_case("ce-id") {
            self.id.extend_from_slice(value);
        } else if name.eq_ignore_ascii_case("ce-source") {
            self.source.extend_from_slice(value);
        } else if name.eq_ignore_ascii_case("content-type") {
            let structured = b"application/cloudevents+json";
            let begin = value.get(..structured.len());
            self.is_structured = begin.is_some_and(|begin| begin.eq_ignore_ascii_case(structured));
        }
    }

    fn body(&mut self, piece: &[u8]) {
        if self.is_structured && self.document.len() <= MOST_DOCUMENT {
            self.document.extend_from_slice(piece);
        }
    }

    /// Notes the event of a complete request.
    fn end(&mut self, now: Instant, notes: &mut impl Notes, refusal: Option<Refusal>) -> Answer {
        let before = match self.is_structured {
            true if MOST_DOCUMENT < self.document.len() => None,
            true => notes.note_structured(&self.document, now),
            false if self.id.is_empty() || self.source.is_empty() => None,
            false => Some(notes.note(&self.source, &self.id, now)),
        };
        self.is_structured = false;
        for buffer in [&mut self.id, &mut self.source, &mut self.document] {
            buffer.clear();
            buffer.shrink_to(MOST_KEPT);
        }
        match (before, refusal) {
            (None, _) => Answer::Wrong,
            (Some(before), Some(Refusal { how, times })) if before < times => Answer::Refused(how),
            (Some(_), _) => Answer::Accepted,
        }
    }
}

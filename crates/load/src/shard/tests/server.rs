//! A simulated server with configurable behaviour that records what it did.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use ::measure::{Instant, Nanos};
use net::simulation::{Effect, Peer};
use net::{Closed, ConnectionId};
use wire::http1::{RequestDecoder, RequestEvent};

pub(super) const SERVICE: Nanos = Nanos::from_micros(100);

/// The status that a server sends without a request before it closes the connection.
pub(super) const GREETING: u16 = 408;

/// A request: its target, its number, and its position in its batch.
pub(super) type Key = (u32, u64, u32);

/// The server's treatment of one request.
#[derive(Clone, Copy, Debug)]
pub(super) enum Conduct {
    Well,
    Late(Nanos),
    Busy,
    NoContent,
    Chunked,
    /// Sends two interim responses first.
    Interim,
    /// Ends the body by closing the connection.
    UntilClose,
    /// Announces in the response that it is the last one.
    LastByHeader,
    /// Closes the connection in order, this long after the response.
    CloseAfter(Nanos),
    /// Sends one byte at a time, with this gap between them.
    Bytewise(Nanos),
    /// Sends the response to another request.
    Swapped,
    /// Sends the response in one packet with the connection's next one.
    Withheld,
    /// Responds at once, although the network takes this long for the request.
    Early(Nanos),
    /// Sends more bytes than requested.
    Chatter,
    Silence,
    Reset,
    Broken,
    ResetMidway,
    CloseMidway,
    /// Closes the connection in order without a response.
    HalfClose,
    Nonsense,
    /// Sends a response for three seconds without completing it.
    Endless,
}

/// The server's treatment of an attempt to connect.
#[derive(Clone, Copy, Debug)]
pub(super) enum Welcome {
    After(Nanos),
    Refused(Nanos),
    /// Never responds.
    Ignored,
    /// Accepts, and closes in order without serving a request.
    Dismissed,
    /// Accepts, sends a response without a request, and closes.
    Greeted,
}

#[derive(Clone)]
pub(super) struct Manners {
    pub(super) conduct: Rc<dyn Fn(Key) -> Conduct>,
    pub(super) welcome: Rc<dyn Fn(u64) -> Welcome>,
    /// The maximum number of requests on a connection at once, and in total.
    pub(super) most_at_once: usize,
    pub(super) most_in_all: usize,
}

/// The server's record of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Seen {
    pub(super) received: Instant,
    /// The time of the last byte of the response, and its status, if it is complete.
    pub(super) answered: Option<(Instant, u16)>,
}

#[derive(Debug, Default)]
pub(super) struct Truth {
    pub(super) seen: HashMap<Key, Seen>,
    /// The requests behind a response that announced the close: they are not processed.
    pub(super) ignored: HashSet<Key>,
    pub(super) attempts: u64,
    pub(super) bytes: u64,
    /// A hash of all bytes with their times and connections.
    pub(super) digest: u64,
}

pub(super) struct Server {
    manners: Manners,
    truth: Rc<RefCell<Truth>>,
    lines: HashMap<ConnectionId, Line>,
}

/// The state of one connection.
#[derive(Default)]
struct Line {
    decoder: RequestDecoder,
    carried: usize,
    /// The requests without a response yet.
    open: Vec<Key>,
    /// The time when its last response will be complete.
    ready: Instant,
    withheld: Vec<(Key, Vec<u8>)>,
    is_dead: bool,
    has_announced: bool,
    /// True if the unrequested response may have been taken for an answer.
    has_greeted: bool,
}

impl Server {
    pub(super) fn new(manners: Manners, truth: Rc<RefCell<Truth>>) -> Server {
        Server { manners, truth, lines: HashMap::new() }
    }
}

impl Peer for Server {
    fn connect(
        &mut self,
        connection: ConnectionId,
        attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        self.lines.insert(connection, Line::default());
        self.truth.borrow_mut().attempts += 1;
        match (self.manners.welcome)(attempt) {
            Welcome::After(time) => effects.push((now + time, Effect::Connected(connection))),
            Welcome::Refused(time) => {
                effects.push((now + time, Effect::Closed(connection, Closed::Refused)));
            }
            Welcome::Ignored => {}
            Welcome::Dismissed => {
                effects.push((now, Effect::Connected(connection)));
                effects.push((now, Effect::Closed(connection, Closed::ByPeer)));
            }
            Welcome::Greeted => {
                let greeting = b"HTTP/1.1 408 Too slow\r\nContent-Length: 0\r\n\r\n".to_vec();
                effects.push((now, Effect::Connected(connection)));
                effects.push((now, Effect::Bytes(connection, greeting)));
                effects.push((now + SERVICE, Effect::Closed(connection, Closed::ByPeer)));
                let line = self.lines.get_mut(&connection).unwrap();
                (line.is_dead, line.has_greeted) = (true, true);
            }
        }
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let mut truth = self.truth.borrow_mut();
        truth.bytes += bytes.len() as u64;
        let stamp = [now.0.to_le_bytes(), u64::from(connection.0).to_le_bytes()].concat();
        for &byte in stamp.iter().chain(bytes) {
            truth.digest = (truth.digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        let line = self.lines.get_mut(&connection).unwrap();
        for (key, is_head) in line.take_in(bytes) {
            if line.has_announced {
                truth.ignored.insert(key);
                continue;
            }
            let known = truth.seen.insert(key, Seen { received: now, answered: None });
            assert_eq!(known, None, "request {key:?} was sent twice");
            line.carried += 1;
            line.open.push(key);
            line.open.retain(|key| truth.seen[key].answered.is_none_or(|(at, _)| now < at));
            let (open, most) = (line.open.len(), self.manners.most_at_once);
            assert!(open <= most || line.has_greeted, "{open} requests at once");
            assert!(line.carried <= self.manners.most_in_all, "a limit of the connection");
            if !line.is_dead {
                let conduct = (self.manners.conduct)(key);
                line.conduct((connection, key, is_head), conduct, now, &mut truth, effects);
            }
        }
    }

    fn taken(&mut self, _connection: ConnectionId, bytes: &[u8], now: Instant) -> Instant {
        let requests = Line::default().take_in(bytes);
        let conducts = requests.into_iter().map(|(key, _)| (self.manners.conduct)(key));
        conducts.fold(now, |taken, conduct| match conduct {
            Conduct::Early(time) => taken.max(now + time),
            _ => taken,
        })
    }
}

impl Line {
    /// Returns the requests in these bytes, and for each whether it is a HEAD request.
    fn take_in(&mut self, bytes: &[u8]) -> Vec<(Key, bool)> {
        let mut bytes = bytes;
        let mut found = Vec::new();
        while let Some(event) = self.decoder.next(&mut bytes).unwrap() {
            if let RequestEvent::Head(head) = event {
                let mut parts = head.target.split('/').skip(1).map(|part| part.parse().unwrap());
                let mut part = || -> u64 { parts.next().unwrap() };
                found.push(((part() as u32, part(), part() as u32), head.method == "HEAD"));
            }
        }
        found
    }

    fn conduct(
        &mut self,
        (connection, key, is_head): (ConnectionId, Key, bool),
        conduct: Conduct,
        now: Instant,
        truth: &mut Truth,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        self.has_announced = match conduct {
            Conduct::LastByHeader => true,
            Conduct::UntilClose => !is_head,
            _ => false,
        };
        let begin = now.max(self.ready);
        let mut done = begin + SERVICE;
        let body = if is_head { String::new() } else { body_of(key) };
        let length = body_of(key).len();
        let counted = |status: &str, field: &str| {
            format!("HTTP/1.1 {status}\r\n{field}Content-Length: {length}\r\n\r\n{body}")
        };
        let well = counted("200 OK", "");
        let closed = |how| Effect::Closed(connection, how);
        let (answer, status) = match conduct {
            Conduct::Well | Conduct::Withheld | Conduct::CloseAfter(_) | Conduct::Bytewise(_) => {
                (well, 200)
            }
            Conduct::Late(time) => {
                done = begin + time;
                (well, 200)
            }
            Conduct::Early(_) => {
                done = begin;
                (well, 200)
            }
            Conduct::Swapped => ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n0/0/9".into(), 200),
            Conduct::Busy => (counted("503 Busy", ""), 503),
            Conduct::NoContent => ("HTTP/1.1 204\r\nContent-Length: 7\r\n\r\n".into(), 204),
            Conduct::Chunked => {
                let chunk =
                    if is_head { "" } else { &format!("{length:x};a=b\r\n{body}\r\n0\r\n\r\n") };
                (format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}"), 200)
            }
            Conduct::Interim => {
                let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nA: b\r\n\r\n";
                (format!("{interim}{well}"), 200)
            }
            Conduct::UntilClose => (format!("HTTP/1.1 200 OK\r\n\r\n{body}"), 200),
            Conduct::LastByHeader => (counted("200 OK", "Connection: close\r\n"), 200),
            Conduct::Chatter => (format!("{well}and so on"), 200),
            Conduct::ResetMidway | Conduct::CloseMidway => (well[..well.len() - 1].into(), 0),
            Conduct::Nonsense => ("SMTP ready\r\n\r\n".into(), 0),
            // Without a body the response ends with its head.
            Conduct::Endless => (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
                if is_head { 200 } else { 0 },
            ),
            Conduct::Silence | Conduct::Reset | Conduct::Broken | Conduct::HalfClose => {
                (String::new(), 0)
            }
        };
        if let Conduct::Withheld = conduct {
            return self.withheld.push((key, answer.into_bytes()));
        }
        let gap = if let Conduct::Bytewise(gap) = conduct { gap } else { Nanos::ZERO };
        let mut packet = Vec::new();
        for (key, answer) in std::mem::take(&mut self.withheld) {
            packet.extend(answer);
            let end = done + gap * packet.len() as u64;
            truth.seen.get_mut(&key).unwrap().answered = Some((end, 200));
        }
        packet.extend_from_slice(answer.as_bytes());
        if let Conduct::Bytewise(_) = conduct {
            for byte in packet {
                done = done + gap;
                effects.push((done, Effect::Bytes(connection, vec![byte])));
            }
        } else if !packet.is_empty() {
            effects.push((done, Effect::Bytes(connection, packet)));
        }
        self.ready = done;
        if status != 0 {
            truth.seen.get_mut(&key).unwrap().answered = Some((done, status));
        }
        match conduct {
            Conduct::UntilClose if is_head => effects.push((done, closed(Closed::ByPeer))),
            Conduct::UntilClose => {
                let end = done + SERVICE;
                truth.seen.get_mut(&key).unwrap().answered = Some((end, status));
                effects.push((end, closed(Closed::ByPeer)));
            }
            Conduct::CloseAfter(time) => effects.push((done + time, closed(Closed::ByPeer))),
            Conduct::Reset | Conduct::ResetMidway => effects.push((done, closed(Closed::Reset))),
            Conduct::Broken => effects.push((done, closed(Closed::WhileWriting))),
            Conduct::CloseMidway | Conduct::HalfClose => {
                effects.push((done, closed(Closed::ByPeer)));
            }
            Conduct::Endless => {
                for piece in 1..=150 {
                    let at = done + Nanos::from_millis(20) * piece;
                    effects.push((at, Effect::Bytes(connection, b"1\r\nx\r\n".to_vec())));
                }
            }
            Conduct::Silence | Conduct::Nonsense => {}
            _ => return,
        }
        self.is_dead = true;
    }
}

/// Returns the body of a good response, which identifies its request.
pub(super) fn body_of((target, number, part): Key) -> String {
    format!("{target}/{number}/{part}")
}

//! The server's side of the toy protocol: over a network on virtual time, secured or not.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::{Arc, Mutex};

use ::measure::{Instant, Nanos};
use net::simulation::{Effect, Peer};
use net::{Address, Closed, ConnectionId, Endpoint};
use rustls::{ServerConfig, ServerConnection};

use super::{
    ASK, BYE, CANCEL, FOUND, HELLO, MAP, MISSING, MOVED, MS, Messages, PARTS, PING, PONG, REPLY,
    WELCOME, write,
};

/// The conduct of the servers.
#[derive(Clone, Debug)]
pub(super) struct Conduct {
    /// The most requests of a connection, by the number of requests that it has carried; 0 if it
    /// never says so.
    pub(super) allowed: fn(u64) -> u32,
    /// It pings after this many requests of a connection, if any.
    pub(super) ping_every: u64,
    /// True for the number of a key whose request gets no reply.
    pub(super) is_silent: fn(u64) -> bool,
    /// The node that has the keys of a part, as this node believes.
    pub(super) owner: fn(u32, u64) -> u32,
    /// The node that accepts no connections.
    pub(super) dead: Option<u32>,
    /// The number of batches of a connection after which the node says that it has all parts.
    pub(super) takes_over_after: u64,
    /// The number of batches after which a connection is closed.
    pub(super) closes_after: u64,
}

impl Default for Conduct {
    fn default() -> Conduct {
        Conduct {
            allowed: |_| 100,
            ping_every: 0,
            is_silent: |_| false,
            owner: |node, _| node,
            dead: None,
            takes_over_after: u64::MAX,
            closes_after: u64::MAX,
        }
    }
}

/// The servers' record of what reached them.
#[derive(Debug, Default)]
pub(super) struct Truth {
    /// The keys of each batch with the node that got it, in order.
    pub(super) asked: Vec<(u32, Vec<u64>)>,
    /// The keys of these that another node has.
    pub(super) moved: usize,
    pub(super) pings: u32,
    pub(super) pongs: u32,
    pub(super) farewells: u32,
    pub(super) cancelled: u32,
}

/// One connection of a server, without a network.
#[derive(Debug)]
pub(super) struct Far {
    node: u32,
    conduct: Conduct,
    truth: Arc<Mutex<Truth>>,
    arrived: Messages,
    carried: u64,
    allowed: u32,
}

impl Far {
    pub(super) fn new(node: u32, conduct: &Conduct, truth: &Arc<Mutex<Truth>>) -> Far {
        let (conduct, truth) = (conduct.clone(), Arc::clone(truth));
        Far { node, conduct, truth, arrived: Messages::default(), carried: 0, allowed: 0 }
    }

    /// Appends what the server says to these bytes.
    pub(super) fn receive(&mut self, bytes: &[u8], said: &mut Vec<u8>) {
        self.arrived.0.extend_from_slice(bytes);
        let truth = Arc::clone(&self.truth);
        let mut truth = truth.lock().unwrap();
        while let Some(message) = self.arrived.next() {
            match message.kind {
                HELLO => {}
                PONG => truth.pongs += 1,
                BYE => truth.farewells += 1,
                CANCEL => truth.cancelled += 1,
                ASK => {
                    let (keys, _) = message.items.as_chunks();
                    let keys: Vec<u64> = keys.iter().map(|key| u64::from_le_bytes(*key)).collect();
                    let statuses: Vec<u8> = keys.iter().map(|key| self.status(*key)).collect();
                    self.carried += 1;
                    if !keys.iter().any(|key| (self.conduct.is_silent)(key / PARTS)) {
                        write(said, REPLY, message.id, statuses.len(), &statuses);
                    }
                    truth.moved += statuses.iter().filter(|status| MOVED <= **status).count();
                    truth.asked.push((self.node, keys));
                    if self.carried == self.conduct.takes_over_after {
                        write(said, MAP, self.node, 0, b"");
                    }
                    if 0 < self.conduct.ping_every
                        && self.carried.is_multiple_of(self.conduct.ping_every)
                    {
                        truth.pings += 1;
                        write(said, PING, truth.pings, 0, b"");
                    }
                }
                kind => panic!("a client does not send {kind}"),
            }
            let allowed = (self.conduct.allowed)(self.carried);
            if allowed != self.allowed {
                write(said, WELCOME, allowed, 0, b"");
            }
            self.allowed = allowed;
        }
    }

    /// Every seventh key is missing.
    fn status(&self, key: u64) -> u8 {
        let owner = (self.conduct.owner)(self.node, key % PARTS);
        match key / PARTS % 7 {
            _ if owner != self.node => MOVED + owner as u8,
            3 => MISSING,
            _ => FOUND,
        }
    }
}

/// A server's end of a connection, plain or secured.
pub(super) struct End {
    far: Far,
    session: Option<ServerConnection>,
}

impl End {
    pub(super) fn new(far: Far, tls: Option<&Arc<ServerConfig>>) -> End {
        let session = tls.map(|config| ServerConnection::new(Arc::clone(config)).unwrap());
        End { far, session }
    }

    /// Returns what the server sends after it has received these bytes.
    pub(super) fn receive(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut said = Vec::new();
        let Some(session) = &mut self.session else {
            self.far.receive(bytes, &mut said);
            return said;
        };
        let mut bytes = bytes;
        while !bytes.is_empty() {
            session.read_tls(&mut bytes).unwrap();
            // The alert is all that follows an error.
            if session.process_new_packets().is_err() {
                break;
            }
        }
        let mut plain = [0; 4_096];
        while let Ok(count @ 1..) = session.reader().read(&mut plain) {
            self.far.receive(&plain[..count], &mut said);
        }
        session.writer().write_all(&said).unwrap();
        let mut sent = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut sent).unwrap();
        }
        sent
    }
}

/// Servers behind a network on virtual time.
pub(super) struct Servers {
    pub(super) conduct: Conduct,
    pub(super) truth: Arc<Mutex<Truth>>,
    pub(super) tls: Option<Arc<ServerConfig>>,
    /// The size in bytes of the pieces in which data arrives.
    pub(super) cut: usize,
    pub(super) ends: HashMap<ConnectionId, End>,
    /// The node that the next attempt to connect leads to.
    pub(super) called: u32,
}

/// The port of the first node.
pub(super) const FIRST_PORT: u16 = 1;

/// The time from the arrival of a request to that of its reply, with and without a handshake of TLS.
pub(super) const TAKES: Nanos = MS;

impl Peer for Servers {
    fn called(&mut self, _connection: ConnectionId, to: &Endpoint) {
        let Address::Inet(address) = to.address else { panic!("{to:?}") };
        self.called = u32::from(address.port() - FIRST_PORT);
    }

    fn connect(
        &mut self,
        connection: ConnectionId,
        _attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        if self.conduct.dead == Some(self.called) {
            return effects.push((now + TAKES, Effect::Closed(connection, Closed::Refused)));
        }
        let far = Far::new(self.called, &self.conduct, &self.truth);
        self.ends.insert(connection, End::new(far, self.tls.as_ref()));
        effects.push((now + TAKES, Effect::Connected(connection)));
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let end = self.ends.get_mut(&connection).unwrap();
        let said = end.receive(bytes);
        let pieces = said.chunks(self.cut).map(<[u8]>::to_vec);
        effects.extend(pieces.map(|piece| (now + TAKES, Effect::Bytes(connection, piece))));
        if self.conduct.closes_after <= end.far.carried {
            effects.push((now + TAKES, Effect::Closed(connection, Closed::ByPeer)));
        }
    }
}

//! TLS around another protocol: the only module that uses rustls.
//!
//! A [`Secured`] driver passes everything on to its inner driver: unchanged in a plain pool, else
//! encrypted and decrypted. Handshakes take place between the opening of the network connection and
//! the opening of the inner driver's, and are timed separately. Nothing here reads a clock or a
//! file.
//!
//! Our own code allocates nothing for a request. rustls allocates the bytes of each record that it
//! encrypts or decrypts, and some tens of kilobytes for a handshake.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ::measure::Nanos;
use net::Closed;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{ClientConfig, HandshakeKind, ProtocolVersion};

use super::{
    Arrivals, Asked, Driver, Fault, Handshake, Label, Lost, Next, Node, Opening, Outcome, Reports,
    Slot, Started, Token,
};

pub use self::terms::{Identity, Pem, Terms, Tls, Trust, Version};

mod given;
mod reason;
mod sessions;
mod terms;
#[cfg(test)]
pub(crate) mod tests;

/// The maximum number of bytes in a record, and the maximum overhead added to them.
const RECORD: usize = 16 * 1024;
const SEAL: usize = 64;
/// The maximum number of records on a TLS 1.2 connection, which is then replaced: it cannot get new
/// keys, and those of some ciphers wear out after 2²⁴ records. In TLS 1.3 rustls renews them.
const MOST_RECORDS: usize = (1 << 24) - (1 << 16);

/// A driver whose connections are secured, or not: one type for pools of both kinds.
pub struct Secured<D> {
    inner: D,
    tls: Option<Box<Pool>>,
}

/// The state that the connections of a pool share.
struct Pool {
    config: Arc<ClientConfig>,
    /// True once the peer has asked for a client certificate.
    wants_certificate: Arc<AtomicBool>,
    name: ServerName<'static>,
    slots: Vec<Option<Box<Session>>>,
    /// The bytes that the inner driver writes, before encryption.
    plain: Vec<u8>,
    /// The bytes received: records are decrypted in place.
    arrived: Vec<u8>,
}

/// One connection.
struct Session {
    tls: UnbufferedClientConnection,
    /// The endpoint that it leads to.
    node: Node,
    stage: Stage,
    /// True while the inner driver's own handshake is in progress.
    is_greeting: bool,
    /// The start of a record that is not complete yet.
    partial: Vec<u8>,
    /// The number of records encrypted.
    sealed: usize,
    /// The peer has announced that nothing more will come.
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Stage {
    /// The handshake is in progress.
    Securing,
    /// The handshake is complete for us. With TLS 1.3 the peer may still refuse our certificate.
    Secured,
    /// The handshake is complete for the peer as well: it has sent data of its own.
    Served,
}

impl<D: Driver> Secured<D> {
    /// Creates a driver without TLS.
    pub fn plain(inner: D) -> Secured<D> {
        Secured { inner, tls: None }
    }

    /// Secures this many slots, with connections to a peer of this name: a host name or an IP
    /// address. Fails if the name is neither.
    pub fn new(inner: D, slots: usize, tls: &Tls, name: &str) -> Result<Secured<D>, String> {
        let name = ServerName::try_from(name.to_owned())
            .map_err(|_| format!("`{name}` is not a host name or an IP address"))?;
        let (config, wants_certificate) = tls.of_pool(slots, inner.alpn());
        let pool = Pool {
            config,
            wants_certificate,
            name,
            slots: (0..slots).map(|_| None).collect(),
            plain: Vec::new(),
            arrived: Vec::new(),
        };
        Ok(Secured { inner, tls: Some(Box::new(pool)) })
    }
}

impl<D: Driver> Driver for Secured<D> {
    fn room(&self, slot: Slot) -> usize {
        let session = self.tls.as_ref().and_then(|pool| pool.slots[slot.0 as usize].as_ref());
        if session.is_some_and(|session| session.is_worn()) { 0 } else { self.inner.room(slot) }
    }

    fn opened(&mut self, slot: Slot, opening: Opening<'_>, reports: &mut Reports) -> Next {
        let Some(pool) = &mut self.tls else { return self.inner.opened(slot, opening, reports) };
        let session = Session::begin(&pool.config, &pool.name, opening.node);
        let session = pool.slots[slot.0 as usize].insert(Box::new(session));
        session.write(&mut reports.wire, Message::Nothing);
        Next::Securing
    }

    fn start(&mut self, slot: Slot, asked: Asked, reports: &mut Reports) -> Result<Started, Fault> {
        match &mut self.tls {
            Some(pool) => pool.seal(slot, reports, |sealed| self.inner.start(slot, asked, sealed)),
            None => self.inner.start(slot, asked, reports),
        }
    }

    fn flush(&mut self, slot: Slot, reports: &mut Reports) {
        match &mut self.tls {
            Some(pool) => pool.seal(slot, reports, |sealed| self.inner.flush(slot, sealed)),
            None => self.inner.flush(slot, reports),
        }
    }

    fn receive(&mut self, slot: Slot, bytes: &[u8], reports: &mut Reports) -> Result<Next, Fault> {
        match &mut self.tls {
            Some(pool) => pool.receive(slot, bytes, &mut self.inner, reports),
            None => self.inner.receive(slot, bytes, reports),
        }
    }

    fn cancel(&mut self, slot: Slot, token: Token, reports: &mut Reports) -> Result<bool, Fault> {
        match &mut self.tls {
            Some(pool) => pool.seal(slot, reports, |sealed| self.inner.cancel(slot, token, sealed)),
            None => self.inner.cancel(slot, token, reports),
        }
    }

    /// True while the peer may still refuse us. In TLS 1.3 our handshake is complete before the
    /// peer has seen our certificate, or that we have none. That it accepts us shows in what it
    /// sends next: a ticket or a response.
    fn is_doubtful(&self, slot: Slot) -> bool {
        let Some(pool) = &self.tls else { return self.inner.is_doubtful(slot) };
        let session = pool.slots[slot.0 as usize].as_ref();
        let may_refuse_us = pool.wants_certificate.load(Ordering::Relaxed)
            && session.is_some_and(|session| {
                session.stage == Stage::Secured
                    && !session.is_tls12()
                    && session.tls.tls13_tickets_received() == 0
            });
        may_refuse_us || self.inner.is_doubtful(slot)
    }

    fn leaves(&mut self, slot: Slot, reports: &mut Reports) {
        let Some(pool) = &mut self.tls else { return self.inner.leaves(slot, reports) };
        pool.seal(slot, reports, |sealed| self.inner.leaves(slot, sealed));
        session(&mut pool.slots, slot).write(&mut reports.wire, Message::Close);
    }

    /// Handles the loss of the connection. An end that the peer did not announce may be forged: it
    /// completes no response.
    fn closed(&mut self, slot: Slot, lost: Lost, reports: &mut Reports) -> Result<(), Fault> {
        let session = self.tls.as_mut().and_then(|pool| pool.slots[slot.0 as usize].take());
        let lost = match (lost, session) {
            (Lost::By(Closed::ByPeer), Some(session)) if !session.has_ended => {
                Lost::For(Outcome::Reset, "closed without TLS's close_notify")
            }
            (lost, _) => lost,
        };
        self.inner.closed(slot, lost, reports)
    }

    fn is_routed(&self) -> bool {
        self.inner.is_routed()
    }

    fn route(&mut self, number: u64, label: Label) -> Node {
        self.inner.route(number, label)
    }

    fn unsent(&mut self, number: u64, label: Label) -> Started {
        self.inner.unsent(number, label)
    }

    fn patience(&self) -> Nanos {
        self.inner.patience()
    }

    fn users(&self) -> Option<usize> {
        self.inner.users()
    }

    fn alpn(&self) -> &'static [&'static [u8]] {
        self.inner.alpn()
    }

    fn outlives_early_responses(&self) -> bool {
        self.inner.outlives_early_responses()
    }

    fn sessions(&self) -> Option<Arrivals> {
        self.inner.sessions()
    }

    fn follow(&mut self, session: super::Session, outcome: Outcome) -> Option<Nanos> {
        self.inner.follow(session, outcome)
    }

    fn delay(&mut self) -> Result<Nanos, Fault> {
        self.inner.delay()
    }

    fn prepare(&mut self) -> Result<bool, Fault> {
        self.inner.prepare()
    }

    fn is_scripted(&self) -> bool {
        self.inner.is_scripted()
    }

    fn has_stopped(&self) -> bool {
        self.inner.has_stopped()
    }
}

fn session(slots: &mut [Option<Box<Session>>], slot: Slot) -> &mut Session {
    slots[slot.0 as usize].as_mut().expect("a connection has a session until it is closed")
}

impl Pool {
    /// Calls the inner driver, and encrypts what it writes.
    fn seal<T>(
        &mut self,
        slot: Slot,
        reports: &mut Reports,
        call: impl FnOnce(&mut Reports) -> T,
    ) -> T {
        let result = divert(&mut self.plain, reports, call);
        self.seal_plain(slot, reports);
        result
    }

    fn seal_plain(&mut self, slot: Slot, reports: &mut Reports) {
        if !self.plain.is_empty() {
            let message = Message::Data(&self.plain);
            session(&mut self.slots, slot).write(&mut reports.wire, message);
            self.plain.clear();
        }
    }

    fn receive<D: Driver>(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        inner: &mut D,
        reports: &mut Reports,
    ) -> Result<Next, Fault> {
        let next = self.decrypt(slot, bytes, inner, reports)?;
        self.seal_plain(slot, reports);
        let session = session(&mut self.slots, slot);
        match next {
            Next::Greeting(_) => session.is_greeting = true,
            Next::Ready(_) => session.is_greeting = false,
            Next::Continue if session.is_worn() => return Ok(Next::Retire),
            _ => {}
        }
        Ok(next)
    }

    /// Hands what it decrypts to the inner driver. What that writes is not encrypted yet: rustls
    /// does not encrypt while it lends out what it has decrypted.
    fn decrypt<D: Driver>(
        &mut self,
        slot: Slot,
        bytes: &[u8],
        inner: &mut D,
        reports: &mut Reports,
    ) -> Result<Next, Fault> {
        let Pool { slots, plain, arrived, .. } = self;
        let session = session(slots, slot);
        arrived.clear();
        arrived.extend_from_slice(&std::mem::take(&mut session.partial));
        arrived.extend_from_slice(bytes);
        let mut next = match session.stage {
            Stage::Securing => Next::Securing,
            Stage::Secured | Stage::Served if session.is_greeting => Next::Greeting(None),
            Stage::Secured | Stage::Served => Next::Continue,
        };
        // Data that arrived with the end of the handshake, before the inner driver is opened.
        let mut early = Vec::new();
        let mut done = 0;
        let mut is_over = false;
        while !is_over {
            let UnbufferedStatus { mut discard, state, .. } =
                session.tls.process_tls_records(&mut arrived[done..]);
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(Ok(record)) = traffic.next_record() {
                        discard += record.discard;
                        if session.stage == Stage::Securing {
                            early.extend_from_slice(record.payload);
                        } else {
                            session.stage = Stage::Served;
                            next = passed_on(next, slot, record.payload, inner, plain, reports)?;
                        }
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(&mut reports.wire, 0, |out| data.encode(out).map_err(needed_to_encode));
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::PeerClosed) => {
                    session.has_ended = true;
                    if !matches!(next, Next::Unasked | Next::Close | Next::Fail(..)) {
                        next = Next::Ended;
                    }
                }
                Ok(_) => is_over = true,
                Err(error) => {
                    session.write_alert(&mut arrived[done + discard..], &mut reports.wire);
                    let outcome = reason::outcome(session.stage, &error);
                    return Ok(Next::Fail(outcome, reason::of(&error, inner.alpn())));
                }
            }
            done += discard;
            if session.stage == Stage::Securing && !session.tls.is_handshaking() {
                session.stage = Stage::Secured;
                next = session.opened(next, slot, inner, plain, reports);
                if !early.is_empty() {
                    session.stage = Stage::Served;
                    next = passed_on(next, slot, &early, inner, plain, reports)?;
                }
            }
        }
        session.partial.extend_from_slice(&arrived[done..]);
        Ok(next)
    }
}

/// Calls the inner driver, and adds what it writes to `plain`.
fn divert<T>(
    plain: &mut Vec<u8>,
    reports: &mut Reports,
    call: impl FnOnce(&mut Reports) -> T,
) -> T {
    std::mem::swap(plain, &mut reports.wire);
    let result = call(reports);
    std::mem::swap(plain, &mut reports.wire);
    result
}

/// Hands data to the inner driver, unless the connection is to be closed.
fn passed_on<D: Driver>(
    next: Next,
    slot: Slot,
    data: &[u8],
    inner: &mut D,
    plain: &mut Vec<u8>,
    reports: &mut Reports,
) -> Result<Next, Fault> {
    if !matches!(next, Next::Continue | Next::Greeting(_) | Next::Ready(_)) {
        return Ok(next);
    }
    let then = divert(plain, reports, |plain| inner.receive(slot, data, plain))?;
    Ok(match (next, then) {
        (Next::Greeting(handshake @ Some(_)), Next::Greeting(None)) => Next::Greeting(handshake),
        (Next::Greeting(handshake @ Some(_)), Next::Ready(None)) => Next::Ready(handshake),
        (Next::Ready(_), Next::Continue) => next,
        (_, then) => then,
    })
}

/// The data that we send, beyond TLS's own messages.
#[derive(Clone, Copy)]
enum Message<'a> {
    Nothing,
    Data(&'a [u8]),
    Close,
}

impl Session {
    fn begin(config: &Arc<ClientConfig>, name: &ServerName<'static>, node: Node) -> Session {
        let tls = UnbufferedClientConnection::new(Arc::clone(config), name.clone());
        Session {
            tls: tls.expect("a configuration that was checked begins handshakes"),
            node,
            stage: Stage::Securing,
            is_greeting: false,
            partial: Vec::new(),
            sealed: 0,
            has_ended: false,
        }
    }

    /// Opens the inner driver's connection, once this one is secured. Returns the next step.
    fn opened<D: Driver>(
        &self,
        next: Next,
        slot: Slot,
        inner: &mut D,
        plain: &mut Vec<u8>,
        reports: &mut Reports,
    ) -> Next {
        if next != Next::Securing {
            return next;
        }
        let opening = Opening { node: self.node, alpn: self.tls.alpn_protocol() };
        let handshake = Some(self.handshake());
        match divert(plain, reports, |plain| inner.opened(slot, opening, plain)) {
            Next::Continue | Next::Ready(_) => Next::Ready(handshake),
            Next::Greeting(_) => Next::Greeting(handshake),
            other => other,
        }
    }

    /// Appends TLS's own messages, and then our data.
    fn write(&mut self, wire: &mut Vec<u8>, message: Message<'_>) {
        loop {
            let UnbufferedStatus { state, .. } = self.tls.process_tls_records(&mut self.partial);
            match state {
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    append(wire, 0, |out| data.encode(out).map_err(needed_to_encode));
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    match message {
                        Message::Nothing => {}
                        Message::Data(plain) => {
                            let records = plain.len() / RECORD + 1;
                            self.sealed += records;
                            let room = plain.len() + records * SEAL;
                            append(wire, room, |out| {
                                traffic.encrypt(plain, out).map_err(needed_to_encrypt)
                            });
                        }
                        Message::Close => append(wire, SEAL, |out| {
                            traffic.queue_close_notify(out).map_err(needed_to_encrypt)
                        }),
                    }
                    return;
                }
                // Either TLS waits for the peer, or the session is over.
                _ => return,
            }
        }
    }

    /// Appends the alert that reports an error to the peer, if there is one.
    fn write_alert(&mut self, arrived: &mut [u8], wire: &mut Vec<u8>) {
        while self.tls.wants_write() {
            let UnbufferedStatus { state, .. } = self.tls.process_tls_records(arrived);
            let Ok(ConnectionState::EncodeTlsData(mut data)) = state else { return };
            append(wire, 0, |out| data.encode(out).map_err(needed_to_encode));
        }
    }

    fn handshake(&self) -> Handshake {
        let suite = self.tls.negotiated_cipher_suite().and_then(|suite| suite.suite().as_str());
        let suite = suite.unwrap_or("an unknown cipher");
        Handshake {
            resumed: self.tls.handshake_kind() == Some(HandshakeKind::Resumed),
            version: match self.is_tls12() {
                true => "TLS 1.2",
                false => "TLS 1.3",
            },
            cipher: suite.trim_start_matches("TLS13_").trim_start_matches("TLS_"),
        }
    }

    fn is_tls12(&self) -> bool {
        self.tls.protocol_version() == Some(ProtocolVersion::TLSv1_2)
    }

    fn is_worn(&self) -> bool {
        MOST_RECORDS <= self.sealed && self.is_tls12()
    }
}

/// Appends what `write` puts into a slice. If the slice is too short, `write` returns the size that
/// it needs, unless it fails for good.
fn append(
    wire: &mut Vec<u8>,
    room: usize,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) {
    let begin = wire.len();
    let mut room = room;
    loop {
        wire.resize(begin + room, 0);
        match write(&mut wire[begin..]) {
            Ok(written) => return wire.truncate(begin + written),
            Err(Some(needed)) => room = needed,
            Err(None) => return wire.truncate(begin),
        }
    }
}

fn needed_to_encode(error: EncodeError) -> Option<usize> {
    match error {
        EncodeError::InsufficientSize(size) => Some(size.required_size),
        EncodeError::AlreadyEncoded => None,
    }
}

fn needed_to_encrypt(error: EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(size) => Some(size.required_size),
        EncryptError::EncryptExhausted => None,
    }
}

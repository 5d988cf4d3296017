//! Complete loads over TLS, with a rustls server behind a network on virtual time.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

use super::load::{START, Witness};
use super::*;
use crate::driver::tls::tests::peer::{Authority, Manners, ONLY_1_2, ONLY_1_3, self_signed};
use crate::driver::tls::tests::{now, pem};
use crate::driver::tls::{Identity, Secured, Terms, Tls, Trust};
use crate::observe::Part;

const MS: Nanos = Nanos::from_millis(1);
const HOST: &str = "shop.test";

/// A TLS server whose data takes a millisecond to arrive.
struct Guarded {
    settings: Arc<ServerConfig>,
    /// Selects the connections, by attempt number, whose handshake is not answered.
    silent: fn(u64) -> bool,
    /// Closes each connection instead of answering the first bytes on it.
    is_shy: bool,
    /// The time that the first flight of a handshake takes to leave.
    uplink: Nanos,
    attempts: u64,
    /// The number of connections whose end was announced.
    farewells: u64,
    sessions: HashMap<ConnectionId, Option<ServerConnection>>,
}

impl Guarded {
    fn new(settings: Arc<ServerConfig>) -> Guarded {
        Guarded {
            settings,
            silent: |_| false,
            is_shy: false,
            uplink: Nanos::ZERO,
            attempts: 0,
            farewells: 0,
            sessions: HashMap::new(),
        }
    }
}

impl Peer for Guarded {
    fn connect(
        &mut self,
        connection: ConnectionId,
        attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let session = ServerConnection::new(Arc::clone(&self.settings)).unwrap();
        self.attempts += 1;
        self.sessions.insert(connection, Some(session).filter(|_| !(self.silent)(attempt)));
        effects.push((now + MS, Effect::Connected(connection)));
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let at = now + MS;
        if self.is_shy {
            return effects.push((at, Effect::Closed(connection, Closed::ByPeer)));
        }
        let Some(Some(session)) = self.sessions.get_mut(&connection) else { return };
        let mut bytes = bytes;
        let mut is_well = true;
        while is_well && !bytes.is_empty() {
            session.read_tls(&mut bytes).unwrap();
            let state = session.process_new_packets();
            is_well = state.is_ok();
            self.farewells += u64::from(state.is_ok_and(|state| state.peer_has_closed()));
        }
        let mut plain = [0; 4_096];
        while let Ok(count @ 1..) = session.reader().read(&mut plain) {
            for _ in plain[..count].windows(4).filter(|end| end == b"\r\n\r\n") {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                session.writer().write_all(answer).unwrap();
            }
        }
        let mut said = Vec::new();
        while session.wants_write() {
            session.write_tls(&mut said).unwrap();
        }
        if !said.is_empty() {
            effects.push((at, Effect::Bytes(connection, said)));
        }
        if !is_well {
            effects.push((at, Effect::Closed(connection, Closed::ByPeer)));
        }
    }

    fn taken(&mut self, _connection: ConnectionId, bytes: &[u8], now: Instant) -> Instant {
        const HANDSHAKE: u8 = 22;
        if bytes.first() == Some(&HANDSHAKE) { now + self.uplink } else { now }
    }

    fn closed(&mut self, connection: ConnectionId, _now: Instant) {
        self.sessions.remove(&connection);
    }
}

const LIMITS: Limits = Limits { connect_timeout: Nanos::from_millis(300), ..super::LIMITS };

/// The results of a hundred requests in a second, over four connections.
struct Ran {
    part: Part,
    witness: Witness,
    attempts: u64,
    farewells: u64,
    failures: Failures,
    unreachable: Option<(usize, Option<Unopened>)>,
    /// The time at which its connections were open.
    opened: Instant,
}

fn run(server: Guarded, trust: Trust, limits: Limits) -> Ran {
    let terms = Terms { trust, identity: None, version: None, resume: true, now };
    run_on(server, &terms, limits)
}

fn run_on(server: Guarded, terms: &Terms, limits: Limits) -> Ran {
    let stop = AtomicBool::new(false);
    let recorder = Recorder::new(1, SECOND, None);
    let observer = (recorder, Witness::default());
    let mut shard = Shard::new(Simulation::new(server), observer, limits, [&stop, &stop]);
    let tls = Tls::new(terms).unwrap();
    let inner = Http1::new(4, Static::new("GET", "/", &[("Host", "x")], b""));
    let driver = Secured::new(inner, 4, &tls, HOST).unwrap();
    let address: std::net::SocketAddr = "127.0.0.1:1".parse().unwrap();
    let numbers = Numbers { first: 0, step: 1, quota: None };
    shard.add_pool(Of::default(), driver, (vec![address.into()], 4), numbers);
    shard.connect(START).unwrap();
    let opened = shard.io().now();
    let unreachable = shard.unreachable();
    let (start, end) = (START, START + SECOND);
    shard.observer().begin(start, Window { start, end });
    let shape = Shape::constant(Rate::per_second(100.0).unwrap());
    let load = Offered::Drawn { shape, distribution: Distribution::Constant };
    let dealt = Dealt { targets: 1, part: Portion::WHOLE, pools: 1, shards: 1, shard: 0 };
    let arrivals = pacing::arrivals(&load, Sharing::InTurn, dealt, 7, (start, end));
    let mut source = Source::Open(Streams::new(arrivals, 1, None));
    let schedule = Schedule { start, overload: start, end, drain: SECOND };
    let (done, _) = shard.run(&mut source, schedule).unwrap();
    let failures = shard.failures();
    let &Guarded { attempts, farewells, .. } = shard.io().peer();
    let ((recorder, witness), _) = shard.into_parts();
    let recorded = recorder.finish(done);
    check_invariants(&recorded);
    let part = recorded.parts[0].clone();
    Ran { part, witness, attempts, farewells, failures, unreachable, opened }
}

fn anyone(limits: Limits, versions: &'static [&'static rustls::SupportedProtocolVersion]) -> Ran {
    let settings = Manners { versions, ..Manners::default() }.with(&self_signed(HOST));
    run(Guarded::new(settings), Trust::Anyone, limits)
}

fn all(histogram: &Histogram, value: Nanos) -> bool {
    let close = |bound: Option<Nanos>| bound.is_some_and(|b| b.0.abs_diff(value.0) < value.0 / 500);
    close(histogram.min()) && close(histogram.max())
}

#[test]
fn connecting_and_securing_have_times_of_their_own_and_end_before_the_load() {
    for (versions, round_trips) in [(ONLY_1_2, 2), (ONLY_1_3, 1)] {
        let ran = anyone(LIMITS, versions);
        assert_eq!((ran.part.outcome(Outcome::Ok), ran.attempts), (100, 4));
        assert_eq!((ran.part.connect.count(), ran.part.handshake.count()), (4, 4));
        assert!(all(&ran.part.connect, MS), "{:?}", ran.part.connect.max());
        assert!(all(&ran.part.handshake, MS * round_trips), "{:?}", ran.part.handshake.max());
        assert!(all(&ran.part.response, MS), "{:?}", ran.part.response.max());
        assert_eq!((ran.part.resumed, ran.unreachable), (0, None));
    }
}

#[test]
fn a_connection_for_each_request_resumes_and_is_in_its_response_time() {
    let limits = Limits { keep_alive: Some(1), ..LIMITS };
    // In TLS 1.2 a resumed session needs one round trip less.
    for (versions, name) in [(ONLY_1_2, "TLS 1.2"), (ONLY_1_3, "TLS 1.3")] {
        let ran = anyone(limits, versions);
        assert_eq!((ran.part.outcome(Outcome::Ok), ran.attempts), (100, 104));
        assert_eq!((ran.part.handshake.count(), ran.farewells), (104, 104));
        assert!(94 <= ran.part.resumed, "{name}: {}", ran.part.resumed);
        let agreed: Vec<_> = ran.part.agreed.iter().collect();
        let [((version, _), 104)] = agreed[..] else { panic!("{agreed:?}") };
        assert_eq!(*version, name);
        assert!(all(&ran.part.response, MS * 3), "{name}: {:?}", ran.part.response.max());
        assert_eq!(ran.part.lateness.max(), Some(Nanos::ZERO));
    }
}

#[test]
fn an_untrusted_server_fails_every_request_as_connect_with_the_reason() {
    let certified = Authority::new("theirs").issue(HOST);
    let trust = Trust::Issuers(pem(Authority::new("ours").pem()));
    let ran = run(Guarded::new(Manners::default().with(&certified)), trust, LIMITS);
    let Some((0, Some(Unopened::Unprepared(why)))) = ran.unreachable else {
        panic!("{:?}", ran.unreachable)
    };
    assert!(why.contains("name it with --ca FILE"), "{why}");
    let count = ran.part.outcome(Outcome::Connect);
    let reasons: Vec<_> = ran.part.reasons.iter().collect();
    assert_eq!(reasons, [(Outcome::Connect, why.to_owned(), count)]);
    assert_eq!((ran.part.outcome(Outcome::Ok), ran.part.handshake.count()), (0, 0));
    assert_eq!(ran.failures, Failures { refused: ran.attempts, ..Failures::default() });
    assert!(ran.attempts < 60, "it is retried less and less: {}", ran.attempts);
}

#[test]
fn a_refusal_after_our_handshake_counts_as_a_refused_connection() {
    let authority = Authority::new("ours");
    let manners =
        Manners { versions: ONLY_1_3, clients_of: Some(&authority), ..Manners::default() };
    let ran = run(Guarded::new(manners.with(&authority.issue(HOST))), Trust::Anyone, LIMITS);
    assert_eq!(ran.part.outcome(Outcome::Ok), 0);
    assert_eq!(ran.part.outcome(Outcome::Reset), 0, "{:?}", ran.part.reasons);
    let refused = |(outcome, why, _): (Outcome, String, u64)| {
        outcome == Outcome::Connect && why.contains("--cert")
    };
    assert!(ran.part.reasons.iter().all(refused), "{:?}", ran.part.reasons);
    // This is known before anything is measured.
    let Some((0, Some(Unopened::Unprepared(why)))) = ran.unreachable else {
        panic!("{:?}", ran.unreachable)
    };
    assert!(why.contains("--cert"), "{why}");
    assert_eq!(ran.failures, Failures { refused: ran.attempts, ..Failures::default() });
    assert!(ran.attempts < 60, "it is retried less and less: {}", ran.attempts);
}

#[test]
fn the_load_begins_as_soon_as_the_peers_have_accepted_our_certificate() {
    let authority = Authority::new("ours");
    let begin = |tickets| {
        let clients_of = Some(&authority);
        let manners = Manners { versions: ONLY_1_3, clients_of, tickets, ..Manners::default() };
        let client = authority.issue("client");
        let (certificates, key) = (pem(client.certificate), pem(client.key));
        let identity = Some(Identity { certificates, key });
        let terms = Terms { trust: Trust::Anyone, identity, version: None, resume: true, now };
        let ran = run_on(Guarded::new(manners.with(&authority.issue(HOST))), &terms, LIMITS);
        assert_eq!(ran.part.outcome(Outcome::Ok), 100);
        ran.opened
    };
    // Connecting takes one millisecond and our handshake another; a ticket comes after a third, and
    // a peer that sends none might still refuse us.
    assert_eq!(begin(2), Instant(0) + MS * 3);
    assert_eq!(begin(0), Instant(0) + MS * (2 + 500));
}

#[test]
fn a_handshake_without_a_response_is_given_up_in_time() {
    // The attempts: the connections opened before the load, one retry of each, and one for each
    // request.
    let settings = Manners::default().with(&self_signed(HOST));
    let server = Guarded { silent: |attempt| attempt % 10 == 9, ..Guarded::new(settings) };
    let limits = Limits { keep_alive: Some(1), ..LIMITS };
    let ran = run(server, Trust::Anyone, limits);
    let failed: Vec<_> = ran.witness.with(Outcome::Connect).collect();
    assert_eq!((failed.len(), ran.part.outcome(Outcome::Ok)), (10, 90));
    for completion in failed {
        assert_eq!(completion.done - completion.start.unwrap().sent, LIMITS.connect_timeout);
        assert!(completion.why.contains("--connect-timeout"), "{}", completion.why);
    }
    assert_eq!(ran.failures, Failures { unreachable: 10, ..Failures::default() });
    // If connecting takes longer than the request may, the request times out.
    let settings = Manners::default().with(&self_signed(HOST));
    let server = Guarded { silent: |attempt| attempt % 10 == 9, ..Guarded::new(settings) };
    let ran = run(server, Trust::Anyone, Limits { timeout: MS * 100, ..limits });
    assert_eq!(ran.part.outcome(Outcome::Timeout), 10, "{:?}", ran.part.outcomes);
}

/// A response to a partly sent handshake is not a response to a request.
#[test]
fn a_handshake_may_be_answered_while_it_is_sent() {
    let settings = Manners { versions: ONLY_1_2, ..Manners::default() }.with(&self_signed(HOST));
    let server = Guarded { uplink: MS * 5, ..Guarded::new(settings) };
    let ran = run(server, Trust::Anyone, LIMITS);
    assert_eq!((ran.part.outcome(Outcome::Ok), ran.attempts), (100, 4));
}

#[test]
fn a_connection_that_is_closed_during_its_handshake_was_never_open() {
    let settings = Manners::default().with(&self_signed(HOST));
    let server = Guarded { is_shy: true, ..Guarded::new(settings) };
    let ran = run(server, Trust::Anyone, LIMITS);
    let why = "closed during the TLS handshake: does it speak TLS?";
    assert_eq!(ran.unreachable, Some((0, Some(Unopened::Unprepared(why)))));
    let reasons: Vec<_> = ran.part.reasons.iter().map(|(of, why, _)| (of, why)).collect();
    assert_eq!(reasons, [(Outcome::Connect, why.to_owned())]);
    assert_eq!((ran.failures.refused, ran.part.reconnects), (ran.attempts, 0));
}

use std::io::{Read, Write};

use rustls::{ServerConfig, ServerConnection};

use super::*;
use crate::driver::Done;
use crate::driver::http1::{Http1, Static};

pub(crate) mod peer;

use self::peer::{Authority, Certified, Manners, ONLY_1_2, ONLY_1_3, self_signed};

const SLOT: Slot = Slot(0);
const ASKED: Asked = Asked {
    token: Token(7),
    number: 0,
    label: Label::NONE,
    session: crate::driver::Session::NONE,
    again: false,
};
const OPENING: Opening<'_> = Opening { node: Node(3), alpn: None };
const HOST: &str = "shop.test";
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Returns a time in the middle of 2026.
pub(crate) fn now() -> u64 {
    1_780_000_000
}

/// Returns terms that trust only this authority.
fn trusting(authority: &Authority) -> Terms {
    Terms {
        trust: Trust::Issuers(pem(authority.pem())),
        identity: None,
        version: None,
        resume: true,
        now,
    }
}

fn anyone() -> Terms {
    Terms { trust: Trust::Anyone, identity: None, version: None, resume: true, now }
}

fn identity(certified: &Certified) -> Option<Identity> {
    let Certified { certificate, key } = certified.clone();
    Some(Identity { certificates: pem(certificate), key: pem(key) })
}

pub(crate) fn pem(text: String) -> Pem {
    Pem { name: "--option file.pem".to_owned(), text: text.into_bytes() }
}

fn driver(terms: &Terms, slots: usize) -> Secured<Http1<Static>> {
    let inner = Http1::new(slots, Static::new("GET", "/", &[("Host", "x")], b""));
    Secured::new(inner, slots, &Tls::new(terms).unwrap(), HOST).unwrap()
}

/// Both ends of a connection, and the bytes that they have exchanged.
struct Line<'a> {
    driver: &'a mut Secured<Http1<Static>>,
    server: ServerConnection,
    reports: Reports,
    /// The size in bytes of the pieces in which data arrives.
    cut: usize,
    /// The last value other than `Continue` and `Securing`.
    next: Next,
    handshake: Option<Handshake>,
    /// The bytes that the server has read.
    received: Vec<u8>,
    /// The error that the server found or was told of.
    server_error: Option<rustls::Error>,
}

impl<'a> Line<'a> {
    /// Opens a connection and performs the handshake, whatever its result.
    fn open(driver: &'a mut Secured<Http1<Static>>, server: &Arc<ServerConfig>) -> Line<'a> {
        Line::open_cut(driver, server, usize::MAX)
    }

    fn open_cut(
        driver: &'a mut Secured<Http1<Static>>,
        server: &Arc<ServerConfig>,
        cut: usize,
    ) -> Line<'a> {
        let server = ServerConnection::new(Arc::clone(server)).unwrap();
        let (reports, received) = (Reports::default(), Vec::new());
        let next = Next::Continue;
        let (handshake, server_error) = (None, None);
        let mut line =
            Line { driver, server, reports, cut, next, handshake, received, server_error };
        assert_eq!(line.driver.opened(SLOT, OPENING, &mut line.reports), Next::Securing);
        line.send();
        line
    }

    /// Delivers these bytes to the server; then both sides exchange data until neither has more to
    /// send.
    fn deliver(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while !bytes.is_empty() {
            self.server.read_tls(&mut bytes).unwrap();
            // The server reports an error in an alert.
            self.server_error =
                self.server.process_new_packets().err().or(self.server_error.take());
            let mut plain = [0; 1 << 16];
            while let Ok(count @ 1..) = self.server.reader().read(&mut plain) {
                self.received.extend_from_slice(&plain[..count]);
            }
        }
        self.listen();
    }

    /// Delivers the server's data to the driver.
    fn listen(&mut self) {
        let mut bytes = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut bytes).unwrap();
        }
        for piece in bytes.chunks(self.cut) {
            self.arrive(piece);
        }
        self.send();
    }

    /// Delivers what the driver has written.
    fn send(&mut self) {
        if !self.reports.wire.is_empty() {
            let wire = std::mem::take(&mut self.reports.wire);
            self.deliver(&wire);
        }
    }

    fn arrive(&mut self, bytes: &[u8]) {
        if matches!(self.next, Next::Close | Next::Fail(..)) {
            return;
        }
        match self.driver.receive(SLOT, bytes, &mut self.reports).unwrap() {
            Next::Continue | Next::Securing => {}
            Next::Ready(handshake) => self.handshake = handshake,
            next => self.next = next,
        }
    }

    fn ask(&mut self) {
        self.driver.start(SLOT, ASKED, &mut self.reports).unwrap();
        self.send();
    }

    fn answer(&mut self, bytes: &[u8]) {
        self.server.writer().write_all(bytes).unwrap();
        self.listen();
    }

    /// Returns the outcome of the request when the connection ended in this way.
    fn closed(&mut self, lost: Lost) -> Done {
        self.driver.closed(SLOT, lost, &mut self.reports).unwrap();
        assert_eq!(self.reports.done.len(), 1);
        self.reports.done[0]
    }

    fn failure(&self) -> &'static str {
        match self.next {
            Next::Fail(Outcome::Connect, why) => why,
            next => panic!("{next:?} after {:?}", self.handshake),
        }
    }
}

#[test]
fn requests_and_responses_are_encrypted_whatever_the_version_and_the_cuts() {
    let authority = Authority::new("ours");
    let certified = authority.issue(HOST);
    for (versions, name) in [(ONLY_1_2, "TLS 1.2"), (ONLY_1_3, "TLS 1.3")] {
        let server = Manners { versions, ..Manners::default() }.with(&certified);
        for cut in [usize::MAX, 1_000, 7, 1] {
            let mut driver = driver(&trusting(&authority), 1);
            let mut line = Line::open_cut(&mut driver, &server, cut);
            let handshake = line.handshake.expect("both agree");
            assert_eq!((handshake.version, handshake.resumed), (name, false));
            assert!(handshake.cipher.ends_with("AES_256_GCM_SHA384"), "{}", handshake.cipher);
            assert_eq!(line.server.server_name(), Some(HOST), "the name is sent");
            assert_eq!(line.server.alpn_protocol(), Some(&b"http/1.1"[..]));
            for round in 1..=3 {
                line.ask();
                assert_eq!(line.received, REQUEST.repeat(round));
                line.answer(ANSWER);
                assert_eq!((line.next, line.reports.done.len()), (Next::Continue, round));
            }
            assert!(line.reports.done.iter().all(|done| done.outcome == Outcome::Ok));
        }
    }
}

#[test]
fn records_longer_than_any_buffer_pass_in_both_directions() {
    let body = vec![b'a'; 200_000];
    let inner = Http1::new(1, Static::new("POST", "/", &[("Host", "x")], &body));
    let tls = Tls::new(&anyone()).unwrap();
    let mut driver = Secured::new(inner, 1, &tls, HOST).unwrap();
    let server = Manners::default().with(&self_signed(HOST));
    let mut line = Line::open_cut(&mut driver, &server, 1_448);
    line.server.set_buffer_limit(None);
    line.ask();
    assert!(line.received.ends_with(&body));
    let answer = [b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n", &body[..]].concat();
    line.answer(&answer);
    assert_eq!((line.reports.done[0].outcome, line.reports.done[0].bytes), (Outcome::Ok, 200_000));
}

#[test]
fn a_certificate_that_proves_nothing_is_refused_with_the_remedy() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    for (certified, why) in [
        (ours.issue_for(HOST, 2000, 2001), "has expired"),
        (ours.issue_for(HOST, 2099, 2100), "not valid yet"),
        (ours.issue("other.test"), "for another name; give that with --sni"),
        (theirs.issue(HOST), "issuer is unknown; name it with --ca FILE"),
        (self_signed(HOST), "issuer is unknown"),
    ] {
        for versions in [ONLY_1_2, ONLY_1_3] {
            let server = Manners { versions, ..Manners::default() }.with(&certified);
            let mut driver_of_ours = driver(&trusting(&ours), 1);
            let line = Line::open(&mut driver_of_ours, &server);
            assert!(line.failure().contains(why), "{why}: {}", line.failure());
            assert!(line.handshake.is_none());
            let is_reported = matches!(line.server_error, Some(rustls::Error::AlertReceived(_)));
            assert!(is_reported, "the server gets an alert: {:?}", line.server_error);
            let mut indifferent = driver(&anyone(), 1);
            assert!(Line::open(&mut indifferent, &server).handshake.is_some(), "--insecure: {why}");
        }
    }
}

/// `openssl req -x509` makes such certificates: an issuer's, which the server shows as its own.
#[test]
fn a_server_whose_own_certificate_is_named_is_trusted_for_its_names_and_its_time() {
    let name = "for another name";
    for (subject, names, last_year, is_ca, why) in [
        (HOST, &[HOST][..], 2100, true, None),
        (HOST, &[HOST], 2100, false, None),
        ("other.test", &[HOST], 2100, true, None),
        // Without other names, the common name counts.
        (HOST, &[], 2100, true, None),
        (HOST, &[], 2100, false, None),
        ("SHOP.test", &[], 2100, true, None),
        ("other.test", &[], 2100, true, Some(name)),
        (HOST, &["other.test"], 2100, true, Some(name)),
        (HOST, &["other.test"], 2100, false, Some(name)),
        (HOST, &[HOST], 2001, true, Some("has expired")),
        (HOST, &[], 2001, true, Some("has expired")),
    ] {
        let certified = self_issued(subject, names, last_year, is_ca);
        let trusting = |certificate: &str| Terms {
            trust: Trust::Issuers(pem(certificate.to_owned())),
            ..anyone()
        };
        for versions in [ONLY_1_2, ONLY_1_3] {
            let server = Manners { versions, ..Manners::default() }.with(&certified);
            let mut ours = driver(&trusting(&certified.certificate), 1);
            let line = Line::open(&mut ours, &server);
            match why {
                None => assert!(line.handshake.is_some(), "{subject} {names:?} {:?}", line.next),
                Some(why) => assert!(line.failure().contains(why), "{}", line.failure()),
            }
            // Another key of the same name, and another name.
            for other in [subject, "unrelated.test"] {
                let other = self_issued(other, names, last_year, is_ca);
                let mut others = driver(&trusting(&other.certificate), 1);
                let refused = Line::open(&mut others, &server);
                assert!(refused.handshake.is_none(), "another key");
                if why.is_none() {
                    assert!(refused.failure().contains("--ca FILE"), "{}", refused.failure());
                }
            }
        }
    }
}

#[test]
fn a_peer_with_another_protocol_is_recognized() {
    let certified = self_signed(HOST);
    let failure = |terms: Terms, manners: Manners<'_>| {
        let mut driver = driver(&terms, 1);
        Line::open(&mut driver, &manners.with(&certified)).failure()
    };
    let only = |version| Terms { version: Some(version), ..anyone() };
    let why = failure(only(Version::V1_3), Manners { versions: ONLY_1_2, ..Manners::default() });
    assert!(why.contains("--tls"), "{why}");
    let why = failure(only(Version::V1_2), Manners { versions: ONLY_1_3, ..Manners::default() });
    assert!(why.contains("--tls"), "{why}");
    let why = failure(anyone(), Manners { protocols: &["h2"], ..Manners::default() });
    assert_eq!(why, "it does not speak HTTP/1.1");

    let mut driver = driver(&anyone(), 1);
    let mut reports = Reports::default();
    driver.opened(SLOT, OPENING, &mut reports);
    let next = driver.receive(SLOT, b"HTTP/1.1 400 Bad Request\r\n\r\n", &mut reports).unwrap();
    let Next::Fail(Outcome::Connect, why) = next else { panic!("{next:?}") };
    assert!(why.contains("load it as http://"), "{why}");
}

#[test]
fn a_peer_that_requires_our_certificate_gets_it_or_refuses() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let certified = ours.issue(HOST);
    let with = |identity| Terms { identity, ..trusting(&ours) };
    for versions in [ONLY_1_2, ONLY_1_3] {
        let server = Manners { versions, clients_of: Some(&ours), ..Manners::default() };
        let server = server.with(&certified);
        let mut known = driver(&with(identity(&ours.issue("client"))), 1);
        let mut line = Line::open(&mut known, &server);
        line.ask();
        assert_eq!(line.received, REQUEST);

        // With TLS 1.3 the refusal comes after our handshake is complete: the outcome is the same.
        let mut nobody = driver(&with(None), 1);
        let line = Line::open(&mut nobody, &server);
        assert!(line.failure().contains("--cert"), "{}", line.failure());
        let mut stranger = driver(&with(identity(&theirs.issue("client"))), 1);
        let line = Line::open(&mut stranger, &server);
        assert!(line.failure().contains("our certificate"), "{}", line.failure());
    }
}

#[test]
fn a_request_sent_before_the_peer_refused_us_has_failed_to_connect() {
    let ours = Authority::new("ours");
    let server = Manners { versions: ONLY_1_3, clients_of: Some(&ours), ..Manners::default() };
    let server = server.with(&ours.issue(HOST));
    let mut driver = driver(&trusting(&ours), 1);
    let mut line = Line::open(&mut driver, &server);
    let Next::Fail(outcome, why) = line.next else { panic!("{:?}", line.next) };
    // Simulates a request that overtook the refusal.
    line.driver.inner.start(SLOT, ASKED, &mut line.reports).unwrap();
    let done = line.closed(Lost::For(outcome, why));
    assert_eq!((done.outcome, done.why), (Outcome::Connect, why));
}

#[test]
fn sessions_are_resumed_unless_that_is_disabled() {
    let certified = self_signed(HOST);
    for versions in [ONLY_1_2, ONLY_1_3] {
        let server = Manners { versions, ..Manners::default() }.with(&certified);
        let resumed = |terms: &Terms| {
            let mut driver = driver(terms, 1);
            let mut resumed = Vec::new();
            for _ in 0..4 {
                let mut line = Line::open(&mut driver, &server);
                resumed.push(line.handshake.unwrap().resumed);
                line.ask();
                line.answer(ANSWER);
                line.driver.leaves(SLOT, &mut line.reports);
                line.driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut line.reports).unwrap();
            }
            resumed
        };
        assert_eq!(resumed(&anyone()), [false, true, true, true]);
        assert_eq!(resumed(&Terms { resume: false, ..anyone() }), [false; 4]);
    }
}

#[test]
fn no_more_tickets_are_kept_than_there_are_slots() {
    let certified = self_signed(HOST);
    let server = Manners { tickets: 50, ..Manners::default() };
    let mut driver = driver(&anyone(), 3);
    Line::open(&mut driver, &server.with(&certified));
    // The server keeps its keys, which the tickets are for, but sends no further tickets.
    let config = Arc::clone(&driver.tls.as_ref().unwrap().config);
    let text = format!("{:?}", config.resumption);
    assert_eq!(text.matches("Tls13ClientSessionValue").count(), 3, "{text}");
}

#[test]
fn only_an_announced_end_completes_a_body_that_ends_with_its_connection() {
    let server = Manners::default().with(&self_signed(HOST));
    let endless = b"HTTP/1.1 200 OK\r\n\r\nall there is";
    let mut driver = driver(&anyone(), 1);
    let mut line = Line::open(&mut driver, &server);
    line.ask();
    line.answer(endless);
    line.server.send_close_notify();
    line.listen();
    assert_eq!(line.next, Next::Ended);
    let done = line.closed(Lost::By(Closed::ByPeer));
    assert_eq!((done.outcome, done.bytes), (Outcome::Ok, 12));

    let mut line = Line::open(&mut driver, &server);
    line.ask();
    line.answer(endless);
    let done = line.closed(Lost::By(Closed::ByPeer));
    assert_eq!((done.outcome, done.why), (Outcome::Reset, "closed without TLS's close_notify"));
}

#[test]
fn an_error_after_a_response_is_not_a_failure_to_connect() {
    let server = Manners::default().with(&self_signed(HOST));
    let mut driver = driver(&anyone(), 1);
    let mut line = Line::open(&mut driver, &server);
    line.ask();
    line.answer(&ANSWER[..20]);
    let forged = [&[23, 3, 3, 0, 32][..], &[0; 32]].concat();
    line.arrive(&forged);
    let why = "it sent a record that cannot be decrypted";
    assert_eq!(line.next, Next::Fail(Outcome::Malformed, why));
    let done = line.closed(Lost::For(Outcome::Malformed, why));
    assert_eq!((done.outcome, done.why), (Outcome::Malformed, why));
}

#[test]
fn a_key_update_of_the_peer_is_answered_at_once() {
    let server = Manners { versions: ONLY_1_3, ..Manners::default() }.with(&self_signed(HOST));
    let mut driver = driver(&anyone(), 1);
    let mut line = Line::open(&mut driver, &server);
    for round in 1..=3 {
        line.server.refresh_traffic_keys().unwrap();
        line.listen();
        line.ask();
        line.answer(ANSWER);
        assert_eq!((line.next, line.reports.done.len()), (Next::Continue, round));
    }
}

#[test]
fn a_connection_is_replaced_before_its_keys_wear_out() {
    let certified = self_signed(HOST);
    for (versions, next) in [(ONLY_1_2, Next::Retire), (ONLY_1_3, Next::Continue)] {
        let server = Manners { versions, ..Manners::default() }.with(&certified);
        let mut driver = driver(&anyone(), 1);
        let mut line = Line::open(&mut driver, &server);
        session(&mut line.driver.tls.as_mut().unwrap().slots, SLOT).sealed = MOST_RECORDS;
        line.ask();
        line.answer(ANSWER);
        assert_eq!((line.next, line.reports.done[0].outcome), (next, Outcome::Ok));
        assert_eq!(line.driver.room(SLOT), usize::from(next == Next::Continue));
    }
}

#[test]
fn leaving_sends_a_close_notify() {
    let server = Manners::default().with(&self_signed(HOST));
    let mut driver = driver(&anyone(), 1);
    let mut line = Line::open(&mut driver, &server);
    line.driver.leaves(SLOT, &mut line.reports);
    line.server.read_tls(&mut &line.reports.wire[..]).unwrap();
    assert!(line.server.process_new_packets().unwrap().peer_has_closed());
}

/// rustls allocates each record that is encrypted or decrypted; our own buffers are reused.
#[test]
fn a_request_takes_two_allocations_and_leaves_none() {
    let certified = self_signed(HOST);
    for versions in [ONLY_1_2, ONLY_1_3] {
        let server = Manners { versions, ..Manners::default() }.with(&certified);
        let mut driver = driver(&anyone(), 1);
        let mut line = Line::open(&mut driver, &server);
        let mut counted = Vec::new();
        for _ in 0..20 {
            let start = allocation_counter::measure(|| {
                line.driver.start(SLOT, ASKED, &mut line.reports).unwrap();
            });
            let wire = line.reports.wire.clone();
            line.reports.wire.clear();
            line.deliver(&wire);
            line.server.writer().write_all(ANSWER).unwrap();
            let mut bytes = Vec::new();
            line.server.write_tls(&mut bytes).unwrap();
            let receive = allocation_counter::measure(|| line.arrive(&bytes));
            line.reports.done.clear();
            line.reports.begun.clear();
            counted.push((
                start.count_total,
                start.count_current,
                receive.count_total,
                receive.count_current,
            ));
        }
        assert!(counted[5..].iter().all(|counts| *counts == (1, 0, 1, 0)), "{counted:?}");
    }
}

/// Measures the memory beyond the slot itself; the connection owns a session, the pool its tickets.
#[test]
fn an_idle_connection_holds_a_few_kilobytes() {
    let server = Manners::default().with(&self_signed(HOST));
    let mut driver = driver(&Terms { resume: false, ..anyone() }, 1);
    let mut line = Line::open(&mut driver, &server);
    line.ask();
    line.answer(ANSWER);
    let freed = allocation_counter::measure(|| {
        line.driver.closed(SLOT, Lost::By(Closed::ByPeer), &mut line.reports).unwrap();
    });
    let held = -freed.bytes_current;
    assert!((500..8_000).contains(&held), "{held}");
}

#[test]
fn a_plain_pool_is_passed_through() {
    let inner = Http1::new(1, Static::new("GET", "/", &[("Host", "x")], b""));
    let mut driver = Secured::plain(inner);
    let mut reports = Reports::default();
    assert_eq!(driver.opened(SLOT, OPENING, &mut reports), Next::Continue);
    driver.start(SLOT, ASKED, &mut reports).unwrap();
    driver.leaves(SLOT, &mut reports);
    assert_eq!(reports.wire, REQUEST);
    assert_eq!(driver.receive(SLOT, ANSWER, &mut reports).unwrap(), Next::Continue);
    assert_eq!((reports.done[0].outcome, &*reports.wire), (Outcome::Ok, REQUEST));
}

#[test]
fn terms_that_cannot_be_used_are_explained() {
    let (ours, other) = (self_signed(HOST), self_signed(HOST));
    let mixed = Certified { key: other.key, ..ours.clone() };
    let keyless = Certified { key: "nothing".to_owned(), ..ours.clone() };
    let bare = Certified { certificate: String::new(), ..ours };
    for (terms, why) in [
        (Terms { identity: identity(&mixed), ..anyone() }, "does not fit"),
        (Terms { identity: identity(&keyless), ..anyone() }, "contains no private key"),
        (Terms { identity: identity(&bare), ..anyone() }, "contains no certificate"),
        (
            Terms { trust: Trust::Issuers(pem("x".to_owned())), ..anyone() },
            "contains no certificate",
        ),
        (Terms { trust: Trust::System(vec![vec![1]]), ..anyone() }, "install ca-certificates"),
    ] {
        let error = Tls::new(&terms).expect_err(why);
        assert!(error.contains(why), "{error}");
        let is_of_system = why.contains("ca-certificates");
        assert!(is_of_system || error.starts_with("--option file.pem: "), "{error}");
    }
    let tls = Tls::new(&anyone()).unwrap();
    let refused =
        Secured::new(Http1::new(1, Static::new("GET", "/", &[], b"")), 1, &tls, "no name").err();
    assert!(refused.unwrap().contains("not a host name or an IP address"));
}

/// Returns a certificate that its subject has issued for itself, with other names or without.
fn self_issued(subject: &str, names: &[&str], last_year: i32, is_ca: bool) -> peer::Certified {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = rcgen::CertificateParams::new(names).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(rcgen::DnType::CountryName, "SE");
    params.distinguished_name.push(rcgen::DnType::CommonName, subject);
    params.not_before = rcgen::date_time_ymd(2000, 1, 1);
    params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
    if is_ca {
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    }
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    peer::Certified { certificate: certificate.pem(), key: key.serialize_pem() }
}

//! `https` targets: servers of rustls and nginx, with certificates made for the test.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};

use rustls::{HandshakeKind, ServerConfig, ServerConnection, Stream};
use serde_json::Value;

use crate::originals::Nginx;
use crate::peer::{self, ok};
use crate::support::{Ran, Scratch, machine, run, tool};
use crate::tls_peer::{Authority, Certified, Manners, ONLY_1_2, ONLY_1_3, self_signed};

/// The server's view of each connection, once the first request has arrived.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    name: Option<String>,
    protocol: Option<String>,
    resumed: bool,
}

struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// The state of a connection after a response.
#[derive(Clone, Copy, Debug, PartialEq)]
enum After {
    Continue,
    Close,
    /// The end is not announced, as if the network had cut it.
    Cut,
}

impl Server {
    fn start(settings: Arc<ServerConfig>) -> Server {
        Server::answering(move |_| Arc::clone(&settings), ok("hello"), After::Continue)
    }

    /// Serves until the test's process ends; connections are numbered.
    fn answering(
        settings: impl Fn(usize) -> Arc<ServerConfig> + Send + 'static,
        answer: Vec<u8>,
        after: After,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let server = Server { port, seen: Arc::clone(&seen) };
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (settings, answer, seen) = (settings(number), answer.clone(), seen.clone());
                // Any error ends the connection and its thread.
                std::thread::spawn(move || serve(stream, settings, &answer, after, &seen));
            }
        });
        server
    }

    fn load(&self, name: &str, more: &[&str]) -> Ran {
        let url = format!("https://{name}/");
        let place = format!("127.0.0.1:{}", self.port);
        run(&[&["load", &url, "--connect-to", &place], more].concat())
    }

    /// Returns the document of a load that was measured, whether its requests succeeded (1) or not.
    fn document(&self, name: &str, more: &[&str]) -> Value {
        let ran = self.load(name, &[more, &["--json"]].concat());
        assert!([0, 1, 3].contains(&ran.code) && !ran.stdout.is_empty(), "{ran:#?}");
        ran.json()
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

fn serve(
    mut socket: TcpStream,
    settings: Arc<ServerConfig>,
    answer: &[u8],
    after: After,
    seen: &Mutex<Vec<Seen>>,
) -> std::io::Result<()> {
    socket.set_nodelay(true)?;
    let mut session = ServerConnection::new(settings).unwrap();
    let mut buffer = [0; 4096];
    let mut is_first = true;
    loop {
        let count = Stream::new(&mut session, &mut socket).read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        if std::mem::take(&mut is_first) {
            seen.lock().unwrap().push(Seen {
                name: session.server_name().map(str::to_owned),
                protocol: session.alpn_protocol().map(|p| String::from_utf8(p.to_vec()).unwrap()),
                resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
            });
        }
        for _ in buffer[..count].windows(4).filter(|end| end == b"\r\n\r\n") {
            Stream::new(&mut session, &mut socket).write_all(answer)?;
        }
        if after == After::Close {
            session.send_close_notify();
            session.write_tls(&mut socket)?;
        }
        if after != After::Continue {
            return socket.shutdown(Shutdown::Both);
        }
    }
}

const HOST: &str = "shop.test";
const SHORT: [&str; 8] =
    ["--rate", "200/s", "--duration", "1s", "--connections", "4", "--drain", "2s"];

/// The files of a test.
struct Files(Scratch);

impl Files {
    fn new() -> Files {
        Files(Scratch::new())
    }

    fn write(&self, name: &str, text: &str) -> String {
        self.0.file(name, text).to_str().unwrap().to_owned()
    }

    fn certified(&self, name: &str, certified: &Certified) -> [String; 2] {
        let certificate = self.write(&format!("{name}.pem"), &certified.certificate);
        [certificate, self.write(&format!("{name}.key"), &certified.key)]
    }
}

#[test]
fn an_untrusted_target_gives_no_answer_and_the_reason_is_printed_once() {
    let _machine = machine();
    let files = Files::new();
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let ca = files.write("ca.pem", &ours.pem());
    for (certified, why) in [
        (ours.issue_for(HOST, 2000, 2001), "its certificate has expired"),
        (ours.issue("other.test"), "its certificate is for another name"),
        (theirs.issue(HOST), "its certificate's issuer is unknown"),
        (self_signed(HOST), "its certificate's issuer is unknown"),
    ] {
        let server = Server::start(Manners::default().with(&certified));
        let ran = server.load(HOST, &[&SHORT[..], &["--ca", &ca]].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{why}: {ran:#?}");
        assert_eq!(ran.stderr.matches(why).count(), 1, "{why}: {}", ran.stderr);
        assert!(ran.stderr.contains("--insecure"), "{}", ran.stderr);
        assert_eq!(server.seen(), [], "no request was sent");

        let document = server.document(HOST, &[&SHORT[..], &["--insecure"]].concat());
        assert_eq!(document["outcomes"]["ok"], document["counts"]["intended"], "{why}");
    }
    // Our issuer is not among the machine's own, if it has any.
    let server = Server::start(Manners::default().with(&ours.issue(HOST)));
    let ran = server.load(HOST, &SHORT);
    assert!([2, 3].contains(&ran.code) && ran.stderr.contains("--ca"), "{ran:#?}");
}

#[test]
fn a_certificate_that_expires_under_load_fails_requests_as_connect() {
    let _machine = machine();
    let files = Files::new();
    let ours = Authority::new("ours");
    let ca = files.write("ca.pem", &ours.pem());
    let good = Manners::default().with(&ours.issue(HOST));
    let bad = Manners::default().with(&ours.issue_for(HOST, 2000, 2001));
    let settings = move |number: usize| Arc::clone(if number < 50 { &good } else { &bad });
    let server = Server::answering(settings, ok("hello"), After::Continue);
    let more = ["--ca", &ca, "--keep-alive", "1", "--no-resume"];
    let document = server.document(HOST, &[&SHORT[..], &more].concat());
    let reasons = document["reasons"].as_object().unwrap();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    let (reason, count) = reasons.iter().next().unwrap();
    assert!(reason.starts_with("connect: its certificate has expired"), "{reason}");
    assert_eq!(*count, document["outcomes"]["connect"]);
    let ok = document["outcomes"]["ok"].as_u64().unwrap();
    // Four of the good ones were opened before the load.
    assert!((1..=46).contains(&ok), "{ok}");
    let failures = document["failures"].as_array().unwrap();
    let text = failures[0]["text"].as_str().unwrap();
    assert!(failures.len() == 1 && text.contains("has expired"), "{failures:?}");
}

#[test]
fn a_connection_for_each_request_resumes_and_counts_its_handshake() {
    let _machine = machine();
    let certified = self_signed(HOST);
    for (versions, name) in [(ONLY_1_2, "TLS 1.2"), (ONLY_1_3, "TLS 1.3")] {
        let server = Server::start(Manners { versions, ..Manners::default() }.with(&certified));
        let more = [&SHORT[..], &["--insecure", "--keep-alive", "1"]].concat();
        let document = server.document(HOST, &more);
        let tls = &document["tls"];
        let share = tls["resumed_share"].as_f64().unwrap();
        assert!(0.9 < share, "{name}: {share}");
        assert_eq!(tls["version"], name);
        assert!(tls["cipher"].as_str().unwrap().ends_with("AES_256_GCM_SHA384"), "{tls}");
        assert_eq!(tls["handshakes"], document["tls_time"]["count"]);
        let intended = document["counts"]["intended"].as_u64().unwrap();
        assert!(intended <= tls["handshakes"].as_u64().unwrap());
        let seen = server.seen();
        let resumed = seen.iter().filter(|seen| seen.resumed).count();
        assert!(0.9 < resumed as f64 / seen.len() as f64, "the server agrees: {resumed}");
        let least = |time: &str| document[time]["min_ns"].as_u64().unwrap();
        let both = least("connect_time") + least("tls_time");
        assert!(both <= least("response_time"), "{name}: it includes connecting and the handshake");

        let document = server.document(HOST, &[&more[..], &["--no-resume"]].concat());
        assert_eq!(document["tls"]["resumed_share"], 0.0, "{name}");
    }
}

#[test]
fn a_target_that_asks_for_a_client_certificate_gets_it() {
    let _machine = machine();
    let files = Files::new();
    let ours = Authority::new("ours");
    let ca = files.write("ca.pem", &ours.pem());
    let certified = ours.issue(HOST);
    let client = ours.issue("client");
    let [cert, key] = files.certified("client", &client);
    let unknown = files.certified("unknown", &Authority::new("theirs").issue("client"));
    let both = files.write("both.pem", &format!("{}{}", client.certificate, client.key));
    for versions in [ONLY_1_2, ONLY_1_3] {
        let manners = Manners { versions, clients_of: Some(&ours), ..Manners::default() };
        let server = Server::start(manners.with(&certified));
        for given in [&["--cert", &cert, "--key", &key][..], &["--cert", &both]] {
            let document = server.document(HOST, &[&SHORT[..], &["--ca", &ca], given].concat());
            assert_eq!(document["outcomes"]["ok"], document["counts"]["intended"]);
        }
        // With TLS 1.3 the refusal arrives after our handshake, but before the load begins.
        for given in [&[][..], &["--cert", &unknown[0], "--key", &unknown[1]]] {
            let more = [&SHORT[..], &["--ca", &ca, "--json"], given].concat();
            let ran = server.load(HOST, &more);
            assert_eq!((ran.code, ran.stdout.as_str()), (3, ""), "{ran:#?}");
            assert!(ran.stderr.contains("--cert"), "{ran:#?}");
        }
    }
    let other = files.certified("other", &ours.issue("other"));
    let ran =
        run(&["load", "https://127.0.0.1:1/", "--closed", "--cert", &cert, "--key", &other[1]]);
    assert_eq!(ran.code, 2, "{ran:#?}");
    assert!(ran.stderr.contains("the key does not fit the certificate"), "{}", ran.stderr);
}

#[test]
fn versions_and_names_are_what_was_asked_for() {
    let _machine = machine();
    let files = Files::new();
    let ours = Authority::new("ours");
    let ca = files.write("ca.pem", &ours.pem());
    let certified = ours.issue("inner.test");
    for (versions, speaks, other) in [(ONLY_1_2, "1.2", "1.3"), (ONLY_1_3, "1.3", "1.2")] {
        let server = Server::start(Manners { versions, ..Manners::default() }.with(&certified));
        let more = [&SHORT[..], &["--ca", &ca, "--sni", "inner.test"]].concat();
        let document = server.document(HOST, &[&more[..], &["--tls", speaks]].concat());
        assert_eq!(document["tls"]["version"], format!("TLS {speaks}"));
        let seen = server.seen();
        for Seen { name, protocol, .. } in seen {
            assert_eq!(
                (name.as_deref(), protocol.as_deref()),
                (Some("inner.test"), Some("http/1.1"))
            );
        }
        let ran = server.load(HOST, &[&more[..], &["--tls", other]].concat());
        assert_eq!(ran.code, 3, "{ran:#?}");
        assert!(ran.stderr.contains("--tls"), "{}", ran.stderr);
    }
    // Without --sni the name is the URL's host; an address is not sent, but it is verified.
    let server = Server::start(Manners::default().with(&ours.issue(HOST)));
    server.document(HOST, &[&SHORT[..], &["--ca", &ca]].concat());
    assert_eq!(server.seen()[0].name.as_deref(), Some(HOST));
    let server = Server::start(Manners::default().with(&ours.issue("127.0.0.1")));
    server.document("127.0.0.1", &[&SHORT[..], &["--ca", &ca]].concat());
    assert_eq!(server.seen()[0].name, None);
}

#[test]
fn a_body_that_ends_with_its_connection_is_complete_only_if_that_was_announced() {
    let _machine = machine();
    let settings = Manners::default().with(&self_signed(HOST));
    let answer = b"HTTP/1.1 200 OK\r\n\r\nall there is".to_vec();
    for (after, outcome, other) in [(After::Close, "ok", "reset"), (After::Cut, "reset", "ok")] {
        let settings = Arc::clone(&settings);
        let server = Server::answering(move |_| Arc::clone(&settings), answer.clone(), after);
        let document = server.document(HOST, &[&SHORT[..], &["--insecure"]].concat());
        let outcomes = document["outcomes"].as_object().unwrap();
        assert!(outcomes.contains_key(outcome), "{after:?}: {outcomes:?}");
        assert!(!outcomes.contains_key(other), "{after:?}: {outcomes:?}");
    }
}

/// Starts a server without TLS, which reads a little, sends `answer` and closes; or sends nothing.
fn stranger(answer: Option<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        for mut stream in listener.incoming().flatten() {
            let Some(answer) = answer else {
                kept.push(stream);
                continue;
            };
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer);
        }
    });
    url
}

/// The alert is that of a server for a message that is not TLS.
#[test]
fn a_target_that_speaks_tls_is_named_with_the_scheme_to_write() {
    let _machine = machine();
    let url = stranger(Some(b"\x15\x03\x01\x00\x02\x02\x46")).replace("https:", "http:");
    let ran = run(&["load", &url, "--closed", "--connections", "1", "--duration", "200ms"]);
    assert!([1, 3].contains(&ran.code), "{ran:#?}");
    let why = "malformed response (it speaks TLS; load it as https://)";
    assert!(ran.stdout.contains(why), "{ran:#?}");
}

#[test]
fn a_target_that_does_not_speak_tls_gives_no_answer() {
    let _machine = machine();
    for (answer, why) in [
        (None, "the TLS handshake took too long (--connect-timeout)"),
        (Some(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]), "load it as http://"),
        (Some(b""), "does it speak TLS?"),
    ] {
        let url = stranger(answer);
        let flags = ["--insecure", "--closed", "--connect-timeout", "2s"];
        let ran = run(&[&["load", &url], &flags[..]].concat());
        assert_eq!(ran.code, 3, "{ran:#?}");
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn one_load_has_plain_and_secured_targets() {
    let _machine = machine();
    let server = Server::start(Manners::default().with(&self_signed("127.0.0.1")));
    let secured = format!("https://127.0.0.1:{}/", server.port);
    let plain = peer::serve(peer::Answer::With(ok("hello")));
    let ran = run(&[
        "load",
        &plain,
        &secured,
        "--insecure",
        "--rate",
        "400/s",
        "--duration",
        "1s",
        "--json",
    ]);
    let document = ran.json();
    assert_eq!(document["outcomes"]["ok"], document["counts"]["intended"], "{ran:#?}");
    let [plain, secured] = &document["targets"].as_array().unwrap()[..] else { panic!("{ran:#?}") };
    assert!(plain["tls"].is_null() && plain["tls_time"].is_null());
    assert_eq!(secured["tls"], document["tls"]);
    assert!(0 < secured["tls"]["handshakes"].as_u64().unwrap());
}

#[test]
fn the_text_shows_how_connections_were_secured() {
    let _machine = machine();
    let server = Server::start(Manners::default().with(&self_signed(HOST)));
    let ran = server.load(HOST, &[&SHORT[..], &["--insecure", "--no-resume"]].concat());
    let line = "TLS 1.3 AES_256_GCM_SHA384 · 4 handshakes · 0.0 % resumed · p50 ";
    assert!(ran.stdout.contains(line), "{ran:#?}");
}

#[test]
fn as_wrk_nothing_is_verified() {
    let _machine = machine();
    let files = Files::new();
    let expired = Authority::new("ours").issue_for("other.test", 2000, 2001);
    let server = Server::start(Manners::default().with(&expired));
    let url = format!("https://127.0.0.1:{}/", server.port);
    let script = files.write(
        "scheme.lua",
        "function request() return wrk.format(nil, '/' .. wrk.scheme) end\n\
         function done(summary) io.write(wrk.scheme, ' ', summary.requests, '\\n') end\n",
    );
    let ran = run(&["wrk", "-t1", "-c4", "-d1s", "-s", &script, &url]);
    assert_eq!(ran.code, 0, "{ran:#?}");
    assert!(ran.stdout.contains("Requests/sec:"), "{ran:#?}");
    let answered = ran.stdout.lines().find_map(|line| line.strip_prefix("https ")).unwrap();
    assert!(0 < answered.parse::<u64>().unwrap());
    assert!(!ran.stdout.contains("Socket errors"), "{ran:#?}");
}

#[test]
fn nginx_is_loaded_over_tls() {
    if !tool("nginx_is_loaded_over_tls", "nginx") {
        return;
    }
    let _machine = machine();
    let files = Files::new();
    let ours = Authority::new("ours");
    let ca = files.write("ca.pem", &ours.pem());
    let [cert, key] = files.certified("server", &ours.issue("127.0.0.1"));
    for (protocol, version) in [("TLSv1.2", "TLS 1.2"), ("TLSv1.3", "TLS 1.3")] {
        let nginx = Nginx::start_with(&format!(
            " ssl; ssl_certificate {cert}; ssl_certificate_key {key}; ssl_protocols {protocol}"
        ));
        let url = nginx.url.replace("http:", "https:");
        for keep_alive in [None, Some(["--keep-alive", "1"])] {
            let more = keep_alive.as_ref().map_or(&[][..], |flags| &flags[..]);
            let ran = run(&[&["load", &url, "--ca", &ca, "--json"], &SHORT[..], more].concat());
            let document = ran.json();
            assert_eq!(document["outcomes"]["ok"], document["counts"]["intended"], "{ran:#?}");
            assert_eq!(document["tls"]["version"], version);
            let share = document["tls"]["resumed_share"].as_f64().unwrap();
            assert!(keep_alive.is_none() || 0.9 < share, "{version}: {share}");
        }
    }
}

/// Loads our server with Debian's wrk and with ours, and compares the form of their output.
#[test]
fn debians_wrk_and_ours_load_the_same_server_over_tls() {
    if !tool("debians_wrk_and_ours_load_the_same_server_over_tls", "wrk") {
        return;
    }
    let _machine = machine();
    let server = Server::start(Manners::default().with(&self_signed("127.0.0.1")));
    let url = format!("https://127.0.0.1:{}/", server.port);
    let options = ["-t1", "-c4", "-d1s", &url];
    let theirs = Command::new("wrk").args(options).output().unwrap();
    let theirs = String::from_utf8(theirs.stdout).unwrap();
    let ours = run(&[&["wrk"], &options[..]].concat()).stdout;
    let kinds = |text: &str| {
        let lines =
            crate::expressions::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        lines.keys().copied().collect::<Vec<_>>()
    };
    assert_eq!(kinds(&ours), kinds(&theirs));
}

//! Hostile senders and hostile subscribers of the event channel: whatever they send, or do not send,
//! every event has an outcome, others are served meanwhile, and the most memory that the process ever
//! had is bounded.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::channel::{event, metric, send};
use crate::instance::Instance;
use crate::raw::{LONG, Unfinished, connect, pour};
use crate::services::wait_for;
use crate::sink::Sink;

const GIGABYTE: usize = 1 << 30;

/// The most memory of a channel whose events are all small or refused; 217 MiB were measured. It keeps
/// 64 MiB of bodies, in buffers that double as they grow.
const MOST_RESIDENT: u64 = 256 << 20;

/// The most memory of a channel whose pending events take 256 MiB.
const MOST_RESIDENT_WHEN_FULL: u64 = 448 << 20;

fn check(channel: &Instance, most: u64) {
    let resident = channel.most_resident();
    assert!(resident <= most, "{} MiB were resident", resident >> 20);
}

/// Returns an event with further fields before its own.
fn with(fields: &str) -> String {
    event("1").replacen("\r\n", &format!("\r\nConnection: close\r\n{fields}"), 1)
}

#[test]
fn hostile_events_are_refused_and_the_channel_lives() {
    let sink = Sink::taking();
    let channel = Instance::of("channel", &["--subscriber", &sink.url()]);
    let many = |count: usize| (0..count).map(|n| format!("Ce-X{n}: 1\r\n")).collect::<String>();
    let binary = String::from_utf8_lossy(&[0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]).into_owned();
    let structured = |body: &str| {
        let length = body.len();
        with("")
            .replace("text/plain", "application/cloudevents+json")
            .replace("Length: 5", &format!("Length: {length}"))
            .replace("hello", body)
    };
    for (what, request, codes) in [
        ("65 attributes", with(&many(65)), &[400][..]),
        ("a flood of fields", with(&many(20_000)), &[400, 431]),
        ("a field of 1 MB", with(&format!("Ce-X: {}\r\n", "x".repeat(1 << 20))), &[431]),
        ("an id twice", with("Ce-Id: 2\r\n"), &[400]),
        ("a length and chunks", with("Transfer-Encoding: chunked\r\n"), &[400, 413]),
        ("an unknown coding", with("Transfer-Encoding: x\r\n"), &[400, 413]),
        ("two lengths", with("Content-Length: 4\r\n"), &[400]),
        ("a length with a sign", with("").replace("Length: 5", "Length: +5"), &[400]),
        ("a folded field", with("Ce-X: a\r\n b\r\n"), &[400]),
        ("a space before a colon", with("Ce-X : a\r\n"), &[400]),
        ("a field without a name", with(": a\r\n"), &[400]),
        ("a control character", with("Ce-X: a\u{1}b\r\n"), &[400]),
        ("a wrong type", with("").replace("text/plain", "application/cloudevents+json"), &[400]),
        ("a batch", with("").replace("text/plain", "application/cloudevents-batch+json"), &[415]),
        (
            "attributes that are no text",
            structured(r#"{"specversion":1,"id":{},"type":[]}"#),
            &[400],
        ),
        ("a deep document", structured(&"[".repeat(200_000)), &[400]),
        ("a deep member", structured(&format!("{{\"data\":{}", "[".repeat(200_000))), &[400]),
        (
            "a long type",
            structured(&format!(
                r#"{{"specversion":"1.0","id":"1","source":"s",
            "type":"t","datacontenttype":"{}"}}"#,
                "x".repeat(500_000)
            )),
            &[400],
        ),
        ("1 GiB of data", with("").replace("Length: 5", "Length: 1073741824"), &[413]),
        ("binary junk", format!("{binary}\r\n\r\n"), &[400]),
    ] {
        let is_endless = what.starts_with("1 GiB");
        let more = if is_endless { vec![b'x'; 1 << 16] } else { vec![] };
        let most = if is_endless { GIGABYTE } else { 0 };
        let (_, answer) = pour(channel.address, request.as_bytes(), &more, most);
        let code = answer.get(9..12).and_then(|code| code.parse::<u16>().ok());
        // A peer that is cut off while it still sends may lose the response.
        let is_cut = code.is_none() && 1000 < request.len() + most;
        assert!(is_cut || codes.contains(&code.unwrap_or(0)), "{what}: {answer:.300}");
    }
    assert_eq!(send(&channel, "good"), 202);
    sink.wait(1);
    assert_eq!(sink.ids(), ["good"], "nothing was smuggled");
    check(&channel, MOST_RESIDENT);
}

#[test]
fn bodies_without_end_are_refused_and_slow_ones_keep_out_no_small_event() {
    let sink = Sink::taking();
    let channel = Instance::of("channel", &["--subscriber", &sink.url()]);
    let zeros = vec![b'0'; 64 << 10];
    let chunk = [format!("{:x}\r\n", zeros.len()).as_bytes(), &zeros, b"\r\n"].concat();
    let chunked = with("").replace("Content-Length: 5", "Transfer-Encoding: chunked");
    let chunked = chunked.strip_suffix("hello").unwrap();
    let (sent, answer) = pour(channel.address, chunked.as_bytes(), &chunk, GIGABYTE);
    assert!(sent < 64 << 20, "it took {sent} bytes");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    // Bodies of which the last byte does not come, and heads of which the last line does not.
    let unfinished = with("").replace("Length: 5", "Length: 1048576") + &"x".repeat((1 << 20) - 6);
    let slow: Vec<Unfinished> =
        (0..100).map(|_| Unfinished::send(channel.address, unfinished.as_bytes())).collect();
    let are_refused = || slow.iter().any(Unfinished::is_refused);
    wait_for("bodies beyond those that are kept are refused", LONG, are_refused);
    let heads: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = connect(channel.address);
            stream.write_all(&with("X: ").as_bytes()[..40]).unwrap();
            stream
        })
        .collect();
    assert_eq!(send(&channel, "meanwhile"), 202);
    drop((slow, heads));
    wait_for("there is room again", LONG, || {
        let whole = format!("{unfinished}x");
        pour(channel.address, whole.as_bytes(), &[], 0).1.starts_with("HTTP/1.1 202")
    });
    sink.wait(2);
    check(&channel, MOST_RESIDENT);
}

/// A sender that never reads its responses is not read any more, and the others are.
#[test]
fn a_sender_that_reads_no_response_stops_itself_only() {
    let sink = Sink::taking();
    let channel = Instance::of("channel", &["--subscriber", &sink.url(), "--queue", "100"]);
    let events = event("1").repeat(100);
    let mut stream = connect(channel.address);
    stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut sent = 0;
    let stopped = loop {
        match stream.write(events.as_bytes()) {
            Ok(length) => sent += length,
            Err(error) => break error,
        }
        assert!(sent < GIGABYTE / 4, "it is still read");
    };
    assert!(matches!(stopped.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stopped}");
    wait_for("another sender is served", LONG, || send(&channel, "other") == 202);
    check(&channel, MOST_RESIDENT);
}

#[test]
fn large_events_fill_a_bounded_room_and_then_they_are_refused() {
    let hanging = Peer::start(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let arguments = ["--subscriber", &hanging.url(), "--in-flight", "4"];
    let channel = Instance::of("channel", &arguments);
    let data = "x".repeat(1 << 20);
    let large =
        event("1").replace("Length: 5\r\n\r\nhello", &format!("Length: 1048576\r\n\r\n{data}"));
    let mut stream = connect(channel.address);
    let mut accepted = 0;
    loop {
        stream.write_all(large.as_bytes()).unwrap();
        let mut answer = [0; 1024];
        let length = stream.read(&mut answer).unwrap();
        match &answer[9..12] {
            b"202" => accepted += 1,
            b"503" => break,
            _ => panic!("{}", String::from_utf8_lossy(&answer[..length])),
        }
        assert!(accepted <= 300, "there is no bound");
    }
    assert!(200 < accepted, "{accepted}");
    check(&channel, MOST_RESIDENT_WHEN_FULL);
    assert_eq!(channel.terminate(), Some(0));
}

/// A subscriber that does with each connection what a test says.
struct Peer(SocketAddr);

impl Peer {
    fn start(each: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let each = Arc::new(each);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let each = Arc::clone(&each);
                thread::spawn(move || each(stream.unwrap()));
            }
        });
        Peer(address)
    }

    /// Starts a subscriber that reads the beginning of a request, writes, and then writes the same
    /// again and again until the other side closes.
    fn answering(first: &'static [u8], again: &'static [u8]) -> Self {
        Peer::start(move |mut stream| {
            let _ = stream.read(&mut [0; 4096]);
            let mut written = stream.write_all(first);
            let again = again.repeat((16 << 10) / again.len().max(1));
            while written.is_ok() && !again.is_empty() {
                written = stream.write_all(&again);
            }
            let _ = stream.read_to_end(&mut Vec::new());
        })
    }

    fn url(&self) -> String {
        format!("http://{}/", self.0)
    }
}

/// Hostile subscribers, and the beginning of the reason in the dead letter.
fn subscribers() -> Vec<(&'static str, Peer, &'static str)> {
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\n";
    const LONG_BODY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n";
    const FAILED_LONG: &[u8] = b"HTTP/1.1 500 No\r\nContent-Length: 1000000\r\n\r\n";
    const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    const TWO: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    vec![
        ("an endless head", Peer::answering(OK, b"X: y\r\n"), "a response with more than"),
        ("an endless field", Peer::answering(b"HTTP/1.1 200 OK\r\nX: ", b"y"), "a response with"),
        ("a body of 1 GiB", Peer::answering(LONG_BODY, b"x"), "a response with more than"),
        (
            "a body without end",
            Peer::answering(b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
            "a response with",
        ),
        (
            "chunks without end",
            Peer::answering(CHUNKED, b"1\r\nx\r\n"),
            "a response with more than",
        ),
        ("an endless chunk", Peer::answering(CHUNKED, b"1"), "a response with more than"),
        ("responses 1xx", Peer::answering(b"", b"HTTP/1.1 103 Early\r\n\r\n"), "more than 8"),
        ("two lengths", Peer::answering(TWO, b""), "a response with two lengths"),
        (
            "binary junk",
            Peer::answering(b"\x16\x03\x01\r\n\r\n", b"\x00\xff"),
            "a malformed response",
        ),
        ("no response", Peer::answering(b"", b""), "no response within 500ms"),
        ("half a head", Peer::answering(OK, b""), "no response within 500ms"),
        ("half a body", Peer::answering(FAILED_LONG, b""), "no response within 500ms"),
        ("a close at once", Peer::start(drop), ""),
        (
            "one byte at a time",
            Peer::start(|mut stream| {
                let _ = stream.read(&mut [0; 4096]);
                let slowly = OK.iter().chain(b"X: ").chain(std::iter::repeat(&b'y'));
                for byte in slowly {
                    if stream.write_all(&[*byte]).is_err() {
                        return;
                    }
                    crate::instance::sleep(Duration::from_millis(1));
                }
            }),
            "no response within 500ms",
        ),
    ]
}

#[test]
fn hostile_subscribers_have_an_outcome_and_delay_no_other() {
    let count = 40;
    for (what, hostile, why) in subscribers() {
        for pipeline in ["1", "8"] {
            let (good, dead) = (Sink::taking(), Sink::taking());
            let arguments = ["--subscriber", &hostile.url(), "--subscriber", &good.url()];
            let more = ["--dead-letter", &dead.url(), "--deadline", "500ms", "--retry", "1"];
            let rules = ["--backoff-delay", "1ms", "--pipeline", pipeline];
            let channel = Instance::of("channel", &[&arguments[..], &more, &rules].concat());
            for id in 0..count {
                assert_eq!(send(&channel, &id.to_string()), 202, "{what}");
            }
            assert_eq!(good.wait(count).len(), count, "{what}");
            let mut ids: Vec<usize> =
                dead.wait(count).iter().map(|got| got.id().parse().unwrap()).collect();
            ids.sort_unstable();
            assert_eq!(ids, (0..count).collect::<Vec<_>>(), "{what}");
            let letters = dead.got();
            assert!(letters.iter().all(|one| one.field("ce-knativeerrorcode") == Some("500")));
            let data = letters[0].field("ce-knativeerrordata").unwrap();
            let said = String::from_utf8(base64(data)).unwrap();
            // A busy machine may not come to the bound in this time.
            let is_late = said == "no response within 500ms";
            assert!(is_late || said.starts_with(why), "{what}: {said}");
            wait_for("all are done", LONG, || metric(&channel, "channel_pending") == 0);
            check(&channel, MOST_RESIDENT);
            assert_eq!(channel.terminate(), Some(0), "{what}");
        }
    }
}

fn base64(text: &str) -> Vec<u8> {
    use ::base64::Engine;
    ::base64::prelude::BASE64_STANDARD.decode(text).unwrap()
}

/// A subscriber that never reads gets large events only into its kernel's buffers.
#[test]
fn a_subscriber_that_never_reads_has_an_outcome() {
    let deaf = Peer::start(|stream| {
        crate::instance::sleep(Duration::from_secs(600));
        drop(stream);
    });
    let arguments =
        ["--subscriber", &deaf.url(), "--deadline", "500ms", "--acknowledge", "delivered"];
    let channel = Instance::of("channel", &arguments);
    let data = "x".repeat(1 << 20);
    let large =
        with("").replace("Length: 5\r\n\r\nhello", &format!("Length: 1048576\r\n\r\n{data}"));
    let (_, answer) = pour(channel.address, large.as_bytes(), &[], 0);
    assert!(answer.starts_with("HTTP/1.1 500"), "{answer}");
    check(&channel, MOST_RESIDENT);
}

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use scopeguard::defer;

use super::*;

/// Notes that a test reads while the receiver runs.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Notes for &Seen {
    fn note(&mut self, source: &[u8], id: &[u8], _at: Instant) -> u64 {
        let line = format!("{} {}", source.escape_ascii(), id.escape_ascii());
        let mut seen = self.0.lock().unwrap();
        let before = seen.iter().filter(|other| **other == line).count();
        seen.push(line);
        before as u64
    }

    fn note_structured(&mut self, document: &[u8], at: Instant) -> Option<u64> {
        document.starts_with(b"{").then(|| self.note(b"structured", document, at))
    }
}

const LOOPBACK: &str = "127.0.0.1:0";

/// Sends bytes in one connection, in pieces of this size; returns what comes back and what was noted.
fn exchange(refusal: Option<Refusal>, bytes: &[u8], piece: usize) -> (String, Vec<String>) {
    let receiver = Receiver::listen(LOOPBACK.parse().unwrap(), Some("a-b"), refusal).unwrap();
    let address = receiver.address();
    let (seen, stop) = (Seen::default(), AtomicBool::new(false));
    let answer = thread::scope(|scope| {
        scope.spawn(|| receiver.serve(&seen, &stop));
        defer! { stop.store(true, Ordering::Relaxed) }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        for piece in bytes.chunks(piece) {
            let _ = stream.write_all(piece);
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    });
    let statuses = answer.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]);
    (statuses.collect::<Vec<_>>().join(" "), seen.0.into_inner().unwrap())
}

fn event(id: &str) -> String {
    format!(
        "POST / HTTP/1.1\r\nHost: x\r\nce-id: {id}\r\nCE-Source: s\r\nContent-Length: 2\r\n\r\nhi"
    )
}

#[test]
fn every_arrival_is_noted_in_its_order_for_any_slicing() {
    let structured = "POST / HTTP/1.1\r\nContent-Type: application/CloudEvents+JSON; a=b\r\n\
                      Content-Length: 2\r\n\r\n{}";
    let bytes = [event("1"), event("1"), structured.to_owned(), event("0")].concat();
    for piece in [1, 7, 10_000] {
        let (answers, seen) = exchange(None, bytes.as_bytes(), piece);
        assert_eq!(answers, "202 202 202 202");
        assert_eq!(seen, ["s 1", "s 1", "structured {}", "s 0"]);
    }
}

#[test]
fn what_is_not_an_event_is_answered_with_400_and_garbage_with_the_end() {
    let no_id = event("1").replace("ce-id", "x-id");
    let wrong = no_id
        .replace("hi", "[]")
        .replace("CE-Source: s", "Content-Type: application/cloudevents+json");
    let (answers, seen) = exchange(None, [no_id, wrong, event("2")].concat().as_bytes(), 10_000);
    assert_eq!((&*answers, seen), ("400 400 202", vec!["s 2".to_owned()]));
    let garbage = [event("1"), "\u{16}\u{3}\r\n\r\n".to_owned(), event("2")].concat();
    let (answers, seen) = exchange(None, garbage.as_bytes(), 10_000);
    assert_eq!((&*answers, seen), ("202", vec!["s 1".to_owned()]));
    let flood = format!("POST / HTTP/1.1\r\n{}", "A: b\r\n".repeat(20_000));
    assert_eq!(exchange(None, flood.as_bytes(), 10_000), (String::new(), Vec::new()));
}

#[test]
fn the_first_arrivals_of_each_event_are_refused() {
    let twice = |how| Some(Refusal { how, times: 2 });
    let bytes = [event("1"), event("1"), event("2"), event("1"), event("2")].concat();
    let (answers, seen) = exchange(twice(How::Status(503)), bytes.as_bytes(), 10_000);
    assert_eq!((&*answers, seen.len()), ("503 503 503 202 503", 5));
    let (answers, seen) = exchange(twice(How::Close), event("1").as_bytes(), 10_000);
    assert_eq!((&*answers, seen.len()), ("", 1));
    let (answers, seen) = exchange(twice(How::Hang), event("1").as_bytes(), 10_000);
    assert_eq!((&*answers, seen.len()), ("", 1));
}

/// Takes bytes in pieces; returns the answers, the notes, and what becomes of the connection.
fn take(desk: &mut Desk, bytes: &[u8], piece: usize) -> (String, Vec<String>, Next) {
    let (mut connection, seen, mut answers) = (Connection::default(), Seen::default(), Vec::new());
    let mut next = Next::Open;
    for piece in bytes.chunks(piece) {
        next = connection.take(piece, Instant(7), &mut &seen, desk, &mut answers);
        if next != Next::Open {
            break;
        }
    }
    connection.end(desk);
    (String::from_utf8(answers).unwrap(), seen.0.into_inner().unwrap(), next)
}

#[test]
fn the_clock_is_told_to_who_asks() {
    let question = b"GET /clock HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    let (answer, seen, next) = take(&mut Desk::new(Some("a-b"), None), question, 7);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert_eq!(body, "{\"clock\":\"a-b\",\"now_ns\":7}\n");
    assert_eq!((seen.len(), next), (0, Next::Closed));
    let (answer, ..) = take(&mut Desk::new(None, None), question, 1000);
    assert!(answer.ends_with("{\"clock\":null,\"now_ns\":7}\n"), "{answer}");
}

#[test]
fn an_attribute_that_occurs_twice_is_no_event() {
    let twice = event("1").replace("CE-Source", "ce-id: 2\r\nCE-Source");
    let (answers, seen, next) = take(&mut Desk::new(None, None), twice.as_bytes(), 1000);
    assert!(answers.starts_with("HTTP/1.1 400 "), "{answers}");
    assert_eq!((seen.len(), next), (0, Next::Open));
}

#[test]
fn nothing_overtakes_an_event_that_is_never_answered() {
    let refusal = Some(Refusal { how: How::Hang, times: 1 });
    let bytes = [event("1"), event("1"), event("2")].concat();
    let (answers, seen, _) = take(&mut Desk::new(None, refusal), bytes.as_bytes(), 10);
    assert_eq!((&*answers, seen.len()), ("", 3));
}

#[test]
fn documents_have_a_bound_each_and_together() {
    let begin = |length: usize| {
        format!(
            "POST / HTTP/1.1\r\nContent-Type: application/cloudevents+json\r\n\
             Content-Length: {length}\r\n\r\n"
        )
    };
    let mut desk = Desk::new(None, None);
    let long = [begin(2 << 20).into_bytes(), vec![b'{'; 2 << 20]].concat();
    let (answers, seen, _) = take(&mut desk, &long, 4096);
    assert!(answers.starts_with("HTTP/1.1 400 ") && seen.is_empty(), "{answers}");
    // Documents that never end.
    let open = [begin(2 << 20).into_bytes(), vec![b'{'; 1 << 20]].concat();
    let (seen, mut answers) = (Seen::default(), Vec::new());
    let mut connections = Vec::new();
    for _ in 0..64 {
        let mut connection = Connection::default();
        connection.take(&open, Instant(7), &mut &seen, &mut desk, &mut answers);
        connections.push(connection);
    }
    let short = [begin(2), "{}".to_owned()].concat();
    let (busy, ..) = take(&mut desk, short.as_bytes(), 1000);
    assert!(busy.starts_with("HTTP/1.1 503 "), "{busy}");
    connections.pop().unwrap().end(&mut desk);
    let (again, seen, _) = take(&mut desk, short.as_bytes(), 1000);
    assert!(again.starts_with("HTTP/1.1 202 ") && seen == ["structured {}"], "{again}");
}

#[test]
fn a_peer_that_reads_no_answers_is_disconnected() {
    let receiver = Receiver::listen(LOOPBACK.parse().unwrap(), None, None).unwrap();
    let address = receiver.address();
    let (seen, stop) = (Seen::default(), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| receiver.serve(&seen, &stop));
        defer! { stop.store(true, Ordering::Relaxed) }
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
        let wrong = "GET / HTTP/1.1\r\n\r\n".repeat(1000);
        let ended = (0..10_000).any(|_| stream.write_all(wrong.as_bytes()).is_err());
        assert!(ended, "180 MB of questions were read, and their answers kept");
    });
}

#[test]
fn once_all_places_are_taken_silent_peers_lose_their_own() {
    let receiver = Receiver::listen(LOOPBACK.parse().unwrap(), None, None).unwrap();
    let places = Places::with_patience(3, Nanos::from_secs(1));
    let receiver = Receiver { places, ..receiver };
    let address = receiver.address();
    let (seen, stop) = (Seen::default(), AtomicBool::new(false));
    let connect = || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream
    };
    let is_answered = |mut stream: &TcpStream| {
        let mut begin = [0; 12];
        let sent = stream.write_all(event("1").as_bytes());
        let answered = sent.and_then(|()| stream.read_exact(&mut begin));
        let mut rest = [0; 1000];
        answered.is_ok() && stream.read(&mut rest).is_ok() && begin == *b"HTTP/1.1 202"
    };
    thread::scope(|scope| {
        scope.spawn(|| receiver.serve(&seen, &stop));
        defer! { stop.store(true, Ordering::Relaxed) }
        let (busy, silent) = (connect(), [connect(), connect()]);
        // The beginning of a request is not one.
        (&silent[0]).write_all(b"POST / HTTP/1.1\r\n").unwrap();
        let new = (0..1_000).any(|_| {
            clock::sleep_until(clock::now() + Nanos::from_millis(10));
            assert!(is_answered(&busy), "a peer that sends events keeps its place");
            is_answered(&connect())
        });
        assert!(new, "a new peer gets the place of a silent one");
        assert_eq!((&silent[0]).read(&mut [0; 1000]).unwrap(), 0, "it was closed");
    });
}

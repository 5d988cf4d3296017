use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::thread;
use std::time::Duration;

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
    let receiver = Receiver::listen(LOOPBACK.parse().unwrap(), refusal).unwrap();
    let address = receiver.address();
    let (seen, stop) = (Seen::default(), AtomicBool::new(false));
    let answer = thread::scope(|scope| {
        scope.spawn(|| receiver.serve(&seen, &stop));
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        for piece in bytes.chunks(piece) {
            let _ = stream.write_all(piece);
        }
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        stop.store(true, Ordering::Relaxed);
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

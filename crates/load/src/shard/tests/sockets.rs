//! Real sockets and a hostile peer: whatever it sends, memory does not grow and the outcome gives
//! the reason.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use ::wire::http1::Malformed::{Chunk, HeadTooLong, Interim, TrailersTooLong};
use net::{Epoll, Timer, clock};

use super::load::Witness;
use super::*;

const MIB: u64 = 1 << 20;
/// The maximum growth of memory while a peer sends data.
const MOST_GROWTH: u64 = 32 * MIB;

/// Starts a peer that answers the first bytes of each connection with `begin`, and then sends
/// `again` this many times, or until we close the connection.
fn peer(begin: &str, again: &[u8], times: u64) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (begin, again) = (begin.as_bytes().to_vec(), again.to_vec());
    let answer = move |mut stream: TcpStream| {
        while stream.read(&mut [0; 4096]).is_ok_and(|count| 0 < count) {
            let mut write = |bytes: &[u8]| stream.write_all(bytes).is_ok();
            if !write(&begin) || !(0..times).all(|_| write(&again)) {
                return;
            }
        }
    };
    // The threads end with the process, and their connections with ours.
    thread::spawn(move || {
        for stream in listener.incoming() {
            let answer = answer.clone();
            thread::spawn(move || answer(stream.unwrap()));
        }
    });
    address
}

/// An observer that reads the process's memory after each turn.
#[derive(Default)]
struct Memory {
    most: u64,
}

impl Observer for Memory {
    fn turn(&mut self, _now: Instant, _turn: Turn) {
        self.most = self.most.max(resident());
    }
}

fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap();
    text.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Sends `requests` requests to the peer, on one connection at a time, and returns their outcomes
/// and the growth of memory.
fn ask(peer: SocketAddr, requests: u64, timeout: Nanos) -> (Witness, u64) {
    let stop = AtomicBool::new(false);
    let limits = Limits { timeout, ..LIMITS };
    let observer = (Witness::default(), Memory::default());
    let io = Epoll::new(Timer::Sleep).unwrap();
    let mut shard = Shard::new(io, observer, limits, [&stop, &stop]);
    let driver = Http1::new(1, Static::new("GET", "/", &[("Host", "x")], b""));
    let numbers = Numbers { first: 0, step: 1, quota: Some(requests) };
    shard.add_pool(Of::default(), driver, (vec![peer.into()], 1), numbers);
    assert_eq!(shard.connect(clock::now() + SECOND * 5), Ok(1));
    let before = resident();
    let start = clock::now();
    let schedule =
        Schedule { start, overload: start, end: start + SECOND * 60, drain: Nanos::ZERO };
    let mut source = Source::Closed { think: Think::NONE, random: Random::new(1) };
    let (_, ended) = shard.run(&mut source, schedule).unwrap();
    assert_eq!(ended, Ended::AsPlanned);
    let ((witness, memory), _) = shard.into_parts();
    assert_eq!(witness.completions.len() as u64, requests, "one outcome each");
    (witness, memory.most.saturating_sub(before))
}

/// Runs a test in a separate process, where no other test takes memory; returns true in that
/// process.
fn is_alone(test: &str) -> bool {
    const ALONE: &str = "BENCHWRIGHT_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let name = format!("{}::{test}", module_path!().split_once("::").unwrap().1);
    let mut command = Command::new(std::env::current_exe().unwrap());
    let output = command.args(["--exact", &name]).env(ALONE, "1").output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
    false
}

#[test]
fn a_body_of_a_gibibyte_passes_through() {
    if !is_alone("a_body_of_a_gibibyte_passes_through") {
        return;
    }
    let piece = vec![b'x'; MIB as usize];
    let chunk = [b"100000\r\n", &piece[..], b"\r\n"].concat();
    let counted = peer("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", &piece, 1024);
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    // One with a length, and one that goes on until the timeout.
    for (peer, outcome, bytes) in
        [(counted, Outcome::Ok, 1024 * MIB), (peer(chunked, &chunk, u64::MAX), Outcome::Timeout, 0)]
    {
        let timeout = if outcome == Outcome::Ok { SECOND * 60 } else { SECOND };
        let (witness, growth) = ask(peer, 1, timeout);
        let [completion] = witness.completions[..] else { panic!() };
        assert_eq!((completion.outcome, completion.bytes), (outcome, bytes));
        assert!(growth < MOST_GROWTH, "{growth} bytes");
    }
}

#[test]
fn an_endless_response_is_refused_or_cut_and_takes_no_memory() {
    if !is_alone("an_endless_response_is_refused_or_cut_and_takes_no_memory") {
        return;
    }
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (begin, again, outcome, why) in [
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n", Outcome::Malformed, HeadTooLong.as_str()),
        ("HTTP/1.1 200 OK\r\nA: ", "b", Outcome::Malformed, HeadTooLong.as_str()),
        ("", "HTTP/1.1 100 Continue\r\n\r\n", Outcome::Malformed, Interim.as_str()),
        (&format!("{chunked}1;a="), "b", Outcome::Malformed, Chunk.as_str()),
        (&format!("{chunked}0\r\n"), "A: b\r\n", Outcome::Malformed, TrailersTooLong.as_str()),
        (chunked, "1\r\nx\r\n", Outcome::Timeout, ""),
        ("HTTP/1.1 200 OK\r\n\r\n", "x", Outcome::Timeout, ""),
    ] {
        let again = again.repeat(100_000 / again.len());
        let peer = peer(begin, again.as_bytes(), u64::MAX);
        let timeout = if outcome == Outcome::Timeout { SECOND / 2 } else { SECOND * 60 };
        let (witness, growth) = ask(peer, 2, timeout);
        for completion in &witness.completions {
            assert_eq!((completion.outcome, completion.why), (outcome, why), "{begin:?}");
        }
        assert!(growth < MOST_GROWTH, "{begin:?}: {growth} bytes");
    }
}

#[test]
fn a_silent_peer_is_cut_after_the_timeout_and_asked_again_on_another_connection() {
    let timeout = Nanos::from_millis(100);
    let (witness, _) = ask(peer("", b"", 0), 3, timeout);
    for completion in &witness.completions {
        assert_eq!(completion.outcome, Outcome::Timeout);
        let start = completion.start.unwrap();
        assert!(timeout <= completion.done - start.sent && start.first_byte.is_none());
    }
    // The first connection, and another one after each of the first two timeouts.
    assert_eq!(witness.connected.len(), 3);
}

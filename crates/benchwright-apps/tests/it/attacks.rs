//! The attacks of a hostile peer, written byte by byte, so that no library protects the server from
//! them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpSocket;
use tokio::runtime::Builder;

use crate::instance::sleep;

/// The target of an attack, which runs until `is_over`.
pub(crate) struct Field {
    pub(crate) address: SocketAddr,
    pub(crate) is_over: AtomicBool,
    /// True once the attack is at full strength, if that takes a while.
    pub(crate) is_ready: AtomicBool,
}

pub(crate) type Attack = (&'static str, fn(&Field));

pub(crate) const ON_CALLS: [Attack; 14] = [
    ("random bytes", |field| field.again_and_again(&[random(64 << 10)])),
    ("a preface, then random bytes", |field| {
        field.again_and_again(&[[PREFACE.to_vec(), random(64 << 10)].concat()]);
    }),
    ("frames of wrong length, type and stream", |field| field.again_and_again(&wrong_frames())),
    ("headers without end", |field| {
        let more = frame(CONTINUATION, 0, 1, &long_field(300)).repeat(10_000);
        field.again_and_again(&[[opening(), frame(HEADERS, 0, 1, &CALL), more].concat()]);
    }),
    ("empty continuations without end", |field| {
        let head = frame(HEADERS, 0, 1, &CALL);
        field.again_and_again(&[
            [opening(), head, frame(CONTINUATION, 0, 1, &[]).repeat(50_000)].concat()
        ]);
    }),
    ("a header list of 1 MB", |field| {
        let more = frame(CONTINUATION, 0, 1, &long_field(16_000)).repeat(62);
        let last = frame(CONTINUATION, END_HEADERS, 1, &long_field(16_000));
        field.again_and_again(&[
            [opening(), frame(HEADERS, END_STREAM, 1, &CALL), more, last].concat()
        ]);
    }),
    ("an entry of 4 KB referred to 12,000 times", |field| {
        let bomb = [&CALL[..], &indexed_field(4000), &[0xbe].repeat(12_000)].concat();
        let small = [&CALL[..], &[0xbe].repeat(12_000)].concat();
        let calls = (1..20).map(|at| head(2 * at + 1, END_STREAM, &small));
        field.again_and_again(&[[
            opening(),
            head(1, END_STREAM, &bomb),
            calls.flatten().collect(),
        ]
        .concat()]);
    }),
    ("data beyond the window", |field| {
        let data = frame(DATA, 0, 1, &[0; 16_384]).repeat(64);
        field.again_and_again(&[[opening(), head(1, 0, &CALL), data].concat()]);
    }),
    ("a message of 4 GiB", |field| {
        let calls = (0..200).map(|at| message(2 * at + 1, 0, u32::MAX, &[0; 1000]));
        field.again_and_again(&[[opening(), calls.flatten().collect()].concat()]);
    }),
    ("1,000 unfinished messages", |field| {
        let calls = (0..1000).map(|at| message(2 * at + 1, 0, 60_000, &[0; 250]));
        field.again_and_again(&[[opening(), calls.flatten().collect()].concat()]);
    }),
    ("5,000 calls whose answers are not read", |field| {
        let no_window = frame(SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 0]);
        let calls = (0..1000).map(|at| message(2 * at + 1, END_STREAM, 0, &[]));
        field.hold(5, &[PREFACE.to_vec(), no_window, calls.flatten().collect()].concat());
    }),
    ("200 heads that come byte by byte", |field| {
        field.dribble(200, &[opening(), head(1, 0, &CALL)].concat(), 30);
    }),
    ("200 messages that come byte by byte", |field| {
        let call = message(1, 0, 60_000, &[0; 1000]);
        field.dribble(200, &[opening(), call].concat(), 60);
    }),
    ("5,000 connections that send nothing", |field| field.hold(5000, b"")),
];

/// Attacks of which even the reading is much work: they are tolerated, but other callers notice
/// them.
pub(crate) const FLOODS_OF_CALLS: [Attack; 6] = [
    ("100,000 calls begun and reset", |field| field.again_and_again(&[rapid_resets(100_000)])),
    ("calls begun and reset as they are answered", |field| {
        field.again_and_again(&[rapid_resets(10)]);
    }),
    ("a flood of pings", |field| {
        let pings = frame(PING, 0, 0, &[7; 8]).repeat(100_000);
        field.again_and_again(&[[opening(), pings].concat()]);
    }),
    ("a flood of settings", |field| {
        let settings = frame(SETTINGS, 0, 0, &[]).repeat(100_000);
        field.again_and_again(&[[opening(), settings].concat()]);
    }),
    ("a flood of window updates and priorities", |field| {
        let updates = frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]);
        let priorities = frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1]);
        let flood = [updates, priorities].concat().repeat(100_000);
        field.again_and_again(&[[opening(), flood].concat()]);
    }),
    ("a flood of tiny data", |field| {
        let data = frame(DATA, 0, 1, &[0]).repeat(60_000);
        field.again_and_again(&[[opening(), head(1, 0, &CALL), data].concat()]);
    }),
];

pub(crate) const ON_HTTP: [Attack; 9] = [
    ("random bytes", |field| field.again_and_again(&[random(64 << 10)])),
    ("a preface of HTTP/2", |field| {
        field.again_and_again(&[[opening(), head(1, 0, &CALL)].concat()]);
    }),
    ("a head without end", |field| {
        let lines = b"X: yyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(30_000);
        field.again_and_again(&[[&b"GET / HTTP/1.1\r\n"[..], &lines].concat()]);
    }),
    ("a body without end", |field| {
        let chunks = b"1\r\nx\r\n".repeat(500_000);
        let head = &b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"[..];
        field.again_and_again(&[[head, &chunks].concat()]);
    }),
    ("a body of 4 GB", |field| {
        let head = &b"POST / HTTP/1.1\r\nContent-Length: 4294967296\r\n\r\n"[..];
        field.again_and_again(&[[head, &[0; 4 << 20]].concat()]);
    }),
    ("200 heads that come byte by byte", |field| {
        field.dribble(200, b"GET / HTTP/1.1\r\nHost: hotel\r\nX: y\r\n", 16);
    }),
    ("200 bodies that come byte by byte", |field| {
        let request = b"POST / HTTP/1.1\r\nContent-Length: 100000\r\n\r\nxxxxxxxxxxxxxxx";
        field.dribble(200, request, 50);
    }),
    ("5,000 requests whose answers are not read", |field| {
        field.hold(5, &b"GET / HTTP/1.1\r\nHost: hotel\r\n\r\n".repeat(1000));
    }),
    ("5,000 connections that send nothing", |field| field.hold(5000, b"")),
];

/// The time between the end of one connection and the beginning of the next.
const PAUSE: Duration = Duration::from_millis(10);

impl Field {
    /// Sends bytes and reads the responses, until the other side closes or everything is sent; then
    /// repeats this with the next bytes.
    fn again_and_again(&self, bytes: &[Vec<u8>]) {
        self.is_ready.store(true, Ordering::Relaxed);
        for bytes in bytes.iter().cycle() {
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
            // The server may refuse the connection.
            if let Ok(mut stream) = TcpStream::connect(self.address) {
                self.pour(&mut stream, bytes);
            }
            sleep(PAUSE);
        }
    }

    fn pour(&self, stream: &mut TcpStream, mut bytes: &[u8]) {
        stream.set_nonblocking(true).unwrap();
        let mut read = [0; 16 << 10];
        while !bytes.is_empty() && !self.is_over.load(Ordering::Relaxed) {
            let is_blocked = match stream.write(&bytes[..bytes.len().min(64 << 10)]) {
                Ok(length) => {
                    bytes = &bytes[length..];
                    false
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => true,
                Err(_) => return,
            };
            match stream.read(&mut read) {
                Ok(0) => return,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return,
                _ if is_blocked => sleep(PAUSE / 20),
                _ => {}
            }
        }
    }

    /// Opens `count` connections, sends the bytes on each, and keeps them open.
    fn hold(&self, count: usize, bytes: &[u8]) {
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let streams: Vec<_> = (0..count).map(|_| runtime.block_on(self.open(bytes))).collect();
        // Accepting all this is work like any other; what counts is how the server runs afterwards.
        sleep(30 * PAUSE);
        self.is_ready.store(true, Ordering::Relaxed);
        while !self.is_over.load(Ordering::Relaxed) {
            sleep(PAUSE);
        }
        drop(streams);
    }

    async fn open(&self, bytes: &[u8]) -> tokio::net::TcpStream {
        let socket = TcpSocket::new_v4().unwrap();
        // It ends with a reset: otherwise ports in TIME_WAIT would soon run out.
        socket.set_zero_linger().unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        // Bytes that do not fit into the buffers would be read too late anyway.
        let _ = stream.try_write(bytes);
        stream
    }

    /// Opens `count` connections, and sends the same on each, but the last bytes one by one, so
    /// slowly that it does not end.
    fn dribble(&self, count: usize, bytes: &[u8], last: usize) {
        let (at_once, slowly) = bytes.split_at(bytes.len() - last);
        let open = || {
            let mut stream = TcpStream::connect(self.address).unwrap();
            stream.set_nodelay(true).unwrap();
            stream.write_all(at_once).unwrap();
            stream
        };
        let mut streams: Vec<TcpStream> = (0..count).map(|_| open()).collect();
        self.is_ready.store(true, Ordering::Relaxed);
        for byte in slowly {
            // Many clients do not all send at the same moment.
            for stream in &mut streams {
                if self.is_over.load(Ordering::Relaxed) {
                    return;
                }
                let _ = stream.write_all(&[*byte]);
                sleep(PAUSE / 20);
            }
        }
    }
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const PRIORITY: u8 = 2;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// The headers of a call: POST, http, the path, the authority, and gRPC's.
const CALL: [u8; 58] = *b"\x83\x86\x04\x0f/geo.Geo/Nearby\x01\x05hotel\
    \x0f\x10\x10application/grpc\x00\x02te\x08trailers";

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

fn opening() -> Vec<u8> {
    [PREFACE, &frame(SETTINGS, 0, 0, &[])].concat()
}

fn head(stream: u32, flags: u8, block: &[u8]) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, block)
}

/// Returns a call with a message of which only a part is sent.
fn message(stream: u32, flags: u8, length: u32, part: &[u8]) -> Vec<u8> {
    let body = [&[0][..], &length.to_be_bytes(), part].concat();
    [head(stream, 0, &CALL), frame(DATA, flags, stream, &body)].concat()
}

/// Returns a header of this length as a literal: `x: yyy…`.
fn long_field(length: usize) -> Vec<u8> {
    [&[0, 1, b'x'], &integer(length)[..], &vec![b'y'; length]].concat()
}

/// Returns the same, for the reader's dynamic table.
fn indexed_field(length: usize) -> Vec<u8> {
    [&[0x40, 1, b'x'], &integer(length)[..], &vec![b'y'; length]].concat()
}

/// Returns an integer with a prefix of seven bits and as many more as it needs (RFC 7541, 5.1).
fn integer(value: usize) -> Vec<u8> {
    let mut rest = value - 127;
    let mut bytes = vec![127];
    while 128 <= rest {
        bytes.push(128 | (rest % 128) as u8);
        rest /= 128;
    }
    bytes.push(rest as u8);
    bytes
}

fn rapid_resets(count: u32) -> Vec<u8> {
    let one = |at: u32| {
        let stream = 2 * at + 1;
        [head(stream, 0, &CALL), frame(RST_STREAM, 0, stream, &[0, 0, 0, 8])].concat()
    };
    [opening(), (0..count).flat_map(one).collect()].concat()
}

fn wrong_frames() -> Vec<Vec<u8>> {
    let frames = [
        frame(SETTINGS, 0, 0, &[0; 5]),
        frame(SETTINGS, 0, 1, &[]),
        frame(SETTINGS, 0, 0, &[0, 4, 0xff, 0xff, 0xff, 0xff]),
        frame(PING, 0, 0, &[0; 7]),
        frame(PING, 0, 3, &[0; 8]),
        frame(RST_STREAM, 0, 0, &[0; 4]),
        frame(RST_STREAM, 0, 99, &[0; 4]),
        frame(WINDOW_UPDATE, 0, 0, &[0; 4]),
        frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]).repeat(2),
        frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 1]),
        frame(DATA, 0, 5, &[0; 5]),
        frame(DATA, 0, 0, &[0; 5]),
        frame(0x77, 0xff, 0x7fff_ffff, &[0; 100]),
        frame(5, 4, 1, &[0; 4]),
        frame(7, 0, 0, &[0; 8]),
        frame(CONTINUATION, 4, 1, &CALL),
        head(2, END_STREAM, &CALL),
        head(0, END_STREAM, &CALL),
        head(1, END_STREAM, &[0xff; 40]),
        head(1, END_STREAM, &[0x3f, 0xff, 0xff, 0xff, 0xff, 0xff]),
        head(1, END_STREAM, &[]),
        [head(1, 0, &CALL), head(1, 0, &CALL)].concat(),
        [head(1, END_STREAM, &CALL), frame(DATA, 0, 1, &[0; 5])].concat(),
        // The padding is longer than the frame.
        frame(HEADERS, END_HEADERS | 8, 1, &[200, 1, 2]),
        [&[0xff, 0xff, 0xff, DATA, 0, 0, 0, 0, 1][..], &[0; 70_000]].concat(),
    ];
    frames.iter().map(|one| [opening(), one.clone()].concat()).collect()
}

/// Returns random bytes, the same each time, so that a failure can be reproduced.
fn random(length: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

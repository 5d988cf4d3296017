//! Reads and writes of names on three kinds of servers, by one client, so that their figures can be
//! compared: our key-value store, Redis (RESP) and memcached (its text protocol).
//!
//! Each connection sends so many requests at once, half of them reads, and then waits for all their
//! answers; while it waits, the others send. Prints the requests that were answered per second.
//!
//! ```text
//! cargo run --release -p kvserver --example exchange kv|redis|memcached IP:PORT VALUE_BYTES PIPELINE CONNECTIONS SECONDS
//! ```
#![expect(clippy::print_stdout, reason = "its output")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;

use measure::{Nanos, Random};
use net::clock;
use wire::kv::{
    Body, Checksums, Decoder, Hello, Item, Kind, Opcode, Opening, Status, VERSION, encode_hello,
    encode_item,
};

const KEYS: u64 = 100_000;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
    let (Some(address), Some(value), Some(pipeline), Some(connections), Some(seconds)) = (
        words.get(1).and_then(|word| word.parse::<SocketAddr>().ok()),
        number(2),
        number(3),
        number(4),
        number(5),
    ) else {
        println!("exchange kv|redis|memcached IP:PORT VALUE_BYTES PIPELINE CONNECTIONS SECONDS");
        return ExitCode::from(2);
    };
    let value = vec![b'v'; value as usize];
    let connect = || -> Box<dyn Connection> {
        let stream = Stream::to(address);
        match &words[0][..] {
            "kv" => Box::new(Store::greet(stream)),
            "redis" => Box::new(Text { stream, dialect: Dialect::Redis, expected: 0 }),
            "memcached" => Box::new(Text { stream, dialect: Dialect::Memcached, expected: 0 }),
            other => panic!("`{other}` is no server; write kv, redis or memcached"),
        }
    };
    let mut connections: Vec<_> = (0..connections).map(|_| connect()).collect();
    fill(&mut *connections[0], &value);
    println!("{:.0}", rate(&mut connections, &value, pipeline, Nanos::from_secs(seconds)));
    ExitCode::SUCCESS
}

fn name(number: u64) -> String {
    format!("user{:019}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1)
}

fn fill(connection: &mut dyn Connection, value: &[u8]) {
    for first in (0..KEYS).step_by(100) {
        (first..first + 100).for_each(|number| connection.write(&name(number), value));
        connection.send();
        connection.receive();
    }
}

fn rate(
    connections: &mut [Box<dyn Connection>],
    value: &[u8],
    pipeline: u64,
    length: Nanos,
) -> f64 {
    let mut random = Random::new(1);
    let names: Vec<_> = (0..KEYS).map(name).collect();
    let (begin, mut answered) = (clock::now(), 0);
    while clock::now() < begin + length {
        for connection in &mut *connections {
            for _ in 0..pipeline {
                let name = &names[random.below(KEYS) as usize];
                match random.below(2) {
                    0 => connection.read(name, value.len()),
                    _ => connection.write(name, value),
                }
            }
            connection.send();
        }
        for connection in &mut *connections {
            connection.receive();
            answered += pipeline;
        }
    }
    answered as f64 / (clock::now() - begin).as_secs_f64()
}

/// A connection to a server that has all keys.
trait Connection {
    /// Appends a read, whose value has so many bytes.
    fn read(&mut self, name: &str, length: usize);

    fn write(&mut self, name: &str, value: &[u8]);

    /// Sends what was appended.
    fn send(&mut self);

    /// Waits for the answers to all that was sent.
    fn receive(&mut self);
}

struct Stream {
    socket: TcpStream,
    out: Vec<u8>,
    buffer: Vec<u8>,
}

impl Stream {
    fn to(address: SocketAddr) -> Stream {
        let socket = TcpStream::connect(address).expect("the server listens");
        socket.set_nodelay(true).expect("an option of TCP");
        Stream { socket, out: Vec::new(), buffer: vec![0; 256 << 10] }
    }

    fn send(&mut self) {
        self.socket.write_all(&self.out).expect("the server reads");
        self.out.clear();
    }

    fn read(&mut self) -> &[u8] {
        let count = self.socket.read(&mut self.buffer).expect("the server answers");
        assert!(0 < count, "the server has closed the connection");
        &self.buffer[..count]
    }
}

enum Dialect {
    Redis,
    Memcached,
}

/// A connection whose answers have known lengths, since all keys are there.
struct Text {
    stream: Stream,
    dialect: Dialect,
    /// The bytes of the answers.
    expected: usize,
}

impl Connection for Text {
    fn read(&mut self, name: &str, length: usize) {
        let out = &mut self.stream.out;
        self.expected += match self.dialect {
            Dialect::Redis => {
                out.extend_from_slice(b"*2\r\n$3\r\nGET\r\n");
                out.extend_from_slice(format!("${}\r\n{name}\r\n", name.len()).as_bytes());
                format!("${length}\r\n").len() + length + 2
            }
            Dialect::Memcached => {
                out.extend_from_slice(format!("get {name}\r\n").as_bytes());
                format!("VALUE {name} 0 {length}\r\n").len() + length + "\r\nEND\r\n".len()
            }
        };
    }

    fn write(&mut self, name: &str, value: &[u8]) {
        let (out, length) = (&mut self.stream.out, value.len());
        let (head, answer) = match self.dialect {
            Dialect::Redis => (
                format!("*3\r\n$3\r\nSET\r\n${}\r\n{name}\r\n${length}\r\n", name.len()),
                "+OK\r\n",
            ),
            Dialect::Memcached => (format!("set {name} 0 0 {length}\r\n"), "STORED\r\n"),
        };
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
        self.expected += answer.len();
    }

    fn send(&mut self) {
        self.stream.send();
    }

    fn receive(&mut self) {
        while 0 < self.expected {
            let count = self.stream.read().len();
            self.expected = self.expected.checked_sub(count).expect("the answers are as expected");
        }
    }
}

struct Store {
    stream: Stream,
    decoder: Decoder,
    items: Vec<u8>,
    count: usize,
    serial: u64,
    outstanding: usize,
}

impl Store {
    fn greet(mut stream: Stream) -> Store {
        let hello = Hello {
            versions: (VERSION, VERSION),
            checksums: Checksums::On,
            pipeline: 1,
            shard: None,
            session: None,
            position: None,
        };
        encode_hello(&hello, &mut stream.out);
        stream.send();
        let items = Vec::new();
        let decoder = Decoder::default();
        let mut store = Store { stream, decoder, items, count: 0, serial: 1, outstanding: 1 };
        // WELCOME counts as an answer.
        store.receive();
        store
    }

    fn push(&mut self, item: &Item<'_>) {
        encode_item(item, &mut self.items);
        self.count += 1;
    }
}

impl Connection for Store {
    fn read(&mut self, name: &str, _: usize) {
        let key = name.as_bytes();
        self.push(&Item { opcode: Opcode::Read, offset: 0, length: 0, key, value: &[] });
    }

    fn write(&mut self, name: &str, value: &[u8]) {
        let key = name.as_bytes();
        self.push(&Item { opcode: Opcode::Upsert, offset: 0, length: 0, key, value });
    }

    fn send(&mut self) {
        let out = &mut self.stream.out;
        let frame = Opening::begin(Kind::Request, 1, self.serial, Checksums::On, out);
        out.extend_from_slice(&self.items);
        frame.finish(self.count, out);
        self.serial += self.count as u64;
        self.outstanding += std::mem::take(&mut self.count);
        self.items.clear();
        self.stream.send();
    }

    fn receive(&mut self) {
        while 0 < self.outstanding {
            let Store { stream, decoder, outstanding, .. } = self;
            let mut bytes = stream.read();
            while let Some(frame) = decoder.next(&mut bytes).expect("frames of this version") {
                let pending = |status| usize::from(status == Status::Pending);
                *outstanding -= match frame.body {
                    Body::Welcome(_) => 1,
                    Body::Reply(answers) => answers.map(|answer| 1 - pending(answer.status)).sum(),
                    Body::Completions(ends) => ends.count(),
                    Body::Durable(_) => 0,
                    other => panic!("the server sends {other:?}"),
                };
            }
        }
    }
}

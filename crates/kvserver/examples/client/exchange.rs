//! Reads and writes of names on three kinds of servers, by one client, so that their figures can be
//! compared: our key-value store, Redis (RESP) and memcached (its text protocol).
//!
//! Each connection sends so many requests at once, half of them reads, and then waits for all their
//! answers; while it waits, the others send.

use measure::{Nanos, Random};
use net::clock;
use wire::kv::{Item, Opcode};

use super::store::{Store, Stream};

const KEYS: u64 = 100_000;

/// Prints the requests that were answered per second.
pub(super) fn run(words: &[&str]) -> Option<()> {
    let [protocol, address, rest @ ..] = words else { return None };
    let address = address.parse().ok()?;
    let numbers: Vec<u64> = rest.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [value, pipeline, connections, seconds] = numbers[..] else { return None };
    let value = vec![b'v'; value as usize];
    let connect = || -> Option<Box<dyn Connection>> {
        let text = |dialect| Text { stream: Stream::to(address), dialect, expected: 0 };
        Some(match *protocol {
            "kv" => Box::new(Store::greet(address)),
            "redis" => Box::new(text(Dialect::Redis)),
            "memcached" => Box::new(text(Dialect::Memcached)),
            _ => return None,
        })
    };
    let mut connections = (0..connections).map(|_| connect()).collect::<Option<Vec<_>>>()?;
    fill(&mut **connections.first_mut()?, &value);
    println!("{:.0}", rate(&mut connections, &value, pipeline, Nanos::from_secs(seconds)));
    Some(())
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
        Store::send(self);
    }

    fn receive(&mut self) {
        Store::receive(self, &mut |_, _, _| {});
    }
}

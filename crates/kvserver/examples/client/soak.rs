//! Values of 8 B to 64 KiB and counters, for a long time: every value that is read is the one that was
//! written, and every sum the one before and one more.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::thread;

use measure::{Nanos, Random};
use net::clock;
use wire::kv::{Item, Opcode, Status};

use super::store::Store;

/// The lengths of values: each power of two is as likely.
const SHORTEST: f64 = 8.0;
const LONGEST: f64 = 65_536.0;

/// The mean of these lengths.
const MEAN: u64 = 7_273;

const COUNTERS: u64 = 10_000;

/// The operations of a batch, and the bytes at which it ends before.
const BATCH: usize = 64;
const MOST: usize = 1 << 20;

/// One connection, its keys, and what they must have.
struct Client {
    store: Store,
    number: u64,
    random: Random,
    /// The seed and the length of each value; `None` if the key is absent.
    values: Vec<Option<(u64, usize)>>,
    counters: Vec<u64>,
    operations: u64,
}

/// The result that an operation must have.
#[derive(Debug)]
enum Expected {
    Ok,
    Value(u64, usize),
    Sum(u64),
    NotFound,
    /// A deletion need not know whether there was a value.
    Either,
}

/// Prints the operations when it ends; panics at the first wrong result.
pub(super) fn run(words: &[&str]) -> Option<()> {
    let [address, rest @ ..] = words else { return None };
    let address: SocketAddr = address.parse().ok()?;
    let numbers: Vec<u64> = rest.iter().map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [live, connections, seconds, seed] = numbers[..] else { return None };
    let keys = live / MEAN / connections;
    let until = clock::now() + Nanos::from_secs(seconds);
    let clients = (0..connections).map(|number| {
        thread::spawn(move || {
            let mut client = Client {
                store: Store::greet(address),
                number,
                random: Random::part(seed, number),
                values: vec![None; keys as usize],
                counters: vec![0; COUNTERS as usize],
                operations: 0,
            };
            client.fill();
            while clock::now() < until {
                client.batch();
            }
            client.check();
            client.operations
        })
    });
    let clients: Vec<_> = clients.collect();
    let each = clients.into_iter().map(|client| client.join().expect("a wrong result was told"));
    println!("{} operations, each as expected", each.sum::<u64>());
    Some(())
}

impl Client {
    /// Writes each key once.
    fn fill(&mut self) {
        for first in (0..self.values.len()).step_by(BATCH) {
            let mut expected = Vec::new();
            for key in first..self.values.len().min(first + BATCH) {
                expected.push(self.write(key));
                if MOST < self.store.bytes() {
                    self.exchange(&std::mem::take(&mut expected));
                }
            }
            self.exchange(&expected);
        }
    }

    /// Executes operations on different keys: those of a batch are concurrent.
    fn batch(&mut self) {
        let (mut used, mut expected) = (BTreeSet::new(), Vec::new());
        while expected.len() < BATCH && self.store.bytes() < MOST {
            let kind = self.random.below(100);
            let is_counter = kind < 20;
            let keys = if is_counter { self.counters.len() } else { self.values.len() };
            let key = self.random.below(keys as u64) as usize;
            if !used.insert((is_counter, key)) {
                continue;
            }
            expected.push(match kind {
                0..20 => self.add(key),
                20..60 => self.write(key),
                60..65 => self.delete(key),
                _ => self.read(key),
            });
        }
        self.exchange(&expected);
    }

    /// Reads all keys.
    fn check(&mut self) {
        for first in (0..self.values.len()).step_by(BATCH) {
            let last = self.values.len().min(first + BATCH);
            let expected: Vec<_> = (first..last).map(|key| self.read(key)).collect();
            self.exchange(&expected);
        }
    }

    fn write(&mut self, key: usize) -> Expected {
        let (least, most) = (SHORTEST.ln(), LONGEST.ln());
        let length = (least + self.random.unit() * (most - least)).exp() as usize;
        let seed = self.random.below(u64::MAX);
        self.values[key] = Some((seed, length));
        self.push(Opcode::Upsert, &self.name(key), &value(seed, length));
        Expected::Ok
    }

    fn read(&mut self, key: usize) -> Expected {
        self.push(Opcode::Read, &self.name(key), &[]);
        self.values[key].map_or(Expected::NotFound, |(seed, length)| Expected::Value(seed, length))
    }

    fn delete(&mut self, key: usize) -> Expected {
        self.push(Opcode::Delete, &self.name(key), &[]);
        self.values[key].take().map_or(Expected::Either, |_| Expected::Ok)
    }

    fn add(&mut self, key: usize) -> Expected {
        self.counters[key] += 1;
        let name = format!("counter {} {key}", self.number);
        self.push(Opcode::Add, &name, &1_u64.to_le_bytes());
        Expected::Sum(self.counters[key])
    }

    fn name(&self, key: usize) -> String {
        format!("key {} {key}", self.number)
    }

    fn push(&mut self, opcode: Opcode, key: &str, value: &[u8]) {
        let key = key.as_bytes();
        self.store.push(&Item { opcode, offset: 0, length: 0, key, value });
    }

    fn exchange(&mut self, expected: &[Expected]) {
        if expected.is_empty() {
            return;
        }
        let first = self.store.serial();
        self.store.send();
        self.store.receive(&mut |serial, status, found| {
            let is_right = match expected[(serial - first) as usize] {
                Expected::Ok => status == Status::Ok,
                Expected::NotFound => status == Status::NotFound,
                Expected::Either => matches!(status, Status::Ok | Status::NotFound),
                Expected::Value(seed, length) => {
                    status == Status::Ok && found == value(seed, length)
                }
                Expected::Sum(sum) => status == Status::Ok && found == sum.to_le_bytes(),
            };
            let (kind, length) = (&expected[(serial - first) as usize], found.len());
            assert!(is_right, "operation {serial}: {status:?} with {length} B instead of {kind:?}");
        });
        self.operations += expected.len() as u64;
    }
}

fn value(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let words = (0..length.div_ceil(8)).flat_map(|_| random.below(u64::MAX).to_le_bytes());
    words.take(length).collect()
}

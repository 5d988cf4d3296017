//! A model of Redis with the commands of the binding, which executes one command at a time.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use measure::{Instant, Nanos};
use net::simulation::{Effect, Peer};
use net::{Closed, ConnectionId};
use wire::resp::{Decoder, Value};

/// The time of a command.
const SERVICE: Nanos = Nanos::from_micros(100);

#[derive(Default)]
pub(super) struct Store {
    pub(super) records: HashMap<Vec<u8>, BTreeMap<Vec<u8>, Vec<u8>>>,
    pub(super) index: BTreeSet<(i64, Vec<u8>)>,
    /// Nothing is executed in this time.
    pub(super) stall: Option<(Instant, Instant)>,
    /// From this time on nobody listens, and every connection is closed.
    pub(super) death: Option<Instant>,
    /// From this time on connections are accepted, and nothing is answered.
    pub(super) hang: Option<Instant>,
    /// Further records are refused.
    pub(super) most_records: Option<usize>,
    /// The number of commands by name.
    pub(super) counts: HashMap<String, u64>,
    pub(super) free: Instant,
    pub(super) decoders: HashMap<ConnectionId, Decoder>,
}

/// A store behind the network.
pub(super) struct Served(pub(super) Rc<RefCell<Store>>);

impl Peer for Served {
    fn connect(
        &mut self,
        connection: ConnectionId,
        _attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let store = &mut *self.0.borrow_mut();
        if store.is_dead(now) {
            return effects.push((now, Effect::Closed(connection, Closed::Refused)));
        }
        store.decoders.insert(connection, Decoder::default());
        effects.push((now, Effect::Connected(connection)));
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        let store = &mut *self.0.borrow_mut();
        if store.is_dead(now) {
            return effects.push((now, Effect::Closed(connection, Closed::ByPeer)));
        }
        if store.hang.is_some_and(|hang| hang <= now) {
            return;
        }
        let mut decoder = store.decoders.remove(&connection).unwrap();
        let mut rest = bytes;
        while let Some(command) = decoder.next(&mut rest).unwrap() {
            let Value::Array(words) = command else { panic!("{command:?}") };
            let words = words.map(|word| match word {
                Value::String(word) => word.to_vec(),
                other => panic!("{other:?}"),
            });
            let mut begin = store.free.max(now);
            if let Some((from, until)) = store.stall
                && from <= begin
                && begin < until
            {
                begin = until;
            }
            store.free = begin + SERVICE;
            let words: Vec<Vec<u8>> = words.collect();
            effects.push((store.free, Effect::Bytes(connection, store.execute(&words))));
        }
        store.decoders.insert(connection, decoder);
    }
}

impl Store {
    fn is_dead(&self, now: Instant) -> bool {
        self.death.is_some_and(|death| death <= now)
    }

    fn execute(&mut self, words: &[Vec<u8>]) -> Vec<u8> {
        let name = String::from_utf8(words[0].clone()).unwrap();
        *self.counts.entry(name.clone()).or_default() += 1;
        match (&*name, &words[1..]) {
            ("PING", []) => b"+PONG\r\n".to_vec(),
            ("HMSET", [key, pairs @ ..]) => {
                let is_full = self.most_records.is_some_and(|most| most <= self.records.len());
                if is_full && !self.records.contains_key(key) {
                    return b"-OOM command not allowed\r\n".to_vec();
                }
                let fields = self.records.entry(key.clone()).or_default();
                for pair in pairs.chunks(2) {
                    fields.insert(pair[0].clone(), pair[1].clone());
                }
                b"+OK\r\n".to_vec()
            }
            ("HGETALL", [key]) => {
                let fields = self.records.get(key).into_iter().flatten();
                array(fields.flat_map(|(name, value)| [name, value]))
            }
            ("HMGET", [key, fields @ ..]) => {
                let record = self.records.get(key);
                array(fields.iter().map(|field| &record.expect("it exists")[field]))
            }
            ("ZADD", [_, score, member]) if self.records.contains_key(member) => {
                self.index.insert((number(score), member.clone()));
                b":1\r\n".to_vec()
            }
            ("ZADD", _) => b"-ERR no record\r\n".to_vec(),
            ("ZRANGEBYSCORE", [_, from, _, _, _, most]) => {
                let range = self.index.range((number(from), Vec::new())..);
                array(range.take(number(most) as usize).map(|(_, member)| member))
            }
            _ => panic!("{name}"),
        }
    }
}

fn number(word: &[u8]) -> i64 {
    std::str::from_utf8(word).unwrap().parse().unwrap()
}

fn array<'a>(strings: impl Iterator<Item = &'a Vec<u8>>) -> Vec<u8> {
    let strings: Vec<_> = strings.collect();
    let mut out = format!("*{}\r\n", strings.len()).into_bytes();
    for string in strings {
        out.extend_from_slice(format!("${}\r\n", string.len()).as_bytes());
        out.extend_from_slice(string);
        out.extend_from_slice(b"\r\n");
    }
    out
}

//! Sessions of the key-value store that go on after their connection broke, against a server that loses batches
//! and replies.

use net::simulation::{Effect, Peer};
use net::{Closed, ConnectionId};
use wire::kv::{
    Body, Checksums, Code, Decoder, Opcode, Welcome, encode_error, encode_reply_fixed,
    encode_welcome,
};

use super::*;
use crate::driver::kv::{Batch, Kv, KvWorkload, Terms};

/// The number of operations of each batch.
const EACH: u64 = 3;

/// Additions without an end.
struct Additions;

impl KvWorkload for Additions {
    fn next(&mut self, batch: &mut Batch) {
        for key in 0..EACH {
            batch.opcodes.push(Opcode::Add as u8);
            batch.keys.push(key);
            batch.values.push(1);
        }
    }
}

/// A server with one session, which executes each batch once and keeps all replies.
struct Store {
    random: Random,
    /// The share of batches that break the connection: half of them are lost, and half their replies.
    breaking: f64,
    /// The attempts to connect that are refused.
    refused: std::ops::Range<u64>,
    /// True once the session is forgotten.
    forgets: bool,
    /// True if it ends in order at its first batch: it answers, and closes the connection.
    ends: bool,
    executed: Rc<Cell<u64>>,
    session: u64,
    /// True until the next connection: what arrives after a lost batch is lost, too.
    is_broken: bool,
    decoder: Decoder,
}

impl Store {
    fn new(executed: &Rc<Cell<u64>>) -> Store {
        Store {
            random: Random::new(1),
            breaking: 0.0,
            refused: 0..0,
            forgets: false,
            ends: false,
            executed: Rc::clone(executed),
            session: 7,
            is_broken: false,
            decoder: Decoder::default(),
        }
    }

    fn welcome(&mut self, session: Option<u64>) -> Vec<u8> {
        let mut bytes = Vec::new();
        if session.is_some() && self.forgets {
            let code = Code::SessionUnknown;
            encode_error(code, 0, code.as_str(), Checksums::On, &mut bytes);
            return bytes;
        }
        if session.is_none() {
            self.session += 1;
            self.executed.set(0);
        }
        let welcome = Welcome {
            version: 1,
            checksums: Checksums::On,
            wants_proof: false,
            id: 1,
            shards: 1,
            shard: 0,
            seed: 0,
            session: self.session,
            executed: self.executed.get(),
            through: 0,
            nonce: [0; 16],
            owners: Default::default(),
            except: Default::default(),
        };
        encode_welcome(1, &welcome, &[], &[], &mut bytes);
        bytes
    }

    /// Executes a batch; `None` if the connection breaks instead of a reply.
    fn execute(&mut self, serial: u64) -> Option<Vec<u8>> {
        let chance = self.random.unit();
        if chance < self.breaking / 2.0 {
            return None;
        }
        if self.executed.get() < serial {
            assert_eq!(serial, self.executed.get() + 1, "no batch is left out");
            self.executed.update(|executed| executed + EACH);
        }
        if chance < self.breaking {
            return None;
        }
        let (statuses, values) = ([0; EACH as usize], [0; 8 * EACH as usize]);
        let mut reply = Vec::new();
        encode_reply_fixed((1, serial), &statuses, &values, Checksums::On, &mut reply);
        Some(reply)
    }
}

impl Peer for Store {
    fn connect(
        &mut self,
        connection: ConnectionId,
        attempt: u64,
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        (self.decoder, self.is_broken) = (Decoder::default(), false);
        effects.push(match self.refused.contains(&attempt) {
            true => (now, Effect::Closed(connection, Closed::Refused)),
            false => (now, Effect::Connected(connection)),
        });
    }

    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    ) {
        if self.is_broken {
            return;
        }
        let (mut decoder, mut rest) = (std::mem::take(&mut self.decoder), bytes);
        while let Some(frame) = decoder.next(&mut rest).unwrap() {
            let (answer, ends) = match frame.body {
                Body::Hello(hello) => (Some(self.welcome(hello.session)), false),
                _ => (self.execute(frame.header.serial), std::mem::take(&mut self.ends)),
            };
            let at = now + Nanos::from_millis(1);
            let Some(answer) = answer else {
                self.is_broken = true;
                return effects.push((at, Effect::Closed(connection, Closed::Reset)));
            };
            effects.push((at, Effect::Bytes(connection, answer)));
            if ends {
                self.is_broken = true;
                return effects.push((at, Effect::Closed(connection, Closed::ByPeer)));
            }
        }
        self.decoder = decoder;
    }
}

fn run(store: Store, seconds: u64) -> Recorded {
    piped(2, store, seconds)
}

fn piped(pipeline: u8, store: Store, seconds: u64) -> Recorded {
    let stop = AtomicBool::new(false);
    let recorder = Recorder::new(1, SECOND, None);
    let mut shard = Shard::new(Simulation::new(store), recorder, LIMITS, [&stop, &stop]);
    let driver = Kv::new(Terms { pipeline, position: (0, 1) }, Additions);
    let address = std::net::SocketAddr::from(([127, 0, 0, 1], 1)).into();
    let numbers = Numbers { first: 0, step: 1, quota: None };
    shard.add_pool(Of { pool: 0, target: 0 }, driver, (vec![address], 1), numbers);
    shard.connect(Instant(0) + SECOND).unwrap();
    let (start, end) = (Instant(0), Instant(0) + SECOND * seconds);
    shard.observer().begin(start, Window { start, end });
    let mut source = Source::Closed { think: Think::NONE, random: Random::new(1) };
    let (done, _) =
        shard.run(&mut source, Schedule { start, overload: start, end, drain: SECOND }).unwrap();
    let recorded = shard.into_parts().0.finish(done);
    check_invariants(&recorded);
    recorded
}

#[test]
fn each_operation_is_executed_once_however_often_the_connection_breaks() {
    for breaking in [0.0, 0.02, 0.3] {
        let executed = Rc::new(Cell::new(0));
        let recorded = run(Store { breaking, ..Store::new(&executed) }, 5);
        let part = &recorded.parts[0];
        assert_eq!(part.operations[Outcome::Ok as usize], executed.get(), "{:?}", part.outcomes);
        assert_eq!(part.failed(), 0, "{:?}", part.outcomes);
        assert!(1_000 < executed.get(), "{}", executed.get());
        assert_eq!(0 < part.redirected, 0.0 < breaking);
    }
}

#[test]
fn a_server_that_is_away_for_some_seconds_loses_nothing() {
    let executed = Rc::new(Cell::new(0));
    // The attempts are made after 10, 30, 70, … ms, and then every second.
    let away = Store { breaking: 0.02, refused: 1..10, ..Store::new(&executed) };
    let recorded = run(away, 8);
    let part = &recorded.parts[0];
    assert_eq!((part.failed(), part.operations[Outcome::Ok as usize]), (0, executed.get()));
    let longest = part.response.max().unwrap();
    assert!(SECOND < longest && longest < SECOND * 5, "{longest}");
}

#[test]
fn batches_that_were_never_sent_wait_for_their_server_like_those_that_were() {
    let executed = Rc::new(Cell::new(0));
    let leaves = |refused| Store { ends: true, refused, ..Store::new(&executed) };
    // After the one answered batch, no batch is on its way.
    let back = piped(1, leaves(1..10), 8).parts.remove(0);
    assert_eq!((back.failed(), back.outcome(Outcome::Unfinished)), (0, 0), "{:?}", back.outcomes);
    assert!(1_000 < back.outcome(Outcome::Ok), "{:?}", back.outcomes);
    let lacking = |seconds| {
        let gone = piped(1, leaves(1..u64::MAX), seconds).parts.remove(0);
        assert_eq!((gone.outcome(Outcome::Ok), gone.outcome(Outcome::Unfinished)), (1, 0));
        let count = gone.outcome(Outcome::Connect);
        let reasons: Vec<_> = gone.reasons.iter().collect();
        assert_eq!(reasons, [(Outcome::Connect, "connection refused".to_owned(), count)]);
        count
    };
    // One waits at the end; each waits for ten seconds, until the next attempt after them.
    assert_eq!([lacking(3), lacking(15), lacking(25)], [1, 2, 3]);
}

#[test]
fn batches_that_have_waited_too_long_fail_together() {
    let executed = Rc::new(Cell::new(0));
    let gone = Store { breaking: 1.0, refused: 1..u64::MAX, ..Store::new(&executed) };
    let part = piped(64, gone, 12).parts.remove(0);
    let operations = part.operations[Outcome::Connect as usize];
    // As many others follow, which have no operations yet, and still wait at the end.
    assert_eq!((operations, part.outcome(Outcome::Connect)), (64 * EACH, 2 * 64));
}

#[test]
fn batches_whose_connection_cannot_be_opened_again_fail_in_time_with_their_operations() {
    let executed = Rc::new(Cell::new(0));
    let gone = Store { breaking: 0.02, refused: 1..u64::MAX, ..Store::new(&executed) };
    let recorded = run(gone, 30);
    let part = &recorded.parts[0];
    let failed = part.operations[Outcome::Connect as usize];
    assert!(failed == EACH || failed == 2 * EACH, "{failed} of the batches that were sent");
    let ok = part.operations[Outcome::Ok as usize];
    assert!(ok <= executed.get() && executed.get() <= ok + failed);
    assert_eq!(part.failed(), part.outcome(Outcome::Connect));
}

#[test]
fn a_forgotten_session_fails_what_lacks_a_reply_and_the_next_one_begins() {
    let executed = Rc::new(Cell::new(0));
    let store = Store { breaking: 0.01, forgets: true, ..Store::new(&executed) };
    // The new session counts from the beginning.
    let recorded = run(Store { executed: Rc::clone(&executed), ..store }, 1);
    let part = &recorded.parts[0];
    let failed = part.operations[Outcome::Reset as usize];
    assert!(0 < failed && failed.is_multiple_of(EACH), "{:?}", part.outcomes);
    assert!(part.operations[Outcome::Ok as usize] != 0);
}

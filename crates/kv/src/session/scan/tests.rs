use std::collections::BTreeMap;
use std::thread;

use measure::Nanos;
use net::Io;
use net::simulation::Disk;

use crate::fixture::{PAGE, Thread};
use crate::hash::{COLLIDING, Hash};
use crate::storage::Nowhere;
use crate::{
    Completions, MOST_OF_A_VALUE, Op, Options, Outcome, Replies, Scanned, Session, Status, Store,
};

type Record = (Vec<u8>, Vec<u8>);

/// Serials, statuses and values.
type Ends = Vec<(u64, Status, Vec<u8>)>;

/// The records in the order of a scan: by the hashes of the keys.
#[derive(Default)]
struct Model(BTreeMap<(u64, Vec<u8>), Vec<u8>>, u64);

impl Model {
    fn insert(&mut self, key: &[u8], value: &[u8]) {
        self.0.insert((Hash::of(key, self.1).number(), key.to_vec()), value.to_vec());
    }

    fn remove(&mut self, key: &[u8]) {
        self.0.remove(&(Hash::of(key, self.1).number(), key.to_vec()));
    }

    fn all(&self) -> Vec<Record> {
        self.0.iter().map(|((_, key), value)| (key.clone(), value.clone())).collect()
    }
}

/// Scans with a way to poll.
struct Scanner<P: FnMut(&mut Session) -> Ends>(P);

impl<P: FnMut(&mut Session) -> Ends> Scanner<P> {
    fn scan(
        &mut self,
        session: &mut Session,
        key: &[u8],
        is_behind: bool,
        count: u32,
    ) -> Vec<Record> {
        let Outcome::Pending(serial) = session.scan(key, is_behind, count) else {
            panic!("a scan is pending first")
        };
        for _ in 0..1_000_000 {
            let ends = (self.0)(session);
            if let Some((_, status, value)) = ends.into_iter().find(|(end, ..)| *end == serial) {
                assert_eq!(status, Status::Ok);
                assert!(value.len() <= MOST_OF_A_VALUE + 2048, "{}", value.len());
                let records = Scanned(&value).map(|(key, value)| (key.to_vec(), value.to_vec()));
                return records.collect();
            }
        }
        panic!("the scan never ends");
    }

    /// Scans everything from a key on, so many records at a time.
    fn all_from(&mut self, session: &mut Session, key: &[u8], count: u32) -> Vec<Record> {
        let mut all = self.scan(session, key, false, count);
        while let Some((last, _)) = all.last().cloned() {
            let more = self.scan(session, &last, true, count);
            if more.is_empty() {
                break;
            }
            assert!(more.len() <= count as usize);
            all.extend(more);
        }
        all
    }
}

fn in_memory() -> Scanner<impl FnMut(&mut Session) -> Ends> {
    let mut completions = Completions::new(1 << 20);
    Scanner(move |session: &mut Session| {
        session.poll(&mut Nowhere, &mut completions);
        let ends = completions.iter();
        ends.map(|(serial, status, value)| (serial, status, value.to_vec())).collect()
    })
}

fn options() -> Options {
    Options { buckets: 4096, memory: 32 << 20, page: 1 << 20, sessions: 8, ..Options::default() }
}

fn key(number: u64) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

/// Fills a store, changes some values and deletes some keys.
fn fill(session: &mut Session, model: &mut Model, keys: u64) {
    for number in 0..keys {
        let value = vec![number as u8; (number % 40) as usize];
        assert_eq!(session.upsert(&key(number), &value), Outcome::Done(Status::Ok));
        model.insert(&key(number), &value);
    }
    for number in (0..keys).step_by(3) {
        let value = vec![1; (number % 90) as usize];
        assert_eq!(session.upsert(&key(number), &value), Outcome::Done(Status::Ok));
        model.insert(&key(number), &value);
    }
    for number in (0..keys).step_by(7) {
        assert_eq!(session.delete(&key(number)), Outcome::Done(Status::Ok));
        model.remove(&key(number));
    }
}

#[test]
fn records_are_scanned_in_the_order_of_their_hashes() {
    let store = Store::open(options(), &mut Nowhere).unwrap();
    let mut session = store.session(1).unwrap();
    let mut scanner = in_memory();
    assert_eq!(scanner.scan(&mut session, b"nothing", false, 10), []);
    let mut model = Model::default();
    fill(&mut session, &mut model, 5000);
    let all = model.all();
    // From the first hash on: no key has a smaller one.
    for count in [1, 7, 100, 10_000] {
        let from = if count == 1 { 4000 } else { 0 };
        let found = scanner.all_from(&mut session, &all[from].0, count);
        assert_eq!(found, all[from..], "{count}");
    }
    // From a key that is not there.
    let gone = key(7);
    let hash = Hash::of(&gone, 0).number();
    let expected: Vec<_> = all.iter().filter(|(key, _)| Hash::of(key, 0).number() > hash).collect();
    for is_behind in [false, true] {
        let found = scanner.scan(&mut session, &gone, is_behind, 5);
        assert_eq!(found.iter().collect::<Vec<_>>(), expected[..5]);
    }
    for count in [0, 10_001] {
        let wrong = session.scan(&gone, false, count);
        assert_eq!(wrong, Outcome::Done(Status::WrongType));
    }
}

#[test]
fn keys_of_one_hash_are_in_the_order_of_their_bytes() {
    let options = Options { seed: COLLIDING, ..options() };
    let store = Store::open(options, &mut Nowhere).unwrap();
    let mut session = store.session(1).unwrap();
    let mut model = Model(BTreeMap::new(), COLLIDING);
    fill(&mut session, &mut model, 300);
    let all = model.all();
    let found = in_memory().all_from(&mut session, &all[0].0, 9);
    let first = Hash::of(&all[0].0, COLLIDING);
    assert!(all.iter().filter(|(key, _)| Hash::of(key, COLLIDING) == first).count() > 20);
    assert_eq!(found, all);
}

#[test]
fn a_scan_of_long_values_ends_early_and_another_goes_on() {
    // All in one bucket, so that more of it is found than is held.
    let options = Options { seed: COLLIDING, ..options() };
    let store = Store::open(options, &mut Nowhere).unwrap();
    let mut session = store.session(1).unwrap();
    let mut model = Model(BTreeMap::new(), COLLIDING);
    for number in 0..40 {
        let value = vec![number as u8; 400_000 + number as usize];
        assert_eq!(session.upsert(&key(number), &value), Outcome::Done(Status::Ok));
        model.insert(&key(number), &value);
    }
    let all = model.all();
    let mut scanner = in_memory();
    let found = scanner.scan(&mut session, &all[0].0, false, 100);
    assert_eq!(found.len(), 2);
    let found = scanner.all_from(&mut session, &all[0].0, 100);
    assert!(found == all, "{} of {}", found.len(), all.len());
}

#[test]
fn many_scans_of_a_batch_are_all_answered() {
    let store = Store::open(options(), &mut Nowhere).unwrap();
    let mut session = store.session(1).unwrap();
    let mut model = Model::default();
    fill(&mut session, &mut model, 2000);
    let all = model.all();
    let (mut replies, mut completions) = (Replies::new(1 << 20), Completions::new(1 << 16));
    let scans: Vec<_> =
        all[..500].iter().map(|(key, _)| Op::Scan { key, is_behind: false, count: 10 }).collect();
    let first = session.next_serial();
    assert_eq!(session.batch(&scans, &mut replies), 500);
    let mut ended = 0;
    while session.pending() > 0 {
        session.poll(&mut Nowhere, &mut completions);
        for (serial, status, value) in completions.iter() {
            let at = (serial - first) as usize;
            let expected = all[at..at + 10].iter().map(|(key, value)| (&key[..], &value[..]));
            assert_eq!(status, Status::Ok);
            assert!(Scanned(value).eq(expected), "{at}");
            ended += 1;
        }
    }
    assert_eq!(ended, 500);
}

#[test]
fn keys_that_are_there_all_the_time_are_found_while_the_index_grows() {
    let store = Store::open(options(), &mut Nowhere).unwrap();
    let mut session = store.session(1).unwrap();
    let mut model = Model::default();
    for number in 0..3000 {
        session.upsert(&key(number), b"stays");
        model.insert(&key(number), b"stays");
    }
    let all = model.all();
    thread::scope(|scope| {
        let mut other = store.session(2).unwrap();
        scope.spawn(move || {
            let mut completions = Completions::new(1 << 20);
            for number in 3000..60_000 {
                if let Outcome::Pending(_) = other.upsert(&key(number), b"new") {
                    other.poll(&mut Nowhere, &mut completions);
                }
            }
            while other.pending() > 0 {
                other.poll(&mut Nowhere, &mut completions);
            }
        });
        let mut scanner = in_memory();
        for _ in 0..3 {
            let mut found = scanner.all_from(&mut session, &all[0].0, 500);
            found.retain(|(_, value)| value == b"stays");
            assert!(found == all, "{} of {}", found.len(), all.len());
        }
    });
    assert!(store.buckets() > 4096);
}

#[test]
fn records_on_disk_are_scanned_also_while_they_are_compacted() {
    let mut thread = Thread::new(Disk::new(1));
    let sizes = Options {
        memory: 6 * PAGE,
        page: PAGE,
        segment: 2 * PAGE,
        mutable_fraction: 0.5,
        id: 77,
        ..options()
    };
    let store = Store::open(sizes, &mut thread.storage()).unwrap();
    let mut session = store.session(1).unwrap();
    let mut poll = |session: &mut Session| {
        let ends = thread.poll(session);
        let until = thread.io.now() + Nanos::from_micros(10);
        thread.io.wait(until);
        ends
    };
    let mut model = Model::default();
    for round in 0..3_u8 {
        for number in 0..1500 {
            // Some are large, and some have only an old record.
            if number % 4 < u64::from(round) {
                continue;
            }
            let value =
                vec![round; if number % 300 == 0 { 6000 } else { 20 + number as usize % 50 }];
            if let Outcome::Pending(serial) = session.upsert(&key(number), &value) {
                while !poll(&mut session).iter().any(|(end, ..)| *end == serial) {}
            }
            model.insert(&key(number), &value);
            poll(&mut session);
        }
    }
    for number in (0..1500).step_by(5) {
        session.delete(&key(number));
        model.remove(&key(number));
    }
    while session.pending() > 0 {
        poll(&mut session);
    }
    let all = model.all();
    assert!(store.shared().log.borders().head.get() > 4 * PAGE);
    let mut scanner = Scanner(poll);
    assert_eq!(scanner.all_from(&mut session, &all[0].0, 100), all);
    let begin = store.shared().log.borders().begin;
    store.compact();
    assert_eq!(scanner.all_from(&mut session, &all[0].0, 100), all);
    assert!(store.shared().log.borders().begin > begin);
    assert_eq!(scanner.all_from(&mut session, &all[0].0, 10_000), all);
}

use std::collections::BTreeMap;

use measure::{Nanos, Random};
use net::Io;
use net::simulation::{Disk, Faults};

use crate::fixture::{PAGE, Thread};
use crate::storage::Storage;
use crate::{Op, Options, Outcome, Replies, Session, Status, Store};

impl Thread {
    /// Polls once, and lets a millisecond pass.
    fn turn(&mut self, session: &mut Session) -> Vec<(u64, Status, Vec<u8>)> {
        let ends = self.poll(session);
        let until = self.io.now() + Nanos::from_micros(1000);
        self.io.wait(until);
        ends
    }

    /// Waits for all pending operations, and returns their ends by serial.
    fn ends(&mut self, session: &mut Session) -> BTreeMap<u64, (Status, Vec<u8>)> {
        let mut ends = BTreeMap::new();
        for _ in 0..100_000 {
            for (serial, status, value) in self.turn(session) {
                assert!(ends.insert(serial, (status, value)).is_none(), "one end each");
            }
            if session.pending() == 0 {
                return ends;
            }
        }
        panic!("{} operations never end", session.pending());
    }
}

fn options() -> Options {
    Options {
        buckets: 4096,
        memory: 6 * PAGE,
        page: PAGE,
        segment: 4 * PAGE,
        mutable_fraction: 0.5,
        sessions: 8,
        ..Options::default()
    }
}

fn open(thread: &mut Thread, options: Options) -> (Store, Session) {
    let store = Store::open(options, &mut thread.storage()).unwrap();
    let session = store.session(1).unwrap();
    (store, session)
}

/// Executes operations on different keys, and returns the ends of all.
fn all(thread: &mut Thread, session: &mut Session, ops: &[Op<'_>]) -> Vec<(Status, Vec<u8>)> {
    let mut replies = Replies::new(1 << 20);
    let first = session.next_serial();
    assert_eq!(session.batch(ops, &mut replies), ops.len());
    let mut ends = thread.ends(session);
    let each = replies.statuses().iter().enumerate();
    each.map(|(index, status)| match status {
        Status::Pending => ends.remove(&(first + index as u64)).unwrap(),
        status => (*status, replies.value(index).to_vec()),
    })
    .collect()
}

fn value_of(key: u64) -> Vec<u8> {
    let length = if key.is_multiple_of(50) { 5000 } else { 8 + key % 40 };
    (0..length).map(|at| (key * 7 + at) as u8).collect()
}

#[test]
fn a_store_larger_than_its_memory_has_all_values() {
    let mut thread = Thread::new(Disk::new(1));
    let (store, mut session) = open(&mut thread, options());
    let keys: Vec<u64> = (0..2000).collect();
    for keys in keys.chunks(40) {
        let pairs: Vec<_> = keys.iter().map(|key| (key.to_le_bytes(), value_of(*key))).collect();
        let ops: Vec<_> = pairs.iter().map(|(key, value)| Op::Upsert { key, value }).collect();
        let ends = all(&mut thread, &mut session, &ops);
        assert!(ends.iter().all(|(status, _)| *status == Status::Ok));
    }
    let borders = store.shared().log.borders();
    assert!(borders.head.get() > 10 * PAGE, "{borders:?}");
    for keys in keys.chunks(100) {
        let names: Vec<_> = keys.iter().map(|key| key.to_le_bytes()).collect();
        let ops: Vec<_> = names.iter().map(|key| Op::Read { key }).collect();
        for (key, end) in keys.iter().zip(all(&mut thread, &mut session, &ops)) {
            assert_eq!(end, (Status::Ok, value_of(*key)), "key {key}");
        }
    }
}

#[test]
fn what_pending_operations_hold_is_bounded_and_given_back() {
    let mut thread = Thread::new(Disk::new(1));
    let page = 4 * super::MOST_BYTES as u64;
    let options = Options { memory: 4 * page, page, segment: 4 * page, ..options() };
    let (_store, mut session) = open(&mut thread, options);
    let length = super::MOST_BYTES / 4;
    for key in 0..400_u64 {
        let (key, value) = (key.to_le_bytes(), vec![key as u8; length]);
        let ends = all(&mut thread, &mut session, &[Op::Upsert { key: &key, value: &value }]);
        assert_eq!(ends[0].0, Status::Ok);
    }
    let names: Vec<_> = (0..100_u64).map(u64::to_le_bytes).collect();
    let ops: Vec<_> = names.iter().map(|key| Op::Read { key }).collect();
    let (mut replies, mut most, mut ended) = (Replies::new(1 << 20), 0, 0);
    assert_eq!(session.batch(&ops, &mut replies), ops.len());
    while 0 < session.pending() {
        ended += thread.turn(&mut session).len();
        most = most.max(session.held());
    }
    assert_eq!(ended, 100);
    // The reads that find it full may have begun: the last is one value too many.
    assert!((length..2 * super::MOST_BYTES).contains(&most), "{most}");
    assert!(session.held() < 1 << 17, "{}", session.held());
}

#[test]
fn a_store_on_disk_answers_as_a_map_does() {
    for seed in 1..4 {
        let faults = Faults { partial: true, ..Faults::default() };
        let mut thread = Thread::new(Disk::new(seed).with_faults(faults));
        let (store, mut session) = open(&mut thread, options());
        let (mut random, mut map) = (Random::new(seed), BTreeMap::<u64, Vec<u8>>::new());
        for _ in 0..if cfg!(debug_assertions) { 60 } else { 600 } {
            let mut keys: Vec<u64> = (0..30).map(|_| random.below(1500)).collect();
            keys.sort_unstable();
            keys.dedup();
            let inputs: Vec<_> = keys
                .iter()
                .map(|key| (key.to_le_bytes(), random.below(6), value_of(random.below(200))))
                .collect();
            let ops: Vec<_> = inputs
                .iter()
                .map(|(key, kind, value)| match kind {
                    0 | 1 => Op::Upsert { key, value },
                    2 => Op::Add { key, delta: 3 },
                    3 => Op::Delete { key },
                    4 => Op::WriteAt { key, offset: 2, bytes: b"abc" },
                    _ => Op::Read { key },
                })
                .collect();
            let ends = all(&mut thread, &mut session, &ops);
            for ((key, op), end) in keys.iter().zip(&ops).zip(ends) {
                let expected = model(&mut map, *key, op);
                // A deletion need not know whether there was a value in the storage.
                if !(matches!(op, Op::Delete { .. }) && end == (Status::Ok, vec![])) {
                    assert_eq!(end, expected, "{op:?}, seed {seed}");
                }
            }
        }
        let head = store.shared().log.borders().head.get();
        assert!(head > PAGE, "{head}");
    }
}

fn model(map: &mut BTreeMap<u64, Vec<u8>>, key: u64, op: &Op<'_>) -> (Status, Vec<u8>) {
    match (*op, map.get_mut(&key)) {
        (Op::Upsert { value, .. }, _) => {
            map.insert(key, value.to_vec());
            (Status::Ok, vec![])
        }
        (Op::Add { delta, .. }, None) => {
            map.insert(key, delta.to_le_bytes().to_vec());
            (Status::Ok, delta.to_le_bytes().to_vec())
        }
        (_, None) => (Status::NotFound, vec![]),
        (Op::Add { delta, .. }, Some(value)) => match <[u8; 8]>::try_from(&value[..]) {
            Ok(old) => {
                *value = (i64::from_le_bytes(old) + delta).to_le_bytes().to_vec();
                (Status::Ok, value.clone())
            }
            Err(_) => (Status::WrongType, vec![]),
        },
        (Op::WriteAt { bytes, .. }, Some(value)) => {
            value[2..5].copy_from_slice(bytes);
            (Status::Ok, vec![])
        }
        (Op::Delete { .. }, Some(_)) => {
            map.remove(&key);
            (Status::Ok, vec![])
        }
        (_, Some(value)) => (Status::Ok, value.clone()),
    }
}

#[test]
fn additions_to_cold_values_of_two_sessions_are_all_there() {
    let mut thread = Thread::new(Disk::new(5));
    let (store, mut first) = open(&mut thread, options());
    let mut second = store.session(2).unwrap();
    let keys: Vec<_> = (0..1500_u64).map(u64::to_le_bytes).collect();
    let mut replies = Replies::new(1 << 20);
    let mut ended = 0;
    for round in 0..4 {
        for keys in keys.chunks(60) {
            let ops: Vec<_> = keys.iter().map(|key| Op::Add { key, delta: 1 }).collect();
            for session in [&mut first, &mut second] {
                assert_eq!(session.batch(&ops, &mut replies), ops.len());
                ended += replies.statuses().iter().filter(|end| **end == Status::Ok).count();
            }
            while first.pending() + second.pending() > 0 {
                for session in [&mut first, &mut second] {
                    let ends = thread.turn(session);
                    assert!(ends.iter().all(|(_, status, _)| *status == Status::Ok), "{round}");
                    ended += ends.len();
                }
            }
            let filler = [Op::Upsert { key: &[9; 100], value: &[1; 3000] }];
            all(&mut thread, &mut first, &filler);
        }
    }
    assert_eq!(ended, 4 * 2 * keys.len());
    let ops: Vec<_> = keys.iter().map(|key| Op::Read { key }).collect();
    for end in all(&mut thread, &mut first, &ops) {
        assert_eq!(end, (Status::Ok, 8_u64.to_le_bytes().to_vec()));
    }
}

#[test]
fn a_log_at_its_limit_answers_full_and_reads_go_on() {
    let mut thread = Thread::new(Disk::new(6));
    let limit = Some(12 * PAGE);
    let (_store, mut session) = open(&mut thread, Options { log_limit: limit, ..options() });
    let mut stored = 0_u64;
    loop {
        let key = stored.to_le_bytes();
        let ends = all(&mut thread, &mut session, &[Op::Upsert { key: &key, value: &[3; 100] }]);
        if ends[0].0 == Status::Full {
            break;
        }
        stored += 1;
    }
    // Two pages are for tombstones.
    assert!(stored > 9 * PAGE / 160, "{stored}");
    for key in [0, stored / 2, stored - 1] {
        let ends = all(&mut thread, &mut session, &[Op::Read { key: &key.to_le_bytes() }]);
        assert_eq!(ends[0], (Status::Ok, vec![3; 100]));
    }
}

#[test]
fn a_disk_without_space_answers_full_until_there_is_space() {
    let capacity = Some(8 * PAGE);
    let faults = Faults { capacity, ..Faults::default() };
    let mut thread = Thread::new(Disk::new(7).with_faults(faults));
    let (_store, mut session) = open(&mut thread, options());
    let upsert = |thread: &mut Thread, session: &mut Session, key: u64| {
        let key = key.to_le_bytes();
        all(thread, session, &[Op::Upsert { key: &key, value: &[3; 100] }])[0].0
    };
    let full = (0..).find(|key| upsert(&mut thread, &mut session, *key) == Status::Full).unwrap();
    assert!(full > 8 * PAGE / 160, "{full}");
    thread.io.disk_mut().faults.capacity = None;
    // Without a restart, and within two of the pauses between attempts.
    let mut turns = 0..200;
    while upsert(&mut thread, &mut session, full) == Status::Full && turns.next().is_some() {
        thread.turn(&mut session);
        thread.ends(&mut session);
    }
    assert!(!turns.is_empty());
}

#[test]
fn a_folder_with_files_is_refused_with_the_remedy() {
    let mut thread = Thread::new(Disk::new(9));
    thread.storage().file("log-00000000").unwrap();
    let error = Store::open(options(), &mut thread.storage()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the storage has the file `log-00000000`, which a store without durability would overwrite: \
         choose an empty folder, or durability by checkpoints"
    );
}

#[test]
fn a_failed_write_ends_all_further_writes() {
    let faults = Faults { failing_call: Some(3), ..Faults::default() };
    let mut thread = Thread::new(Disk::new(8).with_faults(faults));
    let (_store, mut session) = open(&mut thread, options());
    let mut ends = (0..3000_u64).map(|key| {
        let key = key.to_le_bytes();
        all(&mut thread, &mut session, &[Op::Upsert { key: &key, value: &[3; 100] }])[0].0
    });
    assert!(ends.any(|status| status == Status::StorageFailed));
    let mut value = Vec::new();
    let newest = session.read(&100_u64.to_le_bytes(), &mut value);
    assert!(newest != Outcome::Done(Status::StorageFailed), "{newest:?}");
}

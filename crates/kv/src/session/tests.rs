use std::collections::HashMap;
use std::sync::Barrier;
use std::thread;

use measure::Random;

use crate::hash::COLLIDING;
use crate::storage::Nowhere;
use crate::{
    Completions, FixedCode, FixedOp, MOST_OF_A_KEY, MOST_OF_A_VALUE, Op, OpenError, Options,
    Outcome, Replies, Session, Status, Store,
};

const OK: Outcome = Outcome::Done(Status::Ok);

fn options() -> Options {
    Options { buckets: 4096, memory: 8 << 20, page: 1 << 20, sessions: 8, ..Options::default() }
}

fn store(options: Options) -> Store {
    Store::open(options, &mut Nowhere).unwrap()
}

fn session(store: &Store) -> Session {
    store.session(1).unwrap()
}

fn value(session: &mut Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    match session.read(key, &mut value) {
        OK => Some(value),
        outcome => {
            assert_eq!(outcome, Outcome::Done(Status::NotFound));
            None
        }
    }
}

/// Waits for an operation that others were in the way of.
fn ended(session: &mut Session, outcome: Outcome) -> Status {
    let mut completions = Completions::new(1 << 20);
    match outcome {
        Outcome::Done(status) => status,
        Outcome::Pending(serial) => loop {
            session.poll(&mut Nowhere, &mut completions);
            let end = completions.iter().find(|(ended, ..)| *ended == serial);
            if let Some((_, status, _)) = end {
                return status;
            }
        },
    }
}

#[test]
fn a_value_is_read_replaced_and_deleted() {
    let mut session = session(&store(options()));
    assert_eq!(value(&mut session, b"key"), None);
    for written in [&b"first"[..], b"12345678", b"", &[7; 5000], b"last"] {
        assert_eq!(session.upsert(b"key", written), OK);
        assert_eq!(value(&mut session, b"key").unwrap(), written);
    }
    assert_eq!(session.delete(b"key"), OK);
    assert_eq!(value(&mut session, b"key"), None);
    assert_eq!(session.delete(b"key"), Outcome::Done(Status::NotFound));
    assert_eq!(session.upsert(b"key", b"again"), OK);
    assert_eq!(value(&mut session, b"key").unwrap(), b"again");
    assert_eq!(session.next_serial(), 16);
}

#[test]
fn an_addition_creates_wraps_and_returns_the_sum() {
    let mut session = session(&store(options()));
    let mut sum = 0;
    assert_eq!(session.add(b"n", 5, &mut sum), OK);
    assert_eq!(sum, 5);
    assert_eq!(session.add(b"n", i64::MAX, &mut sum), OK);
    assert_eq!(sum, 5_i64.wrapping_add(i64::MAX));
    assert_eq!(session.upsert(b"text", b"seven b"), OK);
    assert_eq!(session.add(b"text", 1, &mut sum), Outcome::Done(Status::WrongType));
    assert_eq!(value(&mut session, b"text").unwrap(), b"seven b");
}

#[test]
fn parts_of_a_value_are_read_and_written() {
    let mut session = session(&store(options()));
    let mut part = Vec::new();
    assert_eq!(session.write_at(b"key", 0, b"x"), Outcome::Done(Status::NotFound));
    assert_eq!(session.upsert(b"key", b"0123456789"), OK);
    assert_eq!(session.write_at(b"key", 8, b"ab"), OK);
    assert_eq!(session.read_at(b"key", 7, 3, &mut part), OK);
    assert_eq!(part, b"7ab");
    assert_eq!(session.write_at(b"key", 9, b"ab"), Outcome::Done(Status::WrongType));
    assert_eq!(session.read_at(b"key", u32::MAX, 1, &mut part), Outcome::Done(Status::WrongType));
    assert_eq!(part, b"7ab");
}

#[test]
fn keys_and_values_beyond_their_bounds_are_refused() {
    let mut session = session(&store(Options { page: 4 << 20, ..options() }));
    let (key, value) = (vec![1; MOST_OF_A_KEY], vec![2; MOST_OF_A_VALUE]);
    assert_eq!(session.upsert(&key, &value), OK);
    assert_eq!(self::value(&mut session, &key).unwrap(), value);
    let refused = Outcome::Done(Status::WrongType);
    assert_eq!(session.upsert(b"", b""), refused);
    assert_eq!(session.upsert(&vec![1; MOST_OF_A_KEY + 1], b""), refused);
    assert_eq!(session.upsert(b"key", &vec![2; MOST_OF_A_VALUE + 1]), refused);
}

#[test]
fn a_full_log_answers_full_and_still_updates_in_place() {
    let mut session = session(&store(Options { memory: 32 << 10, page: 16 << 10, ..options() }));
    let mut stored = 0_u64;
    while session.upsert(&stored.to_le_bytes(), &[0; 8]) == OK {
        stored += 1;
    }
    assert_eq!(session.upsert(&stored.to_le_bytes(), &[0; 8]), Outcome::Done(Status::Full));
    assert_eq!(stored, 8 * 127);
    assert_eq!(session.upsert(&0_u64.to_le_bytes(), &[1; 8]), OK);
    assert_eq!(value(&mut session, &0_u64.to_le_bytes()).unwrap(), [1; 8]);
}

#[test]
fn operations_of_a_batch_happen_in_their_order() {
    let mut session = session(&store(options()));
    let mut replies = Replies::new(1 << 20);
    let ops = [
        Op::Add { key: b"n", delta: 1 },
        Op::Upsert { key: b"n", value: b"longer than eight" },
        Op::Add { key: b"n", delta: 1 },
        Op::Delete { key: b"n" },
        Op::Read { key: b"n" },
        Op::Add { key: b"n", delta: 7 },
        Op::Read { key: b"n" },
    ];
    assert_eq!(session.batch(&ops, &mut replies), 7);
    use Status::{NotFound, Ok, WrongType};
    assert_eq!(replies.statuses(), [Ok, Ok, WrongType, Ok, NotFound, Ok, Ok]);
    assert_eq!(replies.value(0), 1_i64.to_le_bytes());
    assert_eq!(replies.value(2), b"");
    assert_eq!(replies.value(6), 7_i64.to_le_bytes());
}

#[test]
fn a_fixed_batch_fills_the_column_of_values() {
    let mut session = session(&store(options()));
    let mut replies = Replies::new(1 << 20);
    let op = |code, key, argument| FixedOp { code, key, argument };
    let ops = [
        op(FixedCode::Read, 1, 0),
        op(FixedCode::Upsert, 1, 10),
        op(FixedCode::Add, 1, 5),
        op(FixedCode::Read, 1, 0),
        op(FixedCode::Delete, 1, 0),
        op(FixedCode::Add, 1, 3),
        op(FixedCode::Upsert, 1, 4),
        op(FixedCode::Read, 1, 0),
    ];
    assert_eq!(session.batch_fixed(&ops, &mut replies), 8);
    let column: Vec<u64> =
        replies.bytes().as_chunks().0.iter().map(|value| u64::from_le_bytes(*value)).collect();
    assert_eq!(column, [15, 15, 3, 4]);
    assert_eq!(replies.statuses()[0], Status::NotFound);
    assert_eq!(session.upsert(&2_u64.to_le_bytes(), b"nine byte"), OK);
    assert_eq!(session.batch_fixed(&[op(FixedCode::Read, 2, 0)], &mut replies), 1);
    assert_eq!((replies.statuses(), replies.bytes()), (&[Status::WrongType][..], &b""[..]));
}

#[test]
fn a_batch_ends_at_the_limit_of_its_replies() {
    let mut session = session(&store(options()));
    assert_eq!(session.upsert(b"key", &[1; 1000]), OK);
    let ops = [Op::Read { key: b"key" }; 100];
    let mut replies = Replies::new(40_000);
    assert_eq!(session.batch(&ops, &mut replies), 64);
    assert_eq!(session.batch(&ops[64..], &mut replies), 36);
    assert_eq!(session.next_serial(), 101);
}

#[test]
fn a_session_is_open_once() {
    let store = store(Options { sessions: 2, ..options() });
    let first = store.session(1).unwrap();
    assert_eq!(store.session(1).unwrap_err(), Status::Busy);
    let _second = store.session(2).unwrap();
    assert_eq!(store.session(3).unwrap_err(), Status::Busy);
    drop(first);
    store.session(1).unwrap();
}

#[test]
fn a_size_that_is_not_valid_is_refused_with_the_valid_ones() {
    let error = |options| match Store::open(options, &mut Nowhere) {
        Err(error @ OpenError::Size { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        error(Options { page: 5000, ..options() }),
        "`page` of a store is not valid: 5000; choose a power of two from 16 KiB to 1 GiB"
    );
    assert_eq!(
        error(Options { memory: 1 << 20, ..options() }),
        "`memory` of a store is not valid: 1 MiB; choose 2 MiB or more, below 128 TiB"
    );
    assert_eq!(
        error(Options { mutable_fraction: f64::NAN, ..options() }),
        "`mutable_fraction` of a store is not valid: NaN; choose a number above 0 and at most 0.95"
    );
}

/// The operations of the model; fewer where they are slow.
fn rounds() -> u64 {
    match (cfg!(miri), cfg!(debug_assertions)) {
        (true, _) => 500,
        (_, true) => 20_000,
        _ => 1_000_000,
    }
}

/// Executes an operation on the model as the store should.
fn model(map: &mut HashMap<Vec<u8>, Vec<u8>>, op: &Op<'_>) -> (Status, Vec<u8>) {
    let found = map.get_mut(op.key());
    match (*op, found) {
        (Op::Upsert { key, value }, _) => {
            map.insert(key.to_vec(), value.to_vec());
            (Status::Ok, vec![])
        }
        (Op::Add { key, delta }, None) => {
            map.insert(key.to_vec(), delta.to_le_bytes().to_vec());
            (Status::Ok, delta.to_le_bytes().to_vec())
        }
        (Op::Scan { .. }, _) => unreachable!("scans have tests of their own"),
        (_, None) => (Status::NotFound, vec![]),
        (Op::Add { delta, .. }, Some(value)) => match <[u8; 8]>::try_from(&value[..]) {
            Ok(old) => {
                let sum = i64::from_le_bytes(old).wrapping_add(delta).to_le_bytes().to_vec();
                value.clone_from(&sum);
                (Status::Ok, sum)
            }
            Err(_) => (Status::WrongType, vec![]),
        },
        (Op::Read { .. }, Some(value)) => (Status::Ok, value.clone()),
        (Op::Delete { key }, Some(_)) => {
            map.remove(key);
            (Status::Ok, vec![])
        }
        (Op::ReadAt { offset, length, .. }, Some(value)) => {
            let part = value.get(offset as usize..(offset + length) as usize);
            part.map_or((Status::WrongType, vec![]), |part| (Status::Ok, part.to_vec()))
        }
        (Op::WriteAt { offset, bytes, .. }, Some(value)) => {
            match value.get_mut(offset as usize..offset as usize + bytes.len()) {
                Some(part) => {
                    part.copy_from_slice(bytes);
                    (Status::Ok, vec![])
                }
                None => (Status::WrongType, vec![]),
            }
        }
    }
}

/// Returns one of few keys, of many lengths, and a value for it.
fn key_and_value(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let key = random.below(500);
    let length = 1 + (key % 37) as usize;
    let key: Vec<u8> = key.to_le_bytes().into_iter().cycle().take(length.max(2)).collect();
    let length = if random.below(3) == 0 { random.below(40) } else { 8 };
    (key, (0..length).map(|_| random.below(256) as u8).collect())
}

fn compare_with_the_model(seed: u64, options: Options) {
    let store = store(options);
    let mut session = session(&store);
    let (mut random, mut map) = (Random::new(seed), HashMap::new());
    let mut replies = Replies::new(1 << 20);
    for _ in 0..rounds() / 50 {
        let inputs: Vec<_> =
            (0..50).map(|_| (key_and_value(&mut random), random.below(8))).collect();
        let offsets: Vec<_> = inputs.iter().map(|_| random.below(12) as u32).collect();
        let ops: Vec<Op<'_>> = inputs
            .iter()
            .zip(&offsets)
            .map(|(((key, value), kind), offset)| match kind {
                0 | 1 => Op::Read { key },
                2 => Op::Upsert { key, value },
                3 | 4 => Op::Add { key, delta: i64::from(*offset) - 3 },
                5 => Op::Delete { key },
                6 => Op::ReadAt { key, offset: *offset, length: 3 },
                _ => Op::WriteAt { key, offset: *offset, bytes: &value[..value.len().min(4)] },
            })
            .collect();
        assert_eq!(session.batch(&ops, &mut replies), ops.len());
        for (index, op) in ops.iter().enumerate() {
            let expected = model(&mut map, op);
            let answer = (replies.statuses()[index], replies.value(index).to_vec());
            assert_eq!(answer, expected, "{op:?}, seed {seed}");
        }
    }
    for (key, expected) in map {
        assert_eq!(value(&mut session, &key).unwrap(), expected);
    }
}

fn roomy() -> Options {
    Options { memory: 256 << 20, ..options() }
}

#[test]
fn a_store_answers_as_a_map_does() {
    compare_with_the_model(1, roomy());
}

#[test]
fn keys_whose_hashes_collide_are_told_apart() {
    compare_with_the_model(2, Options { seed: COLLIDING, ..roomy() });
}

#[test]
fn additions_of_many_threads_give_every_sum_once() {
    const THREADS: u64 = 4;
    let each = rounds() / 20;
    let store = store(options());
    let start = Barrier::new(THREADS as usize);
    let sums: Vec<Vec<u64>> = thread::scope(|scope| {
        let (store, start) = (&store, &start);
        let threads: Vec<_> = (0..THREADS)
            .map(|id| {
                scope.spawn(move || {
                    let mut session = store.session(id).unwrap();
                    let mut replies = Replies::new(1 << 20);
                    let op = FixedOp { code: FixedCode::Add, key: 7, argument: 1 };
                    start.wait();
                    let mut sums = Vec::new();
                    for _ in 0..each / 10 {
                        assert_eq!(session.batch_fixed(&[op; 10], &mut replies), 10);
                        let values = replies.bytes().as_chunks().0.iter();
                        sums.extend(values.map(|value| u64::from_le_bytes(*value)));
                    }
                    sums
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all = sums.concat();
    all.sort_unstable();
    assert_eq!(all, (1..=each / 10 * 10 * THREADS).collect::<Vec<_>>());
}

#[test]
fn threads_that_create_and_delete_the_same_keys_agree_in_the_end() {
    const THREADS: u64 = 4;
    let store = store(Options { memory: 128 << 20, ..options() });
    // Of a key, each thread adds its own bit once; then all bits must be there.
    let keys = rounds() / 50;
    thread::scope(|scope| {
        for id in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                let mut session = store.session(id).unwrap();
                let mut sum = 0;
                for key in 0..keys {
                    let added = session.add(&key.to_le_bytes(), 1 << id, &mut sum);
                    assert_eq!(ended(&mut session, added), Status::Ok);
                    let passing = format!("passing {}", key % 3);
                    let upserted = session.upsert(passing.as_bytes(), &[id as u8; 8]);
                    assert_eq!(ended(&mut session, upserted), Status::Ok);
                    let deleted = session.delete(passing.as_bytes());
                    ended(&mut session, deleted);
                }
            });
        }
    });
    let mut session = store.session(9).unwrap();
    for key in 0..keys {
        assert_eq!(value(&mut session, &key.to_le_bytes()).unwrap(), 15_u64.to_le_bytes());
    }
}

#[test]
fn a_wide_value_is_never_read_torn() {
    let store = store(options());
    let key = b"wide";
    session(&store).upsert(key, &[0; 100]);
    let rounds = rounds() / 20;
    thread::scope(|scope| {
        for id in 1..3_u64 {
            let store = &store;
            scope.spawn(move || {
                let mut session = store.session(id).unwrap();
                for round in 0..rounds {
                    let length = 60 + (round % 40) as usize;
                    let upserted = session.upsert(key, &vec![(id * 1000 + round) as u8; length]);
                    assert_eq!(ended(&mut session, upserted), Status::Ok);
                }
            });
        }
        let mut session = store.session(5).unwrap();
        let mut value = Vec::new();
        for _ in 0..rounds {
            value.clear();
            if session.read(key, &mut value) == OK {
                assert!(value.iter().all(|byte| *byte == value[0]), "{value:?}");
            }
        }
    });
}

#[test]
fn an_operation_allocates_nothing() {
    let mut session = session(&store(options()));
    let mut replies = Replies::new(1 << 20);
    let ops = [Op::Add { key: b"key", delta: 1 }; 100];
    let fixed = [FixedOp { code: FixedCode::Add, key: 1, argument: 1 }; 100];
    let mut all = |session: &mut Session| {
        assert_eq!(session.batch(&ops, &mut replies), 100);
        assert_eq!(session.batch_fixed(&fixed, &mut replies), 100);
        session.upsert(b"other", b"value");
        session.delete(b"other");
    };
    all(&mut session);
    let info = allocation_counter::measure(|| (0..10).for_each(|_| all(&mut session)));
    assert_eq!(info.count_total, 0);
}

#[test]
fn new_keys_wait_until_a_small_index_has_grown() {
    let store = store(Options { memory: 64 << 20, ..options() });
    let mut session = session(&store);
    let (mut replies, mut completions) = (Replies::new(1 << 20), Completions::new(1 << 20));
    let (keys, mut waited) = (300_000, 0);
    for first in (0..keys).step_by(1000) {
        let keys = first..first + 1000;
        let ops = keys.map(|key| FixedOp { code: FixedCode::Upsert, key, argument: key });
        let ops: Vec<FixedOp> = ops.collect();
        assert_eq!(session.batch_fixed(&ops, &mut replies), ops.len());
        let statuses = replies.statuses().iter();
        assert!(statuses.clone().all(|status| [Status::Ok, Status::Pending].contains(status)));
        waited += statuses.filter(|status| **status == Status::Pending).count();
        while session.pending() > 0 {
            session.poll(&mut Nowhere, &mut completions);
            assert!(completions.iter().all(|(_, status, _)| status == Status::Ok));
        }
    }
    assert!(waited > 0 && store.buckets() > 4096, "{waited} of {} buckets", store.buckets());
    for key in 0..keys {
        let key = key.to_le_bytes();
        assert_eq!(value(&mut session, &key).unwrap(), key);
    }
}

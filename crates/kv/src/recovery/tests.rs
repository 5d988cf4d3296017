use std::collections::BTreeMap;

use measure::{Nanos, Random};
use net::Io;
use net::simulation::{Disk, Faults};

use crate::fixture::{PAGE, Thread};
use crate::recovery::Recovered;
use crate::storage::{Nowhere, Storage};
use crate::{
    Durability, Durable, FixedCode, FixedOp, NoCheckpoint, Op, OpenError, Options, Outcome,
    Replies, Session, Status, Store,
};

mod compaction;
mod threads;

impl Thread {
    fn open(&mut self) -> Result<Store, OpenError> {
        Store::open(options(), &mut self.folder.on(&mut self.io))
    }

    /// Lets time pass until the next call of an operation on a file has ended.
    fn wait(&mut self) {
        let calls = self.io.disk().calls();
        for _ in 0..100 {
            let until = self.io.now() + Nanos::from_micros(10);
            self.io.wait(until);
            if self.io.disk().calls() > calls {
                return;
            }
        }
    }

    /// Waits for the end of a pending operation.
    fn end_of(&mut self, session: &mut Session, serial: u64) -> Status {
        for _ in 0..100_000 {
            let ends = self.poll(session);
            if let Some((_, status, _)) = ends.into_iter().find(|(end, ..)| *end == serial) {
                return status;
            }
            self.wait();
        }
        panic!("operation {serial} never ends");
    }

    fn finish(&mut self, sessions: &mut [Session]) {
        for _ in 0..100_000 {
            sessions.iter_mut().for_each(|session| drop(self.poll(session)));
            if sessions.iter().all(|session| session.pending() == 0) {
                return;
            }
            self.wait();
        }
        panic!("operations never end");
    }

    fn checkpoint(&mut self, store: &Store, sessions: &mut [Session]) -> u64 {
        let version = store.checkpoint().unwrap();
        for _ in 0..100_000 {
            sessions.iter_mut().for_each(|session| drop(self.poll(session)));
            if !store.is_checkpointing() {
                return version;
            }
            self.wait();
        }
        panic!("the checkpoint never ends: {:?}", store.failure());
    }

    fn after_crash(&self, seed: u64) -> Thread {
        Thread::new(self.io.disk().after_crash(seed))
    }

    /// Changes a byte of a file.
    fn flip(&mut self, name: &str, at: u64) {
        let mut storage = self.folder.on(&mut self.io);
        let file = storage.file(name).unwrap();
        let read = net::Operation::Read { at, buffer: vec![0] };
        let (_, mut bytes) = super::wait_for(file, read, &mut storage).unwrap();
        bytes[0] ^= 1;
        super::wait_for(file, net::Operation::Write { at, bytes }, &mut storage).unwrap();
    }

    fn rename(&mut self, from: &str, to: &str) {
        let mut storage = self.folder.on(&mut self.io);
        storage.rename(from, to, 0);
        super::completed(&mut storage).result.unwrap();
    }

    fn names(&mut self) -> Vec<String> {
        let listed = self.folder.on(&mut self.io).list().unwrap();
        listed.into_iter().map(|file| file.name).collect()
    }
}

fn options() -> Options {
    Options {
        id: 77,
        buckets: 4096,
        memory: 6 * PAGE,
        page: PAGE,
        segment: 2 * PAGE,
        mutable_fraction: 0.5,
        durability: Durability::Checkpoint,
        sessions: 8,
        ..Options::default()
    }
}

fn key(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

/// Reads a value, wherever it is.
fn value(thread: &mut Thread, session: &mut Session, key: &[u8]) -> Option<Vec<u8>> {
    let mut value = Vec::new();
    let status = match session.read(key, &mut value) {
        Outcome::Done(status) => status,
        Outcome::Pending(serial) => loop {
            let ends = thread.poll(session);
            if let Some((_, status, found)) = ends.into_iter().find(|(end, ..)| *end == serial) {
                value = found;
                break status;
            }
            thread.wait();
        },
    };
    (status == Status::Ok).then_some(value)
}

/// A store with three values of which two are in its only checkpoint.
fn with_checkpoint() -> (Thread, Store, Vec<Session>) {
    let mut thread = Thread::new(Disk::new(1));
    let store = thread.open().unwrap();
    let mut sessions = vec![store.session(5).unwrap()];
    assert_eq!(store.recovered(), None);
    sessions[0].upsert(b"first", b"one");
    sessions[0].upsert(b"second", &[2; 6000]);
    store.keep_note(9);
    assert_eq!(thread.checkpoint(&store, &mut sessions), 1);
    store.keep_note(10);
    sessions[0].upsert(b"first", b"not durable");
    sessions[0].upsert(b"third", b"not durable");
    (thread, store, sessions)
}

#[test]
fn a_store_is_opened_with_what_its_checkpoint_has() {
    let (thread, store, sessions) = with_checkpoint();
    assert_eq!((store.durable(), store.failure()), (1, None));
    assert_eq!(sessions[0].durable(), Durable { through: 2, except: vec![] });
    for seed in 0..50 {
        let mut thread = thread.after_crash(seed);
        let store = thread.open().unwrap();
        let recovered = Recovered { version: 1, records: 2, sessions: 1, ..Recovered::default() };
        assert_eq!(store.recovered(), Some(&recovered));
        assert_eq!(store.note(), 9);
        assert_eq!(store.resume(6).unwrap_err(), Status::NotFound);
        let mut session = store.resume(5).unwrap();
        assert_eq!(session.next_serial(), 2);
        assert_eq!(value(&mut thread, &mut session, b"first").unwrap(), b"one");
        assert_eq!(value(&mut thread, &mut session, b"second").unwrap(), [2; 6000]);
        assert_eq!(value(&mut thread, &mut session, b"third"), None);
        assert_eq!(session.upsert(b"first", b"again"), Outcome::Done(Status::Ok));
        assert_eq!(value(&mut thread, &mut session, b"first").unwrap(), b"again");
    }
}

#[test]
fn a_crash_before_the_first_checkpoint_leaves_an_empty_store() {
    let mut thread = Thread::new(Disk::new(2));
    let store = thread.open().unwrap();
    let mut sessions = [store.session(5).unwrap()];
    for number in 0..2000 {
        sessions[0].upsert(&key(number), &[1; 100]);
        thread.finish(&mut sessions);
    }
    let mut thread = thread.after_crash(9);
    let store = thread.open().unwrap();
    assert_eq!(store.recovered(), None);
    assert!(0 < store.dropped() && thread.names().is_empty());
    let mut session = store.session(5).unwrap();
    assert_eq!(value(&mut thread, &mut session, &key(1)), None);
}

#[test]
fn a_newest_checkpoint_that_is_not_whole_is_passed_over_and_named() {
    let (mut thread, store, mut sessions) = with_checkpoint();
    assert_eq!(thread.checkpoint(&store, &mut sessions), 2);
    drop((sessions, store));
    thread.flip("checkpoint-00000002", 40);
    let store = thread.open().unwrap();
    let recovered = store.recovered().unwrap();
    assert_eq!(
        (recovered.version, &recovered.not_whole[..]),
        (1, &["checkpoint-00000002".into()][..])
    );
    let mut sessions = [store.session(5).unwrap()];
    assert_eq!(value(&mut thread, &mut sessions[0], b"first").unwrap(), b"one");
    // The next checkpoint has a version of its own, and takes the place of both.
    assert_eq!(thread.checkpoint(&store, &mut sessions), 3);
    let names = ["checkpoint-00000001", "checkpoint-00000003", "log-00000000"];
    assert_eq!(thread.names(), names);
}

#[test]
fn a_store_without_a_whole_checkpoint_is_not_opened() {
    let (mut thread, ..) = with_checkpoint();
    thread.flip("checkpoint-00000001", 40);
    let error = thread.open().unwrap_err();
    assert_eq!(
        error.to_string(),
        "no checkpoint in the storage is whole: checkpoint-00000001; restore the files from a copy, \
         or choose an empty folder"
    );
}

#[test]
fn a_bad_block_of_the_log_is_named_and_not_passed_over() {
    let (mut thread, ..) = with_checkpoint();
    thread.flip("log-00000000", 4096 + 100);
    let error = thread.open().unwrap_err();
    assert!(matches!(&error, OpenError::Corrupt { at: 4096, .. }), "{error}");
}

#[test]
fn a_store_that_is_not_opened_has_lost_nothing() {
    let (mut thread, store, mut sessions) = with_checkpoint();
    assert_eq!(thread.checkpoint(&store, &mut sessions), 2);
    drop((sessions, store));
    let length = |thread: &mut Thread| thread.storage().list().unwrap().last().unwrap().length;
    let before = length(&mut thread);
    let damaged = [("checkpoint-00000002", 40), ("log-00000000", 4096 + 100)];
    damaged.iter().for_each(|(file, at)| thread.flip(file, *at));
    assert!(matches!(thread.open(), Err(OpenError::Corrupt { .. })));
    assert_eq!(length(&mut thread), before);
    // From a copy.
    damaged.iter().for_each(|(file, at)| thread.flip(file, *at));
    let store = thread.open().unwrap();
    let mut session = store.session(5).unwrap();
    assert_eq!(value(&mut thread, &mut session, b"third").unwrap(), b"not durable");
}

#[test]
fn files_of_others_are_neither_checkpoints_nor_logs() {
    let (mut thread, store, mut sessions) = with_checkpoint();
    let others =
        ["checkpoint-2", "checkpoint-ffffffffffffffff", "checkpoint-8000000000000000", "log-1"];
    for file in others {
        thread.storage().file(file).unwrap();
    }
    drop((sessions, store));
    let store = thread.open().unwrap();
    assert_eq!(store.recovered().unwrap().version, 1);
    sessions = vec![store.session(5).unwrap()];
    assert_eq!([2, 3].map(|_| thread.checkpoint(&store, &mut sessions)), [2, 3]);
    let names = thread.names();
    assert!(others.iter().all(|file| names.contains(&(*file).to_owned())), "{names:?}");
    drop((sessions, store));
    assert_eq!(thread.open().unwrap().recovered().unwrap().version, 3);
}

#[test]
fn a_log_whose_checkpoints_are_missing_is_not_removed() {
    let (mut thread, ..) = with_checkpoint();
    thread.rename("checkpoint-00000001", "checkpoint-1");
    let error = thread.open().unwrap_err().to_string();
    assert!(error.contains("no checkpoint in the storage is whole: checkpoint-1;"), "{error}");
    thread.rename("checkpoint-1", "kept");
    thread.rename("log-00000000", "log-00000003");
    let error = thread.open().unwrap_err().to_string();
    assert!(error.contains("begins with `log-00000003`"), "{error}");
    assert_eq!(thread.names(), ["kept", "log-00000003"]);
}

#[test]
fn a_manifest_that_is_longer_than_its_head_tells_is_not_read() {
    let (mut thread, ..) = with_checkpoint();
    let mut storage = thread.folder.on(&mut thread.io);
    let file = storage.file("checkpoint-00000001").unwrap();
    let longer = net::Operation::Truncate { length: 1 << 20 };
    super::wait_for(file, longer, &mut storage).unwrap();
    assert!(matches!(thread.open(), Err(OpenError::NoneIsWhole(_))));
}

#[test]
fn a_store_is_not_opened_with_other_sizes() {
    let (mut thread, ..) = with_checkpoint();
    let mut open = |options| Store::open(options, &mut thread.folder.on(&mut thread.io));
    let error = open(Options { segment: PAGE, ..options() }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the store was made with `segment` 32768, which is not 16384: choose 32768"
    );
    let none = Options { durability: Durability::None, ..options() };
    assert!(matches!(open(none), Err(OpenError::NotEmpty(_))));
    assert!(open(Options { buckets: 8192, memory: 9 * PAGE, ..options() }).is_ok());
}

#[test]
fn one_checkpoint_runs_at_a_time_and_only_of_a_durable_store() {
    let (_thread, store, _sessions) = with_checkpoint();
    assert_eq!(store.checkpoint(), Ok(2));
    assert_eq!(store.checkpoint(), Err(NoCheckpoint::Running(2)));
    let store = Store::open(Options::default(), &mut Nowhere).unwrap();
    assert_eq!(store.checkpoint(), Err(NoCheckpoint::NotDurable));
}

#[test]
fn a_failed_sync_fails_the_checkpoint_and_all_later_writes() {
    let mut thread = Thread::new(Disk::new(3));
    let store = thread.open().unwrap();
    let mut sessions = [store.session(5).unwrap()];
    sessions[0].upsert(b"key", b"value");
    // The first call writes the only block, and the second syncs it.
    thread.io.disk_mut().faults.failing_call = Some(thread.io.disk().calls() + 1);
    assert_eq!(thread.checkpoint(&store, &mut sessions), 1);
    assert_eq!((store.durable(), store.failure().unwrap().version), (0, 1));
    assert_eq!(store.checkpoint(), Err(NoCheckpoint::StorageFailed));
}

#[test]
fn a_manifest_without_space_fails_its_checkpoint_and_the_next_one_succeeds() {
    let (mut thread, store, mut sessions) = with_checkpoint();
    // A checkpoint of a log that has not grown only writes its manifest.
    thread.checkpoint(&store, &mut sessions);
    thread.io.disk_mut().faults.capacity = Some(0);
    assert_eq!(thread.checkpoint(&store, &mut sessions), 3);
    assert_eq!((store.durable(), store.failure().unwrap().version), (2, 3));
    thread.io.disk_mut().faults.capacity = None;
    assert_eq!(thread.checkpoint(&store, &mut sessions), 4);
    assert_eq!((store.durable(), store.failure()), (4, None));
    let names = ["checkpoint-00000002", "checkpoint-00000004", "log-00000000"];
    assert_eq!(thread.names(), names);
}

#[test]
fn operations_that_were_pending_at_the_cut_are_excepted() {
    let mut thread = Thread::new(Disk::new(4));
    let store = thread.open().unwrap();
    let mut sessions = vec![store.session(5).unwrap(), store.session(6).unwrap()];
    for number in 0..9000 {
        sessions[0].upsert(&key(number), &[0; 8]);
        thread.finish(&mut sessions);
    }
    let first = sessions[0].next_serial();
    let mut sum = 0;
    // Cold, cold, in memory.
    for number in [0, 1, 8999] {
        sessions[0].add(&key(number), 1, &mut sum);
    }
    assert_eq!(sessions[0].pending(), 2);
    let version = thread.checkpoint(&store, &mut sessions);
    let durable = Durable { through: first + 3, except: vec![first, first + 1] };
    assert_eq!(sessions[0].durable(), durable);
    thread.finish(&mut sessions);
    assert_eq!(value(&mut thread, &mut sessions[0], &key(1)).unwrap(), 1_i64.to_le_bytes());

    let mut thread = thread.after_crash(1);
    let store = thread.open().unwrap();
    let mut sessions = vec![store.resume(5).unwrap()];
    assert_eq!(sessions[0].durable(), durable);
    // Nothing was executed since: the client may not know yet what is lost.
    assert_eq!(thread.checkpoint(&store, &mut sessions), version + 1);
    assert_eq!(sessions[0].durable(), durable);
    for (number, expected) in [(0, 0), (1, 0), (8999, 1)] {
        let found = value(&mut thread, &mut sessions[0], &key(number)).unwrap();
        assert_eq!(found, i64::to_le_bytes(expected), "{number}");
    }
    thread.checkpoint(&store, &mut sessions);
    assert_eq!(sessions[0].durable(), Durable { through: first + 6, except: vec![] });
}

#[test]
fn a_session_that_sleeps_over_checkpoints_is_kept() {
    let (thread, ..) = with_checkpoint();
    let mut thread = thread.after_crash(1);
    let store = thread.open().unwrap();
    let mut sessions = vec![store.session(8).unwrap()];
    for _ in 0..3 {
        sessions[0].upsert(b"other", b"value");
        thread.checkpoint(&store, &mut sessions);
    }
    let mut thread = thread.after_crash(2);
    let store = thread.open().unwrap();
    assert_eq!(store.resume(5).unwrap().next_serial(), 2);
    assert_eq!(store.session(8).unwrap().next_serial(), 3);
}

/// A session, and the sum that each of its operations adds to a key.
struct Client {
    session: Session,
    adds: Vec<(u64, i64)>,
}

/// Many crashes of one history: each keeps some part of what was not synced, and the store that is
/// opened then has exactly the operations that it says. Between the steps of the history the disk
/// makes so many calls.
fn crashes(seed: u64, options: Options, faults: Faults, calls: u64) -> Store {
    const KEYS: u64 = 900;
    let mut thread = Thread::new(Disk::new(seed).with_faults(faults));
    let mut random = Random::new(seed);
    let store = Store::open(options.clone(), &mut thread.folder.on(&mut thread.io)).unwrap();
    let mut clients: Vec<_> =
        (1..4).map(|id| Client { session: store.session(id).unwrap(), adds: Vec::new() }).collect();
    let mut replies = Replies::new(1 << 20);
    let mut checked_at = 0;
    for _ in 0..if cfg!(debug_assertions) { 150 } else { 1000 } {
        for client in &mut clients {
            let count = random.below(60) as usize;
            let adds: Vec<_> =
                (0..count).map(|_| (random.below(KEYS), 1 + random.below(9) as i64)).collect();
            let names: Vec<_> = adds.iter().map(|(number, _)| key(*number)).collect();
            let executed = if random.below(2) == 0 {
                let ops: Vec<_> = adds
                    .iter()
                    .zip(&names)
                    .map(|((_, delta), key)| Op::Add { key, delta: *delta })
                    .collect();
                client.session.batch(&ops, &mut replies)
            } else {
                let fixed = |(key, delta): &(u64, i64)| {
                    let argument = delta.cast_unsigned();
                    FixedOp { code: FixedCode::Add, key: *key, argument }
                };
                let ops: Vec<_> = adds.iter().map(fixed).collect();
                client.session.batch_fixed(&ops, &mut replies)
            };
            client.adds.extend_from_slice(&adds[..executed]);
            let is_expected = |status| [Status::Ok, Status::Pending].contains(status);
            assert!(replies.statuses().iter().all(is_expected), "{:?}", replies.statuses());
            if random.below(3) > 0 {
                let ends = thread.poll(&mut client.session);
                assert!(ends.iter().all(|(_, status, _)| *status == Status::Ok));
            }
        }
        if random.below(8) == 0 {
            let _ = store.checkpoint();
        }
        if options.log_limit.is_some() && random.below(20) == 0 {
            store.compact();
        }
        if random.below(4) > 0 {
            for _ in 0..calls {
                thread.wait();
                if calls > 1 {
                    clients.iter_mut().for_each(|client| drop(thread.poll(&mut client.session)));
                }
            }
        }
        if thread.io.disk().calls() != checked_at {
            checked_at = thread.io.disk().calls();
            check(&thread, &store, &options, &clients, random.below(1 << 40), KEYS);
        }
    }
    assert!(store.durable() > 0, "{}", store.durable());
    let head = store.shared().log.borders().head.get();
    assert!(head >= PAGE, "{head}");
    store
}

/// Opens the store as a crash now leaves it.
fn check(
    thread: &Thread,
    store: &Store,
    options: &Options,
    clients: &[Client],
    seed: u64,
    keys: u64,
) {
    let least = store.durable();
    let mut thread = thread.after_crash(seed);
    let store = Store::open(options.clone(), &mut thread.folder.on(&mut thread.io)).unwrap();
    let version = store.recovered().map_or(0, |recovered| recovered.version);
    assert!(version >= least, "version {version} of {least}, seed {seed}");
    let mut expected = BTreeMap::<u64, i64>::new();
    for client in clients {
        let id = client.session.id();
        let Ok(session) = store.resume(id) else { continue };
        let Durable { through, except } = session.durable();
        assert_eq!(session.next_serial(), through);
        for (serial, (key, delta)) in client.adds[..through as usize].iter().enumerate() {
            if !except.contains(&(serial as u64)) {
                *expected.entry(*key).or_default() += delta;
            }
        }
    }
    let mut session = store.session(99).unwrap();
    for number in 0..keys {
        let found = value(&mut thread, &mut session, &key(number));
        let found = found.map(|value| i64::from_le_bytes(value.try_into().unwrap()));
        assert_eq!(found, expected.get(&number).copied(), "key {number}, seed {seed}");
    }
}

#[test]
fn after_every_crash_each_session_has_exactly_what_the_store_says() {
    for seed in 1..3 {
        crashes(seed, options(), Faults::default(), 1);
    }
}

#[test]
fn after_crashes_of_a_disk_that_does_a_part_each_session_has_exactly_that_too() {
    crashes(7, options(), Faults { partial: true, ..Faults::default() }, 1);
}

#[test]
fn a_batch_ends_early_while_a_cut_waits_for_another_session() {
    let mut thread = Thread::new(Disk::new(4));
    let store = thread.open().unwrap();
    let mut sessions = vec![store.session(5).unwrap(), store.session(6).unwrap()];
    for number in 0..9000 {
        sessions[0].upsert(&key(number), &[0; 8]);
        thread.finish(&mut sessions);
    }
    let mut sum = 0;
    assert!(matches!(sessions[0].add(&key(0), 1, &mut sum), Outcome::Pending(_)));
    let version = store.checkpoint().unwrap();
    let ops: Vec<_> = (0..5000)
        .map(|at| FixedOp { code: FixedCode::Add, key: 8000 + at % 1000, argument: 1 })
        .collect();
    let mut replies = Replies::new(1 << 20);
    assert!(store.is_at_cut());
    let executed = sessions[1].batch_fixed(&ops, &mut replies);
    assert_eq!((executed, sessions[1].pending()), (4096, 4096));
    assert!(replies.statuses().iter().all(|status| *status == Status::Pending));
    assert_eq!(sessions[1].batch_fixed(&ops, &mut replies), 0);
    // Reads go on.
    assert_eq!(value(&mut thread, &mut sessions[1], &key(8999)).unwrap(), [0; 8]);
    thread.finish(&mut sessions);
    assert!(!store.is_at_cut());
    assert_eq!(sessions[1].batch_fixed(&ops[executed..], &mut replies), 5000 - executed);
    while store.is_checkpointing() {
        thread.finish(&mut sessions);
        thread.wait();
    }
    assert_eq!(store.durable(), version);
    // The second session had begun nothing but what it executed behind the cut.
    assert_eq!(sessions[1].durable(), Durable::default());
    assert_eq!(value(&mut thread, &mut sessions[0], &key(8999)).unwrap(), 5_i64.to_le_bytes());
}

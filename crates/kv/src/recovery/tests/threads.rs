//! Checkpoints of threads that change the same keys at the same time, on the disk of the machine.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use measure::{Nanos, Random};
use net::{Epoll, Files, Io, Timer};

use crate::storage::Folder;
use crate::{
    Completions, Durability, Durable, FixedCode, FixedOp, Options, Outcome, Replies, Status, Store,
};

const KEYS: u64 = 200;
const THREADS: u64 = 3;
const CHECKPOINTS: u64 = 12;

fn options() -> Options {
    let page = 16 << 10;
    Options {
        id: 5,
        buckets: 4096,
        memory: 8 * page,
        page,
        segment: 4 * page,
        mutable_fraction: 0.5,
        durability: Durability::Checkpoint,
        sessions: 8,
        ..Options::default()
    }
}

struct Place {
    io: Epoll,
    folder: Folder,
}

fn place(path: &Path) -> Place {
    let mut io = Epoll::new(Timer::Sleep).unwrap();
    let folder = Folder::new(io.folder(path).unwrap());
    Place { io, folder }
}

/// Adds until the end, and returns all that was begun.
fn add(id: u64, store: &Store, path: &Path, is_over: &AtomicBool) -> Vec<(u64, u64)> {
    let Place { mut io, mut folder } = place(path);
    let mut random = Random::new(id);
    let mut session = store.session(id).unwrap();
    let (mut replies, mut completions) = (Replies::new(1 << 20), Completions::new(1 << 20));
    let mut adds = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let ops: Vec<_> = (0..200)
            .map(|_| {
                let (key, argument) = (random.below(KEYS), 1 + random.below(9));
                FixedOp { code: FixedCode::Add, key, argument }
            })
            .collect();
        if session.pending() < 1000 {
            let executed = session.batch_fixed(&ops, &mut replies);
            adds.extend(ops[..executed].iter().map(|op| (op.key, op.argument)));
            assert!(!replies.statuses().contains(&Status::Busy));
        }
        session.poll(&mut folder.on(&mut io), &mut completions);
        assert!(completions.iter().all(|(_, status, _)| status == Status::Ok));
        let until = io.now() + Nanos::from_micros(50);
        io.wait(until);
        if id == 1 && store.durable() < CHECKPOINTS {
            let _ = store.checkpoint();
        } else if id == 1 {
            is_over.store(true, Ordering::Relaxed);
        }
    }
    // What was written last is in no checkpoint. Writes in progress end with the thread.
    adds
}

#[test]
fn the_cut_of_busy_threads_has_exactly_what_each_has_noted() {
    let path = tempfile::tempdir().unwrap();
    let mut first = place(path.path());
    let store = Store::open(options(), &mut first.folder.on(&mut first.io)).unwrap();
    let (is_over, begun) = (AtomicBool::new(false), AtomicU64::new(0));
    let adds: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (1..=THREADS)
            .map(|id| {
                let (store, path, is_over, begun) = (&store, path.path(), &is_over, &begun);
                scope.spawn(move || {
                    let adds = add(id, store, path, is_over);
                    begun.fetch_add(adds.len() as u64, Ordering::Relaxed);
                    adds
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    drop(store);

    let store = Store::open(options(), &mut first.folder.on(&mut first.io)).unwrap();
    assert!(store.recovered().unwrap().version >= CHECKPOINTS);
    let mut expected = vec![0; KEYS as usize];
    let mut durable = 0;
    for (id, adds) in (1..).zip(&adds) {
        let Durable { through, except } = store.resume(id).unwrap().durable();
        durable += through;
        for (serial, (key, delta)) in (0..through).zip(adds) {
            if except.binary_search(&serial).is_err() {
                expected[*key as usize] += delta;
            }
        }
    }
    assert!(0 < durable && durable <= begun.into_inner());
    let mut session = store.session(99).unwrap();
    let mut completions = Completions::new(1 << 20);
    for (key, expected) in (0..).zip(expected) {
        let mut value = Vec::new();
        let mut outcome = session.read(&u64::to_le_bytes(key), &mut value);
        while let Outcome::Pending(_) = outcome {
            session.poll(&mut first.folder.on(&mut first.io), &mut completions);
            if let Some((_, status, found)) = completions.iter().next() {
                value = found.to_vec();
                outcome = Outcome::Done(status);
            }
            let until = first.io.now() + Nanos::from_millis(10);
            first.io.wait(until);
        }
        assert_eq!(outcome, Outcome::Done(Status::Ok), "{key}");
        assert_eq!(value, u64::to_le_bytes(expected), "{key}");
    }
}

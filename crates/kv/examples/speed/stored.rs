//! A store with a disk: reads of what its memory does not have, additions beside a checkpoint, and its
//! recovery.

use std::fs;
use std::path::Path;

use kv::storage::Folder;
use kv::{Completions, Durability, FixedCode, FixedOp, Options, Replies, Session, Status, Store};
use measure::{Instant, Nanos, Random};
use net::{Epoll, FileId, Files, Io, Open, Operation, Timer};

use super::memory::{self, BATCH};

/// The reads of the disk that are in progress, as a session has them.
const DEPTH: usize = 128;

/// The operations that a session has pending while it reads from the disk.
const PENDING: usize = 512;

const BLOCK: u64 = 4096;

/// The bytes of a read in the order of the file.
const LONG: usize = 1 << 20;

const SECOND: Nanos = Nanos::from_secs(1);

/// The length of additions before a checkpoint, and the least length beside it.
const BESIDE: Nanos = Nanos::from_secs(3);

/// The length of each measurement of the disk and of reads.
const LENGTH: Nanos = Nanos::from_secs(5);

const SOON: Nanos = Nanos::from_micros(100);

/// The thread of a store: its source of events, and its files.
struct Thread {
    io: Epoll,
    folder: Folder,
    completions: Completions,
}

impl Thread {
    fn new(path: &Path) -> Thread {
        let mut io = Epoll::new(Timer::Sleep).expect("descriptors");
        let id = io.folder(path).expect("the folder is there");
        let completions = Completions::new(1 << 20);
        Thread { io, folder: Folder::new(id), completions }
    }

    fn open(&mut self, options: &Options) -> Store {
        let opened = Store::open(options.clone(), &mut self.folder.on(&mut self.io));
        opened.unwrap_or_else(|error| panic!("{error}"))
    }

    /// Returns how many operations have completed.
    fn poll(&mut self, session: &mut Session) -> usize {
        session.poll(&mut self.folder.on(&mut self.io), &mut self.completions);
        let each = self.completions.iter();
        each.inspect(|(_, status, _)| assert_eq!(*status, Status::Ok, "of a pending one")).count()
    }

    fn wait(&mut self) {
        let until = self.io.now() + SOON;
        self.io.wait(until);
        while self.io.next_event().is_some() {}
    }
}

/// Reads of uniform keys of a log that is four times as large as the memory.
pub(super) fn cold(path: &Path, keys: u64, repetitions: u64) {
    empty(path);
    let all = memory::options(keys, 1);
    let memory = (all.memory / 4).next_multiple_of(all.page);
    let mut thread = Thread::new(path);
    let store = thread.open(&Options { memory, ..all });
    let mut session = store.session(0).expect("no other session");
    fill(&mut thread, &mut session, keys);
    let mut random = Random::new(1);
    for _ in 0..repetitions {
        let disk = read_blocks(path, &mut random);
        println!("cold {disk:.0} {:.0}", read_keys(&mut thread, &mut session, keys, &mut random));
    }
}

fn empty(path: &Path) {
    // It may not be there.
    let _ = fs::remove_dir_all(path);
    fs::create_dir_all(path).expect("a folder for the store");
}

fn fill(thread: &mut Thread, session: &mut Session, keys: u64) {
    memory::fill(session, keys, &mut |session| {
        thread.poll(session);
        while 0 < session.pending() {
            thread.wait();
            thread.poll(session);
        }
    });
}

/// The random blocks per second of the log's file.
fn read_blocks(path: &Path, random: &mut Random) -> f64 {
    let (mut io, file, bytes) = open_log(path);
    let blocks = bytes / BLOCK;
    let mut spare: Vec<_> = (0..DEPTH).map(|_| vec![0; BLOCK as usize]).collect();
    let (begin, mut done) = (io.now(), 0);
    while io.now() < begin + LENGTH {
        while let Some(buffer) = spare.pop() {
            let at = random.below(blocks) * BLOCK;
            io.begin(file, Operation::Read { at, buffer }, 0);
        }
        let until = io.now() + SOON;
        io.wait(until);
        while let Some(completion) = io.next_completion() {
            assert_eq!(completion.result.expect("the disk reads"), BLOCK as usize);
            spare.push(completion.buffer);
            done += 1;
        }
    }
    memory::rate(done, io.now() - begin)
}

/// Returns the first file of the log, and its length.
fn open_log(path: &Path) -> (Epoll, FileId, u64) {
    let name = "log-00000000";
    let mut io = Epoll::new(Timer::Sleep).expect("descriptors");
    let folder = io.folder(path).expect("it is there");
    let file = io.open(folder, name, Open::Existing).expect("the log has a file");
    let listed = io.list(folder).expect("it can be read");
    let length = listed.iter().find(|file| file.name == name).map(|file| file.length);
    (io, file, length.expect("it was opened"))
}

/// The reads per second that went to the disk.
fn read_keys(thread: &mut Thread, session: &mut Session, keys: u64, random: &mut Random) -> f64 {
    let mut replies = Replies::new(1 << 20);
    let (begin, mut done) = (thread.io.now(), 0);
    while thread.io.now() < begin + LENGTH {
        let reads = (0..PENDING.saturating_sub(session.pending())).map(|_| FixedOp {
            code: FixedCode::Read,
            key: random.below(keys),
            argument: 0,
        });
        let reads: Vec<_> = reads.collect();
        assert_eq!(session.batch_fixed(&reads, &mut replies), reads.len());
        let completed = thread.poll(session);
        done += completed as u64;
        if completed == 0 {
            thread.wait();
        }
    }
    let rate = memory::rate(done, thread.io.now() - begin);
    while 0 < session.pending() {
        thread.wait();
        thread.poll(session);
    }
    rate
}

/// Additions of uniform keys, all in memory, while a checkpoint is made: each of them copies its record once.
/// Two are made before, so that all memory has been in use, as in a server that runs for longer.
pub(super) fn checkpoint(path: &Path, keys: u64, repetitions: u64) {
    empty(path);
    let drawn = memory::draw(keys, None, 0);
    let mut thread = Thread::new(path);
    let all = memory::options(keys, 3);
    let memory = all.memory.next_power_of_two();
    let options = Options { durability: Durability::Checkpoint, memory, ..all };
    let store = thread.open(&options);
    let mut session = store.session(1).expect("no other session");
    fill(&mut thread, &mut session, keys);
    let mut batches = drawn.chunks_exact(BATCH).cycle();
    let mut run = |until: &mut dyn FnMut(Instant) -> bool| {
        additions(&mut thread, &mut session, &mut batches, until)
    };
    for number in 0..repetitions + 2 {
        let begin = net::clock::now();
        let before = run(&mut |now| begin + BESIDE <= now);
        let before = memory::rate(((before.len() - 1) * BATCH) as u64, net::clock::now() - begin);
        store.checkpoint().expect("none is running");
        let begin = net::clock::now();
        let beside = run(&mut |now| begin + BESIDE <= now && !store.is_checkpointing());
        assert!(store.failure().is_none(), "{:?}", store.failure());
        let (least, stall) = worst(&beside);
        if 2 <= number {
            println!("checkpoint {before:.0} {least:.0} {:.1}", stall.as_secs_f64() * 1e3);
        }
    }
}

/// The times at which batches had been executed, and the first one at which none had.
fn additions<'a>(
    thread: &mut Thread,
    session: &mut Session,
    batches: &mut impl Iterator<Item = &'a [u64]>,
    until: &mut dyn FnMut(Instant) -> bool,
) -> Vec<Instant> {
    let mut replies = Replies::new(1 << 20);
    let mut ops = Vec::with_capacity(BATCH);
    let mut times = vec![thread.io.now()];
    while !until(*times.last().expect("the first")) {
        let add = |key: &u64| FixedOp { code: FixedCode::Add, key: *key, argument: 1 };
        ops.clear();
        ops.extend(batches.next().expect("they repeat").iter().map(add));
        let mut left = &ops[..];
        while !left.is_empty() {
            left = &left[session.batch_fixed(left, &mut replies)..];
            thread.poll(session);
            // Otherwise they are not executed when the batch is counted.
            while 0 < session.pending() {
                thread.poll(session);
            }
        }
        times.push(net::clock::now());
        let now = *times.last().expect("it was pushed");
        thread.io.wait(now);
    }
    times
}

/// The additions in the worst whole second, and the longest time between two batches.
fn worst(times: &[Instant]) -> (f64, Nanos) {
    let begin = times[0];
    let mut seconds = vec![0_u64; 1 + ((times[times.len() - 1] - begin).0 / SECOND.0) as usize];
    times[1..].iter().for_each(|at| seconds[((*at - begin).0 / SECOND.0) as usize] += BATCH as u64);
    seconds.pop();
    let least = seconds.into_iter().min().expect("more than a second");
    let longest = times.windows(2).map(|pair| pair[1] - pair[0]).max();
    (least as f64, longest.expect("several batches"))
}

/// The scan of a log when a store is opened.
pub(super) fn recovery(path: &Path, keys: u64, repetitions: u64) {
    empty(path);
    let options = Options { durability: Durability::Checkpoint, ..memory::options(keys, 1) };
    let mut thread = Thread::new(path);
    let store = thread.open(&options);
    let mut session = store.session(1).expect("no other session");
    fill(&mut thread, &mut session, keys);
    store.checkpoint().expect("none is running");
    while store.is_checkpointing() {
        thread.poll(&mut session);
        thread.wait();
    }
    assert!(store.failure().is_none(), "{:?}", store.failure());
    let bytes = store.log_bytes();
    drop((session, store, thread));
    for _ in 0..repetitions {
        let disk = read_in_order(path);
        let mut thread = Thread::new(path);
        let begin = thread.io.now();
        let store = thread.open(&options);
        let time = net::clock::now() - begin;
        let recovered = store.recovered().expect("the checkpoint").records;
        assert_eq!(recovered, keys);
        let [records, scanned] = [recovered, bytes].map(|count| memory::rate(count, time));
        println!("recovery {records:.0} {scanned:.0} {disk:.0}");
    }
}

/// The bytes per second of the first file, from its begin on.
fn read_in_order(path: &Path) -> f64 {
    let (mut io, file, bytes) = open_log(path);
    let mut spare: Vec<_> = (0..8).map(|_| vec![0; LONG]).collect();
    let most = bytes / LONG as u64 * LONG as u64;
    let (begin, mut next, mut done) = (io.now(), 0, 0);
    while done < most {
        while next < most
            && let Some(buffer) = spare.pop()
        {
            io.begin(file, Operation::Read { at: next, buffer }, 0);
            next += LONG as u64;
        }
        let until = io.now() + SOON;
        io.wait(until);
        while let Some(completion) = io.next_completion() {
            done += completion.result.expect("the disk reads") as u64;
            spare.push(completion.buffer);
        }
    }
    memory::rate(done, io.now() - begin)
}

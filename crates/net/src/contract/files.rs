//! The contract of files.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use measure::Random;
use tempfile::TempDir;

use super::*;
use crate::files::{
    Completion, FileId, Files, FolderId, Listed, MOST_IN_PROGRESS, Open, Operation,
};
use crate::simulation::{Disk, Faults};

macro_rules! contract {
    ($($test:ident)*) => {
        mod over_epoll {
            $(#[test] fn $test() { super::$test(|timer| super::on_disk(super::epoll(timer))) })*
        }
        mod over_uring {
            $(#[test] fn $test() {
                super::$test(|timer| super::on_disk(super::uring(stringify!($test), timer)))
            })*
        }
        mod over_simulation {
            $(#[test] fn $test() { super::$test(|_| super::in_memory(super::Faults::default())) })*
        }
        mod over_a_disk_that_does_a_part {
            $(#[test] fn $test() {
                super::$test(|_| super::in_memory(super::Faults {
                    partial: true,
                    ..super::Faults::default()
                }))
            })*
        }
    };
}

contract! {
    what_is_written_is_read_back
    every_operation_in_progress_gets_its_own_bytes
    a_read_ends_with_the_file
    many_small_writes_are_synced_in_groups
    a_gap_reads_as_zeros
    a_truncated_file_ends_there
    the_files_of_a_folder_are_listed
    a_removed_file_is_gone_and_its_name_is_free
    a_renamed_file_replaces_the_one_of_that_name
    an_open_expects_what_it_says
    a_name_leads_to_a_file_of_the_folder_alone
    a_file_has_as_many_ids_as_it_was_opened
    the_operations_of_a_closed_file_complete
    a_buffer_comes_back_as_it_was_given
    a_completion_ends_the_waiting
    one_wait_covers_files_and_connections
    there_is_room_again_once_completions_are_taken
    dropping_it_ends_what_is_in_progress
}

/// An implementation with an open folder, which is removed at the end.
struct Place<I> {
    io: I,
    folder: FolderId,
    path: Option<TempDir>,
}

fn on_disk<I: Files>(io: Option<I>) -> Option<Place<I>> {
    let mut io = io?;
    let path = tempfile::tempdir().unwrap();
    let folder = io.folder(path.path()).unwrap();
    Some(Place { io, folder, path: Some(path) })
}

fn in_memory(faults: Faults) -> Option<Place<Simulation<Nobody>>> {
    let mut io = simulation().with_disk(Disk::new(7).with_faults(faults));
    let folder = io.folder(Path::new("anywhere")).unwrap();
    Some(Place { io, folder, path: None })
}

impl<I: Files> Place<I> {
    fn new_file(&mut self, name: &str) -> FileId {
        self.io.open(self.folder, name, Open::New).unwrap()
    }

    /// Does an operation, and returns its result and its buffer.
    fn run(&mut self, file: FileId, operation: Operation) -> (std::io::Result<usize>, Vec<u8>) {
        self.io.begin(file, operation, 99);
        let Completion { token, result, buffer } = completion(&mut self.io);
        assert_eq!(token, 99);
        (result, buffer)
    }

    fn write(&mut self, file: FileId, at: u64, bytes: &[u8]) {
        let (result, _) = self.run(file, Operation::Write { at, bytes: bytes.to_vec() });
        assert_eq!(result.unwrap(), bytes.len());
    }

    fn read(&mut self, file: FileId, at: u64, most: usize) -> Vec<u8> {
        let (count, mut buffer) = self.run(file, Operation::Read { at, buffer: vec![1; most] });
        assert_eq!(buffer.len(), most);
        buffer.truncate(count.unwrap());
        buffer
    }

    fn list(&mut self) -> Vec<(String, u64)> {
        let listed = self.io.list(self.folder).unwrap();
        listed.into_iter().map(|Listed { name, length }| (name, length)).collect()
    }
}

/// The next completion. Nothing else happens until then.
fn completion(io: &mut impl Files) -> Completion {
    let end = io.now() + LONG;
    loop {
        if let Some(completion) = io.next_completion() {
            return completion;
        }
        assert!(io.now() < end, "no operation completes");
        io.wait(end);
        assert_eq!(io.next_event(), None);
    }
}

/// Bytes that differ wherever they begin.
fn pattern(length: usize) -> Vec<u8> {
    (0..length as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

fn what_is_written_is_read_back<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Hybrid) else { return };
    let file = place.new_file("a");
    let much = pattern(3_000_000);
    place.write(file, 0, &much);
    assert!(place.read(file, 0, much.len()) == much);
    assert_eq!(place.read(file, 4_097, 4_096), much[4_097..8_193]);
    // What is there can be replaced.
    place.write(file, 5_000, b"hello");
    assert_eq!(
        place.read(file, 4_999, 7),
        [&much[4_999..5_000], b"hello", &much[5_005..5_006]].concat()
    );
    assert_eq!(place.list(), [("a".to_owned(), 3_000_000)]);
}

fn every_operation_in_progress_gets_its_own_bytes<I: Files>(
    open: impl Fn(Timer) -> Option<Place<I>>,
) {
    const BLOCK: usize = 4_096;
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    let all = pattern(1_000 * BLOCK);
    place.write(file, 0, &all);
    let mut random = Random::new(1);
    let mut positions = BTreeMap::new();
    let (mut begun, mut ended) = (0, 0);
    while ended < 3_000 {
        while begun < 3_000 && 0 < place.io.room() {
            let at = random.below((all.len() - BLOCK) as u64);
            positions.insert(begun, at);
            place.io.begin(file, Operation::Read { at, buffer: vec![0; BLOCK] }, begun);
            begun += 1;
        }
        let Completion { token, result, buffer } = completion(&mut place.io);
        let at = positions.remove(&token).expect("it completes once") as usize;
        assert!(result.unwrap() == BLOCK && buffer == all[at..at + BLOCK]);
        ended += 1;
    }
    assert!(place.io.next_completion().is_none());
}

fn a_read_ends_with_the_file<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    assert_eq!(place.read(file, 0, 10), b"");
    place.write(file, 0, b"0123456789");
    assert_eq!(place.read(file, 7, 10), b"789");
    assert_eq!(place.read(file, 10, 10), b"");
    assert_eq!(place.read(file, 1_000_000, 10), b"");
    assert_eq!(place.read(file, 3, 0), b"");
    place.write(file, 5, b"");
    assert_eq!(place.read(file, 0, 99), b"0123456789");
}

fn many_small_writes_are_synced_in_groups<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    const SYNC: u64 = 1_000_000;
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("log");
    let log = pattern(100 * 640);
    for (group, bytes) in log.chunks(640).enumerate() {
        let at = group as u64 * 640;
        for (index, part) in (0..).zip(bytes.chunks(64)) {
            let operation = Operation::Write { at: at + index * 64, bytes: part.to_vec() };
            place.io.begin(file, operation, index);
        }
        let mut tokens: Vec<u64> = (0..10)
            .map(|_| {
                let done = completion(&mut place.io);
                assert_eq!(done.result.unwrap(), 64);
                done.token
            })
            .collect();
        tokens.sort();
        assert!(tokens.into_iter().eq(0..10));
        place.io.begin(file, Operation::Sync, SYNC);
        let done = completion(&mut place.io);
        assert_eq!((done.token, done.result.unwrap(), done.buffer), (SYNC, 0, Vec::new()));
    }
    assert_eq!(place.read(file, 0, 100_000), log);
}

fn a_gap_reads_as_zeros<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    place.write(file, 5, b"x");
    assert_eq!(place.read(file, 0, 9), b"\0\0\0\0\0x");
}

fn a_truncated_file_ends_there<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    place.write(file, 0, b"0123456789");
    for (length, expected) in [(4, &b"0123"[..]), (6, b"0123\0\0"), (0, b"")] {
        let (result, _) = place.run(file, Operation::Truncate { length });
        assert_eq!(result.unwrap(), 0);
        assert_eq!(place.read(file, 0, 99), expected);
        assert_eq!(place.list(), [("a".to_owned(), length)]);
    }
    place.write(file, 0, b"again");
    assert_eq!(place.read(file, 0, 99), b"again");
}

fn the_files_of_a_folder_are_listed<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    assert_eq!(place.list(), []);
    for name in ["b", "a", "c.tmp", ".hidden"] {
        let file = place.new_file(name);
        place.write(file, 0, name.as_bytes());
        place.io.close_file(file);
    }
    let expected = [(".hidden", 7), ("a", 1), ("b", 1), ("c.tmp", 5)];
    let expected = expected.map(|(name, length)| (name.to_owned(), length));
    assert_eq!(place.list(), expected);
    assert_eq!(place.list(), expected, "it is listed from its beginning each time");
}

fn a_removed_file_is_gone_and_its_name_is_free<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let old = place.new_file("a");
    place.write(old, 0, b"old");
    let result = |place: &mut Place<I>, name| {
        place.io.remove(place.folder, name, 5);
        let done = completion(&mut place.io);
        assert_eq!((done.token, done.buffer.len()), (5, 0));
        done.result.map_err(|error| error.kind())
    };
    assert_eq!(result(&mut place, "a"), Ok(0));
    assert_eq!(place.list(), []);
    // It exists as long as it is open.
    assert_eq!(place.read(old, 0, 9), b"old");
    let new = place.new_file("a");
    place.write(new, 0, b"new file");
    place.io.close_file(old);
    assert_eq!(place.read(new, 0, 9), b"new file");
    assert_eq!(result(&mut place, "b"), Err(ErrorKind::NotFound));
    assert_eq!(result(&mut place, "../a"), Err(ErrorKind::InvalidInput));
    assert_eq!(place.list(), [("a".to_owned(), 8)]);
}

fn a_renamed_file_replaces_the_one_of_that_name<I: Files>(
    open: impl Fn(Timer) -> Option<Place<I>>,
) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    for (name, contents) in [("new", &b"new"[..]), ("old", b"old one")] {
        let file = place.new_file(name);
        place.write(file, 0, contents);
        place.io.close_file(file);
    }
    let result = |place: &mut Place<I>, from, to| {
        place.io.rename(place.folder, from, to, 5);
        let done = completion(&mut place.io);
        assert_eq!((done.token, done.buffer.len()), (5, 0));
        done.result.map_err(|error| error.kind())
    };
    assert_eq!(result(&mut place, "new", "old"), Ok(0));
    assert_eq!(place.list(), [("old".to_owned(), 3)]);
    assert_eq!(result(&mut place, "new", "old"), Err(ErrorKind::NotFound));
    assert_eq!(result(&mut place, "old", "../a"), Err(ErrorKind::InvalidInput));
    assert_eq!(place.list(), [("old".to_owned(), 3)]);
}

fn an_open_expects_what_it_says<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let mut open = |name, how| {
        let file = place.io.open(place.folder, name, how);
        file.map_err(|error| error.kind())
    };
    assert_eq!(open("a", Open::Existing), Err(ErrorKind::NotFound));
    let file = open("a", Open::New).unwrap();
    assert_eq!(open("a", Open::New), Err(ErrorKind::AlreadyExists));
    assert_ne!(open("a", Open::Existing).unwrap(), file);
}

fn a_name_leads_to_a_file_of_the_folder_alone<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    for name in ["", ".", "..", "a/b", "/a", "a/", "a\0b"] {
        for how in [Open::New, Open::Existing] {
            let error = place.io.open(place.folder, name, how).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name:?}");
        }
    }
    assert_eq!(place.list(), []);
}

fn a_file_has_as_many_ids_as_it_was_opened<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let first = place.new_file("a");
    let second = place.io.open(place.folder, "a", Open::Existing).unwrap();
    place.write(first, 0, b"hello");
    place.io.close_file(first);
    assert_eq!(place.read(second, 0, 9), b"hello");
    assert_eq!(place.run(second, Operation::Sync).0.unwrap(), 0);
    let other = place.new_file("b");
    assert_eq!(other, first, "an id is used again");
    assert_eq!(place.read(other, 0, 9), b"");
}

fn the_operations_of_a_closed_file_complete<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    place.io.begin(file, Operation::Write { at: 0, bytes: b"hello".to_vec() }, 1);
    place.io.close_file(file);
    // Its id and its number in the kernel are used again.
    let other = place.new_file("b");
    assert_eq!(other, file);
    assert_eq!(completion(&mut place.io).result.unwrap(), 5);
    assert_eq!(place.list(), [("a".to_owned(), 5), ("b".to_owned(), 0)]);
}

fn a_buffer_comes_back_as_it_was_given<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    let mut buffer = Vec::with_capacity(8_000);
    buffer.resize(5_000, 7);
    let (start, capacity) = (buffer.as_ptr(), buffer.capacity());
    for round in 0..10 {
        let operation = match round % 2 {
            0 => Operation::Write { at: 0, bytes: buffer },
            _ => Operation::Read { at: 0, buffer },
        };
        buffer = place.run(file, operation).1;
        assert_eq!((buffer.as_ptr(), buffer.capacity()), (start, capacity));
        assert_eq!(buffer, [7; 5_000]);
    }
}

fn a_completion_ends_the_waiting<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    for timer in [Timer::Sleep, Timer::Hybrid, Timer::Spin] {
        let Some(mut place) = open(timer) else { return };
        let file = place.new_file("a");
        for _ in 0..5 {
            place.io.begin(file, Operation::Write { at: 0, bytes: vec![1; 100] }, 1);
            place.io.begin(file, Operation::Sync, 2);
            let (first, second) = (completion(&mut place.io), completion(&mut place.io));
            assert_eq!(first.token + second.token, 3);
            // One that was not taken yet ends every wait.
            place.io.begin(file, Operation::Truncate { length: 0 }, 3);
            let end = place.io.now() + LONG;
            for _ in 0..1_000 {
                assert!(place.io.wait(end) < end);
            }
            assert_eq!(completion(&mut place.io).token, 3);
        }
    }
}

fn one_wait_covers_files_and_connections<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    const ROUNDS: u64 = 200;
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    let listener = place.io.listen(LOOPBACK.parse().unwrap()).unwrap();
    let client = place.io.connect(&listener.address.into());
    // A server that stores each request before it answers.
    let (mut stored, mut answered) = (0, 0);
    let end = place.io.now() + LONG * 3;
    while answered < ROUNDS {
        assert!(place.io.wait(end) < end, "{stored} stored, {answered} answered");
        let mut arrived = Vec::new();
        let mut server = None;
        while let Some(event) = place.io.next_event() {
            match event {
                Event::Connected(_) => place.io.send(client, b"?"),
                Event::Accepted(_) => {}
                Event::Received(id, _) if id == client => {
                    answered += 1;
                    place.io.send(client, b"?");
                }
                Event::Received(id, bytes) => {
                    server = Some(id);
                    arrived.extend_from_slice(bytes);
                }
                Event::Closed(..) => unreachable!("nothing closes"),
            }
        }
        if let Some(id) = server {
            let token = u64::from(id.0);
            place.io.begin(file, Operation::Write { at: stored, bytes: arrived }, token);
        }
        while let Some(done) = place.io.next_completion() {
            stored += done.result.unwrap() as u64;
            place.io.send(ConnectionId(done.token as u32), b"!");
        }
    }
    assert!(ROUNDS <= stored);
}

fn there_is_room_again_once_completions_are_taken<I: Files>(
    open: impl Fn(Timer) -> Option<Place<I>>,
) {
    let Some(mut place) = open(Timer::Sleep) else { return };
    let file = place.new_file("a");
    for _ in 0..3 {
        for left in (0..MOST_IN_PROGRESS).rev() {
            match left % 3 {
                0 => place.io.remove(place.folder, "nothing", left as u64),
                1 => place.io.remove(place.folder, "", left as u64),
                _ => place.io.begin(file, Operation::Sync, left as u64),
            }
            assert_eq!(place.io.room(), left);
        }
        let end = place.io.now() + LONG;
        place.io.wait(end);
        assert_eq!(place.io.room(), 0, "a completion counts until it is taken");
        let mut tokens: Vec<_> =
            (0..MOST_IN_PROGRESS).map(|_| completion(&mut place.io).token).collect();
        tokens.sort();
        assert!(tokens.into_iter().eq(0..MOST_IN_PROGRESS as u64));
        assert_eq!(place.io.room(), MOST_IN_PROGRESS);
    }
}

fn dropping_it_ends_what_is_in_progress<I: Files>(open: impl Fn(Timer) -> Option<Place<I>>) {
    for waits in [false, true] {
        let Some(mut place) = open(Timer::Sleep) else { return };
        let file = place.new_file("a");
        while 0 < place.io.room() {
            let at = place.io.room() as u64 * 10_000;
            let operation = match at % 3 {
                0 => Operation::Sync,
                1 => Operation::Write { at, bytes: vec![1; 10_000] },
                _ => Operation::Read { at: 0, buffer: vec![0; 10_000] },
            };
            place.io.begin(file, operation, at);
        }
        if waits {
            let now = place.io.now();
            place.io.wait(now);
        }
        let Place { io, path, .. } = place;
        drop(io);
        // Nothing is made in it any more.
        path.into_iter().for_each(|path| path.close().unwrap());
    }
}

#[test]
fn operations_by_threads_allocate_nothing() {
    allocate_nothing(on_disk(epoll(Timer::Sleep)));
}

#[test]
fn operations_by_the_ring_allocate_nothing() {
    allocate_nothing(on_disk(uring("operations_by_the_ring_allocate_nothing", Timer::Sleep)));
}

/// Counts the allocations of the thread that begins operations and takes completions.
fn allocate_nothing(place: Option<Place<impl Files>>) {
    let Some(mut place) = place else { return };
    let file = place.new_file("a");
    let mut buffers: Vec<Vec<u8>> = (0..200).map(|_| vec![0; 512]).collect();
    let mut rounds = |count| {
        for round in 0..count {
            while let Some(buffer) = buffers.pop() {
                let at = buffers.len() as u64 * 512;
                let operation = match round % 2 {
                    0 => Operation::Write { at, bytes: buffer },
                    _ => Operation::Read { at, buffer },
                };
                place.io.begin(file, operation, at);
            }
            place.io.begin(file, Operation::Sync, 0);
            for _ in 0..201 {
                let Completion { result, buffer, .. } = completion(&mut place.io);
                result.unwrap();
                // A sync has no buffer.
                if !buffer.is_empty() {
                    buffers.push(buffer);
                }
            }
        }
    };
    rounds(20);
    let counted = allocation_counter::measure(|| rounds(20));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

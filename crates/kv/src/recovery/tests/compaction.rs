//! Compaction: what is copied, when space returns, and crashes meanwhile.

use super::*;

fn small(durability: Durability, log_limit: Option<u64>) -> Options {
    Options { durability, log_limit, ..options() }
}

fn open(thread: &mut Thread, options: Options) -> (Store, Vec<Session>) {
    let store = Store::open(options, &mut thread.folder.on(&mut thread.io)).unwrap();
    let session = store.session(1).unwrap();
    (store, vec![session])
}

fn upsert(thread: &mut Thread, sessions: &mut [Session], number: u64, value: &[u8]) -> Status {
    match sessions[0].upsert(&key(number), value) {
        Outcome::Done(status) => status,
        Outcome::Pending(serial) => thread.end_of(&mut sessions[0], serial),
    }
}

fn compact(thread: &mut Thread, store: &Store, sessions: &mut [Session]) {
    store.compact();
    for _ in 0..100_000 {
        thread.poll(&mut sessions[0]);
        if !store.is_compacting() {
            return;
        }
        thread.wait();
    }
    panic!("the compaction never ends");
}

/// Fills a log with values of which most are replaced, and some deleted.
fn fill(thread: &mut Thread, sessions: &mut [Session]) -> BTreeMap<u64, Vec<u8>> {
    let mut expected = BTreeMap::new();
    for round in 0..6_u8 {
        for number in 0..400 {
            // Some keys have only an old value.
            if number % 5 == 0 && round > 0 {
                continue;
            }
            let value = vec![round; 100 + usize::from(round) * 40 + (number % 90) as usize];
            assert_eq!(upsert(thread, sessions, number, &value), Status::Ok);
            expected.insert(number, value);
            thread.poll(&mut sessions[0]);
        }
    }
    for number in (0..400).step_by(7) {
        sessions[0].delete(&key(number));
        expected.remove(&number);
    }
    for number in 400..1000 {
        assert_eq!(upsert(thread, sessions, number, &[7; 60]), Status::Ok);
        expected.insert(number, vec![7; 60]);
        thread.poll(&mut sessions[0]);
    }
    thread.finish(sessions);
    expected
}

fn expect(thread: &mut Thread, session: &mut Session, expected: &BTreeMap<u64, Vec<u8>>) {
    for number in 0..1000 {
        let found = value(thread, session, &key(number));
        assert_eq!(found.as_ref(), expected.get(&number), "{number}");
    }
}

fn segments(thread: &mut Thread) -> Vec<String> {
    thread.names().into_iter().filter(|name| name.starts_with("log-")).collect()
}

#[test]
fn a_compacted_log_has_all_values_and_less_segments() {
    let mut thread = Thread::new(Disk::new(1));
    let (store, mut sessions) = open(&mut thread, small(Durability::None, None));
    let expected = fill(&mut thread, &mut sessions);
    let (before, bytes) = (segments(&mut thread), store.log_bytes());
    assert!(before.len() > 4, "{before:?}");
    compact(&mut thread, &store, &mut sessions);
    assert_eq!(store.compactions(), 1);
    assert!(store.log_bytes() < bytes / 2, "{} of {bytes}", store.log_bytes());
    assert!(!segments(&mut thread).contains(&before[0]), "{:?}", segments(&mut thread));
    expect(&mut thread, &mut sessions[0], &expected);
    // Once more: now the copies are copied.
    let expected = fill(&mut thread, &mut sessions);
    compact(&mut thread, &store, &mut sessions);
    expect(&mut thread, &mut sessions[0], &expected);
}

#[test]
fn another_session_of_the_thread_goes_on_with_a_compaction() {
    let mut thread = Thread::new(Disk::new(1));
    let (store, mut sessions) = open(&mut thread, small(Durability::None, None));
    let expected = fill(&mut thread, &mut sessions);
    let mut other = store.session(2).unwrap();
    store.compact();
    thread.poll(&mut sessions[0]);
    assert!(store.is_compacting());
    for _ in 0..10_000 {
        thread.poll(&mut other);
        thread.wait();
    }
    assert_eq!((store.compactions(), store.is_compacting()), (1, false));
    // A thread that ends gives it up, and another one can begin.
    fill(&mut thread, &mut sessions);
    store.compact();
    thread.poll(&mut sessions[0]);
    thread.folder.on(&mut thread.io).kept_work().expect("a compaction");
    assert!(!store.is_compacting());
    compact(&mut thread, &store, &mut sessions);
    assert_eq!(store.compactions(), 2);
    expect(&mut thread, &mut sessions[0], &expected);
}

#[test]
fn a_durable_store_removes_segments_that_no_checkpoint_needs() {
    let mut thread = Thread::new(Disk::new(2));
    let (store, mut sessions) = open(&mut thread, small(Durability::Checkpoint, None));
    let expected = fill(&mut thread, &mut sessions);
    thread.checkpoint(&store, &mut sessions);
    let before = segments(&mut thread);
    compact(&mut thread, &store, &mut sessions);
    assert_eq!(segments(&mut thread)[0], before[0]);
    // A crash now needs the old segments.
    let mut crashed = thread.after_crash(3);
    let (_store, mut others) = open(&mut crashed, small(Durability::Checkpoint, None));
    expect(&mut crashed, &mut others[0], &expected);
    for _ in 0..2 {
        thread.checkpoint(&store, &mut sessions);
    }
    assert!(!segments(&mut thread).contains(&before[0]));
    let mut crashed = thread.after_crash(4);
    let (_store, mut others) = open(&mut crashed, small(Durability::Checkpoint, None));
    expect(&mut crashed, &mut others[0], &expected);
}

#[test]
fn a_log_at_its_limit_makes_room_by_itself_if_there_is_something_in_vain() {
    let mut thread = Thread::new(Disk::new(3));
    let limit = 20 * PAGE;
    let (store, mut sessions) = open(&mut thread, small(Durability::None, Some(limit)));
    for round in 0..20_u8 {
        // More than are updated in place.
        for number in 0..600 {
            let status = upsert(&mut thread, &mut sessions, number, &[round; 150]);
            assert_eq!(status, Status::Ok, "round {round}, {:?}", store.shared().log.borders());
            thread.poll(&mut sessions[0]);
        }
    }
    assert!(store.compactions() > 5, "{}", store.compactions());
    assert!(store.shared().log.tail() > 3 * limit);
    let end = limit + 2 * PAGE;
    assert!(store.log_bytes() <= end, "{}", store.log_bytes());
    assert_eq!(value(&mut thread, &mut sessions[0], &key(77)).unwrap(), [19; 150]);
}

#[test]
fn a_log_full_of_values_answers_full_until_some_are_in_vain() {
    let mut thread = Thread::new(Disk::new(4));
    let limit = Some(12 * PAGE);
    let (store, mut sessions) = open(&mut thread, small(Durability::None, limit));
    let mut write = |thread: &mut Thread, number| {
        let status = upsert(thread, &mut sessions, number, &[1; 100]);
        thread.poll(&mut sessions[0]);
        status
    };
    let full = (0..).find(|number| write(&mut thread, *number) == Status::Full).unwrap();
    assert!(full > 900, "{full}");
    // All of them are there, so a compaction frees nothing, and ends.
    assert_eq!(write(&mut thread, full), Status::Full);
    for number in [0, full / 2, full - 1] {
        assert_eq!(value(&mut thread, &mut sessions[0], &key(number)).unwrap(), [1; 100]);
    }
    assert!(!store.is_compacting());
}

/// Deletes a key, and returns the end of that.
fn delete(thread: &mut Thread, sessions: &mut [Session], number: u64) -> Status {
    match sessions[0].delete(&key(number)) {
        Outcome::Done(status) => status,
        Outcome::Pending(serial) => thread.end_of(&mut sessions[0], serial),
    }
}

/// Writes new keys until one has no room, and returns their number.
fn fill_up(thread: &mut Thread, sessions: &mut [Session], first: u64, value: &[u8]) -> u64 {
    let mut write = |number: &u64| {
        let status = upsert(thread, sessions, first + number, value);
        thread.poll(&mut sessions[0]);
        assert!([Status::Ok, Status::Full].contains(&status), "{status:?}");
        status == Status::Full
    };
    (0..).find(|number| write(number)).unwrap()
}

/// Fills a store, deletes every second key, and fills it again.
fn fill_delete_and_fill(durability: Durability, bytes: usize) {
    let mut thread = Thread::new(Disk::new(6));
    let limit = 40 * PAGE;
    let (store, mut sessions) = open(&mut thread, small(durability, Some(limit)));
    let value_of = |number: u64| vec![number as u8; bytes];
    let first = fill_up(&mut thread, &mut sessions, 0, &vec![1; bytes]);
    assert!(store.log_bytes() > limit / 5 * 4, "{}", store.log_bytes());
    for number in (0..first).step_by(2) {
        assert_eq!(delete(&mut thread, &mut sessions, number), Status::Ok, "{number} of {first}");
        thread.poll(&mut sessions[0]);
        assert!(store.log_bytes() <= limit + 2 * PAGE, "{}", store.log_bytes());
    }
    // A value that is in memory is changed where it is.
    let updated = first - 1;
    assert_eq!(upsert(&mut thread, &mut sessions, updated, &value_of(updated)), Status::Ok);
    let again = fill_up(&mut thread, &mut sessions, first, &vec![2; bytes]);
    let deleted = first / 2;
    assert!(again > deleted / 4 * 3, "{again} new keys in the room of {deleted}");
    assert!(store.compactions() > 0);
    for number in 0..first + again {
        let expected = match number {
            _ if number >= first => Some(vec![2; bytes]),
            _ if number.is_multiple_of(2) => None,
            _ if number == updated => Some(value_of(updated)),
            _ => Some(vec![1; bytes]),
        };
        assert_eq!(value(&mut thread, &mut sessions[0], &key(number)), expected, "{number}");
    }
}

#[test]
fn a_log_full_of_values_has_room_again_once_some_are_deleted() {
    for bytes in [8, 100, 1000] {
        fill_delete_and_fill(Durability::None, bytes);
        fill_delete_and_fill(Durability::Checkpoint, bytes);
    }
}

#[test]
fn a_limit_that_leaves_nothing_to_compact_is_refused() {
    let mut thread = Thread::new(Disk::new(1));
    let options = small(Durability::None, Some(7 * PAGE));
    let error = Store::open(options, &mut thread.folder.on(&mut thread.io)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`log_limit` of a store is not valid: 112 KiB; choose 120 KiB or more, a quarter more than \
         the memory"
    );
}

#[test]
fn after_crashes_of_a_store_that_is_compacted_each_session_has_exactly_what_it_says() {
    let small = small(Durability::Checkpoint, Some(9 * PAGE));
    let options = Options { memory: 4 * PAGE, segment: PAGE, ..small };
    let store = crashes(11, options, Faults::default(), 30);
    let borders = store.shared().log.borders();
    assert!(borders.begin.get() > 2 * PAGE, "{borders:?} {}", store.durable());
}

//! Checkpoints of a server, and servers that are started again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use kv::Durability;
use measure::Nanos;
use net::clock;
use wire::kv::Verb;

use super::*;
use crate::operator::ask;

fn serve_from(folder: &Path, shards: usize) -> Server {
    let sizes = kv::Options {
        id: 3,
        buckets: 1 << 15,
        memory: 256 << 10,
        page: 64 << 10,
        segment: 64 << 10,
        durability: Durability::Checkpoint,
        ..kv::Options::default()
    };
    serve_sized(folder, sizes, shards)
}

/// Waits until a checkpoint is durable.
fn wait_for(server: &Server, version: u64) {
    let end = clock::now() + Nanos::from_secs(20);
    // What is not needed any more is removed, too.
    while server.store().durable() < version || server.store().is_checkpointing() {
        assert!(clock::now() < end, "{:?}", server.store().failure());
        rest();
    }
}

/// Leaves the CPU to the server.
fn rest() {
    clock::sleep_until(clock::now() + Nanos::from_millis(2));
}

/// Ends clients that go on until this is set, also if the test fails.
struct Over(AtomicBool);

struct End<'a>(&'a Over);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

/// Copies the files of a server that runs, as a kill would leave them: those of a durable checkpoint
/// do not change.
fn copy(from: &Path) -> tempfile::TempDir {
    let to = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        // What is removed meanwhile is not needed.
        let _ = fs::copy(entry.path(), to.path().join(entry.file_name()));
    }
    to
}

/// Adds 1 to keys, and waits for all results: by serial.
fn add(client: &mut Client, keys: &[u64]) -> BTreeMap<u64, u64> {
    let ops: Vec<_> = keys.iter().map(|key| (Opcode::Add, *key, Some(1))).collect();
    let first = client.next;
    (first..).zip(client.sums(&ops)).collect()
}

fn resume(server: &Server, session: u64) -> Client {
    Client::greet(server, &Hello { session: Some(session), ..HELLO })
}

/// Returns what a session is told when it is resumed: executed, through, except.
fn welcome(server: &Server, session: u64) -> (u64, u64, Vec<u64>) {
    let mut client = Client::connect(server);
    client.send(&greeting(&Hello { session: Some(session), ..HELLO }));
    let mut bytes = [0; 65_536];
    let count = client.socket.read(&mut bytes).unwrap();
    let mut bytes = &bytes[..count];
    match client.decoder.next(&mut bytes).unwrap().unwrap().body {
        Body::Welcome(welcome) => {
            (welcome.executed, welcome.through, welcome.except.serials().collect())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_server_that_ended_goes_on_with_its_values_and_its_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 2);
    let mut client = Client::greet(&server, &HELLO);
    assert_eq!(add(&mut client, &[7; 30])[&30], 30);
    let session = client.session;
    assert!(server.end());

    let server = serve_from(folder.path(), 1);
    assert_eq!(server.store().recovered().unwrap().version, 1);
    assert_eq!(welcome(&server, session), (30, 30, vec![]));
    let mut client = resume(&server, session);
    assert_eq!((client.session, client.next), (session, 31));
    assert_eq!(add(&mut client, &[7])[&31], 31);
    // What was executed before the end has no replies any more.
    client.next = 1;
    client.begin(&[ADD_1; 30]);
    assert_eq!(client.receive(), Told::Error(Code::ReplyGone, 16));
}

#[test]
fn a_server_that_is_started_again_remembers_the_list_of_servers_of_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = |position| Hello { position, ..HELLO };
    let server = serve_from(folder.path(), 1);
    let mut client = Client::greet(&server, &at(Some((0, 2))));
    add(&mut client, &[7]);
    assert!(server.end());

    let server = serve_from(folder.path(), 1);
    let mut other = Client::connect(&server);
    other.send(&greeting(&at(Some((1, 2)))));
    assert_eq!(other.receive(), Told::Error(Code::TopologyMismatch, 0));
    Client::greet(&server, &at(Some((0, 2))));
    assert!(server.end());

    // Without data a list is only a wish.
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 1);
    Client::greet(&server, &at(Some((0, 2))));
    assert!(server.end());
    let server = serve_from(folder.path(), 1);
    assert_eq!((server.store().note(), server.store().recovered().unwrap().records), (0, 0));
    Client::greet(&server, &at(Some((1, 2))));
}

#[test]
fn an_operator_begins_a_checkpoint_and_the_sessions_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 2);
    let mut client = Client::greet(&server, &HELLO);
    add(&mut client, &[7; 5]);
    let answer = ask(server.address(), Verb::Checkpoint, None).unwrap();
    assert_eq!(answer, "{\"schema\":\"benchwright.kv-checkpoint/1\",\"version\":1}");
    assert_eq!(client.receive(), Told::Durable(5, vec![]));
    let stats = ask(server.address(), Verb::Stats, None).unwrap();
    assert!(stats.contains("\"checkpoint\":{\"durable\":1,"), "{stats}");
    let other = serve(1);
    let refused = ask(other.address(), Verb::Checkpoint, None).unwrap_err();
    assert!(refused.to_string().starts_with("the server refuses"), "{refused}");
}

#[test]
fn a_session_of_an_operator_is_forgotten_when_it_ends() {
    let server = serve(1);
    for _ in 0..5 {
        ask(server.address(), Verb::Stats, None).unwrap();
    }
    let mut client = Client::greet(&server, &HELLO);
    client.fixed(&[ADD_1]);
    assert!(server.shared.sessions.len() <= 2, "{}", server.shared.sessions.len());
}

#[test]
fn clients_of_a_killed_server_lose_and_repeat_no_addition() {
    const CLIENTS: u64 = 4;
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 2);
    let over = Over(AtomicBool::new(false));
    // Each client keeps what it has sent, of which the first operation has the serial 1.
    let (copied, sent) = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (server, over) = (&server, &over);
                scope.spawn(move || {
                    let mut client = Client::greet(server, &HELLO);
                    let mut sent = Vec::new();
                    while !over.0.load(Ordering::Relaxed) {
                        // More keys than the memory has.
                        let first = sent.len() as u64 * 7919 + number;
                        let keys: Vec<_> = (0..300).map(|at| (first + at * 31) % 60_000).collect();
                        sent.extend_from_slice(&keys);
                        add(&mut client, &keys);
                        // The disk need not be fast: each checkpoint has to write what was added.
                        rest();
                    }
                    (client.session, sent)
                })
            })
            .collect();
        let end = End(&over);
        for version in 1..=8 {
            clock::sleep_until(clock::now() + Nanos::from_millis(40));
            server.checkpoint();
            wait_for(&server, version);
        }
        let copied = copy(folder.path());
        drop(end);
        let sent: Vec<_> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (copied, sent)
    });
    drop(server);

    let server = serve_from(copied.path(), 2);
    assert!(server.store().recovered().unwrap().version >= 8);
    let mut expected = BTreeMap::<u64, u64>::new();
    for (session, sent) in &sent {
        sent.iter().for_each(|key| *expected.entry(*key).or_default() += 1);
        let (executed, through, except) = welcome(&server, *session);
        assert_eq!(executed, through);
        assert!(0 < executed && executed <= sent.len() as u64, "{executed}");
        let mut client = resume(&server, *session);
        let lost = except.iter().map(|serial| sent[*serial as usize - 1]);
        let rest: Vec<_> = sent[executed as usize..].iter().copied().chain(lost).collect();
        rest.chunks(300).for_each(|keys| drop(add(&mut client, keys)));
    }
    let mut client = Client::greet(&server, &HELLO);
    for keys in expected.keys().copied().collect::<Vec<_>>().chunks(300) {
        let first = client.next;
        for (key, sum) in keys.iter().zip(add(&mut client, keys)) {
            assert!(first <= sum.0);
            assert_eq!(sum.1, expected[key] + 1, "key {key}");
        }
    }
}

#[test]
fn an_operator_has_the_log_compacted() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 2);
    let mut client = Client::greet(&server, &HELLO);
    let keys: Vec<u64> = (0..300).collect();
    // Each checkpoint makes all records read-only, so that all are copied.
    for version in 1..=30 {
        add(&mut client, &keys);
        server.checkpoint();
        wait_for(&server, version);
    }
    let before = server.store().log_bytes();
    ask(server.address(), Verb::Compact, None).unwrap();
    let end = clock::now() + Nanos::from_secs(20);
    while server.store().is_compacting() {
        assert!(clock::now() < end);
        std::thread::yield_now();
    }
    let after = server.store().log_bytes();
    assert!(after < before, "{after} of {before}");
    assert_eq!(add(&mut client, &keys).into_values().collect::<Vec<_>>(), [31; 300]);
    let stats = ask(server.address(), Verb::Stats, None).unwrap();
    assert!(stats.contains("\"compactions\":1,"), "{stats}");
}

//! A store that is larger than its memory: results that follow.

use std::path::Path;

use super::*;

const RECORDS: u64 = 2_000;

/// A server whose memory has an eighth of the records.
fn serve_from(folder: &Path, shards: usize) -> Server {
    let sizes = kv::Options {
        buckets: 4096,
        memory: 1 << 20,
        page: 64 << 10,
        segment: 1 << 20,
        ..kv::Options::default()
    };
    serve_sized(folder, sizes, shards)
}

fn value(key: u64) -> Vec<u8> {
    key.to_le_bytes().repeat(512)
}

/// The results of operations from a serial on, as they come.
struct Results {
    first: u64,
    by_serial: Vec<Option<(Status, Vec<u8>)>>,
    pending: usize,
    followed: usize,
}

impl Results {
    fn of(first: u64, count: usize) -> Results {
        Results { first, by_serial: vec![None; count], pending: 0, followed: 0 }
    }

    fn set(&mut self, serial: u64, status: Status, value: Vec<u8>) {
        if status == Status::Pending {
            self.pending += 1;
            return;
        }
        let place = &mut self.by_serial[(serial - self.first) as usize];
        assert_eq!(place.replace((status, value)), None, "each operation has one result");
    }

    fn receive(&mut self, client: &mut Client) {
        while self.by_serial.iter().any(Option::is_none) {
            match client.receive() {
                Told::Reply(serial, statuses, values) => {
                    let results = (serial..).zip(statuses).zip(values);
                    results.for_each(|((serial, status), value)| self.set(serial, status, value));
                }
                Told::Completions(completions) => {
                    self.followed += completions.len();
                    completions.into_iter().for_each(|(serial, s, v)| self.set(serial, s, v));
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// Executes operations on all records in batches of 50, one at a time.
fn on_all<'a>(
    client: &mut Client,
    keys: &'a [[u8; 8]],
    item: impl Fn(&'a [u8]) -> Item<'a>,
) -> Results {
    let mut results = Results::of(client.next, keys.len());
    for keys in keys.chunks(50) {
        let items: Vec<Item<'_>> = keys.iter().map(|key| item(key)).collect();
        client.send(&sized(client.next, &items));
        client.next += items.len() as u64;
        let mut part = Results::of(client.next - items.len() as u64, items.len());
        part.receive(client);
        let start = (part.first - results.first) as usize;
        results.by_serial[start..start + items.len()].clone_from_slice(&part.by_serial);
        results.pending += part.pending;
        results.followed += part.followed;
    }
    results
}

fn keys() -> Vec<[u8; 8]> {
    (0..RECORDS).map(u64::to_le_bytes).collect()
}

fn fill(client: &mut Client, keys: &[[u8; 8]]) {
    let values: Vec<Vec<u8>> = (0..RECORDS).map(value).collect();
    for (keys, values) in keys.chunks(20).zip(values.chunks(20)) {
        let items: Vec<_> =
            keys.iter().zip(values).map(|(key, value)| upsert(key, value)).collect();
        let first = client.next;
        client.send(&sized(first, &items));
        client.next += items.len() as u64;
        let mut results = Results::of(first, items.len());
        results.receive(client);
        assert!(results.by_serial.iter().all(|r| *r == Some((Status::Ok, Vec::new()))));
    }
}

#[test]
fn results_from_the_disk_follow_their_batch() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 2);
    let mut client = Client::greet(&server, &HELLO);
    let keys = keys();
    fill(&mut client, &keys);
    let results = on_all(&mut client, &keys, read);
    for (key, result) in (0..).zip(results.by_serial) {
        assert_eq!(result, Some((Status::Ok, value(key))));
    }
    assert!(1_000 < results.pending, "{}", results.pending);
    assert_eq!(results.pending, results.followed);
    // The same records through another shard.
    let mut other = Client::greet(&server, &HELLO);
    let results = on_all(&mut other, &keys, read);
    assert!(results.by_serial.iter().all(|result| matches!(result, Some((Status::Ok, _)))));
}

#[test]
fn results_that_followed_while_there_was_no_connection_are_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 2);
    let mut client = Client::greet(&server, &HELLO);
    let keys = keys();
    fill(&mut client, &keys);
    for start in 0..20 {
        let chosen: Vec<_> = keys.iter().skip(start).step_by(100).collect();
        let items: Vec<_> = chosen.iter().map(|key| read(&key[..])).collect();
        let first = client.next;
        client.send(&sized(first, &items));
        let session = client.session;
        drop(client);
        client = Client::greet(&server, &Hello { session: Some(session), ..HELLO });
        // The batch was executed, or had not arrived: in both cases it is sent again.
        assert!([first, first + items.len() as u64].contains(&client.next));
        client.send(&sized(first, &items));
        client.next = first + items.len() as u64;
        let mut results = Results::of(first, items.len());
        results.receive(&mut client);
        for (key, result) in chosen.iter().zip(results.by_serial) {
            assert_eq!(result, Some((Status::Ok, value(u64::from_le_bytes(**key)))));
        }
    }
}

#[test]
fn a_client_that_reads_nothing_does_not_have_its_results_pile_up() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 1);
    let mut client = Client::greet(&server, &HELLO);
    let keys = keys();
    fill(&mut client, &keys);
    // 8 MB of values, of which the network takes a part.
    let items: Vec<_> = keys.iter().map(|key| read(&key[..])).collect();
    let first = client.next;
    client.send(&sized(first, &items));
    client.next += items.len() as u64;
    // Another client is served meanwhile, so often that all would have been read.
    let mut other = Client::greet(&server, &HELLO);
    (0..5_000).for_each(|_| drop(other.sized(&[read(b"none")])));
    let mut results = Results::of(first, items.len());
    let told = |counted| server.counts(0).of(counted);
    let sent = told(Counted::BytesOut);
    assert!(sent < 8_000_000, "{sent} bytes were written for a client that reads nothing");
    results.receive(&mut client);
    for (key, result) in (0..).zip(results.by_serial) {
        assert_eq!(result, Some((Status::Ok, value(key))));
    }
    assert_eq!(told(Counted::HeldTooMuch), 0);
}

#[test]
fn batches_wait_while_the_operations_of_those_before_are_pending() {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_from(folder.path(), 1);
    let mut client = Client::greet(&server, &HELLO);
    let keys = keys();
    fill(&mut client, &keys);
    let first = client.next;
    let batches: Vec<u8> = (0..3)
        .flat_map(|batch| {
            let items: Vec<_> = keys.iter().map(|key| read(&key[..])).collect();
            sized(first + batch * RECORDS, &items)
        })
        .collect();
    client.send(&batches);
    let mut results = Results::of(first, 3 * keys.len());
    results.receive(&mut client);
    assert!(results.by_serial.iter().all(|r| matches!(r, Some((Status::Ok, _)))));
}

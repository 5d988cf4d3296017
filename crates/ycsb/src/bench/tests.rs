use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::workload::Part;

const BYTES: usize = 32 * 1024;

fn next(batches: &mut Batches) -> Batch {
    let mut batch = Batch::default();
    batches.next(&mut batch);
    batch
}

const SHARE: Share = Share { server: 0, servers: 1 };

fn terms(mix: Mix, length: u64) -> Terms {
    Terms { mix, share: SHARE, bytes: BYTES, length, seed: (1, 0) }
}

fn run(mix: Mix, distribution: Distribution, length: u64) -> Batches {
    let requests = Requests::Drawn(distribution, Keys::Numbered(1_000));
    Batches::Run(Box::new(Run::new(terms(mix, length), requests, None)))
}

fn listed(keys: &[u64], share: Share) -> Batches {
    let requests = Requests::Listed(Arc::new(keys.to_vec()), 0..keys.len());
    let terms = Terms { share, ..terms(Mix::C, u64::MAX) };
    Batches::Run(Box::new(Run::new(terms, requests, None)))
}

#[test]
fn all_connections_together_fill_each_key_once_where_it_belongs() {
    let mut filled = BTreeSet::new();
    for server in 0..3 {
        let share = Share { server, servers: 3 };
        for first in 0..4 {
            let mut batches =
                Batches::Fill(Fill::new(first, 4, Keys::Numbered(50_000), share, BYTES));
            while !batches.has_ended() {
                let batch = next(&mut batches);
                assert!(batch.opcodes.len() <= 1925 && batch.values.iter().all(|v| *v == 0));
                for key in batch.keys {
                    assert!(share.has(key) && filled.insert(key));
                }
            }
        }
    }
    assert!(filled.into_iter().eq((0..50_000).map(key).collect::<BTreeSet<_>>()));
}

#[test]
fn a_batch_is_as_large_as_was_asked_for() {
    for (mix, operations) in [(Mix::Rmw, 1925), (Mix::C, 3637)] {
        assert_eq!(next(&mut run(mix, Distribution::Uniform, u64::MAX)).opcodes.len(), operations);
    }
    let mut one = Batches::Fill(Fill::new(0, 1, Keys::Numbered(5), SHARE, 1));
    assert_eq!(next(&mut one).opcodes.len(), 1);
}

#[test]
fn the_operations_are_those_of_the_mix() {
    for (mix, reads) in
        [(Mix::Rmw, 0.0), (Mix::A, 0.5), (Mix::B, 0.95), (Mix::C, 1.0), (Mix::F, 0.5)]
    {
        let mut batches = run(mix, Distribution::Zipfian, u64::MAX);
        let (mut read, mut all) = (0, 0);
        for _ in 0..20 {
            let batch = next(&mut batches);
            all += batch.opcodes.len();
            read += batch.opcodes.iter().filter(|opcode| **opcode == Opcode::Read as u8).count();
            assert_eq!(
                batch.values.len(),
                batch.opcodes.len() - batch.opcodes.iter().filter(|o| **o == 1).count()
            );
        }
        // Six standard deviations of 38,500 draws or more.
        assert!((read as f64 / all as f64 - reads).abs() < 0.016, "{mix:?}: {read} of {all}");
    }
}

#[test]
fn a_stream_repeats_after_its_length() {
    let mut batches = run(Mix::A, Distribution::Uniform, 100);
    let batch = next(&mut batches);
    assert_eq!(batch.opcodes[..100], batch.opcodes[100..200]);
    assert_eq!(batch.keys[..100], batch.keys[1_000..1_100]);
}

#[test]
fn keys_of_a_file_fill_the_servers_and_are_asked_for_in_their_order() {
    let bytes: Vec<u8> = (0..5_000_u64).flat_map(|number| key(number).to_le_bytes()).collect();
    let mut keys = Vec::new();
    append_keys(&bytes[..8_000], &mut keys);
    append_keys(&bytes[8_000..], &mut keys);
    let mut filled = Vec::new();
    for server in 0..2 {
        let share = Share { server, servers: 2 };
        let listed_keys = Keys::Listed(Arc::new(keys.clone()));
        let mut fill = Batches::Fill(Fill::new(0, 1, listed_keys, share, BYTES));
        while !fill.has_ended() {
            filled.append(&mut next(&mut fill).keys);
        }
        let mut run = listed(&keys, share);
        let of_server: Vec<u64> = keys.iter().copied().filter(|key| share.has(*key)).collect();
        let asked = next(&mut run).keys;
        assert!(of_server.len() < asked.len(), "they repeat");
        assert!(asked.iter().zip(of_server.iter().cycle()).all(|(asked, key)| asked == key));
    }
    filled.sort_unstable();
    keys.sort_unstable();
    assert_eq!(filled, keys);
}

#[test]
fn a_fill_ends_with_a_session_that_does_not_go_on_and_a_run_does_not() {
    let mut fill = Batches::Fill(Fill::new(0, 1, Keys::Numbered(50_000), SHARE, BYTES));
    assert!(!next(&mut fill).keys.is_empty() && !fill.has_ended());
    fill.disconnected();
    assert!(fill.has_ended());
    let mut run = run(Mix::C, Distribution::Uniform, 10);
    run.disconnected();
    assert!(!run.has_ended());
}

#[test]
fn listed_keys_repeat_after_the_last_one_and_end_if_the_server_has_none() {
    let keys = [7, 8, 9];
    let asked = next(&mut listed(&keys, SHARE)).keys;
    assert!(asked.iter().zip(keys.iter().cycle()).all(|(asked, key)| asked == key));
    let has = (0..2).map(|server| Share { server, servers: 2 }.has(7)).collect::<Vec<_>>();
    for (server, has) in (0..2).zip(has) {
        assert_eq!(listed(&[7], Share { server, servers: 2 }).has_ended(), !has);
    }
}

/// The connections of one client with two threads and two servers, and what they share.
fn latest(client: Part) -> (Vec<Batches>, Arc<Inserted>) {
    let inserted = Arc::new(Inserted::new(1_000, client, 2, 2));
    let run = |place: usize| {
        let share = Share { server: place as u16 / 2, servers: 2 };
        let terms = Terms { share, seed: (1, place as u64), ..terms(Mix::D, u64::MAX) };
        let inserts = Some((Arc::clone(&inserted), place));
        Batches::Run(Box::new(Run::new(terms, Requests::Latest(Arc::clone(&inserted)), inserts)))
    };
    ((0..4).map(run).collect(), inserted)
}

#[test]
fn inserts_of_all_connections_and_clients_are_each_key_once_and_read_once_they_are_answered() {
    let mut inserted = BTreeSet::new();
    let numbers: BTreeMap<u64, u64> = (0..20_000).map(|number| (key(number), number)).collect();
    for client in [Part { number: 0, of: 2 }, Part { number: 1, of: 2 }] {
        let (mut connections, shared) = latest(client);
        for round in 0..5 {
            let last = shared.number(shared.last());
            for connection in &mut connections {
                let batch = next(connection);
                for (opcode, key) in batch.opcodes.iter().zip(&batch.keys) {
                    let number = numbers[key];
                    match *opcode == Opcode::Upsert as u8 {
                        true => assert!(1_000 <= number && inserted.insert(number), "{number}"),
                        false => assert!(number <= last, "{number} is not answered"),
                    }
                }
            }
            assert_eq!(shared.number(shared.last()), last, "nothing is answered yet");
            connections.iter_mut().for_each(KvWorkload::ended);
            assert!(last < shared.number(shared.last()), "round {round}");
        }
        let last = shared.number(shared.last());
        let own = (1_000..=last).filter(|number| number % 2 == u64::from(client.number));
        assert!(own.into_iter().all(|number| inserted.contains(&number)));
    }
}

#[test]
fn the_newest_keys_are_asked_for_most() {
    let (mut connections, _) = latest(Part::WHOLE);
    let newest: BTreeSet<u64> = (990..1_000).map(key).collect();
    let asked: Vec<u64> = connections.iter_mut().flat_map(|run| next(run).keys).collect();
    let new = asked.iter().filter(|key| newest.contains(key)).count();
    // The ten first of 999 ranks have 37 %.
    assert!(asked.len() / 4 < new && new < asked.len() / 2, "{new} of {}", asked.len());
}

#[test]
fn scans_are_those_of_workload_e() {
    let workload = scans(1_000, 5_000, Distribution::Zipfian, Part::WHOLE);
    assert_eq!((workload.record_count, workload.scan_lengths.most()), (1_000, 100));
    assert!(
        workload.has(crate::workload::Kind::Scan) && !workload.has(crate::workload::Kind::Read)
    );
}

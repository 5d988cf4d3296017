use std::collections::BTreeSet;

use super::*;

const BYTES: usize = 32 * 1024;

fn next(batches: &mut Batches) -> Batch {
    let mut batch = Batch::default();
    batches.next(&mut batch);
    batch
}

fn run(mix: Mix, distribution: Distribution, length: u64) -> Batches {
    let share = Share { server: 0, servers: 1 };
    Batches::Run(Run::new((mix, distribution), 1_000, share, BYTES, length, (1, 0)))
}

#[test]
fn all_connections_together_fill_each_key_once_where_it_belongs() {
    let mut filled = BTreeSet::new();
    for server in 0..3 {
        let share = Share { server, servers: 3 };
        for first in 0..4 {
            let mut batches = Batches::Fill(Fill::new(first, 4, 50_000, share, BYTES));
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
    let share = Share { server: 0, servers: 1 };
    let mut one = Batches::Fill(Fill::new(0, 1, 5, share, 1));
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
fn a_fill_ends_with_its_connection_and_a_run_goes_on() {
    let share = Share { server: 0, servers: 1 };
    let mut fill = Batches::Fill(Fill::new(0, 1, 50_000, share, BYTES));
    let mut run = run(Mix::C, Distribution::Uniform, u64::MAX);
    for (batches, ends) in [(&mut fill, true), (&mut run, false)] {
        next(batches);
        batches.disconnected();
        assert_eq!(batches.has_ended(), ends);
    }
}

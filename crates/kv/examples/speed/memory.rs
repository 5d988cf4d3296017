//! Additions to 8-byte values in process, uniform and Zipf.

use std::sync::Barrier;
use std::thread;

use kv::storage::Nowhere;
use kv::{FixedCode, FixedOp, Options, Replies, Session, Store};
use measure::{Nanos, Random};
use net::clock;

/// The writes in a batch of 32 KiB on the wire.
pub(super) const BATCH: usize = 1925;

/// The bytes of a record with a key and a value of 8 bytes.
const RECORD: u64 = 32;

/// The operations of a repetition, by each thread.
const OPS: usize = 20_000_000;

/// The keys are drawn before, and repeated.
const DRAWN: usize = 1 << 22;

/// Prints each repetition of `ops` additions a thread.
pub(super) fn run(keys: u64, threads: u64, repetitions: u64) {
    let store = Store::open(options(keys, 1), &mut Nowhere).expect("enough memory");
    fill(&mut store.session(0).expect("no other session"), keys, &mut |_| {});
    for (name, zipf) in [("uniform", None), ("zipf", Some(Zipf::new(keys)))] {
        let drawn: Vec<Vec<u64>> =
            (0..threads).map(|thread| draw(keys, zipf.as_ref(), thread)).collect();
        for _ in 0..repetitions {
            let start = Barrier::new(drawn.len());
            let rates = thread::scope(|scope| {
                let running: Vec<_> = (0..)
                    .zip(&drawn)
                    .map(|(id, keys)| {
                        let (store, start) = (&store, &start);
                        scope.spawn(move || additions(store, id, keys, start))
                    })
                    .collect();
                let each = running.into_iter().map(|thread| thread.join().expect("no panic"));
                each.fold((0.0, 0.0), |(a, b), (wall, cpu)| (a + wall, b + cpu))
            });
            println!("{name} {:.0} {:.0}", rates.0, rates.1 / threads as f64);
        }
    }
}

/// The sizes of a store whose memory has the records of so many keys so many times.
pub(super) fn options(keys: u64, times: u64) -> Options {
    let bytes = keys * RECORD * 4096 / 4064;
    Options {
        buckets: keys / 4,
        memory: (times * bytes).next_multiple_of(4 << 20) + (32 << 20),
        sessions: 64,
        ..Options::default()
    }
}

/// The keys of the operations of a thread.
pub(super) fn draw(keys: u64, zipf: Option<&Zipf>, thread: u64) -> Vec<u64> {
    let mut random = Random::part(1, thread);
    let mut one = || match zipf {
        Some(zipf) => zipf.draw(&mut random),
        None => random.below(keys),
    };
    (0..DRAWN).map(|_| one()).collect()
}

/// Inserts all keys, and has `poll` called after each batch.
pub(super) fn fill(session: &mut Session, keys: u64, poll: &mut dyn FnMut(&mut Session)) {
    let mut replies = Replies::new(1 << 20);
    let cpu = clock::thread_cpu();
    let mut ops = Vec::with_capacity(BATCH);
    for first in (0..keys).step_by(BATCH) {
        let insert = |key| FixedOp { code: FixedCode::Upsert, key, argument: key };
        ops.clear();
        ops.extend((first..keys.min(first + BATCH as u64)).map(insert));
        let mut left = &ops[..];
        while !left.is_empty() {
            left = &left[session.batch_fixed(left, &mut replies)..];
            poll(session);
        }
    }
    println!("fill {:.0}", rate(keys, Nanos(clock::thread_cpu().0 - cpu.0)));
}

fn additions(store: &Store, id: u64, keys: &[u64], start: &Barrier) -> (f64, f64) {
    let mut session = store.session(id).expect("no other session");
    let mut replies = Replies::new(1 << 20);
    let mut ops = Vec::with_capacity(BATCH);
    start.wait();
    let (begin, cpu) = (clock::now(), clock::thread_cpu());
    let mut done = 0;
    for keys in keys.chunks_exact(BATCH).cycle() {
        ops.clear();
        ops.extend(keys.iter().map(|key| FixedOp { code: FixedCode::Add, key: *key, argument: 1 }));
        assert_eq!(session.batch_fixed(&ops, &mut replies), BATCH);
        assert_eq!(replies.bytes().len(), 8 * BATCH);
        done += BATCH;
        if done >= OPS {
            break;
        }
    }
    (
        rate(done as u64, clock::now() - begin),
        rate(done as u64, Nanos(clock::thread_cpu().0 - cpu.0)),
    )
}

/// So many in a second.
pub(super) fn rate(count: u64, time: Nanos) -> f64 {
    count as f64 / time.as_secs_f64()
}

/// YCSB's scrambled Zipf distribution (Gray et al., 1994) with the constant 0.99.
pub(super) struct Zipf {
    keys: f64,
    zeta: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    pub(super) fn new(keys: u64) -> Zipf {
        let zeta = |n: u64| (1..=n).map(|rank| (rank as f64).powf(-THETA)).sum::<f64>();
        let (zeta_all, n) = (zeta(keys), keys as f64);
        let eta = (1.0 - (2.0 / n).powf(1.0 - THETA)) / (1.0 - zeta(2) / zeta_all);
        Zipf { keys: n, zeta: zeta_all, eta }
    }

    fn draw(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let rank = match unit * self.zeta {
            part if part < 1.0 => 0.0,
            part if part < 1.0 + 0.5_f64.powf(THETA) => 1.0,
            _ => self.keys * (self.eta * unit - self.eta + 1.0).powf(1.0 / (1.0 - THETA)),
        };
        // Popular keys lie anywhere.
        let scrambled = (rank as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bd1_e995;
        scrambled % self.keys as u64
    }
}

//! Additions to 8-byte values in process, uniform and Zipf: the million operations of each repetition
//! by second and by CPU-second, which differ if others use the CPU. `cargo run --release -p kv --example inprocess [KEYS] [THREADS] [REPETITIONS]`.
#![expect(clippy::print_stdout, reason = "its output")]

use std::sync::Barrier;
use std::thread;

use kv::storage::Nowhere;
use kv::{FixedCode, FixedOp, Options, Replies, Store};
use measure::{Nanos, Random};
use net::clock;

/// The writes in a batch of 32 KiB on the wire.
const BATCH: usize = 1925;

/// The operations of a repetition, by each thread.
const OPS: usize = 20_000_000;

/// The keys are drawn before, and repeated.
const DRAWN: usize = 1 << 22;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().map_or(default, |number| number.expect("a number"));
    let (keys, threads, repetitions) = (next(10_000_000), next(1), next(5));
    let bytes = keys * 32 * 4096 / 4064;
    let options = Options {
        buckets: keys / 4,
        memory: bytes + (16 << 20),
        sessions: 64,
        ..Options::default()
    };
    let store = Store::open(options, &mut Nowhere).expect("enough memory");
    fill(&store, keys);
    let zipf = Zipf::new(keys);
    for (name, is_zipf) in [("uniform", false), ("zipf", true)] {
        let drawn: Vec<Vec<u64>> = (0..threads)
            .map(|thread| {
                let mut random = Random::part(1, thread);
                let mut draw = || if is_zipf { zipf.draw(&mut random) } else { random.below(keys) };
                (0..DRAWN).map(|_| draw()).collect()
            })
            .collect();
        for _ in 0..repetitions {
            let start = Barrier::new(drawn.len());
            let rates = thread::scope(|scope| {
                let run = |(id, keys): (u64, &Vec<u64>)| {
                    let (store, start) = (&store, &start);
                    let keys = keys.clone();
                    scope.spawn(move || run(store, id, &keys, start))
                };
                let running: Vec<_> = (0..).zip(&drawn).map(run).collect();
                let each = running.into_iter().map(|thread| thread.join().expect("no panic"));
                each.fold((0.0, 0.0), |(a, b), (wall, cpu)| (a + wall, b + cpu))
            });
            let (wall, cpu) = (rates.0, rates.1 / threads as f64);
            println!(
                "{name} {keys} keys {threads} threads: {wall:.2} Mops/s, {cpu:.2} Mops/CPU-second"
            );
        }
    }
}

fn fill(store: &Store, keys: u64) {
    let mut session = store.session(0).expect("no other session");
    let mut replies = Replies::new(1 << 20);
    let ops: Vec<_> =
        (0..keys).map(|key| FixedOp { code: FixedCode::Upsert, key, argument: 0 }).collect();
    let begin = clock::thread_cpu();
    for batch in ops.chunks(BATCH) {
        assert_eq!(session.batch_fixed(batch, &mut replies), batch.len());
        assert!(replies.statuses().iter().all(|status| *status == kv::Status::Ok));
    }
    println!(
        "fill: {:.2} Mops/CPU-second",
        rate(keys as usize, Nanos(clock::thread_cpu().0 - begin.0))
    );
}

fn run(store: &Store, id: u64, keys: &[u64], start: &Barrier) -> (f64, f64) {
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
    (rate(done, clock::now() - begin), rate(done, Nanos(clock::thread_cpu().0 - cpu.0)))
}

fn rate(count: usize, time: Nanos) -> f64 {
    count as f64 * 1e3 / time.0 as f64
}

/// YCSB's scrambled Zipf distribution (Gray et al., 1994) with the constant 0.99.
struct Zipf {
    keys: f64,
    zeta: f64,
    eta: f64,
}

const THETA: f64 = 0.99;

impl Zipf {
    fn new(keys: u64) -> Zipf {
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

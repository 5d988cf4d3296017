//! The speed of keys and operations on one core, in millions per second of its CPU time:
//! `cargo run --release -p ycsb --example keys [MILLIONS] [KEYS]`.
#![expect(clippy::print_stdout, reason = "its output")]

use std::hint::black_box;
use std::sync::Arc;

use load::driver::kv::{Batch, KvWorkload};
use measure::{Nanos, Random};
use net::clock;
use ycsb::bench::{Batches, Keys, Mix, Requests, Run, Terms};
use ycsb::keys::{Distribution, Draws, Share, keys};
use ycsb::properties::{Place, Properties};
use ycsb::workload::{Part, Workload};
use ycsb::zipf::BLOCK;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let mut next = |default| arguments.next().map_or(default, |number| number.expect("a number"));
    let (millions, count) = (next(100), next(10_000_000));
    let blocks = millions * 1_000_000 / BLOCK as u64;
    let mut random = Random::new(1);

    let zipfian = Draws::new(Distribution::Zipfian, count);
    // What the choice of a record costs: the rank, its hash, and the remainder.
    measured("zipfian", blocks, BLOCK, || {
        black_box(zipfian.next(&mut random));
    });
    let uniform = Draws::new(Distribution::Uniform, count);
    measured("uniform", blocks, BLOCK, || {
        black_box(keys(&uniform.next(&mut random)));
    });
    let workload = workload(count);
    let mut text = Vec::with_capacity(BLOCK * 32);
    let mut record = 0;
    measured("names", blocks / 2, BLOCK, || {
        text.clear();
        for _ in 0..BLOCK {
            workload.name(record, &mut text);
            record += 1;
        }
        black_box(&text);
    });
    for (name, distribution) in
        [("operations", Distribution::Zipfian), ("operations-uniform", Distribution::Uniform)]
    {
        let mut batches = batches(count, distribution);
        let mut batch = Batch::default();
        let mut fill = || {
            batch.clear();
            batches.next(&mut batch);
            black_box(&batch);
            batch.opcodes.len()
        };
        let each = fill();
        measured(name, millions * 500_000 / each as u64, each, || {
            fill();
        });
    }
}

fn workload(count: u64) -> Arc<Workload> {
    let mut properties = Properties::default();
    properties.set("workload", "site.ycsb.workloads.CoreWorkload", Place::Default);
    properties.set("recordcount", &count.to_string(), Place::Default);
    properties.set("operationcount", "1", Place::Default);
    let workload =
        Workload::new(&properties, Part::WHOLE, |_| unreachable!("no lengths in a file"));
    Arc::new(workload.expect("the properties are valid"))
}

/// The batches of a connection to a single server: half reads and half additions.
fn batches(count: u64, distribution: Distribution) -> Batches {
    let share = Share { server: 0, servers: 1 };
    let terms = Terms { mix: Mix::F, share, bytes: 32 << 10, length: u64::MAX, seed: (1, 0) };
    let requests = Requests::Drawn(distribution, Keys::Numbered(count));
    Batches::Run(Box::new(Run::new(terms, requests, None)))
}

/// Prints the rate of something that is done `times` times, of so many each.
fn measured(name: &str, times: u64, each: usize, mut work: impl FnMut()) {
    (0..times / 50).for_each(|_| work());
    let begun = clock::thread_cpu();
    (0..times).for_each(|_| work());
    let took = Nanos(clock::thread_cpu().0 - begun.0);
    let rate = times as f64 * each as f64 / took.as_secs_f64() / 1e6;
    println!("{name} {rate:.1}");
}

//! The load of `benchwright ycsb bench`: a closed loop of batches against key-value servers.

pub mod client;
pub mod token;

use std::net::SocketAddr;
use std::sync::atomic::AtomicBool;

use load::Outcome;
use load::driver::kv::{Kv, Terms};
pub use load::measurement::Failure as NotMeasured;
use load::measurement::{Measurement, Plan, Pool, measure};
use load::pacing::Pacing;
use measure::pace::Think;
use measure::{Histogram, Nanos, Quantile};
use wire::kv::Token;
use ycsb::bench::{Batches, Fill, Mix, Run};
use ycsb::keys::{Distribution, Share};

/// A load of key-value servers.
#[derive(Clone, Debug)]
pub struct Bench {
    pub servers: Vec<SocketAddr>,
    pub threads: u16,
    pub keys: u64,
    /// The operations after which the stream of a run begins again.
    pub transactions: u64,
    pub seconds: Nanos,
    /// The bytes of a batch, at most.
    pub batch: usize,
    pub pipeline: u8,
    pub mix: Mix,
    pub distribution: Distribution,
    pub seed: u64,
    /// The token of the servers, if they want one.
    pub token: Option<Token>,
}

/// The figures of a fill or a run.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The operations that were answered in the window.
    pub operations: u64,
    /// The operations that ended otherwise than hoped, at any time.
    pub failed: u64,
    pub window: Nanos,
    /// The median time from the sending of a batch to its reply.
    pub median: Option<Nanos>,
    pub p99: Option<Nanos>,
    pub interrupted: bool,
}

impl Figures {
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.window.as_secs_f64()
    }

    /// Returns the number of keys that a fill of so many did not try to write, as a connection broke.
    pub fn unwritten(&self, keys: u64) -> u64 {
        keys.saturating_sub(self.operations + self.failed)
    }
}

/// The longest time that a fill takes.
const LONGEST_FILL: Nanos = Nanos::from_secs(24 * 3600);
/// The time for the last replies.
const DRAIN: Nanos = Nanos::from_secs(5);

/// Writes every key once.
pub fn fill(bench: &Bench, stop: &AtomicBool) -> Result<Figures, NotMeasured> {
    let threads = u64::from(bench.threads);
    go(bench, LONGEST_FILL, stop, |share, thread| {
        Batches::Fill(Fill::new(thread, threads, bench.keys, share, bench.batch))
    })
}

/// Runs the operations of the mix for the time.
pub fn run(bench: &Bench, stop: &AtomicBool) -> Result<Figures, NotMeasured> {
    let connections = u64::from(bench.threads) * bench.servers.len() as u64;
    let length = bench.transactions.div_ceil(connections);
    go(bench, bench.seconds, stop, |share, thread| {
        let stream = u64::from(share.server) * u64::from(bench.threads) + thread;
        let what = (bench.mix, bench.distribution);
        let seed = (bench.seed, stream);
        Batches::Run(Run::new(what, bench.keys, share, bench.batch, length, seed))
    })
}

fn go(
    bench: &Bench,
    length: Nanos,
    stop: &AtomicBool,
    batches: impl Fn(Share, u64) -> Batches,
) -> Result<Figures, NotMeasured> {
    let servers = bench.servers.len() as u16;
    let (mut pools, mut drivers) = (Vec::new(), Vec::new());
    for (server, address) in (0..).zip(&bench.servers) {
        let share = Share { server, servers };
        let terms = Terms { pipeline: bench.pipeline, position: (server, servers) };
        for thread in 0..bench.threads {
            pools.push(Pool { endpoints: vec![(*address).into()], connections: 1 });
            let driver = Kv::new(1, terms, batches(share, u64::from(thread)));
            drivers.push(driver.with_token(bench.token.clone()));
        }
    }
    let pacing = Pacing::Closed { think: Think::NONE };
    let whole = Plan::whole(pools, pacing, length);
    let cpus = vec![None; usize::from(bench.threads)];
    let plan = Plan { targets: u32::from(servers), drain: DRAIN, cpus, seed: bench.seed, ..whole };
    let watchers = vec![(); usize::from(bench.threads)];
    let measured = measure(&plan, drivers, watchers, None, stop)?;
    Ok(figures(&measured.measurement))
}

fn figures(measurement: &Measurement) -> Figures {
    let mut service = Histogram::new();
    let (mut operations, mut failed) = (0, 0);
    for part in &measurement.parts {
        service.add(&part.service);
        operations += part.operations_inside;
        let failures = Outcome::ALL.into_iter().filter(|outcome| outcome.is_failure());
        failed += failures.map(|outcome| part.operations[outcome as usize]).sum::<u64>();
    }
    let quantile = |level| Quantile::new(level).and_then(|quantile| service.quantile(quantile));
    Figures {
        operations,
        failed,
        window: measurement.window.length(),
        median: quantile(0.5),
        p99: quantile(0.99),
        interrupted: measurement.partial,
    }
}

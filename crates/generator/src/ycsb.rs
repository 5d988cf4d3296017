//! The load of `benchwright ycsb bench`: a closed loop of batches against key-value servers.

pub mod client;
pub mod token;
pub mod unusable;

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use load::driver::kv::{Kv, Terms, shared};
pub use load::measurement::Failure as NotMeasured;
use load::measurement::{Measurement, Plan, Pool, measure};
use load::observe::{Completion, Observer, Part};
use load::pacing::Pacing;
use load::shard::Limits;
use load::{Driver, Outcome};
use measure::pace::Think;
use measure::{Histogram, Nanos, Quantile};
use net::Address;
use wire::kv::{HEADER_BYTES, Token};
use ycsb::bench::{self, Batches, Fill, Inserted, Keys, Mix, Requests, Run, scans};
use ycsb::keys::{Distribution, Share};
use ycsb::kv;
use ycsb::workload;

#[cfg(test)]
mod tests;

/// A load of key-value servers.
#[derive(Clone, Debug)]
pub struct Bench {
    pub servers: Vec<SocketAddr>,
    pub threads: u16,
    /// The client among several, which divide the keys of the fill and the operations of the run.
    pub client: workload::Part,
    pub keys: Keys,
    /// The keys that the run asks for, one after the other; it draws them if absent.
    pub listed: Option<Arc<Vec<u64>>>,
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
    /// The operations that ended as hoped in the window.
    pub operations: u64,
    /// The operations that ended as hoped, and otherwise, at any time.
    pub ok: u64,
    pub failed: u64,
    /// The reason of some that failed, if one is known.
    pub why: Option<String>,
    /// The operations that had no answer when the last ones were not waited for any more.
    pub unfinished: u64,
    /// The keys that a fill did not try to write: it ends early if a server is gone.
    pub unwritten: u64,
    /// The batches that were sent again, after their connection broke.
    pub sent_again: u64,
    /// The batches that ended without a connection to their server. One that was never sent has no operations
    /// yet, so that this number alone tells of it.
    pub unconnected: u64,
    /// The servers that did not answer everything; absent if all did, or if the phase was interrupted.
    pub silent: Option<Silent>,
    pub window: Nanos,
    /// The median time from the sending of a batch to its reply, of those that had one.
    pub median: Option<Nanos>,
    pub p99: Option<Nanos>,
    pub interrupted: bool,
}

/// Servers that could not be connected to, or did not answer, within the time of [`client::PATIENCE`] or until the
/// end.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Silent {
    /// The servers; empty if it is not known which of several.
    pub servers: Vec<SocketAddr>,
    /// The reason of the first one.
    pub why: String,
}

impl Figures {
    /// The throughput, unless nothing was answered in the window, or there was none: a fill may have no keys.
    pub fn per_second(&self) -> Option<f64> {
        let seconds = self.window.as_secs_f64();
        (0.0 < seconds && self.operations != 0).then(|| self.operations as f64 / seconds)
    }

    /// True if nothing failed, and yet nothing was answered in the window: it is too short for what was sent.
    pub fn is_unmeasured(&self) -> bool {
        self.operations + self.failed == 0 && self.ok + self.unfinished + self.unconnected != 0
    }

    /// True if every operation that was to be executed was.
    pub fn is_whole(&self) -> bool {
        self.failed + self.unwritten + self.unfinished + self.unconnected == 0
    }
}

/// The longest time that a fill takes.
const LONGEST_FILL: Nanos = Nanos::from_secs(24 * 3600);
/// The time for the last replies.
const DRAIN: Nanos = Nanos::from_secs(5);
/// The bytes of a scan in a batch.
const SCAN_BYTES: usize = 24;
/// The longest time that a scan waits for others of its batch.
const LINGER: Nanos = Nanos::from_micros(100);

/// Writes every key once.
pub fn fill(bench: &Bench, stop: &AtomicBool) -> Result<Figures, NotMeasured> {
    let (client, threads) = (bench.client, u64::from(bench.threads));
    let step = u64::from(client.of) * threads;
    let first = u64::from(client.number) * threads;
    let figures = bench.batches(LONGEST_FILL, stop, |share, thread| {
        Batches::Fill(Fill::new(first + thread, step, bench.keys.clone(), share, bench.batch))
    })?;
    let own = own_keys(bench.keys.count(), first, threads, step);
    let tried = figures.ok + figures.failed + figures.unfinished;
    Ok(Figures { unwritten: own.saturating_sub(tried), ..figures })
}

/// The number of keys of a client that has so many of each `step`, from the first on.
fn own_keys(keys: u64, first: u64, threads: u64, step: u64) -> u64 {
    keys / step * threads + (keys % step).saturating_sub(first).min(threads)
}

/// Runs the operations of the mix for the time.
pub fn run(bench: &Bench, stop: &AtomicBool) -> Result<Figures, NotMeasured> {
    if bench.mix == Mix::E {
        return bench.scans(stop);
    }
    let (servers, threads) = (bench.servers.len() as u64, u64::from(bench.threads));
    let (client, keys) = (bench.client, bench.keys.count());
    let streams = servers * threads * u64::from(client.of);
    let length = bench.transactions.div_ceil(streams);
    let inserts = bench.mix == Mix::D && bench.listed.is_none();
    let inserted = inserts.then(|| Arc::new(Inserted::new(keys, client, threads, servers)));
    bench.batches(bench.seconds, stop, |share, thread| {
        let place = u64::from(share.server) * threads + thread;
        let stream = place * u64::from(client.of) + u64::from(client.number);
        let (mix, bytes, seed) = (bench.mix, bench.batch, (bench.seed, stream));
        let requests = match (&bench.listed, &inserted) {
            (Some(listed), _) => Requests::Listed(Arc::clone(listed), bench.part(listed, thread)),
            (None, Some(inserted)) => Requests::Latest(Arc::clone(inserted)),
            (None, None) => Requests::Drawn(bench.distribution, bench.keys.clone()),
        };
        let inserts = inserted.clone().map(|inserted| (inserted, place as usize));
        let terms = bench::Terms { mix, share, bytes, length, seed };
        Batches::Run(Box::new(Run::new(terms, requests, inserts)))
    })
}

impl Bench {
    /// The part of a list that a thread of this client asks for, each of its connections what its server has.
    fn part(&self, listed: &[u64], thread: u64) -> Range<usize> {
        let workload::Part { number, of } = self.client;
        let threads = u32::from(self.threads);
        let part = workload::Part { number: number * threads + thread as u32, of: of * threads };
        let Range { start, end } = part.share(listed.len() as u64);
        start as usize..end as usize
    }

    /// Sends batches, from a thread to each server by a connection of its own.
    fn batches(
        &self,
        length: Nanos,
        stop: &AtomicBool,
        batches: impl Fn(Share, u64) -> Batches,
    ) -> Result<Figures, NotMeasured> {
        let servers = self.servers.len() as u16;
        let (mut pools, mut drivers) = (Vec::new(), Vec::new());
        for (server, address) in (0..).zip(&self.servers) {
            let share = Share { server, servers };
            let terms = Terms { pipeline: self.pipeline, position: (server, servers) };
            for thread in 0..self.threads {
                pools.push(Pool { endpoints: vec![(*address).into()], connections: 1 });
                let driver = Kv::new(terms, batches(share, u64::from(thread)));
                drivers.push(driver.with_token(self.token.clone()));
            }
        }
        let targets = u32::from(servers);
        let measured = self.measure(pools, targets, drivers, length, stop)?;
        Ok(self.figures(&measured, |part| (part.ok_operations_inside, part.operations)))
    }

    /// Runs the workload E: scans go on at the server of the next hashes, so that each operation is a request.
    fn scans(&self, stop: &AtomicBool) -> Result<Figures, NotMeasured> {
        let servers = self.servers.len();
        let endpoints = self.servers.iter().map(|address| (*address).into()).collect();
        let pool = Pool { endpoints, connections: servers };
        let pools = vec![pool; self.threads.into()];
        let each = (self.batch.saturating_sub(HEADER_BYTES) / SCAN_BYTES).max(1);
        let outstanding = (each * usize::from(self.pipeline)).min(u16::MAX.into());
        let servers = servers as u16;
        let terms = shared::Terms { outstanding, users: None, linger: LINGER, servers };
        let workload = scans(self.keys.count(), self.transactions, self.distribution, self.client);
        let streams = client::Streams::run(&workload, self.seed, pools.len());
        let terms = vec![terms; pools.len()];
        let drivers =
            client::of_kv(&pools, &streams, kv::Keys::Integers, &terms, self.token.as_ref());
        let measured = self.measure(pools, 1, drivers, self.seconds, stop)?;
        let whole = self.figures(&measured, |part| (part.ok_inside, part.outcomes));
        // Each operation is a request: nothing is counted by batches. What is redirected goes on elsewhere.
        Ok(Figures { sent_again: 0, unconnected: 0, ..whole })
    }

    fn measure<D: Driver + Send>(
        &self,
        pools: Vec<Pool>,
        targets: u32,
        drivers: Vec<D>,
        length: Nanos,
        stop: &AtomicBool,
    ) -> Result<(Measurement, Histogram), NotMeasured> {
        let pacing = Pacing::Closed { think: Think::NONE };
        let whole = Plan::whole(pools, pacing, length);
        let cpus = vec![None; usize::from(self.threads)];
        let plan = Plan { targets, drain: DRAIN, cpus, seed: self.seed, ..whole };
        let watchers = vec![Answered::default(); usize::from(self.threads)];
        let measured = measure(&plan, drivers, watchers, None, stop)?;
        let mut answered = Histogram::new();
        measured.watchers.iter().for_each(|Answered(times)| answered.add(times));
        Ok((measured.measurement, answered))
    }

    /// Sums up a load; `counts` returns what ended as hoped in the window, and all by outcome.
    fn figures(
        &self,
        (measurement, answered): &(Measurement, Histogram),
        counts: impl Fn(&Part) -> (u64, Outcomes),
    ) -> Figures {
        let (mut operations, mut ok, mut failed, mut unfinished) = (0, 0, 0, 0);
        let (mut sent_again, mut unconnected) = (0, 0);
        for part in &measurement.parts {
            let (inside, outcomes) = counts(part);
            operations += inside;
            ok += outcomes[Outcome::Ok as usize];
            failed += Outcome::failures(&outcomes);
            unfinished += outcomes[Outcome::Unfinished as usize];
            sent_again += part.redirected;
            unconnected += part.outcome(Outcome::Connect);
        }
        let silent = self.silent(measurement, |part| counts(part).1);
        let reasons = measurement.parts.iter().flat_map(|part| part.reasons.iter());
        let most = reasons.max_by_key(|(.., count)| *count).map(|(_, why, _)| why);
        let why = || silent.as_ref().map(|silent| silent.why.clone());
        let quantile = |level| Quantile::new(level).and_then(|level| answered.quantile(level));
        Figures {
            operations,
            ok,
            failed,
            why: most.map(unusable::without_option).or_else(why),
            unfinished,
            unwritten: 0,
            sent_again,
            unconnected,
            silent: silent.filter(|_| !measurement.partial),
            window: measurement.window.length(),
            median: quantile(0.5),
            p99: quantile(0.99),
            interrupted: measurement.partial,
        }
    }

    /// Finds the servers that did not answer everything. Each is a target, or all are one.
    fn silent(
        &self,
        measurement: &Measurement,
        outcomes: impl Fn(&Part) -> Outcomes,
    ) -> Option<Silent> {
        let Measurement { parts, refused, .. } = measurement;
        let reasons = parts.iter().map(|part| silence(part, &outcomes(part)));
        if parts.len() == self.servers.len() {
            let silent = self.servers.iter().zip(reasons);
            let silent = silent.filter_map(|(server, why)| Some((*server, why?)));
            let (servers, reasons): (Vec<_>, Vec<_>) = silent.unzip();
            return reasons.into_iter().next().map(|why| Silent { servers, why });
        }
        let is_refused = |server: &&SocketAddr| {
            refused.iter().any(|(address, _)| *address == Address::Inet(**server))
        };
        let servers = self.servers.iter().filter(is_refused).copied().collect();
        reasons.flatten().next().map(|why| Silent { servers, why })
    }
}

/// Counts by outcome.
type Outcomes = [u64; Outcome::ALL.len()];

/// Returns why a target did not answer everything, if it did not.
fn silence(part: &Part, outcomes: &Outcomes) -> Option<String> {
    if part.outcome(Outcome::Connect) != 0 {
        let reasons = part.reasons.iter().filter(|(outcome, ..)| *outcome == Outcome::Connect);
        let most = reasons.max_by_key(|(.., count)| *count);
        return Some(
            most.map_or("no connection".to_owned(), |(_, why, _)| unusable::without_option(why)),
        );
    }
    if part.outcome(Outcome::Timeout) != 0 {
        return Some(format!("no answer within {}", Limits::default().timeout.in_words()));
    }
    let is_awaited = outcomes[Outcome::Unfinished as usize] != 0;
    is_awaited.then(|| format!("no answer within {} after the end", DRAIN.in_words()))
}

/// The times of what was answered, of one thread. Those of the engine also count what was not, by the time that it
/// waited.
#[derive(Clone, Debug, Default)]
struct Answered(Histogram);

impl Observer for Answered {
    fn completed(&mut self, completion: &Completion) {
        let &Completion { start, done, outcome, .. } = completion;
        if let Some(start) = start.filter(|_| outcome.is_answer()) {
            self.0.record(done - start.sent);
        }
    }
}

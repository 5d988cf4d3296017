//! The operations of one shard.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use measure::Random;

use crate::acknowledged::Acknowledged;
use crate::keys;
use crate::workload::{Kind, Operation, Part, Requests, Workload};
use crate::zipf::{SCRAMBLED, Zeta, Zipf};

#[cfg(test)]
mod tests;

/// The state that the shards of a run share.
#[derive(Debug)]
pub struct Shared {
    inserts: Acknowledged,
    /// The operations so far that took their record from the distribution `sequential`.
    sequence: AtomicU64,
}

impl Shared {
    pub fn new(workload: &Workload) -> Shared {
        let inserts = Acknowledged::new(workload.record_count);
        Shared { inserts, sequence: AtomicU64::new(0) }
    }
}

/// The operations of one shard, one after the other. Whoever takes an insert also acknowledges it.
#[derive(Debug)]
pub struct Stream {
    workload: Arc<Workload>,
    random: Random,
    phase: Phase,
    /// The operations that remain; `None` if only time ends the run.
    remaining: Option<u64>,
    is_stuck: bool,
}

#[derive(Debug)]
enum Phase {
    Load { next: u64, step: u64 },
    Run { shared: Arc<Shared>, newest: Box<Newest> },
}

/// The ranks of the distribution `latest`, for the number of records at its last draw.
#[derive(Debug)]
pub(crate) struct Newest {
    zeta: Zeta,
    ranks: Zipf,
}

impl Stream {
    /// Inserts the records of the client, of which each shard has every `of`-th.
    pub fn load(workload: &Arc<Workload>, shard: Part, seed: u64) -> Stream {
        let share = workload.client.share(workload.insert_count);
        let (number, of) = (u64::from(shard.number), u64::from(shard.of));
        let remaining = (share.end - share.start).saturating_sub(number).div_ceil(of);
        let next = workload.insert_start + share.start + number;
        let phase = Phase::Load { next, step: of };
        Stream::new(workload, shard, seed, phase, Some(remaining))
    }

    /// Draws operations of the workload's mix.
    pub fn run(workload: &Arc<Workload>, shard: Part, seed: u64, shared: &Arc<Shared>) -> Stream {
        let newest = Box::new(Newest::default());
        let share = shard.share(workload.operation_count);
        let remaining = (workload.operation_count != 0).then_some(share.end - share.start);
        let phase = Phase::Run { shared: Arc::clone(shared), newest };
        Stream::new(workload, shard, seed, phase, remaining)
    }

    fn new(
        workload: &Arc<Workload>,
        shard: Part,
        seed: u64,
        phase: Phase,
        remaining: Option<u64>,
    ) -> Stream {
        let Part { number, of } = workload.client;
        // Clients with the same seed draw from streams of their own.
        let stream = u64::from(shard.number) * u64::from(of) + u64::from(number);
        let random = Random::part(seed, stream);
        Stream { workload: Arc::clone(workload), random, phase, remaining, is_stuck: false }
    }

    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    /// Returns true if no operation follows.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.remaining == Some(0) || self.is_stuck
    }

    /// Returns true if the stream ended early: an insert has had no answer for so many others that the window is full.
    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// Notes that an insert of this stream is answered, in whatever way: from now on it can be chosen.
    pub fn acknowledge(&mut self, record: u64) {
        if let Phase::Run { shared, .. } = &self.phase {
            shared.inserts.acknowledge(self.workload.own(record));
        }
    }

    /// Appends a value for a field of a record.
    #[inline]
    pub fn value(&mut self, record: u64, field: u16, out: &mut Vec<u8>) {
        self.workload.value(record, field, &mut self.random, out);
    }
}

impl Iterator for Stream {
    type Item = Operation;

    #[inline]
    fn next(&mut self) -> Option<Operation> {
        if self.has_ended() {
            return None;
        }
        let workload = &*self.workload;
        let random = &mut self.random;
        let operation = match &mut self.phase {
            Phase::Load { next, step } => {
                let record = *next;
                *next += *step;
                Operation { kind: Kind::Insert, record, length: 0, read: None, write: None }
            }
            Phase::Run { shared, newest } => {
                let kind = workload.kind(random.unit());
                let record = match kind {
                    Kind::Insert => match shared.inserts.take() {
                        Some(number) => number,
                        None => {
                            self.is_stuck = true;
                            return None;
                        }
                    },
                    _ => choose(workload, shared, newest, random),
                };
                let mut field = |is_all: bool| {
                    (!is_all).then(|| random.below(u64::from(workload.fields)) as u16)
                };
                let reads = matches!(kind, Kind::Read | Kind::Scan | Kind::ReadModifyWrite);
                let writes = matches!(kind, Kind::Update | Kind::ReadModifyWrite);
                let read = field(!reads || workload.reads_all_fields);
                let write = field(!writes || workload.writes_all_fields);
                let length = match kind {
                    Kind::Scan => workload.scan_lengths.draw(random),
                    _ => 0,
                };
                Operation { kind, record: workload.record(record), length, read, write }
            }
        };
        self.remaining = self.remaining.map(|remaining| remaining - 1);
        Some(operation)
    }
}

/// Draws the number of a record that exists, among those of the client.
#[inline]
fn choose(workload: &Workload, shared: &Shared, newest: &mut Newest, random: &mut Random) -> u64 {
    let last = shared.inserts.limit() - 1;
    let (start, count) = (workload.insert_start, workload.insert_count);
    match workload.requests {
        Requests::Uniform => start + random.below(count),
        Requests::Zipfian => loop {
            if let Some(record) = workload.scrambled(random.unit(), last) {
                return record;
            }
        },
        Requests::Latest => newest.draw(last, random.unit()),
        Requests::Hotspot { records, operations } => match random.unit() < operations {
            true => start + random.below(records),
            false => start + records + random.below(count - records),
        },
        Requests::Sequential => start + shared.sequence.fetch_add(1, Ordering::Relaxed) % count,
        Requests::Exponential { rate } => loop {
            if let Some(record) = exponential(last, rate, random.unit()) {
                return record;
            }
        },
    }
}

/// Returns the record at an exponential distance from the last one; `None` if it is before the first.
fn exponential(last: u64, rate: f64, u: f64) -> Option<u64> {
    last.checked_sub((-u.ln() / rate) as u64)
}

impl Default for Newest {
    fn default() -> Newest {
        let zeta = Zeta::default();
        Newest { ranks: Zipf::new(1, &zeta), zeta }
    }
}

impl Newest {
    pub(crate) fn draw(&mut self, last: u64, u: f64) -> u64 {
        // There are as many ranks as records without the first, which is never chosen unless it is the only one.
        let items = last.max(1);
        if self.ranks.items() != items {
            self.ranks = Zipf::new(items, &self.zeta);
        }
        last - self.ranks.rank(u).min(last)
    }
}

impl Workload {
    /// Returns the kind that a uniform number chooses.
    #[inline]
    pub(crate) fn kind(&self, u: f64) -> Kind {
        let chosen = self.cumulative.iter().position(|cumulative| u < *cumulative);
        Kind::ALL[chosen.expect("the last that is not empty is 1, and u is below")]
    }

    /// Returns the record that the distribution `zipfian` draws; `None` if it does not exist yet.
    #[inline]
    pub(crate) fn scrambled(&self, u: f64, last: u64) -> Option<u64> {
        let record = self.insert_start + keys::key(SCRAMBLED.rank(u)) % self.zipfian_records;
        (record <= last).then_some(record)
    }

    /// Returns the record with a number among those of the client. Of the records that a run inserts, each client has
    /// every `of`-th.
    #[inline]
    pub(crate) fn record(&self, own: u64) -> u64 {
        let Part { number, of } = self.client;
        match own.checked_sub(self.record_count) {
            None => own,
            Some(inserted) => self.record_count + inserted * u64::from(of) + u64::from(number),
        }
    }

    /// Returns the number of a record among those of the client.
    pub(crate) fn own(&self, record: u64) -> u64 {
        match record.checked_sub(self.record_count) {
            None => record,
            Some(inserted) => self.record_count + inserted / u64::from(self.client.of),
        }
    }
}

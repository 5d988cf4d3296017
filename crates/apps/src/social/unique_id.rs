//! The unique-id service: the numbers of posts. Those of users are made in the same way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use tonic::{Request, Response, Status, async_trait};

use super::api::unique_id::{self as api, UniqueIdReply, UniqueIdRequest};
use super::metrics::Metrics;
use super::{Process, Service, random};
use crate::kit::arguments::Common;
use crate::kit::health::Health;
use crate::kit::process;

#[cfg(test)]
mod tests;

/// The beginning of 2018, from which the original counts.
const BEGINNING: Duration = Duration::from_millis(1_514_764_800_000);

/// The bits of a number: of its replica, of its millisecond, of the numbers in this millisecond.
const MACHINE_BITS: u32 = 11;
const TIME_BITS: u32 = 40;
const COUNTER_BITS: u32 = 12;

#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    machine: Machine,

    #[command(flatten)]
    common: Common,
}

#[derive(Args, Clone, Copy)]
pub struct Machine {
    /// The number of this replica, which is part of every number that it makes. Without it a
    /// replica draws one, and 18 of them draw the same with a chance of 2 in 100,000; then a post is
    /// refused if its number is taken.
    #[arg(long = "machine", value_name = "N", value_parser = clap::value_parser!(u16).range(0..1 << MACHINE_BITS))]
    number: Option<u16>,
}

/// A source of numbers that only grow: the replica, the milliseconds since 2018, a counter.
pub struct Numbers {
    machine: u64,
    /// The first counter of a millisecond.
    first: u64,
    /// Time and counter of the last number.
    last: AtomicU64,
}

impl Numbers {
    pub fn of(machine: Machine) -> Result<Self, Status> {
        let drawn = random::number()?;
        let first = drawn >> MACHINE_BITS & ((1 << COUNTER_BITS) - 1);
        Ok(match machine.number {
            Some(number) => Numbers::new(number.into(), 0),
            None => Numbers::new(drawn & ((1 << MACHINE_BITS) - 1), first),
        })
    }

    fn new(machine: u64, first: u64) -> Self {
        Numbers { machine, first, last: AtomicU64::new(0) }
    }

    /// Returns a new number at a time since 1970. If the clock goes back, or a millisecond has no
    /// more numbers, it continues after the last one.
    pub fn next(&self, now: Duration) -> i64 {
        let milliseconds = now.saturating_sub(BEGINNING).as_millis() as u64;
        let moment = (milliseconds << COUNTER_BITS) + self.first;
        let later = |last: u64| moment.max(last + 1);
        let before =
            self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(later(last)));
        let moment = later(before.unwrap_or_else(|last| last));
        let moment = moment & ((1 << (TIME_BITS + COUNTER_BITS)) - 1);
        (self.machine << (TIME_BITS + COUNTER_BITS) | moment) as i64
    }
}

pub struct UniqueId {
    numbers: Numbers,
    metrics: Arc<Metrics>,
}

/// Runs a process of the service until a signal ends it.
pub fn run(Arguments { machine, common }: Arguments) -> anyhow::Result<()> {
    process::run(common, async |process: &Process| {
        let service = UniqueId::new(machine, Arc::clone(&process.metrics))?;
        Ok(process.page(Service::UniqueId, api::answering(Arc::new(service)), Health::default()))
    })
}

impl UniqueId {
    pub fn new(machine: Machine, metrics: Arc<Metrics>) -> Result<Self, Status> {
        Ok(UniqueId { numbers: Numbers::of(machine)?, metrics })
    }
}

#[async_trait]
impl api::UniqueId for UniqueId {
    async fn compose(
        &self,
        _: Request<UniqueIdRequest>,
    ) -> Result<Response<UniqueIdReply>, Status> {
        self.metrics.called(Service::UniqueId);
        Ok(Response::new(UniqueIdReply { id: self.numbers.next(now()) }))
    }
}

/// Returns the time since 1970.
#[expect(
    clippy::disallowed_methods,
    reason = "posts and their numbers have the time of the calendar"
)]
pub fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

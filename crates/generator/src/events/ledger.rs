//! The notes of a load's senders: one ledger for each shard.

use load::Outcome;
use load::measurement::Plan;
use load::observe::{Completion, Observer};
use load::pacing::Pacing;
use measure::Nanos;
use results::events::Sent;

use super::EventOptions;

/// The most events whose notes get memory: 3.2 GB, if they are all used.
const MOST_EVENTS: u64 = 50_000_000;

/// The notes of one shard's events.
pub(crate) struct Ledger {
    /// Those of each target.
    sent: Vec<Vec<Sent>>,
    room: u64,
    unnoted: u64,
}

impl Ledger {
    fn new(room: u64, targets: usize) -> Ledger {
        let of_each = room.div_ceil(targets as u64) as usize;
        let sent = (0..targets).map(|_| Vec::with_capacity(of_each)).collect();
        Ledger { sent, room: of_each as u64, unnoted: 0 }
    }
}

impl Observer for Ledger {
    fn completed(&mut self, completion: &Completion) {
        // What was never sent is no event.
        let Some(start) = completion.start else { return };
        let of_target = &mut self.sent[completion.of.target as usize];
        if self.room <= of_target.len() as u64 {
            self.unnoted += 1;
            return;
        }
        let times = (completion.intended, start.sent, completion.done);
        of_target.push(Sent::new(completion.number, outcome(completion), times));
    }
}

/// Returns the ledger of each shard, if anything is to be noted.
pub(crate) fn ledgers(
    is_noted: bool,
    wanted: Option<&EventOptions>,
    plan: &Plan,
) -> Vec<Option<Ledger>> {
    let shards = plan.cpus.len();
    let ledger = |wanted: &EventOptions| {
        Ledger::new(most_events(plan).div_ceil(shards as u64), wanted.sources.len())
    };
    (0..shards).map(|_| wanted.filter(|_| is_noted).map(ledger)).collect()
}

/// The notes of all shards.
pub(crate) struct Gathered {
    /// Those of each target.
    pub(super) senders: Vec<Vec<Sent>>,
    pub(super) unnoted: u64,
}

impl Gathered {
    pub(crate) fn of(ledgers: impl IntoIterator<Item = Ledger>) -> Gathered {
        let mut all = Gathered { senders: Vec::new(), unnoted: 0 };
        for ledger in ledgers {
            all.unnoted += ledger.unnoted;
            all.senders.resize_with(ledger.sent.len(), Vec::new);
            for (sender, part) in all.senders.iter_mut().zip(ledger.sent) {
                if sender.is_empty() { *sender = part } else { sender.extend(part) }
            }
        }
        all
    }
}

/// Returns the names of the outcomes of events, by their numbers.
pub(super) fn outcomes() -> Vec<String> {
    let others = Outcome::ALL[1..].iter().map(|outcome| outcome.name());
    std::iter::once("accepted").chain(others).map(str::to_owned).collect()
}

/// Returns the number of the outcome of an event.
fn outcome(completion: &Completion) -> u8 {
    let outcome = match completion.outcome {
        Outcome::Ok if !(200..300).contains(&completion.status) => Outcome::Status,
        other => other,
    };
    let number = Outcome::ALL.iter().position(|known| *known == outcome);
    number.expect("every outcome is in the list") as u8
}

/// Returns the number of events to have room for: those that the plan intends, and some more.
pub(super) fn most_events(plan: &Plan) -> u64 {
    let Pacing::Open { load, .. } = &plan.pacing else { unreachable!("events need an open loop") };
    let (load, end) = (load.after_warm_up(plan.warm_up), plan.warm_up + plan.measure);
    let seconds = |length: Nanos| length.as_secs_f64();
    let warm_up = load.mean_rate(Nanos::ZERO, plan.warm_up) * seconds(plan.warm_up);
    let measured = load.mean_rate(plan.warm_up, end) * seconds(plan.measure);
    let intended = (warm_up + measured) * f64::from(plan.targets);
    // Random arrivals deviate by far less.
    ((intended * 1.1) as u64 + 10_000).min(MOST_EVENTS)
}

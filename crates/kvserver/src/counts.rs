//! The counters of each shard, and the document that shows them.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use kv::LogRegions;
use wire::kv::{Opcode, Status, Verb};

use crate::operator::schema;

/// An event that a shard counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counted {
    Accepted,
    Closed,
    /// Connections beyond [`crate::bounds::MOST_CONNECTIONS`].
    Refused,
    /// Connections that were given to another shard after their HELLO.
    HandedOver,
    Malformed,
    TooSlow,
    /// Connections that were not read for a while, because replies or pending operations waited.
    Paused,
    /// Connections that held most when the memory for them was used up.
    HeldTooMuch,
    Batches,
    /// Batches that were answered from kept replies.
    Repeated,
    WrongViews,
    BytesIn,
    BytesOut,
    SessionsOpened,
    SessionsResumed,
}

impl Counted {
    const ALL: [(Counted, &str); 15] = [
        (Counted::Accepted, "accepted"),
        (Counted::Closed, "closed"),
        (Counted::Refused, "refused"),
        (Counted::HandedOver, "handed_over"),
        (Counted::Malformed, "malformed"),
        (Counted::TooSlow, "too_slow"),
        (Counted::Paused, "paused"),
        (Counted::HeldTooMuch, "held_too_much"),
        (Counted::Batches, "batches"),
        (Counted::Repeated, "repeated"),
        (Counted::WrongViews, "wrong_views"),
        (Counted::BytesIn, "bytes_in"),
        (Counted::BytesOut, "bytes_out"),
        (Counted::SessionsOpened, "sessions_opened"),
        (Counted::SessionsResumed, "sessions_resumed"),
    ];
}

const STATUSES: usize = Status::ALL.len();
/// The opcodes begin at 1.
const OPERATIONS: usize = (Opcode::ALL.len() + 1) * STATUSES;

/// The counters of a shard. Only this shard writes them; all may read them.
#[derive(Debug)]
pub struct Counts {
    events: [AtomicU64; Counted::ALL.len()],
    /// By opcode and status.
    operations: [AtomicU64; OPERATIONS],
    /// The pending operations that have ended.
    completed: AtomicU64,
    /// The operations that are pending.
    pending: AtomicU64,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts {
            events: [const { AtomicU64::new(0) }; Counted::ALL.len()],
            operations: [const { AtomicU64::new(0) }; OPERATIONS],
            completed: AtomicU64::new(0),
            pending: AtomicU64::new(0),
        }
    }
}

impl Counts {
    pub fn of(&self, event: Counted) -> u64 {
        self.events[event as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self, event: Counted, number: usize) {
        add(&self.events[event as usize], number as u64);
    }

    /// Counts a batch of operations. Most batches have one kind and one status.
    pub(crate) fn count_batch(&self, opcodes: &[u8], statuses: &[u8]) {
        let (Some(&opcode), Some(&status)) = (opcodes.first(), statuses.first()) else { return };
        let is_uniform = opcodes.iter().all(|other| *other == opcode)
            && statuses.iter().all(|other| *other == status);
        if is_uniform {
            add(&self.operations[place(opcode, status)], opcodes.len() as u64);
            return;
        }
        let mut local = [0u64; OPERATIONS];
        for (&opcode, &status) in opcodes.iter().zip(statuses) {
            local[place(opcode, status)] += 1;
        }
        for (counter, number) in self.operations.iter().zip(local).filter(|(_, n)| *n != 0) {
            add(counter, number);
        }
    }

    pub(crate) fn count_one(&self, opcode: Opcode, status: Status) {
        add(&self.operations[place(opcode as u8, status as u8)], 1);
    }

    /// Counts a pending operation that has ended.
    pub(crate) fn completed(&self) {
        add(&self.completed, 1);
    }

    pub(crate) fn set_pending(&self, pending: usize) {
        self.pending.store(pending as u64, Ordering::Relaxed);
    }

    /// The operations of one kind that ended in this way, or became pending.
    pub fn operations(&self, opcode: Opcode, status: Status) -> u64 {
        self.operations[place(opcode as u8, status as u8)].load(Ordering::Relaxed)
    }
}

fn place(opcode: u8, status: u8) -> usize {
    usize::from(opcode) * STATUSES + usize::from(status)
}

/// Adds to a counter that only this thread writes.
fn add(counter: &AtomicU64, number: u64) {
    counter.store(counter.load(Ordering::Relaxed).wrapping_add(number), Ordering::Relaxed);
}

/// The state of the store that is shown with the counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct StoreState {
    /// The newest checkpoint that is durable, or zero.
    pub(crate) durable: u64,
    pub(crate) is_checkpointing: bool,
    /// The version of the last checkpoint, if it was not completed, and why.
    pub(crate) failed: Option<(u64, String)>,
    pub(crate) log: LogRegions,
    pub(crate) compactions: u64,
    pub(crate) is_compacting: bool,
    pub(crate) buckets: u64,
    pub(crate) chains: u64,
    pub(crate) is_growing: bool,
}

/// Returns a JSON object for each shard, one for their sums, those of the store, and what is said of pinned
/// interrupts.
pub(crate) fn document(shards: &[Counts], store: &StoreState, pinned: Option<&str>) -> String {
    let mut text = format!("{{\"schema\":\"{}\",\"total\":", schema(Verb::Stats));
    write_object(shards, &mut text);
    text.push_str(",\"shards\":[");
    for (index, shard) in shards.iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        write_object(std::slice::from_ref(shard), &mut text);
    }
    text.push_str("],\"checkpoint\":");
    write_checkpoint(store, &mut text);
    let pinned = pinned.map_or(String::new(), |pinned| format!(",\"pin_irq\":{pinned}"));
    let StoreState { log, compactions, is_compacting, buckets, chains, is_growing, .. } = store;
    let LogRegions { stored, read_only, mutable } = log;
    let written = write!(
        text,
        ",\"log\":{{\"bytes\":{},\"mutable\":{mutable},\"read_only\":{read_only},\"stored\":{stored},\
         \"compactions\":{compactions},\"compacting\":{is_compacting}}},\
         \"index\":{{\"buckets\":{buckets},\"growing\":{is_growing},\"chains\":{chains}}}{pinned}}}",
        log.total()
    );
    written.expect("a string takes all");
    text
}

fn write_checkpoint(store: &StoreState, text: &mut String) {
    let StoreState { durable, is_checkpointing, failed, .. } = store;
    let failed = failed.as_ref().map_or("null".to_owned(), |(version, why)| {
        let why: String = why.chars().filter(|c| !c.is_control() && !"\"\\".contains(*c)).collect();
        format!("{{\"version\":{version},\"why\":\"{why}\"}}")
    });
    let written = write!(
        text,
        "{{\"durable\":{durable},\"running\":{is_checkpointing},\"failed\":{failed}}}"
    );
    written.expect("a string takes all");
}

fn write_object(shards: &[Counts], text: &mut String) {
    let write = |text: &mut String, name: &str, value: u64| {
        write!(text, "\"{name}\":{value}").expect("a string takes all");
    };
    text.push('{');
    for (event, name) in Counted::ALL {
        write(text, name, shards.iter().map(|shard| shard.of(event)).sum());
        text.push(',');
    }
    let completed = |shard: &Counts| shard.completed.load(Ordering::Relaxed);
    write(text, "completed", shards.iter().map(completed).sum());
    text.push(',');
    let pending = |shard: &Counts| shard.pending.load(Ordering::Relaxed);
    write(text, "pending", shards.iter().map(pending).sum());
    text.push_str(",\"operations\":{");
    let mut is_first = true;
    for opcode in Opcode::ALL {
        for status in Status::ALL {
            let number: u64 = shards.iter().map(|shard| shard.operations(opcode, status)).sum();
            if number != 0 {
                text.push_str(if is_first { "" } else { "," });
                is_first = false;
                write(text, &format!("{}.{}", opcode.name(), status.name()), number);
            }
        }
    }
    text.push_str("}}");
}

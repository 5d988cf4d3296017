//! The common parts of the bindings to servers: labels, the end of inserts, and the steps of reads.

use std::sync::Arc;

use load::driver::Fault;
use load::driver::parts::{Steps, Verdict};
use load::{Label, Outcome};
use measure::{Nanos, Random};

use crate::measurements::{Name, Status};
use crate::settings::Retries;
use crate::stream::Stream;
use crate::workload::{Kind, Operation, Workload};

#[cfg(test)]
mod tests;

/// The names of the labels, in their order.
pub const LABELS: [Name; 6] =
    [Name::Read, Name::Update, Name::Insert, Name::Scan, Name::ReadModifyWrite, Name::Verify];

/// The label of the comparisons of what was read, with `dataintegrity`.
pub const VERIFY: Label = Label(Name::Verify as u16);

/// The details of an operation whose record is not there, where the store says so.
pub const ABSENT: &str = "NOT_FOUND";
/// The details of a read with a value that does not belong to its record.
pub const WRONG: &str = "UNEXPECTED_STATE";

/// The label of a kind of operations.
#[inline]
pub fn label(kind: Kind) -> Label {
    Label(Name::from(kind) as u16)
}

/// The name of a label.
pub fn name(label: Label) -> Option<Name> {
    LABELS.get(usize::from(label.0)).copied()
}

/// The status of an operation, or of a comparison, that has ended.
pub fn status(name: Name, outcome: Outcome, why: &str) -> Status {
    match outcome {
        Outcome::Ok => Status::Ok,
        // A read has what it has found; that this is wrong is said by its comparison.
        Outcome::Check if name == Name::Verify => Status::UnexpectedState,
        Outcome::Check => Status::Ok,
        Outcome::Status if why == ABSENT => Status::NotFound,
        Outcome::Status | Outcome::Capture | Outcome::Malformed => Status::Error,
        Outcome::Timeout
        | Outcome::Connect
        | Outcome::Reset
        | Outcome::Write
        | Outcome::Dropped
        | Outcome::Unfinished => match name {
            // Nothing was there to compare.
            Name::Verify => Status::Error,
            _ => Status::ServiceUnavailable,
        },
    }
}

/// A shard's stream, of which inserts end.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) stream: Stream,
    /// True if an insert that failed ends the stream.
    stops_on_failure: bool,
    has_failed: bool,
    retries: Option<(Retries, Random)>,
}

impl Source {
    pub(crate) fn new(stream: Stream, stops_on_failure: bool) -> Source {
        Source { stream, stops_on_failure, has_failed: false, retries: None }
    }

    pub(crate) fn workload(&self) -> Arc<Workload> {
        Arc::clone(self.stream.workload())
    }

    #[inline]
    pub(crate) fn next(&mut self) -> Result<Operation, Fault> {
        self.stream.next().ok_or_else(|| {
            Fault(
                "an insert had no answer while a million others were sent, so no further record can \
                 be read; use a shorter timeout"
                    .to_owned(),
            )
        })
    }

    /// Repeats inserts that fail, each after a pause of its own.
    pub(crate) fn repeat(&mut self, retries: Retries, seed: u64) {
        self.retries = Some((retries, Random::new(seed)));
    }

    /// Returns the pause before an insert that failed is repeated, and counts the attempt.
    pub(crate) fn retry(
        &mut self,
        operation: &Operation,
        attempts: &mut u32,
        outcome: Outcome,
    ) -> Option<Nanos> {
        let (retries, random) = self.retries.as_mut()?;
        let is_failed = operation.kind == Kind::Insert && outcome != Outcome::Ok;
        if !is_failed || retries.limit <= *attempts {
            return None;
        }
        *attempts += 1;
        Some(Nanos((retries.wait.0 as f64 * (0.8 + 0.4 * random.unit())) as u64))
    }

    /// Notes the end of an operation, answered or not.
    pub(crate) fn ended(&mut self, operation: &Operation, outcome: Outcome) {
        if operation.kind == Kind::Insert {
            self.stream.acknowledge(operation.record);
            self.has_failed |= self.stops_on_failure && outcome != Outcome::Ok;
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.stream.has_ended() || self.has_failed
    }
}

/// Reports the steps that end with a read: the read itself if more follows, and its comparison.
pub(crate) fn read_ended(workload: &Workload, kind: Kind, verdict: Verdict, steps: &mut Steps<'_>) {
    let Verdict { outcome, .. } = verdict;
    if kind == Kind::ReadModifyWrite {
        steps.ended(label(Kind::Read), outcome);
    }
    if workload.data_integrity && kind != Kind::Scan {
        steps.ended(VERIFY, outcome);
    }
}

//! The end of a phase: what its figures do not say, and its exit code.

use console::output::Exit;
use generator::ycsb::client::{Done, PATIENCE};
use measure::Nanos;
use measure::quantity::{counted, first_of};
use ycsb::measurements::{Name, Status};
use ycsb::settings::{Phase, Settings};

#[cfg(test)]
mod tests;

/// A phase that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ending<'a> {
    pub(super) settings: &'a Settings,
    pub(super) done: &'a Done,
    /// The places of the servers, in the order of their list.
    pub(super) places: &'a [String],
}

impl Ending<'_> {
    /// The servers that left operations without an answer.
    pub(super) fn failed_servers(&self) -> Vec<String> {
        self.done.failed_servers.iter().map(|server| self.places[*server].clone()).collect()
    }

    /// The records of a load that were not inserted; `None` of a run.
    pub(super) fn uninserted(&self) -> Option<u64> {
        let of_load = self.settings.phase == Phase::Load;
        let records = self.settings.operations.filter(|_| of_load)?;
        let inserts = self.done.ran.measurements.names().find(|(name, _)| *name == Name::Insert);
        let inserted = inserts.map_or(0, |(_, inserts)| inserts.statuses[Status::Ok as usize]);
        Some(records.saturating_sub(inserted))
    }

    /// True if an operation failed, not only an attempt that was repeated.
    fn has_failed(&self) -> bool {
        self.done.retried < self.done.ran.measurements.failed()
    }

    /// True if an insert that failed ended the load.
    fn has_stopped(&self) -> bool {
        let Settings { phase, retries, .. } = self.settings;
        *phase == Phase::Load && !retries.goes_on && self.has_failed()
    }

    /// True if the target was too high: operations waited at the end, and no server that left others without an
    /// answer explains it.
    fn is_late(&self) -> bool {
        let Done { ran, failed_servers, .. } = self.done;
        let is_whole = !ran.is_interrupted && !self.has_stopped() && failed_servers.is_empty();
        is_whole && self.settings.target.is_some() && Nanos::ZERO < ran.late
    }

    /// Returns what the user should know, in lines for stderr.
    pub(super) fn messages(&self) -> Vec<String> {
        let Done { ran, is_overloaded, why, is_given_up, .. } = self.done;
        let failed = self.failed_servers();
        let failed = (!failed.is_empty())
            .then(|| format!("operations had no answer from {}", named(&failed)));
        let why = why.map(|why| format!("the first failure that has a reason: {why}"));
        let failures: Vec<String> = failed.into_iter().chain(why).collect();
        let mut messages = Vec::new();
        if !failures.is_empty() {
            messages.push(format!("warning: {}", failures.join("; ")));
        }
        if *is_given_up {
            let phase = match self.settings.phase {
                Phase::Load => "load",
                Phase::Run => "run",
            };
            messages.push(format!(
                "error: the {phase} ended early: {} gave no answer for {}, and the result is that of the time until \
                 then\n  look there, and {phase} again",
                named(self.places),
                PATIENCE.in_words()
            ));
        } else if *is_overloaded {
            messages.push(
                "warning: the run ended early: a million operations waited for their turn; use a lower target, or more \
                 threads"
                    .to_owned(),
            );
        }
        messages.extend(self.missing());
        let unfinished = counted(ran.unfinished);
        if self.is_late() {
            messages.push(format!(
                "warning: {unfinished} operations were due and had not ended with the run, which was {} late: the \
                 target is too high; use a lower one, or more threads",
                ran.late
            ));
        } else if ran.unfinished != 0 && !is_given_up && !is_overloaded && !self.has_stopped() {
            messages.push(format!(
                "warning: {unfinished} operations had not ended with the run; they are not counted"
            ));
        }
        messages
    }

    /// Says how many records a load has not inserted, and why.
    fn missing(&self) -> Option<String> {
        let missing = self.uninserted().filter(|missing| 0 < *missing)?;
        if self.done.ran.is_interrupted {
            // Who ended it knows.
            return None;
        }
        let all = counted(self.settings.operations?);
        let (why, remedy) = match () {
            () if self.has_stopped() => (
                ": the load ends at an insert that fails",
                "mend the cause, and load again; core_workload_insertion_retry_limit repeats inserts that fail",
            ),
            () if self.has_failed() || self.done.is_given_up => {
                ("", "mend the cause, and load again")
            }
            () if self.done.is_overloaded => ("", "load again"),
            () => (": maxexecutiontime was over", "set a longer one, and load again"),
        };
        let missing = counted(missing);
        Some(format!("error: {missing} of {all} records were not inserted{why}\n  {remedy}"))
    }

    pub(super) fn exit(&self) -> Exit {
        let Done { ran, is_overloaded, is_given_up, .. } = self.done;
        match () {
            () if ran.is_interrupted => Exit::Interrupted,
            () if *is_given_up => Exit::NoAnswer,
            () if self.has_failed() => Exit::No,
            () if *is_overloaded || self.is_late() => Exit::NoAnswer,
            () if ran.unfinished != 0 => Exit::No,
            () => Exit::Answered,
        }
    }
}

/// Names the servers, the first ones of many.
pub(super) fn named(places: &[String]) -> String {
    match places {
        [one] => format!("the server {one}"),
        several => format!("the servers {}", first_of(several, 4)),
    }
}

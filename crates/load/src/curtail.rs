//! The early end of a load that has missed an objective whatever follows.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::measure::estimate::{Enough, LEAST_CURTAILED};
use ::measure::{Instant, Nanos};

use crate::driver::Outcome;
use crate::observe::{Completion, Observer, Window};

#[cfg(test)]
mod tests;

/// The requests over each objective so far, of all shards.
#[derive(Debug)]
pub(crate) struct Curtailment {
    counted: Vec<(Enough, AtomicU64)>,
    missed: AtomicBool,
}

impl Curtailment {
    /// Without objectives the load runs for its whole time.
    pub(crate) fn of(enough: &[Enough]) -> Curtailment {
        let counted = enough.iter().map(|&enough| (enough, AtomicU64::new(0))).collect();
        Curtailment { counted, missed: AtomicBool::new(false) }
    }

    /// The flag that ends the load.
    pub(crate) fn missed(&self) -> &AtomicBool {
        &self.missed
    }

    /// Returns the observer of one shard.
    pub(crate) fn counter(&self) -> Counter<'_> {
        Counter { curtailment: self, window: Window::default() }
    }
}

/// Counts the requests over the limits of one shard.
#[derive(Debug)]
pub(crate) struct Counter<'a> {
    curtailment: &'a Curtailment,
    window: Window,
}

impl Observer for Counter<'_> {
    fn begin(&mut self, _start: Instant, window: Window) {
        self.window = window;
    }

    fn completed(&mut self, completion: &Completion) {
        if !self.window.contains(completion.intended) {
            return;
        }
        for (enough, counted) in &self.curtailment.counted {
            if is_over(completion, enough.limit) {
                let counted = 1 + counted.fetch_add(1, Ordering::Relaxed);
                let first = self.window.start + LEAST_CURTAILED;
                if enough.requests <= counted && first <= completion.done {
                    self.curtailment.missed.store(true, Ordering::Relaxed);
                }
            }
        }
    }
}

/// Returns true if a request is over a limit even without its own lateness.
fn is_over(completion: &Completion, limit: Option<Nanos>) -> bool {
    let late = completion.start.map(|start| start.lateness(completion.intended));
    let took = completion.response_time().saturating_sub(late.unwrap_or_default());
    completion.outcome != Outcome::Ok || limit.is_some_and(|limit| limit < took)
}

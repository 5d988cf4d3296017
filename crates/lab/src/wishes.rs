//! The wishes of the user who watches a run. They never change what a trial measures, nor which trial
//! is next: that follows from the plan and the journal alone.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the user's keys, and read by the runner between its steps.
#[derive(Debug, Default)]
pub struct Wishes {
    /// No further trial begins.
    pause: AtomicBool,
    /// The load that is being made ends, and its trial is made again.
    repeat: AtomicBool,
    /// The wait for a calm machine ends.
    end_wait: AtomicBool,
}

impl Wishes {
    /// Pauses after the trial that is running, or continues; returns true if it will pause.
    pub fn toggle_pause(&self) -> bool {
        !self.pause.fetch_xor(true, Ordering::Relaxed)
    }

    pub fn is_paused(&self) -> bool {
        self.pause.load(Ordering::Relaxed)
    }

    /// Ends the load that is being made. Its trial is recorded as not valid, with this as the reason,
    /// and repeated like any other that is not.
    pub fn repeat_trial(&self) {
        self.repeat.store(true, Ordering::Relaxed);
    }

    /// Ends the wait for a calm machine. The journal records how long it was.
    pub fn end_wait(&self) {
        self.end_wait.store(true, Ordering::Relaxed);
    }

    pub fn repeats_trial(&self) -> bool {
        self.repeat.load(Ordering::Relaxed)
    }

    pub fn ends_wait(&self) -> bool {
        self.end_wait.load(Ordering::Relaxed)
    }

    /// Forgets the wishes about an earlier step.
    pub(crate) fn begin_step(&self) {
        self.repeat.store(false, Ordering::Relaxed);
        self.end_wait.store(false, Ordering::Relaxed);
    }
}

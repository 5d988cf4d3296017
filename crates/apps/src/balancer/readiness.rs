//! The readiness of a replica, by the results of its probes: a pure rule.

use std::num::NonZeroU32;

#[cfg(test)]
mod tests;

/// The numbers of equal results in a row that change the readiness.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    pub failures: NonZeroU32,
    pub successes: NonZeroU32,
}

/// The readiness of a replica: not ready at first.
#[derive(Clone, Copy, Debug, Default)]
pub struct Readiness {
    is_ready: bool,
    /// The results in a row that speak for the other state.
    against: u32,
}

impl Readiness {
    pub fn is_ready(self) -> bool {
        self.is_ready
    }

    /// Takes the result of a probe; returns true if it changes the readiness.
    pub fn probed(&mut self, succeeded: bool, thresholds: Thresholds) -> bool {
        if succeeded == self.is_ready {
            self.against = 0;
            return false;
        }
        self.against = self.against.saturating_add(1);
        let threshold = if self.is_ready { thresholds.failures } else { thresholds.successes };
        let changes = threshold.get() <= self.against;
        if changes {
            *self = Readiness { is_ready: !self.is_ready, against: 0 };
        }
        changes
    }
}

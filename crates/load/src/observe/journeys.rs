//! The figures of sessions: how many began, ended well, or at which request and why they did not.

use std::collections::BTreeMap;

use ::measure::Histogram;

use super::SessionEnd;
use crate::driver::{Label, Outcome};

/// The figures of the sessions that arrived inside the window.
#[derive(Clone, Debug, Default)]
pub struct Journeys {
    pub started: u64,
    pub completed: u64,
    /// The sessions that were neither complete nor broken off when the load ended.
    pub unfinished: u64,
    /// The number of requests of all of them.
    pub requests: u64,
    /// The times from the intended start to the last response, with the think times, of complete ones.
    pub time: Histogram,
    broken: BTreeMap<Break, u64>,
}

/// The request at which sessions broke off, its outcome with the status, and the reason.
type Break = (Label, Outcome, u16, &'static str);

impl Journeys {
    /// Returns the label of the request at which sessions broke off, its outcome, the reason and the
    /// number of these sessions.
    pub fn broken(&self) -> impl Iterator<Item = (Label, Outcome, String, u64)> {
        self.broken.iter().map(|(&(label, outcome, status, why), &count)| match outcome {
            Outcome::Status if why.is_empty() => (label, outcome, status.to_string(), count),
            _ => (label, outcome, why.to_owned(), count),
        })
    }

    pub(super) fn count(&mut self, end: &SessionEnd) {
        let &SessionEnd { intended, requests, done, label, outcome, status, why, .. } = end;
        self.requests += u64::from(requests);
        match outcome {
            Outcome::Ok => {
                self.completed += 1;
                self.time.record(done - intended);
            }
            Outcome::Unfinished => self.unfinished += 1,
            _ => {
                let status = if outcome == Outcome::Status { status } else { 0 };
                // The few reasons that there are occur early; then nothing is allocated.
                *self.broken.entry((label, outcome, status, why)).or_default() += 1;
            }
        }
    }

    pub(super) fn add(&mut self, other: &Journeys) {
        self.started += other.started;
        self.completed += other.completed;
        self.unfinished += other.unfinished;
        self.requests += other.requests;
        self.time.add(&other.time);
        for (&at, count) in &other.broken {
            *self.broken.entry(at).or_default() += count;
        }
    }
}

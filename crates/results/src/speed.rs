//! The speed of the machine in a trial, relative to the other trials of its run.
//!
//! While a trial measures, the runner times short fixed pieces of work on the CPUs of the system
//! under test. Their times have no meaning of their own: a CPU is slow if they take longer than
//! usual, and usual is the median of the run.

use std::collections::BTreeMap;

use measure::estimate::{mean, median};

use crate::journal::{Entry, Purpose};

#[cfg(test)]
mod tests;

/// A machine below this part of its usual speed is called slow.
pub const SLOW: f64 = 0.9;

/// The fewest trials whose median is usual while a run is going on.
pub const LEAST_TRIALS: usize = 5;

/// The usual time of each piece of work, in nanoseconds, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usual(BTreeMap<String, f64>);

impl Usual {
    /// Returns the usual times that these are.
    pub fn from_times(times: impl IntoIterator<Item = (String, f64)>) -> Usual {
        Usual(times.into_iter().collect())
    }

    /// Returns the medians over the trials that are evidence.
    pub fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Usual {
        let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        let entries = entries.into_iter().filter(|entry| counts(entry));
        for observed in entries.filter_map(|entry| entry.observed.as_ref()) {
            for (work, ns) in &observed.work_ns {
                all.entry(work).or_default().push(*ns);
            }
        }
        let usual = |(work, times): (&str, Vec<f64>)| Some((work.to_owned(), median(&times)?));
        Usual(all.into_iter().filter_map(usual).collect())
    }

    /// Returns the medians of a run that is going on; `None` below the fewest trials.
    pub fn so_far<'a>(entries: impl Iterator<Item = &'a Entry> + Clone) -> Option<Usual> {
        let timed = entries.clone().filter(|entry| counts(entry)).filter(|entry| {
            entry.observed.as_ref().is_some_and(|observed| !observed.work_ns.is_empty())
        });
        (LEAST_TRIALS <= timed.count()).then(|| Usual::of(entries))
    }

    /// Returns the speed relative to the usual one: the geometric mean, over the pieces of work, of
    /// the usual time over this one. `None` if no piece was timed here and usually.
    pub fn speed<'a>(&self, work_ns: impl IntoIterator<Item = (&'a str, f64)>) -> Option<f64> {
        let log = |(work, ns): (&str, f64)| {
            let usual = self.0.get(work)?;
            (0.0 < ns && 0.0 < *usual).then(|| (usual / ns).ln())
        };
        let logs: Vec<f64> = work_ns.into_iter().filter_map(log).collect();
        (!logs.is_empty()).then(|| mean(&logs).exp())
    }

    /// Returns the speed of the machine in a trial.
    pub fn speed_in(&self, entry: &Entry) -> Option<f64> {
        let work = &entry.observed.as_ref()?.work_ns;
        self.speed(work.iter().map(|(work, ns)| (work.as_str(), *ns)))
    }
}

/// A trial that is no evidence says nothing about what is usual.
fn counts(entry: &Entry) -> bool {
    entry.purpose == Purpose::Trial && entry.status.answers()
}

//! The trials that a plan still needs, by those that have ended.

use lab::course::{Ending, Outlined};
use measure::Nanos;
use results::Entry;
use results::journal::{Purpose, Status};

#[cfg(test)]
mod tests;

/// One strand of a plan, and how far it is.
pub(crate) struct Strand {
    pub(crate) outlined: Outlined,
    /// The trials that have ended and that the plan counts.
    done: u64,
    /// Absent while it needs trials.
    pub(crate) ending: Option<Ending>,
}

/// The trials that open strands still need, with their time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Needed {
    /// The usual number; the fewest if nothing is known of the usual one.
    pub(crate) trials: u64,
    pub(crate) time: Nanos,
    pub(crate) is_usual: bool,
    pub(crate) most: u64,
    pub(crate) longest: Nanos,
}

impl Strand {
    pub(crate) fn new(outlined: Outlined) -> Strand {
        Strand { outlined, done: 0, ending: None }
    }

    /// Takes a trial that ended: probes and trials that are not valid do not count.
    pub(crate) fn end(&mut self, entry: &Entry) {
        let counts = entry.purpose != Purpose::Probe && entry.status != Status::Invalid;
        self.done += u64::from(counts);
    }

    pub(crate) fn done(&self) -> u64 {
        self.done
    }

    /// Returns the fewest trials that it still needs while it is open.
    pub(crate) fn fewest(&self) -> u64 {
        self.outlined.fewest.saturating_sub(self.done).max(1).min(self.most())
    }

    /// Returns the number of trials that it usually still needs while it is open.
    fn usual(&self) -> u64 {
        let usual = self.outlined.usual.unwrap_or_default().saturating_sub(self.done);
        usual.max(self.fewest()).min(self.most())
    }

    fn most(&self) -> u64 {
        self.outlined.most.saturating_sub(self.done)
    }
}

/// Returns the index of the strand of a trial.
pub(crate) fn strand_of(entry: &Entry) -> usize {
    entry.strand.map_or(0, |number| number as usize - 1)
}

/// Returns the trials that all open strands together still need.
pub(crate) fn needed<'a>(strands: impl Iterator<Item = &'a Strand> + Clone) -> Needed {
    let open = strands.filter(|strand| strand.ending.is_none());
    let sum = |of: fn(&Strand) -> u64| -> (u64, Nanos) {
        let each = open.clone().map(|strand| (of(strand), strand.outlined.trial * of(strand)));
        each.fold((0, Nanos::ZERO), |(n, time), (more, longer)| (n + more, time + longer))
    };
    let is_usual = open.clone().all(|strand| strand.outlined.usual.is_some());
    let (trials, time) = sum(if is_usual { Strand::usual } else { Strand::fewest });
    let (most, longest) = sum(Strand::most);
    Needed { trials, time, is_usual, most, longest }
}

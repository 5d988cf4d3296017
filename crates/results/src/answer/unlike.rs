//! The trials in which an answer and the journal that it was made from differ. The journal has what was measured, so
//! an answer that says otherwise was changed, or the journal was.

use std::collections::BTreeMap;

use super::{Answer, MOST_LISTED, trials_in_words};
use crate::journal::Entry;

/// The numbers of the trials that differ.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Unlike {
    /// Those of the answer that the journal does not have.
    pub gone: Vec<u32>,
    /// Those that both have, each with other words or figures.
    pub changed: Vec<u32>,
    /// Those of the journal that the answer does not have.
    pub added: Vec<u32>,
}

impl Unlike {
    pub fn has(&self, trial: u32) -> bool {
        [&self.gone, &self.changed, &self.added].into_iter().any(|trials| trials.contains(&trial))
    }

    /// Returns a sentence for each kind of difference.
    pub fn in_words(&self) -> Vec<String> {
        let kinds = [
            (&self.gone, "answer.json counts what journal.jsonl does not have"),
            (&self.changed, "answer.json and journal.jsonl say different things"),
            (&self.added, "journal.jsonl has what answer.json does not count"),
        ];
        let named = kinds.into_iter().filter(|(trials, _)| !trials.is_empty());
        named
            .map(|(trials, what)| format!("{}: {what}", trials_in_words(trials, MOST_LISTED)))
            .collect()
    }
}

impl Answer {
    /// Returns the trials in which this answer and the journal of its directory differ.
    pub fn unlike(&self, journal: &[Entry]) -> Unlike {
        let mut left: BTreeMap<u32, &Entry> =
            journal.iter().map(|entry| (entry.trial, entry)).collect();
        let mut unlike = Unlike::default();
        for kept in &self.trials {
            match left.remove(&kept.trial) {
                None => unlike.gone.push(kept.trial),
                Some(entry) if !is_copy(kept, entry) => unlike.changed.push(kept.trial),
                Some(_) => {}
            }
        }
        unlike.added = left.into_keys().collect();
        unlike
    }
}

/// Returns true if one is a copy of the other. A trial whose files could not be read, now or when the answer was
/// made, is not valid in the one that saw it.
fn is_copy(kept: &Entry, entry: &Entry) -> bool {
    let Entry { status, reasons, unread, .. } = entry.clone();
    let kept = match unread.is_empty() && kept.status.answers() {
        true => Entry { unread, ..kept.clone() },
        false => Entry { status, reasons, unread, ..kept.clone() },
    };
    kept == *entry
}

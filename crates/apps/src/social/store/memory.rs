//! The timelines in memory: sorted sets of posts, one of each kind for each user.
//!
//! Each keeps its newest posts up to a length, and all of them together have a bound. What changed
//! since a noted state can be undone: to repeat all additions takes seconds when there are millions.

use std::collections::{HashMap, VecDeque};

use crate::social::api::stored::timelines::{Addition, Kind};

#[cfg(test)]
mod tests;

/// A post in a timeline: its time in milliseconds since 1970, and its number.
type Entry = (i64, i64);

/// The bounds of the timelines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The most posts of one timeline; older ones are dropped.
    pub(super) length: usize,
    /// The most posts of all timelines together; further ones are refused.
    pub(super) entries: usize,
}

pub(super) struct Timelines {
    of_kind: [HashMap<i64, VecDeque<Entry>>; 2],
    entries: [usize; 2],
    bounds: Bounds,
    /// The changes since the noted state; `None` if there is none, or if they are too many.
    changes: Option<Vec<Change>>,
}

/// The most changes that are kept; one takes 56 bytes.
const MOST_CHANGES: usize = 1_000_000;

/// A post that came to a timeline, and the oldest one if that was dropped for it.
struct Change {
    kind: usize,
    user: i64,
    added: Entry,
    dropped: Option<Entry>,
}

/// Posts that are delivered at the same time come in any order: an entry is nearly always among this
/// many newest ones.
const NEAR: usize = 64;

/// Returns the place of an entry in a timeline, or as an error the place where it belongs.
fn place(timeline: &VecDeque<Entry>, entry: Entry) -> Result<usize, usize> {
    let newer = timeline.iter().rev().take(NEAR).take_while(|other| entry < **other).count();
    if newer == NEAR {
        return timeline.binary_search(&entry);
    }
    match (timeline.len() - newer).checked_sub(1) {
        Some(place) if timeline[place] == entry => Ok(place),
        before => Err(before.map_or(0, |place| place + 1)),
    }
}

impl Timelines {
    pub(super) fn new(bounds: Bounds) -> Self {
        Timelines { of_kind: Default::default(), entries: [0; 2], bounds, changes: None }
    }

    /// Returns true if there is room for this many more posts.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.entries.iter().sum::<usize>() + more <= self.bounds.entries
    }

    /// Adds a post to the timelines of users, unless they have it.
    pub(super) fn add(&mut self, addition: &Addition) {
        let entry = (addition.timestamp, addition.post_id);
        let kind = addition.kind() as usize;
        for user in &addition.user_ids {
            let timeline = self.of_kind[kind].entry(*user).or_default();
            let Err(place) = place(timeline, entry) else { continue };
            let is_full = timeline.len() == self.bounds.length;
            let dropped = match (is_full, place) {
                // It is older than all that are kept.
                (true, 0) => continue,
                (true, place) => {
                    let dropped = timeline.pop_front();
                    timeline.insert(place - 1, entry);
                    dropped
                }
                (false, place) => {
                    timeline.insert(place, entry);
                    self.entries[kind] += 1;
                    None
                }
            };
            if let Some(changes) = &mut self.changes {
                changes.push(Change { kind, user: *user, added: entry, dropped });
            }
        }
        if self.changes.as_ref().is_some_and(|changes| MOST_CHANGES < changes.len()) {
            self.changes = None;
        }
    }

    /// Notes the present state.
    pub(super) fn note(&mut self) {
        self.changes = Some(Vec::new());
    }

    /// Returns to the noted state, if what changed since is known.
    pub(super) fn undo(&mut self) -> bool {
        let Some(mut changes) = self.changes.take() else { return false };
        while let Some(Change { kind, user, added, dropped }) = changes.pop() {
            let timeline = self.of_kind[kind].get_mut(&user).expect("a post came to it");
            let place = timeline.binary_search(&added).expect("it was added, and nothing since");
            timeline.remove(place);
            match dropped {
                Some(oldest) => timeline.push_front(oldest),
                None => self.entries[kind] -= 1,
            }
        }
        self.changes = Some(changes);
        true
    }

    /// Returns the posts at these places, newest first.
    pub(super) fn range(&self, kind: Kind, user: i64, start: u64, stop: u64) -> Vec<i64> {
        let Some(timeline) = self.of_kind[kind as usize].get(&user) else { return Vec::new() };
        let place = |place: u64| {
            timeline.len()
                - usize::try_from(place).map_or(timeline.len(), |at| at.min(timeline.len()))
        };
        let (first, end) = (place(stop), place(start));
        let found = timeline.range(first.min(end)..end).rev();
        found.map(|(_, post)| *post).collect()
    }

    /// Returns the number of posts in all timelines of a kind.
    pub(super) fn entries(&self, kind: Kind) -> usize {
        self.entries[kind as usize]
    }
}

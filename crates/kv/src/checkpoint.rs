//! Checkpoints: a consistent cut through all sessions, which is then made durable.
//!
//! **The cut.** A checkpoint is announced by one word, at which each session looks when it refreshes.
//! A session that sees it *crosses*: it notes how many operations it has begun and which of them are
//! pending, and from then on changes nothing. Once every session has crossed or is out of the epoch,
//! which takes as long as a group of operations, nothing is being changed: all records are made
//! read-only, the tail moves to the next block, and this address is the cut. Everything that the
//! sessions have noted lies before it, and everything later behind it. Then they go on. Nobody waits
//! for a lock: reads go on throughout, and operations that change something are pending meanwhile.
//!
//! **Durable** is the cut once the log before it is written and synced, and the manifest
//! ([`manifest`]) has its name. These steps (`durability`) are done one after the other by the polls of
//! one thread.
//! The two newest checkpoints are kept.

use std::collections::BTreeMap;

use crate::sync::{AtomicU8, AtomicU64, Mutex, MutexGuard, Ordering};

use self::manifest::{Durable, Manifest};

pub(crate) mod manifest;

/// Marks the token of a step.
pub(crate) const TOKEN: u64 = 1 << 62;

/// The version that the operations of a session belong to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct State(u64);

impl State {
    /// The state of a session that has not looked yet.
    pub(crate) const UNKNOWN: State = State(0);

    pub(crate) fn new(version: u64) -> State {
        State(version << 1)
    }

    pub(crate) fn version(self) -> u64 {
        self.0 >> 1
    }

    /// True while sessions cross.
    #[inline]
    pub(crate) fn is_crossing(self) -> bool {
        self.0 & 1 != 0
    }

    pub(crate) fn crossing(self) -> State {
        State(self.0 | 1)
    }
}

#[derive(Debug)]
pub(crate) struct Checkpoints {
    state: AtomicU64,
    pub(crate) is_running: AtomicU8,
    /// The newest one that is durable, or zero.
    pub(crate) durable: AtomicU64,
    pub(crate) progress: Mutex<Progress>,
}

#[derive(Debug)]
pub(crate) struct Progress {
    /// The next step of the one that is running.
    pub(crate) step: Option<Step>,
    pub(crate) running: Manifest,
    /// The sessions of the newest one that is durable.
    pub(crate) sessions: BTreeMap<u64, Durable>,
    /// Segments from this address on may not be synced.
    pub(crate) synced: u64,
    /// The versions that are kept, the oldest first, and where their logs begin.
    pub(crate) kept: Vec<(u64, u64)>,
    /// Segments from this one on may exist.
    pub(crate) first_segment: u64,
    /// Files that are to be removed.
    pub(crate) unwanted: Vec<String>,
    pub(crate) failure: Option<Failed>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Step {
    /// Sessions cross.
    Cut,
    /// The log before the cut is written.
    Flush,
    /// A segment is synced.
    Sync(u64),
    Write,
    SyncNew,
    Rename,
    /// A file that is not needed any more is removed.
    Remove,
}

/// A checkpoint that was not completed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Failed {
    pub version: u64,
    pub why: String,
}

/// The reason why no checkpoint was begun.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NoCheckpoint {
    /// The store was opened without durability.
    NotDurable,
    /// This one is not complete yet.
    Running(u64),
    /// The storage has failed before.
    StorageFailed,
}

/// The state that a store starts with: none, or what it has recovered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Start {
    /// The version after all that were found.
    pub(crate) next: u64,
    pub(crate) newest: Manifest,
    /// The versions that are whole, the oldest first, and where their logs begin.
    pub(crate) kept: Vec<(u64, u64)>,
    pub(crate) first_segment: u64,
    pub(crate) unwanted: Vec<String>,
}

impl Checkpoints {
    pub(crate) fn new(start: Start) -> Checkpoints {
        let Start { next, newest, kept, first_segment, unwanted } = start;
        let durable = AtomicU64::new(newest.version);
        let (sessions, synced) = (newest.sessions, newest.tail);
        let running = Manifest::default();
        let progress = Progress {
            step: None,
            running,
            sessions,
            synced,
            kept,
            first_segment,
            unwanted,
            failure: None,
        };
        Checkpoints {
            state: AtomicU64::new(State::new(next.max(1)).0),
            is_running: AtomicU8::new(0),
            durable,
            progress: Mutex::new(progress),
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> State {
        State(self.state.load(Ordering::Acquire))
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Ordering::Acquire) != 0
    }

    pub(crate) fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    pub(crate) fn failure(&self) -> Option<Failed> {
        self.lock().failure.clone()
    }

    /// Returns what the newest checkpoint has of a session.
    pub(crate) fn of_session(&self, id: u64) -> Durable {
        self.lock().sessions.get(&id).cloned().unwrap_or_default()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().expect("no holder of this lock panics")
    }

    pub(crate) fn set(&self, state: State) {
        self.state.store(state.0, Ordering::Release);
    }
}

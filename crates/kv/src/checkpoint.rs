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
//! ([`manifest`]) has its name. These steps are done one after the other by the polls of one thread.
//! The two newest checkpoints are kept.

use std::collections::BTreeMap;
use std::io;

use net::{Completion, Operation};

use crate::flush::Health;
use crate::segment::Segment;
use crate::shared::{Action, Shared};
use crate::storage::Storage;
use crate::sync::{AtomicU8, AtomicU64, Mutex, MutexGuard, Ordering};

use self::manifest::{Durable, Manifest, name, new_name};

pub(crate) mod manifest;

/// Marks the token of a step.
pub(crate) const TOKEN: u64 = 1 << 62;

/// The version that the operations of a session belong to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct State(u64);

impl State {
    /// The state of a session that has not looked yet.
    pub(crate) const UNKNOWN: State = State(0);

    fn new(version: u64) -> State {
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

    fn crossing(self) -> State {
        State(self.0 | 1)
    }
}

#[derive(Debug)]
pub(crate) struct Checkpoints {
    state: AtomicU64,
    is_running: AtomicU8,
    /// The newest one that is durable, or zero.
    durable: AtomicU64,
    progress: Mutex<Progress>,
}

#[derive(Debug)]
struct Progress {
    /// The next step of the one that is running.
    step: Option<Step>,
    running: Manifest,
    /// The sessions of the newest one that is durable.
    sessions: BTreeMap<u64, Durable>,
    /// Segments from this address on may not be synced.
    synced: u64,
    /// The versions that are kept, the oldest first, and where their logs begin.
    kept: Vec<(u64, u64)>,
    /// Segments from this one on may exist.
    first_segment: u64,
    /// Files that are to be removed.
    unwanted: Vec<String>,
    failure: Option<Failed>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Step {
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

/// What a store starts with: nothing, or what it has recovered.
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

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().expect("no holder of this lock panics")
    }

    fn set(&self, state: State) {
        self.state.store(state.0, Ordering::Release);
    }
}

impl Shared {
    /// Announces a checkpoint, and returns its version.
    pub(crate) fn begin_checkpoint(&self) -> Result<u64, NoCheckpoint> {
        let checkpoints = &self.checkpoints;
        let mut progress = checkpoints.lock();
        let state = checkpoints.state();
        if !self.is_durable {
            return Err(NoCheckpoint::NotDurable);
        }
        if progress.step.is_some() {
            return Err(NoCheckpoint::Running(progress.running.version));
        }
        if self.flush.health() == Health::Failed {
            return Err(NoCheckpoint::StorageFailed);
        }
        progress.step = Some(Step::Cut);
        progress.running.version = state.version();
        checkpoints.is_running.store(1, Ordering::Release);
        checkpoints.set(state.crossing());
        drop(progress);
        self.bump(Action::AllHaveCrossed);
        Ok(state.version())
    }

    /// Makes the cut, if every session has crossed; otherwise it is tried again.
    pub(crate) fn all_have_crossed(&self) {
        let state = self.checkpoints.state();
        let Some(sessions) = self.sessions.at_cut(state.version(), &self.epoch) else {
            // A session with pending operations crosses with its next poll.
            return self.bump(Action::AllHaveCrossed);
        };
        let tail = self.log.cut();
        let mut progress = self.checkpoints.lock();
        progress.running = Manifest {
            version: state.version(),
            store: self.id,
            seed: self.seed,
            buckets: self.buckets,
            page: self.page,
            segment: self.segment,
            begin: self.log.borders().begin.get(),
            tail,
            sessions,
        };
        progress.step = Some(Step::Flush);
        drop(progress);
        self.checkpoints.set(State::new(state.version() + 1));
    }

    /// Goes on with a checkpoint whose log is written.
    pub(crate) fn work_on_checkpoint(&self, storage: &mut dyn Storage) {
        if !self.checkpoints.is_running() {
            return;
        }
        let Ok(mut progress) = self.checkpoints.progress.try_lock() else { return };
        if progress.step != Some(Step::Flush) {
            return;
        }
        let problem = match self.flush.health() {
            Health::Good => None,
            Health::NoSpace => Some(io::ErrorKind::StorageFull.into()),
            Health::Failed => Some(io::Error::other("a write of the log has failed")),
        };
        if let Some(problem) = problem {
            self.fail(&mut progress, &problem);
        } else if self.flush.flushed() >= progress.running.tail && storage.room() > 0 {
            progress.step = Some(Step::Sync(progress.synced / self.segment));
            self.begin_step(&mut progress, storage);
        }
    }

    /// Takes the end of a step, and begins the next one: the completion has made room for it.
    pub(crate) fn end_step(&self, completion: Completion, storage: &mut dyn Storage) {
        let mut progress = self.checkpoints.lock();
        let step = progress.step.expect("a step that ends was begun");
        // A file that cannot be removed now is found when the store is opened.
        if let Err(error) = completion.result
            && step != Step::Remove
        {
            if matches!(step, Step::Sync(_)) {
                // What the kernel still has is unknown.
                self.flush.fail();
            }
            return self.fail(&mut progress, &error);
        }
        progress.step = Some(match step {
            Step::Sync(segment) => Step::Sync(segment + 1),
            Step::Write => Step::SyncNew,
            Step::SyncNew => Step::Rename,
            Step::Rename => {
                self.commit(&mut progress);
                Step::Remove
            }
            Step::Remove => Step::Remove,
            Step::Cut | Step::Flush => unreachable!("these have no operation of their own"),
        });
        self.begin_step(&mut progress, storage);
    }

    fn begin_step(&self, progress: &mut Progress, storage: &mut dyn Storage) {
        if let Err(error) = self.try_step(progress, storage) {
            self.fail(progress, &error);
        }
    }

    fn try_step(&self, progress: &mut Progress, storage: &mut dyn Storage) -> io::Result<()> {
        let version = progress.running.version;
        if let Some(Step::Sync(segment)) = progress.step
            && progress.running.tail <= segment * self.segment.max(1)
        {
            progress.step = Some(Step::Write);
        }
        match progress.step {
            Some(Step::Sync(segment)) => {
                let file = storage.file(Segment::new(segment).as_str())?;
                storage.begin(file, Operation::Sync, TOKEN);
            }
            Some(Step::Write) => {
                let file = storage.file(&new_name(version))?;
                let mut bytes = Vec::new();
                progress.running.encode(&mut bytes);
                storage.begin(file, Operation::Write { at: 0, bytes }, TOKEN);
            }
            Some(Step::SyncNew) => {
                let file = storage.file(&new_name(version))?;
                storage.begin(file, Operation::Sync, TOKEN);
            }
            Some(Step::Rename) => storage.rename(&new_name(version), &name(version), TOKEN),
            Some(Step::Remove) => match progress.unwanted.pop() {
                Some(file) => storage.remove(&file, TOKEN),
                None => self.end_checkpoint(progress),
            },
            Some(Step::Cut | Step::Flush) | None => {}
        }
        Ok(())
    }

    /// The checkpoint is durable: notes this, and what is not needed any more.
    fn commit(&self, progress: &mut Progress) {
        let Manifest { version, begin, tail, .. } = progress.running;
        progress.sessions = std::mem::take(&mut progress.running.sessions);
        progress.synced = tail;
        progress.kept.push((version, begin));
        while progress.kept.len() > KEPT {
            let (old, _) = progress.kept.remove(0);
            progress.unwanted.push(name(old));
        }
        let first = progress.kept[0].1 / self.segment;
        let segments = progress.first_segment..first;
        progress.unwanted.extend(segments.map(|gone| Segment::new(gone).as_str().to_owned()));
        progress.first_segment = progress.first_segment.max(first);
        progress.failure = None;
        self.checkpoints.durable.store(version, Ordering::Release);
    }

    fn fail(&self, progress: &mut Progress, error: &io::Error) {
        let version = progress.running.version;
        progress.unwanted.push(new_name(version));
        progress.failure = Some(Failed { version, why: error.to_string() });
        self.end_checkpoint(progress);
    }

    fn end_checkpoint(&self, progress: &mut Progress) {
        progress.step = None;
        self.checkpoints.is_running.store(0, Ordering::Release);
    }
}

/// The checkpoints that are kept.
const KEPT: usize = 2;

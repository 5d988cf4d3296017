//! The steps of a checkpoint, from its announcement to the name of its manifest, and to the removal of
//! what is not needed any more.

use std::io;

use net::{Completion, Operation};

use crate::checkpoint::manifest::{Manifest, name, new_name};
use crate::checkpoint::{Failed, NoCheckpoint, Progress, State, Step, TOKEN};
use crate::flush::Health;
use crate::segment::Segment;
use crate::shared::{Action, Shared};
use crate::storage::Storage;
use crate::sync::Ordering;

/// The checkpoints that are kept.
const KEPT: usize = 2;

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
            note: self.note.load(Ordering::Acquire),
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
        if self.flush.health() != Health::Good {
            let why = format!("the log was not written: {}", self.flush.why());
            self.fail(&mut progress, &io::Error::other(why));
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
                self.flush.fail(&error);
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

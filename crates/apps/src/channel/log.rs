//! The log: a folder of files to which events are appended, and the ends of their deliveries.
//!
//! A thread writes whatever was queued while it wrote before, in one piece, and with one fsync if
//! the log is durable; only then it hands these events over. A file is removed once all events of it
//! and of those before it are delivered. After a crash the last file may end in the middle of a
//! record: that part was never acknowledged, and is cut off. Damage anywhere else is an error.
//!
//! A file is a magic number and records: the length and the CRC-32 of a body, and the body. A body
//! is the number of an accepted event, the number of subscribers, their identities and the event; or
//! the number of an event, and the identity of one subscriber that is done with it. Integers are
//! big-endian.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::{io, iter};

use anyhow::{Context, ensure};
use tokio::sync::mpsc as handing;

use super::event::Event;
use super::pending::Pending;
use crate::kit::health::Needed;

use files::Files;

mod files;

#[cfg(test)]
mod tests;

/// The bytes after which a file is followed by another one.
pub const FILE_BYTES: u64 = 64 << 20;

/// The file whose lock shows that a process uses the folder.
const LOCK: &str = "lock";

/// The most entries that are written at once, so that none waits long for the others.
const LARGEST_BATCH: usize = 4096;

pub struct Log {
    /// The entries to write. All have places in the room of pending events.
    entries: Option<Sender<Entry>>,
    thread: Option<JoinHandle<()>>,
    /// Locked while the log is open.
    _lock: File,
}

/// Events that are on the disk, in the order of their arrival.
pub type Written = handing::UnboundedReceiver<Vec<Arc<Pending>>>;

/// An order to the writing thread. It holds the place of the event in the room of all.
enum Entry {
    Accepted(Arc<Pending>),
    Done(Arc<Pending>, u32),
}

/// An event that a log had not delivered to everyone.
#[derive(Debug, PartialEq, Eq)]
pub struct Recovered {
    pub number: u64,
    pub event: Event,
    /// The subscribers that did not take it.
    pub left: Vec<u32>,
    /// The number of its file.
    pub file: u64,
}

/// The contents of a log when it is opened.
#[derive(Debug, Default)]
pub struct Contents {
    /// In the order of their numbers.
    pub recovered: Vec<Recovered>,
    /// The number of the next event.
    pub next: u64,
    /// The bytes that were cut off the end.
    pub torn: usize,
}

/// The settings of a log.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The identities of the subscribers.
    pub subscribers: Vec<u32>,
    /// True if every write waits for the disk.
    pub syncs: bool,
    pub file_bytes: u64,
}

/// Returns the identity of a subscriber: the same after a restart.
pub fn identity(url: &str) -> u32 {
    crc32fast::hash(url.as_bytes())
}

impl Log {
    /// Opens the log in a folder, which is created if it is missing. What is written later is
    /// handed over, if the log is durable.
    pub fn open(folder: &Path, settings: Settings) -> anyhow::Result<(Self, Contents, Written)> {
        let place = || format!("opening the log in {}", folder.display());
        fs::create_dir_all(folder).with_context(place)?;
        let lock = File::create(folder.join(LOCK)).with_context(place)?;
        ensure!(
            lock.try_lock().is_ok(),
            "{} is used by another process; give each channel its own folder with --data",
            folder.display()
        );
        let syncs = settings.syncs;
        let (mut files, contents) = Files::open(folder, settings).with_context(place)?;
        let (entries, queued) = mpsc::channel();
        let (hand_over, written) = handing::unbounded_channel();
        let write = move || {
            // The channel sees that this thread has ended.
            let _ = write(&mut files, &queued, |events| {
                if syncs {
                    // At the end nobody takes them any more.
                    let _ = hand_over.send(events);
                }
            });
        };
        let thread = thread::Builder::new().name("log".into()).spawn(write)?;
        let log = Log { entries: Some(entries), thread: Some(thread), _lock: lock };
        Ok((log, contents, written))
    }

    /// Queues an event. If the log cannot be written, it is seen as stopped soon after.
    pub fn accepted(&self, pending: Arc<Pending>) {
        self.queue(Entry::Accepted(pending));
    }

    /// Queues the end of a delivery. If it is lost, the event is delivered again after a restart.
    pub fn done(&self, pending: Arc<Pending>, subscriber: u32) {
        self.queue(Entry::Done(pending, subscriber));
    }

    fn queue(&self, entry: Entry) {
        // After the end of the thread the entry is dropped, and with it the sender of its event.
        let _ = self.entries.as_ref().map(|entries| entries.send(entry));
    }

    pub fn has_stopped(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }
}

/// A log that could not be written once is never written again: its state is unknown until it is
/// opened the next time.
impl Needed for Log {
    fn unhealthy(&self) -> Option<String> {
        self.has_stopped().then(|| "the log has stopped writing".to_owned())
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.entries = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was reported, and seen as the end of writing.
            let _ = thread.join();
        }
    }
}

/// Writes what is queued, until nothing will be any more or it cannot be written.
fn write(
    files: &mut Files,
    queued: &Receiver<Entry>,
    hand_over: impl Fn(Vec<Arc<Pending>>),
) -> io::Result<()> {
    while let Ok(first) = queued.recv() {
        let others = queued.try_iter().take(LARGEST_BATCH - 1);
        let batch: Vec<Entry> = iter::once(first).chain(others).collect();
        files.append(&batch)?;
        let events = batch.into_iter().filter_map(|entry| match entry {
            Entry::Accepted(pending) => Some(pending),
            Entry::Done(..) => None,
        });
        hand_over(events.collect());
    }
    Ok(())
}

//! A store: the way to open it, and to open its sessions.

use std::sync::Arc;

use crate::address::Address;
use crate::checkpoint::manifest::version_of;
use crate::checkpoint::{Checkpoints, Failed, NoCheckpoint, Start};
use crate::compaction::Compaction;
use crate::epoch::Epoch;
use crate::flush::{Flush, Health};
use crate::index::Index;
use crate::log::Log;
use crate::log::paging::Paging;
use crate::options::{Durability, OpenError, Options};
use crate::recovery::{self, Recovered};
use crate::segment::Segment;
use crate::session::Session;
use crate::shared::{Sessions, Shared, Which};
use crate::status::Status;
use crate::storage::Storage;
use crate::sync::{AtomicU64, Ordering};

/// The bytes of a log by region.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct LogRegions {
    /// Only in the storage.
    pub stored: u64,
    /// In memory, where a change appends another record.
    pub read_only: u64,
    /// In memory, where records are changed in their places.
    pub mutable: u64,
}

impl LogRegions {
    pub fn total(self) -> u64 {
        self.stored + self.read_only + self.mutable
    }
}

/// A store, shared by its clones.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
    recovered: Option<Arc<Recovered>>,
    dropped: u64,
}

impl Store {
    /// Opens a store, which writes what its memory does not hold to `storage`. Without durability
    /// there must be no log yet; with it, the store has what the newest whole checkpoint has.
    pub fn open(options: Options, storage: &mut dyn Storage) -> Result<Store, OpenError> {
        let is_stored = storage.exists();
        options.check(is_stored)?;
        let is_durable = options.durability == Durability::Checkpoint;
        let options = Options { buckets: Index::buckets(options.buckets), ..options };
        let (start, mut recovered, files) = match is_durable {
            true => recovery::find(&options, storage)?,
            false => {
                expect_nothing(storage)?;
                Default::default()
            }
        };
        let (begin, tail) = (start.newest.begin, start.newest.tail);
        let has_recovered = start.newest.version > 0;
        let shared = Arc::new(make(&options, is_stored, start)?);
        if has_recovered {
            shared.log.resume(begin, tail);
            shared.flush.resume(tail);
            recovered.records = recovery::scan(&shared, begin, tail, storage)?;
        }
        // Not before all of the log has proved to be whole: another checkpoint may be restored from a copy.
        files.cut(tail, options.segment, storage).map_err(OpenError::Storage)?;
        let dropped = if has_recovered { 0 } else { files.log_bytes() };
        let recovered = has_recovered.then(|| Arc::new(recovered));
        Ok(Store { shared, recovered, dropped })
    }

    /// The bytes of a log without any checkpoint, as a crash before the first one leaves it, which were
    /// removed when the store was opened.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Returns what was recovered when the store was opened.
    pub fn recovered(&self) -> Option<&Recovered> {
        self.recovered.as_deref()
    }

    /// Keeps a number of the program with the store, such as a fact about its data: each checkpoint
    /// from now on has it.
    pub fn keep_note(&self, note: u64) {
        self.shared.note.store(note, Ordering::Release);
    }

    /// Returns the number that the program has kept, or zero.
    pub fn note(&self) -> u64 {
        self.shared.note.load(Ordering::Acquire)
    }

    /// Begins a checkpoint, and returns its version. Polls of sessions complete it: it is durable
    /// when [`Store::durable`] has reached the version, or else is the one of [`Store::failure`].
    /// Each session with pending operations must poll until then.
    pub fn checkpoint(&self) -> Result<u64, NoCheckpoint> {
        self.shared.begin_checkpoint()
    }

    /// The version of the newest checkpoint that is durable, or zero.
    pub fn durable(&self) -> u64 {
        self.shared.checkpoints.durable()
    }

    /// Asks for a compaction of all segments of the log that are written: polls do it, and
    /// [`Store::compactions`] counts it when it has ended. Without being asked, the oldest segment is
    /// compacted when the log has reached four fifths of its limit.
    /// False if there is no storage.
    pub fn compact(&self) -> bool {
        if self.shared.is_stored {
            self.shared.compaction.want();
        }
        self.shared.is_stored
    }

    /// The number of compactions that were completed.
    pub fn compactions(&self) -> u64 {
        self.shared.compaction.ended()
    }

    /// True while the log is compacted, or if that was asked for.
    pub fn is_compacting(&self) -> bool {
        self.shared.compaction.is_running() || self.shared.compaction.is_wanted()
    }

    /// Asks for an index with twice the buckets: polls and operations make it, slice by slice, while
    /// all others go on. Without being asked, a slice grows when its buckets are full. False if it
    /// has grown six times.
    pub fn grow(&self) -> bool {
        self.shared.index.want_growth()
    }

    /// True while the index grows.
    pub fn is_growing(&self) -> bool {
        self.shared.index.should_grow()
    }

    /// The number of hash buckets.
    pub fn buckets(&self) -> u64 {
        self.shared.index.buckets_now()
    }

    /// The bytes of the log that are neither given up nor free.
    pub fn log_bytes(&self) -> u64 {
        self.log_regions().total()
    }

    /// The same by region.
    pub fn log_regions(&self) -> LogRegions {
        let borders = self.shared.log.borders();
        let [begin, head, read_only] =
            [borders.begin, borders.head, borders.read_only].map(Address::get);
        LogRegions {
            stored: head.saturating_sub(begin),
            read_only: read_only.saturating_sub(head.max(begin)),
            mutable: self.shared.log.tail().saturating_sub(read_only.max(begin)),
        }
    }

    /// The chains of the index: keys with equal bits of their hashes share one.
    pub fn chains(&self) -> u64 {
        self.shared.index.entries()
    }

    /// True if a write or a sync has failed: nothing is written any more.
    pub fn has_storage_failed(&self) -> bool {
        self.shared.flush.health() == Health::Failed
    }

    /// The newest failure of a write or a sync, in words.
    pub fn storage_failure(&self) -> String {
        self.shared.flush.why()
    }

    /// True if there can be checkpoints.
    pub fn is_durable(&self) -> bool {
        self.shared.is_durable
    }

    /// True from the beginning of a checkpoint to its end.
    pub fn is_checkpointing(&self) -> bool {
        self.shared.checkpoints.is_running()
    }

    /// True for the short time in which sessions change nothing, so that a checkpoint has its cut.
    pub fn is_at_cut(&self) -> bool {
        self.shared.checkpoints.state().is_crossing()
    }

    /// Returns the last checkpoint, if it was not completed.
    pub fn failure(&self) -> Option<Failed> {
        self.shared.checkpoints.failure()
    }

    /// A store with a storage that does nothing, as small as a block a page.
    #[cfg(all(test, shuttle))]
    pub(crate) fn of_few_blocks() -> Store {
        let options = Options {
            buckets: 1,
            page: 4096,
            memory: 4 * 4096,
            sessions: 4,
            durability: Durability::Checkpoint,
            ..Options::default()
        };
        let shared = make(&options, true, Start::default()).expect("memory");
        Store { shared: Arc::new(shared), recovered: None, dropped: 0 }
    }

    #[cfg(test)]
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Opens a session, or returns `Busy` if too many are open or this one is. One that was recovered
    /// goes on.
    pub fn session(&self, id: u64) -> Result<Session, Status> {
        Session::open(Arc::clone(&self.shared), id, Which::Any)
    }

    /// Opens a session that was recovered, or returns `NotFound` if there is none with this id.
    pub fn resume(&self, id: u64) -> Result<Session, Status> {
        Session::open(Arc::clone(&self.shared), id, Which::Recovered)
    }
}

/// Refuses a storage with files of a store.
fn expect_nothing(storage: &mut dyn Storage) -> Result<(), OpenError> {
    let files = storage.list().map_err(OpenError::Storage)?;
    let is_used = |name: &str| Segment::is_name(name) || version_of(name).is_some();
    match files.into_iter().find(|file| is_used(&file.name)) {
        Some(file) => Err(OpenError::NotEmpty(file.name)),
        None => Ok(()),
    }
}

fn make(options: &Options, is_stored: bool, start: Start) -> Result<Shared, OpenError> {
    let pages = options.memory / options.page;
    let paging = is_stored.then(|| Paging::new(pages, options.mutable_fraction));
    let memory = |bytes| move |error| OpenError::Memory { bytes, error };
    let index = Index::new(options.buckets).map_err(memory(options.buckets * 64))?;
    let log = Log::new(pages, options.page, options.log_limit, paging);
    let log = log.map_err(memory(options.memory))?;
    let sessions = options.sessions as usize;
    Ok(Shared {
        seed: options.seed,
        // The blocks that were found are those of the store that has written them.
        id: if start.newest.version > 0 { start.newest.store } else { options.id },
        page: options.page,
        segment: options.segment,
        note: AtomicU64::new(start.newest.note),
        is_stored,
        is_durable: is_stored && options.durability == Durability::Checkpoint,
        buckets: options.buckets,
        epoch: Epoch::new(sessions),
        index,
        log,
        flush: Flush::new(),
        sessions: Sessions::new(sessions, &start.newest.sessions),
        checkpoints: Checkpoints::new(start),
        compaction: Compaction::default(),
    })
}

//! The state that the connections of a shard share.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;

use kv::{NoCheckpoint, Store};
use wire::kv::{Hello, Range, SLICES, Token, Verb, Welcome};

use crate::counts::{self, Counts};
use crate::operator::schema;
use crate::session::{Running, Scratch, VIEW};
use crate::sessions::{Sessions, Use};

/// The state that all shards of a server share.
pub(crate) struct Shared {
    pub(crate) id: u16,
    pub(crate) seed: u64,
    /// A JSON object.
    pub(crate) pinned: Option<String>,
    pub(crate) store: Store,
    pub(crate) token: Option<Token>,
    pub(crate) sessions: Sessions,
    /// The counters of each shard.
    pub(crate) counts: Vec<Counts>,
    /// Set once a batch has been executed, by this server or by the one whose store it has recovered.
    pub(crate) is_used: AtomicBool,
    /// Held while the position in the first client's list of servers is compared, which the store keeps.
    pub(crate) position: Mutex<()>,
    /// The most connections of each shard.
    pub(crate) connections: usize,
    /// The shards that have ended their connections.
    pub(crate) ended: AtomicUsize,
    pub(crate) last: Mutex<Last>,
}

/// The number by which a store remembers a position in a list. A list has a length: none has the number 0.
fn note((index, length): (u16, u16)) -> u64 {
    u64::from(index) << 16 | u64::from(length)
}

/// The checkpoint that a server ends with.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Last {
    #[default]
    Wanted,
    Running(u64),
    Over,
}

/// Notes that a shard has ended its connections, or itself.
pub(crate) struct Ended(pub(crate) Arc<Shared>);

impl Drop for Ended {
    fn drop(&mut self) {
        if thread::panicking() {
            // The sessions of this shard never cross: there is no cut.
            *self.0.last() = Last::Over;
        }
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }
}

impl Shared {
    /// Returns true if a client with this position in its list of servers may come: another list would divide
    /// the keys in another way. An empty server takes any.
    pub(crate) fn agrees(&self, position: Option<(u16, u16)>) -> bool {
        let Some(position) = position.map(note) else { return true };
        let first = self.store.note();
        first == 0 || first == position || !self.is_used.load(Ordering::Acquire)
    }

    /// Compares the list of a client that is about to execute a batch with that of the first one. Several may have
    /// come while the server was empty.
    pub(crate) fn takes(&self, position: Option<(u16, u16)>) -> bool {
        let is_that = |position: (u16, u16)| self.store.note() == note(position);
        if self.is_used.load(Ordering::Acquire) && position.is_none_or(is_that) {
            return true;
        }
        let _held = self.position.lock().expect("no thread panics while it holds the lock");
        let is_first = !self.is_used.load(Ordering::Relaxed) || self.store.note() == 0;
        if let Some(position) = position.filter(|_| is_first) {
            self.store.keep_note(note(position));
        }
        let takes = position.is_none_or(is_that);
        self.is_used.fetch_or(takes, Ordering::Release);
        takes
    }

    /// Begins the last checkpoint once all shards have ended their connections. Returns true when
    /// there is nothing to wait for any more.
    pub(crate) fn last_checkpoint_is_over(&self) -> bool {
        let all_have_ended = self.ended.load(Ordering::SeqCst) >= self.counts.len();
        let mut last = self.last();
        if !self.store.is_durable() {
            *last = Last::Over;
        }
        match *last {
            Last::Wanted if all_have_ended => match self.store.checkpoint() {
                Ok(version) => *last = Last::Running(version),
                // Its cut may be older than the last operations.
                Err(NoCheckpoint::Running(_)) => {}
                Err(_) => *last = Last::Over,
            },
            Last::Running(_) if !self.store.is_checkpointing() => *last = Last::Over,
            Last::Wanted | Last::Running(_) | Last::Over => {}
        }
        *last == Last::Over
    }

    fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().expect("no thread panics while it holds the lock")
    }

    /// Begins a checkpoint, and returns a JSON document with its version, or with the version of the
    /// one that is running.
    pub(crate) fn begin_checkpoint(&self) -> Option<String> {
        match self.store.checkpoint() {
            Ok(version) | Err(NoCheckpoint::Running(version)) => Some(format!(
                "{{\"schema\":\"{}\",\"version\":{version}}}",
                schema(Verb::Checkpoint)
            )),
            Err(NoCheckpoint::NotDurable | NoCheckpoint::StorageFailed) => None,
        }
    }

    /// The figures of all shards and of the store, as a JSON document.
    pub(crate) fn statistics(&self) -> String {
        let failed = self.store.failure();
        let failed = failed.map(|failed| (failed.version, failed.why));
        let store = counts::StoreState {
            durable: self.store.durable(),
            is_checkpointing: self.store.is_checkpointing(),
            failed,
            log: self.store.log_regions(),
            compactions: self.store.compactions(),
            is_compacting: self.store.is_compacting(),
            buckets: self.store.buckets(),
            chains: self.store.chains(),
            is_growing: self.store.is_growing(),
        };
        counts::document(&self.counts, &store, self.pinned.as_deref())
    }
}

/// A shard's own part.
pub(crate) struct Desk {
    pub(crate) shared: Arc<Shared>,
    /// The index of the shard.
    pub(crate) shard: usize,
    pub(crate) scratch: Scratch,
    /// The uses of sessions that another connection waits for.
    pub(crate) wanted: Vec<Use>,
    /// Random numbers: ids of sessions and nonces.
    pub(crate) random: fn() -> u64,
    /// A batch waits for the cut of a checkpoint.
    pub(crate) met_cut: bool,
}

impl Desk {
    pub(crate) fn counts(&self) -> &Counts {
        &self.shared.counts[self.shard]
    }

    pub(crate) fn nonce(&self) -> [u8; 16] {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&(self.random)().to_le_bytes());
        nonce[8..].copy_from_slice(&(self.random)().to_le_bytes());
        nonce
    }

    /// The slices of the server: all.
    pub(crate) fn owners(&self) -> [Range; 1] {
        [Range { first: 0, last: SLICES - 1, owner: self.shared.id }]
    }

    /// Appends a WELCOME: of a session or, without one, with the request for a proof.
    pub(crate) fn welcome(
        &self,
        hello: &Hello,
        session: Option<&Running>,
        nonce: [u8; 16],
        out: &mut Vec<u8>,
    ) {
        let (through, except) = session.map(Running::durable).unwrap_or_default();
        let welcome = Welcome {
            version: wire::kv::VERSION,
            checksums: hello.checksums,
            wants_proof: session.is_none(),
            id: self.shared.id,
            shards: self.shared.counts.len() as u16,
            shard: self.shard as u16,
            seed: self.shared.seed,
            session: session.map_or(0, Running::id),
            executed: session.map_or(0, Running::executed),
            through,
            nonce,
            owners: Default::default(),
            except: Default::default(),
        };
        wire::kv::encode_welcome(VIEW, &welcome, &self.owners(), &except, out);
    }
}

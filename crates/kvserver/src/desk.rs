//! The state that the connections of a shard share.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use kv::Store;
use wire::kv::{Hello, Range, SLICES, Welcome};

use crate::counts::Counts;
use crate::session::{Running, Scratch, VIEW};
use crate::sessions::{Sessions, Use};
use crate::token::Token;

/// The state that all shards of a server share.
pub(crate) struct Shared {
    pub(crate) id: u16,
    pub(crate) seed: u64,
    pub(crate) store: Store,
    pub(crate) token: Option<Token>,
    pub(crate) sessions: Sessions,
    /// The counters of each shard.
    pub(crate) counts: Vec<Counts>,
    /// Set once a batch has been executed.
    pub(crate) is_used: AtomicBool,
    /// The position in the first client's list of servers, and its length.
    pub(crate) position: Mutex<Option<(u16, u16)>>,
}

impl Shared {
    /// Compares a client's list of servers with that of the first: another list would divide the keys
    /// in another way. An empty server takes any.
    pub(crate) fn agrees(&self, position: Option<(u16, u16)>) -> bool {
        let Some(position) = position else { return true };
        let mut first = self.position.lock().expect("no thread panics while it holds the lock");
        if first.is_none_or(|first| first != position) && !self.is_used.load(Ordering::Relaxed) {
            *first = Some(position);
        }
        first.is_none_or(|first| first == position)
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
            through: 0,
            nonce,
            owners: Default::default(),
            except: Default::default(),
        };
        wire::kv::encode_welcome(VIEW, &welcome, &self.owners(), &[], out);
    }
}

//! A running server: its threads, and how they end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::{io, thread};

use kv::Store;
use kv::storage::Folder;
use net::{Epoll, Files, Io, Timer, process};
use wire::kv::Token;

use crate::bounds::{
    LEAST_CONNECTIONS, MOST_CONNECTIONS, MOST_HELD, MOST_KEPT_IDLE, SHARD_BUFFERS,
};
use crate::counts::Counts;
use crate::desk::{Desk, Shared};
use crate::session::Scratch;
use crate::sessions::Sessions;
use crate::shard::{Mailbox, Shard};

#[cfg(test)]
mod tests;

/// The settings of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub address: SocketAddr,
    /// The id that it has among other servers.
    pub id: u16,
    /// The number of shards, each a thread.
    pub shards: usize,
    /// The most connections of each shard: see [`connections`].
    pub connections: usize,
    /// The seed of the store's hash, which clients are told.
    pub seed: u64,
    /// The token that clients must know.
    pub token: Option<Token>,
    /// The folder of the store's files; `None` if it is in memory only.
    pub folder: Option<PathBuf>,
    /// A JSON object about the interrupts that were pinned for it, which its statistics repeat.
    pub pinned: Option<String>,
}

/// The most memory that the connections and sessions of so many shards take, in bytes.
pub fn memory(shards: usize) -> u64 {
    (shards * (MOST_HELD + SHARD_BUFFERS) + MOST_KEPT_IDLE) as u64
}

/// The most connections of each of so many shards in a process that may have so many open files; `None`
/// if these are too few. A quarter of the files is kept for the store, whose log has a file for each GiB.
pub fn connections(files: u64, shards: usize) -> Option<usize> {
    let of_shard = usize::try_from(files / 4 * 3).unwrap_or(usize::MAX) / shards;
    let connections = of_shard.saturating_sub(FILES_OF_A_SHARD).min(MOST_CONNECTIONS);
    (LEAST_CONNECTIONS <= connections).then_some(connections)
}

/// The files that a shard has besides those of its connections and of the store.
const FILES_OF_A_SHARD: usize = 4;

/// A server that runs.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    mailboxes: Arc<Vec<Mailbox>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Listens, and starts the shards.
    ///
    /// # Errors
    ///
    /// The address cannot be listened on, or the system gives no thread or descriptor.
    pub fn start(options: Options, store: Store) -> io::Result<Server> {
        let Options { address, id, shards, connections, seed, token, folder, pinned } = options;
        let mut ios =
            (0..shards).map(|_| Epoll::new(Timer::Sleep)).collect::<io::Result<Vec<_>>>()?;
        let listener = ios[0].listen(address)?;
        let mailboxes = ios.iter_mut().map(|io| io.waker().map(Mailbox::new));
        let mailboxes = Arc::new(mailboxes.collect::<io::Result<Vec<_>>>()?);
        let is_used = store.recovered().is_some_and(|recovered| recovered.records > 0);
        let shared = Arc::new(Shared {
            id,
            seed,
            pinned,
            store,
            token,
            sessions: Sessions::default(),
            counts: (0..shards).map(|_| Default::default()).collect(),
            is_used: AtomicBool::new(is_used),
            position: Default::default(),
            connections,
            ended: Default::default(),
            last: Default::default(),
        });
        let stop = Arc::new(AtomicBool::new(false));
        let mut server =
            Server { address: listener.address, shared, mailboxes, stop, threads: Vec::new() };
        for (shard, mut io) in ios.into_iter().enumerate() {
            let folder = folder.as_deref().map(|path| io.folder(path)).transpose()?;
            let house = server.shared.store.session(shard as u64).map_err(|_| {
                io::Error::other("the store has no room for the sessions of the shards")
            })?;
            let files = (folder.map(Folder::new), house);
            let shared = server.shared.clone();
            let (scratch, wanted, random) =
                (Scratch::new(), Vec::new(), process::entropy as fn() -> u64);
            let desk = Desk { shared, shard, scratch, wanted, random, met_cut: false };
            let listener = (shard == 0).then_some(listener.id);
            let shard = Shard::new(io, listener, files, desk, server.mailboxes.clone());
            let stop = server.stop.clone();
            let named = thread::Builder::new().name("shard".to_owned());
            server.threads.push(named.spawn(move || shard.serve(&stop))?);
        }
        Ok(server)
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The counters of a shard.
    pub fn counts(&self, shard: usize) -> &Counts {
        &self.shared.counts[shard]
    }

    /// The figures of all shards, as a JSON document.
    pub fn statistics(&self) -> String {
        self.shared.statistics()
    }

    /// Begins a checkpoint, unless one is running.
    pub fn checkpoint(&self) {
        if self.shared.store.checkpoint().is_ok() {
            self.mailboxes.iter().for_each(Mailbox::wake);
        }
    }

    #[cfg(test)]
    fn store(&self) -> &Store {
        &self.shared.store
    }

    /// True if a shard has ended though it was not asked to.
    pub fn has_failed(&self) -> bool {
        self.threads.iter().any(JoinHandle::is_finished)
    }

    /// Stops accepting, answers what was read, takes a checkpoint if the store is durable, and ends all
    /// shards. Returns false if one of them had
    /// panicked.
    pub fn end(mut self) -> bool {
        self.stop_all()
    }

    fn stop_all(&mut self) -> bool {
        self.stop.store(true, Ordering::Relaxed);
        self.mailboxes.iter().for_each(Mailbox::wake);
        let ended: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        ended.iter().all(Result::is_ok)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop_all();
    }
}

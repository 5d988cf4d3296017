//! A store: the way to open it, and to open its sessions.

use std::sync::Arc;

use crate::epoch::Epoch;
use crate::flush::Flush;
use crate::index::Index;
use crate::log::Log;
use crate::log::paging::Paging;
use crate::options::{OpenError, Options};
use crate::segment::Segment;
use crate::session::Session;
use crate::shared::{Sessions, Shared};
use crate::status::Status;
use crate::storage::Storage;

/// A store, shared by its clones.
#[derive(Clone, Debug)]
pub struct Store {
    shared: Arc<Shared>,
}

impl Store {
    /// Opens an empty store, which writes what its memory does not hold to `storage`, where
    /// there must be no log yet.
    pub fn open(options: Options, storage: &mut dyn Storage) -> Result<Store, OpenError> {
        let is_stored = storage.exists();
        options.check(is_stored)?;
        let files = storage.list().map_err(OpenError::Storage)?;
        if let Some(file) = files.into_iter().find(|file| Segment::is_name(&file.name)) {
            return Err(OpenError::NotEmpty(file.name));
        }
        let pages = options.memory / options.page;
        let paging = is_stored.then(|| Paging::new(pages, options.mutable_fraction));
        let memory = |bytes| move |error| OpenError::Memory { bytes, error };
        let index = Index::new(options.buckets).map_err(memory(options.buckets * 64))?;
        let log = Log::new(pages, options.page, options.log_limit, paging);
        let log = log.map_err(memory(options.memory))?;
        let sessions = options.sessions as usize;
        let shared = Shared {
            seed: options.seed,
            id: options.id,
            page: options.page,
            segment: options.segment,
            is_stored,
            epoch: Epoch::new(sessions),
            index,
            log,
            flush: Flush::new(),
            sessions: Sessions::new(sessions),
        };
        Ok(Store { shared: Arc::new(shared) })
    }

    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn shared(&self) -> &Shared {
        &self.shared
    }

    /// Opens a session, or returns `Busy` if too many are open or this one is.
    pub fn session(&self, id: u64) -> Result<Session, Status> {
        Session::open(Arc::clone(&self.shared), id)
    }
}

//! Whether a process can serve, as `/healthz` answers.

use std::sync::Arc;

use super::store::Embedded;
use crate::rpc::Peers;

/// What a process needs to serve.
#[derive(Clone, Default)]
pub struct Health {
    peers: Vec<Peers>,
    store: Option<Arc<Embedded>>,
}

impl Health {
    pub fn of_peers(peers: Vec<Peers>) -> Self {
        Health { peers, store: None }
    }

    pub fn of_store(store: Arc<Embedded>) -> Self {
        Health { peers: Vec::new(), store: Some(store) }
    }

    /// What keeps it from serving, if anything does.
    pub fn ails(&self) -> Option<String> {
        if self.store.as_ref().is_some_and(|store| !store.is_writing()) {
            return Some("the store has stopped writing".to_owned());
        }
        let lost = self.peers.iter().find(|peers| !peers.can_be_reached())?;
        Some(format!("no replica of {} can be reached", lost.service()))
    }
}

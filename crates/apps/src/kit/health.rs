//! The health of a process, for `/healthz`.

use std::sync::Arc;

use super::rpc::Peers;
use crate::hotel::postgres::Postgres;
use crate::hotel::store::Embedded;

/// The parts that a process needs to serve.
#[derive(Clone, Default)]
pub struct Health {
    peers: Vec<Peers>,
    store: Option<Arc<Embedded>>,
    database: Option<Arc<Postgres>>,
}

impl Health {
    pub fn of_peers(peers: Vec<Peers>) -> Self {
        Health { peers, ..Health::default() }
    }

    pub fn of_store(store: Arc<Embedded>) -> Self {
        Health { store: Some(store), ..Health::default() }
    }

    pub fn of_database(database: Arc<Postgres>) -> Self {
        Health { database: Some(database), ..Health::default() }
    }

    /// Joins the needs of both.
    pub fn and(mut self, other: Health) -> Self {
        self.peers.extend(other.peers);
        Health {
            peers: self.peers,
            store: self.store.or(other.store),
            database: self.database.or(other.database),
        }
    }

    /// Returns the reason why it cannot serve, if any.
    pub fn unhealthy(&self) -> Option<String> {
        if self.store.as_ref().is_some_and(|store| !store.is_writing()) {
            return Some("the store has stopped writing".to_owned());
        }
        if let Some(why) = self.database.as_ref().and_then(|database| database.unhealthy()) {
            return Some(why);
        }
        let lost = self.peers.iter().find(|peers| !peers.can_be_reached())?;
        Some(format!("no replica of {} can be reached", lost.service()))
    }
}

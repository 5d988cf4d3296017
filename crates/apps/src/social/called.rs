//! The services and the stores that a process calls.

use std::sync::Arc;

use anyhow::ensure;

use super::Process;
use super::api::stored::graph::Graph;
use super::api::stored::posts::Posts;
use super::api::stored::state::State;
use super::api::stored::urls::Urls;
use super::api::stored::users::Users;
use super::command::DocumentsArguments;
use super::postgres::{Postgres, Use};
use crate::kit::health::Health;
use crate::kit::rpc::{Addresses, Peers, Remote};
use crate::kit::source::Source;

/// The services and the stores that a process is connected to.
pub struct Called<'a> {
    process: &'a Process,
    peers: Vec<Peers>,
    stores: Health,
}

/// Everything that the services keep, except timelines.
pub trait Documents: Users + Graph + Urls + Posts + State {}

impl<T: Users + Graph + Urls + Posts + State> Documents for T {}

/// The largest size of the tables in PostgreSQL, in MiB.
const MAX_MEGABYTES: u32 = 16_384;

impl<'a> Called<'a> {
    pub fn by(process: &'a Process) -> Self {
        Called { process, peers: Vec::new(), stores: Health::default() }
    }

    /// Connects to the replicas of a service.
    pub async fn to(
        &mut self,
        service: &'static str,
        addresses: &Addresses,
    ) -> anyhow::Result<Arc<Remote>> {
        let peers = self.process.peers(service, addresses).await?;
        self.peers.push(peers.clone());
        Ok(Arc::new(Remote(peers)))
    }

    /// Connects to the store of documents: its process, or PostgreSQL.
    pub async fn documents(
        &mut self,
        DocumentsArguments { store, max_megabytes }: &DocumentsArguments,
        purpose: Use,
    ) -> anyhow::Result<Arc<dyn Documents>> {
        match store {
            Source::Process(addresses) => {
                let remedy = "--max-megabytes is for PostgreSQL: give it to the store's process";
                ensure!(max_megabytes.is_none(), remedy);
                Ok(self.to("store", addresses).await?)
            }
            Source::Postgres(database) => {
                let most_bytes = u64::from(max_megabytes.unwrap_or(MAX_MEGABYTES)) << 20;
                let found = Postgres::connect(database, purpose, most_bytes, self.process).await?;
                let found = Arc::new(found);
                self.needs(Health::of_part(Arc::clone(&found) as _));
                Ok(found)
            }
        }
    }

    /// Adds the health of something that the process needs.
    pub fn needs(&mut self, health: Health) {
        self.stores = std::mem::take(&mut self.stores).and(health);
    }

    /// Returns the health of a process that needs all of them.
    pub fn health(self) -> Health {
        Health::of_peers(self.peers).and(self.stores)
    }
}

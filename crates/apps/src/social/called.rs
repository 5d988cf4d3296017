//! The services that a process calls.

use std::sync::Arc;

use super::Process;
use crate::kit::health::Health;
use crate::kit::rpc::{Addresses, Peers, Remote};

/// The services that a process is connected to.
pub struct Called<'a> {
    process: &'a Process,
    peers: Vec<Peers>,
}

impl<'a> Called<'a> {
    pub fn by(process: &'a Process) -> Self {
        Called { process, peers: Vec::new() }
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

    /// Returns the health of a process that needs all of them.
    pub fn health(self) -> Health {
        Health::of_peers(self.peers)
    }
}

//! The health of a process, for `/healthz`.

use std::sync::Arc;

use super::rpc::Peers;

/// A part that a process needs to serve, such as its store.
pub trait Needed: Send + Sync {
    /// Returns the reason why it cannot serve, if any.
    fn unhealthy(&self) -> Option<String>;
}

/// The parts and the other services that a process needs to serve.
#[derive(Clone, Default)]
pub struct Health {
    parts: Vec<Arc<dyn Needed>>,
    peers: Vec<Peers>,
}

impl Health {
    pub fn of_part(part: Arc<dyn Needed>) -> Self {
        Health { parts: vec![part], ..Health::default() }
    }

    pub fn of_peers(peers: Vec<Peers>) -> Self {
        Health { peers, ..Health::default() }
    }

    /// Joins the needs of both.
    pub fn and(mut self, other: Health) -> Self {
        self.parts.extend(other.parts);
        self.peers.extend(other.peers);
        self
    }

    /// Returns the reason why it cannot serve, if any.
    pub fn unhealthy(&self) -> Option<String> {
        if let Some(why) = self.parts.iter().find_map(|part| part.unhealthy()) {
            return Some(why);
        }
        let lost = self.peers.iter().find(|peers| !peers.can_be_reached())?;
        Some(format!("no replica of {} can be reached", lost.service()))
    }
}

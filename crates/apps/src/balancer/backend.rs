//! A replica: its connections, and its readiness.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::kit::client::Client;

pub struct Backend {
    pub address: String,
    pub client: Client,
    is_ready: AtomicBool,
    /// True once it has left the list.
    is_gone: AtomicBool,
}

impl Backend {
    pub fn new(address: &str) -> Self {
        Backend {
            address: address.to_owned(),
            client: Client::new(address),
            is_ready: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
        }
    }

    pub fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    pub fn set_ready(&self, is_ready: bool) {
        self.is_ready.store(is_ready, Ordering::Relaxed);
    }

    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// Takes it out of the list; requests in progress still finish.
    pub fn leave(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
        self.client.close();
    }
}

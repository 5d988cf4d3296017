//! The sessions of a pool that can be resumed.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// The sessions of one pool, which has one peer. Only its own thread uses them: the lock, which
/// rustls requires, is always free.
#[derive(Debug)]
pub(super) struct Sessions {
    most: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    group: Option<NamedGroup>,
    /// TLS 1.3: each is used once, the newest first.
    tickets: VecDeque<Tls13ClientSessionValue>,
    /// TLS 1.2: used again and again.
    session: Option<Tls12ClientSessionValue>,
}

impl Sessions {
    /// Creates a store of at most this many tickets. The oldest are dropped, so that a peer that
    /// sends more tickets than there are slots cannot exhaust our memory.
    pub(super) fn new(most: usize) -> Sessions {
        Sessions { most: most.max(1), kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no thread panics while it keeps a session")
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _name: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _name: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _name: ServerName<'static>, session: Tls12ClientSessionValue) {
        self.kept().session = Some(session);
    }

    fn tls12_session(&self, _name: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().session.clone()
    }

    fn remove_tls12_session(&self, _name: &ServerName<'static>) {
        self.kept().session = None;
    }

    fn insert_tls13_ticket(&self, _name: ServerName<'static>, ticket: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if self.most <= kept.tickets.len() {
            kept.tickets.pop_front();
        }
        kept.tickets.push_back(ticket);
    }

    fn take_tls13_ticket(&self, _name: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop_back()
    }
}

//! The sessions of a server: those that a connection uses, and those that wait for the next one.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use crate::bounds::{MOST_KEPT_IDLE, MOST_SESSIONS};
use crate::session::Running;

/// The sessions of all shards. It is locked when a connection begins or ends, and never by a batch.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    /// The use of each session that has a connection.
    used: HashMap<u64, Use>,
    idle: HashMap<u64, Idle>,
    /// Idle sessions in the order in which they became so.
    order: BTreeMap<u64, u64>,
    next: u64,
    /// The bytes that idle sessions hold.
    held: usize,
}

#[derive(Debug)]
struct Idle {
    session: Box<Running>,
    order: u64,
}

/// The use of a session by a connection: the next connection has another turn, so that a request to end this one
/// that comes late ends no other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Use {
    pub(crate) session: u64,
    pub(crate) shard: usize,
    pub(crate) turn: u32,
}

/// The answer to the wish to resume a session.
#[derive(Debug)]
pub(crate) enum Claim {
    Granted(Box<Running>),
    /// A connection uses it.
    Used(Use),
    Unknown,
}

impl Sessions {
    /// Notes a new session. Returns false if there are too many and all of them are in use.
    pub(crate) fn begin(&self, id: u64, shard: usize) -> bool {
        let mut table = self.lock();
        if MOST_SESSIONS <= table.used.len() + table.idle.len() && !table.forget_oldest() {
            return false;
        }
        table.used.insert(id, Use { session: id, shard, turn: 0 });
        true
    }

    /// Forgets a session that the store could not begin.
    pub(crate) fn end(&self, id: u64) {
        self.lock().used.remove(&id);
    }

    /// Takes an idle session.
    pub(crate) fn claim(&self, id: u64, shard: usize) -> Claim {
        let mut table = self.lock();
        if let Some(used) = table.used.get(&id) {
            return Claim::Used(*used);
        }
        match table.take(id) {
            Some(mut session) => {
                session.turn = session.turn.wrapping_add(1);
                table.used.insert(id, Use { session: id, shard, turn: session.turn });
                Claim::Granted(session)
            }
            None => Claim::Unknown,
        }
    }

    /// Lets a session wait for its next connection.
    pub(crate) fn park(&self, session: Box<Running>) {
        let mut table = self.lock();
        let id = session.id();
        table.used.remove(&id);
        let order = table.next;
        table.next += 1;
        table.held += session.held();
        table.order.insert(order, id);
        table.idle.insert(id, Idle { session, order });
        while MOST_KEPT_IDLE < table.held && table.forget_oldest() {}
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        let table = self.lock();
        table.used.len() + table.idle.len()
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().expect("no thread panics while it holds the lock")
    }
}

impl Table {
    fn take(&mut self, id: u64) -> Option<Box<Running>> {
        let Idle { session, order } = self.idle.remove(&id)?;
        self.order.remove(&order);
        self.held -= session.held();
        Some(session)
    }

    fn forget_oldest(&mut self) -> bool {
        let Some((_, &id)) = self.order.first_key_value() else { return false };
        self.take(id).is_some()
    }
}

//! The world on virtual time: a perfect network, and a far end that a test or a model defines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use measure::Instant;

use crate::io::{Closed, ConnectionId, Endpoint, Event, Io};

/// The far end of every connection.
pub trait Peer {
    /// Whether this attempt to connect succeeds; numbered over all attempts, from 0.
    fn accepts(&mut self, _attempt: u64) -> bool {
        true
    }

    /// Bytes arrived at `now`; whatever shall happen because of them is appended with its time.
    fn receive(
        &mut self,
        connection: ConnectionId,
        bytes: &[u8],
        now: Instant,
        effects: &mut Vec<(Instant, Effect)>,
    );
}

/// What the far end does to a connection.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Effect {
    Connected(ConnectionId),
    Bytes(ConnectionId, Vec<u8>),
    Closed(ConnectionId, Closed),
}

/// Virtual time passes only in [`Io::wait`]. Everything is a function of what is sent.
#[derive(Debug)]
pub struct Simulation<P> {
    now: Instant,
    peer: P,
    /// By time, and in order of cause within one.
    future: BinaryHeap<Reverse<(Instant, u64, Effect)>>,
    sequence: u64,
    open: Vec<bool>,
    attempts: u64,
    current: Vec<u8>,
    effects: Vec<(Instant, Effect)>,
}

impl<P: Peer> Simulation<P> {
    pub fn new(peer: P) -> Simulation<P> {
        Simulation {
            now: Instant::default(),
            peer,
            future: BinaryHeap::new(),
            sequence: 0,
            open: Vec::new(),
            attempts: 0,
            current: Vec::new(),
            effects: Vec::new(),
        }
    }

    pub fn peer(&self) -> &P {
        &self.peer
    }

    fn schedule(&mut self, at: Instant, effect: Effect) {
        self.sequence += 1;
        self.future.push(Reverse((at.max(self.now), self.sequence, effect)));
    }
}

impl<P: Peer> Io for Simulation<P> {
    fn now(&mut self) -> Instant {
        self.now
    }

    /// Names are never used twice here, so that a late effect cannot reach a later connection.
    fn connect(&mut self, _to: &Endpoint) -> ConnectionId {
        let id = ConnectionId(self.open.len() as u32);
        let accepted = self.peer.accepts(self.attempts);
        self.attempts += 1;
        self.open.push(true);
        let effect = match accepted {
            true => Effect::Connected(id),
            false => Effect::Closed(id, Closed::Refused),
        };
        self.schedule(self.now, effect);
        id
    }

    fn send(&mut self, connection: ConnectionId, bytes: &[u8]) {
        let mut effects = std::mem::take(&mut self.effects);
        self.peer.receive(connection, bytes, self.now, &mut effects);
        for (at, effect) in effects.drain(..) {
            self.schedule(at, effect);
        }
        self.effects = effects;
    }

    fn is_flushed(&self, _connection: ConnectionId) -> bool {
        true
    }

    fn close(&mut self, connection: ConnectionId) {
        self.open[connection.0 as usize] = false;
    }

    fn wait(&mut self, until: Instant) -> Instant {
        let next = self.future.peek().map_or(until, |Reverse((at, ..))| (*at).min(until));
        self.now = self.now.max(next);
        self.now
    }

    fn next_event(&mut self) -> Option<Event<'_>> {
        loop {
            let Reverse((at, ..)) = self.future.peek()?;
            if self.now < *at {
                return None;
            }
            let Reverse((_, _, effect)) = self.future.pop()?;
            let (Effect::Connected(id) | Effect::Bytes(id, _) | Effect::Closed(id, _)) = effect;
            if !self.open[id.0 as usize] {
                continue;
            }
            return Some(match effect {
                Effect::Connected(id) => Event::Connected(id),
                Effect::Bytes(id, bytes) => {
                    self.current = bytes;
                    Event::Received(id, &self.current)
                }
                Effect::Closed(id, why) => {
                    self.open[id.0 as usize] = false;
                    Event::Closed(id, why)
                }
            });
        }
    }
}

//! The channel: an event is accepted, logged, and goes on to all subscribers.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::{self, Instant};

use super::command::Acknowledge;
use super::event::Event;
use super::gate::Gate;
use super::log::{Log, Recovered, Written};
use super::metrics::Accepted;
use super::pending::{Pending, Room};
use super::subscription::Subscription;
use crate::kit::lock::lock;

pub struct Channel {
    pub subscriptions: Vec<Arc<Subscription>>,
    pub log: Option<Arc<Log>>,
    pub acknowledge: Acknowledge,
    pub gate: Gate,
    pub room: Arc<Room>,
    /// The number of the next event.
    pub next: AtomicU64,
    /// The events before the gate, if it is closed.
    pub held: Mutex<Vec<Arc<Pending>>>,
    pub began: Instant,
}

impl Channel {
    /// Accepts an event; returns once it may be acknowledged or refused. Everything that follows the
    /// acceptance happens even if the caller stops waiting.
    pub async fn accept(self: &Arc<Self>, event: Event) -> Accepted {
        if self.room.is_full() {
            return Accepted::Full;
        }
        if self.log.as_ref().is_some_and(|log| log.has_stopped()) {
            return Accepted::NotLogged;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let pending = Arc::new(self.room.take(number, event, self.subscriptions.len()));
        let acknowledgement = match self.acknowledge {
            Acknowledge::Enqueued => None,
            Acknowledge::Durable => Some(pending.acknowledgement()),
            Acknowledge::Delivered if self.subscriptions.is_empty() => None,
            Acknowledge::Delivered => Some(pending.acknowledgement()),
        };
        if let Some(log) = &self.log {
            log.accepted(Arc::clone(&pending));
        }
        match self.acknowledge {
            // It goes on once it is written.
            Acknowledge::Durable => drop(pending),
            Acknowledge::Enqueued | Acknowledge::Delivered => self.push(pending),
        }
        match acknowledgement {
            None => Accepted::Accepted,
            Some(acknowledgement) => match (acknowledgement.await, self.acknowledge) {
                (Ok(true), _) => Accepted::Accepted,
                (_, Acknowledge::Durable) => Accepted::NotLogged,
                _ => Accepted::NotDelivered,
            },
        }
    }

    /// Acknowledges events that are on the disk, and sends them on.
    pub async fn pass_on(self: Arc<Self>, mut written: Written) {
        while let Some(events) = written.recv().await {
            for pending in events {
                pending.acknowledge(true);
                self.push(pending);
            }
        }
    }

    /// Continues with the events that a log had not delivered.
    pub fn resume(&self, recovered: Vec<Recovered>) {
        for Recovered { number, event, left, file } in recovered {
            let pending = Arc::new(self.room.take(number, event, left.len()));
            pending.file.store(file, Ordering::Relaxed);
            for subscription in self.subscriptions.iter().filter(|one| left.contains(&one.id)) {
                subscription.push(Arc::clone(&pending));
            }
        }
    }

    /// Sends an event on through the gate.
    fn push(self: &Arc<Self>, pending: Arc<Pending>) {
        let Some(wait) = self.gate.wait(self.began.elapsed()) else {
            return self.fan_out(&pending);
        };
        let mut held = lock(&self.held);
        held.push(pending);
        if held.len() == 1 {
            let channel = Arc::clone(self);
            tokio::spawn(async move {
                time::sleep(wait).await;
                let held = mem::take(&mut *lock(&channel.held));
                held.iter().for_each(|pending| channel.fan_out(pending));
            });
        }
    }

    fn fan_out(&self, pending: &Arc<Pending>) {
        for subscription in &self.subscriptions {
            subscription.push(Arc::clone(pending));
        }
    }
}

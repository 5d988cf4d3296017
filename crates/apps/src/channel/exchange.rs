//! The channel: an event is accepted, logged, and goes on to all subscribers.

use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::time::{self, Instant};

use super::command::Acknowledge;
use super::event::Event;
use super::gate::Gate;
use super::log::{Log, Recovered};
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
        match (self.acknowledge, &self.log) {
            (Acknowledge::Durable, Some(_)) => {
                // A task of its own: the connection may close while the disk is awaited.
                let channel = Arc::clone(self);
                let logged = tokio::spawn(async move { channel.log_and_push(pending).await });
                logged.await.unwrap_or(Accepted::NotLogged)
            }
            (Acknowledge::Durable, None) => unreachable!("a durable channel has a log"),
            (Acknowledge::Enqueued, log) => {
                log.iter().for_each(|log| log.queue(&pending));
                self.push(pending);
                Accepted::Accepted
            }
            (Acknowledge::Delivered, log) => {
                log.iter().for_each(|log| log.queue(&pending));
                let delivered = pending.delivered();
                self.push(pending);
                match delivered.await {
                    Ok(true) => Accepted::Accepted,
                    _ => Accepted::NotDelivered,
                }
            }
        }
    }

    async fn log_and_push(self: Arc<Self>, pending: Arc<Pending>) -> Accepted {
        let log = self.log.as_ref().expect("a durable channel has a log");
        match log.written(&pending).await {
            true => {
                self.push(pending);
                Accepted::Accepted
            }
            false => Accepted::NotLogged,
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

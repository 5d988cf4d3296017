//! A subscriber: its queue, the deliveries on their way, and what becomes of replies and failures.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::delivery::{self, Failure, Policy};
use super::event::Event;
use super::log::Log;
use super::metrics::{Delivered, Metrics, Reply};
use super::pending::Pending;
use super::target::Target;
use crate::kit::lock::lock;

pub struct Subscription {
    /// Its identity in the log.
    pub id: u32,
    pub subscriber: Target,
    pub reply: Option<Target>,
    pub dead_letter: Option<Target>,
    pub policy: Policy,
    /// The most events on their way; 1 keeps their order.
    pub in_flight: usize,
    pub queue: Mutex<Queue>,
    pub log: Option<Arc<Log>>,
    pub metrics: Arc<Metrics>,
}

/// The events that wait, and the number of those on their way.
#[derive(Default)]
pub struct Queue {
    waiting: VecDeque<Arc<Pending>>,
    on_their_way: usize,
}

impl Subscription {
    /// Adds an event to the queue, which the room of all pending events bounds.
    pub fn push(self: &Arc<Self>, pending: Arc<Pending>) {
        let mut queue = lock(&self.queue);
        if self.in_flight <= queue.on_their_way {
            queue.waiting.push_back(pending);
            return;
        }
        queue.on_their_way += 1;
        drop(queue);
        tokio::spawn(Arc::clone(self).deliver_all(pending));
    }

    /// Delivers an event, and then those that wait.
    async fn deliver_all(self: Arc<Self>, first: Arc<Pending>) {
        let mut next = Some(first);
        while let Some(pending) = next {
            let delivered = self.deliver(&pending.event).await;
            self.metrics.delivered(delivered);
            pending.done(delivered != Delivered::Dropped);
            if let Some(log) = &self.log {
                log.done(pending, self.id);
            }
            let mut queue = lock(&self.queue);
            next = queue.waiting.pop_front();
            if next.is_none() {
                queue.on_their_way -= 1;
            }
        }
    }

    /// Brings an event to the subscriber, and what follows from that to its place.
    pub async fn deliver(&self, event: &Event) -> Delivered {
        match self.policy.deliver(event, &self.subscriber, true, &self.metrics).await {
            Ok(response) => {
                match (delivery::reply(response), &self.reply) {
                    (None, _) => {}
                    (Some(Err(_)), _) => self.metrics.replied(Reply::Invalid),
                    (Some(Ok(_)), None) => self.metrics.replied(Reply::Dropped),
                    (Some(Ok(reply)), Some(target)) => self.pass_on(&reply, target).await,
                }
                Delivered::Taken
            }
            Err(failure) => match self.bury(event, &failure, &self.subscriber).await {
                true => Delivered::DeadLetter,
                false => Delivered::Dropped,
            },
        }
    }

    async fn pass_on(&self, reply: &Event, target: &Target) {
        let outcome = match self.policy.deliver(reply, target, false, &self.metrics).await {
            Ok(_) => Reply::Passed,
            Err(failure) => match self.bury(reply, &failure, target).await {
                true => Reply::DeadLetter,
                false => Reply::Dropped,
            },
        };
        self.metrics.replied(outcome);
    }

    /// Brings a failed event to the dead letter sink; false if it is lost.
    async fn bury(&self, event: &Event, failure: &Failure, destination: &Target) -> bool {
        let Some(sink) = &self.dead_letter else { return false };
        let letter = failure.dead_letter(event, &destination.url);
        self.policy.deliver(&letter, sink, false, &self.metrics).await.is_ok()
    }
}

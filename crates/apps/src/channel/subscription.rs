//! A subscriber: its queue, the deliveries on their way, and what becomes of replies and failures.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::delivery::{self, Failure, Policy};
use super::event::Event;
use super::log::Log;
use super::metrics::{Delivered, Metrics, Reply};
use super::pending::Pending;
use super::target::{Attempt, Target};
use crate::kit::lock::lock;

/// The bytes after which a connection gets no further event before the responses to those that it
/// has: a subscriber that does not read them takes them anyway, into the buffers of its kernel.
const MOST_PIPELINED: usize = 16 << 10;

pub struct Subscription {
    /// Its identity in the log.
    pub id: u32,
    pub subscriber: Target,
    pub reply: Option<Target>,
    pub dead_letter: Option<Target>,
    pub policy: Policy,
    /// The most events on their way; 1 keeps their order.
    pub in_flight: usize,
    /// The most of them that a connection gets before the response to the first.
    pub pipeline: usize,
    pub queue: Mutex<Queue>,
    pub log: Option<Arc<Log>>,
    pub metrics: Arc<Metrics>,
}

/// The events that wait, and the number of those on their way.
#[derive(Default)]
pub struct Queue {
    waiting: VecDeque<Arc<Pending>>,
    on_their_way: usize,
    /// True while a task is about to take events that wait.
    is_served: bool,
}

impl Subscription {
    /// Adds an event to the queue, which the room of all pending events bounds.
    pub fn push(self: &Arc<Self>, pending: Arc<Pending>) {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(pending);
        self.serve(&mut queue);
    }

    /// Lets a task take events from the queue, if there are some and they may go on. It starts when
    /// this thread has read all that has arrived, so it finds several if many come at once.
    fn serve(self: &Arc<Self>, queue: &mut Queue) {
        let is_busy = self.in_flight <= queue.on_their_way;
        if !queue.waiting.is_empty() && !is_busy && !queue.is_served {
            queue.is_served = true;
            tokio::spawn(Arc::clone(self).send_waiting());
        }
    }

    /// Sends the events that wait, as many at a time as one connection may carry.
    async fn send_waiting(self: Arc<Self>) {
        lock(&self.queue).is_served = false;
        loop {
            let batch = self.take();
            if batch.is_empty() {
                return;
            }
            let events: Vec<&Event> = batch.iter().map(|pending| &pending.event).collect();
            let mut ended = batch.iter();
            let note = |attempt| {
                let pending = ended.next().expect("each event ends once");
                self.attempted(pending, attempt);
            };
            self.subscriber.attempt(&events, &self.metrics, note).await;
        }
    }

    fn take(self: &Arc<Self>) -> Vec<Arc<Pending>> {
        let mut queue = lock(&self.queue);
        let most = self.pipeline.min(self.in_flight - queue.on_their_way);
        let (mut batch, mut bytes) = (Vec::with_capacity(most.min(queue.waiting.len())), 0);
        while batch.len() < most
            && bytes < MOST_PIPELINED
            && let Some(pending) = queue.waiting.pop_front()
        {
            bytes += pending.event.size();
            batch.push(pending);
        }
        queue.on_their_way += batch.len();
        self.serve(&mut queue);
        batch
    }

    /// Continues after the first attempt: nearly always, that was the delivery.
    fn attempted(self: &Arc<Self>, pending: &Arc<Pending>, attempt: Attempt) {
        let pending = Arc::clone(pending);
        match attempt {
            Ok(response) if response.status().is_success() && !delivery::has_reply(&response) => {
                self.delivered(pending, Delivered::Taken);
            }
            attempt => {
                let subscription = Arc::clone(self);
                tokio::spawn(async move {
                    let delivered = subscription.conclude(&pending.event, attempt).await;
                    subscription.delivered(pending, delivered);
                    subscription.serve(&mut lock(&subscription.queue));
                });
            }
        }
    }

    /// Notes the end of a delivery.
    fn delivered(&self, pending: Arc<Pending>, delivered: Delivered) {
        self.metrics.delivered(delivered);
        pending.done(delivered != Delivered::Dropped);
        if let Some(log) = &self.log {
            log.done(pending, self.id);
        }
        lock(&self.queue).on_their_way -= 1;
    }

    /// Brings an event to the subscriber, and what follows from that to its place.
    pub async fn deliver(&self, event: &Event) -> Delivered {
        let first = self.subscriber.attempt_one(event, &self.metrics).await;
        self.conclude(event, first).await
    }

    /// Does what follows from the first attempt to deliver an event.
    async fn conclude(&self, event: &Event, first: Attempt) -> Delivered {
        match self.policy.deliver(event, &self.subscriber, first, &self.metrics).await {
            Ok(response) => {
                if delivery::has_reply(&response) {
                    let (head, body) = response.into_parts();
                    let outcome = match (Event::read(&head.headers, body), &self.reply) {
                        (Err(_), _) => Reply::Invalid,
                        (Ok(_), None) => Reply::Dropped,
                        (Ok(reply), Some(target)) => self.pass_on(&reply, target).await,
                    };
                    self.metrics.replied(outcome);
                }
                Delivered::Taken
            }
            Err(failure) => match self.record(event, &failure, &self.subscriber).await {
                true => Delivered::DeadLetter,
                false => Delivered::Dropped,
            },
        }
    }

    async fn pass_on(&self, reply: &Event, target: &Target) -> Reply {
        let first = target.attempt_one(reply, &self.metrics).await;
        match self.policy.deliver(reply, target, first, &self.metrics).await {
            Ok(_) => Reply::Passed,
            Err(failure) => match self.record(reply, &failure, target).await {
                true => Reply::DeadLetter,
                false => Reply::Dropped,
            },
        }
    }

    /// Records a failed event at the dead letter sink; false if it is lost.
    async fn record(&self, event: &Event, failure: &Failure, destination: &Target) -> bool {
        let Some(sink) = &self.dead_letter else { return false };
        let letter = failure.dead_letter(event, &destination.url);
        let first = sink.attempt_one(&letter, &self.metrics).await;
        self.policy.deliver(&letter, sink, first, &self.metrics).await.is_ok()
    }
}

//! The metrics of the application beside those that every process has.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::kit::metrics::{self, Basic, Counter, write_family, write_one};
use crate::kit::services;

/// The application has no services that call each other.
#[derive(Clone, Copy, Debug)]
pub enum Service {}

impl services::Service for Service {
    const APPLICATION: &'static str = "channel";
    const NAMES: &'static [&'static str] = &[];

    fn place(self) -> usize {
        match self {}
    }
}

/// The outcome of a request with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    Accepted,
    /// It is not an event.
    Invalid,
    /// The queue is full.
    Full,
    /// The log cannot be written.
    NotLogged,
    /// A subscriber did not take it, before it was acknowledged.
    NotDelivered,
    /// The broker has not confirmed it.
    NotPublished,
}

const ACCEPTED: [&str; 6] =
    ["accepted", "invalid", "full", "not_logged", "not_delivered", "not_published"];

/// The end of the delivery of an event to a subscriber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    Taken,
    DeadLetter,
    Dropped,
}

const DELIVERED: [&str; 3] = ["taken", "dead_letter", "dropped"];

/// The end of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Passed,
    DeadLetter,
    Dropped,
    /// It is not an event.
    Invalid,
}

const REPLIES: [&str; 4] = ["passed", "dead_letter", "dropped", "invalid"];

#[derive(Default)]
pub struct Metrics {
    basic: Basic<Service>,
    accepted: [Counter; ACCEPTED.len()],
    attempts: Counter,
    delivered: [Counter; DELIVERED.len()],
    replies: [Counter; REPLIES.len()],
    pending: AtomicUsize,
    recovered: Counter,
    torn: Counter,
    unpublished: Counter,
    unreadable: Counter,
}

impl Metrics {
    pub fn accepted(&self, outcome: Accepted) {
        self.accepted[outcome as usize].add(1);
    }

    /// Counts attempts to send an event to a subscriber, the reply URL or the dead letter sink.
    pub fn attempted(&self, events: usize) {
        self.attempts.add(events as u64);
    }

    pub fn delivered(&self, outcome: Delivered) {
        self.delivered[outcome as usize].add(1);
    }

    pub fn replied(&self, outcome: Reply) {
        self.replies[outcome as usize].add(1);
    }

    /// Counts an event that was acknowledged, and that the broker did not get.
    pub fn unpublished(&self) {
        self.unpublished.add(1);
    }

    /// Counts a record of the broker that is not an event of a channel.
    pub fn unreadable(&self) {
        self.unreadable.add(1);
    }

    /// Notes the events that an earlier process had not delivered, and the bytes that were cut off
    /// its end.
    pub fn recovered(&self, events: usize, torn: usize) {
        self.recovered.add(events as u64);
        self.torn.add(torn as u64);
    }

    /// Notes the number of events that are not yet delivered to all subscribers.
    pub fn pending(&self, events: usize) {
        self.pending.store(events, Ordering::Relaxed);
    }
}

impl metrics::Metrics for Metrics {
    type Service = Service;

    fn basic(&self) -> &Basic<Service> {
        &self.basic
    }

    fn write_own(&self, out: &mut String) {
        write_family(out, "channel_events_total", "outcome", &ACCEPTED, &self.accepted);
        for (name, counter) in [
            ("channel_attempts_total", &self.attempts),
            ("channel_recovered_events_total", &self.recovered),
            ("channel_torn_bytes_total", &self.torn),
            ("channel_unpublished_events_total", &self.unpublished),
            ("channel_unreadable_records_total", &self.unreadable),
        ] {
            write_one(out, (name, "counter"), counter.get());
        }
        write_family(out, "channel_deliveries_total", "outcome", &DELIVERED, &self.delivered);
        write_family(out, "channel_replies_total", "outcome", &REPLIES, &self.replies);
        write_one(out, ("channel_pending", "gauge"), self.pending.load(Ordering::Relaxed));
    }
}

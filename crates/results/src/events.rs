//! One-way events: what their senders and their receivers noted, joined to publish and delivery
//! times, and to the events that were lost, doubled or overtaken.
//!
//! Senders and receivers note without looking at each other; [`join`] compares their notes
//! afterwards. An event costs 32 bytes at its sender, and 24 for each arrival, and the join sorts
//! them in place. No map hides a duplicate.

use measure::timer::Timer;
use measure::{Histogram, Instant, Nanos, Quantile};
use serde::{Deserialize, Serialize};

use crate::Times;

#[cfg(test)]
mod tests;

/// An event, as its sender notes it once its request has ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sent {
    /// The number of the event, and in the highest byte the outcome of its request.
    tagged: u64,
    pub intended: Instant,
    pub sent: Instant,
    /// The time at which it was accepted, or its request failed.
    pub ended: Instant,
}

const OUTCOME_SHIFT: u32 = 56;

impl Sent {
    /// The outcome of an event that was accepted; all others are names of its sender's.
    pub const ACCEPTED: u8 = 0;

    pub const MOST_NUMBER: u64 = (1 << OUTCOME_SHIFT) - 1;

    pub fn new(
        number: u64,
        outcome: u8,
        (intended, sent, ended): (Instant, Instant, Instant),
    ) -> Sent {
        let tagged = u64::from(outcome) << OUTCOME_SHIFT | number & Sent::MOST_NUMBER;
        Sent { tagged, intended, sent, ended }
    }

    pub fn number(&self) -> u64 {
        self.tagged & Sent::MOST_NUMBER
    }

    pub fn outcome(&self) -> u8 {
        (self.tagged >> OUTCOME_SHIFT) as u8
    }

    pub fn is_accepted(&self) -> bool {
        self.outcome() == Sent::ACCEPTED
    }

    /// Returns the event by another clock: `by` changes its times.
    pub fn by(self, by: impl Fn(Instant) -> Instant) -> Sent {
        let Sent { tagged, intended, sent, ended } = self;
        Sent { tagged, intended: by(intended), sent: by(sent), ended: by(ended) }
    }

    /// Returns the event as a file of notes has it.
    pub fn to_bytes(self) -> [u8; 32] {
        let mut bytes = [0; 32];
        let words = [self.tagged, self.intended.0, self.sent.0, self.ended.0];
        for (place, word) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *place = word.to_le_bytes();
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; 32]) -> Sent {
        let word = |at: usize| u64::from_le_bytes(bytes.as_chunks::<8>().0[at]);
        let (intended, sent, ended) = (Instant(word(1)), Instant(word(2)), Instant(word(3)));
        Sent { tagged: word(0), intended, sent, ended }
    }
}

/// The arrival of an event, as a receiver notes it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Received {
    pub number: u64,
    pub at: Instant,
    /// Its place among the arrivals of its receiver.
    pub order: u32,
    /// The place of its sender in the list of all senders, or [`Received::UNKNOWN`].
    pub sender: u16,
}

impl Received {
    /// The sender of an event that is none of ours.
    pub const UNKNOWN: u16 = u16::MAX;

    fn moment(&self) -> (Instant, u32) {
        (self.at, self.order)
    }
}

const _: () = assert!(size_of::<Sent>() + size_of::<Received>() <= 64, "an event has 64 bytes");

/// The events of a load with a receiver. Times and counts are those of the events with an intended
/// time in the measurement, whenever they arrived.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Events {
    /// The `source` of the events.
    pub source: String,
    /// The events that were sent.
    pub sent: u64,
    /// The events that were accepted: answered with 2xx.
    pub accepted: u64,
    /// The events that were sent, but not accepted. Together with `accepted`, `sent`.
    pub refused: u64,
    /// The events that arrived at least once, accepted or not.
    pub delivered: u64,
    /// The accepted events that did not arrive before the receiver stopped waiting.
    pub lost: u64,
    /// The events that arrived more than once.
    pub duplicated: u64,
    /// The arrivals after the first of each event.
    pub duplicates: u64,
    /// The events that arrived for the first time after a later event of their sender.
    pub reordered: u64,
    /// The events that arrived though they were refused.
    pub delivered_though_refused: u64,
    /// The arrivals, at any time, of events that no sender sent.
    pub unknown: u64,
    /// The sent events and the arrivals, at any time, that found no memory: with any, the other
    /// counts are too small.
    pub unnoted: u64,
    /// The times from the intended start of a request until its event was accepted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publish_time: Option<Times>,
    /// The same from sending on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub publish_time_since_sent: Option<Times>,
    /// The times from the intended start of a request until the first arrival of its event. A lost event
    /// waited at least until the receivers stopped waiting, and counts with this time.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_time: Option<Times>,
    /// The times of the lost events among them: a percentile of the shortest of these times or more is a
    /// lower bound. Absent up to version 2 of the load's document, whose `delivery_time` leaves them out.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost_time_at_least: Option<Times>,
    /// The same from sending on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_time_since_sent: Option<Times>,
    /// Lower bounds of the delivery times if every event had been sent at its intended time; the
    /// upper ones are `delivery_time`. An event that is sent late may also delay those behind it, so
    /// each is forgiven the longest lateness since the channel was last empty, not its own alone.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_time_at_least: Option<Times>,
}

impl Events {
    /// Returns all its times.
    pub fn times_mut(&mut self) -> [&mut Option<Times>; 6] {
        [
            &mut self.publish_time,
            &mut self.publish_time_since_sent,
            &mut self.delivery_time,
            &mut self.delivery_time_since_sent,
            &mut self.delivery_time_at_least,
            &mut self.lost_time_at_least,
        ]
    }

    /// Returns the timer that the delivery waits for, if its times show one.
    pub fn timer(&self) -> Option<Timer> {
        let all = self.delivery_time.as_ref()?.histogram()?;
        match &self.lost_time_at_least {
            // No timer delays what is lost.
            Some(lost) => Timer::of(&all.less(lost.histogram()?)?),
            None => Timer::of(all),
        }
    }

    /// Returns the delivery time from which on a percentile is a lower bound: the shortest time that a lost
    /// event had waited. `None` if none was lost, or if their times are not known.
    pub fn at_least_from(&self) -> Option<Nanos> {
        self.lost_time_at_least.as_ref().map(|times| Nanos(times.min_ns))
    }

    /// Returns the bounds between which the channel's own delivery time of a level lies; `None` if
    /// nothing was delivered.
    pub fn delivery_bounds(&self, level: Quantile) -> Option<(Nanos, Nanos)> {
        let at = |times: &Option<Times>| times.as_ref()?.histogram()?.quantile(level);
        Some((at(&self.delivery_time_at_least)?, at(&self.delivery_time)?))
    }
}

/// The result of a join.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Join {
    pub events: Events,
    /// The most by which an event arrived before it was sent: one clock shows no such event, and two
    /// show none by more than they may be apart.
    pub early: Nanos,
}

/// Joins the notes of all senders, by their places in the list, with those of all receivers, which waited
/// until a time. `counts` says which events of a sender belong to the measurement, by their intended times.
/// The notes are sorted in place.
pub fn join(
    senders: &mut [Vec<Sent>],
    received: &mut [Received],
    until: Instant,
    counts: impl Fn(usize, Instant) -> bool,
) -> Join {
    received.sort_unstable_by_key(|one| (one.sender, one.number, one.moment()));
    let mut joined = Joined { until, ..Joined::default() };
    let mut rest = &received[..];
    for (place, sender) in senders.iter_mut().enumerate() {
        sender.sort_unstable_by_key(Sent::number);
        let (of_sender, others) =
            rest.split_at(rest.partition_point(|one| usize::from(one.sender) <= place));
        rest = others;
        let counts = |intended| counts(place, intended);
        joined.add_sender(sender, of_sender, &counts);
        joined.add_lower_bounds(sender, of_sender, &counts);
    }
    joined.events.unknown += rest.len() as u64;
    let Joined { mut events, early, publish, publish_since_sent, delivery, .. } = joined;
    events.publish_time = Times::of(&publish);
    events.publish_time_since_sent = Times::of(&publish_since_sent);
    events.delivery_time = Times::of(&delivery);
    events.lost_time_at_least = Times::of(&joined.lost);
    events.delivery_time_since_sent = Times::of(&joined.delivery_since_sent);
    events.delivery_time_at_least = Times::of(&joined.delivery_at_least);
    Join { events, early }
}

#[derive(Default)]
struct Joined {
    /// The time until which the receivers waited.
    until: Instant,
    events: Events,
    early: Nanos,
    publish: Histogram,
    publish_since_sent: Histogram,
    delivery: Histogram,
    delivery_since_sent: Histogram,
    delivery_at_least: Histogram,
    lost: Histogram,
}

impl Joined {
    /// Walks over the events of a sender and over their arrivals, both by number, from the last to
    /// the first: so the earliest arrival of all later events is known at each.
    fn add_sender(
        &mut self,
        sent: &[Sent],
        mut received: &[Received],
        counts: &impl Fn(Instant) -> bool,
    ) {
        let mut earliest_of_later: Option<(Instant, u32)> = None;
        for one in sent.iter().rev() {
            // Arrivals with a higher number are of events that were not sent.
            let above = received.partition_point(|arrival| arrival.number <= one.number());
            let arrivals = received.partition_point(|arrival| arrival.number < one.number());
            self.events.unknown += (received.len() - above) as u64;
            let arrived = &received[arrivals..above];
            received = &received[..arrivals];
            let first = arrived.first().map(Received::moment);
            if counts(one.intended) {
                let is_overtaken =
                    first.zip(earliest_of_later).is_some_and(|(first, later)| later < first);
                self.add(one, arrived, is_overtaken);
            }
            earliest_of_later = match (first, earliest_of_later) {
                (Some(first), Some(later)) => Some(first.min(later)),
                (first, later) => first.or(later),
            };
        }
        self.events.unknown += received.len() as u64;
    }

    /// Walks over the events of a sender from the first to the last. If all events since the channel
    /// was last empty were sent as late as the latest of them, each would arrive that much later than
    /// if all were punctual. None was sent later than that, so none arrived later: an arrival less the
    /// longest lateness is not after that of the punctual event.
    fn add_lower_bounds(
        &mut self,
        sent: &[Sent],
        mut received: &[Received],
        counts: &impl Fn(Instant) -> bool,
    ) {
        let (mut busy_until, mut latest) = (Instant::default(), Nanos::ZERO);
        for one in sent {
            received = &received[received.partition_point(|a| a.number < one.number())..];
            let first = received.first().filter(|arrival| arrival.number == one.number());
            if busy_until <= one.intended {
                latest = Nanos::ZERO;
            }
            latest = latest.max(one.sent.saturating_since(one.intended));
            busy_until = busy_until.max(first.map_or(one.ended, |first| first.at.max(one.ended)));
            // A refused event that did not arrive is not lost.
            let waited = one.is_accepted().then_some(self.until);
            let end = first.map(|first| first.at).or(waited);
            if let Some(end) = end.filter(|_| counts(one.intended)) {
                let delivery = end.saturating_since(one.intended);
                self.delivery_at_least.record(delivery.saturating_sub(latest));
            }
        }
    }

    fn add(&mut self, sent: &Sent, arrived: &[Received], is_overtaken: bool) {
        let events = &mut self.events;
        let is_accepted = sent.is_accepted();
        let since = |from: Instant, to: Instant| -> Nanos { to.saturating_since(from) };
        events.sent += 1;
        events.accepted += u64::from(is_accepted);
        events.refused += u64::from(!is_accepted);
        if is_accepted {
            self.publish.record(since(sent.intended, sent.ended));
            self.publish_since_sent.record(since(sent.sent, sent.ended));
        }
        let Some(first) = arrived.first() else {
            if is_accepted {
                events.lost += 1;
                let waited = since(sent.intended, self.until);
                self.lost.record(waited);
                self.delivery.record(waited);
                self.delivery_since_sent.record(since(sent.sent, self.until));
            }
            return;
        };
        events.delivered += 1;
        events.delivered_though_refused += u64::from(!is_accepted);
        events.duplicated += u64::from(1 < arrived.len());
        events.duplicates += arrived.len() as u64 - 1;
        events.reordered += u64::from(is_overtaken);
        self.early = self.early.max(since(first.at, sent.sent));
        self.delivery.record(since(sent.intended, first.at));
        self.delivery_since_sent.record(since(sent.sent, first.at));
    }
}

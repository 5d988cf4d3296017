//! The events of a load: what is sent, the notes of their senders, and, in the same process, a receiver
//! in a thread of its own.
//!
//! All notes have their memory before the load begins. What finds no room is counted, and then the
//! document says that its counts are too small.

use measure::Bytes;
use measure::quantity::counted;
use net::clock;
use results::events::Events;

use crate::options::{EventMode, Load};
use console::output::Failure;

pub(crate) use self::clocks::name as clock_name;
pub(crate) use self::ledger::{Gathered, ledgers};
pub(crate) use self::noting::Noting;
pub(crate) use self::receiving::{Delivery, Receiving, identity, spawn};

mod clocks;
mod ledger;
mod noting;
mod receiving;

#[cfg(test)]
mod tests;

/// The events of a load, as its command line asks for them.
#[derive(Clone, Debug)]
pub(crate) struct EventOptions {
    pub(crate) mode: load::events::Mode,
    pub(crate) kind: String,
    pub(crate) size: usize,
    /// The source of the events of each target; no other load has the same.
    pub(crate) sources: Vec<String>,
}

impl EventOptions {
    /// Returns the events of a load; `None` if its requests are others.
    pub(crate) fn of(arguments: &Load, targets: usize) -> Result<Option<EventOptions>, Failure> {
        let Some(mode) = arguments.events else { return Ok(None) };
        let Bytes(size) = arguments.event_size;
        if !(2..=MOST_SIZE).contains(&size) {
            return Err(Failure::question(format!(
                "--event-size {} is not possible: the data is a JSON string, from 2 bytes to 1 MiB",
                Bytes(size)
            )));
        }
        let is_plain = |c: char| c.is_ascii_graphic() && !"\"\\%".contains(c);
        let kind = arguments.event_type.clone();
        if kind.is_empty() || !kind.chars().all(is_plain) {
            return Err(Failure::question(format!(
                "--event-type `{kind}` is not a type; write letters, digits, dots and hyphens"
            )));
        }
        let base = format!("/benchwright/{}-{:x}", std::process::id(), clock::now().0);
        let sources = match targets {
            1 => vec![base],
            several => (1..=several).map(|target| format!("{base}/{target}")).collect(),
        };
        let mode = match mode {
            EventMode::Binary => load::events::Mode::Binary,
            EventMode::Structured => load::events::Mode::Structured,
        };
        Ok(Some(EventOptions { mode, kind, size: size as usize, sources }))
    }
}

/// The most bytes of an event's data.
const MOST_SIZE: u64 = 1 << 20;

/// Returns what the fate of the events says about the channel.
pub(crate) fn findings(events: &Events) -> Vec<String> {
    let some = |count: u64, what: &str| {
        let (some, all) = (counted(count), counted(events.sent));
        (0 < count).then(|| format!("{some} of {all} events {what}"))
    };
    [
        lost(events),
        some(events.duplicated, "arrived more than once"),
        some(events.delivered_though_refused, "arrived though they were refused"),
    ]
    .into_iter()
    .flatten()
    .chain(timer(events))
    .collect()
}

/// Describes the lost events, and how they count.
fn lost(events: &Events) -> Option<String> {
    let how = match events.at_least_from() {
        Some(from) => format!(
            "; in the delivery times they count with the time that they were waited for, {from} or more, and \
             a percentile of that is a lower bound (≥)"
        ),
        None => String::new(),
    };
    (0 < events.lost).then(|| {
        format!(
            "{} of {} events were accepted and did not arrive{how}",
            counted(events.lost),
            counted(events.sent)
        )
    })
}

/// Describes the timer that the delivery waits for, if its times show one.
fn timer(events: &Events) -> Option<String> {
    let times = events.delivery_time.as_ref()?;
    let timer = events.timer()?;
    Some(format!(
        "the delivery times are flat to {}: a timer. Their percentiles are those of the timer, however \
         well they repeat: the p50 is {}, and without the timer everything takes {}",
        timer.nominal(),
        times.p50(),
        timer.constant
    ))
}

/// Returns what an interruption of the wait means for the counts.
pub(crate) fn cut_short(delivery: &Delivery) -> Option<String> {
    let lost = delivery.events.lost;
    (delivery.is_cut_short && 0 < lost).then(|| {
        format!("interrupted while {} events were awaited, which count as lost", counted(lost))
    })
}

/// Returns what weakens the counts.
pub(crate) fn warning(events: &Events) -> Option<String> {
    (0 < events.unnoted).then(|| {
        format!(
            "{} events or arrivals found no memory, so the counts of events are too small; measure \
             for a shorter time",
            counted(events.unnoted)
        )
    })
}

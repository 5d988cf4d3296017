//! The notes of several senders and receivers, joined: the document of `benchwright join`.
//!
//! Times of different hosts are by different clocks. All are converted to the clock of the first
//! sender, and a time from one host to another is shown only if the uncertainty of the clocks is
//! small beside it.

use std::collections::BTreeMap;
use std::ops::Range;

use measure::{Histogram, Instant, Nanos, Quantile};
use serde::{Deserialize, Serialize};

use crate::events::{self, Events, Join, Received, Sent};
use crate::notes::{End, Rest};

use self::clocks::Places;
pub use self::files::{Notes, OfReceiver, OfSender};

mod clocks;
mod files;

#[cfg(test)]
mod tests;

/// Version 2 (2026-11) has lost events in the delivery times.
pub const SCHEMA: &str = "benchwright.join/2";

/// The largest uncertainty of the clocks beside a time that is shown.
const MOST_UNCERTAINTY: f64 = 0.05;

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Joined {
    pub schema: String,
    pub senders: Vec<File>,
    pub receivers: Vec<File>,
    /// The events of all senders. Delivery times are here only if all notes are by one clock.
    pub events: Events,
    /// The sent events by the outcome of their requests.
    pub outcomes: BTreeMap<String, u64>,
    /// The clocks of the notes, the first sender's first.
    pub clocks: Vec<Clock>,
    /// The most by which a delivery time may be wrong since clocks differ: 0 if all notes are by one
    /// clock, absent if the clocks were not compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock_error_ns: Option<u64>,
    /// The delivery times by two clocks, as far as they are known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_by_clocks: Option<ByClocks>,
    /// The same from sending on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub delivery_since_sent_by_clocks: Option<ByClocks>,
    /// False if notes are missing, so that counts are wrong.
    pub complete: bool,
    pub findings: Vec<String>,
    pub warnings: Vec<String>,
}

/// A file of notes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct File {
    pub file: String,
    /// The sources of its events.
    pub sources: Vec<String>,
    /// The events or arrivals in it.
    pub noted: u64,
    /// Those that found no room in it; absent if the program was killed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub unnoted: Option<u64>,
    /// The bytes at its end that do not make a whole block.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub torn_bytes: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A clock of notes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Clock {
    /// The id of its host's boot; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub clock: Option<String>,
    /// Its time less that of the first clock; absent like the next one if they were not compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ahead_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_ns: Option<u64>,
}

/// Times from one host to another. A figure is absent if the clocks may be apart by more than 5 % of
/// it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct ByClocks {
    pub count: u64,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p999_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p9999_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub max_ns: Option<u64>,
    /// The shortest time that a lost event had waited: a figure of so much or more is a lower bound.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub at_least_from_ns: Option<u64>,
    /// A sentence for the figures that are absent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refused: Option<String>,
}

impl ByClocks {
    /// Returns the figures of a distribution that are known well enough; `error` is absent if the
    /// clocks were not compared.
    fn of(times: &Histogram, error: Option<Nanos>, lost_from: Option<Nanos>) -> ByClocks {
        let mut refused = Vec::new();
        let mut known = |name: &'static str, time: Option<Nanos>| {
            let time = time?;
            let is_known =
                error.is_some_and(|error| error.0 as f64 <= MOST_UNCERTAINTY * time.0 as f64);
            if !is_known {
                refused.push(name);
            }
            is_known.then_some(time.0)
        };
        let mut at = |name, quantile| known(name, times.quantile(quantile));
        let (p50_ns, p90_ns) = (at("p50", Quantile::P50), at("p90", Quantile::P90));
        let (p99_ns, p999_ns) = (at("p99", Quantile::P99), at("p99.9", Quantile::P999));
        let p9999_ns = at("p99.99", Quantile::P9999);
        let max_ns = known("max", times.max());
        let refused = (!refused.is_empty()).then(|| {
            let which = refused.join(", ");
            match error {
                Some(error) => format!(
                    "no {which}: the offset of the clocks is known to ± {error}, which is more than 5 % \
                     of it"
                ),
                None => format!(
                    "no {which}: the clocks were not compared; start the load with --compare-clock and \
                     the address of the receiver"
                ),
            }
        });
        let count = times.count();
        let at_least_from_ns = lost_from.map(|from| from.0);
        ByClocks {
            count,
            p50_ns,
            p90_ns,
            p99_ns,
            p999_ns,
            p9999_ns,
            max_ns,
            at_least_from_ns,
            refused,
        }
    }
}

/// Joins all notes. Fails with the reason if they are not of one measurement.
pub fn join(senders: Vec<OfSender>, receivers: Vec<OfReceiver>) -> Result<Joined, String> {
    let places = clocks::places(&senders, &receivers);
    let numbers = numbers(&senders)?;
    let of_senders: Vec<File> = senders.iter().map(OfSender::file).collect();
    let of_receivers: Vec<File> = receivers.iter().map(OfReceiver::file).collect();
    let foreign: u64 = receivers.iter().map(|receiver| receiver.foreign).sum();
    let until = until(&receivers, &places);
    let mut received = all_received(receivers, &places, &numbers);
    let AllSent { mut sent, windows, outcomes } = all_sent(senders, &places);
    let counts = |sender: usize, at| windows[sender].contains(&at);
    let Join { mut events, early } = events::join(&mut sent, &mut received, until, counts);
    let sources: Vec<&str> =
        of_senders.iter().flat_map(|file| &file.sources).map(String::as_str).collect();
    events.source = sources.join(" ");
    events.unknown += foreign;
    let files = || of_senders.iter().chain(&of_receivers);
    events.unnoted = files().filter_map(|file| file.unnoted).fold(0, u64::saturating_add);
    let complete = events.unnoted == 0 && files().all(|file| file.unnoted.is_some());
    let warnings = files().filter_map(missing).chain(early_warning(early, places.error));
    let warnings = warnings.chain(places.unknown_receivers()).collect();
    let error = places.error;
    let lost_from = events.at_least_from();
    let [delivery_by_clocks, delivery_since_sent_by_clocks] =
        [&mut events.delivery_time, &mut events.delivery_time_since_sent].map(
            |times| match error {
                Some(Nanos::ZERO) => None,
                error => ByClocks::of(times.take()?.histogram()?, error, lost_from).into(),
            },
        );
    if error != Some(Nanos::ZERO) {
        // A bound of a time that two clocks do not support is none.
        events.delivery_time_at_least = None;
        events.lost_time_at_least = None;
    }
    Ok(Joined {
        schema: SCHEMA.to_owned(),
        senders: of_senders,
        receivers: of_receivers,
        events,
        outcomes,
        clocks: places.clocks(),
        clock_error_ns: error.map(|error| error.0),
        delivery_by_clocks,
        delivery_since_sent_by_clocks,
        complete,
        findings: Vec::new(),
        warnings,
    })
}

/// Returns the time until which all receivers waited, by the clock of the first sender: of one that was killed,
/// its last arrival.
fn until(receivers: &[OfReceiver], places: &Places) -> Instant {
    let each = receivers.iter().zip(&places.receivers).map(|(receiver, clock)| {
        let last = || receiver.received.iter().map(|one| one.at).max().unwrap_or_default();
        let end = receiver.rest.end.and_then(|end| end.until_ns).map(Instant);
        places.offset(*clock).own_time(end.unwrap_or_else(last))
    });
    each.min().unwrap_or_default()
}

/// Returns the arrivals at all receivers, by the numbers of the senders' sources and by the clock of
/// the first sender.
fn all_received(
    receivers: Vec<OfReceiver>,
    places: &Places,
    numbers: &BTreeMap<Vec<u8>, u16>,
) -> Vec<Received> {
    let mut all: Vec<Received> = Vec::new();
    for (receiver, clock) in receivers.into_iter().zip(&places.receivers) {
        let number = |source| numbers.get(source).copied().unwrap_or(Received::UNKNOWN);
        let senders: Vec<u16> = receiver.sources.iter().map(number).collect();
        let (offset, mut received) = (places.offset(*clock), receiver.received);
        for one in &mut received {
            one.sender = senders[usize::from(one.sender)];
            one.at = offset.own_time(one.at);
        }
        if all.is_empty() {
            all = received;
        } else {
            all.reserve_exact(received.len());
            all.append(&mut received);
        }
    }
    all
}

/// The events of all sources of all senders, in the order of their numbers.
struct AllSent {
    sent: Vec<Vec<Sent>>,
    /// The measurement of each.
    windows: Vec<Range<Instant>>,
    outcomes: BTreeMap<String, u64>,
}

fn all_sent(senders: Vec<OfSender>, places: &Places) -> AllSent {
    let mut all = AllSent { sent: Vec::new(), windows: Vec::new(), outcomes: BTreeMap::new() };
    for (sender, clock) in senders.into_iter().zip(&places.senders) {
        let offset = places.offset(*clock);
        let own_time = |at| offset.own_time(at);
        let OfSender { of, sent, .. } = sender;
        let window = own_time(Instant(of.from_ns))..own_time(Instant(of.to_ns));
        let mut counts = [0_u64; 256];
        for mut of_source in sent {
            for one in &mut of_source {
                *one = one.by(own_time);
                counts[usize::from(one.outcome())] += u64::from(window.contains(&one.intended));
            }
            all.sent.push(of_source);
            all.windows.push(window.clone());
        }
        for (number, count) in counts.into_iter().enumerate().filter(|(_, count)| 0 < *count) {
            let name = of.outcomes.get(number).cloned();
            let name = name.unwrap_or_else(|| format!("outcome {number}"));
            *all.outcomes.entry(name).or_default() += count;
        }
    }
    all
}

/// Returns the number of each source of the senders.
fn numbers(senders: &[OfSender]) -> Result<BTreeMap<Vec<u8>, u16>, String> {
    let mut numbers = BTreeMap::new();
    for sender in senders {
        for source in &sender.of.sources {
            let number =
                u16::try_from(numbers.len()).ok().filter(|number| *number < Received::UNKNOWN);
            let number = number.ok_or("the senders have too many sources: at most 65,535")?;
            if numbers.insert(source.clone().into_bytes(), number).is_some() {
                return Err(format!(
                    "{} has the source {source}, which another sender has, too: give the notes of each \
                     load once",
                    sender.name
                ));
            }
        }
    }
    Ok(numbers)
}

/// Describes the notes that are missing in a file.
fn missing(file: &File) -> Option<String> {
    let name = &file.file;
    match file.unnoted {
        Some(0) => None,
        Some(unnoted) => Some(format!(
            "{name}: {unnoted} events or arrivals found no room, so the counts are too small"
        )),
        None => Some(format!(
            "{name} has no end: its program was killed. What it noted last is missing ({} bytes of it \
             are torn), and so counted as lost or unknown",
            file.torn_bytes
        )),
    }
}

fn early_warning(early: Nanos, error: Option<Nanos>) -> Option<String> {
    let is_impossible = error.is_some_and(|error| error < early);
    is_impossible.then(|| {
        format!(
            "an event arrived {early} before it was sent: its times are not by the clocks that the \
             files name"
        )
    })
}

/// Returns what a file says about its notes.
fn file(name: &str, sources: Vec<String>, noted: u64, rest: Rest) -> File {
    let unnoted = rest.end.map(|End { unnoted, .. }| unnoted);
    File { file: name.to_owned(), sources, noted, unnoted, torn_bytes: rest.torn }
}

//! Habits of servers that a load shows, which make its figures those of something else than was asked for. Three are of
//! the transport beneath the requests: they look like slow code, and are a setting.
//!
//! - **The delayed acknowledgement.** A server writes the head of a response, and then its body. Nagle's algorithm
//!   (RFC 896) keeps the second segment until the first is acknowledged, and a client that has nothing to send delays
//!   its acknowledgement (RFC 1122, 4.2.3.2), on Linux for 40 ms. So responses take 40 ms and a little, or hardly
//!   any time, and never something between; and their first bytes come early. A service that is slow for another
//!   reason has times between, or late first bytes.
//! - **A connection for each request.** A server that speaks HTTP/1.0, or answers `Connection: close`, ends the
//!   connection with each response.
//! - **A silent close.** It ends the connection with each response and does not announce it, so that requests which
//!   are sent before the close arrives are lost.
//! - **Redirects.** Most responses say where the answer is, and are none.

use std::collections::BTreeMap;

use measure::quantity::{counted, requests};
use measure::{Histogram, Nanos};
use serde::{Deserialize, Serialize};

use crate::failure::WRONG_BUT_WHOLE;
use crate::load::{Group, Load};
use crate::times::Times;

#[cfg(test)]
mod tests;

/// The shortest and the longest time that a delayed acknowledgement makes of a response: Linux waits for 40 ms, and
/// its timers round up by some.
const BAND: (Nanos, Nanos) = (Nanos::from_millis(39), Nanos::from_millis(46));
/// The end of the times that are hardly longer than without the delay.
const FAST: Nanos = Nanos::from_millis(5);
/// The smallest number and share of responses that show the band.
const FEWEST: u64 = 20;
const LEAST_SHARE: f64 = 0.005;
/// The most times between, as a share of those in the band; and the most first bytes in the band.
const MOST_BETWEEN: f64 = 0.1;
/// The most responses that take longer than the band, as a share of those in it: a slow service has a tail.
const MOST_BEYOND: f64 = 0.5;
/// The most labels that a sentence names.
const MOST_LABELS: usize = 3;

/// The smallest number of connections that the target ended, and the smallest share of the responses.
const FEWEST_ENDED: u64 = 20;
const MOST_RESPONSES: f64 = 0.9;
/// The statuses that say where the answer is (RFC 9110, 15.4).
const REDIRECTS: [&str; 5] = ["301", "302", "303", "307", "308"];

/// A habit of a server.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Habit {
    /// It writes head and body apart without TCP_NODELAY.
    DelayedAcknowledgement,
    /// It ends the connection with each response.
    ConnectionEach,
    /// It does so without announcing it.
    SilentClose,
    /// It answers most requests with a redirect.
    Redirects,
}

impl Habit {
    pub const ALL: [Habit; 4] = [
        Habit::DelayedAcknowledgement,
        Habit::ConnectionEach,
        Habit::SilentClose,
        Habit::Redirects,
    ];

    /// Returns the subject of the line that tells it.
    pub fn about(self) -> &'static str {
        match self {
            Habit::DelayedAcknowledgement | Habit::ConnectionEach | Habit::SilentClose => {
                "transport"
            }
            Habit::Redirects => "responses",
        }
    }

    /// Returns what a load shows of it, and the remedy, without figures.
    pub fn in_words(self) -> (&'static str, &'static str) {
        match self {
            Habit::DelayedAcknowledgement => (
                "responses waited 40 ms for a delayed acknowledgement",
                "set TCP_NODELAY in the server, or write each response at once",
            ),
            Habit::ConnectionEach => (
                "the target ended the connection with each response",
                "let the server keep connections alive",
            ),
            Habit::SilentClose => (
                "the target closed the connection after each response without announcing it",
                "use load.keep_alive 1, or let the target respond with `Connection: close`",
            ),
            Habit::Redirects => (
                "most responses were a redirect, which is not followed,",
                "name the URL that it leads to, if that is meant; `redirects` of a request in a mix follows it",
            ),
        }
    }
}

/// Returns the habits that a load shows, each with a sentence that ends in the remedy.
pub fn habits(load: &Load) -> Vec<(Habit, String)> {
    let found = |habit| {
        let text = match habit {
            Habit::DelayedAcknowledgement => delayed(load),
            Habit::ConnectionEach => reconnecting(load),
            Habit::SilentClose => closing(load),
            Habit::Redirects => redirecting(load),
        };
        text.map(|text| (habit, text))
    };
    Habit::ALL.into_iter().filter_map(found).collect()
}

/// Returns the finding about responses that wait for a delayed acknowledgement.
fn delayed(load: &Load) -> Option<String> {
    let total = &load.total;
    let first_byte = total.first_byte_time.as_ref()?.histogram()?;
    let is_early =
        |band: u64| within(first_byte, BAND.0, BAND.1) as f64 <= MOST_BETWEEN * band as f64;
    let shown = |times: &Option<Times>| {
        let times = times.as_ref()?.histogram()?;
        Some((in_band(times).filter(|band| is_early(*band))?, times.count()))
    };
    // Only some requests may be answered so: in all together, others may hide them.
    let of_label = |(label, group): (&String, &Group)| {
        let (band, all) = shown(&group.service_time)?;
        Some((label.clone(), band, all))
    };
    let labels: Vec<(String, u64, u64)> = load.labels.iter().filter_map(of_label).collect();
    let (band, all, which) = match (shown(&total.service_time), &labels[..]) {
        (Some((band, all)), _) => (band, all, String::new()),
        (None, []) => return None,
        (None, labels) => {
            let (bands, alls) = labels.iter().fold((0, 0), |(a, b), (_, c, d)| (a + c, b + d));
            (bands, alls, format!(" with the label {}", named(labels)))
        }
    };
    Some(format!(
        "a delayed acknowledgement, not slow code: {} of {}{which} took 40 ms and a little, hardly any 5 to 38 ms, and \
         their first bytes came before: the server writes head and body apart and does not set TCP_NODELAY, so the \
         second segment waits until Linux acknowledges the first, after 40 ms; set TCP_NODELAY in the server, or \
         write each response at once",
        counted(band),
        requests(all),
    ))
}

fn named(labels: &[(String, u64, u64)]) -> String {
    let names: Vec<String> =
        labels.iter().take(MOST_LABELS).map(|(label, ..)| format!("`{label}`")).collect();
    match labels.len().saturating_sub(MOST_LABELS) {
        0 => names.join(", "),
        further => format!("{} and {further} more", names.join(", ")),
    }
}

/// Returns the number of times in the band, if they have its shape.
fn in_band(times: &Histogram) -> Option<u64> {
    let band = within(times, BAND.0, BAND.1);
    let between = within(times, FAST, BAND.0);
    let beyond = times.count_above(BAND.1);
    let is_enough = FEWEST <= band && LEAST_SHARE * times.count() as f64 <= band as f64;
    let is_alone =
        between as f64 <= MOST_BETWEEN * band as f64 && beyond as f64 <= MOST_BEYOND * band as f64;
    (is_enough && is_alone).then_some(band)
}

/// Returns the number of times above one and up to another.
fn within(times: &Histogram, above: Nanos, to: Nanos) -> u64 {
    times.count_above(above).saturating_sub(times.count_above(to))
}

/// Returns the finding about a target that ends the connection with each response. A connection that this program
/// ends, as it was asked to, is not counted.
fn reconnecting(load: &Load) -> Option<String> {
    let counts = &load.total.counts;
    let unasked = load.connections.as_ref().and_then(|connections| connections.unasked);
    // What failed without a response took its connection along, and so did bytes that nobody had asked for.
    let outcome = |name: &&str| load.total.outcomes.get(*name).copied().unwrap_or_default();
    let answered: u64 = WRONG_BUT_WHOLE.iter().map(outcome).sum();
    let lost = counts.failed.saturating_sub(answered) + unasked.unwrap_or_default();
    let ended = counts.reconnects.saturating_sub(lost);
    let responses = counts.completed_inside;
    let is_each = FEWEST_ENDED <= ended && MOST_RESPONSES * responses as f64 <= ended as f64;
    let is_announced = closed_silently(load).is_none();
    (is_each && 0 < responses && is_announced).then(|| {
        let connect = load.total.connect_time.as_ref();
        let took = connect.map_or(String::new(), |times| format!(" ({} in the median)", times.p50()));
        format!(
            "the target ends the connection with each response ({} connections for {} responses): HTTP/1.0, or \
             `Connection: close`. A new connection takes a round trip more{took}, a local port, and CPU on both \
             sides; let the server keep connections alive, unless its users do come with a connection each",
            counted(ended),
            counted(responses),
        )
    })
}

/// Returns the finding about a target that closes each connection after one response without a word. A request that it
/// loses so is the target's.
fn closing(load: &Load) -> Option<String> {
    closed_silently(load).map(|times| {
        format!(
            "the target closes the connection after each response without announcing it ({} times): requests that are \
             sent before the close arrives end as `reset`; {}",
            counted(times),
            Habit::SilentClose.in_words().1.replace("load.keep_alive", "--keep-alive")
        )
    })
}

fn closed_silently(load: &Load) -> Option<u64> {
    load.connections.as_ref()?.closed_silently
}

/// Returns the finding about responses that are redirects. Only a mix follows them, and of its requests the last
/// response of each counts.
fn redirecting(load: &Load) -> Option<String> {
    let groups = || load.labels.values().map(|group| &group.ok_statuses);
    let responses = match load.labels.is_empty() {
        true => load.total.statuses.clone(),
        false => groups().flatten().fold(BTreeMap::new(), |mut all, (status, count)| {
            *all.entry(status.clone()).or_default() += count;
            all
        }),
    };
    let all: u64 = responses.values().sum();
    let redirects: Vec<_> =
        responses.iter().filter(|(status, _)| REDIRECTS.contains(&status.as_str())).collect();
    let count: u64 = redirects.iter().map(|(_, count)| **count).sum();
    let statuses: Vec<&str> = redirects.iter().map(|(status, _)| status.as_str()).collect();
    (all < 2 * count).then(|| {
        format!(
            "{} of {} responses are a redirect ({}), which is not followed; {}",
            counted(count),
            counted(all),
            statuses.join(", "),
            Habit::Redirects.in_words().1
        )
    })
}

//! The events of a cluster while a load was made: what happened to pods and nodes, each in a band of
//! time. Kubernetes says most times in full seconds of the clock of the machine that noticed.

use std::collections::BTreeMap;

use lab::backend::Happened;
use measure::{Instant, Offset};
use serde_json::Value;

use crate::lease;

#[cfg(test)]
mod tests;

/// The most events of a load that are kept.
const MOST: usize = 100;

/// The clocks of a cluster against the runner's, in nanoseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clocks {
    /// Those of nodes, by name.
    pub(crate) nodes: BTreeMap<String, Offset>,
    /// That of everybody else: the runner's own date.
    pub(crate) others: Offset,
}

/// Returns the events between two times, except those of the generators' own pods and job, whose
/// names begin with `own`. The first ones are kept if they are very many.
pub(crate) fn during(
    events: &[Value],
    (begin, end): (Instant, Instant),
    own: &str,
    clocks: &Clocks,
) -> Vec<Happened> {
    let mut found: Vec<Happened> = events
        .iter()
        .filter(|event| !text(event, "/involvedObject/name").starts_with(own))
        .filter_map(|event| happened(event, clocks))
        .filter(|event| begin <= event.to && event.from <= end)
        .collect();
    found.sort_by(|a, b| (a.from, &a.what).cmp(&(b.from, &b.what)));
    found.truncate(MOST);
    found
}

/// Returns an event with the times between which it happened; `None` without a time.
fn happened(event: &Value, clocks: &Clocks) -> Option<Happened> {
    let second = lease::seconds_of(time_of(event)?)?;
    let clock = clocks.nodes.get(text(event, "/source/host")).unwrap_or(&clocks.others);
    let at = |second: u64| clock.own_time(Instant(second * 1_000_000_000));
    let what = format!(
        "{} {}: {}: {}",
        text(event, "/involvedObject/kind"),
        text(event, "/involvedObject/name"),
        text(event, "/reason"),
        text(event, "/message")
    );
    let from = Instant(at(second).0.saturating_sub(clock.error.0));
    Some(Happened { from, to: at(second + 1) + clock.error, what })
}

/// Returns the last time of an event, as the API writes it.
pub(crate) fn time_of(event: &Value) -> Option<&str> {
    let times =
        ["/series/lastObservedTime", "/lastTimestamp", "/eventTime", "/metadata/creationTimestamp"];
    times.into_iter().find_map(|time| event.pointer(time)?.as_str())
}

fn text<'a>(event: &'a Value, pointer: &str) -> &'a str {
    event.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

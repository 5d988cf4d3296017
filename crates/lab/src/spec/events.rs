//! Requests that carry events, and the receiver of the events.

use std::fmt;

use measure::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BackendKind, Model, Resolved, SpecError, Written};

/// CloudEvents 1.0, each with the number of its request as id; and, if `receive` is given, the
/// receiver that notes their delivery.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Events {
    /// The form of the events in HTTP: `binary`, with attributes as header fields, or `structured`.
    #[serde(default)]
    pub mode: EventMode,
    /// The type of the events; `benchwright.event` by default.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The bytes of the data of each event; 100 by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Written<Bytes>>,
    /// The address and port at which the generator receives the events, as a subscriber of the
    /// channel. Only then there are delivery times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive: Option<String>,
    /// The longest time to wait for events that have not arrived when the load has ended; `5s` by
    /// default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<Written<Nanos>>,
    /// The refusal of the first arrivals of each event, to test a channel: `503:2` answers two with
    /// 503, `close:1` closes the connection of the first, `hang:1` never answers it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refuse: Option<String>,
}

/// The form of events in HTTP.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventMode {
    #[default]
    Binary,
    Structured,
}

impl EventMode {
    pub const ALL: [EventMode; 2] = [EventMode::Binary, EventMode::Structured];
}

impl fmt::Display for EventMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventMode::Binary => "binary",
            EventMode::Structured => "structured",
        })
    }
}

/// Checks that events have an open loop, and that figures of their delivery have a receiver.
pub(super) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let super::Spec { where_, workload, load, .. } = &resolved.spec;
    let error = |message: String, key: &str, name: &str, label: &str| {
        Err(resolved.source.error(message, resolved.source.find(key, name), label))
    };
    if workload.events.is_some() && load.model == Model::Closed {
        let message = "events need an open loop: a closed one waits for the channel".to_owned();
        return error(message, "events:", "events", "write load: {model: open, rate: 500/s}");
    }
    let mut declared = resolved.spec.declared().into_iter();
    let of_delivery = declared.find(|(metric, _)| metric.is_of_delivery());
    let Some((metric, key)) = of_delivery else { return Ok(()) };
    let has_receiver = workload.events.as_ref().is_some_and(|events| events.receive.is_some());
    let label = match where_.backend {
        BackendKind::Simulated => "only loads that are really sent have it",
        _ if has_receiver => return Ok(()),
        _ => "add workload: {events: {receive: 127.0.0.1:18080}}, a subscriber of the channel",
    };
    error(format!("nothing here measures `{metric}`"), key, metric.name(), label)
}

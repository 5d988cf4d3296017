//! Requests that carry events, and the receiver of the events.

use std::fmt;

use measure::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Headers, Kind, KindOf, Set, Sets, Workload, name, plain, sets};
use crate::spec::{BackendKind, Resolved, Spec, SpecError, Written};

/// Events in place of other requests; they need an open loop.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct EventLoad {
    /// The events, and their receiver.
    pub events: Events,
    /// The path of the channel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The header fields of every request; a list is a field that is repeated.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

pub(super) const KIND: KindOf = KindOf {
    keys: &["events"],
    name: "events",
    written: "`events: {…}`",
    fields: &["events", "path", "headers"],
    options: || Sets::names(SETS),
    refuses: |_| {
        Some(
            "`events` are the requests of a workload; beside them only `path` and `headers` are \
             possible",
        )
    },
    own: &[],
    read: |fields| {
        let load: EventLoad = super::read(fields);
        let Events { receive, within, refuse, .. } = &load.events;
        if receive.is_none() && (within.is_some() || refuse.is_some()) {
            return Err(
                "`within` and `refuse` are of a receiver; add `receive: ADDRESS:PORT`".to_owned()
            );
        }
        load.headers.check()?;
        Ok(Workload::Events(load))
    },
};

const SETS: &[Sets<EventLoad>] = &[
    sets("--header", "workload.headers", |load| load.headers.given()),
    sets("--events", "workload.events", |load| plain(Some(load.events.mode))),
    sets("--event-type", "workload.events.type", |load| plain(load.events.kind.as_ref())),
    sets("--event-size", "workload.events.size", |load| {
        plain(load.events.size.map(|size| format!("{}B", size.0.0)))
    }),
    sets("--receive", "workload.events.receive", |load| name(&load.events.receive)),
    sets("--receive-within", "workload.events.within", |load| {
        plain(load.events.within.map(|within| within.written()))
    }),
    sets("--receive-refuse", "workload.events.refuse", |load| plain(load.events.refuse.as_ref())),
];

impl Kind for EventLoad {
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn set(&self) -> Vec<Set<'_>> {
        Sets::all(SETS, self)
    }

    fn describe(&self) -> String {
        format!("events to {}", self.path.as_deref().unwrap_or("/"))
    }
}

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
pub(in crate::spec) fn check(resolved: &Resolved) -> Result<(), SpecError> {
    let Spec { where_, workload, load, .. } = &resolved.spec;
    let error = |message: String, key: &str, name: &str, label: &str| {
        Err(resolved.source.error(message, resolved.source.find(key, name), label))
    };
    if workload.events().is_some() && load.is_closed() {
        let message = "events need an open loop: a closed one waits for the channel".to_owned();
        return error(message, "events:", "events", "write load: {model: open, rate: 500/s}");
    }
    let mut declared = resolved.spec.declared().into_iter();
    let of_delivery = declared.find(|(metric, _)| metric.is_of_delivery());
    let Some((metric, key)) = of_delivery else { return Ok(()) };
    let has_receiver = workload.events().is_some_and(|events| events.receive.is_some());
    let label = match where_.backend {
        BackendKind::Simulated => "only loads that are really sent have it",
        _ if has_receiver => return Ok(()),
        _ => "add workload: {events: {receive: 127.0.0.1:18080}}, a subscriber of the channel",
    };
    error(format!("nothing here measures `{metric}`"), key, metric.name(), label)
}

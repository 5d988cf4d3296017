//! Weighted requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Given, Headers, Kind, KindOf, Set, Sets, Workload, file, sets};

/// The weighted requests of a file.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// A file of weighted requests.
    pub mix: String,
    /// A table for the mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The header fields of every request; a list is a field that is repeated.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
}

pub(super) const KIND: KindOf = KindOf {
    keys: &["mix"],
    name: "a mix",
    written: "`mix: file.jsonl`",
    fields: &["mix", "data", "headers"],
    options: || Sets::names(SETS),
    refuses: |field| {
        ["method", "path", "body", "body_file", "check"].contains(&field).then_some(
            "each line of a mix has its own method, target, body and check; remove method, path, \
             body, body_file and check here",
        )
    },
    own: &[("data", "`data` is the table of a mix; add `mix: file.jsonl`")],
    read: |fields| {
        let mix: Mix = super::read(fields);
        mix.headers.check()?;
        Ok(Workload::Mix(mix))
    },
};

const SETS: &[Sets<Mix>] = &[
    sets("--header", "workload.headers", |mix| mix.headers.given()),
    sets("--mix", "workload.mix", |mix| vec![Given::File(&mix.mix)]),
    sets("--data", "workload.data", |mix| file(&mix.data)),
];

impl Kind for Mix {
    fn path(&self) -> Option<&str> {
        None
    }

    fn set(&self) -> Vec<Set<'_>> {
        Sets::all(SETS, self)
    }

    fn describe(&self) -> String {
        self.mix.clone()
    }
}

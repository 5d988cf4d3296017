//! The requests of another load generator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Kind, KindOf, Protocol, Set, Workload};
use crate::spec::{Command, Parse};

/// The requests of another load generator, which makes the load in place of ours.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// The command of the generator. `${url}`, its parts `${address}`, `${host}` and `${port}`,
    /// `${duration}`, `${duration_s}`, `${rate}` and `${connections}` are replaced in each trial.
    pub exec: Command,
    /// The reader of its output.
    pub parse: Parse,
    /// The path of the URL that it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

pub(super) const KIND: KindOf = KindOf {
    keys: &["exec", "parse"],
    name: "another generator",
    written: "`exec: [wrk, …]` with `parse: wrk`",
    fields: &["exec", "parse", "path"],
    options: Vec::new,
    refuses: |_| {
        Some(
            "the generator of `exec` sends its own requests; remove script, args, mix, data, get, \
             check, method, headers, body and body_file",
        )
    },
    own: &[],
    read: |fields: Value| match (fields.get("exec"), fields.get("parse")) {
        (Some(_), Some(_)) => Ok(Workload::Foreign(super::read(fields))),
        (Some(_), None) => Err("`exec` needs the reader of its output; add parse: wrk, wrk2, \
                                fortio, hey, or {regex: {…}}"
            .to_owned()),
        (None, _) => {
            Err("`parse` reads the output of `exec`; add exec: [wrk, …, \"${url}\"]".to_owned())
        }
    },
};

impl Kind for Foreign {
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn protocol(&self) -> Protocol {
        Protocol::Foreign
    }

    fn set(&self) -> Vec<Set<'_>> {
        Vec::new()
    }

    fn describe(&self) -> String {
        self.exec.0.join(" ")
    }
}

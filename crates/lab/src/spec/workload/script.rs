//! The requests of a script.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Given, Headers, Kind, KindOf, Set, Sets, Workload, check_request, file, name, sets, text,
};

/// The requests of a Lua script in wrk's format. Its own fields are what the script is given.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// A Lua file in wrk's format.
    pub script: String,
    /// The arguments of the script.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The path of the URL that the script is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The method that the script is given, `wrk.method`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The header fields that the script is given, `wrk.headers`; a list is a field that is repeated.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// The body that the script is given, `wrk.body`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A file with that body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_file: Option<String>,
}

pub(super) const KIND: KindOf = KindOf {
    keys: &["script"],
    name: "a script",
    written: "`script: file.lua`",
    fields: &["script", "args", "path", "method", "headers", "body", "body_file"],
    options: || Sets::names(SETS),
    refuses: |field| {
        (field == "check").then_some(
            "a script checks responses itself, in its function `response`; remove `check`",
        )
    },
    own: &[("args", "`args` belong to a script")],
    read: |fields| {
        let script: Script = super::read(fields);
        check_request(&script.method, &script.body, &script.body_file)?;
        Ok(Workload::Script(script))
    },
};

/// The option after which come the arguments of a script.
pub(crate) const ARGUMENTS: &str = "ARGS";

const SETS: &[Sets<Script>] = &[
    sets("--method", "workload.method", |script| name(&script.method)),
    sets("--header", "workload.headers", |script| script.headers.given()),
    sets("--body", "workload.body", |script| text(&script.body)),
    sets("--body-file", "workload.body_file", |script| file(&script.body_file)),
    sets("--script", "workload.script", |script| vec![Given::File(&script.script)]),
    sets(ARGUMENTS, "workload.args", |script| {
        script.args.iter().map(|word| Given::Text(word)).collect()
    }),
];

impl Kind for Script {
    fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    fn has_threads(&self) -> bool {
        true
    }

    fn set(&self) -> Vec<Set<'_>> {
        Sets::all(SETS, self)
    }

    fn describe(&self) -> String {
        self.script.clone()
    }
}

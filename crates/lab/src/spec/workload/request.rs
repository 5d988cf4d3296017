//! A single request that is repeated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Headers, Kind, KindOf, Set, Sets, Workload, check_request, file, name, sets, text};

/// A single request that is repeated: a GET of `get`, or any method with its `path`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The path of a GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
    /// The path of a request with any method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its method; GET by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Its header fields; a list is a field that is repeated.
    #[serde(default, skip_serializing_if = "Headers::is_empty")]
    pub headers: Headers,
    /// Its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A file with its body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_file: Option<String>,
    /// The rules that each response must meet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

pub(super) const KIND: KindOf = KindOf {
    keys: &["get", "path"],
    name: "one GET",
    written: "`get: /path`, a `method` with its `path`",
    fields: &["get", "path", "method", "headers", "body", "body_file", "check"],
    options: || Sets::names(SETS),
    refuses: |_| None,
    own: &[],
    read: |fields| {
        let request: Request = super::read(fields);
        if request.get.is_some() && (request.path.is_some() || request.method.is_some()) {
            return Err(
                "`get` is a path with the method GET; for another method write `method` and \
                        `path`"
                    .to_owned(),
            );
        }
        check_request(&request.method, &request.body, &request.body_file)?;
        request.headers.check_beside(request.body.as_deref(), request.body_file.is_some())?;
        Ok(Workload::Request(request))
    },
};

impl Default for Workload {
    fn default() -> Workload {
        Workload::Request(Request { get: Some("/".to_owned()), ..Request::default() })
    }
}

const SETS: &[Sets<Request>] = &[
    sets("--method", "workload.method", |request| name(&request.method)),
    sets("--header", "workload.headers", |request| request.headers.given()),
    sets("--body", "workload.body", |request| text(&request.body)),
    sets("--body-file", "workload.body_file", |request| file(&request.body_file)),
    sets("--check", "workload.check", |request| text(&request.check)),
];

impl Kind for Request {
    fn path(&self) -> Option<&str> {
        self.get.as_deref().or(self.path.as_deref())
    }

    fn set(&self) -> Vec<Set<'_>> {
        Sets::all(SETS, self)
    }

    fn describe(&self) -> String {
        let method = self.method.as_deref().unwrap_or("GET");
        format!("{method} {}", self.path().unwrap_or("/"))
    }
}

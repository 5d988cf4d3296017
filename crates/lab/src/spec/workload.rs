//! The requests that are sent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wire::http1::{check_field, check_method};

use super::{Command, Events, Parse, Texts, foreign_generator};

#[cfg(test)]
mod tests;

/// The requests that are sent: those of a script, those of a mix, a single one that is repeated, or
/// those of another load generator.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenWorkload")]
#[schemars(!try_from, deny_unknown_fields)]
pub struct Workload {
    /// A Lua file in wrk's format.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// The arguments of the script.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(default)]
    pub args: Vec<String>,
    /// The path of a single GET that is repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub get: Option<String>,
    /// The path of a single request with any method, or of the URL that a script is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A file of weighted requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mix: Option<String>,
    /// A table for the mix.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The rules that each response must meet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The method of a single request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The header fields of every request; a list is a field that is repeated.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(default)]
    pub headers: BTreeMap<String, Texts>,
    /// The body of a single request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// A file with the body of a single request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_file: Option<String>,
    /// Events in place of other requests; they need an open loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// The command of another load generator, which makes the load in place of ours. `${url}`,
    /// `${duration}`, `${duration_s}`, `${rate}` and `${connections}` are replaced in each trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Command>,
    /// The reader of its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parse: Option<Parse>,
}

impl Default for Workload {
    fn default() -> Workload {
        Workload {
            script: None,
            args: Vec::new(),
            get: Some("/".to_owned()),
            path: None,
            mix: None,
            data: None,
            check: None,
            method: None,
            headers: BTreeMap::new(),
            body: None,
            body_file: None,
            events: None,
            exec: None,
            parse: None,
        }
    }
}

impl Workload {
    /// Returns the path that is appended to the URL of the endpoint.
    pub fn path(&self) -> Option<&str> {
        self.get.as_deref().or(self.path.as_deref())
    }

    /// Returns the texts that are the same for all targets, so that none may depend on one.
    pub(super) fn common_texts(&self) -> impl Iterator<Item = &String> {
        let files = [&self.mix, &self.data, &self.body_file];
        let texts = [&self.check, &self.method, &self.body];
        let receive = self.events.as_ref().and_then(|events| events.receive.as_ref());
        let fields = self.headers.values().flat_map(|values| &values.0);
        files.into_iter().chain(texts).flatten().chain(receive).chain(fields)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorkload {
    script: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    get: Option<String>,
    path: Option<String>,
    mix: Option<String>,
    data: Option<String>,
    check: Option<String>,
    method: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, Texts>,
    body: Option<String>,
    body_file: Option<String>,
    events: Option<Events>,
    exec: Option<Command>,
    parse: Option<Parse>,
}

impl TryFrom<WrittenWorkload> for Workload {
    type Error = String;
    fn try_from(written: WrittenWorkload) -> Result<Workload, String> {
        if let Some(wrong) = wrong(&written) {
            return Err(wrong.to_owned());
        }
        for (name, values) in &written.headers {
            values.0.iter().try_for_each(|value| check_field(name, value))?;
        }
        let WrittenWorkload {
            script,
            args,
            get,
            path,
            mix,
            data,
            check,
            method,
            headers,
            body,
            body_file,
            events,
            exec,
            parse,
        } = written;
        Ok(Workload {
            script,
            args,
            get,
            path,
            mix,
            data,
            check,
            method,
            headers,
            body,
            body_file,
            events,
            exec,
            parse,
        })
    }
}

/// Returns the first contradiction between the fields.
fn wrong(written: &WrittenWorkload) -> Option<&'static str> {
    let WrittenWorkload { script, args, get, path, mix, data, check, method, .. } = written;
    let WrittenWorkload { headers, body, body_file, events, exec, parse, .. } = written;
    let of_a_request = method.is_some() || body.is_some() || body_file.is_some();
    if exec.is_some() || parse.is_some() {
        let of_ours = script.is_some() || mix.is_some() || get.is_some() || of_a_request;
        let of_parts = !args.is_empty() || data.is_some() || check.is_some() || !headers.is_empty();
        let has_others = of_ours || of_parts || events.is_some();
        return foreign_generator::wrong(exec.is_some(), parse.is_some(), has_others);
    }
    if let Some(events) = events {
        if script.is_some() || mix.is_some() || get.is_some() || of_a_request || check.is_some() {
            return Some(
                "`events` are the requests of a workload; beside them only `path` and `headers` are \
                 possible",
            );
        }
        if events.receive.is_none() && (events.within.is_some() || events.refuse.is_some()) {
            return Some("`within` and `refuse` are of a receiver; add `receive: ADDRESS:PORT`");
        }
        return None;
    }
    match (script, mix, get) {
        (Some(_), _, Some(_)) => {
            return Some("a workload is either a script or one GET; remove one of them");
        }
        (None, Some(_), Some(_)) => {
            return Some("a workload is either a mix or one GET; remove one of them");
        }
        (Some(_), Some(_), None) => {
            return Some("a workload is either a script or a mix; remove one of them");
        }
        (None, None, Some(_)) if path.is_some() || method.is_some() => {
            return Some(
                "`get` is a path with the method GET; for another method write `method` and `path`",
            );
        }
        (None, None, None) if path.is_none() => {
            return Some(
                "a workload is `script: file.lua`, `mix: file.jsonl`, `get: /path`, a `method` with \
                 its `path`, `events: {…}`, or `exec: [wrk, …]` with `parse: wrk`",
            );
        }
        _ => {}
    }
    if script.is_none() && !args.is_empty() {
        return Some("`args` belong to a script");
    }
    if script.is_some() && check.is_some() {
        return Some(
            "a script checks responses itself, in its function `response`; remove `check`",
        );
    }
    if mix.is_none() && data.is_some() {
        return Some("`data` is the table of a mix; add `mix: file.jsonl`");
    }
    if mix.is_some() && (of_a_request || check.is_some() || path.is_some()) {
        return Some(
            "each line of a mix has its own method, target, body and check; remove method, path, \
             body, body_file and check here",
        );
    }
    if body.is_some() && body_file.is_some() {
        return Some("`body` and `body_file` both set the body; remove one of them");
    }
    if method.as_ref().is_some_and(|method| check_method(method).is_err()) {
        return Some("a method is one word; write for example PUT");
    }
    None
}

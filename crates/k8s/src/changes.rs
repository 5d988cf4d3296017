//! Edits of a cluster's objects, and what brings back what stood there. Nothing here talks to a
//! cluster.

use std::collections::BTreeSet;

use lab::spec::Part;
use serde_json::{Value, json};

use crate::pods;

#[cfg(test)]
mod tests;

/// The field of the owner object with the changes that are to be undone, the first one first.
pub(crate) const UNDO: &str = "undo";
/// The annotation of a pod template that a rolling restart changes, as `kubectl rollout restart`
/// changes one of its own.
const RESTARTED: &str = "benchwright.dev/restarted-by";
/// The annotations by which helm marks what belongs to a release.
const RELEASE: [&str; 2] = ["meta.helm.sh/release-namespace", "meta.helm.sh/release-name"];

/// A merge patch of one object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Patch {
    pub(crate) path: String,
    pub(crate) patch: Value,
}

impl Patch {
    /// Returns the patches that an owner object lists.
    pub(crate) fn all(owner: &Value) -> Vec<Patch> {
        let list = owner["data"][UNDO].as_str().unwrap_or_default();
        let list: Vec<Value> = serde_json::from_str(list).unwrap_or_default();
        let read = |one: &Value| {
            Some(Patch { path: one["path"].as_str()?.to_owned(), patch: one["patch"].clone() })
        };
        list.iter().filter_map(read).collect()
    }

    /// Returns true if both replace the same values of the same object.
    pub(crate) fn is_of_same(&self, other: &Patch) -> bool {
        self.path == other.path && same_places(&self.patch, &other.patch)
    }

    /// Returns patches as an owner object lists them.
    pub(crate) fn written(patches: &[Patch]) -> String {
        let one = |Patch { path, patch }: &Patch| json!({"path": path, "patch": patch});
        Value::from_iter(patches.iter().map(one)).to_string()
    }
}

fn same_places(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let is_in_other =
                |(name, value)| other.get(name).is_some_and(|at| same_places(value, at));
            one.len() == other.len() && one.iter().all(is_in_other)
        }
        _ => !one.is_object() && !other.is_object(),
    }
}

/// Returns the text after an edit, or why it cannot be edited so.
pub(crate) fn edited(text: Option<&str>, part: &Part, value: &str) -> Result<String, String> {
    let missing = || "the ConfigMap has no such key".to_owned();
    match part {
        Part::Whole => Ok(value.to_owned()),
        Part::Pointer(pointer) => {
            let text = text.ok_or_else(missing)?;
            let mut document: Value =
                serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
            let place = document
                .pointer_mut(pointer)
                .ok_or_else(|| format!("it has nothing at {pointer}"))?;
            // A text stays a text, even if it looks like a number.
            *place = match (&place, serde_json::from_str(value)) {
                (Value::Number(_) | Value::Bool(_) | Value::Null, Ok(typed)) => typed,
                _ => json!(value),
            };
            Ok(serde_json::to_string_pretty(&document).expect("a document can be written"))
        }
        Part::Line(line) => {
            let text = text.ok_or_else(missing)?;
            let regex = line.regex();
            if !text.lines().any(|one| regex.is_match(one)) {
                return Err(format!("no line matches `{line}`"));
            }
            let lines = text.split_inclusive('\n').map(|one| {
                let content = one.trim_end_matches(['\n', '\r']);
                match regex.is_match(content) {
                    true => format!("{value}{}", &one[content.len()..]),
                    false => one.to_owned(),
                }
            });
            Ok(lines.collect())
        }
    }
}

/// Returns the patch of a ConfigMap that gives a key this text, or removes it.
pub(crate) fn data(key: &str, text: Option<&str>) -> Value {
    json!({"data": {key: text}})
}

/// Returns the patch of a Deployment that replaces all of its pods, one by one. `mark` is none that it
/// had before.
pub(crate) fn restart(mark: Option<&str>) -> Value {
    json!({"spec": {"template": {"metadata": {"annotations": {RESTARTED: mark}}}}})
}

/// Returns the patch of a scale that asks for this number of pods.
pub(crate) fn scale(replicas: u32) -> Value {
    json!({"spec": {"replicas": replicas}})
}

/// Returns the mark of the last restart of a Deployment.
pub(crate) fn mark(deployment: &Value) -> Option<&str> {
    deployment["spec"]["template"]["metadata"]["annotations"][RESTARTED].as_str()
}

/// Returns the number of pods that a Deployment or a scale of one is to have.
pub(crate) fn replicas(deployment: &Value) -> u32 {
    deployment["spec"]["replicas"].as_u64().and_then(|number| number.try_into().ok()).unwrap_or(1)
}

/// Returns true if an object is part of one of these releases, `NAMESPACE/RELEASE`.
pub(crate) fn is_of(object: &Value, releases: &BTreeSet<String>) -> bool {
    let [namespace, release] =
        RELEASE.map(|name| object["metadata"]["annotations"][name].as_str().unwrap_or_default());
    let namespace = if namespace.is_empty() { pods::namespace(object) } else { namespace };
    releases.contains(&format!("{namespace}/{release}"))
}

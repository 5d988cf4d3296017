//! The only way to change a spec: as a document, by merge patches (RFC 7386), which is then typed
//! again.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Spec;
use super::read::{self, Described, did_you_mean};
use super::source::{Source, SpecError};

/// Stands between the names of profiles that are applied one after the other.
const AND: char = '+';

/// Returns the spec after its profiles, joined by `+`, and each `path=value`, without the profiles
/// themselves.
pub(super) fn apply(
    source: &Source,
    written: Spec,
    profiles: Option<&str>,
    set: &[String],
) -> Result<Spec, SpecError> {
    let mut spec = Spec { profiles: Default::default(), ..written.clone() };
    for name in profiles.into_iter().flat_map(|names| names.split(AND)) {
        let Some(patch) = written.profiles.get(name) else {
            return Err(unknown_profile(source, &written, name));
        };
        let at = source.find(&format!("{name}:"), name);
        spec = patched(&spec, patch.clone()).map_err(|(path, Described { message, label })| {
            let message = format!("profile `{name}`, {path}: {message}");
            source.error(message, at, &label)
        })?;
    }
    for setting in set {
        let failed = |message: String, label: &str| {
            source.error(format!("--set {setting}: {message}"), None, label)
        };
        let patch =
            patch_of(setting).map_err(|message| failed(message, "write --set path=value"))?;
        spec = patched(&spec, patch).map_err(|(path, Described { message, label })| {
            failed(if path == "." { message } else { format!("{path}: {message}") }, &label)
        })?;
    }
    Ok(spec)
}

fn unknown_profile(source: &Source, written: &Spec, name: &str) -> SpecError {
    let known: Vec<&str> = written.profiles.keys().map(String::as_str).collect();
    let label = match known.is_empty() {
        true => "this spec has no profiles".to_owned(),
        false => format!("profiles here: {}", known.join(", ")),
    };
    let message = format!("no profile `{name}`{}", did_you_mean(name, &known));
    source.error(message, source.find("profiles:", "profiles"), &label)
}

fn patched(spec: &Spec, patch: Value) -> Result<Spec, (String, Described)> {
    let mut document = serde_json::to_value(spec).expect("a spec is plain data");
    change(&mut document, patch);
    retyped(&document)
}

/// The fields of a load that belong to one model of load.
const OF_A_MODEL: [&str; 6] = ["arrivals", "rate", "shape", "speed", "think", "trace"];

/// Changes a spec by a patch. A patch that chooses the other model of load drops the fields that
/// belong to the model before, which may be there only as defaults.
pub(super) fn change(document: &mut Value, patch: Value) {
    let model = |spec: &Value| spec.pointer("/load/model").cloned();
    let changes = model(&patch).is_some_and(|chosen| model(document) != Some(chosen));
    if let Some(load) = document.get_mut("load").and_then(Value::as_object_mut) {
        load.retain(|field, _| !changes || !OF_A_MODEL.contains(&&**field));
    }
    merge(document, patch);
}

/// Reads a patched document. JSON is YAML: the same reader types every word as it did the first
/// time, where the types of a patch are not those of the spec (`servers: "2"`) or are wrong.
fn retyped(document: &Value) -> Result<Spec, (String, Described)> {
    match Spec::deserialize(document) {
        Ok(spec) => Ok(spec),
        Err(_) => read::typed_with_path(&document.to_string()),
    }
}

/// Reads a patched document; an error is its message, with the path, and the remedy.
pub(super) fn typed(document: &Value) -> Result<Spec, (String, String)> {
    retyped(document).map_err(|(path, Described { message, label })| {
        (if path == "." { message } else { format!("{path}: {message}") }, label)
    })
}

/// Returns `a.b.c=value` as a patch; the value is read as a YAML word or list.
fn patch_of(setting: &str) -> Result<Value, String> {
    let (path, value) = setting.split_once('=').ok_or("`=` is missing")?;
    let value: Value = serde_saphyr::from_str_with_options(value, read::options())
        .map_err(|_| format!("`{value}` is not a valid value"))?;
    at(path, value)
}

/// Returns the patch that sets the value at `a.b.c`.
pub(super) fn at(path: &str, value: Value) -> Result<Value, String> {
    if path.split('.').any(|part| part.trim().is_empty()) {
        return Err("a part of the path is empty".to_owned());
    }
    Ok(path.split('.').rev().fold(value, |inner, part| {
        Value::Object(Map::from_iter([(part.trim().to_owned(), inner)]))
    }))
}

/// Merges by RFC 7386: objects merge, null removes, everything else replaces.
fn merge(document: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *document = patch;
        return;
    };
    if !document.is_object() {
        *document = Value::Object(Map::new());
    }
    let fields = document.as_object_mut().expect("it was made one above");
    for (name, value) in patch {
        match value {
            Value::Null => drop(fields.shift_remove(&name)),
            value => merge(fields.entry(name).or_insert(Value::Null), value),
        }
    }
}

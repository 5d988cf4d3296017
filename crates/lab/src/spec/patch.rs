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
        spec = patched(&spec, &[patch]).map_err(|(path, Described { message, label })| {
            let message = format!("profile `{name}`, {path}: {message}");
            source.error(message, at, &label)
        })?;
    }
    let mut patches = Vec::new();
    for setting in set {
        patches.push(patch_of(setting).map_err(|message| {
            let message = format!("--set {setting}: {message}");
            source.error(message, None, "write --set path=value")
        })?);
    }
    let patches: Vec<&Value> = patches.iter().collect();
    patched(&spec, &patches).map_err(|(path, Described { message, label })| {
        // Alone, the one that is wrong fails as well; others fail only together.
        let is_it = |at: &usize| {
            patched(&spec, &[patches[*at]]).is_err_and(|(_, alone)| alone.message == message)
        };
        let settings = match (0..set.len()).find(is_it) {
            Some(at) => &set[at..=at],
            None => set,
        };
        let settings: Vec<String> = settings.iter().map(|one| format!("--set {one}")).collect();
        let path = if path == "." { String::new() } else { format!("{path}: ") };
        source.error(format!("{}: {path}{message}", settings.join(" ")), None, &label)
    })
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

/// Returns the spec after all patches. Only the result is checked: a change may need several.
fn patched(spec: &Spec, patches: &[&Value]) -> Result<Spec, (String, Described)> {
    let mut document = serde_json::to_value(spec).expect("a spec is plain data");
    change(&mut document, patches);
    retyped(&document)
}

/// The fields of a load that belong to one model of load.
const OF_A_MODEL: [&str; 6] = ["arrivals", "rate", "shape", "speed", "think", "trace"];

/// Changes a spec by patches, one after the other. If they choose the other model of load, the fields that
/// belong to the model before are dropped first: they may be there only as defaults.
pub(super) fn change(document: &mut Value, patches: &[&Value]) {
    let model = |spec: &Value| spec.pointer("/load/model").cloned();
    let chosen = patches.iter().rev().find_map(|patch| model(patch));
    let changes = chosen.is_some_and(|chosen| model(document) != Some(chosen));
    if let Some(load) = document.get_mut("load").and_then(Value::as_object_mut) {
        load.retain(|field, _| !changes || !OF_A_MODEL.contains(&&**field));
    }
    patches.iter().for_each(|patch| merge(document, (*patch).clone()));
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

//! The only way to change a spec: as a document, by merge patches (RFC 7386), which is then typed
//! again.

use results::Secrets;
use serde_json::{Map, Value};

use super::read::{self, Described, UNKNOWN_FIELD, did_you_mean};
use super::source::{Source, SpecError};
use super::{Spec, secrets, workload};

/// Stands between the names of profiles that are applied one after the other.
pub(super) const AND: char = '+';

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
        let at = source.key(&["profiles", name]);
        spec = patched(&spec, &[patch]).map_err(|(path, Described { message, label })| {
            let message = format!("profile `{name}`, {}", placed(&path, message));
            source.error(message, at, &label)
        })?;
    }
    let mut patches = Vec::new();
    for setting in set {
        patches.push(patch_of(setting).map_err(|message| {
            let message = format!("--set {}: {message}", shown(setting));
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
        let settings: Vec<String> =
            settings.iter().map(|one| format!("--set {}", shown(one))).collect();
        let message = format!("{}: {}", settings.join(" "), placed(&path, message));
        source.error(message, None, &label)
    })
}

/// Returns a setting as a message shows it.
fn shown(setting: &str) -> String {
    secrets::setting_shown(setting, &Secrets::default())
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
    // `null` removes a field, and would remove one that nobody knows without a word: `{level:off}` is `level:off`.
    for of_nulls in patches.iter().filter_map(|patch| with_nulls_as_values(patch)) {
        let mut changed = document.clone();
        change(&mut changed, &[&of_nulls]);
        match retyped(&changed) {
            Err(wrong) if wrong.1.message.starts_with(UNKNOWN_FIELD) => return Err(wrong),
            Ok(_) | Err(_) => {}
        }
    }
    change(&mut document, patches);
    retyped(&document)
}

/// Returns a patch with a value in place of each null; `None` if it has none.
fn with_nulls_as_values(patch: &Value) -> Option<Value> {
    match patch {
        Value::Null => Some(Value::Bool(true)),
        Value::Object(fields) => {
            let of_nulls = fields.iter().filter_map(|(name, value)| {
                with_nulls_as_values(value).map(|value| (name.clone(), value))
            });
            let of_nulls: Map<String, Value> = of_nulls.collect();
            (!of_nulls.is_empty()).then_some(Value::Object(of_nulls))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

/// A choice in a spec, and the fields that a patch drops if it chooses otherwise. They may be there only as
/// defaults, which the author of the patch never wrote and so does not remove.
struct Choice {
    /// The field that is the choice, or whose presence is.
    by: String,
    /// Returns true if the choice is another one, from the value before and the value of the patch.
    is_other: fn(Option<&Value>, &Value) -> bool,
    /// The mapping that has the fields.
    of: &'static str,
    /// The fields that the other choice does not have, or that mean something else in it.
    drops: Vec<&'static str>,
}

fn choices() -> impl Iterator<Item = Choice> {
    let listed = CHOICES.into_iter().map(|(by, is_other, of, drops)| Choice {
        by: by.to_owned(),
        is_other,
        of,
        drops: drops.split(' ').collect(),
    });
    let of_kinds = workload::choices().map(|(key, drops)| Choice {
        by: format!("/workload/{key}"),
        is_other: appears,
        of: "/workload",
        drops,
    });
    listed.chain(of_kinds.filter(|choice| choice.by != KEPT_BY_SOME))
}

/// The path of a request; that of a script, of events or of another generator is its own.
const KEPT_BY_SOME: &str = "/workload/path";

type Listed = (&'static str, fn(Option<&Value>, &Value) -> bool, &'static str, &'static str);

const CHOICES: [Listed; 16] = [
    ("/load/model", differs, "/load", "arrivals rate shape speed think trace"),
    ("/load/rate", appears, "/load", "shape speed trace"),
    ("/load/shape", appears, "/load", "rate speed trace"),
    ("/load/trace", appears, "/load", "arrivals rate shape"),
    (
        "/search/strategy",
        |b, a| is_or_was("sweep", b, a),
        "/search",
        "confirm precision result step stop",
    ),
    ("/search/strategy", differs, "/search", "confirm"),
    ("/search/range", appears, "/search", "start"),
    ("/search/start", appears, "/search", "range"),
    ("/where/backend", |b, a| is_or_was("kubernetes", b, a), "/where/roles/sut", "cpus nodes"),
    ("/where/backend", |b, a| is_or_was("kubernetes", b, a), "/where/roles/load", "cpus nodes"),
    ("/where/backend", |b, a| is_or_was("external", b, a), "/sut", "deploy endpoint replicas"),
    ("/workload/get", appears, "/workload", "body body_file method path"),
    (KEPT_BY_SOME, appears, "/workload", "data get mix"),
    ("/workload/method", appears, "/workload", "data get mix"),
    ("/workload/body", appears, "/workload", "body_file"),
    ("/workload/body_file", appears, "/workload", "body"),
];

fn appears(before: Option<&Value>, _: &Value) -> bool {
    before.is_none()
}

fn differs(before: Option<&Value>, after: &Value) -> bool {
    before.is_some_and(|before| before != after)
}

fn is_or_was(choice: &str, before: Option<&Value>, after: &Value) -> bool {
    differs(before, after) && [before, Some(after)].contains(&Some(&choice.into()))
}

/// Changes a spec by patches, one after the other. If they choose otherwise, the fields of the choice before
/// are dropped first; what the patches themselves contain stays.
pub(super) fn change(document: &mut Value, patches: &[&Value]) {
    let chosen = |by: &str| patches.iter().rev().find_map(|patch| patch.pointer(by));
    let is_other = |choice: &Choice| {
        let after = chosen(&choice.by).filter(|after| !after.is_null());
        after.is_some_and(|after| (choice.is_other)(document.pointer(&choice.by), after))
    };
    let others: Vec<Choice> = choices().filter(is_other).collect();
    for Choice { by, of, drops, .. } in others {
        let Some(fields) = document.pointer_mut(of).and_then(Value::as_object_mut) else {
            continue;
        };
        for dropped in drops {
            let value = fields.shift_remove(dropped);
            // A GET is a request of a path, whose method another one replaces.
            if let Some(path) = value.filter(|_| (&*by, dropped) == ("/workload/method", "get")) {
                fields.insert("path".to_owned(), path);
            }
        }
    }
    patches.iter().for_each(|patch| merge(document, (*patch).clone()));
}

/// Reads a patched document. The same reader types every word as it did the first time, where the
/// types of a patch are not those of the spec (`servers: "2"`) or are wrong.
fn retyped(document: &Value) -> Result<Spec, (String, Described)> {
    read::typed_document(document)
}

/// Reads a patched document; an error is its message, with the path, and the remedy.
pub(super) fn typed(document: &Value) -> Result<Spec, (String, String)> {
    retyped(document)
        .map_err(|(path, Described { message, label })| (placed(&path, message), label))
}

/// Returns a message with its path, unless it is about the whole spec.
fn placed(path: &str, message: String) -> String {
    if path.is_empty() { message } else { format!("{path}: {message}") }
}

/// Returns `a.b.c=value` as a patch; the value is read as a YAML word or list.
fn patch_of(setting: &str) -> Result<Value, String> {
    let (path, value) = setting.split_once('=').ok_or("`=` is missing")?;
    let value: Value = serde_saphyr::from_str_with_options(value, read::options()).map_err(
        |_| "its value is not a YAML word, list or object; is a bracket or a quote open?",
    )?;
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

/// Returns the places in a list of this length that a patch names; `None` if it names something else.
fn places(patch: &Map<String, Value>, length: usize) -> Option<Vec<usize>> {
    let place = |name: &String| name.parse().ok().filter(|place| *place < length);
    patch.keys().map(place).collect::<Option<Vec<usize>>>().filter(|places| !places.is_empty())
}

/// Merges by RFC 7386: objects merge, null removes, everything else replaces. Beyond it, the fields `0`, `1`, … of a
/// patch are the items of a list, as in `slo.0.max`.
fn merge(document: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *document = patch;
        return;
    };
    if let Value::Array(items) = &mut *document
        && let Some(places) = places(&patch, items.len())
    {
        for (place, (_, value)) in places.into_iter().zip(patch) {
            merge(&mut items[place], value);
        }
        return;
    }
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

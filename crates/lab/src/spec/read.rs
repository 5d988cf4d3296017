//! Reading of a spec, from bytes to types; errors of the YAML library become our kind of error.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_saphyr::{Error, MessageFormatter, UserMessageFormatter};

use super::monitor;
use super::source::{Location, Source, SpecError};

/// The largest spec: a spec is written by hand, so a larger file is something else.
const MOST_BYTES: usize = 1 << 20;

pub(super) fn source(name: &str, bytes: &[u8]) -> Result<Source, SpecError> {
    let nameless = Source::new(name, String::new());
    if MOST_BYTES < bytes.len() {
        return Err(nameless.error("too large for a spec", None, "a spec has at most 1 MiB"));
    }
    let text = match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => text.to_owned(),
        _ => return Err(nameless.error("not a text file", None, "a spec is YAML, in UTF-8")),
    };
    let source = Source::new(name, text);
    match source.text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
        true => Err(source.error("this spec is empty", None, "begin with `name:`")),
        false => Ok(source),
    }
}

pub(super) fn typed<T: DeserializeOwned>(source: &Source) -> Result<T, SpecError> {
    read(&source.text).map_err(|e| error(source, &e))
}

/// Reads a document that no user wrote: an error has its path instead of a place. JSON is YAML.
pub(super) fn typed_document<T: DeserializeOwned>(
    document: &Value,
) -> Result<T, (String, Described)> {
    let mut lines = Lines::default();
    lines.write(document, "");
    read(&lines.text).map_err(|error| (lines.path(&error), describe(&error)))
}

/// The one way in which a spec is read: its types make a tenth of this crate's code for each.
fn read<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_saphyr::from_str_with_options(text, options())
}

/// A document in which each key, value and bracket has a line of its own.
#[derive(Default)]
struct Lines {
    text: String,
    paths: Vec<Paths>,
}

/// The path of a line, and of the mapping whose key it has, if it has one.
struct Paths {
    own: String,
    mapping: Option<String>,
}

impl Lines {
    fn write(&mut self, value: &Value, path: &str) {
        match value {
            Value::Object(fields) => {
                self.line("{", path, None);
                for (name, value) in fields {
                    let dot = if path.is_empty() { "" } else { "." };
                    let field = format!("{path}{dot}{name}");
                    self.line(&format!("{}:", quoted(name)), &field, Some(path));
                    self.write(value, &field);
                    self.line(",", &field, None);
                }
                self.line("}", path, None);
            }
            Value::Array(elements) => {
                self.line("[", path, None);
                for (i, element) in elements.iter().enumerate() {
                    // As `--set` has it.
                    let dot = if path.is_empty() { "" } else { "." };
                    let path = format!("{path}{dot}{i}");
                    self.write(element, &path);
                    self.line(",", &path, None);
                }
                self.line("]", path, None);
            }
            Value::String(text) => self.line(&quoted(text), path, None),
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.line(&value.to_string(), path, None)
            }
        }
    }

    fn line(&mut self, text: &str, path: &str, mapping: Option<&str>) {
        self.text.extend([text, "\n"]);
        self.paths.push(Paths { own: path.to_owned(), mapping: mapping.map(str::to_owned) });
    }

    fn path(&self, error: &Error) -> String {
        let line = error.without_snippet().location().map_or(1, |location| location.line());
        let line = usize::try_from(line).map_or(0, |line| line.saturating_sub(1));
        let Some(Paths { own, mapping }) = self.paths.get(line) else { return String::new() };
        let path = match original(error) {
            Error::SerdeUnknownField { .. } => own,
            // What is wrong with a mapping, such as a missing field, is found at its last key.
            _ => mapping.as_ref().unwrap_or(own),
        };
        path.clone()
    }
}

/// Returns a text as YAML: in the quotes of JSON, and with the characters written out that YAML does not have.
pub(crate) fn quoted(text: &str) -> String {
    let json = serde_json::to_string(text).expect("it is a text");
    let is_absent = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
    };
    let mut quoted = String::new();
    for c in json.chars() {
        match is_absent(c) {
            true => quoted += &format!("\\u{:04x}", u32::from(c)),
            false => quoted.push(c),
        }
    }
    quoted
}

pub(super) fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        strict_booleans: true,
        merge_keys: serde_saphyr::MergeKeyPolicy::Error,
        budget: serde_saphyr::budget! {
            max_depth: 32,
            max_nodes: 20_000,
            max_events: 60_000,
            max_aliases: 100,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 20_000,
        },
    }
}

fn error(source: &Source, error: &Error) -> SpecError {
    let Described { message, label } = describe(error);
    source.error(message, place(source, error), &label)
}

fn place(source: &Source, error: &Error) -> Option<Location> {
    let location = error.without_snippet().location()?;
    let line = usize::try_from(location.line()).ok().filter(|&line| 0 < line)?;
    let column = usize::try_from(location.column()).ok()?;
    Some(source.word_at(line, column))
}

/// Begins the message about a field that no type has.
pub(super) const UNKNOWN_FIELD: &str = "unknown field";

/// A message, and the remedy that is shown beside the place.
pub(super) struct Described {
    pub(super) message: String,
    pub(super) label: String,
}

/// Returns how to write a path such as `workload.get` as the mappings that it stands for; `None` of anything else.
/// `--set` has paths, so they are tried in files, too.
pub(super) fn nested(field: &str, known: &[&str]) -> Option<String> {
    let parts: Vec<&str> = field.split('.').collect();
    let (last, above) = parts.split_last()?;
    if parts.iter().any(|part| part.is_empty()) || !known.contains(above.first()?) {
        return None;
    }
    let opened: String = above.iter().map(|part| format!("{part}: {{")).collect();
    Some(format!("a path is written as mappings: {opened}{last}: …{}", "}".repeat(above.len())))
}

fn describe(error: &Error) -> Described {
    let described = |message: String, label: &str| Described { message, label: label.to_owned() };
    match original(error) {
        Error::SerdeUnknownField { field, expected, .. } => Described {
            message: format!("{UNKNOWN_FIELD} `{field}`{}", did_you_mean(field, expected)),
            label: nested(field, expected)
                .unwrap_or_else(|| format!("fields here: {}", expected.join(", "))),
        },
        Error::SerdeUnknownVariant { variant, expected, .. }
            if *expected == ["prometheus"]
                && let Some(read) = monitor::always_read(variant) =>
        {
            Described {
                message: format!("`{variant}` is always read, so it is not written"),
                label: format!("remove it: every trial has {read}"),
            }
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => Described {
            message: format!("unknown choice `{variant}`{}", did_you_mean(variant, expected)),
            label: format!("choices here: {}", expected.join(", ")),
        },
        Error::SerdeMissingField { field, .. } => {
            described(format!("the field `{field}` is missing"), "in this mapping")
        }
        Error::DuplicateMappingKey { key, .. } => described(
            format!("`{}` is given twice", key.as_deref().unwrap_or("this key")),
            "remove one of them",
        ),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => described(
            "its aliases expand to far more than a spec needs".to_owned(),
            "write the values out",
        ),
        Error::Budget { .. } => described(
            "more nodes, aliases or levels than a spec has".to_owned(),
            "a spec nests at most 32 levels",
        ),
        Error::MergeKeyNotAllowed { .. } => {
            described("`<<` does not merge here".to_owned(), "use a profile")
        }
        Error::SerdeInvalidType { unexpected, expected, .. } => {
            described(format!("{expected} is expected here, not {unexpected}"), "")
        }
        Error::Unexpected { expected, .. } => {
            let expected = match *expected {
                "mapping start" => "a mapping (`field: value`)",
                "sequence start" => "a list",
                "string scalar" => "a text",
                other => other,
            };
            described(format!("{expected} is expected here"), "")
        }
        Error::Message { msg, .. } => described(msg.clone(), ""),
        other => described(UserMessageFormatter.format_message(other).into_owned(), ""),
    }
}

fn original(error: &Error) -> &Error {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => original(error),
        error => error,
    }
}

/// Returns `; did you mean …?`, if one of the known words is near.
pub(super) fn did_you_mean(word: &str, known: &[impl AsRef<str>]) -> String {
    let near =
        known.iter().map(|known| (distance(word, known.as_ref()), known.as_ref())).min().filter(
            |(distance, known)| *distance <= 2.max(known.len() / 3) && *distance < word.len(),
        );
    near.map_or(String::new(), |(_, known)| format!("; did you mean `{known}`?"))
}

/// Returns Levenshtein's distance; words here are short.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(64).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

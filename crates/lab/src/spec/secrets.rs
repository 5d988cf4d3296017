//! The secrets of a spec: the variables of the environment that its texts refer to, and those that are
//! written plainly although they are secrets (the values of `Authorization` and cookies, the passwords
//! and secret parameters of URLs). The latter leave the spec as it is read, so that whatever is made of it has references
//! only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use results::secrets::{self, ENV};
use results::{Secrets, regular};
use serde_json::{Map, Value};

use super::source::{Source, SpecError};
use super::{Addresses, File, Resolved, Spec, patch, texts};

#[cfg(test)]
mod tests;

/// The fields of a spec whose texts are neither sent nor given to a program: words for people,
/// expressions and queries.
const KEPT_AS_WRITTEN: [&str; 4] = ["about", "log", "parse", "query"];

/// The plain secrets of a spec that are on their way out of it.
struct Leaving<'a> {
    secrets: &'a mut Secrets,
    /// The variables from which secret header fields and passwords are made.
    vars: BTreeSet<String>,
}

/// Returns the spec with references in place of the secrets that are written plainly, which `kept`
/// then has.
pub(super) fn kept_apart(
    spec: Spec,
    source: &Source,
    kept: &mut Secrets,
) -> Result<Spec, SpecError> {
    let mut document = serde_json::to_value(&spec).expect("a spec is plain data");
    let mut vars = BTreeSet::new();
    collect_vars(&document, "", &mut vars);
    let mut leaving = Leaving { secrets: kept, vars };
    leaving.document(&mut document, &mut Vec::new());
    match kept.is_empty() {
        true => Ok(spec),
        false => patch::typed(&document).map_err(|(message, label)| {
            source.error(format!("without its secrets: {message}"), None, &label)
        }),
    }
}

/// Returns a setting `path=value` as it is recorded and shown: without the secrets that left the spec.
pub(super) fn setting_shown(setting: &str, kept: &Secrets) -> String {
    let Some((path, value)) = setting.split_once('=') else {
        return secrets::without_plain(setting);
    };
    let is_field = path.contains("headers.") && is_secret(path);
    // A value that is too short to be looked for in a text is still a whole one here.
    let whole = kept.known().find(|(_, known)| *known == value).map(|(name, _)| name);
    let value = match whole {
        Some(name) => format!("${{{name}}}"),
        None if is_field => secrets::field_kept(path, value, &mut |_| "(redacted)".to_owned()),
        None if value.trim_start().starts_with(['{', '[']) => {
            secrets::without_plain_in_line(&kept.hide(value))
        }
        None => kept.redact(value),
    };
    format!("{path}={value}")
}

/// Adds the variables from which secret header fields and the passwords of URLs are made. The value has this name.
fn collect_vars(value: &Value, above: &str, vars: &mut BTreeSet<String>) {
    let mut add = |text: &str| {
        let names = text.split("${vars.").skip(1).filter_map(|behind| behind.split_once('}'));
        vars.extend(names.map(|(name, _)| name.to_owned()));
    };
    match value {
        Value::String(text) => {
            for (_, behind) in text.match_indices("://").map(|(at, _)| text.split_at(at + 3)) {
                if let Some((user_info, _)) =
                    behind.split(['/', ' ']).next().and_then(|t| t.rsplit_once('@'))
                    && let Some((_, password)) = user_info.split_once(':')
                {
                    add(password);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_vars(item, above, vars)),
        Value::Object(fields) => {
            for (name, field) in fields {
                // Elsewhere such a name may be that of a placeholder: in an environment.
                let is_field = above == "headers" || name.contains("headers.");
                if is_field && is_secret(name) {
                    texts(field).into_iter().for_each(&mut add);
                }
            }
            fields.iter().for_each(|(name, field)| collect_vars(field, name, vars));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the text or the texts of a list.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns true for the name of a secret header field, or for a path that ends in it.
fn is_secret(name: &str) -> bool {
    secrets::is_secret_field(name.rsplit('.').next().unwrap_or(name))
}

impl Leaving<'_> {
    /// Takes the secrets out of a part of the document; `path` has the names of the fields above it.
    fn document(&mut self, value: &mut Value, path: &mut Vec<String>) {
        match value {
            Value::String(text) => *text = self.text(text, path),
            Value::Array(items) => items.iter_mut().for_each(|item| self.document(item, path)),
            Value::Object(fields) => self.fields(fields, path),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn fields(&mut self, fields: &mut Map<String, Value>, path: &mut Vec<String>) {
        // The levels of a factor are values of the field that its `path` names.
        let of_levels = fields.get("path").and_then(Value::as_str).map(str::to_owned);
        for (name, field) in fields {
            if KEPT_AS_WRITTEN.contains(&name.as_str()) {
                continue;
            }
            let depth = path.len();
            match of_levels.as_ref().filter(|_| name == "levels") {
                Some(of_levels) => path.extend(of_levels.split('.').map(str::to_owned)),
                None => path.push(name.clone()),
            }
            self.document(field, path);
            path.truncate(depth);
        }
    }

    fn text(&mut self, text: &str, path: &[String]) -> String {
        let (above, name) = match path {
            [.., above, name] => (above.as_str(), name.as_str()),
            _ => ("", ""),
        };
        let mut keep = |value: &str| self.secrets.keep(value);
        if above == "headers" && secrets::is_secret(name, text) {
            return secrets::field_kept(name, text, &mut keep);
        }
        if above == "vars" && self.vars.contains(name) && !text.is_empty() && !text.contains("${") {
            return keep(text);
        }
        // A header field on the command line of another generator.
        let field = text.split_once(':').filter(|(name, _)| secrets::is_secret_field(name));
        if let Some((name, value)) = field.filter(|_| path.iter().any(|part| part == "exec")) {
            return format!("{name}: {}", secrets::field_kept(name, value.trim(), &mut keep));
        }
        match (above, name) {
            // These are put together to a URL, in which values are percent-encoded.
            ("sut", "endpoint") | ("workload", "path" | "get") => {
                secrets::url_kept(text, &mut |_, value| keep(value))
            }
            _ => secrets::passwords_kept(text, &mut keep),
        }
    }
}

/// Returns the text of a mix; one that cannot be read is reported where it is used.
fn text_of(path: &Path) -> String {
    regular::read_text_again(path, regular::MOST_OF_LINES).unwrap_or_default()
}

impl Resolved {
    /// Adds the variables of the environment that the spec and these files of its loads refer to.
    pub(super) fn find_secrets(&mut self, files: &BTreeSet<PathBuf>) {
        let environment = |name: &str| std::env::var(name).ok();
        let mut found = std::mem::take(&mut self.secrets);
        each_text(&self.without_words_for_people(), &mut |text| found.find(text, &environment));
        for path in files {
            // One that is not a text has no references.
            found.find(&text_of(path), &environment);
        }
        self.secrets = found;
    }

    /// Returns the secrets that the generator of a load needs: those of its requests.
    pub fn secrets_of_load(&self) -> Secrets {
        let mut used = BTreeSet::new();
        let mut add = |text: &str| {
            let text = texts::substitute(text, &self.spec, 1, &Addresses::new());
            let names = text.iter().flat_map(|text| secrets::references(text));
            used.extend(names.map(str::to_owned));
        };
        let workload = serde_json::to_value(&self.spec.workload).expect("it is plain data");
        each_text(&workload, &mut add);
        self.spec.sut.endpoint.0.iter().for_each(|url| add(url));
        for path in self.files_with_references() {
            let text = text_of(&path);
            used.extend(secrets::references(&text).map(str::to_owned));
        }
        self.secrets.only(|name| used.contains(name))
    }

    /// Returns the files of the load in which references are replaced: those of requests.
    pub(super) fn files_with_references(&self) -> impl Iterator<Item = PathBuf> {
        let has_references = |file: &File| file.field == "workload.mix";
        self.files().into_iter().filter(has_references).map(|file| file.path)
    }

    /// Returns the spec as a document, without the words that only people read.
    pub(super) fn without_words_for_people(&self) -> Value {
        let spec = Spec { about: None, ..self.spec.clone() };
        serde_json::to_value(spec).expect("a spec is plain data")
    }

    /// Fails if a secret has no value: a run needs all of them before anything is started.
    pub fn check_secrets(&self) -> Result<(), SpecError> {
        let known: BTreeSet<&str> = self.secrets.known().map(|(name, _)| name).collect();
        let written = self.without_words_for_people().to_string();
        let names = self.secrets.names().chain(secrets::references(&written));
        let mut missing: Vec<&str> = Vec::new();
        for name in names.filter(|name| !known.contains(name)) {
            if !missing.contains(&name) {
                missing.push(name);
            }
        }
        let Some(name) = missing.first() else { return Ok(()) };
        let reference = format!("${{{name}}}");
        let place = self.source.find(&reference, &reference);
        Err(match name.strip_prefix(ENV) {
            Some(variable) => {
                let others = missing[1..].iter().filter_map(|name| name.strip_prefix(ENV));
                let all: Vec<&str> = std::iter::once(variable).chain(others).collect();
                let (are, them) = match all.len() {
                    1 => ("the variable {} is", "it"),
                    _ => ("the variables {} are", "them"),
                };
                let exports: Vec<String> = all.iter().map(|name| format!("{name}=…")).collect();
                self.source.error(
                    format!("{} not set in the environment", are.replace("{}", &all.join(", "))),
                    place,
                    &format!("set {them} where this command runs: export {}", exports.join(" ")),
                )
            }
            None => self.source.error(
                format!(
                    "`{reference}` stands for a secret that was written plainly and is not kept"
                ),
                place,
                "start a new run, with ${env.NAME} in place of the secret in your spec",
            ),
        })
    }
}

/// Calls a function with each text of a document.
pub(super) fn each_text(value: &Value, take: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, take)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

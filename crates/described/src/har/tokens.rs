//! The tokens of a session that one of its own responses gave: the session takes them from there again, as the ones of
//! a recording are those of one user, and end. The others are variables of the environment.

use std::collections::{BTreeMap, BTreeSet};

use results::secrets;
use serde_json::Value;

use super::{Entry, Reading};
use crate::described::{MOST_REQUESTS, reads};
use crate::words::one_line;

/// A shorter value may stand in a response by chance.
const LEAST_TOKEN: usize = 8;
/// The longest body in which a session looks for values, and the longest value.
const MOST_BODY: usize = 1 << 20;
const MOST_VALUE: usize = 8 << 10;

/// A place in a response: that to the request with this place, and a JSON pointer.
type Source = (usize, String);

/// Returns the tokens in the header fields of a request, each with the name of its field.
fn sent(entry: &Entry) -> Vec<(&str, String)> {
    let mut tokens = Vec::new();
    for field in &entry.request.headers {
        let is_secret = secrets::is_secret(&field.name, &field.value);
        if !is_secret || field.name.eq_ignore_ascii_case("cookie") {
            continue;
        }
        let mut take = |token: &str| {
            if (LEAST_TOKEN..=MOST_VALUE).contains(&token.len()) {
                tokens.push((&*field.name, token.to_owned()));
            }
            String::new()
        };
        secrets::field_kept(&field.name, &field.value, &mut take);
    }
    tokens
}

/// Returns the JSON document of a response, if the file has it.
fn document(entry: &Entry) -> Option<Value> {
    let content = entry.response.content.as_ref()?;
    let text = content.text.as_ref().filter(|text| text.len() <= MOST_BODY)?;
    let is_json = entry.mime_type().contains("json") && content.encoding.is_none();
    if is_json { serde_json::from_str(text).ok() } else { None }
}

/// Finds the texts of a document that are wanted, each with its pointer.
fn find<'a>(
    value: &'a Value,
    wanted: &BTreeSet<String>,
    pointer: &mut String,
    found: &mut dyn FnMut(&'a str, &str),
) {
    let mut below = |name: &str, value: &'a Value| {
        let length = pointer.len();
        pointer.push('/');
        pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        find(value, wanted, pointer, found);
        pointer.truncate(length);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| below(name, value)),
        Value::Array(items) => (0..).zip(items).for_each(|(index, value)| {
            let index: usize = index;
            below(&index.to_string(), value);
        }),
        Value::String(text) if wanted.contains(text) => found(text, pointer),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Reading<'_> {
    /// Lets the session capture the tokens that its responses give, and says which are given by one that is not sent.
    pub(super) fn capture(&mut self, said: &mut Vec<String>) {
        let order: Vec<(usize, &Entry)> = self.in_order();
        let wanted = order.iter().flat_map(|(_, entry)| sent(entry)).map(|(_, token)| token);
        let wanted: BTreeSet<String> = wanted.collect();
        if wanted.is_empty() {
            return;
        }
        let mut given: BTreeMap<String, Source> = BTreeMap::new();
        // Of a request and a field of it, the sources of the tokens that were sent.
        let mut uses: BTreeMap<(usize, &str), Vec<Option<Source>>> = BTreeMap::new();
        for (place, entry) in &order {
            for (name, token) in sent(entry) {
                uses.entry((*place, name)).or_default().push(given.get(&token).cloned());
            }
            if let Some(document) = document(entry) {
                find(&document, &wanted, &mut String::new(), &mut |token, pointer| {
                    if pointer.chars().all(is_of_pointer) {
                        given.insert(token.to_owned(), (*place, pointer.to_owned()));
                    }
                });
            }
        }
        let are_sent = self.are_sent();
        let mut names: BTreeMap<Source, String> = BTreeMap::new();
        let mut missed: BTreeMap<Source, BTreeSet<&str>> = BTreeMap::new();
        for ((place, field), sources) in uses {
            let Some(Some(source)) = sources.first() else { continue };
            // One that was there before the response, or came from another one, is no value of this capture.
            if !are_sent[place] || sources.iter().any(|other| other.as_ref() != Some(source)) {
                continue;
            }
            if !are_sent[source.0] {
                missed.entry(source.clone()).or_default().insert(field);
                continue;
            }
            let name = name_of(source, &mut names);
            if self.use_captured(place, field, &name) {
                let capture = format!("json:{}", source.1);
                self.requests[source.0].captures.insert(name, capture);
            }
        }
        for ((place, pointer), fields) in missed {
            let fields: Vec<String> = fields.into_iter().map(one_line).collect();
            said.push(format!(
                "the session does not capture what it sends as {}: the response to {}, which is not sent, gave it \
                 (json:{}); with --writes it is captured",
                fields.join(", "),
                self.requests[place].label,
                one_line(&pointer)
            ));
        }
    }

    /// Puts a captured value in place of the reference in a header field; returns true if there is one.
    fn use_captured(&mut self, place: usize, field: &str, name: &str) -> bool {
        let captured = format!("{{{{session.{name}}}}}");
        let mut is_used = false;
        for (known, value) in &mut self.requests[place].headers {
            if known != field {
                continue;
            }
            let reference = secrets::references(value).next().map(|name| format!("${{{name}}}"));
            if let Some(reference) = reference {
                *value = value.replace(&reference, &captured);
                is_used = true;
            }
        }
        is_used
    }

    /// Returns for each request whether it is sent, as far as it is known before others are left out: a mix has room for
    /// the first ones.
    fn are_sent(&self) -> Vec<bool> {
        let mut room = MOST_REQUESTS;
        let is_sent = |method: &str| {
            let is_wanted = (reads(method) || self.wanted.writes) && 0 < room;
            room -= usize::from(is_wanted);
            is_wanted
        };
        self.requests.iter().map(|request| &*request.method).map(is_sent).collect()
    }
}

/// Returns true for a character of a pointer that is copied into a mix: no other can be a part of a reference.
fn is_of_pointer(c: char) -> bool {
    c.is_ascii_alphanumeric() || "/_-.~".contains(c)
}

/// Returns the name of a captured value: the last part of its pointer, with a number if another value has it.
fn name_of(source: &Source, names: &mut BTreeMap<Source, String>) -> String {
    if let Some(name) = names.get(source) {
        return name.clone();
    }
    let last = source.1.rsplit('/').next().unwrap_or_default();
    let of_name = last.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40);
    let base: String = of_name.collect();
    let begins = |name: &String| name.starts_with(|c: char| c.is_ascii_alphabetic());
    let base = Some(base).filter(begins).unwrap_or_else(|| "token".to_owned());
    let name = secrets::free_name(&base, |name| !names.values().any(|known| known == name));
    names.insert(source.clone(), name.clone());
    name
}

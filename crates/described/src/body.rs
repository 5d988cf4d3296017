//! Bodies as a mix has them: nothing in them is a placeholder by chance, and their secrets are references.

use results::secrets;
use serde_json::Value;

use crate::references::References;
use crate::secret;
use crate::target::encode;
use crate::words::one_line;

/// Stands around the name of a secret until the text is written: no text of a source has it then.
const MARK: char = '\u{1}';
const MARK_IN_JSON: &str = "\\u0001";
/// The name of a text without one.
const ITEM: &str = "item";

/// Returns the body of a request with this text; `None` if it cannot be told what in it is secret.
pub(crate) fn of(text: &str, mime_type: &str, references: &mut References) -> Option<String> {
    // A tool that keeps bytes as a text writes this for those that are not one.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    if mime_type.contains("json") {
        return json(&serde_json::from_str(text).ok()?, references);
    }
    if mime_type.starts_with("application/x-www-form-urlencoded") {
        return form(text, references);
    }
    let lower = text.to_ascii_lowercase();
    let is_plain = !secret::is_in(text)
        && !["passw", "token", "secret", "{{", "${"].iter().any(|word| lower.contains(word));
    is_plain.then(|| text.to_owned())
}

/// Returns a JSON document as a body.
pub(crate) fn json(value: &Value, references: &mut References) -> Option<String> {
    let mut value = value.clone();
    let mut names = Vec::new();
    mark(&mut value, &mut names);
    // In JSON these can only stand in texts, where a brace may be escaped.
    let mut text = value.to_string().replace("{{", "{\\u007b").replace("${", "$\\u007b");
    for name in names {
        let of = format!("the field {} of a body", one_line(&name));
        let reference = references.to(&format!("BODY_{name}"), &of);
        let marked = Value::String(format!("{MARK}{name}{MARK}")).to_string();
        text = text.replace(marked.trim_matches('"'), &reference);
    }
    (!text.contains(MARK_IN_JSON) && !text.contains("{{")).then_some(text)
}

/// Marks the values of secret fields, and the texts that have a secret in them.
fn mark(value: &mut Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if is_secret(name, text) => {
                        names.push(name.clone());
                        *text = format!("{MARK}{name}{MARK}");
                    }
                    _ => mark(field, names),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| mark(item, names)),
        // Of a list, whose texts have no names.
        Value::String(text) if secret::is_in(text) => {
            names.push(ITEM.to_owned());
            *text = format!("{MARK}{ITEM}{MARK}");
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn is_secret(name: &str, text: &str) -> bool {
    !text.is_empty() && secrets::is_secret(name, text)
}

/// Returns `a=b&c=d` as a body.
fn form(text: &str, references: &mut References) -> Option<String> {
    let is_allowed = |c: char| c.is_ascii_graphic() && !"{}$\"".contains(c);
    let pairs = text.split('&').map(|pair| match pair.split_once('=') {
        Some((name, value)) if is_secret(&decoded(name), &decoded(value)) => {
            let of = format!("the field {} of a body", one_line(name));
            format!("{name}={}", references.to(&format!("BODY_{name}"), &of))
        }
        _ => pair.to_owned(),
    });
    text.chars().all(is_allowed).then(|| pairs.collect::<Vec<String>>().join("&"))
}

/// Returns the pairs of a form, which a HAR may have instead of a text.
pub(crate) fn form_of<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        if !text.is_empty() {
            text.push('&');
        }
        encode(name, &mut text);
        text.push('=');
        encode(value, &mut text);
    }
    text
}

/// Returns a part of a form as its user wrote it.
fn decoded(part: &str) -> String {
    String::from_utf8_lossy(&secrets::unescaped(&part.replace('+', " "))).into_owned()
}

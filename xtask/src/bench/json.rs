//! A reader of JSON for the few figures that a bench needs from our own programs' documents.
//!
//! It writes no JSON, and returns nothing for a text that is not JSON.

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Map(BTreeMap<String, Value>),
}

impl Value {
    /// Reads one whole document.
    pub(super) fn read(text: &str) -> Option<Value> {
        let mut rest = text;
        let read = value(&mut rest)?;
        rest.trim().is_empty().then_some(read)
    }

    /// Returns the value at a path of names, such as `response_time.p50_ns`.
    pub(super) fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self, |value, name| match value {
            Value::Map(entries) => entries.get(name),
            _ => None,
        })
    }

    pub(super) fn number(&self, path: &str) -> Option<f64> {
        match self.at(path)? {
            Value::Number(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn text(&self, path: &str) -> Option<&str> {
        match self.at(path)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn is_true(&self, path: &str) -> bool {
        self.at(path) == Some(&Value::Bool(true))
    }

    /// Returns the elements of a list; none if the value is not a list.
    pub(super) fn list(&self, path: &str) -> &[Value] {
        match self.at(path) {
            Some(Value::List(elements)) => elements,
            _ => &[],
        }
    }
}

fn value(rest: &mut &str) -> Option<Value> {
    *rest = rest.trim_start();
    match rest.chars().next()? {
        '{' => members(rest, '}', entry).map(|entries| Value::Map(entries.into_iter().collect())),
        '[' => members(rest, ']', value).map(Value::List),
        '"' => string(rest).map(Value::Text),
        _ => bare(rest),
    }
}

/// Reads the values between brackets, separated by commas.
fn members<T>(rest: &mut &str, close: char, member: fn(&mut &str) -> Option<T>) -> Option<Vec<T>> {
    *rest = rest[1..].trim_start();
    let mut members = Vec::new();
    if let Some(behind) = rest.strip_prefix(close) {
        *rest = behind;
        return Some(members);
    }
    loop {
        members.push(member(rest)?);
        *rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix(close) {
            *rest = behind;
            return Some(members);
        }
        *rest = rest.strip_prefix(',')?;
    }
}

fn entry(rest: &mut &str) -> Option<(String, Value)> {
    *rest = rest.trim_start();
    let name = string(rest)?;
    *rest = rest.trim_start().strip_prefix(':')?;
    Some((name, value(rest)?))
}

fn string(rest: &mut &str) -> Option<String> {
    let inside = rest.strip_prefix('"')?;
    let mut text = String::new();
    let mut characters = inside.char_indices();
    loop {
        match characters.next()? {
            (at, '"') => {
                *rest = &inside[at + 1..];
                return Some(text);
            }
            (_, '\\') => match characters.next()?.1 {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                'r' => text.push('\r'),
                'b' => text.push('\u{8}'),
                'f' => text.push('\u{c}'),
                'u' => {
                    let digits: String = characters.by_ref().take(4).map(|(_, c)| c).collect();
                    // Surrogate pairs are not decoded: no name of a figure has one.
                    let code = u32::from_str_radix(&digits, 16).ok()?;
                    text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                literal => text.push(literal),
            },
            (_, literal) => text.push(literal),
        }
    }
}

fn bare(rest: &mut &str) -> Option<Value> {
    let end = rest.find([',', '}', ']', ' ', '\n', '\r', '\t']).unwrap_or(rest.len());
    let (word, behind) = rest.split_at(end);
    *rest = behind;
    match word {
        "null" => Some(Value::Null),
        "true" => Some(Value::Bool(true)),
        "false" => Some(Value::Bool(false)),
        number => number.parse().ok().filter(|x: &f64| x.is_finite()).map(Value::Number),
    }
}

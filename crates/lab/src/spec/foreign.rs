//! Programs that do not know this tool: their scheme, their port, their files, and the line that they
//! print when they are ready.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Component, Path};

use regex::Regex;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use wire::url;

#[cfg(test)]
mod tests;

/// The scheme of the runner's own requests, and of a component whose scheme is not known.
pub(crate) const HTTP: &str = "http";

/// The scheme of a component's URL, in small letters: `http`, `redis`.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Scheme(String);

impl std::ops::Deref for Scheme {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<Scheme> for String {
    fn from(scheme: Scheme) -> String {
        scheme.0
    }
}

impl TryFrom<String> for Scheme {
    type Error = String;
    fn try_from(text: String) -> Result<Scheme, String> {
        let is_written_so = !text.contains(|c: char| c.is_ascii_uppercase());
        match url::is_scheme(&text) && is_written_so && !text.ends_with("+unix") {
            true => Ok(Scheme(text)),
            false => Err(format!(
                "`{text}` is not a valid scheme; write what is before `://` of its URL, for example \
                 redis"
            )),
        }
    }
}

/// The port at which a program listens: `port: auto` or `port: 6379`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Port {
    /// The backend chooses a free one.
    Auto,
    At(u16),
}

/// Written as `auto` or `6379`.
impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Port::Auto => f.write_str("auto"),
            Port::At(port) => port.fmt(f),
        }
    }
}

impl Serialize for Port {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Port::Auto => serializer.serialize_str("auto"),
            Port::At(port) => serializer.serialize_u16(*port),
        }
    }
}

impl<'de> Deserialize<'de> for Port {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Port, D::Error> {
        struct AutoOrNumber;
        impl Visitor<'_> for AutoOrNumber {
            type Value = Port;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`auto` or a port from 1 to 65535")
            }
            fn visit_u64<E: Error>(self, port: u64) -> Result<Port, E> {
                self.visit_str(&port.to_string())
            }
            fn visit_i64<E: Error>(self, port: i64) -> Result<Port, E> {
                self.visit_str(&port.to_string())
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Port, E> {
                let wrong = || {
                    E::custom(format!(
                        "`{text}` is not a valid port; write `auto` or a number from 1 to 65535"
                    ))
                };
                match text {
                    "auto" => Ok(Port::Auto),
                    number => match number.parse() {
                        Ok(port) if 0 < port => Ok(Port::At(port)),
                        _ => Err(wrong()),
                    },
                }
            }
        }
        deserializer.deserialize_any(AutoOrNumber)
    }
}

/// A regular expression, checked when it was read.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Pattern(String);

impl Pattern {
    pub fn regex(&self) -> Regex {
        Regex::new(&self.0).expect("it was compiled when it was read")
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Pattern> for String {
    fn from(pattern: Pattern) -> String {
        pattern.0
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;
    fn try_from(text: String) -> Result<Pattern, String> {
        match Regex::new(&text) {
            Ok(_) => Ok(Pattern(text)),
            Err(error) => {
                // The last line is the reason; those before it show the place in the expression.
                let error = error.to_string();
                let reason = error.lines().last().unwrap_or_default();
                let reason = reason.trim_start_matches("error: ");
                Err(format!("`{text}` is not a valid regular expression: {reason}"))
            }
        }
    }
}

/// The contents of files, by their names in the folder of a component.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Files(pub BTreeMap<String, String>);

impl Files {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Files> for BTreeMap<String, String> {
    fn from(files: Files) -> BTreeMap<String, String> {
        files.0
    }
}

impl TryFrom<BTreeMap<String, String>> for Files {
    type Error = String;
    fn try_from(files: BTreeMap<String, String>) -> Result<Files, String> {
        match files.keys().find(|name| !is_inside(name)) {
            Some(name) => Err(format!(
                "`{name}` is not a valid file name; write a path below ${{folder}}, for example \
                 nginx.conf"
            )),
            None => Ok(Files(files)),
        }
    }
}

/// Returns true for a path that cannot lead out of the folder in which it begins.
fn is_inside(name: &str) -> bool {
    let inside = |part| matches!(part, Component::Normal(_));
    !name.is_empty() && !name.ends_with('/') && Path::new(name).components().all(inside)
}

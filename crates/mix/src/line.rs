//! One line of a mix: a JSON object whose values keep their positions.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::error::{Error, Wrong};

/// A line of a file, with its position for error messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) file: &'a str,
    /// The line number, from 1.
    pub(crate) number: usize,
    pub(crate) text: &'a str,
}

/// The members of a line's object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written<'a> {
    #[serde(borrow)]
    pub(crate) weight: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) label: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) target: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) headers: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) body: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) body_file: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) check: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) capture: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) redirects: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) session: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) steps: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) cookies: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(crate) arrivals: Option<&'a RawValue>,
}

impl<'a> Written<'a> {
    /// Returns the members that only a request has, with their names.
    pub(crate) fn of_request(&self) -> impl Iterator<Item = (&'static str, &'a RawValue)> {
        let members = [
            ("label", self.label),
            ("method", self.method),
            ("target", self.target),
            ("headers", self.headers),
            ("body", self.body),
            ("body_file", self.body_file),
            ("check", self.check),
            ("capture", self.capture),
            ("redirects", self.redirects),
        ];
        members.into_iter().filter_map(|(name, raw)| Some((name, raw?)))
    }

    /// Returns the members that only a session has, with their names.
    pub(crate) fn of_session(&self) -> impl Iterator<Item = (&'static str, &'a RawValue)> {
        let members = [("session", self.session), ("steps", self.steps), ("cookies", self.cookies)];
        members.into_iter().filter_map(|(name, raw)| Some((name, raw?)))
    }
}

/// A value and its position.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    raw: &'a RawValue,
    pub(crate) text: String,
}

impl<'a> Line<'a> {
    pub(crate) fn parse(self) -> Result<Written<'a>, Error> {
        let example = r#"write an object such as {"weight":2,"target":"/"}"#;
        let begin = self.text.find(|c: char| !c.is_whitespace()).unwrap_or_default();
        // serde would also accept a list in the order of the keys.
        if !self.text[begin..].starts_with('{') {
            return Err(self.error(begin, format!("this is not an object; {example}")));
        }
        serde_json::from_str(self.text).map_err(|error| {
            let text = error.to_string();
            let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
            let remedy = match error.classify() {
                Category::Eof => "write the whole object on one line",
                Category::Data => "correct it, or leave it out",
                Category::Syntax | Category::Io => example,
            };
            self.error(error.column().saturating_sub(1), format!("{what}; {remedy}"))
        })
    }

    pub(crate) fn weight(self, raw: &RawValue) -> Result<f64, Error> {
        let weight = serde_json::from_str(raw.get()).ok();
        weight.filter(|weight| 0.0 < *weight).ok_or_else(|| {
            self.error_at(raw, format!("`weight` is {raw}; write a number above 0, such as 60"))
        })
    }

    pub(crate) fn text_of(self, key: &str, raw: &'a RawValue) -> Result<Text<'a>, Error> {
        match serde_json::from_str(raw.get()) {
            Ok(text) => Ok(Text { raw, text }),
            Err(_) => {
                Err(self.error_at(raw, format!("`{key}` is not a text; put it in quotes: \"…\"")))
            }
        }
    }

    /// Returns the texts of an object in the order in which they are written; a name may occur more
    /// than once.
    pub(crate) fn texts(
        self,
        key: &str,
        raw: &'a RawValue,
    ) -> Result<Vec<(String, Text<'a>)>, Error> {
        let Members(members) = serde_json::from_str(raw.get()).map_err(|_| {
            let what = format!("`{key}` is not an object; write it as {{\"Name\":\"value\"}}");
            self.error_at(raw, what)
        })?;
        members
            .into_iter()
            .map(|(name, value)| {
                let text = self.text_of(&format!("{key}.{name}"), value)?;
                Ok((name, text))
            })
            .collect()
    }

    /// Creates an error at `offset` bytes from the line's beginning.
    pub(crate) fn error(self, offset: usize, what: impl Into<String>) -> Error {
        Error::new(self.file, (self.number, self.text), offset, what)
    }

    pub(crate) fn error_at(self, value: &RawValue, what: impl Into<String>) -> Error {
        self.error(self.offset(value), what)
    }

    pub(crate) fn error_in(self, text: &Text<'_>, wrong: Wrong) -> Error {
        // After an escape, positions in the text differ from those in the line.
        let is_plain = !text.raw.get().contains('\\');
        let within = if is_plain { 1 + wrong.at } else { 0 };
        self.error(self.offset(text.raw) + within, wrong.what)
    }

    /// Returns the position of a value, which is borrowed from the line.
    pub(crate) fn offset(self, value: &RawValue) -> usize {
        value.get().as_ptr() as usize - self.text.as_ptr() as usize
    }
}

impl Text<'_> {
    pub(crate) fn raw(&self) -> &RawValue {
        self.raw
    }
}

/// The members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Members<'de>, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

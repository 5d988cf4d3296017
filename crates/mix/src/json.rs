//! The search for one value in a JSON text, without building the rest.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

const NULL: &str = "null";

/// The way to a value in a JSON text (RFC 6901).
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    /// The tokens, unescaped.
    path: Vec<String>,
}

impl Pointer {
    /// Parses a pointer; `example` is a text with a valid one.
    pub(crate) fn parse(pointer: &str, example: &str) -> Result<Pointer, String> {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            return Err(format!(
                "`{pointer}` is not a JSON pointer, which begins with `/`; write for example \
                 {example}",
            ));
        }
        let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~");
        Ok(Pointer { path: pointer.split('/').skip(1).map(unescaped).collect() })
    }

    /// Returns the value to which the pointer leads: a text without its quotes and escapes, anything
    /// else as it is written. A null is no value.
    pub(crate) fn text_in<'a>(&self, body: &'a [u8]) -> Option<Cow<'a, [u8]>> {
        let found = find(body, &self.path)?.get();
        let text = found.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        match text {
            Some(text) if !text.contains('\\') => Some(Cow::Borrowed(text.as_bytes())),
            Some(_) => {
                let text = serde_json::from_str::<String>(found).ok()?;
                Some(Cow::Owned(text.into_bytes()))
            }
            None => Some(found)
                .filter(|found| *found != NULL)
                .map(|found| Cow::Borrowed(found.as_bytes())),
        }
    }

    /// Returns true if the pointer leads to a null.
    pub(crate) fn leads_to_null(&self, body: &[u8]) -> bool {
        find(body, &self.path).is_some_and(|found| found.get() == NULL)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pointer: Pointer,
    text: String,
    /// The value of `text` as JSON, if it is valid JSON.
    value: Option<Value>,
}

impl Rule {
    pub(crate) fn new(pointer: &str, value: &str) -> Result<Rule, String> {
        Ok(Rule {
            pointer: Pointer::parse(pointer, "json:/hotels/0/name=Clift")?,
            text: value.to_owned(),
            value: serde_json::from_str(value).ok(),
        })
    }

    pub(crate) fn is_met(&self, body: &[u8]) -> bool {
        find(body, &self.pointer.path).is_some_and(|found| self.equals(found.get()))
    }

    fn equals(&self, found: &str) -> bool {
        if let Some(text) = found.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
            return match text.contains('\\') {
                false => text == self.text,
                true => serde_json::from_str::<String>(found).is_ok_and(|text| text == self.text),
            };
        }
        let Some(value) = &self.value else { return false };
        let Ok(found) = serde_json::from_str::<Value>(found) else { return false };
        match (value, &found) {
            // 1 and 1.0 are the same number.
            (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            _ => *value == found,
        }
    }
}

/// Returns the text of the value at the path; the last of equal names in an object counts.
fn find<'a>(body: &'a [u8], path: &[String]) -> Option<&'a RawValue> {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let found = Find(path).deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    found
}

struct Find<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Find<'_> {
    type Value = Option<&'de RawValue>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        match self.0 {
            [] => serde::Deserialize::deserialize(deserializer).map(Some),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Find<'_> {
    type Value = Option<&'de RawValue>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (name, rest) = self.0.split_first().expect("the path is not at its end");
        let mut found = None;
        while let Some(is_it) = map.next_key_seed(Is(name))? {
            if is_it {
                found = map.next_value_seed(Find(rest))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let (index, rest) = self.0.split_first().expect("the path is not at its end");
        let has_zeros = index.len() > 1 && index.starts_with('0');
        let is_index = !has_zeros && index.bytes().all(|byte| byte.is_ascii_digit());
        let before = index.parse().ok().filter(|_| is_index).unwrap_or(usize::MAX);
        for _ in 0..before {
            if seq.next_element::<IgnoredAny>()?.is_none() {
                return Ok(None);
            }
        }
        let found = seq.next_element_seed(Find(rest))?.flatten();
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(found)
    }

    // The path is not at its end, and these values have no members.

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }
}

/// A comparison of a name with this one.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

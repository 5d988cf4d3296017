//! The parameters of a request: of its query, or of its body. Browsers encode them, the workloads of
//! the original do not: both are understood.

use std::borrow::Cow;

use super::answer::Refusal;

#[cfg(test)]
mod tests;

/// The most parameters that are read, as in the original; further ones are ignored.
const MOST: usize = 100;

/// Parameters, decoded.
pub struct Form<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Form<'a> {
    /// Reads `name=value` pairs. An escape that is broken, and bytes that are not UTF-8, are text.
    pub fn read(bytes: &'a [u8]) -> Self {
        Form(form_urlencoded::parse(bytes).take(MOST).collect())
    }

    /// Returns the first value of a name; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Returns the values of these names, none of which may be empty.
    pub fn required<const N: usize>(&self, names: [&str; N]) -> Result<[&str; N], Refusal> {
        let values = names.map(|name| self.get(name));
        match values.iter().any(|value| value.is_empty()) {
            true => Err(Refusal::incomplete()),
            false => Ok(values),
        }
    }
}

/// Reads a number of 64 bits that the original takes: of a user, of a place in a timeline.
pub fn number(name: &str, text: &str) -> Result<i64, Refusal> {
    text.parse().map_err(|_| Refusal::invalid(name, "an integer of 64 bits"))
}

/// Reads the number of a user, which is never negative.
pub fn user_id(name: &str, text: &str) -> Result<i64, Refusal> {
    match number(name, text)? {
        id @ 0.. => Ok(id),
        _ => Err(Refusal::invalid(name, "the number of a user")),
    }
}

/// Reads a list of strings in JSON; empty if the text is.
pub fn list(name: &str, text: &str) -> Result<Vec<String>, Refusal> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text).map_err(|_| Refusal::invalid(name, "a JSON list of strings"))
}

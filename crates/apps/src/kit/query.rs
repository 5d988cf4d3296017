//! The parameters of a request, read as the original's HTTP library reads them. Nothing is
//! collected: each of the few parameters is searched for when it is needed.

use std::borrow::Cow;
use std::str::FromStr;

/// The query of a request target, still encoded.
#[derive(Clone, Copy)]
pub struct Query<'a>(&'a str);

impl<'a> Query<'a> {
    pub fn new(query: Option<&'a str>) -> Self {
        Query(query.unwrap_or_default())
    }

    /// Returns the first value given under `name`; empty if it is missing. A pair with a broken
    /// escape or a semicolon is ignored.
    pub fn get(self, name: &str) -> Cow<'a, str> {
        self.0.split('&').find_map(|pair| value_of(name, pair)).unwrap_or_default()
    }
}

/// Returns a number; 0 if the text is not a number.
pub fn number<N: FromStr + Default>(text: &str) -> N {
    text.parse().unwrap_or_default()
}

fn value_of<'a>(name: &str, pair: &'a str) -> Option<Cow<'a, str>> {
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let is_asked_for = decode(key)? == name && !pair.contains(';');
    if is_asked_for { decode(value) } else { None }
}

/// Decodes the escapes of a path; `None` if one is broken.
pub fn decode_path(text: &str) -> Option<Cow<'_, str>> {
    // Only in a query a plus is a blank.
    match text.contains('+') {
        true => decode(&text.replace('+', "%2B")).map(|decoded| Cow::Owned(decoded.into_owned())),
        false => decode(text),
    }
}

fn decode(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| byte == b'%' || byte == b'+') {
        return Some(Cow::Borrowed(text));
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            other => other,
        });
    }
    Some(Cow::Owned(String::from_utf8_lossy(&decoded).into_owned()))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

#[cfg(test)]
mod tests;

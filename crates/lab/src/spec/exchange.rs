//! One request and its expected response, as smoke tests, actions and checks state it. Everything
//! that is sent beside the method and the target is in `send`; all other fields describe the
//! response.

use std::collections::BTreeMap;
use std::fmt;

use measure::Nanos;
use schemars::JsonSchema;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wire::http1::check_field;

use super::{Name, Written};

#[cfg(test)]
mod tests;

/// The longest time for a response, unless the exchange sets its own.
const TIMEOUT: Nanos = Nanos::from_secs(5);

/// One request and its expected response.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenExchange", into = "WrittenExchange")]
pub struct Exchange {
    pub method: Method,
    pub target: String,
    pub to: Option<Name>,
    pub send: Sent,
    pub status: Statuses,
    pub body: Option<String>,
    pub body_equals: Option<String>,
    pub timeout: Option<Written<Nanos>>,
}

impl Exchange {
    /// Returns a GET that expects status 200.
    pub fn get(target: &str) -> Exchange {
        Exchange {
            method: Method::Get,
            target: target.to_owned(),
            to: None,
            send: Sent::default(),
            status: Statuses::default(),
            body: None,
            body_equals: None,
            timeout: None,
        }
    }

    /// Returns the longest time for the response.
    pub fn within(&self) -> Nanos {
        self.timeout.map_or(TIMEOUT, |timeout| *timeout)
    }

    /// Returns a body that meets the expectation, for backends without a system.
    pub fn expected_body(&self) -> &str {
        self.body_equals.as_deref().or(self.body.as_deref()).unwrap_or_default()
    }

    /// Returns the texts that may contain variables.
    pub(super) fn texts(&self) -> Vec<&str> {
        let mut texts = vec![self.target.as_str()];
        texts.extend(self.body.as_deref());
        texts.extend(self.body_equals.as_deref());
        texts.extend(self.send.headers.values().map(String::as_str));
        match &self.send.body {
            Some(Body::Json(value)) => strings(value, &mut texts),
            Some(Body::Form(fields)) => texts.extend(fields.values().map(String::as_str)),
            Some(Body::Text(text)) => texts.push(text),
            None => {}
        }
        texts
    }

    /// Returns the exchange with each of its texts replaced.
    pub fn with_texts(&self, replaced: &dyn Fn(&str) -> String) -> Exchange {
        let all = |texts: &BTreeMap<String, String>| {
            texts.iter().map(|(name, text)| (name.clone(), replaced(text))).collect()
        };
        let body = self.send.body.as_ref().map(|body| match body {
            Body::Json(value) => Body::Json(with_strings(value, replaced)),
            Body::Form(fields) => Body::Form(all(fields)),
            Body::Text(text) => Body::Text(replaced(text)),
        });
        Exchange {
            target: replaced(&self.target),
            send: Sent { headers: all(&self.send.headers), body },
            body: self.body.as_deref().map(replaced),
            body_equals: self.body_equals.as_deref().map(replaced),
            ..self.clone()
        }
    }
}

/// Collects every text in a JSON document, except the names of fields.
fn strings<'a>(value: &'a Value, texts: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn with_strings(value: &Value, replaced: &dyn Fn(&str) -> String) -> Value {
    let inner = |value: &Value| with_strings(value, replaced);
    match value {
        Value::String(text) => Value::String(replaced(text)),
        Value::Array(items) => Value::Array(items.iter().map(inner).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), inner(field))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Method {
    Get,
    Post,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Get => "GET",
            Method::Post => "POST",
        })
    }
}

/// Everything that is sent beside the method and the target.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(try_from = "WrittenSent", into = "WrittenSent")]
pub struct Sent {
    pub headers: BTreeMap<String, String>,
    pub body: Option<Body>,
}

impl Sent {
    fn is_nothing(&self) -> bool {
        *self == Sent::default()
    }
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Json(Value),
    /// Fields in the encoding of HTML forms.
    Form(BTreeMap<String, String>),
    Text(String),
}

impl Body {
    pub fn content_type(&self) -> &'static str {
        match self {
            Body::Json(_) => "application/json",
            Body::Form(_) => "application/x-www-form-urlencoded",
            Body::Text(_) => "text/plain; charset=utf-8",
        }
    }
}

/// The body as it is sent.
impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Json(value) => value.fmt(f),
            Body::Form(fields) => {
                let fields = fields.iter();
                let texts =
                    fields.map(|(name, text)| format!("{}={}", encoded(name), encoded(text)));
                f.write_str(&texts.collect::<Vec<_>>().join("&"))
            }
            Body::Text(text) => f.write_str(text),
        }
    }
}

/// Encodes a text for a form: letters, digits and `-._*` stay, a blank becomes `+`.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'*' => {
            char::from(byte).to_string()
        }
        b' ' => "+".to_owned(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

#[derive(Clone, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenSent {
    /// Header fields; one of these replaces ours of the same name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
    /// The body, as a JSON document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    json: Option<Value>,
    /// The body, as the fields of an HTML form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    form: Option<BTreeMap<String, String>>,
    /// The body, as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

impl TryFrom<WrittenSent> for Sent {
    type Error = String;
    fn try_from(written: WrittenSent) -> Result<Sent, String> {
        let WrittenSent { headers, json, form, text } = written;
        headers.iter().try_for_each(|(name, value)| check_field(name, value))?;
        let body = match (json, form, text) {
            (None, None, None) => None,
            (Some(value), None, None) => Some(Body::Json(value)),
            (None, Some(fields), None) => Some(Body::Form(fields)),
            (None, None, Some(text)) => Some(Body::Text(text)),
            _ => return Err("a request sends one of `json`, `form` and `text`".to_owned()),
        };
        Ok(Sent { headers, body })
    }
}

impl From<Sent> for WrittenSent {
    fn from(sent: Sent) -> WrittenSent {
        let Sent { headers, body } = sent;
        let written = WrittenSent { headers, json: None, form: None, text: None };
        match body {
            Some(Body::Json(value)) => WrittenSent { json: Some(value), ..written },
            Some(Body::Form(fields)) => WrittenSent { form: Some(fields), ..written },
            Some(Body::Text(text)) => WrittenSent { text: Some(text), ..written },
            None => written,
        }
    }
}

/// One status or several: `status: 200` or `status: [200, 201, 409]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Statuses(Vec<u16>);

impl Statuses {
    pub fn allow(&self, status: u16) -> bool {
        self.0.contains(&status)
    }

    pub fn first(&self) -> u16 {
        self.0[0]
    }
}

impl Default for Statuses {
    fn default() -> Statuses {
        Statuses(vec![200])
    }
}

/// Written as `200` or `200, 201 or 409`.
impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(u16::to_string).collect();
        match texts.split_last() {
            Some((last, [])) => f.write_str(last),
            Some((last, others)) => write!(f, "{} or {last}", others.join(", ")),
            None => unreachable!("an exchange has a status"),
        }
    }
}

impl Serialize for Statuses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0[..] {
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Statuses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Statuses, D::Error> {
        struct OneOrMore;
        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Statuses;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a status (`200`) or a list of statuses")
            }
            fn visit_u64<E: Error>(self, status: u64) -> Result<Statuses, E> {
                self.visit_str(&status.to_string())
            }
            fn visit_i64<E: Error>(self, status: i64) -> Result<Statuses, E> {
                self.visit_str(&status.to_string())
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Statuses, E> {
                Ok(Statuses(vec![status(text).map_err(E::custom)?]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Statuses, A::Error> {
                let mut statuses = Vec::new();
                while let Some(text) = list.next_element::<String>()? {
                    statuses.push(status(&text).map_err(A::Error::custom)?);
                }
                match statuses.is_empty() {
                    true => Err(A::Error::custom("the list of statuses is empty")),
                    false => Ok(Statuses(statuses)),
                }
            }
        }
        deserializer.deserialize_any(OneOrMore)
    }
}

fn status(text: &str) -> Result<u16, String> {
    let status = text.parse().ok().filter(|status| (100..1000).contains(status));
    status.ok_or_else(|| format!("`{text}` is not a valid status; write for example 200"))
}

#[derive(Clone, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
struct WrittenExchange {
    /// The path, with the method GET.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    get: Option<String>,
    /// The path, with the method POST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    post: Option<String>,
    /// The component that gets the request, its first replica; by default the endpoint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<Name>,
    /// Everything that is sent beside the method and the path.
    #[serde(default, skip_serializing_if = "Sent::is_nothing")]
    send: Sent,
    /// The expected status, or several of which one is expected.
    #[serde(default)]
    status: Statuses,
    /// A part of the expected body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The whole expected body, without the white space around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    body_equals: Option<String>,
    /// The longest time for the response; 5 s by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Written<Nanos>>,
}

impl TryFrom<WrittenExchange> for Exchange {
    type Error = &'static str;
    fn try_from(written: WrittenExchange) -> Result<Exchange, &'static str> {
        let WrittenExchange { get, post, to, send, status, body, body_equals, timeout } = written;
        let (method, target) = match (get, post) {
            (Some(target), None) => (Method::Get, target),
            (None, Some(target)) => (Method::Post, target),
            _ => return Err("a request is either `get: /path` or `post: /path`"),
        };
        if method == Method::Get && send.body.is_some() {
            return Err("a GET sends no body; write `post: /path`");
        }
        if timeout.is_some_and(|timeout| *timeout == Nanos::ZERO) {
            return Err("a timeout must be longer than zero");
        }
        Ok(Exchange { method, target, to, send, status, body, body_equals, timeout })
    }
}

impl From<Exchange> for WrittenExchange {
    fn from(exchange: Exchange) -> WrittenExchange {
        let Exchange { method, target, to, send, status, body, body_equals, timeout } = exchange;
        let (get, post) = match method {
            Method::Get => (Some(target), None),
            Method::Post => (None, Some(target)),
        };
        WrittenExchange { get, post, to, send, status, body, body_equals, timeout }
    }
}

//! A CloudEvent and its forms: in HTTP its attributes are header fields (binary mode) or members of
//! a JSON document (structured mode), and in the log it is a few bytes. Attributes are kept as they
//! stand in header fields, so binary events pass through unchanged.

use std::borrow::Cow;
use std::fmt::{self, Write};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Buf, BufMut, Bytes};
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

use super::target::Target;

#[cfg(test)]
mod tests;

const PREFIX: &str = "ce-";

/// Attributes without which nothing is an event.
const REQUIRED: [&str; 4] = ["ce-specversion", "ce-id", "ce-source", "ce-type"];

/// The versions whose required attributes have these names.
const VERSIONS: [&str; 3] = ["1.0", "0.3", "0.2"];

/// The most attributes of an event.
const MOST_ATTRIBUTES: usize = 64;

/// The most bytes of all names and values of attributes: a subscriber gets them as header fields.
const MOST_ATTRIBUTE_BYTES: usize = 60 << 10;

const STRUCTURED: &str = "application/cloudevents+json";
const ANY_FORMAT: &str = "application/cloudevents";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The names begin with `ce-`.
    attributes: Vec<(HeaderName, HeaderValue)>,
    content_type: Option<HeaderValue>,
    data: Bytes,
}

/// The reason why a message is not an event.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub status: StatusCode,
    pub why: Cow<'static, str>,
}

impl Refused {
    fn bad(why: impl Into<Cow<'static, str>>) -> Self {
        Refused { status: StatusCode::BAD_REQUEST, why: why.into() }
    }
}

/// Returns true if a message claims to be an event.
pub fn is_claimed(headers: &HeaderMap) -> bool {
    format_of(headers).is_some_and(|format| format.starts_with(ANY_FORMAT))
        || REQUIRED.iter().any(|name| headers.contains_key(*name))
}

impl Event {
    /// Reads an event from the head and the body of a request or a response.
    pub fn read(headers: &HeaderMap, body: Bytes) -> Result<Self, Refused> {
        match format_of(headers) {
            Some(format) if format == STRUCTURED => structured(&body),
            Some(format) if format.starts_with(ANY_FORMAT) => Err(Refused {
                status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
                why: "send one event, in binary mode or as application/cloudevents+json".into(),
            }),
            _ => binary(headers, body),
        }
    }

    /// Returns the request that brings the event to a URL, in binary mode.
    pub fn request(&self, target: &Target) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(self.data.clone()));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = target.path().clone();
        let headers = request.headers_mut();
        headers.reserve(self.attributes.len() + 4);
        headers.insert(HOST, target.host().clone());
        for (name, value) in &self.attributes {
            headers.insert(name.clone(), value.clone());
        }
        if let Some(content_type) = &self.content_type {
            headers.insert(CONTENT_TYPE, content_type.clone());
        }
        request
    }

    /// Returns the event with other values of some attributes.
    pub fn with(&self, attributes: [(&'static str, String); 3]) -> Self {
        let mut event = self.clone();
        for (name, value) in attributes {
            let name = HeaderName::from_static(name);
            let value = header_value(&value);
            event.attributes.retain(|(other, _)| *other != name);
            event.attributes.push((name, value));
        }
        event
    }

    /// Returns about the bytes that it takes in memory.
    pub fn size(&self) -> usize {
        let attributes = self.attributes.iter();
        let attributes = attributes.map(|(name, value)| name.as_str().len() + value.len() + 96);
        attributes.sum::<usize>() + self.data.len() + 256
    }

    /// Appends the event as the log has it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, bytes: &[u8]| {
            out.put_u16(bytes.len().try_into().expect("attributes are shorter"));
            out.put_slice(bytes);
        };
        out.put_u8(self.attributes.len().try_into().expect("there are fewer attributes"));
        for (name, value) in &self.attributes {
            put(out, name.as_str().as_bytes());
            put(out, value.as_bytes());
        }
        out.put_u8(self.content_type.is_some().into());
        if let Some(content_type) = &self.content_type {
            put(out, content_type.as_bytes());
        }
        out.put_slice(&self.data);
    }

    /// Reads what [`Event::encode`] wrote; `None` for anything else.
    pub fn decode(mut bytes: Bytes) -> Option<Self> {
        fn text(bytes: &mut Bytes) -> Option<Bytes> {
            let length = bytes.try_get_u16().ok()?.into();
            (length <= bytes.len()).then(|| bytes.split_to(length))
        }
        let count = bytes.try_get_u8().ok()?;
        let mut attributes = Vec::with_capacity(count.into());
        for _ in 0..count {
            let name = HeaderName::from_bytes(&text(&mut bytes)?).ok()?;
            attributes.push((name, HeaderValue::from_maybe_shared(text(&mut bytes)?).ok()?));
        }
        let content_type = match bytes.try_get_u8().ok()? {
            0 => None,
            _ => Some(HeaderValue::from_maybe_shared(text(&mut bytes)?).ok()?),
        };
        Some(Event { attributes, content_type, data: bytes })
    }
}

/// Returns the media type of a message in lower case, without parameters.
fn format_of(headers: &HeaderMap) -> Option<String> {
    Some(media_type(headers.get(CONTENT_TYPE)?.to_str().ok()?))
}

/// Returns a media type in lower case, without parameters.
fn media_type(value: &str) -> String {
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn binary(headers: &HeaderMap, data: Bytes) -> Result<Event, Refused> {
    let mut attributes: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(8);
    for (name, value) in headers {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        check_name(attribute)?;
        if value.to_str().is_err() {
            return Err(Refused::bad(format!("{name} has other than ASCII: percent-encode it")));
        }
        // Fields of the same name follow each other.
        if attributes.last().is_some_and(|(last, _)| last == name) {
            return Err(Refused::bad(format!("{name} occurs twice")));
        }
        attributes.push((name.clone(), value.clone()));
    }
    let content_type = headers.get(CONTENT_TYPE).cloned();
    checked(Event { attributes, content_type, data })
}

fn structured(body: &[u8]) -> Result<Event, Refused> {
    let wrong = |error| Refused::bad(format!("the event is not a JSON object: {error}"));
    let mut reader = serde_json::Deserializer::from_slice(body);
    let members = reader.deserialize_map(Members).map_err(wrong)?;
    reader.end().map_err(wrong)?;
    let mut attributes: Vec<(HeaderName, HeaderValue)> = Vec::with_capacity(members.len());
    let (mut content_type, mut data, mut binary) = (None, None, None);
    for (name, value) in members {
        match (&*name, value.get()) {
            (_, "null") => {}
            ("data", _) => set(&mut data, value, &name)?,
            ("data_base64", _) => set(&mut binary, value, &name)?,
            ("datacontenttype", json) => set(&mut content_type, plain(&name, json)?, &name)?,
            (_, json) => {
                check_name(&name)?;
                let field = HeaderName::try_from(format!("{PREFIX}{name}"));
                let field = field.expect("the name has letters and digits only");
                let value = header_value(&plain(&name, json)?);
                if attributes.iter().any(|(other, _)| *other == field) {
                    return Err(twice(&name));
                }
                attributes.push((field, value));
            }
        }
    }
    // In binary mode it would be the mark of a structured event.
    if content_type.as_deref().is_some_and(|text| media_type(text).starts_with(ANY_FORMAT)) {
        return Err(Refused::bad("datacontenttype says that the data is an event, not its data"));
    }
    let is_json = content_type.as_deref().is_none_or(is_json);
    let data = match (data, binary) {
        (None, None) => Bytes::new(),
        (Some(_), Some(_)) => return Err(Refused::bad("data and data_base64 exclude each other")),
        (None, Some(text)) => {
            let wrong = || Refused::bad("data_base64 is not base64");
            let text: Cow<'_, str> = serde_json::from_str(text.get()).map_err(|_| wrong())?;
            BASE64_STANDARD.decode(&*text).map_err(|_| wrong())?.into()
        }
        (Some(json), None) if is_json => {
            content_type.get_or_insert_with(|| "application/json".to_owned());
            Bytes::copy_from_slice(json.get().as_bytes())
        }
        (Some(json), None) => match serde_json::from_str::<String>(json.get()) {
            Ok(text) => text.into(),
            Err(_) => return Err(Refused::bad("data that is not JSON must be a string")),
        },
    };
    let content_type = content_type.map(|text| {
        HeaderValue::try_from(text).map_err(|_| Refused::bad("datacontenttype is not a media type"))
    });
    checked(Event { attributes, content_type: content_type.transpose()?, data })
}

/// Returns an event whose attributes are complete and within bounds.
fn checked(event: Event) -> Result<Event, Refused> {
    let value = |name: &str| {
        let found = event.attributes.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_bytes()).filter(|value| !value.is_empty())
    };
    for name in REQUIRED {
        if value(name).is_none() {
            return Err(Refused::bad(format!("{name} is missing: a CloudEvent needs it")));
        }
    }
    if !VERSIONS.iter().any(|version| value("ce-specversion") == Some(version.as_bytes())) {
        return Err(Refused::bad("this version of CloudEvents is unknown; send 1.0"));
    }
    let lengths = event.attributes.iter().map(|(name, value)| name.as_str().len() + value.len());
    let content_type = event.content_type.as_ref().map_or(0, HeaderValue::len);
    let length = lengths.sum::<usize>() + content_type;
    if MOST_ATTRIBUTES < event.attributes.len() || MOST_ATTRIBUTE_BYTES < length {
        return Err(Refused::bad("there are too many attributes: at most 64, and 60 KiB"));
    }
    Ok(event)
}

/// Attributes have lower-case letters and digits; those of header fields are lower case already.
fn check_name(name: &str) -> Result<(), Refused> {
    let is_good = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name == "datacontenttype" {
        return Err(Refused::bad("datacontenttype is the field Content-Type in binary mode"));
    }
    if name.is_empty() || 64 < name.len() || !name.bytes().all(is_good) {
        return Err(Refused::bad("an attribute's name has 1 to 64 letters a-z and digits"));
    }
    Ok(())
}

fn set<T>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Refused> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice(name)),
    }
}

fn twice(name: &str) -> Refused {
    Refused::bad(format!("{name} occurs twice"))
}

/// Returns the value of an attribute: a string, an integer or a boolean.
fn plain(name: &str, json: &str) -> Result<String, Refused> {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::String(text)) => Ok(text),
        Ok(serde_json::Value::Bool(_)) => Ok(json.to_owned()),
        Ok(serde_json::Value::Number(number)) if number.is_i64() => Ok(json.to_owned()),
        _ => Err(Refused::bad(format!("{name} is not a string, an integer or a boolean"))),
    }
}

fn is_json(value: &str) -> bool {
    let media_type = media_type(value);
    media_type.ends_with("/json") || media_type.ends_with("+json")
}

/// Returns the text as the value of a header field (section 3.1.3.2 of the HTTP binding): spaces,
/// quotes, percent signs and all that is not printable ASCII are percent-encoded.
fn header_value(text: &str) -> HeaderValue {
    let mut value = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' | b'%' => write!(value, "%{byte:02X}").expect("a string takes any text"),
            0x21..=0x7e => value.push(byte.into()),
            _ => write!(value, "%{byte:02X}").expect("a string takes any text"),
        }
    }
    HeaderValue::try_from(value).expect("it is printable ASCII")
}

/// The members of a JSON object in their order, so that a repeated one is seen.
struct Members;

impl<'a> Visitor<'a> for Members {
    type Value = Vec<(String, &'a RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            if members.len() == 2 * MOST_ATTRIBUTES {
                return Err(serde::de::Error::custom("it has too many members"));
            }
            members.push(member);
        }
        Ok(members)
    }
}

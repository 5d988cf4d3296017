//! A CloudEvent and its forms: in HTTP its attributes are header fields (binary mode) or members of
//! a JSON document (structured mode). It is checked once, when it arrives, and kept as the lines of a
//! head and the data: so binary events pass through unchanged, and a delivery only copies bytes.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::Write as _;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::{Buf, BufMut, Bytes};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use serde::Deserializer;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;

#[cfg(test)]
mod tests;

const PREFIX: &str = "ce-";

/// Attributes without which nothing is an event.
const REQUIRED: [&str; 4] = ["ce-specversion", "ce-id", "ce-source", "ce-type"];

/// The versions whose required attributes have these names.
const VERSIONS: [&str; 3] = ["1.0", "0.3", "0.2"];

/// The most attributes of an event.
const MOST_ATTRIBUTES: usize = 64;

/// The most bytes of all lines with attributes: a subscriber gets them in the head of a request.
const MOST_FIELD_BYTES: usize = 60 << 10;

/// The bytes that are enough for the lines of most events.
const USUAL_FIELD_BYTES: usize = 256;

const STRUCTURED: &str = "application/cloudevents+json";
const ANY_FORMAT: &str = "application/cloudevents";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The attributes and the type of the data as the lines of a head, each with its end.
    fields: Bytes,
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
    format_of(headers).is_some_and(is_any_format)
        || REQUIRED.iter().any(|name| headers.contains_key(*name))
}

impl Event {
    /// Reads an event from the head and the body of a request or a response.
    pub fn read(headers: &HeaderMap, body: Bytes) -> Result<Self, Refused> {
        match format_of(headers) {
            Some(format) if format.eq_ignore_ascii_case(STRUCTURED) => structured(&body),
            Some(format) if is_any_format(format) => Err(Refused {
                status: StatusCode::UNSUPPORTED_MEDIA_TYPE,
                why: "send one event, in binary mode or as application/cloudevents+json".into(),
            }),
            _ => binary(headers, &body),
        }
    }

    /// Appends the request that brings the event to a URL, in binary mode. `head` is the request's
    /// line and the fields that are not of the event.
    pub fn write_request(&self, head: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(head);
        out.extend_from_slice(&self.fields);
        write!(out, "Content-Length: {}\r\n\r\n", self.data.len()).expect("a vector takes all");
        out.extend_from_slice(&self.data);
    }

    /// Returns the event with other values of some attributes, which are named as in a head.
    pub fn with(&self, attributes: [(&str, String); 3]) -> Self {
        let is_of = |line: &[u8], name: &str| {
            line.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b":"))
        };
        let is_kept = |line: &&[u8]| !attributes.iter().any(|(name, _)| is_of(line, name));
        let lines = self.fields.split_inclusive(|byte| *byte == b'\n');
        let mut fields = lines.filter(is_kept).collect::<Vec<_>>().concat();
        for (name, value) in &attributes {
            let value = field_value(value);
            write!(fields, "{name}: {value}\r\n").expect("a vector takes all");
        }
        Event { fields: fields.into(), data: self.data.clone() }
    }

    /// Returns about the bytes that it takes in memory.
    pub fn size(&self) -> usize {
        self.fields.len() + self.data.len() + 256
    }

    /// Appends the event as the log has it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_u32(self.fields.len().try_into().expect("fields have a bound"));
        out.put_slice(&self.fields);
        out.put_slice(&self.data);
    }

    /// Reads what [`Event::encode`] wrote; `None` for anything else.
    pub fn decode(mut bytes: Bytes) -> Option<Self> {
        let length = bytes.try_get_u32().ok()? as usize;
        let fields = (length <= bytes.len()).then(|| bytes.split_to(length))?;
        Some(Event { fields, data: bytes })
    }
}

/// Returns the media type of a message without its parameters.
fn format_of(headers: &HeaderMap) -> Option<&str> {
    Some(media_type(headers.get(CONTENT_TYPE)?.to_str().ok()?))
}

/// Returns a media type without its parameters.
fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

fn is_any_format(media_type: &str) -> bool {
    let begin = media_type.get(..ANY_FORMAT.len());
    begin.is_some_and(|begin| begin.eq_ignore_ascii_case(ANY_FORMAT))
}

fn binary(headers: &HeaderMap, data: &[u8]) -> Result<Event, Refused> {
    let mut fields = Fields::new();
    let mut last = None;
    for (name, value) in headers {
        let Some(attribute) = name.as_str().strip_prefix(PREFIX) else { continue };
        let Ok(value) = value.to_str() else {
            return Err(Refused::bad(format!("{name} has other than ASCII: percent-encode it")));
        };
        // Fields of the same name follow each other.
        if last.replace(name) == Some(name) {
            return Err(twice(name.as_str()));
        }
        fields.add(attribute, value)?;
    }
    // The buffer in which the data arrived may be twice as large, and an event may stay for long.
    fields.checked(headers.get(CONTENT_TYPE), Bytes::copy_from_slice(data))
}

fn structured(body: &[u8]) -> Result<Event, Refused> {
    let wrong = |error| Refused::bad(format!("the event is not a JSON object: {error}"));
    let mut reader = serde_json::Deserializer::from_slice(body);
    let members = reader.deserialize_map(Members).map_err(wrong)?;
    reader.end().map_err(wrong)?;
    let (mut fields, mut names) = (Fields::new(), Vec::new());
    let (mut content_type, mut data, mut binary) = (None, None, None);
    for (name, value) in members {
        match (&*name, value.get()) {
            (_, "null") => {}
            ("data", _) => set(&mut data, value, &name)?,
            ("data_base64", _) => set(&mut binary, value, &name)?,
            ("datacontenttype", json) => set(&mut content_type, plain(&name, json)?, &name)?,
            (_, json) => {
                fields.add(&name, &field_value(&plain(&name, json)?))?;
                if names.contains(&name) {
                    return Err(twice(&name));
                }
                names.push(name);
            }
        }
    }
    // In binary mode it would be the mark of a structured event.
    if content_type.as_deref().is_some_and(|text| is_any_format(media_type(text))) {
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
    let wrong = |_| Refused::bad("datacontenttype is not a media type");
    let content_type = content_type.map(HeaderValue::try_from).transpose().map_err(wrong)?;
    fields.checked(content_type.as_ref(), data)
}

/// The lines of a head while they are collected.
struct Fields {
    lines: Vec<u8>,
    attributes: usize,
    /// Those of [`REQUIRED`] that have a value.
    are_there: [bool; REQUIRED.len()],
    is_known_version: bool,
}

impl Fields {
    fn new() -> Self {
        Fields {
            lines: Vec::with_capacity(USUAL_FIELD_BYTES),
            attributes: 0,
            are_there: [false; REQUIRED.len()],
            is_known_version: false,
        }
    }

    /// Adds an attribute, whose value is printable ASCII, as `Ce-Name: value`.
    fn add(&mut self, attribute: &str, value: &str) -> Result<(), Refused> {
        check_name(attribute)?;
        let is_same = |required: &&str| required.strip_prefix(PREFIX) == Some(attribute);
        if let Some(place) = REQUIRED.iter().position(is_same) {
            self.are_there[place] = !value.is_empty();
            self.is_known_version |= place == 0 && VERSIONS.contains(&value);
        }
        self.attributes += 1;
        let begin = self.lines.len() + PREFIX.len();
        for part in ["Ce-", attribute, ": ", value, "\r\n"] {
            self.lines.extend_from_slice(part.as_bytes());
        }
        self.lines[begin].make_ascii_uppercase();
        self.check_bounds()
    }

    fn check_bounds(&self) -> Result<(), Refused> {
        match MOST_ATTRIBUTES < self.attributes || MOST_FIELD_BYTES < self.lines.len() {
            true => Err(Refused::bad("there are too many attributes: at most 64, and 60 KiB")),
            false => Ok(()),
        }
    }

    /// Returns an event whose attributes are complete.
    fn checked(mut self, content: Option<&HeaderValue>, data: Bytes) -> Result<Event, Refused> {
        if let Some(place) = self.are_there.iter().position(|is_there| !is_there) {
            let name = REQUIRED[place];
            return Err(Refused::bad(format!("{name} is missing: a CloudEvent needs it")));
        }
        if !self.is_known_version {
            return Err(Refused::bad("this version of CloudEvents is unknown; send 1.0"));
        }
        if let Some(content_type) = content {
            for part in [&b"Content-Type: "[..], content_type.as_bytes(), b"\r\n"] {
                self.lines.extend_from_slice(part);
            }
        }
        self.check_bounds()?;
        Ok(Event { fields: self.lines.into(), data })
    }
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
    let media_type = media_type(value).to_ascii_lowercase();
    media_type.ends_with("/json") || media_type.ends_with("+json")
}

/// Returns the text as the value of a header field (section 3.1.3.2 of the HTTP binding): spaces,
/// quotes, percent signs and all that is not printable ASCII are percent-encoded.
fn field_value(text: &str) -> String {
    let mut value = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'"' | b'%' => write!(value, "%{byte:02X}").expect("a string takes any text"),
            0x21..=0x7e => value.push(byte.into()),
            _ => write!(value, "%{byte:02X}").expect("a string takes any text"),
        }
    }
    value
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

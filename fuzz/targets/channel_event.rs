//! Arbitrary messages as events of the channel: a refused one has a reason, and an accepted one is the
//! same in the log and as the request to a subscriber. The first byte selects the form, the fields of
//! the head are lines, and the body follows an empty line.
#![no_main]

use apps::channel::event::{self, Event};
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [form, rest @ ..] = data else { return };
    let (head, body) = split(rest);
    let mut headers = HeaderMap::new();
    if form % 2 == 1 {
        let structured = HeaderValue::from_static("application/cloudevents+json");
        headers.insert("content-type", structured);
    }
    head.split(|byte| *byte == b'\n').for_each(|line| add(&mut headers, line));
    let _ = event::is_claimed(&headers);
    match Event::read(&headers, Bytes::copy_from_slice(body)) {
        Ok(event) => check(&event),
        Err(refused) => assert!(refused.status.is_client_error() && !refused.why.is_empty()),
    }
    // What is in the log may be damaged, too.
    if let Some(event) = Event::decode(Bytes::copy_from_slice(rest)) {
        assert_eq!(logged(&event).as_ref(), Some(&event));
    }
});

/// Adds the field of a line, if it is one.
fn add(headers: &mut HeaderMap, line: &[u8]) {
    let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    let (name, value) = line.split_at(colon);
    let name = HeaderName::from_bytes(name).ok();
    // As every reader of HTTP does.
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    if let Some((name, value)) = name.zip(HeaderValue::from_bytes(value).ok()) {
        headers.append(name, value);
    }
}

fn check(event: &Event) {
    assert_eq!(logged(event).as_ref(), Some(event));
    assert!(0 < event.size());
    let mut request = Vec::new();
    event.write_request(b"POST / HTTP/1.1\r\n", &mut request);
    assert_eq!(requested(&request).as_ref(), Some(event));
}

/// Reads the event of a request.
fn requested(request: &[u8]) -> Option<Event> {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, body) = (&request[..end], &request[end + 4..]);
    let mut headers = HeaderMap::new();
    head.split(|byte| *byte == b'\n').skip(1).for_each(|line| add(&mut headers, line));
    let length = headers.get("content-length")?.to_str().ok()?;
    assert_eq!(length.parse(), Ok(body.len()));
    Event::read(&headers, Bytes::copy_from_slice(body)).ok()
}

fn logged(event: &Event) -> Option<Event> {
    let mut bytes = Vec::new();
    event.encode(&mut bytes);
    Event::decode(bytes.into())
}

/// Splits at the first empty line.
fn split(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.windows(2).position(|two| two == b"\n\n");
    at.map_or((bytes, &[]), |at| (&bytes[..at], &bytes[at + 2..]))
}

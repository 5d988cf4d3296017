//! Arbitrary messages as events of the channel: a refused one has a reason, and an accepted one is the
//! same in the log and as the request to a subscriber. The first byte selects the form, the fields of
//! the head are lines, and the body follows an empty line.
#![no_main]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use apps::channel::event::{self, Event};
use apps::channel::target::Target;
use bytes::Bytes;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http_body_util::{BodyExt, Full};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [form, rest @ ..] = data else { return };
    let (head, body) = split(rest);
    let mut headers = HeaderMap::new();
    if form % 2 == 1 {
        let structured = HeaderValue::from_static("application/cloudevents+json");
        headers.insert("content-type", structured);
    }
    for line in head.split(|byte| *byte == b'\n') {
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
        let (name, value) = line.split_at(colon);
        let name = HeaderName::from_bytes(name).ok();
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default()).ok();
        if let Some((name, value)) = name.zip(value) {
            headers.append(name, value);
        }
    }
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

fn check(event: &Event) {
    assert_eq!(logged(event).as_ref(), Some(event));
    assert!(0 < event.size());
    let target = Target::new(&"http://127.0.0.1:81/in".parse().expect("it is a URL"));
    let (head, body) = event.request(&target).into_parts();
    assert_eq!(Event::read(&head.headers, whole(body)).as_ref(), Ok(event));
}

/// Returns the bytes of a body that is all there.
fn whole(body: Full<Bytes>) -> Bytes {
    let collected = pin!(body.collect()).poll(&mut Context::from_waker(Waker::noop()));
    let Poll::Ready(collected) = collected else { panic!("it is all there") };
    collected.expect("a body in memory has no errors").to_bytes()
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

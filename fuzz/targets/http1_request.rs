//! Arbitrary requests: no panic, and the same events however they are sliced. The first byte selects
//! the length of the slices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::http1::{After, Malformed, RequestDecoder, RequestEvent};

fuzz_target!(|data: &[u8]| {
    let [size, bytes @ ..] = data else { return };
    let whole = decode(bytes.chunks(usize::MAX));
    let sliced = decode(bytes.chunks(1 + usize::from(*size)));
    assert_eq!(whole, sliced);
});

/// Method, target, body and end.
type Message = (String, String, Vec<u8>, Option<After>);

fn decode<'a>(slices: impl Iterator<Item = &'a [u8]>) -> (Vec<Message>, Option<Malformed>) {
    let mut decoder = RequestDecoder::default();
    let mut messages: Vec<Message> = Vec::new();
    for mut slice in slices {
        loop {
            match decoder.next(&mut slice) {
                Ok(None) => break,
                Ok(Some(RequestEvent::Head(head))) => {
                    let (method, target) = (head.method.to_owned(), head.target.to_owned());
                    messages.push((method, target, Vec::new(), None));
                }
                Ok(Some(RequestEvent::Body(piece))) => last(&mut messages).2.extend(piece),
                Ok(Some(RequestEvent::End(after))) => last(&mut messages).3 = Some(after),
                Err(malformed) => return (messages, Some(malformed)),
            }
        }
        assert!(slice.is_empty(), "all bytes are consumed");
    }
    (messages, None)
}

fn last(messages: &mut [Message]) -> &mut Message {
    messages.last_mut().expect("a body has a head")
}

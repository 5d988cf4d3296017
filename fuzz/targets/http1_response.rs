//! Arbitrary responses: no panic, and the same events however they are sliced. The first byte selects
//! the kind of request, the second the length of the slices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::http1::{After, Ended, Expect, Malformed, Response, ResponseDecoder, ResponseEvent};

fuzz_target!(|data: &[u8]| {
    let [kind, size, bytes @ ..] = data else { return };
    let expect = if kind % 2 == 0 { Expect::Body } else { Expect::NoBody };
    let whole = decode(bytes.chunks(usize::MAX), expect);
    let sliced = decode(bytes.chunks(1 + usize::from(*size)), expect);
    assert_eq!(whole, sliced);
});

#[derive(Debug, PartialEq)]
struct Message {
    head: Response,
    fields: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    end: Option<After>,
}

fn decode<'a>(
    slices: impl Iterator<Item = &'a [u8]>,
    expect: Expect,
) -> (Vec<Message>, Result<Ended, Malformed>) {
    let mut decoder = ResponseDecoder::default();
    let mut messages: Vec<Message> = Vec::new();
    for mut slice in slices {
        loop {
            match decoder.next(&mut slice, expect) {
                Ok(None) => break,
                Ok(Some(ResponseEvent::Head(head, block))) => {
                    let fields = wire::http1::fields(block);
                    let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
                    let fields = fields.collect();
                    messages.push(Message { head, fields, body: Vec::new(), end: None });
                }
                Ok(Some(ResponseEvent::Body(piece))) => {
                    assert!(!piece.is_empty());
                    last(&mut messages).body.extend_from_slice(piece);
                }
                Ok(Some(ResponseEvent::End(after))) => last(&mut messages).end = Some(after),
                Err(malformed) => return (messages, Err(malformed)),
            }
        }
        assert!(slice.is_empty(), "all bytes are consumed");
    }
    (messages, Ok(decoder.close()))
}

fn last(messages: &mut [Message]) -> &mut Message {
    messages.last_mut().expect("a body has a head")
}

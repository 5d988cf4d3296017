//! Arbitrary replies of a RESP store: no panic, no growth, and the same replies however they are sliced.
//! The first byte is the length of the slices.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::resp::{Decoder, Malformed};

fuzz_target!(|data: &[u8]| {
    let [size, bytes @ ..] = data else { return };
    let whole = decode(bytes.chunks(usize::MAX));
    let sliced = decode(bytes.chunks(1 + usize::from(*size)));
    assert_eq!(whole, sliced);
});

fn decode<'a>(slices: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Option<Malformed>) {
    let (mut decoder, mut replies, mut length) = (Decoder::default(), Vec::new(), 0);
    for mut slice in slices {
        length += slice.len();
        loop {
            match decoder.next(&mut slice) {
                Ok(None) => break,
                // With all that is in it.
                Ok(Some(value)) => replies.push(format!("{value:?} {:?}", value.error())),
                Err(malformed) => return (replies, Some(malformed)),
            }
        }
        assert!(slice.is_empty(), "all bytes are consumed");
        assert!(decoder.held() <= 2 * length.max(32), "what is kept has arrived");
    }
    (replies, None)
}

//! Arbitrary frames of the key-value store: no panic, no growth, and the same frames however they are sliced.
//! The first byte selects the length of the slices and whether the checksums are made right, so that what lies
//! behind them is reached.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::kv::{Checksums, Decoder, HEADER_BYTES, Kind, Malformed, reseal};

fuzz_target!(|data: &[u8]| {
    let [size, bytes @ ..] = data else { return };
    let mut bytes = bytes.to_vec();
    if size % 2 == 0 {
        seal(&mut bytes);
    }
    let whole = decode(bytes.chunks(usize::MAX));
    let sliced = decode(bytes.chunks(1 + usize::from(*size)));
    assert_eq!(whole, sliced);
});

/// Gives every frame the checksum of its bytes, as far as there are whole frames.
fn seal(bytes: &mut [u8]) {
    let mut rest = bytes;
    while HEADER_BYTES <= rest.len() && Kind::of(rest[3]).is_some() {
        let length = u32::from_le_bytes([rest[4], rest[5], rest[6], rest[7]]) as usize;
        if !(HEADER_BYTES..=rest.len()).contains(&length) {
            return;
        }
        let (frame, after) = rest.split_at_mut(length);
        reseal(frame, Checksums::On);
        rest = after;
    }
}

fn decode<'a>(slices: impl Iterator<Item = &'a [u8]>) -> (Vec<String>, Option<Malformed>) {
    let (mut decoder, mut frames, mut length) = (Decoder::default(), Vec::new(), 0);
    for mut slice in slices {
        length += slice.len();
        loop {
            match decoder.next(&mut slice) {
                Ok(None) => break,
                Ok(Some(frame)) => frames.push(format!("{frame:?}")),
                Err(malformed) => return (frames, Some(malformed)),
            }
        }
        assert!(slice.is_empty(), "all bytes are consumed");
        assert!(decoder.held() <= 2 * length.max(32), "what is kept has arrived");
    }
    (frames, None)
}

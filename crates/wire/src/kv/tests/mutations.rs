//! Any slicing gives the same frames, and mutated bytes give an error, never a panic or growth.

use super::*;

const MUTATIONS: u64 = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };

/// A small generator of random numbers (xorshift), so that this crate needs no other for its tests.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

type Told = (Vec<String>, Option<Malformed>);

/// Decodes slices of these lengths in turn.
fn decode(bytes: &[u8], lengths: &mut dyn FnMut() -> usize) -> Told {
    let (mut decoder, mut frames) = (Decoder::default(), Vec::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (mut slice, after) = rest.split_at(lengths().clamp(1, rest.len()));
        rest = after;
        loop {
            match decoder.next(&mut slice) {
                Ok(Some(frame)) => frames.push(format!("{frame:?}")),
                Ok(None) => break,
                Err(malformed) => return (frames, Some(malformed)),
            }
        }
        assert!(slice.is_empty(), "all bytes are taken");
        assert!(decoder.held() <= 2 * bytes.len().max(32), "{}", decoder.held());
    }
    (frames, None)
}

#[test]
fn any_slicing_gives_the_same_frames() {
    let bytes = every_kind().concat();
    let whole = decode(&bytes, &mut || usize::MAX);
    assert_eq!((whole.0.len(), whole.1), (Kind::ALL.len(), None));
    for length in 1..200 {
        assert_eq!(decode(&bytes, &mut || length), whole);
    }
    let mut random = Random(1);
    for _ in 0..200 {
        assert_eq!(decode(&bytes, &mut || random.below(70)), whole);
    }
}

#[test]
fn mutated_frames_are_refused_or_read_alike_however_they_are_sliced() {
    let mut random = Random(2);
    let frames = every_kind();
    for _ in 0..MUTATIONS {
        let mut bytes = frames[random.below(frames.len())].clone();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            bytes[at] = [0, 1, 2, 8, 64, 127, 255, random.below(256) as u8][random.below(8)];
        }
        // With the checksum of what they are now, so that what lies behind it is reached.
        if random.below(8) != 0 {
            reseal(&mut bytes);
        }
        bytes.extend_from_slice(&frames[random.below(frames.len())]);
        let whole = decode(&bytes, &mut || usize::MAX);
        assert_eq!(decode(&bytes, &mut || 1 + random.below(90)), whole);
    }
}

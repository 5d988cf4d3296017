//! Mutated messages: never a panic, never growth, and the same events with any slicing.

use super::*;

const RESPONSES: [&[u8]; 6] = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 404 Not\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n",
    b"HTTP/1.0 200\nConnection: keep-alive\n\nbody",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\nContent-Length: 2, 2\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nabc",
    b"HTTP/1.1 304 Not Modified\r\nConnection: foo, CLOSE\r\nContent-Length: 5\r\n\r\n",
];

const REQUESTS: [&[u8]; 5] = [
    b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nbodyGET /b HTTP/1.0\n\n",
    b"PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    b"HEAD http://host:80/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
];

const TOKENS: [&[u8]; 14] = [
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"0",
    b":",
    b";",
    b",",
    b" ",
    b"ffffffff",
    b"\r\nContent-Length: 0",
    b"\r\nTransfer-Encoding: chunked",
    b"\r\nConnection: close",
    b"HTTP/1.1 ",
];

/// The number of mutations for each of the two decoders: 10⁷ in all in an optimised build.
const MUTATIONS: u64 = if cfg!(debug_assertions) { 50_000 } else { 5_000_000 };
/// One of this many mutations is decoded a second time, in slices.
const SLICED: u64 = 16;

/// A Weyl sequence, mixed as SplitMix64 does.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as usize % bound
    }
}

/// Applies some random mutations to `bytes`.
pub(super) fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        match random.below(8) {
            0 => bytes[at] = random.below(256) as u8,
            1 => bytes[at] ^= 1 << random.below(8),
            2 => drop(bytes.remove(at)),
            3 => bytes.truncate(at),
            4 => {
                let piece = bytes[at..].to_vec();
                bytes.extend_from_slice(&piece);
            }
            _ => {
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
        }
    }
}

/// The most bytes that may be kept: the longest header block, three bytes of its end in the next
/// slice, and the spare capacity of a vector.
const MOST_HELD: usize = 2 * (MOST_HEAD_BYTES + 4);

/// Sends mutation after mutation on one connection, as long as it lasts: this shows whether a
/// decoder grows over time.
fn storm(seeds: &[&[u8]], mut decode: impl FnMut(&[u8]) -> usize, check: impl Fn(&[u8], usize)) {
    let mut random = Random(7);
    let mut bytes = Vec::new();
    let mut most_held = 0;
    for number in 0..MUTATIONS {
        bytes.clear();
        bytes.extend_from_slice(seeds[random.below(seeds.len())]);
        mutate(&mut bytes, &mut random);
        let held = decode(&bytes);
        assert!(held <= MOST_HELD, "{held} bytes are kept");
        most_held = most_held.max(held);
        if number % SLICED == 0 {
            check(&bytes, random.below(bytes.len() + 1));
        }
    }
    assert!(0 < most_held, "some heads arrive in parts");
}

#[test]
fn ten_million_mutations_neither_panic_nor_grow_nor_depend_on_slicing() {
    let mut decoder = ResponseDecoder::default();
    let whole = |mut bytes: &[u8]| {
        let expect = if bytes.len().is_multiple_of(8) { Expect::NoBody } else { Expect::Body };
        loop {
            match decoder.next(&mut bytes, expect) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    let held = decoder.held();
                    decoder = ResponseDecoder::default();
                    return held;
                }
            }
        }
        assert!(bytes.is_empty(), "all bytes are taken");
        decoder.held()
    };
    storm(&RESPONSES, whole, |bytes, cut| {
        let (a, b) = bytes.split_at(cut);
        let expected = decode(&[bytes], Expect::Body);
        assert_eq!(decode(&[a, b], Expect::Body), expected, "{}", bytes.escape_ascii());
    });

    let mut decoder = RequestDecoder::default();
    let whole = |mut bytes: &[u8]| {
        loop {
            match decoder.next(&mut bytes) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    let held = decoder.held();
                    decoder = RequestDecoder::default();
                    return held;
                }
            }
        }
        assert!(bytes.is_empty(), "all bytes are taken");
        decoder.held()
    };
    storm(&REQUESTS, whole, |bytes, cut| {
        let (a, b) = bytes.split_at(cut);
        assert_eq!(requests(&[a, b]), requests(&[bytes]), "{}", bytes.escape_ascii());
    });
}

/// Sends an endless head, trailer, chunk extension or row of interim answers, in slices of any
/// length: it is refused at its bound, or none of it is kept.
#[test]
fn what_never_ends_is_never_kept() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (begin, again, error) in [
        ("HTTP/1.1 200 OK\r\n", "A: b\r\n", Some(Malformed::HeadTooLong)),
        ("HTTP/1.1 200 OK\r\nA: ", "xxxxx", Some(Malformed::HeadTooLong)),
        ("HTTP/1.1 200 ", "xxxxx", Some(Malformed::HeadTooLong)),
        (&format!("{chunked}0\r\n"), "A: b\r\n", Some(Malformed::TrailersTooLong)),
        (&format!("{chunked}1;"), "a=b;", Some(Malformed::Chunk)),
        (&format!("{chunked}0"), "0", Some(Malformed::Chunk)),
        ("", "HTTP/1.1 100 Continue\r\n\r\n", Some(Malformed::Interim)),
        (chunked, "1\r\nx\r\n", None),
        ("HTTP/1.1 200 OK\r\n\r\n", "all of it", None),
    ] {
        for size in [1, 7, 1_000, 1_000_000] {
            let mut decoder = ResponseDecoder::default();
            let bytes = [begin.as_bytes(), &again.as_bytes().repeat(1_000_000 / again.len())];
            let bytes = bytes.concat();
            let (first, rest) = bytes.split_at(20);
            let mut found = None;
            'all: for mut slice in std::iter::once(first).chain(rest.chunks(size)) {
                loop {
                    match decoder.next(&mut slice, Expect::Body) {
                        Ok(Some(_)) => {}
                        Ok(None) => break,
                        Err(malformed) => {
                            found = Some(malformed);
                            assert!(decoder.held() <= MOST_HELD, "{} bytes", decoder.held());
                            break 'all;
                        }
                    }
                }
                assert!(decoder.held() <= MOST_HELD, "{} bytes are kept", decoder.held());
            }
            assert_eq!(found, error, "{begin:?} and {again:?} in slices of {size}");
        }
    }
}

//! Commands as Redis reads them; replies from any slicing; mutated bytes give an error, never a panic or growth.

use super::*;

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

/// Writes a value with all that is in it, so that its reader is tested too.
fn told(value: Value<'_>) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match value {
        Value::Status(line) => format!("+{}", text(line)),
        Value::Error(line) => format!("-{}", text(line)),
        Value::Integer(number) => number.to_string(),
        Value::String(bytes) => format!("{:?}", text(bytes)),
        Value::Null => "null".to_owned(),
        Value::Array(elements) => {
            format!("[{}]", elements.map(told).collect::<Vec<_>>().join(" "))
        }
    }
}

/// Decodes slices of these lengths in turn.
fn decode(bytes: &[u8], lengths: &mut dyn FnMut() -> usize) -> Told {
    let (mut decoder, mut replies) = (Decoder::default(), Vec::new());
    let mut rest = bytes;
    while !rest.is_empty() {
        let (mut slice, after) = rest.split_at(lengths().clamp(1, rest.len()));
        rest = after;
        loop {
            match decoder.next(&mut slice) {
                Ok(Some(value)) => replies.push(told(value)),
                Ok(None) => break,
                Err(malformed) => return (replies, Some(malformed)),
            }
        }
        assert!(slice.is_empty(), "all bytes are taken");
        assert!(decoder.held() <= 2 * bytes.len().max(32), "{}", decoder.held());
    }
    (replies, None)
}

fn whole(bytes: &[u8]) -> Told {
    decode(bytes, &mut || usize::MAX)
}

const REPLIES: &[u8] =
    b"+OK\r\n-ERR no such\r\n:-42\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n*0\r\n\
    *2\r\n$1\r\na\r\n*3\r\n:1\r\n*1\r\n+x\r\n$-1\r\n+\r\n*2\r\n*0\r\n*0\r\n:7\r\n";

#[test]
fn a_command_is_an_array_of_strings() {
    let mut out = b"before ".to_vec();
    let mut commands = Commands::new(&mut out);
    commands.begin(b"SET", 3);
    commands.word(b"key");
    commands.word(b"a\r\nb");
    commands.begin(b"PING", 1);
    assert_eq!(commands.count(), 2);
    assert_eq!(out, b"before *3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$4\r\na\r\nb\r\n*1\r\n$4\r\nPING\r\n");
    for number in [0, 9, 10, u64::MAX] {
        assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
    }
}

#[test]
fn any_slicing_gives_the_same_replies() {
    let (replies, malformed) = whole(REPLIES);
    assert_eq!(malformed, None);
    let expected = [
        "+OK",
        "-ERR no such",
        "-42",
        "\"a\\r\\nbc\"",
        "\"\"",
        "null",
        "null",
        "[]",
        "[\"a\" [1 [+x] null]]",
        "+",
        "[[] []]",
        "7",
    ];
    assert_eq!(replies, expected);
    for length in 1..REPLIES.len() {
        assert_eq!(decode(REPLIES, &mut || length).0, expected);
    }
    let mut random = Random(1);
    for _ in 0..200 {
        assert_eq!(decode(REPLIES, &mut || random.below(20)).0, expected);
    }
}

#[test]
fn bytes_that_are_not_a_reply_are_refused_and_say_why() {
    let line = [b"+", &[b'x'; MOST_LINE_BYTES + 1][..], b"\r\n"].concat();
    for (bytes, why) in [
        (&b"hello\r\n"[..], Malformed::Type),
        (b"+a\rb\r\n", Malformed::Line),
        (b"+a\n", Malformed::Line),
        (&line, Malformed::Line),
        (b":\r\n", Malformed::Number),
        (b":+1\r\n", Malformed::Number),
        (b":9223372036854775808\r\n", Malformed::Number),
        (b"$-2\r\n", Malformed::Length),
        (b"$67108865\r\n", Malformed::Length),
        (b"*1048577\r\n", Malformed::Length),
        (b"$1\r\nab\r\n", Malformed::End),
        (b"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", Malformed::Depth),
    ] {
        assert_eq!(whole(bytes), (vec![], Some(why)), "{:?}", &bytes[..bytes.len().min(20)]);
        assert_eq!(decode(bytes, &mut || 1), (vec![], Some(why)));
    }
    // What came before is not lost, and nothing follows.
    assert_eq!(whole(b"+OK\r\n?\r\n+OK\r\n"), (vec!["+OK".to_owned()], Some(Malformed::Type)));
}

#[test]
fn the_longest_line_and_the_deepest_array_are_read() {
    let line = [b"+", &[b'x'; MOST_LINE_BYTES][..], b"\r\n"].concat();
    assert_eq!(whole(&line).1, None);
    let deep = [b"*1\r\n".repeat(MOST_DEPTH), b":5\r\n".to_vec()].concat();
    assert_eq!(whole(&deep), (vec!["[[[[[[[[5]]]]]]]]".to_owned()], None));
}

#[test]
fn mutated_replies_are_refused_or_read_alike_however_they_are_sliced() {
    const MUTATIONS: u64 = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };
    let mut random = Random(2);
    for _ in 0..MUTATIONS {
        let mut bytes = REPLIES.to_vec();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            match random.below(3) {
                0 => bytes[at] = b"+-:$*\r\n0129"[random.below(11)],
                1 if 1 < bytes.len() => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let (replies, malformed) = whole(&bytes);
        let length = 1 + random.below(9);
        assert_eq!(decode(&bytes, &mut || length), (replies, malformed));
    }
}

#[test]
fn an_error_is_found_in_the_reply_or_one_level_inside() {
    let mut decoder = Decoder::default();
    let mut error = |mut bytes: &[u8]| {
        let value = decoder.next(&mut bytes).unwrap().unwrap();
        value.error().map(|text| known_error(text).to_owned())
    };
    assert_eq!(error(b"-WRONGTYPE Operation against\r\n").as_deref(), Some("WRONGTYPE"));
    assert_eq!(error(b"*2\r\n+OK\r\n-OOM no\r\n").as_deref(), Some("OOM"));
    assert_eq!(error(b"-MYMODULE no\r\n").as_deref(), Some("other"));
    assert_eq!(error(b"-ERR no record\r\n").as_deref(), Some("ERR"));
    let unknown = error(b"-ERR unknown command 'AUTH', with args beginning with: 'secret'\r\n");
    assert_eq!(unknown.as_deref(), Some("ERR unknown command"));
    assert_eq!(error(b"*1\r\n*1\r\n-OOM no\r\n"), None);
    assert_eq!(error(b"$3\r\nERR\r\n"), None);
}

//! Comparison with two references: `httparse` for heads, and for the ends of messages a slow
//! decoder that sees all bytes at once and shares no code with ours.

use super::mutations::{Random, mutate};
use super::*;

const MESSAGES: u64 = if cfg!(debug_assertions) { 30_000 } else { 1_000_000 };

/// The contents of a head, from the slow decoder.
struct Head {
    shown: String,
    is_interim: bool,
    framing: Framing,
    after: After,
}

#[derive(Clone, Copy)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Kind {
    Response,
    ResponseToHead,
    Request,
}

/// Decodes a whole stream of messages to the same text as `decode` and `requests`.
fn reference(bytes: &[u8], kind: Kind) -> String {
    let mut rest = bytes;
    let mut text = String::new();
    let closed = |end: &str| if kind == Kind::Request { String::new() } else { end.to_owned() };
    while !rest.is_empty() {
        if kind != Kind::Request && matches!(rest[0], 0x15 | 0x16) {
            return text + "Tls";
        }
        let Some(length) = head_length(rest) else { return text + &closed("Truncated") };
        let (block, behind) = rest.split_at(length);
        rest = behind;
        let parsed = match kind {
            Kind::Request => request(block),
            Kind::Response | Kind::ResponseToHead => response(&unfolded(block), kind),
        };
        let head = match parsed {
            Ok(head) => head,
            Err(malformed) => return text + &format!("{malformed:?}"),
        };
        if head.is_interim {
            text += &format!("{}; ", head.shown);
            continue;
        }
        text += &format!("{} [", head.shown);
        let (body, how) = match head.framing {
            Framing::UntilClose => (std::mem::take(&mut rest).to_vec(), Err("Complete")),
            Framing::Length(length) if length <= rest.len() as u64 => {
                let (body, behind) = rest.split_at(length as usize);
                rest = behind;
                (body.to_vec(), Ok(()))
            }
            Framing::Length(_) => (std::mem::take(&mut rest).to_vec(), Err("Truncated")),
            Framing::Chunked => chunks(&mut rest),
        };
        text += &body.escape_ascii().to_string();
        match how {
            Ok(()) => text += &format!("] {:?}; ", head.after),
            Err(end @ ("Complete" | "Truncated")) => return text + &closed(end),
            Err(malformed) => return text + malformed,
        }
    }
    text + &closed("Between")
}

/// Joins lines that begin with white space to the ones above, except to the first.
fn unfolded(block: &[u8]) -> Vec<u8> {
    let (mut joined, mut fields) = (Vec::new(), 0);
    for line in block.split_inclusive(|byte| *byte == b'\n') {
        if 1 < fields && (line.starts_with(b" ") || line.starts_with(b"\t")) {
            let end = if joined.ends_with(b"\r\n") { 2 } else { 1 };
            joined.truncate(joined.len() - end);
            joined.extend_from_slice(&b"  "[..end]);
        }
        joined.extend_from_slice(line);
        fields += usize::from(0 < fields || !matches!(line, b"\n" | b"\r\n"));
    }
    joined
}

/// The length up to the end of the first empty line.
fn head_length(bytes: &[u8]) -> Option<usize> {
    (1..bytes.len())
        .map(|last| last + 1)
        .find(|&end| bytes[..end].ends_with(b"\n\n") || bytes[..end].ends_with(b"\n\r\n"))
}

fn response(block: &[u8], kind: Kind) -> Result<Head, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    match head.parse(block) {
        Ok(httparse::Status::Complete(_)) => {}
        _ => return Err(Malformed::Head),
    }
    let status = head.code.unwrap();
    if status < 100 {
        return Err(Malformed::Head);
    }
    if status == 101 {
        return Err(Malformed::Upgrade);
    }
    let length = length(head.headers)?;
    let codings = list(head.headers, "transfer-encoding");
    if !codings.is_empty() && length.is_some() {
        return Err(Malformed::TwoFramings);
    }
    let bodiless = kind == Kind::ResponseToHead || matches!(status, 100..200 | 204 | 304);
    let framing = match (codings.last(), length) {
        _ if bodiless => Framing::Length(0),
        (Some(last), _) if last == "chunked" => Framing::Chunked,
        (None, Some(length)) => Framing::Length(length),
        _ => Framing::UntilClose,
    };
    let is_of_a_proxy = head.version != Some(1) && !codings.is_empty();
    let ends = is_of_a_proxy || matches!(framing, Framing::UntilClose);
    let after = after(head.version, head.headers, ends);
    Ok(Head { shown: status.to_string(), is_interim: status < 200, framing, after })
}

fn request(block: &[u8]) -> Result<Head, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    match head.parse(block) {
        Ok(httparse::Status::Complete(_)) => {}
        _ => return Err(Malformed::Head),
    }
    let length = length(head.headers)?;
    let codings = list(head.headers, "transfer-encoding");
    let framing = match (codings.last(), length) {
        (None, length) => Framing::Length(length.unwrap_or(0)),
        (Some(last), None) if last == "chunked" => Framing::Chunked,
        _ => return Err(Malformed::ContentLength),
    };
    let shown = format!("{} {}", head.method.unwrap(), head.path.unwrap());
    let after = after(head.version, head.headers, false);
    Ok(Head { shown, is_interim: false, framing, after })
}

fn after(version: Option<u8>, fields: &[httparse::Header<'_>], ends: bool) -> After {
    let connection = list(fields, "connection");
    let says = |word: &str| connection.iter().any(|token| token == word);
    let goes_on = version == Some(1) || says("keep-alive");
    if goes_on && !says("close") && !ends { After::KeepAlive } else { After::Close }
}

/// All values of a field, split at commas.
fn list(fields: &[httparse::Header<'_>], name: &str) -> Vec<String> {
    let values = fields.iter().filter(|field| field.name.to_ascii_lowercase() == name);
    values
        .flat_map(|field| {
            let value = String::from_utf8_lossy(field.value).to_ascii_lowercase();
            value.split(',').map(|part| trim(part).to_owned()).collect::<Vec<_>>()
        })
        .filter(|part| !part.is_empty())
        .collect()
}

fn trim(part: &str) -> &str {
    part.trim_matches([' ', '\t', '\r', '\n', '\x0c'])
}

fn length(fields: &[httparse::Header<'_>]) -> Result<Option<u64>, Malformed> {
    let values = fields.iter().filter(|f| f.name.eq_ignore_ascii_case("content-length"));
    let mut known = Vec::new();
    for field in values {
        for part in String::from_utf8_lossy(field.value).split(',') {
            let part = trim(part);
            if part.is_empty() || !part.chars().all(|c| c.is_ascii_digit()) {
                return Err(Malformed::ContentLength);
            }
            let value = part.chars().try_fold(0u64, |value, digit| {
                value.checked_mul(10)?.checked_add(u64::from(digit.to_digit(10)?))
            });
            known.push(value.ok_or(Malformed::ContentLength)?);
        }
    }
    known.dedup();
    match known[..] {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(Malformed::ContentLength),
    }
}

/// The chunks' data, and how they ended.
fn chunks(rest: &mut &[u8]) -> (Vec<u8>, Result<(), &'static str>) {
    let mut body = Vec::new();
    loop {
        let digits = rest.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let value = rest[..digits].iter().try_fold(0u64, |value, &digit| {
            value.checked_mul(16).map(|v| v + u64::from(char::from(digit).to_digit(16).unwrap()))
        });
        let Some(size) = value else { return (body, Err("Chunk")) };
        match rest.get(digits) {
            None => return (body, Err("Truncated")),
            Some(b'\n' | b'\r' | b';' | b' ' | b'\t') if 0 < digits => {}
            Some(_) => return (body, Err("Chunk")),
        }
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return (body, Err("Truncated"));
        };
        *rest = &rest[end + 1..];
        if size == 0 {
            break;
        }
        if (rest.len() as u64) < size {
            body.extend_from_slice(rest);
            return (body, Err("Truncated"));
        }
        let (data, behind) = rest.split_at(size as usize);
        body.extend_from_slice(data);
        let returns = behind.iter().take_while(|&&byte| byte == b'\r').count();
        match behind.get(returns) {
            None => return (body, Err("Truncated")),
            Some(b'\n') => *rest = &behind[returns + 1..],
            Some(_) => return (body, Err("Chunk")),
        }
    }
    // The trailers end with an empty line.
    loop {
        let Some(end) = rest.iter().position(|&byte| byte == b'\n') else {
            return (body, Err("Truncated"));
        };
        let is_empty = rest[..end].iter().all(|&byte| byte == b'\r');
        *rest = &rest[end + 1..];
        if is_empty {
            return (body, Ok(()));
        }
    }
}

fn pick<'a>(random: &mut Random, among: &[&'a str]) -> &'a str {
    among[random.below(among.len())]
}

/// A random message from valid parts, which may contradict each other.
fn message(random: &mut Random, kind: Kind) -> String {
    let first = match kind {
        Kind::Request => pick(
            random,
            &[
                "GET / HTTP/1.1",
                "POST /a HTTP/1.1",
                "HEAD * HTTP/1.0",
                "A b HTTP/1.1",
                "GET  / HTTP/1.1",
            ],
        ),
        _ => pick(
            random,
            &[
                "HTTP/1.1 200 OK",
                "HTTP/1.1 200 OK",
                "HTTP/1.1 200",
                "HTTP/1.0 200 OK",
                "HTTP/1.1 100 Continue",
                "HTTP/1.1 204 No",
                "HTTP/1.1 304 Not",
                "HTTP/1.1 999 ?",
                "HTTP/1.1 099 ?",
                "HTTP/1.1 101 Switching",
                "HTTP/1.2 200 OK",
            ],
        ),
    };
    let end = pick(random, &["\r\n", "\r\n", "\r\n", "\n"]);
    let mut text = format!("{first}{end}");
    for _ in 0..random.below(4) {
        let field = pick(
            random,
            &[
                "Content-Length: 5",
                "content-length:5",
                "Content-Length: 5, 5",
                "Content-Length: 05",
                "Content-Length: 0",
                "Content-Length: 4",
                "Content-Length: +5",
                "Content-Length:",
                "Content-Length: 18446744073709551615",
                "Content-Length: 18446744073709551616",
                "Transfer-Encoding: chunked",
                "TRANSFER-ENCODING: gzip ,\tChunked",
                "Transfer-Encoding: chunked, gzip",
                "Transfer-Encoding: identity",
                "Transfer-Encoding: ,",
                "Connection: close",
                "Connection: Keep-Alive",
                "connection: a, ,CLOSE",
                "Keep-Alive: timeout=5",
                "X : y",
                "X:",
                " folded",
                "Content-Lengthy: 1",
            ],
        );
        text += field;
        text += end;
    }
    text += end;
    let lengths = ["", "hello", "hell", "hello", "hello world"];
    let chunked = [
        "5\r\nhello\r\n0\r\n\r\n",
        "5;a=b\r\nhello\r\n00\r\nA: b\r\n\r\n",
        "5\nhello\n0\n\n",
        "5 \r\nhello\r\r\n6\t\r\n world\r\n0\r\nA: b\r\n\r\r\n",
        "a\r\nhellohello\r\nA\r\nhellohello\r\n0\r\n\r\n",
        "5\r\nhelloo\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n",
        ";\r\n",
    ];
    let is_chunked = text.to_ascii_lowercase().contains("chunked");
    text + pick(random, if is_chunked { &chunked } else { &lengths })
}

#[test]
fn messages_end_where_a_slow_decoder_says() {
    let mut random = Random(11);
    let mut seen = std::collections::BTreeMap::<&str, u64>::new();
    for _ in 0..MESSAGES {
        let kind = [Kind::Response, Kind::ResponseToHead, Kind::Request][random.below(3)];
        let messages = (0..=random.below(3)).map(|_| message(&mut random, kind));
        let mut bytes = messages.collect::<String>().into_bytes();
        if random.below(3) == 0 {
            mutate(&mut bytes, &mut random);
        }
        let expected = reference(&bytes, kind);
        let cuts = [random.below(bytes.len() + 1), random.below(bytes.len() + 1)];
        let (first, last) = (cuts[0].min(cuts[1]), cuts[0].max(cuts[1]));
        let slices = [&bytes[..first], &bytes[first..last], &bytes[last..]];
        let found = match kind {
            Kind::Response => decode(&slices, Expect::Body),
            Kind::ResponseToHead => decode(&slices, Expect::NoBody),
            Kind::Request => requests(&slices),
        };
        assert_eq!(found, expected, "{kind:?} {}", bytes.escape_ascii());
        let end = ["Between", "Complete", "Truncated", "Chunk", "ContentLength", "Head", "Upgrade"];
        let end = end.into_iter().find(|end| expected.ends_with(end)).unwrap_or("open");
        *seen.entry(end).or_default() += 1;
    }
    // The test would be worthless if the decoders agreed only on refusals.
    assert_eq!(seen.len(), 8, "{seen:?}");
    assert!(seen.values().all(|&count| MESSAGES / 500 < count), "{seen:?}");
}

/// Checks that a head is accepted exactly if `httparse` accepts it from all bytes at once, with the
/// same fields and length. What we refuse beyond that is listed here.
#[test]
fn heads_are_taken_as_httparse_takes_them() {
    let mut random = Random(13);
    let (mut taken, mut refused) = (0, 0);
    for _ in 0..MESSAGES {
        let mut bytes = message(&mut random, Kind::Response).into_bytes();
        if random.below(2) == 0 {
            mutate(&mut bytes, &mut random);
        }
        let mut known = [httparse::EMPTY_HEADER; MOST_FIELDS];
        let mut theirs = httparse::Response::new(&mut known);
        let end = head_length(&bytes).unwrap_or(bytes.len());
        let joined = [&unfolded(&bytes[..end]), &bytes[end..]].concat();
        let their_result = theirs.parse(&joined);

        let (a, b) = bytes.split_at(random.below(bytes.len() + 1));
        let mut decoder = ResponseDecoder::default();
        let mut ours = None;
        for mut slice in [a, b] {
            if ours.is_some() {
                break;
            }
            ours = match decoder.next(&mut slice, Expect::Body) {
                Ok(None) => None,
                Ok(Some(ResponseEvent::Head(head, block))) => {
                    let fields: Vec<_> = fields(block)
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .collect();
                    Some(Ok((head.status, block.len(), fields)))
                }
                Ok(Some(event)) => panic!("{event:?} before a head"),
                Err(malformed) => Some(Err(malformed)),
            };
        }
        let shown = bytes.escape_ascii();
        match (their_result, ours) {
            (Ok(httparse::Status::Complete(length)), Some(Ok((status, ours, fields)))) => {
                let theirs_fields: Vec<_> = theirs
                    .headers
                    .iter()
                    .map(|field| (field.name.to_owned(), field.value.to_owned()))
                    .collect();
                assert_eq!((status, ours), (theirs.code.unwrap(), length), "{shown}");
                assert_eq!(fields, theirs_fields, "{shown}");
                taken += 1;
            }
            // httparse does not check lengths, upgrades or the first digit of a status, and it
            // skips empty lines before a head.
            (
                Ok(httparse::Status::Complete(_)),
                Some(Err(Malformed::ContentLength | Malformed::Upgrade | Malformed::TwoFramings)),
            ) => refused += 1,
            (Ok(httparse::Status::Complete(_)), Some(Err(Malformed::Head))) => {
                let is_low = theirs.code.is_some_and(|code| code < 100);
                let is_empty = head_length(&bytes).is_some_and(|end| {
                    bytes[..end].iter().all(|byte| matches!(byte, b'\r' | b'\n'))
                });
                assert!(is_low || is_empty, "{shown}");
                refused += 1;
            }
            // A malformed head is refused once its end has arrived.
            (Ok(httparse::Status::Partial), None | Some(Err(Malformed::Head))) => {}
            (Err(_), None | Some(Err(_))) => refused += 1,
            (theirs, ours) => panic!("{theirs:?} and {ours:?}: {shown}"),
        }
    }
    assert!(MESSAGES / 5 < taken && MESSAGES / 5 < refused, "{taken} taken, {refused} refused");
}

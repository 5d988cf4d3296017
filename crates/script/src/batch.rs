//! Checks the bytes that a script returns as a request: one whole request, or several that leave
//! together. An incomplete one would wait for ever, and answers to an uncounted one could not be
//! assigned.

use std::fmt;

use wire::http1::{After, Expect, MOST_FIELDS, RequestDecoder, RequestEvent, says_close};

#[cfg(test)]
mod tests;

const MALFORMED: &str = "is not an HTTP/1.1 request; `wrk.format` makes one";
const CONTINUED: &str = "continues after its end with bytes that are not a request; a body needs a \
                         `Content-Length`";
const INCOMPLETE: &str = "is incomplete: the empty line after its headers is missing, or a part of \
                          the body which they announce";

/// An error in the bytes with its position, counted from 1 as editors do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Wrong {
    what: &'static str,
    line: usize,
    column: usize,
}

/// Reports for each request in `text` the body that its answer may have, and what becomes of the
/// connection after it.
pub(crate) fn inspect(text: &[u8], mut found: impl FnMut(Expect, After)) -> Result<(), Wrong> {
    let Some(after) = plain(text) else { return decode(text, found) };
    let method = match text {
        [b'H', b'E', b'A', b'D', b' ', ..] => "HEAD",
        [b'C', b'O', b'N', b'N', b'E', b'C', b'T', b' ', ..] => "CONNECT",
        _ => "GET",
    };
    found(Expect::of(method), after);
    Ok(())
}

/// Recognises the common case, one request without a body, by a pass over its lines: this runs for
/// every request, and a decoder costs several times as much.
fn plain(text: &[u8]) -> Option<After> {
    let head = text.strip_suffix(b"\r\n\r\n")?;
    let mut lines = head.split(|&byte| byte == b'\n');
    lines.next().filter(|line| is_request_line(line))?;
    let mut after = After::KeepAlive;
    for line in lines {
        if !is_plain_field(line) {
            return None;
        }
        if starts_with(line, CONNECTION) && says_close(&line[CONNECTION.len()..]) {
            after = After::Close;
        }
    }
    Some(after)
}

const CONNECTION: &[u8] = b"connection:";

/// True for a method, a target and the version, with single spaces between them.
fn is_request_line(line: &[u8]) -> bool {
    let is_word = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_graphic);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Some(line) = line.strip_suffix(b" HTTP/1.1") else { return false };
    let Some(space) = line.iter().position(|&byte| byte == b' ') else { return false };
    is_word(&line[..space]) && is_word(&line[space + 1..])
}

/// True for a field that does not announce a body, and is not the end of the headers.
fn is_plain_field(line: &[u8]) -> bool {
    line.contains(&b':') && !starts_with(line, b"content-length") && !is_coding(line)
}

fn is_coding(line: &[u8]) -> bool {
    starts_with(line, b"transfer-encoding")
}

fn starts_with(line: &[u8], name: &[u8]) -> bool {
    line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name))
}

fn decode(text: &[u8], mut found: impl FnMut(Expect, After)) -> Result<(), Wrong> {
    let mut decoder = RequestDecoder::default();
    let mut rest = text;
    let mut expect = Expect::Body;
    // Where the current request begins, and whether its headers are complete.
    let (mut begin, mut in_body) = (0, false);
    loop {
        match decoder.next(&mut rest) {
            Ok(Some(RequestEvent::Head(head))) => {
                expect = Expect::of(head.method);
                in_body = true;
            }
            Ok(Some(RequestEvent::Body(_))) => {}
            Ok(Some(RequestEvent::End(after))) => {
                found(expect, after);
                begin = text.len() - rest.len();
                in_body = false;
            }
            // Line ends between requests are ignored.
            Ok(None) if 0 < begin && !in_body && is_blank(&text[begin..]) => return Ok(()),
            Ok(None) => {
                let bad = if in_body { None } else { bad_byte(&text[begin..]) };
                return Err(match bad {
                    Some(at) => Wrong::at(no_request(begin), text, begin + at),
                    None => Wrong::at(INCOMPLETE, text, text.len()),
                });
            }
            Err(_) if in_body => return Err(Wrong::at(MALFORMED, text, text.len() - rest.len())),
            Err(_) => {
                let head = &text[begin..];
                let at = begin + bad_byte(head).unwrap_or_else(|| contradiction(head));
                return Err(Wrong::at(no_request(begin), text, at));
            }
        }
    }
}

fn no_request(begin: usize) -> &'static str {
    if begin == 0 { MALFORMED } else { CONTINUED }
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| b"\r\n".contains(byte))
}

/// The position of the first byte that makes a header block invalid, if there is one. A parser that
/// rejects some bytes rejects them with any continuation.
fn bad_byte(head: &[u8]) -> Option<usize> {
    let is_bad = |length: usize| {
        let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
        httparse::Request::new(&mut fields).parse(&head[..length]).is_err()
    };
    let (mut good, mut bad) = (0, head.len());
    if !is_bad(bad) {
        return None;
    }
    while good + 1 < bad {
        let middle = good + (bad - good) / 2;
        if is_bad(middle) { bad = middle } else { good = middle }
    }
    Some(good)
}

/// The position of the contradiction in a head whose lines are all valid: the length of the body.
fn contradiction(head: &[u8]) -> usize {
    let mut at = 0;
    for line in head.split_inclusive(|&byte| byte == b'\n') {
        if is_coding(line) || starts_with(line, b"content-length") {
            return at;
        }
        at += line.len();
    }
    0
}

impl Wrong {
    fn at(what: &'static str, text: &[u8], offset: usize) -> Wrong {
        let before = &text[..offset];
        let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|&&byte| byte != b'\n').count() + 1;
        Wrong { what, line, column }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {}:{} of its text)", self.what, self.line, self.column)
    }
}

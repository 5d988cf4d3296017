//! Whether bytes are one whole request: fewer would wait for ever, more would be answered twice.

use wire::http1::{Expect, RequestDecoder, RequestEvent};

#[cfg(test)]
mod tests;

const MALFORMED: &str = "is no HTTP/1.1 request; `wrk.format` makes one";
const INCOMPLETE: &str = "is incomplete: the empty line after its headers is missing, or a part of \
                          the body which they announce";
const CONTINUED: &str = "goes on after its end: a body needs a `Content-Length`, and several \
                         requests at once (pipelining) are not supported yet";

/// Says whether the answer to `request` may have a body, or else what is wrong with the request.
pub(crate) fn inspect(request: &[u8]) -> Result<Expect, &'static str> {
    if !is_plain(request) {
        return decode(request);
    }
    Ok(if request.starts_with(b"HEAD ") { Expect::NoBody } else { Expect::Body })
}

/// Recognises the common case, one request without a body, by a pass over its lines: a script is
/// asked for every request, and a decoder costs several times as much.
fn is_plain(request: &[u8]) -> bool {
    let Some(head) = request.strip_suffix(b"\r\n\r\n") else { return false };
    let mut lines = head.split(|&byte| byte == b'\n');
    lines.next().is_some_and(is_request_line) && lines.all(is_plain_field)
}

/// A method, a target and the version, with single spaces between them.
fn is_request_line(line: &[u8]) -> bool {
    let is_word = |word: &[u8]| !word.is_empty() && word.iter().all(u8::is_ascii_graphic);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Some(line) = line.strip_suffix(b" HTTP/1.1") else { return false };
    let Some(space) = line.iter().position(|&byte| byte == b' ') else { return false };
    is_word(&line[..space]) && is_word(&line[space + 1..])
}

/// A field that says nothing about a body; neither is it the end of the headers.
fn is_plain_field(line: &[u8]) -> bool {
    let starts_with =
        |name: &[u8]| line.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name));
    line.contains(&b':') && !starts_with(b"content-length") && !starts_with(b"transfer-encoding")
}

fn decode(request: &[u8]) -> Result<Expect, &'static str> {
    let mut decoder = RequestDecoder::default();
    let mut rest = request;
    let mut expect = Expect::Body;
    while let Some(event) = decoder.next(&mut rest).map_err(|_| MALFORMED)? {
        match event {
            RequestEvent::Head(head) if head.method == "HEAD" => expect = Expect::NoBody,
            RequestEvent::Head(_) | RequestEvent::Body(_) => {}
            RequestEvent::End(_) if rest.is_empty() => return Ok(expect),
            RequestEvent::End(_) => return Err(CONTINUED),
        }
    }
    Err(INCOMPLETE)
}

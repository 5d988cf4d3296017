//! The client's side: decodes responses one after the other.

use std::mem::MaybeUninit;

use super::block::Block;
use super::body::{Body, Chunk, Coding, Framing};
use super::{After, MOST_FIELDS, MOST_INTERIM, Malformed};

/// The body to expect in the answer to the oldest outstanding request: an answer to HEAD has none,
/// whatever its headers say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Expect {
    Body,
    NoBody,
    /// The answer to CONNECT: if it is a success, a tunnel follows in place of a body.
    Tunnel,
}

impl Expect {
    /// Returns what to expect after a request with this method.
    pub fn of(method: &str) -> Expect {
        match method {
            "HEAD" => Expect::NoBody,
            "CONNECT" => Expect::Tunnel,
            _ => Expect::Body,
        }
    }
}

/// The head of a response. An interim response (1xx) consists of its head only: the next event is
/// the head of the next response to the same request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Response {
    pub status: u16,
    pub after: After,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ResponseEvent<'a> {
    /// The head, with the header block as it arrived; folded lines are joined with spaces.
    Head(Response, &'a [u8]),
    /// A piece of the body, without chunk framing.
    Body(&'a [u8]),
    /// The response is complete.
    End(After),
}

/// The meaning of the end of a connection for the response that was being read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ended {
    /// No response had begun.
    Between,
    /// The response lasted until the close, and is complete.
    Complete,
    /// The response is cut off.
    Truncated,
}

/// The first byte of the record with which a server answers what is not TLS: of an alert or of a handshake.
const TLS: [u8; 2] = [0x15, 0x16];

/// Decodes a connection's responses from any slicing of its bytes.
///
/// Bodies are passed on as slices of the input and are never collected. Memory is bounded by the
/// longest header block.
#[derive(Debug)]
pub struct ResponseDecoder {
    block: Block,
    body: Body,
    /// Inside a response: whether the connection is kept after it.
    open: Option<After>,
    /// The number of interim responses to the oldest request so far.
    interim: usize,
}

impl Default for ResponseDecoder {
    fn default() -> ResponseDecoder {
        ResponseDecoder { block: Block::default(), body: Body::Done, open: None, interim: 0 }
    }
}

impl ResponseDecoder {
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.block.held()
    }

    /// Takes the next event off `bytes`; `None` when more bytes are needed.
    ///
    /// After an error the connection cannot be used any more.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
        expect: Expect,
    ) -> Result<Option<ResponseEvent<'a>>, Malformed> {
        if let Some(after) = self.open {
            if let Some(piece) = self.body.next(bytes)? {
                return Ok(Some(ResponseEvent::Body(piece)));
            }
            return Ok((self.body == Body::Done).then(|| {
                self.open = None;
                self.block.end();
                ResponseEvent::End(after)
            }));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        // Its records need not have an end of a line, so the end of a header block might never come.
        if !self.block.is_begun() && TLS.contains(&bytes[0]) {
            return Err(Malformed::Tls);
        }
        let Some(block) = self.block.take_unfolded(bytes)? else { return Ok(None) };
        let (response, body) = parse(block, expect)?;
        if response.status < 200 {
            self.interim += 1;
            if MOST_INTERIM < self.interim {
                return Err(Malformed::Interim);
            }
        } else {
            self.body = body;
            self.open = Some(response.after);
            self.interim = 0;
        }
        Ok(Some(ResponseEvent::Head(response, block)))
    }

    /// Returns the number of bytes of the body that are announced and have not arrived yet: of a counted body the
    /// rest, of a chunked one the rest of its chunk.
    #[inline]
    pub fn announced(&self) -> u64 {
        match (self.open, self.body) {
            (Some(_), Body::Counted(left) | Body::Chunked(Chunk::Data(left))) => left,
            _ => 0,
        }
    }

    /// Handles the peer's close. The decoder is as new afterwards.
    pub fn close(&mut self) -> Ended {
        let ended = match (self.open, self.body) {
            (Some(_), Body::UntilClose) => Ended::Complete,
            (None, _) if !self.block.is_begun() => Ended::Between,
            _ => Ended::Truncated,
        };
        *self = ResponseDecoder::default();
        ended
    }
}

fn parse(block: &[u8], expect: Expect) -> Result<(Response, Body), Malformed> {
    // Initialising all fields that a head may have would take longer than filling the used ones.
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    match parser.parse_response_with_uninit_headers(&mut head, block, &mut fields) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(Malformed::Head),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLong),
        Err(_) => return Err(Malformed::Head),
    }
    let status = head.code.filter(|code| (100..1000).contains(code)).ok_or(Malformed::Head)?;
    if status == 101 {
        return Err(Malformed::Upgrade);
    }
    let framing = Framing::of(head.headers)?;
    // RFC 9110 §9.3.6: the bytes behind the head belong to the tunnel, whatever the head says.
    let is_tunnel = expect == Expect::Tunnel && (200..300).contains(&status);
    let is_coded = framing.coding != Coding::None;
    // RFC 9112 §6.3 calls it an error: an instrument that reads on would vouch for a body on which no two
    // clients agree.
    if is_coded && framing.length.is_some() && !is_tunnel {
        return Err(Malformed::TwoFramings);
    }
    let bodiless = match expect {
        Expect::NoBody => true,
        Expect::Body | Expect::Tunnel => is_tunnel || status < 200 || matches!(status, 204 | 304),
    };
    let body = match (framing.coding, framing.length) {
        _ if bodiless => Body::Done,
        (Coding::Chunked, _) => Body::Chunked(Chunk::FIRST),
        (Coding::Other, _) | (Coding::None, None) => Body::UntilClose,
        (Coding::None, Some(0)) => Body::Done,
        (Coding::None, Some(length)) => Body::Counted(length),
    };
    let persistent = head.version == Some(1) || framing.keep_alive;
    // RFC 9112 §6.1: HTTP/1.0 has no codings, so a proxy may have passed on what it did not understand.
    let ambiguous = is_coded && head.version != Some(1);
    let ends = is_tunnel || body == Body::UntilClose;
    let close = framing.close || !persistent || ambiguous || ends;
    let after = if close { After::Close } else { After::KeepAlive };
    Ok((Response { status, after }, body))
}

/// The fields of a response's header block in their order, with names as they were written.
pub fn fields(block: &[u8]) -> impl Iterator<Item = (&str, &[u8])> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    // A block that a decoder has accepted can be parsed again.
    let parsed = head.parse(block).is_ok();
    let count = if parsed { head.headers.len() } else { 0 };
    fields.into_iter().take(count).map(|field| (field.name, field.value))
}

/// Appends a response with a counted body.
pub fn encode_response(status: u16, fields: &[(&str, &str)], body: &[u8], wire: &mut Vec<u8>) {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        503 => "Service Unavailable",
        _ => "",
    };
    wire.extend_from_slice(format!("HTTP/1.1 {status} {reason}\r\n").as_bytes());
    super::request::encode_fields(fields, wire);
    wire.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
    wire.extend_from_slice(body);
}

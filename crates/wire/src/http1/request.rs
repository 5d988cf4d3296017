//! Requests: a client writes them, the reference server reads them.

use std::mem::MaybeUninit;

use super::block::Block;
use super::body::{Body, Chunk, Coding, Framing};
use super::{After, MOST_FIELDS, Malformed};

/// Appends a request. `Content-Length` is added if there is a body and no such field yet.
pub fn encode_request(
    method: &str,
    target: &str,
    fields: &[(&str, &str)],
    body: &[u8],
    wire: &mut Vec<u8>,
) {
    wire.extend_from_slice(method.as_bytes());
    wire.push(b' ');
    wire.extend_from_slice(target.as_bytes());
    wire.extend_from_slice(b" HTTP/1.1\r\n");
    encode_fields(fields, wire);
    let counted = fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    if !body.is_empty() && !counted {
        wire.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    wire.extend_from_slice(b"\r\n");
    wire.extend_from_slice(body);
}

pub(super) fn encode_fields(fields: &[(&str, &str)], wire: &mut Vec<u8>) {
    for (name, value) in fields {
        wire.extend_from_slice(name.as_bytes());
        wire.extend_from_slice(b": ");
        wire.extend_from_slice(value.as_bytes());
        wire.extend_from_slice(b"\r\n");
    }
}

/// The head of a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Request<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub after: After,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestEvent<'a> {
    Head(Request<'a>),
    Body(&'a [u8]),
    End(After),
}

/// Decodes a connection's requests from any slicing of its bytes.
#[derive(Debug)]
pub struct RequestDecoder {
    block: Block,
    body: Body,
    open: Option<After>,
}

impl Default for RequestDecoder {
    fn default() -> RequestDecoder {
        RequestDecoder { block: Block::default(), body: Body::Done, open: None }
    }
}

impl RequestDecoder {
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.block.held()
    }

    /// Takes the next event off `bytes`; `None` when more bytes are needed.
    pub fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<RequestEvent<'a>>, Malformed> {
        self.next_with(bytes, |_, _| {})
    }

    /// As [`RequestDecoder::next`]; `field` gets the name and the value of each field of a head, in
    /// their order, before the head is returned.
    pub fn next_with<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
        field: impl FnMut(&str, &[u8]),
    ) -> Result<Option<RequestEvent<'a>>, Malformed> {
        if let Some(after) = self.open {
            if let Some(piece) = self.body.next(bytes)? {
                return Ok(Some(RequestEvent::Body(piece)));
            }
            return Ok((self.body == Body::Done).then(|| {
                self.open = None;
                self.block.end();
                RequestEvent::End(after)
            }));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let Some(block) = self.block.take(bytes)? else { return Ok(None) };
        let (request, body) = parse(block, field)?;
        self.body = body;
        self.open = Some(request.after);
        Ok(Some(RequestEvent::Head(request)))
    }
}

fn parse(
    block: &[u8],
    mut field: impl FnMut(&str, &[u8]),
) -> Result<(Request<'_>, Body), Malformed> {
    // Initialising all fields that a head may have would take longer than filling the used ones.
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut head = httparse::Request::new(&mut []);
    match head.parse_with_uninit_headers(block, &mut fields) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) => return Err(Malformed::Head),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::HeadTooLong),
        Err(_) => return Err(Malformed::Head),
    }
    let framing = Framing::of(head.headers)?;
    let body = match (framing.coding, framing.length) {
        (Coding::Chunked, None) => Body::Chunked(Chunk::FIRST),
        // A request's body cannot last until the close, and two lengths are an attack.
        (Coding::Chunked, Some(_)) | (Coding::Other, _) => return Err(Malformed::ContentLength),
        (Coding::None, None | Some(0)) => Body::Done,
        (Coding::None, Some(length)) => Body::Counted(length),
    };
    head.headers.iter().for_each(|header| field(header.name, header.value));
    let persistent = head.version == Some(1) || framing.keep_alive;
    let after = if framing.close || !persistent { After::Close } else { After::KeepAlive };
    let (method, target) = (head.method.unwrap_or_default(), head.path.unwrap_or_default());
    Ok((Request { method, target, after }, body))
}

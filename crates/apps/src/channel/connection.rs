//! A connection to a subscriber. It carries one request after the other, or several before their
//! responses (pipelining, RFC 9112, 9.3.2), which no client library of ours can. Everything that a
//! subscriber may send has a bound; the time is bounded by the caller.

use std::pin::pin;
use std::str;

use bytes::{Buf, Bytes, BytesMut};
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use hyper::{Response, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::ReadHalf;

#[cfg(test)]
mod tests;

/// The most bytes of a response's head, and of the lines around its chunks.
const LARGEST_HEAD: usize = 64 << 10;
const MOST_FIELDS: usize = 128;
const LARGEST_CHUNK_LINE: usize = 256;

/// The most bytes of a response's body.
const LARGEST_BODY: usize = 1 << 20;

/// The bytes that are kept of the body of a response that is no reply: a dead letter quotes them.
pub const MOST_QUOTED: usize = 1024;

/// The most responses 1xx before the one that counts.
const MOST_INTERIM: usize = 8;

/// The bytes that a connection reads at once, and the most that its buffer keeps between responses.
const PIECE: usize = 4 << 10;

pub struct Connection {
    stream: TcpStream,
    /// The bytes that have arrived and belong to no response yet.
    input: BytesMut,
    /// True if it may carry further requests.
    is_open: bool,
}

/// The reason why the requests behind the last response have none.
#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    /// The subscriber has said that it closes the connection: it processes none of them.
    Closing,
    /// The first of them may have been processed.
    Broken(String),
}

impl Connection {
    pub async fn open(address: &str) -> Result<Self, String> {
        let stream = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
        // A request must not wait for the acknowledgement of the one before it.
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Connection { stream, input: BytesMut::new(), is_open: true })
    }

    /// Returns true if it can carry further requests, as far as this side knows.
    pub fn is_open(&self) -> bool {
        let nothing_arrived =
            |error: std::io::Error| error.kind() == std::io::ErrorKind::WouldBlock;
        self.is_open && self.stream.try_read(&mut [0]).is_err_and(nothing_arrived)
    }

    /// Sends requests, given as their bytes and their number, and hands over each response when it
    /// is there, in the order of the requests.
    pub async fn exchange(
        &mut self,
        requests: &[u8],
        count: usize,
        answered: impl FnMut(Response<Bytes>),
    ) -> Result<(), Ended> {
        // Whatever interrupts this leaves responses behind.
        self.is_open = false;
        let persists = self.send_and_receive(requests, count, answered).await?;
        self.is_open = persists && self.input.is_empty();
        if PIECE < self.input.capacity() {
            self.input = BytesMut::new();
        }
        Ok(())
    }

    /// Returns true if the connection may carry further requests.
    async fn send_and_receive(
        &mut self,
        requests: &[u8],
        count: usize,
        mut answered: impl FnMut(Response<Bytes>),
    ) -> Result<bool, Ended> {
        let (from, mut to) = self.stream.split();
        let mut sending = pin!(to.write_all(requests));
        let mut input = Input { from, bytes: &mut self.input };
        let mut receiving = pin!(async {
            for number in 1..=count {
                let (response, is_last) = input.response().await.map_err(Ended::Broken)?;
                answered(response);
                if is_last {
                    return if number == count { Ok(false) } else { Err(Ended::Closing) };
                }
            }
            Ok(true)
        });
        // A subscriber may answer before it has read everything, and may stop reading then.
        let mut sent = None;
        loop {
            tokio::select! {
                biased;
                outcome = sending.as_mut(), if sent.is_none() => sent = Some(outcome.is_ok()),
                received = receiving.as_mut() => return Ok(received? && sent == Some(true)),
            }
        }
    }
}

/// The end of a body.
#[derive(Debug, PartialEq, Eq)]
enum Length {
    Bytes(usize),
    Chunked,
    UntilClose,
}

/// The side of a connection from which responses come.
struct Input<'a> {
    from: ReadHalf<'a>,
    bytes: &'a mut BytesMut,
}

impl Input<'_> {
    /// Reads a response; true if it is the last one of its connection.
    async fn response(&mut self) -> Result<(Response<Bytes>, bool), String> {
        for _ in 0..=MOST_INTERIM {
            let length = self.line_end(b"\r\n\r\n", LARGEST_HEAD).await?;
            let (status, fields, is_old) = head(&self.bytes[..length])?;
            self.bytes.advance(length);
            if status.is_informational() && status != StatusCode::SWITCHING_PROTOCOLS {
                continue;
            }
            let length = body_length(status, &fields)?;
            let is_last = is_old || says_close(&fields) || length == Length::UntilClose;
            let most = if status == StatusCode::OK { LARGEST_BODY } else { MOST_QUOTED };
            let mut body = Body { kept: BytesMut::new(), most, length: 0 };
            match length {
                Length::Bytes(length) => self.pass(length, &mut body).await?,
                Length::Chunked => self.chunks(&mut body).await?,
                Length::UntilClose => self.rest(&mut body).await?,
            }
            let mut response = Response::new(body.kept.freeze());
            *response.status_mut() = status;
            *response.headers_mut() = fields;
            return Ok((response, is_last));
        }
        Err(format!("more than {MOST_INTERIM} responses 1xx to one request"))
    }

    /// Returns the length of what ends with these bytes, once it is there.
    async fn line_end(&mut self, end: &[u8], most: usize) -> Result<usize, String> {
        let mut searched = 0;
        loop {
            let found = self.bytes[searched..].windows(end.len()).position(|bytes| bytes == end);
            match found.map(|place| searched + place + end.len()) {
                Some(length) if length <= most => return Ok(length),
                None if self.bytes.len() <= most => {}
                _ => return Err(format!("a response with more than {most} bytes before its body")),
            }
            searched = self.bytes.len().saturating_sub(end.len() - 1);
            if !self.more().await? {
                return Err(closed(self.bytes));
            }
        }
    }

    /// Reads what has arrived; false if nothing more will.
    async fn more(&mut self) -> Result<bool, String> {
        self.bytes.reserve(PIECE);
        let read = self.from.read_buf(self.bytes).await;
        read.map(|length| 0 < length).map_err(|error| error.to_string())
    }

    /// Moves so many bytes to the body.
    async fn pass(&mut self, mut left: usize, body: &mut Body) -> Result<(), String> {
        body.has_room(left)?;
        loop {
            let length = left.min(self.bytes.len());
            body.add(&self.bytes[..length])?;
            self.bytes.advance(length);
            left -= length;
            if left == 0 {
                return Ok(());
            }
            if !self.more().await? {
                return Err(closed(b"a part"));
            }
        }
    }

    async fn chunks(&mut self, body: &mut Body) -> Result<(), String> {
        loop {
            let line = self.line_end(b"\r\n", LARGEST_CHUNK_LINE).await?;
            let size = httparse::parse_chunk_size(&self.bytes[..line]);
            let Ok(httparse::Status::Complete((_, size))) = size else {
                return Err("a response with a malformed chunk".to_owned());
            };
            self.bytes.advance(line);
            if size == 0 {
                break;
            }
            self.pass(size.try_into().unwrap_or(usize::MAX), body).await?;
            if self.line_end(b"\r\n", 2).await.is_err() {
                return Err("a response with a chunk longer than it says".to_owned());
            }
            self.bytes.advance(2);
        }
        // Fields behind the body say nothing to us.
        let mut most = LARGEST_HEAD;
        loop {
            let line = self.line_end(b"\r\n", most).await?;
            self.bytes.advance(line);
            if line == 2 {
                return Ok(());
            }
            most -= line;
        }
    }

    async fn rest(&mut self, body: &mut Body) -> Result<(), String> {
        loop {
            body.add(self.bytes)?;
            self.bytes.clear();
            if !self.more().await? {
                return Ok(());
            }
        }
    }
}

fn closed(so_far: &[u8]) -> String {
    let when = if so_far.is_empty() { "before its response" } else { "within its response" };
    format!("the connection was closed {when}")
}

/// The beginning of a body, and its length so far.
struct Body {
    kept: BytesMut,
    most: usize,
    length: usize,
}

impl Body {
    fn has_room(&self, more: usize) -> Result<(), String> {
        match self.length.checked_add(more) {
            Some(length) if length <= LARGEST_BODY => Ok(()),
            _ => Err(format!("a response with more than {LARGEST_BODY} bytes")),
        }
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.has_room(bytes.len())?;
        self.length += bytes.len();
        let kept = bytes.len().min(self.most - self.kept.len());
        self.kept.extend_from_slice(&bytes[..kept]);
        Ok(())
    }
}

/// Returns the status and the fields of a head, and true if it is of HTTP/1.0.
fn head(bytes: &[u8]) -> Result<(StatusCode, HeaderMap, bool), String> {
    let malformed = |why: String| format!("a malformed response: {why}");
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut parsed = httparse::Response::new(&mut fields);
    let status = match parsed.parse(bytes).map_err(|error| malformed(error.to_string()))? {
        httparse::Status::Complete(length) if length == bytes.len() => parsed.code,
        _ => None,
    };
    let status = StatusCode::from_u16(status.unwrap_or_default());
    let status = status.map_err(|error| malformed(error.to_string()))?;
    let mut map = HeaderMap::with_capacity(parsed.headers.len());
    for field in parsed.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes());
        let value = HeaderValue::from_bytes(field.value);
        let (Ok(name), Ok(value)) = (name, value) else {
            return Err(malformed(format!("the field {}", field.name)));
        };
        map.append(name, value);
    }
    Ok((status, map, parsed.version != Some(1)))
}

/// Returns the length of a body (RFC 9112, 6.3). What can be understood in two ways is refused.
fn body_length(status: StatusCode, fields: &HeaderMap) -> Result<Length, String> {
    if matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(Length::Bytes(0));
    }
    let coded = fields.contains_key(TRANSFER_ENCODING);
    let mut lengths = fields.get_all(CONTENT_LENGTH).into_iter();
    let length = lengths.next();
    if lengths.next().is_some() || coded && length.is_some() {
        return Err("a response with two lengths".to_owned());
    }
    if coded {
        let mut codings = fields.get_all(TRANSFER_ENCODING).into_iter();
        let is_chunked = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"chunked");
        return match codings.next().is_some_and(is_chunked) && codings.next().is_none() {
            true => Ok(Length::Chunked),
            false => Err("a response with an unknown transfer coding".to_owned()),
        };
    }
    let Some(length) = length else { return Ok(Length::UntilClose) };
    let digits = length.as_bytes();
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let number = is_number.then(|| str::from_utf8(digits).ok()?.parse().ok()).flatten();
    number.map(Length::Bytes).ok_or_else(|| "a response with a malformed length".to_owned())
}

fn says_close(fields: &HeaderMap) -> bool {
    let values = fields.get_all(CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|one| one.trim().eq_ignore_ascii_case("close"))
}

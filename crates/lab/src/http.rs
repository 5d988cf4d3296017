//! One request and its response, blocking: for readiness, smoke tests and actions, never for load.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use measure::{Instant, Nanos};
use results::secrets;
use wire::http1::{Ended, Expect, ResponseDecoder, ResponseEvent, check_request, encode_request};
use wire::url::{self, Destination, Scheme, Url};

use crate::spec::{Exchange, Method, plain};

#[cfg(test)]
mod tests;

/// The longest time for the kernel to take the request.
const SEND_WITHIN: Nanos = Nanos::from_secs(5);

/// The interval at which `give_up` is checked.
const POLL_EVERY: Duration = Duration::from_millis(100);

/// The longest part of a body that is kept; no check needs more than a megabyte.
const MOST_BODY_BYTES: usize = 1 << 20;

/// The response of the system to a request outside a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    pub status: u16,
    pub body: String,
}

impl Reply {
    /// Returns the response that an exchange expects, for backends without a system.
    pub fn as_expected(exchange: &Exchange) -> Reply {
        Reply { status: exchange.status.first(), body: exchange.expected_body().to_owned() }
    }
}

/// Sends one request to `url`. `give_up` is checked every 100 ms.
pub(crate) fn ask(
    url: &str,
    exchange: &Exchange,
    now: impl Fn() -> Instant,
    give_up: impl Fn() -> bool,
) -> Result<Reply, String> {
    let parts = parts(url)?;
    let request = request(&parts, exchange)?;
    let mut stream = connect((&parts.host, parts.port))?;
    stream.write_all(&request).map_err(|error| plain(&error))?;

    let timeout = exchange.within();
    let deadline = now() + timeout;
    let mut answer = Response::default();
    let mut buffer = [0; 16 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return answer.closed(),
            Ok(n) => {
                if let Some(reply) = answer.take(&buffer[..n])? {
                    return Ok(reply);
                }
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) => return Err(plain(&error)),
        }
        if give_up() {
            return Err("interrupted".to_owned());
        }
        if deadline < now() {
            return Err(format!("no answer in {timeout}"));
        }
    }
}

/// Returns the bytes of a request. A header of the exchange replaces ours, also that of the URL's user
/// information.
fn request(parts: &Parts, exchange: &Exchange) -> Result<Vec<u8>, String> {
    let Parts { user_info, authority, base, .. } = parts;
    let Exchange { method, target, send, .. } = exchange;
    let body = send.body.as_ref().map(ToString::to_string);
    let length = body.as_ref().map_or(0, String::len).to_string();
    let mut fields = vec![("Host", authority.as_str()), ("Connection", "close")];
    let authorization = user_info.as_deref().map(secrets::basic);
    fields.extend(authorization.as_deref().map(|value| ("Authorization", value)));
    fields.extend(send.body.as_ref().map(|body| ("Content-Type", body.content_type())));
    let is_given = |name: &str| send.headers.keys().any(|given| given.eq_ignore_ascii_case(name));
    fields.retain(|(name, _)| !is_given(name));
    fields.extend(send.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    if *method == Method::Post && !is_given("Content-Length") {
        fields.push(("Content-Length", &length));
    }
    let target = format!("{base}/{}", target.trim_start_matches('/'));
    let body = body.unwrap_or_default();
    let (method, body) = (method.to_string(), body.as_bytes());
    check_request(&method, &target, &fields, body)?;
    let mut request = Vec::new();
    encode_request(&method, &target, &fields, body, &mut request);
    Ok(request)
}

fn is_timeout(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

fn connect((host, port): (&str, u16)) -> Result<TcpStream, String> {
    let addresses = (host, port).to_socket_addrs().map_err(|_| format!("unknown host {host}"))?;
    let mut last = format!("{host} has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, Duration::from_secs(2)) {
            Ok(stream) => {
                stream.set_read_timeout(Some(POLL_EVERY)).map_err(|error| plain(&error))?;
                stream
                    .set_write_timeout(Some(SEND_WITHIN.into()))
                    .map_err(|error| plain(&error))?;
                return Ok(stream);
            }
            Err(error) => last = plain(&error),
        }
    }
    Err(last)
}

/// The parts of `http://user:password@host:port/base`.
struct Parts {
    user_info: Option<String>,
    host: String,
    port: u16,
    authority: String,
    /// The path that comes before those of requests: without the last slash and a query.
    base: String,
}

fn parts(url: &str) -> Result<Parts, String> {
    let Url { scheme, user_info, place, authority, target } = url::parse(url)?;
    let (Scheme::Http, Destination::Host(host, port)) = (scheme, place) else {
        return Err(format!(
            "`{url}` is not a valid address; write for example http://127.0.0.1:8080"
        ));
    };
    let base = target.split('?').next().unwrap_or_default().trim_end_matches('/').to_owned();
    Ok(Parts { user_info, host, port: port.unwrap_or(scheme.port()), authority, base })
}

#[derive(Default)]
struct Response {
    decoder: ResponseDecoder,
    status: u16,
    body: Vec<u8>,
}

impl Response {
    fn take(&mut self, mut bytes: &[u8]) -> Result<Option<Reply>, String> {
        loop {
            let event = self.decoder.next(&mut bytes, Expect::Body);
            match event.map_err(|error| error.to_string())? {
                None => return Ok(None),
                Some(ResponseEvent::Head(head, _)) => self.status = head.status,
                Some(ResponseEvent::Body(piece)) => {
                    let room = MOST_BODY_BYTES.saturating_sub(self.body.len());
                    self.body.extend_from_slice(&piece[..piece.len().min(room)]);
                }
                Some(ResponseEvent::End(_)) => return Ok(Some(self.reply())),
            }
        }
    }

    fn closed(&mut self) -> Result<Reply, String> {
        match self.decoder.close() {
            Ended::Complete => Ok(self.reply()),
            Ended::Between => Err("the connection was closed without an answer".to_owned()),
            Ended::Truncated => Err("the connection was closed in the middle of the answer".into()),
        }
    }

    fn reply(&self) -> Reply {
        Reply { status: self.status, body: String::from_utf8_lossy(&self.body).into_owned() }
    }
}

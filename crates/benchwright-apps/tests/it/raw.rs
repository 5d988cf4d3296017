//! Requests as raw bytes, also such as no client would send, and their responses.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The longest time for the other side to read, or to answer.
pub(crate) const LONG: Duration = Duration::from_secs(20);

pub(crate) fn head(method: &str, path: &str, fields: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n{fields}\r\n")
        .into()
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

/// Sends a head, and then the same bytes again and again until the other side closes; returns the
/// bytes sent and the response. A side that neither reads nor closes is an error.
pub(crate) fn pour(address: SocketAddr, head: &[u8], again: &[u8], most: usize) -> (usize, String) {
    let mut stream = connect(address);
    let mut sent = 0;
    let mut written = stream.write_all(head);
    while written.is_ok() && sent < most {
        written = stream.write_all(again);
        sent += again.len();
    }
    let is_stuck = |error: &std::io::Error| {
        matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
    };
    assert!(!written.is_err_and(|error| is_stuck(&error)), "nobody reads after {sent} bytes");
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    assert!(!read.is_err_and(|error| is_stuck(&error)), "no response after {sent} bytes");
    (sent, String::from_utf8_lossy(&answer).into_owned())
}

/// A request of which the last byte does not come.
pub(crate) struct Unfinished {
    stream: TcpStream,
    /// The other side closed the connection before it had all that was sent.
    was_closed: bool,
}

impl Unfinished {
    pub(crate) fn send(address: SocketAddr, bytes: &[u8]) -> Unfinished {
        let mut stream = connect(address);
        let was_closed = stream.write_all(bytes).is_err_and(|error| {
            // The kernel tells it once: whoever looks later sees only an end.
            matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
        });
        Unfinished { stream, was_closed }
    }

    /// Returns true if it was answered with 503, or cut off.
    pub(crate) fn is_refused(&self) -> bool {
        if self.was_closed {
            return true;
        }
        self.stream.set_nonblocking(true).unwrap();
        let mut answer = [0; 12];
        match self.stream.peek(&mut answer) {
            Ok(length) => answer[..length] == *b"HTTP/1.1 503",
            // What it had not read yet took the response with it.
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }
}

//! Minimal servers for tests, which answer with given bytes.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::path::Path;

/// The reaction of a connection to each request.
#[derive(Clone)]
pub(crate) enum Answer {
    /// Writes these bytes.
    With(Vec<u8>),
    /// Writes these bytes and closes.
    AndClose(Vec<u8>),
    /// Writes these bytes and breaks the connection.
    AndReset(Vec<u8>),
    /// Writes these bytes again and again, for as long as the other side takes them.
    Endless(Vec<u8>),
    /// Sends nothing.
    Silence,
}

/// Serves until the test's process ends; returns the URL.
pub(crate) fn serve(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                if converse(&stream, &answer) {
                    reset(&stream);
                }
            });
        }
    });
    url
}

/// Serves with `answer`, which gets the number of the connection and each whole request, with its
/// counted body.
pub(crate) fn serve_each(
    answer: impl Fn(usize, &str) -> Vec<u8> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let answer = std::sync::Arc::new(answer);
    std::thread::spawn(move || {
        for (number, mut stream) in listener.incoming().flatten().enumerate() {
            let answer = std::sync::Arc::clone(&answer);
            std::thread::spawn(move || {
                stream.set_nodelay(true).unwrap();
                let mut buffer: Vec<u8> = Vec::new();
                let mut chunk = [0; 4096];
                loop {
                    let mut answers = Vec::new();
                    while let Some(end) = end_of_request(&buffer) {
                        let request = String::from_utf8(buffer.drain(..end).collect()).unwrap();
                        answers.extend(answer(number, &request));
                    }
                    if stream.write_all(&answers).is_err() {
                        return;
                    }
                    match stream.read(&mut chunk) {
                        Ok(0) | Err(_) => return,
                        Ok(count) => buffer.extend(&chunk[..count]),
                    }
                }
            });
        }
    });
    url
}

fn end_of_request(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).unwrap().to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let end = head + length.map_or(0, |length| length.trim().parse::<usize>().unwrap());
    (end <= bytes.len()).then_some(end)
}

/// Serves on a socket in the file system.
pub(crate) fn serve_at(path: &Path, answer: Answer) {
    let listener = UnixListener::bind(path).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = answer.clone();
            std::thread::spawn(move || converse(&stream, &answer));
        }
    });
}

/// Answers every header block; returns true if the connection is to be reset.
fn converse<'a, S>(stream: &'a S, answer: &Answer) -> bool
where
    &'a S: Read + Write,
{
    let (mut reader, mut writer) = (stream, stream);
    let mut buffer: Vec<u8> = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        while let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            buffer.drain(..end + 4);
            let written = match answer {
                Answer::With(bytes) => writer.write_all(bytes),
                Answer::AndClose(bytes) => {
                    let _ = writer.write_all(bytes);
                    return false;
                }
                Answer::AndReset(bytes) => {
                    let _ = writer.write_all(bytes);
                    return true;
                }
                Answer::Endless(bytes) => loop {
                    if let Err(error) = writer.write_all(bytes) {
                        break Err(error);
                    }
                },
                Answer::Silence => Ok(()),
            };
            if written.is_err() {
                return false;
            }
        }
        match reader.read(&mut chunk) {
            Ok(0) | Err(_) => return false,
            Ok(count) => buffer.extend(&chunk[..count]),
        }
    }
}

/// Makes the next close a reset, by discarding what was not sent.
fn reset(stream: &TcpStream) {
    let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
    nix::sys::socket::setsockopt(stream, nix::sys::socket::sockopt::Linger, &linger).unwrap();
}

/// Returns a whole response with a counted body.
pub(crate) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

//! A minimal server that wrk's parser accepts, with paths for errors.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// Serves until the test's process ends; the path of a request selects the behaviour.
pub(crate) fn start() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || stream.and_then(serve));
        }
    });
    address
}

/// Answers requests without bodies, one by one, until the peer has closed.
fn serve(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::new();
    while let Some(request) = next_request(&mut stream, &mut buffer)? {
        match path(&request) {
            // Half of an answer, then the connection is closed.
            "/close" => {
                return stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234");
            }
            "/missing" => answer(&mut stream, "404 Not Found")?,
            "/slow" => {
                sleep(Duration::from_millis(300));
                answer(&mut stream, "200 OK")?;
            }
            _ => answer(&mut stream, "200 OK")?,
        }
    }
    Ok(())
}

fn answer(stream: &mut TcpStream, status: &str) -> io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nhello")
}

/// The next request, with its header block; `None` once the peer has closed.
fn next_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<String>> {
    loop {
        if let Some(end) = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let request = buffer.drain(..end + 4).collect();
            return Ok(String::from_utf8(request).ok());
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk)? {
            0 => return Ok(None),
            count => buffer.extend(&chunk[..count]),
        }
    }
}

fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap_or_default()
}

fn sleep(length: Duration) {
    #[expect(clippy::disallowed_methods, reason = "a foreign program waits on the real clock")]
    std::thread::sleep(length);
}

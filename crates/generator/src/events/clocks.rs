//! The clocks of receivers on other hosts, compared with the own one by questions to `/clock`.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use load::receiver::CLOCK_PATH;
use measure::offset::{Offset, Reading};
use measure::{Instant, Nanos};
use net::clock;
use serde::Deserialize;
use wire::http1::{Expect, ResponseDecoder, ResponseEvent};

/// The number of questions: the quickest answer counts.
const QUESTIONS: usize = 100;

/// The time between two questions, so that one pause of a machine does not meet all of them.
const BETWEEN: Nanos = Nanos::from_millis(2);

/// The longest time to connect, and to wait for an answer.
const LONGEST: Duration = Duration::from_secs(2);

/// The most bytes of an answer.
const MOST_ANSWER: usize = 4096;

/// Returns the name of the clock that all times of this process are by.
pub(crate) fn name() -> Option<String> {
    net::host::clock_name()
}

/// The answer of a receiver.
#[derive(Deserialize)]
struct Told {
    clock: Option<String>,
    now_ns: u64,
}

/// Compares the clock of the receiver at an address with the own one; returns its name and offset.
pub(super) fn compare(address: &str) -> Result<(String, Offset), String> {
    let mut stream = connect(address)?;
    let request = format!("GET {CLOCK_PATH} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let (mut name, mut readings) = (None, Vec::with_capacity(QUESTIONS));
    for _ in 0..QUESTIONS {
        let asked = clock::now();
        let told = ask(&mut stream, request.as_bytes())?;
        let answered = clock::now();
        readings.push(Reading { asked, its: Instant(told.now_ns), answered });
        name = told.clock;
        clock::sleep_until(clock::now() + BETWEEN);
    }
    let offset = Offset::by(&readings).expect("there are readings");
    name.map(|name| (name, offset))
        .ok_or_else(|| "it does not know the name of its clock".to_owned())
}

fn connect(address: &str) -> Result<TcpStream, String> {
    let mut addresses = address.to_socket_addrs().map_err(|error| error.to_string())?;
    let first = addresses.next().ok_or("the name has no address")?;
    let stream = TcpStream::connect_timeout(&first, LONGEST).map_err(|error| error.to_string())?;
    let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(LONGEST)));
    set.map_err(|error| error.to_string())?;
    Ok(stream)
}

/// Sends a question, and waits for its answer.
fn ask(stream: &mut TcpStream, request: &[u8]) -> Result<Told, String> {
    stream.write_all(request).map_err(|error| error.to_string())?;
    let (mut decoder, mut body, mut status) = (ResponseDecoder::default(), Vec::new(), 0);
    let mut buffer = [0; MOST_ANSWER];
    loop {
        let read = stream.read(&mut buffer).map_err(|error| error.to_string())?;
        if read == 0 || MOST_ANSWER < body.len() {
            return Err("it is not a `benchwright receive`: it closed the connection".to_owned());
        }
        let mut bytes = &buffer[..read];
        loop {
            let event = decoder.next(&mut bytes, Expect::Body);
            match event.map_err(|malformed| malformed.to_string())? {
                None => break,
                Some(ResponseEvent::Head(head, _)) => status = head.status,
                Some(ResponseEvent::Body(piece)) => body.extend_from_slice(piece),
                Some(ResponseEvent::End(_)) => {
                    let told = serde_json::from_slice(&body).ok().filter(|_| status == 200);
                    let wrong =
                        || format!("it is not a `benchwright receive`: it answers {status}");
                    return told.ok_or_else(wrong);
                }
            }
        }
    }
}

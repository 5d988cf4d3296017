//! The network for scripts before anything is measured: they look names up, try addresses, log in.
//! Its calls block, and it has no part in the load.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use net::Address;
use wire::http1::{Ended, Expect, ResponseDecoder, ResponseEvent, fields};

use crate::batch;

#[cfg(test)]
mod tests;

/// A network for scripts: it finds addresses and opens connections. All calls may block.
pub trait Network: Send + Sync {
    /// The addresses of a name; `service` is a port, or a name that has one.
    fn lookup(&self, host: &str, service: &str) -> io::Result<Vec<Address>>;

    /// Opens a connection; it is closed when it is dropped.
    fn open(&self, to: &Address) -> io::Result<Box<dyn Stream>>;
}

pub trait Stream: Read + Write {}

impl<S: Read + Write> Stream for S {}

/// The operating system's network; nothing takes longer than `timeout`.
#[derive(Clone, Copy, Debug)]
pub struct System {
    pub timeout: Duration,
}

/// A network without any peer: every name has an address, which accepts every connection and
/// closes it. It is used to try a script.
#[derive(Clone, Copy, Debug)]
pub struct Nowhere;

impl Network for System {
    fn lookup(&self, host: &str, service: &str) -> io::Result<Vec<Address>> {
        let port = port_of(service)?;
        Ok((host, port).to_socket_addrs()?.map(Address::Inet).collect())
    }

    fn open(&self, to: &Address) -> io::Result<Box<dyn Stream>> {
        let timeout = Some(self.timeout);
        match to {
            Address::Inet(address) => {
                let stream = TcpStream::connect_timeout(address, self.timeout)?;
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)?;
                Ok(Box::new(stream))
            }
            Address::Unix(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(timeout)?;
                stream.set_write_timeout(timeout)?;
                Ok(Box::new(stream))
            }
        }
    }
}

impl Network for Nowhere {
    fn lookup(&self, _host: &str, service: &str) -> io::Result<Vec<Address>> {
        let port = port_of(service)?;
        Ok(vec![Address::Inet(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))])
    }

    fn open(&self, _to: &Address) -> io::Result<Box<dyn Stream>> {
        Ok(Box::new(io::empty()))
    }
}

fn port_of(service: &str) -> io::Result<u16> {
    let well_known = || match service {
        "http" => Some(80),
        "https" => Some(443),
        _ => listed(&fs::read_to_string("/etc/services").ok()?, service),
    };
    service.parse().ok().or_else(well_known).ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, "is neither a port nor a service with a known port")
    })
}

/// Finds the port of a service in lines of the form `name port/protocol alias… # comment`.
fn listed(services: &str, wanted: &str) -> Option<u16> {
    services.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let (name, port) = (words.next()?, words.next()?.strip_suffix("/tcp")?);
        let is_meant = name == wanted || words.any(|alias| alias == wanted);
        is_meant.then(|| port.parse().ok())?
    })
}

/// The text of an error, without the number that Rust appends and the prefix of the failed call.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    text.strip_prefix("failed to lookup address information: ").unwrap_or(text).to_owned()
}

/// An address as text for Lua, which `address_of` parses.
pub(crate) fn name_of(address: &Address) -> String {
    match address {
        Address::Inet(address) => address.to_string(),
        Address::Unix(path) => format!("{UNIX}{}", path.display()),
    }
}

pub(crate) fn address_of(name: &str) -> Address {
    match name.strip_prefix(UNIX) {
        Some(path) => Address::Unix(PathBuf::from(path)),
        None => Address::Inet(name.parse().expect("Lua returns names unchanged")),
    }
}

const UNIX: &str = "unix:";

/// A complete answer.
#[derive(Debug, Default, Eq, PartialEq)]
pub(crate) struct Fetched {
    pub(crate) status: u16,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

/// The longest body that a script may fetch.
const MOST_BODY: usize = 64 * 1024 * 1024;

/// Sends one request on its own connection and waits for the answer; otherwise returns the reason.
pub(crate) fn fetch(
    network: &dyn Network,
    from: &Address,
    request: &[u8],
) -> Result<Fetched, String> {
    let mut expected = Vec::new();
    batch::inspect(request, |expect, _| expected.push(expect))
        .map_err(|wrong| format!("the request {wrong}"))?;
    let [expect] = expected[..] else { return Err("one request at a time".to_owned()) };
    let mut stream = network.open(from).map_err(|error| reason(&error))?;
    stream.write_all(request).map_err(|error| reason(&error))?;
    receive(&mut *stream, expect)
}

fn receive(stream: &mut dyn Stream, expect: Expect) -> Result<Fetched, String> {
    let mut decoder = ResponseDecoder::default();
    let mut fetched = Fetched::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match stream.read(&mut buffer) {
            Ok(0) if decoder.close() == Ended::Complete => return Ok(fetched),
            Ok(0) => return Err("the connection closed before the answer was complete".to_owned()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Err("no answer came in time".to_owned());
            }
            Err(error) => return Err(reason(&error)),
        };
        let mut bytes = &buffer[..read];
        while let Some(event) =
            decoder.next(&mut bytes, expect).map_err(|malformed| malformed.to_string())?
        {
            match event {
                ResponseEvent::Head(head, _) if head.status < 200 => {}
                ResponseEvent::Head(head, block) => {
                    fetched.status = head.status;
                    let owned = |(name, value): (&str, &[u8])| (name.to_owned(), value.to_vec());
                    fetched.fields = fields(block).map(owned).collect();
                }
                ResponseEvent::Body(piece) => {
                    fetched.body.extend_from_slice(piece);
                    if MOST_BODY < fetched.body.len() {
                        return Err(format!("the body is longer than {MOST_BODY} bytes"));
                    }
                }
                ResponseEvent::End(_) => return Ok(fetched),
            }
        }
    }
}

//! Waiting for a component: for its own line `ready <url>`, or for the signs that the spec names of a
//! foreign program.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use lab::backend::{Foreign, Service, Stop};
use lab::host::rest;
use lab::spec::plain;
use regex::Regex;
use wire::url::{self, Destination, Server};

use crate::output::Lines;
use crate::process::POLL_EVERY;

#[cfg(test)]
mod tests;

/// The beginning of the line by which a component tells its URL.
const READY: &str = "ready ";
/// The longest time for one attempt to connect on this host.
const CONNECT_WITHIN: Duration = Duration::from_millis(200);

/// A component that was started and is not ready yet.
pub(super) struct Waiting {
    /// The line that shows its readiness, once it was printed.
    line: Receiver<String>,
    sign: Sign,
}

enum Sign {
    /// A line `ready <url>` on stdout.
    Line,
    /// Everything here that is not over yet.
    Port { scheme: String, port: u16, log: Option<Regex>, tcp: bool },
}

impl Waiting {
    /// Waits for a replica of a service; of a foreign one at this port. Returns what takes the lines of its
    /// stdout and its stderr: however much it prints before it is ready, only the awaited line is kept.
    pub(super) fn new(port: Option<u16>, service: &Service) -> (Waiting, [Option<Lines>; 2]) {
        let (sender, line) = mpsc::sync_channel(1);
        let lines = |is_wanted| Some(Lines { sender: sender.clone(), is_wanted });
        let scheme = service.scheme().to_owned();
        let (sign, lines) = match port.zip(service.foreign.clone()) {
            None => {
                let is_sign = Box::new(|line: &str| line.starts_with(READY));
                (Sign::Line, [lines(is_sign), None])
            }
            Some((port, Foreign { tcp, log: None, .. })) => {
                (Sign::Port { scheme, port, log: None, tcp }, [None, None])
            }
            // It may print the line on either stream.
            Some((port, Foreign { tcp, log: Some(pattern), .. })) => {
                let matches = || {
                    let pattern = pattern.regex();
                    lines(Box::new(move |line: &str| pattern.is_match(line)))
                };
                let both = [matches(), matches()];
                (Sign::Port { scheme, port, log: Some(pattern.regex()), tcp }, both)
            }
        };
        (Waiting { line, sign }, lines)
    }

    /// Waits a moment, and returns the URL of a component that is ready.
    pub(super) fn poll(&mut self) -> Option<String> {
        match &mut self.sign {
            Sign::Line => {
                let line = next(&self.line)?;
                line.strip_prefix(READY).map(|url| url.trim().to_owned())
            }
            Sign::Port { scheme, port, log, tcp } => {
                if log.is_some() {
                    next(&self.line)?;
                    *log = None;
                }
                if *tcp && !accepts(*port) {
                    rest(POLL_EVERY);
                    return None;
                }
                *tcp = false;
                Some(format!("{scheme}://127.0.0.1:{port}"))
            }
        }
    }

    /// Describes the sign that did not come: `it never printed …`
    pub(super) fn missing(&self, service: &Service) -> String {
        match &self.sign {
            Sign::Line => {
                format!("it never printed `ready <url>`{}", remedy(service).unwrap_or_default())
            }
            Sign::Port { log: Some(pattern), .. } => {
                format!("it never printed a line that `{pattern}` matches")
            }
            Sign::Port { port, .. } => format!("it accepts no connection at port {port}"),
        }
    }
}

/// Returns the end of a component that was never ready, with the remedy if it may not know our option.
pub(super) fn told(stop: Stop, service: &Service) -> Stop {
    match (stop, remedy(service)) {
        (Stop::Died { component, why, last_lines }, Some(remedy)) => {
            Stop::Died { component, why: format!("{why} before it was ready{remedy}"), last_lines }
        }
        (stop, _) => stop,
    }
}

/// Returns what to write for a program that knows nothing of us; `None` for our own ones, and for a component whose
/// command or spec says where it listens.
fn remedy(service: &Service) -> Option<String> {
    let is_own = service.command.first().is_some_and(|program| program == "benchwright");
    (service.takes_listen() && !is_own).then(|| {
        "; we appended `--listen ADDRESS:PORT` to its command, and await its line `ready <url>`: if it knows \
         neither, write `port: auto` beside its command, and ${port} where the command names the port"
            .to_owned()
    })
}

/// Returns the server of what a component printed behind `ready`: its URL, or its address if the spec states the
/// scheme; what follows them is its own. It must be a place on this host, since its load must reach nobody else,
/// and of the scheme that the spec states.
pub(super) fn check(printed: &str, service: &Service) -> Result<Server, String> {
    let word = printed.split_whitespace().next().unwrap_or_default();
    let is_address = word.parse::<SocketAddr>().is_ok();
    let server = match service.scheme.as_deref() {
        Some(stated) if is_address => url::server(&format!("{stated}://{word}"))?,
        None if is_address => {
            let why = url::server(word).expect_err("it has no scheme");
            return Err(format!("{why}, or state its `scheme` in the spec"));
        }
        _ => url::server(word)?,
    };
    if let Some(stated) = service.scheme.as_deref().filter(|stated| *stated != server.scheme) {
        return Err(format!(
            "its `scheme` in the spec is {stated}; write scheme: {}",
            server.scheme
        ));
    }
    let (Destination::Host(host, _), Some(port)) = (&server.place, server.port) else {
        return Ok(server);
    };
    let addresses = (host.as_str(), port).to_socket_addrs();
    let addresses = addresses.map_err(|error| format!("`{host}`: {}", plain(&error)))?;
    // The kernel gives a socket only an address of its own.
    let is_own = |address: SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
    match addresses.into_iter().all(is_own) {
        true => Ok(server),
        false => Err(format!(
            "`{host}` is not this host; load a service elsewhere by `where: {{backend: external}}` and \
             `sut.endpoint`"
        )),
    }
}

/// Waits a moment for the line.
fn next(lines: &Receiver<String>) -> Option<String> {
    match lines.recv_timeout(POLL_EVERY) {
        Ok(line) => Some(line),
        Err(RecvTimeoutError::Timeout) => None,
        // Its stdout is closed, but it may not have ended yet.
        Err(RecvTimeoutError::Disconnected) => {
            rest(POLL_EVERY);
            None
        }
    }
}

fn accepts(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, CONNECT_WITHIN).is_ok()
}

//! Waiting for a component: for its own line `ready <url>`, or for the signs that the spec names of a
//! foreign program.

use std::net::{Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use lab::backend::Foreign;
use lab::host::rest;
use lab::spec::plain;
use regex::Regex;
use wire::url::Place;

use super::POLL_EVERY;
use super::output::Lines;

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
    Port { port: u16, log: Option<Regex>, tcp: bool },
}

impl Waiting {
    /// Waits for a component; a foreign one has a port. Returns what takes the lines of its stdout and its
    /// stderr: however much it prints before it is ready, only the awaited line is kept.
    pub(super) fn new(
        port: Option<u16>,
        foreign: Option<Foreign>,
    ) -> (Waiting, [Option<Lines>; 2]) {
        let (sender, line) = mpsc::sync_channel(1);
        let lines = |is_wanted| Some(Lines { sender: sender.clone(), is_wanted });
        let (sign, lines) = match port.zip(foreign) {
            None => {
                let is_sign = Box::new(|line: &str| line.starts_with(READY));
                (Sign::Line, [lines(is_sign), None])
            }
            Some((port, Foreign { tcp, log: None, .. })) => {
                (Sign::Port { port, log: None, tcp }, [None, None])
            }
            // It may print the line on either stream.
            Some((port, Foreign { tcp, log: Some(pattern), .. })) => {
                let matches = || {
                    let pattern = pattern.regex();
                    lines(Box::new(move |line: &str| pattern.is_match(line)))
                };
                let both = [matches(), matches()];
                (Sign::Port { port, log: Some(pattern.regex()), tcp }, both)
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
            Sign::Port { port, log, tcp } => {
                if log.is_some() {
                    next(&self.line)?;
                    *log = None;
                }
                if *tcp && !accepts(*port) {
                    rest(POLL_EVERY);
                    return None;
                }
                *tcp = false;
                Some(format!("http://127.0.0.1:{port}"))
            }
        }
    }

    /// Describes the sign that did not come: `it never printed …`
    pub(super) fn missing(&self) -> String {
        match &self.sign {
            Sign::Line => "it never printed `ready <url>`".to_owned(),
            Sign::Port { log: Some(pattern), .. } => {
                format!("it never printed a line that `{pattern}` matches")
            }
            Sign::Port { port, .. } => format!("it accepts no connection at port {port}"),
        }
    }
}

/// Fails unless the URL that a component printed is a place on this host: its load must reach nobody else.
pub(super) fn check_local(url: &str) -> Result<(), String> {
    let parsed = wire::url::parse(url)?;
    let Place::Host(host, port) = &parsed.place else { return Ok(()) };
    let port = port.unwrap_or(parsed.scheme.port());
    let addresses = (host.as_str(), port).to_socket_addrs();
    let addresses = addresses.map_err(|error| format!("`{host}`: {}", plain(&error)))?;
    // The kernel gives a socket only an address of its own.
    let is_own = |address: SocketAddr| UdpSocket::bind((address.ip(), 0)).is_ok();
    match addresses.into_iter().all(is_own) {
        true => Ok(()),
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

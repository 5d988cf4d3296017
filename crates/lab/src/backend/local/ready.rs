//! Waiting for a component: for its own line `ready <url>`, or for the signs that the spec names of a
//! foreign program.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use regex::Regex;

use super::POLL_EVERY;
use crate::backend::Foreign;
use crate::host::rest;

#[cfg(test)]
mod tests;

/// The longest time for one attempt to connect on this host.
const CONNECT_WITHIN: Duration = Duration::from_millis(200);

/// A component that was started and is not ready yet.
pub(super) struct Waiting {
    lines: Receiver<String>,
    sign: Sign,
}

enum Sign {
    /// A line `ready <url>` on stdout.
    Line,
    /// Everything here that is not over yet.
    Port { port: u16, log: Option<Regex>, tcp: bool },
}

impl Waiting {
    /// Waits for a component with these lines of output; a foreign one has a port.
    pub(super) fn new(
        lines: Receiver<String>,
        port: Option<u16>,
        foreign: Option<Foreign>,
    ) -> Waiting {
        let sign = match port.zip(foreign) {
            None => Sign::Line,
            Some((port, Foreign { tcp, log, .. })) => {
                Sign::Port { port, log: log.map(|pattern| pattern.regex()), tcp }
            }
        };
        Waiting { lines, sign }
    }

    /// Waits a moment, and returns the URL of a component that is ready.
    pub(super) fn poll(&mut self) -> Option<String> {
        match &mut self.sign {
            Sign::Line => {
                let line = next(&self.lines)?;
                line.strip_prefix("ready ").map(|url| url.trim().to_owned())
            }
            Sign::Port { port, log, tcp } => {
                if let Some(pattern) = log {
                    if !next(&self.lines).is_some_and(|line| pattern.is_match(&line)) {
                        return None;
                    }
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

/// Waits a moment for the next line.
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

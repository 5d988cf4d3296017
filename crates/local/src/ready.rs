//! Waiting for a component: for its own line `ready <url>`, or for the signs that the spec names of a
//! foreign program.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use lab::backend::{Foreign, Service, Stop};
use lab::host::rest;
use lab::spec::plain;
use nix::ifaddrs::getifaddrs;
use regex::Regex;
use wire::url::{self, Destination, Server};

use crate::output::Lines;
use crate::process::POLL_EVERY;

#[cfg(test)]
mod tests;

/// The beginning of the line by which a component tells its URL.
const READY: &str = "ready ";
/// That line in a message.
const AWAITED: &str = "its line `ready <url>`";
/// The longest time for one attempt to connect on this host.
const CONNECT_WITHIN: Duration = Duration::from_millis(200);
/// The schemes whose servers show a certificate for their name.
const WITH_CERTIFICATES: [&str; 2] = ["https", "rediss"];

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
                format!("it never printed `ready <url>`{}", service.listen_remedy(AWAITED))
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
    let remedy = service.listen_remedy(AWAITED);
    match stop {
        Stop::Died { component, why, last_lines } if !remedy.is_empty() => {
            Stop::Died { component, why: format!("{why} before it was ready{remedy}"), last_lines }
        }
        stop => stop,
    }
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
    of_this_host(&server, host, &addresses.collect::<Vec<_>>(), &own_addresses())
}

/// Returns the server if all addresses of its host are among our own. A name that others give a meaning to is replaced
/// by its address: the generator would ask for it once more, and could get another one. One with a certificate stays,
/// since whoever answers must show that.
fn of_this_host(
    server: &Server,
    host: &str,
    addresses: &[SocketAddr],
    own: &[IpAddr],
) -> Result<Server, String> {
    let is_own = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified() || own.contains(&ip);
    if !addresses.iter().all(|address| is_own(address.ip().to_canonical())) {
        return Err(format!(
            "`{host}` is not this host; load a service elsewhere by `where: {{backend: external}}` and \
             `sut.endpoint`"
        ));
    }
    let is_fixed = host.parse::<IpAddr>().is_ok()
        || host.eq_ignore_ascii_case("localhost")
        || WITH_CERTIFICATES.contains(&&*server.scheme);
    if is_fixed {
        return Ok(server.clone());
    }
    let accepts =
        |address: &&SocketAddr| TcpStream::connect_timeout(address, CONNECT_WITHIN).is_ok();
    let chosen = match addresses {
        [] => return Err(format!("`{host}` has no address")),
        [only] => only,
        [first, ..] => addresses.iter().find(accepts).unwrap_or(first),
    };
    let (scheme, rest) = server.url.split_once("://").expect("it was parsed");
    let (authority, target) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let user_info = &authority[..authority.rfind('@').map_or(0, |at| at + 1)];
    url::server(&format!("{scheme}://{user_info}{chosen}{target}"))
}

/// Returns the addresses of the interfaces of this host.
fn own_addresses() -> Vec<IpAddr> {
    let addresses = getifaddrs().into_iter().flatten().filter_map(|interface| interface.address);
    let ip = |address: nix::sys::socket::SockaddrStorage| -> Option<IpAddr> {
        let four = address.as_sockaddr_in().map(|address| IpAddr::from(address.ip()));
        four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::from(address.ip())))
    };
    addresses.filter_map(ip).collect()
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

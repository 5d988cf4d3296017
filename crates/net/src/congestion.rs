//! TCP's congestion control: it limits how much data a connection may have in flight, and paces it.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use crate::socket;

#[cfg(test)]
mod tests;

/// Returns the congestion control that a connection gets by default.
pub fn of_system() -> Option<String> {
    let socket = socket::stream(NOWHERE).ok()?;
    socket::congestion_control(socket.as_raw_fd()).ok()
}

/// Fails, with the remedy, if connections cannot use the congestion control of this name.
pub fn check(name: &str) -> Result<(), String> {
    let given = socket::stream(NOWHERE)
        .and_then(|socket| socket::control_congestion(socket.as_raw_fd(), name));
    given.map_err(|error| {
        let (why, list) = match error.kind() {
            io::ErrorKind::NotFound => ("there is none of this name", "available"),
            io::ErrorKind::PermissionDenied => ("only root may choose it", "allowed"),
            _ => return format!("`{name}`: {error}"),
        };
        let path = format!("/proc/sys/net/ipv4/tcp_{list}_congestion_control");
        let known = fs::read_to_string(path).unwrap_or_default();
        format!("`{name}`: {why}\n  {list} here: {}", known.trim())
    })
}

/// An address for a socket that is never connected.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

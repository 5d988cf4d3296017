//! Ports for programs that cannot print their own.
//!
//! The kernel knows no way to reserve a port for another process, so a chosen port may be taken
//! before the program binds it. That is rare: the ports lie below those that the kernel gives to
//! connections by itself, and each is chosen once. No socket is opened to find out that a port is
//! free, because a process that is started at that moment would hold a copy of it.

use std::fs;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use super::sockets;

#[cfg(test)]
mod tests;

/// The lowest port that is chosen: the services of a host have lower ones.
const LOWEST: u16 = 10_000;
/// The fewest ports to choose from.
const FEWEST: u16 = 1_000;
/// The first port that the kernel gives to connections, unless its settings say otherwise.
const USUAL_FIRST: u16 = 32_768;

/// Returns a port at which no socket of this host listens or is connected. `None` if there is none.
pub(super) fn free() -> Option<u16> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let used = sockets::ports();
    let range = range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?);
    let length = u32::from(range.end - range.start);
    // Runs in other processes begin elsewhere.
    let first = std::process::id().wrapping_mul(0x9e37_79b1) >> 8;
    let next = || first.wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % length;
    let ports = std::iter::repeat_with(|| range.start + next() as u16);
    ports.take(length as usize).find(|port| !used.contains(port))
}

pub(super) fn is_free(port: u16) -> bool {
    !sockets::ports().contains(&port)
}

/// Returns the ports to choose from: those below the kernel's own range, or all if those are too few.
fn range(kernels: &str) -> Range<u16> {
    let first = kernels.split_whitespace().next().and_then(|port| port.parse().ok());
    let first: u16 = first.unwrap_or(USUAL_FIRST);
    if LOWEST + FEWEST <= first { LOWEST..first } else { LOWEST..u16::MAX }
}

/// Returns true if a program printed that its port was taken.
pub(super) fn was_taken(lines: &[String]) -> bool {
    lines.iter().any(|line| line.to_lowercase().contains("address already in use"))
}

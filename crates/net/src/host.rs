//! Counters of the kernel for the whole host (more exactly: for this network namespace).

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};

use crate::io::{Address, Endpoint};

#[cfg(test)]
mod tests;

/// TCP's segments since the host started, of all its connections.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Segments {
    pub sent: u64,
    /// The segments that were sent again.
    pub retransmitted: u64,
}

pub fn segments() -> Option<Segments> {
    read_segments(&fs::read_to_string("/proc/net/snmp").ok()?)
}

/// The id of this boot of this machine: CLOCK_MONOTONIC counts from it.
pub fn boot_id() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

/// The name of the clock that [`crate::clock::now`] reads: processes that find the same name read the
/// same clock.
pub fn clock_name() -> Option<String> {
    // Old kernels have no time namespaces, and no such file.
    let offsets = fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
    Some(named_clock(&boot_id()?, &offsets))
}

/// Adds to a boot id what a time namespace adds to its CLOCK_MONOTONIC, in seconds and nanoseconds.
fn named_clock(boot_id: &str, offsets: &str) -> String {
    let mut words = offsets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    match words.find(|words| words.first() == Some(&"monotonic")).as_deref() {
        Some([_, seconds, nanoseconds]) if (*seconds, *nanoseconds) != ("0", "0") => {
            format!("{boot_id}+{seconds}s+{nanoseconds}ns")
        }
        _ => boot_id.to_owned(),
    }
}

/// Parses a line of names and the line of figures below it, in the same order.
fn read_segments(snmp: &str) -> Option<Segments> {
    let mut lines = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, figures) = (lines.next()?.split_whitespace(), lines.next()?.split_whitespace());
    let mut sent = None;
    let mut retransmitted = None;
    for (name, figure) in names.zip(figures) {
        match name {
            "OutSegs" => sent = figure.parse().ok(),
            "RetransSegs" => retransmitted = figure.parse().ok(),
            _ => {}
        }
    }
    Some(Segments { sent: sent?, retransmitted: retransmitted? })
}

/// The number of local ports that the kernel can assign to connections between two addresses.
pub fn local_ports() -> Option<u64> {
    read_range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

/// The destination of connections, and their local address if it was chosen. Connections of the
/// same route differ only in their local ports.
pub type Route = (SocketAddr, Option<IpAddr>);

/// The route to an endpoint; `None` if it needs no ports.
pub fn route(endpoint: &Endpoint) -> Option<Route> {
    match endpoint.address {
        Address::Inet(address) => Some((address, endpoint.source)),
        Address::Unix(_) => None,
    }
}

/// The number of local ports that each route needs; connections use their endpoints in turn.
pub fn ports_needed<'a>(
    connections: impl IntoIterator<Item = (&'a [Endpoint], usize)>,
) -> BTreeMap<Route, usize> {
    let mut needed = BTreeMap::new();
    for (endpoints, connections) in connections {
        let share = connections.div_ceil(endpoints.len());
        for route in endpoints.iter().filter_map(route) {
            *needed.entry(route).or_default() += share;
        }
    }
    needed
}

/// The number of local ports that closed connections still occupy, in the state TIME_WAIT.
pub fn waiting_ports() -> Option<u64> {
    read_waiting(&fs::read_to_string("/proc/net/sockstat").ok()?)
}

fn read_range(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    Some((last + 1).saturating_sub(first))
}

fn read_waiting(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find(|line| line.starts_with("TCP:"))?;
    let mut words = line.split_whitespace().skip_while(|word| *word != "tw");
    words.nth(1)?.parse().ok()
}

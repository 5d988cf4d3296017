//! What the kernel accounts to the whole host (more exactly: to this network namespace).

use std::fs;

#[cfg(test)]
mod tests;

/// TCP's segments since the host started: of all its connections, not only of ours.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Segments {
    pub sent: u64,
    /// Those of them that were sent again.
    pub retransmitted: u64,
}

pub fn segments() -> Option<Segments> {
    read_segments(&fs::read_to_string("/proc/net/snmp").ok()?)
}

/// A line of names, and below it a line of figures in the same order.
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

/// How many local ports the kernel has to give to connections from one address to another.
pub fn local_ports() -> Option<u64> {
    read_range(&fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?)
}

/// At least so many local ports are free for connections to come.
///
/// Counted as if each TCP socket of the host held a port of that range for itself alone: sockets
/// that lead to different places may share one, so there may be more.
pub fn free_ports() -> Option<u64> {
    let v4 = fs::read_to_string("/proc/net/sockstat").ok()?;
    let v6 = fs::read_to_string("/proc/net/sockstat6").unwrap_or_default();
    Some(local_ports()?.saturating_sub(read_sockets(&v4) + read_sockets(&v6)))
}

fn read_range(text: &str) -> Option<u64> {
    let mut ends = text.split_whitespace().map(|end| end.parse::<u64>().ok());
    let (first, last) = (ends.next()??, ends.next()??);
    Some((last + 1).saturating_sub(first))
}

/// Sockets in use, and those which wait until nothing late can reach them.
fn read_sockets(sockstat: &str) -> u64 {
    let Some(line) = sockstat.lines().find(|line| line.starts_with("TCP")) else { return 0 };
    let words: Vec<&str> = line.split_whitespace().collect();
    let figure = |name: &str| {
        let place = words.iter().position(|word| *word == name)?;
        words.get(place + 1)?.parse::<u64>().ok()
    };
    figure("inuse").unwrap_or(0) + figure("tw").unwrap_or(0)
}

//! Counts of connections and of their unread data, by listening port, in one pass over the kernel's
//! tables.
//!
//! The pass takes time in proportion to the tables, so it is made once a second for all components
//! together.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;

#[cfg(test)]
mod tests;

const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// The kernel's names for states of a connection.
const ESTABLISHED: &[u8] = b"01";
const LISTEN: &[u8] = b"0A";

/// The sockets of the requested ports.
#[derive(Default)]
pub(super) struct Sockets {
    seen: BTreeMap<u16, PortSockets>,
    /// The tables that had a listening socket when the ports last changed.
    tables: Vec<&'static str>,
    buffer: Vec<u8>,
}

/// The sockets of one listening port.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct PortSockets {
    pub(super) listens: bool,
    pub(super) established: u64,
    /// Established connections with unread bytes.
    pub(super) unread: u64,
    pub(super) unread_bytes: u64,
    /// Connections that were not accepted yet.
    pub(super) backlog: u64,
}

impl Sockets {
    pub(super) fn look(&mut self, ports: impl Iterator<Item = u16>) {
        let known = self.seen.len();
        let wanted: BTreeMap<u16, PortSockets> =
            ports.map(|port| (port, PortSockets::default())).collect();
        let new = wanted.len() != known || wanted.keys().any(|port| !self.seen.contains_key(port));
        self.seen = wanted;
        if new {
            self.tables.clear();
        }
        for table in TABLES {
            // A table costs time even if none of our ports is in it.
            if !new && !self.tables.contains(&table) || self.seen.is_empty() {
                continue;
            }
            self.buffer.clear();
            let read = File::open(table).and_then(|mut file| file.read_to_end(&mut self.buffer));
            if read.is_ok() && count(&self.buffer, &mut self.seen) && new {
                self.tables.push(table);
            }
        }
    }

    /// Returns `None` if nothing listens there.
    pub(super) fn of(&self, port: u16) -> Option<PortSockets> {
        self.seen.get(&port).copied().filter(|seen| seen.listens)
    }
}

/// Returns the local ports of all sockets that listen, are connected, or were so a moment ago.
pub(super) fn ports() -> BTreeSet<u16> {
    let tables = TABLES.into_iter().filter_map(|table| std::fs::read(table).ok());
    let of_table = |table: Vec<u8>| {
        let lines = table.split(|&byte| byte == b'\n');
        lines.filter_map(|line| Some(socket(line)?.0)).collect::<Vec<u16>>()
    };
    tables.flat_map(of_table).collect()
}

/// Returns the processes that listen at one of these ports, as far as we may see whose sockets they are.
pub(super) fn listeners(ports: &BTreeSet<u16>) -> BTreeSet<u32> {
    let tables = TABLES.into_iter().filter_map(|table| std::fs::read(table).ok());
    let of_table = |table: Vec<u8>| {
        let lines = table.split(|&byte| byte == b'\n');
        lines.filter_map(|line| listening(line, ports)).collect::<Vec<String>>()
    };
    let sockets: BTreeSet<String> = tables.flat_map(of_table).collect();
    if sockets.is_empty() {
        return BTreeSet::new();
    }
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let has_one = |pid: &u32| {
        let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        links.any(|link| link.to_str().is_some_and(|link| sockets.contains(link)))
    };
    pids.filter(has_one).collect()
}

/// Returns the link of a socket that listens at one of these ports: `socket:[4026]`.
fn listening(line: &[u8], ports: &BTreeSet<u16>) -> Option<String> {
    let (port, state, _) = socket(line)?;
    let inode = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty()).nth(9)?;
    let is_wanted = state == LISTEN && ports.contains(&port);
    is_wanted.then(|| format!("socket:[{}]", String::from_utf8_lossy(inode)))
}

/// Adds a table's sockets to their ports; returns true if one of them listens.
fn count(table: &[u8], seen: &mut BTreeMap<u16, PortSockets>) -> bool {
    let mut listens = false;
    for line in table.split(|&byte| byte == b'\n').skip(1) {
        let Some((port, state, unread)) = socket(line) else { continue };
        let Some(seen) = seen.get_mut(&port) else { continue };
        match state {
            ESTABLISHED => {
                seen.established += 1;
                seen.unread += u64::from(0 < unread);
                seen.unread_bytes += unread;
            }
            LISTEN => {
                seen.listens = true;
                seen.backlog += unread;
                listens = true;
            }
            _ => {}
        }
    }
    listens
}

/// Parses `sl local_address rem_address st tx_queue:rx_queue …`: the local port, the state and
/// `rx_queue`, which for a listening socket is the length of its accept queue.
fn socket(line: &[u8]) -> Option<(u16, &[u8], u64)> {
    let mut fields = line.split(|&byte| byte == b' ').filter(|field| !field.is_empty());
    let local = fields.nth(1)?;
    let port = hexadecimal(after_colon(local)?)?;
    let state = fields.nth(1)?;
    let unread = hexadecimal(after_colon(fields.next()?)?)?;
    Some((u16::try_from(port).ok()?, state, unread))
}

fn after_colon(field: &[u8]) -> Option<&[u8]> {
    let colon = field.iter().position(|&byte| byte == b':')?;
    field.get(colon + 1..)
}

fn hexadecimal(digits: &[u8]) -> Option<u64> {
    u64::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()
}

//! The process groups of a run, listed in a file of its folder. They find what a killed runner left
//! where nothing else does: without control groups, the children of a program that overwrote its
//! environment, as nginx does.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::host;

#[cfg(test)]
mod tests;

/// The name of the file. No component has a folder of this name: its name begins with a letter or a
/// digit.
const FILE: &str = "_leaders";

/// A process that led a process group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Leader {
    pid: u32,
    /// The time when it began, in the kernel's ticks since boot.
    start: u64,
    /// The boot in which it began: another one has other processes of the same numbers.
    boot: String,
}

/// Adds a living process to the list of a run. Without an entry its group is found by other means.
pub(crate) fn record(folder: &Path, pid: u32) {
    let (Some(start), Some(boot)) = (host::start_of(pid), host::boot()) else { return };
    let file = OpenOptions::new().append(true).create(true).open(folder.join(FILE));
    let _ = file.and_then(|mut file| writeln!(file, "{pid} {start} {boot}"));
}

/// Returns the leaders in the list of a run.
pub(crate) fn recorded(folder: &Path) -> Vec<Leader> {
    let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
    let leader = |line: &str| {
        let mut words = line.split_whitespace();
        let (pid, start, boot) = (words.next()?, words.next()?, words.next()?);
        Some(Leader { pid: pid.parse().ok()?, start: start.parse().ok()?, boot: boot.to_owned() })
    };
    text.lines().filter_map(leader).collect()
}

impl Leader {
    /// Returns the living processes of its group. While one of them lives, the kernel gives the
    /// number of the group to no other process.
    pub(crate) fn processes(&self) -> Vec<i32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|&pid| self.leads(pid)).collect()
    }

    /// Returns true if a process is in its group: none of them is older than the leader, and the
    /// leader's number does not belong to another process meanwhile.
    pub(crate) fn leads(&self, pid: i32) -> bool {
        let is_reused = || host::start_of(self.pid).is_some_and(|start| start != self.start);
        let group = u32::try_from(pid).ok().and_then(host::group_of);
        group.is_some_and(|(group, start)| group == self.pid && self.start <= start)
            && host::boot().as_ref() == Some(&self.boot)
            && !is_reused()
    }
}

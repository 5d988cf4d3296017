//! Removal of what a killed runner left on the host, found by the owner's name in it.
//!
//! The kernel's parent-death signal ends processes with their runner; it does not end their own
//! children, nor remove the control groups and folders. A child is found by its control group, by
//! its temporary folder, or by its process group.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::{confine, leaders, process};
use crate::Host;
use crate::host::RunId;

#[cfg(test)]
mod tests;

/// The prefix of a run's control group.
pub(crate) const GROUP: &str = "benchwright-";
/// The prefix of a run's folder for temporary files.
pub(crate) const FOLDER: &str = "benchwright-run-";

/// The counts of what was removed of one run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Removed {
    pub pid: u32,
    pub processes: usize,
    pub cgroups: usize,
    pub folders: usize,
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |n: usize, one: &str, many: &str| match n {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        };
        let parts = [
            counted(self.processes, "process", "processes"),
            counted(self.cgroups, "cgroup", "cgroups"),
            counted(self.folders, "temporary folder", "temporary folders"),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let pid = self.pid;
        let parts = parts.join(" and ");
        write!(f, "a run (pid {pid}) ended without cleaning up: removed {parts}")
    }
}

/// Removes what dead runs left. Something that cannot be removed does not prevent a run.
pub(crate) fn remove(host: &Host) -> Vec<Removed> {
    let mut left: BTreeMap<RunId, Left> = BTreeMap::new();
    for parent in confine::parents(&host.cgroups, &confine::own()) {
        for (run, path) in named(&parent, GROUP) {
            left.entry(run).or_default().groups.push(path);
        }
    }
    for (run, path) in named(&host.temporary, FOLDER) {
        left.entry(run).or_default().folders.push(path);
    }
    for (run, pid) in marked_processes(&host.temporary) {
        left.entry(run).or_default().processes.insert(pid);
    }
    left.into_iter()
        .filter(|(run, _)| !run.is_alive())
        .map(|(run, left)| left.remove(&run, &host.temporary))
        .collect()
}

#[derive(Default)]
struct Left {
    groups: Vec<PathBuf>,
    folders: Vec<PathBuf>,
    processes: BTreeSet<i32>,
}

impl Left {
    fn remove(mut self, run: &RunId, temporary: &Path) -> Removed {
        for &process in &self.processes {
            process::kill_if(process, || run_of(process, temporary).as_ref() == Some(run));
        }
        for group in &self.groups {
            self.processes.extend(confine::kill_all_in(group));
        }
        for leader in self.folders.iter().flat_map(|folder| leaders::recorded(folder)) {
            for process in leader.processes() {
                process::kill_if(process, || leader.leads(process));
                self.processes.insert(process);
            }
        }
        let cgroups = self.groups.iter().map(|group| confine::remove_run(group)).sum();
        let removed = |folder: &&PathBuf| fs::remove_dir_all(folder).is_ok();
        Removed {
            pid: run.pid,
            processes: self.processes.len(),
            cgroups,
            folders: self.folders.iter().filter(removed).count(),
        }
    }
}

fn named(parent: &Path, prefix: &str) -> Vec<(RunId, PathBuf)> {
    let Ok(entries) = fs::read_dir(parent) else { return Vec::new() };
    let run = |entry: fs::DirEntry| {
        let run = RunId::parse(entry.file_name().to_str()?, prefix)?;
        Some((run, entry.path()))
    };
    entries.flatten().filter_map(run).collect()
}

/// Returns the processes whose temporary folder is a run's: every component is started with one.
fn marked_processes(temporary: &Path) -> Vec<(RunId, i32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((run_of(pid, temporary)?, pid))).collect()
}

/// Kills the processes of one run that are found by their temporary folder.
pub(crate) fn kill_marked(run: &RunId, temporary: &Path) {
    for (_, process) in marked_processes(temporary).into_iter().filter(|(of, _)| of == run) {
        process::kill_if(process, || run_of(process, temporary).as_ref() == Some(run));
    }
}

/// Returns the run whose folder is the temporary folder of this process.
fn run_of(pid: i32, temporary: &Path) -> Option<RunId> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let variable = environment
        .split(|&byte| byte == 0)
        .find_map(|variable| variable.strip_prefix(b"TMPDIR="))?;
    let path = Path::new(std::str::from_utf8(variable).ok()?);
    let run = RunId::parse(path.file_name()?.to_str()?, FOLDER)?;
    (path.parent() == Some(temporary)).then_some(run)
}

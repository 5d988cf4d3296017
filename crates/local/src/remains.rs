//! Removal of what a killed runner left on the host. Nothing is touched but what the note of a run of
//! this user names.
//!
//! The kernel's parent-death signal ends processes with their runner; it does not end their own
//! children, nor remove the control groups and folders. A child is found by its control group, by
//! its temporary folder, or by its process group.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lab::Host;
use lab::host::RunId;
use lab::spec::plain;
use measure::quantity::first_of;
use results::{regular, removal, trust};

use super::notes::{self, Left};
use super::{confine, process};

#[cfg(test)]
mod tests;

/// The prefix of a run's control group.
pub(crate) const GROUP: &str = "benchwright-";
/// The prefix of a run's folder for temporary files.
pub(crate) const FOLDER: &str = "benchwright-run-";

/// The remains of one run that were removed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Removed {
    pub pid: u32,
    pub processes: Vec<i32>,
    /// The number of control groups, of which those of the run itself have names.
    pub cgroups: usize,
    pub groups: Vec<PathBuf>,
    pub folder: Option<PathBuf>,
}

impl fmt::Display for Removed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = |n: usize, one: &str, many: &str, names: Vec<String>| match n {
            0 => None,
            1 => Some(format!("1 {one} ({})", names.join(", "))),
            n => Some(format!("{n} {many} ({})", first_of(&names, 4))),
        };
        let paths = |paths: &mut dyn Iterator<Item = &PathBuf>| -> Vec<String> {
            paths.map(|path| path.display().to_string()).collect()
        };
        let processes = self.processes.iter().map(ToString::to_string).collect();
        let folders = usize::from(self.folder.is_some());
        let parts = [
            counted(self.processes.len(), "process", "processes", processes),
            counted(self.cgroups, "cgroup", "cgroups", paths(&mut self.groups.iter())),
            counted(folders, "temporary folder", "", paths(&mut self.folder.iter())),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let pid = self.pid;
        let parts = parts.join(" and ");
        write!(f, "a run (pid {pid}) ended without cleaning up: removed {parts}")
    }
}

/// The remains of dead runs: those that were removed, and those that stay, in words.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Remains {
    pub(crate) removed: Vec<Removed>,
    pub(crate) staying: Vec<String>,
}

/// Returns what stays where it is, with the reason.
pub(crate) fn stays(path: &Path, why: &str) -> String {
    format!(
        "{} cannot be removed: {why}; after that `benchwright clean` removes it",
        path.display()
    )
}

/// Removes what dead runs left. Something that cannot be removed does not prevent a run.
pub(crate) fn remove(host: &Host) -> Remains {
    let notes::Found { left, unread } = notes::left(&host.runtime);
    let staying = unread.iter().map(|(note, why)| unread_in_words(note, why)).collect();
    let mut remains = Remains { removed: Vec::new(), staying };
    if left.is_empty() {
        return remains;
    }
    let parents = confine::parents(&host.cgroups, &confine::own());
    for left in left {
        let removed = remove_of(left, &parents, &mut remains.staying);
        if removed != (Removed { pid: removed.pid, ..Removed::default() }) {
            remains.removed.push(removed);
        }
    }
    remains
}

fn unread_in_words(note: &Path, why: &str) -> String {
    let note = note.display();
    format!(
        "the note {note} cannot be read ({why}), so what its run left cannot be found: look for {FOLDER}* in your \
         folder for temporary files, and then remove the note"
    )
}

fn remove_of(left: Left, parents: &[PathBuf], staying: &mut Vec<String>) -> Removed {
    let groups = groups_of(&left.run, parents);
    let folder = left.folder.as_deref().filter(|folder| is_of_run(folder));
    let mut processes: BTreeSet<i32> = BTreeSet::new();
    processes.extend(folder.into_iter().flat_map(kill_marked));
    for group in &groups {
        processes.extend(confine::kill_all_in(group));
    }
    for leader in &left.leaders {
        for member in leader.processes() {
            process::kill_if(member.pid(), || member.is_there());
            processes.insert(member.pid());
        }
    }
    let cgroups = groups.iter().map(|group| confine::remove_run(group)).sum();
    let gone = groups.iter().filter(|group| !group.exists()).cloned().collect();
    let before = staying.len();
    for group in groups.iter().filter(|group| group.exists()) {
        staying
            .push(stays(group, "a process is still in it: end it (`cgroup.procs` has its number)"));
    }
    let emptied = folder.map(removal::remove_folder);
    match (&emptied, left.folder.as_deref()) {
        (Some(Err(error)), Some(folder)) if error.kind() != io::ErrorKind::NotFound => {
            staying.push(stays(folder, &plain(error)));
        }
        (None, Some(folder)) if regular::is_there(folder) => {
            let (folder, note) = (folder.display(), left.note().display());
            staying.push(format!(
                "{folder} is not removed: it is not a folder of a run that is yours alone, although the note {note} \
                 names it; remove what is to go, and then the note"
            ));
        }
        _ => {}
    }
    let removed = Removed {
        pid: left.run.pid,
        processes: processes.into_iter().collect(),
        cgroups,
        groups: gone,
        folder: folder.filter(|_| matches!(emptied, Some(Ok(())))).map(Path::to_owned),
    };
    if staying.len() == before {
        left.end();
    }
    removed
}

/// Returns the control groups of a run.
fn groups_of(run: &RunId, parents: &[PathBuf]) -> Vec<PathBuf> {
    let name = format!("{GROUP}{run}");
    let groups = parents.iter().map(|parent| parent.join(&name));
    groups.filter(|group| trust::check_folder(group).is_ok()).collect()
}

/// Returns true for a folder of ours that a run made for its temporary files.
fn is_of_run(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(FOLDER)) && trust::check_folder(folder).is_ok()
}

/// Kills the processes whose temporary folder is this one, and returns their numbers: every component
/// is started with that of its run.
pub(crate) fn kill_marked(folder: &Path) -> Vec<i32> {
    let is_marked = |pid: i32| trust::is_our_process(pid) && has_folder(pid, folder);
    let marked: Vec<i32> = process::all().filter(|&pid| is_marked(pid)).collect();
    marked.iter().for_each(|&pid| process::kill_if(pid, || is_marked(pid)));
    marked
}

fn has_folder(pid: i32, folder: &Path) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environment.split(|&byte| byte == 0);
    let folder = folder.as_os_str().as_encoded_bytes();
    variables.any(|variable| variable.strip_prefix(b"TMPDIR=") == Some(folder))
}

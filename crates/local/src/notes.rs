//! The notes of runs: what each has made on the host, for a later run to remove if it is killed.
//!
//! A note is a file in the runtime folder of the user, where nobody else can prepare one. It names the
//! run's folder of temporary files, and the process groups that the run led: without control groups they
//! alone find the children of a program that overwrote its environment, as nginx does. A living run holds
//! the lock of its note, so another one knows that it lives even where it cannot see its process.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use lab::host::{self, RunId};
use lab::runtime;
use lab::spec::plain;
use results::{regular, trust};

#[cfg(test)]
mod tests;

/// The prefix of a note, and that of a note that is not locked yet.
const NOTE: &str = "run-";
const NEW: &str = "new-";
/// The words with which the lines of a note begin.
const FOLDER: &str = "folder ";
const LEADER: &str = "leader ";

/// The note of a living run.
#[derive(Debug)]
pub(crate) struct Note {
    file: File,
    path: PathBuf,
}

impl Note {
    /// Writes the note of a run that is about to make this folder.
    pub(crate) fn begin(runtime: &Path, run: &RunId, folder: &Path) -> anyhow::Result<Note> {
        runtime::make(runtime)?;
        let path = runtime.join(format!("{NOTE}{run}"));
        let new = runtime.join(format!("{NEW}{run}"));
        let written = |mut file: File| {
            file.try_lock()?;
            writeln!(file, "{FOLDER}{}", folder.display())?;
            // Locked before anybody looks at it.
            fs::rename(&new, &path)?;
            Ok(file)
        };
        let mut options = OpenOptions::new();
        let made = options.append(true).create_new(true).mode(0o600).open(&new);
        let file = made.and_then(|file| {
            // On a full disk it would stay for ever, and another attempt would only say that it exists.
            written(file).inspect_err(|_: &io::Error| drop(fs::remove_file(&new)))
        });
        let file = file.with_context(|| format!("writing {}", path.display()))?;
        Ok(Note { file, path })
    }

    /// Adds a living process that leads a group. Without it the group is found by other means.
    pub(crate) fn add(&mut self, pid: u32) {
        let (Some(start), Some(boot)) = (host::start_of(pid), host::boot()) else { return };
        let _ = writeln!(self.file, "{LEADER}{pid} {start} {boot}");
    }

    /// Removes the note of a run that has left nothing.
    pub(crate) fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The note of a run that has ended without removing it.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) run: RunId,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) leaders: Vec<Leader>,
    /// No other run removes the same things.
    note: Note,
}

impl Left {
    /// Returns the place of the note.
    pub(crate) fn note(&self) -> &Path {
        &self.note.path
    }

    /// Removes the note, once nothing is left of what it names.
    pub(crate) fn end(self) {
        self.note.end();
    }
}

/// The notes of ended runs, and those that cannot be read, with the reason: what their runs made cannot be found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) left: Vec<Left>,
    pub(crate) unread: Vec<(PathBuf, String)>,
}

/// Returns the notes of all ended runs of this user, with those of runs that were killed before the
/// note had its name.
pub(crate) fn left(runtime: &Path) -> Found {
    let mut found = Found::default();
    if trust::check_folder(runtime).is_err() {
        return found;
    }
    let entries = fs::read_dir(runtime).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let named = |prefix: &str| RunId::parse(name.to_str()?, prefix);
        // A new one has no lock for a moment, which its run must get. Nothing is made before it has its name.
        let new = || named(NEW).filter(|run| !run.is_alive());
        let Some((run, is_new)) =
            named(NOTE).map(|run| (run, false)).or_else(|| Some((new()?, true)))
        else {
            continue;
        };
        let path = entry.path();
        match left_by(run, path.clone(), is_new) {
            Ok(left) => found.left.extend(left),
            // Another run may have removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => found.unread.push((path, plain(&error))),
        }
    }
    found
}

/// Returns the note of a run, unless it lives.
fn left_by(run: RunId, path: PathBuf, is_new: bool) -> io::Result<Option<Left>> {
    let file = trust::open(&path, OpenOptions::new().read(true).append(true))?;
    if !regular::lock(&file, || run.is_alive())? {
        return Ok(None);
    }
    let text = trust::read(&file)?;
    let folder = text.lines().find_map(|line| line.strip_prefix(FOLDER)).map(PathBuf::from);
    if folder.is_none() && !is_new {
        return Err(io::Error::other("it names no folder"));
    }
    let leaders = text.lines().filter_map(|line| Leader::parse(line.strip_prefix(LEADER)?));
    let leaders = leaders.collect();
    Ok(Some(Left { run, folder, leaders, note: Note { file, path } }))
}

/// A process that led a process group.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Leader {
    pid: u32,
    /// The time when it began, in the kernel's ticks since boot.
    start: u64,
    /// The boot in which it began: another one has other processes of the same numbers.
    boot: String,
}

impl Leader {
    fn parse(text: &str) -> Option<Leader> {
        let mut words = text.split_whitespace();
        let (pid, start, boot) = (words.next()?, words.next()?, words.next()?);
        Some(Leader { pid: pid.parse().ok()?, start: start.parse().ok()?, boot: boot.to_owned() })
    }

    /// Returns the living processes of its group. While one of them lives, the kernel gives the
    /// number of the group to no other process.
    pub(crate) fn processes(&self) -> Vec<i32> {
        super::process::all().filter(|&pid| self.leads(pid)).collect()
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

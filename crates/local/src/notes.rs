//! The notes of runs: what each has made on the host, for a later run to remove if it is killed.
//!
//! A note is a file in the runtime folder of the user, where nobody else can prepare one. It names the
//! run's folder of temporary files, and the process groups that the run led: without control groups they
//! alone find the children of a program that overwrote its environment, as nginx does. A living run holds
//! the lock of its note, so another one knows that it lives even where it cannot see its process.
//!
//! The number of a group is used again once nobody is in it. So a note also names processes that were seen in it: while
//! one of them is there, it is still the same group.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use lab::host::{self, RunId};
use lab::runtime;
use lab::spec::plain;
use results::regular::{self, Locked};
use results::trust;

use super::process;

#[cfg(test)]
mod tests;

/// The prefix of a note, and that of a note that is not locked yet.
const NOTE: &str = "run-";
const NEW: &str = "new-";
/// The words with which the lines of a note begin.
const FOLDER: &str = "folder ";
const LEADER: &str = "leader ";
const MEMBER: &str = "member ";
/// The most processes that a note names beside the leaders: one of them that lives is enough.
const MOST_MEMBERS: usize = 4096;

/// The note of a living run.
#[derive(Debug)]
pub(crate) struct Note {
    file: Locked,
    path: PathBuf,
    leaders: Vec<Member>,
    members: BTreeSet<Member>,
}

impl Note {
    fn new(file: Locked, path: PathBuf) -> Note {
        Note { file, path, leaders: Vec::new(), members: BTreeSet::new() }
    }

    /// Writes the note of a run that is about to make this folder.
    pub(crate) fn begin(runtime: &Path, run: &RunId, folder: &Path) -> anyhow::Result<Note> {
        runtime::make(runtime)?;
        let path = runtime.join(format!("{NOTE}{run}"));
        let new = runtime.join(format!("{NEW}{run}"));
        let written = |file: File| {
            let file = regular::lock(file, |_| true)?.ok_or(io::ErrorKind::WouldBlock)?;
            writeln!(&*file, "{FOLDER}{}", folder.display())?;
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
        Ok(Note::new(file, path))
    }

    /// Adds a living process that leads a group. Without it the group is found by other means.
    pub(crate) fn add(&mut self, pid: u32) {
        let (Some(leader), Some(place)) = (Member::of(pid), place()) else { return };
        let _ = writeln!(&*self.file, "{LEADER}{pid} {} {place}", leader.start);
        self.leaders.push(leader);
    }

    /// Adds the other processes that are in the groups now, of the leaders that live.
    pub(crate) fn add_members(&mut self) {
        self.leaders.retain(|leader| leader.is_there());
        for member in process::all().filter_map(|pid| Member::of(u32::try_from(pid).ok()?)) {
            let is_led =
                self.leaders.iter().any(|leader| leader.group == member.group && *leader != member);
            if is_led && self.members.len() < MOST_MEMBERS && self.members.insert(member) {
                let Member { group, pid, start } = member;
                let _ = writeln!(&*self.file, "{MEMBER}{group} {pid} {start}");
            }
        }
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
    let Some(file) = regular::lock(file, |_| run.is_alive())? else { return Ok(None) };
    let text = trust::read(&file)?;
    let folder = text.lines().find_map(|line| line.strip_prefix(FOLDER)).map(PathBuf::from);
    if folder.is_none() && !is_new {
        return Err(io::Error::other("it names no folder"));
    }
    let members = text.lines().filter_map(|line| Member::parse(line.strip_prefix(MEMBER)?));
    let members: Vec<Member> = members.collect();
    let leaders =
        text.lines().filter_map(|line| Leader::parse(line.strip_prefix(LEADER)?, &members));
    let leaders = leaders.collect();
    Ok(Some(Left { run, folder, leaders, note: Note::new(file, path) }))
}

/// A process group that a run led.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Leader {
    group: u32,
    /// The processes that were seen in it, with its leader.
    known: Vec<Member>,
    /// The place of these numbers.
    place: String,
}

impl Leader {
    fn parse(text: &str, members: &[Member]) -> Option<Leader> {
        let mut words = text.split_whitespace();
        let (pid, start, place) = (words.next()?, words.next()?, words.next()?.to_owned());
        let group = pid.parse().ok()?;
        let leader = Member { group, pid: group, start: start.parse().ok()? };
        let of_group = members.iter().filter(|member| member.group == group);
        let known = of_group.copied().chain([leader]).collect();
        Some(Leader { group, known, place })
    }

    /// Returns the living processes of the group, if one of them was seen in it: otherwise they may be a stranger's.
    pub(crate) fn processes(&self) -> Vec<Member> {
        let all = process::all().filter_map(|pid| Member::of(u32::try_from(pid).ok()?));
        let found: Vec<Member> = all.filter(|member| member.group == self.group).collect();
        // After the look: the group had this number all the time.
        let is_known = self.known.iter().any(Member::is_there);
        if is_known && place().as_ref() == Some(&self.place) { found } else { Vec::new() }
    }
}

/// A process in a group, which its start distinguishes from another one of its number.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct Member {
    group: u32,
    pid: u32,
    /// The time when it began, in the kernel's ticks since boot.
    start: u64,
}

impl Member {
    fn of(pid: u32) -> Option<Member> {
        host::group_of(pid).map(|(group, start)| Member { group, pid, start })
    }

    fn parse(text: &str) -> Option<Member> {
        let mut words = text.split_whitespace();
        let mut next = || words.next();
        let (group, pid, start) = (next()?, next()?, next()?);
        Some(Member {
            group: group.parse().ok()?,
            pid: pid.parse().ok()?,
            start: start.parse().ok()?,
        })
    }

    /// Returns true if it lives, in its group.
    pub(crate) fn is_there(&self) -> bool {
        Member::of(self.pid) == Some(*self)
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid as i32
    }
}

/// Returns the place where the numbers of processes mean what they mean here: another boot and another namespace
/// have other processes of the same numbers.
fn place() -> Option<String> {
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", host::boot()?, namespace.display()))
}

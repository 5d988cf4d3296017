//! The files of a simulation: in memory, on virtual time, with faults and crashes.
//!
//! A disk is as hostile as real ones may be: operations complete in any order, a sync covers only
//! what had completed when it began, and a crash keeps any part of what was not synced.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::CString;
use std::io;
use std::path::{Path, PathBuf};

use measure::{Instant, Nanos, Random};

use crate::files::{
    Call, Completion, FileId, FolderId, Listed, MOST_IN_PROGRESS, Open, Operation, Running, Work,
    checked,
};

use self::inode::{Inode, Survivors};

mod inode;
#[cfg(test)]
mod tests;

/// The shortest time of a call, and the longest time that chance adds.
const SHORTEST: Nanos = Nanos::from_micros(20);
const LONGER: Nanos = Nanos::from_micros(200);

/// The faults of a disk; by default it has none.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// The number of the call that fails with EIO: see [`Disk::calls`].
    pub failing_call: Option<u64>,
    /// The most bytes in all files together; beyond that, writes fail with ENOSPC.
    pub capacity: Option<u64>,
    /// True if calls are interrupted now and then, and read or write only a part.
    pub partial: bool,
}

/// The files of a simulation. Every folder exists, and is empty at first.
#[derive(Debug)]
pub struct Disk {
    pub faults: Faults,
    random: Random,
    folders: Vec<Folder>,
    /// Open files by their ids.
    files: Vec<Option<(FolderId, Number)>>,
    inodes: BTreeMap<Number, Inode>,
    next_number: Number,
    running: Vec<Planned>,
    sequence: u64,
    done: VecDeque<Completion>,
    calls: u64,
}

/// The number of an inode, which is never used again.
type Number = u64;

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    names: BTreeMap<String, Number>,
    /// The names that a sync of the folder has covered.
    synced: BTreeMap<String, Number>,
}

/// An operation whose next call ends at a time.
#[derive(Debug)]
struct Planned {
    at: Instant,
    sequence: u64,
    running: Running<Target>,
}

#[derive(Debug)]
struct Target {
    folder: FolderId,
    /// `None` for the folder itself.
    inode: Option<Number>,
    /// The changes of the inode that had completed when the operation began.
    began_after: u64,
}

impl Disk {
    /// An empty disk. The seed decides how long calls take, and what the faults do.
    pub fn new(seed: u64) -> Disk {
        Disk {
            faults: Faults::default(),
            random: Random::new(seed),
            folders: Vec::new(),
            files: Vec::new(),
            inodes: BTreeMap::new(),
            next_number: 0,
            running: Vec::new(),
            sequence: 0,
            done: VecDeque::new(),
            calls: 0,
        }
    }

    pub fn with_faults(self, faults: Faults) -> Disk {
        Disk { faults, ..self }
    }

    /// The number of calls so far that have read, written, synced, truncated, removed or renamed. An
    /// operation makes several if it is interrupted, moves a part, or syncs a new name.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns the disk as it is found if the machine loses power now, without faults.
    ///
    /// What was synced is there. Of everything else, the seed keeps any part: each 512 bytes of a
    /// write, each length, and each name that was made or removed.
    pub fn after_crash(&self, seed: u64) -> Disk {
        let mut survivors = Survivors::new(seed);
        let mut found = Disk::new(seed);
        found.next_number = self.next_number;
        for (number, inode) in &self.inodes {
            let running =
                self.running.iter().filter(|planned| planned.running.file.inode == Some(*number));
            let unwritten = running.filter_map(|planned| planned.running.unwritten());
            found.inodes.insert(*number, inode.after_crash(unwritten, &mut survivors));
        }
        found.folders =
            self.folders.iter().map(|folder| folder.after_crash(&mut survivors)).collect();
        found.free_unused();
        found
    }

    pub(super) fn folder(&mut self, path: &Path) -> FolderId {
        let known = self.folders.iter().position(|folder| folder.path == path);
        let index = known.unwrap_or_else(|| {
            let (names, synced) = (BTreeMap::new(), BTreeMap::new());
            self.folders.push(Folder { path: path.to_owned(), names, synced });
            self.folders.len() - 1
        });
        FolderId(index as u32)
    }

    pub(super) fn list(&self, folder: FolderId) -> Vec<Listed> {
        let names = &self.folders[folder.0 as usize].names;
        let listed = names.iter().map(|(name, number)| Listed {
            name: name.clone(),
            length: self.inodes[number].length(),
        });
        listed.collect()
    }

    pub(super) fn open(&mut self, folder: FolderId, name: &str, how: Open) -> io::Result<FileId> {
        checked(name)?;
        let names = &mut self.folders[folder.0 as usize].names;
        let number = match (how, names.get(name)) {
            (Open::Existing, Some(number)) => *number,
            (Open::Existing, None) => return Err(errno(libc::ENOENT)),
            (Open::New, Some(_)) => return Err(errno(libc::EEXIST)),
            (Open::New, None) => {
                let number = self.next_number;
                self.next_number += 1;
                names.insert(name.to_owned(), number);
                self.inodes.insert(number, Inode::default());
                number
            }
        };
        let free = self.files.iter().position(Option::is_none);
        let index = free.unwrap_or_else(|| {
            self.files.push(None);
            self.files.len() - 1
        });
        self.files[index] = Some((folder, number));
        Ok(FileId(index as u32))
    }

    pub(super) fn close_file(&mut self, file: FileId) {
        let closed = self.files[file.0 as usize].take();
        assert!(closed.is_some(), "a file is closed once");
        self.free_unused();
    }

    pub(super) fn room(&self) -> usize {
        MOST_IN_PROGRESS - self.running.len() - self.done.len()
    }

    pub(super) fn begin(&mut self, file: FileId, operation: Operation, token: u64, now: Instant) {
        let open = self.files[file.0 as usize];
        let (folder, number) = open.expect("only an open file is operated on");
        let began_after = self.inodes[&number].changes();
        let name_is_durable = self.folders[folder.0 as usize].has_synced(number);
        let target = Target { folder, inode: Some(number), began_after };
        let work = Work::of(operation, name_is_durable);
        self.start(Running::new(token, target, work), now);
    }

    pub(super) fn remove(&mut self, folder: FolderId, name: &str, token: u64, now: Instant) {
        self.start_on(folder, checked(name).map(|name| Work::Remove { name }), token, now);
    }

    pub(super) fn rename(&mut self, folder: FolderId, names: [&str; 2], token: u64, now: Instant) {
        let [from, to] = names.map(checked);
        let work = from.and_then(|from| to.map(|to| Work::Rename { from, to }));
        self.start_on(folder, work, token, now);
    }

    /// Starts work on a folder itself.
    fn start_on(&mut self, folder: FolderId, work: io::Result<Work>, token: u64, now: Instant) {
        match work {
            Ok(work) => {
                let target = Target { folder, inode: None, began_after: 0 };
                self.start(Running::new(token, target, work), now);
            }
            Err(error) => {
                self.check_room();
                self.done.push_back(Completion { token, result: Err(error), buffer: Vec::new() });
            }
        }
    }

    pub(super) fn next_completion(&mut self) -> Option<Completion> {
        self.done.pop_front()
    }

    pub(super) fn has_completed(&self) -> bool {
        !self.done.is_empty()
    }

    /// The time of the next call's end.
    pub(super) fn next(&self) -> Option<Instant> {
        self.running.iter().map(|planned| planned.at).min()
    }

    /// Makes all calls that end until then.
    pub(super) fn run(&mut self, until: Instant) {
        while let Some(next) = self.next_due(until) {
            let Planned { at, mut running, .. } = self.running.swap_remove(next);
            let result = self.perform(&mut running);
            match running.advance(result) {
                Some(result) => self.done.push_back(running.complete(result)),
                None => self.plan(running, at),
            }
            self.free_unused();
        }
    }

    fn next_due(&self, until: Instant) -> Option<usize> {
        let due = (0..self.running.len()).filter(|&index| self.running[index].at <= until);
        due.min_by_key(|&index| (self.running[index].at, self.running[index].sequence))
    }

    fn check_room(&self) {
        assert!(0 < self.room(), "the caller has checked that there is room");
    }

    fn start(&mut self, running: Running<Target>, now: Instant) {
        self.check_room();
        self.plan(running, now);
    }

    fn plan(&mut self, running: Running<Target>, now: Instant) {
        let at = now + SHORTEST + Nanos(self.random.below(LONGER.0));
        self.sequence += 1;
        self.running.push(Planned { at, sequence: self.sequence, running });
    }

    fn perform(&mut self, running: &mut Running<Target>) -> io::Result<usize> {
        let fails = self.faults.failing_call == Some(self.calls);
        self.calls += 1;
        if self.faults.partial && self.random.below(4) == 0 {
            return Err(errno(libc::EINTR));
        }
        let (target, call) = running.call();
        match (call, target.inode) {
            (Call::Remove(name), _) => self.unlink(target.folder, name, fails),
            (Call::Rename(from, to), _) => self.change_name(target.folder, [from, to], fails),
            (Call::SyncFolder, _) => self.sync_folder(target.folder, fails),
            (call, Some(inode)) => self.perform_on(inode, target.began_after, call, fails),
            (_, None) => unreachable!("only names are changed in a folder"),
        }
    }

    fn perform_on(
        &mut self,
        number: Number,
        began_after: u64,
        call: Call<'_>,
        fails: bool,
    ) -> io::Result<usize> {
        let space = self.space();
        let Disk { inodes, random, faults, .. } = self;
        let inode = inodes.get_mut(&number).expect("an operation keeps its inode");
        let mut part = |most: usize| match most {
            2.. if faults.partial || fails => 1 + random.below(most as u64) as usize,
            _ => most,
        };
        match call {
            Call::Read(..) if fails => Err(errno(libc::EIO)),
            Call::Read(at, into) => {
                let most = part(into.len());
                Ok(inode.read(at, &mut into[..most]))
            }
            Call::Write(at, from) => {
                let most = inode.most_written(at, from.len(), space);
                if most == 0 && !from.is_empty() {
                    return Err(errno(libc::ENOSPC));
                }
                // Before a failure a part may have been written.
                let count = part(most);
                inode.write(at, &from[..count]);
                if fails { Err(errno(libc::EIO)) } else { Ok(count) }
            }
            Call::SyncFile if fails => {
                inode.fail_sync(began_after);
                Err(errno(libc::EIO))
            }
            Call::SyncFile => {
                inode.sync(began_after);
                Ok(0)
            }
            Call::Truncate(_) if fails => Err(errno(libc::EIO)),
            Call::Truncate(length) => {
                inode.truncate(length);
                Ok(0)
            }
            Call::SyncFolder | Call::Remove(_) | Call::Rename(..) => {
                unreachable!("they are calls on the folder")
            }
        }
    }

    fn sync_folder(&mut self, folder: FolderId, fails: bool) -> io::Result<usize> {
        if fails {
            return Err(errno(libc::EIO));
        }
        let folder = &mut self.folders[folder.0 as usize];
        folder.synced = folder.names.clone();
        Ok(0)
    }

    fn unlink(&mut self, folder: FolderId, name: &CString, fails: bool) -> io::Result<usize> {
        if fails {
            return Err(errno(libc::EIO));
        }
        let name = name.to_str().expect("names are given as text");
        let removed = self.folders[folder.0 as usize].names.remove(name);
        removed.map(|_| 0).ok_or_else(|| errno(libc::ENOENT))
    }

    fn change_name(
        &mut self,
        folder: FolderId,
        names: [&CString; 2],
        fails: bool,
    ) -> io::Result<usize> {
        if fails {
            return Err(errno(libc::EIO));
        }
        let [from, to] = names.map(|name| name.to_str().expect("names are given as text"));
        let names = &mut self.folders[folder.0 as usize].names;
        let number = names.remove(from).ok_or_else(|| errno(libc::ENOENT))?;
        names.insert(to.to_owned(), number);
        Ok(0)
    }

    /// The number of bytes that files may still grow by.
    fn space(&self) -> u64 {
        let used = self.inodes.iter().filter(|(number, _)| self.is_used(**number));
        let used: u64 = used.map(|(_, inode)| inode.length()).sum();
        self.faults.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(used))
    }

    /// True if a file has a name, is open, or has an operation in progress.
    fn is_used(&self, number: Number) -> bool {
        let has_name = |folder: &Folder| folder.names.values().any(|named| *named == number);
        self.folders.iter().any(has_name)
            || self.files.iter().flatten().any(|(_, open)| *open == number)
            || self.running.iter().any(|planned| planned.running.file.inode == Some(number))
    }

    /// Frees the files that are not used, and that no crash brings back.
    fn free_unused(&mut self) {
        let mut inodes = std::mem::take(&mut self.inodes);
        inodes.retain(|number, _| {
            let may_return = self.folders.iter().any(|folder| folder.has_synced(*number));
            may_return || self.is_used(*number)
        });
        self.inodes = inodes;
    }
}

impl Folder {
    fn has_synced(&self, number: Number) -> bool {
        self.synced.values().any(|synced| *synced == number)
    }

    fn after_crash(&self, survivors: &mut Survivors) -> Folder {
        let mut names = BTreeMap::new();
        for name in self.names.keys().chain(self.synced.keys()) {
            let (new, synced) = (self.names.get(name), self.synced.get(name));
            let is_new = new != synced && survivors.keep();
            if let Some(number) = if is_new { new } else { synced } {
                names.insert(name.clone(), *number);
            }
        }
        Folder { path: self.path.clone(), synced: names.clone(), names }
    }
}

fn errno(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

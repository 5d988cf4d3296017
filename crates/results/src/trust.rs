//! The rule for files and folders that we find and did not just make, in places where others may have
//! prepared them: they are ours, nobody else can change them, and no link leads to them.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use nix::unistd::{getegid, geteuid};

use crate::regular;

#[cfg(test)]
mod tests;

/// The most bytes of a file that are read.
const MOST: u64 = 16 << 20;
/// The permissions of the group and of everybody to change something.
const GROUP_WRITES: u32 = 0o020;
const EVERYBODY_WRITES: u32 = 0o002;
/// The bit that restricts them, in a folder, to what is their own.
const STICKY: u32 = 0o1000;

/// Opens a regular file of ours. Nothing in its place can make this wait: not a FIFO, not a device.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = regular::open(path, options)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// Reads a regular file of ours, which is not longer than the files that we write ourselves.
pub fn read(file: &File) -> io::Result<String> {
    let mut text = String::new();
    let length = file.take(MOST + 1).read_to_string(&mut text)?;
    if MOST < length as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(text)
}

/// Makes a folder for us alone, or accepts one that is there if it is that.
pub fn make_folder(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_folder(path),
        made => made,
    }
}

/// Fails if others could put another folder in the place of one in this folder, or of this folder by its link.
pub fn check_place(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is not a folder"));
    }
    for owner in [fs::symlink_metadata(path)?.uid(), found.uid()] {
        if !is_trusted(owner) {
            return Err(io::Error::other(format!("it belongs to user {owner}")));
        }
    }
    match others_may_change(&found) && found.mode() & STICKY == 0 {
        true => Err(io::Error::other("others may change it, and it is not sticky")),
        false => Ok(()),
    }
}

/// Fails for a link of another user, who is not root: it leads to a file that we were not told. What is missing is no link.
pub fn check_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() && !is_trusted(found.uid()) => {
            let owner = found.uid();
            Err(io::Error::other(format!(
                "it is a link of user {owner}; remove it, or name another file"
            )))
        }
        _ => Ok(()),
    }
}

/// Returns true for us and root.
fn is_trusted(owner: u32) -> bool {
    [geteuid().as_raw(), 0].contains(&owner)
}

/// Fails unless this is a folder of ours.
pub fn check_folder(path: &Path) -> io::Result<()> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() {
        return Err(io::Error::other("it is not a folder"));
    }
    check(&found)
}

fn check(found: &Metadata) -> io::Result<()> {
    let own = geteuid().as_raw();
    if found.uid() != own {
        return Err(io::Error::other(format!("it belongs to user {}, not to {own}", found.uid())));
    }
    if others_may_change(found) {
        return Err(io::Error::other("others may change it"));
    }
    Ok(())
}

fn others_may_change(found: &Metadata) -> bool {
    let own = (geteuid().as_raw(), getegid().as_raw());
    is_open(found.mode(), (found.uid(), found.gid()), own)
}

/// Returns true if something of this mode, owner and group can be changed by others than us and root. A group that has
/// the number of its user is that user's alone, as most distributions make it, often with a umask that lets it write;
/// the members of root's group count as root.
fn is_open(mode: u32, (owner, group): (u32, u32), own: (u32, u32)) -> bool {
    let is_ours = group == owner && (owner, group) == own;
    mode & EVERYBODY_WRITES != 0 || mode & GROUP_WRITES != 0 && group != 0 && !is_ours
}

/// Returns true for a process that we may have started: its real user is ours. The owner of a program
/// that changes its user when it starts is not its real user.
pub fn is_our_process(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let real = status.lines().find_map(|line| line.strip_prefix("Uid:"));
    let real = real.and_then(|users| users.split_whitespace().next()?.parse().ok());
    real == Some(nix::unistd::getuid().as_raw())
}

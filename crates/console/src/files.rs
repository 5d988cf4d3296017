//! The files that one command line names. No command writes two results into one file, or a result over
//! what it reads: the loss would show only when the work is done.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use results::regular;

use crate::output::Failure;

#[cfg(test)]
mod tests;

/// The most links that lead from one to the next, as for the kernel.
const MOST_LINKS: usize = 40;

/// A file that the user names.
#[derive(Clone, Debug)]
pub struct Named {
    /// The option, or the name of the argument: `--json`, `FILE`.
    pub option: String,
    pub path: PathBuf,
    pub role: Role,
}

impl Named {
    pub fn read(option: impl Into<String>, path: impl Into<PathBuf>) -> Named {
        Named { option: option.into(), path: path.into(), role: Role::Read }
    }

    pub fn written(option: impl Into<String>, path: impl Into<PathBuf>) -> Named {
        Named { option: option.into(), path: path.into(), role: Role::Written }
    }
}

/// The use that a command makes of a file.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    Read,
    Written,
}

/// The identity of a file: of one that is not there yet its place, otherwise its inode as well, which
/// all of its names have.
#[derive(Eq, PartialEq)]
struct Identity {
    place: PathBuf,
    inode: Option<(u64, u64)>,
}

/// Refuses files of which one is written and is the same as another one. It is the one check for all
/// commands, before they do anything.
pub fn check(files: &[Named]) -> Result<(), Failure> {
    let known: Vec<(&Named, Identity)> =
        files.iter().filter_map(|named| Some((named, identity(&named.path)?))).collect();
    let written = known.iter().enumerate().filter(|(_, (named, _))| named.role == Role::Written);
    for (at, (output, identity)) in written {
        let others = known
            .iter()
            .enumerate()
            .filter(|(other, (named, _))| *other < at || at < *other && named.role == Role::Read);
        for (_, (other, of_other)) in others {
            if identity.is_same(of_other) {
                return Err(Failure::question(clash(output, other)));
            }
        }
    }
    Ok(())
}

impl Identity {
    fn is_same(&self, other: &Identity) -> bool {
        self.place == other.place || self.inode.is_some() && self.inode == other.inode
    }
}

/// Returns the identity of a file; `None` for what keeps nothing that could be lost: a standard stream,
/// a device, a pipe.
fn identity(path: &Path) -> Option<Identity> {
    if path.as_os_str() == "-" {
        return None;
    }
    let inode = |found: Metadata| (found.dev(), found.ino());
    match fs::metadata(path) {
        Ok(found) if !found.is_file() && !found.is_dir() => None,
        found => Some(Identity { place: place(path), inode: found.ok().map(inode) }),
    }
}

/// Returns the place where a file is, or would be made: also through links that lead to nothing yet.
fn place(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(whole) = path.canonicalize() {
            return whole;
        }
        match fs::read_link(&path) {
            Ok(to) => path = regular::folder_of(&path).join(to),
            Err(_) => break,
        }
    }
    let folder = regular::folder_of(&path).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

fn clash(output: &Named, other: &Named) -> String {
    let shown = |named: &Named| format!("{} {}", named.option, named.path.display());
    let (output, of_other) = (shown(output), shown(other));
    match other.role {
        Role::Written => format!("{of_other} and {output} are the same file; name two"),
        Role::Read => {
            format!("{output} would replace {of_other}, which is read; name another file")
        }
    }
}

//! The folder where an instance keeps its data: the user's, or a temporary one that is removed at
//! the end.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, ensure};
use nix::libc;
use nix::unistd::geteuid;

#[cfg(test)]
mod tests;

/// The number of digits at the end of a temporary folder's name.
const DIGITS: usize = 16;
/// The attempts to make a folder that nobody takes for a leftover before it is locked.
const ATTEMPTS: u32 = 10;

/// A folder for data.
pub enum Folder {
    Kept(PathBuf),
    /// Removed when this value is dropped.
    Temporary {
        path: PathBuf,
        /// Locked as long as the instance lives, in whatever namespace it runs. `None` where folders cannot be
        /// locked, as on NFS: there nothing is taken for a leftover.
        _lock: Option<File>,
    },
}

impl Folder {
    /// Takes the user's folder, or creates one under the temporary directory, with the name of the
    /// application in its name. Folders of dead instances are removed first.
    pub fn choose(application: &str, kept: Option<PathBuf>) -> anyhow::Result<Self> {
        let Some(kept) = kept else {
            return temporary(&std::env::temp_dir(), &format!("benchwright-{application}-"));
        };
        Ok(Folder::Kept(kept))
    }

    pub fn path(&self) -> &Path {
        let (Folder::Kept(path) | Folder::Temporary { path, .. }) = self;
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Folder::Temporary { path, .. } = self {
            // The next instance removes what remains.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Fails if another user, who is not root, can put a folder in the place of one in this folder.
fn check_place(parent: &Path) -> anyhow::Result<()> {
    let found = fs::metadata(parent).with_context(|| format!("reading {}", parent.display()))?;
    let remedy = "set TMPDIR to a folder of your own, or name one with --data";
    let is_trusted = [geteuid().as_raw(), 0].contains(&found.uid());
    ensure!(is_trusted, "{} belongs to user {}; {remedy}", parent.display(), found.uid());
    let is_open = found.mode() & 0o002 != 0 && found.mode() & 0o1000 == 0;
    ensure!(!is_open, "others may change {}, and it is not sticky; {remedy}", parent.display());
    Ok(())
}

fn temporary(parent: &Path, prefix: &str) -> anyhow::Result<Folder> {
    check_place(parent)?;
    for _ in 0..ATTEMPTS {
        let random = getrandom::u64().context("asking the kernel for a random number")?;
        let path = parent.join(format!("{prefix}{random:0DIGITS$x}"));
        // Only we may read it, and nobody can have prepared it.
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.with_context(|| format!("creating {}", path.display()))?;
        let lock = match lock(&path) {
            // Another instance that looks just now takes it for a leftover.
            Err(error) if is_taken(&error) => continue,
            lock => lock.ok(),
        };
        remove_leftovers(parent, prefix, fs::symlink_metadata(&path)?.uid());
        return Ok(Folder::Temporary { path, _lock: lock });
    }
    Err(anyhow!("each new folder in {} is removed at once", parent.display()))
}

/// Removes the folders of instances of this user that were killed: nobody locks them any more.
fn remove_leftovers(parent: &Path, prefix: &str, owner: u32) {
    for entry in fs::read_dir(parent).into_iter().flatten().filter_map(io::Result::ok) {
        let (name, path) = (entry.file_name(), entry.path());
        let is_named = name.to_str().is_some_and(|name| is_temporary(name, prefix));
        let is_ours = || fs::symlink_metadata(&path).is_ok_and(|found| found.uid() == owner);
        if is_named
            && is_ours()
            && let Ok(_lock) = lock(&path)
        {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn is_temporary(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix)
        .is_some_and(|end| end.len() == DIGITS && end.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Locks a folder, and no link to one, until the file is closed.
fn lock(path: &Path) -> io::Result<File> {
    let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
    let folder = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    folder.try_lock()?;
    let (locked, there) = (folder.metadata()?, fs::symlink_metadata(path)?);
    match (locked.dev(), locked.ino()) == (there.dev(), there.ino()) {
        true => Ok(folder),
        false => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Returns true if another instance has locked or removed the folder.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::NotFound)
}

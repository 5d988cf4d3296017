//! The folder where an instance keeps its data: the user's, or a temporary one that is removed at
//! the end.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process;

use anyhow::Context;

/// A folder for data.
pub enum Folder {
    Kept(PathBuf),
    /// Removed when this value is dropped.
    Temporary(PathBuf),
}

impl Folder {
    /// Takes the user's folder, or creates one under the temporary directory, with the name of the
    /// application and the number of this process in its name. Folders of dead processes are
    /// removed first.
    pub fn choose(application: &str, kept: Option<PathBuf>) -> anyhow::Result<Self> {
        let Some(kept) = kept else {
            let parent = std::env::temp_dir();
            let prefix = format!("benchwright-{application}-");
            remove_leftovers(&parent, &prefix);
            let path = parent.join(format!("{prefix}{}", process::id()));
            let place = || format!("creating {}", path.display());
            // Only we may read it, and it must not exist yet: its name can be guessed.
            DirBuilder::new().mode(0o700).create(&path).with_context(place)?;
            return Ok(Folder::Temporary(path));
        };
        Ok(Folder::Kept(kept))
    }

    pub fn path(&self) -> &Path {
        let (Folder::Kept(path) | Folder::Temporary(path)) = self;
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Folder::Temporary(path) = self {
            // The next instance removes what remains.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// Removes the folders of processes that were killed. It cannot remove another user's folders; the
/// next instance of that user removes them.
fn remove_leftovers(parent: &Path, prefix: &str) {
    for entry in fs::read_dir(parent).into_iter().flatten().filter_map(io::Result::ok) {
        let owner = owner(&entry.file_name().to_string_lossy(), prefix);
        if owner.is_some_and(is_dead) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn owner(name: &str, prefix: &str) -> Option<u32> {
    name.strip_prefix(prefix)?.parse().ok()
}

/// Returns true for a dead process. A folder with our own number belongs to a dead process that had
/// the same number.
fn is_dead(process: u32) -> bool {
    process == process::id() || !Path::new(&format!("/proc/{process}")).exists()
}

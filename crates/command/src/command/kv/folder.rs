//! The folder of a server's files, which only one server uses.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use console::output::Failure;
use kv::Durability;

#[cfg(test)]
mod tests;

/// The file that a server locks as long as it uses the folder. It stays, since a file that is removed
/// could be locked by one server while another makes a new one.
const LOCK: &str = "server.lock";
/// The beginnings of the names of the log's files.
const LOG: &str = "log-";
/// The beginnings of the names of checkpoints, complete or not.
const CHECKPOINTS: [&str; 2] = ["checkpoint-", "new-"];
/// The folder that some file systems have in their root.
const LOST_AND_FOUND: &str = "lost+found";

/// A folder that this server has locked.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    durability: Durability,
    /// The lock is free once this is closed.
    _lock: File,
}

impl Folder {
    /// Takes a folder for this server; `none` is not one. A server without durability begins empty,
    /// and may remove what another one has left behind that was killed.
    pub(super) fn claim(path: &Path, durability: Durability) -> Result<Option<Folder>, Failure> {
        if path == Path::new("none") {
            return Ok(None);
        }
        let refuse = |why: String| {
            Failure::question(format!(
                "--storage {}: {why}\n  choose an empty folder, or `--storage none` for a store in \
                 memory only",
                path.display()
            ))
        };
        let lock = match locked(path) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Err(refuse("another server uses the folder".to_owned())),
            Err(error) => return Err(refuse(error.to_string())),
        };
        let folder = Folder { path: path.to_owned(), durability, _lock: lock };
        match folder.foreign() {
            Err(error) => Err(refuse(error.to_string())),
            Ok(Some(name)) if is_of(&name, &CHECKPOINTS) => Err(refuse(format!(
                "the folder has a store with checkpoints (`{name}`), which a server without \
                 durability would lose; use --durability checkpoint"
            ))),
            Ok(Some(name)) => Err(refuse(format!("the folder has other files, such as `{name}`"))),
            Ok(None) => {
                folder.clear();
                Ok(Some(folder))
            }
        }
    }

    /// Returns the name of something in the folder that this server must not touch.
    fn foreign(&self) -> io::Result<Option<String>> {
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let is_of_checkpoints =
                self.durability == Durability::Checkpoint && is_of(&name, &CHECKPOINTS);
            let is_own =
                name == LOCK || name == LOST_AND_FOUND || is_of(&name, &[LOG]) || is_of_checkpoints;
            if !is_own {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Removes the log of a server without durability, which is of no use to the next one. What cannot
    /// be removed is found by that one.
    fn clear(&self) {
        if self.durability == Durability::Checkpoint {
            return;
        }
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let is_log = is_of(&entry.file_name().to_string_lossy(), &[LOG]);
            if is_log && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.clear();
    }
}

fn is_of(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Returns the lock of a folder; `None` if a server that lives has it. That of a dead one is free.
fn locked(path: &Path) -> io::Result<Option<File>> {
    fs::create_dir_all(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let lock = options.open(path.join(LOCK))?;
    Ok(results::regular::lock(&lock, || false)?.then_some(lock))
}

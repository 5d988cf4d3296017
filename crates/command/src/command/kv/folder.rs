//! The folder of a server's files, which only one server uses.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use console::output::Failure;
use kv::Durability;
use results::regular::{self, Locked};
use results::trust;

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
    _lock: Locked,
}

impl Folder {
    /// Takes a folder for this server; `none` is not one. A server without durability begins empty,
    /// and may remove what another one has left behind that was killed.
    pub(super) fn claim(path: &Path, durability: Durability) -> Result<Option<Folder>, Failure> {
        if path == Path::new("none") {
            return Ok(None);
        }
        let refuse_with = |why: &str, remedy: &str| {
            Failure::question(format!(
                "--storage {}: {why}\n  {remedy}, or `--storage none` for a store in memory only",
                regular::shown(path)
            ))
        };
        let refuse = |why: String| refuse_with(&why, EMPTY);
        let refuse_for = |error: &io::Error| {
            let (why, remedy) = unusable(error);
            refuse_with(&why, remedy)
        };
        if path.is_dir()
            && let Err(why) = trust::check_place(path)
        {
            let why = regular::plain(&why);
            return Err(refuse_with(&why, "choose a folder that nobody else can change"));
        }
        let lock = match locked(path) {
            Ok(Some(lock)) => lock,
            Ok(None) => return Err(refuse("another server uses the folder".to_owned())),
            Err(error) => return Err(refuse_for(&error)),
        };
        // No folder yet: dropping one removes its log.
        match foreign(path, durability) {
            Err(error) => Err(refuse_for(&error)),
            Ok(Some(name)) if is_of_store(&name, durability) => Err(refuse(format!(
                "`{name}` has the name of a file of a store, and is not a file"
            ))),
            Ok(Some(name)) if is_of(&name, &CHECKPOINTS) => Err(refuse(format!(
                "the folder has a store with checkpoints (`{name}`), which a server without \
                 durability would lose; use --durability checkpoint"
            ))),
            Ok(Some(name)) => Err(refuse(format!("the folder has other files, such as `{name}`"))),
            Ok(None) => {
                let folder = Folder { path: path.to_owned(), durability, _lock: lock };
                folder.clear();
                Ok(Some(folder))
            }
        }
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

/// The remedy if a folder has something else.
const EMPTY: &str = "choose an empty folder";

/// Returns why a folder cannot be used, and the remedy.
fn unusable(error: &io::Error) -> (String, &'static str) {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => {
            ("its file system is read-only".to_owned(), "choose a folder of another file system")
        }
        io::ErrorKind::PermissionDenied => {
            ("you may not write there".to_owned(), "choose a folder that you may write to")
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            ("it is not a folder".to_owned(), EMPTY)
        }
        _ => (regular::plain(error), regular::remedy(error).unwrap_or(EMPTY)),
    }
}

/// Returns the name of something in the folder that a server must not touch. A link, a folder or a FIFO is not a
/// file of a store: a checkpoint would fail on it later.
fn foreign(path: &Path, durability: Durability) -> io::Result<Option<String>> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_own = is_of_store(&name, durability) && entry.file_type()?.is_file();
        if name != LOST_AND_FOUND && !is_own {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// True if a server makes files with such a name.
fn is_of_store(name: &str, durability: Durability) -> bool {
    let has_checkpoints = durability == Durability::Checkpoint;
    name == LOCK || is_of(name, &[LOG]) || has_checkpoints && is_of(name, &CHECKPOINTS)
}

fn is_of(name: &str, beginnings: &[&str]) -> bool {
    beginnings.iter().any(|beginning| name.starts_with(beginning))
}

/// Returns the lock of a folder; `None` if a server that lives has it. That of a dead one is free.
fn locked(path: &Path) -> io::Result<Option<Locked>> {
    fs::create_dir_all(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600);
    let lock = regular::open(&path.join(LOCK), &mut options).map_err(|error| {
        io::Error::new(error.kind(), format!("{LOCK}: {}", regular::plain(&error)))
    })?;
    regular::lock(lock, |_| false)
}

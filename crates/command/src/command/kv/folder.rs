//! The folder of a server's files, which only one server uses.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use console::output::Failure;

#[cfg(test)]
mod tests;

/// The file that shows that a server uses the folder.
const LOCK: &str = "server.lock";
/// The beginning of the names of the store's files.
const LOG: &str = "log-";

/// A folder that was empty: a server begins empty, and what is in it when it ends is its own.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Takes a folder for this server; `none` is not one.
    pub(super) fn claim(path: &Path) -> Result<Option<Folder>, Failure> {
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
        match Folder::claimed(path) {
            Ok(true) => Ok(Some(Folder(path.to_owned()))),
            Ok(false) => Err(refuse(format!(
                "the folder is not empty. Another server uses it, or one was killed: then nothing \
                 in it is used again, and it can be removed (`rm -r {}`)",
                results::shell::word(&path.to_string_lossy())
            ))),
            Err(error) => Err(refuse(error.to_string())),
        }
    }

    /// Returns false if the folder is not empty.
    fn claimed(path: &Path) -> io::Result<bool> {
        fs::create_dir_all(path)?;
        if fs::read_dir(path)?.next().is_some() {
            return Ok(false);
        }
        match OpenOptions::new().write(true).create_new(true).open(path.join(LOCK)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    /// Removes the files of the server, and nothing else. What cannot be removed is found by the next
    /// server.
    fn drop(&mut self) {
        for entry in fs::read_dir(&self.0).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let is_own = name == LOCK || name.to_string_lossy().starts_with(LOG);
            if is_own && entry.file_type().is_ok_and(|kind| kind.is_file()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

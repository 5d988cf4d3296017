//! A folder for the runs that a bench measures.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use super::machine;

/// It is removed when dropped.
pub(super) struct Scratch(TempDir);

impl Scratch {
    pub(super) fn make() -> Result<Scratch, String> {
        let folder = TempDir::new_in(machine::scratch());
        folder.map(Scratch).map_err(|error| format!("making a folder: {error}"))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))?;
        Ok(path)
    }
}

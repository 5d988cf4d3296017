//! A folder for the runs that a bench measures.

use std::fs;
use std::path::PathBuf;

use super::machine;

/// It is removed when dropped.
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes the folder of a bench.
    pub(super) fn make(bench: &str) -> Result<Scratch, String> {
        let path = machine::scratch().join(format!("{bench}-{}", std::process::id()));
        fs::create_dir_all(&path).map_err(|error| format!("making {}: {error}", path.display()))?;
        Ok(Scratch(path))
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, String> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A folder that stays does no harm.
        let _ = fs::remove_dir_all(&self.0);
    }
}

//! The list of skipped tests, so that a skipped test does not look like a passed one.
//!
//! The test harness cannot skip tests and hides the output of a passing test. So a test that lacks
//! something outside the repository appends one line, `skipped: <test>: needs <what>`, to the file
//! that [`VARIABLE`] names, and returns.

use std::fs;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The variable that names the file to which skipped tests append.
pub(crate) const VARIABLE: &str = "BENCHWRIGHT_SKIPPED";

/// The variable that names the folder of the originals' scripts and data, which not every machine
/// has.
const PEERS: &str = "BENCHWRIGHT_PEERS";

/// A file of this process; it is empty at first, and removed when dropped.
pub(crate) struct File(PathBuf);

impl File {
    pub(crate) fn create() -> File {
        let path = std::env::temp_dir().join(format!("benchwright-skipped-{}", std::process::id()));
        fs::write(&path, "").expect("the temporary directory can be written to");
        File(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns one line for each skipped test.
    pub(crate) fn read(&self) -> String {
        fs::read_to_string(&self.0).expect("nobody else removes a file with our process id")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // If it is gone already, there is nothing to do.
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn peers_are_given() -> bool {
    std::env::var_os(PEERS).is_some_and(|folder| !folder.is_empty())
}

/// Returns the skips that fail continuous integration: all except those of tests that need the
/// peers, if there are none. Elsewhere every skip is only reported.
pub(crate) fn refused(skips: &str, in_ci: bool, peers_are_given: bool) -> Vec<&str> {
    let excused = |skip: &str| !in_ci || (skip.contains(PEERS) && !peers_are_given);
    skips.lines().filter(|skip| !excused(skip)).collect()
}

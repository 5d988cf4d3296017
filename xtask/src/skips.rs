//! Tests which could not run, so that silence is never taken for success.
//!
//! The test harness knows no skipping and hides what a passing test prints. Hence a test which
//! lacks something outside the repository appends one line, `skipped: <test>: needs <what>`, to
//! the file which [`VARIABLE`] names, and returns.

use std::fs;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// Names the file to which skipping tests append.
pub(crate) const VARIABLE: &str = "BENCHWRIGHT_SKIPPED";

/// Names the folder of the originals' scripts and data, which not every machine has.
const PEERS: &str = "BENCHWRIGHT_PEERS";

/// An empty file of this process, which is removed at the end.
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

    /// One line for each test which was skipped.
    pub(crate) fn read(&self) -> String {
        fs::read_to_string(&self.0).expect("nobody else removes a file that bears our process id")
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // Should it be gone already, then there is nothing left to do.
        let _ = fs::remove_file(&self.0);
    }
}

pub(crate) fn peers_are_given() -> bool {
    std::env::var_os(PEERS).is_some_and(|folder| !folder.is_empty())
}

/// The skips which fail continuous integration: all, but for those of tests that need the peers
/// where there are none. Elsewhere every skip is only reported.
pub(crate) fn refused(skips: &str, in_ci: bool, peers_are_given: bool) -> Vec<&str> {
    let excused = |skip: &str| !in_ci || (skip.contains(PEERS) && !peers_are_given);
    skips.lines().filter(|skip| !excused(skip)).collect()
}

//! The list of skipped tests, so that a skipped test does not look like a passed one.
//!
//! The test harness cannot skip tests and hides the output of a passing test. So a test that lacks
//! something outside the repository appends one line, `skipped: <test>: needs <what>`, to the file
//! that [`VARIABLE`] names, and returns.

#[cfg(test)]
mod tests;

/// The variable that names the file to which skipped tests append.
pub(crate) const VARIABLE: &str = "BENCHWRIGHT_SKIPPED";

/// The variable that names the folder of the originals' scripts and data, which not every machine
/// has.
const PEERS: &str = "BENCHWRIGHT_PEERS";

pub(crate) fn peers_are_given() -> bool {
    std::env::var_os(PEERS).is_some_and(|folder| !folder.is_empty())
}

/// Returns the skips that fail continuous integration: all except those of tests that need the
/// peers, if there are none. Elsewhere every skip is only reported.
pub(crate) fn refused(skips: &str, in_ci: bool, peers_are_given: bool) -> Vec<&str> {
    let excused = |skip: &str| !in_ci || (skip.contains(PEERS) && !peers_are_given);
    skips.lines().filter(|skip| !excused(skip)).collect()
}

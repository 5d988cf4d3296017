//! The effect of hostile clients of the hotel application on its other clients. The attacks are
//! those of its tests, where continuous integration allows orders of magnitude. Here the promised
//! factor is required: five rounds without and with each attack take turns, and the median p99
//! under attack may be at most twice the undisturbed one.

use crate::repository;

/// Returns true if every attack was tolerated.
pub(super) fn run() -> bool {
    let mut command = repository::cargo();
    command.args(["test", "--locked", "--profile", "tests", "-p", "benchwright-apps"]);
    command.args(["--test", "it", "attacks_on"]);
    // One after the other: each is measured.
    command.args(["--", "--nocapture", "--test-threads", "1"]);
    repository::succeeds(command.env("BENCHWRIGHT_HOSTILE_STRICT", "1"))
}

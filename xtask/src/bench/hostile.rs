//! Do hostile clients of the hotel application harm the others? The attacks are those of its tests,
//! which continuous integration judges by orders of magnitude only; here the promised factor is
//! wanted: five rounds without and with each attack take turns, and the median p99 beside it may
//! be twice the undisturbed one.

use crate::repository;

/// Says whether every attack was borne.
pub(super) fn run() -> bool {
    let mut command = repository::cargo();
    command.args(["test", "--locked", "--profile", "tests", "-p", "apps"]);
    command.args(["--test", "it", "attacks_on"]);
    // One after the other: each is measured.
    command.args(["--", "--nocapture", "--test-threads", "1"]);
    repository::succeeds(command.env("BENCHWRIGHT_HOSTILE_STRICT", "1"))
}

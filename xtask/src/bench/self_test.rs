//! `benchwright load --self-test`, which is a bench that every user has.

use super::machine::{Machine, SENT_AT_ONCE};
use crate::repository;

/// Says whether it passed; it tells all the rest itself.
pub(super) fn run(machine: &Machine, attempts: usize) -> bool {
    let mut command = std::process::Command::new(&machine.benchwright);
    command.args(["load", "--self-test", "--attempts", &attempts.to_string()]).args(SENT_AT_ONCE);
    repository::succeeds(&mut command)
}

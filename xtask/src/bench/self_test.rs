//! `benchwright load --self-test`, a bench that every user has.

use super::machine::{Machine, SENT_AT_ONCE};
use crate::repository;

/// Returns true if it passed; it prints everything itself.
pub(super) fn run(machine: &Machine, attempts: usize) -> bool {
    let mut command = std::process::Command::new(&machine.benchwright);
    command.args(["load", "--self-test", "--attempts", &attempts.to_string()]).args(SENT_AT_ONCE);
    repository::succeeds(&mut command)
}

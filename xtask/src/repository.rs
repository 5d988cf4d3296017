//! Where the repository stands, and how commands are run in it.

use std::path::PathBuf;
use std::process::Command;

/// The folder of the workspace whose chore this is. Cargo says so at run time; what stood there at
/// compile time may have been another clone, with which this one shares its target folder.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("chores and tests are run by cargo");
    PathBuf::from(own).parent().expect("xtask lies in the workspace's folder").to_owned()
}

/// The cargo that runs this chore, in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Runs `command` to its end; one that cannot be started is told and has failed.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("error: starting {}: {error}", command.get_program().display());
            false
        }
    }
}

/// Whether this is continuous integration, where nothing may be missing.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

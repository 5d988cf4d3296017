//! Where the repository stands, and how commands are run in it.

use std::path::Path;
use std::process::Command;

/// The folder of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace's folder")
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

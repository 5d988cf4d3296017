//! Where the repository stands, and how commands are run in it.

use std::path::PathBuf;
use std::process::Command;

/// The folder of the workspace whose chore this is. Cargo says so at run time; what stood there at
/// compile time may have been another clone, with which this one shares its target folder.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("chores and tests are run by cargo");
    PathBuf::from(own).parent().expect("xtask lies in the workspace's folder").to_owned()
}

/// Cargo's target folder, where everything belongs that can be made again.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(target.unwrap_or_else(|| "target".into()))
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

/// The first line that `command` prints, however it ends; empty if there is none.
pub(crate) fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.output() else { return String::new() };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Whether this is continuous integration, where nothing may be missing.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

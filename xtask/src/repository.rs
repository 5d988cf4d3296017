//! The folder of the repository, and running commands in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the workspace. Cargo gives it at run time; the value at compile time may
/// be of another clone that shares the target folder.
pub(crate) fn root() -> PathBuf {
    let own = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo runs tasks and tests");
    PathBuf::from(own).parent().expect("xtask is in the workspace's folder").to_owned()
}

/// Returns cargo's target folder, for everything that can be made again.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    root().join(target.unwrap_or_else(|| "target".into()))
}

/// Returns a command of the cargo that runs this task, in the workspace's folder.
pub(crate) fn cargo() -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root());
    // What cargo said to this task about its own package. `ring` watches such variables: it, and all
    // that needs it, would be built again after each change between `cargo build` and a task.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Returns true if both files are there and equal.
pub(crate) fn are_equal(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

/// Runs `command` to its end; returns true if it succeeded. Prints an error if it cannot be
/// started.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("error: starting {}: {error}", command.get_program().display());
            false
        }
    }
}

/// Returns the first line that `command` prints, even if it fails; empty if there is none.
pub(crate) fn first_line(command: &mut Command) -> String {
    let Ok(output) = command.output() else { return String::new() };
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    printed.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}

/// Returns true in continuous integration, where no tool may be missing.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true")
}

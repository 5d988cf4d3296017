//! A Python for the tests, in the target folder, with the packages that foreign clients of the
//! services and foreign readers of results need. Their versions are pinned, and only binary
//! packages are used.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::repository;

/// The list of packages, one per line.
const REQUIREMENTS: &str = "xtask/src/tools/requirements.txt";

/// Returns true if it is installed with the current requirements.
pub(super) fn is_there() -> bool {
    let wanted = repository::root().join(REQUIREMENTS);
    repository::are_equal(&folder().join("requirements.txt"), &wanted)
}

/// Installs it; `is_there` shows whether that succeeded.
pub(super) fn install() {
    let (folder, requirements) = (folder(), repository::root().join(REQUIREMENTS));
    println!("installing {REQUIREMENTS} into {}", folder.display());
    let mut make = Command::new("python3");
    let made = repository::succeeds(make.args(["-m", "venv", "--clear"]).arg(&folder));
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]);
    pip.args(["--only-binary", ":all:", "--requirement"]).arg(&requirements);
    if made && repository::succeeds(&mut pip) {
        // Written last, so that a partial installation does not count. `is_there` notices a failed
        // copy.
        let _ = fs::copy(&requirements, folder.join("requirements.txt"));
    }
}

/// Returns the folder in which tests search for it.
fn folder() -> PathBuf {
    repository::target().join("python")
}

//! A Python of the tests' own, in the target folder, with the packages that foreign clients of the
//! services and foreign readers of results need. Their versions are pinned, and only built packages
//! are taken.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::repository;

/// What is installed, a line for each.
const REQUIREMENTS: &str = "xtask/src/tools/requirements.txt";

/// Whether it is there, as the requirements are now.
pub(super) fn is_there() -> bool {
    let installed = fs::read(folder().join("requirements.txt"));
    let wanted = fs::read(repository::root().join(REQUIREMENTS));
    matches!((installed, wanted), (Ok(installed), Ok(wanted)) if installed == wanted)
}

/// Installs it; whether it is there tells how that went.
pub(super) fn install() {
    let (folder, requirements) = (folder(), repository::root().join(REQUIREMENTS));
    println!("installing {REQUIREMENTS} into {}", folder.display());
    let mut make = Command::new("python3");
    let made = repository::succeeds(make.args(["-m", "venv", "--clear"]).arg(&folder));
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]);
    pip.args(["--only-binary", ":all:", "--requirement"]).arg(&requirements);
    if made && repository::succeeds(&mut pip) {
        // Written last: what is half installed is not there. A copy that fails is seen as well.
        let _ = fs::copy(&requirements, folder.join("requirements.txt"));
    }
}

/// Where tests look for it.
fn folder() -> PathBuf {
    repository::target().join("python")
}

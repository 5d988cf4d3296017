//! Programs for Node in the target folder, by which tests see what editors see. Their versions are
//! pinned, with digests, and none of their scripts is run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::repository;

/// The folder with the list of packages.
const PACKAGES: &str = "xtask/src/tools/node";
const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Returns true if the current packages are installed.
pub(super) fn is_there() -> bool {
    let (folder, from) = (folder(), repository::root().join(PACKAGES));
    // npm writes this file last.
    folder.join("node_modules/.package-lock.json").is_file()
        && FILES.iter().all(|name| repository::are_equal(&folder.join(name), &from.join(name)))
}

/// Installs them; `is_there` shows whether that succeeded.
pub(super) fn install() {
    let folder = folder();
    println!("installing {PACKAGES} into {}", folder.display());
    let copied = fs::create_dir_all(&folder).and_then(|()| {
        let from = repository::root().join(PACKAGES);
        FILES.iter().try_for_each(|name| fs::copy(from.join(name), folder.join(name)).map(drop))
    });
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix"]);
    if copied.is_err() || !repository::succeeds(npm.arg(&folder)) {
        // Without the list, the packages do not count.
        let _ = fs::remove_file(folder.join(FILES[0]));
    }
}

/// Returns the folder in which tests search for them.
fn folder() -> PathBuf {
    repository::target().join("node")
}

//! The runtime folder of a user: the place of what the runs of one user must find of each other, the lock
//! of the host and the notes of what each run has made.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use nix::unistd::{AccessFlags, access, geteuid};

use crate::found;

#[cfg(test)]
mod tests;

/// The variable that chooses another folder, such as for tests that run beside an experiment.
pub const VARIABLE: &str = "BENCHWRIGHT_RUNTIME";
const NAME: &str = "benchwright";

/// Returns the runtime folder of this user: in a place where nobody else can prepare it, if there is one.
pub fn folder() -> PathBuf {
    chosen(std::env::var_os(VARIABLE), geteuid().as_raw(), Path::new("/run"))
}

/// Not by `XDG_RUNTIME_DIR`: a session and a scheduled job of one user must find the same lock.
fn chosen(variable: Option<OsString>, user: u32, system: &Path) -> PathBuf {
    if let Some(chosen) = variable.filter(|chosen| !chosen.is_empty()) {
        return PathBuf::from(chosen);
    }
    let of_user = system.join(format!("user/{user}"));
    if user == 0 && access(system, AccessFlags::W_OK).is_ok() {
        system.join(NAME)
    } else if found::check_folder(&of_user).is_ok() {
        of_user.join(NAME)
    } else {
        // Others may have prepared it: then it is refused.
        std::env::temp_dir().join(format!("{NAME}-{user}"))
    }
}

/// Makes the runtime folder if it is missing.
pub(crate) fn make(path: &Path) -> anyhow::Result<()> {
    found::make_folder(path).map_err(|error| {
        anyhow!(
            "{}, the folder for the lock and the notes of runs, cannot be used: {}; remove it, or set \
             {VARIABLE} to a folder of your own",
            path.display(),
            crate::spec::plain(&error)
        )
    })
}
